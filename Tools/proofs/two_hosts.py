#!/usr/bin/env python3
"""Runs one batch on two hosts that share the output folder but not its locks, and checks that only one of them works on it.

    Tools/proofs/two_hosts.py NOCTURNE [--only "killed|frozen"] [--repeats 10]

The folder is a network file system of our own (`nocturne_tools/shared_client.py`, FUSE): each host has its own mount, which
shows attributes, names and listings that are up to some seconds old, knows only its own locks, and answers ESTALE for files
that the other host has removed. Hosts have different names and boots and the same process numbers. Every mount logs its
changes, so that it is known which host wrote the journal when.

Must run as root. Needs the Debian package python3-pyfuse3: `Tools/install-packages python3-pyfuse3`.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools import interface
from nocturne_tools.batch_harness import BatchRun, ProofFailure, completed, expect, prove, read_events, wait_until
from nocturne_tools.paths import SAMPLE_MODELS, SAMPLES
from nocturne_tools.result_tree import completed_twice, differing, tree
from nocturne_tools.shared_folder import Change, SharedHost, client_python, now, turns

MODELS = ["skin-lesions-demo", "urinary-tract-ct"]
INPUTS = [SAMPLES / "Photos/lesions", SAMPLES / "Volumes"]
JOURNAL = r"^\.nocturne/journal\.sqlite(-wal|-shm)?$"
JOURNAL_LOG = r"^\.nocturne/journal\.sqlite-wal$"
# Seconds for which a run observes the claim of another host that is silent.
PATIENCE = 100
REPORTS = {
    "batch.json",
    "statistics.csv",
    "measurements.csv",
    "retry.txt",
    "contact-sheet.pdf",
    "comparison.csv",
    "index.html",
    "review",
}
# What a run that has lost its claim must not change any more.
FORBIDDEN = {"journal", "staging-2", "results", "reports"}


def kind(path: str) -> str:
    """What a file of the output folder is."""
    parts = path.split("/")
    if parts[0] == ".nocturne":
        return parts[1].split(".")[0] if len(parts) > 1 else parts[0]
    if parts[0] == "events.jsonl":
        return "events"
    return "reports" if parts[0].removesuffix(".part") in REPORTS else "results"


Situation = Callable[["Batch"], str]


class Batch:
    """A temporary folder with a copy of the program, the tree of an undisturbed run, and the hosts of one situation."""

    def __init__(self, tool: str, repeats: int) -> None:
        self.repeats = repeats
        self.folder = Path(tempfile.mkdtemp(prefix="two-hosts-"))
        self.tool = shutil.copy(Path(tool).resolve(), self.folder / "nocturne")
        for resources in Path(tool).resolve().parent.glob("*.resources"):
            shutil.copytree(resources, self.folder / resources.name)
        self.environment = {"NOCTURNE_MODELS": str(SAMPLE_MODELS)}
        self.backing, self.share = self.folder / "obacking", self.folder / "oshare"
        self.hosts: list[SharedHost] = []
        out = self.folder / "undisturbed"
        environment = {**os.environ, **self.environment}
        subprocess.run([*self.command(out), "--quiet"], env=environment, stderr=subprocess.DEVNULL, check=True)
        self.expected = tree(out)
        self.items = completed(out)

    def command(self, out: Path, *options: str) -> list[str]:
        models = [part for model in MODELS for part in ("--model", model)]
        return [str(self.tool), "run", *map(str, INPUTS), *models, "--output", str(out), "--threads", "1", *options]

    @property
    def out(self) -> Path:
        """The output folder, beside all mounts."""
        return self.backing / "out"

    def host(self, name: str, *options: str) -> SharedHost:
        self.backing.mkdir(exist_ok=True)
        host = SharedHost(name, self.backing / "out", self.share, self.folder / f"o{name}", *options)
        self.hosts.append(host)
        return host

    def two_hosts(self) -> list[SharedHost]:
        self.out.mkdir(parents=True)
        seeds = {"night1": "1", "night2": "2"}
        return [self.host(name, "--cache", "3", "--delay", "0.002", "--seed", seed) for name, seed in seeds.items()]

    def start(self, host: SharedHost, milliseconds: int = 400) -> BatchRun:
        """Starts the batch on a host; each stage of an item is delayed."""
        fault = {"NOCTURNE_FAULT": interface.delayed_stages(milliseconds)}
        log = self.folder / f"olog-{host.name}"
        process = host.start(self.command(self.share, "--fault-injection"), log, {**self.environment, **fault})
        return BatchRun(process, log, self.out, str(self.tool))

    # Checks

    def changes(self) -> list[Change]:
        return [change for host in self.hosts for change in host.changes()]

    def expect_turns(self, *names: str, since: tuple[SharedHost, float] | None = None) -> str:
        """The journal was written by these hosts, one after the other; by one of them since it has replaced the file."""
        found = turns(
            [
                change
                for change in self.changes()
                if re.search(JOURNAL, change.path)
                and not (since and change.host == since[0].name and change.done <= since[1])
            ]
        )
        texts = [f"{turn.host} {turn.count} in {turn.last - turn.first:.1f} s" for turn in found]
        expect(
            [turn.host for turn in found] == list(names),
            f"{len(found)} turns in writing the journal: {', then '.join(texts[:4])}",
        )
        return ", then ".join(texts)

    def problems(self) -> list[str]:
        """What is wrong with journal, results and events, seen beside all mounts."""
        environment = {**os.environ, **self.environment}
        verify = subprocess.run([self.tool, "verify", self.out], capture_output=True, text=True, env=environment)
        names = differing(tree(self.out), self.expected)
        checks = {
            "integrity_check: {}": self.journal_problems(),
            "verify: {}": verify.returncode and (verify.stdout + verify.stderr)[-400:],
            "the tree differs: {}": names[:5],
            "completed twice: {}": completed_twice(self.out),
        }
        return [text.format(found) for text, found in checks.items() if found]

    def journal_problems(self) -> list[str]:
        """What SQLite finds in a copy of the journal."""
        copy = Path(tempfile.mkdtemp(dir=self.folder, prefix="ojournal-"))
        for path in (self.out / ".nocturne").glob("journal.sqlite*"):
            shutil.copy(path, copy)
        journal = sqlite3.connect(copy / "journal.sqlite")
        try:
            found = [row[0] for row in journal.execute("PRAGMA integrity_check")]
        except sqlite3.DatabaseError as error:
            found = [str(error)]
        journal.close()
        return found[:5] if found != ["ok"] else []

    def expect_intact(self) -> None:
        expect(not (found := self.problems()), "; ".join(found))

    def expect_completed_once(self) -> None:
        ends = Counter(event["item"] for event in read_events(self.out) if event["event"] == "itemCompleted")
        expect(len(ends) == self.items and set(ends.values()) == {1}, f"completed: {dict(ends)}")

    # After a situation

    def keep(self, place: Path) -> None:
        """Copies the output folder, the logs of the mounts, and what the runs have printed."""
        shutil.copytree(self.out, place / "out", dirs_exist_ok=True)
        for host in self.hosts:
            shutil.copy(host.control / "log", place / f"changes-{host.name}")
        for log in self.folder.glob("olog-*"):
            shutil.copy(log, place / log.name.removeprefix("o"))

    def clean(self) -> None:
        for host in self.hosts:
            host.close()
        self.hosts = []
        for path in self.folder.glob("o*"):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()

    def close(self) -> None:
        self.clean()
        shutil.rmtree(self.folder, ignore_errors=True)


# Two hosts start at once


def start_at_once(batch: Batch, gap: float) -> tuple[str, float]:
    """One round: which host processed the batch, and after how many seconds the other one was refused."""
    first, second = batch.two_hosts()
    start = now()
    runs = {first.name: batch.start(first, 200)}
    while now() - start < gap:
        pass
    runs[second.name] = batch.start(second, 200)
    wait_until("one run has ended", lambda: any(run.process.poll() is not None for run in runs.values()), 120)
    took = now() - start
    codes = {name: run.wait(240) for name, run in runs.items()}
    output = {name: run.output for name, run in runs.items()}
    expect(sorted(codes.values()) == [0, 2], f"exit codes {codes}: {output}")
    winner, refused = sorted(codes, key=codes.__getitem__)
    expect(interface.FOLDER_IN_USE in output[refused], output[refused])
    batch.expect_turns(winner)
    batch.expect_intact()
    batch.expect_completed_once()
    return winner, took


def at_once(batch: Batch) -> str:
    numbers = random.Random(1)
    winners: Counter[str] = Counter()
    times = []
    for _ in range(batch.repeats):
        winner, took = start_at_once(batch, numbers.uniform(0, 0.05))
        winners[winner] += 1
        times.append(took)
        batch.clean()
    counts = ", ".join(f"{name} {count}" for name, count in sorted(winners.items()))
    return (
        f"{batch.repeats} times: one ends with 0 ({counts}), the other with 2 after {min(times):.1f} to {max(times):.1f} s; "
        "one host writes the journal, every item completed once, verified, same tree"
    )


# One host disappears, and another one takes over


def take_over(batch: Batch, host: SharedHost) -> tuple[BatchRun, float]:
    """Starts the batch on another host, which waits: its run, and the seconds until it took the folder."""
    start = now()
    before = len(claims(batch))
    run = batch.start(host)
    run.prints(interface.HOLDER_MAY_BE_ACTIVE, 60)
    wait_until("it takes the folder", lambda: len(claims(batch)) > before, 240)
    took = taken_at(host) - start
    expect(took >= PATIENCE, f"took the folder after {took:.1f} s")
    return run, took


def claims(batch: Batch) -> list[Path]:
    return list((batch.out / ".nocturne").glob("claim.*"))


def taken_at(host: SharedHost) -> float:
    """When the host made its claim."""
    return next(
        change.done for change in host.changes() if change.operation == "create" and kind(change.path) == "claim"
    )


def killed(batch: Batch) -> str:
    first, second = batch.two_hosts()
    batch.start(first).completes(4, 60)
    first.kill()
    done = completed(batch.out)
    run, took = take_over(batch, second)
    run.ends(0, 180)
    writes = batch.expect_turns(first.name, second.name)
    batch.expect_intact()
    return f"killed with {done} completed, taken over after {took:.0f} s, 0, verified, same tree; journal: {writes}"


@dataclass(frozen=True)
class Interruption:
    """How a host falls silent and comes back."""

    # Its mount does not answer, instead of its processes being stopped.
    is_mount: bool = False
    # The request in which it is interrupted, and whether that is executed; nil for any moment.
    request: tuple[str, str, bool] | None = None
    # When it comes back: as soon as the other host has "taken" the folder, while that "works", or when it has "ended".
    back: str = "works"

    def begin(self, host: SharedHost) -> None:
        if self.request:
            host.hold(*self.request)
            wait_until(f"a request for {self.request}", host.holds, 60)
        if self.is_mount:
            host.disconnect()
        else:
            host.freeze()
        if self.request and self.request[2]:
            host.go()

    def end(self, host: SharedHost) -> None:
        if self.request and not self.request[2]:
            host.go()
        host.reconnect()
        host.thaw()


def replaced_at(host: SharedHost) -> float:
    """When the host that took the folder over had removed the last file of the old journal.

    Until then the other one may end the change that it was making: it is in the copy, or in files that are removed.
    """
    found = [change for change in host.changes() if re.search(JOURNAL, change.path)]
    place = next(index for index, change in enumerate(found) if change.operation == "rename")
    removed = [found[place]]
    for change in found[place + 1 :]:
        if change.operation != "unlink":
            break
        removed.append(change)
    return removed[-1].done


def after_loss(host: SharedHost, other: SharedHost) -> list[Change]:
    """What a host changed after another one took the folder, and its journal."""
    taken, replaced = taken_at(other), replaced_at(other)
    return [
        change
        for change in host.changes()
        if change.done > (replaced if re.search(JOURNAL, change.path) else taken)
    ]


def forbidden(changes: list[Change]) -> list[str]:
    """Those of the changes that must not be, counted, by operation and file."""
    counts = Counter(f"{change.operation} of {change.path}" for change in changes if kind(change.path) in FORBIDDEN)
    return [f"{count} {name}" for name, count in counts.items()]


def silent(batch: Batch, interruption: Interruption) -> str:
    """A host is silent for longer than the patience of the other one, and comes back."""
    first, second = batch.two_hosts()
    lost = batch.start(first)
    lost.completes(3, 60)
    interruption.begin(first)
    done = completed(batch.out)
    run, took = take_over(batch, second)
    if interruption.back == "ended":
        run.ends(0, 180)
    elif interruption.back == "works":
        run.completes(done + 2, 120)
    back = now()
    interruption.end(first)
    code = lost.wait(90)
    ended = now() - back
    problems = wrong_holder(batch, run, second)
    if code != 75 or interface.TAKEN_OVER not in lost.output:
        problems.append(f"exit {code}: {lost.output.strip()[-300:]}")
    if (code := run.wait(240)) != 0:
        problems.append(f"the other: exit {code}: {run.output.strip()[-300:]}")
    changed = after_loss(first, second)
    problems += forbidden(changed) + batch.problems()
    try:
        batch.expect_turns(first.name, second.name, since=(second, replaced_at(second)))
    except ProofFailure as failure:
        problems.append(str(failure))
    kinds = ", ".join(f"{name} {count}" for name, count in Counter(kind(change.path) for change in changed).items())
    seen = f"taken over after {took:.0f} s; the first ended {ended:.1f} s after it was back, its changes: {kinds}"
    expect(not problems, f"{'; '.join(problems)}; {seen}")
    return f"75; {seen}; the other 0, verified, same tree"


def wrong_holder(batch: Batch, run: BatchRun, host: SharedHost) -> list[str]:
    """Whether the lock file names another host than the one that works on the folder."""
    named = json.loads((batch.out / ".nocturne/lock").read_text().splitlines()[0])["process"]["host"]
    return [f"the lock names {named}"] if run.process.poll() is None and named != host.name else []


# One host alone


def alone(batch: Batch) -> str:
    batch.out.mkdir(parents=True)
    host = batch.host("night1", "--cache", "5", "--delay", "0.01", "--stale", "0.03")
    run = batch.start(host, 0)
    run.ends(0, 240)
    writes = batch.expect_turns(host.name)
    batch.expect_intact()
    batch.expect_completed_once()
    return f"0, {host.count('stale')} answers ESTALE, verified, same tree; journal: {writes}"


IN_PLACE = ("rename", r"^(lesion|nifti|dicom)[^/]*$", True)
IN_STAGING = ("create", r"^\.nocturne/staging/[^/]+/result/", True)
IN_JOURNAL = ("write", JOURNAL_LOG, True)
BEFORE_JOURNAL = ("write", JOURNAL_LOG, False)
INTERRUPTIONS = {
    "frozen, back after the end": Interruption(back="ended"),
    "frozen, back while the other works": Interruption(),
    "frozen when a result is in its place": Interruption(request=IN_PLACE),
    "frozen while it writes a result, back at once": Interruption(request=IN_STAGING, back="taken"),
    "frozen in a write of the journal": Interruption(request=IN_JOURNAL),
    "mount hangs, back while the other works": Interruption(is_mount=True),
    "mount hangs in a write of the journal": Interruption(is_mount=True, request=BEFORE_JOURNAL),
}
SITUATIONS: dict[str, Situation] = {
    "one host, delays and ESTALE": alone,
    "two hosts start at once": at_once,
    "killed, another host takes over": killed,
    **{name: partial(silent, interruption=interruption) for name, interruption in INTERRUPTIONS.items()},
}


def keeping(situation: Situation, place: Path) -> Situation:
    """The situation; what it leaves when it fails is kept."""

    def kept(batch: Batch) -> str:
        try:
            return situation(batch)
        except Exception:
            place.mkdir(parents=True, exist_ok=True)
            batch.keep(place)
            raise

    return kept


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--only", default="", help="only situations whose names contain one of these texts, separated by |")
    parser.add_argument("--repeats", type=int, default=10, help="how often two hosts start at once")
    parser.add_argument("--keep", type=Path, help="copy the files of failed situations to this folder")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        raise SystemExit("must run as root: it mounts file systems and makes namespaces")
    client_python()
    situations = SITUATIONS
    if arguments.keep:
        situations = {name: keeping(one, arguments.keep / name.replace(" ", "-")) for name, one in SITUATIONS.items()}
    batch = Batch(arguments.nocturne, arguments.repeats)
    try:
        failed = prove(batch, situations, arguments.only)
    finally:
        batch.close()
    raise SystemExit(1 if failed else 0)


if __name__ == "__main__":
    main()
