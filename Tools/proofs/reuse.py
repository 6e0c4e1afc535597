#!/usr/bin/env python3
"""A second batch over 80 % of the inputs of a first one and some new ones takes the results of the first.

    Tools/proofs/reuse.py NOCTURNE --model Tests/Fixtures/Models/threshold

The inputs are small NIfTI volumes. The second batch is made without and with --reuse: items processed, seconds, bytes on the disk. All
files but those about the batch as a whole, which name the copied results, must be the same, the other batch as before, and
`verify` without a fault. Then files of the first batch are damaged, each in another way: these results must be made again. At last the
second batch is killed at fault points of items and of the commit, and at random instants, and resumed: the tree must be that of an
undisturbed run, with the same results marked as copies.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.interface import FaultPoint
from nocturne_tools.result_tree import completed_twice, differing, tree
from nocturne_tools.small_volumes import tiny_volume

NEW_SHARE = 5
ABOUT_BATCH = ("batch.json", "index.html", "review/")


def everything(folder: Path) -> dict[str, str]:
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.rglob("*") if path.is_file()}


def copied_items(out: Path) -> set[str]:
    """Items whose results were taken, by the report."""
    entries = json.loads((out / "batch.json").read_text())["items"]
    return {entry["item"] for entry in entries if entry["state"] == "completed" and entry["reason"]}


def bytes_of_items(out: Path) -> int:
    return sum(path.stat().st_blocks * 512 for path in out.glob("item*/**/*") if path.is_file())


class Proof:
    def __init__(self, arguments: argparse.Namespace, work: Path) -> None:
        self.arguments, self.work, self.random = arguments, work, random.Random(arguments.seed)
        self.faults: list[str] = []
        (work / "a").mkdir()
        for number in range(arguments.items):
            (work / "a" / f"item{number:04}.nii").write_bytes(tiny_volume(number))
        shutil.copytree(work / "a", work / "b")
        for number in range(0, arguments.items, NEW_SHARE):
            (work / "b" / f"item{number:04}.nii").rename(work / "b" / f"item-new{number:04}.nii")
        self.first = work / "first"
        self.run(work / "a", self.first)

    def command(self, inputs: Path, out: Path, *options: str) -> list[str]:
        arguments = self.arguments
        return [arguments.nocturne, "run", str(inputs), "--model", arguments.model, "--output", str(out), "--quiet", *options]

    def run(self, inputs: Path, out: Path, *options: str) -> float:
        start = time.monotonic()
        subprocess.run(self.command(inputs, out, *options), check=True)
        return time.monotonic() - start

    def expect(self, condition: bool, text: str) -> None:
        if not condition:
            self.faults.append(text)

    def compare(self) -> None:
        before = everything(self.first)
        seconds = self.run(self.work / "b", self.work / "made")
        reused = self.run(self.work / "b", self.work / "reused", "--reuse", str(self.first))
        copies = copied_items(self.work / "reused")
        count = self.arguments.items
        sizes = [bytes_of_items(self.work / name) >> 10 for name in ("made", "reused")]
        print(f"made: {count} items in {seconds:.2f} s, {sizes[0]} KiB; with --reuse: {count - len(copies)} of {count} made in {reused:.2f} s, {sizes[1]} KiB")
        self.expect(len(copies) == count - count // NEW_SHARE, f"{len(copies)} copies")
        others = [name for name in differing(tree(self.work / "made"), tree(self.work / "reused")) if not name.startswith(ABOUT_BATCH)]
        self.expect(not others, f"differ: {others[:5]}")
        self.expect(everything(self.first) == before, "the first batch changed")
        verified = subprocess.run([self.arguments.nocturne, "verify", str(self.work / "reused")], capture_output=True, check=False)
        self.expect(verified.returncode == 0, f"verify: {verified.stdout.decode()[:300]}")

    def damage(self) -> None:
        """One result each with a changed byte, a lost file, without its record, and with a result.json that fits a changed file."""
        spoilt = self.work / "spoilt"
        shutil.copytree(self.first, spoilt)
        items = [spoilt / f"item{number:04}" for number in (1, 2, 3, 4)]
        for item in (items[0], items[3]):
            file = item / "segmentation.nii.gz"
            data = bytearray(file.read_bytes())
            data[-1] ^= 1
            file.write_bytes(bytes(data))
        (items[1] / "segmentation.nii.gz").unlink()
        (items[2] / "run.json").unlink()
        record = items[3] / "result.json"
        digest = hashlib.sha256((items[3] / "segmentation.nii.gz").read_bytes()).hexdigest()
        old = hashlib.sha256((self.first / items[3].name / "segmentation.nii.gz").read_bytes()).hexdigest()
        record.write_text(record.read_text().replace(old, digest))
        out = self.work / "after-damage"
        self.run(self.work / "b", out, "--reuse", str(spoilt))
        again = copied_items(self.work / "reused") - copied_items(out)
        print(f"damaged: {len(items)}, made again: {len(again)}")
        self.expect(again == {item.name for item in items}, f"made again: {sorted(again)}")
        others = [name for name in differing(tree(self.work / "made"), tree(out)) if not name.startswith(ABOUT_BATCH)]
        self.expect(not others, f"differ after damage: {others[:5]}")

    def kill(self) -> None:
        # With batch.json, which names the copies.
        expected = tree(self.work / "reused")
        points = [FaultPoint.ITEM_STAGE, FaultPoint.ITEM_STAGED, FaultPoint.ITEM_IN_PLACE, FaultPoint.JOURNAL_RECORD]
        for number in range(self.arguments.kills):
            out = self.work / "killed"
            shutil.rmtree(out, ignore_errors=True)
            command = self.command(self.work / "b", out, "--reuse", str(self.first))
            if number % 2 == 0:
                point = points[number // 2 % len(points)]
                fault = f"{point}:{1 + self.random.randrange(3)}:kill"
                subprocess.run([*command, "--fault-injection"], env=os.environ | {"NOCTURNE_FAULT": fault}, stderr=subprocess.DEVNULL, check=False)
            else:
                fault = "at random"
                process = subprocess.Popen(command)
                time.sleep(self.random.uniform(0.05, 1.0))
                process.send_signal(signal.SIGKILL)
                process.wait()
            # Where nothing was recorded yet, there is nothing to resume.
            if subprocess.run([self.arguments.nocturne, "resume", str(out), "--quiet"], capture_output=True, check=False).returncode != 0:
                self.run(self.work / "b", out, "--reuse", str(self.first))
            names = differing(tree(out), expected)
            self.expect(not names, f"killed {fault}: differ: {names[:5]}")
            self.expect(not completed_twice(out), f"killed {fault}: completed twice")
        print(f"{self.arguments.kills} kills")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--model", required=True, help="a model package for volumes")
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="reuse-"))
    proof = Proof(arguments, work)
    for part in (proof.compare, proof.damage, proof.kill):
        part()
    print(f"{len(proof.faults)} faults", *proof.faults, sep="\n")
    shutil.rmtree(work, ignore_errors=True)
    raise SystemExit(1 if proof.faults else 0)


if __name__ == "__main__":
    main()
