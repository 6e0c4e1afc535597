"""A client of a simulated network file system, in a process of its own. `nocturne_tools.shared_folder` starts it.

    /usr/bin/python3 shared_client.py BACKING PLACE --control FOLDER [--cache SECONDS] [--delay SECONDS] [--stale SHARE]

Mounts the folder BACKING at PLACE through FUSE. Started twice over one folder, it behaves like two hosts of one share:

- each mount caches attributes, names, missing names and listings, and shows old ones for `--cache` seconds;
- a file that another mount has removed or replaced answers ESTALE; one that this mount has removed can still be used;
- `flock` and POSIX locks hold within one mount only;
- `O_EXCL`, `link` and `rename` are atomic on the folder itself; exchanging two names is not supported.

Every change is a JSON line in `FOLDER/log`, with the monotonic time of its request (`asked`) and of its execution
(`done`). A file `FOLDER/hold` that holds {"operation", "path", "executed"} delays one request until `FOLDER/go` exists: the
next one of that operation whose path matches the regular expression, before or after it is executed.

Needs root, and the Debian package python3-pyfuse3.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import random
import re
import resource
import stat
import time
from dataclasses import dataclass, field
from pathlib import Path

import pyfuse3
import trio

NANOSECONDS = 10**9


@dataclass
class Node:
    """A file or folder that the kernel knows, held by a descriptor, so that its number is not used again."""

    descriptor: int
    lookups: int = 0
    # Removed by this mount, which may continue to use it.
    is_removed_here: bool = False

    @property
    def own_path(self) -> str:
        """A path that leads to the file whatever its name is now."""
        return f"/proc/self/fd/{self.descriptor}"


@dataclass
class Listing:
    """The names in a folder, and when they were read."""

    names: list[bytes]
    time: float


@dataclass
class Troubles:
    """What makes the share a slow or unreliable one."""

    cache: float
    delay: float
    stale: float
    random: random.Random = field(default_factory=random.Random)


class Control:
    """The log of changes, and the requests that are to be held."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = (folder / "log").open("a", buffering=1)

    def write(self, operation: str, path: str, asked: float, **more: object) -> None:
        line = {"operation": operation, "path": path, "asked": asked, "done": time.monotonic(), **more}
        self.log.write(json.dumps(line) + "\n")

    async def hold(self, operation: str, path: str, executed: bool) -> None:
        """Waits if this request is the one to hold."""
        place = self.folder / "hold"
        if not place.exists():
            return
        rule = json.loads(place.read_text())
        if (rule["operation"], rule["executed"]) != (operation, executed) or not re.search(rule["path"], path):
            return
        place.unlink()
        self.write("held", path, time.monotonic())
        while not (self.folder / "go").exists():
            await trio.sleep(0.02)
        (self.folder / "go").unlink()


def translated(error: OSError) -> pyfuse3.FUSEError:
    return pyfuse3.FUSEError(error.errno or errno.EIO)


class Client(pyfuse3.Operations):
    """The requests of one mount."""

    supports_dot_lookup = False

    def __init__(self, backing: Path, troubles: Troubles, control: Control) -> None:
        super().__init__()
        self.backing, self.troubles, self.control = str(backing), troubles, control
        root = os.open(backing, os.O_PATH | os.O_DIRECTORY)
        self.root_number = os.fstat(root).st_ino
        self.nodes = {pyfuse3.ROOT_INODE: Node(root, lookups=1)}
        self.listings: dict[int, Listing] = {}
        self.folders: dict[int, tuple[int, list[bytes]]] = {}
        self.last_folder = 0
        # Open descriptor -> node.
        self.files: dict[int, int] = {}

    # Nodes

    def number(self, status: os.stat_result) -> int:
        return pyfuse3.ROOT_INODE if status.st_ino == self.root_number else status.st_ino

    def enter(self, parent: int, name: bytes) -> int:
        """The node of a name, as the folder has it now. It counts as looked up once more."""
        descriptor = os.open(name, os.O_PATH | os.O_NOFOLLOW, dir_fd=self.nodes[parent].descriptor)
        number = self.number(os.fstat(descriptor))
        if number in self.nodes:
            os.close(descriptor)
        else:
            self.nodes[number] = Node(descriptor)
        self.nodes[number].lookups += 1
        return number

    def path(self, number: int, name: bytes = b"") -> str:
        """Where a node is now, or a name in it, from the root of the share. For the log."""
        place = os.readlink(self.nodes[number].own_path)
        relative = place.removeprefix(self.backing).lstrip("/")
        return os.path.join(relative, os.fsdecode(name)) if name else relative

    async def reach(self, number: int, again: bool = False) -> Node:
        """The node, after the delay of the network: ESTALE when another mount has removed the file.

        `again` is for requests of which some get this answer without a reason. The kernel repeats them once when they
        come from a name; when they come from an open file, the program gets the error.
        """
        troubles = self.troubles
        if troubles.delay:
            await trio.sleep(troubles.random.expovariate(1 / troubles.delay))
        node = self.nodes[number]
        is_gone = os.fstat(node.descriptor).st_nlink == 0 and not node.is_removed_here
        if is_gone or again and troubles.random.random() < troubles.stale:
            self.control.write("stale", self.path(number), time.monotonic(), gone=is_gone)
            raise pyfuse3.FUSEError(errno.ESTALE)
        return node

    def attributes(self, number: int) -> pyfuse3.EntryAttributes:
        status = os.fstat(self.nodes[number].descriptor)
        entry = pyfuse3.EntryAttributes()
        for name in (
            *("st_mode", "st_nlink", "st_uid", "st_gid", "st_rdev", "st_size"),
            *("st_atime_ns", "st_mtime_ns", "st_ctime_ns", "st_blksize", "st_blocks"),
        ):
            setattr(entry, name, getattr(status, name))
        entry.st_ino = number
        entry.generation = 0
        entry.entry_timeout = entry.attr_timeout = self.troubles.cache
        return entry

    def changed(self, *folders: int) -> None:
        """This mount sees its own changes at once."""
        for number in folders:
            self.listings.pop(number, None)

    def removes(self, parent: int, name: bytes) -> None:
        """A name is about to lose its file through this mount."""
        try:
            status = os.stat(name, dir_fd=self.nodes[parent].descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return
        if node := self.nodes.get(self.number(status)):
            node.is_removed_here = True

    # Names

    async def lookup(self, parent, name, ctx=None):
        await self.reach(parent)
        try:
            return self.attributes(self.enter(parent, name))
        except FileNotFoundError:
            missing = pyfuse3.EntryAttributes()
            missing.st_ino = 0
            missing.entry_timeout = self.troubles.cache
            return missing
        except OSError as error:
            raise translated(error) from None

    async def forget(self, inode_list):
        for number, count in inode_list:
            node = self.nodes[number]
            node.lookups -= count
            if node.lookups <= 0 and number != pyfuse3.ROOT_INODE:
                os.close(node.descriptor)
                del self.nodes[number]
                self.listings.pop(number, None)

    async def change(self, operation, parent, name, perform, *others):
        """Performs a change of a name, holds it if that is wanted, and logs it."""
        asked = time.monotonic()
        folder = await self.reach(parent)
        path = self.path(parent, name)
        await self.control.hold(operation, path, executed=False)
        try:
            result = perform(folder.descriptor)
        except OSError as error:
            raise translated(error) from None
        self.changed(parent, *others)
        self.control.write(operation, path, asked)
        await self.control.hold(operation, path, executed=True)
        return result

    async def create(self, parent, name, mode, flags, ctx):
        kept = flags & ~(os.O_APPEND | os.O_NOFOLLOW | os.O_DIRECT)
        handle = await self.change(
            "create", parent, name, lambda folder: os.open(name, kept | os.O_CREAT, mode & ~ctx.umask, dir_fd=folder)
        )
        number = self.enter(parent, name)
        self.files[handle] = number
        return pyfuse3.FileInfo(fh=handle), self.attributes(number)

    async def mknod(self, parent, name, mode, rdev, ctx):
        if not stat.S_ISREG(mode):
            raise pyfuse3.FUSEError(errno.EOPNOTSUPP)
        await self.change("create", parent, name, lambda folder: os.mknod(name, mode & ~ctx.umask, dir_fd=folder))
        return self.attributes(self.enter(parent, name))

    async def mkdir(self, parent, name, mode, ctx):
        await self.change("mkdir", parent, name, lambda folder: os.mkdir(name, mode & ~ctx.umask, dir_fd=folder))
        return self.attributes(self.enter(parent, name))

    async def symlink(self, parent, name, target, ctx):
        await self.change("symlink", parent, name, lambda folder: os.symlink(target, name, dir_fd=folder))
        return self.attributes(self.enter(parent, name))

    async def link(self, inode, new_parent, new_name, ctx):
        source = (await self.reach(inode)).own_path
        await self.change("link", new_parent, new_name, lambda folder: os.link(source, new_name, dst_dir_fd=folder))
        return self.attributes(self.enter(new_parent, new_name))

    async def unlink(self, parent, name, ctx):
        def perform(folder: int) -> None:
            self.removes(parent, name)
            os.unlink(name, dir_fd=folder)

        await self.change("unlink", parent, name, perform)

    async def rmdir(self, parent, name, ctx):
        def perform(folder: int) -> None:
            self.removes(parent, name)
            os.rmdir(name, dir_fd=folder)

        await self.change("rmdir", parent, name, perform)

    async def rename(self, old_parent, old_name, new_parent, new_name, flags, ctx):
        if flags:
            raise pyfuse3.FUSEError(errno.EINVAL)
        source = (await self.reach(old_parent)).descriptor

        def perform(folder: int) -> None:
            self.removes(new_parent, new_name)
            os.rename(old_name, new_name, src_dir_fd=source, dst_dir_fd=folder)

        await self.change("rename", new_parent, new_name, perform, old_parent)

    async def readlink(self, inode, ctx):
        node = await self.reach(inode)
        return os.fsencode(os.readlink(b"", dir_fd=node.descriptor))

    # Attributes

    async def getattr(self, inode, ctx=None):
        await self.reach(inode, again=True)
        return self.attributes(inode)

    async def setattr(self, inode, attr, fields, fh, ctx):
        asked = time.monotonic()
        place = (await self.reach(inode)).own_path
        path = self.path(inode)
        operation = "truncate" if fields.update_size else "attributes"
        await self.control.hold(operation, path, executed=False)
        try:
            if fields.update_size:
                os.truncate(place, attr.st_size)
            if fields.update_mode:
                os.chmod(place, stat.S_IMODE(attr.st_mode))
            if fields.update_uid or fields.update_gid:
                owner = attr.st_uid if fields.update_uid else -1
                os.chown(place, owner, attr.st_gid if fields.update_gid else -1)
            if fields.update_atime or fields.update_mtime:
                self.set_times(place, attr, fields)
        except OSError as error:
            raise translated(error) from None
        self.control.write(operation, path, asked)
        return self.attributes(inode)

    @staticmethod
    def set_times(place: str, attr: pyfuse3.EntryAttributes, fields: pyfuse3.SetattrFields) -> None:
        status = os.stat(place)
        accessed = attr.st_atime_ns if fields.update_atime else status.st_atime_ns
        os.utime(place, ns=(accessed, attr.st_mtime_ns if fields.update_mtime else status.st_mtime_ns))

    async def statfs(self, ctx):
        found = os.statvfs(self.backing)
        answer = pyfuse3.StatvfsData()
        for name in ("f_bsize", "f_frsize", "f_blocks", "f_bfree", "f_bavail", "f_files", "f_ffree", "f_favail"):
            setattr(answer, name, getattr(found, name))
        answer.f_namemax = 255
        return answer

    async def access(self, inode, mode, ctx):
        await self.reach(inode)
        return True

    # Files

    async def open(self, inode, flags, ctx):
        node = await self.reach(inode, again=True)
        kept = flags & ~(os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_DIRECT)
        try:
            handle = os.open(node.own_path, kept)
        except OSError as error:
            raise translated(error) from None
        if flags & os.O_ACCMODE != os.O_RDONLY:
            self.control.write("open", self.path(inode), time.monotonic())
        self.files[handle] = inode
        return pyfuse3.FileInfo(fh=handle)

    async def read(self, fh, off, size):
        await self.reach(self.files[fh])
        try:
            return os.pread(fh, size, off)
        except OSError as error:
            raise translated(error) from None

    async def write(self, fh, off, buf):
        asked = time.monotonic()
        number = self.files[fh]
        await self.reach(number)
        path = self.path(number)
        await self.control.hold("write", path, executed=False)
        # It may have been removed meanwhile.
        await self.reach(number)
        try:
            count = os.pwrite(fh, buf, off)
        except OSError as error:
            raise translated(error) from None
        self.control.write("write", path, asked, offset=off, bytes=count)
        await self.control.hold("write", path, executed=True)
        return count

    async def flush(self, fh):
        pass

    async def fsync(self, fh, datasync):
        await self.reach(self.files[fh])

    async def release(self, fh):
        del self.files[fh]
        os.close(fh)

    # Folders

    async def opendir(self, inode, ctx):
        await self.reach(inode, again=True)
        listing = self.listings.get(inode)
        if listing is None or time.monotonic() - listing.time >= self.troubles.cache:
            names = sorted(map(os.fsencode, os.listdir(self.nodes[inode].own_path)))
            listing = self.listings[inode] = Listing(names, time.monotonic())
        self.last_folder += 1
        self.folders[self.last_folder] = (inode, listing.names)
        return self.last_folder

    async def readdir(self, fh, start_id, token):
        parent, names = self.folders[fh]
        for index, name in enumerate(names[start_id:], start_id):
            try:
                number = self.enter(parent, name)
            except FileNotFoundError:
                continue
            if not pyfuse3.readdir_reply(token, name, self.attributes(number), index + 1):
                await self.forget([(number, 1)])
                return

    async def releasedir(self, fh):
        del self.folders[fh]

    async def fsyncdir(self, fh, datasync):
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("backing", type=Path)
    parser.add_argument("place", type=Path)
    parser.add_argument("--control", type=Path, required=True)
    parser.add_argument("--cache", type=float, default=3, help="seconds for which old attributes and names are shown")
    parser.add_argument("--delay", type=float, default=0, help="mean seconds of a request")
    parser.add_argument("--stale", type=float, default=0, help="share of lookups that answer ESTALE without a reason")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    troubles = Troubles(given.cache, given.delay, given.stale, random.Random(given.seed))
    client = Client(given.backing.resolve(), troubles, Control(given.control))
    options = {*pyfuse3.default_options, "fsname=shared", "allow_other"} - {"default_permissions"}
    pyfuse3.init(client, str(given.place), options)
    try:
        trio.run(pyfuse3.main)
    finally:
        pyfuse3.close(unmount=True)


if __name__ == "__main__":
    main()
