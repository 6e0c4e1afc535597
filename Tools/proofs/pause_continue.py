#!/usr/bin/env python3
"""Pauses a batch at random instants, lets an item go first, and approves a pilot; the tree must equal that of an undisturbed run.

    Tools/proofs/pause_continue.py NOCTURNE --model PACKAGE [PACKAGE ...] --input FOLDER [FOLDER ...] --times 10

Every second pause releases the memory of active items, and every third one is interrupted by SIGKILL of the whole process tree: the
resumed run must be paused, too. A run counts as paused from the moment after which it takes less than a tenth of a processor for a
second. Trees are compared as by kill_resume.py.

Then the last item of the batch is asked for with `first --now` as soon as another one has begun, as often as --urgent has it. At the end a pilot
of 5 of 200 tiny volumes of three scanners is killed while it waits for its approval, resumed, and approved.
"""

from __future__ import annotations

import argparse
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

from nocturne_tools.paths import THRESHOLD_MODEL
from nocturne_tools.result_tree import completed_twice, differing, tree
from nocturne_tools.small_volumes import tiny_volume

PILOT, COHORT, SCANNERS = 5, 200, 3
QUIET_SHARE, QUIET_SECONDS, STEP = 0.1, 1.0, 0.02


def processor_seconds(process: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(process: int) -> float:
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def engine_of(supervisor: subprocess.Popen) -> int:
    return int(Path(f"/proc/{supervisor.pid}/task/{supervisor.pid}/children").read_text().split()[0])


def events(out: Path, *kinds: str) -> list[dict]:
    path = out / "events.jsonl"
    # The last line may be incomplete.
    lines = path.read_text().split("\n")[:-1] if path.exists() else []
    return [event for event in map(json.loads, lines) if event["event"] in kinds]


def seconds_to_quiet(process: int, start: float, limit: float = 60) -> float:
    """The time from `start` to the moment after which the process hardly works."""
    samples = [(time.monotonic(), processor_seconds(process))]
    while time.monotonic() < start + limit:
        time.sleep(STEP)
        samples.append((time.monotonic(), processor_seconds(process)))
        while samples[-1][0] - samples[0][0] > QUIET_SECONDS:
            first = samples.pop(0)
            if samples[-1][1] - first[1] < QUIET_SHARE * QUIET_SECONDS:
                return max(0.0, first[0] - start)
    return limit


class Proof:
    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.arguments, self.folder, self.random = arguments, folder, random.Random(arguments.seed)
        before = time.monotonic()
        self.code = subprocess.run(self.start(folder / "undisturbed"), check=False).returncode
        self.length = time.monotonic() - before
        self.expected = tree(folder / "undisturbed")
        print(f"undisturbed: exit {self.code}, {self.length:.1f} s, {len(self.expected)} files")
        self.pauses: list[float] = []
        self.faults: list[str] = []

    def start(self, out: Path) -> list[str]:
        models = [part for model in self.arguments.model for part in ("--model", model)]
        return [self.arguments.nocturne, "run", *self.arguments.input, *models, "--output", str(out), "--quiet", *self.arguments.options]

    def tool(self, *words: str) -> int:
        return subprocess.run([self.arguments.nocturne, *words], capture_output=True, check=False).returncode

    def expect(self, condition: object, text: str) -> None:
        if not condition:
            self.faults.append(text)

    def wait_for(self, run: subprocess.Popen, out: Path, kind: str) -> None:
        while run.poll() is None and not events(out, kind):
            time.sleep(STEP)

    def kill(self, run: subprocess.Popen, out: Path) -> subprocess.Popen:
        """Kills the paused run and resumes it."""
        run.send_signal(signal.SIGKILL)
        run.wait()
        before = len(events(out, "itemStarted"))
        resumed = subprocess.Popen([self.arguments.nocturne, "resume", str(out), "--quiet"])
        while resumed.poll() is None and len(events(out, "paused")) < 2:
            time.sleep(STEP)
        if resumed.poll() is None:
            seconds_to_quiet(engine_of(resumed), time.monotonic())
        if resumed.poll() is not None or len(events(out, "itemStarted")) > before:
            self.faults.append("the resumed run was not paused")
        return resumed

    def seconds_to_pause(self, run: subprocess.Popen, sent: float) -> float | None:
        """None where the run ended before it was paused."""
        try:
            return seconds_to_quiet(engine_of(run), sent)
        except (FileNotFoundError, IndexError):
            return None

    def round(self, number: int) -> None:
        out = self.folder / "disturbed"
        shutil.rmtree(out, ignore_errors=True)
        run = subprocess.Popen(self.start(out))
        time.sleep(self.length * (number + self.random.random()) / (self.arguments.times + 1))
        releases, kills = number % 2 == 1, number % 3 == 2
        sent = time.monotonic()
        code = self.tool("pause", str(out), *(["--release-memory"] if releases else []))
        seconds = self.seconds_to_pause(run, sent) if code == 0 and run.poll() is None else None
        if seconds is None:
            print(f"{number}: no run was active")
        else:
            engine = engine_of(run)
            self.pauses.append(seconds)
            done, before = len(events(out, "itemCompleted")), len(events(out, "itemStarted"))
            time.sleep(1)
            if len(events(out, "itemStarted")) > before:
                self.faults.append(f"{number}: an item was started in the pause")
            text = f"{number}: {done} completed, paused after {seconds:.2f} s, {resident_mib(engine):.0f} MiB"
            print(text + (", memory released" if releases else "") + (", killed" if kills else ""))
            if kills:
                run = self.kill(run, out)
            if self.tool("continue", str(out)) != 0:
                self.faults.append(f"{number}: continue failed")
        self.check_end(run, out, f"{number}")

    def check_end(self, run: subprocess.Popen, out: Path, name: str) -> None:
        self.expect(run.wait() == self.code, f"{name}: exit {run.returncode}")
        names = differing(tree(out), self.expected)
        self.expect(not names, f"{name}: differs: {names[:5]}")
        twice = completed_twice(out)
        self.expect(not twice, f"{name}: completed twice: {twice}")

    def urgent(self, number: int) -> None:
        """Asks for the last item once another one is being processed."""
        out = self.folder / "urgent"
        shutil.rmtree(out, ignore_errors=True)
        name = sorted(path.parent.name for path in (self.folder / "undisturbed").glob("*/result.json"))[-1]
        alone = json.loads((self.folder / "undisturbed" / name / "run.json").read_text())["seconds"]
        run = subprocess.Popen(self.start(out))
        self.wait_for(run, out, "itemStarted")
        time.sleep(self.random.random() * sum(alone.values()))
        sent = time.monotonic()
        self.expect(self.tool("first", str(out), name, "--now") == 0, f"urgent {number}: no run was active")
        while run.poll() is None and all(event["item"] != name for event in events(out, "itemCompleted")):
            time.sleep(STEP)
        seconds = time.monotonic() - sent
        aside = [event["item"] for event in events(out, "itemInterrupted")]
        first = [event["item"] for event in events(out, "itemCompleted")].index(name)
        print(f"urgent {number}: {name} ended after {seconds:.2f} s (its stages took {sum(alone.values()):.2f} s), as number {first + 1}; put back: {aside}")
        self.check_end(run, out, f"urgent {number}")

    def pilot(self) -> None:
        """Kills a pilot that waits for its approval, resumes it, and approves it."""
        for number in range(COHORT):
            path = self.folder / "cohort" / f"scanner{number % SCANNERS}" / f"item{number:03}.nii"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(tiny_volume(number))
        command = [self.arguments.nocturne, "run", str(self.folder / "cohort"), "--model", str(THRESHOLD_MODEL), "--quiet", "--output"]
        whole, out = self.folder / "whole", self.folder / "pilot"
        self.code = subprocess.run([*command, str(whole)], check=False).returncode
        self.expected = tree(whole)
        run = subprocess.Popen([*command, str(out), "--pilot", str(PILOT), "--approve"])
        self.wait_for(run, out, "paused")
        taken = [event["item"] for event in events(out, "itemCompleted")]
        places = {item["item"]: Path(item["source"]).parent.name for item in json.loads((out / "batch.json").read_text())["items"]}
        print(f"pilot: {', '.join(f'{item} of {places[item]}' for item in taken)}; {resident_mib(engine_of(run)):.0f} MiB in the wait")
        self.expect(len(taken) == PILOT and len({places[item] for item in taken}) == SCANNERS, f"pilot: {taken}")
        self.expect((out / "index.html").exists(), "pilot: no page")
        run = self.kill(run, out)
        self.expect(self.tool("continue", str(out)) == 2, "pilot: continue ended the wait")
        self.expect(len(events(out, "itemCompleted")) == PILOT, "pilot: the resumed run did not wait")
        self.expect(self.tool("approve", str(out)) == 0, "pilot: approve failed")
        self.check_end(run, out, "pilot")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--model", required=True, nargs="+", help="model packages")
    parser.add_argument("--input", required=True, nargs="+", help="files and folders")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--urgent", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="more options of `nocturne run`; last")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="pause-continue-"))
    proof = Proof(arguments, folder)
    for number in range(arguments.times):
        proof.round(number)
    for number in range(arguments.urgent):
        proof.urgent(number)
    proof.pilot()
    slowest = max(proof.pauses, default=0)
    print(f"{len(proof.pauses)} pauses, the slowest after {slowest:.2f} s, {len(proof.faults)} faults", *proof.faults, sep="\n")
    shutil.rmtree(folder, ignore_errors=True)
    raise SystemExit(1 if proof.faults or not proof.pauses else 0)


if __name__ == "__main__":
    main()
