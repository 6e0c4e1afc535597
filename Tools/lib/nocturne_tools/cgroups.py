"""Memory cgroups (v1 and v2) for proofs that limit memory."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

MIB = 1 << 20
# A process that allocates so many bytes, touches every page, and keeps them for so many seconds.
HOG = (
    "import sys, time; block = bytearray(int(sys.argv[1])); block[::4096] = b'x' * len(block[::4096]); "
    "time.sleep(float(sys.argv[2]))"
)


def own_group() -> Path | None:
    """The folder of this process's memory cgroup; None where there is none."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            return Path("/sys/fs/cgroup/memory" + path)
        if controllers == "" and Path("/sys/fs/cgroup/cgroup.controllers").exists():
            return Path("/sys/fs/cgroup" + path)
    return None


def limited_group(limit: int) -> Path | None:
    """A new memory cgroup below this process's own, with a limit; None, with a line of output, where that fails."""
    parent = own_group()
    if parent is None:
        return None
    group = parent / f"nocturne-proof-{os.getpid()}"
    try:
        group.mkdir()
        old = group / "memory.limit_in_bytes"
        (old if old.exists() else group / "memory.max").write_text(str(limit))
        return group
    except OSError as error:
        print(f"no memory cgroup can be made here ({error})")
        if group.exists():
            group.rmdir()
        return None


def forbid_swap(group: Path) -> None:
    """Keeps the group's memory out of swap, where the kernel has that setting (v2)."""
    if (group / "memory.swap.max").exists():
        (group / "memory.swap.max").write_text("0")


class MemoryGroup:
    """A memory cgroup with a limit and without swap, and its readings."""

    def __init__(self, limit: int) -> None:
        path = limited_group(limit)
        if path is None:
            raise OSError("no memory cgroup can be made here")
        forbid_swap(path)
        self.path, self.limit = path, limit
        self.peak = 0

    def _value(self, file: str, key: str) -> int:
        pairs = dict(line.split() for line in (self.path / file).read_text().splitlines() if len(line.split()) == 2)
        return int(pairs.get(key, 0))

    def anonymous(self) -> int:
        """Anonymous bytes in the group now; the largest reading is kept in `peak`."""
        key = "anon" if (self.path / "memory.events").exists() else "total_rss"
        now = self._value("memory.stat", key)
        self.peak = max(self.peak, now)
        return now

    def kills(self) -> int:
        """How many processes of the group the kernel killed for lack of memory."""
        file = "memory.events" if (self.path / "memory.events").exists() else "memory.oom_control"
        return self._value(file, "oom_kill")

    def enter(self) -> None:
        """Moves the calling process into the group."""
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def close(self) -> None:
        """Removes the group once its processes have gone."""
        for _ in range(100):
            try:
                return self.path.rmdir()
            except OSError:
                time.sleep(0.05)


class MemoryHog:
    """A process in the group that takes and keeps all memory but `leave` bytes. The kernel kills it first, if any."""

    def __init__(self, group: MemoryGroup, leave: int) -> None:
        size = max(MIB, group.limit - leave - group.anonymous())
        self.process = subprocess.Popen([sys.executable, "-c", HOG, str(size), "600"], preexec_fn=group.enter)
        Path(f"/proc/{self.process.pid}/oom_score_adj").write_text("1000")

    def stop(self) -> bool:
        """Ends the process; whether it was still running."""
        running = self.process.poll() is None
        self.process.kill()
        self.process.wait()
        return running
