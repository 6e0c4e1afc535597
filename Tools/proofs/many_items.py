#!/usr/bin/env python3
"""Ten thousand tiny volumes: processor time per item, resident memory over time, and how long a resume without work takes.

    Tools/proofs/many_items.py NOCTURNE --model Tests/Fixtures/Models/threshold --count 10000
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--model", required=True, help="a model package")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--meshes", default="stl")
    parser.add_argument("--preview", help="passed on; programs before 0.2 do not have it")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="many-items-"))
    (folder / "in").mkdir()
    for index in range(arguments.count):
        (folder / "in" / f"v{index:05}.nii").write_bytes(tiny_volume(index))
    out = folder / "out"
    command = [arguments.nocturne, "run", str(folder / "in"), "--model", arguments.model, "--output", str(out)]
    command += ["--quiet", "--meshes", arguments.meshes]
    command += ["--preview", arguments.preview] if arguments.preview else []

    before, start = processor_seconds(), time.monotonic()
    code, samples = sampled_run(command)
    wall, processor = time.monotonic() - start, processor_seconds() - before
    counts = json.loads((out / "batch.json").read_text())["counts"]
    quarter = len(samples) // 4
    early, late = max(samples[quarter // 2 : quarter] or [0]), max(samples[-quarter:] or [0])
    print(f"exit {code}, {counts}")
    print(
        f"{wall:.1f} s wall, {1e3 * wall / arguments.count:.2f} ms per item; "
        f"processor {1e3 * processor / arguments.count:.2f} ms per item (whole process, user and system)"
    )
    print(
        f"resident: {early / 2**20:.0f} MiB in the first quarter, {late / 2**20:.0f} MiB in the last, "
        f"{max(samples) / 2**20:.0f} MiB at most"
    )
    start = time.monotonic()
    resumed = subprocess.run([arguments.nocturne, "resume", str(out), "--quiet"]).returncode
    print(f"resume of the finished batch: exit {resumed}, {time.monotonic() - start:.2f} s")
    shutil.rmtree(folder, ignore_errors=True)
    raise SystemExit(0 if code == resumed == 0 and counts["completed"] == arguments.count else 1)


if __name__ == "__main__":
    main()
