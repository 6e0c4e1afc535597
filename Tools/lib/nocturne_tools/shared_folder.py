"""Hosts that share a folder over a simulated network file system, on one machine.

Every host has a mount of its own (`shared_client.py`), and processes in their own namespaces: the folder is at the same path
for all of them, host names and boots differ, and process numbers collide.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from nocturne_tools.batch_harness import wait_until
from nocturne_tools.processes import descendants

CLIENT = Path(__file__).with_name("shared_client.py")
# The program is no init process: its number is above 1, and the same on every host.
IN_NAMESPACES = """
hostname "$1"
mount --bind "$2" "$3"
mount --bind "$4" /proc/sys/kernel/random/boot_id
shift 4
"$@"
exit $?
"""


def client_python() -> str:
    """A Python that has the FUSE binding. Debian's is for its own Python."""
    for python in (sys.executable, "/usr/bin/python3"):
        found = subprocess.run([python, "-c", "import pyfuse3, trio"], capture_output=True)
        if found.returncode == 0:
            return python
    raise SystemExit("The Debian package python3-pyfuse3 is missing. Install it with: Tools/install-packages python3-pyfuse3")


@dataclass(frozen=True)
class Change:
    """A change that a host made in the shared folder, with the monotonic times of request and execution."""

    host: str
    operation: str
    path: str
    asked: float
    done: float


class SharedHost:
    """A host that has mounted the shared folder."""

    def __init__(self, name: str, backing: Path, share: Path, folder: Path, *options: str) -> None:
        """`share` is the path at which its processes see the folder; `folder` is for the host's own files."""
        self.name, self.share, self.folder = name, share, folder
        self.place, self.control = folder / "mount", folder / "control"
        for path in (share, self.place, self.control):
            path.mkdir(parents=True, exist_ok=True)
        (folder / "boot").write_text(f"{uuid.uuid4()}\n")
        self.processes: list[subprocess.Popen[bytes]] = []
        command = [client_python(), CLIENT, backing, self.place, "--control", self.control, *options]
        with (folder / "client.log").open("wb") as log:
            self.client = subprocess.Popen(list(map(str, command)), stderr=log)
        wait_until(f"{name} has mounted the folder", lambda: os.path.ismount(self.place))

    def start(self, command: list[str], log: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
        """Starts a command on the host. Its exit code is that of the process."""
        namespaces = ["--mount", "--pid", "--uts", "--ipc", "--fork", "--kill-child=SIGKILL", "--mount-proc"]
        places = [self.name, str(self.place), str(self.share), str(self.folder / "boot")]
        with log.open("wb") as file:
            process = subprocess.Popen(
                ["unshare", *namespaces, "sh", "-c", IN_NAMESPACES, "sh", *places, *command],
                env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file,
            )
        self.processes.append(process)
        return process

    # What happens to a host

    def signal(self, number: int) -> None:
        """Sends a signal to all processes of the host."""
        for process in self.processes:
            if process.poll() is None:
                for each in descendants(process.pid)[1:]:
                    os.kill(each, number)

    def kill(self) -> None:
        """SIGKILL to the init process of each namespace; the kernel ends all others in it."""
        for process in self.processes:
            if process.poll() is None:
                for each in descendants(process.pid)[1:2]:
                    os.kill(each, signal.SIGKILL)
                process.wait()

    def freeze(self) -> None:
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal(signal.SIGCONT)

    def disconnect(self) -> None:
        """The folder answers no more: every request waits."""
        self.client.send_signal(signal.SIGSTOP)

    def reconnect(self) -> None:
        self.client.send_signal(signal.SIGCONT)

    def hold(self, operation: str, path: str, executed: bool) -> None:
        """Lets the next request of that kind wait, before or after it is executed. `path` is a regular expression."""
        rule = {"operation": operation, "path": path, "executed": executed}
        part = self.control / "hold.part"
        part.write_text(json.dumps(rule))
        part.rename(self.control / "hold")

    def holds(self) -> bool:
        """Whether the request waits now."""
        return not (self.control / "hold").exists()

    def go(self) -> None:
        """Lets the request that waits continue."""
        (self.control / "go").touch()

    # What it did

    def lines(self) -> list[dict[str, object]]:
        """The log of the mount; a line that is not complete yet is left out."""
        text = (self.control / "log").read_text()
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def changes(self) -> list[Change]:
        """What it changed, but for files that it had removed itself and still used."""
        return [
            Change(self.name, line["operation"], line["path"], line["asked"], line["done"])
            for line in self.lines()
            if line["operation"] not in ("held", "stale", "open") and not line["path"].endswith(" (deleted)")
        ]

    def count(self, operation: str) -> int:
        return sum(line["operation"] == operation for line in self.lines())

    def close(self) -> None:
        self.reconnect()
        self.go()
        self.kill()
        subprocess.run(["umount", "-l", str(self.place)], stderr=subprocess.DEVNULL)
        self.client.terminate()
        try:
            self.client.wait(5)
        except subprocess.TimeoutExpired:
            self.client.kill()
            self.client.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@dataclass
class Turn:
    """Consecutive changes of one host: from when to when, and how many."""

    host: str
    first: float
    last: float
    count: int = 1


def turns(changes: list[Change]) -> list[Turn]:
    """Who made the changes, in the order in which they were executed. Two hosts in turns of one each have not overlapped."""
    found: list[Turn] = []
    for change in sorted(changes, key=lambda change: change.done):
        if found and found[-1].host == change.host:
            found[-1].last = change.done
            found[-1].count += 1
        else:
            found.append(Turn(change.host, change.done, change.done))
    return found


def now() -> float:
    """The clock of `Change`."""
    return time.monotonic()
