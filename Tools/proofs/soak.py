#!/usr/bin/env python3
"""Keeps one engine busy for the given time, disturbs it, and observes its memory and descriptors.

    Tools/proofs/soak.py NOCTURNE [--minutes 60] [--seed 1] [--log FILE]

`nocturne watch` processes a pool of tiny volumes and photos that are rewritten again and again: one process, and
thousands of items. Meanwhile, at random: `nocturne cancel` of single items, the engine stopped with SIGSTOP for a while,
and a process beside it that takes the memory of their common cgroup until the engine pauses (left out, with a line of
output, where no cgroup can be made). Beside it a small batch is run, interrupted with SIGINT, resumed and verified, over
and over.

Every second the engine's resident and anonymous memory, descriptors and threads are read from /proc. At the end the lower
quartiles of the two minutes before the fifth (or before half of the time) and of the last two are compared. Fails when
descriptors have leaked, when memory has grown by more than `--growth`, when the engine was not one process throughout, or
when an item is missing.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools import interface
from nocturne_tools.cgroups import HOG, limited_group
from nocturne_tools.figures import Sampler
from nocturne_tools.machine import architecture
from nocturne_tools.paths import SAMPLE_MODELS, SAMPLES, THRESHOLD_MODEL
from nocturne_tools.processes import children
from nocturne_tools.small_volumes import write_volume

MODELS = [THRESHOLD_MODEL, SAMPLE_MODELS / "skin-lesions-demo"]


class Soak:
    """The watch, its disturbances, and what they lead to."""

    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.arguments, self.folder = arguments, folder
        self.nocturne = str(Path(arguments.nocturne).resolve())
        self.random = random.Random(arguments.seed)
        self.input, self.out = folder / "in", folder / "out"
        self.input.mkdir()
        self.models = [part for model in MODELS for part in ("--model", str(model))]
        self.photos = sorted((SAMPLES / "Photos/lesions").glob("*.jpg"))
        self.group = limited_group(arguments.limit << 20)
        self.counts: collections.Counter[str] = collections.Counter()
        self.stopped_until = 0.0
        self.hog: subprocess.Popen | None = None
        self.hog_until = 0.0
        self.failures: list[str] = []

    def enter(self) -> None:
        if self.group:
            (self.group / "cgroup.procs").write_text(str(os.getpid()))

    def spawn(self, command: list[str]) -> subprocess.Popen:
        silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(command, **silent, preexec_fn=self.enter)

    def write_inputs(self, count: int) -> None:
        """Rewrites some of the pool, each file in one step, so that none is ever found half-written."""
        for _ in range(count):
            number = self.counts["inputs written"] % self.arguments.pool
            temporary = self.folder / "part"
            # One in forty is a photo: it takes as long as forty of the volumes.
            if number % 40 == 0:
                content = self.random.choice(self.photos).read_bytes()
                temporary.write_bytes(content + self.random.randbytes(8))
                temporary.rename(self.input / f"item{number:05}.jpg")
            else:
                write_volume(temporary, self.random.choice([12, 16, 24]), self.random.randint(1, 9))
                temporary.rename(self.input / f"item{number:05}.nii")
            self.counts["inputs written"] += 1

    def cancel(self) -> None:
        name = f"item{self.random.randrange(self.arguments.pool):05}"
        done = subprocess.run([self.nocturne, "cancel", str(self.out), name], capture_output=True)
        self.counts["items cancelled" if done.returncode == 0 else "cancels refused"] += 1

    def pause(self, engine: int, now: float) -> None:
        if self.stopped_until:
            if now >= self.stopped_until:
                os.kill(engine, signal.SIGCONT)
                self.stopped_until = 0
        elif self.random.random() < 0.04:
            os.kill(engine, signal.SIGSTOP)
            self.stopped_until = now + self.random.uniform(0.5, 4)
            self.counts["pauses by SIGSTOP"] += 1

    def press(self, now: float) -> None:
        """Fills the cgroup until a tenth or a twenty-fifth of it is left, for some seconds."""
        if self.group is None:
            return
        if self.hog:
            if now >= self.hog_until or self.hog.poll() is not None:
                self.stop_hog()
        elif self.random.random() < 0.03:
            limit = self.arguments.limit << 20
            used = 0
            for line in (self.group / "memory.stat").read_text().splitlines():
                key, value = line.split()
                used += int(value) if key in ("total_rss", "anon") else 0
            left = self.random.choice([0.1, 0.04])
            size = max(1 << 20, int(limit * (1 - left)) - used)
            self.hog = self.spawn([sys.executable, "-c", HOG, str(size), "60"])
            try:
                # Should memory run out nevertheless, the kernel kills the hog.
                Path(f"/proc/{self.hog.pid}/oom_score_adj").write_text("1000")
            except OSError:
                pass
            self.hog_until = now + self.random.uniform(3, 10)
            self.counts["hogs of memory"] += 1

    def stop_hog(self) -> None:
        if self.hog:
            self.hog.kill()
            self.hog.wait()
            self.hog = None

    def run(self) -> None:
        command = [self.nocturne, "watch", str(self.input), *self.models, "--output", str(self.out), "--quiet"]
        watch = self.spawn([*command, "--settle", "1", "--threads", "2"])
        engine, side = 0, SideBatch(self)
        sampler = Sampler(Path(self.arguments.log) if self.arguments.log else None)
        end = time.monotonic() + 60 * self.arguments.minutes
        while (now := time.monotonic()) < end and watch.poll() is None:
            below = children(watch.pid)
            if below and below[0] != engine:
                self.counts["engines"] += 1
                engine = below[0]
            if engine and (self.out / ".nocturne/journal.sqlite").exists():
                sampler.take(engine)
                self.pause(engine, now)
                self.press(now)
                if self.random.random() < 0.05:
                    self.cancel()
                side.step()
            self.write_inputs(self.arguments.rate)
            time.sleep(max(0, now + 1 - time.monotonic()))
        if self.stopped_until:
            os.kill(engine, signal.SIGCONT)
        self.stop_hog()
        sampled_to = sampler.rows[-1][0] if sampler.rows else 0
        side.stop()
        (self.out / "stop").touch()
        try:
            code = watch.wait(timeout=300)
        except subprocess.TimeoutExpired:
            self.failures.append("the watch does not end")
            watch.kill()
            code = None
        print(f"the watch ended with {code}")
        self.finish()
        self.report(sampler, sampled_to)

    def finish(self) -> None:
        """Processes what came last and what was cancelled, without a watch, and verifies the folder."""
        (self.out / "stop").unlink(missing_ok=True)
        for more in ([], ["--failed"]):
            command = [self.nocturne, "resume", str(self.out), "--quiet", *more]
            done = subprocess.run(command, capture_output=True, text=True)
            counts = json.loads((self.out / "batch.json").read_text())["counts"]
            verify = subprocess.run([self.nocturne, "verify", str(self.out)], capture_output=True, text=True)
            last = verify.stdout.strip().splitlines()[-1:]
            print(f"resume {' '.join(more)}: exit {done.returncode}, {counts}; verify: {verify.returncode}, {last}")
        files = len(list(self.input.iterdir()))
        if done.returncode != 0 or counts["completed"] != files or counts["inputs"] != files:
            self.failures.append(f"{files} files, but {counts}; {done.stderr.strip()[-300:]}")
        if verify.returncode != 0:
            self.failures.append(f"verify: {verify.stdout.strip()[-300:]}")
        for line in (self.out / "events.jsonl").read_text().splitlines():
            event = json.loads(line)
            self.counts[event["event"]] += 1
            if event["event"] == "pressure":
                self.counts["pressure to " + interface.pressure_level(event)] += 1
        if self.counts["engines"] != 1:
            self.failures.append(f"{self.counts['engines']} engines instead of one")

    def report(self, sampler: Sampler, last: float) -> None:
        early = min(300.0, last / 2)
        print(f"{architecture()}, {last / 60:.1f} minutes, pool of {self.arguments.pool}")
        for what, number in sorted(self.counts.items()):
            print(f"  {what}: {number}")
        print(f"{'':22} {f'at {early / 60:.1f} min':>12} {'at the end':>12} {'ratio':>7} {'most':>10}")
        scales = {"resident (MiB)": (1, 2**20), "anonymous (MiB)": (2, 2**20), "descriptors": (3, 1), "threads": (4, 1)}
        for name, (column, scale) in scales.items():
            before, after = (sampler.figure(moment, column) / scale for moment in (early, last))
            most = max((row[column] for row in sampler.rows), default=0) / scale
            ratio = after / before if before else 0
            print(f"{name:22} {before:12.1f} {after:12.1f} {ratio:7.3f} {most:10.1f}")
            if name == "descriptors" and after > before:
                self.failures.append("descriptors have grown")
            if name == "anonymous (MiB)" and ratio > 1 + self.arguments.growth:
                self.failures.append("memory has grown")


class SideBatch:
    """A second batch that is started, interrupted and resumed until it is finished, verified, and started afresh."""

    def __init__(self, soak: Soak) -> None:
        self.soak, self.input, self.out = soak, soak.folder / "side-in", soak.folder / "side-out"
        self.input.mkdir()
        for index in range(60):
            write_volume(self.input / f"volume{index}.nii", 24, 1)
        self.process: subprocess.Popen | None = None

    def step(self) -> None:
        if self.process is None:
            self.start_and_interrupt()
        elif (code := self.process.poll()) is not None:
            self.process = None
            self.check(code)

    def start_and_interrupt(self) -> None:
        soak = self.soak
        command = [soak.nocturne, "run", str(self.input), "--model", str(MODELS[0]), "--output", str(self.out)]
        if (self.out / "batch.json").exists() or (self.out / ".nocturne/journal.sqlite").exists():
            command = [soak.nocturne, "resume", str(self.out)]
        silent = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen([*command, "--quiet", "--threads", "1"], **silent)
        try:
            self.process.wait(timeout=soak.random.uniform(0.02, 0.6))
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGINT)
            soak.counts["interrupts by SIGINT"] += 1

    def check(self, code: int) -> None:
        """What must hold after an exit code of the second batch."""
        soak = self.soak
        if code == 0:
            verify = subprocess.run([soak.nocturne, "verify", str(self.out)], capture_output=True, text=True)
            completed = json.loads((self.out / "batch.json").read_text())["counts"]["completed"]
            if verify.returncode != 0 or completed != 60:
                soak.failures.append(f"second batch: {completed} completed, {verify.stdout.strip()[-200:]}")
            soak.counts["second batches finished"] += 1
            shutil.rmtree(self.out)
        elif code == 2:
            # Interrupted before the journal knew what the batch is: nothing to resume, and nothing lost.
            shutil.rmtree(self.out, ignore_errors=True)
        # Interrupted before it handles signals, it ends by this one, as any process does.
        elif code not in (130, -signal.SIGINT):
            soak.failures.append(f"second batch: exit {code}")

    def stop(self) -> None:
        if self.process:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pool", type=int, default=400, help="how many names there are; they are rewritten in turn")
    parser.add_argument("--rate", type=int, default=10, help="inputs written per second")
    parser.add_argument("--limit", type=int, default=512, help="MiB of the cgroup of engine and hog")
    parser.add_argument("--growth", type=float, default=0.25, help="share by which anonymous memory may grow")
    parser.add_argument("--log", help="a file for the figures of every second")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    soak = Soak(arguments, folder)
    soak.run()
    for failure in soak.failures:
        print("FAILED:", failure)
    if soak.failures:
        print(f"kept: {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    if soak.group:
        soak.group.rmdir()
    raise SystemExit(1 if soak.failures else 0)


if __name__ == "__main__":
    main()
