"""The version, which stands in one place, the source of the program, and what the packages state about their origin."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from nocturne_tools.paths import ROOT

SOURCE = ROOT / "Sources" / "nocturne" / "Options" / "Program.swift"


def version_in(text: str) -> str:
    """The version that the text of Program.swift declares."""
    found = re.search(r'static let version = "([0-9][0-9A-Za-z.+~]*)"', text)
    if not found:
        raise SystemExit(f"{SOURCE.relative_to(ROOT)} declares no version")
    return found.group(1)


def version_of(program: Path) -> str:
    """The version of the sources; ends if the program prints another one."""
    declared = version_in(SOURCE.read_text())
    printed = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if printed != declared:
        raise SystemExit(f"{program} is version {printed}, the sources are {declared}")
    return declared


def maintainer() -> str:
    """As the tools of Debian take it from the environment, or the author of the last commit."""
    shown = subprocess.run(["git", "log", "-1", "--format=%an%n%ae"], cwd=ROOT, capture_output=True, text=True, check=True)
    name, address = shown.stdout.splitlines()
    return f"{os.environ.get('DEBFULLNAME', name)} <{os.environ.get('DEBEMAIL', address)}>"


def homepage() -> str | None:
    """The address of the repository: HOMEPAGE of the environment, or where git has fetched it from; None where that is no page."""
    shown = subprocess.run(["git", "remote", "get-url", "origin"], cwd=ROOT, capture_output=True, text=True)
    address = os.environ.get("HOMEPAGE") or shown.stdout.strip().removesuffix(".git")
    return address if address.startswith("https://") and "@" not in address else None


def source_date() -> int:
    """Seconds of the last commit, which stand for the time of building, so that packages are reproducible."""
    shown = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True)
    return int(shown.stdout)
