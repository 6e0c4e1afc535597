#!/usr/bin/env python3
"""A watch with --keep over many items that come in portions, killed at random instants.

    Tools/proofs/watch_retention.py NOCTURNE --model Tests/Fixtures/Models/threshold

Files are added to the watched folder in portions. While one is processed, the watch is killed with SIGKILL and started again. One of
the first results gets a file of a person, which must stay with its result. At the end the newest results are there and that one,
nothing was processed twice but what a kill interrupted, every file of the inputs is as it was, and `verify` finds no fault. The bytes of
all results are measured after each portion.

With --drop older results lose only meshes or pictures: then all items stay completed, the newest and that one have these files, and
`resume` makes nothing again.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.result_tree import completed_twice
from nocturne_tools.small_volumes import tiny_volume

STEP, LIMIT = 0.05, 600


class Proof:
    def __init__(self, arguments: argparse.Namespace, work: Path) -> None:
        self.arguments, self.inputs, self.out = arguments, work / "in", work / "out"
        self.random = random.Random(arguments.seed)
        self.inputs.mkdir()
        self.faults: list[str] = []
        self.count = 0

    def start(self) -> subprocess.Popen:
        arguments = self.arguments
        options = ["--output", str(self.out), "--settle", "0", "--keep", str(arguments.keep), "--quiet"]
        options += ["--drop", arguments.drop] if arguments.drop else []
        return subprocess.Popen([arguments.nocturne, "watch", str(self.inputs), "--model", arguments.model, *options])

    def results(self) -> list[Path]:
        """The folders of results that have all of their files."""
        found = [path.parent for path in self.out.glob("*/result.json")]
        if "meshes" in self.arguments.drop:
            found = [folder for folder in found if (folder / "meshes").exists()]
        if "pictures" in self.arguments.drop:
            found = [folder for folder in found if (folder / "preview.png").exists()]
        return found

    def states(self) -> Counter:
        """Of the items, by `status`."""
        done = subprocess.run([self.arguments.nocturne, "status", str(self.out), "--json"], capture_output=True, text=True, check=False)
        return Counter(json.loads(done.stdout)["counts"]) if done.returncode == 0 else Counter()

    def add(self) -> None:
        for _ in range(self.arguments.portion):
            new = self.inputs / f"item{self.count:04}.nii"
            new.with_suffix(".part").write_bytes(tiny_volume(self.count))
            new.with_suffix(".part").rename(new)
            self.count += 1

    def wait(self) -> None:
        """Until all items have ended and no result is to be removed."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            counts = self.states()
            if counts["completed"] + counts["skipped"] == self.count and len(self.results()) <= self.arguments.keep + 1:
                return
            time.sleep(STEP)
        self.faults.append(f"after {LIMIT} s: {dict(self.states())}, {len(self.results())} results")

    def round(self, number: int) -> None:
        self.add()
        run = self.start()
        time.sleep(self.random.uniform(0.2, 2.5))
        run.send_signal(signal.SIGKILL)
        run.wait()
        run = self.start()
        self.wait()
        if number == 0:
            (self.results()[0] / "note.txt").write_text("of a person")
        (self.out / "stop").touch()
        if run.wait() != 0:
            self.faults.append(f"{number}: exit {run.returncode}")
        size = sum(path.stat().st_size for path in self.out.glob("*/**/*") if path.is_file() and path.parts[len(self.out.parts)] not in (".nocturne", "review"))
        journal = (self.out / ".nocturne" / "journal.sqlite").stat().st_size
        print(f"{self.count} items: {len(self.results())} results, {size >> 10} KiB, journal {journal >> 10} KiB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--model", required=True, help="a model package for volumes")
    parser.add_argument("--keep", type=int, default=50)
    parser.add_argument("--drop", default="", help="as of `nocturne watch`")
    parser.add_argument("--portion", type=int, default=50)
    parser.add_argument("--portions", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="watch-retention-"))
    proof = Proof(arguments, work)
    for number in range(arguments.portions):
        proof.round(number)
    if not list(proof.out.glob("*/note.txt")):
        proof.faults.append("the result with a file of a person was removed")
    if any((proof.inputs / f"item{number:04}.nii").read_bytes() != tiny_volume(number) for number in range(proof.count)):
        proof.faults.append("inputs changed")
    if arguments.drop and proof.states()["completed"] != proof.count:
        proof.faults.append(f"not all are completed: {dict(proof.states())}")
    resumed = subprocess.run([arguments.nocturne, "resume", str(proof.out), "--quiet"], capture_output=True, text=True, check=False)
    if resumed.returncode != 0 or len(proof.results()) > arguments.keep + 1:
        proof.faults.append(f"resume: exit {resumed.returncode}, {len(proof.results())} whole results, {resumed.stderr[:300]}")
    if twice := completed_twice(proof.out):
        proof.faults.append(f"processed twice: {twice[:5]}")
    verified = subprocess.run([arguments.nocturne, "verify", str(proof.out)], capture_output=True, text=True, check=False)
    if verified.returncode != 0:
        proof.faults.append(f"verify: {verified.stdout[:500]}")
    print(f"{len(proof.faults)} faults", *proof.faults, sep="\n")
    shutil.rmtree(work, ignore_errors=True)
    raise SystemExit(1 if proof.faults else 0)


if __name__ == "__main__":
    main()
