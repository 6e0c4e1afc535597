"""Processes of a run: descendants, memory, and measuring a command with all of them."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 0.25
# Of the time of one core, at most: the system takes longer to sum up a larger process, which has to wait meanwhile.
SAMPLE_SHARE = 0.05


@dataclass(frozen=True)
class Usage:
    """Seconds, and bytes of proportional set size summed over the processes at the largest sample."""

    wall: float
    processor: float
    peak: int


class CommandFailed(Exception):
    """The command's exit code was not 0, or its time was over; `usage` is what it had taken until then."""

    def __init__(self, reason: str, usage: Usage, log: str) -> None:
        super().__init__(f"{reason}:\n{log[-2000:]}")
        self.reason, self.usage = reason, usage


def children(process: int) -> list[int]:
    """The direct children of a process, of all its threads; empty once it has ended."""
    found: list[int] = []
    try:
        for path in Path(f"/proc/{process}/task").glob("*/children"):
            found += map(int, path.read_text().split())
    except OSError:
        pass
    return found


def descendants(root: int) -> list[int]:
    """`root` and all processes below it at this moment."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue  # it has ended meanwhile
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [root], [root]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def engines(out: Path) -> list[int]:
    """The nocturne processes that work on an output folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                arguments = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if str(out).encode() in arguments and arguments[0].endswith(b"nocturne"):
                found.append(int(entry.name))
    return found


def remaining_engines(out: Path, seconds: float = 2) -> list[int]:
    """The nocturne processes that still work on an output folder after some seconds."""
    end = time.monotonic() + seconds
    while (found := engines(out)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def proportional_bytes(process: int) -> int:
    """Memory of a process, a page shared by n processes counted as 1/n; 0 once it has ended."""
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def resident_bytes(process: int) -> int:
    """Resident bytes of a process and its children."""
    total = 0
    try:
        below = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        for each in [str(process), *below]:
            total += int(Path(f"/proc/{each}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        pass
    return total


class PeakSampler:
    """Samples the proportional memory of a process and its descendants in a thread, until it is closed."""

    def __init__(self, process: int, seconds: float = SAMPLE_SECONDS) -> None:
        self.process, self.seconds = process, seconds
        self.peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()

    def _sample(self) -> None:
        pause = self.seconds
        while not self._done.wait(pause):
            begun = time.monotonic()
            self.peak = max(self.peak, sum(proportional_bytes(one) for one in descendants(self.process)))
            pause = max(self.seconds, (time.monotonic() - begun) / SAMPLE_SHARE)

    def close(self) -> None:
        self._done.set()
        self._thread.join()


def measure(command: list[str], environment: dict[str, str], log: Path, limit: float | None = None) -> Usage:
    """Runs the command to its end, or for `limit` seconds at most; its output goes to `log`.

    Processes that it leaves in its session are killed. Raises `CommandFailed`.
    """
    late = threading.Event()

    def stop() -> None:
        late.set()
        _kill_session(process.pid)

    with log.open("wb") as stream:
        start = time.perf_counter()
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        sampler = PeakSampler(process.pid)
        timer = threading.Timer(limit or 0, stop)
        if limit is not None:
            timer.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
            wall = time.perf_counter() - start
        finally:
            timer.cancel()
            sampler.close()
            _kill_session(process.pid)
    process.returncode = os.waitstatus_to_exitcode(status)
    usage = Usage(wall, used.ru_utime + used.ru_stime, sampler.peak)
    if process.returncode != 0:
        reason = f"not done after {limit:.0f} s" if late.is_set() else f"{command[0]} ended with {process.returncode}"
        raise CommandFailed(reason, usage, log.read_text(errors="replace"))
    return usage


def _kill_session(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except ProcessLookupError:
        pass
