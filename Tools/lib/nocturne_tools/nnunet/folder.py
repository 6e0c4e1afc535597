"""The files of a trained model folder: plans, data set, checkpoints and postprocessing."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .refusal import Refusal, listed

COMPONENT_FUNCTION = "remove_all_but_largest_component_from_segmentation"


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError:
        raise Refusal(path, "no such file; a trained nnU-Net folder has one") from None
    except (OSError, ValueError) as error:
        raise Refusal(path, f"cannot be read as JSON ({error})") from None
    if not isinstance(content, dict):
        raise Refusal(path, "expected an object")
    return content


@dataclass(frozen=True)
class Checkpoint:
    """The parts of one `checkpoint_*.pth` that an export needs; mirroring axes are in the network's order."""

    path: Path
    weights: dict[str, Tensor]
    configuration: str
    trainer: str
    mirroring: list[int]


class Folder:
    """A folder `<Trainer>__<Plans>__<Configuration>`; `folds` empty means all that hold the checkpoint."""

    def __init__(self, path: Path, folds: list[str], checkpoint: str, trust: bool) -> None:
        self.path = path
        self.plans_file, self.dataset_file = path / "plans.json", path / "dataset.json"
        if not path.is_dir():
            raise Refusal(path, "no such folder")
        self.plans, self.dataset = read_json(self.plans_file), read_json(self.dataset_file)
        self.checkpoint_name, self.trust = checkpoint, trust
        self.folds = folds or self._found()
        for fold in self.folds:
            if not self._file(fold).is_file():
                raise Refusal(self._file(fold), f"fold {fold} is missing; found: {listed(self._found()) or 'none'}")

    def _file(self, fold: str) -> Path:
        return self.path / f"fold_{fold}" / self.checkpoint_name

    def _found(self) -> list[str]:
        names = [file.parent.name.removeprefix("fold_") for file in self.path.glob(f"fold_*/{self.checkpoint_name}")]
        numbered = sorted((name for name in names if name.isdecimal()), key=int)
        found = numbered or (["all"] if "all" in names else [])
        if not found:
            raise Refusal(self.path, f"no fold_*/{self.checkpoint_name} in this folder")
        return found

    def checkpoints(self) -> Iterator[tuple[str, Checkpoint]]:
        """Every fold with its checkpoint, one in memory at a time."""
        for fold in self.folds:
            yield fold, read_checkpoint(self._file(fold), self.trust)

    def postprocessing(self) -> tuple[Path, list[Any]] | None:
        """The `labels_or_regions` of each step chosen in cross-validation, or None where nothing was chosen.

        Looked for in the cross-validation folder of exactly these folds, then in the model folder itself.
        """
        crossval = self.path / f"crossval_results_folds_{'_'.join(self.folds)}"
        for file in (place / f"postprocessing{kind}" for place in (crossval, self.path) for kind in (".json", ".pkl")):
            if file.is_file():
                return file, _steps(file)
        return None


def _steps(file: Path) -> list[Any]:
    if file.suffix == ".json":
        content = read_json(file)
        names, arguments = content.get("postprocessing_fns"), content.get("postprocessing_kwargs")
    else:
        with file.open("rb") as stream:
            try:
                names, arguments = _Names(stream).load()
            except (pickle.UnpicklingError, ValueError, TypeError, EOFError) as error:
                raise Refusal(file, f"is not a list of postprocessing steps ({error})") from None
    if not isinstance(names, list) or not isinstance(arguments, list) or len(names) != len(arguments):
        raise Refusal(file, "expected as many postprocessing_kwargs as postprocessing_fns")
    for name, given in zip(names, arguments):
        if name != COMPONENT_FUNCTION:
            raise Refusal(file, f"unknown postprocessing function {name!r}; known: {COMPONENT_FUNCTION}")
        unknown = set(given) - {"labels_or_regions", "background_label"}
        if unknown or "labels_or_regions" not in given or given.get("background_label", 0) != 0:
            raise Refusal(file, f"unknown arguments of {name}: {given}")
    return [given["labels_or_regions"] for given in arguments]


class _Names(pickle.Unpickler):
    """Reads lists, numbers and texts, and the one function as its name: nothing in the pickle is run."""

    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("nnunetv2.postprocessing.") and name == COMPONENT_FUNCTION:
            return name
        if (module, name) in (("numpy._core.multiarray", "scalar"), ("numpy.core.multiarray", "scalar")):
            return np._core.multiarray.scalar
        if (module, name) == ("numpy", "dtype"):
            return np.dtype
        raise pickle.UnpicklingError(f"it names {module}.{name}")


def _older_scalar(*parts: Any) -> Any:
    """`numpy.core.multiarray.scalar`, the name before NumPy 2; PyTorch 2.5 takes functions by their own names only."""
    return np._core.multiarray.scalar(*parts)


_older_scalar.__module__, _older_scalar.__name__ = "numpy.core.multiarray", "scalar"


def read_checkpoint(path: Path, trust: bool) -> Checkpoint:
    """Reads a checkpoint without running code that its pickle may name, unless `trust` is set."""
    scalar = np._core.multiarray.scalar
    kinds = {type(np.dtype(kind)) for kind in (bool, "i4", "i8", "u1", "f2", "f4", "f8", "S1", "U1")}
    safe = [np.dtype, scalar, _older_scalar, *kinds]
    try:
        with torch.serialization.safe_globals(safe):
            content = torch.load(path, map_location="cpu", weights_only=not trust)
    except pickle.UnpicklingError as error:
        # Around the fact, PyTorch gives advice whose words depend on its version.
        fact = str(error).split("WeightsUnpickler error: ")[-1].split("trusted source.")[-1]
        fact = fact.split("Please ")[0].split("Check the documentation")[0].strip()
        hint = "nnU-Net would load it; --trust-checkpoint does too, if you trust its source"
        raise Refusal(path, f"is not a checkpoint of weights alone ({' '.join(fact.split())[-200:]}); {hint}") from None
    except Exception as error:  # torch raises many kinds of errors for files of other kinds
        raise Refusal(path, f"is not a PyTorch checkpoint ({type(error).__name__}: {str(error)[:120]})") from None
    if not isinstance(content, dict):
        raise Refusal(path, f"expected a dictionary with network_weights, found {type(content).__name__}")
    weights = content.get("network_weights")
    if not isinstance(weights, dict) or not weights:
        raise Refusal(path, f"contains no network: network_weights is missing (found {listed(content) or 'nothing'})")
    if not all(isinstance(name, str) and isinstance(value, Tensor) for name, value in weights.items()):
        raise Refusal(path, "contains no network: network_weights has entries that are not tensors")
    for name, value in weights.items():
        if value.is_floating_point() and not bool(torch.isfinite(value).all()):
            raise Refusal(path, f"weight {name} is not finite")
    configuration = (content.get("init_args") or {}).get("configuration")
    if not isinstance(configuration, str):
        raise Refusal(path, "init_args.configuration is missing, which names the configuration of the plans")
    axes = content.get("inference_allowed_mirroring_axes")
    mirroring = [] if axes is None else [int(axis) for axis in axes]
    plain = {name.removeprefix("module.").removeprefix("_orig_mod."): value for name, value in weights.items()}
    return Checkpoint(path, plain, configuration, str(content.get("trainer_name", "")), mirroring)
