"""What the benchmarks share: timing, programs that answer lines, and appending to RESULTS.md."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from nocturne_tools.machine import processor
from nocturne_tools.paths import TOOLS

FOLDER = TOOLS / "benchmarks"


def timed(work: Callable[[], dict[str, float] | None]) -> dict[str, float]:
    """Wall and processor seconds of a call, and the figures that it returns."""
    start, begin = time.perf_counter(), time.process_time()
    figures = work() or {}
    return {"seconds": time.perf_counter() - start, "processorSeconds": time.process_time() - begin, **figures}


def built(product: str) -> str:
    """Builds a program of the Swift package beside the benchmarks; its path."""
    command = ["swift", "build", "-c", "release", "--package-path", str(FOLDER), "--product", product]
    subprocess.run(command, check=True, stdout=sys.stderr)
    shown = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True)
    return str(Path(shown.stdout.strip()) / product)


class LineProgram:
    """A running program that answers every line with a line of JSON."""

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line: str) -> dict[str, float]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def in_turns(tasks: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The median of each task; the tasks take turns, and a first round that is not counted warms the caches."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for number in range(rounds + 1):
        for name, task in tasks.items():
            elapsed = task()
            if number:
                times[name].append(elapsed)
    return {name: statistics.median(values) for name, values in times.items()}


def machine_line() -> str:
    """Processor, cores and system."""
    return f"{processor()}, {os.cpu_count()} cores, {os.uname().sysname}"


def append_results(text: str) -> None:
    """Appends a section to RESULTS.md."""
    with (FOLDER / "RESULTS.md").open("a") as file:
        file.write("\n" + text)
