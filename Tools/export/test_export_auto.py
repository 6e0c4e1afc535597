"""Checks what the importer recognises and what it refuses; needs no package of Python but, for one test, onnx.

    python Tools/export/test_export_auto.py

Makes tiny sources and hostile archives. A refusal must state its fact, and leave nothing outside its temporary folder.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import importlib.util
import io
import json
import os
import pickle
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import unittest.mock
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import export_auto

from nocturne_tools import archives
from nocturne_tools.importing.recognition import recognize
from nocturne_tools.nnunet.refusal import Refusal

PLANS = "Dataset1_A/nnUNetTrainer__nnUNetPlans__3d_fullres/plans.json"


def write_wheel(path: Path, files: dict[str, bytes], damaged: str | None = None) -> Path:
    """A wheel with a record; of `damaged`, the record has another digest."""
    info = next(name.split("/")[0] for name in files if name.endswith(".dist-info/METADATA"))
    rows = []
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            digest = hashlib.sha256(content + b"." if name == damaged else content).digest()
            rows.append(f"{name},sha256={base64.urlsafe_b64encode(digest).decode().rstrip('=')},{len(content)}")
            archive.writestr(name, content)
        archive.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,"]))
    return path


class InFolder(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        # Temporary folders of the importer are made in this one.
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir()
        self.enterContext(unittest.mock.patch.object(tempfile, "tempdir", str(self.temporary)))

    def write(self, name: str, content: str | bytes = "{}") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def run_importer(self, *arguments: str) -> tuple[int, str]:
        output = io.StringIO()
        with contextlib.redirect_stderr(output), contextlib.redirect_stdout(output):
            code = export_auto.main([*arguments])
        return code, output.getvalue()


class Recognition(InFolder):
    def test_kinds(self) -> None:
        self.write(f"a/{PLANS}")
        self.write("b/bundle/configs/inference.json")
        self.write("b/bundle/LICENSE")
        self.write("c/model18cls/model.json", json.dumps({"modelTopology": {}}))
        self.write("d/yolo.onnx", b"\x08\x08...Ultralytics")
        found = {name: recognize(self.folder / name) for name in "abcd"}
        kinds = ["nnunet", "monai", "brainchop", "instances"]
        self.assertEqual([found[name].exporter for name in "abcd"], kinds)
        self.assertEqual(found["a"].source, (self.folder / "a" / PLANS).parent)
        self.assertEqual(found["b"].licence, self.folder / "b/bundle/LICENSE")
        self.assertEqual(found["c"].source.name, "model18cls")

    def test_totalsegmentator(self) -> None:
        trained = "nnUNetTrainer__nnUNetPlans__3d_fullres/plans.json"
        self.write(f"Dataset297_TotalSegmentator_total_3mm/{trained}")
        found = recognize(self.folder)
        self.assertEqual(
            (found.exporter, found.arguments, found.source), ("totalsegmentator", ["--fast", "total"], self.folder)
        )
        self.write(f"Dataset299_TotalSegmentator_body/{trained}")
        with self.assertRaisesRegex(Refusal, "datasets 297, 299.*--task"):
            recognize(self.folder)
        self.assertEqual(recognize(self.folder, "body").arguments, ["body"])

    def test_refusals(self) -> None:
        with self.assertRaisesRegex(Refusal, "no weights"):
            recognize(self.folder)
        self.write("weights.pt", b"")
        with self.assertRaisesRegex(Refusal, "weights.pt"):
            recognize(self.folder)
        network = self.write("network.onnx", b"\x08\x08")
        with self.assertRaisesRegex(Refusal, "a network alone. Missing"):
            recognize(network)
        self.write("a/model.json", '{"schemaVersion": 2}')
        with self.assertRaisesRegex(Refusal, "a model package already"):
            recognize(self.folder)
        self.write("b/model.json", '{"modelTopology": {}}')
        with self.assertRaisesRegex(Refusal, r"several models.*a \(package\), b \(brainchop\)"):
            recognize(self.folder)
        self.assertEqual(recognize(self.folder, inside="b").exporter, "brainchop")


class Archives(InFolder):
    def refused(self, archive: Path, fact: str) -> None:
        before = sorted(self.folder.rglob("*"))
        code, output = self.run_importer(str(archive), str(self.folder / "models"))
        with self.subTest(fact):
            self.assertEqual(code, 2, output)
            self.assertIn(fact, output)
            self.assertEqual(sorted(self.folder.rglob("*")), before)

    def zip(self, *entries: tuple[zipfile.ZipInfo | str, bytes]) -> Path:
        path = self.folder / "a.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in entries:
                archive.writestr(name, content)
        return path

    def tar(self, *members: tarfile.TarInfo) -> Path:
        path = self.folder / "a.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for member in members:
                archive.addfile(member, io.BytesIO(b"x" * member.size))
        return path

    def test_entries_that_lead_out(self) -> None:
        for name in ("../outside", "/tmp/outside", "a/../../outside", "C:/outside", "a\\..\\outside"):
            self.refused(self.zip(("a/plans.json", b"{}"), (name, b"x")), "leads out of its folder")
            self.refused(self.tar(tarfile.TarInfo(name)), "leads out of its folder")

    def test_links_and_devices(self) -> None:
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        self.refused(self.zip((link, b"/etc/passwd")), "a link or a device")
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE, tarfile.GNUTYPE_SPARSE):
            member = tarfile.TarInfo("a/link")
            member.type, member.linkname = kind, "/etc/passwd"
            self.refused(self.tar(member), "a link or a device" if kind != tarfile.GNUTYPE_SPARSE else "refused")

    def test_sizes(self) -> None:
        path = self.zip(("a/plans.json", b"x" * 1000))
        content = bytearray(path.read_bytes())
        at = content.index(b"PK\x01\x02") + 24
        content[at : at + 4] = struct.pack("<I", 0xFFFFFF00)
        path.write_bytes(content)
        self.refused(path, "no weights are compressed so far")
        content[at : at + 4] = struct.pack("<I", 999)
        path.write_bytes(content)
        self.refused(path, "cannot be unpacked")
        member = tarfile.TarInfo("a")
        member.size = 100 << 30
        tar = self.folder / "bomb.tar"
        tar.write_bytes(member.tobuf())
        self.refused(tar, "no weights are compressed so far")
        header = tarfile.TarInfo("long")
        header.type, header.size = tarfile.GNUTYPE_LONGNAME, 1 << 30
        tar.write_bytes(header.tobuf())
        self.refused(tar, "a header of 1073741824 bytes")
        tar.write_bytes(b"no archive")
        self.refused(tar, "cannot be unpacked")

    def test_names_twice(self) -> None:
        self.refused(self.tar(tarfile.TarInfo("a"), tarfile.TarInfo("a")), "twice")
        self.refused(self.zip(("a", b"x"), ("a/b", b"x")), "cannot be unpacked")

    def test_wheel_with_links(self) -> None:
        link = zipfile.ZipInfo("link")
        link.external_attr = 0o120777 << 16
        self.refused(
            self.zip((link, b"/etc/passwd")).rename(self.folder / "a-1-py3-none-any.whl"), "a link or a device"
        )

    def test_what_is_whole_is_unpacked(self) -> None:
        folder = tarfile.TarInfo(".")
        folder.type = tarfile.DIRTYPE
        for path in (self.zip(("a/b", b"xy"), ("a/c/", b"")), self.tar(folder, tarfile.TarInfo("./a/b"))):
            with tempfile.TemporaryDirectory() as name:
                archives.unpack(path, Path(name))
                self.assertEqual([one.name for one in Path(name).rglob("*") if one.is_file()], ["b"])


class Import(InFolder):
    def test_sources(self) -> None:
        models = str(self.folder / "models")
        for source, fact in (
            (str(self.folder / "missing"), "no such file"),
            ("pip:--index-url==1", "is not pip:NAME==VERSION"),
            ("pip:name", "is not pip:NAME==VERSION"),
            (str(self.write("a.txt")), "is no wheel, no archive"),
        ):
            code, output = self.run_importer(source, models)
            self.assertEqual((code, fact in output), (2, True), output)
        os.symlink("/etc/passwd", self.folder / "link")
        self.assertIn("a link out of the folder", self.run_importer(str(self.folder), models)[1])
        self.assertFalse(Path(models).exists())

    def test_digest(self) -> None:
        self.write(f"a/{PLANS}")
        code, output = self.run_importer(str(self.folder / "a"), str(self.folder / "models"), "--sha256", "0" * 64)
        self.assertEqual((code, "not the known one" in output), (2, True), output)

    def test_wheel_of_taps(self) -> None:
        info, code = "lavlab_taps-9.dist-info", b"SIGMA = 2.5\n"
        files = {
            "taps/inference.py": code,
            "taps/resources/model_v9.onnx": b"a network",
            f"{info}/METADATA": b"Name: lavlab-taps\nVersion: 9\nLicense-Expression: MIT\n\n",
            f"{info}/licenses/LICENSE.txt": b"A licence.\n",
        }
        models, wheel = self.folder / "models", self.folder / "lavlab_taps-9-py3-none-any.whl"
        known = {"9": hashlib.sha256(code).hexdigest()}
        recording = unittest.mock.patch("nocturne_tools.taps.package.record_output", lambda *_: "not recorded")
        with unittest.mock.patch.dict("nocturne_tools.taps.package.KNOWN", known):
            if importlib.util.find_spec("onnxruntime"):
                code, output = self.run_importer(str(write_wheel(wheel, files)), str(models))
                self.assertEqual((code, "cannot be run by ONNX Runtime" in output, os.listdir(models)), (2, True, []))
        with recording, unittest.mock.patch.dict("nocturne_tools.taps.package.KNOWN", known):
            code, output = self.run_importer(str(write_wheel(wheel, files)), str(models))
            self.assertEqual((code, os.listdir(models)), (0, ["prostate-t2"]), output)
            package = models / "prostate-t2"
            full = json.loads((package / "model.json").read_text())
            self.assertEqual((package / "network.onnx").read_bytes(), b"a network")
            self.assertEqual((package / "LICENSE.txt").read_text(), "A licence.\n")
            self.assertEqual((full["version"], full["volumeSegmentation"]["networks"]), ("9", ["network.onnx"]))
            code, output = self.run_importer(str(wheel), str(models), "--replace", "--", "--long-side", "640")
            self.assertEqual((code, "a wheel of lavlab-taps, which has no --long-side" in output), (2, True), output)
            changes = {
                "is under GPL": {f"{info}/METADATA": b"Name: lavlab-taps\nVersion: 9\nLicense-Expression: GPL\n\n"},
                "has other code": {"taps/inference.py": b"SIGMA = 3\n"},
                "has 2 files": {"taps/resources/other.onnx": b""},
            }
            for fact, change in changes.items():
                code, output = self.run_importer(str(write_wheel(wheel, files | change)), str(models), "--replace")
                self.assertEqual((code, fact in output), (2, True), output)
        damaged = write_wheel(wheel, files, damaged="taps/inference.py")
        self.assertIn("does not have the digest", self.run_importer(str(damaged), str(models))[1])
        unknown = files | {f"{info}/METADATA": b"Name: other\nVersion: 1\n\n"}
        code, output = self.run_importer(str(write_wheel(wheel, unknown)), str(models))
        self.assertIn("a wheel of other 1 with taps/resources/model_v9.onnx; no exporter knows it", output)

    @unittest.skipUnless(importlib.util.find_spec("onnx"), "needs onnx")
    def test_package(self) -> None:
        from test_export_wheel import contents

        wheel = write_wheel(self.folder / "rapidocr-3.0.0-py3-none-any.whl", contents())
        models = self.folder / "models"
        code, output = self.run_importer(str(wheel), str(models), "--dry-run")
        self.assertEqual((code, models.exists()), (0, False), output)
        self.assertIn("a wheel of rapidocr 3.0.0", output)
        code, output = self.run_importer(str(wheel), str(models), "--", "--id", "text")
        self.assertEqual((code, os.listdir(models)), (0, ["text"]), output)
        source = json.loads((models / "text/model.json").read_text())["source"]
        self.assertEqual((source["name"], source["version"], source["file"]), ("rapidocr", "3.0.0", wheel.name))
        self.assertEqual(self.run_importer(str(wheel), str(models), "--", "--id", "text")[0], 2)
        self.assertEqual(
            self.run_importer(str(wheel), str(models), "--program", "false", "--replace", "--", "--id", "text")[0], 2
        )
        self.assertEqual(os.listdir(models), ["text"])

    @unittest.skipUnless(importlib.util.find_spec("onnxruntime"), "needs onnxruntime")
    def test_telemetry_is_off(self) -> None:
        """ONNX Runtime keeps the number of a session for its telemetry in the folder of temporary files."""
        code = "import nocturne_tools.offline, onnxruntime"
        found = sorted(os.listdir(self.folder))
        environment = os.environ | {"TMPDIR": str(self.folder), "PYTHONPATH": os.pathsep.join(sys.path)}
        environment.pop("ORT_DISABLE_TELEMETRY", None)
        subprocess.run([sys.executable, "-c", code], check=True, env=environment)
        self.assertEqual(sorted(os.listdir(self.folder)), found)

    @unittest.skipUnless(importlib.util.find_spec("torch"), "needs PyTorch")
    def test_pickles_do_not_run(self) -> None:
        from nocturne_tools.nnunet.folder import read_checkpoint

        class Code:
            def __reduce__(self) -> tuple[object, ...]:
                return (os.mkdir, (str(outside),))

        outside = self.folder / "outside"
        checkpoint = self.write("checkpoint.pth", pickle.dumps({"network_weights": Code()}))
        with self.assertRaises(Refusal):
            read_checkpoint(checkpoint, trust=False)
        self.assertFalse(outside.exists())


if __name__ == "__main__":
    unittest.main()
