#!/usr/bin/env python3
"""Asks `nocturne why` about an item or input in every situation that there is, and checks the fact and the next step in its text.

    Tools/proofs/why_situations.py NOCTURNE [--only "waits"]

The texts are printed. Must run as root: a full disk is a file system of its own, and missing memory a cgroup.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools import interface
from nocturne_tools.batch_harness import BatchRun, Situation, Workspace, expect, main, wait_until
from nocturne_tools.cgroups import MIB, MemoryGroup, MemoryHog
from nocturne_tools.paths import SAMPLES
from nocturne_tools.small_volumes import write_volume

SLOW = interface.delayed_stages(2000)
CRASHES = f"{interface.FaultPoint.ITEM_STAGE}@v3:1+:kill"
# A budget for few items at a time.
ONE_BY_ONE = ["--memory", "200M", "--threads", "1"]
MOST_LINES = 7


def why(workspace: Workspace, item: str, *phrases: str) -> str:
    """The text about an item; every phrase is in it."""
    out = workspace.folder / "out"
    done = subprocess.run([workspace.tool, "why", str(out), item], capture_output=True, text=True, check=False)
    missing = [phrase for phrase in phrases if phrase not in done.stdout]
    expect(not missing, f"{missing} not in: {done.stdout}{done.stderr}")
    lines = done.stdout.strip().splitlines()
    return "\n    " + "\n    ".join([*lines[:MOST_LINES], *lines[MOST_LINES:][-1:]]).replace(str(workspace.folder), "")


def active(workspace: Workspace, *options: str, **settings: object) -> BatchRun:
    run = workspace.start(workspace.folder / "out", *options, **{"fault": SLOW, **settings})
    wait_until("an item is active", lambda: run.events("itemStarted"))
    return run


def end(run: BatchRun, text: str) -> str:
    run.process.send_signal(signal.SIGKILL)
    run.process.wait()
    return text


def finished(workspace: Workspace, *options: str, code: int = 0, **settings: object) -> None:
    workspace.start(workspace.folder / "out", *options, **settings).ends(code, 120)


def running(workspace: Workspace) -> str:
    run = active(workspace, *ONE_BY_ONE)
    wait_until("progress is written", lambda: run.status()["progress"])
    return end(run, why(workspace, str(run.events("itemStarted")[0]["item"]), "started", "now: stage"))


def waits_for_its_turn(workspace: Workspace) -> str:
    run = active(workspace, *ONE_BY_ONE)
    wait_until("progress is written", lambda: run.status()["progress"])
    return end(run, why(workspace, "v7", "pending", "waits for its turn"))


def waits_for_disk(workspace: Workspace) -> str:
    disk = workspace.mount("size=40m", "out")
    run = active(workspace, *ONE_BY_ONE)
    with (disk / "fill").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, shutil.disk_usage(disk).free - MIB)
    wait_until("it waits", lambda: interface.STATUS_WAITS_FOR_DISK_SPACE in str(run.status().get("waitingFor")), 60)
    return end(run, why(workspace, "v7", "pending", "free space on the disk"))


def waits_for_memory(workspace: Workspace) -> str:
    group = MemoryGroup(700 * MIB)
    source = workspace.folder / "oinput"
    source.mkdir()
    write_volume(source / "v0.nii", 240, 1)
    hog = MemoryHog(group, 220 * MIB)
    try:
        wait_until("memory is taken", lambda: group.anonymous() > 470 * MIB)
        run = workspace.start(workspace.folder / "out", "--memory", "600M", source=source)
        (group.path / "cgroup.procs").write_text(str(run.process.pid))
        run.prints(interface.WAITS_FOR_MEMORY, 60)
        return end(run, why(workspace, "v0", "pending", "memory"))
    finally:
        hog.stop()
        group.close()


def waits_for_hours(workspace: Workspace) -> str:
    run = workspace.start(workspace.folder / "out", "--between", "20:00-21:00", environment={"TZ": "LAB-00:00"})
    run.prints(interface.NOTHING_STARTED_BEFORE.format(time="20:00"))
    return end(run, why(workspace, "v0", "pending", "20:00"))


def paused(workspace: Workspace) -> str:
    run = active(workspace, *ONE_BY_ONE)
    subprocess.run([workspace.tool, "pause", str(run.out)], check=True, capture_output=True)
    wait_until("it is paused", lambda: "pause" in str(run.status().get("waitingFor")))
    return end(run, why(workspace, "v7", "pending", "the end of the pause"))


def waits_for_approval(workspace: Workspace) -> str:
    finished(workspace, "--pilot", "2", "--approve", "--no-wait", code=75)
    return why(workspace, pending(workspace), "pending", "nocturne approve")


def pending(workspace: Workspace) -> str:
    """The name of an item that was not reached."""
    return next(name for name in (f"v{number}" for number in range(8)) if not (workspace.folder / "out" / name).exists())


def interrupted(workspace: Workspace) -> str:
    end(active(workspace, *ONE_BY_ONE), "")
    return why(workspace, "v7", "pending", "nocturne resume")


def completed(workspace: Workspace) -> str:
    finished(workspace)
    return why(workspace, "v7", "completed", "result: ", "seconds: ", "memory: ", "next: nothing")


def changed(workspace: Workspace) -> str:
    finished(workspace)
    path = workspace.input / "v7.nii"
    before = path.stat()
    os.utime(path, (1, 1))
    text = why(workspace, "v7", "changed: ", "makes the result again")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    return text


def with_inputs(workspace: Workspace) -> Path:
    source = workspace.folder / "oinputs"
    shutil.copytree(workspace.input, source)
    (source / "bad.nii").write_bytes(b"cut short")
    shutil.copy(next((SAMPLES / "Photos").rglob("*.jpg")), source / "photo.jpg")
    write_volume(source / "left.nii", 20, 1)
    return source


def failed(workspace: Workspace) -> str:
    finished(workspace, source=with_inputs(workspace), code=3)
    return why(workspace, "bad", "failed", "advice: ", "--failed` tries it again")


def skipped(workspace: Workspace) -> str:
    source = with_inputs(workspace)
    finished(workspace, source=source, code=3)
    return why(workspace, str(source / "photo.jpg"), "skipped", "reason: ", "next: nothing")


def cancelled(workspace: Workspace) -> str:
    run = active(workspace, *ONE_BY_ONE)
    subprocess.run([workspace.tool, "cancel", str(run.out), "v7"], check=True, capture_output=True)
    run.ends(3, 200)
    return why(workspace, "v7", "cancelled", "--failed` tries it again")


def quarantined(workspace: Workspace) -> str:
    finished(workspace, fault=CRASHES, code=3)
    return why(workspace, "v3", "quarantined", "crashed", "--failed` tries it again")


def reused(workspace: Workspace) -> str:
    workspace.start(workspace.folder / "other").ends(0)
    finished(workspace, "--reuse", str(workspace.folder / "other"))
    return why(workspace, "v7", "completed", "was taken from")


def watched(workspace: Workspace, *options: str) -> None:
    out = workspace.folder / "out"
    finished(workspace)
    (out / "stop").touch()
    workspace.start(out, "--settle", "0", "--keep", "2", *options, verb="watch").ends(0)


def expired(workspace: Workspace) -> str:
    watched(workspace)
    return why(workspace, pending(workspace), "skipped", "--keep", "older")


def thinned(workspace: Workspace) -> str:
    watched(workspace, "--drop", "meshes,pictures")
    names = [f"v{number}" for number in range(8)]
    name = next(name for name in names if not (workspace.folder / "out" / name / "preview.png").exists())
    return why(workspace, name, "completed", "meshes and pictures of the result were removed", "next: nothing")


def excluded(workspace: Workspace) -> str:
    source = with_inputs(workspace)
    finished(workspace, "--exclude", "left*", "--exclude", "bad*", source=source)
    return why(workspace, str(source / "left.nii"), "left out by --include or --exclude")


def elsewhere(workspace: Workspace) -> str:
    finished(workspace)
    return why(workspace, "/etc/hostname", "not below the inputs")


def unknown(workspace: Workspace) -> str:
    finished(workspace)
    return why(workspace, "v77", "no item is called v77")


def late(workspace: Workspace) -> str:
    source = with_inputs(workspace)
    finished(workspace, source=source, code=3)
    write_volume(source / "late.nii", 20, 1)
    return why(workspace, str(source / "late.nii"), "it came later", "nocturne inspect")


SITUATIONS: dict[str, Situation] = {
    "is processed": running,
    "waits for its turn": waits_for_its_turn,
    "waits for the disk": waits_for_disk,
    "waits for memory": waits_for_memory,
    "waits for the hours": waits_for_hours,
    "waits for the end of a pause": paused,
    "waits for the approval of a pilot": waits_for_approval,
    "was interrupted": interrupted,
    "completed": completed,
    "completed, and its source has changed": changed,
    "failed": failed,
    "was skipped": skipped,
    "was cancelled": cancelled,
    "is quarantined": quarantined,
    "was taken from another batch": reused,
    "was removed by a watch": expired,
    "was thinned by a watch": thinned,
    "is left out by a pattern": excluded,
    "is not below the inputs": elsewhere,
    "is not known": unknown,
    "came after the run": late,
}


if __name__ == "__main__":
    main(__doc__, SITUATIONS, as_root=True)
