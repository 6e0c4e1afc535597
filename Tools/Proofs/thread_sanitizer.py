#!/usr/bin/env python3
"""Builds the concurrency tests with the thread sanitizer and runs them.

    Tools/Proofs/thread_sanitizer.py [--rounds 3] [--work FOLDER] [--futex]

The sanitizer knows the locks of POSIX. It does not know `Synchronization.Mutex`: under contention that lock is handed on
by the kernel (FUTEX_LOCK_PI), which the sanitizer cannot see, and it then reports races on what the lock protects. So the
sources and tests are copied, unchanged, into a package of their own, and each module gets one more file: a type named
`Mutex`, with the same behaviour, on `pthread_mutex_t`. It hides the library's one; everything else is what is shipped.
`DispatchSemaphore` in the tests' gates gets the same treatment, with `sem_t`. `--futex` leaves the original locks in, to
see the false reports.

One warning is suppressed, with its reason beside it. The sanitizer has to prove itself first: a test with an unprotected
counter is added, and must be reported. Then the suite is run `--rounds` times without it, and nothing may be reported.
State machines are left out: they know no threads.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

MANIFEST = """// swift-tools-version: 6.3
import PackageDescription

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
]
let package = Package(
    name: "sanitized",
    dependencies: [.package(url: "https://github.com/apple/swift-collections", from: "1.6.0")],
    targets: [
        .target(name: "CPosix"),
        .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto"),
        .target(name: "NocturneCore", dependencies: ["CCrypto"], swiftSettings: settings),
        .target(
            name: "NocturneConcurrency",
            dependencies: ["NocturneCore", "CPosix", .product(name: "DequeModule", package: "swift-collections")],
            swiftSettings: settings
        ),
        .target(
            name: "NocturneTestSupport", dependencies: ["NocturneCore", "NocturneConcurrency"],
            path: "Tests/NocturneTestSupport", swiftSettings: settings
        ),
        .testTarget(
            name: "NocturneConcurrencyTests", dependencies: ["NocturneConcurrency", "NocturneTestSupport"],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6],
    cLanguageStandard: .gnu11
)
"""

LOCK = """import Glibc

/// Stands in for `Synchronization.Mutex` where the thread sanitizer watches.
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
/// Stands in for Dispatch's where the thread sanitizer watches.
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

# The storage of every empty array is one constant of the standard library, into which the making of an empty array from
# uninitialised capacity writes the count that is there already: 0. Seen when a queue without waiters is copied.
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
    @Test("a counter that nobody protects")
    func race() async {
        let pool = ComputePool(width: 2)
        defer { pool.shutdown() }
        let counter = Unprotected()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    await pool.run {
                        // Both threads have to be there, or one may do the work of two.
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


def make_package(folder: Path, futex: bool) -> None:
    (folder / "Package.swift").write_text(MANIFEST)
    if (ROOT / "Package.resolved").exists():
        shutil.copy(ROOT / "Package.resolved", folder)
    modules = ["NocturneCore", "NocturneConcurrency"]
    for name in ["CPosix", "CCrypto", *modules]:
        shutil.copytree(ROOT / "Sources" / name, folder / "Sources" / name, dirs_exist_ok=True)
    for name in ["NocturneTestSupport", "NocturneConcurrencyTests"]:
        shutil.copytree(ROOT / "Tests" / name, folder / "Tests" / name, dirs_exist_ok=True)
    tests = folder / "Tests/NocturneConcurrencyTests"
    (tests / "SanitizerControl.swift").write_text(CONTROL)
    places = [folder / "Sources" / name for name in modules] + [tests]
    for place in places:
        if futex:
            (place / "SanitizedLocks.swift").unlink(missing_ok=True)
        else:
            (place / "SanitizedLocks.swift").write_text(LOCK + (SEMAPHORE if place is tests else ""))


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
        # Without the addresses and machine paths.
        words = re.sub(r"0x[0-9a-f]+|\S*/", "", summary)
        kinds[words] = kinds.get(words, 0) + 1
    said = re.findall(r"Test run with \d+ tests? .*", done.stdout + done.stderr)
    return done.returncode, kinds, said[-1] if said else (done.stdout + done.stderr)[-500:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--work", help="a folder for the package, kept; default: a temporary one")
    parser.add_argument("--futex", action="store_true", help="leave Synchronization.Mutex in, to see the false reports")
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
    _, kinds, words = run(folder, folder / "control.log", "--filter", "SanitizerControl")
    found = any("SanitizerControl" in kind for kind in kinds)
    print(f"the unprotected counter is {'reported' if found else 'NOT reported: the sanitizer sees nothing'}: {words}")
    bad |= not found
    for number in range(1, arguments.rounds + 1):
        code, kinds, words = run(
            folder, folder / f"round{number}.log", "--skip", "SanitizerControl", "--skip", "StateMachine|NightTests"
        )
        print(f"round {number}: exit {code}, {sum(kinds.values())} warnings: {words}", flush=True)
        for kind, count in sorted(kinds.items()):
            print(f"  {count} x {kind}")
        bad |= code != 0
    if not arguments.work:
        shutil.rmtree(folder, ignore_errors=True)
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
