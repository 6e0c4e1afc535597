"""From a wheel of RapidOCR to a model package."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from nocturne_tools.model_package import record_output, write_photo_package
from nocturne_tools.nnunet.refusal import Refusal
from nocturne_tools.wheels import Wheel
from nocturne_tools.whole_folder import whole_folder

DETECTION, RECOGNITION, CHARACTERS = "detection.onnx", "recognition.onnx", "characters.txt"
LICENCE = "Apache-2.0"
# Both networks reduce pictures 32 times; lines have 48 pixels, and inputs at least 320.
MULTIPLE, HEIGHT, WIDTH, LONGEST = 32, 48, 320, 3200


@dataclass
class Options:
    """The package's own description."""

    long_side: int = 960
    identifier: str = "text-rapidocr"
    name: str | None = None
    replace: bool = False


def write(path: Path, out: Path, options: Options) -> dict[str, Any]:
    """Writes the package of a wheel; `out` appears completely or not at all. Returns `model.json`."""
    if out.exists() and not options.replace:
        raise Refusal(out, "exists already; --replace overwrites it")
    wheel = Wheel(path, "rapidocr 3.10.0")
    facts = wheel.facts()
    if facts.get("License-Expression") != LICENCE:
        raise Refusal(path, f"is under {facts.get('License-Expression')}, not {LICENCE}")
    names = {file: wheel.only(rf"rapidocr/models/[^/]+_{part}_[^/]+\.onnx") for file, part in _PARTS.items()}
    contents = {file: wheel.read(name) for file, name in names.items()}
    characters = _characters(path, contents[RECOGNITION])
    section = _section(wheel.text("rapidocr/config.yaml"), path, options.long_side)
    sources = "; ".join(
        f"{Path(name).name}, SHA-256 {hashlib.sha256(contents[file]).hexdigest()}" for file, name in names.items()
    )
    manifest = {
        "id": options.identifier,
        "name": options.name or f"Text, {Path(names[RECOGNITION]).stem.split('_')[0]} of RapidOCR",
        "description": f"Reads text on objects in photos. Networks of PaddleOCR as {path.name} has them, unchanged: {sources}.",
        "version": facts["Version"],
        "licence": LICENCE,
        "photoText": section,
    }
    with whole_folder(out) as partial:
        for file, content in contents.items():
            (partial / file).write_bytes(content)
        for file, shape in ((DETECTION, (1, 3, 320, 320)), (RECOGNITION, (1, 3, HEIGHT, WIDTH))):
            print(record_output(partial / file, shape))
        (partial / CHARACTERS).write_text("".join(f"{one}\n" for one in characters), encoding="utf-8")
        for name in ("LICENSE", "MODEL_LICENSES.md"):
            text = wheel.text(wheel.only(rf"[^/]+\.dist-info/licenses/{re.escape(name)}"))
            (partial / ("LICENSE.txt" if name == "LICENSE" else name)).write_text(text, encoding="utf-8")
        files = [DETECTION, RECOGNITION, CHARACTERS]
        return write_photo_package(partial, manifest, files, ("photo-text", "photoText"))


_PARTS = {DETECTION: "det", RECOGNITION: "rec"}


def _characters(path: Path, network: bytes) -> list[str]:
    """By class from class 1: those in the network's metadata, then the space."""
    model = onnx.load_from_string(network)
    found = {entry.key: entry.value for entry in model.metadata_props}
    if "character" not in found:
        raise Refusal(path, "its network that reads lines does not name its characters")
    characters = [*found["character"].splitlines(), " "]
    classes = model.graph.output[0].type.tensor_type.shape.dim[-1].dim_value
    if classes != len(characters) + 1:
        raise Refusal(path, f"its network returns {classes} classes for {len(characters)} characters and the blank")
    return characters


def _settings(config: str, section: str) -> dict[str, Any]:
    """The numbers, lists and truth values of a section of the wheel's configuration."""
    after = f"\n{config}".split(f"\n{section}:\n", 1)[1:]
    found: dict[str, Any] = {}
    for line in re.split(r"\n(?=\S)", "".join(after))[0].splitlines():
        match = re.fullmatch(r" {4}(\w+): (\S.*)", line)
        try:
            found |= {match[1]: json.loads(match[2])} if match else {}
        except json.JSONDecodeError:
            continue
    return found


def _section(config: str, path: Path, long_side: int) -> dict[str, Any]:
    finding, reading = _settings(config, "Det"), _settings(config, "Rec")
    try:
        colors = {"channels": "bgr", "mean": finding["mean"], "standardDeviation": finding["std"]}
        detection = {
            "threshold": finding["thresh"],
            "boxThreshold": finding["box_thresh"],
            "growth": finding["unclip_ratio"],
            "dilation": finding["use_dilation"],
        }
        shape = reading["rec_img_shape"]
        least = _settings(config, "Global")["text_score"]
    except KeyError as error:
        raise Refusal(path, f"its config.yaml has no {error.args[0]}") from error
    if shape != [3, HEIGHT, WIDTH]:
        raise Refusal(path, f"its lines have the shape {shape}, not {[3, HEIGHT, WIDTH]}")
    return {
        "detection": {"network": DETECTION, "longSide": long_side, "multiple": MULTIPLE, **colors, **detection},
        "recognition": {
            "network": RECOGNITION,
            "characters": CHARACTERS,
            "height": HEIGHT,
            "widthMultiple": WIDTH,
            "maximumWidth": LONGEST,
            "channels": "bgr",
            "mean": [0.5] * 3,
            "standardDeviation": [0.5] * 3,
        },
        "minimumConfidence": least,
    }
