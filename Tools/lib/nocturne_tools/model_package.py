"""Writes model packages (schemaVersion 2): a folder with `model.json` and the ONNX files it names."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMA_VERSION = 2


def label(value: int, name: str, color: str, code: tuple[str, str] | None = None) -> dict[str, Any]:
    """One label entry; `code` is a SNOMED CT code with its meaning."""
    entry: dict[str, Any] = {"value": value, "name": name, "color": color}
    if code is not None:
        entry["code"] = {"scheme": "SCT", "value": code[0], "meaning": code[1]}
    return entry


@contextlib.contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """A folder to write into. At the end it becomes `out` and replaces what is there; after an error it is removed."""
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        yield partial
        partial.chmod(0o755)
        if out.exists():
            old = Path(tempfile.mkdtemp(prefix=f".{out.name}.old.", dir=out.parent))
            os.rename(out, old / "package")
            os.rename(partial, out)
            shutil.rmtree(old)
        else:
            os.rename(partial, out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_package(folder: Path, manifest: dict[str, Any], networks: list[str]) -> dict[str, Any]:
    """Completes `manifest` with the size and SHA-256 of `networks` (files in `folder`) and writes `model.json`.

    The networks of a `previousStage` are added to the files.
    """
    files = []
    before = manifest["volumeSegmentation"].get("previousStage", {}).get("networks", [])
    for name in before + networks:
        content = (folder / name).read_bytes()
        files.append({"path": name, "sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)})
    recipe = {**manifest["volumeSegmentation"], "networks": networks}
    full = {
        "schemaVersion": SCHEMA_VERSION,
        "id": manifest["id"],
        "name": manifest["name"],
        "description": manifest["description"],
        "version": manifest["version"],
        "licence": manifest.get("licence", "Apache-2.0"),
        "task": "volume-segmentation",
        "files": files,
        "modalities": manifest["modalities"],
        "channels": manifest["channels"],
        "labels": manifest["labels"],
        "volumeSegmentation": recipe,
    }
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
