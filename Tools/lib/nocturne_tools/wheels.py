"""A wheel's files, each compared with the digest that its record has. Nothing of it is installed or run."""

from __future__ import annotations

import base64
import csv
import hashlib
import re
import zipfile
from pathlib import Path

from nocturne_tools import archives
from nocturne_tools.nnunet.refusal import Refusal

LARGEST_FILE = 4 << 30


class Wheel:
    """A wheel; `known` is a version whose files have the expected names, for messages."""

    def __init__(self, path: Path, known: str = "") -> None:
        self.path, self._known = path, known
        if not path.is_file() or not zipfile.is_zipfile(path):
            raise Refusal(path, "is no wheel")
        self._archive = archives.open_zip(path)
        self._record: dict[str, str] = {}
        rows = csv.reader(self._bytes(self.only(r"[^/]+\.dist-info/RECORD")).decode("utf-8").splitlines())
        self._record = {row[0]: row[1] for row in rows if len(row) > 1}

    @property
    def names(self) -> list[str]:
        return self._archive.namelist()

    def only(self, pattern: str) -> str:
        """The one name that matches."""
        found = [name for name in self.names if re.fullmatch(pattern, name)]
        if len(found) != 1:
            known = f"; {self._known} is known to have one" if self._known else ""
            raise Refusal(self.path, f"has {len(found)} files {pattern}, not one{known}")
        return found[0]

    def _bytes(self, name: str) -> bytes:
        try:
            if self._archive.getinfo(name).file_size > LARGEST_FILE:
                raise Refusal(self.path, f"{name} has more than {LARGEST_FILE >> 30} GiB")
            return self._archive.read(name)
        except archives.DAMAGED as error:
            raise Refusal(self.path, f"{name} cannot be read ({error})") from None

    def read(self, name: str) -> bytes:
        content = self._bytes(name)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode("ascii").rstrip("=")
        if self._record.get(name) != f"sha256={digest}":
            raise Refusal(self.path, f"{name} does not have the digest of the wheel's record")
        return content

    def text(self, name: str) -> str:
        return self.read(name).decode("utf-8")

    def facts(self) -> dict[str, str]:
        """The wheel's metadata, of each key the first value."""
        head = self.text(self.only(r"[^/]+\.dist-info/METADATA")).split("\n\n")[0]
        pairs = [line.split(": ", 1) for line in head.splitlines() if ": " in line]
        return dict(reversed(pairs))
