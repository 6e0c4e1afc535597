"""Recognises trained networks by their files, of which only names and short JSON files are read."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nocturne_tools.nnunet.refusal import Refusal, listed
from nocturne_tools.wheels import Wheel

# Python packages that an exporter imports, without the library's own; for wheels by the names of their projects.
WHEELS = {"rapidocr": ("onnx",), "lavlab-taps": (), "deepbet": ("torch", "onnx", "onnxruntime")}
NEEDS = {
    "instances": ("numpy", "onnx", "onnxruntime"),
    "brainchop": ("numpy", "onnx", "onnxruntime"),
    "nnunet": ("torch", "nnunetv2", "onnx", "onnxruntime"),
    "totalsegmentator": ("torch", "nnunetv2", "onnx", "onnxruntime", "totalsegmentator"),
    "monai": ("torch", "monai", "onnx", "onnxruntime"),
}
WEIGHTS = (".onnx", ".pt", ".pth", ".safetensors", ".h5", ".pb", ".tflite", ".ckpt", ".bin")
LICENCES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "LICENCE.txt", "COPYING")
DEEPEST = 4
LARGEST_JSON = 64 << 20
TAIL = 1 << 20


@dataclass(frozen=True)
class Found:
    """What a source is.

    `exporter` gets `source`, and `arguments` in front of it; `facts` are its name and version, if it has some.
    """

    exporter: str
    title: str
    source: Path
    arguments: list[str] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    licence: Path | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """Python packages that the exporter imports, without the library's own."""
        return WHEELS[self.facts["name"]] if self.exporter == "wheel" else NEEDS[self.exporter]


def recognize(path: Path, task: str | None = None, inside: str | None = None) -> Found:
    """What a file or folder is. Raises `Refusal` with what was found instead.

    `task` is one of TotalSegmentator's; `inside` is the end of the path of one of several models.
    """
    if path.is_file():
        return recognize_wheel(path) if path.suffix == ".whl" else _file(path)
    models = [
        one for one in _models(path) if inside is None or f"/{one[1].as_posix()}".endswith(f"/{inside.strip('/')}")
    ]
    kinds = {kind for kind, _ in models}
    if kinds == {"nnunet"} and any("TotalSegmentator" in folder.parent.name for _, folder in models):
        return _totalsegmentator(path, [folder for _, folder in models], task)
    if len(models) != 1:
        found = listed(f"{folder.relative_to(path)} ({kind})" for kind, folder in models)
        advice = f"has several models, choose one with --inside: {found}" if models else _nothing(path)
        raise Refusal(path, advice)
    kind, folder = models[0]
    if kind == "package":
        raise Refusal(folder, "is a model package already; copy it into the folder of models, or name it with --model")
    licence = next((one / name for one in (folder, folder.parent) for name in LICENCES if (one / name).is_file()), None)
    if kind == "onnx":
        return _file(folder, licence)
    titles = {"nnunet": "a trained nnU-Net folder", "monai": "a MONAI bundle", "brainchop": "a model of brainchop"}
    return Found(kind, f"{titles[kind]}, {folder.name}", folder, licence=licence)


def _nothing(path: Path) -> str:
    known = "plans.json (nnU-Net, TotalSegmentator), configs/ (MONAI), model.json (brainchop) and ONNX files are known"
    weights = [one for one in sorted(path.rglob("*")) if one.suffix in WEIGHTS]
    has = listed(one.relative_to(path) for one in weights) or "no weights"
    return f"has no model that is known ({has}); {known}"


def _models(path: Path) -> list[tuple[str, Path]]:
    """The models in a folder, with their kinds; folders inside a model are not searched."""
    waiting, found = [(path, 0)], []
    while waiting:
        folder, depth = waiting.pop(0)
        if kind := _kind(folder):
            found.append((kind, folder))
        elif depth < DEEPEST:
            waiting += [(one, depth + 1) for one in sorted(folder.iterdir()) if one.is_dir() and not one.is_symlink()]
    if not found:
        found = [("onnx", one) for one in sorted(path.rglob("*.onnx"))]
    return found


def _kind(folder: Path) -> str | None:
    if (folder / "plans.json").is_file() and len(folder.name.split("__")) == 3:
        return "nnunet"
    if any((folder / "configs" / name).is_file() for name in ("inference.json", "inference.yaml", "inference.yml")):
        return "monai"
    document = _json(folder / "model.json")
    if "schemaVersion" in document:
        return "package"
    return "brainchop" if "modelTopology" in document or document.get("format") == "layers-model" else None


def _json(path: Path) -> dict[str, Any]:
    if not path.is_file() or path.stat().st_size > LARGEST_JSON:
        return {}
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def recognize_wheel(path: Path) -> Found:
    """The project of a wheel is the name in its `facts`. Raises `Refusal` where no exporter knows it."""
    wheel = Wheel(path)
    facts = wheel.facts()
    name, version = re.sub(r"[-_.]+", "-", facts.get("Name", "")).lower(), facts.get("Version", "")
    if name not in WHEELS:
        weights = listed(one for one in wheel.names if one.endswith(WEIGHTS)) or "no weights"
        known = ", ".join(WHEELS)
        raise Refusal(
            path, f"is a wheel of {name} {version} with {weights}; no exporter knows it, those of {known} are known"
        )
    return Found("wheel", f"a wheel of {name} {version}", path, facts={"name": name, "version": version})


def _file(path: Path, licence: Path | None = None) -> Found:
    """ultralytics names itself in the metadata, which end a file of ONNX."""
    if path.suffix != ".onnx":
        raise Refusal(path, "is no wheel, no archive (.zip, .tar, .tar.gz) and no ONNX file")
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL))
        if b"ltralytics" in file.read():
            return Found("instances", f"a network of ultralytics, {path.name}", path, licence=licence)
    raise Refusal(
        path,
        "is a network alone. Missing: what its input and its outputs mean (normalisation, spacing, labels). Write that "
        "into a model.json next to it; the page ModelPackages of the manual has the keys, and `nocturne models check` "
        "tests the folder",
    )


def _totalsegmentator(path: Path, folders: list[Path], task: str | None) -> Found:
    datasets = {int(match[1]) for one in folders if (match := re.match(r"Dataset(\d+)_", one.parent.name))}
    root = folders[0].parent.parent
    title = f"weights of TotalSegmentator, datasets {listed(sorted(datasets))}"
    if task is None:
        # Only a whole task is certain: total, and its fast forms.
        known = {frozenset(range(291, 296)): "total", frozenset({297}): "total-fast", frozenset({298}): "total-fastest"}
        task = known.get(frozenset(datasets))
    if task is None:
        raise Refusal(path, f"has {title}; name the task with --task, such as total, total-fast or body")
    name, _, mode = task.partition("-")
    arguments = [*([f"--{mode}"] if mode else []), name]
    return Found("totalsegmentator", f"{title}, task {task}", root, arguments)
