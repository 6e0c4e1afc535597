#!/usr/bin/env python3
"""Checks the links of the documentation without building it.

    Tools/checks/doc_links.py

- ``Symbol``, ``Type/member`` and ``Type/method(label:)`` in .docc pages and doc comments of Sources name declarations of
  the project, with these argument labels.
- <doc:Page> names a page of a catalogue.
- Files of this repository that pages, comments and scripts mention (Tools/…, Samples/…, Tests/…, Sources/…) exist.

Exit code 1 when a link is broken.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.command import no_arguments
from nocturne_tools.paths import ROOT
from nocturne_tools.source_text import comments, without_comments

TYPE = re.compile(r"\b(struct|class|enum|actor|protocol|extension)\s+((?:\w+\.)*\w+)[^{};()]*\{")
NAME = re.compile(r"\b(?:let|var|typealias|associatedtype|precedencegroup|macro)\s+`?(\w+)")
CASE = re.compile(r"(?:^|[{;])[ \t]*(?:indirect[ \t]+)?case[ \t]+([^\n}]+)", re.MULTILINE)
CALL = re.compile(r"\b(?:func\s+`?([^\s(<`]+)`?|(init)[?!]?|(subscript))\s*(?=[(<])")
SYMBOL = re.compile(r"(?<!`)``(?!`)([^`\n]+)``(?!`)")
PAGE = re.compile(r"<doc:([\w-]+)>")
FOLDERS = "Tools|Samples|Tests|Sources"
MENTION = re.compile(rf"(?<![\w/.-])(?:{FOLDERS})/[\w./-]*\w(?![\w*<{{…])")


@dataclass
class Symbols:
    """Declared names: members by type, and every name with its argument labels."""

    members: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    types: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    def add(self, owner: str | None, name: str, labels: str | None = None) -> None:
        for spelled in {name, name + labels if labels is not None else name}:
            self.names.add(spelled)
            if owner:
                self.members[owner].add(spelled)

    def resolves(self, link: str) -> bool:
        """Whether a link names a declaration; disambiguation such as -swift.type is ignored."""
        parts = [re.sub(r"-(?:swift\.\w+|\w{4,6}|->.*|\(.*)$", "", part) for part in split_link(link)]
        if len(parts) == 1:
            return parts[0] in self.names
        if parts[0] in self.types and parts[0].startswith("Nocturne") and parts[0] not in self.members:
            parts = parts[1:]  # a module's name in front
        known = all(part in self.types for part in parts[:-1])
        return known and (len(parts) == 1 or parts[-1] in self.members.get(parts[-2], set()))


def split_link(link: str) -> list[str]:
    """The parts between slashes; a slash inside parentheses, as in an operator, does not count."""
    return re.findall(r"[^/(]+(?:\([^)]*\))?(?:-[^/]*)?", link)


def labels(parameters: str) -> str:
    """The argument labels of a parameter list, as in (of:to:)."""
    found, depth, start = [], 0, 0
    text = parameters.replace("->", "  ") + ","
    for index, char in enumerate(text):
        depth += (char in "([{<") - (char in ")]}>")
        if char == "," and depth == 0:
            part = text[start:index].strip()
            start = index + 1
            if match := re.match(r"(?:@\w+\s+)*`?(\w+)`?", part):
                # A value of an enumeration's case may have no label.
                found.append((match.group(1) if ":" in part else "_") + ":")
    return "(" + "".join(found) + ")"


def closing(code: str, start: int) -> int:
    pairs = {"(": ")", "{": "}", "<": ">"}
    depth = 0
    for index in range(start, len(code)):
        depth += (code[index] == code[start]) - (code[index] == pairs[code[start]])
        if depth == 0:
            return index
    return len(code) - 1


def declare(symbols: Symbols, text: str) -> None:
    """Adds the declarations of a Swift file."""
    code = without_comments(text)
    scopes = []
    for match in TYPE.finditer(code):
        name = match.group(2).split(".")[-1]
        scopes.append((match.end() - 1, closing(code, match.end() - 1), name))
        symbols.types.add(name)

    def owner(place: int) -> str | None:
        inside = [scope for scope in scopes if scope[0] < place < scope[1]]
        return max(inside)[2] if inside else None

    for match in TYPE.finditer(code):
        symbols.add(owner(match.start()), match.group(2).split(".")[-1])
    for match in NAME.finditer(code):
        symbols.add(owner(match.start()), match.group(1))
    for match in CASE.finditer(code):
        if not match.group(1).startswith((".", "let ", "is ")):
            for part in re.findall(r"`?(\w+)`?\s*(\([^)]*\))?\s*(?:=[^,]*)?(?:,|$)", match.group(1).strip()):
                symbols.add(owner(match.start(1)), part[0], labels(part[1][1:-1]) if part[1] else None)
    for match in CALL.finditer(code):
        place = code.find("(", match.end() if code[match.end()] == "(" else closing(code, match.end()))
        if place >= 0:
            name = match.group(1) or match.group(2) or match.group(3)
            symbols.add(owner(match.start()), name, labels(code[place + 1 : closing(code, place)]))


def documentation(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """The lines of a page, or the comments of a source file, with their numbers."""
    if path.suffix == ".md":
        yield from enumerate(text.split("\n"), 1)
    else:
        yield from comments(text)


def tracked_files() -> list[Path]:
    """The files of the repository, new ones included."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return [path for path in (ROOT / name for name in done.stdout.splitlines()) if path.is_file()]


def broken_symbols(files: list[Path], symbols: Symbols) -> Iterator[str]:
    pages = {path.stem for path in files if path.suffix == ".md" and ".docc/" in str(path)}
    for path in files:
        in_sources = path.is_relative_to(ROOT / "Sources")
        if not in_sources or path.suffix not in (".md", ".swift"):
            continue
        for number, line in documentation(path, path.read_text()):
            is_documentation = path.suffix == ".md" or line.startswith("///")
            place = f"{path.relative_to(ROOT)}:{number}"
            for link in SYMBOL.findall(line) if is_documentation else []:
                if not symbols.resolves(link):
                    yield f"{place}: ``{link}`` names no declaration"
            for page in PAGE.findall(line):
                if page not in pages:
                    yield f"{place}: <doc:{page}> names no page"


def broken_mentions(files: list[Path]) -> Iterator[str]:
    for path in files:
        if path.suffix not in (".md", ".swift", ".h", ".c", ".cpp", ".py", ".sh", "") or "Fixtures/Fuzz" in str(path):
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(text.split("\n"), 1):
            for name in sorted(set(MENTION.findall(line))):
                if not (ROOT / name).exists():
                    yield f"{path.relative_to(ROOT)}:{number}: {name} does not exist"


def main() -> None:
    no_arguments(__doc__)
    files = tracked_files()
    symbols = Symbols()
    for path in files:
        if path.suffix == ".swift" and path.is_relative_to(ROOT / "Sources"):
            declare(symbols, path.read_text())
        if path.name.endswith(".md") and ".docc/" in str(path):
            symbols.names.add(path.stem)
    modules = {path.name for path in (ROOT / "Sources").iterdir()}
    symbols.names |= modules
    symbols.types |= modules
    found = [*broken_symbols(files, symbols), *broken_mentions(files)]
    print("\n".join(found) if found else f"{len(files)} files: links are right")
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
