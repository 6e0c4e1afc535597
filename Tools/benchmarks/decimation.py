"""Compares surfaces that --mesh-detail reduces with VTK's decimation of the same surfaces to as many triangles.

    python Tools/benchmarks/decimation.py NOCTURNE LABELMAP ... [--bounds 1.0] [--spacing 1.5] [--save]

Each label map, and that of a drawn body (Tools/lib/nocturne_tools/phantoms), is an existing label map of NOCTURNE, with the
surfaces of all labels as STL: with all triangles, with the default of --mesh-detail, and with each of the bounds in mm.
vtkQuadricDecimation and vtkDecimatePro (which preserves the topology) reduce each full surface to the number of triangles that
Nocturne has. For all labels of a map:

- bytes and triangles of the files;
- the largest distance in mm of 20,000 points by chance of each surface, and of its vertices, from the other one, in both
  directions (vtkImplicitPolyDataDistance); the mean one of the points, and the share of them that are beyond the bound;
- the difference of volume, the largest one of a label in percent;
- edges of one triangle, and of more than two (vtkFeatureEdges);
- seconds of one thread: for Nocturne those of the stage that makes the surfaces, less those without a reduction.

Prints a Markdown table; --save appends it to RESULTS.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import nibabel
import numpy as np
import vtk
from numpy.typing import NDArray
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.benchmark import append_results, machine_line
from nocturne_tools.phantoms.anatomy import draw
from nocturne_tools.phantoms.phantom import make_grid, render_labels, save_nifti

POINTS = 20_000


@dataclass
class Figures:
    """What is summed up over the labels of a map."""

    seconds: float = 0
    bytes: int = 0
    triangles: int = 0
    largest: float = 0
    distances: float = 0
    points: int = 0
    beyond: int = 0
    volume: float = 0
    open_edges: int = 0
    crowded_edges: int = 0

    def row(self, name: str) -> str:
        points = max(1, self.points)
        return (
            f"| {name} | {self.bytes / 1e6:.1f} | {self.triangles:,} | {self.largest:.2f} | {self.distances / points:.3f} "
            f"| {100 * self.beyond / points:.2f} | {self.volume:.3f} | {self.open_edges} | {self.crowded_edges} | {self.seconds:.2f} |"
        )


def surfaces(nocturne: str, labels: Path, out: Path, bound: str | None) -> float:
    """Makes the surfaces of all labels; the seconds of the stage that does so."""
    command = [nocturne, "run", str(labels), "--existing-labels", "--output", str(out), "--meshes", "stl", "--preview", "none"]
    command += ["--threads", "1", "--quiet", *([] if bound is None else ["--mesh-detail", bound])]
    subprocess.run(command, check=True)
    return json.loads(next(out.glob("*/run.json")).read_text())["seconds"]["render"]


def read(path: Path) -> vtk.vtkPolyData:
    reader = vtk.vtkSTLReader()
    reader.SetFileName(str(path))
    reader.MergingOn()
    reader.Update()
    return reader.GetOutput()


def reduced(full: vtk.vtkPolyData, name: str, triangles: int) -> tuple[vtk.vtkPolyData, float]:
    """The surface by a filter of VTK, and its seconds."""
    one = getattr(vtk, name)()
    one.SetInputData(full)
    one.SetTargetReduction(1 - triangles / full.GetNumberOfPolys())
    if name == "vtkDecimatePro":
        one.PreserveTopologyOn()
    start = time.perf_counter()
    one.Update()
    return one.GetOutput(), time.perf_counter() - start


def sampled(surface: vtk.vtkPolyData, rng: np.random.Generator) -> NDArray[np.float64]:
    """Its vertices, and points by chance that are as dense everywhere."""
    vertices = vtk_to_numpy(surface.GetPoints().GetData()).astype(np.float64)
    corners = vertices[vtk_to_numpy(surface.GetPolys().GetConnectivityArray()).reshape(-1, 3)]
    sides = corners[:, 1:] - corners[:, :1]
    areas = np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1)
    chosen = rng.choice(len(corners), POINTS, p=areas / areas.sum())
    a, b = rng.random((2, POINTS, 1))
    a, b = np.where(a + b > 1, 1 - a, a), np.where(a + b > 1, 1 - b, b)
    return np.concatenate([corners[chosen, 0] + a * sides[chosen, 0] + b * sides[chosen, 1], vertices])


def distances(points: NDArray[np.float64], surface: vtk.vtkPolyData) -> NDArray[np.float64]:
    """Of points from a surface, in mm."""
    distance, found = vtk.vtkImplicitPolyDataDistance(), vtk.vtkDoubleArray()
    distance.SetInput(surface)
    distance.FunctionValue(numpy_to_vtk(points), found)
    return np.abs(vtk_to_numpy(found))


def edges(surface: vtk.vtkPolyData, of_one: bool) -> int:
    """The number of edges of one triangle, or of more than two."""
    one = vtk.vtkFeatureEdges()
    one.SetInputData(surface)
    one.FeatureEdgesOff()
    one.ManifoldEdgesOff()
    one.SetBoundaryEdges(of_one)
    one.SetNonManifoldEdges(not of_one)
    one.Update()
    return one.GetOutput().GetNumberOfLines()


def volume(surface: vtk.vtkPolyData) -> float:
    measured = vtk.vtkMassProperties()
    measured.SetInputData(surface)
    return measured.GetVolume()


def add(figures: Figures, full: vtk.vtkPolyData, surface: vtk.vtkPolyData, bound: float, seconds: float = 0) -> None:
    """Adds the surface of one label."""
    rng = np.random.default_rng(11)
    figures.seconds += seconds
    figures.triangles += surface.GetNumberOfPolys()
    figures.bytes += 84 + 50 * surface.GetNumberOfPolys()  # as STL
    figures.open_edges += edges(surface, True)
    figures.crowded_edges += edges(surface, False)
    if surface is full:
        return
    for points, other in ((sampled(full, rng), surface), (sampled(surface, rng), full)):
        away = distances(points, other)
        figures.largest = max(figures.largest, float(away.max()))
        figures.distances += float(away[:POINTS].sum())
        figures.points += POINTS
        figures.beyond += int((away[:POINTS] > bound).sum())
    whole = volume(full)
    figures.volume = max(figures.volume, 100 * abs(volume(surface) - whole) / whole)


def compare(nocturne: str, labels: Path, work: Path, bounds: list[str | None]) -> list[str]:
    """The rows of one label map."""
    work.mkdir()
    # The ending by which a file counts as a label map.
    given, name = work / "map_seg.nii.gz", labels.name.split(".")[0]
    shutil.copy(labels, given)
    seconds = surfaces(nocturne, given, work / "full", "0")
    files = sorted((work / "full").glob("*/meshes/*.stl"))
    full = {path.stem: read(path) for path in files}
    figures = Figures(seconds)
    for surface in full.values():
        add(figures, surface, surface, 0)
    rows = [figures.row(f"{name}, {len(full)} labels, all triangles")]
    finest = min(nibabel.load(labels).header.get_zooms()[:3])
    for bound in bounds:
        limit = finest / 3 if bound is None else float(bound)
        out = work / f"reduced-{bound}"
        mine = Figures(surfaces(nocturne, given, out, bound) - seconds)
        theirs = {"vtkQuadricDecimation": Figures(), "vtkDecimatePro": Figures()}
        for path in sorted(out.glob("*/meshes/*.stl")):
            surface = read(path)
            add(mine, full[path.stem], surface, limit)
            for kind, peer in theirs.items():
                other, taken = reduced(full[path.stem], kind, surface.GetNumberOfPolys())
                add(peer, full[path.stem], other, limit, taken)
        rows.append(mine.row(f"Nocturne, {limit:.3g} mm{' (default)' if bound is None else ''}"))
        rows += [peer.row(kind) for kind, peer in theirs.items()]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne", help="the built program")
    parser.add_argument("labels", type=Path, nargs="*", help="label maps in NIfTI")
    parser.add_argument("--bounds", nargs="*", default=["1.0"], help="of --mesh-detail in mm, after its default")
    parser.add_argument("--spacing", type=float, default=1.5, help="of the drawn body in mm")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--save", action="store_true")
    options = parser.parse_args()
    vtk.vtkSMPTools.Initialize(1)
    before, rows = os.getloadavg()[0], list[str]()
    with tempfile.TemporaryDirectory() as name:
        body = Path(name) / "body.nii.gz"
        shape, affine = make_grid((options.spacing,) * 3)
        save_nifti(body, render_labels(draw(options.seed), shape, affine), affine)
        for number, labels in enumerate([*options.labels, body]):
            work = Path(name) / str(number)
            rows += compare(options.nocturne, labels, work, [None, *options.bounds])
            print("\n".join(rows[-7:]), file=sys.stderr, flush=True)
    columns = ["surfaces", "MB", "triangles", "largest mm", "mean mm", "beyond the bound %", "volume %"]
    columns += ["edges of 1 triangle", "of 3 or more", "s"]
    lines = [
        f"## {datetime.date.today()}: reduced surfaces compared with VTK, 1 thread\n",
        f"{machine_line()}; VTK {vtk.vtkVersion().GetVTKVersion()}. `decimation.py`, a body of {options.spacing} mm.",
        f"Load {before:.1f} before, {os.getloadavg()[0]:.1f} after.\n",
        f"| {' | '.join(columns)} |",
        "|" + " --- |" * len(columns),
        *rows,
    ]
    print("\n".join(lines))
    if options.save:
        append_results("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
