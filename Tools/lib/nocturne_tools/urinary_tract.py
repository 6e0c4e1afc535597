"""The phantoms on which the demonstration model `urinary-tract-ct` is evaluated."""

from __future__ import annotations

from dataclasses import dataclass

from nocturne_tools.paths import SAMPLE_MODELS

PACKAGE = SAMPLE_MODELS / "urinary-tract-ct"


@dataclass(frozen=True)
class Case:
    """An unseen phantom; `spacing` (mm) and `orientation` in array order (i, j, k), `tilt` in degrees about x, y, z."""

    seed: int
    spacing: tuple[float, float, float]
    orientation: str
    tilt: tuple[float, float, float] = (0.0, 0.0, 0.0)


CASES = [
    Case(501, (3.3, 3.3, 5.0), "LPS"),
    Case(502, (3.2, 3.2, 4.8), "RAS", (3.0, -2.0, 4.0)),
    Case(503, (3.0, 3.0, 3.0), "RAS"),
    Case(504, (2.0, 2.0, 2.5), "LPI"),
    Case(505, (3.0, 3.0, 6.0), "LAS"),
    Case(506, (2.5, 2.5, 4.0), "LIP"),
    Case(507, (2.2, 2.8, 5.0), "RPS", (-5.0, 4.0, -6.0)),
    Case(508, (1.9, 1.9, 3.0), "LPS"),
    Case(509, (2.4, 2.4, 2.4), "SRA"),
    Case(510, (3.4, 3.4, 4.0), "LPS", (0.0, 6.0, 0.0)),
]
