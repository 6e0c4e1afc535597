#!/usr/bin/env python3
"""Runs commands on output folders full of links, and checks that every byte outside of the batch stays where it is.

    Tools/proofs/nothing_outside.py NOCTURNE [--trees 400] [--seed 1] [--only forget]

Each tree is a copy of a small finished batch, or of a divided one, in which a person or an attacker has put something:
folders and files in the folders of items, links to the scans, folders without permissions or with the attribute of
`chattr +i`, and, in every third tree, a link in place of a folder of the batch itself (`.nocturne/replaced`, `edited`,
`staging`, `kept` and so on). Then one command runs: resume of an item whose label map is lost, run with another option,
forget, adopt, merge, review, verify; half of the runs with an injected error of a removal. Afterwards

- the inputs and a folder of scans with the same names as the items are as they were, to the byte;
- what a person has put is there with its bytes, in its place or in `kept`, unless the item was forgotten;
- a batch with a link in place of one of its folders was refused, and nothing in it has changed;
- the command has ended within two minutes, or ten where the disk stays full.

As root, or without immutable folders. Exit code 1 when anything differs.
"""

from __future__ import annotations

import argparse
import collections
import fcntl
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lib"))

from nocturne_tools.paths import THRESHOLD_MODEL
from nocturne_tools.small_volumes import write_volume

ITEMS = ["a", "b", "c"]
OWN = [
    *(".nocturne/" + name for name in ("replaced", "edited", "staging", "staging-2", "arrived", "requests", "shards")),
    *(".nocturne/tasks", "kept", ".nocturne"),
]
COMMANDS = ["resume", "resume", "overwrite", "forget", "adopt", "undo", "merge", "review", "verify"]
OPTIONS = ["--meshes", "none", "--preview", "none", "--quiet"]
FLAGS, SET_FLAGS, IMMUTABLE = 0x80086601, 0x40086602, 0x10


def set_immutable(path: Path, immutable: bool) -> bool:
    """What chattr +i and -i do; False where it cannot be done."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        flags = struct.unpack("ii", fcntl.ioctl(descriptor, FLAGS, bytes(8)))[0]
        flags = flags | IMMUTABLE if immutable else flags & ~IMMUTABLE
        fcntl.ioctl(descriptor, SET_FLAGS, struct.pack("ii", flags, 0))
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Everything in a folder, links as links: relative path -> mode and bytes."""
    found = {}
    for parent, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(parent, name)
            mode = os.lstat(path).st_mode
            if os.path.islink(path):
                data = os.readlink(path).encode()
            else:
                data = Path(path).read_bytes() if os.path.isfile(path) else b""
            found[os.path.relpath(path, folder)] = (mode, data)
    return found


class Tree:
    """A copy of a batch with what others have put into it."""

    def __init__(self, root: Path, batch: Path, choice: random.Random) -> None:
        self.root, self.out, self.scans, self.choice = root, root / "out", root / "scans", choice
        shutil.copytree(batch, self.out, symlinks=True)
        for name in ITEMS:
            (self.scans / name / "deep").mkdir(parents=True)
            (self.scans / name / "1.dcm").write_bytes(b"scan of " + name.encode())
            (self.scans / name / "deep/result.json").write_bytes(b"{}")
        self.own_link: str | None = None
        self.immutable: list[Path] = []
        # Texts that a person has put, and the item in whose folder they are.
        self.texts: dict[bytes, str] = {}

    def plant(self) -> None:
        """Files, folders and links of others, mostly in the folders of items."""
        choice = self.choice
        for number in range(choice.randint(1, 8)):
            item = choice.choice([*ITEMS, "kept", "mine"])
            folder = self.out / item
            for _ in range(choice.randint(0, 2)):
                folder = folder / choice.choice(["notes", "x", "ä ö", "a"])
            if any(part.is_symlink() or (part.exists() and not part.is_dir()) for part in [folder, *folder.parents]):
                continue
            if any(part in self.immutable for part in [folder, *folder.parents]):
                continue
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / choice.choice([f"note-{number}", "scans", "link", "labels"])
            if path.is_symlink() or path.exists():
                continue
            if choice.random() < 0.5:
                target = self.scans / choice.choice([".", *ITEMS, "a/deep", "nothing"])
                path.symlink_to(target if choice.random() < 0.5 else os.path.relpath(target, folder))
            else:
                text = f"{item} {number} {choice.random()}".encode()
                path.write_bytes(text)
                self.texts[text] = item
            if folder.name in ("notes", "x") and choice.random() < 0.4:
                folder.chmod(0o555)
                if choice.random() < 0.7 and set_immutable(folder, True):
                    self.immutable.append(folder)

    def plant_fixed(self) -> None:
        """A folder of a person with links to the scans that nobody can remove."""
        folder = self.out / self.choice.choice(ITEMS[:2]) / "fixed"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "scans").symlink_to(self.scans)
        (folder / "a").symlink_to(self.scans / "a")
        if set_immutable(folder, True):
            self.immutable.append(folder)

    def plant_own(self) -> None:
        """A link in place of a folder of the batch."""
        self.own_link = self.choice.choice(OWN)
        place = self.out / self.own_link
        if place.is_dir():
            shutil.rmtree(place)
        place.symlink_to(self.scans)

    def release(self) -> None:
        """Lets everything be removed."""
        for parent, _, _ in os.walk(self.root):
            if self.immutable:
                set_immutable(Path(parent), False)
            os.chmod(parent, 0o755)


class Proof:
    def __init__(self, nocturne: str, folder: Path) -> None:
        self.nocturne, self.folder = nocturne, folder
        self.input, self.batch, self.divided = folder / "in", folder / "batch", folder / "divided"
        self.fault: str | None = None
        self.input.mkdir()
        for index, name in enumerate(ITEMS):
            write_volume(self.input / f"{name}.nii", 16 + 2 * index, 1)
        self.expect_success("run", *self.inputs(), "--output", str(self.batch))
        self.expect_success("plan", *self.inputs(), "--output", str(self.divided), "--shards", "2")

    def inputs(self) -> list[str]:
        return [str(self.input), "--model", str(THRESHOLD_MODEL), *OPTIONS[:4]]

    def call(self, *arguments: str, fault: str | None = None) -> subprocess.CompletedProcess[str]:
        self.fault = fault
        environment = {**os.environ, **({"NOCTURNE_FAULT": fault} if fault else {})}
        return subprocess.run(
            [self.nocturne, *arguments, *(["--fault-injection"] if fault else [])],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600 if fault and fault.endswith("+:ENOSPC") else 120,
        )

    def expect_success(self, *arguments: str) -> None:
        done = self.call(*arguments)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(arguments)}: exit {done.returncode}: {done.stderr}")

    def command(self, name: str, tree: Tree) -> subprocess.CompletedProcess[str]:
        out, choice = str(tree.out), tree.choice
        fault = None
        if name in ("resume", "overwrite") and choice.random() < 0.5:
            call, lasts = choice.choice(["examine", "open", "list", "remove"]), choice.choice(["", "+"])
            # A disk that stays full is waited for: minutes until the items have failed.
            code = choice.choice(["EIO", "ENOSPC"]) if not lasts or choice.random() < 0.1 else "EIO"
            fault = f"file.remove@{call}:{choice.randint(1, 6)}{lasts}:{code}"
        match name:
            case "resume":
                # An item whose label map is lost is processed again.
                (tree.out / "a/segmentation.nii.gz").unlink(missing_ok=True)
                return self.call("resume", out, "--quiet", fault=fault)
            case "overwrite":
                inputs = [*self.inputs(), "--quiet", "--probabilities"]
                return self.call("run", *inputs, "--output", out, "--yes", fault=fault)
            case "forget":
                return self.call("forget", out, "--yes", "a", *(["b"] if choice.random() < 0.5 else []))
            case "adopt":
                return self.call("adopt", out, "b", str(self.batch / "b/segmentation.nii.gz"))
            case "undo":
                self.call("adopt", out, "b", str(self.batch / "b/segmentation.nii.gz"))
                return self.call("adopt", out, "b", "--undo")
            case "merge":
                return self.call("merge", out, *(["--close"] if choice.random() < 0.5 else []))
            case _:
                return self.call(name, out)

    def check(self, seed: int, name: str | None) -> tuple[str, int, list[str]]:
        """Runs one command on one tree. Returns the command, its exit code and what is wrong."""
        choice = random.Random(seed)
        name = name or choice.choice(COMMANDS)
        tree = Tree(self.folder / "tree", self.divided if name == "merge" else self.batch, choice)
        if seed % 3 == 0:
            tree.plant_own()
        if seed % 3 == 1:
            tree.plant_fixed()
        tree.plant()
        outside = [tree.scans, self.input, self.batch, self.divided]
        before = [contents(folder) for folder in outside]
        whole = contents(tree.out)
        try:
            done = self.command(name, tree)
            faults = [f"{folder.name} differs" for folder, old in zip(outside, before) if contents(folder) != old]
            after = contents(tree.out)
            if tree.own_link:
                changed = {path for path in whole.keys() | after.keys() if whole.get(path) != after.get(path)}
                changed -= {"a/segmentation.nii.gz", "a"}
                if done.returncode != 2 or changed or tree.own_link not in done.stderr:
                    faults.append(f"{tree.own_link}: exit {done.returncode}, {sorted(changed)}: {done.stderr}")
            else:
                forgotten = {"a", "b", "kept"} if name == "forget" else set()
                files = {data for _, data in after.values()}
                lost = [text for text, item in tree.texts.items() if text not in files and item not in forgotten]
                if lost:
                    faults.append(f"lost: {lost}: {done.stderr}")
                if done.returncode not in (0, 2, 3, 75):
                    faults.append(f"exit {done.returncode}: {done.stderr}")
            return name, done.returncode, faults
        except subprocess.TimeoutExpired as expired:
            return name, -1, [f"no end within {expired.timeout} s, {self.fault}: {expired.stderr!r}"]
        finally:
            tree.release()
            shutil.rmtree(tree.root)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("nocturne")
    parser.add_argument("--trees", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1, help="of the first tree")
    parser.add_argument("--only", choices=sorted(set(COMMANDS)))
    options = parser.parse_args()
    codes: collections.Counter[tuple[str, int]] = collections.Counter()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        proof = Proof(str(Path(options.nocturne).resolve()), Path(folder))
        for seed in range(options.seed, options.seed + options.trees):
            name, code, faults = proof.check(seed, options.only)
            codes[name, code] += 1
            for fault in faults:
                print(f"tree {seed}, {name}: {fault}", flush=True)
            bad += bool(faults)
    print(", ".join(f"{count} × {name} with exit {code}" for (name, code), count in sorted(codes.items())))
    print(f"{options.trees} trees, {bad} with something that is not as it was")
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
