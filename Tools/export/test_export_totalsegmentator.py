"""Checks packages and refusals of the exporter for TotalSegmentator. Needs its package and PyTorch: CI leaves it out.

    python Tools/export/test_export_totalsegmentator.py

Makes small weights, exports tasks of every kind, and expects the content of `model.json`; then changes one fact at a
time, and expects exit code 2, the fact in the message and no file left behind.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

import export_totalsegmentator

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.totalsegmentator import made_weights, tasks

NAMES = ["total", "total-fastest", "body", "kidney_cysts", "pleural_pericard_effusion", "headneck_muscles"]


class Exported(unittest.TestCase):
    folder: Path
    weights: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(tempfile.mkdtemp(prefix="nocturne-export-"))
        cls.weights = cls.folder / "weights"
        made_weights.make([tasks.of_text(name) for name in NAMES], cls.weights)

    @classmethod
    def tearDownClass(cls) -> None:
        shutil.rmtree(cls.folder)

    def export(self, *arguments: str, weights: Path | None = None) -> tuple[int, str, Path]:
        """Exit code, messages, and the folder of the package."""
        out = self.folder / "packages" / "one"
        shutil.rmtree(out, ignore_errors=True)
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.redirect_stderr(text):
            name, *more = arguments
            code = export_totalsegmentator.main([name, str(weights or self.weights), str(out), "--threads", "1", *more])
        return code, text.getvalue(), out

    def manifest(self, *arguments: str) -> tuple[dict[str, Any], Path]:
        code, text, out = self.export(*arguments)
        self.assertEqual(code, 0, text)
        content = json.loads((out / "model.json").read_text())
        for file in content["files"]:
            self.assertEqual(hashlib.sha256((out / file["path"]).read_bytes()).hexdigest(), file["sha256"])
        found = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
        self.assertEqual(found, {"model.json", *(file["path"] for file in content["files"])})
        return content, out

    def part(self, out: Path, name: str) -> dict[str, Any]:
        return json.loads((out / "parts" / name / "model.json").read_text())

    def test_several_parts(self) -> None:
        content, out = self.manifest("total")
        program = content["volumeProgram"]
        self.assertEqual([part["packages"] for part in program["parts"]][0], ["parts/organs"])
        values = [value for part in program["parts"] for value in part["labels"].values()]
        self.assertEqual(set(values), {label["value"] for label in content["labels"]})
        self.assertEqual(program["grid"]["spacing"], [1.5, 1.5, 1.5])
        titles = {label["value"]: label["name"] for label in content["labels"]}
        for part in program["parts"]:
            own = self.part(out, part["packages"][0].removeprefix("parts/"))
            self.assertEqual(own["volumeSegmentation"]["tileStep"], 0.8)
            self.assertEqual(own["volumeSegmentation"]["mirroringAxes"], [])
            for label in own["labels"]:
                self.assertEqual(titles[part["labels"][str(label["value"])]], label["name"])

    def test_one_part_with_rules(self) -> None:
        _, out = self.manifest("body")
        rules = self.part(out, "network")["volumeSegmentation"]
        self.assertEqual((rules["tileStep"], rules["mirroringAxes"]), (0.5, []))
        expected = {"keepLargest": ["body_trunc"], "minimumVolumeMm3": {"body_extremities": 50000}, "connectivity": 6}
        self.assertEqual(rules["postprocessing"], {"fillHoles": [], **expected})

    def test_region_and_removed_labels(self) -> None:
        content, out = self.manifest("kidney_cysts")
        region = content["volumeProgram"]["region"]
        self.assertEqual((region["marginMm"], region["grid"]["spacing"]), (20, [6.0, 6.0, 6.0]))
        names = {label["name"] for label in self.part(out, "region")["labels"]}
        self.assertLessEqual(set(region["labels"]), names)
        self.assertEqual(content["volumeProgram"]["parts"][0]["labels"], {"1": 1, "2": 2})
        self.assertEqual(len(self.part(out, "network")["labels"]), 4)

    def test_no_grid_of_its_own(self) -> None:
        content, _ = self.manifest("pleural_pericard_effusion")
        self.assertEqual(content["volumeProgram"]["grid"], {"orientation": "RAS"})

    def test_native_grid(self) -> None:
        content, out = self.manifest("kidney_cysts", "--native-grid")
        self.assertEqual(content["volumeProgram"]["grid"], {"orientation": "RAS"})
        self.assertEqual(content["volumeProgram"]["region"]["grid"]["spacing"], [6.0, 6.0, 6.0])
        own = self.part(out, "network")["volumeSegmentation"]
        self.assertEqual(own["spacing"], [1.5, 1.5, 1.5])
        self.assertEqual(own["resampling"]["logits"]["order"], 1)

    def test_two_parts_with_a_region(self) -> None:
        content, _ = self.manifest("headneck_muscles")
        packages = [part["packages"][0] for part in content["volumeProgram"]["parts"]]
        self.assertEqual(packages, ["parts/muscles-1", "parts/muscles-2"])

    def test_refused_tasks(self) -> None:
        facts = {"vertebrae_pp": "numbers vertebrae", "teeth": "craniofacial_structures", "none": "there is no task"}
        facts |= {"heartchambers_highres": "removed", "total_highres_test": "no published weights", "test": "for tests"}
        for name, fact in facts.items():
            self.expect_refusal(fact, name)
        self.expect_refusal("no mode fastest", "body", "--fastest")
        self.expect_refusal("no mode fast", "breasts", "--fast")

    def test_refused_weights(self) -> None:
        self.expect_refusal("Dataset527_*", "breasts")
        self.expect_refusal("nnUNetTrainer__other__3d_fullres", "body", "--plans", "other")
        changed = self.folder / "changed"
        shutil.copytree(next(self.weights.glob("Dataset299_*")), changed / "Dataset299_body_1559subj")
        shutil.copytree(changed / "Dataset299_body_1559subj", changed / "Dataset299_old")
        self.expect_refusal("keep only the newest", "body", weights=changed)
        shutil.rmtree(changed / "Dataset299_old")
        file = next(changed.rglob("dataset.json"))
        content = json.loads(file.read_text())
        content["labels"] = {"background": 0, "body_trunc": 1}
        file.write_text(json.dumps(content))
        self.expect_refusal("1 labels; expected 2, among them body_extremities", "body", weights=changed)

    def expect_refusal(self, fact: str, *arguments: str, weights: Path | None = None) -> None:
        code, text, out = self.export(*arguments, weights=weights)
        self.assertEqual(code, 2, text)
        self.assertIn(fact, text)
        self.assertFalse(out.exists())
        self.assertEqual(list(out.parent.glob(".*")) if out.parent.exists() else [], [])


if __name__ == "__main__":
    unittest.main()
