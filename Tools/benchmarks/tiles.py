#!/usr/bin/env python3
"""Times the convolutions of nnU-Net's plain 3-D U-Net, patch 96³, on one core: on matrix tiles and on vectors.

    Tools/benchmarks/tiles.py [--rounds 10] [--save]

Compiles the kernels by themselves with clang, which takes half a minute, and needs a processor with AMX. Four programs take
turns: float32 and bfloat16 on vectors, and both on tiles. Of each layer the shortest time counts; the sum is that of the
layers of the network. --save appends the table to RESULTS.md.
"""

from __future__ import annotations

import argparse
import datetime
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.benchmark import FOLDER, append_results, machine_line
from nocturne_tools.paths import ROOT

KERNELS = ROOT / "Sources" / "CNocturneKernels"
# Title: instruction set and precision of nk_conv.h, and whether tensors are bfloat16.
WAYS = {
    "float32, vectors": (3, 0, 0),
    "float32, tiles": (5, 2, 0),
    "bfloat16, vectors": (4, 1, 0),
    "bfloat16, tiles": (5, 1, 1),
}


def compiled(folder: Path) -> Path:
    """The program, built in the folder."""
    sources = [*sorted((KERNELS / "conv").rglob("*.c")), FOLDER / "tiles.c"]
    includes = ["-I", str(KERNELS / "include"), "-I", str(KERNELS)]
    objects = []
    for number, source in enumerate(sources):
        objects.append(str(folder / f"{number}.o"))
        subprocess.run(["clang", "-O2", *includes, "-c", str(source), "-o", objects[-1]], check=True)
    program = folder / "tiles"
    subprocess.run(["clang", *objects, "-lopenblas", "-lpthread", "-lm", "-o", str(program)], check=True)
    return program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, help="rounds of the programs, with five runs of each chunk")
    parser.add_argument("--save", action="store_true", help="append to RESULTS.md")
    options = parser.parse_args()
    before = os.getloadavg()[0]
    times: dict[str, int] = {}
    gflop: dict[str, float] = {}
    best: dict[tuple[str, str], float] = {}
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(Path(folder))
        for _ in range(options.rounds):
            for way, numbers in WAYS.items():
                command = [str(program), *map(str, numbers), "5"]
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                for line in output.splitlines():
                    name, count, _chunks, milliseconds, operations, _method = line.split("\t")
                    times[name], gflop[name] = int(count), float(operations)
                    best[name, way] = min(float(milliseconds), best.get((name, way), float("inf")))
    lines = [
        f"## {datetime.date.today()}: layers of the plain 3-D U-Net, patch 96³, 1 thread, ms",
        "",
        f"{machine_line()}. `tiles.py --rounds {options.rounds}`: shortest processor time of each chunk, summed."
        f" Load average {before:.1f} before and {os.getloadavg()[0]:.1f} after.",
        "",
        f"| layer | times | GFLOP | {' | '.join(WAYS)} |",
        f"|{' --- |' * (3 + len(WAYS))}",
    ]
    for name, count in times.items():
        lines.append(f"| {name} | {count} | {gflop[name]:.2f} | {' | '.join(f'{best[name, w]:.1f}' for w in WAYS)} |")
    sums = [sum(best[name, way] * count for name, count in times.items()) for way in WAYS]
    total = sum(gflop[name] * count for name, count in times.items())
    lines.append(f"| all | | {total:.2f} | {' | '.join(f'{value:.0f}' for value in sums)} |")
    text = "\n".join(lines) + "\n"
    print(text)
    if options.save:
        append_results(text)


if __name__ == "__main__":
    main()
