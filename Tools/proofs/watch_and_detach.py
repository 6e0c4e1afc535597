#!/usr/bin/env python3
"""Runs `nocturne watch` on a folder that fills, and detached runs, and checks when files are processed.

    Tools/proofs/watch_and_detach.py NOCTURNE [--only "series"]

Checked are the times of the events, exit codes, messages, and the tree against that of an undisturbed run.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools import interface
from nocturne_tools.batch_harness import BatchRun, Situation, Workspace, completed, expect, main, wait_until
from nocturne_tools.paths import SAMPLES
from nocturne_tools.result_tree import completed_twice, differing, tree
from nocturne_tools.small_volumes import write_volume

SLOW = interface.delayed_stages(250)
# Files whose order of items is that of their arrival.
ORDERED_BY_ARRIVAL = {"batch.json", "statistics.csv", "measurements.csv", "review/data/items-0000.js"}


def start_watch(workspace: Workspace, out: Path, folder: Path, *options: str) -> BatchRun:
    return workspace.start(out, "--settle", "2", *options, source=folder, verb="watch")


def expect_same_as_run(workspace: Workspace, out: Path, folder: Path) -> None:
    """The results equal those of a run over the same folder, but for the order of the items in the report."""
    fresh = workspace.folder / "ofresh"
    workspace.start(fresh, source=folder).wait()
    trees = []
    for place in (out, fresh):
        trees.append({name: digest for name, digest in tree(place).items() if name not in ORDERED_BY_ARRIVAL})
    names = differing(*trees)
    expect(not names, f"differs: {names}")
    for table in ("statistics.csv", "measurements.csv"):
        lines = [sorted((place / table).read_text().splitlines()) for place in (fresh, out)]
        expect(lines[0] == lines[1], f"{table} differs by more than the order of rows")
    expect(workspace.counts(out) == workspace.counts(fresh), "the counts differ")


def copy_slowly(source: Path, target: Path) -> float:
    """Copies a file in pieces, which takes longer than the settle time; when the last piece was written."""
    whole = source.read_bytes()
    with target.open("wb", buffering=0) as file:
        for start in range(0, len(whole), len(whole) // 16):
            file.write(whole[start : start + len(whole) // 16])
            time.sleep(0.3)
    return time.time()


def files(workspace: Workspace) -> str:
    folder, out = workspace.folder / "oin", workspace.folder / "out"
    folder.mkdir()
    write_volume(folder / "early.nii", 24, 1)
    run = start_watch(workspace, out, folder)
    run.completes(1)
    write_volume(workspace.folder / "opart", 30, 1)
    last = copy_slowly(workspace.folder / "opart", folder / "copied.nii")
    # Into place in one step, with an old date.
    write_volume(folder / ".hidden", 26, 1)
    os.utime(folder / ".hidden", (1, 1))
    (folder / ".hidden").rename(folder / "renamed.nii")
    run.completes(3)
    started = [str(event["time"]) for event in run.events("itemStarted") if event["item"] == "copied"]
    quiet = datetime.fromisoformat(started[0].replace("Z", "+00:00")).timestamp() - last
    expect(len(started) == 1 and quiet > 1, f"started {len(started)} times, {quiet:.1f} s after the last piece")
    # Another content after the item was completed.
    before = (out / "early/result.json").read_bytes()
    write_volume(folder / "early.nii", 32, 1)
    wait_until("early processed again", lambda: (out / "early/result.json").read_bytes() != before, 30)
    (out / "stop").touch()
    run.ends(0, 20)
    expect(not (out / "stop").exists(), "the stop file remains, and would end the next watch")
    expect_same_as_run(workspace, out, folder)
    return f"copied file started once, {quiet:.1f} s after its last piece; renamed and replaced files processed; stop file: 0, same tree"


def series(workspace: Workspace) -> str:
    volumes = sorted((SAMPLES / "Volumes").rglob("*"))
    source = next(path for path in volumes if path.is_dir() and len(list(path.glob("*.dcm"))) > 5)
    folder, out = workspace.folder / "oin", workspace.folder / "out"
    (folder / "series").mkdir(parents=True)
    run = start_watch(workspace, out, folder)
    slices = sorted(source.glob("*.dcm"))
    for path in slices:
        shutil.copy(path, folder / "series" / path.name)
        time.sleep(8 / len(slices))
    run.completes(1, 60)
    run.process.send_signal(signal.SIGTERM)
    run.ends(143, 5)
    starts = len(run.events("itemStarted"))
    expect(starts == 1 and not run.events("itemFailed"), f"started {starts} times; {run.output[-200:]}")
    expect_same_as_run(workspace, out, folder)
    return f"{len(slices)} slices over 8 s: started once, when all had arrived; SIGTERM: 143, same tree"


def restarted(workspace: Workspace) -> str:
    folder, out = workspace.folder / "oin", workspace.folder / "out"
    folder.mkdir()
    write_volume(folder / "a.nii", 24, 1)
    run = start_watch(workspace, out, folder)
    run.completes(1)
    run.process.send_signal(signal.SIGINT)
    run.ends(130, 5)
    write_volume(folder / "b.nii", 26, 1)
    run = start_watch(workspace, out, folder)
    run.completes(2)
    run.process.kill()
    no_engine = ["pgrep", "-f", str(out)]
    wait_until("no engine left", lambda: subprocess.run(no_engine, capture_output=True).returncode, 2)
    write_volume(folder / "c.nii", 28, 1)
    run = start_watch(workspace, out, folder)
    run.completes(3)
    (out / "stop").touch()
    run.ends(0, 20)
    expect(not completed_twice(out), "completed twice")
    expect_same_as_run(workspace, out, folder)
    return "SIGINT 130, SIGKILL, each started again on the same folder: three completed, none twice; same tree"


def folder_missing(workspace: Workspace) -> str:
    folder, out = workspace.folder / "oin", workspace.folder / "out"
    folder.mkdir()
    run = start_watch(workspace, out, folder)
    wait_until("a first scan", lambda: (out / "batch.json").exists())
    folder.rename(workspace.folder / "oaway")
    time.sleep(3)
    expect(run.process.poll() is None, f"ended with the folder: {run.output[-200:]}")
    (workspace.folder / "oaway").rename(folder)
    write_volume(folder / "a.nii", 24, 1)
    run.completes(1)
    run.process.send_signal(signal.SIGTERM)
    run.ends(143, 5)
    return "the watched folder was missing for 3 s: the watch continued when it was back"


def detached(workspace: Workspace) -> str:
    out = workspace.folder / "out"
    run = workspace.start(out, "--detach", fault=SLOW)
    run.ends(0)
    expect(interface.FOLLOW_HINT in run.output, run.output)
    follow = subprocess.Popen([workspace.tool, "status", "--follow", str(out)], stderr=subprocess.PIPE, text=True)
    wait_until("two completed", lambda: completed(out) >= 2)
    follow.send_signal(signal.SIGINT)
    follow.wait(5)
    expect(run.status()["runningProcess"] is not None, "the run ended with the process that follows it")
    subprocess.run([workspace.tool, "cancel", str(out)], check=True, stdout=subprocess.DEVNULL)
    command = [workspace.tool, "status", "--follow", str(out)]
    last = subprocess.run(command, capture_output=True, text=True, timeout=10)
    ended = run.status()["runningProcess"] is None
    expect(ended and last.returncode == 75, f"status --follow {last.returncode}: {last.stderr}")
    workspace.start(out, verb="resume").ends(0)
    workspace.expect_same(out)
    return "status --follow follows the run, leaving it does not end the run, cancel does; status --follow then 75; resume 0, same tree"


SITUATIONS: dict[str, Situation] = {
    "watch: copied, renamed, replaced, stop file": files,
    "watch: a series slice by slice": series,
    "watch: ended and started again": restarted,
    "watch: the folder is missing for a while": folder_missing,
    "--detach, status --follow, cancel": detached,
}


if __name__ == "__main__":
    main(__doc__, SITUATIONS)
