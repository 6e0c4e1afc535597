"""Writes PyTorch networks as ONNX with fixed shapes, and compares both."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from torch import Tensor, nn

from nocturne_tools import recorded_output
from nocturne_tools.nnunet.refusal import Refusal

LARGEST_DIFFERENCE = 1e-4  # of the largest output
OPSET = 17


@dataclass(frozen=True)
class Difference:
    """ONNX Runtime against PyTorch on one patch."""

    largest: float  # of the differences, over the largest output
    root_mean_square: float  # of the differences, over that of the outputs


def export(network: nn.Module, shape: tuple[int, ...], file: Path) -> None:
    """Writes ONNX with the fixed input shape (1, channels, patch…); input `input`, output `logits`."""
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            network,
            (torch.zeros(shape),),
            str(file),
            input_names=["input"],
            output_names=["logits"],
            opset_version=OPSET,
            dynamo=False,
        )
    onnx.checker.check_model(str(file), full_check=True)


def compare(network: nn.Module, shape: tuple[int, ...], file: Path) -> Difference:
    """Runs both on the patch of `models check`, and records PyTorch's values for it."""
    patch = torch.from_numpy(recorded_output.patch(shape))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    with torch.inference_mode():
        expected: Tensor = network(patch)
    found = session.run(["logits"], {"input": patch.numpy()})[0]
    reference = expected.numpy().astype(np.float64)
    if found.shape != reference.shape:
        raise Refusal(file, f"ONNX gives shape {found.shape}, PyTorch {reference.shape}")
    recorded_output.record(file, f"PyTorch {torch.__version__}", shape, expected.numpy())
    difference = found - reference
    return Difference(
        float(np.abs(difference).max() / max(np.abs(reference).max(), 1e-30)),
        float(np.sqrt((difference**2).mean() / max((reference**2).mean(), 1e-60))),
    )
