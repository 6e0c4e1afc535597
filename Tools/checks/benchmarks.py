#!/usr/bin/env python3
"""Type-checks the Swift packages in Tools/benchmarks against the modules of the release build.

    Tools/checks/benchmarks.py

Nothing else compiles them before somebody measures: a name that has changed in Sources would stay in them. A build of each package would
compile all of Nocturne again. Needs the release build.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import ROOT

BUILD = ROOT / ".build/release"


def module_maps() -> list[Path]:
    """Of the C modules, which the Swift modules import. A target without a map of its own gets one from the build."""
    own = [*ROOT.glob("Sources/*/module.modulemap"), *ROOT.glob("Sources/*/include/module.modulemap")]
    return sorted([*own, *BUILD.glob("*.build/module.modulemap")])


def includes() -> list[str]:
    """Of the C modules, whose headers include each other's, and of the system's libraries."""
    libraries = ["pkg-config", "--cflags-only-I", "cairo-ft", "openblas"]
    system = subprocess.run(libraries, capture_output=True, text=True, check=True).stdout.split()
    return [*(f"-I{path}" for path in sorted(ROOT.glob("Sources/*/include"))), *system]


def errors(package: Path) -> str:
    command = ["swiftc", "-typecheck", "-parse-as-library", "-swift-version", "6", "-package-name", "benchmarks"]
    command += ["-enable-upcoming-feature", "MemberImportVisibility", "-I", str(BUILD / "Modules")]
    for option in [*(f"-fmodule-map-file={path}" for path in module_maps()), *includes()]:
        command += ["-Xcc", option]
    sources = sorted(str(path) for path in package.glob("Sources/**/*.swift"))
    ended = subprocess.run([*command, *sources], capture_output=True, text=True, cwd=ROOT, check=False)
    return "" if ended.returncode == 0 else ended.stderr or f"swiftc ended with {ended.returncode}"


def main() -> None:
    packages = [path.parent for path in sorted((ROOT / "Tools/benchmarks").glob("*/Package.swift"))]
    if not packages or not (BUILD / "Modules").is_dir():
        sys.exit("no packages, or no release build: build first (Tools/build nocturne)")
    failed = 0
    for package in packages:
        text = errors(package)
        failed += bool(text)
        print(f"{package.relative_to(ROOT)}: {text or 'compiles'}".rstrip())
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
