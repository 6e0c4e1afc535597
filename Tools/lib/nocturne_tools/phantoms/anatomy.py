"""Draws one synthetic torso from a seed: sizes, positions, shapes and intensities.

World coordinates are RAS+ millimetres: +x to the patient's right, +y to the front, +z to the head. The left kidney
therefore has a smaller x than the right one. The origin is the middle of the field of view. Intensities are Hounsfield
units (HU).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]  # shape (3,): x, y, z in mm

#: Label values of the phantom, also the label values of the demonstration model.
LABELS: dict[str, int] = {
    "left_kidney": 1,
    "right_kidney": 2,
    "left_ureter": 3,
    "right_ureter": 4,
    "bladder": 5,
}

#: Field of view in mm along x, y, z: above the kidneys to below the bladder.
FIELD_OF_VIEW: tuple[float, float, float] = (330.0, 250.0, 330.0)


@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid; `rotation` (3, 3) has the world directions of its axes as columns."""

    center: Vector
    radii: Vector
    rotation: NDArray[np.float64] = field(default_factory=lambda: np.eye(3))
    value: float = 40.0


@dataclass(frozen=True)
class Tube:
    """A round tube along a polyline: `points` (n, 3) and `radii` (n,) in mm, `values` (n,) in HU."""

    points: NDArray[np.float64]
    radii: NDArray[np.float64]
    values: NDArray[np.float64]


@dataclass(frozen=True)
class Kidney:
    """A bean: the body minus a notch at the hilum, with a medulla and a contrast-filled or empty pelvis."""

    body: Ellipsoid
    hilum: Vector
    notch: float
    cortex: float
    medulla: float
    pelvis: Ellipsoid


@dataclass(frozen=True)
class Anatomy:
    """Everything the renderer needs; independent of any grid."""

    seed: int
    body_radii: Vector
    body_phase: float
    fat_rim: float
    wall: float
    tissue: dict[str, float]
    vertebra_period: float
    vertebra_phase: float
    vertebra_radius: float
    spine_y: float
    lordosis: float
    bone: float
    pelvis_z: float
    kidneys: dict[str, Kidney]
    ureters: dict[str, Tube]
    bladder: Ellipsoid
    bladder_layer: float
    bladder_contrast: float
    organs: list[Ellipsoid]
    loops: list[Tube]
    vessels: list[Tube]
    noise: float
    texture: NDArray[np.float64]


def rotation(degrees: tuple[float, float, float]) -> NDArray[np.float64]:
    """Rotation about x, then y, then z; (3, 3)."""
    a, b, c = np.deg2rad(degrees)
    rx = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    ry = np.array([[np.cos(b), 0, np.sin(b)], [0, 1, 0], [-np.sin(b), 0, np.cos(b)]])
    rz = np.array([[np.cos(c), -np.sin(c), 0], [np.sin(c), np.cos(c), 0], [0, 0, 1]])
    return rz @ ry @ rx


def curve(controls: NDArray[np.float64], step: float = 1.0) -> NDArray[np.float64]:
    """A Catmull-Rom curve through `controls` (n, 3), sampled about every `step` mm; (m, 3)."""
    padded = np.vstack([2 * controls[0] - controls[1], controls, 2 * controls[-1] - controls[-2]])
    pieces = []
    for p0, p1, p2, p3 in zip(padded, padded[1:], padded[2:], padded[3:]):
        count = max(2, int(np.ceil(np.linalg.norm(p2 - p1) / step)))
        t = np.arange(count)[:, None] / count
        pieces.append(
            0.5 * (2 * p1 + (p2 - p0) * t + (2 * p0 - 5 * p1 + 4 * p2 - p3) * t**2 + (3 * p1 - p0 - 3 * p2 + p3) * t**3)
        )
    return np.vstack([*pieces, controls[-1:]])


def tube(controls: NDArray[np.float64], radius: float, value: float) -> Tube:
    """A tube of one radius and one value along a curve through `controls` (n, 3)."""
    points = curve(controls)
    return Tube(points, np.full(len(points), radius), np.full(len(points), value))


def _kidney(rng: np.random.Generator, side: int, phase: float, excretion: float) -> Kidney:
    """`side` is -1 for left and +1 for right; `phase` is the contrast of the cortex, `excretion` of the pelvis."""
    center = np.array([side * rng.uniform(58, 70), rng.uniform(-40, -26), rng.uniform(50, 68) - (8 if side > 0 else 0)])
    turn = rotation((rng.uniform(-4, 14), -side * rng.uniform(6, 18), -side * rng.uniform(5, 25)))
    radii = np.array([rng.uniform(24, 30), rng.uniform(22, 27), rng.uniform(46, 57)])
    inward = turn @ np.array([-side * 1.0, 0.0, 0.0])
    hilum = center + inward * radii[0] * 1.10
    pelvis = Ellipsoid(
        center + inward * radii[0] * 0.66,
        np.array([rng.uniform(10, 14), rng.uniform(6, 9), rng.uniform(9, 15)]),
        turn,
        excretion,
    )
    return Kidney(
        Ellipsoid(center, radii, turn), hilum, rng.uniform(9, 13), phase + rng.normal(0, 6), phase * 0.75 + 5, pelvis
    )


def _ureter(rng: np.random.Generator, side: int, kidney: Kidney, bladder: Ellipsoid, contrast: float) -> Tube:
    """From the renal pelvis down along the psoas, over the pelvic brim and into the back of the bladder."""
    start, top = kidney.pelvis.center, kidney.hilum
    end = bladder.center + bladder.radii * np.array([side * 0.55, -0.62, 0.18])
    height = top[2] - end[2]
    x_psoas, y_psoas = rng.uniform(30, 40), rng.uniform(-22, -10)
    controls = np.array(
        [
            start,
            top + [-side * 3.0, 1.0, -8.0],
            [side * (x_psoas + rng.normal(0, 3)), y_psoas - 4, end[2] + 0.74 * height],
            [side * (x_psoas - 2 + rng.normal(0, 3)), y_psoas + rng.normal(0, 3), end[2] + 0.56 * height],
            [side * (x_psoas - 2 + rng.normal(0, 3)), y_psoas + 6 + rng.normal(0, 3), end[2] + 0.40 * height],
            [side * rng.uniform(44, 54), rng.uniform(-26, -12), end[2] + 0.18 * height],
            [side * rng.uniform(38, 48), end[1] - rng.uniform(6, 14), end[2] + 0.03 * height],
            end,
        ]
    )
    points = curve(controls)
    along = np.arange(len(points)) * 1.0
    waves = np.sin(along / rng.uniform(9, 16) + rng.uniform(0, 6.28)) + np.sin(
        along / rng.uniform(25, 40) + rng.uniform(0, 6.28)
    )
    radii = rng.uniform(3.2, 3.8) + 0.15 * waves
    values = contrast * (1 + 0.10 * waves) if contrast > 80 else contrast + 3 * waves
    return Tube(points, radii, values)


def _organs(rng: np.random.Generator, phase: float) -> list[Ellipsoid]:
    """Liver, spleen, stomach and other soft blobs that are not urinary tract."""
    liver = 55 + 0.45 * (phase - 30)
    spleen = 50 + 0.6 * (phase - 30)
    blobs = [
        Ellipsoid(
            np.array([62, 12, rng.uniform(118, 140)]),
            np.array([62, 72, rng.uniform(52, 66)]),
            rotation((0, -12, 8)),
            liver,
        ),
        Ellipsoid(np.array([14, 45, rng.uniform(118, 140)]), np.array([60, 34, 30]), rotation((0, 10, 0)), liver - 2),
        Ellipsoid(
            np.array([-92, -28, rng.uniform(112, 130)]),
            np.array([24, 42, rng.uniform(32, 44)]),
            rotation((12, 0, -15)),
            spleen,
        ),
        Ellipsoid(
            np.array([-50, 42, rng.uniform(95, 125)]),
            np.array([38, 30, 42]),
            rotation((0, 20, 0)),
            rng.choice([15.0, 30.0, 200.0]),
        ),
        Ellipsoid(np.array([38, 48, rng.uniform(66, 84)]), np.array([13, 13, 24]), rotation((20, 0, 0)), 8.0),
        Ellipsoid(
            np.array([-4, 8, rng.uniform(80, 100)]), np.array([48, 10, 12]), rotation((0, 12, 6)), 45 + 0.3 * phase
        ),
    ]
    for _ in range(int(rng.integers(3, 7))):
        center = np.array([rng.uniform(-85, 85), rng.uniform(22, 60), rng.uniform(-60, 60)])
        blobs.append(
            Ellipsoid(
                center,
                rng.uniform(10, 22, 3),
                rotation(tuple(rng.uniform(-40, 40, 3))),
                rng.choice([30.0, 45.0, 120.0, -700.0]),
            )
        )
    return blobs


def _loops(rng: np.random.Generator) -> list[Tube]:
    """Bowel: an ascending and a descending colon at the sides and several small loops in front."""
    loops = []
    for side in (-1, 1):
        x, y = side * rng.uniform(82, 92), rng.uniform(-4, 14)
        points = np.array(
            [[x, y, 62], [x + side * 4, y - 6, 20], [x, y, -22], [x - side * 14, y + 10, -55]]
        ) + rng.normal(0, 3, (4, 3))
        loops.append(tube(points, rng.uniform(13, 18), rng.choice([25.0, -250.0, -600.0])))
    for _ in range(int(rng.integers(5, 9))):
        points = np.array([rng.uniform(-55, 55), rng.uniform(30, 58), rng.uniform(-70, 62)]) + np.cumsum(
            rng.normal(0, 17, (5, 3)) * [1, 0.35, 0.7], axis=0
        )
        points[:, 1] = np.clip(points[:, 1], 20, 66)
        loops.append(tube(points, rng.uniform(8, 12), rng.choice([30.0, 40.0, 55.0, 180.0, 300.0])))
    return loops


def _vessels(rng: np.random.Generator, phase: float, spine_y: float) -> list[Tube]:
    """Aorta left of the spine, vena cava right of it, iliac branches, and thin gonadal veins beside the ureters."""
    front, fork = spine_y + rng.uniform(34, 39), rng.uniform(-42, -28)
    artery, vein = phase + 25, phase + 5
    result = [
        tube(np.array([[-6.0, front - 4, 175], [-10, front, 60], [-8, front + 2, fork]]), rng.uniform(9, 11), artery),
        tube(np.array([[20.0, front + 6, 175], [18, front, 60], [12, front, fork - 6]]), rng.uniform(10, 13), vein),
    ]
    for side in (-1, 1):
        for start, radius, value in ((-8.0, 5.5, artery), (12.0, 6.5, vein)):
            shift = 0.0 if value == artery else -9.0
            points = [
                [start, front, fork],
                [side * 30, front - 6 + shift, fork - 26],
                [side * 56, front - 2 + shift, fork - 60],
                [side * 68, front + 30, fork - 110],
            ]
            result.append(tube(np.array(points) + rng.normal(0, 1.5, (4, 3)), radius, value))
        x = side * rng.uniform(44, 52)
        result.append(
            tube(
                np.array([[x - side * 12, -14, 40], [x, -8, 0], [x + side * 6, 4, -45]]) + rng.normal(0, 2, (3, 3)),
                2.2,
                vein,
            )
        )
    return result


def draw(seed: int) -> Anatomy:
    """The anatomy of `seed`; the same seed gives the same anatomy."""
    rng = np.random.default_rng([0x4E0C, seed])
    phase = float(rng.choice([35.0, 110.0, 150.0, 190.0])) + rng.uniform(-8, 8)  # native, venous, nephrographic ...
    excreting = phase > 60 and rng.random() < 0.85
    excretion = rng.uniform(180, 480) if excreting else rng.uniform(8, 20)
    spine_y = rng.uniform(-60, -52)
    bladder = Ellipsoid(
        np.array([rng.uniform(-5, 5), rng.uniform(8, 22), rng.uniform(-118, -106)]),
        np.array([rng.uniform(30, 46), rng.uniform(26, 38), rng.uniform(23, 36)]),
        rotation((rng.uniform(-15, 15), 0, 0)),
        rng.uniform(2, 14),
    )
    kidneys, ureters = {}, {}
    for side, name in ((-1, "left"), (1, "right")):
        kidneys[f"{name}_kidney"] = _kidney(rng, side, phase, excretion)
        filled = excreting and rng.random() < 0.9
        contrast = excretion * rng.uniform(0.7, 1.1) if filled else rng.uniform(30, 60)
        ureters[f"{name}_ureter"] = _ureter(rng, side, kidneys[f"{name}_kidney"], bladder, contrast)
    return Anatomy(
        seed=seed,
        body_radii=np.array([rng.uniform(136, 152), rng.uniform(94, 108)]),
        body_phase=rng.uniform(0, 6.28),
        fat_rim=rng.uniform(10, 20),
        wall=rng.uniform(8, 12),
        tissue={"fat": rng.uniform(-112, -92), "muscle": rng.uniform(45, 62), "disc": rng.uniform(75, 100)},
        vertebra_period=rng.uniform(31, 37),
        vertebra_phase=rng.uniform(0, 35),
        vertebra_radius=rng.uniform(19, 23),
        spine_y=spine_y,
        lordosis=rng.uniform(3, 10),
        bone=rng.uniform(180, 300),
        pelvis_z=rng.uniform(-82, -72),
        kidneys=kidneys,
        ureters=ureters,
        bladder=bladder,
        bladder_layer=rng.uniform(-0.6, 0.2) if excreting else -2.0,
        bladder_contrast=rng.uniform(150, 400),
        organs=_organs(rng, phase),
        loops=_loops(rng),
        vessels=_vessels(rng, phase, spine_y),
        noise=rng.uniform(8, 22),
        texture=np.concatenate([rng.uniform(0.05, 0.35, 3), rng.uniform(0, 6.28, 3)]),
    )
