#!/usr/bin/env python3
"""Injects one fault at every fault point of a small batch, resumes the batch, and compares trees and reports.

    Tools/proofs/fault_matrix.py NOCTURNE [--passes 4] [--jobs 3] [--points file.write,journal.complete]
    Tools/proofs/fault_matrix.py NOCTURNE --mixed 100 --seed 1

The batch has four small volumes and two photos with two models. A first run counts how often each point is passed. Then,
for every point, for some of its passes and for every action (`kill` of the engine, `kill-parent`, `kill-group` of both,
ENOSPC, EIO, EINTR, a delay), the batch is started in a fresh folder with that one fault, resumed to its end, and its tree
is compared byte by byte with the undisturbed one: everything but run.json, events.jsonl and .nocturne. No item may be
started again after it was committed, no process may remain two seconds after the run, and nothing may take longer than a
minute. With `--mixed`, so many faults are drawn by chance (point, pass and action) over the batch of mixed_batch.py instead.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

import mixed_batch
from nocturne_tools import interface
from nocturne_tools.machine import architecture
from nocturne_tools.paths import SAMPLE_MODELS, SAMPLES, THRESHOLD_MODEL
from nocturne_tools.processes import remaining_engines
from nocturne_tools.result_tree import completed_twice, differing, tree
from nocturne_tools.small_volumes import write_volume

MODELS = [THRESHOLD_MODEL, SAMPLE_MODELS / "skin-lesions-demo"]
LIMIT = 60.0
# So that files are opened in the separate step that has its own fault point.
OPTIONS = ["--item-timeout", "10m", "--radiomics", "auto"]
# Faults that lead past points which an undisturbed run does not pass: an item that waits for another, so that both are
# flushed to the disk together, and an item that is requeued after an error.
COMPANIONS = ["item.staged:1:delay-500", "item.stage:2:EIO"]
ACTIONS = ["kill", "kill-parent", "kill-group", "ENOSPC", "EIO", "EINTR", "delay-700"]


def make_inputs(folder: Path) -> None:
    folder.mkdir()
    for index in range(4):
        write_volume(folder / f"volume{index}.nii", 24 + 4 * index, 1)
    for photo in sorted((SAMPLES / "Photos/lesions").glob("*.jpg"))[:2]:
        shutil.copy(photo, folder / photo.name)


class Batch:
    """Runs the batch into fresh folders."""

    def __init__(self, nocturne: str, folder: Path, is_mixed: bool) -> None:
        self.nocturne = str(Path(nocturne).resolve())
        self.folder = folder
        self.input = folder / "in"
        self.models, self.options = (mixed_batch.MODELS, mixed_batch.OPTIONS) if is_mixed else (MODELS, OPTIONS)
        if is_mixed:
            mixed_batch.write_inputs(self.nocturne, self.input)
        else:
            make_inputs(self.input)

    def command(self, out: Path) -> list[str]:
        models = [part for model in self.models for part in ("--model", str(model))]
        return [self.nocturne, "run", str(self.input), *models, "--output", str(out), "--quiet", *self.options]

    def run(self, command: list[str], fault: str | None = None) -> tuple[int | None, str]:
        """Exit code (None for a hang) and what was printed."""
        environment = dict(os.environ)
        if fault:
            environment["NOCTURNE_FAULT"] = fault
            command = [*command, "--fault-injection"]
        try:
            done = subprocess.run(
                command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT
            )
            return done.returncode, done.stderr
        except subprocess.TimeoutExpired:
            return None, "hangs"

    def counted_points(self, name: str, companion: str = "") -> collections.Counter[str]:
        """How often a run passes each point."""
        log = self.folder / f"passes-{name}"
        fault = f"count:{log}" + (f",{companion}" if companion else "")
        self.run(self.command(self.folder / f"counted-{name}"), fault)
        return collections.Counter(log.read_text().split())

    def known_points(self) -> set[str]:
        """All fault points, which the error for an unknown one lists."""
        text = self.run(self.command(self.folder / "none"), "nowhere:1:kill")[1]
        listed = text.split(interface.FAULT_POINTS_AFTER)[-1].split(interface.FAULT_POINTS_BEFORE)[0]
        return set(listed.split(", "))


@dataclass
class Expectation:
    """What every disturbed run must lead to."""

    tree: dict[str, str]
    counts: dict[str, int]


def selected(passes: int, most: int) -> list[int]:
    """The first, the last, and some evenly spaced between."""
    if passes <= most:
        return list(range(1, passes + 1))
    return sorted({1 + round(index * (passes - 1) / max(1, most - 1)) for index in range(most)})


def try_fault(batch: Batch, out: Path, fault: str, expected: Expectation) -> list[str]:
    """What is wrong after the fault and after resuming; empty when nothing is."""
    wrong = []
    code, text = batch.run(batch.command(out), fault)
    if code is None:
        wrong.append("hangs")
    if left := remaining_engines(out):
        wrong.append(f"processes remain: {left}")
    # A delay changes nothing. Errors of the system that pass are retried in the same run, unless they hit the journal.
    action = fault.split(",")[0].split(":")[2]
    may_end_early = action.startswith("kill") or fault.startswith(interface.FaultPoint.OUTSIDE_ITEMS)
    if code != 0 and (action.startswith("delay") or not may_end_early):
        wrong.append(f"exit {code} of the run itself: {text.strip()[-200:]}")
    resumed = 0
    while code != 0 and resumed < 3:
        resumed += 1
        # As a user does after freeing space or replacing a disk.
        code, text = batch.run([*batch.command(out), "--failed"])
    if code != 0:
        wrong.append(f"exit {code} after resuming: {text.strip()[-200:]}")
    if names := differing(tree(out), expected.tree):
        wrong.append(f"differs: {names[:4]}")
    if (out / "events.jsonl").exists() and (twice := completed_twice(out)):
        wrong.append(f"completed twice: {twice}")
    try:
        counts = json.loads((out / "batch.json").read_text())["counts"]
        if counts != expected.counts:
            wrong.append(f"counts {counts}")
    except (OSError, KeyError, ValueError) as error:
        wrong.append(f"no report: {error}")
    return wrong


@dataclass
class Row:
    """The results of one point: a cell for each action."""

    cells: list[str] = field(default_factory=list)
    runs: int = 0
    wrong: list[str] = field(default_factory=list)


class Matrix:
    """The points, how often each is passed, and the fault that leads past it where one is needed."""

    def __init__(self, batch: Batch, only: str | None) -> None:
        self.batch = batch
        self.passes = batch.counted_points("plain")
        self.companions: dict[str, str] = {}
        for companion in COMPANIONS:
            for point, count in batch.counted_points(companion, companion).items():
                if point not in self.passes:
                    self.passes[point], self.companions[point] = count, "," + companion
        self.reached = set(self.passes)
        if only:
            if unknown := set(only.split(",")) - self.reached:
                raise SystemExit(f"never passed: {', '.join(sorted(unknown))}; passed: {', '.join(sorted(self.reached))}")
            self.passes = collections.Counter({point: self.passes[point] for point in only.split(",")})

    def row(self, point: str, most: int, expected: Expectation) -> Row:
        """Tries every action at some passes of a point."""
        out = self.batch.folder / f"disturbed-{point}"
        row = Row()
        for action in ACTIONS:
            good = tried = 0
            for index in selected(self.passes[point], most):
                shutil.rmtree(out, ignore_errors=True)
                fault = f"{point}:{index}:{action}" + self.companions.get(point, "")
                wrong = try_fault(self.batch, out, fault, expected)
                tried += 1
                good += not wrong
                row.wrong += [f"{fault}: {text}" for text in wrong]
            row.runs += tried
            row.cells.append(f"{good}/{tried}")
        return row

    def by_chance(self, count: int, seed: int, expected: Expectation) -> Row:
        """Tries faults drawn by chance."""
        out, row, choice = self.batch.folder / "disturbed", Row(runs=count), random.Random(seed)
        for number in range(count):
            shutil.rmtree(out, ignore_errors=True)
            point = choice.choice(sorted(self.passes))
            fault = f"{point}:{choice.randint(1, self.passes[point])}:{choice.choice(ACTIONS)}" + self.companions.get(point, "")
            wrong = try_fault(self.batch, out, fault, expected)
            row.wrong += [f"{fault}: {text}" for text in wrong]
            print(f"{number + 1:4} {fault:50} {wrong or 'same tree'}", flush=True)
        return row


def all_points(matrix: Matrix, arguments: argparse.Namespace, expected: Expectation) -> Row:
    """Tries every action at every point."""
    print(f"{'point':22} {'passes':>6}  " + " ".join(f"{action:>11}" for action in ACTIONS))
    whole, points = Row(), sorted(matrix.passes)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as jobs:
        rows = jobs.map(lambda point: matrix.row(point, arguments.passes, expected), points)
        for point, row in zip(points, rows):
            whole.runs += row.runs
            whole.wrong += row.wrong
            print(f"{point:22} {matrix.passes[point]:6}  " + " ".join(f"{cell:>11}" for cell in row.cells), flush=True)
    return whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--passes", type=int, default=4, help="at most so many passes of a point")
    parser.add_argument("--jobs", type=int, default=1, help="points in parallel")
    parser.add_argument("--points", help="only these, separated by commas")
    parser.add_argument("--mixed", type=int, default=0, help="instead so many faults by chance over the mixed batch")
    parser.add_argument("--seed", type=int, default=1, help="of the faults by chance")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="fault-matrix-"))
    batch = Batch(arguments.nocturne, folder, arguments.mixed > 0)
    undisturbed = folder / "undisturbed"
    code, text = batch.run(batch.command(undisturbed))
    if code != 0:
        raise SystemExit(f"the undisturbed run ends with {code}: {text}")
    expected = Expectation(tree(undisturbed), json.loads((undisturbed / "batch.json").read_text())["counts"])
    matrix = Matrix(batch, arguments.points)
    known = batch.known_points()
    print(f"{architecture()}: {len(expected.tree)} files, {len(matrix.reached)} of {len(known)} points")
    print(f"never passed: {', '.join(sorted(known - matrix.reached)) or 'none'}\n")
    if arguments.mixed:
        whole = matrix.by_chance(arguments.mixed, arguments.seed, expected)
    else:
        whole = all_points(matrix, arguments, expected)
    print(f"\n{whole.runs} runs, {len(whole.wrong)} failures")
    print("\n".join(whole.wrong))
    shutil.rmtree(folder, ignore_errors=True)
    raise SystemExit(1 if whole.wrong else 0)


if __name__ == "__main__":
    main()
