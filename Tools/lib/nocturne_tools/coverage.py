"""Lines that the tests run, for each module, from the summary of `llvm-cov export`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Made by other programs, and not the tests' concern.
GENERATED = (".pb.swift",)


@dataclass(frozen=True)
class ModuleCoverage:
    """Lines of code of one target, and how many of them ran."""

    name: str
    lines: int
    covered: int

    @property
    def percent(self) -> float:
        return 100 * self.covered / self.lines if self.lines else 0.0

    @property
    def is_swift(self) -> bool:
        """Targets of C and C++ have a C before their name."""
        return not self.name[:2].isupper()


def modules(export: dict[str, Any], sources: Path) -> list[ModuleCoverage]:
    """One entry for each folder of `sources`, by name; files elsewhere (dependencies, tests) and generated ones are left out.

    `export` is the JSON of `llvm-cov export -summary-only`.
    """
    found: dict[str, tuple[int, int]] = {}
    for data in export["data"]:
        for file in data["files"]:
            path = Path(file["filename"])
            if not path.is_relative_to(sources) or path.name.endswith(GENERATED):
                continue
            name = path.relative_to(sources).parts[0]
            lines, covered = found.get(name, (0, 0))
            summary = file["summary"]["lines"]
            found[name] = (lines + summary["count"], covered + summary["covered"])
    return [ModuleCoverage(name, *counts) for name, counts in sorted(found.items(), key=lambda item: item[0].lower())]


def total(name: str, of: Iterable[ModuleCoverage]) -> ModuleCoverage:
    entries = list(of)
    return ModuleCoverage(name, sum(entry.lines for entry in entries), sum(entry.covered for entry in entries))


def table(found: list[ModuleCoverage]) -> str:
    """Swift modules, their sum, C targets, their sum, and the sum of both, as a table of Markdown."""
    swift = [entry for entry in found if entry.is_swift]
    c = [entry for entry in found if not entry.is_swift]
    rows = [*swift, total("Swift", swift), *c, total("C and C++", c), total("total", found)]
    lines = ["| module | lines | covered | percent |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {row.name} | {row.lines} | {row.covered} | {row.percent:.1f} |" for row in rows]
    return "\n".join(lines)
