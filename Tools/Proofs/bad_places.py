#!/usr/bin/env python3
"""A batch met with real bad disks, outputs and inputs: what it says, how it ends, and that nothing is lost.

    Tools/Proofs/bad_places.py NOCTURNE [--only "a quota"]

Full disks are small file systems in memory, lost outputs are folders that are moved, deleted, unmounted or made read-only
while the batch runs, slow and failing reads come from a server of our own (`slow_share.py`). Each situation is held against
the exit code, the words, the account and, where the batch is to go on, the tree of an undisturbed run, byte by byte. To be
run as root, for mounts; left out is what cannot be had: a real quota needs a kernel with quotas, so that one is injected.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from fault_matrix import write_volume
from kill_resume import tree
from nightwork import NOBODY, Lab, Night, Situation, completed, expect, main, until
from slow_share import Share

# Each stage waits so long, that there is time to do something to the run.
SLOW = "item.stage:1+:delay-150"


def fill(place: Path, leaving: int = 8192) -> Path:
    """Takes all the room but a little."""
    ballast = place / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as file:
        while (status := os.statvfs(place)).f_bavail * status.f_frsize > leaving:
            file.write(bytes(min(1 << 20, status.f_bavail * status.f_frsize - leaving)))
    return ballast


# Full disks


def too_small(lab: Lab) -> str:
    place = lab.mount("size=2500k")
    night = lab.night(place / "out")
    night.says("waiting for room")
    waiting = night.status()["waitingFor"]
    expect("room on the disk" in str(waiting), f"status says {waiting}")
    before = completed(place / "out")
    lab.remount(place, "size=60m")
    seconds = night.says("has room again")
    night.ends(0)
    lab.same(place / "out")
    expect(len(night.events("disk")) >= 2, "no events of the disk")
    return f"paused with {before} done, status: waits for {waiting}; on {seconds:.1f} s after there was room; same tree"


def too_small_to_stop(lab: Lab) -> str:
    place = lab.mount("size=2500k")
    night = lab.night(place / "out", "--on-full", "stop")
    night.ends(75)
    expect("is full" in night.said and "Go on with: nocturne resume" in night.said, night.said)
    left = lab.counts(place / "out")["notReached"]
    lab.remount(place, "size=60m")
    lab.night(place / "out", verb="resume").ends(0)
    lab.same(place / "out")
    return f"75, {left} not reached; resume 0, same tree"


def ballast_grows(lab: Lab) -> str:
    place = lab.mount("size=40m")
    night = lab.night(place / "out", fault=SLOW)
    night.completes(2)
    ballast = fill(place)
    seconds = night.says("waiting for room")
    before = completed(place / "out")
    time.sleep(3)
    expect(completed(place / "out") <= before + 1 and night.process.poll() is None, "went on without room")
    waiting = night.status()["waitingFor"]
    ballast.unlink()
    again = night.says("has room again")
    night.ends(0)
    lab.same(place / "out")
    return f"said after {seconds:.1f} s, status: waits for {waiting}; on {again:.1f} s after there was room; same tree"


def ballast_to_stop(lab: Lab) -> str:
    place = lab.mount("size=40m")
    night = lab.night(place / "out", "--on-full", "stop", fault=SLOW)
    night.completes(2)
    ballast = fill(place, leaving=0)
    night.ends(75)
    last = night.said.strip().splitlines()[-1]
    ballast.unlink()
    lab.night(place / "out", verb="resume").ends(0)
    lab.same(place / "out")
    return f"75 with nothing left ({last[:60]}); resume 0, same tree"


def full_in_mid_write(lab: Lab) -> str:
    place = lab.mount("size=40m")
    night = lab.night(place / "out", fault="file.write:6:delay-2500")
    until("a write begun", lambda: list((place / "out/.nocturne/staging").glob("*/result/*")))
    ballast = fill(place, leaving=0)
    night.says("will be tried again")
    night.says("waiting for room")
    ballast.unlink()
    seconds = night.says("has room again")
    night.ends(0)
    lab.same(place / "out")
    return f"items put back, on {seconds:.1f} s after there was room; same tree"


def full_for_the_journal(lab: Lab) -> str:
    place = lab.mount("size=64k")
    night = lab.night(place / "out")
    night.says("waiting for room")
    lab.remount(place, "size=60m")
    seconds = night.says("has room again")
    night.ends(0)
    lab.same(place / "out")
    return f"paused before the journal was made; on {seconds:.1f} s after there was room; same tree"


def full_for_the_journal_to_stop(lab: Lab) -> str:
    place = lab.mount("size=64k")
    night = lab.night(place / "out", "--on-full", "stop")
    night.ends(75)
    said = night.said.strip().splitlines()[-1]
    lab.remount(place, "size=60m")
    lab.night(place / "out").ends(0)
    lab.same(place / "out")
    return f"75 ({said[-70:]}); run again 0, same tree"


def full_at_the_account(lab: Lab) -> str:
    place = lab.mount("size=40m")
    night = lab.night(place / "out", fault="batch.account:1:delay-2500")
    night.completes(8)
    time.sleep(0.7)
    ballast = fill(place, leaving=0)
    night.says("waiting for room")
    ballast.unlink()
    night.ends(0)
    lab.same(place / "out")
    return "the account waited; same tree"


def no_more_files(lab: Lab) -> str:
    place = lab.mount("size=60m,nr_inodes=60")
    night = lab.night(place / "out")
    night.says("more files can be made")
    waiting = night.status()["waitingFor"]
    time.sleep(8)
    lab.remount(place, "nr_inodes=10000")
    seconds = night.says("has room again")
    expect(seconds < 3, f"went on only {seconds:.1f} s after there was room")
    night.ends(0)
    lab.same(place / "out")
    return f"status: waits for {waiting}; on {seconds:.1f} s after there was room; same tree"


def quota(lab: Lab) -> str:
    night = lab.night(lab.work / "out", fault="file.create:6:EDQUOT,file.write:30:EDQUOT")
    night.ends(0)
    expect(night.said.count("has room again") >= 1, night.said)
    lab.same(lab.work / "out")
    return "injected: put back, waited, done; same tree"


# Outputs that are lost


def lost(lab: Lab, spoil, repair, words: str, user: int | None = None, out: Path | None = None) -> str:
    """Something happens to the output in mid-run; then it is made good, and the batch is resumed."""
    out = out or lab.work / "out"
    night = lab.night(out, fault=SLOW, user=user)
    night.completes(2)
    spoil(out)
    night.ends(75)
    expect(words in night.said, night.said[-300:])
    expect("FAILED" not in night.said, f"items blamed: {night.said[-300:]}")
    told = next(line for line in night.said.splitlines() if words in line)
    repair(out)
    lab.night(out, verb="resume", user=user).ends(0)
    lab.same(out)
    return f"75, no item blamed ({told[:90]}); resume 0, same tree"


def read_only(lab: Lab) -> str:
    def spoil(out: Path) -> None:
        subprocess.run(["mount", "--bind", str(out), str(out)], check=True)
        lab.mounts.append(out)
        subprocess.run(["mount", "-o", "remount,bind,ro", str(out)], check=True)

    place = lab.mount("size=60m")
    return lost(lab, spoil, lambda out: subprocess.run(["umount", "-l", str(out)], check=True), "Read-only", out=place / "out")


def aborted(lab: Lab) -> str:
    """A file system on a disk that had an error, which the kernel makes read-only under the feet of who writes."""
    image, place = lab.work / "image", lab.work / "disk"
    image.write_bytes(b"")
    os.truncate(image, 64 << 20)
    place.mkdir(exist_ok=True)
    subprocess.run(["mkfs.ext4", "-q", str(image)], check=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)
    lab.mounts.append(place)

    def repair(_: Path) -> None:
        subprocess.run(["umount", str(place)], check=True)
        subprocess.run(["e2fsck", "-fy", str(image)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        subprocess.run(["mount", "-o", "loop", str(image), str(place)], check=True)

    def spoil(_: Path) -> None:
        lab.remount(place, "abort")

    return lost(lab, spoil, repair, "cannot be written any more", out=place / "out")


def read_only_from_the_start(lab: Lab) -> str:
    place = lab.mount("size=60m")
    lab.remount(place, "ro")
    night = lab.night(place / "out")
    night.ends(2)
    expect("Read-only file system" in night.said, night.said)
    return f"2: {night.said.strip()[-70:]}"


def read_only_archive(lab: Lab) -> str:
    place = lab.mount("size=60m")
    shutil.copytree(lab.work / "undisturbed", place / "out")
    lab.remount(place, "ro")
    for verb in ("status", "verify"):
        done = subprocess.run([lab.tool, verb, str(place / "out")], capture_output=True, text=True)
        expect(done.returncode == 0, f"{verb} {done.returncode}: {done.stderr[-200:]}")
    return "status and verify of results on a read-only disk: 0"


def moved(lab: Lab) -> str:
    away = lab.work / "oaway"
    return lost(lab, lambda out: out.rename(away), lambda out: away.rename(out), "is not there any more")


def deleted(lab: Lab) -> str:
    out = lab.work / "out"
    night = lab.night(out, fault=SLOW)
    night.completes(2)
    shutil.rmtree(out, ignore_errors=True)
    night.ends(75)
    expect("is not there any more" in night.said and "FAILED" not in night.said, night.said[-300:])
    expect(not out.exists(), "something was written to the place of the deleted folder")
    lab.night(out).ends(0)
    lab.same(out)
    return "75, nothing written in its place; run again 0, same tree"


def unmounted(lab: Lab) -> str:
    place = lab.mount("size=60m")
    keep = lab.work / "okeep"
    keep.mkdir()
    subprocess.run(["mount", "--bind", str(place), str(keep)], check=True)
    lab.mounts.append(keep)

    def repair(_: Path) -> None:
        expect(not list(place.iterdir()), f"written below the mount: {list(place.iterdir())}")
        subprocess.run(["mount", "--bind", str(keep), str(place)], check=True)
        lab.mounts.append(place)

    def spoil(_: Path) -> None:
        subprocess.run(["umount", "-l", str(place)], check=True)

    return lost(lab, spoil, repair, "is not there any more", out=place / "out")


def permission_lost(lab: Lab) -> str:
    home = lab.work / "ohome"
    home.mkdir()
    os.chown(home, NOBODY, NOBODY)

    def spoil(out: Path) -> None:
        for path in [out / ".nocturne/staging", *(out / ".nocturne/staging").iterdir(), out / ".nocturne", out]:
            with contextlib.suppress(FileNotFoundError):
                os.chown(path, 0, 0)
                path.chmod(0o755)

    def repair(out: Path) -> None:
        for path in [out, *out.rglob("*")]:
            os.chown(path, NOBODY, NOBODY)

    return lost(lab, spoil, repair, "cannot be written any more", user=NOBODY, out=home / "out")


def homeless(lab: Lab) -> str:
    place = lab.mount("size=1m", "otmp")
    lab.remount(place, "ro")
    cases: list[dict[str, str | None]] = [
        {"HOME": None},
        {"HOME": "/nonexistent"},
        {"HOME": str(place), "TMPDIR": str(place)},
        {"TMPDIR": "/nonexistent", "XDG_DATA_HOME": None, "HOME": None, "PATH": None, "LANG": None},
    ]
    for index, environment in enumerate(cases):
        out = lab.work / f"out{index}"
        lab.night(out, environment=environment).ends(0)
        lab.same(out)
    return "HOME unset, missing, read-only; TMPDIR missing, read-only; no PATH: each 0, same tree"


# Inputs that are not what they were


def inputs(lab: Lab) -> Path:
    """A copy of the inputs, to be spoiled."""
    folder = lab.work / "oin"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(lab.input, folder)
    for path in [folder, *folder.iterdir()]:
        os.chown(path, NOBODY, NOBODY)
    return folder


def spoiled(lab: Lab, spoil, code: int, user: int | None = None) -> tuple[Night, Path, Path]:
    folder = inputs(lab)
    out = lab.work / "ohome/out"
    out.parent.mkdir()
    os.chown(out.parent, NOBODY, NOBODY)
    night = lab.night(out, source=folder, fault=SLOW, user=user)
    night.completes(1)
    spoil(folder)
    night.ends(code)
    return night, folder, out


def fresh_tree(lab: Lab, folder: Path) -> dict[str, str]:
    """What an undisturbed run makes of the inputs as they are now."""
    out = lab.work / "ofresh"
    lab.night(out, source=folder).wait()
    return tree(out)


def input_deleted(lab: Lab) -> str:
    kept = (lab.input / "v7.nii").read_bytes()
    stamp = (lab.input / "v7.nii").stat()
    _, folder, out = spoiled(lab, lambda folder: (folder / "v7.nii").unlink(), 3)
    reason = lab.reasons(out)["v7"]
    expect("is gone" in reason and lab.counts(out)["completed"] == 7, reason)
    (folder / "v7.nii").write_bytes(kept)
    os.utime(folder / "v7.nii", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    lab.night(out, verb="resume").ends(0)
    lab.same(out, fresh_tree(lab, folder))
    return f"3, seven completed, {reason[-60:]}; back again, resume 0, same tree"


def input_truncated(lab: Lab) -> str:
    _, folder, out = spoiled(lab, lambda folder: os.truncate(folder / "v7.nii", 5000), 3)
    reason = lab.reasons(out)["v7"]
    expect(reason.startswith("failed") and "4648 of 74088" in reason, reason)
    return f"3, seven completed, {reason[:110]}"


def changed_to(lab: Lab, spoil) -> str:
    night, folder, out = spoiled(lab, spoil, 0)
    lab.same(out, fresh_tree(lab, folder))
    expect(any("v7" in str(event.get("item")) for event in night.events("itemStarted")), "v7 never started")
    return "0, tree of the new content"


def input_replaced(lab: Lab) -> str:
    def spoil(folder: Path) -> None:
        write_volume(folder / ".new", 30, 1)
        (folder / ".new").rename(folder / "v7.nii")

    return changed_to(lab, spoil)


def input_appended(lab: Lab) -> str:
    def spoil(folder: Path) -> None:
        with (folder / "v7.nii").open("ab") as file:
            file.write(bytes(1000))

    return changed_to(lab, spoil)


def input_grows(lab: Lab) -> str:
    """Copied in pieces while the batch runs: refused or done early, it must end as the whole file."""
    folder = inputs(lab)
    whole = (folder / "v7.nii").read_bytes()
    (folder / "v7.nii").write_bytes(whole[: len(whole) // 2])
    out = lab.work / "out"
    night = lab.night(out, source=folder, fault=SLOW)
    night.completes(1)
    for start in range(len(whole) // 2, len(whole), 4000):
        with (folder / "v7.nii").open("ab") as file:
            file.write(whole[start : start + 4000])
        time.sleep(0.05)
    code = night.wait()
    lab.night(out, verb="resume").ends(0)
    lab.same(out, fresh_tree(lab, folder))
    return f"{code}, then resume 0, tree of the whole file"


def input_unreadable(lab: Lab) -> str:
    _, folder, out = spoiled(lab, lambda folder: (folder / "v7.nii").chmod(0), 3, user=NOBODY)
    reason = lab.reasons(out)["v7"]
    expect("ermission denied" in reason, reason)
    (folder / "v7.nii").chmod(0o644)
    lab.night(out, verb="retry", user=NOBODY).ends(0)
    lab.same(out, fresh_tree(lab, folder))
    return f"3, {reason[:100]}; retry 0, same tree"


def folder_renamed(lab: Lab) -> str:
    _, folder, out = spoiled(lab, lambda folder: folder.rename(lab.work / "oelsewhere"), 3)
    counts = lab.counts(out)
    expect(counts["failed"] == 0 and counts["notReached"] > 0, str(counts))
    (lab.work / "oelsewhere").rename(folder)
    lab.night(out, verb="resume").ends(0)
    lab.same(out, fresh_tree(lab, folder))
    return f"3, none failed, {counts['notReached']} not reached; renamed back, resume 0, same tree"


def input_unmounted(lab: Lab) -> str:
    place = lab.mount("size=20m", "oinputs")
    shutil.copytree(lab.input, place, dirs_exist_ok=True)
    keep = lab.work / "okeep"
    keep.mkdir()
    subprocess.run(["mount", "--bind", str(place), str(keep)], check=True)
    lab.mounts.append(keep)
    out = lab.work / "out"
    night = lab.night(out, source=place, fault=SLOW)
    night.completes(1)
    subprocess.run(["umount", "-l", str(place)], check=True)
    night.ends(3)
    counts = lab.counts(out)
    expect(counts["failed"] == 0 and counts["notReached"] > 0, str(counts))
    subprocess.run(["mount", "--bind", str(keep), str(place)], check=True)
    lab.mounts.append(place)
    lab.night(out, verb="resume").ends(0)
    lab.same(out, fresh_tree(lab, place))
    return f"3, none failed, {counts['notReached']} not reached; mounted again, resume 0, same tree"


# Shares that are slow, fail or hang


@contextlib.contextmanager
def share(lab: Lab, big: int = 0):
    folder = lab.work / "oserved"
    shutil.copytree(lab.input, folder)
    if big:
        write_volume(folder / "v7.nii", big, 1)
    with Share(folder, lab.work / "oshare") as served:
        yield served


def changed_while_read(lab: Lab) -> str:
    with share(lab, big=128) as served:
        served.troubles["v7.nii"] = 0.15
        out = lab.work / "out"
        night = lab.night(out, source=served.place)
        until("the reading of v7", lambda: any(e.get("item") == "v7" for e in night.events("itemStarted")), 40)
        before = served.reads
        until("some reads of it", lambda: served.reads >= before + 3)
        write_volume(served.source / "v7.nii", 128, 0)
        served.troubles.clear()
        night.ends(0)
        expect("will be tried again" in night.said, night.said)
        lab.same(out, fresh_tree(lab, served.place))
        return f"changed after {served.reads - before} reads or less of 17: done anew, tree of the new content"


def read_fails_for_a_moment(lab: Lab) -> str:
    with share(lab) as served:
        out = lab.work / "out"
        night = lab.night(out, source=served.place, fault=SLOW)
        night.completes(1)
        served.troubles["v7.nii"] = "EIO"
        night.says("will be tried again")
        served.troubles.clear()
        night.ends(0)
        lab.same(out, fresh_tree(lab, served.place))
        return "EIO, tried again, completed; same tree"


def read_fails_for_ever(lab: Lab) -> str:
    with share(lab) as served:
        out = lab.work / "out"
        night = lab.night(out, source=served.place, fault=SLOW)
        night.completes(1)
        served.troubles["v7.nii"] = "EIO"
        night.ends(3)
        reason = lab.reasons(out)["v7"]
        expect(lab.counts(out)["completed"] == 7 and night.said.count("v7 will be tried again") == 2, night.said)
        return f"3 after three attempts, seven completed, {reason[:90]}"


def hang_in_loading(lab: Lab, served: Share, out: Path, names: list[str], *options: str) -> Night:
    """The files are there when they are discovered, and gone when they are loaded."""
    night = lab.night(out, *options, source=served.place, fault="item.stage:1+:delay-500")
    until("an item begun", lambda: night.events("itemStarted"))
    served.troubles.update({name: "hang" for name in names})
    return night


def read_hangs(lab: Lab) -> str:
    """One file of a share never comes: it fails after its time, and the others are done."""
    with share(lab) as served:
        out = lab.work / "out"
        night = hang_in_loading(lab, served, out, ["v5.nii"], "--item-timeout", "12s")
        start = time.monotonic()
        night.ends(3, 90)
        took = time.monotonic() - start
        reason = lab.reasons(out)["v5"]
        expect("took longer than" in night.said or "did not answer" in reason, night.said)
        expect(lab.counts(out)["completed"] == 7, f"{lab.reasons(out)} {lab.counts(out)}")
        served.troubles.clear()
        lab.night(out, "--item-timeout", "60s", verb="retry").ends(0)
        lab.same(out, fresh_tree(lab, served.place))
        return f"3 after {took:.0f} s, {reason}; the share back, retry 0, same tree"


def two_reads_hang(lab: Lab) -> str:
    with share(lab) as served:
        out = lab.work / "out"
        night = hang_in_loading(lab, served, out, ["v5.nii", "v6.nii"], "--item-timeout", "12s")
        night.ends(3, 90)
        counts = lab.counts(out)
        expect(counts["completed"] == 6 and counts["failed"] == 2, f"{counts} {lab.reasons(out)}")
        return f"3: {counts['completed']} completed, both failed: {lab.reasons(out)['v6']}"


def hangs_from_the_start(lab: Lab) -> str:
    with share(lab) as served:
        served.troubles["v5.nii"] = "hang"
        out = lab.work / "out"
        lab.night(out, "--item-timeout", "12s", source=served.place).ends(3)
        reason = lab.reasons(out)["v5"]
        expect(lab.counts(out)["completed"] == 7 and "did not answer" in reason, reason)
        served.troubles.clear()
        lab.night(out, verb="resume").ends(0)
        lab.same(out, fresh_tree(lab, served.place))
        return f"3, seven completed, {reason}; the share back, resume 0, same tree"


def read_is_slow(lab: Lab) -> str:
    with share(lab) as served:
        served.troubles = {f"v{index}.nii": 0.3 for index in range(8)}
        out = lab.work / "out"
        night = lab.night(out, "--item-timeout", "30s", "--stall-limit", "20", source=served.place)
        night.ends(0)
        lab.same(out, fresh_tree(lab, served.place))
        return f"0.3 s a read, {served.reads} reads in all: 0, same tree"


def stalls(lab: Lab) -> str:
    with share(lab) as served:
        out = lab.work / "out"
        night = hang_in_loading(lab, served, out, ["v5.nii"], "--stall-limit", "10")
        night.ends(3, 120)
        reason = lab.reasons(out)["v5"]
        expect("v5 has made no progress" in night.said and lab.counts(out)["completed"] == 7, f"{lab.reasons(out)}")
        return f"3, seven completed, {reason[:90]}"


def computing_takes_long(lab: Lab) -> str:
    night = lab.night(lab.work / "out", "--item-timeout", "8s", fault="inference.tile:100:delay-9500")
    night.ends(3)
    counts, reasons = lab.counts(lab.work / "out"), lab.reasons(lab.work / "out")
    expect(counts["completed"] == 7 and counts["failed"] == 1 and "engine died" not in night.said, f"{counts} {night.said}")
    return f"3 without another engine: {next(iter(reasons.values()))}"


def deadly_to_look_at(lab: Lab) -> str:
    out = lab.work / "out"
    night = lab.night(out, fault="input.look@v3.nii:1+:kill")
    night.ends(3)
    counts, reasons = lab.counts(out), lab.reasons(out)
    reason = next(iter(reasons.values()))
    expect(counts["completed"] == 7 and "died twice when it was looked at" in reason, f"{counts} {reasons}")
    lab.night(out, verb="retry").ends(0)
    lab.same(out)
    return f"3, seven completed, {reason}; retry 0, same tree"


def interrupted_while_it_hangs(lab: Lab) -> str:
    with share(lab) as served:
        out = lab.work / "out"
        night = hang_in_loading(lab, served, out, ["v5.nii"])
        time.sleep(4)
        start = time.monotonic()
        night.process.send_signal(signal.SIGINT)
        night.ends(130, 20)
        took = time.monotonic() - start
        served.troubles.clear()
        lab.night(out, verb="resume").ends(0)
        lab.same(out, fresh_tree(lab, served.place))
        return f"gone {took:.1f} s after SIGINT with 130; resume 0, same tree"


SITUATIONS: dict[str, Situation] = {
    "full from the start, pause": too_small,
    "full from the start, stop": too_small_to_stop,
    "filled while it runs, pause": ballast_grows,
    "filled while it runs, stop": ballast_to_stop,
    "filled in the middle of a write": full_in_mid_write,
    "full for the journal, pause": full_for_the_journal,
    "full for the journal, stop": full_for_the_journal_to_stop,
    "full for the account": full_at_the_account,
    "no more files, pause": no_more_files,
    "a quota": quota,
    "output read-only from the start": read_only_from_the_start,
    "output made read-only": read_only,
    "output's disk has an error (ext4 abort)": aborted,
    "results on a read-only disk": read_only_archive,
    "output moved away": moved,
    "output deleted": deleted,
    "output unmounted lazily": unmounted,
    "output's permission lost (nobody)": permission_lost,
    "HOME and TMPDIR missing or read-only": homeless,
    "input deleted": input_deleted,
    "input truncated": input_truncated,
    "input replaced by another": input_replaced,
    "input appended to": input_appended,
    "input grows slowly": input_grows,
    "input made unreadable (nobody)": input_unreadable,
    "folder of inputs renamed": folder_renamed,
    "inputs unmounted lazily": input_unmounted,
    "input changed while it is read": changed_while_read,
    "reads fail for a moment": read_fails_for_a_moment,
    "reads of one file fail for ever": read_fails_for_ever,
    "reads are slow": read_is_slow,
    "a read hangs, --item-timeout": read_hangs,
    "two reads hang, --item-timeout": two_reads_hang,
    "a file hangs from the start, --item-timeout": hangs_from_the_start,
    "a read hangs, --stall-limit": stalls,
    "inference takes long, --item-timeout": computing_takes_long,
    "a file is the end of whoever looks at it": deadly_to_look_at,
    "SIGINT while a read hangs": interrupted_while_it_hangs,
}


if __name__ == "__main__":
    if os.geteuid() != 0:
        raise SystemExit("to be run as root: it mounts file systems, and gives itself the rights of nobody")
    main(__doc__, SITUATIONS)
