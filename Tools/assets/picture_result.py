"""Draws one picture of a result: three slices with outlines and a shaded view of the surfaces.

    python Tools/assets/picture_result.py volume.nii.gz result-folder --output picture.png

The result folder holds `segmentation.nii.gz` on the grid of the volume and `meshes/<label>.stl` (binary STL, LPS mm).
Names and colours of the labels come from the model package.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import nibabel as nib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from mpl_toolkits.mplot3d.art3d import Poly3DCollection
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import SAMPLE_MODELS

PACKAGE = SAMPLE_MODELS / "urinary-tract-ct"
GROUND, INK = "#10131a", "#e8ebf2"
WINDOW = (-160.0, 340.0)  # HU shown from black to white


def read_stl(path: Path) -> NDArray[np.float32]:
    """Triangles (n, 3 corners, 3) of a binary STL, in the units and axes of the file."""
    content = path.read_bytes()
    count = int(np.frombuffer(content, "<u4", 1, 80)[0])
    record = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    return np.frombuffer(content, record, count, 84)["corners"]


def read_ras(path: Path) -> tuple[NDArray, NDArray[np.float64]]:
    """A NIfTI volume turned to RAS (x, y, z) and its spacing in mm."""
    image = nib.as_closest_canonical(nib.load(path))
    return np.asarray(image.dataobj), np.linalg.norm(image.affine[:3, :3], axis=0)


def draw_slice(
    axes: Axes,
    image: NDArray,
    labels: NDArray,
    colors: dict[int, str],
    steps: tuple[float, float],
    letters: tuple[str, str, str, str],
) -> None:
    """One slice: `image` and `labels` as rows and columns from the top left, `steps` (mm a row, mm a column)."""
    height, width = image.shape[0] * steps[0], image.shape[1] * steps[1]
    axes.imshow(image, "gray", vmin=WINDOW[0], vmax=WINDOW[1], extent=(0, width, height, 0), interpolation="bilinear")
    x = (np.arange(image.shape[1]) + 0.5) * steps[1]
    y = (np.arange(image.shape[0]) + 0.5) * steps[0]
    for value, color in colors.items():
        mask = labels == value
        if mask.any():
            axes.contourf(x, y, mask, levels=[0.5, 1.5], colors=[color], alpha=0.25)
            axes.contour(x, y, mask, levels=[0.5], colors=[color], linewidths=1.6)
    left, right, top, bottom = letters
    style = {"color": INK, "fontsize": 12, "fontweight": "bold", "transform": axes.transAxes}
    axes.text(0.02, 0.5, left, va="center", ha="left", **style)
    axes.text(0.98, 0.5, right, va="center", ha="right", **style)
    axes.text(0.5, 0.98, top, va="top", ha="center", **style)
    axes.text(0.5, 0.02, bottom, va="bottom", ha="center", **style)
    axes.set_axis_off()


def draw_slices(axes: list[Axes], image: NDArray, labels: NDArray, spacing: NDArray, colors: dict[int, str]) -> None:
    """Axial, coronal and sagittal slices (x, y, z arrays in RAS), displayed as on a workstation: R at the left."""
    sizes = np.bincount(labels.ravel(), minlength=max(colors) + 1).astype(float)
    weight = np.where(sizes > 0, 1 / np.maximum(sizes, 1), 0)  # every label counts the same
    weight[0] = 0
    presence = weight[labels]
    first = labels == min(colors)
    k = int(np.argmax(presence.sum(axis=(0, 1)))) if not first.any() else int(np.argmax(first.sum(axis=(0, 1))))
    j = int(np.argmax(presence.sum(axis=(0, 2))))
    i = int(np.argmax(presence.sum(axis=(1, 2))))
    sx, sy, sz = spacing
    views = [
        ((slice(None), slice(None), k), "R L A P", (sy, sx)),
        ((slice(None), j, slice(None)), "R L S I", (sz, sx)),
        ((i, slice(None), slice(None)), "A P S I", (sz, sy)),
    ]
    for ax, (cut, letters, steps) in zip(axes, views):
        # Rows from the top (A or S first), columns from the left (R or A first): both axes run backwards.
        shown = [array[cut].T[::-1, ::-1] for array in (image, labels)]
        draw_slice(ax, shown[0], shown[1], colors, steps, tuple(letters.split()))


def draw_surfaces(axes: Axes, meshes: dict[str, NDArray], colors: dict[str, str]) -> None:
    """The surfaces (LPS mm) from the front and a little from the left and above."""
    corners, paint = [], []
    light = np.array([-0.35, -0.80, 0.48])
    for name, triangles in meshes.items():
        normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-12)
        diffuse = (normal @ light).clip(0)
        shine = 0.35 * diffuse**24
        base = np.array(matplotlib.colors.to_rgb(colors.get(name, "#bbbbbb")))
        paint.append(np.clip(base * (0.30 + 0.75 * diffuse)[:, None] + shine[:, None], 0, 1))
        corners.append(triangles)
    everything = np.concatenate(corners)
    paints = np.concatenate(paint)
    surface = Poly3DCollection(everything, facecolors=paints, edgecolors=paints, linewidths=0.2, clip_on=False)
    axes.add_collection3d(surface)
    low, high = everything.min(axis=(0, 1)), everything.max(axis=(0, 1))
    axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), zlim=(low[2], high[2]))
    axes.set_box_aspect(high - low, zoom=1.35)
    axes.set_proj_type("ortho")
    axes.view_init(elev=8, azim=-78)
    axes.set_axis_off()
    style = {"color": INK, "fontsize": 12, "fontweight": "bold", "transform": axes.transAxes}
    axes.text2D(0.02, 0.5, "R", **style)
    axes.text2D(0.95, 0.5, "L", **style)
    axes.text2D(0.5, 1.12, "S", **style)
    axes.text2D(0.5, -0.10, "I", **style)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("volume", type=Path, help="the volume, .nii.gz")
    parser.add_argument("result", type=Path, help="folder with segmentation.nii.gz and meshes/*.stl")
    parser.add_argument("--package", type=Path, default=PACKAGE, help="model package with names and colours")
    parser.add_argument("--caption", default="synthetic phantom, no medical use")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    labels = json.loads((options.package / "model.json").read_text())["labels"]
    image, spacing = read_ras(options.volume)
    mask, _ = read_ras(options.result / "segmentation.nii.gz")
    meshes = {path.stem: read_stl(path) for path in sorted((options.result / "meshes").glob("*.stl"))}
    mask = mask.astype(np.int64)
    figure = plt.figure(figsize=(13, 8.4), facecolor=GROUND)
    margins = {"left": 0.01, "right": 0.99, "top": 0.98, "bottom": 0.09, "wspace": 0.03, "hspace": 0.03}
    grid = figure.add_gridspec(2, 3, width_ratios=(1, 1, 1.35), **margins)
    axes = [figure.add_subplot(grid[0, :2]), figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1])]
    draw_slices(axes, image, mask, spacing, {label["value"]: label["color"] for label in labels})
    surfaces = figure.add_subplot(grid[:, 2], projection="3d", facecolor=GROUND)
    if meshes:
        draw_surfaces(surfaces, meshes, {label["name"]: label["color"] for label in labels})
    handles = [Line2D([], [], color=label["color"], lw=6, label=label["name"].replace("_", " ")) for label in labels]
    place = {"loc": "lower left", "bbox_to_anchor": (0.01, 0.015), "ncols": len(handles)}
    figure.legend(handles=handles, frameon=False, labelcolor=INK, **place)
    figure.text(0.985, 0.03, options.caption, color=INK, ha="right", fontsize=11, style="italic")
    options.output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.output, dpi=110, facecolor=GROUND, metadata={"Software": None})


if __name__ == "__main__":
    main()
