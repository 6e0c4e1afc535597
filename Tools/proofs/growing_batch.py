#!/usr/bin/env python3
"""A batch grows: an input, a model and an output are added and an input is removed, in many orders. Afterwards names, tables and
bytes, also the order of rows, are those of one run with everything, no network has run twice for one item, and `verify` finds no fault.

Results of the removed input stay in their folders, and the report lists their items as skipped, without values: these are left out of
the comparison.

    Tools/proofs/growing_batch.py NOCTURNE [--orders 12]

The inputs are folders of patients, most with files of the same name. Options that a step does not change are not given. Each order
is tried with and without --name. Tiles of inference are counted by the program's fault injection.
"""

from __future__ import annotations

import argparse
import itertools
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import ROOT
from nocturne_tools.result_tree import differing, tree
from nocturne_tools.small_volumes import tiny_volume, write_series

MODELS = [ROOT / "Tests/Fixtures/Models" / name for name in ("threshold", "classes-4")]
STEPS = ("add input", "add model", "add output", "remove input")
OUTPUT = ["--meshes", "ply"]
PATTERN = ["--name", "{1}_{2}"]


class Batch:
    """An output folder, with what its last command has named."""

    def __init__(self, nocturne: str, work: Path, name: str) -> None:
        self.nocturne, self.work, self.out = nocturne, work, work / name
        self.tiles = 0

    def run(self, inputs: set[str], options: list[str]) -> None:
        """Processes everything."""
        points = self.work / "points"
        points.unlink(missing_ok=True)
        folders = [str(self.work / name) for name in sorted(inputs)]
        done = subprocess.run(
            [self.nocturne, "run", *folders, "--output", str(self.out), "--quiet", "--yes", "--fault-injection", *options],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env=os.environ | {"NOCTURNE_FAULT": f"count:{points}"},
        )
        if done.returncode:
            raise SystemExit(f"exit {done.returncode} after {options}: {done.stderr}")
        self.tiles += points.read_text().split().count("inference.tile")

    def verify(self) -> list[str]:
        """The faults that `nocturne verify` finds."""
        done = subprocess.run([self.nocturne, "verify", str(self.out)], capture_output=True, text=True)
        return [f"verify: exit {done.returncode}: {done.stdout[-300:]}"] if done.returncode else []

    def files(self) -> dict[str, Any]:
        """Digests of all files, or the values where there may be items of the removed input; without these."""
        found = {path: digest for path, digest in tree(self.out).items() if not path.startswith("removed-")}
        for path in found:
            if path == "measurements.csv":
                rows = csv.reader((self.out / path).read_text().splitlines())
                found[path] = [row for row in rows if not row[0].startswith("removed-")]
            elif path == "statistics.csv":
                found[path] = (self.out / path).read_text().splitlines()
            elif path == "batch.json":
                found[path] = without_removed(json.loads((self.out / path).read_text()))
            elif path.startswith("review/data/"):
                calls = re.findall(r"^nocturne\w+\((?:\d+, )?(.*)\);?$", (self.out / path).read_text(), re.MULTILINE)
                found[path] = [without_removed(json.loads(call)) for call in calls]
        return found


def without_removed(value: Any) -> Any:
    """A report, or a list of items, without what was removed, and with the counts and places of the others."""
    if isinstance(value, list):
        return [{**item, "index": place} for place, item in enumerate(kept(value))]
    counts = value["counts"]
    items = {"items": kept(value["items"])} if "items" in value else {}
    failures = {"failures": kept(value["failures"])} if "failures" in value else {}
    return {**value, **items, **failures, "counts": counts | {"inputs": counts["inputs"] - counts["skipped"], "skipped": 0}}


def kept(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [entry for entry in entries if entry["code"] != "input.noLongerFound"]


def models(count: int) -> list[str]:
    return [part for model in MODELS[:count] for part in ("--model", str(model))]


def grow(batch: Batch, order: tuple[str, ...], options: list[str]) -> None:
    """The first run has two inputs; each step names the inputs of then, and what it adds."""
    inputs = {"first", "removed"}
    batch.run(inputs, [*models(1), *options])
    for step in order:
        match step:
            case "add input":
                inputs.add("second")
                batch.run(inputs, [])
            case "add model":
                batch.run(inputs, models(2))
            case "add output":
                batch.run(inputs, OUTPUT)
            case "remove input":
                inputs.remove("removed")
                batch.run(inputs, [])


def prepare(work: Path) -> None:
    seed = 0
    for folder, patients in {"first": 2, "second": 2, "removed": 1}.items():
        for patient in range(1, patients + 1):
            place = work / folder / f"{folder}-{patient}"
            place.mkdir(parents=True)
            (place / "ct.nii").write_bytes(tiny_volume(seed := seed + 1))
            write_series(place / "series", seed := seed + 1)
    (work / "second" / "second-1" / "only-here.nii").write_bytes(tiny_volume(seed + 1))


def check(nocturne: str, work: Path, orders: list[tuple[str, ...]], options: list[str]) -> int:
    """Returns how many orders went wrong."""
    label = " ".join(options) or "default names"
    whole = Batch(nocturne, work, f"whole {label}")
    whole.run({"first", "second"}, [*models(2), *OUTPUT, *options])
    expected = whole.files()
    # A network may also have run for what was removed later.
    most = Batch(nocturne, work, f"most {label}")
    most.run({"first", "second", "removed"}, [*models(2), *options])
    wrong = 0
    for number, order in enumerate(orders):
        batch = Batch(nocturne, work, f"grown {number} {label}")
        grow(batch, order, options)
        found = batch.files()
        differences = differing(found, expected)
        faults = [f"differs: {', '.join(differences[:8])}"] if differences else []
        faults += batch.verify()
        if batch.tiles > most.tiles:
            faults.append(f"{batch.tiles} tiles of inference, more than {most.tiles}")
        wrong += bool(faults)
        print(f"{label}: {', '.join(order)}: {'; '.join(faults) or f'the same, {batch.tiles} tiles'}", flush=True)
    items = len({path.split("/")[0] for path in expected if path.endswith("result.json")})
    print(f"{label}: {len(orders)} orders, {items} items, {len(expected)} files: {wrong} orders wrong", flush=True)
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("--orders", type=int, default=12, help="of the 24 orders, evenly chosen")
    arguments = parser.parse_args()
    every = list(itertools.permutations(STEPS))
    orders = [every[index * len(every) // arguments.orders] for index in range(arguments.orders)]
    with tempfile.TemporaryDirectory(prefix="growing-batch-") as folder:
        prepare(Path(folder))
        wrong = sum(check(arguments.nocturne, Path(folder), orders, options) for options in ([], PATTERN))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
