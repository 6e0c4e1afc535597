#!/usr/bin/env python3
"""Checks that every module imports only modules of lower layers, and only those that Package.swift declares, and that no
files and no folders of a C module use each other in a circle.

    Tools/checks/layers.py

The layers are listed here from the bottom up, as in CONTRIBUTING.md. Modules of one layer do not import each other. C
targets import C targets only. A declared dependency must be imported somewhere. Tests may also import what their declared
dependencies depend on. A C file uses another one by including it, or by a function or table that it defines. Exit code 1
when anything is wrong.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.c_uses import module_circles
from nocturne_tools.command import no_arguments
from nocturne_tools.package_graph import PackageGraph, Target
from nocturne_tools.paths import ROOT
from nocturne_tools.source_text import without_comments

LAYERS = [
    ["NocturneSystem"],
    ["NocturneCore"],
    ["NocturneConcurrency"],
    [
        *("NocturneFormats", "NocturneInference", "NocturneNumerics"),
        *("NocturnePostprocess", "NocturneMesh"),
    ],
    ["NocturnePictures", "NocturneRadiomics"],
    ["NocturneJournal"],
    ["NocturneOutput"],
    ["NocturneReport"],
    ["NocturneBatch"],
    ["NocturneRecipeSupport"],
    ["NocturneVolumes"],
    ["NocturnePhotos"],
    ["NocturneRecipes"],
    ["NocturneSupervisor"],
    ["NocturneCluster", "NocturneReview"],
    ["nocturne"],
]
# Linked for the code that runs before `main`; nothing imports it.
LINKED_ONLY = {"CNocturneStart"}
LAYER = {name: index for index, names in enumerate(LAYERS) for name in names}
KINDS = "struct|class|enum|protocol|func|var|let|typealias"
IMPORT = re.compile(
    r"^[ \t]*(?:@\w+[ \t]+)*(?:(?:public|package|internal|private|fileprivate)[ \t]+)?"
    rf"import[ \t]+(?:(?:{KINDS})[ \t]+)?(\w+)",
    re.MULTILINE,
)
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([\w/.+-]+)[>"]', re.M)


def is_c(name: str) -> bool:
    return re.match(r"C[A-Z]", name) is not None


def wrong_layers(graph: PackageGraph) -> list[str]:
    """Dependencies on the same layer or one above, and modules without a layer."""
    found = []
    for target in graph.targets.values():
        if target.is_test:
            continue
        if is_c(target.name):
            found += [f"{target.name} is a C target and depends on {name}" for name in target.targets if not is_c(name)]
            continue
        if target.name not in LAYER:
            found.append(f"{target.name} has no layer: add it to LAYERS in Tools/checks/layers.py")
            continue
        for name in target.targets:
            if not is_c(name) and LAYER.get(name, -1) >= LAYER[target.name]:
                found.append(f"{target.name} (layer {LAYER[target.name]}) imports {name} (layer {LAYER[name]})")
    return found


def imported(target: Target, names: set[str], root: Path) -> dict[str, str]:
    """The modules that a target's sources import or include, each with a file that does."""
    found: dict[str, str] = {}
    for path in sorted((root / target.path).rglob("*")):
        if path.suffix == ".swift":
            modules = IMPORT.findall(without_comments(path.read_text()))
        elif path.suffix in (".c", ".cpp", ".h"):
            modules = [Path(header).stem for header in INCLUDE.findall(path.read_text())]
        else:
            continue
        for name in modules:
            if name in names and name != target.name:
                found.setdefault(name, str(path.relative_to(root)))
    return found


def wrong_imports(graph: PackageGraph, root: Path) -> list[str]:
    """Imports that the manifest does not declare, and declared targets that nothing imports."""
    found = []
    names = set(graph.targets)
    for target in graph.targets.values():
        if target.kind == "system":
            continue
        used = imported(target, names, root)
        declared = {one.name for one in graph.closure(target.name)} if target.is_test else set(target.targets)
        for name, file in used.items():
            if name not in declared:
                found.append(f"{file} imports {name}, which Package.swift does not declare for {target.name}")
        # C targets include the headers of system libraries, which are not named after their targets.
        needed = set(target.targets) - used.keys() - LINKED_ONLY
        unused = sorted(needed) if not target.is_test and not is_c(target.name) else []
        found += [f"Package.swift declares {name} for {target.name}, which never imports it" for name in unused]
    return found


def c_circles(graph: PackageGraph, root: Path) -> list[str]:
    """Files or folders of C targets that use each other in a circle."""
    folders = sorted({root / target.path for target in graph.targets.values() if is_c(target.name)})
    return [f"these use each other, one of them must not: {circle}" for path in folders for circle in module_circles(path)]


def main() -> None:
    no_arguments(__doc__)
    graph = PackageGraph.load()
    found = wrong_layers(graph) + wrong_imports(graph, ROOT) + c_circles(graph, ROOT)
    print("\n".join(found) if found else f"{len(graph.targets)} targets: layers and imports are right, no C files in a circle")
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
