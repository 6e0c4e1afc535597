"""Lines that the tests run, for each module, from the summary of `llvm-cov export`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ModuleCoverage:
    """Lines of Swift of one target, and how many of them ran."""

    name: str
    lines: int
    covered: int

    @property
    def percent(self) -> float:
        return 100 * self.covered / self.lines if self.lines else 0.0


def modules(export: dict[str, Any], sources: Path) -> list[ModuleCoverage]:
    """One entry for each folder of `sources`, by name, of its Swift files; files elsewhere (dependencies, tests) and generated ones
    are left out.

    `export` is the JSON of `llvm-cov export -summary-only`.
    """
    found: dict[str, tuple[int, int]] = {}
    for data in export["data"]:
        for file in data["files"]:
            path = Path(file["filename"])
            if path.suffix != ".swift" or not path.is_relative_to(sources):
                continue
            name = path.relative_to(sources).parts[0]
            lines, covered = found.get(name, (0, 0))
            summary = file["summary"]["lines"]
            found[name] = (lines + summary["count"], covered + summary["covered"])
    return [ModuleCoverage(name, *counts) for name, counts in sorted(found.items(), key=lambda item: item[0].lower())]


def table(found: list[ModuleCoverage]) -> str:
    """A row for each module, and one for their sum, as a table of Markdown."""
    total = ModuleCoverage("total", sum(entry.lines for entry in found), sum(entry.covered for entry in found))
    lines = ["| module | lines | covered | percent |", "| --- | ---: | ---: | ---: |"]
    lines += [f"| {row.name} | {row.lines} | {row.covered} | {row.percent:.1f} |" for row in [*found, total]]
    return "\n".join(lines)
