"""A cache of bytes on disk by key: a kernel that one process has compiled need not be compiled by another.

In: a hex digest of everything that a result depends on, and the result's bytes. Out: those bytes, or None. An entry is
a file with a checksum that appears under its name only when complete, so readers need no lock. Nothing here is executed
or unpickled. A failure costs a recompilation, and at most one warning.

    <directory>/<key>.entry     header, key, payload
    <directory>/<key>.lock      held by the process that is making the entry; gone when it is done or dead
    <directory>/*.part          an entry that is being written
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from cutelite_rt import callers, forks
from cutelite_rt.artifact import checksum

_MAGIC = b"cutecach"
_HEADER = struct.Struct("<8sHQ16s")  # magic, bytes of key, bytes of payload, checksum of both
_HEX = frozenset("0123456789abcdef")
_ENTRY, _LOCK, _PART = ".entry", ".lock", ".part"
_ABANDONED_S = 3600.0  # a file still being written after this long belongs to a process that died
_BINARY: int = getattr(os, "O_BINARY", 0)  # Windows would translate line ends
# Symbolic links are not followed, and opening a pipe does not block.
_PLAIN: int = _BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_NO_PLAIN_FILE = (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EISDIR)  # of opening a link, a socket, a directory
_ROOM = 0.9  # eviction goes on until this part of the bound is left
_WRITES_PER_SCAN = 64  # after this many writes the directory is scanned again
DEFAULT_MAX_BYTES = 1 << 30


def default_cache_dir() -> str:
    """Return the directory of this user's cache, where the system has those: on Linux ~/.cache/cutelite."""
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
        return os.path.join(local, "cutelite", "Cache")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Caches/cutelite")
    return os.path.join(os.environ.get("XDG_CACHE_HOME", "").strip() or os.path.expanduser("~/.cache"), "cutelite")


class CacheInfo(NamedTuple):
    """The content of a cache: numbers of files, and bytes of the entries."""

    directory: str
    entries: int
    bytes: int
    max_bytes: int
    unfinished: int  # files being written, or left by a process that died


class CacheEntry(NamedTuple):
    """An entry of a cache: its key, its size in bytes, and when it was last used, in seconds since 1970."""

    key: str
    bytes: int
    used: float


class DiskCache:
    """A cache in `directory`, by default the user's own; made on the first write, readable by its user alone.

    Where the directory's mode lets others use it (`chmod g+rwxs`), new files get the same permissions.
    If entries exceed `max_bytes` in all, those unused longest are evicted. Each process checks this from time to time,
    so for a while a few entries may be too many.
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._must_be_private = directory is None
        self.directory = default_cache_dir() if directory is None else os.fspath(directory)
        self.max_bytes = max_bytes
        self._lock = forks.lock()
        self._writable = True
        self._bytes = 0  # of all entries: at the last scan, plus our own writes since
        self._writes = 0  # since the last scan
        self._trusted: bool | None = None

    # ---- one entry

    def get(self, key: str) -> bytes | None:
        """Return the payload under `key`, or None. An entry that is damaged, cut short or of another key is deleted."""
        path = self._path(key, _ENTRY)
        if not self._is_trusted():
            return None
        try:
            payload = _read(path, key, self.max_bytes, used=True)
        except OSError:
            return None  # not there; or not ours to read, which is no reason to drop it
        if payload is None:
            self._drop(path)
        return payload

    def put(self, key: str, payload: bytes) -> None:
        """Store `payload` under `key`. If the directory cannot be written, warn once and write no more."""
        path = self._path(key, _ENTRY)
        if not self._writable or len(payload) > self.max_bytes:
            return
        try:
            self._make_directory()
            if not self._is_trusted():
                return
            self._write(path, key, payload)
        except OSError as problem:
            self._give_up(f"the kernel cache {self.directory} cannot be written ({problem})")

    def _write(self, path: str, key: str, payload: bytes) -> None:
        part = f"{self.directory}{os.sep}{key[:16]}-{os.urandom(8).hex()}{_PART}"
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
        try:
            with open(descriptor, "wb") as file:
                _share(descriptor, self.directory)
                file.write(_HEADER.pack(_MAGIC, len(key), len(payload), checksum(key.encode() + payload)))
                file.write(key.encode())
                file.write(payload)
                file.flush()
                now = os.fstat(file.fileno()).st_mtime
            _replace(part, path)
        except BaseException:
            with contextlib.suppress(OSError):  # it may have been renamed already, or removed as abandoned
                os.unlink(part)
            raise
        with self._lock:
            self._bytes += len(payload)
            self._writes += 1
            due = self._writes == 1 or self._writes > _WRITES_PER_SCAN or self._bytes > self.max_bytes
        if due:
            self._evict(now)

    def get_or_make(self, key: str, make: Callable[[], bytes], timeout: float = 60.0) -> bytes:
        """Return the payload under `key`; if there is none, store and return the result of `make()`.

        While one process or thread makes it, others that need the same key wait for up to `timeout` seconds, then make
        it themselves. On a file system without locks they make it at once.
        """
        payload = self.get(key)
        if payload is not None:
            return payload
        with self.single_flight(key, timeout):
            payload = self.get(key)
            if payload is None:
                payload = make()
                self.put(key, payload)
        return payload

    @contextlib.contextmanager
    def single_flight(self, key: str, timeout: float = 60.0) -> Iterator[bool]:
        """Hold the lock of `key` inside the `with`; its value says whether the lock was acquired.

        It is not acquired if `timeout` seconds have passed, if another process has written the entry, or if the file
        system has no locks. The operating system frees the lock of a process that dies.
        """
        path, entry = self._path(key, _LOCK), self._path(key, _ENTRY)
        deadline, pause, descriptor = time.monotonic() + timeout, 0.001, None
        with contextlib.suppress(OSError):  # read-only, or a file system without locks: `put` will say so if it matters
            self._make_directory()
            while self._writable and (descriptor := _try_lock(path)) is None:
                if os.path.exists(entry) or time.monotonic() + pause > deadline:
                    break
                time.sleep(pause)
                pause = min(pause * 1.5, 0.05)
        try:
            yield descriptor is not None
        finally:
            if descriptor is not None:
                _release(descriptor, path)

    # ---- the whole cache

    def info(self) -> CacheInfo:
        """Return the numbers of files and bytes in the cache."""
        entries = self._scan(_ENTRY)
        total = sum(status.st_size for _, status in entries)
        return CacheInfo(self.directory, len(entries), total, self.max_bytes, len(self._scan(_PART)))

    def entries(self) -> list[CacheEntry]:
        """Return all entries, the most recently used first."""
        found = sorted(self._scan(_ENTRY), key=lambda each: -each[1].st_mtime)
        return [CacheEntry(os.path.basename(path)[: -len(_ENTRY)], at.st_size, at.st_mtime) for path, at in found]

    def verify(self) -> tuple[int, list[str]]:
        """Read every entry, and delete damaged ones. Return the number of good ones, and the names of those deleted."""
        good, dropped = 0, []
        for path, _ in self._scan(_ENTRY):
            name = os.path.basename(path)
            try:
                payload = _read(path, name.removesuffix(_ENTRY), self.max_bytes)
            except OSError:
                continue  # evicted meanwhile, or not ours to read
            if payload is not None:
                good += 1
                continue
            self._drop(path)
            dropped.append(name)
        return good, dropped

    def clear(self) -> int:
        """Remove all entries, and files left by processes that died; return the number of entries removed."""
        entries = self._scan(_ENTRY)
        for path, _ in entries:
            _unlink(path)
        self._sweep(now=math.inf)
        with self._lock:
            self._bytes = 0
        return len(entries)

    def _evict(self, now: float) -> None:
        """Enforce the bound. `now` is the time by the file system's clock, which may differ from this machine's."""
        self._sweep(now)
        entries = sorted(self._scan(_ENTRY), key=lambda entry: entry[1].st_mtime)
        total = sum(status.st_size for _, status in entries)
        if total > self.max_bytes:
            for path, status in entries:
                _unlink(path)
                total -= status.st_size
                if total <= self.max_bytes * _ROOM:
                    break
        with self._lock:
            self._bytes, self._writes = total, 1

    def _sweep(self, now: float) -> None:
        """Remove files that dead processes have left: parts not written to for an hour, and locks that nobody holds."""
        for path, status in self._scan(_PART):
            if abs(now - status.st_mtime) > _ABANDONED_S:  # a time in the future is wrong too
                _unlink(path)
        for path, _ in self._scan(_LOCK):
            with contextlib.suppress(OSError):  # a lock file that cannot be removed does no harm
                descriptor = _try_lock(path)
                if descriptor is not None:
                    _release(descriptor, path)

    def _scan(self, suffix: str) -> list[tuple[str, os.stat_result]]:
        found = []
        with contextlib.suppress(FileNotFoundError), os.scandir(self.directory) as listing:
            for file in listing:
                if file.name.endswith(suffix):
                    with contextlib.suppress(FileNotFoundError):  # removed by another process since
                        found.append((file.path, file.stat(follow_symlinks=False)))
        return found

    # ---- the directory

    def _path(self, key: str, suffix: str) -> str:
        if not (16 <= len(key) <= 128 and _HEX.issuperset(key)):
            raise ValueError(f"{key!r} is not a cache key: 16 to 128 digits of lower-case hex")
        return f"{self.directory}{os.sep}{key}{suffix}"

    def _make_directory(self) -> None:
        os.makedirs(os.path.dirname(os.path.abspath(self.directory)), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.directory, 0o700)

    def _is_trusted(self) -> bool:
        """Tell whether entries may be used: only this user can have written them, or the caller named the directory."""
        if self._trusted is None:
            if not os.path.exists(self.directory):
                return True  # not made yet
            self._trusted = not self._must_be_private or self.is_private()
            if not self._trusted:
                self._give_up(f"the kernel cache {self.directory} is another user's, or others may write to it")
        return self._trusted

    def is_private(self) -> bool:
        """Tell whether only this user can write to the directory; true if it does not exist, as it is made private."""
        try:
            status = os.stat(self.directory)
        except FileNotFoundError:
            return True
        return sys.platform == "win32" or (status.st_uid == os.getuid() and not status.st_mode & 0o022)

    def _give_up(self, why: str) -> None:
        with self._lock:
            said, self._writable = not self._writable, False
        if not said:
            callers.warn(
                f"{why}; kernels compiled now will be compiled again. CUTELITE_CACHE_DIR can name another folder"
            )

    def _drop(self, path: str) -> None:
        import logging  # takes longer than a hit

        logging.getLogger("cutelite.cache").debug("dropped %s: damaged, cut short, or not an entry of this key", path)
        _unlink(path)


def _read(path: str, key: str, most: int, used: bool = False) -> bytes | None:
    """Return the payload of an entry; None for a file that is damaged, of another key, or above `most` bytes.

    used    set the file's time of use to now
    Errors  OSError where there is no readable file. In a shared directory others may have made any file: links are not
            followed, and opening a pipe does not block
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | _PLAIN)
    except OSError as problem:
        if problem.errno in _NO_PLAIN_FILE:
            return None
        raise
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most + _HEADER.size + len(key):
            return None
        payload = _payload(file.read(status.st_size), key)
        if used and payload is not None:
            with contextlib.suppress(OSError):  # in a read-only cache times of use are not kept
                os.utime(descriptor if os.utime in os.supports_fd else path)
        return payload


def _payload(data: bytes, key: str) -> bytes | None:
    """Return the payload of an entry's file; None unless it is whole and was written under `key`."""
    if len(data) < _HEADER.size:
        return None
    magic, key_bytes, payload_bytes, right = _HEADER.unpack_from(data)
    start = _HEADER.size + key_bytes
    if magic != _MAGIC or data[_HEADER.size : start] != key.encode() or len(data) != start + payload_bytes:
        return None
    payload = data[start:]
    return payload if checksum(key.encode() + payload) == right else None


def _share(descriptor: int, directory: str) -> None:
    """Give a new file the permissions for group and others that its directory has: none by default."""
    allowed = os.stat(directory).st_mode & 0o066
    if allowed and sys.platform != "win32":
        os.fchmod(descriptor, 0o600 | allowed)


def _replace(part: str, path: str) -> None:
    try:
        os.replace(part, path)
    except (FileNotFoundError, IsADirectoryError):
        # Another process removed the part as abandoned, or `path` is a directory: this entry is lost.
        _unlink(part)
    except PermissionError:
        # On Windows a file that is being read cannot be replaced; it has the same contents already.
        if sys.platform != "win32" or not os.path.exists(path):
            raise
        os.unlink(part)


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError, PermissionError, IsADirectoryError):  # gone, or not ours to remove
        os.unlink(path)


if sys.platform == "win32":
    import msvcrt

    def _lock_descriptor(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _unlock_descriptor(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock_descriptor(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock_descriptor(descriptor: int) -> None:
        # closing is not enough: a child that was forked without Python's knowledge has the descriptor too
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _try_lock(path: str) -> int | None:
    """Return a descriptor that holds the lock at `path`; None if another holds it. Errors: OSError without locks."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _PLAIN, 0o600)
        made = True
    except FileExistsError:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _PLAIN, 0o600)
        made = False  # another process made it: its mode is not changed
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a plain file", path)
        _lock_descriptor(descriptor)
        if made:
            _share(descriptor, os.path.dirname(path))
    except (BlockingIOError, PermissionError):
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    # The previous holder may have removed the file after we opened it; a lock on a removed file excludes nobody.
    try:
        still_there = os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        still_there = False
    if still_there:
        return forks.own(descriptor)
    os.close(descriptor)
    return None


def _release(descriptor: int, path: str) -> None:
    """Remove the lock file while still holding it, so that the next holder makes a new one. A forked child has none."""
    if not forks.disown(descriptor):
        return
    with contextlib.suppress(OSError):  # Windows removes no open file; it is reused then
        os.unlink(path)
    with contextlib.suppress(OSError):
        _unlock_descriptor(descriptor)
    os.close(descriptor)
