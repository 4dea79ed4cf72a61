"""Many processes that compile the same kernels over one cache directory, and what can befall them.

    python tests/dispatch/fleet.py [--processes 32] [--kernels 20]        every scenario at that size, with a report

`tests/dispatch/test_fleet.py` runs the same scenarios small. Compiles are counted where the compiler is called, in a
log that every process appends to; a process fails by itself where what it is given is not what was compiled.
"""

from __future__ import annotations

import argparse
import errno
import functools
import hashlib
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import Any, cast
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import cutelite as cl
from cutelite import Constexpr, Tensor, f32, pipeline
from cutelite.dispatch import Kernel, fingerprint, specialise
from cutelite_rt import cache as cache_module
from cutelite_rt.cache import DiskCache

N = cl.dims("N")


def scaled(x: Tensor[f32, (N,)], factor: Constexpr[int]) -> None:
    i = cl.thread_idx.x
    if i < N:
        x[i] = x[i] * factor


@dataclass(frozen=True)
class Fleet:
    """A cache directory, how many use it, and the log of what they do: lines of a word, a kernel and a digest."""

    folder: Path
    processes: int
    kernels: int

    @property
    def directory(self) -> Path:
        return self.folder / "kernels"

    def note(self, word: str, kernel: int, digest: str = "") -> None:
        with open(self.folder / "log", "ab", buffering=0) as log:  # one write of a line is appended whole
            log.write(f"{word} {kernel} {digest}\n".encode())

    def noted(self, word: str) -> list[tuple[int, str]]:
        lines = (self.folder / "log").read_text().splitlines() if (self.folder / "log").exists() else []
        fields = (line.split(" ") for line in lines)
        return [(int(kernel), digest) for kind, kernel, digest in fields if kind == word]

    def compiles(self) -> Counter[int]:
        """How often each kernel was compiled."""
        return Counter(kernel for kernel, _ in self.noted("compiled"))

    def files(self, ending: str) -> list[str]:
        return sorted(path.name for path in self.directory.glob(f"*{ending}"))


def work(fleet: Fleet, seed: int, harm: Callable[[Fleet, int], Any] | None = None) -> None:
    """One process: wants every kernel, in an order of its own, knowing nothing but the disk."""
    os.environ["CUTELITE_CACHE_DIR"] = str(fleet.directory)
    specialise._opened.cache_clear()
    if harm is not None:
        harm(fleet, seed)
    compile_kernel = pipeline.compile_kernel
    wanted = 0

    def counted(*arguments: Any) -> Any:
        fleet.note("compiled", wanted)
        return compile_kernel(*arguments)

    kernel = Kernel(cast(FunctionType, scaled), {}, (64, 1, 1))
    order = list(range(fleet.kernels))
    random.Random(seed).shuffle(order)
    with mock.patch.object(pipeline, "compile_kernel", counted):
        for wanted in order:
            compiled = kernel.compile(factor=wanted + 2)
            fleet.note("has", wanted, hashlib.sha256(compiled.cubin).hexdigest()[:16])


@contextmanager
def started(fleet: Fleet, harm: Callable[[Fleet, int], Any] | None = None) -> Iterator[list[Any]]:
    # Forked from a server that has imported the compiler and has one thread: they collide at once.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__ if __name__ != "__main__" else "tests.dispatch.fleet"])
    processes = [context.Process(target=work, args=(fleet, seed, harm)) for seed in range(fleet.processes)]
    for process in processes:
        process.start()
    try:
        yield processes
        for process in processes:
            process.join(300)
    finally:
        for process in processes:
            if process.is_alive():
                process.kill()


def run(fleet: Fleet, harm: Callable[[Fleet, int], Any] | None = None) -> None:
    """All of them to their end; each must end well, with every kernel, and all with the same code for each."""
    with started(fleet, harm) as processes:
        pass
    assert [process.exitcode for process in processes] == [0] * fleet.processes
    agree(fleet)


def agree(fleet: Fleet) -> None:
    digests: dict[int, set[str]] = {}
    for kernel, digest in fleet.noted("has"):
        digests.setdefault(kernel, set()).add(digest)
    assert sorted(digests) == list(range(fleet.kernels))
    assert all(len(found) == 1 for found in digests.values()), "processes have different code for one kernel"
    assert len(set.union(*digests.values())) == fleet.kernels, "kernels share code"


def nothing_left(fleet: Fleet) -> None:
    """Every entry is whole, no file is half written, no lock is held or left."""
    cache = DiskCache(fleet.directory)
    assert cache.verify()[1] == []
    assert fleet.files(".part") == [] and fleet.files(".lock") == []


# ---- scenarios


def together(fleet: Fleet) -> str:
    """All start at once on an empty directory: each kernel is compiled once."""
    run(fleet)
    assert fleet.compiles() == dict.fromkeys(range(fleet.kernels), 1)
    assert len(fleet.files(".entry")) == fleet.kernels
    nothing_left(fleet)
    return "each kernel compiled once"


def killed(fleet: Fleet) -> str:
    """Killed at random instants, over and over; then others come, and find what was finished."""
    pick = random.Random(7)
    for _ in range(3):
        with started(fleet) as processes:
            for process in pick.sample(processes, len(processes)):
                time.sleep(pick.uniform(0, 0.05 * fleet.kernels / fleet.processes))
                assert process.exitcode in (None, 0), "a process failed by itself"
                if process.pid is not None and process.exitcode is None:
                    os.kill(process.pid, signal.SIGKILL)
    assert DiskCache(fleet.directory).verify()[1] == [], "an entry is damaged"
    finished, compiles = len(fleet.files(".entry")), fleet.compiles().total()
    run(fleet)
    again = fleet.compiles().total() - compiles
    assert again == fleet.kernels - finished, "what had been finished was lost, or compiled twice"
    DiskCache(fleet.directory).put("0" * 32, b"")  # a first write tidies up
    assert fleet.files(".lock") == []
    return f"{finished} kernels were finished by the dead, {again} compiled by the living"


def read_only(fleet: Fleet) -> str:
    """Half of the kernels are there, and the directory may only be read."""
    warm = Fleet(fleet.folder, 1, fleet.kernels // 2)
    run(warm)
    before = fleet.compiles().total()
    run(fleet, _forbid_writes)
    again = fleet.compiles()
    assert again.total() - before == fleet.processes * (fleet.kernels - fleet.kernels // 2)
    assert len(fleet.files(".entry")) == fleet.kernels // 2
    nothing_left(fleet)
    return "what is there is used; the rest is compiled by each process"


def _forbid_writes(fleet: Fleet, seed: int) -> None:
    """As a mount that is read-only: for root, permissions are none."""
    warnings.simplefilter("ignore", RuntimeWarning)  # that it cannot be written
    open_file = os.open

    def opened(path: Any, flags: int, *rest: Any, **named: Any) -> int:
        if str(path).startswith(str(fleet.directory)) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return open_file(path, flags, *rest, **named)

    os.open = opened  # this process is a scenario's own


def full(fleet: Fleet) -> str:
    """The disk has room for a few entries and is full then, in the middle of a write."""
    run(fleet, functools.partial(_limit, quota=5 * 5000))
    kept = len(fleet.files(".entry"))
    assert 0 < kept < fleet.kernels
    nothing_left(fleet)
    run(Fleet(fleet.folder, 2, fleet.kernels))  # there is room again
    assert len(fleet.files(".entry")) == fleet.kernels
    return f"{kept} entries fitted, and are whole; the rest came when there was room again"


def _limit(fleet: Fleet, seed: int, quota: int) -> None:
    """As a disk of `quota` bytes."""
    warnings.simplefilter("ignore", RuntimeWarning)

    def opened(descriptor: Any, mode: str) -> Any:
        file = open(descriptor, mode)  # noqa: SIM115
        if "w" not in mode:
            return file

        def write(data: bytes) -> int:
            used = sum(path.stat().st_size for path in fleet.directory.glob("*.entry") if path.exists())
            if used + len(data) > quota:
                type(file).write(file, data[: len(data) // 2])
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return type(file).write(file, data)

        return _Writing(file, write)

    cache_module.open = opened  # type: ignore[attr-defined]


class _Writing:
    """A file whose `write` is another."""

    def __init__(self, file: Any, write: Any) -> None:
        self._file, self.write = file, write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> _Writing:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


def skewed(fleet: Fleet) -> str:
    """Clocks that are days apart."""
    run(fleet, _skew)
    assert fleet.compiles() == dict.fromkeys(range(fleet.kernels), 1)
    nothing_left(fleet)
    return "each kernel compiled once"


def _skew(fleet: Fleet, seed: int) -> None:
    now = time.time
    time.time = lambda: now() + 86400 * (seed % 5 - 2)


def two_builds(fleet: Fleet) -> str:
    """Two builds of the compiler use one directory: neither is given what the other made."""
    run(fleet, _rebuild)
    assert fleet.compiles() == dict.fromkeys(range(fleet.kernels), 2)
    assert len(fleet.files(".entry")) == 2 * fleet.kernels
    nothing_left(fleet)
    return "each kernel compiled once by each build"


def _rebuild(fleet: Fleet, seed: int) -> None:
    fingerprint.build_id = lambda: b"build %d" % (seed % 2)  # type: ignore[assignment]


SCENARIOS: tuple[Callable[[Fleet], str], ...] = (together, killed, read_only, full, skewed, two_builds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=32)
    parser.add_argument("--kernels", type=int, default=20)
    given = parser.parse_args()
    for scenario in SCENARIOS:
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            said = scenario(Fleet(Path(folder), given.processes, given.kernels))
            print(f"{scenario.__name__:10}  {time.perf_counter() - start:5.1f} s  {said}", flush=True)


if __name__ == "__main__":
    main()
