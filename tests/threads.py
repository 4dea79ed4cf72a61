"""Work in several threads at once."""

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def at_once(work: Callable[[A], B], given: Iterable[A]) -> list[B]:
    """Return what `work` returns for each of `given`, from a thread each, that start together; raise what it raises."""
    parts = list(given)
    ready = threading.Barrier(len(parts))

    def run(part: A) -> B:
        ready.wait()
        return work(part)

    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(run, parts))
