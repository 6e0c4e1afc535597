#!/usr/bin/env python3
"""Keeps one engine busy for as long as is asked for, disturbs it, and watches its memory and descriptors.

    Tools/Proofs/soak.py NOCTURNE [--minutes 60] [--seed 1] [--log FILE]

`nocturne watch` works through a pool of tiny volumes and photos that are written anew again and again: one process,
and thousands of items. Meanwhile, at random: `nocturne cancel` of single items, the engine stopped with SIGSTOP for a
while, and a process beside it that takes the memory of their common cgroup until the engine pauses (where no cgroup
can be made this is left out and said). Beside it a small batch is run, interrupted with SIGINT, resumed and verified,
over and over.

Every second the engine's resident and anonymous memory, descriptors and threads are read from /proc. At the end the
lower quartiles of the two minutes before the fifth (or before half of the time) and of the last two are compared.
Fails when a descriptor is left, when memory has grown by more than `--growth`, when the engine was not one process
throughout, or when an item was lost.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fault_matrix import MODELS, PHOTOS, write_volume
from soak_figures import Sampler, limited_group

HOG = "import sys, time; block = bytearray(int(sys.argv[1])); block[::4096] = b'x' * len(block[::4096]); time.sleep(60)"


class Soak:
    def __init__(self, arguments: argparse.Namespace, work: Path) -> None:
        self.arguments, self.work = arguments, work
        self.nocturne = str(Path(arguments.nocturne).resolve())
        self.chance = random.Random(arguments.seed)
        self.input, self.out = work / "in", work / "out"
        self.input.mkdir()
        self.models = [word for model in MODELS for word in ("--model", str(model))]
        self.photos = sorted(PHOTOS.glob("*.jpg"))
        self.group = limited_group(arguments.limit << 20)
        self.did: collections.Counter[str] = collections.Counter()
        self.stopped_until = 0.0
        self.hog: subprocess.Popen | None = None
        self.hog_until = 0.0
        self.faults: list[str] = []

    def enter(self) -> None:
        if self.group:
            (self.group / "cgroup.procs").write_text(str(os.getpid()))

    def spawn(self, command: list[str]) -> subprocess.Popen:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=self.enter,
        )

    def write_inputs(self, count: int) -> None:
        """Writes some of the pool anew, each in one step, so that no half file is ever found."""
        for _ in range(count):
            number = self.did["inputs written"] % self.arguments.pool
            temporary = self.work / "part"
            # One in forty is a photo: it takes as long as forty of the volumes.
            if number % 40 == 0:
                content = self.chance.choice(self.photos).read_bytes()
                temporary.write_bytes(content + self.chance.randbytes(8))
                temporary.rename(self.input / f"item{number:05}.jpg")
            else:
                write_volume(temporary, self.chance.choice([12, 16, 24]), self.chance.randint(1, 9))
                temporary.rename(self.input / f"item{number:05}.nii")
            self.did["inputs written"] += 1

    def cancel(self) -> None:
        name = f"item{self.chance.randrange(self.arguments.pool):05}"
        done = subprocess.run([self.nocturne, "cancel", str(self.out), name], capture_output=True)
        self.did["items cancelled" if done.returncode == 0 else "cancels refused"] += 1

    def pause(self, engine: int, now: float) -> None:
        if self.stopped_until:
            if now >= self.stopped_until:
                os.kill(engine, signal.SIGCONT)
                self.stopped_until = 0
        elif self.chance.random() < 0.04:
            os.kill(engine, signal.SIGSTOP)
            self.stopped_until = now + self.chance.uniform(0.5, 4)
            self.did["pauses by SIGSTOP"] += 1

    def press(self, now: float) -> None:
        """Fills the cgroup until a tenth or a twenty-fifth of it is left, for some seconds."""
        if self.group is None:
            return
        if self.hog:
            if now >= self.hog_until or self.hog.poll() is not None:
                self.hog.kill()
                self.hog.wait()
                self.hog = None
        elif self.chance.random() < 0.03:
            limit = self.arguments.limit << 20
            used = 0
            for line in (self.group / "memory.stat").read_text().splitlines():
                key, value = line.split()
                used += int(value) if key in ("total_rss", "anon") else 0
            left = self.chance.choice([0.1, 0.04])
            self.hog = self.spawn([sys.executable, "-c", HOG, str(max(1 << 20, int(limit * (1 - left)) - used))])
            try:
                # Should memory run out after all, it is the hog that goes.
                Path(f"/proc/{self.hog.pid}/oom_score_adj").write_text("1000")
            except OSError:
                pass
            self.hog_until = now + self.chance.uniform(3, 10)
            self.did["hogs of memory"] += 1

    def run(self) -> None:
        command = [self.nocturne, "watch", str(self.input), *self.models, "--output", str(self.out), "--quiet"]
        watch = self.spawn([*command, "--settle", "1", "--threads", "2"])
        engine, side = 0, SideBatch(self)
        sampler = Sampler(Path(self.arguments.log) if self.arguments.log else None)
        end = time.monotonic() + 60 * self.arguments.minutes
        while (now := time.monotonic()) < end and watch.poll() is None:
            children = [
                pid for path in Path(f"/proc/{watch.pid}/task").glob("*/children") for pid in path.read_text().split()
            ]
            if children and int(children[0]) != engine:
                self.did["engines"] += 1
                engine = int(children[0])
            if engine and (self.out / ".nocturne/journal.sqlite").exists():
                sampler.take(engine)
                self.pause(engine, now)
                self.press(now)
                if self.chance.random() < 0.05:
                    self.cancel()
                side.go_on()
            self.write_inputs(self.arguments.rate)
            time.sleep(max(0, now + 1 - time.monotonic()))
        if self.stopped_until:
            os.kill(engine, signal.SIGCONT)
        if self.hog:
            self.hog.kill()
            self.hog.wait()
        sampled_to = sampler.rows[-1][0] if sampler.rows else 0
        side.stop()
        (self.out / "stop").touch()
        try:
            code = watch.wait(timeout=300)
        except subprocess.TimeoutExpired:
            self.faults.append("the watch does not end")
            watch.kill()
            code = None
        self.settle(code)
        self.report(sampler, sampled_to)

    def settle(self, code: int | None) -> None:
        """Works off what came last and what was cancelled, without a watch, and holds the folder against its journal."""
        print(f"the watch ended with {code}")
        (self.out / "stop").unlink(missing_ok=True)
        for more in ([], ["--retry-failed"]):
            command = [self.nocturne, "resume", str(self.out), "--quiet", *more]
            done = subprocess.run(command, capture_output=True, text=True)
            counts = json.loads((self.out / "batch.json").read_text())["counts"]
            verify = subprocess.run([self.nocturne, "verify", str(self.out)], capture_output=True, text=True)
            said = verify.stdout.strip().splitlines()[-1:]
            print(f"resume {' '.join(more)}: exit {done.returncode}, {counts}; verify: {verify.returncode}, {said}")
        files = len(list(self.input.iterdir()))
        if done.returncode != 0 or counts["completed"] != files or counts["inputs"] != files:
            self.faults.append(f"{files} files, but {counts}; {done.stderr.strip()[-300:]}")
        if verify.returncode != 0:
            self.faults.append(f"verify: {verify.stdout.strip()[-300:]}")
        for line in (self.out / "events.jsonl").read_text().splitlines():
            event = json.loads(line)
            self.did[event["event"]] += 1
            if event["event"] == "pressure":
                self.did["pressure to " + event["reason"].split(":")[0].split()[-1]] += 1
        if self.did["engines"] != 1:
            self.faults.append(f"{self.did['engines']} engines instead of one")

    def report(self, sampler: Sampler, last: float) -> None:
        early = min(300.0, last / 2)
        print(f"{platform.processor() or platform.machine()}, {last / 60:.1f} minutes, pool of {self.arguments.pool}")
        for what, number in sorted(self.did.items()):
            print(f"  {what}: {number}")
        print(f"{'':22} {f'at {early / 60:.1f} min':>12} {'at the end':>12} {'ratio':>7} {'most':>10}")
        scales = {"resident (MiB)": (1, 2**20), "anonymous (MiB)": (2, 2**20), "descriptors": (3, 1), "threads": (4, 1)}
        for name, (column, scale) in scales.items():
            before, after = (sampler.figure(moment, column) / scale for moment in (early, last))
            most = max((row[column] for row in sampler.rows), default=0) / scale
            ratio = after / before if before else 0
            print(f"{name:22} {before:12.1f} {after:12.1f} {ratio:7.3f} {most:10.1f}")
            if name == "descriptors" and after > before:
                self.faults.append("descriptors have grown")
            if name == "anonymous (MiB)" and ratio > 1 + self.arguments.growth:
                self.faults.append("memory has grown")


class SideBatch:
    """A batch of its own that is begun, interrupted and resumed until it is done, verified, and begun anew."""

    def __init__(self, soak: Soak) -> None:
        self.soak, self.input, self.out = soak, soak.work / "side-in", soak.work / "side-out"
        self.input.mkdir()
        for index in range(60):
            write_volume(self.input / f"volume{index}.nii", 24, 1)
        self.process: subprocess.Popen | None = None

    def go_on(self) -> None:
        soak = self.soak
        if self.process is None:
            command = [soak.nocturne, "run", str(self.input), "--model", str(MODELS[0]), "--output", str(self.out)]
            if (self.out / "batch.json").exists() or (self.out / ".nocturne/journal.sqlite").exists():
                command = [soak.nocturne, "resume", str(self.out)]
            self.process = subprocess.Popen(
                [*command, "--quiet", "--threads", "1"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
            try:
                self.process.wait(timeout=soak.chance.uniform(0.02, 0.6))
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGINT)
                soak.did["interrupts by SIGINT"] += 1
        elif (code := self.process.poll()) is not None:
            self.process = None
            if code == 0:
                verify = subprocess.run([soak.nocturne, "verify", str(self.out)], capture_output=True, text=True)
                completed = json.loads((self.out / "batch.json").read_text())["counts"]["completed"]
                if verify.returncode != 0 or completed != 60:
                    soak.faults.append(f"side batch: {completed} completed, {verify.stdout.strip()[-200:]}")
                soak.did["side batches finished"] += 1
                shutil.rmtree(self.out)
            elif code == 2:
                # Interrupted before the journal knew what the batch is: nothing to resume, and nothing lost.
                shutil.rmtree(self.out, ignore_errors=True)
            # Interrupted before it listens to signals at all, it dies of this one, as any process does.
            elif code not in (130, -signal.SIGINT):
                soak.faults.append(f"side batch: exit {code}")

    def stop(self) -> None:
        if self.process:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pool", type=int, default=400, help="so many names, written anew in turn")
    parser.add_argument("--rate", type=int, default=10, help="inputs written a second")
    parser.add_argument("--limit", type=int, default=512, help="MiB of the cgroup of engine and hog")
    parser.add_argument("--growth", type=float, default=0.25, help="share by which anonymous memory may grow")
    parser.add_argument("--log", help="a file for the figures of every second")
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="soak-"))
    soak = Soak(arguments, work)
    soak.run()
    for fault in soak.faults:
        print("FAULT:", fault)
    if soak.faults:
        print(f"kept: {work}")
    else:
        shutil.rmtree(work, ignore_errors=True)
    if soak.group:
        soak.group.rmdir()
    raise SystemExit(1 if soak.faults else 0)


if __name__ == "__main__":
    main()
