"""Runs a command and measures it with all its descendants: wall time, processor time and summed peak memory."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

SAMPLE_SECONDS = 0.25


@dataclass(frozen=True)
class Usage:
    """Seconds, and bytes of proportional set size summed over the processes at the worst sample."""

    wall: float
    processor: float
    peak: int


class CommandFailed(Exception):
    pass


def descendants(root: int) -> list[int]:
    """`root` and every process below it now."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue  # gone meanwhile
            parents.setdefault(int(fields[1]), []).append(int(entry.name))
    found, waiting = [root], [root]
    while waiting:
        below = parents.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def proportional_bytes(process: int) -> int:
    """Memory of a process, a page shared by n processes counted as 1/n; 0 once it is gone."""
    try:
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def measure(command: list[str], environment: dict[str, str], log: Path) -> Usage:
    """Runs the command to its end; its output goes to `log`. Kills what it leaves behind in its own session."""
    peak = 0
    done = threading.Event()
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

        def sample() -> None:
            nonlocal peak
            while not done.wait(SAMPLE_SECONDS):
                peak = max(peak, sum(proportional_bytes(one) for one in descendants(process.pid)))

        sampler = threading.Thread(target=sample)
        sampler.start()
        try:
            _, status, used = os.wait4(process.pid, 0)
            wall = time.perf_counter() - start
        finally:
            done.set()
            sampler.join()
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise CommandFailed(f"{command[0]} ended with {process.returncode}:\n{log.read_text(errors='replace')[-2000:]}")
    return Usage(wall, used.ru_utime + used.ru_stime, peak)
