"""A folder served through FUSE that is slow, fails or hangs on purpose, like an overloaded or unreachable file server.

The kernel's protocol is implemented directly on /dev/fuse, so that only Python and root are needed. A folder and those in it
can be read, and nothing else. `Share.troubles` gives the trouble by the name of a file or folder: a number of seconds that each
read waits, an error such as "EIO", or "hang" until the trouble is removed. With "gone" not even its attributes are answered.
As with NFS, a process that is killed is not held back: its requests are interrupted. A FUSE server that ignores that keeps the
killed process until it answers, whatever the process does.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import struct
import threading
import time
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE = 1, 2, 3, 14, 15, 17, 18
FLUSH, INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS, INTERRUPT, DESTROY, BATCH_FORGET = 25, 26, 27, 28, 29, 34, 36, 38, 42
MAY_WAIT = {LOOKUP, GETATTR, READ, READDIR}
PARALLEL_DIROPS = 1 << 18
NEEDS_NO_ANSWER = {FORGET, BATCH_FORGET, INTERRUPT, DESTROY}


class Share:
    """Serves `source` at `place` from threads of this process until it is closed."""

    def __init__(self, source: Path, place: Path) -> None:
        self.source, self.place = source, place
        self.troubles: dict[str, float | str] = {}
        self.reads = 0
        self.names: list[str] = []
        self.interrupted: set[int] = set()
        self.lock = threading.Lock()
        place.mkdir(exist_ok=True)
        self.device = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.device},rootmode=40755,user_id=0,group_id=0,allow_other".encode()
        if LIBC.mount(b"share", bytes(place), b"fuse.share", 0, options) != 0:
            code = ctypes.get_errno()
            os.close(self.device)
            raise OSError(code, os.strerror(code))
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self.troubles = {}
        LIBC.umount2(bytes(self.place), 2)  # lazily
        with contextlib.suppress(OSError):
            os.close(self.device)

    def __enter__(self) -> Share:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _serve(self) -> None:
        while True:
            try:
                request = os.read(self.device, 1 << 18)
            except OSError as error:
                if error.errno in (errno.EINTR, errno.EAGAIN, errno.ENOENT):
                    continue
                return
            _, operation, unique, node = struct.unpack_from("<IIQQ", request)
            if operation == INTERRUPT:
                self.interrupted.add(struct.unpack_from("<Q", request, 40)[0])
            if operation in NEEDS_NO_ANSWER:
                continue
            if operation in MAY_WAIT:  # and must not delay the other requests
                threading.Thread(target=self._answer, args=(operation, unique, node, request[40:]), daemon=True).start()
            else:
                self._answer(operation, unique, node, request[40:])

    def _answer(self, operation: int, unique: int, node: int, body: bytes) -> None:
        try:
            code, payload = 0, self._do(operation, unique, node, body)
        except OSError as error:
            code, payload = error.errno or errno.EIO, b""
        with contextlib.suppress(OSError):
            os.write(self.device, struct.pack("<IiQ", 16 + len(payload), -code, unique) + payload)

    def _path(self, node: int) -> Path:
        return self.source if node == 1 else self.source / self.names[node - 2]

    def _node(self, path: Path) -> int:
        name = str(path.relative_to(self.source))
        with self.lock:
            if name not in self.names:
                self.names.append(name)
            return self.names.index(name) + 2

    def _attributes(self, node: int) -> bytes:
        status = self._path(node).stat()
        nano = [value % 10**9 for value in (status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns)]
        whole = [value // 10**9 for value in (status.st_atime_ns, status.st_mtime_ns, status.st_ctime_ns)]
        return struct.pack(
            "<6Q10I", node, status.st_size, -(-status.st_size // 512), *whole, *nano,
            status.st_mode, 1, status.st_uid, status.st_gid, 0, 4096, 0,
        )

    def _wait(self, unique: int, path: Path, *troubles: str) -> None:
        while self.troubles.get(path.name) in troubles:
            if unique in self.interrupted:
                raise OSError(errno.EINTR, "")
            time.sleep(0.05)

    def _do(self, operation: int, unique: int, node: int, body: bytes) -> bytes:
        if operation == INIT:
            readahead = struct.unpack_from("<I", body, 8)[0]
            return struct.pack("<IIIIHHIIHHI7I", 7, 31, readahead, 1 | PARALLEL_DIROPS, 16, 12, 1 << 17, 1, 0, 0, 0, *[0] * 7)
        if operation == LOOKUP:
            path = self._path(node) / body.split(b"\0")[0].decode()
            self._wait(unique, path, "gone")
            path.stat()
            found = self._node(path)
            return struct.pack("<QQQQII", found, 0, 0, 0, 0, 0) + self._attributes(found)
        if operation == GETATTR:
            self._wait(unique, self._path(node), "gone")
            return struct.pack("<QII", 0, 0, 0) + self._attributes(node)
        if operation in (OPEN, OPENDIR):
            return struct.pack("<QII", 0, 0, 0)
        if operation in (RELEASE, RELEASEDIR, FLUSH, ACCESS):
            return b""
        if operation == STATFS:
            return struct.pack("<5Q4I6I", 1 << 20, 1 << 19, 1 << 19, 1000, 500, 4096, 255, 4096, 0, *[0] * 6)
        if operation == READDIR:
            self._wait(unique, self._path(node), "gone", "hang")
            return self._list(self._path(node), *struct.unpack_from("<QQI", body)[1:])
        if operation == READ:
            return self._read(unique, node, *struct.unpack_from("<QQI", body)[1:])
        raise OSError(errno.ENOSYS, "")

    def _list(self, folder: Path, offset: int, size: int) -> bytes:
        answer = b""
        for index, path in enumerate(sorted(folder.iterdir())):
            name = path.name.encode()
            kind = (stat.S_IFDIR if path.is_dir() else stat.S_IFREG) >> 12
            entry = struct.pack("<QQII", self._node(path), index + 1, len(name), kind) + name
            entry += bytes(-len(entry) % 8)
            if index >= offset:
                if len(answer) + len(entry) > size:
                    break
                answer += entry
        return answer

    def _read(self, unique: int, node: int, offset: int, size: int) -> bytes:
        name = self._path(node).name
        self.reads += 1
        self._wait(unique, self._path(node), "gone", "hang")
        trouble = self.troubles.get(name)
        if isinstance(trouble, str):
            raise OSError(getattr(errno, trouble), "")
        if trouble:
            time.sleep(trouble)
        with self._path(node).open("rb") as file:
            file.seek(offset)
            return file.read(size)
