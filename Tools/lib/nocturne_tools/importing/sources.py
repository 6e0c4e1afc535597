"""A source by its name on the command line: obtained, unpacked and described, before anyone reads it."""

from __future__ import annotations

import contextlib
import hashlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nocturne_tools import archives
from nocturne_tools.nnunet.refusal import Refusal, listed

PIP = re.compile(r"pip:([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9._+!-]*)")
PIECE = 1 << 20


@dataclass(frozen=True)
class Source:
    """`path` is a file, or a folder, which may be an unpacked archive; `origin` describes what was given."""

    path: Path
    origin: dict[str, str]


@contextlib.contextmanager
def obtained(text: str) -> Iterator[Source]:
    """The source of a name: a file, a folder, or `pip:NAME==VERSION`, which pip downloads without what it depends on.

    Archives are unpacked into a temporary folder; wheels stay as they are.
    """
    with contextlib.ExitStack() as stack:
        path = Path(text)
        if text.startswith("pip:"):
            path = _downloaded(text, Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nocturne-import-"))))
        if not path.exists():
            raise Refusal(path, "no such file or folder; a package of a registry is pip:NAME==VERSION")
        origin = {"file": path.resolve().name, "sha256": digest(path)}
        if path.is_file() and path.suffix != ".whl" and archives.is_archive(path):
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nocturne-import-")))
            archives.unpack(path, place)
            path = place
        yield Source(path, origin)


def _downloaded(text: str, folder: Path) -> Path:
    match = PIP.fullmatch(text)
    if not match:
        raise Refusal(Path(text), "is not pip:NAME==VERSION")
    name, version = match.groups()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--dest", str(folder)]
    ended = subprocess.run([*command, f"{name}=={version}"], stdout=sys.stderr, check=False)
    found = sorted(folder.glob("*.whl"))
    if ended.returncode != 0 or len(found) != 1:
        raise Refusal(Path(text), f"pip download ended with {ended.returncode} and {len(found)} wheels")
    return found[0]


def digest(path: Path) -> str:
    """SHA-256 of a file; of a folder that of the lines `digest  name` of its files, in the order of their names."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    lines = []
    for one in sorted(path.rglob("*")):
        if one.is_symlink() and not one.resolve().is_relative_to(path.resolve()):
            raise Refusal(one, "is a link out of the folder; copy the file here if it belongs to the weights")
        if one.is_file():
            lines.append(f"{digest(one)}  {one.relative_to(path).as_posix()}\n")
        if len(lines) > archives.MOST_ENTRIES:
            raise Refusal(path, f"has more than {archives.MOST_ENTRIES} files; give the folder of one model")
    if not lines:
        raise Refusal(path, f"has no file (found: {listed(one.name for one in path.iterdir()) or 'nothing'})")
    return hashlib.sha256("".join(lines).encode()).hexdigest()
