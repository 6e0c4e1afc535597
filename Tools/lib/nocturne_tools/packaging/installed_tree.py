"""The installed files, in a folder that has the structure of /usr; both packages are made from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from nocturne_tools.paths import ROOT, SAMPLES, TOOLS

from ..documentation import pages
from . import manual
from .shared_libraries import SharedLibrary, VersionedFile

LAUNCHERS = TOOLS / "packaging"
# Found by the program only beside it: the loader does not look there by itself.
LIBRARIES = Path("lib") / "nocturne"
SHARED = Path("share") / "nocturne"


def program(given: Path | None) -> Path:
    """The given program, or that of a new build."""
    if given:
        return given.resolve()
    subprocess.run([TOOLS / "build", "nocturne"], check=True)
    shown = subprocess.run(
        ["swift", "build", "-c", "release", "--show-bin-path"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return Path(shown.stdout.strip()) / "nocturne"


def make(prefix: Path, built: Path, version: str, date: int) -> None:
    """Everything but the shared libraries."""
    for name in ("nocturne", "nocturne-demo"):
        copy(LAUNCHERS / name, prefix / "bin" / name)
    target = prefix / LIBRARIES / "nocturne"
    copy(built, target)
    strip(target, prefix)
    for source, name in ((SAMPLES / "Models", "models"), (SAMPLES / "Schemas", "schemas")):
        shutil.copytree(source, prefix / SHARED / name, copy_function=copy)
    for name in ("Brain", "Volumes", "Photos"):
        shutil.copytree(SAMPLES / name, prefix / SHARED / "samples" / name, copy_function=copy)
    for name in ("README.md", "regions.json"):
        copy(SAMPLES / name, prefix / SHARED / "samples" / name)
    add_viewer(prefix / SHARED / "niivue")
    pages.write(prefix / "share" / "doc" / "nocturne" / "manual")
    day = time.strftime("%Y-%m-%d", time.gmtime(date))
    for name, text in manual.pages(manual.help_of(built), version, day).items():
        write(prefix / "share" / "man" / "man1" / name, text)


def add_viewer(folder: Path) -> None:
    """NiiVue, with its licence, so that the review page shows volumes without a further installation."""
    with tempfile.TemporaryDirectory(prefix="nocturne-niivue-") as name:
        installed = Path(name) / "niivue"
        subprocess.run([TOOLS / "install-niivue", "--folder", installed], check=True)
        for file in ("niivue.js", "niivue-LICENSE.txt"):
            copy(installed / file, folder / file)


def add_dictionaries(prefix: Path, bundled: list[SharedLibrary]) -> None:
    """DCMTK's descriptions of the attributes of DICOM, without which it writes no object: those of the same version."""
    package = next(one.package for one in bundled if one.source == "dcmtk")
    for name in ("dicom.dic", "private.dic"):
        copy(Path("/usr/share") / package / name, prefix / SHARED / name)


def add_libraries(prefix: Path, bundled: list[SharedLibrary], glibc: tuple[int, ...] | None) -> list[str]:
    """Copies the libraries beside the program, and DCMTK's dictionaries.

    `glibc` is the oldest that the copies must run with; returns the functions for which they had to be changed.
    """
    add_dictionaries(prefix, bundled)
    changed: set[str] = set()
    for library in bundled:
        target = prefix / LIBRARIES / library.name
        copy(library.path.resolve(), target)
        target.chmod(0o644)
        strip(target, prefix)
        functions = VersionedFile(target).accept_older_glibc(glibc) if glibc else []
        if any(name.startswith("arc4random") for name in functions):
            # glibc 2.36 introduced it; libbsd has it, too.
            subprocess.run(["patchelf", "--add-needed", "libbsd.so.0", target], check=True)
        changed.update(functions)
    for target in (prefix / LIBRARIES).iterdir():
        subprocess.run(["patchelf", "--set-rpath", "$ORIGIN", target], check=True)
    return sorted(changed)


def strip(file: Path, prefix: Path) -> None:
    """Removes the symbols that only debuggers need."""
    kind = "--strip-all" if file == prefix / LIBRARIES / "nocturne" else "--strip-unneeded"
    subprocess.run(["strip", kind, "--remove-section=.comment", "--remove-section=.note", file], check=True)


def copy(source: str | Path, target: str | Path) -> None:
    """Copies a file with the modes that a package has, whatever those of the checkout are."""
    target = Path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o755 if os.access(source, os.X_OK) else 0o644)


def write(target: Path, text: str) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    target.chmod(0o644)
