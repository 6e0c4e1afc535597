"""Compares Nocturne with PyTorch and OpenVINO on nnU-Net's plain 3-D U-Net: five stages from 32 features, patch 96x96x96.

    python Tools/benchmarks/unet96.py --nocturne .build/release/nocturne [--rounds 5] [--threads 2] [--patch 96] [--save]
    python Tools/benchmarks/unet96.py --nocturne .build/release/nocturne --dimensions 2 --patch 512

With --dimensions 2 the network is nnU-Net's for pictures of that side: eight stages from 32 to 512 features.

Exports the network (random weights) to ONNX, then runs PyTorch in float32 and with bfloat16 autocast, OpenVINO (where
its wheel is installed) in float32 and bfloat16 and, with the wheel nncf, in int8, and `nocturne models bench` in both
precisions, one after the other in every round, so that other load affects all of them, and prints a table, which --save
appends to RESULTS.md beside this file. Needs torch and onnx.
`--nocturne` is the command up to `models bench`; `--bench` replaces all of it ("{onnx}", "{patch}", "{threads}",
"{precision}" and "{repeats}" are filled in).
"""

import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

try:
    import openvino
except ImportError:
    openvino = None
try:
    import nncf
except ImportError:
    nncf = None

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.benchmark import append_results
from nocturne_tools.machine import processor
from nocturne_tools.onnx_fixtures.networks import PlainUNet

BENCH = (
    "{nocturne} models bench {onnx} --patch {patch} --threads {threads} --repeat {repeats} --precision {precision}"
)
RUNS = 2
FEATURES = {2: [32, 64, 128, 256, 512, 512, 512, 512], 3: [32, 64, 128, 256, 320]}
PAIRS = [
    ("Nocturne float32", "PyTorch float32"),
    ("Nocturne float32", "OpenVINO float32"),
    ("Nocturne bfloat16", "PyTorch bfloat16"),
    ("Nocturne bfloat16", "OpenVINO bfloat16"),
    ("Nocturne bfloat16", "PyTorch float32"),
    ("Nocturne float32", "OpenVINO int8"),
    ("Nocturne bfloat16", "OpenVINO int8"),
]


class Timings:
    """Seconds of wall and of processor time, one pair per run."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.work: list[float] = []

    def run(self, call: Callable[[], object]) -> None:
        for _ in range(RUNS):
            start, begin = time.perf_counter(), time.process_time()
            call()
            self.seconds.append(time.perf_counter() - start)
            self.work.append(time.process_time() - begin)


class NocturneRuns(Timings):
    def __init__(self, command: list[str]) -> None:
        super().__init__()
        self.command = command
        self.last: dict = {}

    def round(self) -> None:
        self.last = json.loads(subprocess.run(self.command, check=True, capture_output=True).stdout)
        self.seconds += self.last["seconds"]
        self.work += self.last["processorSeconds"]


class LibraryRuns(Timings):
    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__()
        self.call = call
        call()

    def round(self) -> None:
        self.run(self.call)


def autocast(network: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    with torch.autocast("cpu", torch.bfloat16):
        return network(x)


def compiled(path: str, x: torch.Tensor, precision: str, threads: int) -> Callable[[], object]:
    """With the precision "int8" weights and activations of convolutions are quantized, calibrated on one input: the speed does not
    depend on it."""
    model = openvino.Core().read_model(path)
    if precision == "int8":
        model = nncf.quantize(model, nncf.Dataset([x.numpy()]))
        precision = "f32"
    settings = {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    request = openvino.Core().compile_model(model, "CPU", settings).create_infer_request()
    given = x.numpy()
    return lambda: request.infer({0: given})


def engines(options: argparse.Namespace, network: torch.nn.Module, x: torch.Tensor, path: str) -> dict:
    patch = ",".join([str(options.patch)] * options.dimensions)
    result = {
        "PyTorch float32": lambda: LibraryRuns(lambda: network(x)),
        "PyTorch bfloat16": lambda: LibraryRuns(lambda: autocast(network, x)),
    }
    for name, precision in [("float32", "f32"), ("bfloat16", "bf16")]:
        if openvino:
            result[f"OpenVINO {name}"] = lambda p=precision: LibraryRuns(compiled(path, x, p, options.threads))
        command = options.bench.format(
            nocturne=options.nocturne,
            onnx=path,
            patch=patch,
            threads=options.threads,
            repeats=RUNS,
            precision=name,
        ).split()
        result[f"Nocturne {name}"] = lambda c=command: NocturneRuns(c)
    if openvino and nncf:
        result["OpenVINO int8"] = lambda: LibraryRuns(compiled(path, x, "int8", options.threads))
    wanted = options.only.split(",") if options.only else list(result)
    return {name: make() for name, make in result.items() if name in wanted}


def report(options: argparse.Namespace, timings: dict, before: float) -> str:
    nocturne = [t for t in timings.values() if isinstance(t, NocturneRuns)]
    work = nocturne[0].last["convolutionOperations"] / 1e9
    versions = f"PyTorch {torch.__version__}" + (f", OpenVINO {openvino.__version__}" if openvino else "")
    sets = ", ".join(sorted({f"{t.last['precision']} on {t.last['instructionSet']}" for t in nocturne}))
    size = f"{options.patch}{'²' if options.dimensions == 2 else '³'}"
    threads = f"{options.threads} thread" + ("" if options.threads == 1 else "s")
    lines = [
        f"## {datetime.date.today()}: plain {options.dimensions}-D U-Net, patch {size}, {work:.0f} GFLOP, {threads}",
        "",
        f"{processor()}, {platform.system()}; {versions}; Nocturne's builtin engine, {sets}.",
        f"{options.rounds} rounds of {RUNS} runs each, alternating. Load average {before:.1f} before and"
        f" {os.getloadavg()[0]:.1f} after, on {os.cpu_count()} cores.",
        "",
        "| engine | best s | median s | GFLOP/s, best | processor s, best |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, t in timings.items():
        best, median = min(t.seconds), statistics.median(t.seconds)
        lines.append(f"| {name} | {best:.3f} | {median:.3f} | {work / best:.0f} | {min(t.work):.3f} |")
    lines += ["", "| times as fast | by the best run | by the median | by processor time |", "| --- | --- | --- | --- |"]
    for ours, theirs in PAIRS:
        if ours not in timings or theirs not in timings:
            continue
        a, b = timings[ours], timings[theirs]
        lines.append(
            f"| {ours}: {theirs} | {min(b.seconds) / min(a.seconds):.2f} |"
            f" {statistics.median(b.seconds) / statistics.median(a.seconds):.2f} | {min(b.work) / min(a.work):.2f} |"
        )
    lines.append("")
    for t in nocturne:
        lines.append(
            f"Nocturne {t.last['precision']}: workspace {t.last['workspaceBytes'] / 2**20:.0f} MiB, weights"
            f" {t.last['weightBytes'] / 2**20:.0f} MiB."
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nocturne", default="nocturne")
    parser.add_argument("--bench", default=BENCH)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--patch", type=int, default=96)
    parser.add_argument("--dimensions", type=int, choices=sorted(FEATURES), default=3)
    parser.add_argument("--only", help="engines with their precision, separated by commas; Nocturne must be among them")
    parser.add_argument("--save", action="store_true", help="append to RESULTS.md")
    options = parser.parse_args()
    before = os.getloadavg()[0]
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    network = PlainUNet(options.dimensions, 1, 2, FEATURES[options.dimensions]).eval()
    x = torch.randn(1, 1, *[options.patch] * options.dimensions)
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        path = os.path.join(folder, "unet.onnx")
        torch.onnx.export(network, (x,), path, input_names=["x"], output_names=["y"], opset_version=17, dynamo=False)
        timings = engines(options, network, x, path)
        for _ in range(options.rounds):
            for name, t in timings.items():
                t.round()
                print(f"{name}: {', '.join(f'{s:.3f}' for s in t.seconds[-RUNS:])}", file=sys.stderr, flush=True)
    text = report(options, timings, before)
    print(text)
    if options.save:
        append_results(text)


if __name__ == "__main__":
    main()
