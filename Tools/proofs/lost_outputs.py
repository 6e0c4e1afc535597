#!/usr/bin/env python3
"""Runs batches whose output folder becomes read-only, moves, disappears or hangs, and checks that no item is marked as failed.

    Tools/proofs/lost_outputs.py NOCTURNE [--only "read-only|moved"]

After each loss the run must end with 75; when the folder is back, `resume` must give the tree of an undisturbed run, byte
by byte. Must run as root, for mounts.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools import interface
from nocturne_tools.batch_harness import NOBODY, Situation, Workspace, expect, main, wait_until

SLOW = interface.delayed_stages(150)
Change = Callable[[Path], object]


def lost(
    workspace: Workspace, spoil: Change, repair: Change, message: str, user: int | None = None, out: Path | None = None
) -> str:
    """Spoils the output folder during a run, repairs it, and resumes."""
    out = out or workspace.folder / "out"
    run = workspace.start(out, fault=SLOW, user=user)
    run.completes(2)
    spoil(out)
    run.ends(75)
    expect(message in run.output, run.output[-300:])
    expect(interface.ITEM_FAILED not in run.output, f"items marked as failed: {run.output[-300:]}")
    line = next(line for line in run.output.splitlines() if message in line)
    repair(out)
    workspace.start(out, verb="resume", user=user).ends(0)
    workspace.expect_same(out)
    return f"75, no item failed ({line[:90]}); resume 0, same tree"


def read_only(workspace: Workspace) -> str:
    def spoil(out: Path) -> None:
        workspace.bind(out, out)
        workspace.remount(out, "bind,ro")

    place = workspace.mount("size=60m")
    return lost(workspace, spoil, workspace.unmount, "Read-only", out=place / "out")


def ext4(workspace: Workspace) -> tuple[Path, Path]:
    """A file with a file system, and where it is mounted."""
    # A new file each time: the kernel keeps what it knows of one that was unmounted lazily.
    descriptor, name = tempfile.mkstemp(prefix="oimage", dir=workspace.folder)
    os.truncate(descriptor, 64 << 20)
    os.close(descriptor)
    image, place = Path(name), workspace.folder / "odisk"
    place.mkdir()
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)
    workspace.mounts.append(place)
    return image, place


def has_ended(process: int) -> bool:
    """Whether no thread of a process is left; its number stays until its parent has noticed."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return True
    return fields[0] == "Z" and fields[17] in ("0", "1")


def frozen(workspace: Workspace, *options: str, stop: bool) -> str:
    """Writes to a frozen file system hang, and a process that hangs in one cannot be killed."""
    _, place = ext4(workspace)
    out = place / "out"
    run = workspace.start(out, *options, fault=SLOW)
    run.completes(2)
    engine = run.children()[0]
    subprocess.run(["fsfreeze", "--freeze", str(place)], check=True)
    try:
        start = time.monotonic()
        if stop:
            run.process.send_signal(signal.SIGTERM)
        run.ends(75, 120)
        took = time.monotonic() - start
        expect(interface.ENGINE_HANGS in run.output, run.output[-300:])
        expect(not has_ended(engine), "the engine has ended")
    finally:
        subprocess.run(["fsfreeze", "--unfreeze", str(place)], check=True)
    wait_until("the engine has ended", lambda: has_ended(engine))
    workspace.start(out, verb="resume").ends(0)
    workspace.expect_same(out)
    return f"75 after {took:.0f} s; the engine ends when the disk answers; resume 0, same tree"


def disk_error(workspace: Workspace) -> str:
    """A file system that the kernel makes read-only because of an error of its disk."""
    image, place = ext4(workspace)

    def repair(_: Path) -> None:
        subprocess.run(["umount", str(place)], check=True)
        subprocess.run(["e2fsck", "-fy", str(image)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)

    def spoil(_: Path) -> None:
        workspace.remount(place, "abort")

    return lost(workspace, spoil, repair, interface.OUTPUT_NOT_WRITABLE, out=place / "out")


def read_only_from_the_start(workspace: Workspace) -> str:
    place = workspace.mount("size=60m")
    workspace.remount(place, "ro")
    run = workspace.start(place / "out")
    run.ends(2)
    expect("Read-only file system" in run.output, run.output)
    return f"2: {run.output.strip()[-70:]}"


def results_on_read_only_disk(workspace: Workspace) -> str:
    place = workspace.mount("size=60m")
    shutil.copytree(workspace.folder / "undisturbed", place / "out")
    workspace.remount(place, "ro")
    for verb in ("status", "verify"):
        done = subprocess.run([workspace.tool, verb, str(place / "out")], capture_output=True, text=True)
        expect(done.returncode == 0, f"{verb} {done.returncode}: {done.stderr[-200:]}")
    return "status and verify: 0"


def moved(workspace: Workspace) -> str:
    away = workspace.folder / "oaway"
    message = interface.OUTPUT_DISAPPEARED
    return lost(workspace, lambda out: out.rename(away), lambda out: away.rename(out), message)


def deleted(workspace: Workspace) -> str:
    out = workspace.folder / "out"
    run = workspace.start(out, fault=SLOW)
    run.completes(2)
    shutil.rmtree(out, ignore_errors=True)
    run.ends(75)
    fine = interface.OUTPUT_DISAPPEARED in run.output and interface.ITEM_FAILED not in run.output
    expect(fine, run.output[-300:])
    expect(not out.exists(), "something was written to the place of the deleted folder")
    workspace.start(out).ends(0)
    workspace.expect_same(out)
    return "75, nothing written in its place; run again 0, same tree"


def unmounted(workspace: Workspace) -> str:
    place = workspace.mount("size=60m")
    keep = workspace.folder / "okeep"
    keep.mkdir()
    workspace.bind(place, keep)

    def repair(_: Path) -> None:
        expect(not list(place.iterdir()), f"written below the mount point: {list(place.iterdir())}")
        workspace.bind(keep, place)

    return lost(
        workspace, lambda _: workspace.unmount(place), repair, interface.OUTPUT_DISAPPEARED, out=place / "out"
    )


def permission_lost(workspace: Workspace) -> str:
    parent = workspace.folder / "oparent"
    parent.mkdir()
    os.chown(parent, NOBODY, NOBODY)

    def spoil(out: Path) -> None:
        for path in [out / ".nocturne/staging", *(out / ".nocturne/staging").iterdir(), out / ".nocturne", out]:
            with contextlib.suppress(FileNotFoundError):
                os.chown(path, 0, 0)
                path.chmod(0o755)

    def repair(out: Path) -> None:
        for path in [out, *out.rglob("*")]:
            os.chown(path, NOBODY, NOBODY)

    message = interface.OUTPUT_NOT_WRITABLE
    return lost(workspace, spoil, repair, message, user=NOBODY, out=parent / "out")


def home_missing(workspace: Workspace) -> str:
    place = workspace.mount("size=1m", "otmp")
    workspace.remount(place, "ro")
    cases: list[dict[str, str | None]] = [
        {"HOME": None},
        {"HOME": "/nonexistent"},
        {"HOME": str(place), "TMPDIR": str(place)},
        {"TMPDIR": "/nonexistent", "XDG_DATA_HOME": None, "HOME": None, "PATH": None, "LANG": None},
    ]
    for index, environment in enumerate(cases):
        out = workspace.folder / f"out{index}"
        workspace.start(out, environment=environment).ends(0)
        workspace.expect_same(out)
    return "HOME unset, missing, read-only; TMPDIR missing, read-only; no PATH: each 0, same tree"


SITUATIONS: dict[str, Situation] = {
    "output read-only from the start": read_only_from_the_start,
    "output made read-only": read_only,
    "error of the output's disk (ext4 abort)": disk_error,
    "output frozen, SIGTERM": partial(frozen, stop=True),
    "output frozen, --stall-limit": lambda workspace: frozen(workspace, "--stall-limit", "10", stop=False),
    "results on a read-only disk": results_on_read_only_disk,
    "output moved away": moved,
    "output deleted": deleted,
    "output unmounted lazily": unmounted,
    "permission for the output lost (nobody)": permission_lost,
    "HOME and TMPDIR missing or read-only": home_missing,
}


if __name__ == "__main__":
    main(__doc__, SITUATIONS, as_root=True)
