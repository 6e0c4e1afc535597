"""Runs batches under adverse conditions and checks how they end: the harness of the proofs about disks, inputs and time."""

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
from dataclasses import dataclass, field
from pathlib import Path

from nocturne_tools.paths import THRESHOLD_MODEL
from nocturne_tools.processes import children
from nocturne_tools.result_tree import completed_twice, differing, tree
from nocturne_tools.small_volumes import write_volume

# The user id of `nobody`: runs that must not have root's permissions.
NOBODY = 65534


class ProofFailure(Exception):
    """An observation contradicts what is promised."""


def expect(condition: bool, text: str) -> None:
    """Fails the proof with a text unless the condition holds."""
    if not condition:
        raise ProofFailure(text)


def wait_until(what: str, condition: Callable[[], object], seconds: float = 20) -> float:
    """Waits until a condition holds; returns the seconds that took."""
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > seconds:
            raise ProofFailure(f"after {seconds:.0f} s still not: {what}")
        time.sleep(0.02)
    return time.monotonic() - start


def completed(out: Path) -> int:
    """How many items of an output folder have a result."""
    return len(list(out.glob("*/result.json")))


def read_events(out: Path) -> list[dict[str, object]]:
    """The events of an output folder; lines that are not complete yet are left out."""
    found = []
    with contextlib.suppress(OSError):
        for line in (out / "events.jsonl").read_text(errors="replace").splitlines():
            with contextlib.suppress(json.JSONDecodeError):
                found.append(json.loads(line))
    return found


class BatchRun:
    """One run of nocturne, observed from outside."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, out: Path, tool: str) -> None:
        self.process, self.log, self.out, self.tool = process, log, out, tool

    @property
    def output(self) -> str:
        """What the run has printed so far."""
        return self.log.read_text(errors="replace")

    def wait(self, seconds: float = 60) -> int:
        """Waits for the end; returns the exit code."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise ProofFailure(f"still running after {seconds:.0f} s: {self.output.strip()[-300:]}") from None

    def ends(self, code: int, seconds: float = 60) -> None:
        found = self.wait(seconds)
        expect(found == code, f"exit {found}, not {code}: {self.output.strip()[-300:]}")

    def prints(self, message: str, seconds: float = 20) -> float:
        return wait_until(f"printed {message!r}: {self.output[-200:]!r}", lambda: message in self.output, seconds)

    def completes(self, count: int, seconds: float = 30) -> float:
        return wait_until(f"{count} completed", lambda: completed(self.out) >= count, seconds)

    def events(self, kind: str) -> list[dict[str, object]]:
        return [event for event in read_events(self.out) if event["event"] == kind]

    def status(self) -> dict[str, object]:
        done = subprocess.run([self.tool, "status", str(self.out), "--json"], capture_output=True, text=True)
        expect(done.returncode == 0, f"status: {done.stderr}")
        return json.loads(done.stdout)

    def children(self) -> list[int]:
        return children(self.process.pid)


@dataclass
class RunSettings:
    """How a run is started, beside its output folder and options."""

    source: Path | None = None
    verb: str = "run"
    fault: str | None = None
    user: int | None = None
    environment: dict[str, str | None] = field(default_factory=dict)


class Workspace:
    """A temporary folder with the inputs, a copy of the program, and the tree of an undisturbed run."""

    def __init__(self, tool: str, volumes: int = 8) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="nocturne-proof-"))
        self.folder.chmod(0o755)
        self.tool = shutil.copy(Path(tool).resolve(), self.folder / "nocturne")
        self.model = shutil.copytree(THRESHOLD_MODEL, self.folder / "model")
        self.input = self.folder / "in"
        self.input.mkdir()
        for index in range(volumes):
            write_volume(self.input / f"v{index}.nii", 28 + 2 * index, 1)
        self.mounts: list[Path] = []
        self.start(self.folder / "undisturbed").ends(0)
        self.expected = tree(self.folder / "undisturbed")

    def command(self, out: Path, options: list[str], source: Path | None, verb: str) -> list[str]:
        if verb == "resume":
            return [self.tool, verb, str(out), *options]
        source = source or self.input
        return [self.tool, verb, str(source), "--model", str(self.model), "--output", str(out), *options]

    def start(self, out: Path, *options: str, **settings: object) -> BatchRun:
        """Starts a run; `settings` are the fields of `RunSettings`."""
        given = RunSettings(**settings)
        variables = {**os.environ, **({"NOCTURNE_FAULT": given.fault} if given.fault else {})}
        for name, value in given.environment.items():
            variables.pop(name, None)
            if value is not None:
                variables[name] = value
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        injection = ["--fault-injection"] if given.fault else []
        command = self.command(out, [*options, *injection], given.source, given.verb)
        rights = {} if given.user is None else {"user": given.user, "group": given.user, "extra_groups": []}
        with log.open("wb") as file:
            process = subprocess.Popen(
                command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file, **rights
            )
        return BatchRun(process, log, out, self.tool)

    def expect_same(self, out: Path, expected: dict[str, str] | None = None) -> None:
        """The tree is that of an undisturbed run, and no item was completed and started again."""
        names = differing(tree(out), self.expected if expected is None else expected)
        expect(not names, f"the tree differs: {names[:5]}")
        with contextlib.suppress(FileNotFoundError):
            expect(not (twice := completed_twice(out)), f"completed twice: {twice}")

    def fresh_tree(self, source: Path) -> dict[str, str]:
        """The tree of an undisturbed run over inputs as they are now."""
        out = self.folder / "ofresh"
        self.start(out, source=source).wait()
        return tree(out)

    def counts(self, out: Path) -> dict[str, int]:
        return json.loads((out / "batch.json").read_text())["counts"]

    def reasons(self, out: Path) -> dict[str, str]:
        """The state and reason of every item that is not completed."""
        items = json.loads((out / "batch.json").read_text())["items"]
        return {item["item"]: f"{item['state']}: {item['reason']}" for item in items if item["state"] != "completed"}

    def mount(self, options: str, name: str = "disk") -> Path:
        """A new file system in memory."""
        place = self.folder / name
        place.mkdir(exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], check=True)
        self.mounts.append(place)
        return place

    def bind(self, source: Path, place: Path) -> None:
        """Mounts a folder at a second place."""
        subprocess.run(["mount", "--bind", str(source), str(place)], check=True)
        self.mounts.append(place)

    def remount(self, place: Path, options: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{options}", str(place)], check=True)

    def unmount(self, place: Path) -> None:
        """Unmounts lazily: open files stay usable."""
        subprocess.run(["umount", "-l", str(place)], check=True)

    def clean(self) -> None:
        """Removes mounts and results of one situation (all names that begin with o)."""
        for place in reversed(self.mounts):
            subprocess.run(["umount", "-l", str(place)], stderr=subprocess.DEVNULL)
        self.mounts = []
        for path in self.folder.glob("o*"):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()

    def close(self) -> None:
        self.clean()
        shutil.rmtree(self.folder, ignore_errors=True)


Situation = Callable[[Workspace], str]


def prove(workspace: Workspace, situations: dict[str, Situation], only: str = "") -> int:
    """Runs every situation and prints what was observed. Returns how many failed."""
    failed = 0
    print(f"{'situation':46} {'s':>5}  observed")
    for name, situation in situations.items():
        if not any(part in name for part in only.split("|")):
            continue
        start = time.monotonic()
        try:
            observed = situation(workspace)
        except Exception as error:  # whatever it is, the other situations are still to be tried
            failed += 1
            observed = f"FAILED: {'' if isinstance(error, ProofFailure) else type(error).__name__} {error}"
        finally:
            workspace.clean()
        print(f"{name:46} {time.monotonic() - start:5.1f}  {observed}", flush=True)
    print(f"\n{failed} situations failed")
    return failed


def main(description: str | None, situations: dict[str, Situation], as_root: bool = False) -> None:
    """The command line of a proof."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--only", default="", help="only situations whose names contain one of these texts, separated by |")
    arguments = parser.parse_args()
    if as_root and os.geteuid() != 0:
        raise SystemExit("must run as root: it mounts file systems and starts runs as the user nobody")
    workspace = Workspace(arguments.nocturne)
    try:
        failed = prove(workspace, situations, arguments.only)
    finally:
        workspace.close()
    raise SystemExit(1 if failed else 0)
