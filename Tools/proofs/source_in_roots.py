#!/usr/bin/env python3
"""Builds the last commit on systems with nothing but a Swift toolchain, and runs the sample batch.

    Tools/proofs/source_in_roots.py --cache ROOTS
    Tools/proofs/source_in_roots.py --cache ROOTS --releases jammy noble --mirror URL
    Tools/proofs/source_in_roots.py --cache ROOTS --releases trixie --compile NocturneFormats

For every release it prints when `Tools/demo` had installed its packages, built the program, the first result, and all of
them, in seconds from the bare system. With --compile it installs the packages and compiles these targets only. Then
`Tools/install-packages` must find nothing to do. The systems are made by debootstrap, once, in the folder ROOTS; the toolchain is
this machine's, read-only, as are the certificates that its administrator has added. Must run as root, for mounts and chroot, with
a network. --mirror is for releases of Ubuntu. --packages is a folder with repositories OWNER/NAME of the Swift packages, for a
machine that does not reach GitHub. Needs Python without any package.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.packaging.bare_root import BareRoot, CommandFailed, base
from nocturne_tools.paths import ROOT, TOOLS

SOURCE = "root/nocturne"
CERTIFICATES = Path("/usr/local/share/ca-certificates")
IN_SOURCE = "export PATH=/opt/swift/usr/bin:$PATH && cd nocturne &&"


def prepare(root: BareRoot, packages: Path | None) -> None:
    """The last commit as a folder, the toolchain, and the Swift packages if they are not fetched."""
    (root.place / SOURCE).mkdir()
    archive = subprocess.Popen(["git", "archive", "HEAD"], cwd=ROOT, stdout=subprocess.PIPE)
    subprocess.run(["tar", "--extract", "--directory", root.place / SOURCE], stdin=archive.stdout, check=True)
    if archive.wait() != 0:
        raise CommandFailed("git archive failed")
    swift = shutil.which("swift")
    if not swift:
        raise SystemExit("swift is not on the PATH")
    root.bind(Path(swift).resolve().parents[2], "opt/swift")
    if packages:
        root.bind(packages, "opt/swift-packages")
        settings = '[url "/opt/swift-packages/"]\n\tinsteadOf = https://github.com/\n[safe]\n\tdirectory = *\n'
        (root.place / "root/.gitconfig").write_text(settings)
    if CERTIFICATES.is_dir():
        shutil.copytree(CERTIFICATES, root.place / str(CERTIFICATES)[1:], dirs_exist_ok=True)


def timeline(root: BareRoot, command: str, log: Path) -> dict[str, float]:
    """Seconds from the start to the first line of output that begins with each of the texts, and to the end ("")."""
    started, seen = time.monotonic(), {}
    process = root.start(f"{IN_SOURCE} {command} 2>&1")
    assert process.stdout
    with log.open("w") as file:
        for line in process.stdout:
            now = time.monotonic() - started
            file.write(f"{now:7.1f}  {line}")
            for text in ("Installing", "Building", "Build of product"):
                if line.startswith(text):
                    seen.setdefault(text, now)
    if process.wait() != 0:
        raise CommandFailed(f"`{command}` ended with {process.returncode}:\n{log.read_text()[-3000:]}")
    return {**seen, "": time.monotonic() - started}


def demo(root: BareRoot, log: Path) -> None:
    began = time.time()
    seen = timeline(root, "Tools/demo", log)
    results = (root.place / SOURCE / "demo-output").glob("*/result.json")
    times = sorted(path.stat().st_mtime - began for path in results)
    print(
        f"  packages {seen['Building']:.0f} s, program {seen['Build of product']:.0f} s, first result {times[0]:.0f} s, "
        f"batch complete {seen['']:.0f} s, {len(times)} results",
        flush=True,
    )


def compile_targets(root: BareRoot, targets: list[str], log: Path) -> None:
    installed = root.seconds(f"{IN_SOURCE} Tools/install-packages")
    started = time.monotonic()
    for target in targets:
        timeline(root, f"swift build -c release --target {target}", log)
    print(f"  packages {installed:.0f} s, {', '.join(targets)} {time.monotonic() - started:.0f} s more", flush=True)


def attempt(root: BareRoot, targets: list[str], packages: Path | None, log: Path) -> None:
    name = root.run(". /etc/os-release; echo $PRETTY_NAME").strip()
    glibc = root.run("ldd --version").splitlines()[0].split()[-1]
    print(f"{name}, glibc {glibc}, {os.cpu_count()} processors", flush=True)
    prepare(root, packages)
    if targets:
        compile_targets(root, targets, log)
    else:
        demo(root, log)
    again = root.run(f"{IN_SOURCE} Tools/install-packages")
    if again:
        raise CommandFailed(f"Tools/install-packages is not content with what it has installed:\n{again}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", nargs="+", default=["bookworm", "trixie"], help="default: bookworm trixie")
    parser.add_argument("--cache", type=Path, required=True, help="the folder of the bare systems, and of the logs")
    parser.add_argument("--mirror", default="", help="of Ubuntu")
    parser.add_argument("--packages", type=Path, help="repositories of the Swift packages; default: GitHub's")
    parser.add_argument("--compile", nargs="+", default=[], metavar="TARGET", help="only compile these targets")
    options = parser.parse_args()
    subprocess.run([TOOLS / "install-packages", "debootstrap"], check=True)
    failures = 0
    for release in options.releases:
        below = base(release, options.cache.resolve(), options.mirror)
        with tempfile.TemporaryDirectory(prefix="bare-root-", dir=options.cache) as work:
            with BareRoot(below, Path(work).resolve()) as root:
                try:
                    attempt(root, options.compile, options.packages, options.cache / f"{release}.log")
                except CommandFailed as error:
                    failures += 1
                    print(f"{release}: {error}", flush=True)
    raise SystemExit(1 if failures else 0)


if __name__ == "__main__":
    main()
