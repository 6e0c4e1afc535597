"""The error for what an export does not support or does not find."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


class Refusal(Exception):
    """Why a folder is not exported: the file and the fact."""

    def __init__(self, file: Path, fact: str) -> None:
        super().__init__(f"{file}: {fact}")


def listed(names: Iterable[object]) -> str:
    """At most eight names, separated by commas."""
    texts = [str(name) for name in names]
    return ", ".join(texts[:8]) + (f" and {len(texts) - 8} more" if len(texts) > 8 else "")
