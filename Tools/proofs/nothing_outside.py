#!/usr/bin/env python3
"""Runs commands on output folders full of links, and checks that every byte outside of the batch stays where it is.

    Tools/proofs/nothing_outside.py NOCTURNE [--trees 400] [--seed 1] [--only forget]

Each tree is a copy of a small finished batch, or of a divided one, in which a person or an attacker has put something:
folders and files in the folders of items, links to the scans, folders without permissions or with the attribute of
`chattr +i`, and, in every third tree, a link in place of a folder of the batch itself (`.nocturne/replaced`, `edited`,
`staging`, `kept` and so on). In every fifth tree somebody has put a file of another kind in the place of a record: a link to
the scans, a folder, a pipe, bytes by chance or a request to any run; in every seventh tree a name in the journal leads to
the scans. Then one command runs: resume of an item whose label map
is lost, run with another option, forget, adopt, merge, review, verify, pause, continue, first, titles, retry; half of the
runs with an injected error of a removal. Afterwards

- the inputs and a folder of scans with the same names as the items are as they were, to the byte;
- what a person has put is there with its bytes, in its place or in `kept`, unless the item was forgotten;
- a batch with a link in place of one of its folders was refused, and nothing in it has changed;
- no command crashed, whatever the records held;
- the command has ended within two minutes, or ten where the disk stays full.

As root, or without immutable folders. Exit code 1 when anything differs.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import fcntl
import os
import random
import shutil
import sqlite3
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
    *(".nocturne/tasks", ".nocturne/times", "kept", ".nocturne"),
]
# Files and folders that the program reads and writes, in whose place anything may lie.
RECORDS = [
    *("batch.json", "events.jsonl", "index.html", "measurements.csv", "statistics.csv", "retry.txt", "review", "review/data"),
    *("radiomics.csv", "contact-sheet.pdf", "a/result.json", "a/run.json", "a/preview.png", "b/segmentation.nii.gz"),
    *(".nocturne/" + name for name in ("lock", "claim.1", "claim.2", "times", "times/x", "requests/0.json", "staging/a")),
    *(".nocturne/shards/" + name for name in ("1", "1/journal.sqlite", "1/lock", "1/staging", "2/requests", "2/replaced")),
    *(".nocturne/journal.sqlite" + ending for ending in ("", "-wal", "-shm", "-journal")),
]
COMMANDS = [
    *("resume", "resume", "overwrite", "forget", "adopt", "undo", "merge", "review", "verify", "verify-part"),
    *("pause", "continue", "approve", "first", "titles", "retry"),
]
# A file next to the journal, by which SQLite would remove another one: see `write_rollback`.
ROLLBACK = "rollback journal"
# What an attacker may write into a journal: each leads to the scans from where it is used.
CHANGES = [
    "INSERT OR REPLACE INTO setting VALUES ('stagingFolder', '../../scans')",
    """INSERT OR REPLACE INTO setting VALUES ('unfinishedRemoval', '{"marks":[],"names":["../scans"]}')""",
    "UPDATE item SET name = '../scans' WHERE name = 'a'",
    ROLLBACK,
    "UPDATE resultFile SET path = '../../scans/a/1.dcm'",
    "INSERT INTO edit VALUES ('../../../scans', '', 'a.nii.gz', '', '')",
    "INSERT OR REPLACE INTO setting VALUES ('firstItems', '[\"../scans\",\"b\"]')",
    """INSERT OR REPLACE INTO setting VALUES ('verifiedParts', '{"count":1000000000000,"times":{}}')""",
    """INSERT OR REPLACE INTO setting VALUES ('pause', '{"since":0,"until":-9223372036854775808,"releasesMemory":true,"awaitsApproval":true}')""",
    """INSERT OR REPLACE INTO setting VALUES ('pilot', '{"count":-9223372036854775808,"completedBefore":9,"isApproved":false}')""",
]
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


def write_rollback(database: Path, victim: Path) -> None:
    """A rollback journal of a transaction over several databases, whose record SQLite removes afterwards: here the victim."""
    magic, name = bytes.fromhex("d9d505f920a163d7"), os.fsencode(victim)
    page = struct.unpack(">H", database.read_bytes()[16:18])[0]
    header = magic + struct.pack(">5I", 0, 0, database.stat().st_size // page, 512, page)
    end = struct.pack(">I", (1 << 30) // page + 1) + name + struct.pack(">2I", len(name), sum(name)) + magic
    database.with_name(database.name + "-journal").write_bytes(header.ljust(512, b"\0") + end)


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
        self.record = ""
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

    def plant_record(self) -> None:
        """A link, a folder, a pipe or bytes by chance in place of a file that the program reads or writes."""
        place = self.out / self.choice.choice(RECORDS)
        place.parent.mkdir(parents=True, exist_ok=True)
        data = place.read_bytes() if place.is_file() else b""
        if place.is_dir():
            shutil.rmtree(place)
        place.unlink(missing_ok=True)
        kind = self.choice.choice(["link", "link", "folder link", "copy", "folder", "pipe", "bytes", "request"])
        self.record = f"{place.relative_to(self.out)}: {kind}"
        match kind:
            case "link":
                place.symlink_to(self.scans / self.choice.choice(["a/1.dcm", "b/1.dcm", "nothing"]))
            case "folder link":
                place.symlink_to(self.scans)
            case "copy":
                # The right bytes, at a place of which a person would not expect that it is written.
                (self.scans / "copy").write_bytes(data)
                place.symlink_to(self.scans / "copy")
            case "folder":
                place.mkdir()
                (place / "scans").symlink_to(self.scans)
            case "pipe":
                os.mkfifo(place)
            case "bytes":
                changed = bytearray(data or self.choice.randbytes(300))
                for _ in range(self.choice.randint(1, 20)):
                    changed[self.choice.randrange(len(changed))] = self.choice.randrange(256)
                place.write_bytes(changed[: self.choice.randint(0, len(changed))])
            case "request":
                place.write_text('{"run":"","action":{"putFirst":{"_0":["../../scans","a"]}}}')

    def change_journal(self) -> None:
        """A name in the journal that leads elsewhere, or a number out of range."""
        change = self.choice.choice(CHANGES)
        self.record = f"journal: {change}"
        path = self.out / ".nocturne/journal.sqlite"
        if change == ROLLBACK:
            return write_rollback(path, self.scans / "a/1.dcm")
        with contextlib.closing(sqlite3.connect(path)) as journal, journal:
            journal.execute(change)

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
                return self.call("review", "adopt", out, "b", str(self.batch / "b/segmentation.nii.gz"))
            case "undo":
                self.call("review", "adopt", out, "b", str(self.batch / "b/segmentation.nii.gz"))
                return self.call("review", "adopt", out, "b", "--undo")
            case "merge":
                return self.call("merge", out, *(["--close"] if choice.random() < 0.5 else []))
            case "verify-part":
                return self.call("verify", out, "--part", f"{choice.randint(1, 3)}/3", "--sources")
            case "pause":
                return self.call("pause", out, "--for", "1h", *(["--release-memory"] if choice.random() < 0.5 else []))
            case "first":
                self.call("first", out, "b", choice.choice(["a", "../a", "scans", "nothing"]))
                return self.call("resume", out, "--quiet")
            case "titles":
                return self.call("review", "titles", out)
            case "retry":
                return self.call("resume", out, "--failed")
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
        is_damaged = seed % 5 == 2 and not tree.own_link
        if is_damaged:
            tree.plant_record()
        elif seed % 7 == 3 and not tree.own_link:
            tree.change_journal()
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
                # A file that cannot be read or replaced is named.
                is_named = bool(tree.record) and tree.record.split(":")[0] in done.stderr
                if done.returncode not in (0, 2, 3, 75) and not (done.returncode == 1 and is_named):
                    faults.append(f"exit {done.returncode}: {done.stderr}")
            return name, done.returncode, [f"{text} ({tree.record})" for text in faults]
        except subprocess.TimeoutExpired as expired:
            # A run of a batch whose pilot nobody has approved, as its journal states, waits for a person.
            faults = [] if "'pilot'" in tree.record else [f"no end within {expired.timeout} s, {self.fault}: {expired.stderr!r}"]
            faults += [f"{folder.name} differs" for folder, old in zip(outside, before) if contents(folder) != old]
            return name, -1, faults
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
            if (seed - options.seed) % 100 == 99:
                print(f"{seed - options.seed + 1} trees, {bad} bad", flush=True)
    print(", ".join(f"{count} × {name} with exit {code}" for (name, code), count in sorted(codes.items())))
    print(f"{options.trees} trees, {bad} with something that is not as it was")
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
