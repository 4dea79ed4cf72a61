"""Bytes on disk under a key: what was compiled once need not be compiled again, by any process.

In: a hex key over everything that went into a result, and the result's bytes. Out: those bytes, or None. An entry is
one file, written whole and checksummed, so a reader sees all of it or a miss; no lock is needed for that. Nothing
here is executed or unpickled. Whatever goes wrong costs a recompilation, and at most one warning.

    <directory>/<key>.entry     header, key, payload
    <directory>/<key>.lock      held by the process that is making the entry; gone when it is done or dead
    <directory>/*.part          being written
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

_MAGIC = b"cutecach"
_HEADER = struct.Struct("<8sHQ16s")  # magic, bytes of key, bytes of payload, checksum of both
_HEX = frozenset("0123456789abcdef")
_ENTRY, _LOCK, _PART = ".entry", ".lock", ".part"
_ABANDONED_S = 3600.0  # a file still being written after this long belongs to a process that died
_BINARY: int = getattr(os, "O_BINARY", 0)  # Windows would translate line ends
# Of links and pipes nothing is opened.
_PLAIN: int = _BINARY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_NO_PLAIN_FILE = (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.EISDIR)  # of opening a link, a socket, a directory
_ROOM = 0.9  # of the bound, what eviction leaves
_WRITES_PER_SCAN = 64  # after this many writes of this process, look at what others have added
DEFAULT_MAX_BYTES = 1 << 30


def default_cache_dir() -> str:
    """Return where this system keeps a user's caches: ~/.cache/cutelite on Linux."""
    import platformdirs  # 10 ms, and only those who name no directory need it

    return platformdirs.user_cache_dir("cutelite", appauthor=False)


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
    """A cache in `directory`, by default the user's own; made there on the first write, readable by its user alone.

    A directory that others may use as well (`chmod g+rwxs`) is shared: a file is for those whom it is for.
    Entries beyond `max_bytes` in all are evicted, those unused longest first; each process looks from time to time,
    so the bound can be passed by a few entries for a while.
    """

    def __init__(self, directory: str | os.PathLike[str] | None = None, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._must_be_private = directory is None
        self.directory = default_cache_dir() if directory is None else os.fspath(directory)
        self.max_bytes = max_bytes
        self._lock = forks.lock()
        self._writable = True
        self._bytes = 0  # in all, as of the last scan and our own writes since
        self._writes = 0  # since the last scan
        self._trusted: bool | None = None

    # ---- one entry

    def get(self, key: str) -> bytes | None:
        """The payload under `key`, or None. An entry that is damaged, cut short or another's is dropped."""
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
        """Keep `payload` under `key`. Where the directory cannot be written, warn once and go on without."""
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
                file.write(_HEADER.pack(_MAGIC, len(key), len(payload), _checksum(key, payload)))
                file.write(key.encode())
                file.write(payload)
                file.flush()
                now = os.fstat(file.fileno()).st_mtime
            _replace(part, path)
        except BaseException:
            with contextlib.suppress(OSError):  # it may be renamed already, or cleaned away as abandoned
                os.unlink(part)
            raise
        with self._lock:
            self._bytes += len(payload)
            self._writes += 1
            due = self._writes == 1 or self._writes > _WRITES_PER_SCAN or self._bytes > self.max_bytes
        if due:
            self._evict(now)

    def get_or_make(self, key: str, make: Callable[[], bytes], timeout: float = 60.0) -> bytes:
        """The payload under `key`, from `make()` where there is none yet.

        While one process or thread makes it, others that want the same wait up to `timeout` seconds, and make it
        themselves after that; so also where the directory has no locks.
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
        """Hold the lock of `key` inside the `with`; gives whether it could be had.

        It could not after `timeout` seconds, or as soon as someone else has written the entry, or where there are
        no locks. The operating system frees the lock of a process that dies.
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
        """Return how much there is."""
        entries = self._scan(_ENTRY)
        total = sum(status.st_size for _, status in entries)
        return CacheInfo(self.directory, len(entries), total, self.max_bytes, len(self._scan(_PART)))

    def entries(self) -> list[CacheEntry]:
        """Return every entry, those used last first."""
        found = sorted(self._scan(_ENTRY), key=lambda each: -each[1].st_mtime)
        return [CacheEntry(os.path.basename(path)[: -len(_ENTRY)], at.st_size, at.st_mtime) for path, at in found]

    def verify(self) -> tuple[int, list[str]]:
        """Read every entry; drop the bad ones. Gives the number of good ones, and the names of those dropped."""
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
        """Remove every entry and what dead processes left; gives the number of entries removed."""
        entries = self._scan(_ENTRY)
        for path, _ in entries:
            _unlink(path)
        self._sweep(now=math.inf)
        with self._lock:
            self._bytes = 0
        return len(entries)

    def _evict(self, now: float) -> None:
        """Keep the bound. `now` is the time by the file system's own clock: this machine's may be another one."""
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
        """Remove what dead processes have left: files written to an hour ago or more, and locks that nobody holds."""
        for path, status in self._scan(_PART):
            if abs(now - status.st_mtime) > _ABANDONED_S:  # from the future is as wrong as from the past
                _unlink(path)
        for path, _ in self._scan(_LOCK):
            with contextlib.suppress(OSError):  # where it cannot be removed it is in nobody's way
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
        """Tell whether only this user can have put entries there. A directory that the caller named is trusted."""
        if self._trusted is None:
            if not os.path.exists(self.directory):
                return True  # not made yet
            self._trusted = not self._must_be_private or self.is_private()
            if not self._trusted:
                self._give_up(f"the kernel cache {self.directory} is another user's, or others may write to it")
        return self._trusted

    def is_private(self) -> bool:
        """Tell whether only this user can have put entries there, or will: it is made for this user alone."""
        try:
            status = os.stat(self.directory)
        except FileNotFoundError:
            return True
        return sys.platform == "win32" or (status.st_uid == os.getuid() and not status.st_mode & 0o022)

    def _give_up(self, why: str) -> None:
        with self._lock:
            said, self._writable = not self._writable, False
        if not said:
            callers.warn(f"{why}; kernels compiled now will be compiled again")

    def _drop(self, path: str) -> None:
        import logging  # costs more than a hit does

        logging.getLogger("cutelite.cache").debug("dropped %s: damaged, cut short, or not an entry of this key", path)
        _unlink(path)


def _read(path: str, key: str, most: int, used: bool = False) -> bytes | None:
    """The payload of an entry, or None for a file that is none: damaged, of another key, above `most` bytes.

    used    note in the file that it was used now
    Errors  OSError where there is no file that may be read. Others may have put there what they like: links are not
            followed, and what is no plain file is not waited for
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
            with contextlib.suppress(OSError):  # a cache that may only be read keeps no order of use
                os.utime(descriptor if os.utime in os.supports_fd else path)
        return payload


def _checksum(key: str, payload: bytes) -> bytes:
    from _blake2 import blake2b  # hashlib's own, without the OpenSSL that it loads for others

    state = blake2b(key.encode(), digest_size=16)
    state.update(payload)
    return state.digest()


def _payload(data: bytes, key: str) -> bytes | None:
    """Return the payload of an entry's file; None unless it is whole and was written under `key`."""
    if len(data) < _HEADER.size:
        return None
    magic, key_bytes, payload_bytes, checksum = _HEADER.unpack_from(data)
    start = _HEADER.size + key_bytes
    if magic != _MAGIC or data[_HEADER.size : start] != key.encode() or len(data) != start + payload_bytes:
        return None
    payload = data[start:]
    return payload if _checksum(key, payload) == checksum else None


def _share(descriptor: int, directory: str) -> None:
    """Let those use a new file who may use the directory it is in: nobody else, unless its owner has opened it."""
    allowed = os.stat(directory).st_mode & 0o066
    if allowed and sys.platform != "win32":
        os.fchmod(descriptor, 0o600 | allowed)


def _replace(part: str, path: str) -> None:
    try:
        os.replace(part, path)
    except (FileNotFoundError, IsADirectoryError):
        # Swept away by a process whose clock is far ahead, or a directory is in the way: this entry is lost.
        _unlink(part)
    except PermissionError:
        # On Windows a file that someone reads cannot be replaced: then it has the same contents already.
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
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # said aloud, since a forked child has the descriptor too


def _try_lock(path: str) -> int | None:
    """A descriptor that holds the lock at `path`, or None where another holds it. Errors: OSError, no locks here."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _PLAIN, 0o600)
        made = True
    except FileExistsError:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _PLAIN, 0o600)
        made = False  # by whom, is not known: its modes are left alone
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
    # The holder before may have removed the file after we opened it: a lock on a removed file excludes nobody.
    try:
        still_there = os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        still_there = False
    if still_there:
        return descriptor
    os.close(descriptor)
    return None


def _release(descriptor: int, path: str) -> None:
    """Remove the lock file while still holding it, so that whoever locks next makes a new one."""
    with contextlib.suppress(OSError):  # Windows removes no open file; it is reused then
        os.unlink(path)
    with contextlib.suppress(OSError):
        _unlock_descriptor(descriptor)
    os.close(descriptor)
