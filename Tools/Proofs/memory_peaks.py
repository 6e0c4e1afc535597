#!/usr/bin/env python3
"""Holds measured peaks of memory against predicted ones, over sizes, classes, engines, precisions, plans and outputs.

    Tools/Proofs/memory_peaks.py NOCTURNE WORK [--only 'volume*;DICOM*'] [--quick] [--threads 2]

Every case is one item alone in its own process. Predicted and measured are `predictedPeakBytes` and
`peakResidentBytes` of its run.json. Of lean plans, whose sums lie in a file that the kernel can take back, the anonymous
memory is measured instead, every 10 ms, and the pages of the program's own files are left out on both sides.

A case fails when more than 1.05 of the prediction was taken, or, where more than 256 MiB were predicted, less than 0.8 of
it. Where surfaces, objects or cut-outs of what nobody has seen yet may be the largest part, with OpenVINO, and of
lean plans, the prediction is a bound: those are marked so, and fail only above. Inputs and packages are made in WORK and kept there.
OpenVINO's rows are left out where it is not installed (NOCTURNE_OPENVINO).
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tools"))

from model_package import recipe, spline, write_package
from phantoms.anatomy import draw
from phantoms.phantom import render, save_nifti
from phantoms.write_dicom import SeriesOptions, write_series

SAMPLE = ROOT / "Samples/Models/urinary-tract-ct"
LESIONS = ROOT / "Samples/Models/skin-lesions-demo"
SPINES = ROOT / "Samples/Models/book-spines"
FIXTURES = ROOT / "Tests/Fixtures/Models"
MOST, LEAST, BIG = 1.05, 0.8, 256 << 20
CT = {
    "name": "CT",
    "normalization": {"scheme": "ct", "lowerBound": -1000, "upperBound": 1000, "mean": 0, "standardDeviation": 200},
}

Shape = tuple[int, int, int]


@dataclasses.dataclass
class Case:
    name: str
    input: Callable[[], Path]
    models: list[Callable[[], Path]]
    options: list[str] = dataclasses.field(default_factory=list)
    # Whether the prediction is a bound that ordinary labels stay far below.
    bound: bool = False
    # A share of the ordinary plan's need to be given as the budget: the lean plan, then.
    budget: float | None = None
    quick: bool = False


class Inputs:
    """What the cases read, made once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def phantom(self, shape: Shape, flipped: bool) -> tuple[np.ndarray, np.ndarray]:
        """Drawn on a quarter of the grid and repeated: the values matter less than their number."""
        extent = np.array((400.0, 400.0, 390.0))
        coarse = tuple(max(2, n // 4) for n in shape)
        affine = np.diag([*(extent / np.array(coarse)), 1.0])
        affine[:3, 3] = -extent / 2 + np.array((0.0, 0.0, 30.0))
        if flipped:
            affine[:3, 0] *= -1
            affine[0, 3] *= -1
        hu, _ = render(draw(905), coarse, affine)
        for axis in range(3):
            hu = np.take(hu, np.minimum(np.arange(shape[axis]) * coarse[axis] // shape[axis], coarse[axis] - 1), axis)
        affine[:3, :3] *= np.array(coarse) / np.array(shape)
        return hu.astype(np.int16), affine

    def volume(self, shape: Shape, suffix: str = ".nii", flipped: bool = False, channels: int = 1) -> Callable[[], Path]:
        def make() -> Path:
            words = "x".join(map(str, shape)) + ("-flipped" if flipped else "")
            folder = self.folder / f"{words}{suffix.replace('.', '-')}-{channels}"
            if not folder.exists():
                temporary = folder.with_name("part")
                shutil.rmtree(temporary, ignore_errors=True)
                temporary.mkdir()
                hu, affine = self.phantom(shape, flipped)
                for channel in range(channels):
                    name = "case" + (f"_{channel:04}" if channels > 1 else "") + suffix
                    save_nifti(temporary / name, hu, affine)
                temporary.rename(folder)
            return folder

        return make

    def series(self, shape: Shape) -> Callable[[], Path]:
        def make() -> Path:
            folder = self.folder / ("dicom-" + "x".join(map(str, shape)))
            if not folder.exists():
                temporary = folder.with_name("part")
                shutil.rmtree(temporary, ignore_errors=True)
                hu, affine = self.phantom(shape, False)
                write_series(temporary, hu, affine, SeriesOptions(seed=5))
                temporary.rename(folder)
            return folder

        return make

    def photo(self, megapixels: int, suffix: str = ".jpg") -> Callable[[], Path]:
        """A shelf of the samples, enlarged."""

        def make() -> Path:
            folder = self.folder / f"photo-{megapixels}{suffix.replace('.', '-')}"
            if not folder.exists():
                folder.mkdir()
                with Image.open(sorted((ROOT / "Samples/Photos/shelves").glob("*.jpg"))[0]) as picture:
                    factor = (megapixels * 1e6 / (picture.width * picture.height)) ** 0.5
                    size = (int(picture.width * factor), int(picture.height * factor))
                    picture.convert("RGB").resize(size).save(folder / f"photo{suffix}")
            return folder

        return make

    def package(
        self, classes: int, patch: int = 64, channels: int = 1, native: bool = False, body: bool = False
    ) -> Callable[[], Path]:
        """A small U-shaped network with random weights, since memory does not depend on what the classes mean; or one
        that finds the body, the largest surface there is."""

        def make() -> Path:
            folder = self.folder / f"package-{classes}-{patch}-{channels}-{native}-{body}"
            if not (folder / "model.json").exists():
                import torch

                folder.mkdir(exist_ok=True)
                torch.manual_seed(5)
                network = torch.nn.Sequential(
                    torch.nn.Conv3d(channels, 8, 3, stride=2, padding=1),
                    torch.nn.InstanceNorm3d(8, affine=True),
                    torch.nn.LeakyReLU(0.01),
                    torch.nn.ConvTranspose3d(8, 16, 2, stride=2),
                    torch.nn.Conv3d(16, classes, 1),
                ).eval()
                if body:
                    network = torch.nn.Conv3d(1, 2, 1)
                    network.weight.data = torch.tensor([0.0, 1.0]).reshape(2, 1, 1, 1, 1)
                    # Above -300 HU, as the normalisation has it.
                    network.bias.data = torch.tensor([-1.5, 0.0])
                example = torch.zeros(1, channels, patch, patch, patch)
                torch.onnx.export(network, (example,), folder / "network.onnx", dynamo=False, opset_version=17)
                entry = recipe("stored", None if native else [1.5] * 3, [patch] * 3)
                entry["resampling"] = {"image": spline(3, 0, "auto"), "logits": spline(1, 0, "auto")}
                colours = [f"#{value * 69069 % 0xFFFFFF:06x}" for value in range(classes)]
                labels = [{"value": v, "name": f"class_{v}", "color": colours[v]} for v in range(1, classes)]
                manifest = {
                    "id": f"classes-{classes}", "name": "Classes", "description": "Random weights: for a proof of memory.",
                    "version": "1", "modalities": [], "labels": labels, "volumeSegmentation": entry,
                    "channels": [{**CT, "name": f"channel_{index}"} for index in range(channels)],
                }
                write_package(folder, manifest, ["network.onnx"])
            return folder

        return make


    def heavy(self) -> Callable[[], Path]:
        """A network with as many weights as nnU-Net's usual ones."""

        def make() -> Path:
            folder = self.folder / "package-heavy"
            if not (folder / "model.json").exists():
                import torch

                folder.mkdir(exist_ok=True)
                torch.manual_seed(5)
                layers: list[torch.nn.Module] = []
                for before, after in ((1, 16), (16, 64), (64, 320)):
                    layers += [torch.nn.Conv3d(before, after, 3, stride=2, padding=1), torch.nn.LeakyReLU(0.01)]
                for _ in range(11):
                    layers += [torch.nn.Conv3d(320, 320, 3, padding=1), torch.nn.LeakyReLU(0.01)]
                layers += [torch.nn.ConvTranspose3d(320, 16, 8, stride=8), torch.nn.Conv3d(16, 4, 1)]
                network = torch.nn.Sequential(*layers).eval()
                example = torch.zeros(1, 1, 64, 64, 64)
                torch.onnx.export(network, (example,), folder / "network.onnx", dynamo=False, opset_version=17)
                labels = [{"value": v, "name": f"class_{v}", "color": f"#00{v:02}00"} for v in range(1, 4)]
                manifest = {
                    "id": "heavy", "name": "Heavy", "description": "Random weights: for a proof of memory.",
                    "version": "1", "modalities": [], "labels": labels, "channels": [CT],
                    "volumeSegmentation": recipe("stored", [3.0] * 3, [64] * 3),
                }
                write_package(folder, manifest, ["network.onnx"])
            return folder

        return make


def kept(path: Path) -> Callable[[], Path]:
    return lambda: path


def cases(inputs: Inputs) -> list[Case]:
    sample, lesions, spines = kept(SAMPLE), kept(LESIONS), kept(SPINES)
    small, middle, large = (128, 128, 128), (256, 256, 200), (512, 512, 300)
    found = [
        Case("volume 64", inputs.volume((64, 64, 64)), [sample], quick=True),
        Case("volume 128", inputs.volume(small), [sample], quick=True),
        Case("volume 256", inputs.volume(middle), [sample], quick=True),
        Case("volume 256 gz", inputs.volume(middle, ".nii.gz"), [sample]),
        Case("volume 256 flipped", inputs.volume(middle, flipped=True), [sample]),
        Case("volume 512x100", inputs.volume((512, 512, 100)), [sample]),
        Case("volume 512x300", inputs.volume(large), [sample]),
        Case("volume 512x300 gz flipped", inputs.volume(large, ".nii.gz", flipped=True), [sample]),
        Case("volume 512x300, no meshes", inputs.volume(large), [sample], ["--meshes", "none"]),
        Case("volume 256, two labels", inputs.volume(middle), [sample], ["--labels", "left_kidney,right_kidney"]),
        Case("volume 256, slices drawn", inputs.volume(middle), [sample], ["--pictures"]),
        Case("volume 256, regions", inputs.volume(middle), [sample], ["--rois", str(ROOT / "Samples/regions.json")]),
        Case("volume 256, no meshes", inputs.volume(middle), [sample], ["--meshes", "none"], quick=True),
    ]
    for precision in ("exact", "bfloat16"):
        found.append(
            Case(f"volume 256, {precision}", inputs.volume(middle), [sample], ["--precision", precision, "--meshes", "none"], quick=True)
        )
    found.append(Case("volume 256, rounding", inputs.volume(middle), [sample], ["--reference-rounding"]))
    for precision in ("float32", "bfloat16"):
        case = Case(f"128 MiB of weights, {precision}", inputs.volume(small), [inputs.heavy()])
        found.append(dataclasses.replace(case, options=["--precision", precision, "--disable-tta"]))
    if os.environ.get("NOCTURNE_OPENVINO"):
        for shape, words in ((small, "128"), (middle, "256"), (large, "512x300")):
            found.append(
                Case(
                    f"volume {words}, openvino", inputs.volume(shape), [sample],
                    ["--engine", "openvino", "--meshes", "none"],
                )
            )
    for classes in (2, 16, 64, 118):
        for shape, words in ((small, "128"), (middle, "256"), (large, "512x300")):
            if (classes, words) in ((64, "512x300"),):
                continue
            case = Case(f"{classes} classes, {words}", inputs.volume(shape), [inputs.package(classes)])
            found.append(case)
    found += [
        Case("64 classes at native spacing, 256", inputs.volume(middle), [inputs.package(64, native=True)]),
        Case("64 classes, 128, lean", inputs.volume(small), [inputs.package(64)], budget=0.97),
        Case("the body's surface, 256", inputs.volume(middle), [inputs.package(2, native=True, body=True)]),
        Case("the body's surface, 512x300", inputs.volume(large), [inputs.package(2, native=True, body=True)]),
        Case("fixture of 64 classes, 128", inputs.volume(small), [kept(FIXTURES / "classes-64")], quick=True),
        Case("2 channels, 256", inputs.volume(middle, channels=2), [inputs.package(4, channels=2)]),
        Case("4 channels, 256", inputs.volume(middle, channels=4), [inputs.package(4, channels=4)]),
        Case("4 channels, 512x100 gz", inputs.volume((512, 512, 100), ".nii.gz", channels=4),
             [inputs.package(4, channels=4)]),
        Case("DICOM 256", inputs.series((256, 256, 120)), [sample]),
        Case("DICOM 512x200", inputs.series((512, 512, 200)), [sample]),
        Case("DICOM 512x200, no meshes", inputs.series((512, 512, 200)), [sample], ["--meshes", "none"]),
        Case("DICOM 512x200, segmentation", inputs.series((512, 512, 200)), [sample], ["--dicom-seg"]),
        Case("DICOM 512x200, structure set", inputs.series((512, 512, 200)), [sample], ["--rtstruct"]),
        Case("DICOM 512x200, both", inputs.series((512, 512, 200)), [sample], ["--dicom-seg", "--rtstruct"]),
    ]
    for megapixels in (3, 12, 24, 48):
        for name, model in (("lesions", lesions), ("spines", spines)):
            quick = megapixels == 12
            found.append(Case(f"{name}, {megapixels} MP", inputs.photo(megapixels), [model], quick=quick))
    for suffix in (".png", ".tif"):
        for name, model in (("lesions", lesions), ("spines", spines)):
            found.append(Case(f"{name}, 24 MP {suffix}", inputs.photo(24, suffix), [model]))
    found.append(Case("both photo models, 24 MP", inputs.photo(24), [lesions, spines]))
    for case in found:
        # Organs have small surfaces, and no book fills a shelf: what is planned for larger ones is not used. What
        # OpenVINO takes it does not tell: the engine's measure of it is too much rather than too little.
        case.bound = case.models[-1] in (sample, spines) and "none" not in case.options or "openvino" in case.options
        # The part of the file that a tile works on is planned too, and is not anonymous.
        case.bound = case.bound or case.budget is not None
    return found


class Bench:
    def __init__(self, nocturne: str, work: Path, threads: int) -> None:
        self.nocturne, self.work, self.threads = str(Path(nocturne).resolve()), work, threads

    def run(self, source: Path, models: list[Path], options: list[str]) -> tuple[int, list[dict], str]:
        """Exit code, run.json of every item, and what was said. Keeps the engine's figures for those who ask."""
        out = self.work / "out"
        shutil.rmtree(out, ignore_errors=True)
        words = [word for model in models for word in ("--model", str(model))]
        command = [self.nocturne, "run", str(source), *words, "--output", str(out), "--quiet", *options]
        with (self.work / "said").open("w+") as said:
            process = subprocess.Popen([*command, "--threads", str(self.threads)], stdout=said, stderr=said)
            self.anonymous = self.files = 0
            while process.poll() is None:
                self.look(process.pid)
                time.sleep(0.01)
            said.seek(0)
            text = said.read()
        return process.returncode, [json.loads(path.read_text()) for path in sorted(out.glob("*/run.json"))], text

    def look(self, parent: int) -> None:
        """The engine's anonymous memory, the most of it; and its files' pages, as at first."""
        try:
            found = [path.read_text().split() for path in Path(f"/proc/{parent}/task").glob("*/children")]
            engine = sum(found, [])
            lines = Path(f"/proc/{engine[0]}/status").read_text().splitlines() if engine else []
        except OSError:
            return
        words = dict(line.split(":", 1) for line in lines if ":" in line)
        if "RssAnon" in words:
            self.anonymous = max(self.anonymous, int(words["RssAnon"].split()[0]) << 10)
            self.files = self.files or int(words["RssFile"].split()[0]) << 10

    def planned(self, source: Path, models: list[Path], options: list[str]) -> dict:
        command = [self.nocturne, "plan", str(source), *[w for m in models for w in ("--model", str(m))], "--json"]
        done = subprocess.run([*command, *options, "--threads", str(self.threads)], capture_output=True, text=True)
        return json.loads(done.stdout)

    def try_case(self, case: Case) -> tuple[str, str | None]:
        """A row of the table, and what is wrong."""
        source, models, options = case.input(), [make() for make in case.models], list(case.options)
        if case.budget:
            need = self.planned(source, models, options)
            options += ["--memory", str(int(need["engineBytes"] + case.budget * need["items"][0]["peakBytes"]))]
            if not self.planned(source, models, options)["items"][0]["lean"]:
                return f"{case.name:36} has no lean plan", f"{case.name}: no lean plan"
        code, reports, said = self.run(source, models, options)
        if code != 0 or not reports:
            return f"{case.name:36} exit {code}: {said.strip()[-200:]}", f"{case.name}: exit {code}"
        predicted = max(report["predictedPeakBytes"] for report in reports)
        measured = max(report["peakResidentBytes"] for report in reports)
        if case.budget:
            predicted, measured = predicted - self.files, self.anonymous
        ratio = measured / predicted
        item = max(report["predictedItemPeakBytes"] for report in reports)
        row = f"{case.name:36} {item / 2**20:8.0f} {predicted / 2**20:10.0f} {measured / 2**20:9.0f} {ratio:7.2f}"
        if ratio > MOST:
            return row + "  above", f"{case.name}: {ratio:.2f} of the prediction"
        if ratio < LEAST and predicted > BIG and not case.bound:
            return row + "  below", f"{case.name}: {ratio:.2f} of the prediction"
        return row + ("  (a bound)" if case.bound else ""), None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("work", type=Path)
    parser.add_argument("--only", default="*", help="cases whose names fit one of these patterns, with ; between them")
    parser.add_argument("--quick", action="store_true", help="some of the smaller cases")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    inputs = Inputs(arguments.work)
    bench = Bench(arguments.nocturne, arguments.work, arguments.threads)
    print(f"{platform.processor() or platform.machine()}, {arguments.threads} threads")
    print(f"{'MiB':36} {'item':>8} {'predicted':>10} {'measured':>9} {'ratio':>7}")
    faults = []
    for case in cases(inputs):
        if not any(fnmatch.fnmatch(case.name, word) for word in arguments.only.split(";")) or arguments.quick and not case.quick:
            continue
        row, wrong = bench.try_case(case)
        print(row, flush=True)
        if wrong:
            faults.append(wrong)
    print(f"{len(faults)} faults")
    print("\n".join(faults))
    raise SystemExit(1 if faults else 0)


if __name__ == "__main__":
    main()
