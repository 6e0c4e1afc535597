"""Tests of the functions that wheel and Debian package are made with.

    python3 -m unittest Tools/checks/test_packaging.py
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.packaging import debian, exporters, manual, wheel
from nocturne_tools.packaging.shared_libraries import VersionedFile, glibc, needed_glibc
from nocturne_tools.packaging.version import SOURCE, version_in

OPTION = {"kind": "option", "valueName": "file", "isOptional": True, "abstract": "Read it.", "defaultValue": "a"}
OUTPUT = {"kind": "option", "valueName": "output", "names": [{"kind": "long", "name": "output"}]}
RUN = {
    "commandName": "run",
    "abstract": "Process.",
    "arguments": [
        {**OPTION, "names": [{"kind": "short", "name": "f"}, {"kind": "long", "name": "file"}], "allValues": ["a", "b"]},
        {**OUTPUT, "preferredName": {"kind": "long", "name": "output"}},
        {"kind": "positional", "valueName": "inputs", "isOptional": True, "isRepeating": True},
        {"kind": "flag", "names": [{"kind": "long", "name": "test"}], "isOptional": True, "shouldDisplay": False},
    ],
}
ROOT_COMMAND = {
    "commandName": "tool",
    "abstract": "A tool.",
    "discussion": "About.\n\nExit codes: 0 good.",
    "subcommands": [RUN, {"commandName": "help"}],
}


class Version(unittest.TestCase):
    def test_the_sources_declare_one(self) -> None:
        self.assertEqual(version_in('    static let version = "1.2.3"\n'), "1.2.3")
        self.assertRegex(version_in(SOURCE.read_text()), r"^\d+\.\d+\.\d+$")

    def test_none_is_an_error(self) -> None:
        with self.assertRaises(SystemExit):
            version_in("let version = number")


class Glibc(unittest.TestCase):
    LISTING = (
        "  0x10:   Name: GLIBC_2.9  Flags: none  Version: 3\n"
        "  0x20:   Name: GLIBC_2.14  Flags: none  Version: 4\n"
        "  0x30:   Name: GLIBC_2.36  Flags: WEAK   Version: 5\n"
        "  0x40:   Name: GLIBCXX_3.4.30  Flags: none  Version: 6\n"
    )

    def test_weak_versions_do_not_count(self) -> None:
        self.assertEqual(needed_glibc(self.LISTING), (2, 14))
        self.assertEqual(needed_glibc(""), (2, 0))

    @unittest.skipUnless(shutil.which("readelf"), "readelf is missing")
    def test_newer_versions_become_weak(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            copy = Path(shutil.copy(Path("/bin/sh").resolve(), name))
            before = glibc(copy)
            self.assertEqual(VersionedFile(copy).accept_older_glibc(before), [])
            self.assertTrue(VersionedFile(copy).accept_older_glibc((2, 2, 5)))
            self.assertLessEqual(glibc(copy), (2, 2, 5))


class Manual(unittest.TestCase):
    def test_text_is_no_request(self) -> None:
        self.assertEqual(manual.escaped("a\\b\n.c --d"), "a\\eb\n\\&.c \\-\\-d")

    def test_synopsis(self) -> None:
        self.assertEqual(manual.synopsis("tool run", RUN), "tool run [options] --output <output> [<inputs> ...]")
        self.assertEqual(manual.synopsis("tool", ROOT_COMMAND), "tool <subcommand> ...")

    def test_every_command_but_help_has_a_page(self) -> None:
        pages = manual.pages(ROOT_COMMAND, "1.0", "2026-01-01")
        self.assertEqual(sorted(pages), ["nocturne-demo.1", "tool-run.1", "tool.1"])
        text = pages["tool-run.1"]
        self.assertIn("\\fB\\-f, \\-\\-file <file>\\fR\nRead it. (values: a, b; default: a)", text)
        self.assertIn(".SH EXIT STATUS\nExit codes: 0 good.", text)
        self.assertNotIn("test", text)
        self.assertEqual(pages["tool.1"].count("Exit codes"), 1)


class Wheel(unittest.TestCase):
    DESCRIPTION = wheel.Description("1.0", (2, 34), {"export": ["torch"]}, ["a.txt"])

    def test_name_and_metadata(self) -> None:
        self.assertEqual(self.DESCRIPTION.file_name, "nocturne_batch-1.0-py3-none-manylinux_2_34_x86_64.whl")
        self.assertIn('Provides-Extra: export\nRequires-Dist: torch; extra == "export"\n', self.DESCRIPTION.metadata())

    def test_extras_for_engines_are_what_the_installer_pins(self) -> None:
        found = wheel.engine_requirements()
        self.assertRegex(" ".join(found["onnxruntime"]), r"^onnxruntime==[\d.]+$")
        self.assertRegex(found["cuda"][0], r"^onnxruntime-gpu==")
        self.assertIn("nvidia-cudnn-cu13", {name.split("==")[0] for name in found["cuda"]})

    def test_places(self) -> None:
        self.assertEqual(wheel.place(Path("bin/tool"), "t-1"), "t-1.data/scripts/tool")
        self.assertEqual(wheel.place(Path("lib/tool/a.so"), "t-1"), "t-1.data/data/lib/tool/a.so")

    def test_record(self) -> None:
        self.assertEqual(wheel.record_line("a", b""), "a,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0")


class Exporters(unittest.TestCase):
    def test_imports(self) -> None:
        text = "import a.b\nfrom . import c\nfrom ..d import e\nfrom .f import g\n"
        found = {"a.b", "p.q", "p.q.c", "p.d", "p.d.e", "p.q.f", "p.q.f.g"}
        self.assertEqual(exporters.imports(text, "p.q"), found)

    def test_what_the_exporters_need(self) -> None:
        modules, foreign = exporters.closure()
        names = {path.relative_to(exporters.LIBRARY).as_posix() for path in modules}
        self.assertIn("nocturne_tools/nnunet/package.py", names)
        self.assertFalse(any("phantoms" in name or "packaging" in name for name in names))
        self.assertIn("torch", foreign)
        self.assertIn("nocturne_tools/totalsegmentator/program.py", names)
        self.assertNotIn("totalsegmentator", foreign)

    def test_installed_text(self) -> None:
        text = exporters.as_installed("python Tools/export/export_nnunet.py A", "x[export]")
        self.assertEqual(text, "nocturne-export nnunet A")


class Debian(unittest.TestCase):
    def test_licences(self) -> None:
        apache = "Apache License\nVersion 2.0\n...\n## Runtime Library Exception to it\nText\n"
        self.assertEqual(debian.abridged("MIT\n"), "MIT")
        self.assertTrue(debian.abridged(apache).endswith("## Runtime Library Exception to it\nText"))
        self.assertIn("/usr/share/common-licenses/Apache-2.0", debian.abridged(apache))


if __name__ == "__main__":
    unittest.main()
