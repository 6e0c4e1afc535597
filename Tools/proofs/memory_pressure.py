#!/usr/bin/env python3
"""Runs a batch under memory limits, beside processes that take memory for a while, and with a budget above the limit.

    Tools/proofs/memory_pressure.py NOCTURNE [--items 36] [--only hogs]

Every run is made in its own memory cgroup (v1 or v2; where none can be made, only the parts that need none are run, with
a line of output), over the same volumes, and its results are compared byte by byte with those of an undisturbed run. P is
the predicted need of one item, E the need of process and engine, both from `nocturne plan`.

  above    limit 2 (E + 3 P), budget E + 3 P: the limit has no effect
  at       the limit equals the budget, E + 3 P
  below    80 % of the limit, the default budget, hold one item alone; no --memory is given
  needs    the budget is below the ordinary plan of one item and above its lean plan, and below any plan of another: the
           first is completed with the lean plan, the second fails with the figures
  hogs     a process in the same group takes all but 10 %, ends, takes all but 4 %, then all but the need of one item, and
           ends: warning, critical, back to normal; nothing is started beside items in progress; throughput recovers
  starved  a process leaves less than the need of an item while none is in progress: the next one is not started until it
           has ended
  exceeded the budget is eight times the limit: the kernel kills the engine, not its supervisor; what does not fit is
           retried alone and quarantined with that cause, everything else is completed, exit 3

Fails when anything is killed (by the group's count of out-of-memory kills; except in `exceeded`), when the engine was not
one process, when anonymous memory reached the limit, when an item is missing from the report, when a byte differs, or when
throughput after the last hog is below 0.7 of that before the first.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools import interface
from nocturne_tools.cgroups import MIB, MemoryGroup, MemoryHog
from nocturne_tools.limited_run import LimitedRun, Plan, moment
from nocturne_tools.machine import architecture
from nocturne_tools.paths import FIXTURES
from nocturne_tools.result_tree import differing, tree
from nocturne_tools.small_volumes import write_volume

MODEL = FIXTURES / "Models/classes-4"
# A model for which the sums of tiles are the largest part, so that keeping them in a file helps.
MANY_CLASSES = FIXTURES / "Models/classes-64"
SIZE, BIG_SIZE = 160, 256


def budget(size: float) -> list[str]:
    return ["--memory", str(int(size))]


class Proof:
    """The inputs, their predicted needs, and the parts of the proof."""

    def __init__(self, nocturne: str, folder: Path, items: int) -> None:
        self.nocturne, self.folder, self.items = str(Path(nocturne).resolve()), folder, items
        self.failures: list[str] = []
        self.one = folder / "one"
        self.one.mkdir()
        write_volume(self.one / "volume00.nii", SIZE, 1)
        self.source, self.some = self.linked("in", items), self.linked("some", 12)
        self.few, self.mixed = self.linked("few", 6), self.linked("mixed", 4)
        write_volume(self.mixed / "big.nii", BIG_SIZE, 1)
        plan = self.plan(self.mixed)
        need = {item["item"]: item["peakBytes"] for item in plan["items"]}
        self.engine, self.item, self.big = plan["engineBytes"], need["volume00"], need["big"]
        print(
            f"{architecture()}: E {self.engine / MIB:.0f} MiB, P {self.item / MIB:.0f} MiB, "
            f"the big volume {self.big / MIB:.0f} MiB, {items} items"
        )

    def linked(self, name: str, count: int) -> Path:
        """A folder with so many links to the one volume."""
        folder = self.folder / name
        folder.mkdir()
        for index in range(count):
            (folder / f"volume{index:02}.nii").hardlink_to(self.one / "volume00.nii")
        return folder

    def run(
        self, name: str, source: Path, group: MemoryGroup | None, options: list[str] = [], model: Path = MODEL
    ) -> LimitedRun:
        return LimitedRun(self.nocturne, self.folder, Plan(name, source, model, group, options), self.failures)

    def plan(self, source: Path, *options: str, model: Path = MODEL) -> dict:
        command = [self.nocturne, "plan", str(source), "--model", str(model), "--threads", "2", "--json", *options]
        return json.loads(subprocess.run(command, capture_output=True, text=True).stdout)

    def compare(self, run: LimitedRun, expected: str, without: str = "\0") -> None:
        """Compares the items' folders with those of another run, then removes this run's."""

        def items(folder: Path) -> dict[str, str]:
            found = tree(folder)
            # The page's data is that of the whole batch.
            return {name: found[name] for name in found if "/" in name and not name.startswith(("review/", without))}

        folders = {path.name for path in run.out.iterdir()}
        mine = items(run.out)
        theirs = {name: value for name, value in items(self.folder / expected).items() if name.split("/")[0] in folders}
        names = differing(mine, theirs)
        if names or not mine:
            run.fail(f"differs: {names[:4]}")
        shutil.rmtree(run.out)

    def undisturbed(self) -> None:
        self.run("alone", self.source, None).close()
        self.run("alone-mixed", self.mixed, None).close()

    # The parts

    def above(self) -> None:
        three = self.engine + 3 * self.item
        group = MemoryGroup(2 * three)
        run = self.run("above", self.some, group, budget(three))
        run.close()
        if group.peak > three:
            run.fail("more than the budget was taken")
        self.compare(run, "alone")
        group.close()

    def at(self) -> None:
        three = self.engine + 3 * self.item
        group = MemoryGroup(three)
        run = self.run("at", self.some, group, budget(three))
        run.close()
        self.compare(run, "alone")
        group.close()

    def below(self) -> None:
        group = MemoryGroup(int((self.engine + 1.3 * self.item) / 0.8))
        run = self.run("below", self.some, group)
        run.close()
        in_progress = most = 0
        for event in run.events():
            in_progress += {"itemStarted": 1, "itemCompleted": -1}.get(event["event"], 0)
            most = max(most, in_progress)
        print(f"             at most {most} in progress")
        self.compare(run, "alone")
        group.close()

    def needs(self) -> None:
        one, two = self.folder / "lean-one", self.folder / "lean-two"
        for folder in (one, two):
            folder.mkdir()
        write_volume(one / "volume00.nii", 112, 1)
        (two / "volume00.nii").hardlink_to(one / "volume00.nii")
        (two / "big.nii").hardlink_to(self.mixed / "big.nii")
        self.run("alone-many", one, None, model=MANY_CLASSES).close()
        need = self.plan(one, model=MANY_CLASSES)
        given = budget(need["engineBytes"] + 0.9 * need["items"][0]["peakBytes"])
        lean = [item["lean"] for item in self.plan(one, *given, model=MANY_CLASSES)["items"]]
        run = self.run("needs", two, None, given, MANY_CLASSES)
        counts, reason = run.close(code=3), run.reason("big")
        print(f"             lean: {lean}; big: {reason}")
        explained = interface.NEEDS in reason and interface.BUDGET in reason
        if lean != [True] or counts["completed"] != 1 or not explained:
            run.fail("not the lean plan, or not the reason")
        if any(event["item"] == "big" for event in run.events("itemStarted")):
            run.fail("the big item was started")
        self.compare(run, "alone-many")

    def hogs(self) -> None:
        # Large enough that what is left at the critical level still holds the items in progress.
        group = MemoryGroup(70 * self.item)
        run = self.run("hogs", self.source, group, budget(self.engine + 3.2 * self.item))
        marks: list[float] = []
        hogs: list[MemoryHog] = []

        def press(left: float, level: str) -> None:
            """Leaves so many bytes, waits for the level, and for two items that complete nevertheless."""
            hogs.append(MemoryHog(group, int(left)))
            marks.append(time.time())
            run.wait_until(lambda: run.level() == level)
            before = run.completed()
            run.wait_until(lambda: run.completed() >= before + 2)

        def ease() -> None:
            for hog in hogs:
                if not hog.stop():
                    run.fail("the hog was killed")
            hogs.clear()
            run.wait_until(lambda: run.level() == "normal")
            marks.append(time.time())

        try:
            run.wait_until(lambda: run.completed() >= self.items // 6)
            press(0.10 * group.limit, "warning")
            ease()
            press(0.04 * group.limit, "critical")
            # Then there is memory for one item alone, and no more.
            run.wait_until(lambda: len(run.events("itemStarted")) - run.completed() <= 1)
            press(1.2 * self.item, "critical")
            ease()
            run.close()
            self.check_hogs(run, marks)
            self.compare(run, "alone")
        finally:
            for hog in hogs:
                hog.stop()
            run.process.kill()
            group.close()

    def check_hogs(self, run: LimitedRun, marks: list[float]) -> None:
        """What must hold after the hogs: pauses, throughput, and the levels reported."""
        beside = run.started_under_pressure()
        print(f"             {beside} started beside others under pressure")
        if beside:
            run.fail(f"{beside} started beside others under pressure")
        ends = [moment(event) for event in run.events("itemCompleted")]
        before = [b - a for a, b in zip(ends, ends[1:]) if b < marks[0]]
        after = [b - a for a, b in zip(ends, ends[1:]) if a > marks[-1]]
        if not before or not after:
            return run.fail(f"{len(before)} items before and {len(after)} after: give more --items")
        ratio = statistics.median(before) / statistics.median(after)
        print(f"             throughput {ratio:.2f} of before ({len(before)} and {len(after)} intervals, medians)")
        if ratio < 0.7:
            run.fail(f"throughput {ratio:.2f} of before")
        levels = {interface.pressure_level(event) for event in run.events("pressure")}
        if levels != {"normal", "warning", "critical"}:
            run.fail(f"levels reported: {sorted(levels)}")

    def starved(self) -> None:
        given = self.engine + 1.5 * self.item
        group = MemoryGroup(int(given * 3))
        hog = MemoryHog(group, int(0.7 * self.item))
        while group.anonymous() < group.limit - 0.75 * self.item:
            time.sleep(0.05)
        run = self.run("starved", self.few, group, budget(given))
        run.wait_until(lambda: any(interface.WAITS_FOR_MEMORY in event["reason"] for event in run.events("note")))
        time.sleep(3)
        if run.events("itemStarted"):
            run.fail("an item was started without memory for it")
        if not hog.stop():
            run.fail("the hog was killed")
        run.close()
        run.print_events("note")
        shutil.rmtree(run.out)
        group.close()

    def exceeded(self) -> None:
        group = MemoryGroup(int(self.engine + 0.5 * self.big))
        run = self.run("exceeded", self.mixed, group, budget(8 * group.limit))
        counts, reason = run.close(code=3, one_engine=False), run.reason("big")
        print(f"             big: {reason}")
        run.print_events("note")
        lines = (run.out / "retry.txt").read_text().splitlines()
        retry = [Path(line).name for line in lines if not line.startswith("#")]
        if counts["completed"] != 4 or counts["quarantined"] != 1 or retry != ["big.nii"]:
            run.fail(f"{counts}, retry {retry}")
        if "signal 9" not in reason or interface.OUT_OF_MEMORY not in reason:
            run.fail("not the cause")
        if group.kills() < 2 or len(run.engines) != group.kills() + 1:
            run.fail(f"{group.kills()} kills, {len(run.engines)} engines")
        self.compare(run, "alone-mixed", without="big/")
        group.close()


PARTS = ["above", "at", "below", "needs", "hogs", "starved", "exceeded"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--items", type=int, default=64)
    parser.add_argument("--only", help="these parts, separated by commas")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="memory-pressure-"))
    proof = Proof(arguments.nocturne, folder, arguments.items)
    proof.undisturbed()
    for part in arguments.only.split(",") if arguments.only else PARTS:
        try:
            getattr(proof, part)()
        except OSError as error:
            if "cgroup" not in str(error):
                raise
            print(f"{part:10} left out: {error}")
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(proof.failures)} failures")
    print("\n".join(proof.failures))
    raise SystemExit(1 if proof.failures else 0)


if __name__ == "__main__":
    main()
