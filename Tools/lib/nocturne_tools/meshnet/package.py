"""From a folder with a MeshNet to a model package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nocturne_tools.model_package import recipe, record_output, write_package
from nocturne_tools.nnunet.refusal import Refusal
from nocturne_tools.whole_folder import whole_folder

from . import check, graph, known
from .layers import MeshNet, read

NETWORK = "network.onnx"
# Of the volume whose output is recorded, at most. In a whole head the sums of a normalisation have so many terms that two libraries
# which are both right differ by 0.2 % of the largest output.
RECORDED_EXTENT = 64
LICENCE_NAMES = ("LICENSE", "LICENSE.txt", "LICENCE", "LICENCE.txt")


@dataclass
class Options:
    """The package's own description, and what brainchop's files do not say."""

    patch: tuple[int, ...] = (256, 256, 256)
    normalization: str | None = None
    labels: Path | None = None
    licence_file: Path | None = None
    identifier: str | None = None
    name: str | None = None
    version: str = "1.0.0"
    licence: str = "MIT"
    replace: bool = False


def write(model: Path, out: Path, options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Writes the package of a model; `out` appears completely or not at all. Returns `model.json`."""
    if out.exists() and not options.replace:
        raise Refusal(out, "exists already; --replace overwrites it")
    model = model.resolve()
    network = read(model)
    manifest = _manifest(model, network, options)
    licence = _licence(model, options)
    difference = check.difference(network)
    say(f"{NETWORK}: ONNX against NumPy in brainchop's axes, largest difference {difference:.1e} of the output's scale")
    if not difference <= check.LIMIT:
        raise Refusal(
            network.file, f"its export differs by {difference:.1e} of the output's scale, limit {check.LIMIT}"
        )
    with whole_folder(out) as partial:
        graph.write(network, partial / NETWORK)
        say(record_output(partial / NETWORK, (1, 1, *(min(extent, RECORDED_EXTENT) for extent in options.patch))))
        (partial / "LICENSE.txt").write_text(licence, encoding="utf-8")
        return write_package(partial, manifest, [NETWORK])


def _licence(model: Path, options: Options) -> str:
    """The text of the weights' licence: of the given file, or in the model's folder or the one above it."""
    found = [folder / name for folder in (model, model.parent) for name in LICENCE_NAMES]
    for file in [options.licence_file] if options.licence_file else found:
        if file.is_file():
            return file.read_text(encoding="utf-8")
    if options.licence_file:
        raise Refusal(options.licence_file, "is no file")
    raise Refusal(model, "has no LICENSE, nor has the folder above; name the text of its licence with --licence-file")


def _manifest(model: Path, network: MeshNet, options: Options) -> dict[str, Any]:
    entry = known.KNOWN.get(model.name)
    scheme = known.NORMALIZATIONS[options.normalization] if options.normalization else entry and entry.normalization
    if scheme is None:
        raise Refusal(model, "is none of brainchop's models by its name; say --normalization rescale01 or quantiles")
    labels = known.labels(model, network.classes, options.labels)
    settings = recipe("RAS", [1.0, 1.0, 1.0], list(options.patch))
    # Tiles beside each other without overlap; a volume of brainchop's size is one tile.
    settings["tileStep"] = 1.0
    # Brainchop keeps the largest component of all labels together.
    settings["postprocessing"]["keepLargest"] = [[one["name"] for one in labels]]
    title = model.name.replace("_", "-").lower()
    seen = " x ".join(map(str, network.extents))
    about = entry.description if entry else f"{len(labels)} labels."
    return {
        "id": options.identifier or (entry.identifier if entry else title),
        "name": options.name or (entry.name if entry else model.name),
        "description": f"{about} Brainchop's {model.name}: {len(network.layers)} convolutions, each output voxel sees "
        f"{seen} mm, so the whole head is one tile. Axes turned for this package. For research, no medical use.",
        "version": options.version,
        "licence": options.licence,
        "modalities": ["MR"],
        "channels": [{"name": entry.channel if entry else "MR", "normalization": scheme}],
        "labels": labels,
        "volumeSegmentation": settings,
    }
