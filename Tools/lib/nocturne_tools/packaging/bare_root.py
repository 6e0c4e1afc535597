"""Systems with nothing installed: a base from debootstrap, and over it a layer that is thrown away."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

# Written by apt, dpkg and the loader about themselves, whatever is installed.
OF_THE_SYSTEM = ("proc", "tmp", "var/cache", "var/lib/apt", "var/lib/dpkg", "var/log", "etc/ld.so.cache")
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_BREAK_SYSTEM_PACKAGES": "1",
    "PIP_ROOT_USER_ACTION": "ignore",
}


class CommandFailed(Exception):
    """A command in the root ended with another code than 0."""


def base(release: str, cache: Path, mirror: str) -> Path:
    """The minimal system of a release, made once."""
    folder = cache / release
    if not (folder / "etc" / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        options, source = ["--variant=minbase"], []
        if mirror:
            # A mirror of Ubuntu, whose keys Debian does not have; and of its releases, Debian's debootstrap has not all
            # by name: they all use the script `gutsy`.
            options += ["--no-check-gpg", "--components=main,universe"]
            source = [mirror, "gutsy"]
        subprocess.run(["debootstrap", *options, release, folder, *source], check=True)
        (folder / "etc" / "complete").touch()
    return folder


class BareRoot:
    """A layer over a base, with /proc and the name servers of this machine; as root only."""

    def __init__(self, below: Path, work: Path) -> None:
        self.below, self.layer, self.place = below, work / "layer", work / "root"
        self.bound: list[Path] = []
        for folder in (self.layer, work / "work", self.place):
            folder.mkdir(parents=True)
        options = f"lowerdir={below},upperdir={self.layer},workdir={work / 'work'}"
        subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, self.place], check=True)
        subprocess.run(["mount", "-t", "proc", "proc", self.place / "proc"], check=True)
        shutil.copyfile("/etc/resolv.conf", self.place / "etc" / "resolv.conf")

    def bind(self, folder: Path, place: str) -> None:
        """Shows a folder of this machine in the root, read-only; `place` is relative to the root."""
        target = self.place / place
        target.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", "--bind", folder, target], check=True)
        self.bound.append(target)
        subprocess.run(["mount", "-o", "remount,bind,ro", target], check=True)

    def __enter__(self) -> BareRoot:
        return self

    def __exit__(self, *_: object) -> None:
        for target in [*self.bound, self.place / "proc"]:
            subprocess.run(["umount", target], check=True)
        subprocess.run(["umount", self.place], check=True)

    def start(self, command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["chroot", self.place, "sh", "-c", f"cd /root && {command}"],
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, command: str) -> str:
        """What the command prints."""
        process = self.start(command)
        output, _ = process.communicate()
        if process.returncode != 0:
            raise CommandFailed(f"`{command}` ended with {process.returncode}:\n{output[-2000:]}")
        return output

    def seconds(self, command: str) -> float:
        started = time.monotonic()
        self.run(command)
        return time.monotonic() - started

    def files(self) -> set[str]:
        """The files of the layer and its new folders, except those that the package manager keeps about itself."""
        found = set()
        for path in self.layer.rglob("*"):
            name = str(path.relative_to(self.layer))
            is_folder = path.is_dir() and not path.is_symlink()
            is_new = not (self.below / name).is_dir() if is_folder else path.is_symlink() or path.is_file()
            if is_new and not name.startswith(OF_THE_SYSTEM):
                found.add(name + "/" if is_folder else name)
        return found
