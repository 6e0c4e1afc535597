"""The exporters, as they stand in the wheel: with the modules that they import, and those only."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

from nocturne_tools.paths import TOOLS

LIBRARY = TOOLS / "lib"
PACKAGE = "nocturne_tools"
# Packages that one exporter imports when it is used, and names in its message; the wheel's extra has no need for them.
OPTIONAL = {"monai", "totalsegmentator", "yaml"}


def scripts() -> list[Path]:
    return [TOOLS / "export" / "nocturne_export.py", *sorted((TOOLS / "export").glob("export_*.py"))]


def imports(text: str, package: str) -> set[str]:
    """The modules that a module of `package` imports, with full names; names of a package's contents may be among them."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found.add(base)
            found.update(f"{base}.{alias.name}" for alias in node.names)
    return found


def module_file(name: str) -> Path | None:
    """The file of a module of the library."""
    path = LIBRARY / Path(*name.split("."))
    found = [one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()]
    return found[0] if found and name.split(".")[0] == PACKAGE else None


def closure() -> tuple[list[Path], list[str]]:
    """The modules of the library that the exporters need, and the foreign packages without the optional ones."""
    files: dict[Path, None] = {}
    foreign: set[str] = set()
    waiting = [(path, "") for path in scripts()]
    while waiting:
        path, package = waiting.pop()
        for name in imports(path.read_text(), package):
            parts = name.split(".")
            for length in range(1, len(parts) + 1):
                whole = ".".join(parts[:length])
                file = module_file(whole)
                if file and file not in files:
                    files[file] = None
                    below = whole if file.name == "__init__.py" else whole.rpartition(".")[0]
                    waiting.append((file, below))
            if parts[0] and parts[0] not in {PACKAGE, *OPTIONAL, *sys.stdlib_module_names}:
                foreign.add(parts[0])
    return sorted(files), sorted(foreign)


def as_installed(text: str, extra: str) -> str:
    """A script's text with the commands that its reader has after the installation."""
    for path in scripts():
        kind = path.stem.removeprefix("export_")
        text = text.replace(f"python Tools/export/{path.name}", f"nocturne-export {kind}")
    text = text.replace('sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))\n\n', "")
    return text.replace("install the packages of Tools/requirements.txt", f"pip install '{extra}' adds it")
