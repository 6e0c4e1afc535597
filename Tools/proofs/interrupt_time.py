#!/usr/bin/env python3
"""Measures how long a run takes to end after SIGINT at random instants; then resumes it to the end.

    Tools/proofs/interrupt_time.py NOCTURNE --model PACKAGE [PACKAGE ...] --input FOLDER [FOLDER ...] --times 10
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--model", required=True, nargs="+", help="model packages")
    parser.add_argument("--input", required=True, nargs="+", help="files and folders")
    parser.add_argument("--times", type=int, default=10, help="how many runs are interrupted")
    parser.add_argument("--within", type=float, default=10, help="the latest instant, in seconds after the start")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)
    folder = Path(tempfile.mkdtemp(prefix="interrupt-"))
    out = folder / "out"
    slowest = 0.0
    codes = []
    for _ in range(arguments.times):
        models = [part for model in arguments.model for part in ("--model", model)]
        command = [arguments.nocturne, "run", *arguments.input, *models, "--output", str(out), "--quiet"]
        process = subprocess.Popen(command, stderr=subprocess.PIPE)
        moment = generator.uniform(0.1, arguments.within)
        time.sleep(moment)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        code = process.wait()
        took = time.monotonic() - start
        slowest = max(slowest, took)
        codes.append(code)
        status = subprocess.run([arguments.nocturne, "status", str(out), "--json"], capture_output=True)
        counts = json.loads(status.stdout)["counts"] if status.returncode == 0 else {}
        print(f"after {moment:5.2f} s: exit {code}, ended within {took:.3f} s, {counts}", flush=True)
        if code == 0:
            shutil.rmtree(out)
    code = subprocess.run([arguments.nocturne, "resume", str(out), "--quiet"]).returncode if out.exists() else 0
    print(f"slowest {slowest:.3f} s; the last resume ended with {code}")
    shutil.rmtree(folder, ignore_errors=True)
    if slowest > 1 or code != 0 or not set(codes) <= {0, 130}:
        sys.exit("an interrupted run took more than a second, or ended with another code")


if __name__ == "__main__":
    main()
