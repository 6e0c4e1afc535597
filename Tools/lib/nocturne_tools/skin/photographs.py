"""From a drawn lesion to a photograph of it: hair, light, lens, camera; and metadata of a person."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .canvas import Canvas
from .lesions import CLASSES, DRAW, skin

SITES = [
    "anterior torso",
    "head/neck",
    "lateral torso",
    "lower extremity",
    "oral/genital",
    "palms/soles",
    "posterior torso",
    "upper extremity",
    "unknown",
]
# Mean and deviation of the age, and the weights of the sites: a hint for the network, not a medical fact.
AGES = {
    "mel": (61, 15), "nv": (41, 15), "bcc": (66, 12), "akiec": (68, 11),
    "bkl": (63, 13), "df": (48, 13), "vasc": (50, 18),
}  # fmt: skip
SITE_WEIGHTS = {
    "mel": [4, 3, 1, 4, 0.2, 0.6, 6, 3],
    "nv": [6, 2, 2, 5, 0.4, 0.8, 7, 3],
    "bcc": [3, 9, 1, 2, 0.1, 0.1, 4, 2],
    "akiec": [1, 9, 0.3, 4, 0.1, 0.2, 1, 4],
    "bkl": [4, 6, 1, 3, 0.1, 0.1, 5, 3],
    "df": [1, 0.4, 0.5, 9, 0.1, 0.2, 1, 5],
    "vasc": [5, 3, 1, 3, 0.5, 0.6, 3, 3],
}


@dataclass
class Person:
    """Metadata of a person; None where unknown."""

    age: int | None
    sex: str | None
    site: str | None

    def vector(self) -> list[float]:
        """[age / 100 or 0, 1 where the age is missing, sex 0 male 1 female 2 unknown, place among SITES]."""
        age = 0.0 if self.age is None else min(max(self.age / 100, 0.0), 1.0)
        sex = {"male": 0.0, "female": 1.0}.get(self.sex or "", 2.0)
        return [age, float(self.age is None), sex, float(SITES.index(self.site or "unknown"))]


def person(name: str, rng: np.random.Generator) -> Person:
    """A random person with a lesion of that class; one in eight values is missing."""
    age = int(np.clip(round(rng.normal(*AGES[name]) / 5) * 5, 5, 95))
    sex = str(rng.choice(["male", "female"], p=[0.55, 0.45]))
    weights = np.array(SITE_WEIGHTS[name])
    site = SITES[rng.choice(8, p=weights / weights.sum())]
    known = rng.random(3) > 0.125
    return Person(age if known[0] else None, sex if known[1] else None, site if known[2] else None)


def photograph(name: str, seed: int, height: int = 380, width: int = 380) -> NDArray[np.uint8]:
    """A picture (height, width, 3) of a lesion of that class; the same for the same seed and size."""
    rng = np.random.default_rng([0x5C1A, CLASSES.index(name), seed])
    canvas = Canvas(height, width, rng)
    skin(canvas)
    DRAW[name](canvas)
    if rng.random() < 0.4:
        _hair(canvas)
    _light(canvas)
    return _camera(canvas)


def _hair(canvas: Canvas) -> None:
    rng = canvas.rng
    lines, widths = [], []
    heading = rng.uniform(0, math.pi)
    for _ in range(int(rng.integers(3, 22))):
        u, v = rng.uniform(-1.2, 1.2, 2)
        angle, bend = heading + rng.normal(0, 0.5), rng.normal(0, 0.8)
        steps = np.linspace(0, rng.uniform(0.6, 1.6), 14)
        lines.append([(u + t * math.cos(angle + bend * t), v + t * math.sin(angle + bend * t)) for t in steps])
        widths.append(rng.uniform(0.004, 0.012))
    tone = rng.uniform(0.05, 0.3)
    canvas.blend(canvas.curves(lines, widths, 0.5) * rng.uniform(0.5, 0.9), (tone, tone * 0.75, tone * 0.6))


def _light(canvas: Canvas) -> None:
    """A cast, a gradient, vignetting, and now and then the round dark edge of a dermatoscope."""
    rng = canvas.rng
    canvas.rgb *= rng.uniform(0.8, 1.12) * np.array([rng.uniform(0.88, 1.1), 1, rng.uniform(0.82, 1.12)], np.float32)
    distance = np.hypot(canvas.u, canvas.v)
    canvas.shade(rng.normal(0, 0.05) * canvas.u + rng.normal(0, 0.05) * canvas.v)
    canvas.shade(-rng.uniform(0, 0.28) * np.clip(distance - 0.35, 0, 2) ** 2)
    if rng.random() < 0.2:
        canvas.blend(np.clip((distance - rng.uniform(1.0, 1.25)) * 25, 0, 1), (0.03, 0.03, 0.03))


def _camera(canvas: Canvas) -> NDArray[np.uint8]:
    rng = canvas.rng
    canvas.rgb += rng.normal(0, rng.uniform(0.004, 0.02), canvas.rgb.shape).astype(np.float32)
    return (np.clip(canvas.rgb, 0, 1) * 255 + 0.5).astype(np.uint8)
