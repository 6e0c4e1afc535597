#!/usr/bin/env python3
"""Runs every command of README and of the manual, in order, each page in a fresh folder, and checks the exit codes.

    Tools/checks/documented_commands.py [--program PROGRAM] [PAGE ...]

Commands are those in fenced blocks of `sh`. Blocks marked `<!-- not run: … -->` are listed and not run. A folder has what the pages
presuppose, made of the samples: `scans`, `cases`, `export`, `photos`, the package `organs` and the file `network.onnx`. Without
--program, the program of the release build is used, which must have been built. Exit code 1 when a command fails.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.documentation.examples import Block, Outcome, blocks, examples, pages, run
from nocturne_tools.paths import ROOT, SAMPLE_MODELS, SAMPLES, built_program

# Folders and files of a page's folder, and the samples that they are made of.
CONTENTS = {
    "scans/nifti-ras.nii.gz": "Volumes/nifti-ras.nii.gz",
    "cases/case-1.nii.gz": "Volumes/nifti-ras.nii.gz",
    "cases/case-2.nii.gz": "Volumes/nifti-oblique-lps.nii.gz",
    "export/series-1": "Volumes/dicom-axial-head-first",
    "export/series-2": "Volumes/dicom-coronal",
    "photos/lesions": "Photos/lesions",
    "photos/shelves": "Photos/shelves",
    "organs": "Models/urinary-tract-ct",
    "network.onnx": "Models/book-spines/network.onnx",
}
SECONDS_FOR_A_PAGE = 300


def prepare(work: Path) -> None:
    """What the pages presuppose."""
    for name, sample in CONTENTS.items():
        target, source = work / name, SAMPLES / sample
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)


def environment(folder: Path, program: Path) -> dict[str, str]:
    """The program on the path, the sample models, and a home without anything else."""
    bin_folder, home = folder / "bin", folder / "home"
    bin_folder.mkdir()
    home.mkdir()
    (bin_folder / "nocturne").symlink_to(program)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NOCTURNE_", "XDG_"))}
    paths = {"PATH": f"{bin_folder}:{os.environ['PATH']}", "HOME": str(home), "NOCTURNE_MODELS": str(SAMPLE_MODELS)}
    return {**kept, **paths}


def run_page(found: list[Block], program: Path) -> list[Outcome]:
    commands = [one for block in found if block.reason is None for one in examples(block)]
    if not commands:
        return []
    with tempfile.TemporaryDirectory(prefix="nocturne-page-") as name:
        work = Path(name) / "work"
        work.mkdir()
        prepare(work)
        return run(commands, work, environment(Path(name), program), SECONDS_FOR_A_PAGE)


def report(outcomes: list[Outcome]) -> int:
    """Prints how the commands ended; returns how many failed."""
    failed = 0
    for one in outcomes:
        is_right = one.code == one.example.expected
        first = one.example.text.split("\n")[0].rstrip("\\ ")
        print(f"{'ok' if is_right else 'FAILED':<7} {one.seconds:6.1f} s  {one.example.place}: {first}")
        if not is_right:
            failed += 1
            ended = "did not run to its end" if one.code is None else f"exit code {one.code}, not {one.example.expected}"
            print(f"        {ended}\n" + "\n".join("        " + line for line in one.output.splitlines()[-30:]))
    return failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Path, help="a built program; default: that of the release build")
    parser.add_argument("pages", nargs="*", type=Path, help="default: README.md and the manual")
    options = parser.parse_args()
    program = (options.program or built_program()).resolve()
    if not program.is_file():
        raise SystemExit(f"{program} is not there: build it with Tools/build nocturne")
    found = [list(blocks(path.resolve())) for path in options.pages or pages()]
    failed, seconds, count = 0, 0.0, 0
    # Two pages at a time: most commands start and end, and use one core.
    with ThreadPoolExecutor(2) as pool:
        for outcomes in pool.map(lambda page: run_page(page, program), found):
            failed += report(outcomes)
            seconds += sum(one.seconds for one in outcomes)
            count += len(outcomes)
    left_out = [block for page in found for block in page if block.reason is not None]
    for block in left_out:
        print(f"not run {block.page.relative_to(ROOT)}:{block.line}: {block.reason}")
    print(f"{count} commands in {seconds:.0f} s, {failed} failed; {len(left_out)} blocks not run")
    raise SystemExit(1 if failed or not count else 0)


if __name__ == "__main__":
    main()
