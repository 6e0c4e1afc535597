"""The Debian package: its control files, the licences as one file, and its dependencies."""

from __future__ import annotations

import gzip
import hashlib
import os
import subprocess
import tempfile
import time
from pathlib import Path

from nocturne_tools.paths import TOOLS

from . import installed_tree, manual
from .shared_libraries import SharedLibrary
from .version import homepage, maintainer

NAME = "nocturne"
SUMMARY = "offline batch engine for medical volumes and photos"
DESCRIPTION = """\
 Nocturne runs segmentation and classification models over folders of CT, MR
 and PET volumes (DICOM, NIfTI) and photos. It writes label maps, surface
 meshes, measurements, classes and crops for every input, and one page on which
 all of them are reviewed. A batch can be stopped or killed at any moment and
 continued.
 .
 nocturne-demo runs the included samples: an MR of a head with real models of
 brain tissue, and synthetic volumes and photos with demonstration models. The
 exporters, which make packages of your own networks, are in the Python wheel of
 the same release. The manual is in /usr/share/doc/nocturne/manual.
 .
 It is research software: not a medical device, not for diagnosis or treatment."""
# Debian has no Swift, and each release of Debian has another version of DCMTK.
BUNDLED_SOURCES = ("", "dcmtk")
UNITS = ("nocturne-watch@.service", "nocturne-batch@.service", "nocturne-batch@.timer")


def is_bundled(library: SharedLibrary) -> bool:
    return library.source in BUNDLED_SOURCES


def dependencies(prefix: Path, bundled: list[SharedLibrary]) -> str:
    """The packages that hold the other libraries, with the versions that dpkg-shlibdeps finds."""
    excluded = [f"-x{package}" for package in sorted({one.package for one in bundled} - {""})]
    folder = prefix / installed_tree.LIBRARIES
    with tempfile.TemporaryDirectory(prefix="shlibdeps-") as name:
        (Path(name) / "debian").mkdir()
        (Path(name) / "debian" / "control").write_text(f"Source: {NAME}\n\nPackage: {NAME}\nArchitecture: amd64\n")
        command = ["dpkg-shlibdeps", "-O", "--ignore-missing-info", f"-l{folder}", *excluded, *sorted(folder.iterdir())]
        shown = subprocess.run(command, cwd=name, capture_output=True, text=True)
    if shown.returncode != 0:
        raise SystemExit(shown.stderr)
    return shown.stdout.strip().removeprefix("shlibs:Depends=")


def control(version: str, depends: str, kilobytes: int) -> str:
    page = homepage()
    return f"""\
Package: {NAME}
Version: {version}
Architecture: amd64
Maintainer: {maintainer()}
{f"Homepage: {page}" + chr(10) if page else ""}\
Installed-Size: {kilobytes}
Depends: {depends}
Recommends: libheif1
Suggests: slurm-client
Section: science
Priority: optional
Description: {SUMMARY}
{DESCRIPTION}
"""


def changelog(version: str, date: int) -> str:
    day = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(date))
    text = f"  * Version {version}; CHANGELOG.md.gz lists what is new."
    return f"{NAME} ({version}) unstable; urgency=medium\n\n{text}\n\n -- {maintainer()}  {day}\n"


def abridged(licence: str) -> str:
    """A licence's text; that of Apache-2.0, which every Debian system has, by its place, with what is added to it."""
    if "Apache License" not in licence[:200]:
        return licence.strip()
    _, heading, exception = licence.partition("## Runtime Library Exception")
    added = f"\n\n{heading}{exception.rstrip()}" if heading else ""
    return f"Apache-2.0, whose text is in /usr/share/common-licenses/Apache-2.0.{added}"


def copyright_text(licences: dict[str, Path], origins: str) -> str:
    parts = ["Copyright of Nocturne and of what is linked into it or stands beside it in /usr/lib/nocturne.\n\n" + origins]
    for title, path in licences.items():
        parts.append(f"{'=' * 80}\n{title}\n{'=' * 80}\n\n{abridged(path.read_text(errors='replace'))}\n")
    return "\n".join(parts)


def compress(target: Path, content: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(gzip.compress(content, 9, mtime=0))


def add_files(prefix: Path, built: Path, texts: dict[str, str]) -> None:
    """What only the Debian package has: completions, units, documents, and compressed manual pages."""
    for shell, place in manual.COMPLETIONS.items():
        installed_tree.write(prefix / place, manual.completion(built, shell))
    for path in (prefix / "share" / "man").rglob("*.1"):
        compress(path.with_name(path.name + ".gz"), path.read_bytes())
        path.unlink()
    for name in UNITS:
        installed_tree.copy(TOOLS / "packaging" / "systemd" / name, prefix / "lib" / "systemd" / "user" / name)
    documents = prefix / "share" / "doc" / NAME
    installed_tree.copy(TOOLS / "packaging" / "systemd" / "example.conf", documents / "examples" / "batch.conf")
    installed_tree.copy(TOOLS / "packaging" / "lintian-overrides", prefix / "share" / "lintian" / "overrides" / NAME)
    installed_tree.write(documents / "copyright", texts["copyright"])
    for name in ("changelog", "CHANGELOG.md"):
        compress(documents / f"{name}.gz", texts[name].encode())


def kilobytes(root: Path) -> int:
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file()) // 1024


def checksums(root: Path) -> str:
    files = sorted(path for path in root.rglob("*") if path.is_file() and "DEBIAN" not in path.relative_to(root).parts)
    return "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(root)}\n" for path in files)


def pack(root: Path, target: Path, text: str, date: int) -> None:
    """Writes the control files and the archive."""
    for folder in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        folder.chmod(0o755)
    sums = checksums(root)
    installed_tree.write(root / "DEBIAN" / "control", text)
    installed_tree.write(root / "DEBIAN" / "md5sums", sums)
    (root / "DEBIAN").chmod(0o755)
    command = ["dpkg-deb", "--root-owner-group", "--uniform-compression", "-Zxz", "--build", root, target]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(date)}
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)


