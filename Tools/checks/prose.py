#!/usr/bin/env python3
"""Checks documents, messages and comments for words that are not the field's English.

    Tools/checks/prose.py [--list [NAME]] [--lower]

Read are the Markdown pages of the repository, and comments, texts in quotes and JSON Schemas of Sources. Code, code spans
and generated pages are left out. Each module has a limit in prose_limits.json, 0 where its texts are clean; above it, the
exit code is 1. --list prints every place, --lower writes smaller counts into the table; limits are never raised.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import ROOT
from nocturne_tools.source_text import C_FAMILY, SWIFT, without_comments

LIMITS = Path(__file__).resolve().with_name("prose_limits.json")
# Written by Tools/reference from texts that are checked where they stand.
GENERATED = {"CommandLine.md", "Schemas.md", "FailureCodes.md"}
DOCUMENTS = "documents"
# What is found, and what to write instead.
WORDS = {
    # "Prefer not to say" is a value in clinical tables.
    r"\b(?<!not\sto\s)(?:says?|said|saying|told|tells?|telling)\b": "a verb of speech: data has, states, shows or contains",
    r"\b(?:is|are|was|were|be) no (?!longer\b|more\b|less\b|larger\b|smaller\b|greater\b|later\b|earlier\b)": (
        "'is no X': is not a X, or has no X"
    ),
    r"\bno (?:JSON|schema|DICOM object|result of)\b": "'no X' for something that is not a X: not valid X",
    r"\bbeside\b": "'beside': next to, along with, besides",
    r"\bso many\b": "'so many': N",
    r"\bof (?:its|their) own\b": "'of its own': its own X, or a separate X",
    r"\banew\b": "'anew': again",
    r"\bsought\b": "'sought': searched for",
    r"\bwish(?:es|ed)?\b": "'wish': request, option",
    r"(?<!parent-)\bdeaths?\b": "'death': crash, exit",
    r"\b(?-i:house|floors?(?!\()|rooms?|tenants?|surroundings)\b": "a word of buildings: layer, space, memory, environment",
    r"\bnights?\b": "'night': batch, run",
    r"\bany more\b": "'not … any more': no longer",
}
PATTERNS = [(re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE), advice) for pattern, advice in WORDS.items()]
THERE_IS = re.compile(r"\bthere\s+$", re.IGNORECASE)
FENCE = re.compile(r"^( *)```.*?^\1```", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"(`+)[^`\n]*\1")
INTERPOLATION = re.compile(r"\\#*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")


@dataclass(frozen=True)
class Place:
    """A word that is not to be used: its file, line, text and the advice."""

    file: str
    line: int
    text: str
    advice: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text!r}: {self.advice}"


def blank(match: re.Match[str]) -> str:
    """As many characters as were matched, none of which continues a phrase."""
    return re.sub(r"[^\n]", "\0", match.group(0))


def prose_of_source(text: str, swift: bool = True) -> str:
    """Comments and texts in quotes of a source file; everything else is replaced, and lines stay."""
    code = without_comments(text, swift=swift)
    kept = [char if char.isspace() or char != plain else "\0" for char, plain in zip(text, code)]
    prose = re.sub(r"^(\s*)(?:///?|/?\*+)", lambda m: m.group(1) + " " * (len(m.group(0)) - len(m.group(1))), "".join(kept), flags=re.M)
    return CODE_SPAN.sub(blank, INTERPOLATION.sub(blank, FENCE.sub(blank, prose)))


def prose_of_page(text: str) -> str:
    """The text of a Markdown page without its code."""
    return CODE_SPAN.sub(blank, FENCE.sub(blank, text))


def places(file: str, prose: str) -> Iterator[Place]:
    for pattern, advice in PATTERNS:
        for match in pattern.finditer(prose):
            if advice.startswith("'is no") and THERE_IS.search(prose, max(0, match.start() - 40), match.start()):
                continue
            text = " ".join(match.group(0).split())
            yield Place(file, prose.count("\n", 0, match.start()) + 1, text, advice)


def group(path: Path) -> str:
    """The line of the table that a file belongs to: its module, or the documents."""
    return path.parts[1] if path.parts[0] == "Sources" and len(path.parts) > 2 else DOCUMENTS


def prose(path: Path) -> str | None:
    """What is checked of a file, or nothing."""
    if path.suffix == ".md":
        return None if path.name in GENERATED else prose_of_page(path.read_text())
    if "Sources" not in path.relative_to(ROOT).parts[:1]:
        return None
    if path.suffix in SWIFT | C_FAMILY:
        return prose_of_source(path.read_text(), swift=path.suffix in SWIFT)
    return path.read_text() if path.name.endswith(".schema.json") else None


def all_places() -> dict[str, list[Place]]:
    """Every place by module."""
    found: dict[str, list[Place]] = {DOCUMENTS: []}
    roots = [ROOT / "Sources", *(ROOT / name for name in ("Tools", "Samples", "Tests")), *sorted(ROOT.glob("*.md"))]
    for root in roots:
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            text = prose(path) if path.is_file() else None
            if text is not None:
                name = path.relative_to(ROOT)
                found.setdefault(group(name), []).extend(places(str(name), text))
    return found


def lowered(limits: dict[str, int], counts: dict[str, int]) -> dict[str, int]:
    """The limits of the modules that exist, never above the present ones; a new module begins with 0."""
    return {name: min(count, limits.get(name, 0)) for name, count in sorted(counts.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", nargs="?", const="", metavar="NAME", help="print every place, or those of one module")
    parser.add_argument("--lower", action="store_true", help="write smaller counts into the table of limits")
    options = parser.parse_args()
    limits = json.loads(LIMITS.read_text())
    found = all_places()
    counts = {name: len(places) for name, places in found.items()}
    wrong = False
    for name, places in sorted(found.items()):
        above = len(places) > limits.get(name, 0)
        wrong |= above
        if options.list in ("", name) or (above and options.list is None):
            print("\n".join(map(str, places)))
        if above:
            print(f"{name}: {len(places)} places; the limit is {limits.get(name, 0)}")
    if options.lower:
        LIMITS.write_text(json.dumps(lowered(limits, counts), indent=4) + "\n")
    elif any(counts.get(name, 0) < limit for name, limit in limits.items()):
        print("Some counts are below their limits: run Tools/checks/prose.py --lower")
    print(f"{sum(counts.values())} places in {len(counts)} modules")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
