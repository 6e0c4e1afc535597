"""Exports your own PyTorch classifier to a Nocturne package folder, checks it against ONNX Runtime, and times it.

    python Tools/export/export_classifier.py --model torchvision.models:efficientnet_b0 --arguments '{"num_classes": 7}' \\
        --weights best.pt --labels mel,nv,bcc,akiec,bkl,df,vasc --malignant mel,bcc,akiec --size 224 --resize 256 --id my-lesions
    python Tools/export/export_classifier.py --script traced.pt --labels … --size 224 --id my-lesions

`--model` names a function or class that creates the module, `--weights` a state dict, `--script` a TorchScript file. The
module takes a normalised picture (N, 3, size, size), and with `--sites` also the vector of metadata (N, 4), and returns
logits (N, classes), or probabilities with `--output probabilities`. How a photo becomes this picture is to be that of the
training: `--resize`, `--mean`, `--deviation`, `--color-constancy`. Where the logits are a linear layer over the mean of the
last maps (as in EfficientNet and ResNet), an attention graph (Grad-CAM) is written too; whether they are is measured, not
assumed. Weights are loaded with `weights_only`; a TorchScript file runs code, so use one only from a source whose programs
you would run.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools import recorded_output
from nocturne_tools.final_activation import refuse_activation
from nocturne_tools.model_package import file_entry, record_name
from nocturne_tools.nnunet.refusal import Refusal
from nocturne_tools.offline import forbid_network

import onnxruntime

MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
PALETTE = ["#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#0072B2", "#999999", "#F0E442"]
INPUTS, LIMIT = 100, 0.01


class WithFeatures(nn.Module):
    """The module's logits, and the maps whose mean its last linear layer takes."""

    def __init__(self, module: nn.Module, layer: nn.Module) -> None:
        super().__init__()
        self.module = module
        self.maps: list[Tensor] = []
        layer.register_forward_hook(lambda _module, _inputs, output: self.maps.append(output))

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        self.maps.clear()
        logits = self.module(*inputs)
        return logits, self.maps[-1]


class LinearAttention(nn.Module):
    """Grad-CAM for logits = W mean(maps) + b: the gradient of a class is its row of W, over the number of places."""

    def __init__(self, weight: Tensor) -> None:
        super().__init__()
        self.register_buffer("weight", weight.detach().clone())

    def forward(self, features: Tensor, target: Tensor) -> Tensor:
        weights = target @ self.weight
        places = features.shape[2] * features.shape[3]
        return torch.relu((features * weights[:, :, None, None]).sum(dim=1) / places)


def resizing(text: str) -> str | int:
    """`stretch`, or the pixels of the shorter side."""
    return text if text == "stretch" else int(text)


def colours(text: str) -> list[float]:
    """Red, green, blue."""
    red, green, blue = map(float, text.split(","))
    return [red, green, blue]


def preparation(options: argparse.Namespace) -> str:
    """How photos are prepared, for a person to compare with the training."""
    size = options.size
    ways = {None: f"the square in the middle is scaled to {size}", "stretch": f"stretched to {size} x {size}"}
    way = ways.get(options.resize, f"the shorter side is scaled to {options.resize}, the middle {size} x {size} cut out")
    correction = "corrected by Shades of Gray" if options.color_constancy else "as they are"
    return f"{way} (bilinear, antialiased); colours {correction}, mean {options.mean}, deviation {options.deviation}"


def load(options: argparse.Namespace) -> nn.Module:
    """The module, in evaluation mode."""
    if options.script:
        return torch.jit.load(options.script, map_location="cpu").eval()
    path, _, name = options.model.partition(":")
    module = getattr(importlib.import_module(path), name)(**json.loads(options.arguments))
    if options.weights:
        state = torch.load(options.weights, map_location="cpu", weights_only=True)
        module.load_state_dict(state.get("state_dict", state.get("model", state)))
    return module.eval()


def maps_and_head(module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[nn.Module, nn.Linear] | None:
    """The layer whose maps are averaged, and the linear layer that takes the mean; None where there is none."""
    if isinstance(module, torch.jit.ScriptModule):
        return None
    linear = [layer for layer in module.modules() if isinstance(layer, nn.Linear)]
    if not linear:
        return None
    seen: list[tuple[nn.Module, Tensor]] = []
    given: list[Tensor] = []
    hooks = [
        layer.register_forward_hook(
            lambda m, _i, output: seen.append((m, output)) if isinstance(output, Tensor) else None
        )
        for layer in module.modules()
    ]
    hooks.append(linear[-1].register_forward_hook(lambda _m, i, _o: given.append(i[0])))
    with torch.no_grad():
        logits = module(*inputs)
    for hook in hooks:
        hook.remove()
    for layer, output in reversed(seen):
        if output.dim() == 4 and output.shape[2] > 1 and given and output.shape[1] == linear[-1].in_features:
            rebuilt = linear[-1](output.mean(dim=(2, 3)))
            if rebuilt.shape == logits.shape and torch.allclose(rebuilt, logits, atol=1e-4):
                return layer, linear[-1]
    return None


def sample(generator: torch.Generator, size: int, sites: int) -> tuple[Tensor, ...]:
    """A picture of smooth noise and, where the module takes it, a vector of metadata."""
    coarse = torch.randn(1, 3, 12, 12, generator=generator)
    picture = nn.functional.interpolate(coarse, (size, size), mode="bicubic")
    picture = picture + 0.2 * torch.randn(1, 3, size, size, generator=generator)
    if not sites:
        return (picture,)
    draw = torch.rand(4, generator=generator)
    return picture, torch.tensor([[draw[0], 0.0, float(int(draw[1] * 3)), float(int(draw[2] * sites))]])


def export(module: nn.Module, options: argparse.Namespace, sites: list[str]) -> list[str]:
    """Writes the graphs; returns their names."""
    example = sample(torch.Generator().manual_seed(1), options.size, len(sites))
    names = ["image", "metadata"][: len(example)]
    found = maps_and_head(module, example)
    wrapped: nn.Module = WithFeatures(module, found[0]).eval() if found else module
    outputs = ["logits", "features"] if found else ["logits"]
    path = options.folder / "classifier.onnx"
    torch.onnx.export(
        wrapped, example, str(path), input_names=names, output_names=outputs, opset_version=17, dynamo=False
    )
    if options.output == "logits":
        refuse_activation(path, "Softmax", "output to probabilities (--output probabilities)")
    if not found:
        print("no attention graph: the logits are not a linear layer over the mean of the last maps")
        return ["classifier.onnx"]
    with torch.no_grad():
        features = wrapped(*example)[1]
    target = torch.zeros(1, found[1].out_features)
    torch.onnx.export(
        LinearAttention(found[1].weight).eval(),
        (features, target),
        str(options.folder / "attention.onnx"),
        input_names=["features", "target"],
        output_names=["map"],
        opset_version=17,
        dynamo=False,
    )
    return ["classifier.onnx", "attention.onnx"]


def check(module: nn.Module, options: argparse.Namespace, sites: list[str]) -> float:
    """The largest difference of a logit between PyTorch and ONNX Runtime on 100 inputs; prints times.

    Of logits that are all below 1, as before any training, the difference is taken by the largest of them.
    """
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    session = onnxruntime.InferenceSession(
        options.folder / "classifier.onnx", settings, providers=["CPUExecutionProvider"]
    )
    generator = torch.Generator().manual_seed(7)
    worst, largest, ours, theirs = 0.0, 0.0, [], []
    for _ in range(INPUTS):
        inputs = sample(generator, options.size, len(sites))
        started = time.perf_counter()
        with torch.no_grad():
            expected = module(*inputs)
        ours.append(time.perf_counter() - started)
        expected = expected[0] if isinstance(expected, tuple) else expected
        feed = {entry.name: value.numpy() for entry, value in zip(session.get_inputs(), inputs)}
        started = time.perf_counter()
        found = session.run(["logits"], feed)[0]
        theirs.append(time.perf_counter() - started)
        worst = max(worst, float(np.abs(found - expected.numpy()).max()))
        largest = max(largest, float(expected.abs().max()))
    print(
        f"{INPUTS} inputs: largest difference {worst:.2e} (limit {LIMIT}), largest logit {largest:.2e}; "
        f"median {statistics.median(ours) * 1000:.1f} ms PyTorch, "
        f"{statistics.median(theirs) * 1000:.1f} ms ONNX Runtime, {options.threads} threads"
    )
    return worst / min(largest, 1.0) if largest > 0 else worst


def record(module: nn.Module, options: argparse.Namespace) -> None:
    """Records what PyTorch computes, for `nocturne models check`."""
    shape = (1, 3, options.size, options.size)
    with torch.no_grad():
        logits = module(torch.from_numpy(recorded_output.patch(shape)))
    logits = logits[0] if isinstance(logits, tuple) else logits
    recorded_output.record(options.folder / "classifier.onnx", f"PyTorch {torch.__version__}", shape, logits.numpy())


def manifest(options: argparse.Namespace, names: list[str], sites: list[str]) -> dict[str, Any]:
    """`model.json`."""
    records = [name for name in map(record_name, names) if (options.folder / name).is_file()]
    files = [file_entry(options.folder, name) for name in names + records]
    labels, malignant = options.labels.split(","), [name for name in options.malignant.split(",") if name]
    high = [name for name in options.high.split(",") if name]
    for name in malignant + high:
        if name not in labels:
            raise SystemExit(f"{name} is not among the labels")
    section: dict[str, Any] = {
        "inputSize": options.size,
        "resize": options.resize,
        "minimumSide": options.minimum_side,
        "mean": options.mean,
        "standardDeviation": options.deviation,
        "colorConstancyPower": 6 if options.color_constancy else None,
        "medical": not options.not_medical,
        "output": options.output,
        "classes": [
            {"name": name, "title": name, "malignant": name in malignant, "color": PALETTE[k % len(PALETTE)]}
            for k, name in enumerate(labels)
        ],
        "risk": {"highClasses": high, "highThreshold": 0.30, "moderateThreshold": 0.10} if malignant else None,
        "lowConfidence": 0.20,
        "networks": {"classifier": names[0], "attention": names[1] if len(names) > 1 else None},
    }
    if sites:
        section["metadata"] = {"sites": sites}
    return {
        "schemaVersion": 2,
        "id": options.id,
        "name": options.name or options.id,
        "description": options.description,
        "version": options.version,
        "licence": options.licence,
        "task": "photo-classification",
        "files": files,
        "photoClassification": section,
    }


def main() -> None:
    forbid_network()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--model", help="import path of what creates the module, such as torchvision.models:resnet18")
    source.add_argument("--script", type=Path, help="a TorchScript file")
    parser.add_argument("--arguments", default="{}", help="keyword arguments for --model, as JSON")
    parser.add_argument("--weights", type=Path, help="state dict for --model")
    parser.add_argument("--labels", required=True, help="class names in the order of the logits, separated by commas")
    parser.add_argument("--malignant", default="", help="labels that are malignant")
    parser.add_argument("--high", default="mel,bcc", help="labels that mean a high risk from 0.30 on")
    parser.add_argument("--sites", default="", help="sites of the metadata, separated by commas, unknown among them")
    parser.add_argument("--size", type=int, default=380)
    parser.add_argument(
        "--resize",
        type=resizing,
        help="stretch: the whole photo becomes the square; a number: pixels of the shorter side before the square is cut "
        "out; default: the largest square in the middle is scaled",
    )
    parser.add_argument("--mean", type=colours, default=MEAN, help="red,green,blue of samples in 0 to 1; default: ImageNet")
    parser.add_argument("--deviation", type=colours, default=DEVIATION, help="red,green,blue; default: ImageNet")
    parser.add_argument("--minimum-side", type=int, default=100)
    parser.add_argument("--color-constancy", action=argparse.BooleanOptionalAction, default=False)
    parser.add_argument("--output", choices=["logits", "probabilities"], default="logits", help="what the module returns")
    parser.add_argument("--not-medical", action="store_true", help="results are not about people's health")
    parser.add_argument("--id", required=True)
    parser.add_argument("--name", default="")
    parser.add_argument("--description", default="")
    parser.add_argument("--version", default="1.0.0")
    parser.add_argument("--licence", default="unknown")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to; default: the id")
    options = parser.parse_args()
    options.folder = options.folder or Path(options.id)
    if not options.malignant:
        options.high = ""
    if isinstance(options.resize, int) and options.resize < options.size:
        raise SystemExit(f"--resize {options.resize} is less than --size {options.size}")
    options.folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    sites = [site for site in options.sites.split(",") if site]
    module = load(options)
    try:
        names = export(module, options, sites)
    except Refusal as refusal:
        raise SystemExit(f"refused: {refusal}") from None
    worst = check(module, options, sites)
    if not sites:  # a record is that of a network with one input
        record(module, options)
    document = manifest(options, names, sites)
    (options.folder / "model.json").write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    if not worst < LIMIT:
        raise SystemExit(f"the exported graph differs by {worst:.2e}, more than {LIMIT}")
    print(f"photos are prepared as follows; compare this with the training: {preparation(options)}")
    print(f"wrote {options.folder}")


if __name__ == "__main__":
    main()
