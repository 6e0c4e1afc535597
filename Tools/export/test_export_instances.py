"""Checks packages and refusals of the exporter for instance networks.

    python Tools/export/test_export_instances.py

Makes tiny ONNX files with the outputs and metadata of ultralytics, exports them, and expects the content of
`model.json` and the file's own outputs; then changes one fact at a time, and expects exit code 2, the fact in the message and no
file left behind. The tests of Mask R-CNN need PyTorch and torchvision and are skipped without them, or where the two do
not fit.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import json
import shutil
import sys
import tempfile
import unittest
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import export_instances

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.instances.classes import LIMIT, classes, color, safe_name
from nocturne_tools.instances.yolo_graph import FILLING

import onnxruntime

NAMES = "{0: 'person', 1: 'traffic light', 2: 'Käfer'}"


def has_torchvision() -> bool:
    """Whether PyTorch and a torchvision that fits it are there."""
    if not all(importlib.util.find_spec(name) for name in ("torch", "torchvision")):
        return False
    from nocturne_tools.instances import mask_rcnn

    try:
        return mask_rcnn.torchvision_detection() is not None
    except RuntimeError:
        return False


@dataclass(frozen=True)
class Made:
    """A file with the outputs of YOLO-seg: candidates of a stride of 8, prototypes of 4, and these metadata."""

    facts: dict[str, str] = field(default_factory=dict)
    rows: int = 9
    coefficients: int = 2
    shape: tuple[int | str, ...] = (1, 3, 64, 64)
    exchanged: bool = False
    transposed: bool = False
    half: bool = False
    extra: str = ""

    def write(self, file: Path) -> None:
        kind, numbers = (TensorProto.FLOAT16, np.float16) if self.half else (TensorProto.FLOAT, np.float32)
        random = np.random.default_rng(3)
        weights = {"a": (self.rows, 3, 8, 8), "b": (self.coefficients, 3, 4, 4)}
        constants = [
            numpy_helper.from_array(random.normal(size=size).astype(numbers), name) for name, size in weights.items()
        ]
        constants.append(numpy_helper.from_array(np.array([0, self.rows, -1]), "form"))
        # A cast after its use, as converters to float16 leave it.
        nodes = [
            helper.make_node("Conv", ["cast", "a"], ["maps"], strides=[8, 8]),
            helper.make_node("Conv", ["cast", "b"], ["output1"], strides=[4, 4]),
            helper.make_node("Reshape", ["maps", "form"], ["rows" if self.transposed else "output0"]),
            helper.make_node("Cast", ["images"], ["cast"], to=kind),
        ]
        if self.transposed:
            nodes.append(helper.make_node("Transpose", ["rows"], ["output0"], perm=[0, 2, 1]))
        if self.extra:
            nodes.append(helper.make_node(self.extra, ["maps"], ["more"]))
        last = self.shape[2] // 4 if isinstance(self.shape[2], int) else "y"
        count = (last // 2) ** 2 if isinstance(last, int) else "n"
        first = [1, count, self.rows] if self.transposed else [1, self.rows, count]
        outputs = [
            helper.make_tensor_value_info("output0", kind, first),
            helper.make_tensor_value_info("output1", kind, [1, self.coefficients, last, last]),
        ]
        given = helper.make_tensor_value_info("images", TensorProto.FLOAT, self.shape)
        outputs = outputs[::-1] if self.exchanged else outputs
        graph = helper.make_graph(nodes, "made", [given], outputs, constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        standard = {
            "task": "segment",
            "names": NAMES,
            "stride": "32",
            "imgsz": "[64, 64]",
            "license": "AGPL-3.0 License",
        }
        for key, value in (standard | self.facts).items():
            model.metadata_props.add(key=key, value=value)
        file.write_bytes(model.SerializeToString())


REFUSED: dict[str, tuple[Made, list[str], str]] = {
    "another task": (Made({"task": "detect"}), [], "is for the task detect"),
    "suppression inside": (Made({"args": "{'nms': True}"}), [], "non-maximum suppression inside"),
    "end to end": (Made({"end2end": "True"}), [], "yolo export model=YOUR.pt format=onnx"),
    "a node of suppression": (Made(extra="NonMaxSuppression"), [], "has NonMaxSuppression"),
    "integers": (Made(extra="QuantizeLinear"), [], "computes with integers (QuantizeLinear)"),
    "channels": (Made({"channels": "4"}), [], "takes 4 channels"),
    "other rows": (Made(rows=12), [], "3 classes, which do not fit together"),
    "axes exchanged": (Made(transposed=True), [], "their axes exchanged"),
    "objectness": (Made(rows=10, transposed=True), [], "as YOLOv5"),
    "no names": (Made({"names": "none"}), [], "--classes"),
    "a class twice": (Made({"names": "{0: 'a b', 1: 'A_B', 2: 'c'}"}), [], "class names twice: a_b"),
    "a name of no letters": (Made({"names": "{0: 'a', 1: '人', 2: 'c'}"}), [], "without a letter of A to Z"),
    "not a square": (Made(shape=(1, 3, 64, 32)), [], "[1][3][64][32], not a square"),
    "another size": (Made(), ["--size", "96"], "takes 64 pixels and no other size"),
    "not a multiple": (Made(shape=(1, 3, "h", "w")), ["--size", "100"], "takes multiples of 32 pixels; 100 is none"),
    "a stride of words": (Made({"stride": "many"}), [], "which is no whole number"),
    "no size": (Made({"imgsz": "?"}, shape=(1, 3, "h", "w")), [], "give --size 640"),
    "other classes": (Made(), ["--classes", "one,two"], "2 classes, which do not fit together"),
}


class Exported(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="nocturne-export-"))
        self.file, self.out = self.folder / "Made.onnx", self.folder / "out"

    def tearDown(self) -> None:
        shutil.rmtree(self.folder)

    def export(self, *arguments: str, file: Path | None = None) -> tuple[int, str]:
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            code = export_instances.main([str(file or self.file), str(self.out), *arguments])
        return code, text.getvalue()

    def manifest(self, *arguments: str, file: Path | None = None) -> dict[str, Any]:
        code, text = self.export(*arguments, file=file)
        self.assertEqual(code, 0, text)
        content = json.loads((self.out / "model.json").read_text())
        for entry in content["files"]:
            data = (self.out / entry["path"]).read_bytes()
            self.assertEqual((hashlib.sha256(data).hexdigest(), len(data)), (entry["sha256"], entry["bytes"]))
        return content


class YOLO(Exported):
    def outputs(self, photo: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Of the file, and of the package's network for the same photo (values 0 to 1)."""
        theirs = onnxruntime.InferenceSession(self.file, providers=["CPUExecutionProvider"])
        ours = onnxruntime.InferenceSession(self.out / "network.onnx", providers=["CPUExecutionProvider"])
        names = ["output0", "output1"]
        return (
            theirs.run(names, {"images": photo}),
            ours.run(names, {ours.get_inputs()[0].name: photo - np.float32(FILLING)}),
        )

    def test_manifest(self) -> None:
        Made().write(self.file)
        content = self.manifest()
        section = content["photoInstances"]
        self.assertEqual((content["id"], content["task"], content["licence"]), ("made", "photo-instances", "AGPL-3.0"))
        self.assertEqual([one["name"] for one in section["classes"]], ["person", "traffic_light", "Kafer"])
        self.assertEqual(section["output"], {"kind": "masks-boxes", "candidates": "output0", "prototypes": "output1"})
        self.assertEqual((section["input"]["longSide"], section["input"]["square"]), (64, True))
        self.assertEqual((section["thresholds"]["score"], section["thresholds"]["boxOverlap"]), (0.25, 0.7))

    def test_same_outputs(self) -> None:
        photo = np.random.default_rng(0).random((1, 3, 64, 64), np.float32)
        for made, limit in ((Made(), 1e-4), (Made(exchanged=True), 1e-4), (Made(half=True), 0.2)):
            with self.subTest(made):
                made.write(self.file)
                section = self.manifest("--replace")["photoInstances"]
                self.assertEqual(section["output"]["candidates"], "output0")
                for expected, found in zip(*self.outputs(photo)):
                    self.assertEqual(found.dtype, np.float32)
                    self.assertLess(float(np.abs(found - expected.astype(np.float32)).max()), limit)

    def test_dynamic(self) -> None:
        Made(shape=("batch", 3, "height", "width")).write(self.file)
        section = self.manifest("--size", "96")["photoInstances"]
        self.assertEqual((section["input"]["longSide"], section["input"]["multiple"]), (96, 32))
        self.assertNotIn("square", section["input"])
        for expected, found in zip(*self.outputs(np.random.default_rng(0).random((1, 3, 32, 96), np.float32))):
            self.assertLess(float(np.abs(found - expected).max()), 1e-4)
        model = onnx.load(self.out / "network.onnx")
        self.assertEqual(model.graph.input[0].type.tensor_type.shape.dim[0].dim_value, 1)

    def test_options(self) -> None:
        Made({"names": "none"}).write(self.file)
        given = ["--classes", "a,b,c", "--score", "0.4", "--overlap", "0.6", "--max-instances", "9", "--id", "mine"]
        content = self.manifest(*given, "--licence", "MIT", "--minimum-side", "48")
        section = content["photoInstances"]
        self.assertEqual((content["id"], content["licence"]), ("mine", "MIT"))
        self.assertEqual((section["thresholds"]["score"], section["thresholds"]["boxOverlap"]), (0.4, 0.6))
        self.assertEqual((section["maxInstances"], section["input"]["minimumSide"]), (9, 48))

    def test_refusals(self) -> None:
        for name, (made, arguments, expected) in REFUSED.items():
            with self.subTest(name):
                made.write(self.file)
                code, text = self.export(*arguments)
                self.assertEqual(code, 2, text)
                self.assertIn(expected, text)
                self.assertEqual([path.name for path in self.folder.iterdir()], ["Made.onnx"])

    def test_files(self) -> None:
        self.assertEqual(self.export()[0], 2)
        self.file.write_bytes(b"nothing")
        self.assertIn("is no ONNX file", self.export()[1])
        self.assertIn("neither", self.export(file=Path(__file__))[1])
        Made().write(self.file)
        self.out.mkdir()
        self.assertIn("--replace", self.export()[1])

    def test_one_output(self) -> None:
        Made().write(self.file)
        model = onnx.load(self.file)
        del model.graph.output[1]
        self.file.write_bytes(model.SerializeToString())
        self.assertIn("has no prototypes", self.export()[1])


class Classes(unittest.TestCase):
    def test_names(self) -> None:
        self.assertEqual([safe_name(text) for text in (" a/b ", "..x", "ß", "é")], ["a_b", "x", "", "e"])

    def test_colors(self) -> None:
        found = [color(index) for index in range(200)]
        self.assertTrue(all(len(one) == 7 and int(one[1:], 16) >= 0 for one in found))
        self.assertGreater(len(set(found)), 190)
        self.assertEqual(len(classes(Path("x"), [f"c{n}" for n in range(LIMIT)])), LIMIT)


@unittest.skipUnless(has_torchvision(), "needs PyTorch and torchvision")
class MaskRCNN(Exported):
    def test_versions(self) -> None:
        import torch
        from torchvision.models import detection

        torch.set_num_threads(1)
        torch.manual_seed(0)
        file = self.folder / "weights.pth"
        network = detection.maskrcnn_resnet50_fpn(weights=None, weights_backbone=None, num_classes=3)
        torch.save({"model": network.state_dict(), "epoch": 3}, file)
        self.assertIn("2 classes beside the background; name them", self.export(file=file)[1])
        section = self.manifest("--classes", "a,b", "--score", "0.2", "--size", "320", file=file)["photoInstances"]
        self.assertEqual((section["output"]["kind"], section["output"]["firstClass"]), ("masks", 1))
        model = onnx.load(self.out / "network.onnx")
        shapes = [[axis.dim_value for axis in one.type.tensor_type.shape.dim] for one in model.graph.output]
        self.assertEqual(shapes, [[100, 4], [100], [100], [100, 1, 30, 30]])

    def test_other_files(self) -> None:
        import torch

        file = self.folder / "weights.pth"
        torch.save({"layer.weight": torch.zeros(3)}, file)
        self.assertIn("has no weights of torchvision's Mask R-CNN", self.export(file=file)[1])
        torch.save(torch.nn.Linear(2, 2), file)
        self.assertIn("code is not run", self.export(file=file)[1])


if __name__ == "__main__":
    unittest.main()
