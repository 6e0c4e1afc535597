#!/usr/bin/env python3
"""Runs batches with --between and --finish-by against the real clock, and checks when items are started.

    Tools/proofs/working_hours.py NOCTURNE [--only "finish-by"]

The time zone is chosen so that it is, for example, eight seconds before 20:00 where the batch runs. Checked are the times
of the events, exit codes, messages, and the tree against that of an undisturbed run.
"""

from __future__ import annotations

import signal
import sys
import time
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools import interface
from nocturne_tools.batch_harness import BatchRun, Situation, Workspace, completed, expect, main, wait_until
from nocturne_tools.result_tree import tree
from nocturne_tools.small_volumes import write_volume

SLOW = interface.delayed_stages(500)


def local_time(text: str) -> dict[str, str | None]:
    """The environment of a time zone in which it is that time of the day now."""
    hour, minute, second = (int(part) for part in text.split(":"))
    now = int(time.time()) % 86400
    ahead = (hour * 3600 + minute * 60 + second - now) % 86400
    return {"TZ": f"LAB-{ahead // 3600:02}:{ahead // 60 % 60:02}:{ahead % 60:02}"}


def times(run: BatchRun, kind: str) -> list[float]:
    """When the events of one kind happened."""
    return [datetime.fromisoformat(str(event["time"]).replace("Z", "+00:00")).timestamp() for event in run.events(kind)]


def many_inputs(workspace: Workspace) -> Path:
    """More items than can be in progress at once; an undisturbed run over them is made too."""
    folder = workspace.folder / "many"
    if not folder.exists():
        folder.mkdir()
        for index in range(60):
            write_volume(folder / f"m{index:02}.nii", 16, 1)
        workspace.start(workspace.folder / "undisturbed-many", source=folder).ends(0, 120)
    return folder


def expect_same_as_many(workspace: Workspace, out: Path) -> None:
    workspace.expect_same(out, tree(workspace.folder / "undisturbed-many"))


def before_the_hours(workspace: Workspace) -> str:
    opens = int(time.time()) + 8
    out = workspace.folder / "out"
    run = workspace.start(out, "--between", "20:00-06:00", environment=local_time("19:59:52"))
    run.prints(interface.NOTHING_STARTED_BEFORE.format(time="20:00"))
    waiting = run.status()["waitingFor"]
    run.ends(0)
    first = times(run, "itemStarted")[0] - opens
    expect(-1 < first < 3, f"the first item started {first:.1f} s after the hours began")
    expect(str(waiting).startswith("20:00"), str(waiting))
    workspace.expect_same(out)
    return f"status: waits for {waiting}; first item {first:.1f} s after 20:00; 0, same tree"


def after_the_hours(workspace: Workspace) -> str:
    out = workspace.folder / "out"
    options = ["--between", "19:00-20:00", "--threads", "1"]
    source = many_inputs(workspace)
    closes = int(time.time()) + 10
    run = workspace.start(out, *options, source=source, environment=local_time("19:59:50"), fault=SLOW)
    run.prints(interface.NOTHING_STARTED_BEFORE.format(time="19:00"), 60)
    wait_until("nothing in progress", lambda: not run.status()["inFlight"], 60)
    late = [moment for moment in times(run, "itemStarted") if moment > closes + 1]
    finished = completed(out)
    expect(not late and 0 < finished < 60, f"{len(late)} started after the hours, {finished} completed")
    run.process.send_signal(signal.SIGUSR1)
    run.ends(75)
    workspace.start(out, *options, verb="resume", environment=local_time("19:10:00")).ends(0)
    expect_same_as_many(workspace, out)
    return f"{finished} started within the hours and completed, none after; SIGUSR1: 75; resumed the next day: 0, same tree"


def run_until_six(workspace: Workspace, out: Path, seconds: int, verb: str) -> tuple[BatchRun, int, int]:
    """A run with --finish-by and so many seconds left: how many items it completed, and how many of them too late."""
    at = 6 * 3600 - seconds
    before = completed(out)
    deadline = time.time() + seconds
    now = f"{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}"
    settings = {"source": many_inputs(workspace), "verb": verb, "environment": local_time(now), "fault": SLOW}
    run = workspace.start(out, "--finish-by", "06:00", **settings)
    run.wait(120)
    done = completed(out) - before
    ends = times(run, "itemCompleted")
    return run, done, sum(1 for end in ends[len(ends) - done :] if end > deadline + 0.5)


def finish_by(workspace: Workspace) -> str:
    """Items are started according to the durations learned; while none are known, all are started."""
    source = many_inputs(workspace)
    _, first, first_late = run_until_six(workspace, workspace.folder / "out", 25, "run")
    other = workspace.folder / "other"
    learner = workspace.start(other, source=source, fault=SLOW)
    learner.completes(1)
    learner.process.send_signal(signal.SIGUSR1)
    learner.ends(75, 90)
    learned = completed(other)
    run, done, late = run_until_six(workspace, other, 25, "resume")
    code = run.process.returncode
    note = next((line for line in run.output.splitlines() if interface.NOT_STARTED in line), "")
    right_code = code == (0 if learned + done == 60 else 75)
    expect(right_code and late == 0, f"exit {code}, {late} of {done} ended after the time")
    if learned + done < 60:
        expect(bool(note), run.output)
        hopeless, none, _ = run_until_six(workspace, other, 3, "resume")
        expect(hopeless.process.returncode == 75 and none == 0, f"{none} started with 3 s left")
    workspace.start(other, verb="resume").ends(0, 120)
    expect_same_as_many(workspace, other)
    return (
        f"25 s left: without known durations {first} completed, {first_late} of them late; having learned from {learned}: "
        f"{done} completed, {late} late, {code} ({note}); with 3 s none; then 0, same tree"
    )


SITUATIONS: dict[str, Situation] = {
    "--between, before the hours": before_the_hours,
    "--between, after the hours": after_the_hours,
    "--finish-by": finish_by,
}


if __name__ == "__main__":
    main(__doc__, SITUATIONS)
