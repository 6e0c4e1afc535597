"""Which C and C++ files of a module use which: by their includes, and by the functions and tables of other files."""

from __future__ import annotations

import re
from pathlib import Path

from nocturne_tools.source_text import C_FAMILY, c_functions, without_comments

# For each name, those that it uses.
Uses = dict[str, set[str]]
# A namespace, "" if none is written, and a name in it.
Name = tuple[str, str]

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)
# A name that is not that of a member.
NAME = re.compile(r"(?<![\w.:])(?<!->)(?:(\w+)::)?([A-Za-z_]\w*)")
# A function or a table that a header declares for other files, at the beginning of a line.
DECLARED = re.compile(
    r"^(?!static\b|typedef\b|return\b)[A-Za-z_][\w:<>,&* \t]*?[\s*&](\w+)\s*\([^;{}]*\)[\s\w]*;"
    r"|^extern\b[^;({]*?\b(\w+)\s*(?:\[[^\]]*\])?\s*;",
    re.MULTILINE,
)
# A table, and a function that a macro defines (variants.h of the kernels), at the beginning of a line.
TABLE = re.compile(r"^(?!static\b|extern\b|typedef\b|return\b)[A-Za-z_][\w \t*]*?\b(\w+)(?:\[[^\]]*\])?\s*=", re.MULTILINE)
MACRO = re.compile(r"^[A-Z_]+\(\s*[\w\s*]+,\s*(\w+)\s*,", re.MULTILINE)


class _File:
    """A file of a module, read without a compiler."""

    def __init__(self, path: Path, folder: Path) -> None:
        text = path.read_text()
        self.name = str(path.relative_to(folder))
        self.stem = path.stem
        self.is_header = path.suffix in (".h", ".hpp")
        self.code = without_comments(text, swift=False)
        places = [place / name for name in INCLUDE.findall(text) for place in (path.parent, folder / "include")]
        self.included = {str(place.resolve().relative_to(folder.resolve())) for place in places if place.is_file()}

    def declared(self) -> set[str]:
        found = DECLARED.findall(self.code) if self.is_header else []
        return {name for pair in found for name in pair if name}

    def defined(self) -> set[Name]:
        """What a source file may define for others."""
        if self.is_header:
            return set()
        lines = self.code.split("\n")
        written = [f.name for f in c_functions(self.code) if not re.match(r"\s*(static|inline)\b", lines[f.line - 1])]
        parts = [name.split("::") for name in written + TABLE.findall(self.code) + MACRO.findall(self.code)]
        return {("" if len(part) == 1 else part[-2], part[-1]) for part in parts}

    def used(self) -> set[Name]:
        """What a file names and does not define; a header only in the bodies of its functions, because the rest declares."""
        functions = c_functions(self.code)
        code = "\n".join(line for f in functions for line in f.body) if self.is_header else self.code
        own = {f.name for f in functions}
        return {(space, name) for space, name in NAME.findall(code) if space or name not in own}

    def uses(self, other: _File, other_space: str, space: str) -> bool:
        """Whether a name in this file is the one that the other file defines, by their namespaces."""
        # An inline function may use what the source file of its header defines.
        is_own = other is self or (self.is_header and other.stem == self.stem)
        return not is_own and (not space or not other_space or space == other_space)


def file_uses(folder: Path) -> Uses:
    """For each C and C++ file below the folder of a module, the other ones that it uses; names are relative to it."""
    files = [_File(path, folder) for path in sorted(folder.rglob("*")) if path.suffix in C_FAMILY]
    declared = {name for file in files for name in file.declared()}
    owners: dict[str, list[tuple[_File, str]]] = {}
    for file in files:
        for space, name in file.defined():
            owners.setdefault(name, []).append((file, space))
    uses: Uses = {}
    for file in files:
        uses[file.name] = file.included - {file.name}
        for space, name in file.used():
            found = owners.get(name, []) if name in declared else []
            # A name that several files define is their own in each.
            if len(found) == 1 and file.uses(*found[0], space):
                uses[file.name].add(found[0][0].name)
    return uses


def folder_uses(uses: Uses) -> Uses:
    """The same for the folders of the files."""
    found: Uses = {}
    for name, others in uses.items():
        own = str(Path(name).parent)
        found.setdefault(own, set()).update({str(Path(other).parent) for other in others} - {own})
    return found


def circles(uses: Uses) -> list[list[str]]:
    """The groups of two or more that use each other, directly or through others, each sorted."""
    reached = {name: _reached(uses, name) for name in uses}
    groups = {tuple(sorted(other for other in reached[name] if name in reached[other])) for name in uses}
    return sorted(list(group) for group in groups if len(group) > 1)


def _reached(uses: Uses, start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        for other in uses.get(waiting.pop(), ()):
            if other in uses and other not in found:
                found.add(other)
                waiting.append(other)
    return found


def module_circles(folder: Path) -> list[str]:
    """The circles among the files of a C module and among its folders, each as one text."""
    uses = file_uses(folder)
    groups = circles(uses) + circles(folder_uses(uses))
    return [f"{folder.name}: {', '.join(group)}" for group in groups]
