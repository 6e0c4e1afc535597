#!/usr/bin/env python3
"""Compares label maps of brainchop's models voxel by voxel with a reference that needs neither TensorFlow nor Nocturne.

    Tools/proofs/compare_brainchop.py BRAINCHOP VOLUME.nii.gz                      # counts of the reference's labels
    Tools/proofs/compare_brainchop.py BRAINCHOP VOLUME.nii.gz --graphs             # and the packages' graphs against it
    Tools/proofs/compare_brainchop.py BRAINCHOP VOLUME.nii.gz --program NOCTURNE   # and the program against it

BRAINCHOP has folders of brainchop's models (public/models) and LICENSE. VOLUME is conformed: 256 x 256 x 256 voxels of
1 mm along L, I, A. The reference computes every layer of the file as it is, in these axes; the packages are exported
with turned kernels, so equal labels also show that axes are turned correctly. Each model needs minutes of one core, the
largest 10 GB. Exits with 1 where more voxels differ than --limit.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import torch
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.meshnet import graph, layers, reference, run_graph
from nocturne_tools.meshnet.known import KNOWN
from nocturne_tools.meshnet.package import NETWORK, Options, write
from nocturne_tools.reference_pipeline import dice

LabelMap = NDArray[np.uint8]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with brainchop's models")
    parser.add_argument("volume", type=Path, help="a conformed NIfTI file")
    parser.add_argument(
        "--models", nargs="+", choices=list(KNOWN), default=list(KNOWN), metavar="NAME", help=", ".join(KNOWN)
    )
    parser.add_argument("--graphs", action="store_true", help="run the packages' graphs with PyTorch, in RAS axes")
    parser.add_argument("--program", help="nocturne, to run the packages with it")
    parser.add_argument(
        "--option", action="append", default=[], help="of nocturne run, such as --option=--engine=builtin"
    )
    parser.add_argument("--limit", type=float, default=1e-4, help="of the labelled voxels that differ, as a share")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the reference's label maps, and reuse them")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def conformed(path: Path) -> nib.Nifti1Image:
    image = nib.load(path)
    axes = nib.aff2axcodes(image.affine)
    if image.shape != (256, 256, 256) or axes != ("L", "I", "A"):
        raise SystemExit(f"{path}: {image.shape} voxels along {''.join(axes)}, expected 256 of each along LIA")
    return image


def expected_labels(folder: Path, volume: NDArray, kept: Path | None) -> LabelMap:
    """The reference's label map before postprocessing."""
    if kept is not None and kept.is_file():
        return np.load(kept)
    image = reference.normalise(volume, KNOWN[folder.name].normalization)
    labels = reference.predict(layers.read(folder), image)
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.save(kept, labels)
    return labels


def labels_of_graph(package: Path, volume: NDArray, normalization: dict[str, Any]) -> LabelMap:
    """The package's graph on the volume turned to RAS, turned back."""
    turned = np.ascontiguousarray(graph.to_package(volume))
    return graph.from_package(run_graph.predict(package / NETWORK, reference.normalise(turned, normalization)))


def labels_of_program(program: str, package: Path, volume: Path, options: list[str]) -> LabelMap:
    with tempfile.TemporaryDirectory() as out:
        command = [program, "run", str(volume), "--model", str(package), "--output", out, "--quiet", "--meshes", "none"]
        subprocess.run([*command, *options], check=True)
        (file,) = Path(out).rglob("segmentation.nii.gz")
        return np.asarray(nib.load(file).dataobj).astype(np.uint8)


def report(who: str, found: LabelMap, expected: LabelMap) -> float:
    """Prints how two label maps differ; the share of the labelled voxels."""
    different = int((found != expected).sum())
    share = different / max(int((expected > 0).sum()), 1)
    lowest = min(dice(found, expected, value) for value in np.unique(expected[expected > 0]))
    print(
        f"  {who}: {different} voxels differ ({100 * share:.4f} % of the labelled), lowest Dice {lowest:.5f}",
        flush=True,
    )
    return share


def compare(name: str, arguments: argparse.Namespace, image: nib.Nifti1Image) -> float:
    """Prints counts and comparisons of one model; the largest share that differs."""
    volume, folder = np.asarray(image.dataobj), (arguments.folder / name).resolve()
    started = time.monotonic()
    expected = expected_labels(folder, volume, arguments.keep and arguments.keep / f"{name}.npy")
    kept = reference.keep_largest(expected)
    print(f"{name}: reference in {time.monotonic() - started:.0f} s", flush=True)
    shares = [0.0]
    with tempfile.TemporaryDirectory() as work:
        package = Path(work) / name
        with contextlib.redirect_stdout(io.StringIO()):
            manifest = write(folder, package, Options(), lambda _: None)
        counts = np.bincount(kept.ravel(), minlength=len(manifest["labels"]) + 1)
        print("  " + ", ".join(f"{label['name']} {counts[label['value']]}" for label in manifest["labels"]))
        print(f"  largest component removes {int((kept != expected).sum())} voxels", flush=True)
        if arguments.graphs:
            found = labels_of_graph(package, volume, KNOWN[name].normalization)
            shares.append(report("graph of the package", found, expected))
        if arguments.program:
            found = labels_of_program(arguments.program, package, arguments.volume, arguments.option)
            shares.append(report("nocturne", found, kept))
    return max(shares)


def main() -> int:
    arguments = parse()
    torch.set_num_threads(arguments.threads)
    image = conformed(arguments.volume)
    shares = [compare(name, arguments, image) for name in arguments.models]
    return 1 if max(shares) > arguments.limit else 0


if __name__ == "__main__":
    sys.exit(main())
