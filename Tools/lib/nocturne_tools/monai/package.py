"""From a MONAI bundle to a model package."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nocturne_tools import onnx_export
from nocturne_tools.final_activation import refuse_activation
from nocturne_tools.model_package import write_package
from nocturne_tools.nnunet.labels import entries
from nocturne_tools.nnunet.refusal import Refusal
from nocturne_tools.whole_folder import whole_folder

from . import network as networks
from . import postprocessing, preprocessing
from .config import Bundle, Component, component

NETWORK = "network.onnx"
MODALITIES = {"ct": "CT", "mr": "MR", "mri": "MR", "pt": "PT", "pet": "PT"}
PADDING = {"constant": "zero", "replicate": "edge"}
WEIGHTS = {"constant": "constant", "gaussian": "centredGaussian"}


@dataclass
class Options:
    """What is taken from the bundle, and the package's own description."""

    config: str | None = None
    checkpoint: str = "model.pt"
    identifier: str | None = None
    name: str | None = None
    version: str | None = None
    licence: str | None = None
    trust: bool = False
    replace: bool = False


class Export:
    """A bundle whose settings a package can repeat, and its network."""

    def __init__(self, folder: Path, options: Options, say: Callable[[str], None]) -> None:
        self._options, self._say = options, say
        self.bundle = Bundle(folder.resolve(), options.config)
        self._definition = networks.definition(self.bundle)
        data = self.bundle.metadata.get("network_data_format", {})
        self._input = next(iter(data.get("inputs", {}).values()), {})
        self._output = next(iter(data.get("outputs", {}).values()), {})
        self._channels = self._channel_names()
        value = self.bundle.value("preprocessing", "dataset::transform", "pre_transforms")
        self.before = preprocessing.read(self.bundle, value, "image", len(self._channels))
        self.tiling = _sliding_window(self.bundle)
        after = self.bundle.value("postprocessing", "evaluator::postprocessing", "post_transforms")
        self.after = postprocessing.read(self.bundle, after, "pred", self.before, value)

    def _channel_names(self) -> list[str]:
        count = self._definition.get("in_channels")
        if not isinstance(count, int) or count < 1:
            raise self._definition.refusal("in_channels must state the number of channels of the image")
        named = _by_index(self._input.get("channel_def"))
        kind = str(self._input.get("modality") or "image")
        names = [named.get(index) or (kind if count == 1 else f"{kind} {index}") for index in range(count)]
        return [f"{name} {index}" if names.count(name) > 1 else name for index, name in enumerate(names)]

    def _labels(self, outputs: int) -> tuple[list[dict[str, Any]], list[int] | None]:
        """The labels, and the order of the outputs if it changes."""
        named = _by_index(self._output.get("channel_def"))
        if self.after.decision == "argmax":
            if outputs < 2:
                raise self._definition.refusal("has one output, of which argmax makes background alone")
            pairs = [(index, index) for index in range(1, outputs)]
            order = None
        else:
            if len(named) == outputs + 1 and named.get(0, "").lower() == "background":
                named = {index - 1: name for index, name in named.items() if index > 0}
            pairs = self.after.regions or [(index, index + 1) for index in range(outputs)]
            if any(output >= outputs for output, _ in pairs):
                raise self._definition.refusal(f"has {outputs} outputs; Lambdad names others")
            order = [output for output, _ in pairs]
            order = None if order == list(range(outputs)) else order
            if outputs > 1 and self.after.regions is None:
                self._say("note: outputs may overlap; in the label map, later ones overwrite earlier ones")
        names = [named.get(output) or f"label_{value}" for output, value in pairs]
        return entries([value for _, value in pairs], names), order

    def write(self, out: Path) -> dict[str, Any]:
        """Writes the package; `out` appears completely or not at all. Returns `model.json`."""
        if out.exists() and not self._options.replace:
            raise Refusal(out, "exists already; --replace overwrites it")
        weights = self.bundle.folder / "models" / self._options.checkpoint
        network = networks.build(self._definition)
        networks.load(network, weights, self._options.trust)
        shape = (1, len(self._channels), *self.tiling["patchSize"])
        outputs = networks.output_count(self._definition, network, shape)
        labels, order = self._labels(outputs)
        if order is not None:
            network = networks.ChosenOutputs(network, order).eval()
        with whole_folder(out) as partial:
            try:
                onnx_export.export(network, shape, partial / NETWORK)
            except Exception as error:
                fact = f"cannot be written as ONNX ({type(error).__name__}: {error})"
                raise self._definition.refusal(fact) from None
            refuse_activation(partial / NETWORK, "Softmax" if self.after.decision == "argmax" else "Sigmoid")
            found = onnx_export.compare(network, shape, partial / NETWORK)
            figures = f"largest difference {found.largest:.1e}, relative RMS {found.root_mean_square:.1e}"
            self._say(f"{NETWORK}: ONNX against PyTorch {figures} of the output's scale")
            if not found.largest <= onnx_export.LARGEST_DIFFERENCE:
                limit = onnx_export.LARGEST_DIFFERENCE
                raise self._definition.refusal(f"its export differs: {figures}, limit {limit}")
            licence = self._licence()
            if licence is not None:
                (partial / "LICENSE.txt").write_bytes(licence.read_bytes())
            return write_package(partial, self._manifest(labels), [NETWORK])

    def _licence(self) -> Path | None:
        files = [self.bundle.folder / name for name in ("LICENSE", "LICENSE.txt")]
        return next((file for file in files if file.is_file()), None)

    def _recipe(self, labels: list[dict[str, Any]]) -> dict[str, Any]:
        before, after = self.before, self.after
        image: dict[str, Any] = {"method": "none"}
        logits: dict[str, Any] = {"method": "none"}
        if before.resamples:
            image = {"method": "monai", "order": before.order}
            logits = {"method": "monai", "order": after.order, "values": after.values}
        return {
            "orientation": before.orientation,
            **({"orientAfterSpacing": True} if before.orients_after else {}),
            "transpose": [2, 1, 0],
            "spacing": before.spacing,
            **self.tiling,
            "mirroringAxes": [],
            **({"cropToNonzero": False} | before.crop),
            "normalizeAfterResampling": before.normalizes_after,
            "resampling": {"image": image, "logits": logits},
            **({"output": "classes"} if after.decision == "argmax" else self._regions()),
            "postprocessing": self._rules(labels),
        }

    def _regions(self) -> dict[str, Any]:
        threshold = self.after.threshold
        return {"output": "regions"} | ({} if threshold == 0.5 else {"threshold": threshold})

    def _rules(self, labels: list[dict[str, Any]]) -> dict[str, Any]:
        names = {entry["value"]: entry["name"] for entry in labels}
        keep: list[Any] = []
        for step in self.after.largest:
            chosen = list(names) if step["labels"] is None else step["labels"]
            if any(value not in names for value in chosen):
                raise self.bundle.refusal(f"KeepLargestConnectedComponentd: applied_labels {chosen} are not all labels")
            found = [names[value] for value in chosen]
            keep += found if step["independent"] or len(found) == 1 else [found]
        rules: dict[str, Any] = {"keepLargest": list({str(one): one for one in keep}.values())}
        if self.after.largest:
            rules["connectivity"] = self.after.largest[0]["connectivity"]
        return rules

    def _manifest(self, labels: list[dict[str, Any]]) -> dict[str, Any]:
        metadata, options = self.bundle.metadata, self._options
        title = str(metadata.get("name") or self.bundle.folder.name)
        safe = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:100]
        text = str(metadata.get("description") or "").strip()
        modality = MODALITIES.get(re.split(r"[^a-z]", str(self._input.get("modality") or "").lower())[0])
        stated = "as LICENSE.txt" if self._licence() else "not stated"
        scheme = self.before.scheme()
        return {
            "id": options.identifier or safe or "monai",
            "name": options.name or title,
            "description": f"{text + ' ' if text else ''}MONAI bundle, {self._definition.name}.",
            "version": options.version or str(metadata.get("version") or "1.0.0"),
            "licence": options.licence or stated,
            "modalities": [modality] if modality else [],
            "channels": [{"name": name, "normalization": scheme} for name in self._channels],
            "labels": labels,
            "volumeSegmentation": self._recipe(labels),
        }


def _by_index(names: Any) -> dict[int, str]:
    """The names of `channel_def`, by channel."""
    if not isinstance(names, dict):
        return {}
    return {int(key): str(name) for key, name in names.items() if str(key).isdigit()}


def _sliding_window(bundle: Bundle) -> dict[str, Any]:
    """The keys that say how a volume is divided into tiles."""
    value = bundle.value("inferer", "evaluator::inferer")
    if value is None:
        raise bundle.refusal("has no inferer; a package needs a SlidingWindowInferer")
    one: Component = component(bundle, value, "", "inferer")
    if one.name not in ("SlidingWindowInferer", "SlidingWindowInfererAdapt"):
        raise one.refusal("is not known; only SlidingWindowInferer is")
    one.only(
        "roi_size",
        "sw_batch_size",
        "overlap",
        "mode",
        "sigma_scale",
        "padding_mode",
        "cval",
        "sw_device",
        "progress",
        "cache_roi_weight_map",
        "cpu_thresh",
        "buffer_steps",
        "buffer_dim",
        "with_coord",
    )
    size = one.get("roi_size")
    size = [size] * 3 if isinstance(size, int) else size
    if not isinstance(size, (list, tuple)) or len(size) != 3 or not all(isinstance(n, int) and n > 0 for n in size):
        raise one.refusal(f"roi_size {size!r} is not known; expected three whole numbers above 0")
    overlap = one.get("overlap", 0.25)
    overlap = set(overlap) if isinstance(overlap, (list, tuple)) else {overlap}
    if len(overlap) != 1 or not 0 <= (share := overlap.pop()) < 1:
        raise one.refusal("overlap must be one number from 0 to below 1, the same along all axes")
    mode = one.expect("mode", tuple(WEIGHTS))
    padding = one.expect("padding_mode", tuple(PADDING))
    one.expect("sigma_scale", (0.125,))
    one.expect("cval", (0.0,))
    one.expect("with_coord", (False,))
    tiling = {"positions": "interval", "weights": WEIGHTS[mode], "padding": PADDING[padding]}
    return {"patchSize": list(size), "tileStep": 1 - share, "tiling": tiling}
