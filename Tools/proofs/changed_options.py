#!/usr/bin/env python3
"""A finished batch is continued with other options: what is done again, how long that takes, and whether the result is the
same as that of a new batch with these options, byte for byte.

    Tools/proofs/changed_options.py NOCTURNE [NOCTURNE] --model Tests/Fixtures/Models/threshold

The batch has small volumes: NIfTI files, five DICOM series, and five series with a gantry tilt, which are refused without
--fix-tilt. Tiles of inference are counted by the program's fault injection.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.result_tree import differing, tree
from nocturne_tools.small_volumes import tiny_volume, write_series

SERIES = 5


class Batch:
    """One program, with inputs, models and a base batch that is copied for every change."""

    def __init__(self, nocturne: str, work: Path, model: Path, label: str) -> None:
        self.nocturne, self.work, self.model = nocturne, work, model
        self.points, self.preview = work / "points", "full"
        newer = work / "newer"
        self.changes = {
            "--pictures": ["--model", str(model), "--pictures"],
            "--fix-tilt": ["--model", str(model), "--fix-tilt"],
            f"--labels {label}": ["--model", str(model), "--labels", label],
            "--meshes ply": ["--model", str(model), "--meshes", "ply"],
            "--step-size 0.9": ["--model", str(model), "--step-size", "0.9"],
            "another version of the model": ["--model", str(newer)],
        }

    def command(self, out: Path, options: list[str]) -> list[str]:
        inputs = str(self.work / "in")
        return [self.nocturne, "run", inputs, "--output", str(out), "--preview", self.preview, *options]

    def run(self, out: Path, options: list[str]) -> float:
        """Seconds; a batch with refused items ends with 3."""
        start = time.monotonic()
        command = self.command(out, options)
        self.points.unlink(missing_ok=True)
        done = subprocess.run(
            [*command, "--quiet", "--fault-injection"],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"NOCTURNE_FAULT": f"count:{self.points}"},
        )
        if done.returncode not in (0, 3):
            raise SystemExit(f"exit {done.returncode}: {done.stderr}")
        return time.monotonic() - start

    def tiles(self) -> int:
        """The tiles of inference in the last run."""
        return self.points.read_text().split().count("inference.tile")

    def forecast(self, out: Path, options: list[str]) -> str:
        """What a dry run says: results made again with and without inference, and others; a dash for older programs."""
        command = [*self.command(out, options), "--dry-run", "--json"]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        batch = json.loads(done.stdout).get("batch")
        if not batch:
            return "-"
        counts = batch["counts"]
        return f"{counts['repeat']}, {counts['remake']}, {counts['pending'] + counts['retry']}"


def started(out: Path, after: int = 0) -> set[str]:
    """The items that a run has started, from its part of the events."""
    events = [json.loads(line) for line in (out / "events.jsonl").read_text().splitlines()[after:]]
    return {event["item"] for event in events if event["event"] == "itemStarted"}


def row(batch: Batch, base: Path, name: str, options: list[str]) -> list[str]:
    changed, fresh = batch.work / "changed", batch.work / "fresh"
    for folder in (changed, fresh):
        shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(base, changed)
    forecast = batch.forecast(changed, options)
    before = len((changed / "events.jsonl").read_text().splitlines())
    seconds = batch.run(changed, [*options, "--yes"])
    tiles = batch.tiles()
    fresh_seconds = batch.run(fresh, options)
    items = started(changed, before)
    differences = differing(tree(changed), tree(fresh))
    print(f"{name}: differs {differences[:8]}", file=sys.stderr) if differences else None
    counts = [len(items), tiles, batch.tiles(), len(differences)]
    measured = [f"{seconds:.1f}", f"{fresh_seconds:.1f}", *map(str, counts)]
    return [Path(batch.nocturne).name, name, forecast, *measured]


def prepare(work: Path, count: int, model: Path) -> None:
    (work / "in").mkdir(parents=True)
    for index in range(count - 2 * SERIES):
        (work / "in" / f"v{index:03}.nii").write_bytes(tiny_volume(index))
    for index in range(SERIES):
        write_series(work / "in" / f"upright{index}", 100 + index)
        write_series(work / "in" / f"tilted{index}", 200 + index, tilt=0.2)
    shutil.copytree(model, work / "newer")
    manifest = json.loads((model / "model.json").read_text())
    (work / "newer" / "model.json").write_text(json.dumps(manifest | {"version": "99.0.0"}))


COLUMNS = [
    *("program", "change", "forecast: inference again, without, others", "s", "s of a new batch"),
    *("items processed", "tiles of inference", "tiles of a new batch", "files that differ from it"),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", nargs="+", help="the built program, or two to be compared")
    parser.add_argument("--model", type=Path, required=True, help="a model package")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--preview", default="full", help="passed on; a debug program takes seconds to draw one")
    arguments = parser.parse_args()
    label = json.loads((arguments.model / "model.json").read_text())["labels"][0]["name"]
    work = Path(tempfile.mkdtemp(prefix="changed-options-"))
    prepare(work, arguments.count, arguments.model.resolve())
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|", flush=True)
    failures = 0
    for nocturne in arguments.nocturne:
        batch = Batch(nocturne, work, arguments.model.resolve(), label)
        batch.preview = arguments.preview
        base = work / "base"
        shutil.rmtree(base, ignore_errors=True)
        batch.run(base, ["--model", str(batch.model)])
        for name, options in batch.changes.items():
            cells = row(batch, base, name, options)
            failures += cells[-1] != "0"
            print("| " + " | ".join(cells) + " |", flush=True)
    shutil.rmtree(work)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
