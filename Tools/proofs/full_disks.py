#!/usr/bin/env python3
"""Runs batches on disks that are full, fill up, or run out of files, and checks that they wait or stop, and lose nothing.

    Tools/proofs/full_disks.py NOCTURNE [--only "pause|quota"]

The disks are small file systems in memory. Each situation is checked by exit code, messages, report and, after the batch
has continued, by comparing the tree with that of an undisturbed run, byte by byte. Must run as root, for mounts. A real
quota needs a kernel with quotas, so that error is injected instead.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools import interface
from nocturne_tools.batch_harness import Situation, Workspace, completed, expect, main, wait_until
from nocturne_tools.interface import FaultPoint
from nocturne_tools.small_volumes import tiny_volume, write_volume

SLOW = interface.delayed_stages(150)
#: A file of the page, before the first item, and two files of items: the page and the first report take some 30.
QUOTA_POINTS = [f"{FaultPoint.FILE_CREATE}:6", f"{FaultPoint.FILE_CREATE}:60", f"{FaultPoint.FILE_WRITE}:80"]


def fill(place: Path, leaving: int = 8192) -> Path:
    """Fills a disk up to some bytes; returns the file that does so."""
    filler = place / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while (status := os.statvfs(place)).f_bavail * status.f_frsize > leaving:
            file.write(bytes(min(1 << 20, status.f_bavail * status.f_frsize - leaving)))
    return filler


def full_at_start(workspace: Workspace) -> str:
    place = workspace.mount("size=60m")
    filler = fill(place, leaving=2_000_000)
    run = workspace.start(place / "out")
    run.prints(interface.WAITS_FOR_DISK_SPACE)
    waiting = run.status()["waitingFor"]
    expect(interface.STATUS_WAITS_FOR_DISK_SPACE in str(waiting), f"status reports {waiting}")
    before = completed(place / "out")
    filler.unlink()
    seconds = run.prints(interface.HAS_DISK_SPACE_AGAIN)
    run.ends(0)
    workspace.expect_same(place / "out")
    expect(len(run.events("disk")) >= 2, "no disk events")
    return f"paused with {before} completed, status: {waiting}; continued {seconds:.1f} s after there was space; same tree"


def full_at_start_stop(workspace: Workspace) -> str:
    place = workspace.mount("size=60m")
    filler = fill(place, leaving=2_000_000)
    run = workspace.start(place / "out", "--on-full", "stop")
    run.ends(75)
    expect(interface.DISK_IS_FULL in run.output and interface.RESUME_HINT in run.output, run.output)
    left = workspace.counts(place / "out")["notReached"]
    filler.unlink()
    workspace.start(place / "out", verb="resume").ends(0)
    workspace.expect_same(place / "out")
    return f"75, {left} not reached; resume 0, same tree"


def filled_during_run(workspace: Workspace) -> str:
    place = workspace.mount("size=40m")
    run = workspace.start(place / "out", fault=SLOW)
    run.completes(2)
    filler = fill(place)
    seconds = run.prints(interface.WAITS_FOR_DISK_SPACE)
    before = completed(place / "out")
    time.sleep(3)
    expect(completed(place / "out") <= before + 1 and run.process.poll() is None, "continued without space")
    waiting = run.status()["waitingFor"]
    filler.unlink()
    again = run.prints(interface.HAS_DISK_SPACE_AGAIN)
    run.ends(0)
    workspace.expect_same(place / "out")
    return f"paused after {seconds:.1f} s, status: {waiting}; continued {again:.1f} s after there was space; same tree"


def filled_during_run_stop(workspace: Workspace) -> str:
    place = workspace.mount("size=40m")
    run = workspace.start(place / "out", "--on-full", "stop", fault=SLOW)
    run.completes(2)
    filler = fill(place, leaving=0)
    run.ends(75)
    last = run.output.strip().splitlines()[-1]
    filler.unlink()
    workspace.start(place / "out", verb="resume").ends(0)
    workspace.expect_same(place / "out")
    return f"75 with no byte left ({last[:60]}); resume 0, same tree"


def filled_during_write(workspace: Workspace) -> str:
    place = workspace.mount("size=40m")
    run = workspace.start(place / "out", fault=f"{FaultPoint.FILE_WRITE}:1+:delay-100")
    wait_until("a write has started", lambda: list((place / "out/.nocturne/staging").glob("*/result/*")))
    filler = fill(place, leaving=0)
    run.prints(interface.WILL_BE_RETRIED)
    run.prints(interface.WAITS_FOR_DISK_SPACE)
    filler.unlink()
    seconds = run.prints(interface.HAS_DISK_SPACE_AGAIN)
    run.ends(0)
    workspace.expect_same(place / "out")
    return f"items requeued, continued {seconds:.1f} s after there was space; same tree"


def full_for_journal(workspace: Workspace) -> str:
    place = workspace.mount("size=64k")
    run = workspace.start(place / "out")
    run.prints(interface.WAITS_FOR_DISK_SPACE)
    workspace.remount(place, "size=60m")
    seconds = run.prints(interface.HAS_DISK_SPACE_AGAIN)
    run.ends(0)
    workspace.expect_same(place / "out")
    return f"paused before the journal was created; continued {seconds:.1f} s after there was space; same tree"


def full_for_journal_stop(workspace: Workspace) -> str:
    place = workspace.mount("size=64k")
    run = workspace.start(place / "out", "--on-full", "stop")
    run.ends(75)
    last = run.output.strip().splitlines()[-1]
    workspace.remount(place, "size=60m")
    workspace.start(place / "out").ends(0)
    workspace.expect_same(place / "out")
    return f"75 ({last[-70:]}); run again 0, same tree"


def full_before_later_run(workspace: Workspace, policy: str) -> str:
    """SQLite cannot make its files next to the journal of the run before."""
    place = workspace.mount("size=60m")
    out = place / "out"
    workspace.start(out, "--pilot", "2").ends(75)
    filler = fill(place, leaving=0)
    for verb in ("status", "verify"):
        command = [workspace.tool, verb, str(out)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        expect(answer.returncode == 0, f"{verb} ended with {answer.returncode}: {answer.stderr}")
    run = workspace.start(out, "--on-full", policy, verb="resume")
    if policy == "stop":
        run.ends(75)
        expect(interface.DISK_IS_FULL in run.output, run.output)
        filler.unlink()
        run = workspace.start(out, verb="resume")
    else:
        run.prints(interface.WAITS_FOR_DISK_SPACE)
        filler.unlink()
        run.prints(interface.HAS_DISK_SPACE_AGAIN)
    run.ends(0)
    workspace.expect_same(out)
    return "status and verify as usual; the later run " + ("ended with 75" if policy == "stop" else "waited")


def full_for_report(workspace: Workspace) -> str:
    place = workspace.mount("size=40m")
    run = workspace.start(place / "out", fault=f"{FaultPoint.BATCH_REPORT}:2:delay-2500")
    run.completes(8)
    time.sleep(0.7)
    filler = fill(place, leaving=0)
    run.prints(interface.WAITS_FOR_DISK_SPACE)
    filler.unlink()
    run.ends(0)
    workspace.expect_same(place / "out")
    return "the report was written once there was space; same tree"


def no_more_files(workspace: Workspace) -> str:
    place = workspace.mount("size=60m,nr_inodes=60")
    run = workspace.start(place / "out")
    run.prints(interface.DISK_HAS_NO_MORE_FILES)
    waiting = run.status()["waitingFor"]
    time.sleep(8)
    workspace.remount(place, "nr_inodes=10000")
    seconds = run.prints(interface.HAS_DISK_SPACE_AGAIN)
    expect(seconds < 3, f"continued only {seconds:.1f} s after files could be created")
    run.ends(0)
    workspace.expect_same(place / "out")
    return f"status: {waiting}; continued {seconds:.1f} s after files could be created; same tree"


def quota(workspace: Workspace) -> str:
    out = workspace.folder / "out"
    run = workspace.start(out, fault=",".join(f"{point}:EDQUOT" for point in QUOTA_POINTS))
    run.ends(0)
    expect(run.output.count(interface.HAS_DISK_SPACE_AGAIN) >= 1, run.output)
    expect(run.output.count(interface.WILL_BE_RETRIED) == 2, run.output)
    workspace.expect_same(out)
    return "injected: requeued, waited, completed; same tree"


def large_among_small(workspace: Workspace) -> str:
    """What the large item may need is more than the disk has; what results take is learned from the small ones."""
    source = workspace.folder / "mixed"
    source.mkdir()
    write_volume(source / "a-large.nii", 256, 1)
    for number in range(50):
        (source / f"small-{number:02}.nii").write_bytes(tiny_volume(number))
    place = workspace.mount("size=40m")
    run = workspace.start(place / "out", "--memory", "1500M", source=source)
    run.ends(0, seconds=300)
    ends = [str(event["item"]) for event in run.events("itemCompleted")]
    expect(len(ends) == 51, f"{len(ends)} completed")
    used = sum(path.stat().st_size for path in (place / "out/a-large").rglob("*") if path.is_file())
    waited = interface.WAITS_FOR_DISK_SPACE in run.output
    return f"51 completed, the large one as number {ends.index('a-large') + 1}, it takes {used / 1e6:.1f} MB; waited: {waited}"


def one_never_fits(workspace: Workspace, policy: str) -> str:
    """The disk as a whole is too small for the first item: it fails with the figures, and the others are completed."""
    source = workspace.folder / f"never-{policy}"
    source.mkdir()
    write_volume(source / "a-large.nii", 256, 1)
    for number in range(2):  # too few to learn from what results take
        (source / f"small-{number}.nii").write_bytes(tiny_volume(number))
    place = workspace.mount("size=6m")
    run = workspace.start(place / "out", "--memory", "1500M", "--on-full", policy, source=source)
    run.ends(3)
    counts = workspace.counts(place / "out")
    expect(counts["completed"] == 2 and counts["failed"] == 1, str(counts))
    expect("and the disk of the output folder has" in run.output, run.output)
    return "2 completed, the large one failed with the figures"


SITUATIONS: dict[str, Situation] = {
    "full from the start, pause": full_at_start,
    "full from the start, stop": full_at_start_stop,
    "filled during the run, pause": filled_during_run,
    "filled during the run, stop": filled_during_run_stop,
    "filled during a write": filled_during_write,
    "full for the journal, pause": full_for_journal,
    "full for the journal, stop": full_for_journal_stop,
    "full before a later run, pause": lambda workspace: full_before_later_run(workspace, "pause"),
    "full before a later run, stop": lambda workspace: full_before_later_run(workspace, "stop"),
    "full for the report": full_for_report,
    "no more files, pause": no_more_files,
    "quota exceeded": quota,
    "one large item among fifty small ones": large_among_small,
    "one that never fits, pause": lambda workspace: one_never_fits(workspace, "pause"),
    "one that never fits, stop": lambda workspace: one_never_fits(workspace, "stop"),
}


if __name__ == "__main__":
    main(__doc__, SITUATIONS, as_root=True)
