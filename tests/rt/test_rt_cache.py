"""The disk cache: what comes back, what never does, and many processes at once."""

from __future__ import annotations

import contextlib
import functools
import logging
import multiprocessing
import os
import random
import signal
import stat
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cutelite_rt import cache as cache_module
from cutelite_rt.cache import CacheInfo, DiskCache, default_cache_dir
from tests.threads import at_once

KEY, OTHER = "a" * 64, "b" * 64
needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions and signals")
needs_user = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")


@pytest.fixture
def cache(tmp_path: Path) -> DiskCache:
    return DiskCache(tmp_path / "kernels")


def entry(cache: DiskCache, key: str = KEY) -> Path:
    return Path(cache.directory) / f"{key}.entry"


def names(cache: DiskCache) -> set[str]:
    return {file.name for file in Path(cache.directory).iterdir()}


# ---- one entry


@given(st.binary(max_size=4000), st.text("0123456789abcdef", min_size=16, max_size=128))
def test_what_went_in_comes_out(payload: bytes, key: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        cache = DiskCache(directory)
        assert cache.get(key) is None
        cache.put(key, payload)
        assert cache.get(key) == payload
        assert DiskCache(directory).get(key) == payload


def test_a_later_write_replaces_an_earlier_one(cache: DiskCache) -> None:
    cache.put(KEY, b"one")
    cache.put(KEY, b"two")
    assert cache.get(KEY) == b"two"
    assert names(cache) == {f"{KEY}.entry"}


@pytest.mark.parametrize("key", ["", "short", "A" * 64, "../" + "a" * 61, "a" * 129, "a" * 63 + "\n"])
def test_what_is_no_key(cache: DiskCache, key: str) -> None:
    for use in (cache.get, lambda key: cache.put(key, b""), lambda key: cache.get_or_make(key, bytes)):
        with pytest.raises(ValueError, match="is not a cache key: 16 to 128 digits of lower-case hex"):
            use(key)


@needs_posix
def test_the_directory_and_its_files_are_the_users_alone(cache: DiskCache) -> None:
    cache.put(KEY, b"data")
    assert stat.S_IMODE(os.stat(cache.directory).st_mode) == 0o700
    assert stat.S_IMODE(entry(cache).stat().st_mode) == 0o600


@needs_posix
@pytest.mark.parametrize(("directory", "file"), [(0o770, 0o660), (0o755, 0o644), (0o777, 0o666), (0o700, 0o600)])
def test_a_directory_of_several_users_is_shared(cache: DiskCache, directory: int, file: int) -> None:
    os.mkdir(cache.directory)
    os.chmod(cache.directory, directory)
    with cache.single_flight(KEY):
        assert stat.S_IMODE(Path(cache.directory, f"{KEY}.lock").stat().st_mode) == file
        cache.put(KEY, b"data")
    assert stat.S_IMODE(entry(cache).stat().st_mode) == file
    assert cache.get(KEY) == b"data"


def test_reading_makes_no_directory(cache: DiskCache) -> None:
    assert cache.get(KEY) is None
    assert cache.info() == CacheInfo(cache.directory, 0, 0, cache.max_bytes, 0)
    assert cache.verify() == (0, [])
    assert cache.clear() == 0
    assert not os.path.exists(cache.directory)


def test_a_directory_removed_under_way_is_made_again(cache: DiskCache) -> None:
    cache.put(KEY, b"one")
    entry(cache).unlink()
    os.rmdir(cache.directory)
    assert cache.get(KEY) is None
    cache.put(KEY, b"two")
    assert cache.get(KEY) == b"two"


# ---- damage


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_entry_is_a_miss(cache: DiskCache, data: st.DataObject) -> None:
    cache.put(KEY, bytes(range(200)))
    whole = entry(cache).read_bytes()
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 3))):
        damaged[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    damaged = damaged[: data.draw(st.integers(0, len(whole)))] + data.draw(st.binary(max_size=20))
    if bytes(damaged) == whole:
        return
    entry(cache).write_bytes(damaged)
    assert cache.get(KEY) is None
    assert not entry(cache).exists()  # dropped
    assert cache.get_or_make(KEY, lambda: b"again") == b"again"


@given(st.binary(max_size=300))
def test_a_file_of_something_else_is_a_miss(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, f"{KEY}.entry").write_bytes(data)
        assert DiskCache(directory).get(KEY) is None
        assert os.listdir(directory) == []


def test_an_entry_of_another_key_is_a_miss(cache: DiskCache) -> None:
    cache.put(KEY, b"data")
    entry(cache).rename(entry(cache, OTHER))
    assert cache.get(OTHER) is None
    assert names(cache) == set()


def test_a_dropped_entry_is_noted(cache: DiskCache, caplog: pytest.LogCaptureFixture) -> None:
    cache.put(KEY, b"data")
    entry(cache).write_bytes(b"x")
    with caplog.at_level(logging.DEBUG, "cutelite.cache"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cache.get(KEY) is None
    assert f"dropped {entry(cache)}: damaged" in caplog.text


def test_verify_drops_what_is_bad(cache: DiskCache) -> None:
    for key in (KEY, OTHER, "c" * 64):
        cache.put(key, b"data")
    entry(cache, OTHER).write_bytes(b"nonsense")
    assert cache.verify() == (2, [f"{OTHER}.entry"])
    assert cache.verify() == (2, [])


# ---- size


def age(cache: DiskCache, key: str, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(entry(cache, key), (then, then))


def test_the_entries_unused_longest_are_evicted(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, max_bytes=5000)
    keys = [f"{i:064x}" for i in range(4)]
    for i, key in enumerate(keys):
        cache.put(key, bytes(1000))
        age(cache, key, 100 - i)
    assert cache.get(keys[0]) is not None  # used now
    cache.put("f" * 64, bytes(1000))
    assert [key for key in keys if cache.get(key) is None] == [keys[1]]
    assert cache.get("f" * 64) is not None
    assert cache.info().bytes <= 5000


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 1500)), max_size=60))
def test_the_size_is_bounded(writes: list[tuple[int, int]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        cache = DiskCache(directory, max_bytes=4000)
        for i, size in writes:
            cache.put(f"{i:016x}", bytes(size))
            assert cache.info().bytes <= 4000 + 1500 + 100


def test_what_others_wrote_counts(tmp_path: Path) -> None:
    ours, others = DiskCache(tmp_path, 10_000), DiskCache(tmp_path, 10**9)
    ours.put(KEY, bytes(100))
    for i in range(100):
        others.put(f"{i:016x}", bytes(1000))
    for i in range(65):
        ours.put(f"{i:032x}", bytes(10))
    assert ours.info().bytes <= 10_000


def test_an_entry_larger_than_the_cache_is_not_kept(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, max_bytes=100)
    cache.put(OTHER, b"x")
    cache.put(KEY, bytes(101))
    assert cache.get(KEY) is None


def test_clear_and_info(cache: DiskCache) -> None:
    cache.put(KEY, bytes(10))
    cache.put(OTHER, bytes(20))
    Path(cache.directory, "of-a-dead-process.part").write_bytes(b"half")
    Path(cache.directory, f"{KEY}.lock").touch()
    Path(cache.directory, "README").write_text("not ours")
    info = cache.info()
    assert (info.entries, info.unfinished) == (2, 1)
    assert info.bytes == sum(entry(cache, key).stat().st_size for key in (KEY, OTHER))
    assert cache.clear() == 2
    assert names(cache) == {"README"}


def test_what_dead_processes_left_is_swept(cache: DiskCache) -> None:
    os.mkdir(cache.directory)
    lock = f"{'c' * 64}.lock"
    files = (("old.part", 2), ("new.part", 0), ("future.part", -2), (f"{KEY}.lock", 2), (f"{OTHER}.lock", 0), (lock, 0))
    for name, hours in files:
        file = Path(cache.directory, name)
        file.touch()
        os.utime(file, (time.time() - 3600 * hours - 10,) * 2)
    with cache.single_flight("c" * 64):  # one that somebody holds
        cache.put(KEY, b"data")
        assert names(cache) == {f"{KEY}.entry", "new.part", lock}


@pytest.mark.parametrize("days", [-3, 3])
def test_a_clock_that_is_days_off_removes_nothing_of_others(
    cache: DiskCache, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    """What another process is writing just now, by the file system's clock."""
    os.mkdir(cache.directory)
    Path(cache.directory, "others.part").touch()
    there = time.time()
    monkeypatch.setattr(time, "time", lambda: there + 86400 * days)
    cache.put(KEY, b"data")
    assert names(cache) == {f"{KEY}.entry", "others.part"}


# ---- directories that will not do


def test_a_file_where_the_directory_should_be(tmp_path: Path) -> None:
    (tmp_path / "kernels").write_text("in the way")
    cache = DiskCache(tmp_path / "kernels")
    assert cache.get(KEY) is None
    with pytest.warns(RuntimeWarning, match="the kernel cache .* cannot be written .*; kernels compiled now will be"):
        assert cache.get_or_make(KEY, lambda: b"made") == b"made"
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is said once
        cache.put(KEY, b"data")
        assert cache.get_or_make(OTHER, lambda: b"made too") == b"made too"


@needs_user
def test_a_directory_that_may_only_be_read(cache: DiskCache) -> None:
    cache.put(KEY, b"data")
    os.chmod(cache.directory, 0o500)
    try:
        reader = DiskCache(cache.directory)
        assert reader.get(KEY) == b"data"
        with pytest.warns(RuntimeWarning, match="cannot be written"):
            assert reader.get_or_make(OTHER, lambda: b"made") == b"made"
    finally:
        os.chmod(cache.directory, 0o700)


def fails_with(number: int) -> Any:
    def fail(*arguments: Any, **named: Any) -> Any:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("step", ["mkdir", "open", "replace"])
@pytest.mark.parametrize("number", [28, 30, 13])  # disk full, read-only file system, permission denied
def test_writes_that_fail(cache: DiskCache, monkeypatch: pytest.MonkeyPatch, step: str, number: int) -> None:
    cache.put(KEY, b"data")
    monkeypatch.setattr(os, step, fails_with(number))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert cache.get_or_make(OTHER, lambda: b"made") == b"made"
        cache.put(OTHER, b"made")
    assert [str(warning.message).count("cannot be written") for warning in caught] == [1]
    monkeypatch.undo()
    assert cache.get(KEY) == b"data"
    assert names(cache) == {f"{KEY}.entry"}


def test_a_disk_that_fills_up_while_writing(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.put(KEY, b"data")

    class Full:
        def __init__(self, descriptor: int) -> None:
            self.descriptor = descriptor

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *error: object) -> None:
            os.close(self.descriptor)

        def write(self, data: bytes) -> None:
            os.write(self.descriptor, data[:5])
            raise OSError(28, os.strerror(28))

    monkeypatch.setattr(cache_module, "open", lambda descriptor, mode: Full(descriptor), raising=False)
    with pytest.warns(RuntimeWarning, match="No space left"):
        cache.put(OTHER, b"made")
    monkeypatch.undo()
    assert names(cache) == {f"{KEY}.entry"}


def test_a_file_system_without_locks(cache: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_lock_descriptor", fails_with(37))  # ENOLCK
    with cache.single_flight(KEY) as held:
        assert not held
    assert cache.get_or_make(KEY, lambda: b"made") == b"made"
    assert cache.get(KEY) == b"made"


def test_the_default_directory_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if sys.platform == "linux":
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        assert default_cache_dir() == str(tmp_path / "cutelite")
        assert DiskCache().directory == str(tmp_path / "cutelite")
    assert os.path.basename(default_cache_dir()) in ("cutelite", "Cache")


@needs_posix
def test_a_default_directory_that_others_may_write_is_not_trusted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    DiskCache(tmp_path).put(KEY, b"planted")
    tmp_path.chmod(0o777)
    monkeypatch.setattr(cache_module, "default_cache_dir", lambda: str(tmp_path))
    with pytest.warns(RuntimeWarning, match="is another user's, or others may write to it"):
        assert DiskCache().get(KEY) is None
    assert DiskCache(tmp_path).get(KEY) == b"planted"  # named by the caller, it is the caller's choice
    tmp_path.chmod(0o700)
    assert DiskCache().get(KEY) == b"planted"
    monkeypatch.setattr(os, "getuid", lambda: -5)
    with pytest.warns(RuntimeWarning, match="another user's"):
        assert DiskCache().get(KEY) is None


# ---- single flight


def test_of_many_threads_one_makes(cache: DiskCache) -> None:
    made = []

    def make() -> bytes:
        made.append(threading.get_ident())
        time.sleep(0.05)
        return b"slow"

    assert at_once(lambda _: cache.get_or_make(KEY, make), range(8)) == [b"slow"] * 8
    assert len(made) == 1
    assert names(cache) == {f"{KEY}.entry"}


def test_who_waits_too_long_makes_it_itself(cache: DiskCache) -> None:
    with cache.single_flight(KEY) as first:
        assert first
        started = time.monotonic()
        assert cache.get_or_make(KEY, lambda: b"own", timeout=0.05) == b"own"
        assert 0.02 < time.monotonic() - started < 2


def test_keys_do_not_wait_for_each_other(cache: DiskCache) -> None:
    with cache.single_flight(KEY), cache.single_flight(OTHER, timeout=0) as held:
        assert held


def test_a_failed_make_frees_the_lock(cache: DiskCache) -> None:
    def fail() -> bytes:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        cache.get_or_make(KEY, fail)
    assert names(cache) == set()
    assert cache.get_or_make(KEY, lambda: b"made", timeout=0) == b"made"


def test_a_lock_file_that_nobody_holds_is_no_lock(cache: DiskCache) -> None:
    os.mkdir(cache.directory)
    Path(cache.directory, f"{KEY}.lock").touch()
    with cache.single_flight(KEY, timeout=0) as held:
        assert held
    assert names(cache) == set()


# ---- many processes (`tests/dispatch/fleet.py` has more)


@contextlib.contextmanager
def processes(count: int, target: Any, *arguments: Any) -> Iterator[list[Any]]:
    started = [multiprocessing.Process(target=target, args=(i, *arguments)) for i in range(count)]
    for process in started:
        process.start()
    try:
        yield started
        for process in started:
            process.join(60)
    finally:
        for process in started:
            if process.is_alive():
                process.kill()


def churn(seed: int, directory: str) -> None:
    """Read, write, evict and clear without end; what is read must be right."""
    cache = DiskCache(directory, max_bytes=20_000)
    pick = random.Random(seed)
    while True:
        i = pick.randrange(12)
        right = bytes([i]) * (100 * i + 50)
        choice = pick.randrange(40)
        if choice == 0:
            cache.clear()
        elif choice == 1:
            cache.verify()
        elif choice < 20:
            assert cache.get_or_make(f"{i:016x}", functools.partial(bytes, right)) == right
        elif choice < 30:
            cache.put(f"{i:016x}", right)
        else:
            assert cache.get(f"{i:016x}") in (None, right)


@needs_posix
def test_processes_killed_at_any_moment_leave_nothing_wrong(tmp_path: Path) -> None:
    pick = random.Random(3)
    for _ in range(2):
        with processes(8, churn, str(tmp_path)) as started:
            for process in started:
                time.sleep(pick.uniform(0.0, 0.05))
                assert process.exitcode is None, "a process failed by itself"
                os.kill(process.pid, signal.SIGKILL)
    cache = DiskCache(tmp_path)
    assert cache.verify()[1] == []  # every entry is whole
    for i in range(12):
        with cache.single_flight(f"{i:016x}", timeout=0) as held:
            assert held or entry(cache, f"{i:016x}").exists()  # no lock outlives its process
    cache.clear()
    assert names(cache) == set()


def hold(_: int, directory: str, held: str, forks: bool) -> None:
    with DiskCache(directory).single_flight(KEY):
        child = os.fork() if forks else os.getpid()
        if child:
            Path(f"{held}.part").write_text(str(child))
            os.replace(f"{held}.part", held)
        time.sleep(60)
        os._exit(1)


@needs_posix
@pytest.mark.parametrize("forks", [False, True])
def test_the_lock_of_a_killed_process_is_taken_over(forks: bool, tmp_path: Path) -> None:
    """Also where it has forked a child, which lives on."""
    cache = DiskCache(tmp_path / "kernels")
    mark = tmp_path / "held"
    with processes(1, hold, cache.directory, str(mark), forks) as [holder]:
        while not mark.exists():
            time.sleep(0.005)
        try:
            with cache.single_flight(KEY, timeout=0.02) as held:
                assert not held
            os.kill(holder.pid, signal.SIGKILL)
            with cache.single_flight(KEY, timeout=10) as held:
                assert held
        finally:
            os.kill(int(mark.read_text()), signal.SIGKILL)


@needs_posix
def test_a_forked_child_that_ends_frees_no_lock_of_its_parent(cache: DiskCache) -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(cache.single_flight(KEY))
        if (child := os.fork()) == 0:
            stack.close()
            os._exit(0)
        os.waitpid(child, 0)
        with cache.single_flight(KEY, timeout=0) as held:
            assert not held


def test_a_waiter_is_served_as_soon_as_the_entry_is_there(tmp_path: Path) -> None:
    """The holder may go on for long after it has written."""
    cache = DiskCache(tmp_path)
    with cache.single_flight(KEY):
        threading.Timer(0.05, cache.put, (KEY, b"there")).start()
        started = time.monotonic()
        assert DiskCache(tmp_path).get_or_make(KEY, lambda: b"own", timeout=30) == b"there"
        assert time.monotonic() - started < 5


# ---- what others may have put there


@needs_posix
@pytest.mark.parametrize(
    "kind",
    ["link", "hard link", "dangling link", "of a folder", "of itself", "of a device", "pipe", "directory", "socket",
     "huge"],
)  # fmt: skip
@pytest.mark.parametrize("suffix", ["entry", "lock"])
def test_planted_files_are_neither_followed_nor_waited_for(
    cache: DiskCache, tmp_path: Path, kind: str, suffix: str
) -> None:
    import socket

    victim, planted = tmp_path / "victim", Path(cache.directory) / f"{KEY}.{suffix}"
    victim.write_bytes(b"mine")
    victim.chmod(0o600)
    before = victim.stat()
    planted.parent.mkdir()
    planted.parent.chmod(0o2777)  # shared: new files get the modes of the directory
    match kind:
        case "link":
            planted.symlink_to(victim)
        case "hard link":
            planted.hardlink_to(victim)
        case "dangling link":
            planted.symlink_to(tmp_path / "nothing")
        case "of a folder" | "of itself" | "of a device":
            planted.symlink_to({"folder": tmp_path, "itself": planted, "device": Path("/dev/zero")}[kind.split()[-1]])
        case "pipe":
            os.mkfifo(planted)
        case "directory":
            planted.mkdir()
        case "socket":
            with contextlib.chdir(planted.parent):
                socket.socket(socket.AF_UNIX).bind(planted.name)
        case "huge":
            planted.touch()
            os.truncate(planted, 1 << 40)  # of no blocks
    assert cache.get(KEY) is None
    assert cache.verify()[0] == 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        assert cache.get_or_make(KEY, lambda: b"new", timeout=0.01) == b"new"
    cache.put(OTHER, b"other")
    assert cache.get(OTHER) == b"other"
    assert cache.get(KEY) == (b"new" if (kind, suffix) != ("directory", "entry") else None)
    cache.clear()
    after = victim.stat()
    assert victim.read_bytes() == b"mine"
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)
    assert not (tmp_path / "nothing").exists()


@needs_posix
def test_a_file_that_only_looks_large_is_not_read(cache: DiskCache) -> None:
    cache.put(KEY, b"small")
    with entry(cache).open("r+b") as file:
        file.truncate(1 << 40)
    assert cache.get(KEY) is None
    assert not entry(cache).exists()
