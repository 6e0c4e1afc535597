"""The files of a batch's output folder, for comparison byte by byte."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

# Files that may differ between two runs of the same batch.
RUN_DEPENDENT = ("run.json", "events.jsonl")


def tree(folder: Path) -> dict[str, str]:
    """Relative path -> SHA-256 of every file that must be the same in every run."""
    result = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if not path.is_file() or relative.parts[0] == ".nocturne":
            continue
        if path.name in RUN_DEPENDENT:
            continue
        result[str(relative)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return result


def differing(found: Mapping[str, object], expected: Mapping[str, object]) -> list[str]:
    """The sorted names of files that are in only one of two trees or differ."""
    return sorted(name for name in set(found) | set(expected) if found.get(name) != expected.get(name))


def completed_twice(folder: Path) -> list[str]:
    """Items that were started again after they had been completed, according to the events."""
    completed: set[str] = set()
    twice = []
    for line in (folder / "events.jsonl").read_text().splitlines():
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue  # the line that was being written when the process was killed
        if event["event"] == "itemCompleted":
            completed.add(event["item"])
        if event["event"] == "itemStarted" and event["item"] in completed:
            twice.append(event["item"])
    return twice
