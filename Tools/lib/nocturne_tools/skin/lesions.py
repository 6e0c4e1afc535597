"""Lesions of the seven classes, drawn with the features that dermoscopy textbooks name. None is a real picture."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .canvas import Canvas, Color, Field
from .outline import Outline, outline

CLASSES = ["mel", "nv", "bcc", "akiec", "bkl", "df", "vasc"]


def skin(canvas: Canvas) -> None:
    """Background: a tone, slow changes of it, fine lines and pores."""
    rng = canvas.rng
    light = np.array([0.90, 0.72, 0.63])
    dark = np.array([0.58, 0.40, 0.31])
    tone = light + (dark - light) * rng.beta(1.4, 3.5) + rng.normal(0, 0.02, 3)
    canvas.rgb[:] = tone
    canvas.shade(0.035 * canvas.noise(3) + 0.02 * canvas.noise(14) + 0.012 * canvas.noise(70))
    canvas.shade(-0.05 * rng.uniform(0.2, 1) * canvas.honeycomb(rng.uniform(24, 36), 1.0))


def nv(canvas: Canvas) -> None:
    """A nevus: even outline, one or two browns, a regular network or globules."""
    rng = canvas.rng
    shape = outline(canvas, rng.uniform(0.05, 0.5), (0.3, 0.68))
    brown = _brown(rng, rng.uniform(0.25, 0.85))
    body = shape.mask(rng.uniform(0.12, 0.35))
    canvas.blend(body * rng.uniform(0.65, 0.92), brown)
    if rng.random() < 0.5:
        canvas.blend(shape.mask(0.6) * np.clip(shape.depth * 1.5, 0, 1) * 0.55, _darker(brown, 0.7))
    if rng.random() < 0.25:
        patch = np.clip(canvas.noise(2.5) - 0.5, 0, 1) * 1.5
        canvas.blend(body * np.minimum(patch, 1) * rng.uniform(0.3, 0.7), _darker(brown, rng.uniform(0.45, 1.3)))
    if rng.random() < 0.7:
        net = canvas.honeycomb(rng.uniform(13, 24), 0.5)
        canvas.blend(body * net * rng.uniform(0.2, 0.5), _darker(brown, 0.55))
    else:
        centers = shape.scatter(rng, int(rng.integers(15, 50)))
        canvas.blend(canvas.spots(centers, [rng.uniform(0.015, 0.03) for _ in centers]) * 0.5, _darker(brown, 0.6))


def mel(canvas: Canvas) -> None:
    """Melanoma-like: uneven outline, several colours out of balance, veil, uneven network, dots and streaks."""
    rng = canvas.rng
    shape = outline(canvas, rng.uniform(0.25, 1.0), (0.4, 0.82))
    brown = _brown(rng, rng.uniform(0.45, 1.0))
    body = shape.mask(rng.uniform(0.06, 0.22))
    canvas.blend(body * rng.uniform(0.75, 0.95), brown)
    palette: list[Color] = [
        (0.10, 0.07, 0.06),
        (0.30, 0.34, 0.42),
        (0.72, 0.36, 0.32),
        (0.84, 0.76, 0.74),
        (0.35, 0.2, 0.12),
    ]
    for index in rng.permutation(len(palette))[: int(rng.integers(1, 5))]:
        patch = np.clip(canvas.noise(rng.uniform(2, 4.5)) - rng.uniform(0.1, 0.7), 0, 1) * 1.8
        canvas.blend(body * np.minimum(patch, 1) * rng.uniform(0.3, 0.95), palette[index])
    if rng.random() < 0.6:
        net = canvas.honeycomb(rng.uniform(9, 15), 2.2) * np.clip(canvas.noise(3) + 0.4, 0, 1)
        canvas.blend(body * net * 0.7, (0.13, 0.08, 0.06))
    if rng.random() < 0.55:
        veil = np.clip(
            1 - np.hypot(canvas.u - shape.u - rng.normal(0, 0.15), canvas.v - shape.v - rng.normal(0, 0.15)) / 0.38,
            0,
            1,
        )
        canvas.blend(body * veil * rng.uniform(0.5, 0.9), (0.42, 0.46, 0.56))
    dots = shape.rim(rng, int(rng.integers(3, 30)), 0.8)
    canvas.blend(canvas.spots(dots, [rng.uniform(0.008, 0.028) for _ in dots]) * 0.85, (0.07, 0.05, 0.05))
    if rng.random() < 0.5:
        starts = [rng.uniform(0, 2 * math.pi) for _ in range(int(rng.integers(4, 16)))]
        lines = [[_at(shape, a, 0.8), _at(shape, a + rng.normal(0, 0.05), rng.uniform(1.0, 1.2))] for a in starts]
        canvas.blend(canvas.curves(lines, [0.022] * len(lines), 1.0) * 0.8, (0.12, 0.08, 0.07))


def bcc(canvas: Canvas) -> None:
    """Basal-cell-like: pearly pink, branching sharp vessels, blue-grey nests, now and then an ulcer."""
    rng = canvas.rng
    shape = outline(canvas, rng.uniform(0.15, 0.5), (0.35, 0.7))
    body = shape.mask(rng.uniform(0.25, 0.5))
    canvas.blend(
        body * rng.uniform(0.45, 0.75), (rng.uniform(0.82, 0.92), rng.uniform(0.58, 0.66), rng.uniform(0.56, 0.64))
    )
    canvas.blend(body * np.clip(canvas.noise(4), 0, 1) * 0.3, (0.96, 0.88, 0.86))
    canvas.blend(_branches(canvas, shape, int(rng.integers(3, 7))) * rng.uniform(0.6, 0.95), (0.68, 0.13, 0.14))
    nests = shape.scatter(rng, int(rng.integers(0, 8)), 0.75)
    canvas.blend(canvas.spots(nests, [rng.uniform(0.03, 0.085) for _ in nests], 0.5, 1.5) * 0.75, (0.36, 0.37, 0.46))
    if rng.random() < 0.3:
        ulcer = shape.scatter(rng, 1, 0.4)
        canvas.blend(canvas.spots(ulcer, [rng.uniform(0.08, 0.15)], 0.5, 1.3) * 0.85, (0.52, 0.16, 0.10))


def akiec(canvas: Canvas) -> None:
    """Keratosis- and Bowen-like: red, ill-defined, pale follicles in a red net, white to yellow scale."""
    rng = canvas.rng
    shape = outline(canvas, rng.uniform(0.3, 0.7), (0.4, 0.8))
    body = shape.mask(rng.uniform(0.45, 0.8))
    canvas.blend(
        body * rng.uniform(0.5, 0.8), (rng.uniform(0.76, 0.86), rng.uniform(0.42, 0.52), rng.uniform(0.38, 0.46))
    )
    net = canvas.honeycomb(rng.uniform(9, 16), 1.0)
    canvas.blend(body * net * rng.uniform(0.25, 0.55), (0.72, 0.26, 0.24))
    canvas.blend(body * np.clip(0.5 - net, 0, 1) * rng.uniform(0.3, 0.7), (0.93, 0.80, 0.72))
    scale = np.clip(canvas.noise(rng.uniform(6, 10)) + 0.5 * canvas.noise(28) - rng.uniform(0.6, 1.1), 0, 1)
    canvas.blend(
        shape.mask(0.4) * np.minimum(scale * 2.5, 1) * rng.uniform(0.6, 0.95), (0.95, 0.90, rng.uniform(0.68, 0.84))
    )
    dots = shape.scatter(rng, int(rng.integers(5, 30)))
    canvas.blend(canvas.spots(dots, [rng.uniform(0.008, 0.014) for _ in dots]) * 0.7, (0.62, 0.12, 0.12))


def bkl(canvas: Canvas) -> None:
    """Keratosis-like: as if stuck on, sharp outline, ridges and fissures, milia-like cysts, dark plugs."""
    rng = canvas.rng
    shape = outline(canvas, rng.uniform(0.15, 0.55), (0.4, 0.78))
    base = np.array([0.66, 0.48, 0.32]) + (np.array([0.36, 0.24, 0.15]) - [0.66, 0.48, 0.32]) * rng.beta(1.3, 1.8)
    body = shape.mask(rng.uniform(0.03, 0.09))
    canvas.blend(body * rng.uniform(0.8, 0.96), tuple(base))
    ridges = np.sin(rng.uniform(18, 30) * (canvas.warped(0.10, 4)[0] + 0.25 * canvas.noise(3)))
    canvas.blend(body * np.clip(ridges - 0.3, 0, 1) * rng.uniform(0.2, 0.7), _darker(tuple(base), 0.55))
    cysts = shape.scatter(rng, int(rng.integers(4, 26)))
    canvas.blend(canvas.spots(cysts, [rng.uniform(0.012, 0.03) for _ in cysts]) * 0.85, (0.95, 0.90, 0.78))
    plugs = shape.scatter(rng, int(rng.integers(2, 20)))
    canvas.blend(canvas.spots(plugs, [rng.uniform(0.014, 0.034) for _ in plugs], 0.4, 1.3) * 0.8, (0.20, 0.12, 0.07))


def df(canvas: Canvas) -> None:
    """Dermatofibroma-like: a white scar-like middle in a light brown ring with a delicate network."""
    rng = canvas.rng
    shape = outline(canvas, rng.uniform(0.05, 0.3), (0.35, 0.65))
    body = shape.mask(rng.uniform(0.3, 0.55))
    brown = (rng.uniform(0.62, 0.74), rng.uniform(0.44, 0.52), rng.uniform(0.34, 0.40))
    canvas.blend(body * rng.uniform(0.6, 0.85), brown)
    canvas.blend(body * canvas.honeycomb(rng.uniform(18, 28), 0.5) * rng.uniform(0.25, 0.5), _darker(brown, 0.65))
    middle = np.clip((shape.depth - rng.uniform(0.35, 0.55)) * 4 + 0.35 * canvas.noise(7), 0, 1)
    canvas.blend(body * middle * rng.uniform(0.65, 0.95), (0.93, 0.85, 0.81))


def vasc(canvas: Canvas) -> None:
    """Vascular: red to purple lagoons, close together, some almost black."""
    rng = canvas.rng
    shape = outline(canvas, rng.uniform(0.05, 0.35), (0.28, 0.65))
    body = shape.mask(rng.uniform(0.08, 0.25))
    red = np.array([0.72, 0.16, 0.17]) + (np.array([0.36, 0.12, 0.26]) - [0.72, 0.16, 0.17]) * rng.uniform(0, 1)
    canvas.blend(body * rng.uniform(0.5, 0.85), tuple(red * 0.6 + np.array([0.88, 0.55, 0.52]) * 0.4))
    lagoons = shape.scatter(rng, int(rng.integers(12, 40)), 0.82)
    radii = [rng.uniform(0.05, 0.12) * shape.radius / 0.45 for _ in lagoons]
    canvas.blend(canvas.spots(lagoons, radii, 0.3, 1.15) * rng.uniform(0.65, 0.95), tuple(red))
    dark = lagoons[: int(rng.integers(0, 5))]
    canvas.blend(canvas.spots(dark, radii[: len(dark)], 0.4) * 0.75, (0.16, 0.06, 0.12))


DRAW: dict[str, Callable[[Canvas], None]] = {
    "mel": mel, "nv": nv, "bcc": bcc, "akiec": akiec, "bkl": bkl, "df": df, "vasc": vasc
}  # fmt: skip


def _brown(rng: np.random.Generator, depth: float) -> Color:
    light, dark = np.array([0.66, 0.46, 0.32]), np.array([0.26, 0.15, 0.10])
    return tuple(light + (dark - light) * depth + rng.normal(0, 0.015, 3))


def _darker(color: Color, share: float) -> Color:
    return (color[0] * share, color[1] * share, color[2] * share)


def _at(shape: Outline, angle: float, share: float) -> tuple[float, float]:
    return shape.u + shape.radius * share * math.cos(angle), shape.v + shape.radius * share * math.sin(angle)


def _branches(canvas: Canvas, shape: Outline, stems: int) -> Field:
    """Vessels that start at the rim, wander inwards and fork, thinner at every fork."""
    rng = canvas.rng
    lines: list[list[tuple[float, float]]] = []
    widths: list[float] = []

    def grow(point: tuple[float, float], heading: float, width: float, length: int) -> None:
        line = [point]
        for step in range(length):
            heading += rng.normal(0, 0.35)
            point = (point[0] + 0.035 * math.cos(heading), point[1] + 0.035 * math.sin(heading))
            line.append(point)
            if width > 0.008 and step > 1 and rng.random() < 0.16:
                grow(point, heading + rng.choice([-0.8, 0.8]), width * 0.65, length - step)
        lines.append(line)
        widths.append(width)

    for _ in range(stems):
        angle = rng.uniform(0, 2 * math.pi)
        grow(
            _at(shape, angle, 0.95),
            angle + math.pi + rng.normal(0, 0.5),
            rng.uniform(0.014, 0.024),
            int(rng.integers(8, 18)),
        )
    return canvas.curves(lines, widths)
