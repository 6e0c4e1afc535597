"""Compares Nocturne's geometry and gzip with cc3d, VTK and nibabel, taking turns on the same data.

    python Tools/benchmarks/geometry.py [--rounds 7] [--threads 2] [--size 256 256 256] [--only components surface]

Builds `geometry-bench` unless --bench names the built program, draws a multi-label map (warped blobs with
rough borders, and speckles) and a phantom CT from a fixed seed, and prints a Markdown table of medians and ratios. The
peers are called as their users call them. Needs cc3d, vtk, nibabel, SimpleITK, scipy.
"""

from __future__ import annotations

import argparse
import datetime
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import cc3d
import nibabel
import numpy as np
import SimpleITK
import vtk
from numpy.typing import NDArray
from scipy.ndimage import zoom
from vtk.util.numpy_support import numpy_to_vtk

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.benchmark import LineProgram, built, machine_line, timed
from nocturne_tools.phantoms.anatomy import FIELD_OF_VIEW, draw
from nocturne_tools.phantoms.phantom import make_grid, render

Size = tuple[int, int, int]
Labels = NDArray[np.uint16]  # (i, j, k), i fastest


def draw_labels(size: Size, count: int, seed: int) -> Labels:
    """`count` blobs, label 1 by far the largest, and speckles: one to eight voxels of any label."""
    rng = np.random.default_rng(seed)
    labels = np.zeros(size, np.uint16, order="F")
    for value in range(1, count + 1):
        radius = np.array(size) * (rng.uniform(0.28, 0.32, 3) if value == 1 else rng.uniform(0.02, 0.09, 3))
        center = np.array(size) * (0.5 if value == 1 else rng.uniform(0.1, 0.9, 3))
        low = np.maximum((center - 1.3 * radius).astype(int), 0)
        high = np.minimum((center + 1.3 * radius).astype(int) + 1, size)
        axes = [(np.arange(a, b) - c) / r for a, b, c, r in zip(low, high, center, radius)]
        distance = np.sqrt(axes[0][:, None, None] ** 2 + axes[1][None, :, None] ** 2 + axes[2][None, None, :] ** 2)
        coarse = rng.normal(0, 0.12, [max(2, n // 12) for n in distance.shape])
        rough = zoom(coarse, [n / m for n, m in zip(distance.shape, coarse.shape)], order=1)
        rough = rough + rng.normal(0, 0.01, distance.shape).astype(np.float32)
        labels[tuple(slice(a, b) for a, b in zip(low, high))][distance + rough < 1] = value
    for _ in range(int(np.prod(size)) // 4000):
        at = [int(rng.integers(n)) for n in size]
        labels[tuple(slice(a, a + int(rng.integers(1, 3))) for a in at)] = rng.integers(1, count + 1)
    return labels


def draw_image(size: Size, seed: int) -> NDArray[np.int16]:
    """A phantom CT that fills the grid, with the blur and the noise of a scanner."""
    spacing = tuple(2 * half / n for half, n in zip(np.array(FIELD_OF_VIEW) / 2, size))
    shape, affine = make_grid(spacing)
    image, _ = render(draw(seed), shape, affine)
    fitted = np.zeros(size, np.int16, order="F")
    common = tuple(slice(0, min(a, b)) for a, b in zip(size, image.shape))
    fitted[common] = image[common]
    return fitted


def vtk_image(labels: Labels) -> vtk.vtkImageData:
    """The label map with a border of background, which closes surfaces as Nocturne does."""
    padded = np.pad(labels, 1)
    image = vtk.vtkImageData()
    image.SetDimensions(*padded.shape)
    image.GetPointData().SetScalars(numpy_to_vtk(padded.ravel(order="F"), deep=True))
    return image


def vtk_surface(image: vtk.vtkImageData, value: int, smooth: bool) -> dict[str, float]:
    edges = vtk.vtkDiscreteFlyingEdges3D()
    edges.SetInputData(image)
    edges.SetValue(0, value)
    last: vtk.vtkPolyDataAlgorithm = edges
    if smooth:
        # As many steps as Nocturne makes, and the pass band of 3D Slicer's middle setting.
        last = vtk.vtkWindowedSincPolyDataFilter()
        last.SetInputConnection(edges.GetOutputPort())
        last.SetNumberOfIterations(20)
        last.SetPassBand(0.1)
        last.BoundarySmoothingOff()
        last.FeatureEdgeSmoothingOff()
        last.NonManifoldSmoothingOn()
        last.NormalizeCoordinatesOn()
    last.Update()
    return {"triangles": last.GetOutput().GetNumberOfPolys()}


def nibabel_save(array: NDArray, path: Path) -> dict[str, float]:
    nibabel.save(nibabel.Nifti1Image(array, np.eye(4)), path)
    return {}


def check_readable(path: Path, array: NDArray) -> None:
    """Ends the program unless nibabel and ITK read the same values from the file that Nocturne wrote."""
    if not np.array_equal(np.asanyarray(nibabel.load(path).dataobj), array):
        sys.exit(f"nibabel reads something else from {path.name}")
    if not np.array_equal(SimpleITK.GetArrayFromImage(SimpleITK.ReadImage(path)).T, array):
        sys.exit(f"SimpleITK reads something else from {path.name}")


@dataclass
class Task:
    """A line for Nocturne's program, a title, the peer's call, and the files to compare in size."""

    line: str
    title: str
    peer: Callable[[], dict[str, float]]
    array: NDArray | None = None


def tasks(folder: Path, labels: Labels, image: NDArray) -> dict[str, Task]:
    narrow = labels.astype(np.uint8 if labels.max() < 256 else np.uint16)
    grid = vtk_image(labels)

    def components() -> dict[str, float]:
        return {"components": int(cc3d.connected_components(labels, connectivity=26, return_N=True)[1])}

    def saved(name: str, title: str, array: NDArray) -> Task:
        peer = folder / f"peer-{name}.nii.gz"
        return Task(f"{name} {folder / f'ours-{name}.nii.gz'}", title, lambda: nibabel_save(array, peer), array)

    return {
        "components": Task("components 26", "connected components, 26, painted; cc3d", components),
        "surface": Task(
            "surface 1 0", "closed surface; vtkDiscreteFlyingEdges3D", lambda: vtk_surface(grid, 1, False)
        ),
        "smooth": Task("surface 1 20", "the same, smoothed; + windowed sinc", lambda: vtk_surface(grid, 1, True)),
        "image": saved("image", "int16 CT to .nii.gz; nibabel.save", image),
        "labels": saved("labels", "labels to .nii.gz; nibabel.save", narrow),
    }


def row(name: str, task: Task, ours: LineProgram, folder: Path, rounds: int) -> str:
    """One line of the table: medians over the rounds, after one that is not counted."""
    ours.ask(task.line), timed(task.peer)
    pairs = [(ours.ask(task.line), timed(task.peer)) for _ in range(rounds)]
    mine, theirs, my_work, their_work = (
        statistics.median(pair[side][clock] for pair in pairs)
        for clock in ("seconds", "processorSeconds")
        for side in (0, 1)
    )
    first = pairs[0]
    shared = [key for key in first[0] if key in first[1] and not key.lower().endswith("seconds")]
    notes = [f"{key} {first[0][key]} / {first[1][key]}" for key in shared]
    if task.array is not None:
        mine_bytes, peer_bytes = ((folder / f"{side}-{name}.nii.gz").stat().st_size for side in ("ours", "peer"))
        notes = [f"bytes {mine_bytes} / {peer_bytes} = {mine_bytes / peer_bytes:.3f}"]
        check_readable(folder / f"ours-{name}.nii.gz", task.array)
    return (
        f"| {task.title} | {mine:.4f} | {theirs:.4f} | {theirs / mine:.2f} | {my_work:.4f} | {their_work:.4f} "
        f"| {'; '.join(notes)} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--size", type=int, nargs=3, default=[256, 256, 256])
    parser.add_argument("--labels", type=int, default=60, help="how many labels the map has")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=["components", "surface", "smooth", "image", "labels"])
    parser.add_argument("--bench", help="the built program; built when not given")
    options = parser.parse_args()
    size: Size = tuple(options.size)
    program = options.bench or built("geometry-bench")
    vtk.vtkSMPTools.Initialize(options.threads)
    labels = draw_labels(size, options.labels, options.seed)
    image = draw_image(size, options.seed)
    load = os.getloadavg()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        labels.ravel(order="F").tofile(folder / "labels.raw")
        image.ravel(order="F").tofile(folder / "image.raw")
        inputs = [str(folder / "labels.raw"), str(folder / "image.raw")]
        ours = LineProgram([program, *map(str, size), *inputs, str(options.threads)])
        given = tasks(folder, labels, image)
        rows = [row(key, task, ours, folder, options.rounds) for key, task in given.items() if key in options.only]
    print(f"## {datetime.date.today()}: geometry and gzip, {'×'.join(map(str, size))}, {options.threads} threads\n")
    print(f"{machine_line()}; cc3d {version('connected-components-3d')},")
    print(f"VTK {vtk.vtkVersion().GetVTKVersion()} ({vtk.vtkSMPTools.GetBackend()}), nibabel {nibabel.__version__}.")
    print(f"Medians of {options.rounds}, taking turns. Load {load[0]:.1f} before, {os.getloadavg()[0]:.1f} after.\n")
    columns = ["task; peer", "Nocturne s", "peer s", "times as fast", "Nocturne processor s", "peer processor s"]
    print(f"| {' | '.join(columns)} | ours / peer |")
    print("|" + " --- |" * 7)
    print("\n".join(rows))


if __name__ == "__main__":
    main()
