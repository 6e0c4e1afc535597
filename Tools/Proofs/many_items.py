#!/usr/bin/env python3
"""Ten thousand tiny volumes: processor time an item, resident memory over time, and the time of a resume of nothing.

Tools/Proofs/many_items.py NOCTURNE --model Tests/Fixtures/Models/threshold --count 10000
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import resource
import shutil
import struct
import subprocess
import tempfile
import threading
import time
from pathlib import Path


def tiny_volume(seed: int, size: int = 16) -> bytes:
    """A NIfTI-1 file of size³ uint8 voxels with a box of ones, its place given by the seed."""
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, size, size, size, 1, 1, 1, 1)
    struct.pack_into("<hh", header, 70, 2, 8)
    struct.pack_into("<8f", header, 76, 1, 1, 1, 1, 0, 0, 0, 0)
    struct.pack_into("<f", header, 108, 352)
    struct.pack_into("<f", header, 112, 1)
    struct.pack_into("<h", header, 254, 1)
    for row in range(3):
        values = [0.0, 0.0, 0.0, 0.0]
        values[row] = 1.0
        struct.pack_into("<4f", header, 280 + 16 * row, *values)
    header[344:348] = b"n+1\0"
    voxels = bytearray(size**3)
    a, b, c = seed % 7, seed // 7 % 7, seed // 49 % 7
    for z in range(c + 2, c + 8):
        for y in range(b + 2, b + 8):
            for x in range(a + 2, a + 8):
                voxels[x + size * (y + size * z)] = 1
    return bytes(header) + bytes(voxels)


def resident(pid: int) -> int:
    """Resident bytes of a process and its children."""
    total = 0
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for each in [str(pid), *children]:
            total += int(Path(f"/proc/{each}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        pass
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nocturne")
    parser.add_argument("--model", required=True)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--meshes", default="stl")
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="many-items-"))
    (work / "in").mkdir()
    for index in range(arguments.count):
        (work / "in" / f"v{index:05}.nii").write_bytes(tiny_volume(index))
    out = work / "out"
    command = [
        arguments.nocturne,
        "run",
        str(work / "in"),
        "--model",
        arguments.model,
        "--output",
        str(out),
        "--quiet",
        "--meshes",
        arguments.meshes,
    ]

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    process = subprocess.Popen(command)
    samples: list[int] = []
    while process.poll() is None:
        samples.append(resident(process.pid))
        time.sleep(0.25)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    counts = json.loads((out / "batch.json").read_text())["counts"]
    quarter = len(samples) // 4
    early, late = max(samples[quarter // 2 : quarter] or [0]), max(samples[-quarter:] or [0])
    print(f"exit {process.returncode}, {counts}")
    print(
        f"{wall:.1f} s wall, {1e3 * wall / arguments.count:.2f} ms an item; "
        f"processor {1e3 * cpu / arguments.count:.2f} ms an item (whole process, user and system)"
    )
    print(
        f"resident: {early / 2**20:.0f} MiB in the first quarter, {late / 2**20:.0f} MiB in the last, "
        f"{max(samples) / 2**20:.0f} MiB at most"
    )
    start = time.monotonic()
    code = subprocess.run([arguments.nocturne, "resume", str(out), "--quiet"]).returncode
    print(f"resume of the finished batch: exit {code}, {time.monotonic() - start:.2f} s")
    shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
