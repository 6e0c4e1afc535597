"""Names and colours of the classes of a package."""

from __future__ import annotations

import colorsys
import re
import unicodedata
from pathlib import Path

from nocturne_tools.nnunet.refusal import Refusal, listed

# Of Okabe and Ito, without grey; more classes get colours of evenly spread hues.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#F0E442"]
GOLDEN_ANGLE = 0.381966
LIMIT = 1000


def safe_name(text: str) -> str:
    """`traffic light` -> `traffic_light`: the characters that a package allows, at most 100; "" if none remains."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", plain.strip()).strip("_").lstrip(".")[:100]


def color(index: int) -> str:
    """`#rrggbb` of the class with this index."""
    if index < len(PALETTE):
        return PALETTE[index]
    red, green, blue = colorsys.hsv_to_rgb(index * GOLDEN_ANGLE % 1, 0.75, 0.85 if index % 2 else 0.65)
    return f"#{round(red * 255):02X}{round(green * 255):02X}{round(blue * 255):02X}"


def classes(file: Path, names: list[str]) -> list[dict[str, str]]:
    """The entry `classes` of `model.json`. Names that are not safe as file names, or twice the same, are refused."""
    if not 1 <= len(names) <= LIMIT:
        raise Refusal(file, f"has {len(names)} classes; a package has 1 to {LIMIT}")
    safe = [safe_name(name) for name in names]
    if empty := [name for name, short in zip(names, safe) if not short]:
        raise Refusal(
            file, f"has class names without a letter of A to Z or a digit: {listed(empty)}; give all with --classes"
        )
    lower = [name.lower() for name in safe]
    if doubled := sorted({name for name in lower if lower.count(name) > 1}):
        raise Refusal(file, f"has these class names twice: {listed(doubled)}; give all names with --classes")
    return [{"name": name, "color": color(index)} for index, name in enumerate(safe)]
