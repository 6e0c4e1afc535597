"""Runs mutated DICOM files through the DCMTK shim, built with the address and undefined-behaviour sanitizers.

Every file goes through the look at its beginning, the header with its frames, and the decoding of frames and pictures.
A crash, a sanitizer's report or a file that takes too long is kept with its number; the seed and the number give the
same bytes again. Exit code 1 when there was any.

    fuzz_dicom.py --count 20000 --keep crashes SEED_FOLDER...
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ["dcmjpeg", "dcmjpls", "dcmimage", "dcmimgle", "dcmdata", "oflog", "ofstd", "openjp2"]


def build(target: Path, jobs: int) -> None:
    """Compiles the driver with the shim beside it."""
    sources = [*sorted((ROOT / "Sources/CDCMTK").glob("*.cpp")), ROOT / "Tools/Fuzz/dicom_driver.cpp"]
    flags = ["-std=c++17", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
    flags += [f"-I{ROOT / 'Sources/CDCMTK/include'}"]

    def compiled(source: Path) -> str:
        made = target.parent / (source.stem + ".o")
        subprocess.run(["g++", *flags, "-c", str(source), "-o", str(made)], check=True)
        return str(made)

    with ThreadPoolExecutor(jobs) as pool:
        made = list(pool.map(compiled, sources))
    subprocess.run(["g++", *flags, *made, "-o", str(target), *(f"-l{name}" for name in LIBRARIES)], check=True)


def seeds(folders: list[Path], largest: int) -> list[str]:
    files = (file for folder in folders for file in sorted(folder.rglob("*")) if file.is_file())
    return [str(file) for file in files if file.stat().st_size <= largest]


def share(driver: Path, scratch: Path, first: int, count: int, options: argparse.Namespace, files: list[str]) -> tuple:
    """One process after the other until its mutations are done; each crash costs one and is kept."""
    reached, faults = [0, 0, 0], []
    current = scratch / f"current-{first}"
    environment = os.environ | {
        # DCMTK and OpenJPEG may ask for much; they then get nothing.
        "ASAN_OPTIONS": "detect_leaks=1:allocator_may_return_null=1:max_allocation_size_mb=4096:detect_stack_use_after_return=0",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }
    end = first + count
    while first < end:
        words = [str(driver), str(current), str(first), str(min(500, end - first)), str(options.seconds), *files]
        run = subprocess.run(words, capture_output=True, text=True, errors="replace", env=environment)
        lines = run.stderr.splitlines()
        if run.returncode == 0:
            reached = [a + int(b) for a, b in zip(reached, run.stdout.split())]
            first += min(500, end - first)
            continue
        tried = [line for line in lines if line.split(" ")[0].isdigit()]
        number, seed = (tried[-1].split(" ", 1) if tried else (str(first), "?"))
        kept = options.keep / f"fault-{number}"
        if current.exists():
            shutil.copy(current, kept)
        kept.with_suffix(".txt").write_text("\n".join([f"seed {seed}, exit {run.returncode}", *lines[-80:]]))
        faults.append(f"number {number} of {seed}: exit {run.returncode}" + (" (too slow)" if run.returncode == -14 else ""))
        first = int(number) + 1
    return reached, faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="folders with seed files")
    parser.add_argument("--count", type=int, default=20000, help="files to try, the seeds themselves among them")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    parser.add_argument("--seconds", type=int, default=20, help="most seconds for one file")
    parser.add_argument("--largest", type=int, default=400_000, help="most bytes of a seed")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=Path, default=Path("dicom-faults"), help="folder for what went wrong")
    options = parser.parse_args()
    files = seeds(options.folders, options.largest)
    if not files:
        sys.exit("no seed files")
    options.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        driver = scratch / "driver"
        build(driver, options.jobs)
        size = -(-options.count // options.jobs)
        ranges = [(at, min(size, options.first + options.count - at))
                  for at in range(options.first, options.first + options.count, size)]
        with ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(lambda r: share(driver, scratch, r[0], r[1], options, files), ranges))
    reached = [sum(result[0][index] for result in results) for index in range(3)]
    faults = [fault for result in results for fault in result[1]]
    print(f"{options.count} files from {len(files)} seeds: {reached[0]} refused at the door, {reached[1]} with a header, "
          f"{reached[2]} with pixels, {len(faults)} faults")
    for fault in faults:
        print(f"  {fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
