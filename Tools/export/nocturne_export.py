#!/usr/bin/env python3
"""Writes trained networks as model packages: nocturne-export KIND [OPTIONS].

The exporters need Python 3.11 and the packages of the extra `export`. `nocturne-export KIND --help` describes each.
"""

from __future__ import annotations

import ast
import difflib
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PREFIX = "export_"
ADVICE = "install the packages of Tools/requirements.txt"


def exporters(folder: Path) -> dict[str, Path]:
    """Kinds with scripts, found by their names."""
    return {path.stem[len(PREFIX) :]: path for path in sorted(folder.glob(PREFIX + "*.py"))}


def summary(script: str) -> str:
    """The first sentence of what a script says of itself; it is not run."""
    return (ast.get_docstring(ast.parse(script)) or "").split("\n")[0]


def description(script: str) -> str:
    """What a script says of itself, and its options; it is not run, so this needs none of its packages."""
    tree = ast.parse(script)
    lines = [(ast.get_docstring(tree) or "").rstrip(), "", "options:"]
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            names = [str(one.value) for one in node.args if isinstance(one, ast.Constant)]
            texts = [one.value.value for one in node.keywords if one.arg == "help" and isinstance(one.value, ast.Constant)]
            lines.append(f"  {', '.join(names):<24} {''.join(map(str, texts))}".rstrip())
    return "\n".join(lines)


def main() -> int:
    found = exporters(HERE)
    kind = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if kind.startswith("-"):
        width = max(map(len, found)) + 2
        lines = [f"  {name:<{width}}{summary(path.read_text(encoding='utf-8'))}" for name, path in found.items()]
        print("\n".join([(__doc__ or "").rstrip(), "", *lines]))
        return 0
    if kind not in found:
        near = difflib.get_close_matches(kind, found, 1)
        question = f"; did you mean {near[0]}?" if near else ""
        print(f"nocturne-export: {kind} is none of {', '.join(found)}{question}", file=sys.stderr)
        return 2
    sys.argv = [f"nocturne-export {kind}", *sys.argv[2:]]
    sys.path.insert(0, str(HERE))
    try:
        return importlib.import_module(found[kind].stem).main() or 0
    except ModuleNotFoundError as error:
        package = (error.name or "").split(".")[0]
        if {"-h", "--help"} & set(sys.argv[1:]):
            print(description(found[kind].read_text(encoding="utf-8")))
            print(f"\nIt needs the Python package {package}: {ADVICE}")
            return 0
        print(f"nocturne-export: the Python package {package} is missing; {ADVICE}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
