"""From trained folders to a model package."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nocturne_tools.model_package import write_package, write_photo_label_package
from nocturne_tools.whole_folder import whole_folder

from . import network as networks
from .folder import Folder
from .labels import Labels, channel_names, modalities, renamed
from .refusal import Refusal, listed
from .settings import Configuration


@dataclass
class Options:
    """The package's own description, and how the trained files are read."""

    folds: list[str] = field(default_factory=list)
    checkpoint: str = "checkpoint_final.pth"
    previous_stage: Path | None = None
    previous_folds: list[str] = field(default_factory=list)
    identifier: str | None = None
    name: str | None = None
    version: str = "1.0.0"
    licence: str | None = None
    tile_step: float = 0.5
    mirroring: bool = True
    postprocessing: bool = True
    label_names: dict[int, str] | None = None  # instead of those of dataset.json, by value
    extra_postprocessing: dict[str, Any] = field(default_factory=dict)  # members of `postprocessing`
    trust: bool = False
    replace: bool = False


class Stage:
    """One trained folder: its rules, and its networks once written."""

    def __init__(self, folder: Folder, options: Options, say: Callable[[str], None]) -> None:
        self.folder, self._options, self._say = folder, options, say
        self.labels = Labels(folder.dataset_file, folder.dataset)
        if options.label_names is not None:
            self.labels.rename(options.label_names)
        self.channels = channel_names(folder.dataset_file, folder.dataset)
        self._checkpoints = folder.checkpoints()
        self._first = next(self._checkpoints)
        first = self._first[1]
        self.configuration = Configuration(folder.plans_file, folder.plans, first.configuration)
        self.normalizations = self.configuration.normalizations(len(self.channels))
        if self.configuration.takes_photos and len(self.channels) not in (1, 3):
            fact = f"channel_names has {len(self.channels)} channels; photos have 1 (grey) or 3 (red, green, blue)"
            raise Refusal(folder.dataset_file, fact)
        axes, dimension = first.mirroring, len(self.configuration.patch)
        if sorted(set(axes)) != sorted(axes) or not all(0 <= axis < dimension for axis in axes):
            raise Refusal(first.path, f"inference_allowed_mirroring_axes is {axes} for {dimension} dimensions")
        self.mirroring, self.trainer = axes, first.trainer
        self._mirrors = options.mirroring

    def recipe(self) -> dict[str, Any]:
        """`volumeSegmentation` or `photoSegmentation` without networks, output and postprocessing."""
        configuration = self.configuration
        recipe = {
            "orientation": configuration.orientation,
            "transpose": configuration.transpose,
            "spacing": configuration.spacing,
            "patchSize": configuration.patch,
            "tileStep": self._options.tile_step,
            "mirroringAxes": sorted(self.mirroring) if self._mirrors else [],
            "cropToNonzero": True,
        }
        if configuration.takes_photos:
            return {key: value for key, value in recipe.items() if key not in ("orientation", "spacing")}
        return {**recipe, "resampling": configuration.resampling()}

    def write_networks(self, out: Path, prefix: str) -> list[str]:
        """Exports and checks every fold; the files' names."""
        extra = len(self.labels.foreground) if self.configuration.previous is not None else 0
        shape = (1, len(self.channels) + extra, *self.configuration.patch)
        network = networks.build(self.configuration, self.trainer, shape[1], self.labels.outputs)
        files = []
        for fold, checkpoint in self._every_fold():
            if checkpoint.configuration != self.configuration.name:
                other = f"configuration {checkpoint.configuration}, the first fold of {self.configuration.name}"
                raise Refusal(checkpoint.path, f"is of {other}")
            if sorted(checkpoint.mirroring) != sorted(self.mirroring):
                self._say(f"note: {checkpoint.path} mirrors along {checkpoint.mirroring}; the first fold's axes count")
            networks.load(network, checkpoint, networks.pretraining_advice(self.configuration, self.trainer))
            name = f"{prefix}fold_{fold}.onnx"
            try:
                networks.export(network, shape, out / name)
            except Exception as error:
                raise Refusal(checkpoint.path, f"cannot be written as ONNX ({type(error).__name__}: {error})") from None
            found = networks.compare(network, shape, out / name)
            figures = f"largest difference {found.largest:.1e}, relative RMS {found.root_mean_square:.1e}"
            self._say(f"{name}: ONNX against PyTorch {figures} of the output's scale")
            if not found.largest <= networks.LARGEST_DIFFERENCE:
                raise Refusal(checkpoint.path, f"its export differs: {figures}, limit {networks.LARGEST_DIFFERENCE}")
            files.append(name)
        note = networks.trainer_note(self.trainer)
        if note:
            self._say(f"note: {note}")
        return files

    def _every_fold(self):
        first = self._first
        del self._first  # weights of one fold at a time
        yield first
        yield from self._checkpoints


def previous_folder(stage: Stage, options: Options) -> Path:
    """The folder of the previous stage: as given, or the one beside it with the same trainer and plans."""
    wanted = stage.configuration.previous
    if options.previous_stage is not None:
        return options.previous_stage
    folder = stage.folder.path.resolve()
    parts = folder.name.split("__")
    if len(parts) == 3 and (folder.parent / f"{parts[0]}__{parts[1]}__{wanted}").is_dir():
        return folder.parent / f"{parts[0]}__{parts[1]}__{wanted}"
    beside = sorted(path for path in folder.parent.glob(f"*__{wanted}") if path.is_dir())
    if len(beside) == 1:
        return beside[0]
    found = listed(path.name for path in beside) or "none"
    raise Refusal(folder, f"is a cascade after {wanted}; beside it: {found}; name its folder with --previous-stage")


def _previous(stage: Stage, options: Options, say: Callable[[str], None]) -> Stage:
    folder = previous_folder(stage, options)
    folds = options.previous_folds or options.folds
    before = Stage(Folder(folder, folds, options.checkpoint, options.trust), options, say)
    if before.configuration.name != stage.configuration.previous:
        fact = f"is of configuration {before.configuration.name}, the cascade follows {stage.configuration.previous}"
        raise Refusal(folder, fact)
    if before.configuration.previous is not None:
        raise Refusal(folder, "is a cascade itself; a package has at most two stages")
    if before.configuration.takes_tiff != stage.configuration.takes_tiff:
        raise Refusal(before.folder.plans_file, "its image_reader_writer is not that of the cascade")
    if before.channels != stage.channels:
        raise Refusal(before.folder.dataset_file, "its channels are not those of the cascade")
    if before.labels.entries != stage.labels.entries or before.labels.regions != stage.labels.regions:
        raise Refusal(before.folder.dataset_file, "its labels are not those of the cascade")
    return before


def write(model: Path, out: Path, options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Writes the package of a trained folder; `out` appears completely or not at all. Returns `model.json`."""
    if out.exists() and not options.replace:
        raise Refusal(out, "exists already; --replace overwrites it")
    stage = Stage(Folder(model, options.folds, options.checkpoint, options.trust), options, say)
    recipe = stage.recipe()
    if stage.configuration.takes_tiff:
        recipe["inputFormat"] = "tiff"
    before = None if stage.configuration.previous is None else _previous(stage, options, say)
    if names := renamed(stage.labels.entries):
        say(f"names of labels in files: {names}; the others are kept as titles")
    rules: dict[str, Any] = {"keepLargest": [], "fillHoles": []}
    if not stage.configuration.takes_photos:
        rules["minimumVolumeMm3"] = {}
    chosen = stage.folder.postprocessing() if options.postprocessing else None
    if chosen is not None:
        rules["keepLargest"] = stage.labels.keep_largest(*chosen)
        say(f"{chosen[0]}: keeps the largest component of {rules['keepLargest'] or 'nothing'}")
    rules |= options.extra_postprocessing
    with whole_folder(out) as partial:
        if before is not None:
            recipe["previousStage"] = {
                **before.recipe(),
                "networks": before.write_networks(partial, "previous_"),
                "oneHotLabels": stage.labels.foreground,
                "normalizations": before.normalizations,
            }
        files = stage.write_networks(partial, "")
        recipe |= {"output": "regions" if stage.labels.regions else "classes", "postprocessing": rules}
        complete = write_photo_label_package if stage.configuration.takes_photos else write_package
        return complete(partial, _manifest(stage, recipe, options), files)


def _manifest(stage: Stage, recipe: dict[str, Any], options: Options) -> dict[str, Any]:
    dataset, configuration = stage.folder.dataset, stage.configuration.name
    title = str(stage.folder.plans.get("dataset_name") or dataset.get("name") or stage.folder.path.parent.name)
    safe = re.sub(r"[^a-z0-9]+", "-", f"{title}-{configuration}".lower()).strip("-")[:100]
    folds = f"fold{'s' if len(stage.folder.folds) > 1 else ''} {', '.join(stage.folder.folds)}"
    text = str(dataset.get("description") or "").strip()
    channels = [
        {"name": name, "normalization": normalization}
        for name, normalization in zip(stage.channels, stage.normalizations)
    ]
    return {
        "id": options.identifier or safe or "nnunet",
        "name": options.name or f"{title} {configuration}",
        "description": f"{text + ' ' if text else ''}nnU-Net v2, {configuration}, {folds}, {stage.trainer}.",
        "version": options.version,
        "licence": options.licence or str(dataset.get("licence") or dataset.get("license") or "not stated"),
        "modalities": [] if stage.configuration.takes_photos else modalities(stage.channels),
        "channels": channels,
        "labels": stage.labels.entries,
        "photoSegmentation" if stage.configuration.takes_photos else "volumeSegmentation": recipe,
    }
