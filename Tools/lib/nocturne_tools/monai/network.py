"""A bundle's network: built by MONAI's own classes, loaded strictly."""

from __future__ import annotations

import contextlib
import inspect
import io
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nocturne_tools.nnunet.refusal import Refusal, listed

from .config import Bundle, Component, component

# For volumes, and built without anything but their arguments. Others of MONAI download weights or read files.
KNOWN_NETWORKS = (
    *("AHNet", "AttentionUnet", "BasicUNet", "BasicUNetPlusPlus", "BasicUnetPlusPlus", "DynUNet", "HighResNet", "MedNeXt"),
    *("SegResNet", "SegResNetDS", "SegResNetDS2", "SegResNetVAE", "SwinUNETR", "UNETR", "UNet", "VNet"),
)
WEIGHT_KEYS = ("state_dict", "model", "network", "net")


def definition(bundle: Bundle) -> Component:
    """What `network_def` says, or `network` where that is a component itself."""
    value = bundle.value("network_def", "network", "net")
    if value is None:
        raise bundle.refusal("has no network_def; a package needs it to build the network")
    found = component(bundle, value, "", "network_def")
    for name in found.arguments:
        found.get(name)
    return found


def build(found: Component) -> nn.Module:
    """The network with random weights, for inference."""
    try:
        from monai.networks import nets
    except ImportError:
        raise found.bundle.refusal("needs the Python package monai: pip install monai==1.6.1") from None
    kind = getattr(nets, found.name, None) if found.name in KNOWN_NETWORKS else None
    if not inspect.isclass(kind) or not issubclass(kind, nn.Module):
        raise found.refusal(f"is no network that is known; known are {listed(KNOWN_NETWORKS)} of monai.networks.nets")
    given = [name for name, value in found.arguments.items() if value and name.startswith("pretrained")]
    if given:
        raise found.refusal(f"{listed(given)} would fetch other weights; leave it out")
    arguments = {name: value for name, value in found.arguments.items() if not name.startswith("_")}
    if arguments.get("spatial_dims", 3) != 3:
        raise found.refusal(f"spatial_dims {arguments['spatial_dims']} is not known; only 3 is")
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return kind(**arguments).eval()
    except Exception as error:  # the constructors check by assertions, too
        raise found.refusal(f"cannot be built ({type(error).__name__}: {error})") from None


def load(network: nn.Module, file: Path, trust: bool) -> None:
    """Loads the weights; every name and shape must fit."""
    if not file.is_file():
        raise Refusal(file, "is no file; name the weights with --checkpoint")
    try:
        given = torch.load(file, map_location="cpu", weights_only=not trust)
    except Exception as error:
        advice = "it holds more than weights, or is TorchScript; --trust-checkpoint runs the code in its pickle"
        raise Refusal(file, f"cannot be read ({type(error).__name__}); {advice}") from None
    for key in WEIGHT_KEYS:
        if isinstance(given, dict) and isinstance(given.get(key), dict):
            given = given[key]
    if isinstance(given, nn.Module):
        given = given.state_dict()
    if not isinstance(given, dict) or not all(isinstance(value, Tensor) for value in given.values()):
        raise Refusal(file, f"is no table of weights, nor has one under {listed(WEIGHT_KEYS)}")
    own = network.state_dict()
    missing, unknown = [k for k in own if k not in given], [k for k in given if k not in own]
    if missing or unknown:
        fact = f"weights missing: {listed(missing) or 'none'}; unexpected weights: {listed(unknown) or 'none'}"
        raise Refusal(file, f"does not fit the network: {fact}")
    for name, value in own.items():
        if value.shape != given[name].shape:
            shapes = f"{list(given[name].shape)}, expected {list(value.shape)}"
            raise Refusal(file, f"does not fit the network: {name} has shape {shapes}")
    network.load_state_dict(given, strict=True)


class ChosenOutputs(nn.Module):
    """Some outputs of a network in another order."""

    def __init__(self, network: nn.Module, outputs: list[int]) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("outputs", torch.tensor(outputs))

    def forward(self, image: Tensor) -> Any:
        return torch.index_select(self.network(image), 1, self.outputs)


def output_count(found: Component, network: nn.Module, shape: tuple[int, ...]) -> int:
    """The number of outputs, each with the extents of the input."""
    try:
        with torch.inference_mode():
            result = network(torch.zeros(shape))
    except Exception as error:
        raise found.refusal(f"cannot run on a patch of {list(shape[2:])} ({type(error).__name__}: {error})") from None
    if not isinstance(result, Tensor) or result.shape[2:] != shape[2:]:
        what = list(result.shape) if isinstance(result, Tensor) else type(result).__name__
        raise found.refusal(f"returns {what} for an input of {list(shape)}; expected one array with the same extents")
    return int(result.shape[1])
