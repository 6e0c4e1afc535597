"""Coverage-guided fuzzing of all that Nocturne reads: builds the driver, gathers seeds, runs libFuzzer, prints a table.

Each target of `Tests/NocturneFuzz` is run for the executions or minutes asked for. The driver is built with the address
sanitizer and coverage of Swift, C and C++ alike, C and C++ with the undefined-behaviour sanitizer too. An input that
crashes, takes longer than `--seconds`, or has more memory allocated at once than `--allocation` is kept under `--keep`,
and the target goes on. Exit code 1 when there was any.

Seeds are the project's own fixtures and samples, and whatever lies below the folders given with `--seeds`; each target
takes what looks like its kind. The corpus stays in the work folder, so that the next call goes on where this one ended.

    fuzz.py --runs 200000 --seeds FOLDER                   # all targets
    fuzz.py onnx jpeg --minutes 5                          # two of them
    fuzz.py png --again FILE                               # one input once more, with the sanitizer's report
"""

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

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "Tests/Fixtures/Fuzz"
DICTIONARIES = ROOT / "Tools/Fuzz/dictionaries"


def is_dicom(head: bytes) -> bool:
    return head[128:132] == b"DICM" or head[:4] in (b"\x08\x00\x05\x00", b"\x08\x00\x08\x00", b"\x02\x00\x00\x00")


def has_class(prefix: bytes) -> Callable[[bytes], bool]:
    return lambda head: is_dicom(head) and prefix in head


@dataclass
class Kind:
    """What a target is given: the most bytes of an input, and which files are seeds by their content."""

    largest: int
    takes: Callable[[bytes], bool]
    words: str | None = None


def is_json(head: bytes) -> bool:
    return head.lstrip()[:1] == b"{"


KINDS = {
    "nifti": Kind(8192, lambda head: head[:4] in (b"\x5c\x01\0\0", b"\0\0\x01\x5c", b"\x1c\x02\0\0", b"\0\0\x02\x1c")),
    "nifti-gzip": Kind(8192, lambda head: head[:2] == b"\x1f\x8b"),
    "stl": Kind(4096, lambda head: head[:5] == b"solid"),
    "onnx": Kind(8192, lambda head: head[:1] == b"\x08" and not is_dicom(head), "onnx"),
    "model": Kind(8192, lambda head: is_json(head) and b"schemaVersion" in head and b"task" in head, "json"),
    "jpeg": Kind(8192, lambda head: head[:3] == b"\xff\xd8\xff", "jpeg"),
    "png": Kind(8192, lambda head: head[:8] == b"\x89PNG\r\n\x1a\n", "png"),
    "tiff": Kind(8192, lambda head: head[:4] in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"), "tiff"),
    "dicom": Kind(16384, is_dicom, "dicom"),
    "dicom-photo": Kind(16384, lambda head: has_class(b"1.2.840.10008.5.1.4.1.1.7")(head), "dicom"),
    "segmentation": Kind(16384, has_class(b"1.2.840.10008.5.1.4.1.1.66."), "dicom"),
    "structures": Kind(16384, has_class(b"1.2.840.10008.5.1.4.1.1.481.3"), "dicom"),
    "regions": Kind(4096, lambda head: is_json(head) and b"regions" in head, "json"),
    "table": Kind(4096, lambda head: head[:6] == b"image,"),
    "sidecar": Kind(4096, lambda head: is_json(head) and b"age_approx" in head, "json"),
    "records": Kind(8192, lambda head: is_json(head) and b"fingerprint" in head, "json"),
    "words": Kind(64, lambda head: False, "words"),
}


def build(scratch: Path) -> Path:
    """The driver, built where something changed."""
    facts = json.loads(subprocess.run(["swiftc", "-print-target-info"], capture_output=True, check=True).stdout)
    runtime = Path(facts["paths"]["runtimeResourcePath"]) / "clang/lib/linux/libclang_rt.fuzzer_no_main-x86_64.a"
    words = ["swift", "build", "-c", "release", "--package-path", str(ROOT / "Tools/Fuzz")]
    words += ["--scratch-path", str(scratch), "--product", "nocturne-fuzz", "--disable-dead-strip"]
    words += ["--sanitize", "address", "-Xswiftc", "-sanitize-coverage=edge,inline-8bit-counters,pc-table,trace-cmp"]
    for flag in ["-fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp,indirect-calls", "-fsanitize=undefined",
                 "-fno-sanitize=vptr,function", "-fno-sanitize-recover=undefined"]:
        words += ["-Xcc", flag]
    words += ["-Xlinker", str(runtime), "-Xlinker", "-lstdc++"]
    made = subprocess.run(words, capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit("the driver cannot be built:\n" + "\n".join((made.stdout + made.stderr).splitlines()[-30:]))
    return scratch / "release/nocturne-fuzz"


def gather(names: list[str], folders: list[Path], work: Path) -> None:
    """Puts every file that looks like a target's kind into the target's folder of seeds."""
    for name in names:
        (work / "seeds" / name).mkdir(parents=True, exist_ok=True)
        (work / "corpus" / name).mkdir(parents=True, exist_ok=True)
        for file in sorted((FIXTURES / name).glob("*")):
            data = file.read_bytes()
            (work / "seeds" / name / hashlib.sha1(data).hexdigest()).write_bytes(data)
    largest = max(KINDS[name].largest for name in names)
    for folder in [ROOT / "Tests/Fixtures", ROOT / "Samples", *folders]:
        for file in sorted(folder.rglob("*")):
            if not file.is_file() or FIXTURES in file.parents or file.stat().st_size > largest:
                continue
            data = file.read_bytes()
            for name in names:
                if len(data) <= KINDS[name].largest and KINDS[name].takes(data):
                    (work / "seeds" / name / hashlib.sha1(data).hexdigest()).write_bytes(data)


def surroundings() -> dict[str, str]:
    # Symbols are looked up afterwards, by again(): the sanitizers' own way can take minutes.
    return os.environ | {
        # The libraries may ask for much; they then get nothing. libFuzzer's own limit is lower.
        "ASAN_OPTIONS": "allocator_may_return_null=1:detect_stack_use_after_return=0:detect_leaks=1:symbolize=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:symbolize=0",
        "LSAN_OPTIONS": f"suppressions={ROOT / 'Tools/Fuzz/leaks.txt'}:print_suppressions=0",
        "SWIFT_BACKTRACE": "enable=no",
    }


def again(name: str, driver: Path, file: Path, options: argparse.Namespace) -> int:
    """One input, with the places in the source of every frame of a report."""
    words = [str(driver), name, *limits(options), str(file)]
    run = subprocess.run(words, capture_output=True, text=True, errors="replace", env=surroundings())
    for line in run.stderr.splitlines():
        place = re.search(r"#\d+ 0x\w+ .*\(" + re.escape(str(driver)) + r"\+(0x\w+)\)", line)
        if place:
            found = ["addr2line", "-f", "-C", "-e", str(driver), place.group(1)]
            said = subprocess.run(found, capture_output=True, text=True).stdout.splitlines()
            name = subprocess.run(["swift", "demangle", "-compact", said[0]], capture_output=True, text=True).stdout
            line = f"{line.split()[0]:>5} {name.strip()[:160]} {said[1]}"
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


def fuzz(name: str, driver: Path, work: Path, options: argparse.Namespace) -> Result:
    """Runs one target to its end; each finding ends a process, and another goes on."""
    kind, result, begin = KINDS[name], Result(), time.monotonic()
    keep = options.keep / name
    keep.mkdir(parents=True, exist_ok=True)
    dictionary = DICTIONARIES / f"{kind.words}.dict"
    while result.found <= options.findings:
        words = [str(driver), name, *limits(options), f"-max_len={kind.largest}", f"-artifact_prefix={keep}/",
                 "-print_final_stats=1", "-reload=0", "-detect_leaks=0"]
        if options.runs:
            words.append(f"-runs={options.runs - result.executions}")
        if options.minutes:
            words.append(f"-max_total_time={max(1, int(60 * options.minutes - (time.monotonic() - begin)))}")
        if kind.words and dictionary.exists():
            words.append(f"-dict={dictionary}")
        words += [str(work / "corpus" / name), str(work / "seeds" / name)]
        before = set(keep.iterdir())
        run = subprocess.run(words, capture_output=True, text=True, errors="replace", env=surroundings(), cwd=work)
        (work / f"{name}.log").write_text(run.stderr[-200_000:])
        # After a crash there are no final figures, but the line of the last pulse.
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
        if run.returncode == 0 or ended or (options.minutes and time.monotonic() - begin >= 60 * options.minutes):
            break
    result.seconds = time.monotonic() - begin
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", choices=[[], *KINDS], metavar="TARGET", help=", ".join(KINDS))
    parser.add_argument("--runs", type=int, default=0, help="executions of each target")
    parser.add_argument("--minutes", type=float, default=0, help="most minutes for each target")
    parser.add_argument("--jobs", type=int, default=1, help="targets at a time")
    parser.add_argument("--seeds", nargs="*", type=Path, default=[], help="folders with more seeds")
    parser.add_argument("--seconds", type=int, default=10, help="most seconds for one input")
    parser.add_argument("--resident", type=int, default=2048, help="most MiB resident")
    parser.add_argument("--allocation", type=int, default=256, help="most MiB allocated at once")
    parser.add_argument("--findings", type=int, default=20, help="a target is given up after so many")
    parser.add_argument("--work", type=Path, default=ROOT / ".build/fuzz", help="seeds, corpus and logs")
    parser.add_argument("--build", type=Path, help="folder of the driver; without it, one of the work folder")
    parser.add_argument("--keep", type=Path, help="what was found; without it, a folder of the work folder")
    parser.add_argument("--built", action="store_true", help="take the driver as it is, beside another call")
    parser.add_argument("--again", type=Path, help="run the target on this file only, and show what happens")
    options = parser.parse_args()
    names = options.targets or list(KINDS)
    options.work = options.work.resolve()
    options.keep = (options.keep or options.work / "found").resolve()
    scratch = (options.build or options.work / "build").resolve()
    driver = scratch / "release/nocturne-fuzz" if options.built else build(scratch)
    known = subprocess.run([str(driver)], capture_output=True, text=True, check=True).stdout.split()
    if set(known) != set(KINDS):
        sys.exit(f"the driver and this script know other targets: {sorted(set(known) ^ set(KINDS))}")
    if options.again:
        return again(names[0], driver, options.again, options)
    if not options.runs and not options.minutes:
        options.runs = 200_000
    gather(names, options.seeds, options.work)

    def row(name: str) -> tuple[str, Result]:
        result = fuzz(name, driver, options.work, options)
        print(f"  {name}: {result.executions} executions in {result.seconds:.0f} s, {result.found} found", flush=True)
        return name, result

    with ThreadPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(row, names))
    print("| target | executions | a second | edges | corpus | found |\n| --- | ---: | ---: | ---: | ---: | ---: |")
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
