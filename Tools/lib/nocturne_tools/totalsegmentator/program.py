"""From folders of TotalSegmentator's weights to a program package."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nocturne_tools.model_package import write_program
from nocturne_tools.nnunet import package
from nocturne_tools.nnunet.labels import entries
from nocturne_tools.nnunet.refusal import Refusal, listed
from nocturne_tools.whole_folder import whole_folder

from .tasks import REGION_MARGIN_MM, Network, Part, Task

# The voxels stay as they are, in canonical order.
NATIVE_GRID = {"orientation": "RAS"}
RESAMPLING = {"method": "zoom", "order": 1, "truncates": True}
DOWNLOAD = "totalseg_download_weights of the Python package TotalSegmentator downloads weights"
LICENSED = "the licence that TotalSegmentator's authors issue for this task"


@dataclass
class Options:
    """The package's own description, and how the weights are read."""

    identifier: str | None = None
    name: str | None = None
    version: str | None = None
    licence: str | None = None
    checkpoint: str = "checkpoint_final.pth"
    trust: bool = False
    replace: bool = False
    native_grid: bool = False


def model_folder(weights: Path, network: Network, dataset: int) -> Path:
    """The trained folder of a dataset; exactly one folder of `weights` must have its number."""
    found = sorted(path for path in weights.glob(f"Dataset{dataset:03d}_*") if path.is_dir())
    if not found:
        raise Refusal(weights, f"no folder Dataset{dataset:03d}_*, which the task needs; {DOWNLOAD}")
    if len(found) > 1:
        raise Refusal(weights, f"{listed(path.name for path in found)}: keep only the newest of them")
    path = found[0] / f"{network.trainer}__{network.plans}__{network.configuration}"
    if not path.is_dir():
        others = listed(sorted(one.name for one in found[0].iterdir() if one.is_dir())) or "none"
        raise Refusal(found[0], f"no folder {path.name}; found: {others}")
    return path


def grid(network: Network) -> dict[str, Any]:
    """The grid on which networks run and their labels are merged, as TotalSegmentator has it."""
    if network.spacing is None:
        return NATIVE_GRID
    return {"orientation": "RAS", "spacing": network.spacing, "resampling": RESAMPLING}


@dataclass
class Export:
    """One export: the task, the folder of weights, and the options."""

    task: Task
    weights: Path
    options: Options = field(default_factory=Options)
    say: Callable[[str], None] = print

    def write(self, out: Path) -> dict[str, Any]:
        """Writes the package; `out` appears completely or not at all. Returns `model.json`."""
        if out.exists() and not self.options.replace:
            raise Refusal(out, "exists already; --replace overwrites it")
        task = self.task
        for network in [task.network] if task.region is None else [task.region, task.network]:
            for part in network.parts:  # all of them before the first export, which takes time
                model_folder(self.weights, network, part.dataset)
        with whole_folder(out) as partial:
            program: dict[str, Any] = {"grid": NATIVE_GRID if self.options.native_grid else grid(task.network)}
            if task.region is not None:
                program["region"] = self._region(task.region, partial)
            program["parts"] = []
            for part in task.network.parts:
                self._write_part(task.network, part, partial / "parts" / part.name)
                values = {str(index): value for index, value in sorted(part.values.items())}
                program["parts"].append({"packages": [f"parts/{part.name}"], "labels": values})
            return write_program(partial, self._manifest(program))

    def _region(self, network: Network, partial: Path) -> dict[str, Any]:
        self._write_part(network, network.parts[0], partial / "parts" / "region")
        return {
            "package": "parts/region",
            "grid": grid(network),
            "labels": self.task.region_labels,
            "marginMm": REGION_MARGIN_MM,
            "grows": False,  # TotalSegmentator takes the box as it is found
            "truncates": True,
        }

    def _write_part(self, network: Network, part: Part, place: Path) -> None:
        folder = model_folder(self.weights, network, part.dataset)
        self.say(f"{folder.parent.name}:")
        full = package.write(folder, place, self._part_options(network, part), lambda text: self.say(f"  {text}"))
        dropped = [entry["name"] for entry in full["labels"] if entry["value"] not in part.values]
        if dropped:
            self.say(f"  note: labels that TotalSegmentator does not return: {listed(dropped)}")

    def _part_options(self, network: Network, part: Part) -> package.Options:
        return package.Options(
            folds=network.folds,
            checkpoint=self.options.checkpoint,
            identifier=self._identifier(f"{network.task}-{part.name}"),
            name=f"TotalSegmentator {network.task}, dataset {part.dataset}",
            version=self.options.version or self.task.version,
            licence=self._licence(),
            tile_step=network.tile_step,
            mirroring=False,
            postprocessing=False,
            label_names=part.labels,
            extra_postprocessing=network.postprocessing,
            trust=self.options.trust,
        )

    @staticmethod
    def _identifier(name: str) -> str:
        return "totalsegmentator-" + re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")

    def _licence(self) -> str:
        return self.options.licence or (LICENSED if self.task.licensed else "Apache-2.0")

    def _manifest(self, program: dict[str, Any]) -> dict[str, Any]:
        task, options = self.task, self.options
        ordered = sorted(task.labels.items())
        datasets = listed(part.dataset for part in task.network.parts)
        text = f"TotalSegmentator, task {task.name}, datasets {datasets}; rules of version {task.software}."
        return {
            "id": options.identifier or self._identifier(task.name),
            "name": options.name or f"TotalSegmentator {task.name}",
            "description": text,
            "version": options.version or task.version,
            "licence": self._licence(),
            "modalities": [task.modality],
            "channels": [{"name": task.modality, "normalization": {"scheme": "none"}}],
            "labels": entries([value for value, _ in ordered], [name for _, name in ordered]),
            "volumeProgram": program,
        }
