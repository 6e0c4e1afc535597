#!/usr/bin/env python3
"""Prints how many lines of each module ran, from the profiles of instrumented programs.

    Tools/checks/coverage_table.py --profiles FOLDER --merged FILE PROGRAM...

`Tools/test --coverage` calls it. FOLDER has a .profraw file for each process that ended by itself; processes that were
killed leave none. They are merged into FILE, which `llvm-cov show` reads, too. The PROGRAMs are those that ran. llvm-profdata
and llvm-cov are those of the Swift toolchain. Needs Python without any package.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.coverage import modules, table
from nocturne_tools.paths import ROOT


def tool(name: str) -> Path:
    """A program of LLVM beside `swift`: it must be of the version that the profiles are of."""
    swift = shutil.which("swift")
    if not swift:
        raise SystemExit("swift is not on the PATH")
    path = Path(swift).resolve().parent / name
    if not path.exists():
        raise SystemExit(f"{path} is missing: coverage needs a Swift toolchain with {name}, as those of swift.org have it")
    return path


def merge(profiles: list[Path], merged: Path) -> None:
    """Sums the counters. A profile that a process was killed in writing is left out with a warning."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as names:
        names.write("".join(f"{profile}\n" for profile in profiles))
        names.flush()
        options = ["--sparse", "--failure-mode=all", f"--input-files={names.name}", f"--output={merged}"]
        subprocess.run([tool("llvm-profdata"), "merge", *options], check=True)


def export(programs: list[Path], merged: Path) -> dict[str, object]:
    command = [tool("llvm-cov"), "export", "-summary-only", f"-instr-profile={merged}", programs[0]]
    for program in programs[1:]:
        command += ["-object", program]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", type=Path, nargs="+", metavar="PROGRAM", help="instrumented programs")
    parser.add_argument("--profiles", type=Path, required=True, help="the folder of the .profraw files")
    parser.add_argument("--merged", type=Path, required=True, help="the file that they are merged into")
    options = parser.parse_args()
    profiles = sorted(options.profiles.glob("*.profraw"))
    if not profiles:
        raise SystemExit(f"{options.profiles} has no profiles: no instrumented program has ended by itself")
    merge(profiles, options.merged)
    print(table(modules(export(options.programs, options.merged), ROOT / "Sources")))
    print(f"\nProfiles of {len(profiles)} processes. Lines of a file: llvm-cov show -instr-profile={options.merged} \\")
    print(f"    {' -object '.join(str(program) for program in options.programs)} FILE")


if __name__ == "__main__":
    main()
