#!/usr/bin/env python3
"""What the engine `onnxruntime` does on an NVIDIA GPU: speed, use of the device, and labels compared with `builtin`.

    Tools/proofs/gpu.py NOCTURNE [--sizes 96 128] [--volumes 4] [--fill] [--output FILE]

In under ten minutes: library, driver and device; seconds of one patch of nnU-Net's plain 3-D U-Net (five stages from 32
features, random weights) with every engine, and with PyTorch where it sees the same GPU; two cohorts of made CTs, one with the
sample model and one with the U-Net of the last size, twice on the device and once with `builtin`: seconds, how busy the device
was (nvidia-smi), memory, whether two runs give the same bits, and how labels differ. With --fill a process that takes the
device's memory is started before one more run, whose items must be completed on the processor.

Needs the packages of Tools/requirements.txt, and the libraries of Tools/install-onnxruntime --gpu. Where there is no GPU that
can be used it says why, and does nothing else. --device cpu runs the same on the processor, as a rehearsal.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.machine import processor
from nocturne_tools.memory_inputs import CT, class_labels, write_network_package
from nocturne_tools.model_package import recipe
from nocturne_tools.paths import SAMPLES
from nocturne_tools.phantoms.anatomy import draw
from nocturne_tools.phantoms.phantom import make_grid, render, save_nifti
from nocturne_tools.result_tree import tree

FEATURES = [32, 64, 128, 256, 320]
SAMPLE = SAMPLES / "Models/urinary-tract-ct"
CLASSES = 3
#: Left free by the process of --fill: enough to start, too little for a run of the U-Net.
FREE_BYTES = 3_000 << 20
HOLD = """
import sys, torch
free, _ = torch.cuda.mem_get_info(0)
kept = [torch.empty(free - int(sys.argv[1]), dtype=torch.uint8, device="cuda")]
torch.cuda.synchronize()
print("ready", flush=True)
sys.stdin.read()
"""


class Device:
    """Samples of nvidia-smi while a run lasts."""

    def __init__(self, number: int) -> None:
        command = ["nvidia-smi", f"--id={number}", "--query-gpu=utilization.gpu,memory.used"]
        command += ["--format=csv,noheader,nounits", "--loop-ms=100"]
        try:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        except OSError:
            self.process = None

    def close(self) -> dict[str, float]:
        """The mean use in percent, and the most memory in MiB."""
        if self.process is None:
            return {}
        self.process.terminate()
        lines = self.process.communicate()[0].splitlines()
        rows = [[float(field) for field in line.split(",")] for line in lines if line.count(",") == 1]
        if not rows:
            return {}
        return {"devicePercent": statistics.fmean(row[0] for row in rows), "deviceMiB": max(row[1] for row in rows)}


def doctor(nocturne: str) -> tuple[str, bool]:
    """What is known of ONNX Runtime, and whether networks run on a GPU."""
    found = subprocess.run([nocturne, "doctor", "--json"], capture_output=True, text=True)
    facts = [f["fact"] for f in json.loads(found.stdout)["findings"] if f["subject"] == "ONNX Runtime"]
    text = facts[0] if facts else "the program has no engine onnxruntime"
    return text, "networks run on cuda" in text


def network() -> Any:
    """nnU-Net's plain U-Net."""
    import torch

    from nocturne_tools.onnx_fixtures.networks import PlainUNet, randomise

    torch.manual_seed(7)
    made = PlainUNet(3, 1, CLASSES, FEATURES)
    randomise(made)
    return made.eval()


def write_unet(folder: Path, side: int) -> None:
    """A package with the U-Net for patches of this side."""
    folder.mkdir(parents=True)
    manifest = {
        "id": f"unet-{side}",
        "name": "Plain U-Net",
        "channels": [CT],
        "labels": class_labels(CLASSES),
        "volumeSegmentation": recipe("RAS", [1.5, 1.5, 1.5], [side, side, side]),
    }
    write_network_package(folder, network(), (1, 1, side, side, side), manifest)


def pytorch_seconds(side: int, device: str) -> str:
    """Median seconds of a patch with PyTorch, in float32 without TF32."""
    import torch

    if device == "cpu" or not torch.cuda.is_available():
        return ""
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    made, patch = network().cuda(), torch.randn(1, 1, side, side, side)
    times = []
    with torch.inference_mode():
        for _ in range(8):
            torch.cuda.synchronize()
            start = time.perf_counter()
            # As an engine: the patch comes from the host, and the logits go there.
            made(patch.cuda()).cpu()
            times.append(time.perf_counter() - start)
        given = patch.cuda()
        made(given)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(10):
            made(given)
        torch.cuda.synchronize()
        alone = (time.perf_counter() - start) / 10
    text = f"{statistics.median(times[3:]):.4f} s with copies, {alone:.4f} s alone"
    return f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}: {text}"


def patches(nocturne: str, folder: Path, sizes: list[int], device: str) -> dict[str, Any]:
    """Every engine and PyTorch on one patch of each size."""
    found: dict[str, Any] = {}
    for side in sizes:
        package = folder / f"unet-{side}"
        write_unet(package, side)
        command = [nocturne, "models", "check", str(package), "--json", "--repeat", "5"]
        report = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        print(f"U-Net {side}³", flush=True)
        for row in report["networks"][0]["rows"]:
            print(
                f"  {row['engine']} {row['precision']} ({row['instructionSet']}): {row['secondsPerPatch']:.4f} s, "
                f"RMS difference {row['rmsRelativeDifference']:.1e}, same class {row['agreementPercent']:.4f} %",
                flush=True,
            )
        for absence in report["networks"][0]["absent"]:
            print(f"  not run: {absence['engine']}: {absence['reason'][:300]}", flush=True)
        peer = pytorch_seconds(side, device)
        print("  " + (peer or "PyTorch sees no GPU"), flush=True)
        found[f"unet{side}"] = {"rows": report["networks"][0]["rows"], "pytorch": peer}
    return found


def write_cohort(folder: Path, count: int) -> Path:
    """Made CTs of 400 x 400 x 390 mm with voxels of 1.5 mm."""
    folder.mkdir()
    for number in range(count):
        shape, affine = make_grid((1.5, 1.5, 1.5))
        volume, _ = render(draw(900 + number), shape, affine)
        save_nifti(folder / f"case-{number:02}.nii.gz", volume, affine)
    return folder


def run(nocturne: str, cohort: Path, package: Path, out: Path, options: list[str]) -> dict[str, Any]:
    """One batch: seconds, use of the device, memory of the host, engines and notes of the results."""
    sampler = Device(0)
    command = [nocturne, "run", str(cohort), "--model", str(package), "--output", str(out), "--quiet"]
    command += ["--meshes", "none", "--preview", "none", *options]
    start = time.perf_counter()
    code = subprocess.run(command).returncode
    figures: dict[str, Any] = {"exit": code, "seconds": time.perf_counter() - start, **sampler.close()}
    results = [json.loads(file.read_text()) for file in sorted(out.rglob("result.json"))]
    runs = [json.loads(file.read_text()) for file in sorted(out.rglob("run.json"))]
    figures["items"] = len(results)
    figures["engines"] = sorted({f"{r['engine']['name']}: {r['engine']['instructionSet']}" for r in results})
    figures["inferSeconds"] = sum(r["seconds"].get("infer", 0) for r in runs)
    figures["peakMiB"] = max((r["peakResidentBytes"] for r in runs), default=0) >> 20
    figures["notes"] = sorted({note for r in results for note in r["notes"] if "processor" in note})
    return figures


def shown(name: str, figures: dict[str, Any]) -> None:
    use = ""
    if "devicePercent" in figures:
        use = f", device busy {figures['devicePercent']:.0f} %, {figures['deviceMiB']:.0f} MiB"
    print(
        f"  {name}: exit {figures['exit']}, {figures['items']} items, {figures['seconds']:.1f} s "
        f"(inference {figures['inferSeconds']:.1f} s), host {figures['peakMiB']} MiB{use}",
        flush=True,
    )
    for text in figures["engines"] + figures["notes"]:
        print(f"    {text}", flush=True)


def label_maps(out: Path) -> dict[str, np.ndarray]:
    import nibabel

    files = sorted(out.rglob("segmentation.nii.gz"))
    return {file.parent.name: np.asanyarray(nibabel.load(file).dataobj) for file in files}


def differences(one: Path, other: Path) -> dict[str, Any]:
    """How many voxels of the label maps differ, and the lowest Dice coefficient of a label."""
    first, second = label_maps(one), label_maps(other)
    different, voxels, dice = 0, 0, 1.0
    for name, found in first.items():
        expected = second[name]
        different += int(np.count_nonzero(found != expected))
        voxels += found.size
        for value in np.union1d(np.unique(found), np.unique(expected)):
            if value:
                a, b = found == value, expected == value
                dice = min(dice, 2 * np.count_nonzero(a & b) / max(np.count_nonzero(a) + np.count_nonzero(b), 1))
    return {"items": len(first), "voxels": voxels, "different": different, "lowestDice": float(dice)}


def cohort_figures(arguments: argparse.Namespace, folder: Path, cohort: Path, package: Path) -> dict[str, Any]:
    """Two runs on the device and one with builtin."""
    print(f"cohort of {len(list(cohort.iterdir()))} with {package.name}", flush=True)
    chosen = ["--engine", "onnxruntime", "--device", arguments.device]
    found: dict[str, Any] = {}
    for name, options in [
        ("first", chosen), ("second", chosen), ("builtin", ["--engine", "builtin", "--device", "cpu"])
    ]:
        found[name] = run(arguments.nocturne, cohort, package, folder / f"{package.name}-{name}", options)
        shown(name, found[name])
    outs = [folder / f"{package.name}-{name}" for name in ("first", "second", "builtin")]
    trees = [{k: v for k, v in tree(out).items() if not k.endswith("run.json")} for out in outs[:2]]
    found["sameBits"] = trees[0] == trees[1]
    found["labels"] = differences(outs[0], outs[2])
    print(f"  two runs: {'the same bits' if found['sameBits'] else 'DIFFERENT'}", flush=True)
    print(f"  labels against builtin: {found['labels']}", flush=True)
    return found


def filled(arguments: argparse.Namespace, folder: Path, cohort: Path, package: Path) -> dict[str, Any]:
    """A run while another process holds the device's memory."""
    command = [sys.executable, "-c", HOLD, str(FREE_BYTES)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin and holder.stdout
        holder.stdout.readline()
        options = ["--engine", "onnxruntime", "--device", arguments.device]
        found = run(arguments.nocturne, cohort, package, folder / "filled", options)
        holder.stdin.close()
    shown("device full", found)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("--sizes", type=int, nargs="+", default=[96, 128], help="sides of the U-Net's patches")
    parser.add_argument("--volumes", type=int, default=4, help="volumes of a cohort")
    parser.add_argument("--device", default="cuda", help="cuda, cuda:N, or cpu for a rehearsal")
    parser.add_argument("--fill", action="store_true", help="also run with a device whose memory is taken")
    parser.add_argument("--output", type=Path, help="a file for all figures as JSON")
    arguments = parser.parse_args()
    facts, has_gpu = doctor(arguments.nocturne)
    print(f"{facts}\nprocessor: {processor()}", flush=True)
    if not has_gpu and arguments.device != "cpu":
        print("not run: there is no GPU that the engine onnxruntime can use on this machine")
        return
    folder = Path(tempfile.mkdtemp(prefix="gpu-"))
    found: dict[str, Any] = {"facts": facts, "processor": processor()}
    try:
        found |= patches(arguments.nocturne, folder, arguments.sizes, arguments.device)
        cohort = write_cohort(folder / "cohort", arguments.volumes)
        for package in (SAMPLE, folder / f"unet-{arguments.sizes[-1]}"):
            found[package.name] = cohort_figures(arguments, folder, cohort, package)
        if arguments.fill:
            found["full"] = filled(arguments, folder, cohort, package)
    finally:
        if arguments.output:
            arguments.output.write_text(json.dumps(found, indent=1))
        shutil.rmtree(folder, ignore_errors=True)
    wrong = [name for name in found if isinstance(found[name], dict) and found[name].get("sameBits") is False]
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
