"""Checks packages and refusals of the exporter for wheels, with one of RapidOCR.

    python Tools/export/test_export_wheel.py

Makes a tiny wheel, exports it, and expects its files and settings in the package; then changes one fact at a time, and
expects exit code 2, the fact in the message and no file left behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import onnx
from onnx import TensorProto, helper

import export_wheel
from test_export_auto import write_wheel

DETECTION, RECOGNITION = "rapidocr/models/PP-OCRv0_det_tiny.onnx", "rapidocr/models/PP-OCRv0_rec_tiny.onnx"
INFO = "rapidocr-3.0.0.dist-info"
CONFIG = """Global:
    text_score: 0.5

Det:
    engine_type: "onnxruntime"

    std: [ 0.5, 0.5, 0.5 ]
    mean: [ 0.4, 0.5, 0.6 ]

    thresh: 0.3
    box_thresh: 0.55
    unclip_ratio: 1.6
    use_dilation: true

Cls:
    cls_thresh: 0.9

Rec:
    rec_img_shape: [3, 48, 320]
"""


def network(classes: int, characters: str | None) -> bytes:
    """A graph whose last extent is the number of classes."""
    shapes = {"x": [1, 3, "height", "width"], "y": [1, 3, "height", classes]}
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "synthetic", infos[:1], infos[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    if characters is not None:
        helper.set_model_props(model, {"character": characters})
    return model.SerializeToString()


def contents() -> dict[str, bytes]:
    return {
        DETECTION: network(7, None),
        RECOGNITION: network(5, "a\nB\n é".replace(" ", "")),
        "rapidocr/config.yaml": CONFIG.encode(),
        f"{INFO}/METADATA": b"Name: rapidocr\nVersion: 3.0.0\nLicense-Expression: Apache-2.0\n\nName: other\n",
        f"{INFO}/licenses/LICENSE": b"A licence.\n",
        f"{INFO}/licenses/MODEL_LICENSES.md": b"Of the models.\n",
    }


class Exporter(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.out = self.folder / "out"

    def run_exporter(self, wheel: Path, *options: str) -> tuple[int, str]:
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            code = export_wheel.main([str(wheel), str(self.out), *options])
        return code, errors.getvalue()

    def test_package(self) -> None:
        files = contents()
        code, errors = self.run_exporter(write_wheel(self.folder / "a.whl", files), "--long-side", "640")
        self.assertEqual((code, errors), (0, ""))
        self.assertEqual((self.out / "detection.onnx").read_bytes(), files[DETECTION])
        self.assertEqual((self.out / "recognition.onnx").read_bytes(), files[RECOGNITION])
        self.assertEqual((self.out / "characters.txt").read_text("utf-8"), "a\nB\né\n \n")
        self.assertEqual((self.out / "LICENSE.txt").read_text(), "A licence.\n")
        self.assertEqual((self.out / "MODEL_LICENSES.md").read_text(), "Of the models.\n")
        full = json.loads((self.out / "model.json").read_text())
        self.assertEqual((full["task"], full["version"], full["licence"]), ("photo-text", "3.0.0", "Apache-2.0"))
        self.assertIn(hashlib.sha256(files[DETECTION]).hexdigest(), full["description"])
        detection = full["photoText"]["detection"]
        self.assertEqual((detection["longSide"], detection["boxThreshold"], detection["growth"]), (640, 0.55, 1.6))
        self.assertEqual((detection["mean"], detection["dilation"]), ([0.4, 0.5, 0.6], True))
        again, errors = self.run_exporter(self.folder / "a.whl")
        self.assertEqual(again, 2)
        self.assertIn("--replace", errors)

    def test_refusals(self) -> None:
        changes = {
            "not one": {DETECTION: None},
            "is under MIT": {f"{INFO}/METADATA": b"Name: rapidocr\nVersion: 3.0.0\nLicense-Expression: MIT\n\n"},
            "does not name its characters": {RECOGNITION: network(5, None)},
            "6 classes for 4 characters": {RECOGNITION: network(6, "a\nB\nc")},
            "has no thresh": {"rapidocr/config.yaml": CONFIG.replace("    thresh: 0.3\n", "").encode()},
            "have the shape [3, 32, 320]": {"rapidocr/config.yaml": CONFIG.replace("48", "32").encode()},
        }
        for fact, change in changes.items():
            files = {name: content for name, content in (contents() | change).items() if content is not None}
            self.expect(write_wheel(self.folder / "a.whl", files), fact)
        other = {f"{INFO}/METADATA": b"Name: other\nVersion: 3.0.0\n\n"}
        self.expect(write_wheel(self.folder / "a.whl", contents() | other), "no exporter knows it")
        damaged = write_wheel(self.folder / "a.whl", contents(), damaged=RECOGNITION)
        self.expect(damaged, "does not have the digest")
        (self.folder / "text.whl").write_text("text")
        self.expect(self.folder / "text.whl", "is no wheel")
        self.expect(self.folder / "missing.whl", "is no wheel")

    def expect(self, wheel: Path, fact: str) -> None:
        before = sorted(self.folder.iterdir())
        code, errors = self.run_exporter(wheel)
        with self.subTest(fact):
            self.assertEqual(code, 2)
            self.assertIn(fact, errors)
            self.assertEqual(sorted(self.folder.iterdir()), before)


if __name__ == "__main__":
    onnx.checker.check_model(onnx.load_from_string(network(5, "a")))
    unittest.main()
