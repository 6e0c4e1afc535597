#!/usr/bin/env python3
"""Installs the packages on systems with nothing else, runs the sample batch, and removes them again.

    Tools/proofs/packages.py dist/nocturne_batch-*.whl dist/nocturne_*.deb --cache ROOTS
    Tools/proofs/packages.py dist/nocturne_batch-*.whl --releases jammy --mirror URL --cache ROOTS

For every release and package it prints the seconds from the bare system to the first result and to the end of the batch,
with what they consist of, then the files and folders that are left after the removal. A wheel gets python3 and pip, a
Debian package nothing. The systems are made by debootstrap, once, in the folder ROOTS. Must run as root, for mounts and
chroot, with a network. --mirror is for releases of Ubuntu. Needs Python without any package.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.packaging.bare_root import BareRoot, CommandFailed, base
from nocturne_tools.paths import TOOLS

APT = "apt-get --quiet=2 --option=Dpkg::Use-Pty=0"
# Objects that need DCMTK's dictionary, and a check of everything that was written.
FURTHER = [
    "nocturne run $(dirname $(dirname $(command -v nocturne)))/share/nocturne/samples/Volumes/dicom-coronal "
    "--model urinary-tract-ct --dicom-seg --rtstruct --output objects",
    "nocturne verify out",
    "nocturne verify objects",
]


@dataclass(frozen=True)
class Kind:
    """How a package is prepared, installed and removed."""

    prepare: str
    install: str
    remove: str


WHEEL = Kind(
    f"{APT} update && {APT} install --no-install-recommends python3 python3-pip",
    "pip install --no-index /root/{name}",
    "pip uninstall --yes nocturne-batch",
)
DEBIAN = Kind(
    f"{APT} update",
    f"{APT} install --no-install-recommends /root/{{name}}",
    f"{APT} purge --autoremove nocturne",
)


def batch(root: BareRoot) -> tuple[float, float]:
    """Seconds to the first result of the sample batch, and to its end."""
    started, first = time.monotonic(), 0.0
    process = root.start("nocturne-demo out >log 2>&1")
    while process.poll() is None:
        if not first and any((root.place / "root" / "out").glob("*/result.json")):
            first = time.monotonic() - started
        time.sleep(0.02)
    if process.returncode != 0:
        raise CommandFailed((root.place / "root" / "log").read_text()[-2000:])
    return first, time.monotonic() - started


def system(root: BareRoot) -> str:
    glibc = root.run("ldd --version").splitlines()[0].split()[-1]
    return f"{root.run('. /etc/os-release; echo $PRETTY_NAME').strip()}, glibc {glibc}"


def attempt(root: BareRoot, package: Path) -> None:
    """Installs, runs and removes one package; prints figures."""
    kind = WHEEL if package.suffix == ".whl" else DEBIAN
    prepared = root.seconds(kind.prepare)
    shutil.copy(package, root.place / "root" / package.name)
    before = root.files()
    installed = root.seconds(kind.install.format(name=package.name))
    first, total = batch(root)
    for command in FURTHER:
        root.run(command)
    start = prepared + installed
    print(f"{system(root)}, {package.name}")
    print(f"  first result after {start + first:.0f} s, batch complete after {start + total:.0f} s")
    print(f"  (preparation {prepared:.1f} s, installation {installed:.1f} s, batch {first:.1f} and {total:.1f} s)")
    root.run(f"rm -r out objects log && {kind.remove}")
    left = sorted(root.files() - before)
    print(f"  left after the removal: {len(left)} files and folders", *left, sep="\n    ", flush=True)
    if left:
        raise CommandFailed("the removal is not complete")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", type=Path, nargs="+", help="wheels and Debian packages")
    parser.add_argument("--releases", nargs="+", default=["bookworm", "trixie"], help="default: bookworm trixie")
    parser.add_argument("--cache", type=Path, required=True, help="the folder of the bare systems")
    parser.add_argument("--mirror", default="", help="of Ubuntu")
    options = parser.parse_args()
    subprocess.run([TOOLS / "install-packages", "debootstrap"], check=True)
    failures = 0
    for release in options.releases:
        below = base(release, options.cache.resolve(), options.mirror)
        for package in options.packages:
            with tempfile.TemporaryDirectory(prefix="bare-root-", dir=options.cache) as work:
                with BareRoot(below, Path(work).resolve()) as root:
                    try:
                        attempt(root, package)
                    except CommandFailed as error:
                        failures += 1
                        print(f"{release}, {package.name}: {error}", flush=True)
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
