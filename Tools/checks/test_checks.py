"""Tests of the checks: each must find what it is for, and nothing else.

    python3 -m unittest Tools/checks/test_checks.py
"""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]

import counts
import doc_links
import layers
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


class Counts(unittest.TestCase):
    def test_stored_variables(self) -> None:
        self.assertEqual(counts.stored_variables(SWIFT, SWIFT.index("{")), 1)

    def test_sleep_in_loop(self) -> None:
        code = "func a() { while x { wait() } }\nfunc b() { wait() }\n"
        self.assertTrue(counts.is_in_loop(code, code.index("wait")))
        self.assertFalse(counts.is_in_loop(code, code.rindex("wait")))


class Coverage(unittest.TestCase):
    def setUp(self) -> None:
        counts = {
            "/work/Sources/NocturneCore/Grid/Grid.swift": (40, 30),
            "/work/Sources/NocturneCore/Voxels.swift": (10, 10),
            "/work/Sources/NocturneCore/onnx.pb.swift": (900, 0),
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


if __name__ == "__main__":
    unittest.main()
