"""Tests of the checks: each must find what it is for, and nothing else.

    python3 -m unittest Tools/checks/test_checks.py
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

import async_frames
import commits
import counts
import doc_links
import layers
from nocturne_tools.c_uses import circles, file_uses, folder_uses, module_circles
import prose
from nocturne_tools.coverage import ModuleCoverage, modules, table
from nocturne_tools.package_graph import PackageGraph
from nocturne_tools.source_text import c_functions, comments, python_functions, swift_functions, without_comments

SWIFT = '''
/// A ``Box`` with ``Box/open(with:_:)``.
public struct Box<Value>: Sendable {
    var size = 3
    var half: Int { size / 2 }
    package func open(with key: (Int) -> String, _ times: Int = 1) throws(BoxError)
        -> String
    {
        let text = "func no(\\(key(2)) { // not a comment"  // a comment
        return text
    }
    init(size: Int) { self.size = size }
}
protocol Opening {
    func open(a: Int) async throws -> Int
    func close()
}
enum BoxError: Error { case locked(by: String), lost(Int) }
'''


class SourceText(unittest.TestCase):
    def test_swift_functions(self) -> None:
        found = [(f.name, f.parameters, f.lines) for f in swift_functions(SWIFT)]
        self.assertEqual(found, [("open", 2, 6), ("init", 1, 1)])

    def test_comments_and_strings_are_removed(self) -> None:
        code = without_comments(SWIFT)
        self.assertNotIn("comment", code)
        self.assertNotIn("func no", code)
        self.assertEqual(code.count("\n"), SWIFT.count("\n"))
        self.assertEqual([text for _, text in comments(SWIFT)][-1], "// a comment")

    def test_c_functions(self) -> None:
        code = '#define A(x) { x }\nextern "C" {\nstatic int add(int a, int b) {\n    if (a) { return b; }\n    return a;\n}\n}\n'
        found = [(f.name, f.parameters, f.lines) for f in c_functions(code + "struct S { int a; };\nint x[] = {1, 2};\n")]
        self.assertEqual(found, [("add", 2, 4)])

    def test_python_functions(self) -> None:
        found = python_functions("class A:\n    def f(self, a, *, b=1):\n        return a\n")
        self.assertEqual([(f.name, f.parameters, f.lines) for f in found], [("f", 2, 2)])


class DocLinks(unittest.TestCase):
    def setUp(self) -> None:
        self.symbols = doc_links.Symbols()
        doc_links.declare(self.symbols, SWIFT)

    def test_links_that_resolve(self) -> None:
        for link in ("Box", "Box/open(with:_:)", "Box/size", "BoxError/lost(_:)", "BoxError/locked(by:)", "init(size:)"):
            self.assertTrue(self.symbols.resolves(link), link)

    def test_links_that_do_not(self) -> None:
        for link in ("Bag", "Box/open(with:)", "Opening/size", "Box/locked(by:)"):
            self.assertFalse(self.symbols.resolves(link), link)

    def test_mentioned_files(self) -> None:
        missing = "Tools/" + "nowhere.py"
        self.assertEqual(doc_links.MENTION.findall(f"see {missing}, Tests/*, Samples/<name> and x/Tools/a"), [missing])


def graph(**dependencies: list[str]) -> PackageGraph:
    targets = []
    for name, names in dependencies.items():
        own = [{"byName": [one, None]} for one in names]
        kind = "test" if name.endswith("Tests") else "regular"
        targets.append({"name": name, "type": kind, "dependencies": own})
    return PackageGraph({"targets": targets})


class Layers(unittest.TestCase):
    def test_lower_layers_are_fine(self) -> None:
        found = layers.wrong_layers(graph(NocturneCore=["CPosix"], NocturneFormats=["NocturneCore"], CPosix=[]))
        self.assertEqual(found, [])

    def test_layers_above_and_beside_are_not(self) -> None:
        wrong = graph(NocturneCore=["NocturneFormats"], NocturneFormats=["NocturneMesh"], NocturneMesh=[], Unknown=[])
        self.assertEqual(len(layers.wrong_layers(wrong)), 3)
        self.assertEqual(len(layers.wrong_layers(graph(CPosix=["NocturneCore"], NocturneCore=[]))), 1)

    def test_imports(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            for target, text in {"NocturneCore": "", "NocturneMesh": "import Foundation\npublic import NocturneCore\n"}.items():
                (Path(name) / "Sources" / target).mkdir(parents=True)
                (Path(name) / "Sources" / target / "File.swift").write_text(text)
            right = graph(NocturneCore=[], NocturneMesh=["NocturneCore"])
            self.assertEqual(layers.wrong_imports(right, Path(name)), [])
            undeclared = graph(NocturneCore=[], NocturneMesh=[])
            self.assertEqual(len(layers.wrong_imports(undeclared, Path(name))), 1)
            unused = graph(NocturneCore=["NocturneMesh"], NocturneMesh=["NocturneCore"])
            self.assertEqual(len(layers.wrong_imports(unused, Path(name))), 1)


# Two files of one folder that use each other, and two of others that they use.
C_FILES = {
    "include/kernels.h": "int first(int a);\nint second(int a);\nextern const int sizes[2];\n",
    "plan/first.c": '#include "kernels.h"\n#include "numbers.h"\nint first(int a) { return a ? second(half(a)) : 0; }\n',
    "plan/second.c": '#include "kernels.h"\nint second(int a) { return sizes[0] + first(a); }\n',
    "plan/numbers.h": "static inline int half(int a) { return a / 2; }\n",
    "values/sizes.c": '#include "kernels.h"\nconst int sizes[2] = {1, 2};\nstatic int second(int a) { return a; } // first()\n',
}


class Circles(unittest.TestCase):
    def uses(self, files: dict[str, str]) -> tuple[dict[str, set[str]], list[str]]:
        with tempfile.TemporaryDirectory() as name:
            for path, text in files.items():
                (Path(name) / path).parent.mkdir(exist_ok=True)
                (Path(name) / path).write_text(text)
            return file_uses(Path(name)), module_circles(Path(name))

    def test_uses(self) -> None:
        uses, _ = self.uses(C_FILES)
        self.assertEqual(uses["plan/first.c"], {"include/kernels.h", "plan/numbers.h", "plan/second.c"})
        self.assertEqual(uses["plan/second.c"], {"include/kernels.h", "plan/first.c", "values/sizes.c"})
        self.assertEqual(uses["values/sizes.c"], {"include/kernels.h"})
        self.assertEqual(folder_uses(uses), {"include": set(), "plan": {"include", "values"}, "values": {"include"}})

    def test_circles_of_files_and_folders(self) -> None:
        uses, found = self.uses(C_FILES)
        self.assertEqual(circles(uses), [["plan/first.c", "plan/second.c"]])
        self.assertEqual(len(found), 1)
        moved = {name.replace("plan/second", "values/second"): text for name, text in C_FILES.items()}
        self.assertEqual([found.split(": ")[1] for found in self.uses(moved)[1]], ["plan/first.c, values/second.c", "plan, values"])

    def test_a_header_with_a_function_of_a_source_that_includes_it(self) -> None:
        inline = "static inline int third(int a) { return second(a); }\n"
        files = {**C_FILES, "plan/numbers.h": inline, "plan/second.c": '#include "numbers.h"\nint second(int a) { return a; }\n'}
        self.assertEqual(circles(self.uses(files)[0]), [["plan/numbers.h", "plan/second.c"]])

    def test_no_circle(self) -> None:
        files = {**C_FILES, "plan/second.c": "int second(int a) { return table.first(table->first(a)); }\n"}
        self.assertEqual(self.uses(files)[1], [])

    def test_circles_fail_the_check(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            for path, text in C_FILES.items():
                file = Path(name) / "Sources" / "CKernels" / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            self.assertEqual(len(layers.c_circles(graph(CKernels=[]), Path(name))), 1)
            self.assertEqual(counts.c_circles(counts.Sources(Path(name))).shown, 1)


class Counts(unittest.TestCase):
    def test_stored_variables(self) -> None:
        self.assertEqual(counts.stored_variables(SWIFT, SWIFT.index("{")), 1)

    def test_sleep_in_loop(self) -> None:
        code = "func a() { while x { wait() } }\nfunc b() { wait() }\n"
        self.assertTrue(counts.is_in_loop(code, code.index("wait")))
        self.assertFalse(counts.is_in_loop(code, code.rindex("wait")))

    def test_folders_that_use_each_other(self) -> None:
        files = {
            ("M", "A", "One.swift"): "struct One { let two: Two }",
            ("M", "B", "Two.swift"): "public struct Two {}\nfunc make() -> One? { nil }",
            ("N", "B", "Other.swift"): "struct Other { let one: One }",
        }
        expected = {("M", "A", "B"): {"Two in One.swift"}, ("M", "B", "A"): {"One in Two.swift"}}
        self.assertEqual(dict(counts.folder_uses(files)), expected)


class Documentation(unittest.TestCase):
    def test_declarations(self) -> None:
        code = "/// A box.\n@frozen\npublic struct Box {\n    package static let size = 3\n    let inner = 1\n    @inlinable package init() {}\n}\n"
        found = [(m.group("kind"), m.group("name")) for m in counts.DECLARED.finditer(code)]
        self.assertEqual(found, [("struct", "Box"), ("let", "size"), ("init", "")])
        self.assertTrue(counts.is_documented(code.split("\n"), 2))
        self.assertFalse(counts.is_documented(code.split("\n"), 3))


class Prose(unittest.TestCase):
    def found(self, text: str) -> list[tuple[int, str]]:
        return [(place.line, place.text) for place in prose.places("file", text)]

    def test_words_are_found(self) -> None:
        text = "The header says\nso many slices; the file is\nno volume of its own. Not any more."
        self.assertEqual(sorted(self.found(text)), [(1, "says"), (2, "is no"), (2, "so many"), (3, "any more"), (3, "of its own")])

    def test_usual_english_is_not(self) -> None:
        self.assertEqual(self.found("There is no file. It is no longer here, besides being a classroom with too many overnight runs."), [])

    def test_only_comments_and_texts_of_a_source_are_read(self) -> None:
        source = '/// A `beside` of ``house``.\n// So\n// many.\nlet told = "one \\(told) room" + wish(sought)\n'
        self.assertEqual(self.found(prose.prose_of_source(source)), [(2, "So many"), (4, "room")])

    def test_code_of_a_page_is_not_read(self) -> None:
        page = "Use `told`:\n\n```sh\ntold beside\n```\n\nA house.\n"
        self.assertEqual(self.found(prose.prose_of_page(page)), [(7, "house")])

    def test_limits_only_go_down(self) -> None:
        self.assertEqual(prose.lowered({"A": 3, "B": 5, "gone": 1}, {"A": 4, "B": 2, "New": 7}), {"A": 3, "B": 2, "New": 0})

    def test_groups(self) -> None:
        names = [prose.group(Path(name)) for name in ("Sources/NocturneCore/NocturneCore.docc/NocturneCore.md", "README.md", "Tools/README.md")]
        self.assertEqual(names, ["NocturneCore", "documents", "documents"])

    def test_limits_are_those_of_modules_that_exist(self) -> None:
        modules = {path.name for path in (HERE.parents[1] / "Sources").iterdir()} | {prose.DOCUMENTS}
        self.assertEqual(set(json.loads(prose.LIMITS.read_text())) - modules, set())


class Commits(unittest.TestCase):
    def test_messages_that_follow_the_rules(self) -> None:
        for subject in ("Journal: store paths once", "Fix the order of axes", "DICOM, NIfTI: Refuse empty files", "Tools/checks: add x"):
            self.assertEqual(commits.wrong_message(f"{subject}\n\nThe reason.\n"), [], subject)

    def test_messages_that_do_not(self) -> None:
        wrong = {
            "Figures of many items\n\nReason.": "imperative",
            "Journal: stored paths\n\nReason.": "imperative",
            "Fix this; add that\n\nReason.": "semicolon",
            "Fix " + "x" * 69 + "\n\nReason.": "73 characters",
            "Fix this\nand that": "not blank",
            "Fix this": "empty",
            "Fix this\n\nSigned-off-by: A <a@b>": "empty",
        }
        for message, part in wrong.items():
            found = commits.wrong_message(message)
            self.assertEqual(len(found), 1, message)
            self.assertIn(part, found[0])

    def test_only_commits_after_the_check_and_the_base_are_read(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            self.commit(name, "Old subject", "a")
            repository = commits.Repository(Path(name))
            self.assertIsNone(repository.base())
            self.assertEqual(repository.commits("HEAD"), [])
            old = self.commit(name, "Another old subject", "b")
            self.commit(name, "Check", "check.py")
            landed = self.commit(name, "Landed", "c")
            new = self.commit(name, "New", "d")
            self.assertEqual(repository.commits(old, "check.py"), [landed, new])
            self.assertEqual(repository.commits(landed, "check.py"), [new])
            subprocess.run(["git", "update-ref", "refs/remotes/origin/main", landed], cwd=name, check=True)
            self.assertEqual(repository.base(), landed)

    def commit(self, folder: str, subject: str, file: str) -> str:
        """Makes a commit that adds a file, and returns its identifier."""
        (Path(folder) / file).write_text(subject)
        person = ["-c", "user.name=Test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
        commands = (["init", "-q"], ["add", file], [*person, "commit", "-q", "--no-verify", "-m", subject])
        for command in commands:
            subprocess.run(["git", *command], cwd=folder, check=True)
        return commits.Repository(Path(folder)).git("rev-parse", "HEAD") or ""


class Coverage(unittest.TestCase):
    def setUp(self) -> None:
        counts = {
            "/work/Sources/NocturneCore/Grid/Grid.swift": (40, 30),
            "/work/Sources/NocturneCore/Voxels.swift": (10, 10),
            "/work/Sources/nocturne/Nocturne.swift": (8, 4),
            "/work/Sources/CPosix/posix.c": (20, 5),
            "/work/Sources/CPosix/include/CPosix.h": (2, 0),
            "/work/Tests/NocturneCoreTests/GridTests.swift": (70, 70),
            "/work/.build/checkouts/GRDB.swift/GRDB/Row.swift": (500, 1),
            "/usr/include/c++/12/string": (12, 0),
        }
        files = [
            {"filename": name, "summary": {"lines": {"count": lines, "covered": covered, "percent": 0}}}
            for name, (lines, covered) in counts.items()
        ]
        self.found = modules({"data": [{"files": files}]}, Path("/work/Sources"))

    def test_only_written_sources_count(self) -> None:
        self.assertEqual(self.found, [ModuleCoverage("nocturne", 8, 4), ModuleCoverage("NocturneCore", 50, 40)])

    def test_table(self) -> None:
        expected = ["| nocturne | 8 | 4 | 50.0 |", "| NocturneCore | 50 | 40 | 80.0 |", "| total | 58 | 44 | 75.9 |"]
        self.assertEqual(table(self.found).splitlines()[2:], expected)

    def test_nothing_measured(self) -> None:
        self.assertIn("| total | 0 | 0 | 0.0 |", table([]))


class AsyncFrames(unittest.TestCase):
    """The instructions are those of a test whose frame of 1,536 bytes overwrote the heap."""

    RESUMED = (
        ("mov", "%rdi,%rcx"),
        ("mov", "(%r14),%rax"),
        ("mov", "%rax,%rdx"),
        ("add", "$0x460,%rdx"),
        ("mov", "0x5f8(%rax),%rdi"),
        ("mov", "%rcx,0x600(%rax)"),
        ("call", "<swift_task_dealloc@plt>"),
        ("mov", "%rcx,0x700(%rax)"),
    )

    def beyond(self, size: int, *lines: tuple[str, str], resumed: bool = True) -> int:
        part = async_frames.Part(size, resumed)
        return max(part.beyond(operation, operands) for operation, operands in lines)

    def test_resumed(self) -> None:
        self.assertEqual(self.beyond(0x600, *self.RESUMED), 8)
        self.assertEqual(self.beyond(0x608, *self.RESUMED), 0)

    def test_first_part(self) -> None:
        self.assertEqual(self.beyond(0x40, ("movups", "%xmm0,0x38(%r14)"), resumed=False), 8)
        self.assertEqual(self.beyond(0x40, ("mov", "%rbx,%r14"), ("mov", "%rax,0x40(%r14)"), resumed=False), 0)

    def test_widths(self) -> None:
        moves = {"%al": 1, "%r12b": 1, "%ax": 2, "%r9w": 2, "%edx": 4, "%r12d": 4, "%rax": 8, "%r12": 8}
        for register, width in moves.items():
            self.assertEqual(async_frames.width("mov", f"0x10(%rax),{register}"), width, register)


class NoTelemetry(unittest.TestCase):
    def test_onnx_runtime_comes_after_the_package_that_switches_it_off(self) -> None:
        self.assertEqual(os.environ["ORT_DISABLE_TELEMETRY"], "1")
        tools = HERE.parent
        for path in sorted(tools.rglob("*.py")):
            before, found, _ = path.read_text(encoding="utf-8").partition("\nimport onnxruntime")
            if found and tools / "lib" not in path.parents:
                self.assertRegex(before, re.compile(r"^from nocturne_tools", re.MULTILINE), path)


if __name__ == "__main__":
    unittest.main()
