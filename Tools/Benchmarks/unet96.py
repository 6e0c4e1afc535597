"""Nocturne against PyTorch on nnU-Net's plain 3-D U-Net: five stages from 32 features, patch 96x96x96, float32.

    python unet96.py --nocturne ../../.build/release/nocturne [--rounds 5] [--threads 2] [--patch 96] [--save]

Exports the network (random weights) to ONNX, then runs PyTorch and `nocturne models bench` alternately, so that a busy
machine hurts both, and prints a table, which --save appends to RESULTS.md beside this file. Needs torch and onnx.
`--nocturne` is the command up to `models bench`; `--bench` replaces all of it ("{onnx}", "{patch}", "{threads}" and
"{repeats}" are filled in).
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time

import torch

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from onnx_fixture_networks import PlainUNet  # noqa: E402


def processor():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nocturne", default="nocturne")
    parser.add_argument(
        "--bench", default="{nocturne} models bench {onnx} --patch {patch} --threads {threads} --repeat {repeats}"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--patch", type=int, default=96)
    parser.add_argument("--save", action="store_true", help="append to RESULTS.md")
    options = parser.parse_args()
    load = os.getloadavg()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    network = PlainUNet(3, 1, 2, [32, 64, 128, 256, 320]).eval()
    x = torch.randn(1, 1, *[options.patch] * 3)
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        path = os.path.join(folder, "unet.onnx")
        torch.onnx.export(network, (x,), path, input_names=["x"], output_names=["y"], opset_version=17, dynamo=False)
        patch = ",".join([str(options.patch)] * 3)
        command = options.bench.format(
            nocturne=options.nocturne, onnx=path, patch=patch, threads=options.threads, repeats=2
        ).split()
        network(x)
        torch_seconds, nocturne_seconds, torch_work, nocturne_work, last = [], [], [], [], None
        for _ in range(options.rounds):
            for _ in range(2):
                start, begin = time.perf_counter(), time.process_time()
                network(x)
                torch_seconds.append(time.perf_counter() - start)
                torch_work.append(time.process_time() - begin)
            last = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            nocturne_seconds += last["seconds"]
            nocturne_work += last["processorSeconds"]
            print(f"torch {torch_seconds[-2:]}  nocturne {last['seconds']}", file=sys.stderr, flush=True)
    work = last["convolutionOperations"] / 1e9

    def row(name, seconds, processor_seconds):
        ordered = sorted(seconds)
        median = ordered[len(ordered) // 2]
        return (
            f"| {name} | {ordered[0]:.3f} | {median:.3f} | {work / ordered[0]:.0f} |"
            f" {min(processor_seconds):.3f} |"
        )

    ratio = sorted(torch_seconds)[len(torch_seconds) // 2] / sorted(nocturne_seconds)[len(nocturne_seconds) // 2]
    by_processor = min(torch_work) / min(nocturne_work)
    threads = f"{options.threads} thread" + ("" if options.threads == 1 else "s")
    text = "\n".join(
        [
            f"## {datetime.date.today()}: plain 3-D U-Net, patch {options.patch}³, {work:.0f} GFLOP, {threads}",
            "",
            f"{processor()}, {platform.system()}; PyTorch {torch.__version__}; Nocturne engine"
            f" {last['engine']}, {last['instructionSet']}.",
            f"{options.rounds} rounds of two runs each, alternating. Load average {load[0]:.1f} before and"
            f" {os.getloadavg()[0]:.1f} after, on {os.cpu_count()} cores.",
            "",
            "| engine | best s | median s | GFLOP/s, best | processor s, best |",
            "| --- | --- | --- | --- | --- |",
            row("PyTorch float32", torch_seconds, torch_work),
            row("Nocturne builtin float32", nocturne_seconds, nocturne_work),
            "",
            f"Nocturne is {min(torch_seconds) / min(nocturne_seconds):.2f} times as fast by the best run, {ratio:.2f} times"
            f" by the median, {by_processor:.2f} times by processor time.",
            f"Workspace {last['workspaceBytes'] / 2**20:.0f} MiB, weights {last['weightBytes'] / 2**20:.0f} MiB.",
            "",
        ]
    )
    print(text)
    if options.save:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "RESULTS.md"), "a") as file:
            file.write("\n" + text)


if __name__ == "__main__":
    main()
