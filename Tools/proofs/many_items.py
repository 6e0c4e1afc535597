#!/usr/bin/env python3
"""Many tiny volumes: seconds, processor time per item, resident memory, journal, resume, status and verification.

    Tools/proofs/many_items.py NOCTURNE [NOCTURNE] --model Tests/Fixtures/Models/threshold --count 1000 10000

Two programs take turns. Each writes into a new folder, and all are removed at the end: ext4 takes several times as long to create
files soon after many were deleted. With `--meshes none --preview none` little more than the engine itself is left to be measured.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.processes import resident_bytes
from nocturne_tools.small_volumes import tiny_volume


def processor_seconds() -> float:
    """Processor time of all ended children, user and system."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def sampled_run(command: list[str]) -> tuple[int, list[int]]:
    """Runs a command: its exit code, and resident bytes every quarter of a second."""
    process = subprocess.Popen(command)
    samples: list[int] = []
    while process.poll() is None:
        samples.append(resident_bytes(process.pid))
        time.sleep(0.25)
    return process.returncode, samples


def journal_bytes(out: Path) -> int:
    return sum(path.stat().st_size for path in (out / ".nocturne").glob("journal.sqlite*"))


def timed(command: list[str]) -> float:
    """Seconds of a command that has to succeed."""
    start = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - start


def measure(nocturne: str, folder: Path, count: int, options: list[str]) -> list[str]:
    """A row of the table."""
    out = Path(tempfile.mkdtemp(prefix="out-", dir=folder)) / "out"
    before, start = processor_seconds(), time.monotonic()
    code, samples = sampled_run([nocturne, "run", str(folder / "in"), "--output", str(out), "--quiet", *options])
    wall, processor = time.monotonic() - start, processor_seconds() - before
    counts = json.loads((out / "batch.json").read_text())["counts"]
    if code != 0 or counts["completed"] != count:
        raise SystemExit(f"exit {code}, {counts}")
    quarter = len(samples) // 4
    early = max(samples[quarter // 2 : quarter] or [0])
    row = [
        f"{count:,}",
        Path(nocturne).name,
        f"{wall:.1f}",
        f"{1e3 * processor / count:.2f}",
        f"{early / 2**20:.0f}",
        f"{max(samples) / 2**20:.0f}",
        f"{journal_bytes(out) / 2**20:.1f}",
        f"{timed([nocturne, 'resume', str(out), '--quiet']):.2f}",
        f"{timed([nocturne, 'status', str(out)]):.2f}",
        f"{timed([nocturne, 'verify', str(out)]):.1f}",
    ]
    return row


COLUMNS = [
    *("items", "program", "s", "processor ms an item", "MiB early", "MiB peak", "MiB journal"),
    *("resume s", "status s", "verify s"),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", nargs="+", help="the built program, or two to be compared")
    parser.add_argument("--model", required=True, help="a model package")
    parser.add_argument("--count", type=int, nargs="+", default=[10_000])
    parser.add_argument("--meshes", default="stl")
    parser.add_argument("--preview", help="passed on; programs before 0.2 do not have it")
    parser.add_argument("--memory", help="passed on")
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    options = ["--model", arguments.model, "--meshes", arguments.meshes]
    options += ["--preview", arguments.preview] if arguments.preview else []
    options += ["--memory", arguments.memory] if arguments.memory else []
    folder = Path(tempfile.mkdtemp(prefix="many-items-"))
    (folder / "in").mkdir()
    print("| " + " | ".join(COLUMNS) + " |\n" + "|---" * len(COLUMNS) + "|", flush=True)
    made = 0
    for count in sorted(arguments.count):
        for index in range(made, count):
            (folder / "in" / f"v{index:07}.nii").write_bytes(tiny_volume(index))
        made = count
        for _ in range(arguments.rounds):
            for nocturne in arguments.nocturne:
                print("| " + " | ".join(measure(nocturne, folder, count, options)) + " |", flush=True)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
