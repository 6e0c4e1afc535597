"""Writes Tests/Fixtures/Regions: regions and label comparisons, measured by SimpleITK, SciPy and NumPy.

`regions.json` has small volumes (anisotropic, flipped, oblique) and regions on them, each as a file of `--rois` with
what has to come out. Positions come from SimpleITK's own index-to-point map (LPS), values from scipy.ndimage and NumPy,
points in polygons from scikit-image, planes across the grid from scipy.ndimage.map_coordinates.

`comparisons.json` has pairs of label maps. The boundary of a mask is the mask minus its erosion (six neighbours,
nothing beyond the volume); distances are scipy's exact transform with the spacing as sampling. Arrays are base64 in the
order of the voxels, i fastest.
"""

from __future__ import annotations

import argparse
import base64
import json
from pathlib import Path

import numpy as np
import SimpleITK as sitk
from scipy import ndimage
from skimage.measure import points_in_poly

BINS = 16
FLIP = np.array([-1.0, -1.0, 1.0])


def text(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def rotation(x: float, y: float, z: float) -> np.ndarray:
    transform = sitk.Euler3DTransform()
    transform.SetRotation(*np.radians([x, y, z]))
    return np.array(transform.GetMatrix()).reshape(3, 3)


def image(shape: tuple, spacing: tuple, direction: np.ndarray, origin: tuple, seed: int) -> sitk.Image:
    """Noise over a ramp; `shape` is (i, j, k), all geometry LPS."""
    random = np.random.default_rng(seed)
    k, j, i = np.meshgrid(*[np.arange(n) for n in reversed(shape)], indexing="ij")
    values = (40 + 9 * i - 13 * j + 21 * k + random.normal(0, 60, i.shape)).astype(np.float32)
    result = sitk.GetImageFromArray(values)
    result.SetSpacing(spacing)
    result.SetDirection(direction.ravel())
    result.SetOrigin(origin)
    return result


def volumes() -> dict[str, sitk.Image]:
    permuted = np.array([[0, 1, 0], [0, 0, -1], [1, 0, 0]], float)
    mirrored = rotation(21, -14, 33) @ np.diag([1, -1, 1.0])
    return {
        "ras-anisotropic": image((14, 12, 9), (0.8, 1.1, 2.5), np.diag([-1, -1, 1.0]), (31.5, 12.25, -80), 1),
        "lps-flat": image((16, 13, 6), (0.6, 0.6, 5.0), np.eye(3), (-12, -4.5, 7), 2),
        "sagittal": image((11, 12, 8), (1.2, 0.7, 3.1), permuted, (5, 60, -33), 3),
        "oblique": image((13, 12, 10), (0.9, 1.3, 2.1), rotation(11, -17, 26), (-101, 44.5, 300), 4),
        "oblique-left-handed": image((12, 11, 9), (1.4, 0.8, 1.9), mirrored, (20, -35, 12), 5),
    }


class Grid:
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

    def axis(self, word: str) -> int:
        if word in "ijk":
            return "ijk".index(word)
        return int(np.argmax(np.abs(self.direction[{"sagittal": 0, "coronal": 1, "axial": 2}[word]])))


def summary(values: np.ndarray, rule: dict) -> dict:
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
    """The area, a test for points of the plane (relative to the centre), and a radius that holds the shape."""
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


def flat(grid: Grid, region: dict, space: str) -> dict:
    plane = region["plane"]
    if region["kind"] == "polygon":
        center = np.mean([grid.lps(p, space) for p in region["points"]], 0)
    else:
        center = grid.lps(region["center"], space)
    if "axis" in plane:
        axis = grid.axis(plane["axis"])
        number = plane.get("index", int(np.floor(grid.index(center)[axis] + 0.5)))
        first, second = [a for a in range(3) if a != axis]
        right, up = grid.direction[:, first], grid.direction[:, second]
        on_slice = grid.index(center)
        on_slice[axis] = number
        center = np.array(grid.image.TransformContinuousIndexToPhysicalPoint(on_slice.tolist()))
        area, inside, _ = outline(grid, region, space, center, right, up)
        chosen = grid.indices[:, axis] == number
        offsets = grid.points[chosen] - center
        mask = inside(np.stack([offsets @ right, offsets @ up], 1))
        pixel = grid.spacing[first] * grid.spacing[second]
        found = {"areaMm2": area, "sampleCount": int(mask.sum()), "sampledAreaMm2": mask.sum() * pixel}
        return found | {"slice": number} | summary(grid.flat[chosen][mask], region.get("histogram", {}))
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
        return flat(grid, region, space)
    found = {"volumeMm3": volume, "sampleCount": int(mask.sum()), "sampledVolumeMm3": mask.sum() * voxel}
    return found | summary(grid.flat[mask], region.get("histogram", {}))


def regions(grid: Grid, seed: int) -> list[tuple[str, dict, str]]:
    """(space, region, status): every kind on every grid, the spaces in turn, near the middle of the grid."""
    random = np.random.default_rng(seed)
    extent = grid.shape * grid.spacing
    cases: list[tuple[str, dict, str]] = []

    def spot(share: float = 0.1) -> np.ndarray:
        return (grid.shape - 1) / 2 + random.uniform(-share, share, 3) * grid.shape

    def given(index: np.ndarray, space: str) -> list[float]:
        point = np.array(grid.image.TransformContinuousIndexToPhysicalPoint(index.tolist()))
        found = index if space == "voxel" else point * (FLIP if space == "patientRas" else 1)
        return [round(float(n), 3) for n in found]

    def add(kind: str, space: str, status: str = "complete", **fields) -> None:
        cases.append((space, {"name": f"{kind} {len(cases)}", "kind": kind} | fields, status))

    spaces = ["patientLps", "patientRas", "voxel"]
    names = ["i", "j", "k", "axial", "coronal", "sagittal"]
    for turn in range(3):
        space = spaces[(turn + seed) % 3]
        reach = extent.min() / 2

        def plane(number: int) -> dict:
            return {"axis": names[(seed * 3 + turn + number) % 6]}

        def star() -> list[list[float]]:
            # Around a point, in the plane of i and j, with corners that turn in.
            middle, angles = spot(), np.sort(random.uniform(0, 2 * np.pi, 9))
            ring = np.stack([np.cos(angles), np.sin(angles), 0 * angles], 1) * random.uniform(0.15, 0.42, (9, 1))
            return [given(middle + offset * grid.shape, space) for offset in ring]

        add("length", space, points=[given(spot(0.4), space) for _ in range(2 + turn)])
        add("angle", space, points=[given(spot(0.4), space) for _ in range(3)])
        add("circle", space, center=given(spot(), space), radiusMm=round(reach * 0.7, 3), plane=plane(0))
        add("ellipse", space, center=given(spot(), space), radiiMm=[round(reach * 0.75, 3), round(reach * 0.4, 3)],
            rotationDegrees=37.5, plane=plane(1))
        add("rectangle", space, center=given(spot(), space), sizeMm=[round(reach, 3), round(reach * 0.6, 3)],
            rotationDegrees=-20 * turn, plane=plane(2))
        add("polygon", space, points=star(), plane={"axis": "k"})
        add("sphere", space, center=given(spot(), space), radiusMm=round(reach * 0.75, 3))
        if space == "voxel":
            middle = spot()
            lower, upper = middle - grid.shape * 0.27, middle + grid.shape * 0.24
            add("box", space, lower=np.round(lower, 2).tolist(), upper=np.round(upper, 2).tolist())
        else:
            middle = np.array(given(spot(), space))
            add("box", space, lower=np.round(middle - reach * 0.4, 3).tolist(),
                upper=np.round(middle + reach * 0.3, 3).tolist())
            normal = np.round(random.normal(0, 1, 3), 3).tolist()
            add("circle", space, center=given(spot(0.02), space), radiusMm=round(reach * 0.6, 3),
                plane={"normal": normal, "spacingMm": 0.37})
            add("rectangle", space, center=given(spot(0.02), space), sizeMm=[round(reach * 0.8, 3), round(reach, 3)],
                rotationDegrees=12, histogram={"bins": 7, "range": [-50, 120]},
                plane={"normal": normal, "right": [0.2, 1, 0.1], "point": given(spot(0.02), space)})
            add("polygon", space, points=star(), plane={"normal": [0.95, 0.2, -0.1], "spacingMm": 0.5}, status="")
    corner = given(np.array([0.3, 0.2, 0.4]), "patientLps")
    add("sphere", "patientLps", "cut", center=corner, radiusMm=round(extent.min() / 3, 3))
    add("circle", "patientLps", "cut", center=corner, radiusMm=2.9, plane={"axis": "k"})
    add("circle", "patientLps", "cut", center=corner, radiusMm=3.1, plane={"normal": [0.1, 0.2, 1]})
    add("box", "voxel", "outside", lower=[-9, 1, 1], upper=[-3, 4, 4])
    add("circle", "voxel", "outside", center=[4, 4, 4], radiusMm=3, plane={"axis": "i", "index": 99})
    return cases


def region_fixtures() -> dict:
    found, cases = {}, []
    for number, (name, source) in enumerate(volumes().items()):
        grid = Grid(source)
        found[name] = {"shape": grid.shape.tolist(), "affineRas": grid.affine_ras(), "voxels": text(grid.values)}
        for space, region, status in regions(grid, number):
            file = {"schemaVersion": 1, "space": space, "regions": [region]}
            expected = {key: value for key, value in measure(grid, region, space).items()}
            cases.append({"volume": name, "file": json.dumps(file), "status": status, "expected": expected})
    return {"volumes": found, "cases": cases}


def distances(first: np.ndarray, second: np.ndarray, sampling: list[float]) -> dict | None:
    if not first.any() or not second.any():
        return None
    borders = [mask & ~ndimage.binary_erosion(mask) for mask in (first, second)]
    fields = [ndimage.distance_transform_edt(~border, sampling=sampling) for border in borders]
    forth, back = fields[1][borders[0]], fields[0][borders[1]]
    return {
        "mean": np.concatenate([forth, back]).mean(),
        "hausdorff95": max(np.percentile(forth, 95), np.percentile(back, 95)),
        "hausdorff": max(forth.max(), back.max()),
    }


def comparison_fixtures() -> dict:
    random, cases = np.random.default_rng(11), []
    settings = [
        ((18, 14, 9), (0.7, 0.9, 2.5), 3), ((9, 21, 7), (1.5, 0.4, 5.0), 2), ((12, 12, 12), (1.0, 1.0, 1.0), 4),
        ((31, 5, 6), (0.35, 3.3, 1.1), 2), ((8, 9, 1), (0.8, 1.2, 4.0), 2), ((10, 11, 13), (2.2, 0.31, 0.77), 3),
    ]
    for shape, spacing, labels in settings:
        size = tuple(reversed(shape))

        def blobs() -> np.ndarray:
            fields = [ndimage.gaussian_filter(random.normal(0, 1, size), 1.2) for _ in range(labels + 1)]
            return np.argmax(fields, 0).astype(np.uint8)

        first = blobs()
        for kind in ["another", "same", "shifted", "missing", "noisy"]:
            second = first.copy()
            if kind == "another":
                second = blobs()
            elif kind == "shifted":
                second = np.roll(second, 2, axis=2)
            elif kind == "missing":
                second[second == 1] = 0
            elif kind == "noisy":
                second = np.where(random.uniform(size=size) < 0.06, random.integers(0, labels + 1, size), second)
            second = second.astype(np.uint8)
            expected = []
            for value in range(1, labels + 2):
                a, b = first == value, second == value
                total = int(a.sum() + b.sum())
                expected.append({
                    "value": value,
                    "dice": 2 * int((a & b).sum()) / total if total else None,
                    "distances": distances(a, b, list(reversed(spacing))),
                })
            cases.append({"name": f"{kind}, {shape}", "shape": shape, "spacing": spacing, "labels": text(first),
                          "reference": text(second), "expected": expected})
    return {"cases": cases}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parent.parent / "Tests" / "Fixtures" / "Regions"
    parser.add_argument("--output", type=Path, default=default)
    output = parser.parse_args().output
    output.mkdir(parents=True, exist_ok=True)
    for name, content in [("regions", region_fixtures()), ("comparisons", comparison_fixtures())]:
        (output / f"{name}.json").write_text(json.dumps(content, indent=None, separators=(",", ":")) + "\n")
        print(f"{name}.json: {len(content['cases'])} cases")


if __name__ == "__main__":
    main()
