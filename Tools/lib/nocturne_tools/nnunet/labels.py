"""Labels, channels and postprocessing of a model package from `dataset.json`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from nocturne_tools.model_package import label

from .refusal import Refusal, listed

# Okabe and Ito's colours without black, then the same darker and lighter: distinct with any colour vision.
CYCLE = ["#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"]
LARGEST_LABEL = 65535


def color(index: int) -> str:
    """The colour of the label at `index`."""
    red, green, blue = (int(CYCLE[index % 7][n : n + 2], 16) for n in (1, 3, 5))
    shade = index // 7 % 3
    parts = [(round(part * 0.62) if shade == 1 else round(part + (255 - part) * 0.55)) for part in (red, green, blue)]
    return CYCLE[index % 7] if shade == 0 else "#" + "".join(f"{part:02X}" for part in parts)


def safe_names(names: list[str]) -> list[str]:
    """Names that can be files on every system, unique without regard to case, in the same order."""
    taken: set[str] = set()
    result = []
    for index, name in enumerate(names, start=1):
        base = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).lstrip(".")[:90].strip("_") or f"label_{index}"
        unique, number = base, 2
        while unique.lower() in taken:
            unique, number = f"{base}_{number}", number + 1
        taken.add(unique.lower())
        result.append(unique)
    return result


def entries(values: list[int], names: list[str]) -> list[dict[str, Any]]:
    """The labels of a package: `name` for files, and as `title` the name that they have in the model, where it is another one."""
    safe = safe_names(names)
    return [label(value, name, color(i), title=title) for i, (value, name, title) in enumerate(zip(values, safe, names))]


def renamed(labels: list[dict[str, Any]]) -> str:
    """What the names of labels became that cannot be those of files; empty if there are none."""
    return ", ".join(f"{one['title']} → {one['name']}" for one in labels if "title" in one)


class Labels:
    """The labels of a data set as nnU-Net's label manager interprets them."""

    def __init__(self, file: Path, dataset: dict[str, Any]) -> None:
        self.file = file
        declared = dataset.get("labels")
        if not isinstance(declared, dict) or declared.get("background") != 0:
            raise Refusal(file, "labels.background must be 0")
        self._declared = {name: self._values(name, value) for name, value in declared.items() if name != "ignore"}
        self.regions = any(len(values) > 1 for values in self._declared.values())
        self.foreground = sorted({value for values in self._declared.values() for value in values if value != 0})
        ignored = declared.get("ignore")
        if ignored is not None and ignored != max(self.foreground, default=0) + 1:
            raise Refusal(file, f"labels.ignore is {ignored}; it must be one more than the highest other label")
        names, values = self._regions(dataset) if self.regions else self._classes()
        if not names:
            raise Refusal(file, "labels: none beside the background")
        if not all(0 < value <= LARGEST_LABEL for value in values):
            raise Refusal(file, f"the label value {max(values)} is outside 1...{LARGEST_LABEL}")
        self.entries = entries(values, names)
        self.outputs = len(names) if self.regions else len(names) + 1

    def _values(self, name: str, value: Any) -> list[int]:
        values = value if isinstance(value, list) else [value]
        if not values or not all(isinstance(one, int) and one >= 0 for one in values):
            raise Refusal(self.file, f"labels.{name} is {value!r}; expected a number or a list of numbers")
        return values

    def _classes(self) -> tuple[list[str], list[int]]:
        """nnU-Net writes the index of the winning output, whatever the value of the label."""
        names = []
        for value in self.foreground:
            names.append(next(name for name, values in self._declared.items() if values == [value]))
        return names, list(range(1, len(names) + 1))

    def _regions(self, dataset: dict[str, Any]) -> tuple[list[str], list[int]]:
        names = [name for name, values in self._declared.items() if set(values) != {0}]
        order = dataset.get("regions_class_order")
        if not isinstance(order, list) or len(order) != len(names) or not all(isinstance(one, int) for one in order):
            raise Refusal(self.file, f"regions_class_order must have one number for each of {listed(names)}")
        if len(set(order)) != len(order):
            raise Refusal(self.file, f"regions_class_order {order} writes one value for two regions")
        return names, order

    def rename(self, names: dict[int, str]) -> None:
        """Gives labels other names, by value; every value must exist."""
        values = {entry["value"] for entry in self.entries}
        missing = sorted(set(names) - values)
        if missing:
            first = f"{names[missing[0]]} with the value {missing[0]}"
            raise Refusal(self.file, f"{len(values)} labels; expected {len(names)}, among them {first}")
        own = [names.get(entry["value"], entry.get("title", entry["name"])) for entry in self.entries]
        self.entries = entries([entry["value"] for entry in self.entries], own)

    def keep_largest(self, file: Path, steps: list[Any]) -> list[Any]:
        """Postprocessing steps as names of labels: a text for one label, a list for a joint mask."""
        names = {entry["value"]: entry["name"] for entry in self.entries}
        result: list[Any] = []
        for step in steps:
            nested = [one if isinstance(one, (list, tuple)) else [one] for one in _as_list(step)]
            values = [int(value) for part in nested for value in part]
            if 0 in values:
                raise Refusal(file, "a postprocessing step keeps the largest component of the background")
            found = [names[value] for value in dict.fromkeys(values) if value in names]
            if found:
                result.append(found[0] if len(found) == 1 else found)
        return result


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def channel_names(file: Path, dataset: dict[str, Any]) -> list[str]:
    """Names of the image channels, unique, in the network's order."""
    declared = dataset.get("channel_names", dataset.get("modality"))
    if not isinstance(declared, dict) or not declared:
        raise Refusal(file, "channel_names must name at least one channel")
    try:
        keys = sorted(declared, key=int)
    except ValueError:
        raise Refusal(file, f"channel_names must be numbered, found {listed(declared)}") from None
    names = [str(declared[key]) or f"channel {key}" for key in keys]
    return [f"{name} {index}" if names.count(name) > 1 else name for index, name in enumerate(names)]


def modalities(channels: list[str]) -> list[str]:
    """DICOM modalities that all channels stand for; empty, which means any, where a name has no known meaning."""
    found = set()
    for name in channels:
        first = re.split(r"[^a-z0-9]", name.lower())[0]
        if first in ("ct", "cta", "cect"):
            found.add("CT")
        elif first in ("mr", "mri", "t1", "t1w", "t1c", "t1ce", "t1gd", "t2", "t2w", "flair", "adc", "dwi", "pd"):
            found.add("MR")
        elif first in ("pet", "pt", "suv"):
            found.add("PT")
        else:
            return []
    return sorted(found)
