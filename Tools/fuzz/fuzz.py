"""Coverage-guided fuzzing of all readers: builds the driver, collects seeds, runs libFuzzer, prints a table.

    Tools/fuzz/fuzz.py --runs 200000 --seeds FOLDER      # all targets
    Tools/fuzz/fuzz.py onnx jpeg --minutes 5             # two of them
    Tools/fuzz/fuzz.py png --again FILE                  # one input again, with the sanitizer's report

Each target of `Tests/NocturneFuzz` is run for the given executions or minutes. The driver is built with the address
sanitizer and coverage of Swift, C and C++, and for C and C++ with the undefined-behaviour sanitizer too. An input that
crashes, takes longer than `--seconds`, or allocates more memory at once than `--allocation` is kept under `--keep`, and
the target continues. Exit code 1 when there was any.

Seeds are the project's own fixtures and samples, and the files below the folders given with `--seeds`; each target takes
the files of its kind, recognised by content. The corpus remains in the work folder, where the next call continues.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import FIXTURES, ROOT, SAMPLES, TOOLS

FUZZ = TOOLS / "fuzz"
SEEDS = FIXTURES / "Fuzz"
DICTIONARIES = FUZZ / "dictionaries"


def is_dicom(head: bytes) -> bool:
    return head[128:132] == b"DICM" or head[:4] in (b"\x08\x00\x05\x00", b"\x08\x00\x08\x00", b"\x02\x00\x00\x00")


def has_class(prefix: bytes) -> Callable[[bytes], bool]:
    return lambda head: is_dicom(head) and prefix in head


@dataclass
class Kind:
    """The inputs of a target: their largest size, which files are seeds by content, and a dictionary."""

    largest: int
    takes: Callable[[bytes], bool]
    dictionary: str | None = None


def is_json(head: bytes) -> bool:
    return head.lstrip()[:1] == b"{"


def is_table(head: bytes) -> bool:
    """Metadata whose first column is that of the pictures, also in UTF-16."""
    return head.replace(b"\0", b"").lstrip(b"\xff\xfe")[:6] in (b"image,", b"image;", b"image\t", b"image_")


KINDS = {
    "nifti": Kind(8192, lambda head: head[:4] in (b"\x5c\x01\0\0", b"\0\0\x01\x5c", b"\x1c\x02\0\0", b"\0\0\x02\x1c")),
    "nifti-gzip": Kind(8192, lambda head: head[:2] == b"\x1f\x8b"),
    "nrrd": Kind(8192, lambda head: head[:7] == b"NRRD000", "nrrd"),
    "metaimage": Kind(8192, lambda head: head[:10] == b"ObjectType", "metaimage"),
    "stl": Kind(4096, lambda head: head[:5] == b"solid"),
    "mesh": Kind(4096, lambda head: head[:4] in (b"glTF", b"ply\n") or head[:8] == b"# SPACE="),
    "onnx": Kind(8192, lambda head: head[:1] == b"\x08" and not is_dicom(head), "onnx"),
    "model": Kind(8192, lambda head: is_json(head) and b"schemaVersion" in head and b"task" in head, "json"),
    "jpeg": Kind(8192, lambda head: head[:3] == b"\xff\xd8\xff", "jpeg"),
    "png": Kind(8192, lambda head: head[:8] == b"\x89PNG\r\n\x1a\n", "png"),
    "tiff": Kind(8192, lambda head: head[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), "tiff"),
    "heic": Kind(8192, lambda head: head[4:8] == b"ftyp", "heic"),
    "webp": Kind(8192, lambda head: head[:4] == b"RIFF" and head[8:12] == b"WEBP", "webp"),
    "dicom": Kind(16384, is_dicom, "dicom"),
    "dicom-photo": Kind(16384, lambda head: has_class(b"1.2.840.10008.5.1.4.1.1.7")(head), "dicom"),
    "segmentation": Kind(16384, has_class(b"1.2.840.10008.5.1.4.1.1.66."), "dicom"),
    "structures": Kind(16384, has_class(b"1.2.840.10008.5.1.4.1.1.481.3"), "dicom"),
    "regions": Kind(4096, lambda head: is_json(head) and b"regions" in head, "json"),
    "radiomics": Kind(4096, lambda head: is_json(head) and b"preset" in head, "json"),
    "table": Kind(4096, is_table),
    "sidecar": Kind(4096, lambda head: is_json(head) and b"age_approx" in head, "json"),
    "records": Kind(8192, lambda head: is_json(head) and b"fingerprint" in head, "json"),
    "words": Kind(64, lambda head: False, "words"),
}


def build(scratch: Path) -> Path:
    """Builds the driver where something has changed; its path."""
    facts = json.loads(subprocess.run(["swiftc", "-print-target-info"], capture_output=True, check=True).stdout)
    runtime = Path(facts["paths"]["runtimeResourcePath"]) / "clang/lib/linux/libclang_rt.fuzzer_no_main-x86_64.a"
    command = ["swift", "build", "-c", "release", "--package-path", str(FUZZ), "--scratch-path", str(scratch)]
    command += ["--product", "nocturne-fuzz", "--disable-dead-strip", "--sanitize", "address"]
    command += ["-Xswiftc", "-sanitize-coverage=edge,inline-8bit-counters,pc-table,trace-cmp"]
    for flag in ["-fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp,indirect-calls", "-fsanitize=undefined",
                 "-fno-sanitize=vptr,function", "-fno-sanitize-recover=undefined"]:
        command += ["-Xcc", flag]
    command += ["-Xlinker", str(runtime), "-Xlinker", "-lstdc++"]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit("the driver cannot be built:\n" + "\n".join((made.stdout + made.stderr).splitlines()[-30:]))
    return scratch / "release/nocturne-fuzz"


def gather(names: list[str], folders: list[Path], work: Path) -> None:
    """Copies every file of a target's kind into the target's folder of seeds."""
    for name in names:
        (work / "seeds" / name).mkdir(parents=True, exist_ok=True)
        (work / "corpus" / name).mkdir(parents=True, exist_ok=True)
        for file in sorted((SEEDS / name).glob("*")):
            data = file.read_bytes()
            (work / "seeds" / name / hashlib.sha1(data).hexdigest()).write_bytes(data)
    largest = max(KINDS[name].largest for name in names)
    for folder in [FIXTURES, SAMPLES, *folders]:
        for file in sorted(folder.rglob("*")):
            if not file.is_file() or SEEDS in file.parents or file.stat().st_size > largest:
                continue
            data = file.read_bytes()
            for name in names:
                if len(data) <= KINDS[name].largest and KINDS[name].takes(data):
                    (work / "seeds" / name / hashlib.sha1(data).hexdigest()).write_bytes(data)


def environment() -> dict[str, str]:
    # Symbols are resolved afterwards, by run_again(): the sanitizers' own way can take minutes.
    return os.environ | {
        # Libraries that request too much memory get none. libFuzzer's own limit is lower.
        "ASAN_OPTIONS": "allocator_may_return_null=1:detect_stack_use_after_return=0:detect_leaks=1:symbolize=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:symbolize=0",
        "LSAN_OPTIONS": f"suppressions={FUZZ / 'leaks.txt'}:print_suppressions=0",
        "SWIFT_BACKTRACE": "enable=no",
    }


def run_again(name: str, driver: Path, file: Path, options: argparse.Namespace) -> int:
    """Runs one input and prints the output, with the source location of every frame of a report."""
    command = [str(driver), name, *limits(options), str(file)]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment())
    for line in run.stderr.splitlines():
        frame = re.search(r"#\d+ 0x\w+ .*\(" + re.escape(str(driver)) + r"\+(0x\w+)\)", line)
        if frame:
            resolve = ["addr2line", "-f", "-C", "-e", str(driver), frame.group(1)]
            symbol, location = subprocess.run(resolve, capture_output=True, text=True).stdout.splitlines()[:2]
            shown = subprocess.run(["swift", "demangle", "-compact", symbol], capture_output=True, text=True).stdout
            line = f"{line.split()[0]:>5} {shown.strip()[:160]} {location}"
        print(line)
    return run.returncode


def limits(options: argparse.Namespace) -> list[str]:
    memory = [f"-rss_limit_mb={options.resident}", f"-malloc_limit_mb={options.allocation}"]
    return [f"-timeout={options.seconds}", *memory]


@dataclass
class Result:
    executions: int = 0
    edges: int = 0
    corpus: int = 0
    seconds: float = 0
    found: int = 0


def last(pattern: str, text: str) -> int:
    found = re.findall(pattern, text)
    return int(found[-1]) if found else 0


def command_of(name: str, driver: Path, work: Path, options: argparse.Namespace) -> list[str]:
    """libFuzzer's command, without limits of executions and time."""
    kind = KINDS[name]
    command = [str(driver), name, *limits(options), f"-max_len={kind.largest}"]
    command += [f"-artifact_prefix={options.keep / name}/", "-print_final_stats=1", "-reload=0", "-detect_leaks=0"]
    dictionary = DICTIONARIES / f"{kind.dictionary}.dict"
    if kind.dictionary and dictionary.exists():
        command.append(f"-dict={dictionary}")
    return [*command, str(work / "corpus" / name), str(work / "seeds" / name)]


def fuzz(name: str, driver: Path, work: Path, options: argparse.Namespace) -> Result:
    """Runs one target to its end; each finding ends a process, and another one continues."""
    result, start = Result(), time.monotonic()
    keep = options.keep / name
    keep.mkdir(parents=True, exist_ok=True)
    while result.found <= options.findings:
        command = command_of(name, driver, work, options)
        if options.runs:
            command.insert(2, f"-runs={options.runs - result.executions}")
        if options.minutes:
            command.insert(2, f"-max_total_time={max(1, int(60 * options.minutes - (time.monotonic() - start)))}")
        before = set(keep.iterdir())
        run = subprocess.run(command, capture_output=True, text=True, errors="replace", env=environment(), cwd=work)
        (work / f"{name}.log").write_text(run.stderr[-200_000:])
        # After a crash there are no final figures, but the last status line.
        done = last(r"stat::number_of_executed_units: (\d+)", run.stderr) or last(r"(?m)^#(\d+)\s", run.stderr)
        result.executions += done
        result.edges = max(result.edges, last(r" cov: (\d+)", run.stderr))
        result.corpus = len(list((work / "corpus" / name).iterdir()))
        new = set(keep.iterdir()) - before
        for file in new:
            cause = re.search(r"SUMMARY: (.*)", run.stderr)
            print(f"  {name}: {file.name}: {cause.group(1) if cause else f'exit {run.returncode}'}", flush=True)
        result.found += max(len(new), 1 if run.returncode != 0 else 0)
        if run.returncode != 0 and not new:
            print(f"  {name}: exit {run.returncode}: " + " / ".join(run.stderr.splitlines()[-3:]), flush=True)
        ended = options.runs and result.executions >= options.runs
        if run.returncode == 0 or ended or (options.minutes and time.monotonic() - start >= 60 * options.minutes):
            break
    result.seconds = time.monotonic() - start
    return result


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", choices=[[], *KINDS], metavar="TARGET", help=", ".join(KINDS))
    parser.add_argument("--runs", type=int, default=0, help="executions of each target; default: 200,000")
    parser.add_argument("--minutes", type=float, default=0, help="time limit of each target")
    parser.add_argument("--jobs", type=int, default=1, help="targets in parallel")
    parser.add_argument("--seeds", nargs="*", type=Path, default=[], help="folders with more seeds")
    parser.add_argument("--seconds", type=int, default=10, help="time limit of one input")
    parser.add_argument("--resident", type=int, default=2048, help="limit of resident MiB")
    parser.add_argument("--allocation", type=int, default=256, help="limit of MiB allocated at once")
    parser.add_argument("--findings", type=int, default=20, help="a target ends after so many")
    parser.add_argument("--work", type=Path, default=ROOT / ".build/fuzz", help="folder for seeds, corpus and logs")
    parser.add_argument("--build", type=Path, help="folder of the driver; default: in the work folder")
    parser.add_argument("--keep", type=Path, help="folder for findings; default: in the work folder")
    parser.add_argument("--built", action="store_true", help="use the driver without building it, beside another call")
    parser.add_argument("--again", type=Path, help="run the target on this file only, and print the output")
    options = parser.parse_args()
    options.work = options.work.resolve()
    options.keep = (options.keep or options.work / "found").resolve()
    if not options.runs and not options.minutes:
        options.runs = 200_000
    return options


def main() -> int:
    options = parse()
    names = options.targets or list(KINDS)
    scratch = (options.build or options.work / "build").resolve()
    driver = scratch / "release/nocturne-fuzz" if options.built else build(scratch)
    known = subprocess.run([str(driver)], capture_output=True, text=True, check=True).stdout.split()
    if set(known) != set(KINDS):
        sys.exit(f"the targets of driver and script differ: {sorted(set(known) ^ set(KINDS))}")
    if options.again:
        return run_again(names[0], driver, options.again, options)
    gather(names, options.seeds, options.work)

    def row(name: str) -> tuple[str, Result]:
        result = fuzz(name, driver, options.work, options)
        print(f"  {name}: {result.executions} executions in {result.seconds:.0f} s, {result.found} found", flush=True)
        return name, result

    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(row, names))
    print("| target | executions | per second | edges | corpus | found |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, result in rows:
        speed = result.executions / max(result.seconds, 1e-3)
        figures = f"{result.executions:,} | {speed:,.0f} | {result.edges:,} | {result.corpus} | {result.found}"
        print(f"| {name} | {figures} |")
    total = sum(result.executions for _, result in rows)
    found = sum(result.found for _, result in rows)
    print(f"{total:,} executions, {found} found" + (f", kept in {options.keep}" if found else ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
