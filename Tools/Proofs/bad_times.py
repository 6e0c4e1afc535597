#!/usr/bin/env python3
"""A batch met with clocks, a folder that fills while it is watched, and deaths in every phase.

    Tools/Proofs/bad_times.py NOCTURNE [--only "finish-by|watch"]

Clocks are real: the time zone is chosen so that it is, say, eight seconds before 20:00 where the batch runs. What is held
against: when items were begun and ended by the events, exit codes, what is said, and the tree of an undisturbed run.
"""

from __future__ import annotations

import datetime
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from fault_matrix import ROOT, engines, write_volume
from kill_resume import done_twice, tree
from nightwork import Lab, Night, Situation, completed, expect, main, until

SLOW = "item.stage:1+:delay-250"
SERIES = ROOT / "Samples/Volumes"


def clock(words: str) -> dict[str, str | None]:
    """A time zone in which it is that time of the day now."""
    hour, minute, second = (int(word) for word in words.split(":"))
    now = int(time.time()) % 86400
    ahead = (hour * 3600 + minute * 60 + second - now) % 86400
    return {"TZ": f"LAB-{ahead // 3600:02}:{ahead // 60 % 60:02}:{ahead % 60:02}"}


def moments(night: Night, kind: str) -> list[float]:
    return [
        datetime.datetime.fromisoformat(str(event["time"]).replace("Z", "+00:00")).timestamp()
        for event in night.events(kind)
    ]


# Hours


def many(lab: Lab) -> Path:
    """More items than are ever in flight at once, and what an undisturbed run makes of them."""
    folder = lab.work / "many"
    if not folder.exists():
        folder.mkdir()
        for index in range(60):
            write_volume(folder / f"m{index:02}.nii", 16, 1)
        lab.night(lab.work / "undisturbed-many", source=folder).ends(0, 120)
    return folder


def same_as_many(lab: Lab, out: Path) -> None:
    lab.same(out, tree(lab.work / "undisturbed-many"))


def before_the_hours(lab: Lab) -> str:
    opens = int(time.time()) + 8
    night = lab.night(lab.work / "out", "--between", "20:00-06:00", environment=clock("19:59:52"))
    night.says("Nothing is started before 20:00")
    waiting = night.status()["waitingFor"]
    night.ends(0)
    first = moments(night, "itemStarted")[0] - opens
    expect(-1 < first < 3, f"the first item began {first:.1f} s after the hours")
    expect(str(waiting).startswith("20:00"), str(waiting))
    lab.same(lab.work / "out")
    return f"status: waits for {waiting}; first item {first:.1f} s after 20:00; 0, same tree"


def after_the_hours(lab: Lab) -> str:
    out = lab.work / "out"
    options = ["--between", "19:00-20:00", "--threads", "1"]
    source = many(lab)
    closes = int(time.time()) + 10
    night = lab.night(out, *options, source=source, environment=clock("19:59:50"), fault="item.stage:1+:delay-500")
    night.says("Nothing is started before 19:00", 60)
    until("nothing in flight", lambda: not night.status()["inFlight"], 60)
    late = [moment for moment in moments(night, "itemStarted") if moment > closes + 1]
    begun = completed(out)
    expect(not late and 0 < begun < 60, f"{len(late)} begun after the hours, {begun} done")
    night.process.send_signal(signal.SIGUSR1)
    night.ends(75)
    lab.night(out, *options, verb="resume", environment=clock("19:10:00")).ends(0)
    same_as_many(lab, out)
    return f"{begun} begun within the hours and finished, none after; SIGUSR1: 75; the next night 0, same tree"


def by_a_time(lab: Lab) -> str:
    """What is known of the items decides; without it all are begun."""
    slow = "item.stage:1+:delay-500"
    source = many(lab)

    def run(out: Path, seconds: int, verb: str) -> tuple[Night, int, int]:
        """With so many seconds to go: how many were completed, and how many of them too late."""
        at = 6 * 3600 - seconds
        before = completed(out)
        deadline = time.time() + seconds
        now = f"{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}"
        night = lab.night(out, "--finish-by", "06:00", source=source, verb=verb, environment=clock(now), fault=slow)
        night.wait(120)
        done = completed(out) - before
        ends = moments(night, "itemCompleted")
        return night, done, sum(1 for end in ends[len(ends) - done :] if end > deadline + 0.5)

    _, first, late_first = run(lab.work / "out", 25, "run")
    other = lab.work / "other"
    learner = lab.night(other, source=source, fault=slow)
    learner.completes(1)
    learner.process.send_signal(signal.SIGUSR1)
    learner.ends(75, 90)
    learned = completed(other)
    night, done, late = run(other, 25, "resume")
    code = night.process.returncode
    said = next((line for line in night.said.splitlines() if line.startswith("Not begun")), "")
    expect(code == (0 if learned + done == 60 else 75) and late == 0, f"exit {code}, {late} of {done} ended after the time")
    if learned + done < 60:
        expect(bool(said), night.said)
        hopeless, none, _ = run(other, 3, "resume")
        expect(hopeless.process.returncode == 75 and none == 0, f"{none} begun with 3 s to go")
    lab.night(other, verb="resume").ends(0, 120)
    same_as_many(lab, other)
    return (
        f"25 s to go: knowing nothing {first} begun, {late_first} of them late; having learned from {learned}: {done} begun, "
        f"{late} late, {code} ({said}); with 3 s none; then 0, same tree"
    )


# Watching


def start_watch(lab: Lab, out: Path, folder: Path, *options: str) -> Night:
    return lab.night(out, "--settle", "2", *options, source=folder, verb="watch")


def same_as_run(lab: Lab, out: Path, folder: Path) -> None:
    """But for the order of the items in the account, which is that of their coming."""
    fresh = lab.work / "ofresh"
    lab.night(fresh, source=folder).wait()
    account = {"batch.json", "statistics.csv"}
    wanted, found = ({name: digest for name, digest in tree(place).items() if name not in account} for place in (fresh, out))
    expect(wanted == found, f"differs: {sorted(name for name in set(wanted) | set(found) if wanted.get(name) != found.get(name))}")
    lines = [sorted((place / "statistics.csv").read_text().splitlines()) for place in (fresh, out)]
    expect(lines[0] == lines[1] and lab.counts(out) == lab.counts(fresh), "the accounts differ")


def watch_files(lab: Lab) -> str:
    folder, out = lab.work / "oin", lab.work / "out"
    folder.mkdir()
    write_volume(folder / "early.nii", 24, 1)
    night = start_watch(lab, out, folder)
    night.completes(1)
    # A copy in pieces, slower than the settle time is long.
    write_volume(lab.work / "opart", 30, 1)
    whole = (lab.work / "opart").read_bytes()
    with (folder / "copied.nii").open("wb", buffering=0) as file:
        for start in range(0, len(whole), len(whole) // 16):
            file.write(whole[start : start + len(whole) // 16])
            time.sleep(0.3)
    last = time.time()
    # Into place in one step, with an old date.
    write_volume(folder / ".hidden", 26, 1)
    os.utime(folder / ".hidden", (1, 1))
    (folder / ".hidden").rename(folder / "renamed.nii")
    night.completes(3)
    begun = [moment for event, moment in zip(night.events("itemStarted"), moments(night, "itemStarted")) if event["item"] == "copied"]
    quiet = begun[0] - last
    expect(len(begun) == 1 and quiet > 1, f"begun {len(begun)} times, {quiet:.1f} s after the last piece")
    # Another content after it was done.
    before = (out / "early/result.json").read_bytes()
    write_volume(folder / "early.nii", 32, 1)
    until("early done anew", lambda: (out / "early/result.json").read_bytes() != before, 30)
    (out / "stop").touch()
    night.ends(0, 20)
    expect(not (out / "stop").exists(), "the stop file stays, and would end the next watch")
    same_as_run(lab, out, folder)
    return f"copied file begun once, {quiet:.1f} s after its last piece; renamed and replaced files taken; stop file: 0, same tree"


def watch_series(lab: Lab) -> str:
    source = next(path for path in sorted(SERIES.rglob("*")) if path.is_dir() and len(list(path.glob("*.dcm"))) > 5)
    folder, out = lab.work / "oin", lab.work / "out"
    (folder / "series").mkdir(parents=True)
    night = start_watch(lab, out, folder)
    slices = sorted(source.glob("*.dcm"))
    for index, path in enumerate(slices):
        shutil.copy(path, folder / "series" / path.name)
        time.sleep(8 / len(slices))
    night.completes(1, 60)
    night.process.send_signal(signal.SIGTERM)
    night.ends(143, 5)
    starts = len(night.events("itemStarted"))
    expect(starts == 1 and not night.events("itemFailed"), f"begun {starts} times; {night.said[-200:]}")
    same_as_run(lab, out, folder)
    return f"{len(slices)} slices over 8 s: begun once, when all were there; SIGTERM: 143, same tree"


def watch_again(lab: Lab) -> str:
    folder, out = lab.work / "oin", lab.work / "out"
    folder.mkdir()
    write_volume(folder / "a.nii", 24, 1)
    night = start_watch(lab, out, folder)
    night.completes(1)
    night.process.send_signal(signal.SIGINT)
    night.ends(130, 5)
    write_volume(folder / "b.nii", 26, 1)
    night = start_watch(lab, out, folder)
    night.completes(2)
    night.process.kill()
    until("no engine", lambda: subprocess.run(["pgrep", "-f", str(out)], capture_output=True).returncode, 2)
    write_volume(folder / "c.nii", 28, 1)
    night = start_watch(lab, out, folder)
    night.completes(3)
    (out / "stop").touch()
    night.ends(0, 20)
    expect(not done_twice(out), "done twice")
    same_as_run(lab, out, folder)
    return "SIGINT 130, SIGKILL, each begun again on the same folder: three done, none twice; same tree"


def watch_vanishing(lab: Lab) -> str:
    folder, out = lab.work / "oin", lab.work / "out"
    folder.mkdir()
    night = start_watch(lab, out, folder)
    until("a round", lambda: (out / "batch.json").exists())
    folder.rename(lab.work / "oaway")
    time.sleep(3)
    expect(night.process.poll() is None, f"ended with the folder: {night.said[-200:]}")
    (lab.work / "oaway").rename(folder)
    write_volume(folder / "a.nii", 24, 1)
    night.completes(1)
    night.process.send_signal(signal.SIGTERM)
    night.ends(143, 5)
    return "the watched folder gone for 3 s, and back: goes on"


def detached(lab: Lab) -> str:
    out = lab.work / "out"
    night = lab.night(out, "--detach", fault=SLOW)
    night.ends(0)
    expect("nocturne attach" in night.said, night.said)
    attach = subprocess.Popen([lab.tool, "attach", str(out)], stderr=subprocess.PIPE, text=True)
    until("two completed", lambda: completed(out) >= 2)
    attach.send_signal(signal.SIGINT)
    attach.wait(5)
    holder = night.status()["runningProcess"]
    expect(holder is not None, "the run ended with who looked at it")
    subprocess.run([lab.tool, "cancel", str(out)], check=True, stdout=subprocess.DEVNULL)
    last = subprocess.run([lab.tool, "attach", str(out)], capture_output=True, text=True, timeout=10)
    expect(night.status()["runningProcess"] is None and last.returncode == 75, f"attach {last.returncode}: {last.stderr}")
    lab.night(out, verb="resume").ends(0)
    lab.same(out)
    return "attach shows it, leaving it does not end it, cancel does; attach then 75; resume 0, same tree"


# Deaths


PHASES = {
    "discovery": ("input.open", 2),
    "stock-taking": ("journal.record", 1),
    "loading": ("item.stage", 3),
    "inference": ("inference.tile", 9),
    "writing": ("file.write", 9),
    "commit": ("item.staged", 2),
    "the moment after the rename": ("item.inPlace", 2),
    "account": ("batch.account", 1),
}


def killed(phase: str, victims: str) -> Situation:
    def situation(lab: Lab) -> str:
        out = lab.work / "out"
        point, index = PHASES[phase]
        passed = lab.work / "opassed"
        night = lab.night(out, fault=f"{point}:{index}:delay-20000,count:{passed}")
        until(f"at {point}", lambda: passed.exists() and passed.read_text().split().count(point) >= index, 60)
        parent = night.process.pid
        child = night.children()[0]
        for process in {"child": [child], "parent": [parent], "both": [parent, child]}[victims]:
            if process:
                os.kill(process, signal.SIGKILL)
        start = time.monotonic()
        if victims == "child":
            night.ends(0)
            expect("the engine died: signal 9" in night.said, f"was not hit: {night.said[-200:]}")
        else:
            night.wait(2)
            seconds = until("no process left", lambda: not engines(out), 2)
            lab.night(out).ends(0)
        lab.same(out)
        if victims == "child":
            return f"started again by the parent, 0 after {time.monotonic() - start:.1f} s; same tree"
        return f"no process left after {seconds:.2f} s; run again 0, same tree"

    return situation


SITUATIONS: dict[str, Situation] = {
    "--between, before the hours": before_the_hours,
    "--between, after the hours": after_the_hours,
    "--finish-by": by_a_time,
    "watch: copied, renamed, replaced, stop file": watch_files,
    "watch: a series slice by slice": watch_series,
    "watch: ended and begun again": watch_again,
    "watch: the folder vanishes for a while": watch_vanishing,
    "--detach, attach, cancel": detached,
    **{
        f"SIGKILL of {victims}, in {phase}": killed(phase, victims)
        for phase in PHASES
        for victims in ("child", "parent", "both")
    },
}


if __name__ == "__main__":
    main(__doc__, SITUATIONS)
