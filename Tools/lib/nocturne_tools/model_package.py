"""Writes model packages (schemaVersion 2): a folder with `model.json` and the ONNX files it names."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from nocturne_tools.nnunet.refusal import Refusal

SCHEMA_VERSION = 2


def label(
    value: int, name: str, color: str, code: tuple[str, str] | None = None, title: str | None = None
) -> dict[str, Any]:
    """One label entry; `code` is a SNOMED CT code with its meaning, `title` its name for people if `name` is another one."""
    entry: dict[str, Any] = {"value": value, "name": name, "color": color}
    if title is not None and title != name:
        entry["title"] = title
    if code is not None:
        entry["code"] = {"scheme": "SCT", "value": code[0], "meaning": code[1]}
    return entry


def file_entry(folder: Path, name: str) -> dict[str, Any]:
    """Path, size and SHA-256 of a file of a package."""
    content = (folder / name).read_bytes()
    return {"path": name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}


def record_name(network: str) -> str:
    """Of the record of a network's output, which `nocturne models check` reads."""
    return network.removesuffix(".onnx") + ".check.json"


def record_output(network: Path, shape: tuple[int, ...]) -> str:
    """Records the output of a network that came as ONNX, where ONNX Runtime is installed. Returns a line about it."""
    try:
        from nocturne_tools.recorded_output import record_with_onnxruntime
    except ImportError:
        return f"{network.name}: no values for models check are recorded, since the package onnxruntime is not installed"
    try:
        library = record_with_onnxruntime(network, shape)
    except Exception as error:  # ONNX Runtime has a kind of error for each fault of a file
        raise Refusal(network, f"cannot be run by ONNX Runtime ({str(error).splitlines()[0][:200]})") from None
    return f"{network.name}: recorded for models check what {library} computes"


def write_package(folder: Path, manifest: dict[str, Any], networks: list[str]) -> dict[str, Any]:
    """Completes `manifest` with the size and SHA-256 of `networks` (files in `folder`) and writes `model.json`.

    The networks of a `previousStage` are added to the files.
    """
    before = manifest["volumeSegmentation"].get("previousStage", {}).get("networks", [])
    recipe = {**manifest["volumeSegmentation"], "networks": networks}
    return _write(folder, manifest, before + networks, ("volume-segmentation", "volumeSegmentation", recipe))


def write_photo_label_package(folder: Path, manifest: dict[str, Any], networks: list[str]) -> dict[str, Any]:
    """The same for label maps of photos, whose section is `photoSegmentation`."""
    recipe = {**manifest["photoSegmentation"], "networks": networks}
    return _write(folder, manifest, networks, ("photo-segmentation", "photoSegmentation", recipe))


def write_program(folder: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """The same for a program, whose `parts` are folders with packages: their files become its own."""
    files = [path.relative_to(folder).as_posix() for path in sorted(folder.glob("parts/**/*")) if path.is_file()]
    return _write(folder, manifest, files, ("volume-program", "volumeProgram", manifest["volumeProgram"]))


def write_photo_package(
    folder: Path, manifest: dict[str, Any], files: list[str], task: tuple[str, str]
) -> dict[str, Any]:
    """The same for photos; `task` is the task and the key of its section, which `manifest` contains."""
    full = _head(folder, manifest, files, task[0]) | {task[1]: manifest[task[1]]}
    return _save(folder, full)


def _write(
    folder: Path, manifest: dict[str, Any], files: list[str], task: tuple[str, str, dict[str, Any]]
) -> dict[str, Any]:
    """Writes `model.json`; `task` is its task, and the name and content of the section."""
    facts = {key: manifest[key] for key in ("modalities", "channels", "labels")}
    return _save(folder, _head(folder, manifest, files, task[0]) | facts | {task[1]: task[2]})


def _head(folder: Path, manifest: dict[str, Any], files: list[str], task: str) -> dict[str, Any]:
    """What packages of all tasks have. The records of networks are files of the package, too."""
    records = [name for name in map(record_name, files) if (folder / name).is_file()]
    return {
        "schemaVersion": SCHEMA_VERSION,
        "id": manifest["id"],
        "name": manifest["name"],
        "description": manifest["description"],
        "version": manifest["version"],
        "licence": manifest.get("licence", "Apache-2.0"),
        **({"demonstration": True} if manifest.get("demonstration") else {}),
        "task": task,
        "files": [file_entry(folder, name) for name in dict.fromkeys(files + records)],
    }


def _save(folder: Path, full: dict[str, Any]) -> dict[str, Any]:
    (folder / "model.json").write_text(json.dumps(full, indent=2, ensure_ascii=False) + "\n")
    return full


def spline(order: int, order_z: int, separate_z: str, threshold: float = 3) -> dict[str, Any]:
    """A rule of `resampling`: splines of degree `order`, and of `order_z` along an axis that is treated separately.

    `separate_z` is "auto" (where the spacings differ by more than `threshold` times), "always" or "never".
    """
    return {
        "method": "spline",
        "order": order,
        "orderZ": order_z,
        "separateZ": separate_z,
        "anisotropyThreshold": threshold,
    }


def recipe(
    orientation: str,
    spacing: list[float] | None,
    patch: list[int],
    keep_largest: list[str] | None = None,
    fill_holes: list[str] | None = None,
) -> dict[str, Any]:
    """The `volumeSegmentation` entry; spacing (mm) and patch in network axis order z, y, x."""
    return {
        "orientation": orientation,
        "spacing": spacing,
        "patchSize": patch,
        "tileStep": 0.5,
        "mirroringAxes": [],
        "cropToNonzero": False,
        "resampling": {"image": spline(1, 0, "never"), "logits": spline(1, 0, "never")},
        "networks": [],
        "postprocessing": {
            "keepLargest": keep_largest or [],
            "fillHoles": fill_holes or [],
            "minimumVolumeMm3": {},
        },
    }
