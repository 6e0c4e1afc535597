#!/usr/bin/env python3
"""Runs the same batch with 1, 2 and 5 threads and several budgets, and compares the trees byte by byte.

python Tools/Proofs/same_bytes.py NOCTURNE --model PACKAGE --input FOLDER
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

from kill_resume import tree


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nocturne")
    parser.add_argument("--model", required=True)
    parser.add_argument("--input", required=True)
    arguments = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="same-bytes-"))
    expected: dict[str, str] | None = None
    differing = 0
    for threads, memory in [(1, "8G"), (2, "8G"), (5, "8G"), (2, "1500M"), (5, "1200M")]:
        out = work / f"{threads}-{memory}"
        code = subprocess.run(
            [arguments.nocturne, "run", arguments.input, "--model", arguments.model, "--output", str(out), "--quiet"]
            + ["--threads", str(threads), "--memory", memory]
        ).returncode
        found = tree(out)
        expected = expected or found
        differing += found != expected
        print(f"{threads} threads, {memory}: exit {code}, {len(found)} files, {'same' if found == expected else 'DIFFERENT'}", flush=True)
    shutil.rmtree(work, ignore_errors=True)
    raise SystemExit(1 if differing else 0)


if __name__ == "__main__":
    main()
