#!/usr/bin/env python3
"""Five persons go from a bare Debian 12 to their first own result, with the commands that README and manual give.

    Tools/proofs/first_results.py dist/nocturne_*.deb dist/nocturne_batch-*.whl --cache ROOTS

Each person has a system with nothing installed (debootstrap, once, in the folder ROOTS), the package and the inputs: the samples, as a
copy in the person's folder. A line for each: seconds from the bare system to the first result, with those of the installation, and to the
end, and the number of commands. Must run as root, for mounts and chroot, with a network for apt. Needs Python without any package.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.packaging.bare_root import BareRoot, CommandFailed, base
from nocturne_tools.paths import SAMPLES, TOOLS

DEBIAN = ["apt-get --quiet=2 update", "apt-get --quiet=2 --yes install --no-install-recommends ./{deb}"]
WHEEL = [
    "apt-get --quiet=2 update",
    "apt-get --quiet=2 --yes install --no-install-recommends python3-venv",
    "python3 -m venv nocturne",
    "nocturne/bin/pip install --quiet ./{wheel}",
]


@dataclass(frozen=True)
class Person:
    """What somebody installs and runs."""

    title: str
    samples: str
    install: list[str]
    commands: list[str]
    result: str
    """A file that the person came for; there may be wildcards."""
    check: Callable[[BareRoot], str]
    """What the result shows, in words; raises CommandFailed where it is not what was asked for."""


def counted(command: str, least: int, what: str) -> Callable[[BareRoot], str]:
    """A check of a number that a command prints."""

    def check(root: BareRoot) -> str:
        found = int(root.run(command))
        if found < least:
            raise CommandFailed(f"{found} {what}, less than {least}")
        return f"{found} {what}"

    return check


PERSONS = [
    Person(
        "hospital engineer",
        "Volumes",
        DEBIAN,
        [
            "nocturne inspect Volumes --summary",
            "nocturne plan Volumes --model urinary-tract-ct",
            "nocturne run Volumes --model urinary-tract-ct --output results",
            "nocturne verify results",
        ],
        "results/*/segmentation.nii.gz",
        counted("grep --count volume results/statistics.csv", 6, "volumes of organs in the table"),
    ),
    Person(
        "PhD student",
        "Brain",
        WHEEL,
        [
            "nocturne/bin/nocturne models list",
            "nocturne/bin/nocturne run Brain/t1.nii.gz --model brain-tissue-t1 --output results",
        ],
        "results/*/segmentation.nii.gz",
        counted("grep --count volume results/statistics.csv", 2, "volumes of tissue in the table"),
    ),
    Person(
        "librarian",
        "Photos/shelves",
        DEBIAN,
        ["nocturne run shelves --model book-spines --output books", "nocturne review titles books > objects.csv"],
        "books/*/overlay.jpg",
        counted("tail --lines=+2 objects.csv | wc --lines", 3, "books in the table"),
    ),
    Person(
        "cluster administrator",
        "Volumes",
        DEBIAN,
        [
            "nocturne plan Volumes --model urinary-tract-ct --output results --shards 2",
            "nocturne run results --shard 1/2",
            "nocturne run results --shard 2/2",
            "nocturne merge results",
            "nocturne verify results",
        ],
        "results/**/segmentation.nii.gz",
        counted("ls results/*/segmentation.nii.gz | wc --lines", 6, "label maps after the merge"),
    ),
    Person(
        "dermatology group",
        "Photos/lesions",
        DEBIAN,
        ["nocturne run lesions --model skin-lesions-demo --metadata lesions/metadata.csv --output results"],
        "results/*/report.pdf",
        counted("ls results/contact-sheet.pdf results/*/report.pdf | wc --lines", 9, "reports and contact sheet"),
    ),
]


def watched(root: BareRoot, command: str, home: Path, result: str) -> float | None:
    """Runs a command; returns when the result was there first, by the clock of this process."""
    process, found = root.start(f"({command}) >>log 2>&1"), None
    while process.poll() is None:
        if found is None and any(home.glob(result)):
            found = time.monotonic()
        time.sleep(0.05)
    if process.returncode != 0:
        raise CommandFailed(f"`{command}` ended with {process.returncode}:\n{(home / 'log').read_text()[-2000:]}")
    return found or (time.monotonic() if any(home.glob(result)) else None)


def attempt(person: Person, root: BareRoot, packages: dict[str, Path]) -> str:
    """Installs and runs; returns the line to print."""
    home = root.place / "root"
    for package in packages.values():
        shutil.copy(package, home / package.name)
    shutil.copytree(SAMPLES / person.samples, home / Path(person.samples).name)
    names = {kind: path.name for kind, path in packages.items()}
    started = time.monotonic()
    for command in person.install:
        root.run(command.format(**names))
    installed, first = time.monotonic(), None
    for command in person.commands:
        found = watched(root, command, home, person.result)
        first = first or found
    if first is None:
        raise CommandFailed(f"no {person.result}")
    end = time.monotonic()
    return (
        f"{person.title}: first result after {first - started:.0f} s (installation {installed - started:.0f} s), end after "
        f"{end - started:.0f} s, {len(person.install) + len(person.commands)} commands; {person.check(root)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("deb", type=Path)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--cache", type=Path, required=True, help="the folder of the bare systems")
    parser.add_argument("--only", help="one person, by a part of the title")
    options = parser.parse_args()
    subprocess.run([TOOLS / "install-packages", "debootstrap"], check=True)
    options.cache.mkdir(parents=True, exist_ok=True)
    below = base("bookworm", options.cache.resolve(), "")
    failures = 0
    for person in PERSONS:
        if options.only and options.only not in person.title:
            continue
        with tempfile.TemporaryDirectory(prefix="bare-root-", dir=options.cache) as work:
            with BareRoot(below, Path(work).resolve()) as root:
                try:
                    line = attempt(person, root, {"deb": options.deb, "wheel": options.wheel})
                except CommandFailed as error:
                    failures, line = failures + 1, f"{person.title}: {error}"
        print(line, flush=True)
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
