"""What soak.py measures with: a memory cgroup of its own, and the figures of a process, second by second."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path


def limited_group(limit: int) -> Path | None:
    """A memory cgroup below this process's own, with a limit; None, said, where none can be made."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if "memory" in controllers.split(","):
            root, key = Path("/sys/fs/cgroup/memory" + path), "memory.limit_in_bytes"
        elif controllers == "" and Path("/sys/fs/cgroup/cgroup.controllers").exists():
            root, key = Path("/sys/fs/cgroup" + path), "memory.max"
        else:
            continue
        group = root / f"nocturne-soak-{os.getpid()}"
        try:
            group.mkdir()
            (group / key).write_text(str(limit))
            return group
        except OSError as error:
            print(f"no memory cgroup can be made here ({error}): no memory pressure in this run")
            if group.exists():
                group.rmdir()
            return None
    return None


class Sampler:
    """The engine's figures, one row a second."""

    def __init__(self, log: Path | None) -> None:
        self.rows: list[tuple[float, int, int, int, int]] = []
        self.start = time.monotonic()
        self.log = log.open("w") if log else None
        if self.log:
            self.log.write("second,resident,anonymous,descriptors,threads\n")

    def take(self, engine: int) -> None:
        try:
            words = dict(
                line.split(":", 1) for line in Path(f"/proc/{engine}/status").read_text().splitlines() if ":" in line
            )
            kilobytes = [int(words[key].split()[0]) << 10 for key in ("VmRSS", "RssAnon")]
            open_now = len(os.listdir(f"/proc/{engine}/fd"))
        except (OSError, KeyError):
            return
        row = (time.monotonic() - self.start, *kilobytes, open_now, int(words["Threads"]))
        self.rows.append(row)
        if self.log:
            self.log.write(",".join(f"{value:.0f}" for value in row) + "\n")
            self.log.flush()

    def figure(self, end: float, column: int, width: float = 120) -> float:
        """The lower quartile of the two minutes before `end`.

        What the allocator keeps of freed pages goes up and down by tens of MiB with the last item; what is in use shows
        at the low tide.
        """
        values = sorted(row[column] for row in self.rows if end - width <= row[0] <= end)
        return statistics.quantiles(values, n=4)[0] if len(values) > 1 else sum(values)
