"""A folder that appears completely or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """A new folder beside `out` to write into; without an error it becomes `out` and replaces what was there."""
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        yield partial
        publish(partial, out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def publish(folder: Path, out: Path) -> None:
    """Renames a folder to `out` on the same disk; what was there is replaced and removed."""
    folder.chmod(0o755)
    if out.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{out.name}.old.", dir=out.parent))
        os.rename(out, old / "package")
        os.rename(folder, out)
        shutil.rmtree(old)
    else:
        os.rename(folder, out)
