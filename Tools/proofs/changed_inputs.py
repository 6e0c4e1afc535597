#!/usr/bin/env python3
"""Runs batches whose inputs are deleted, truncated, replaced, moved or locked meanwhile, and checks how each item ends.

    Tools/proofs/changed_inputs.py NOCTURNE [--only "truncated|appended"]

Each situation is checked by exit code, the item's reason and, once the inputs are restored or settled, by comparing the
tree with that of an undisturbed run over the same inputs, byte by byte. Must run as root, for mounts and permissions.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools import interface
from nocturne_tools.batch_harness import NOBODY, BatchRun, Situation, Workspace, expect, main
from nocturne_tools.small_volumes import write_volume

SLOW = interface.delayed_stages(150)
Change = Callable[[Path], object]


def copied_inputs(workspace: Workspace) -> Path:
    """A copy of the inputs that a situation may change."""
    folder = workspace.folder / "oin"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(workspace.input, folder)
    for path in [folder, *folder.iterdir()]:
        os.chown(path, NOBODY, NOBODY)
    return folder


def changed_during_run(
    workspace: Workspace, change: Change, code: int, user: int | None = None
) -> tuple[BatchRun, Path, Path]:
    """Changes the inputs during a run, which must end with `code`: the run, the inputs, the output."""
    folder = copied_inputs(workspace)
    out = workspace.folder / "oparent/out"
    out.parent.mkdir()
    os.chown(out.parent, NOBODY, NOBODY)
    run = workspace.start(out, source=folder, fault=SLOW, user=user)
    run.completes(1)
    change(folder)
    run.ends(code)
    return run, folder, out


def deleted(workspace: Workspace) -> str:
    kept = (workspace.input / "v7.nii").read_bytes()
    stamp = (workspace.input / "v7.nii").stat()
    _, folder, out = changed_during_run(workspace, lambda folder: (folder / "v7.nii").unlink(), 3)
    reason = workspace.reasons(out)["v7"]
    expect(interface.SOURCE_DISAPPEARED in reason and workspace.counts(out)["completed"] == 7, reason)
    (folder / "v7.nii").write_bytes(kept)
    os.utime(folder / "v7.nii", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    workspace.start(out, verb="resume").ends(0)
    workspace.expect_same(out, workspace.fresh_tree(folder))
    return f"3, seven completed, {reason[-60:]}; restored, resume 0, same tree"


def truncated(workspace: Workspace) -> str:
    _, _, out = changed_during_run(workspace, lambda folder: os.truncate(folder / "v7.nii", 5000), 3)
    reason = workspace.reasons(out)["v7"]
    expect(reason.startswith("failed") and "4648 of 74088" in reason, reason)
    return f"3, seven completed, {reason[:110]}"


def replaced_by(workspace: Workspace, change: Change) -> str:
    """The results must be those of the new content."""
    run, folder, out = changed_during_run(workspace, change, 0)
    workspace.expect_same(out, workspace.fresh_tree(folder))
    expect(any("v7" in str(event.get("item")) for event in run.events("itemStarted")), "v7 was not started")
    return "0, tree of the new content"


def replaced(workspace: Workspace) -> str:
    def change(folder: Path) -> None:
        write_volume(folder / ".new", 30, 1)
        (folder / ".new").rename(folder / "v7.nii")

    return replaced_by(workspace, change)


def appended(workspace: Workspace) -> str:
    def change(folder: Path) -> None:
        with (folder / "v7.nii").open("ab") as file:
            file.write(bytes(1000))

    return replaced_by(workspace, change)


def growing(workspace: Workspace) -> str:
    """A file copied in pieces during the run: whatever becomes of it first, resuming must complete the whole file."""
    folder = copied_inputs(workspace)
    whole = (folder / "v7.nii").read_bytes()
    (folder / "v7.nii").write_bytes(whole[: len(whole) // 2])
    out = workspace.folder / "out"
    run = workspace.start(out, source=folder, fault=SLOW)
    run.completes(1)
    for start in range(len(whole) // 2, len(whole), 4000):
        with (folder / "v7.nii").open("ab") as file:
            file.write(whole[start : start + 4000])
        time.sleep(0.05)
    code = run.wait()
    workspace.start(out, verb="resume").ends(0)
    workspace.expect_same(out, workspace.fresh_tree(folder))
    return f"{code}, then resume 0, tree of the whole file"


def unreadable(workspace: Workspace) -> str:
    _, folder, out = changed_during_run(workspace, lambda folder: (folder / "v7.nii").chmod(0), 3, user=NOBODY)
    reason = workspace.reasons(out)["v7"]
    expect("ermission denied" in reason, reason)
    (folder / "v7.nii").chmod(0o644)
    workspace.start(out, "--failed", verb="resume", user=NOBODY).ends(0)
    workspace.expect_same(out, workspace.fresh_tree(folder))
    return f"3, {reason[:100]}; resume --failed 0, same tree"


def folder_renamed(workspace: Workspace) -> str:
    elsewhere = workspace.folder / "oelsewhere"
    _, folder, out = changed_during_run(workspace, lambda folder: folder.rename(elsewhere), 3)
    counts = workspace.counts(out)
    expect(counts["failed"] == 0 and counts["notReached"] > 0, str(counts))
    elsewhere.rename(folder)
    workspace.start(out, verb="resume").ends(0)
    workspace.expect_same(out, workspace.fresh_tree(folder))
    return f"3, none failed, {counts['notReached']} not reached; renamed back, resume 0, same tree"


def folder_unmounted(workspace: Workspace) -> str:
    place = workspace.mount("size=20m", "oinputs")
    shutil.copytree(workspace.input, place, dirs_exist_ok=True)
    keep = workspace.folder / "okeep"
    keep.mkdir()
    workspace.bind(place, keep)
    out = workspace.folder / "out"
    run = workspace.start(out, source=place, fault=SLOW)
    run.completes(1)
    workspace.unmount(place)
    run.ends(3)
    counts = workspace.counts(out)
    expect(counts["failed"] == 0 and counts["notReached"] > 0, str(counts))
    workspace.bind(keep, place)
    workspace.start(out, verb="resume").ends(0)
    workspace.expect_same(out, workspace.fresh_tree(place))
    return f"3, none failed, {counts['notReached']} not reached; mounted again, resume 0, same tree"


SITUATIONS: dict[str, Situation] = {
    "input deleted": deleted,
    "input truncated": truncated,
    "input replaced by another": replaced,
    "input appended to": appended,
    "input grows slowly": growing,
    "input made unreadable (nobody)": unreadable,
    "folder of inputs renamed": folder_renamed,
    "inputs unmounted lazily": folder_unmounted,
}


if __name__ == "__main__":
    main(__doc__, SITUATIONS, as_root=True)
