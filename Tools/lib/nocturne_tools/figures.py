"""The figures of one process, second by second."""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path


class Sampler:
    """Resident and anonymous bytes, descriptors and threads of a process, one row for every call of `take`."""

    def __init__(self, log: Path | None) -> None:
        self.rows: list[tuple[float, int, int, int, int]] = []
        self.start = time.monotonic()
        self.log = log.open("w") if log else None
        if self.log:
            self.log.write("second,resident,anonymous,descriptors,threads\n")

    def take(self, process: int) -> None:
        try:
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
            fields = dict(line.split(":", 1) for line in lines if ":" in line)
            sizes = [int(fields[key].split()[0]) << 10 for key in ("VmRSS", "RssAnon")]
            descriptors = len(os.listdir(f"/proc/{process}/fd"))
        except (OSError, KeyError):
            return
        row = (time.monotonic() - self.start, *sizes, descriptors, int(fields["Threads"]))
        self.rows.append(row)
        if self.log:
            self.log.write(",".join(f"{value:.0f}" for value in row) + "\n")
            self.log.flush()

    def figure(self, end: float, column: int, width: float = 120) -> float:
        """The lower quartile of the two minutes before `end`.

        The pages that the allocator keeps after they were freed vary by tens of MiB with the last item; the lower
        quartile shows what is in use.
        """
        values = sorted(row[column] for row in self.rows if end - width <= row[0] <= end)
        return statistics.quantiles(values, n=4)[0] if len(values) > 1 else sum(values)
