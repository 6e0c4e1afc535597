"""What the proofs of bad places and bad times share: a batch in a bad situation, and what came of it."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fault_matrix import ROOT, write_volume
from kill_resume import done_twice, tree

MODEL = ROOT / "Tests/Fixtures/Models/threshold"
NOBODY = 65534


class Wrong(Exception):
    """What was seen is not what was promised."""


def expect(fact: bool, words: str) -> None:
    if not fact:
        raise Wrong(words)


def until(what: str, fact: Callable[[], object], seconds: float = 20) -> float:
    """Waits for a fact. How long it took."""
    start = time.monotonic()
    while not fact():
        if time.monotonic() - start > seconds:
            raise Wrong(f"after {seconds:.0f} s still not: {what}")
        time.sleep(0.02)
    return time.monotonic() - start


class Night:
    """One run of the tool, watched from outside."""

    def __init__(self, process: subprocess.Popen[bytes], words: Path, out: Path, tool: str) -> None:
        self.process, self.words, self.out, self.tool = process, words, out, tool

    @property
    def said(self) -> str:
        return self.words.read_text(errors="replace")

    def wait(self, seconds: float = 60) -> int:
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Wrong(f"still at work after {seconds:.0f} s: {self.said.strip()[-300:]}") from None

    def ends(self, code: int, seconds: float = 60) -> None:
        found = self.wait(seconds)
        expect(found == code, f"exit {found}, not {code}: {self.said.strip()[-300:]}")

    def says(self, words: str, seconds: float = 20) -> float:
        return until(f"said {words!r}: {self.said[-200:]!r}", lambda: words in self.said, seconds)

    def completes(self, count: int, seconds: float = 30) -> float:
        return until(f"{count} completed", lambda: completed(self.out) >= count, seconds)

    def events(self, kind: str) -> list[dict[str, object]]:
        return [event for event in events(self.out) if event["event"] == kind]

    def status(self) -> dict[str, object]:
        done = subprocess.run([self.tool, "status", str(self.out), "--json"], capture_output=True, text=True)
        expect(done.returncode == 0, f"status: {done.stderr}")
        return json.loads(done.stdout)

    def children(self) -> list[int]:
        found = subprocess.run(["ps", "--ppid", str(self.process.pid), "-o", "pid="], capture_output=True, text=True)
        return [int(word) for word in found.stdout.split()]


def completed(out: Path) -> int:
    return len(list(out.glob("*/result.json")))


def events(out: Path) -> list[dict[str, object]]:
    found = []
    with contextlib.suppress(OSError):
        for line in (out / "events.jsonl").read_text(errors="replace").splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                found.append(json.loads(line))
    return found


class Lab:
    """A folder for everything, the inputs, and the tree that an undisturbed run leaves."""

    def __init__(self, tool: str, volumes: int = 8) -> None:
        self.work = Path(tempfile.mkdtemp(prefix="bad-places-"))
        self.work.chmod(0o755)
        self.tool = shutil.copy(Path(tool).resolve(), self.work / "nocturne")
        self.model = shutil.copytree(MODEL, self.work / "model")
        self.input = self.work / "in"
        self.input.mkdir()
        for index in range(volumes):
            write_volume(self.input / f"v{index}.nii", 28 + 2 * index, 1)
        self.mounts: list[Path] = []
        self.night(self.work / "undisturbed").ends(0)
        self.expected = tree(self.work / "undisturbed")

    def command(self, out: Path, *options: str, source: Path | None = None, verb: str = "run") -> list[str]:
        if verb in ("resume", "retry"):
            return [self.tool, verb, str(out), *options]
        source = source or self.input
        return [self.tool, verb, str(source), "--model", str(self.model), "--output", str(out), *options]

    def night(
        self,
        out: Path,
        *options: str,
        source: Path | None = None,
        verb: str = "run",
        fault: str | None = None,
        user: int | None = None,
        environment: dict[str, str | None] | None = None,
    ) -> Night:
        variables = {**os.environ, **({"NOCTURNE_FAULT": fault} if fault else {})}
        for name, value in (environment or {}).items():
            variables.pop(name, None)
            if value is not None:
                variables[name] = value
        words = self.work / "words"
        words.unlink(missing_ok=True)
        command = self.command(out, *options, *(["--fault-injection"] if fault else []), source=source, verb=verb)
        rights = {} if user is None else {"user": user, "group": user, "extra_groups": []}
        with words.open("wb") as file:
            process = subprocess.Popen(
                command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file, **rights
            )
        return Night(process, words, out, self.tool)

    def same(self, out: Path, expected: dict[str, str] | None = None) -> None:
        """The tree is that of an undisturbed run, and nothing was done twice."""
        expected = self.expected if expected is None else expected
        found = tree(out)
        names = sorted(name for name in set(found) | set(expected) if found.get(name) != expected.get(name))
        expect(not names, f"the tree differs: {names[:5]}")
        with contextlib.suppress(FileNotFoundError):
            expect(not (twice := done_twice(out)), f"done twice: {twice}")

    def counts(self, out: Path) -> dict[str, int]:
        return json.loads((out / "batch.json").read_text())["counts"]

    def reasons(self, out: Path) -> dict[str, str]:
        items = json.loads((out / "batch.json").read_text())["items"]
        return {item["item"]: f"{item['state']}: {item['reason']}" for item in items if item["state"] != "completed"}

    def mount(self, options: str, name: str = "disk") -> Path:
        """A file system of its own in memory."""
        place = self.work / name
        place.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], check=True)
        self.mounts.append(place)
        return place

    def remount(self, place: Path, options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)

    def clean(self) -> None:
        """Away with the mounts and results of one situation."""
        for place in reversed(self.mounts):
            subprocess.run(["umount", "-l", str(place)], stderr=subprocess.DEVNULL)
        self.mounts = []
        for path in self.work.glob("o*"):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()

    def close(self) -> None:
        self.clean()
        shutil.rmtree(self.work, ignore_errors=True)


Situation = Callable[[Lab], str]


def prove(lab: Lab, situations: dict[str, Situation], only: str = "") -> int:
    """Tries each, prints what was seen. How many did not hold."""
    bad = 0
    print(f"{'situation':46} {'s':>5}  what was seen")
    for name, situation in situations.items():
        if not any(words in name for words in only.split("|")):
            continue
        start = time.monotonic()
        try:
            seen = situation(lab)
        except Exception as fault:  # whatever it is, the other situations are still to be seen
            bad += 1
            seen = f"WRONG: {type(fault).__name__ if not isinstance(fault, Wrong) else ''} {fault}"
        finally:
            lab.clean()
        print(f"{name:46} {time.monotonic() - start:5.1f}  {seen}", flush=True)
    print(f"\n{bad} situations did not hold")
    return bad


def main(what: str | None, situations: dict[str, Situation]) -> None:
    """The command of a proof."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("nocturne")
    parser.add_argument("--only", default="", help="only situations with these words, separated by |")
    arguments = parser.parse_args()
    lab = Lab(arguments.nocturne)
    try:
        bad = prove(lab, situations, arguments.only)
    finally:
        lab.close()
    raise SystemExit(1 if bad else 0)
