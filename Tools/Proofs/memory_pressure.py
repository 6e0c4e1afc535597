#!/usr/bin/env python3
"""A batch under limits of memory, beside hogs that come and go, and with a budget that lies.

    Tools/Proofs/memory_pressure.py NOCTURNE [--items 36] [--only hogs]

Every run is made in a memory cgroup of its own (v1 or v2; where none can be made only the parts that need none are run,
and that is said), with the same volumes, and its results are compared byte by byte with an undisturbed run's. P is what
one item is predicted to need, E what process and engine need, both by `nocturne plan`.

  above    limit 2 (E + 3 P), told E + 3 P by --memory: nothing of the limit is felt
  at       the limit is what it is told, E + 3 P
  below    the limit is such that the tool's own 80 % of it hold one item alone; not told
  needs    told less than the ordinary plan of one item and more than its lean plan, and less than any plan of another:
           the first is done by the lean plan, the second fails with the figures
  hogs     a process in the same group takes all but 10 %, goes, takes all but 4 %, then all but what one item needs, and
           goes: warning, critical, back to normal; nothing new is begun beside what is in flight; throughput recovers
  starved  a hog leaves less than an item needs when none is in flight: the next one is not begun until it is gone
  liar     told eight times the limit: the kernel kills the engine, not its supervisor; what does not fit is tried
           again alone and quarantined with that cause, everything else is done, exit 3

Fails when anything is killed (the group's count of out-of-memory kills; but for the liar), when the engine was not one
process, when anonymous memory came up to the limit, when an item is not accounted for, when a byte differs, or when
throughput after the last hog is below 0.7 of that before the first.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime
from pathlib import Path

from fault_matrix import ROOT, write_volume
from kill_resume import tree
from soak_figures import limited_group

MODEL = ROOT / "Tests/Fixtures/Models/classes-4"
# Whose sums are the largest part, so that keeping them in a file helps.
MANY = ROOT / "Tests/Fixtures/Models/classes-64"
SIZE, BIG = 160, 256
MIB = 1 << 20
HOG = "import sys, time; block = bytearray(int(sys.argv[1])); block[::4096] = b'x' * len(block[::4096]); time.sleep(600)"


class Group:
    """A memory cgroup with a limit, and what it says."""

    def __init__(self, limit: int) -> None:
        path = limited_group(limit)
        if path is None:
            raise OSError("no memory cgroup can be made here")
        self.path, self.limit = path, limit
        if (path / "memory.swap.max").exists():
            (path / "memory.swap.max").write_text("0")
        self.peak = 0

    def _value(self, file: str, key: str) -> int:
        words = dict(line.split() for line in (self.path / file).read_text().splitlines() if len(line.split()) == 2)
        return int(words.get(key, 0))

    def anonymous(self) -> int:
        key = "anon" if (self.path / "memory.events").exists() else "total_rss"
        now = self._value("memory.stat", key)
        self.peak = max(self.peak, now)
        return now

    def kills(self) -> int:
        file = "memory.events" if (self.path / "memory.events").exists() else "memory.oom_control"
        return self._value(file, "oom_kill")

    def enter(self) -> None:
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def close(self) -> None:
        for _ in range(100):
            try:
                return self.path.rmdir()
            except OSError:
                time.sleep(0.05)


class Hog:
    """A process in the group that takes all but so many bytes, and keeps them. The kernel's first victim, if any."""

    def __init__(self, group: Group, leave: int) -> None:
        size = group.limit - leave - group.anonymous()
        self.process = subprocess.Popen([sys.executable, "-c", HOG, str(max(MIB, size))], preexec_fn=group.enter)
        Path(f"/proc/{self.process.pid}/oom_score_adj").write_text("1000")

    def go(self) -> bool:
        """Whether it lived until now."""
        lived = self.process.poll() is None
        self.process.kill()
        self.process.wait()
        return lived


class Run:
    """One batch in a group: started, watched, and its events read while it goes on."""

    def __init__(self, proof: Proof, name: str, source: Path, group: Group | None, options: list[str], model: Path = MODEL) -> None:
        self.proof, self.name, self.group = proof, name, group
        self.out = proof.work / name
        self.start = time.monotonic()
        command = [proof.nocturne, "run", str(source), "--model", str(model), "--output", str(self.out), "--quiet"]
        self.said = (proof.work / "said").open("w+")
        self.process = subprocess.Popen(
            [*command, "--threads", "2", *options],
            stdin=subprocess.DEVNULL, stdout=self.said, stderr=self.said, preexec_fn=group.enter if group else None,
        )
        self.engines: set[str] = set()
        threading.Thread(target=self.watch, daemon=True).start()

    def watch(self) -> None:
        while self.process.poll() is None:
            for path in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
                try:
                    self.engines.update(path.read_text().split())
                except OSError:
                    pass
            if self.group:
                self.group.anonymous()
            time.sleep(0.02)

    def events(self, kind: str | None = None) -> list[dict]:
        try:
            lines = (self.out / "events.jsonl").read_text().split("\n")[:-1]
        except OSError:
            return []
        found = [json.loads(line) for line in lines]
        return [event for event in found if kind in (None, event["event"])]

    def level(self) -> str:
        changes = self.events("pressure")
        return changes[-1]["reason"].split(":")[0].split()[-1] if changes else "normal"

    def wait_for(self, what, limit: float = 60) -> bool:
        """Waits until `what()` holds; False, and a fault, when it does not in time or the run ends before."""
        end = time.monotonic() + limit
        while not what():
            if time.monotonic() > end or self.process.poll() is not None:
                self.proof.fault(f"{self.name}: waited in vain (line {sys._getframe(1).f_lineno})")
                return False
            time.sleep(0.05)
        return True

    def completed(self) -> int:
        return len(self.events("itemCompleted"))

    def close(self, code: int = 0) -> dict:
        """Waits for the end and holds what has to hold of every run. The account's counts."""
        try:
            ended = self.process.wait(timeout=600)
        except subprocess.TimeoutExpired:
            self.process.kill()
            ended = self.process.wait()
            self.proof.fault(f"{self.name}: hangs")
        seconds = time.monotonic() - self.start
        self.said.seek(0)
        said = self.said.read()
        if ended != code:
            self.proof.fault(f"{self.name}: exit {ended} instead of {code}: {said[-300:]}")
        counts = json.loads((self.out / "batch.json").read_text())["counts"]
        if code == 0 and counts["completed"] != counts["inputs"]:
            self.proof.fault(f"{self.name}: {counts}")
        words = f"{self.name:10} exit {ended}, {counts['completed']} of {counts['inputs']} completed, {seconds:.0f} s"
        if self.group:
            used, limit = self.group.peak, self.group.limit
            words += f", at most {used / MIB:.0f} MiB anonymous of {limit / MIB:.0f}, {self.group.kills()} killed"
            if used >= limit:
                self.proof.fault(f"{self.name}: up to the limit")
        print(words + f", {len(self.engines)} engine(s)", flush=True)
        for event in self.events("pressure"):
            print(f"             {event['time'][11:19]} {event['reason']}")
        if code == 0 or self.name == "needs":
            if len(self.engines) != 1:
                self.proof.fault(f"{self.name}: {len(self.engines)} engines")
            if self.group and self.group.kills():
                self.proof.fault(f"{self.name}: {self.group.kills()} killed")
        return counts


class Proof:
    def __init__(self, nocturne: str, work: Path, items: int) -> None:
        self.nocturne, self.work, self.items = str(Path(nocturne).resolve()), work, items
        self.faults: list[str] = []
        self.source, self.one, self.mixed = work / "in", work / "one", work / "mixed"
        for folder in (self.source, self.one, self.mixed):
            folder.mkdir()
        write_volume(self.one / "volume00.nii", SIZE, 1)
        self.some = work / "some"
        self.some.mkdir()
        for index in range(12):
            (self.some / f"volume{index:02}.nii").hardlink_to(self.one / "volume00.nii")
        for index in range(items):
            (self.source / f"volume{index:02}.nii").hardlink_to(self.one / "volume00.nii")
        for index in range(4):
            (self.mixed / f"volume{index:02}.nii").hardlink_to(self.one / "volume00.nii")
        write_volume(self.mixed / "big.nii", BIG, 1)
        plan = self.plan(self.mixed)
        need = {item["item"]: item["peakBytes"] for item in plan["items"]}
        self.engine, self.item, self.big = plan["engineBytes"], need["volume00"], need["big"]
        print(
            f"{platform.processor() or platform.machine()}: E {self.engine / MIB:.0f} MiB, P {self.item / MIB:.0f} MiB, "
            f"the big volume {self.big / MIB:.0f} MiB, {items} items"
        )

    def fault(self, words: str) -> None:
        self.faults.append(words)

    def plan(self, source: Path, *options: str, model: Path = MODEL) -> dict:
        command = [self.nocturne, "plan", str(source), "--model", str(model), "--threads", "2", "--json", *options]
        return json.loads(subprocess.run(command, capture_output=True, text=True).stdout)

    def compare(self, run: Run, expected: str, without: str = "\0") -> None:
        """The items' folders against another run's; then this run's is removed."""

        def items(folder: Path) -> dict[str, str]:
            found = tree(folder)
            return {name: found[name] for name in found if "/" in name and not name.startswith(without)}

        folders = {path.name for path in run.out.iterdir()}
        mine = items(run.out)
        theirs = {name: value for name, value in items(self.work / expected).items() if name.split("/")[0] in folders}
        if mine != theirs or not mine:
            names = sorted(key for key in set(mine) | set(theirs) if mine.get(key) != theirs.get(key))
            self.fault(f"{run.name}: differs: {names[:4]}")
        shutil.rmtree(run.out)

    def undisturbed(self) -> None:
        Run(self, "alone", self.source, None, []).close()
        Run(self, "alone-mixed", self.mixed, None, []).close()

    def told(self, bytes: int) -> list[str]:
        return ["--memory", str(int(bytes))]

    # The parts

    def above(self) -> None:
        three = self.engine + 3 * self.item
        group = Group(2 * three)
        run = Run(self, "above", self.some, group, self.told(three))
        run.close()
        if group.peak > three:
            self.fault("above: more than the budget was taken")
        self.compare(run, "alone")
        group.close()

    def at(self) -> None:
        three = self.engine + 3 * self.item
        group = Group(three)
        run = Run(self, "at", self.some, group, self.told(three))
        run.close()
        self.compare(run, "alone")
        group.close()

    def below(self) -> None:
        group = Group(int((self.engine + 1.3 * self.item) / 0.8))
        run = Run(self, "below", self.some, group, [])
        run.close()
        flying = most = 0
        for event in run.events():
            flying += {"itemStarted": 1, "itemCompleted": -1}.get(event["event"], 0)
            most = max(most, flying)
        print(f"             at most {most} in flight")
        self.compare(run, "alone")
        group.close()

    def needs(self) -> None:
        one, two = self.work / "lean-one", self.work / "lean-two"
        for folder in (one, two):
            folder.mkdir()
        write_volume(one / "volume00.nii", 112, 1)
        (two / "volume00.nii").hardlink_to(one / "volume00.nii")
        (two / "big.nii").hardlink_to(self.mixed / "big.nii")
        Run(self, "alone-many", one, None, [], MANY).close()
        need = self.plan(one, model=MANY)
        told = self.told(need["engineBytes"] + 0.9 * need["items"][0]["peakBytes"])
        lean = [item["lean"] for item in self.plan(one, *told, model=MANY)["items"]]
        run = Run(self, "needs", two, None, told, MANY)
        counts = run.close(code=3)
        account = json.loads((run.out / "batch.json").read_text())
        reason = next(item["reason"] for item in account["items"] if item["item"] == "big")
        print(f"             lean: {lean}; big: {reason}")
        if lean != [True] or counts["completed"] != 1 or "needs" not in reason or "budget" not in reason:
            self.fault("needs: not the lean plan, or not the reason")
        if any(event["item"] == "big" for event in run.events("itemStarted")):
            self.fault("needs: the big one was tried")
        self.compare(run, "alone-many")

    def hogs(self) -> None:
        # Large enough that what is left at critical still holds what is in flight.
        group = Group(70 * self.item)
        run = Run(self, "hogs", self.source, group, self.told(self.engine + 3.2 * self.item))
        marks: list[float] = []
        hogs: list[Hog] = []

        def press(left: float, level: str) -> None:
            """Leaves so many bytes, waits for the level and for two items that are completed all the same."""
            hogs.append(Hog(group, int(left)))
            marks.append(time.time())
            run.wait_for(lambda: run.level() == level)
            before = run.completed()
            run.wait_for(lambda: run.completed() >= before + 2)

        def ease() -> None:
            for hog in hogs:
                if not hog.go():
                    self.fault("hogs: the hog was killed")
            hogs.clear()
            run.wait_for(lambda: run.level() == "normal")
            marks.append(time.time())

        try:
            run.wait_for(lambda: run.completed() >= self.items // 6)
            press(0.10 * group.limit, "warning")
            ease()
            press(0.04 * group.limit, "critical")
            # Then one item alone has room, and no more.
            run.wait_for(lambda: len(run.events("itemStarted")) - run.completed() <= 1)
            press(1.2 * self.item, "critical")
            ease()
            run.close()
            self.hold_pauses(run)
            ends = [datetime.fromisoformat(event["time"]).timestamp() for event in run.events("itemCompleted")]
            before = [b - a for a, b in zip(ends, ends[1:]) if b < marks[0]]
            after = [b - a for a, b in zip(ends, ends[1:]) if a > marks[-1]]
            if not before or not after:
                return self.fault(f"hogs: {len(before)} items before and {len(after)} after: give more --items")
            ratio = statistics.median(before) / statistics.median(after)
            levels = {event["reason"].split(":")[0].split()[-1] for event in run.events("pressure")}
            print(f"             throughput {ratio:.2f} of before ({len(before)} and {len(after)} intervals, medians)")
            if ratio < 0.7:
                self.fault(f"hogs: throughput {ratio:.2f} of before")
            if levels != {"normal", "warning", "critical"}:
                self.fault(f"hogs: levels seen {sorted(levels)}")
            self.compare(run, "alone")
        finally:
            for hog in hogs:
                hog.go()
            run.process.kill()
            group.close()

    def hold_pauses(self, run: Run) -> None:
        """While the level is not normal an item is begun only when no other is in flight.

        An item's memory is free before its end is told, so the next one may be begun a moment before that event.
        """
        def moment(event: dict) -> float:
            return datetime.fromisoformat(event["time"]).timestamp()

        ends = {event["item"]: moment(event) for event in run.events("itemCompleted")}
        flying, level, beside = set(), "normal", 0
        for event in run.events():
            if event["event"] == "pressure":
                level = event["reason"].split(":")[0].split()[-1]
            elif event["event"] == "itemStarted":
                beside += level != "normal" and any(ends.get(item, 1e12) > moment(event) + 0.5 for item in flying)
                flying.add(event["item"])
            elif event["event"] == "itemCompleted":
                flying.discard(event["item"])
        print(f"             {beside} begun beside others under pressure")
        if beside:
            self.fault(f"{run.name}: {beside} begun beside others under pressure")

    def starved(self) -> None:
        told = self.engine + 1.5 * self.item
        group = Group(int(told * 3))
        hog = Hog(group, int(0.7 * self.item))
        while group.anonymous() < group.limit - 0.75 * self.item:
            time.sleep(0.05)
        run = Run(self, "starved", self.few(), group, self.told(told))
        run.wait_for(lambda: any("waits until there is room" in event["reason"] for event in run.events("note")))
        time.sleep(3)
        if run.events("itemStarted"):
            self.fault("starved: an item was begun without room for it")
        if not hog.go():
            self.fault("starved: the hog was killed")
        run.close()
        for event in run.events("note"):
            print(f"             {event['time'][11:19]} {event['reason']}")
        shutil.rmtree(run.out)
        group.close()

    def few(self) -> Path:
        folder = self.work / "few"
        folder.mkdir(exist_ok=True)
        for index in range(6):
            if not (folder / f"volume{index:02}.nii").exists():
                (folder / f"volume{index:02}.nii").hardlink_to(self.one / "volume00.nii")
        return folder

    def liar(self) -> None:
        group = Group(int(self.engine + 0.5 * self.big))
        run = Run(self, "liar", self.mixed, group, self.told(8 * group.limit))
        counts = run.close(code=3)
        account = json.loads((run.out / "batch.json").read_text())
        reason = next(item["reason"] for item in account["items"] if item["item"] == "big") or ""
        print(f"             big: {reason}")
        for event in run.events("note"):
            print(f"             {event['time'][11:19]} {event['reason']}")
        retry = [Path(line).name for line in (run.out / "retry.txt").read_text().split()]
        if counts["completed"] != 4 or counts["quarantined"] != 1 or retry != ["big.nii"]:
            self.fault(f"liar: {counts}, retry {retry}")
        if "signal 9" not in reason or "want of memory" not in reason:
            self.fault("liar: not the cause")
        if group.kills() < 2 or len(run.engines) != group.kills() + 1:
            self.fault(f"liar: {group.kills()} kills, {len(run.engines)} engines")
        self.compare(run, "alone-mixed", without="big/")
        group.close()


PARTS = ["above", "at", "below", "needs", "hogs", "starved", "liar"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("--items", type=int, default=64)
    parser.add_argument("--only", help="these parts, separated by commas")
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="memory-pressure-"))
    proof = Proof(arguments.nocturne, work, arguments.items)
    proof.undisturbed()
    for part in arguments.only.split(",") if arguments.only else PARTS:
        try:
            getattr(proof, part)()
        except OSError as error:
            if "cgroup" not in str(error):
                raise
            print(f"{part:10} left out: {error}")
    shutil.rmtree(work, ignore_errors=True)
    print(f"{len(proof.faults)} faults")
    print("\n".join(proof.faults))
    raise SystemExit(1 if proof.faults else 0)


if __name__ == "__main__":
    main()
