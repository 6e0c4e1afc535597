#!/usr/bin/env python3
"""Makes a small batch die or fail at every named point in turn, goes on with it, and compares trees and accounts.

    Tools/Proofs/fault_matrix.py NOCTURNE [--passes 4] [--jobs 3] [--points file.write,journal.complete]

The batch is four small volumes and two photos with two models. A first run counts how often each point is passed. Then,
for every point, for some of its passes and for every action (`kill` of the engine, `kill-parent`, `kill-group` of both,
ENOSPC, EIO, EINTR, a delay), the batch is begun anew with that one fault, gone on with to its end, and its tree is
compared byte by byte with the undisturbed one: everything but run.json, events.jsonl and .nocturne. No item may be started
again after it was committed, no process may be left two seconds after the run, and nothing may take longer than a minute.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import os
import platform
import shutil
import struct
import subprocess
import tempfile
import time
from pathlib import Path

from kill_resume import done_twice, tree

ROOT = Path(__file__).resolve().parents[2]
MODELS = [ROOT / "Tests/Fixtures/Models/threshold", ROOT / "Samples/Models/skin-lesions-demo"]
PHOTOS = ROOT / "Samples/Photos/lesions"
LIMIT = 60.0
# So that files are tried before they are read.
OPTIONS = ["--item-timeout", "10m"]
# What makes the points be passed that an undisturbed run does not pass: items that wait for one another, so that one flush
# of the disk does for several, and one that is put back after a fault.
COMPANIONS = ["item.staged:1:delay-500", "item.stage:2:EIO"]
ACTIONS = ["kill", "kill-parent", "kill-group", "ENOSPC", "EIO", "EINTR", "delay-700"]


def write_volume(path: Path, size: int, value: int) -> None:
    """An uncompressed NIfTI-1 file of uint8 voxels with a box of one value in the middle."""
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, size, size, size, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 2, 8)
    struct.pack_into("<4f", header, 76, 1, 1, 1, 1)
    struct.pack_into("<f", header, 108, 352)
    struct.pack_into("<2h", header, 252, 0, 1)
    struct.pack_into("<12f", header, 280, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0)
    header[344:348] = b"n+1\0"
    voxels = bytearray(size**3)
    for k in range(size // 4, 3 * size // 4):
        for j in range(size // 4, 3 * size // 4):
            start = (k * size + j) * size + size // 4
            voxels[start : start + size // 2] = bytes([value]) * (size // 2)
    path.write_bytes(bytes(header) + bytes(voxels))


def make_inputs(folder: Path) -> None:
    folder.mkdir()
    for index in range(4):
        write_volume(folder / f"volume{index}.nii", 24 + 4 * index, 1)
    for photo in sorted(PHOTOS.glob("*.jpg"))[:2]:
        shutil.copy(photo, folder / photo.name)


class Bench:
    """Runs the batch into fresh folders."""

    def __init__(self, nocturne: str, work: Path) -> None:
        self.nocturne = str(Path(nocturne).resolve())
        self.work = work
        self.input = work / "in"
        make_inputs(self.input)

    def command(self, out: Path) -> list[str]:
        models = [word for model in MODELS for word in ("--model", str(model))]
        return [self.nocturne, "run", str(self.input), *models, "--output", str(out), "--quiet", *OPTIONS]

    def run(self, command: list[str], fault: str | None = None) -> tuple[int | None, str]:
        """Exit code (None for a hang) and what was said."""
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


def engines(out: Path) -> list[int]:
    """The processes that work on the folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if str(out).encode() in words and words[0].endswith(b"nocturne"):
                found.append(int(entry.name))
    return found


def orphans(out: Path) -> list[int]:
    """The processes that still work on the folder after two seconds to end in."""
    end = time.monotonic() + 2
    while (found := engines(out)) and time.monotonic() < end:
        time.sleep(0.05)
    return found


def chosen(passes: int, most: int) -> list[int]:
    """The first, the last, and some evenly between."""
    if passes <= most:
        return list(range(1, passes + 1))
    return sorted({1 + round(index * (passes - 1) / (most - 1)) for index in range(most)})


def try_fault(bench: Bench, out: Path, fault: str, expected: dict[str, str], accounts: dict) -> list[str]:
    """What is wrong after the fault and after going on; empty when nothing is."""
    wrong = []
    code, said = bench.run(bench.command(out), fault)
    if code is None:
        wrong.append("hangs")
    if left := orphans(out):
        wrong.append(f"orphans {left}")
    # A delay changes nothing. Faults of the system that went away are made good in the same run, unless the journal itself
    # was hit.
    action = fault.split(",")[0].split(":")[2]
    is_forgiven = action.startswith("kill") or fault.startswith(("journal", "batch", "memory"))
    if code != 0 and (action.startswith("delay") or not is_forgiven):
        wrong.append(f"exit {code} of the run itself: {said.strip()[-200:]}")
    rounds = 0
    while code != 0 and rounds < 3:
        rounds += 1
        # What failed for want of room or by a fault of the disk is tried again by who repaired it.
        code, said = bench.run([*bench.command(out), "--retry-failed"])
    if code != 0:
        wrong.append(f"exit {code} after going on: {said.strip()[-200:]}")
    found = tree(out)
    if found != expected:
        names = sorted(name for name in set(found) | set(expected) if found.get(name) != expected.get(name))
        wrong.append(f"differs: {names[:4]}")
    if (out / "events.jsonl").exists() and (twice := done_twice(out)):
        wrong.append(f"done twice: {twice}")
    try:
        counts = json.loads((out / "batch.json").read_text())["counts"]
        if counts != accounts:
            wrong.append(f"counts {counts}")
    except (OSError, KeyError, ValueError) as error:
        wrong.append(f"no account: {error}")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nocturne")
    parser.add_argument("--passes", type=int, default=4, help="at most so many passes of a point")
    parser.add_argument("--jobs", type=int, default=1, help="points at once")
    parser.add_argument("--points", help="only these, separated by commas")
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="fault-matrix-"))
    bench = Bench(arguments.nocturne, work)
    code, said = bench.run(bench.command(work / "undisturbed"))
    if code != 0:
        raise SystemExit(f"the undisturbed run ends with {code}: {said}")
    expected = tree(work / "undisturbed")
    accounts = json.loads((work / "undisturbed/batch.json").read_text())["counts"]
    bench.run(bench.command(work / "counted"), f"count:{work / 'passes'}")
    passes = collections.Counter((work / "passes").read_text().split())
    companions: dict[str, str] = {}
    for companion in COMPANIONS:
        log = work / f"passes-{companion}"
        bench.run(bench.command(work / f"counted-{companion}"), f"count:{log},{companion}")
        for point, count in collections.Counter(log.read_text().split()).items():
            if point not in passes:
                passes[point], companions[point] = count, "," + companion
    reached = set(passes)
    if arguments.points:
        passes = collections.Counter({point: passes[point] for point in arguments.points.split(",")})
    # What is no point is refused with all that are.
    known = set(bench.run(bench.command(work / "none"), "nowhere:1:kill")[1].split("with a point of ")[-1].split(" and kill")[0].split(", "))
    print(f"{platform.processor() or platform.machine()}: {len(expected)} files, {len(reached)} of {len(known)} points")
    print(f"never passed: {', '.join(sorted(known - reached)) or 'none'}\n")
    print(f"{'point':22} {'passes':>6}  " + " ".join(f"{action:>11}" for action in ACTIONS))
    runs, bad = 0, []

    def row(point: str) -> tuple[list[str], int, list[str]]:
        """What came of one point: a cell for each action, the number of runs, what was wrong."""
        out = work / f"disturbed-{point}"
        cells, tries, faults = [], 0, []
        for action in ACTIONS:
            good = tried = 0
            for index in chosen(passes[point], arguments.passes):
                shutil.rmtree(out, ignore_errors=True)
                fault = f"{point}:{index}:{action}" + companions.get(point, "")
                wrong = try_fault(bench, out, fault, expected, accounts)
                tried += 1
                good += not wrong
                faults += [f"{fault}: {fact}" for fact in wrong]
            tries += tried
            cells.append(f"{good}/{tried}")
        return cells, tries, faults

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as jobs:
        for point, (cells, tries, faults) in zip(sorted(passes), jobs.map(row, sorted(passes))):
            runs += tries
            bad += faults
            print(f"{point:22} {passes[point]:6}  " + " ".join(f"{cell:>11}" for cell in cells), flush=True)
    print(f"\n{runs} runs, {len(bad)} faults")
    print("\n".join(bad))
    shutil.rmtree(work, ignore_errors=True)
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
