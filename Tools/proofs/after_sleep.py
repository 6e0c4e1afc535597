#!/usr/bin/env python3
"""Runs batches on a machine that sleeps, whose clock is set, or that stops the process, and checks how they continue.

    Tools/proofs/after_sleep.py NOCTURNE [--only "sleeps"]

Clocks are shifted by shifted_clocks.c, built with the C compiler: the time since the start of the machine and the date jump, the clock that
stops in a suspended machine does not. All processes of a run are stopped with SIGSTOP for longer than other machines wait for a sign of
life. Limits of time are far below the jumps. Checked are exit codes, the seconds of items, estimates, when items are started, and the tree
against that of an undisturbed run.
"""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools import interface
from nocturne_tools.batch_harness import BatchRun, Situation, Workspace, expect, main, wait_until
from nocturne_tools.processes import children

SLOW = interface.delayed_stages(500)
LIMITS = ["--item-timeout", "90s", "--stall-limit", "90s"]
HOUR = 3600
# On a busy machine an item takes longer than its half second a stage, but no hours.
MOST_SECONDS = 600
# Other machines wait 100 s for a sign of life.
STOPPED_SECONDS = 110
# Everything that a run does between two looks at the date.
PATIENCE = 90


class Clocks:
    """The clocks of a run, which can be shifted."""

    def __init__(self, workspace: Workspace) -> None:
        self.file = workspace.folder / "oshifts"
        self.shift(0, 0)
        library = workspace.folder / "oshifted_clocks.so"
        source = Path(__file__).with_name("shifted_clocks.c")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        self.environment: dict[str, str | None] = {"LD_PRELOAD": str(library), "SHIFTED_CLOCKS": str(self.file)}

    def shift(self, boot: int, date: int) -> None:
        """In seconds, against those of the machine."""
        with self.file.open("r+b" if self.file.exists() else "wb") as file:
            file.write(struct.pack("<qq", boot, date))

    def at(self, text: str) -> dict[str, str | None]:
        """The environment in a time zone in which it is that time of the day now."""
        hour, minute = (int(part) for part in text.split(":"))
        ahead = (hour * HOUR + minute * 60 - int(time.time())) % 86400
        return {**self.environment, "TZ": f"LAB-{ahead // HOUR:02}:{ahead // 60 % 60:02}:{ahead % 60:02}"}


def begun(run: BatchRun) -> None:
    """Returns while items are active and none has ended."""
    wait_until("an item was started", lambda: run.events("itemStarted"))
    expect(not run.events("itemCompleted"), "an item was completed already")


def checked(workspace: Workspace, run: BatchRun) -> str:
    """The run ends as an undisturbed one, and has not counted the time that was no work."""
    run.ends(0, 120)
    workspace.expect_same(run.out)
    completed = run.events("itemCompleted")
    seconds = [float(event["seconds"]) for event in completed]
    estimates = [float(event["etaSeconds"]) for event in completed if event.get("etaSeconds") is not None]
    expect(max(seconds + estimates) < MOST_SECONDS, f"{max(seconds):.0f} s for an item, estimates {estimates}")
    return f"0, same tree; items took {min(seconds):.1f} to {max(seconds):.1f} s, estimates up to {max(estimates, default=0):.0f} s"


def shifted(workspace: Workspace, boot: int, date: int) -> str:
    clocks = Clocks(workspace)
    run = workspace.start(workspace.folder / "out", *LIMITS, environment=clocks.environment, fault=SLOW)
    begun(run)
    clocks.shift(boot, date)
    return checked(workspace, run)


def past_the_hours(workspace: Workspace) -> str:
    clocks = Clocks(workspace)
    out = workspace.folder / "out"
    options = ["--between", "20:00-21:00", "--threads", "1", "--memory", "250M", *LIMITS]
    run = workspace.start(out, *options, environment=clocks.at("20:00"), fault=SLOW)
    begun(run)
    clocks.shift(8 * HOUR, 8 * HOUR)
    run.prints(interface.NOTHING_STARTED_BEFORE.format(time="20:00"), 60)
    started = len(run.events("itemStarted"))
    clocks.shift(24 * HOUR, 24 * HOUR)
    slept = time.monotonic()
    wait_until("continued in the next hours", lambda: len(run.events("itemStarted")) > started, PATIENCE)
    waited = time.monotonic() - slept
    run.ends(0, 120)
    workspace.expect_same(out)
    expect(started < 8, "all items were started before the machine slept")
    return f"{started} of 8 started in the hours, none after; in the next hours continued after {waited:.0f} s; 0, same tree"


def past_a_pause(workspace: Workspace) -> str:
    clocks = Clocks(workspace)
    run = workspace.start(workspace.folder / "out", environment=clocks.environment, fault=SLOW)
    begun(run)
    subprocess.run([workspace.tool, "pause", str(run.out), "--for", "1h"], check=True, capture_output=True)
    wait_until("paused", lambda: run.events("paused"))
    clocks.shift(2 * HOUR, 2 * HOUR)
    slept = time.monotonic()
    wait_until("continued", lambda: run.events("continued"), PATIENCE)
    return f"continued after {time.monotonic() - slept:.0f} s; {checked(workspace, run)}"


def stopped(workspace: Workspace) -> str:
    run = workspace.start(workspace.folder / "out", *LIMITS, fault=SLOW)
    begun(run)
    processes = [run.process.pid, *run.children()]
    processes += [child for process in processes[1:] for child in children(process)]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    time.sleep(STOPPED_SECONDS)
    for process in processes:
        os.kill(process, signal.SIGCONT)
    run.ends(0, 120)
    workspace.expect_same(run.out)
    return f"{len(processes)} processes stopped for {STOPPED_SECONDS} s: no time limit, no stall; 0, same tree"


SITUATIONS: dict[str, Situation] = {
    "sleeps for 8 hours": lambda workspace: shifted(workspace, 8 * HOUR, 8 * HOUR),
    "suspended by its host, then the date is corrected": lambda workspace: shifted(workspace, 0, 8 * HOUR),
    "the date is set back by 8 hours": lambda workspace: shifted(workspace, 0, -8 * HOUR),
    "sleeps past the working hours": past_the_hours,
    "sleeps past the end of a pause": past_a_pause,
    "all processes stopped": stopped,
}


if __name__ == "__main__":
    main(__doc__, SITUATIONS)
