#!/usr/bin/env python3
"""Kills a batch at random instants and resumes it; the tree must equal that of an undisturbed run.

    Tools/proofs/kill_resume.py NOCTURNE --model PACKAGE [PACKAGE ...] --input FOLDER [FOLDER ...] --kills 50

Volumes and photos may be in one batch, each with their models. Each round starts the batch in a fresh folder, kills the
whole process tree with SIGKILL after a random time, and runs `resume` (which may be killed again, with probability
`--again`) to the end. Then the tree is compared byte by byte with the undisturbed one: everything but run.json,
events.jsonl and .nocturne. The events show how often each item was committed: a committed item must not be started
again.

With `--interrupt SECONDS`, runs get SIGINT instead. Each must end with 130 within these seconds, and `status` must
count the items that have results.

With `--fills`, the disk of the output folder is filled at a random instant instead, and emptied up to three seconds
later; the run waits or stops, and is resumed. The disk is a file system in memory: as root.
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
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from full_disks import fill
from nocturne_tools.result_tree import completed_twice, differing, tree


def ends(process: subprocess.Popen, within: float | None) -> bool:
    """Whether a process ends within some seconds; None waits for its end."""
    try:
        process.wait(timeout=within)
        return True
    except subprocess.TimeoutExpired:
        return False


class Proof:
    """The batch, its undisturbed run, and the counts over all rounds."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.arguments, self.folder = arguments, folder
        self.random = random.Random(arguments.seed)
        self.signal, self.signalled, self.earliest = signal.SIGKILL, -signal.SIGKILL, 0.0
        if arguments.interrupt is not None:
            # A process that has just started does not handle SIGINT yet.
            self.signal, self.signalled, self.earliest = signal.SIGINT, 130, 0.1
        self.slowest = 0.0
        before = time.monotonic()
        self.code = self.run(self.start(folder / "undisturbed"))
        self.length = time.monotonic() - before
        self.expected = tree(folder / "undisturbed")
        print(f"undisturbed: exit {self.code}, {self.length:.1f} s, {len(self.expected)} files")
        self.disturbances = self.differing = self.repeated = self.wrong_exit = self.wrong_status = 0
        self.where: dict[int, int] = {}

    def start(self, out: Path) -> list[str]:
        """The command that starts the batch."""
        arguments = self.arguments
        models = [part for model in arguments.model for part in ("--model", model)]
        return [
            *(arguments.nocturne, "run", *arguments.input, *models, "--output", str(out), "--quiet"),
            *arguments.options,
        ]

    def run(self, command: list[str], after: float | None = None) -> int | None:
        """Runs a command and signals it after some seconds: its exit code, or None when it ended early."""
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if ends(process, after):
            return process.returncode
        # Only the parent gets it: after SIGKILL, the kernel kills its children when the parent has ended.
        process.send_signal(self.signal)
        before = time.monotonic()
        code = process.wait()
        self.slowest = max(self.slowest, time.monotonic() - before)
        if code == self.code:
            return code
        if code != self.signalled:
            self.wrong_exit += 1
            print(f"exit {code} instead of {self.signalled} after the signal")
        return None

    def completed(self, out: Path) -> int:
        """Completed items as `status` counts them; 0 where the batch has no journal yet."""
        status = subprocess.run([self.arguments.nocturne, "status", str(out), "--json"], capture_output=True)
        return json.loads(status.stdout)["counts"]["completed"] if status.returncode == 0 else 0

    def disturbed(self, out: Path) -> None:
        """Counts a disturbance by the progress of the batch."""
        self.disturbances += 1
        done = len(list(out.glob("*/result.json"))) if out.exists() else 0
        self.where[done] = self.where.get(done, 0) + 1
        # A killed run may have a result that the journal does not have yet.
        if self.signal == signal.SIGINT and (counted := self.completed(out)) != done:
            self.wrong_status += 1
            print(f"status counts {counted} completed items, {done} have results")

    def disturb(self, out: Path) -> int | None:
        """Starts, disturbs and resumes the batch until it ends: its last exit code."""
        command = self.start(out)
        while True:
            last = self.run(command, self.random.uniform(self.earliest, self.length * 1.02))
            if last is not None:
                return self.ended(out, last)
            self.disturbed(out)
            command = self.start(out)
            if (out / ".nocturne" / "journal.sqlite").exists() and self.random.random() < 0.5:
                command = [self.arguments.nocturne, "resume", str(out), "--quiet"]
            if self.disturbances >= self.arguments.kills or self.random.random() > self.arguments.again:
                return self.ended(out, self.run(command))

    def ended(self, out: Path, last: int | None) -> int | None:
        """The last exit code; the batch is started again where it was killed before the journal knew what it is (2)."""
        return self.run(self.start(out)) if last == 2 else last

    def fill(self, out: Path) -> int | None:
        """Starts the batch, fills its disk, empties it and resumes the batch until it ends: its last exit code."""
        process = subprocess.Popen([*self.start(out), "--on-full", self.random.choice(["pause", "stop"])])
        if not ends(process, self.random.uniform(0.0, self.length * 1.02)):
            filler = fill(out.parent, leaving=self.random.choice([0, 0, 4096, 50_000, 500_000]))
            ends(process, self.random.uniform(0.1, 3.0))
            self.disturbed(out)
            filler.unlink(missing_ok=True)
        last = process.wait()
        return self.run(self.start(out)) if last == 75 else last

    def fill_round(self) -> None:
        disk = self.folder / "disk"
        disk.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", str(disk)], check=True)
        try:
            self.check(disk / "out", self.fill(disk / "out"))
        finally:
            subprocess.run(["umount", "-l", str(disk)], check=True)

    def round(self) -> None:
        out = self.folder / "disturbed"
        shutil.rmtree(out, ignore_errors=True)
        self.check(out, self.disturb(out))

    def check(self, out: Path, last: int | None) -> None:
        if last != self.code:
            self.wrong_exit += 1
            print(f"exit {last} instead of {self.code}")
        if names := differing(tree(out), self.expected):
            self.differing += 1
            print("differs:", names[:5])
        if twice := completed_twice(out):
            self.repeated += 1
            print("completed twice:", twice)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--model", required=True, nargs="+", help="model packages")
    parser.add_argument("--input", required=True, nargs="+", help="files and folders")
    parser.add_argument("--kills", type=int, default=50, help="how many signals are sent; default: 50")
    parser.add_argument("--interrupt", type=float, metavar="SECONDS", help="SIGINT instead; a run ends within these")
    parser.add_argument("--fills", type=int, default=0, help="instead so many full disks")
    parser.add_argument("--again", type=float, default=0.3, help="probability that a resumed run is killed too")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="more options of `nocturne run`; last")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="kill-resume-"))
    proof = Proof(arguments, folder)
    while proof.disturbances < (arguments.fills or arguments.kills):
        proof.fill_round() if arguments.fills else proof.round()
    kind = "full disks" if arguments.fills else proof.signal.name
    print(
        f"{proof.disturbances} times {kind}, by the number of completed items "
        f"{dict(sorted(proof.where.items()))}: {proof.differing} trees differ, "
        f"{proof.repeated} with an item completed twice, {proof.wrong_exit} wrong exit codes, "
        f"{proof.wrong_status} wrong counts of status; the slowest ended {proof.slowest:.2f} s after the signal"
    )
    shutil.rmtree(folder, ignore_errors=True)
    is_late = arguments.interrupt is not None and proof.slowest > arguments.interrupt
    faults = proof.differing + proof.repeated + proof.wrong_exit + proof.wrong_status
    raise SystemExit(1 if faults or is_late else 0)


if __name__ == "__main__":
    main()
