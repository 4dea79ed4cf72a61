"""Calls that take other operands each time, so that none are in L2 while `cl.do_bench` has them in a row."""

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any


def rotating(calls: Mapping[str, Callable[[int], Any]], buffers: int) -> dict[str, Callable[[], Any]]:
    """Return functions that call each with 0, 1, ... `buffers` - 1, and from 0 again."""

    def turning(call: Callable[[int], Any]) -> Callable[[], Any]:
        numbers = count()
        return lambda: call(next(numbers) % buffers)

    return {name: turning(call) for name, call in calls.items()}
