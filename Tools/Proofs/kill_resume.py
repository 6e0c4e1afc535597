#!/usr/bin/env python3
"""Kills a batch at random instants and resumes it, until the tree must equal that of an undisturbed run.

    Tools/Proofs/kill_resume.py NOCTURNE --model PACKAGE [PACKAGE ...] --input FOLDER [FOLDER ...] --kills 50

Volumes and photos may be in one batch, each with their models. Each round starts the batch in a fresh folder, kills the whole process tree with SIGKILL after a random time, and runs
`resume` (which may be killed again, `--again` times) to the end. Then the tree is compared byte by byte with the
undisturbed one: everything but run.json, events.jsonl and .nocturne. The events say how often each item was committed:
a committed item must not be started again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path


def tree(folder: Path) -> dict[str, str]:
    """Relative path -> SHA-256 of every file that has to be the same."""
    result = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if not path.is_file() or relative.parts[0] == ".nocturne":
            continue
        if path.name in ("run.json", "events.jsonl"):
            continue
        result[str(relative)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return result


def kill_tree(process: subprocess.Popen) -> None:
    """SIGKILL to the parent, and to its children by the kernel when the parent is gone."""
    process.send_signal(signal.SIGKILL)
    process.wait()


def run(command: list[str], after: float | None) -> int | None:
    """Runs a command; kills it after some seconds. None when it was killed."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return process.wait(timeout=after)
    except subprocess.TimeoutExpired:
        kill_tree(process)
        return None


def done_twice(folder: Path) -> list[str]:
    """Items that were started again after they had been completed."""
    completed: set[str] = set()
    twice = []
    for line in (folder / "events.jsonl").read_text().splitlines():
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue  # the line that was being written when the process was killed
        if event["event"] == "itemCompleted":
            completed.add(event["item"])
        if event["event"] == "itemStarted" and event["item"] in completed:
            twice.append(event["item"])
    return twice


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nocturne")
    parser.add_argument("--model", required=True, nargs="+")
    parser.add_argument("--input", required=True, nargs="+")
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--again", type=float, default=0.3, help="chance that a resumed run is killed too")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[])
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    work = Path(tempfile.mkdtemp(prefix="kill-resume-"))

    def start(out: Path) -> list[str]:
        return [
            arguments.nocturne,
            "run",
            *arguments.input,
            *(word for model in arguments.model for word in ("--model", model)),
            "--output",
            str(out),
            "--quiet",
            *arguments.options,
        ]

    before = time.monotonic()
    code = run(start(work / "undisturbed"), None)
    length = time.monotonic() - before
    expected = tree(work / "undisturbed")
    print(f"undisturbed: exit {code}, {length:.1f} s, {len(expected)} files")

    kills = differing = repeated = wrong_exit = 0
    where: dict[str, int] = {}
    while kills < arguments.kills:
        out = work / "disturbed"
        shutil.rmtree(out, ignore_errors=True)
        command = start(out)
        while True:
            last = run(command, chance.uniform(0.0, length * 1.02))
            if last is not None:
                break
            kills += 1
            done = len(list(out.glob("*/result.json"))) if out.exists() else 0
            where[f"{done} done"] = where.get(f"{done} done", 0) + 1
            command = start(out)
            if (out / ".nocturne" / "journal.sqlite").exists() and chance.random() < 0.5:
                command = [arguments.nocturne, "resume", str(out), "--quiet"]
            if kills >= arguments.kills or chance.random() > arguments.again:
                last = run(command, None)
                if last == 2:  # killed before the journal said what the batch is
                    last = run(start(out), None)
                break
        if last != code:
            wrong_exit += 1
            print(f"exit {last} instead of {code}")
        found = tree(out)
        if found != expected:
            differing += 1
            names = [name for name in set(found) | set(expected) if found.get(name) != expected.get(name)]
            print("differs:", sorted(names)[:5])
        twice = done_twice(out)
        if twice:
            repeated += 1
            print("done twice:", twice)
    print(
        f"{kills} kills at {dict(sorted(where.items()))}: {differing} trees differ, {repeated} with an item done twice, "
        f"{wrong_exit} wrong exit codes"
    )
    shutil.rmtree(work, ignore_errors=True)
    raise SystemExit(1 if differing or repeated or wrong_exit else 0)


if __name__ == "__main__":
    main()
