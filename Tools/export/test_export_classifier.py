"""Checks what the exporters do with networks that end in Softmax or Sigmoid, and the exporter for classifiers.

    python Tools/export/test_export_classifier.py

Needs PyTorch.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper
from torch import Tensor, nn

import export_classifier
from nocturne_tools.final_activation import refuse_activation, without_softmax
from nocturne_tools.nnunet.refusal import Refusal

import onnxruntime

SHAPE = [1, 3, 4, 4]


def network(file: Path, operators: list[str]) -> Path:
    """A network whose operators follow each other."""
    names = ["x", *(f"v{k}" for k in range(1, len(operators))), "y"]
    nodes = [
        helper.make_node(one, [names[k]], [names[k + 1]], **({"axis": 1} if one == "Softmax" else {}))
        for k, one in enumerate(operators)
    ]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, SHAPE) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "synthetic", infos[:1], infos[1:])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(file))
    return file


class Small(nn.Module):
    """Means of three colours, as logits or probabilities."""

    def __init__(self, probabilities: bool) -> None:
        super().__init__()
        self.probabilities = probabilities

    def forward(self, image: Tensor) -> Tensor:
        logits = 3 * image.mean(dim=(2, 3))
        return torch.softmax(logits, 1) if self.probabilities else logits


class Endings(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def refusal(self, operators: list[str], setting: str | None = None) -> str:
        with self.assertRaises(Refusal) as found:
            refuse_activation(network(self.folder / "network.onnx", operators), "Softmax", setting)
        return str(found.exception)

    def test_refused(self) -> None:
        text = "network.onnx: ends in Softmax, which Nocturne applies: export it without"
        self.assertEqual(self.refusal(["Relu", "Softmax"]), text)
        self.assertEqual(self.refusal(["Softmax", "Identity"], "a to b"), text + ", or set a to b")
        self.assertIn("ends in Sigmoid, to which Nocturne applies Softmax", self.refusal(["Sigmoid"]))

    def test_accepted(self) -> None:
        for operators in (["Relu"], ["Softmax", "Relu"], ["Relu", "Identity"]):
            refuse_activation(network(self.folder / "network.onnx", operators), "Softmax")

    def test_without_softmax(self) -> None:
        file = network(self.folder / "network.onnx", ["Neg", "Softmax"])
        without_softmax(file)
        image = np.arange(48, dtype=np.float32).reshape(SHAPE)
        session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
        np.testing.assert_array_equal(session.run(["y"], {"x": image})[0], -image)
        with self.assertRaises(Refusal):
            without_softmax(file)

    def export(self, probabilities: bool, *more: str) -> dict[str, object]:
        script, out = self.folder / "small.pt", self.folder / "out"
        torch.jit.trace(Small(probabilities), torch.zeros(1, 3, 16, 16)).save(str(script))
        given = ["", "--script", str(script), "--labels", "a,b,c", "--size", "16", "--id", "small", "--folder", str(out)]
        with mock.patch.object(sys, "argv", [*given, *more]), contextlib.redirect_stdout(io.StringIO()):
            export_classifier.main()
        section: dict[str, object] = json.loads((out / "model.json").read_text())["photoClassification"]
        return section

    def test_classifier(self) -> None:
        self.assertEqual(self.export(False)["output"], "logits")
        self.assertEqual(self.export(True, "--output", "probabilities")["output"], "probabilities")

    def test_preparation(self) -> None:
        section = self.export(False)
        self.assertEqual([section[key] for key in ("resize", "colorConstancyPower")], [None, None])
        given = ["--resize", "20", "--mean", "0.5,0.5,0.25", "--deviation", "0.5,0.25,1", "--color-constancy"]
        section = self.export(False, *given)
        found = [section[key] for key in ("resize", "mean", "standardDeviation", "colorConstancyPower")]
        self.assertEqual(found, [20, [0.5, 0.5, 0.25], [0.5, 0.25, 1.0], 6])
        self.assertEqual(self.export(False, "--resize", "stretch")["resize"], "stretch")
        with self.assertRaises(SystemExit):
            self.export(False, "--resize", "15")

    def test_classifier_with_softmax(self) -> None:
        with self.assertRaises(SystemExit) as found:
            self.export(True)
        self.assertIn("classifier.onnx: ends in Softmax, which Nocturne applies: export it without", str(found.exception))
        self.assertFalse((self.folder / "out" / "model.json").exists())


if __name__ == "__main__":
    unittest.main()
