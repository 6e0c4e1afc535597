#!/usr/bin/env python3
"""What is predicted for items, and what they took: the table from which the balance over machines is simulated.

    Tools/proofs/recorded_times.py NOCTURNE --count 60 > Tests/Fixtures/recorded-times.csv

The volumes differ in shape and spacing as scans do; each is processed alone, with one thread.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import subprocess
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


def write_scan(path: Path, generator: random.Random) -> None:
    """A volume of int16 voxels: a body of soft tissue in air, with noise."""
    width = generator.choice([96, 112, 128, 144, 160])
    slices = int(min(max(generator.lognormvariate(4.0, 0.6), 12), 200))
    spacing = (round(300 / width, 3), round(300 / width, 3), generator.choice([1.5, 2.0, 2.5, 3.0, 5.0]))
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, width, width, slices, 1, 1, 1, 1)
    struct.pack_into("<hh", header, 70, 4, 16)
    struct.pack_into("<8f", header, 76, 1, *spacing, 0, 0, 0, 0)
    struct.pack_into("<f", header, 108, 352)
    struct.pack_into("<f", header, 112, 1)
    struct.pack_into("<h", header, 254, 1)
    for row in range(3):
        values = [0.0] * 4
        values[row] = spacing[row]
        struct.pack_into("<4f", header, 280 + 16 * row, *values)
    header[344:348] = b"n+1\0"
    noise = [struct.pack("<h", generator.randint(-20, 80)) for _ in range(997)]
    air = struct.pack("<h", -1000) * width
    rows = []
    for row in range(width):
        half = int(0.4 * width * max(0.0, 1 - ((row - width / 2) / (0.35 * width)) ** 2) ** 0.5)
        start = generator.randrange(900)
        body = b"".join(noise[(start + place) % 997] for place in range(2 * half))
        rows.append(air[: (width - 2 * half)] + body + air[: width * 2 - (width - 2 * half) - len(body)])
    path.write_bytes(bytes(header) + b"".join(rows) * slices)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--model", default=str(CHECKOUT / "Samples/Models/urinary-tract-ct"))
    parser.add_argument("--count", type=int, default=60)
    arguments = parser.parse_args()
    generator = random.Random(16)
    with tempfile.TemporaryDirectory(prefix="recorded-times-") as folder:
        inputs, out = Path(folder) / "in", Path(folder) / "out"
        inputs.mkdir()
        for number in range(arguments.count):
            write_scan(inputs / f"scan{number:03}.nii", generator)
        batch = [arguments.nocturne, str(inputs), "--model", arguments.model, "--threads", "1"]
        plan = subprocess.run(
            [batch[0], "plan", *batch[1:], "--json"], check=True, capture_output=True, text=True
        ).stdout
        predicted = {item["item"]: item["seconds"] for item in json.loads(plan)["items"]}
        subprocess.run([batch[0], "run", *batch[1:], "--output", str(out), "--quiet"], check=True)
        print("predictedSeconds,seconds")
        for item, seconds in sorted(predicted.items()):
            times = json.loads((out / item / "run.json").read_text())["seconds"]
            print(f"{seconds:.3f},{sum(times.values()):.3f}")


if __name__ == "__main__":
    main()
