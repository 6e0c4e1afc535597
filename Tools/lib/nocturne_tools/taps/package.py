"""From a wheel of lavlab-taps to a model package."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nocturne_tools.model_package import label, recipe, record_output, write_package
from nocturne_tools.nnunet.refusal import Refusal
from nocturne_tools.wheels import Wheel
from nocturne_tools.whole_folder import whole_folder

NETWORK, CODE = "network.onnx", "taps/inference.py"
LICENCE = "MIT"
PATCH = [128, 128, 32]
# The settings below are those of this code, by the SHA-256 of its file.
KNOWN = {"1.1.2": "dfec48e03b4e892d5502d485765dddda4881d63e3e06ca69018085ae7c3dc93b"}


@dataclass
class Options:
    """The package's own description."""

    identifier: str = "prostate-t2"
    name: str = "Prostate (T2 MR)"
    replace: bool = False


def write(path: Path, out: Path, options: Options) -> dict[str, Any]:
    """Writes the package of a wheel; `out` appears completely or not at all. Returns `model.json`."""
    if out.exists() and not options.replace:
        raise Refusal(out, "exists already; --replace overwrites it")
    wheel = Wheel(path)
    facts = wheel.facts()
    version = facts.get("Version", "")
    if facts.get("License-Expression") != LICENCE:
        raise Refusal(path, f"is under {facts.get('License-Expression')}, not {LICENCE}")
    if hashlib.sha256(wheel.read(wheel.only(CODE))).hexdigest() != KNOWN.get(version):
        raise Refusal(path, f"has other code in {CODE} than version {', '.join(KNOWN)}, whose arithmetic is known")
    name = wheel.only(r"taps/resources/[^/]+\.onnx")
    network = wheel.read(name)
    manifest = {
        "id": options.identifier,
        "name": options.name,
        "description": "The prostate in T2-weighted MR of the pelvis. The network of TAPS (laviolette-lab) as "
        f"{path.name} has it, unchanged: {Path(name).name}, SHA-256 {hashlib.sha256(network).hexdigest()}. "
        "For research, no medical use.",
        "version": version,
        "licence": LICENCE,
        "modalities": ["MR"],
        "channels": [{"name": "T2", "normalization": {"scheme": "zScore", "nonzero": True}}],
        "labels": [label(1, "prostate", "#E69F00", ("41216001", "Prostate"))],
        "volumeSegmentation": settings(),
    }
    with whole_folder(out) as partial:
        (partial / NETWORK).write_bytes(network)
        print(record_output(partial / NETWORK, (1, 1, *PATCH)))
        licence = wheel.text(wheel.only(r"[^/]+\.dist-info/licenses/LICENSE\.txt"))
        (partial / "LICENSE.txt").write_text(licence, encoding="utf-8")
        return write_package(partial, manifest, [NETWORK])


def settings() -> dict[str, Any]:
    """What `taps.segment` does, with the axes of the network, which are x, y and z, as MONAI's are."""
    return recipe("RAS", [0.8, 0.8, 3.0], PATCH) | {
        "transpose": [2, 1, 0],
        # SlidingWindowInferer's defaults, with weights of a Gaussian.
        "tileStep": 0.5,
        "tiling": {"positions": "interval", "weights": "centredGaussian", "padding": "zero"},
        "normalizeAfterResampling": True,
        # CropForegroundd's: what is above 0 after the normalisation.
        "cropAbove": 0,
        "cropAfterNormalization": True,
        "marginVoxels": 5,
        "padMargin": True,
        "logitBlur": [2.5, 2.5, 2.5],
        "resampling": {
            "image": {"method": "monai", "order": 1},
            "logits": {"method": "monai", "order": 1, "values": "logits"},
        },
        "output": "regions",
        "threshold": 0.55,
        # Of the checks of the result, the one that changes it.
        "postprocessing": {"keepLargest": ["prostate"], "fillHoles": [], "minimumVolumeMm3": {}},
    }
