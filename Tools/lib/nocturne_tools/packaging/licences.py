"""The licences of everything that is distributed with the program."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from nocturne_tools.paths import ROOT

from .shared_libraries import SharedLibrary

CHECKOUTS = ROOT / ".build" / "checkouts"


def swift_runtime() -> Path:
    """The licence of the toolchain that is on the path."""
    swift = shutil.which("swift")
    folder = Path(os.path.realpath(swift)).parents[1] if swift else Path("/usr")
    return folder / "share" / "swift" / "LICENSE.txt"


def swift_packages() -> dict[str, Path]:
    """The licences of the Swift packages that are linked into the program."""
    if not CHECKOUTS.is_dir():
        subprocess.run(["swift", "package", "resolve"], cwd=ROOT, check=True)
    found = {folder.name: sorted(folder.glob("LICENSE*")) for folder in CHECKOUTS.iterdir() if folder.is_dir()}
    if missing := [name for name, files in found.items() if not files]:
        raise SystemExit(f"these Swift packages have no licence file: {', '.join(missing)}")
    return {name: files[0] for name, files in sorted(found.items())}


def licences(bundled: list[SharedLibrary]) -> dict[str, Path]:
    """Names with files: of the program, what is linked into it, and the libraries beside it."""
    found = {"Nocturne": ROOT / "LICENSE.txt", "Swift runtime": swift_runtime()}
    found["fonts of reports"] = ROOT / "Sources" / "CReportFonts" / "LICENSE.txt"
    found |= swift_packages()
    for library in bundled:
        if library.package:
            found[library.package] = Path("/usr/share/doc") / library.package / "copyright"
    if any(library.name == "lib_FoundationICU.so" for library in bundled):
        # The toolchain has no licence file for its copy of ICU.
        found["ICU"] = next(Path("/usr/share/doc").glob("libicu[0-9]*/copyright"))
    if missing := [str(path) for path in found.values() if not path.is_file()]:
        raise SystemExit(f"these licences were not found: {', '.join(missing)}")
    return found


def origins(bundled: list[SharedLibrary]) -> str:
    """A table of the libraries beside the program, for whoever wants their sources."""
    lines = ["Shared libraries beside the program, and the Debian source packages they were built from:", ""]
    for library in bundled:
        source = f"{library.source} {library.version}" if library.package else "the Swift toolchain (swift.org)"
        lines.append(f"{library.name}: {source}")
    return "\n".join(lines) + "\n"
