"""The outline of a lesion: a circle deformed by harmonics."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .canvas import Canvas, Field


@dataclass
class Outline:
    """`depth` is 1 at the middle, 0 on the outline and negative outside."""

    u: float
    v: float
    radius: float
    depth: Field

    def mask(self, softness: float) -> Field:
        """1 inside, 0 outside, with an edge as wide as `softness` times the radius."""
        return np.clip(self.depth / softness + 0.5, 0, 1)

    def scatter(self, rng: np.random.Generator, count: int, reach: float = 0.85) -> list[tuple[float, float]]:
        """Points spread over the lesion, within `reach` of its radius."""
        angles, radii = rng.uniform(0, 2 * math.pi, count), np.sqrt(rng.uniform(0, 1, count)) * reach * self.radius
        return [(self.u + r * math.cos(a), self.v + r * math.sin(a)) for a, r in zip(angles, radii)]

    def rim(self, rng: np.random.Generator, count: int, at: float) -> list[tuple[float, float]]:
        """Points near the outline, at that share of the radius."""
        angles, radii = rng.uniform(0, 2 * math.pi, count), self.radius * rng.normal(at, 0.06, count)
        return [(self.u + r * math.cos(a), self.v + r * math.sin(a)) for a, r in zip(angles, radii)]


def outline(canvas: Canvas, irregularity: float, size: tuple[float, float]) -> Outline:
    """An outline near the middle, `irregularity` (0...1) being how far it is from an ellipse."""
    rng = canvas.rng
    u, v = rng.uniform(-0.14, 0.14, 2)
    radius = rng.uniform(*size)
    ratio, turn = rng.uniform(1.0, 1.25 + 0.25 * irregularity), rng.uniform(0, math.pi)
    du, dv = canvas.u - u, canvas.v - v
    along = (du * math.cos(turn) + dv * math.sin(turn)) / ratio
    across = (-du * math.sin(turn) + dv * math.cos(turn)) * ratio
    angle = np.arctan2(across, along)
    turns = np.linspace(-math.pi, math.pi, 721)
    edge = np.ones_like(turns)
    for order in range(2, 10):
        amplitude = irregularity * rng.normal(0, 0.34 / order)
        edge += amplitude * np.cos(order * turns + rng.uniform(0, 2 * math.pi))
    reach = np.interp(angle, turns, radius * np.maximum(edge, 0.3))
    depth = 1 - np.sqrt(along**2 + across**2) / reach
    return Outline(float(u), float(v), radius, depth.astype(np.float32))
