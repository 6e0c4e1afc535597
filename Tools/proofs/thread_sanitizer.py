#!/usr/bin/env python3
"""Builds the concurrency tests with the thread sanitizer and runs them.

    Tools/proofs/thread_sanitizer.py [--rounds 3] [--work FOLDER] [--futex]

The sanitizer supports the locks of POSIX. It does not support `Synchronization.Mutex`: under contention the kernel passes
that lock on (FUTEX_LOCK_PI), which the sanitizer cannot observe, and it then reports races on the data that the lock
protects. So the sources and tests are copied, unchanged, into a separate package, and each module gets one more file: a
type named `Mutex`, with the same behaviour, on `pthread_mutex_t`. It hides the library's type; everything else is what is
shipped. `DispatchSemaphore` in the tests' gates is replaced in the same way, with `sem_t`. `--futex` keeps the original
locks, to show the false reports.

One warning is suppressed, with its reason beside it. First the sanitizer itself is checked: a test with an unprotected
counter is added and must be reported. Then the suite is run `--rounds` times without it, and nothing may be reported.
State machines are left out: they use no threads. So is a test that takes memory from a process until threads are refused,
which the sanitizer does not survive.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.package_graph import PackageGraph, Target
from nocturne_tools.paths import ROOT


TESTS = "NocturneConcurrencyTests"
# Tests that use no threads, and tests of the build environment.
LEFT_OUT = "StateMachine|BatchConditionTests|refusedThreads"

MANIFEST = """// swift-tools-version: {tools}
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]
let package = Package(
    name: "sanitized",
    dependencies: [
{packages}
    ],
    targets: [
{targets}
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11,
    cxxLanguageStandard: .cxx17
)
"""

LOCK = """import Glibc

/// Replaces `Synchronization.Mutex` under the thread sanitizer.
struct Mutex<Value: ~Copyable>: ~Copyable, @unchecked Sendable {
    private let lock: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    init(_ initial: consuming sending Value) {
        lock = .allocate(capacity: 1)
        lock.initialize(to: pthread_mutex_t())
        pthread_mutex_init(lock, nil)
        value = .allocate(capacity: 1)
        value.initialize(to: initial)
    }

    deinit {
        value.deinitialize(count: 1)
        value.deallocate()
        pthread_mutex_destroy(lock)
        lock.deallocate()
    }

    borrowing func withLock<R: ~Copyable, E: Error>(_ body: (inout Value) throws(E) -> R) throws(E) -> R {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        return try body(&value.pointee)
    }
}
"""

SEMAPHORE = """
/// Replaces Dispatch's semaphore under the thread sanitizer.
final class DispatchSemaphore: @unchecked Sendable {
    private let semaphore: UnsafeMutablePointer<sem_t>

    init(value: UInt32) {
        semaphore = .allocate(capacity: 1)
        semaphore.initialize(to: sem_t())
        sem_init(semaphore, 0, value)
    }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func signal() { sem_post(semaphore) }
    func wait() { while sem_wait(semaphore) != 0 {} }
}
"""

# The storage of every empty array is one constant of the standard library. Creating an empty array from uninitialised
# capacity writes the count that it already has: 0. Reported when a queue without waiters is copied.
SUPPRESSIONS = "race:_swiftEmptyArrayStorage\n"

CONTROL = """import NocturneConcurrency
import Synchronization
import Testing

#if canImport(Glibc)
    import Glibc
#endif

private final class Unprotected: @unchecked Sendable {
    var count = 0
    let here = Atomic<Int>(0)
}

@Suite("SanitizerControl")
struct SanitizerControl {
    @Test("an unprotected counter")
    func race() async throws {
        let pool = try ComputePool(width: 2)
        defer { pool.shutdown() }
        let counter = Unprotected()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    await pool.run {
                        // Both threads must have arrived, or one may do the work of both.
                        counter.here.add(1, ordering: .relaxed)
                        while counter.here.load(ordering: .relaxed) < 2 { sched_yield() }
                        counter.count += 1
                    }
                }
            }
        }
        #expect(counter.count > 0)
    }
}
"""


def declaration(target: Target) -> str:
    """The target as a line of the manifest."""
    if target.kind == "system":
        return f'.systemLibrary(name: "{target.name}", pkgConfig: "{target.dump["pkgConfig"]}"),'
    kind = "testTarget" if target.kind == "test" else "target"
    dependencies = [f'"{name}"' for name in target.targets]
    dependencies += [f'.product(name: "{name}", package: "{package}")' for name, package in target.products]
    settings = "" if target.name.startswith("C") else ", swiftSettings: settings"
    given = f'name: "{target.name}", dependencies: [{", ".join(dependencies)}], path: "{target.path}"'
    return f".{kind}({given}{settings}),"


def manifest(graph: PackageGraph, targets: list[Target]) -> str:
    """A package of some targets alone, with the remote packages that they use."""
    used = {package for target in targets for _, package in target.products}
    packages = []
    for dependency in graph.dump["dependencies"]:
        source = dependency["sourceControl"][0]
        if source["identity"] in used:
            url = source["location"]["remote"][0]["urlString"]
            version = source["requirement"]["range"][0]["lowerBound"]
            packages.append(f'.package(url: "{url}", from: "{version}"),')
    lines = {"packages": packages, "targets": [declaration(target) for target in targets]}
    texts = {key: "\n".join(f"        {line}" for line in value) for key, value in lines.items()}
    return MANIFEST.format(tools=graph.dump["toolsVersion"]["_version"].removesuffix(".0"), **texts)


def make_package(folder: Path, futex: bool) -> None:
    """Writes the package of the tests, with the replaced locks in every Swift module."""
    graph = PackageGraph.load()
    targets = graph.closure(TESTS)
    (folder / "Package.swift").write_text(manifest(graph, targets))
    if (ROOT / "Package.resolved").exists():
        shutil.copy(ROOT / "Package.resolved", folder)
    for target in targets:
        shutil.copytree(ROOT / target.path, folder / target.path, dirs_exist_ok=True)
    tests = folder / "Tests" / TESTS
    (tests / "SanitizerControl.swift").write_text(CONTROL)
    swift = [target for target in targets if not target.name.startswith("C")]
    for place in [folder / target.path for target in swift if not target.is_test] + [tests]:
        if futex:
            (place / "SanitizedLocks.swift").unlink(missing_ok=True)
        else:
            (place / "SanitizedLocks.swift").write_text(LOCK + (SEMAPHORE if place == tests else ""))


def run(folder: Path, log: Path, *filters: str) -> tuple[int, dict[str, int], str]:
    """Exit code, the kinds of warnings with their numbers, and the suite's last line."""
    suppressions = folder / "suppressions.txt"
    suppressions.write_text(SUPPRESSIONS)
    options = f"halt_on_error=0 exitcode=66 history_size=4 log_path={log} suppressions={suppressions}"
    for old in log.parent.glob(log.name + ".*"):
        old.unlink()
    binary = next(folder.glob(".build/debug/*PackageTests.xctest"))
    done = subprocess.run(
        [str(binary), "--testing-library", "swift-testing", *filters],
        env={**os.environ, "TSAN_OPTIONS": options}, capture_output=True, text=True, timeout=1500,
    )
    reports = "".join(path.read_text() for path in log.parent.glob(log.name + ".*"))
    kinds: dict[str, int] = {}
    for summary in re.findall(r"^SUMMARY: ThreadSanitizer: (.*)$", reports, re.MULTILINE):
        # Without addresses and folders.
        kind = re.sub(r"0x[0-9a-f]+|\S*/", "", summary)
        kinds[kind] = kinds.get(kind, 0) + 1
    last = re.findall(r"Test run with \d+ tests? .*", done.stdout + done.stderr)
    return done.returncode, kinds, last[-1] if last else (done.stdout + done.stderr)[-500:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", help="a folder for the package, kept; default: a temporary one")
    parser.add_argument("--futex", action="store_true", help="keep Synchronization.Mutex, to show the false reports")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    folder = Path(arguments.work or tempfile.mkdtemp(prefix="sanitized-")).resolve()
    folder.mkdir(exist_ok=True)
    make_package(folder, arguments.futex)
    command = ["swift", "build", "--sanitize=thread", "--build-tests", "-j", str(arguments.jobs)]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if built.returncode != 0:
        raise SystemExit((built.stdout + built.stderr)[-3000:])
    bad = False
    _, kinds, last = run(folder, folder / "control.log", "--filter", "SanitizerControl")
    found = any("SanitizerControl" in kind for kind in kinds)
    print(f"the unprotected counter is {'reported' if found else 'NOT reported: the sanitizer does not work'}: {last}")
    bad |= not found
    for number in range(1, arguments.rounds + 1):
        code, kinds, last = run(
            folder, folder / f"round{number}.log", "--skip", "SanitizerControl", "--skip", LEFT_OUT
        )
        print(f"round {number}: exit {code}, {sum(kinds.values())} warnings: {last}", flush=True)
        for kind, count in sorted(kinds.items()):
            print(f"  {count} x {kind}")
        bad |= code != 0
    if not arguments.work:
        shutil.rmtree(folder, ignore_errors=True)
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
