#!/usr/bin/env python3
"""Runs the same batch with 1, 2 and 5 threads and several memory budgets, and compares the trees byte by byte.

    Tools/proofs/same_bytes.py NOCTURNE --model PACKAGE [PACKAGE ...] --input FOLDER
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.result_tree import tree

SETTINGS = [(1, "8G"), (2, "8G"), (5, "8G"), (2, "1500M"), (5, "1200M")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--model", required=True, nargs="+", help="model packages")
    parser.add_argument("--input", required=True, help="a file or folder")
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="more options of `nocturne run`; last")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="same-bytes-"))
    expected: dict[str, str] | None = None
    differing = 0
    for threads, memory in SETTINGS:
        out = folder / f"{threads}-{memory}"
        models = [part for model in arguments.model for part in ("--model", model)]
        command = [arguments.nocturne, "run", arguments.input, *models, "--output", str(out), *arguments.options]
        command += ["--quiet", "--threads", str(threads), "--memory", memory]
        code = subprocess.run(command).returncode
        found = tree(out)
        expected = expected or found
        differing += found != expected
        result = "same" if found == expected else "DIFFERENT"
        print(f"{threads} threads, {memory}: exit {code}, {len(found)} files, {result}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    raise SystemExit(1 if differing else 0)


if __name__ == "__main__":
    main()
