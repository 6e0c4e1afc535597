"""One run of nocturne in a memory cgroup, observed from outside, for the proof of memory pressure."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from nocturne_tools.cgroups import MIB, MemoryGroup
from nocturne_tools.interface import pressure_level
from nocturne_tools.processes import children


def moment(event: dict) -> float:
    """When an event happened, in seconds."""
    return datetime.fromisoformat(event["time"]).timestamp()


@dataclass
class Plan:
    """How a run is started: its name, its inputs, and in which group."""

    name: str
    source: Path
    model: Path
    group: MemoryGroup | None = None
    options: list[str] = field(default_factory=list)


class LimitedRun:
    """A batch in a group: started, sampled, and its events read during the run.

    `failures` takes the texts of what is wrong.
    """

    def __init__(self, nocturne: str, folder: Path, plan: Plan, failures: list[str]) -> None:
        self.name, self.group, self.failures = plan.name, plan.group, failures
        self.out = folder / plan.name
        self.start = time.monotonic()
        command = [nocturne, "run", str(plan.source), "--model", str(plan.model), "--output", str(self.out), "--quiet"]
        self.log = (folder / "log").open("w+")
        self.process = subprocess.Popen(
            [*command, "--threads", "2", *plan.options],
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            preexec_fn=plan.group.enter if plan.group else None,
        )
        self.engines: set[int] = set()
        threading.Thread(target=self._sample, daemon=True).start()

    def _sample(self) -> None:
        while self.process.poll() is None:
            self.engines.update(children(self.process.pid))
            if self.group:
                self.group.anonymous()
            time.sleep(0.02)

    def fail(self, text: str) -> None:
        self.failures.append(f"{self.name}: {text}")

    def events(self, kind: str | None = None) -> list[dict]:
        """The events so far, of one kind if given."""
        try:
            lines = (self.out / "events.jsonl").read_text().split("\n")[:-1]
        except OSError:
            return []
        found = [json.loads(line) for line in lines]
        return [event for event in found if kind in (None, event["event"])]

    def level(self) -> str:
        """The memory pressure that the run last reported."""
        changes = self.events("pressure")
        return pressure_level(changes[-1]) if changes else "normal"

    def wait_until(self, condition: Callable[[], object], limit: float = 60) -> bool:
        """Waits until a condition holds; False, and a failure, when time is up or the run ends before."""
        end = time.monotonic() + limit
        while not condition():
            if time.monotonic() > end or self.process.poll() is not None:
                self.fail(f"waited in vain (line {sys._getframe(1).f_lineno})")
                return False
            time.sleep(0.05)
        return True

    def completed(self) -> int:
        return len(self.events("itemCompleted"))

    def report(self) -> dict:
        """The content of batch.json."""
        return json.loads((self.out / "batch.json").read_text())

    def reason(self, item: str) -> str:
        """The reason of an item in batch.json."""
        return next(entry["reason"] for entry in self.report()["items"] if entry["item"] == item) or ""

    def close(self, code: int = 0, one_engine: bool = True) -> dict:
        """Waits for the end and checks what must hold of every run: exit code, counts, limit, engines, kills.

        Returns the report's counts.
        """
        try:
            ended = self.process.wait(timeout=600)
        except subprocess.TimeoutExpired:
            self.process.kill()
            ended = self.process.wait()
            self.fail("hangs")
        seconds = time.monotonic() - self.start
        self.log.seek(0)
        output = self.log.read()
        if ended != code:
            self.fail(f"exit {ended} instead of {code}: {output[-300:]}")
        counts = self.report()["counts"]
        if code == 0 and counts["completed"] != counts["inputs"]:
            self.fail(f"{counts}")
        text = f"{self.name:10} exit {ended}, {counts['completed']} of {counts['inputs']} completed, {seconds:.0f} s"
        if self.group:
            used, limit = self.group.peak, self.group.limit
            text += f", at most {used / MIB:.0f} MiB anonymous of {limit / MIB:.0f}, {self.group.kills()} killed"
            if used >= limit:
                self.fail("reached the limit")
        print(text + f", {len(self.engines)} engine(s)", flush=True)
        self.print_events("pressure")
        if one_engine:
            if len(self.engines) != 1:
                self.fail(f"{len(self.engines)} engines")
            if self.group and self.group.kills():
                self.fail(f"{self.group.kills()} killed")
        return counts

    def print_events(self, kind: str) -> None:
        for event in self.events(kind):
            print(f"             {event['time'][11:19]} {event['reason']}")

    def started_under_pressure(self) -> int:
        """How many items were started beside others while the level was not normal.

        An item's memory is free before its end is reported, so the next one may be started a moment before that event.
        """
        ends = {event["item"]: moment(event) for event in self.events("itemCompleted")}
        in_progress, level, beside = set(), "normal", 0
        for event in self.events():
            if event["event"] == "pressure":
                level = pressure_level(event)
            elif event["event"] == "itemStarted":
                others = any(ends.get(item, 1e12) > moment(event) + 0.5 for item in in_progress)
                beside += level != "normal" and others
                in_progress.add(event["item"])
            elif event["event"] == "itemCompleted":
                in_progress.discard(event["item"])
        return beside
