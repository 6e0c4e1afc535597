"""Measures regions of interest with SimpleITK, SciPy, scikit-image and NumPy: the reference for Nocturne's measurements.

Positions are LPS millimetres. Points inside polygons are decided by scikit-image, planes across the grid are sampled by
scipy.ndimage.map_coordinates, statistics are those of scipy.ndimage and NumPy.
"""

from __future__ import annotations

import numpy as np
import SimpleITK as sitk
from scipy import ndimage
from skimage.measure import points_in_poly

BINS = 16
FLIP = np.array([-1.0, -1.0, 1.0])


class Grid:
    """An image with the positions (LPS) of all its voxels, from SimpleITK's own index-to-point map."""

    def __init__(self, source: sitk.Image) -> None:
        self.image = source
        self.values = sitk.GetArrayFromImage(source)
        self.spacing = np.array(source.GetSpacing())
        self.direction = np.array(source.GetDirection()).reshape(3, 3)
        self.shape = np.array(source.GetSize())
        indices = np.stack(np.meshgrid(*[np.arange(n) for n in reversed(self.shape)], indexing="ij")[::-1], -1)
        self.indices = indices.reshape(-1, 3)
        points = [source.TransformIndexToPhysicalPoint([int(n) for n in index]) for index in self.indices]
        self.points = np.array(points)
        self.flat = self.values.ravel()

    def lps(self, point: list[float], space: str) -> np.ndarray:
        if space == "voxel":
            return np.array(self.image.TransformContinuousIndexToPhysicalPoint([float(n) for n in point]))
        return np.array(point, float) * (FLIP if space == "patientRas" else 1)

    def index(self, point: np.ndarray) -> np.ndarray:
        return np.array(self.image.TransformPhysicalPointToContinuousIndex([float(n) for n in point]))

    def affine_ras(self) -> list[list[float]]:
        linear = FLIP[:, None] * self.direction * self.spacing
        return np.hstack([linear, (FLIP * self.image.GetOrigin())[:, None]]).tolist()

    def axis(self, name: str) -> int:
        """The grid's axis for i, j, k or an anatomical plane."""
        if name in "ijk":
            return "ijk".index(name)
        return int(np.argmax(np.abs(self.direction[{"sagittal": 0, "coronal": 1, "axial": 2}[name]])))


def summary(values: np.ndarray, rule: dict) -> dict:
    """Statistics of the values inside a region; empty without any."""
    if values.size == 0:
        return {}
    mask, values = np.ones(values.shape, int), values.astype(np.float64)
    counts, edges = np.histogram(values, bins=rule.get("bins", BINS), range=rule.get("range"))
    return {
        "mean": ndimage.mean(values, mask, 1),
        "standardDeviation": ndimage.standard_deviation(values, mask, 1),
        "minimum": ndimage.minimum(values, mask, 1),
        "maximum": ndimage.maximum(values, mask, 1),
        "median": ndimage.median(values, mask, 1),
        "histogram": counts.tolist(),
        "lower": edges[0],
        "upper": edges[-1],
        "outsideHistogram": int(values.size - counts.sum()),
    }


def outline(grid: Grid, region: dict, space: str, center: np.ndarray, right: np.ndarray, up: np.ndarray):
    """The area, a test for points of the plane (relative to the centre), and a radius that contains the shape."""
    turn = np.radians(region.get("rotationDegrees", 0))

    def turned(points: np.ndarray) -> np.ndarray:
        c, s = np.cos(turn), np.sin(turn)
        return points @ np.array([[c, -s], [s, c]])

    if region["kind"] == "circle":
        radius = region["radiusMm"]
        return np.pi * radius**2, lambda p: np.hypot(*p.T) <= radius, radius
    if region["kind"] == "ellipse":
        radii = np.array(region["radiiMm"])
        return np.pi * radii.prod(), lambda p: ((turned(p) / radii) ** 2).sum(1) <= 1, radii.max()
    if region["kind"] == "rectangle":
        half = np.array(region["sizeMm"]) / 2
        return 4 * half.prod(), lambda p: (np.abs(turned(p)) <= half).all(1), np.hypot(*half)
    corners = np.array([grid.lps(p, space) for p in region["points"]]) - center
    corners = np.stack([corners @ right, corners @ up], 1)
    x, y = corners.T
    area = abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1))) / 2
    return area, lambda p: points_in_poly(p, corners), np.hypot(x, y).max()


def plane_center(grid: Grid, region: dict, space: str) -> np.ndarray:
    if region["kind"] == "polygon":
        return np.mean([grid.lps(p, space) for p in region["points"]], 0)
    return grid.lps(region["center"], space)


def on_slice(grid: Grid, region: dict, space: str) -> dict:
    """A plane region on a slice of the grid: the voxels whose centres are inside."""
    plane, center = region["plane"], plane_center(grid, region, space)
    axis = grid.axis(plane["axis"])
    number = plane.get("index", int(np.floor(grid.index(center)[axis] + 0.5)))
    first, second = [a for a in range(3) if a != axis]
    right, up = grid.direction[:, first], grid.direction[:, second]
    moved = grid.index(center)
    moved[axis] = number
    center = np.array(grid.image.TransformContinuousIndexToPhysicalPoint(moved.tolist()))
    area, inside, _ = outline(grid, region, space, center, right, up)
    chosen = grid.indices[:, axis] == number
    offsets = grid.points[chosen] - center
    mask = inside(np.stack([offsets @ right, offsets @ up], 1))
    pixel = grid.spacing[first] * grid.spacing[second]
    found = {"areaMm2": area, "sampleCount": int(mask.sum()), "sampledAreaMm2": mask.sum() * pixel}
    return found | {"slice": number} | summary(grid.flat[chosen][mask], region.get("histogram", {}))


def across_grid(grid: Grid, region: dict, space: str) -> dict:
    """A plane region with any normal: points on a square lattice, interpolated linearly."""
    plane, center = region["plane"], plane_center(grid, region, space)
    flip = FLIP if space == "patientRas" else np.ones(3)
    normal = np.array(plane["normal"], float) * flip
    normal /= np.linalg.norm(normal)
    default = flip * ([0, 1, 0] if abs(normal[0]) > 0.9 else [1, 0, 0])
    right = np.array(plane["right"], float) * flip if "right" in plane else default
    right = right - normal * (right @ normal)
    right /= np.linalg.norm(right)
    up = np.cross(normal, right)
    if "point" in plane:
        center = center - normal * ((center - grid.lps(plane["point"], space)) @ normal)
    area, inside, reach = outline(grid, region, space, center, right, up)
    step = plane.get("spacingMm", grid.spacing.min())
    steps = np.arange(-int(reach / step) - 1, int(reach / step) + 2) * step
    points = np.stack(np.meshgrid(steps, steps, indexing="ij"), -1).reshape(-1, 2)
    points = points[inside(points)]
    places = np.array([grid.index(center + x * right + y * up) for x, y in points])
    known = ((places >= 0) & (places <= grid.shape - 1)).all(1)
    values = ndimage.map_coordinates(grid.values.astype(np.float64), places[known].T[::-1], order=1, mode="nearest")
    found = {"areaMm2": area, "sampleCount": int(known.sum()), "sampledAreaMm2": known.sum() * step**2}
    return found | summary(values.astype(np.float32), region.get("histogram", {}))


def measure(grid: Grid, region: dict, space: str) -> dict:
    """The expected measures of one region."""
    kind, voxel = region["kind"], grid.spacing.prod()
    if kind == "length":
        points = np.array([grid.lps(p, space) for p in region["points"]])
        return {"lengthMm": np.linalg.norm(np.diff(points, axis=0), axis=1).sum()}
    if kind == "angle":
        a, vertex, b = [grid.lps(p, space) for p in region["points"]]
        u, v = a - vertex, b - vertex
        return {"angleDegrees": np.degrees(np.arccos(u @ v / np.linalg.norm(u) / np.linalg.norm(v)))}
    if kind == "sphere":
        radius = region["radiusMm"]
        mask = np.linalg.norm(grid.points - grid.lps(region["center"], space), axis=1) <= radius
        volume = 4 / 3 * np.pi * radius**3
    elif kind == "box":
        edges = np.subtract(region["upper"], region["lower"])
        places = grid.indices if space == "voxel" else grid.points * (FLIP if space == "patientRas" else 1)
        mask = ((places >= region["lower"]) & (places <= region["upper"])).all(1)
        volume = edges.prod() * (voxel if space == "voxel" else 1)
    else:
        return on_slice(grid, region, space) if "axis" in region["plane"] else across_grid(grid, region, space)
    found = {"volumeMm3": volume, "sampleCount": int(mask.sum()), "sampledVolumeMm3": mask.sum() * voxel}
    return found | summary(grid.flat[mask], region.get("histogram", {}))
