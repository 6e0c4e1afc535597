"""Renders a phantom on any grid: HU as int16 and a label map as uint8.

Arrays are indexed (i, j, k) and stored with i fastest, as NIfTI does; a 4x4 affine maps voxel (i, j, k) to RAS+ mm.
The anatomy is analytic, so one seed gives the same body for every spacing and orientation.

    PYTHONPATH=Tools/lib python -m nocturne_tools.phantoms.phantom --seed 7 --spacing 3 3 5 --orientation LPS --output volume.nii.gz --labels labels.nii.gz
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.spatial import cKDTree

from nocturne_tools.phantoms.anatomy import FIELD_OF_VIEW, LABELS, Anatomy, Ellipsoid, Tube, draw, rotation

Affine = NDArray[np.float64]  # (4, 4), voxel (i, j, k, 1) -> RAS+ mm
_DIRECTIONS = {"R": (0, 1), "L": (0, -1), "A": (1, 1), "P": (1, -1), "S": (2, 1), "I": (2, -1)}


def make_grid(
    spacing: tuple[float, float, float],
    orientation: str = "RAS",
    tilt: tuple[float, float, float] = (0.0, 0.0, 0.0),
    extent: tuple[float, float, float] = FIELD_OF_VIEW,
    center: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> tuple[tuple[int, int, int], Affine]:
    """A grid that covers `extent` (mm along x, y, z) around `center`.

    `spacing` is in array order (i, j, k); `orientation` names the direction in which i, j and k grow; `tilt` turns
    the grid about x, y, z in degrees. Returns the shape (i, j, k) and the affine.
    """
    affine = np.eye(4)
    shape = []
    for axis, (letter, step) in enumerate(zip(orientation, spacing)):
        world, sign = _DIRECTIONS[letter]
        affine[:3, axis] = 0
        affine[world, axis] = sign * step
        shape.append(int(round(extent[world] / step)))
    affine[:3, :3] = rotation(tilt) @ affine[:3, :3]
    affine[:3, 3] = np.array(center) - affine[:3, :3] @ ((np.array(shape) - 1) / 2)
    return (shape[0], shape[1], shape[2]), affine


class _Canvas:
    """A grid being painted; every primitive touches only its own bounding box."""

    def __init__(self, shape: tuple[int, int, int], affine: Affine) -> None:
        self.shape, self.affine, self.inverse = shape, affine, np.linalg.inv(affine)
        self.hu = np.full(shape, -1000.0, dtype=np.float32)
        self.labels = np.zeros(shape, dtype=np.uint8)

    def box(self, low: NDArray, high: NDArray) -> tuple[tuple[slice, slice, slice], NDArray] | None:
        """The slices of the world box and the world points (3, a, b, c) in it; None when it is outside the grid."""
        corners = np.array(
            [[x, y, z, 1] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])]
        )
        voxels = (self.inverse @ corners.T)[:3]
        first = np.maximum(np.floor(voxels.min(axis=1)).astype(int), 0)
        last = np.minimum(np.ceil(voxels.max(axis=1)).astype(int) + 1, self.shape)
        if np.any(first >= last):
            return None
        index = np.meshgrid(*[np.arange(a, b) for a, b in zip(first, last)], indexing="ij")
        points = np.einsum("wv,vabc->wabc", self.affine[:3, :3], np.stack(index).astype(np.float64))
        points += self.affine[:3, 3][:, None, None, None]
        return tuple(slice(a, b) for a, b in zip(first, last)), points

    def ellipsoid(self, shape: Ellipsoid) -> tuple[tuple[slice, slice, slice], NDArray, NDArray] | None:
        """Slices, squared normalised radius (<= 1 inside) and local coordinates in units of the radii (3, a, b, c)."""
        reach = np.abs(shape.rotation) @ shape.radii
        found = self.box(shape.center - reach, shape.center + reach)
        if found is None:
            return None
        where, points = found
        local = np.einsum("vw,wabc->vabc", shape.rotation.T, points - shape.center[:, None, None, None])
        local /= shape.radii[:, None, None, None]
        return where, np.sum(local**2, axis=0), local

    def fill(self, shape: Ellipsoid) -> None:
        found = self.ellipsoid(shape)
        if found is not None:
            self.hu[found[0]][found[1] <= 1] = shape.value

    def along(self, shape: Tube) -> tuple[tuple[slice, slice, slice], NDArray, NDArray] | None:
        """Slices, distance to the centre line divided by the radius, and the index of the nearest centre-line point."""
        reach = float(shape.radii.max()) + 0.5
        found = self.box(shape.points.min(axis=0) - reach, shape.points.max(axis=0) + reach)
        if found is None:
            return None
        where, points = found
        distance, nearest = cKDTree(shape.points).query(points.reshape(3, -1).T, distance_upper_bound=reach)
        nearest = np.minimum(nearest, len(shape.points) - 1)
        ratio = distance / shape.radii[nearest]
        return where, ratio.reshape(points.shape[1:]), nearest.reshape(points.shape[1:])

    def draw(self, shape: Tube) -> None:
        found = self.along(shape)
        if found is not None:
            where, ratio, nearest = found
            inside = ratio <= 1
            self.hu[where][inside] = shape.values[nearest[inside]]


def _torso(canvas: _Canvas, a: Anatomy) -> None:
    """Body outline, fat, muscle wall and bones."""
    size = np.array(FIELD_OF_VIEW)
    where, (x, y, z) = canvas.box(-size, size)
    width = a.body_radii[0] * (1 - 0.04 * np.cos((z - 10) / 60 + 0.3 * np.sin(a.body_phase)))
    depth = a.body_radii[1] * (1 + 0.03 * np.sin(z / 70 + a.body_phase))
    angle = np.arctan2(y, x)
    wobble = 1 + 0.015 * np.sin(3 * angle + a.body_phase) + 0.01 * np.sin(5 * angle + z / 80)
    outside = ((np.abs(x) / (width * wobble)) ** 2.4 + (np.abs(y) / (depth * wobble)) ** 2.4) ** (1 / 2.4)
    depth_mm = (1 - outside) * np.minimum(width, depth)  # about the distance to the skin, positive inside
    hu = canvas.hu[where]
    hu[depth_mm > 0] = a.tissue["fat"]
    hu[(depth_mm > 0) & (depth_mm < 2.5)] = 20
    hu[(depth_mm > a.fat_rim) & (depth_mm < a.fat_rim + a.wall)] = a.tissue["muscle"]
    line = a.spine_y + a.lordosis * np.cos(z / 75)  # the spine is curved in the median plane
    back = (np.abs(x) < 62) & (y < line - 8) & (y > line - 42) & (depth_mm > a.fat_rim * 0.8)
    hu[back] = a.tissue["muscle"]
    for side in (-1, 1):  # psoas and gluteal muscles
        psoas = ((x - side * (34 + 0.10 * (30 - z))) / 17) ** 2 + ((y - line - 6 - 0.10 * (30 - z).clip(0)) / 19) ** 2
        hu[(psoas < 1) & (z < 60) & (z > -95)] = a.tissue["muscle"]
        hu[(np.abs(x - side * 88) < 34) & (y < -38) & (z < -60) & (depth_mm > a.fat_rim * 0.8)] = a.tissue["muscle"]
    level = (z + a.vertebra_phase) / a.vertebra_period
    part = level - np.floor(level)
    radius = a.vertebra_radius * (1 + 0.08 * np.cos(2 * np.pi * part))
    radial = np.sqrt((x / (radius * 1.12)) ** 2 + ((y - line) / (radius * 0.85)) ** 2)
    column = (radial < 1) & (z > a.pelvis_z - 5)
    disc = (part < 0.11) | (part > 0.89)
    hu[column] = np.where(disc, a.tissue["disc"], np.where(radial > 0.85, a.bone + 220, a.bone))[column]
    process = (z > a.pelvis_z) & (part > 0.28) & (part < 0.72)
    hu[process & (np.abs(x) < 4) & (y < line - 26) & (y > line - 46)] = a.bone + 150
    hu[process & (np.abs(x) < 42) & (np.abs(y - line + 20) < 4) & (part < 0.58)] = a.bone + 120
    ring = np.sqrt((x / 13) ** 2 + ((y - line + 25) / 11) ** 2)
    hu[(ring < 1) & (z > a.pelvis_z - 30)] = a.bone + 200
    hu[(ring < 0.68) & (z > a.pelvis_z - 30)] = 30
    sacrum = (np.abs(x) < 44 + 0.35 * (z - a.pelvis_z)) & (np.abs(y - line + 4 + 0.25 * (a.pelvis_z - z)) < 15)
    hu[sacrum & (z < a.pelvis_z) & (z > a.pelvis_z - 68)] = a.bone
    for side in (-1, 1):  # iliac wings, hip sockets and femoral heads
        wing = ((x - side * 52) / 58) ** 2 + ((y + 18) / 58) ** 2 + ((z - a.pelvis_z - 30) / 75) ** 2
        lateral = (side * x > 58) & (z < a.pelvis_z + 42) & (z > a.pelvis_z - 40)
        hu[(wing < 1) & (wing > 0.78) & lateral] = a.bone + 180
        head = np.sqrt((x - side * 86) ** 2 + (y - 2) ** 2 + (z + 142) ** 2)
        hu[head < 36] = a.tissue["muscle"]
        hu[(head < 30) & (head > 26) & (z > -146)] = a.bone + 250
        hu[head < 24] = a.bone + 60


def _paint_kidneys(canvas: _Canvas, a: Anatomy) -> None:
    for name, kidney in a.kidneys.items():
        found = canvas.ellipsoid(kidney.body)
        if found is None:
            continue
        where, radial, local = found
        reach = local * kidney.body.radii[:, None, None, None]
        hilum = kidney.body.rotation.T @ (kidney.hilum - kidney.body.center)
        notch = np.linalg.norm(reach - hilum[:, None, None, None], axis=0) < kidney.notch
        inside = (radial <= 1) & ~notch
        pyramids = np.sin(local[2] * 9 + local[1] * 2) > -0.2
        medulla = (radial < 0.62) & (radial > 0.18) & pyramids
        canvas.hu[where][inside] = np.where(medulla, kidney.medulla, kidney.cortex)[inside]
        # The sinus and the pelvis belong to the kidney; nothing of them is painted outside it.
        offset = kidney.pelvis.rotation.T @ (kidney.pelvis.center - kidney.body.center)
        sinus = (reach - offset[:, None, None, None]) / kidney.pelvis.radii[:, None, None, None]
        depth = np.sum(sinus**2, axis=0)
        canvas.hu[where][(depth <= 1.25**2) & inside] = -60
        canvas.hu[where][(depth <= 1) & (radial <= 1)] = kidney.pelvis.value
        canvas.labels[where][inside | ((depth <= 1) & (radial <= 1))] = LABELS[name]


def _paint_urine_paths(canvas: _Canvas, a: Anatomy) -> None:
    """Ureters outside the kidneys, then the bladder over their ends."""
    for name, ureter in a.ureters.items():
        found = canvas.along(ureter)
        if found is None:
            continue
        where, ratio, nearest = found
        inside = ratio <= 1
        canvas.hu[where][inside] = ureter.values[nearest[inside]]
        canvas.labels[where][inside & (canvas.labels[where] == 0)] = LABELS[name]
    found = canvas.ellipsoid(a.bladder)
    if found is not None:
        where, radial, local = found
        inside = radial <= 1
        urine = np.where(local[1] < a.bladder_layer, a.bladder_contrast, a.bladder.value)
        canvas.hu[where][inside] = np.where(radial > 0.85, 38.0, urine)[inside]
        canvas.labels[where][inside] = LABELS["bladder"]


def render(
    anatomy: Anatomy, shape: tuple[int, int, int], affine: Affine
) -> tuple[NDArray[np.int16], NDArray[np.uint8]]:
    """HU int16 and labels uint8, both (i, j, k); blur of the scanner and noise included."""
    canvas = _Canvas(shape, affine)
    _torso(canvas, anatomy)
    for organ in anatomy.organs:
        canvas.fill(organ)
    for item in [*anatomy.loops, *anatomy.vessels]:
        canvas.draw(item)
    _paint_kidneys(canvas, anatomy)
    _paint_urine_paths(canvas, anatomy)
    spacing = np.linalg.norm(affine[:3, :3], axis=0)
    index = np.ogrid[: shape[0], : shape[1], : shape[2]]
    waves = sum(np.sin(f * s * i + p) for f, s, i, p in zip(anatomy.texture[:3], spacing, index, anatomy.texture[3:]))
    hu = gaussian_filter(canvas.hu, 0.45, truncate=3.0) + np.where(canvas.hu > -200, 2.0 * waves, 0)
    rng = np.random.default_rng([0x4015, anatomy.seed])
    hu = hu + rng.standard_normal(shape, dtype=np.float32) * anatomy.noise
    return np.clip(np.round(hu), -1024, 3071).astype(np.int16), canvas.labels


def render_labels(anatomy: Anatomy, shape: tuple[int, int, int], affine: Affine) -> NDArray[np.uint8]:
    """Only the labels, (i, j, k)."""
    canvas = _Canvas(shape, affine)
    _paint_kidneys(canvas, anatomy)
    _paint_urine_paths(canvas, anatomy)
    return canvas.labels


def save_nifti(path: Path, array: NDArray, affine: Affine) -> None:
    """Writes `.nii.gz` with the qform and sform set; the same input gives the same bytes."""
    import gzip

    import nibabel as nib

    image = nib.Nifti1Image(array, affine)
    image.header.set_xyzt_units("mm")
    image.set_qform(affine, code=1)
    image.set_sform(affine, code=1)
    image.header["descrip"] = b"synthetic phantom, no medical use"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=9, mtime=0) as out:
        out.write(image.to_bytes())


def main() -> None:
    parser = argparse.ArgumentParser(description="Render one phantom to NIfTI.")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--spacing", type=float, nargs=3, default=(3.0, 3.0, 4.5), help="mm along i, j, k")
    parser.add_argument("--orientation", default="RAS", help="directions in which i, j and k grow, such as LPS")
    parser.add_argument("--tilt", type=float, nargs=3, default=(0.0, 0.0, 0.0), help="degrees about x, y, z")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--labels", type=Path)
    options = parser.parse_args()
    shape, affine = make_grid(tuple(options.spacing), options.orientation, tuple(options.tilt))
    hu, labels = render(draw(options.seed), shape, affine)
    save_nifti(options.output, hu, affine)
    if options.labels:
        save_nifti(options.labels, labels, affine)


if __name__ == "__main__":
    main()
