#!/usr/bin/env python3
"""Runs batches that are wrong as a whole, and good ones with some bad files, and checks which of them stop early.

    Tools/proofs/wrong_batches.py NOCTURNE --orders 20

A thousand volumes in which the model finds nothing stop the run after at most 25 items, and so does, within 30 items, a folder of such
volumes that comes after two good ones. A cohort of 94 good and 6 damaged files in random orders never stops it.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import THRESHOLD_MODEL
from nocturne_tools.small_volumes import tiny_volume

ALL_EMPTY, MOST_BEFORE_STOP = 1000, 25
GOOD, BAD = 94, 6
THIRD, MOST_OF_THIRD = 60, 30
# The header is followed by voxels of one byte.
HEADER_BYTES = 352


def empty_volume() -> bytes:
    volume = tiny_volume(0)
    return volume[:HEADER_BYTES] + bytes(len(volume) - HEADER_BYTES)


def run(tool: str, source: Path, out: Path) -> tuple[int, dict[str, str], str]:
    """The exit code, the state of every item, and the last lines of the messages."""
    command = [tool, "run", str(source), "--model", str(THRESHOLD_MODEL), "--output", str(out), "--meshes", "none", "--preview", "none"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    states = {item["item"]: item["state"] for item in json.loads((out / "batch.json").read_text())["items"]}
    return done.returncode, states, done.stderr.strip()


def write(folder: Path, name: str, content: bytes) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.nii").write_bytes(content)


def completed(states: dict[str, str], prefix: str = "") -> int:
    return sum(state == "completed" and name.startswith(prefix) for name, state in states.items())


def stops(text: str) -> str:
    return next((line for line in text.splitlines() if "in a row" in line), "no message")


def check(arguments: argparse.Namespace, work: Path) -> list[str]:
    faults = []
    for number in range(ALL_EMPTY):
        write(work / "empty", f"e{number:04}", empty_volume())
    code, states, text = run(arguments.nocturne, work / "empty", work / "out-empty")
    print(f"{ALL_EMPTY} empty: exit {code}, {completed(states)} completed: {stops(text)}")
    if code != 75 or completed(states) > MOST_BEFORE_STOP:
        faults.append("empty volumes")
    for number in range(THIRD):
        write(work / "thirds" / "first", f"a{number:02}", tiny_volume(number))
        write(work / "thirds" / "second", f"b{number:02}", tiny_volume(number + THIRD))
        write(work / "thirds" / "wrong", f"w{number:02}", empty_volume())
    code, states, text = run(arguments.nocturne, work / "thirds", work / "out-thirds")
    print(f"last third wrong: exit {code}, {completed(states, 'w')} of it completed: {stops(text)}")
    if code != 75 or completed(states, "w") > MOST_OF_THIRD or completed(states) - completed(states, "w") < 2 * THIRD:
        faults.append("last third")
    codes = []
    for order in range(arguments.orders):
        places = list(range(GOOD + BAD))
        random.Random(order).shuffle(places)
        source = work / f"mixed{order}"
        for number, place in enumerate(places):
            write(source, f"p{place:02}", tiny_volume(number) if number < GOOD else b"cut short")
        code, states, _ = run(arguments.nocturne, source, work / f"out-mixed{order}")
        codes.append(code)
        if code != 3 or completed(states) != GOOD:
            faults.append(f"order {order}: exit {code}, {completed(states)} completed")
    print(f"{GOOD} good and {BAD} damaged in {arguments.orders} orders: exit codes {sorted(set(codes))}")
    return faults


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--orders", type=int, default=20)
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="wrong-batches-"))
    faults = check(arguments, work)
    print(f"{len(faults)} faults", *faults, sep="\n")
    shutil.rmtree(work, ignore_errors=True)
    raise SystemExit(1 if faults else 0)


if __name__ == "__main__":
    main()
