"""Compares the builtin engine with ONNX Runtime and OpenVINO on common networks of nnU-Net, MONAI, timm and torchvision.

    python Tools/benchmarks/networks.py .build/release/nocturne [--only WORDS] [--exporter torchscript|dynamo] [--rounds 3]
        [--threads 2] [--folder FOLDER] [--save]

Each network is built with random weights by its own library and exported as one ONNX file (operator set 17 by PyTorch's
TorchScript exporter, 20 by its newer one), which FOLDER keeps. Then `nocturne models bench`, ONNX Runtime and OpenVINO run
it in turns, in float32, on the same noise. The table has, for each network, the largest difference from ONNX Runtime relative
to the largest output, the best seconds of each program that runs it, and Nocturne's workspace and weights together; below it
stands which networks each program does not run, and which only it does. --save appends it to RESULTS.md. Needs torch, onnx, onnxruntime and the libraries of the networks
(timm, monai, torchvision, dynamic-network-architectures, backgroundremover); a network whose library is missing is left
out with a message. OpenVINO is optional.
"""

import argparse
import datetime
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch

try:
    import openvino
except ImportError:
    openvino = None

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.benchmark import append_results, machine_line
from nocturne_tools.benchmark_networks import NETWORKS, Network, export

import onnxruntime

RUNS = 2
NOCTURNE = "Nocturne"


@dataclass
class Row:
    """What was seen of one network."""

    name: str
    #: By program: what it reports of a network that it does not run.
    problems: dict[str, str] = field(default_factory=dict)
    #: By program: the largest difference from ONNX Runtime, relative to the largest output.
    differences: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    mib: float = 0


def noise(count: int) -> np.ndarray:
    """The values on which `nocturne models bench` runs a network."""
    values = np.empty(count, dtype=np.float32)
    multiplier, increment, mask = 6364136223846793005, 1442695040888963407, 2**64 - 1
    # A block is calculated from the one before it: x[n + b] = a^b x[n] + c (a^b - 1) / (a - 1).
    block = min(count, 1 << 12)
    state, states = 0x9E3779B97F4A7C15, []
    for _ in range(block):
        state = (state * multiplier + increment) & mask
        states.append(state)
    power, offset = 1, 0
    for _ in range(block):
        power, offset = power * multiplier & mask, (offset * multiplier + increment) & mask
    current = np.array(states, dtype=np.uint64)
    for first in range(0, count, block):
        part = current[: count - first]
        values[first : first + block] = (part >> np.uint64(40)).astype(np.float32) / np.float32(8388608) - 1
        current = current * np.uint64(power) + np.uint64(offset)
    return values


def bench(options: argparse.Namespace, path: Path, network: Network, output: Path, row: Row) -> None:
    """One round of Nocturne: the best of its runs, and its memory."""
    command = [options.nocturne, "models", "bench", str(path), "--threads", str(options.threads)]
    command += ["--patch", ",".join(map(str, network.shape[2:])), "--repeat", str(RUNS)]
    environment = {**os.environ, "NOCTURNE_BENCH_OUTPUT": str(output)}
    process = subprocess.run(command, capture_output=True, text=True, env=environment)
    if process.returncode != 0:
        lines = [line for line in process.stderr.splitlines() if line.strip()]
        row.problems[NOCTURNE] = lines[0].removeprefix("Error: ")[:200] if lines else f"exit code {process.returncode}"
        return
    report = json.loads(process.stdout)
    seconds = min(report["seconds"])
    row.seconds[NOCTURNE] = min(seconds, row.seconds.get(NOCTURNE, seconds))
    row.mib = (report["workspaceBytes"] + report["weightBytes"]) / 2**20


def onnxruntime_call(options: argparse.Namespace, path: Path, x: np.ndarray) -> Callable[[], np.ndarray]:
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": x})[0]


def openvino_call(options: argparse.Namespace, path: Path, x: np.ndarray) -> Callable[[], np.ndarray]:
    hints = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    hints["INFERENCE_NUM_THREADS"] = options.threads
    request = openvino.Core().compile_model(str(path), "CPU", hints).create_infer_request()
    return lambda: next(iter(request.infer({0: x}).values()))


def libraries(options: argparse.Namespace, path: Path, x: np.ndarray, row: Row) -> dict[str, Callable[[], np.ndarray]]:
    """The libraries that run the network."""
    calls: dict[str, Callable[[], np.ndarray]] = {}
    for name, make in (("ONNX Runtime", onnxruntime_call), ("OpenVINO", openvino_call)):
        if name == "OpenVINO" and not openvino:
            continue
        try:
            call = make(options, path, x)
            call()
        except Exception as error:  # What a library does not run is a result.
            row.problems[name] = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
        else:
            calls[name] = call
    return calls


def compare(options: argparse.Namespace, network: Network, folder: Path) -> Row:
    row = Row(network.name)
    path = folder / (re.sub(r"\W+", "-", network.name).strip("-") + f"-{options.exporter}.onnx")
    if not path.exists():
        export(network, path, options.exporter)
    output = folder / "output.bin"
    output.unlink(missing_ok=True)
    bench(options, path, network, output, row)
    x = noise(int(np.prod(network.shape))).reshape(network.shape)
    calls = libraries(options, path, x, row)
    results = {name: call() for name, call in calls.items()}
    expected = results.get("ONNX Runtime")
    if expected is not None:
        if NOCTURNE not in row.problems:
            results[NOCTURNE] = np.fromfile(output, dtype=np.float32).reshape(expected.shape)
        for name in results.keys() - {"ONNX Runtime"}:
            row.differences[name] = float(np.abs(results[name] - expected).max() / np.abs(expected).max())
    for turn in range(options.rounds):
        if turn > 0 and NOCTURNE not in row.problems:
            bench(options, path, network, output, row)
        for name, call in calls.items():
            for _ in range(RUNS):
                start = time.perf_counter()
                call()
                elapsed = time.perf_counter() - start
                row.seconds[name] = min(elapsed, row.seconds.get(name, elapsed))
    return row


def table(options: argparse.Namespace, rows: list[Row], before: float) -> str:
    versions = f"PyTorch {torch.__version__}, ONNX Runtime {onnxruntime.__version__}"
    versions += f", OpenVINO {openvino.__version__}" if openvino else ""
    opset = 17 if options.exporter == "torchscript" else 20
    lines = [
        f"## {datetime.date.today()}: {len(rows)} networks, with ONNX Runtime and OpenVINO, {options.threads} threads",
        "",
        f"{machine_line()}; {versions}; exporter {options.exporter}, operator set {opset}; float32, random weights.",
        f"{options.rounds} rounds of {RUNS} runs each, in turns; best seconds. Load average {before:.1f} before and"
        f" {os.getloadavg()[0]:.1f} after.",
        "",
        "| network | difference of Nocturne | of OpenVINO | Nocturne s | ONNX Runtime s | OpenVINO s | MiB |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    programs = (NOCTURNE, "ONNX Runtime", "OpenVINO")
    for row in rows:
        cells = [f"{row.differences[name]:.1e}" if name in row.differences else "" for name in (NOCTURNE, "OpenVINO")]
        cells += [f"{row.seconds[name]:.3f}" if name in row.seconds else "does not run" for name in programs]
        lines.append(f"| {row.name} | {' | '.join(cells)} | {row.mib:.0f} |")
    lines.append("")
    for name in programs:
        missing = [f"{row.name} ({row.problems[name]})" for row in rows if name in row.problems]
        alone = [row.name for row in rows if set(row.seconds) == {name}]
        lines.append(
            f"- {name}: {sum(name in row.seconds for row in rows)} of {len(rows)} networks; "
            f"not {', '.join(missing) or 'one missing'}; alone {', '.join(alone) or 'none'}."
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("--only", help="words separated by commas; networks whose name has one of them")
    parser.add_argument("--exporter", choices=("torchscript", "dynamo"), default="torchscript")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where exported files are kept; a temporary folder otherwise")
    parser.add_argument("--save", action="store_true", help="append to RESULTS.md")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    onnxruntime.set_default_logger_severity(3)
    words = options.only.lower().split(",") if options.only else [""]
    before, rows = os.getloadavg()[0], []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for network in NETWORKS:
            if not any(word in network.name.lower() for word in words):
                continue
            try:
                row = compare(options, network, folder)
            except ImportError as error:
                print(f"{network.name} is left out: {error}", file=sys.stderr)
                continue
            except Exception as error:  # An exporter or a library that fails is a result, too.
                text = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
                row = Row(network.name, problems=dict.fromkeys((NOCTURNE, "ONNX Runtime", "OpenVINO"), text))
            rows.append(row)
            print(row, file=sys.stderr, flush=True)
    text = table(options, rows, before)
    print(text)
    if options.save:
        append_results(text)


if __name__ == "__main__":
    main()
