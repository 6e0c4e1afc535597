"""Trained folders in ZIP archives, as nnU-Net (`nnUNetv2_export_model_to_zip`) and MOOSE distribute them."""

from __future__ import annotations

import contextlib
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from nocturne_tools import archives

from .refusal import Refusal, listed


@contextlib.contextmanager
def unpacked(path: Path, configuration: str | None) -> Iterator[Path]:
    """The trained folder `<Trainer>__<Plans>__<Configuration>` in an archive, in a temporary folder; a folder as it is.

    `configuration` chooses among several. Raises `Refusal` for an archive that has none or several, is damaged, or does
    not fit on the disk.
    """
    if path.is_dir() or not path.is_file():
        yield path  # whether it exists is said by the reader of the folder
        return
    with contextlib.ExitStack() as stack:
        archive = stack.enter_context(archives.open_zip(path))
        chosen = _chosen(path, archive, configuration)
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="nnunet-")))
        # The previous stage of a cascade lies beside the folder.
        archives.unpack(path, place)
        yield place / chosen


def _chosen(path: Path, archive: zipfile.ZipFile, configuration: str | None) -> PurePosixPath:
    found = sorted({name.parent for name in map(PurePosixPath, archive.namelist()) if _is_plan(name)})
    wanted = [folder for folder in found if configuration in (None, folder.name.split("__")[2])]
    names = listed([str(folder) for folder in found]) or "none"
    if not wanted:
        of = "" if configuration is None else f" of the configuration {configuration}"
        raise Refusal(path, f"contains no folder <Trainer>__<Plans>__<Configuration>{of} with plans.json; found: {names}")
    if len(wanted) > 1:
        raise Refusal(path, f"contains several trained folders, choose one with --configuration, or unpack it: {names}")
    return wanted[0]


def _is_plan(name: PurePosixPath) -> bool:
    inside = not name.is_absolute() and ".." not in name.parts
    return inside and name.name == "plans.json" and len(name.parent.name.split("__")) == 3
