"""Archives of any origin: checked before something is written, then unpacked inside one folder."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from nocturne_tools.nnunet.refusal import Refusal

# Weights are compressed to no less than a fifth; deflate reaches a thousandth with zeros.
LARGEST_RATIO, SMALLEST_BOMB = 50, 1 << 30
MOST_ENTRIES = 100_000
PIECE = 1 << 20
# Headers of tar archives are read at once.
LARGEST_READ = 16 << 20
DAMAGED = (OSError, EOFError, RuntimeError, NotImplementedError, ValueError, zipfile.BadZipFile, tarfile.TarError)


@dataclass(frozen=True)
class Entry:
    """A file of an archive, or a folder."""

    name: str
    size: int
    is_folder: bool
    is_file: bool


class Check:
    """Refuses entries that leave the folder, are no files, are there twice, or are larger than weights can be."""

    def __init__(self, path: Path, limit: int | None = None) -> None:
        self._path = path
        self._most = max(SMALLEST_BOMB, LARGEST_RATIO * path.stat().st_size)
        self._limit = limit
        self._names: set[PurePosixPath] = set()
        self._total = 0

    def add(self, entry: Entry) -> None:
        name = PurePosixPath(entry.name)
        leaves = name.is_absolute() or ".." in name.parts or PureWindowsPath(entry.name).drive
        if leaves or "\\" in entry.name or "\0" in entry.name or not (name.parts or entry.is_folder):
            raise Refusal(
                self._path, f"has an entry that leads out of its folder ({entry.name!r}); nothing was unpacked"
            )
        if not entry.is_file and not entry.is_folder:
            raise Refusal(
                self._path, f"has a link or a device ({entry.name!r}), which weights do not need; nothing was unpacked"
            )
        if entry.is_file and name in self._names:
            raise Refusal(self._path, f"has the file {entry.name!r} twice")
        self._names.add(name)
        self._total += entry.size
        if len(self._names) > MOST_ENTRIES:
            raise Refusal(self._path, f"has more than {MOST_ENTRIES} entries")
        if self._total > self._most:
            packed = self._path.stat().st_size / 1e6
            raise Refusal(
                self._path,
                f"has {packed:.1f} MB, but over {self._most / 1e9:.1f} GB unpacked: no weights are compressed so far",
            )
        if self._limit is not None and self._total > self._limit:
            raise Refusal(
                self._path, f"needs more than the {self._limit / 1e9:.1f} GB that are free (set TMPDIR to another disk)"
            )


def open_zip(path: Path, limit: int | None = None) -> zipfile.ZipFile:
    """A ZIP archive all of whose entries have been checked; `limit` is how many bytes they may have unpacked."""
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise Refusal(path, f"is neither a folder nor a ZIP archive ({error})") from None
    check = Check(path, limit)
    try:
        for info in archive.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            check.add(
                Entry(info.filename, info.file_size, info.is_dir(), not info.is_dir() and kind in (0, stat.S_IFREG))
            )
    except Refusal:
        archive.close()
        raise
    return archive


def unpack(path: Path, folder: Path) -> None:
    """Unpacks a ZIP or TAR archive into an empty folder, files and folders only.

    Raises `Refusal` for an archive with an entry that would be written elsewhere, with links, with more data than weights
    can have or the disk has free, or that is damaged. A ZIP archive is checked whole before something is written; of a TAR
    archive each entry before it is.
    """
    limit = shutil.disk_usage(folder).free
    try:
        if zipfile.is_zipfile(path):
            with open_zip(path, limit) as archive:
                for info in archive.infolist():
                    if not info.is_dir():
                        with archive.open(info) as source:
                            _write(source, folder / info.filename, info.file_size)
            return
        with _open_tar(path) as archive:
            check = Check(path, limit)
            for member in archive:
                is_file = member.isreg() and not member.issparse()
                check.add(Entry(member.name, member.size, member.isdir(), is_file))
                if is_file:
                    source = archive.extractfile(member)
                    assert source is not None
                    _write(source, folder / member.name, member.size)
    except DAMAGED as error:
        raise Refusal(path, f"cannot be unpacked ({type(error).__name__}: {error})") from None


def is_archive(path: Path) -> bool:
    return zipfile.is_zipfile(path) or path.name.lower().endswith((".tar", ".tar.gz", ".tgz"))


@contextlib.contextmanager
def _open_tar(path: Path) -> Iterator[tarfile.TarFile]:
    with path.open("rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
        file.seek(0)
        with gzip.GzipFile(fileobj=file) if is_packed else file as plain:
            with tarfile.open(fileobj=_Limited(plain), mode="r:") as archive:
                yield archive


class _Limited:
    """A file of which no more than `LARGEST_READ` bytes can be read at once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= LARGEST_READ:
            raise tarfile.ReadError(f"a header of {size} bytes")
        return self._file.read(size)


def _write(source: IO[bytes], target: Path, size: int) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    with target.open("xb") as file:
        while piece := source.read(PIECE):
            written += len(piece)
            if written > size:
                break
            file.write(piece)
    if written != size:
        raise EOFError(f"{target.name} does not have the {size} bytes that its entry states")
