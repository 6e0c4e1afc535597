"""The shared libraries of a program: which it needs, from which Debian package they are, and which glibc they need."""

from __future__ import annotations

import re
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

# Part of every Linux system with glibc, and not to be mixed with another version of it.
OF_THE_SYSTEM = re.compile(r"(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|util|resolv|gcc_s))\.so\.\d+")
WEAK = 2  # VER_FLG_WEAK: the loader accepts a library without this version.


@dataclass(frozen=True)
class SharedLibrary:
    """A library under the name by which it is loaded, and the Debian packages that hold it (empty: none does)."""

    name: str
    path: Path
    package: str
    source: str
    version: str


def run(*command: str | Path) -> str:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout


def libraries(program: Path) -> list[SharedLibrary]:
    """All libraries that the program loads on this machine, except those of the system."""
    found = []
    for line in run("ldd", program).splitlines():
        name, _, place = line.strip().partition(" => ")
        if "not found" in place:
            raise SystemExit(f"{program} needs {name}, which is not installed")
        if place and not OF_THE_SYSTEM.fullmatch(name):
            found.append(library(name, Path(place.split(" (")[0])))
    return sorted(found, key=lambda one: one.name)


def library(name: str, path: Path) -> SharedLibrary:
    """Finds the package, whose list may have the path with or without /usr."""
    real = str(path.resolve())
    for candidate in (real, real.removeprefix("/usr"), "/usr" + real):
        owner = subprocess.run(["dpkg-query", "--search", candidate], capture_output=True, text=True).stdout
        if owner:
            package = owner.split(":")[0].split(",")[0]
            shown = run("dpkg-query", "--show", "--showformat=${source:Package} ${source:Version}\n", package)
            source, version = shown.splitlines()[0].split()
            return SharedLibrary(name, path, package, source, version)
    return SharedLibrary(name, path, "", "", "")


def version_number(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


def needed_glibc(listing: str) -> tuple[int, ...]:
    """The newest version of glibc in what `readelf --version-info` prints; versions that are marked weak do not count."""
    found = [(2, 0)]
    for line in listing.splitlines():
        match = re.search(r"Name: GLIBC_([0-9.]+)\s+Flags: (.*?)\s+Version:", line)
        if match and "WEAK" not in match.group(2):
            found.append(version_number(match.group(1)))
    return max(found)


def glibc(path: Path) -> tuple[int, ...]:
    return needed_glibc(run("readelf", "--wide", "--version-info", path))


class VersionedFile:
    """An ELF file whose references to glibc can be made to accept an older one.

    A reference such as hypot@GLIBC_2.35 is turned into one without a version, and its version is marked weak: the loader
    then takes the version of the function that the machine has. This is for functions that every glibc has, or that
    another library has as well.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.content = bytearray(path.read_bytes())
        self.sections: dict[str, tuple[int, int]] = {}
        for line in run("readelf", "--wide", "--section-headers", path).splitlines():
            match = re.match(r"\s*\[ *\d+\] (\S+)\s+\S+\s+[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", line)
            if match:
                self.sections[match.group(1)] = (int(match.group(2), 16), int(match.group(3), 16))

    def text(self, offset: int) -> str:
        start = self.sections[".dynstr"][0] + offset
        return self.content[start : self.content.index(b"\0", start)].decode()

    def newer_versions(self, oldest: tuple[int, ...]) -> dict[int, int]:
        """For each index of a newer version of glibc the place of its flags."""
        found = {}
        entry = self.sections[".gnu.version_r"][0]
        while True:
            _, count, _, first, following = struct.unpack_from("<HHIII", self.content, entry)
            place = entry + first
            for _ in range(count):
                _, _, index, name, step = struct.unpack_from("<IHHII", self.content, place)
                version = re.fullmatch(r"GLIBC_([0-9.]+)", self.text(name))
                if version and version_number(version.group(1)) > oldest:
                    found[index] = place + 4
                place += step
            if not following:
                return found
            entry += following

    def accept_older_glibc(self, oldest: tuple[int, ...]) -> list[str]:
        """Changes the file where it needs a glibc newer than `oldest`; returns the functions that were affected."""
        newer = self.newer_versions(oldest) if ".gnu.version_r" in self.sections else {}
        start, size = self.sections.get(".gnu.version", (0, 0))
        functions = []
        for symbol in range(size // 2):
            (index,) = struct.unpack_from("<H", self.content, start + 2 * symbol)
            if index in newer:
                (name,) = struct.unpack_from("<I", self.content, self.sections[".dynsym"][0] + 24 * symbol)
                functions.append(self.text(name))
                struct.pack_into("<H", self.content, start + 2 * symbol, 1)
        for place in newer.values():
            (flags,) = struct.unpack_from("<H", self.content, place)
            struct.pack_into("<H", self.content, place, flags | WEAK)
        if newer:
            self.path.write_bytes(self.content)
        return functions
