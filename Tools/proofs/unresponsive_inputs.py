#!/usr/bin/env python3
"""Runs batches over inputs whose reads are slow, fail or never return, and checks that the other items complete.

    Tools/proofs/unresponsive_inputs.py NOCTURNE [--only "hangs|slow"]

The inputs come from a file server of our own (`nocturne_tools/slow_share.py`, FUSE), which delays, fails or withholds the
reads of chosen files. Items whose computation takes too long, and a file whose scan crashes the engine, are tried here
too. Must run as root, to mount the server.
"""

from __future__ import annotations

import contextlib
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools import interface
from nocturne_tools.batch_harness import BatchRun, Situation, Workspace, expect, main, wait_until
from nocturne_tools.interface import FaultPoint
from nocturne_tools.slow_share import Share
from nocturne_tools.small_volumes import write_volume

SLOW = interface.delayed_stages(150)


@contextlib.contextmanager
def share(workspace: Workspace, big: int = 0) -> Iterator[Share]:
    """The inputs, served; with `big` v7 is a volume of that size."""
    folder = workspace.folder / "oserved"
    shutil.copytree(workspace.input, folder)
    if big:
        write_volume(folder / "v7.nii", big, 1)
    with Share(folder, workspace.folder / "oshare") as served:
        yield served


def changed_while_read(workspace: Workspace) -> str:
    with share(workspace, big=128) as served:
        served.troubles["v7.nii"] = 0.15
        out = workspace.folder / "out"
        run = workspace.start(out, source=served.place)
        wait_until("v7 is read", lambda: any(e.get("item") == "v7" for e in run.events("itemStarted")), 40)
        before = served.reads
        wait_until("some reads of v7", lambda: served.reads >= before + 3)
        reads = served.reads - before
        write_volume(served.source / "v7.nii", 128, 0)
        served.troubles.clear()
        run.ends(0)
        expect(interface.WILL_BE_RETRIED in run.output, run.output)
        workspace.expect_same(out, workspace.fresh_tree(served.place))
        return f"changed after {reads} more reads: repeated, tree of the new content"


def read_fails_for_a_moment(workspace: Workspace) -> str:
    with share(workspace) as served:
        out = workspace.folder / "out"
        run = workspace.start(out, source=served.place, fault=SLOW)
        run.completes(1)
        served.troubles["v7.nii"] = "EIO"
        run.prints(interface.WILL_BE_RETRIED)
        served.troubles.clear()
        run.ends(0)
        workspace.expect_same(out, workspace.fresh_tree(served.place))
        return "EIO, retried, completed; same tree"


def read_always_fails(workspace: Workspace) -> str:
    with share(workspace) as served:
        out = workspace.folder / "out"
        run = workspace.start(out, source=served.place, fault=SLOW)
        run.completes(1)
        served.troubles["v7.nii"] = "EIO"
        run.ends(3)
        reason = workspace.reasons(out)["v7"]
        retries = run.output.count(f"v7 {interface.WILL_BE_RETRIED}")
        expect(workspace.counts(out)["completed"] == 7 and retries == 2, run.output)
        return f"3 after three attempts, seven completed, {reason[:90]}"


def hang_in_loading(workspace: Workspace, served: Share, out: Path, names: list[str], *options: str) -> BatchRun:
    """A run in which the files can be read when they are discovered, and hang when they are loaded."""
    run = workspace.start(out, *options, source=served.place, fault=interface.delayed_stages(500))
    wait_until("an item has started", lambda: run.events("itemStarted"))
    served.troubles.update({name: "hang" for name in names})
    return run


def read_hangs(workspace: Workspace) -> str:
    """The item of a file whose read never returns fails after its timeout; the others complete."""
    with share(workspace) as served:
        out = workspace.folder / "out"
        run = hang_in_loading(workspace, served, out, ["v5.nii"], "--item-timeout", "12s")
        start = time.monotonic()
        run.ends(3, 90)
        took = time.monotonic() - start
        reason = workspace.reasons(out)["v5"]
        expect(interface.TIMED_OUT in run.output or interface.DID_NOT_ANSWER in reason, run.output)
        expect(workspace.counts(out)["completed"] == 7, f"{workspace.reasons(out)} {workspace.counts(out)}")
        served.troubles.clear()
        workspace.start(out, "--failed", "--item-timeout", "60s", verb="resume").ends(0)
        workspace.expect_same(out, workspace.fresh_tree(served.place))
        return f"3 after {took:.0f} s, {reason}; the share answers again, resume --failed 0, same tree"


def two_reads_hang(workspace: Workspace) -> str:
    with share(workspace) as served:
        out = workspace.folder / "out"
        run = hang_in_loading(workspace, served, out, ["v5.nii", "v6.nii"], "--item-timeout", "12s")
        run.ends(3, 90)
        counts = workspace.counts(out)
        expect(counts["completed"] == 6 and counts["failed"] == 2, f"{counts} {workspace.reasons(out)}")
        return f"3: {counts['completed']} completed, both failed: {workspace.reasons(out)['v6']}"


def hangs_from_the_start(workspace: Workspace) -> str:
    with share(workspace) as served:
        served.troubles["v5.nii"] = "hang"
        out = workspace.folder / "out"
        workspace.start(out, "--item-timeout", "12s", source=served.place).ends(3)
        reason = workspace.reasons(out)["v5"]
        expect(workspace.counts(out)["completed"] == 7 and interface.DID_NOT_ANSWER in reason, reason)
        served.troubles.clear()
        workspace.start(out, verb="resume").ends(0)
        workspace.expect_same(out, workspace.fresh_tree(served.place))
        return f"3, seven completed, {reason}; the share answers again, resume 0, same tree"


def folder_hangs(workspace: Workspace, trouble: str, options: tuple[str, str]) -> str:
    """A folder on the share cannot be listed, or does not even say what it is; the items beside it complete."""
    with share(workspace) as served:
        (served.source / "sub").mkdir()
        write_volume(served.source / "sub" / "late.nii", 24, 1)
        served.troubles["sub"] = trouble
        out = workspace.folder / "out"
        start = time.monotonic()
        workspace.start(out, *options, source=served.place).ends(3, 240)
        took = time.monotonic() - start
        reasons, counts = workspace.reasons(out), workspace.counts(out)
        expect(counts["completed"] == 8 and interface.DID_NOT_ANSWER in reasons["sub"], f"{counts} {reasons}")
        served.troubles.clear()
        workspace.start(out, verb="resume").ends(0)
        # The folder stays in the report, as one that can be read again.
        expect(workspace.counts(out)["completed"] == 9, f"{workspace.counts(out)} {workspace.reasons(out)}")
        return f"3 after {took:.0f} s, eight completed, {reasons['sub']}; the share answers again, resume 0, all nine completed"


def reads_are_slow(workspace: Workspace) -> str:
    with share(workspace) as served:
        served.troubles = {f"v{index}.nii": 0.3 for index in range(8)}
        out = workspace.folder / "out"
        run = workspace.start(out, "--item-timeout", "30s", "--stall-limit", "20", source=served.place)
        run.ends(0)
        workspace.expect_same(out, workspace.fresh_tree(served.place))
        return f"0.3 s a read, {served.reads} reads in all: 0, same tree"


def stalled(workspace: Workspace) -> str:
    with share(workspace) as served:
        out = workspace.folder / "out"
        run = hang_in_loading(workspace, served, out, ["v5.nii"], "--stall-limit", "10")
        run.ends(3, 120)
        reasons = workspace.reasons(out)
        seen = f"v5 {interface.NO_PROGRESS}" in run.output
        expect(seen and workspace.counts(out)["completed"] == 7, f"{reasons}")
        return f"3, seven completed, {reasons['v5'][:90]}"


def inference_times_out(workspace: Workspace) -> str:
    out = workspace.folder / "out"
    run = workspace.start(out, "--item-timeout", "8s", fault=f"{FaultPoint.INFERENCE_TILE}:100:delay-9500")
    run.ends(3)
    counts, reasons = workspace.counts(out), workspace.reasons(out)
    one_engine = interface.ENGINE_DIED not in run.output
    expect(counts["completed"] == 7 and counts["failed"] == 1 and one_engine, f"{counts} {run.output}")
    return f"3 without restarting the engine: {next(iter(reasons.values()))}"


def scan_crashes(workspace: Workspace) -> str:
    out = workspace.folder / "out"
    run = workspace.start(out, fault=f"{FaultPoint.INPUT_SCAN}@v3.nii:1+:kill")
    run.ends(3)
    counts, reasons = workspace.counts(out), workspace.reasons(out)
    reason = next(iter(reasons.values()))
    expect(counts["completed"] == 7 and interface.SCAN_CRASHED_TWICE in reason, f"{counts} {reasons}")
    workspace.start(out, "--failed", verb="resume").ends(0)
    workspace.expect_same(out)
    return f"3, seven completed, {reason}; resume --failed 0, same tree"


def interrupted_while_read_hangs(workspace: Workspace) -> str:
    with share(workspace) as served:
        out = workspace.folder / "out"
        run = hang_in_loading(workspace, served, out, ["v5.nii"])
        time.sleep(4)
        start = time.monotonic()
        run.process.send_signal(signal.SIGINT)
        run.ends(130, 20)
        took = time.monotonic() - start
        served.troubles.clear()
        workspace.start(out, verb="resume").ends(0)
        workspace.expect_same(out, workspace.fresh_tree(served.place))
        return f"ended {took:.1f} s after SIGINT with 130; resume 0, same tree"


SITUATIONS: dict[str, Situation] = {
    "input changed while it is read": changed_while_read,
    "reads fail for a moment": read_fails_for_a_moment,
    "reads of one file always fail": read_always_fails,
    "reads are slow": reads_are_slow,
    "a read hangs, --item-timeout": read_hangs,
    "two reads hang, --item-timeout": two_reads_hang,
    "a file hangs from the start, --item-timeout": hangs_from_the_start,
    "a read hangs, --stall-limit": stalled,
    "a folder cannot be listed, --item-timeout": partial(folder_hangs, trouble="hang", options=("--item-timeout", "12s")),
    "a folder cannot be listed, --stall-limit": partial(folder_hangs, trouble="hang", options=("--stall-limit", "10")),
    "a folder is gone, --stall-limit": partial(folder_hangs, trouble="gone", options=("--stall-limit", "10")),
    "inference takes long, --item-timeout": inference_times_out,
    "scanning a file crashes the engine": scan_crashes,
    "SIGINT while a read hangs": interrupted_while_read_hangs,
}


if __name__ == "__main__":
    main(__doc__, SITUATIONS, as_root=True)
