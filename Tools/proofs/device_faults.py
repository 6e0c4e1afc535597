#!/usr/bin/env python3
"""Runs batches on a stand-in for an NVIDIA GPU that fails: no wrong label, no lost item, no run that hangs.

    Tools/proofs/device_faults.py NOCTURNE [--runs 30] [--only lost,memory,wrong,slow,hang,launch,kernel] [--output FILE]

The stand-in (stand_in_gpu.c, built with the C compiler) takes the places of ONNX Runtime, driver, cuDNN and NVRTC. Networks on
the device run in the real ONNX Runtime on the processor, and from one run on the device is lost, has no memory, returns other
values, is slow or never answers, or kernels for its tiles cannot be started or compute other values. Each run processes six made volumes of 512 tiles with `--device cuda:0`, which is checked
every `--recheck` tiles, and continues once where it ended with 75. Then every item must be complete, with the labels of a run
of `builtin`, and `nocturne verify` must accept the batch. At the end one check in 500 tiles must have found the wrong values.

Needs numpy, nibabel, onnxruntime of Tools/requirements.txt, and cc. Takes about two minutes for each device that never
answers, since that is how long a run waits for it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import nibabel
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import ROOT

import onnxruntime

MODEL = ROOT / "Tests/Fixtures/Models/threshold"
VOLUMES = 6
EDGE = 72
#: Seconds after which a run counts as hung: a device that does not answer is left after 120.
PATIENCE = 300
FAULTS = ("lost", "memory", "wrong", "slow", "hang", "launch", "kernel")


@dataclass(frozen=True)
class Case:
    fault: str
    #: The number of the first run, or start of a kernel, with the fault.
    start: int
    #: One tile in so many is checked.
    recheck: int

    @property
    def is_silent(self) -> bool:
        """Whether every item is completed on the device: a slow one is not at fault, and kernels that fail when they are
        compared with the processor, some 200 starts before the first item, are not used."""
        return self.fault == "slow" or (self.fault in ("launch", "kernel") and self.start <= 40)


def cases(count: int, faults: list[str]) -> list[Case]:
    """As many of each fault, but two devices that never answer; starts from the first run to the last item."""
    found: list[Case] = [Case("hang", start, 500) for start in (2, 1500) if "hang" in faults]
    others = [fault for fault in faults if fault != "hang"]
    # 1010 and 2030 are in the last tiles of an item, whose check by one tile in 500 comes in the next item.
    starts, rechecks = (1, 2, 40, 513, 1010, 1600, 2030, 2900), (500, 50, 500, 7, 500, 1)
    for number in range(max(count - len(found), 0) if others else 0):
        turn = number // len(others)
        fault, start = others[number % len(others)], starts[turn % len(starts)]
        # Kernels start three times for a tile, and some hundred times when they are compared with the processor.
        start *= 4 if fault in ("launch", "kernel") and start > 40 else 1
        found.append(Case(fault, start, rechecks[turn % len(rechecks)]))
    return found


def make_inputs(folder: Path) -> None:
    random = np.random.default_rng(1)
    folder.mkdir()
    for number in range(VOLUMES):
        # Noise in every tile, so that none is left out.
        values = random.integers(0, 2, (EDGE, EDGE, EDGE)).astype(np.int16)
        nibabel.save(nibabel.Nifti1Image(values, np.eye(4)), folder / f"v{number}.nii.gz")


def build(folder: Path) -> dict[str, str]:
    """The variables with which Nocturne finds the stand-in."""
    folder.mkdir()
    source = Path(__file__).with_name("stand_in_gpu.c")
    for name in ("libonnxruntime.so.1", "libcuda.so.1", "libcudnn.so.9", "libnvrtc.so.13"):
        command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(folder / name), str(source), "-ldl", "-lpthread"]
        subprocess.run(command, check=True)
    real = next((Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so*"), None)
    if real is None:
        sys.exit("the package onnxruntime has no libonnxruntime.so")
    path = ":".join(filter(None, [str(folder), os.environ.get("LD_LIBRARY_PATH")]))
    return {
        "LD_LIBRARY_PATH": path,
        "NOCTURNE_ONNXRUNTIME": str(folder / "libonnxruntime.so.1"),
        "STAND_IN_ONNXRUNTIME": str(real),
    }


def run(options: argparse.Namespace, work: Path, output: Path, extra: list[str], variables: dict[str, str]) -> int:
    command = [options.nocturne, "run", str(work / "in"), "--model", str(MODEL), "--output", str(output)]
    command += ["--meshes", "none", "--threads", "2", "--memory", "2GB", *extra]
    environment = {**os.environ, **variables}
    code = subprocess.run(command, env=environment, capture_output=True, timeout=PATIENCE).returncode
    if code == 75:
        resume = [options.nocturne, "resume", str(output)]
        code = subprocess.run(resume, env=environment, capture_output=True, timeout=PATIENCE).returncode
    return code


def labels(output: Path) -> dict[str, np.ndarray]:
    return {
        path.parent.name: np.asarray(nibabel.load(path).dataobj) for path in sorted(output.glob("*/segmentation.nii.gz"))
    }


def judge(options: argparse.Namespace, output: Path, expected: dict[str, np.ndarray], code: int) -> dict:
    found = labels(output)
    engines, notes = Counter(), []
    for path in output.glob("*/result.json"):
        result = json.loads(path.read_text())
        engines[result["engine"]["name"]] += 1
        notes += [text for text in result["notes"] if "failed" in text]
    verified = subprocess.run([options.nocturne, "verify", str(output)], capture_output=True).returncode
    again = sum("made again" in line for line in (output / "events.jsonl").read_text().splitlines())
    return {
        "exit": code,
        "verify": verified,
        "wrong": sum(not np.array_equal(found[name], expected[name]) for name in found.keys() & expected.keys()),
        "lost": len(expected.keys() - found.keys()) + VOLUMES - sum(engines.values()),
        "engines": dict(engines),
        "noted": len(notes),
        "madeAgain": again,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--only", help="faults, separated by commas")
    parser.add_argument("--output", type=Path, help="where the rows are written as JSON")
    options = parser.parse_args()
    options.nocturne = str(Path(options.nocturne).resolve())
    faults = options.only.split(",") if options.only else list(FAULTS)
    rows, total = [], Counter()
    with tempfile.TemporaryDirectory(prefix="nocturne-device-") as name:
        work = Path(name)
        make_inputs(work / "in")
        variables = build(work / "stand-in")
        code = run(options, work, work / "expected", ["--engine", "builtin"], {})
        expected = labels(work / "expected")
        if code != 0 or len(expected) != VOLUMES:
            sys.exit(f"the run of builtin ended with {code}")
        for number, case in enumerate(cases(options.runs, faults)):
            output = work / f"out{number}"
            begin = time.monotonic()
            extra = ["--engine", "onnxruntime", "--device", "cuda:0", "--recheck", str(case.recheck)]
            injected = {**variables, "STAND_IN_FAULT": case.fault, "STAND_IN_FROM": str(case.start)}
            row: dict = {"fault": case.fault, "from": case.start, "recheck": case.recheck, "hung": 0}
            try:
                row |= judge(options, output, expected, run(options, work, output, extra, injected))
            except subprocess.TimeoutExpired:
                row |= {"hung": 1}
            row["seconds"] = round(time.monotonic() - begin, 1)
            rows.append(row)
            print(json.dumps(row), flush=True)
            for key in ("wrong", "lost", "hung", "verify"):
                total[key] += row.get(key, 0)
            total["exit"] += row.get("exit", 0) != 0
            missed = row.get("noted", 0) == 0
            total["unnoticed"] += not case.is_silent and missed
            total["withoutReason"] += case.is_silent and not missed
    print(f"{len(rows)} runs: " + ", ".join(f"{count} {key}" for key, count in sorted(total.items())))
    if options.output:
        options.output.write_text(json.dumps(rows, indent=1) + "\n")
    sys.exit(1 if sum(total.values()) else 0)


if __name__ == "__main__":
    main()
