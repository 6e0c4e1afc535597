#!/usr/bin/env python3
"""Type-checks the Swift programs in Tools/benchmarks against the modules of the release build.

    Tools/checks/benchmarks.py

Nothing else compiles them before somebody measures: a name that has changed in Sources would stay in them. A build would compile
all of Nocturne again. Needs the release build.
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


def errors(program: Path) -> str:
    command = ["swiftc", "-typecheck", "-parse-as-library", "-swift-version", "6", "-package-name", "benchmarks"]
    command += ["-enable-upcoming-feature", "MemberImportVisibility", "-I", str(BUILD / "Modules")]
    for option in [*(f"-fmodule-map-file={path}" for path in module_maps()), *includes()]:
        command += ["-Xcc", option]
    sources = sorted(str(path) for path in program.glob("**/*.swift"))
    ended = subprocess.run([*command, *sources], capture_output=True, text=True, cwd=ROOT, check=False)
    return "" if ended.returncode == 0 else ended.stderr or f"swiftc ended with {ended.returncode}"


def main() -> None:
    programs = sorted((ROOT / "Tools/benchmarks/Sources").iterdir())
    if not (BUILD / "Modules").is_dir():
        sys.exit("no release build: build first (Tools/build nocturne)")
    failed = 0
    for program in programs:
        text = errors(program)
        failed += bool(text)
        print(f"{program.name}: {text or 'compiles'}".rstrip())
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
