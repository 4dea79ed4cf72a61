"""Values that hold in one thread, within a `with`.

A context variable alone would not do: where `sys.flags.thread_inherit_context` is set, as it is in free-threaded
CPython from 3.14 on, a thread has the context that it was started in, and one of a pool keeps it for good.
"""

from __future__ import annotations

from _thread import get_ident
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")


class OfThread(Generic[T]):
    """A value that each thread sets for itself; threads that it starts meanwhile have the default.

    It is as a context variable otherwise: tasks of an event loop have values of their own.
    """

    def __init__(self, name: str, default: T) -> None:
        self.default = default
        self._set: ContextVar[_Set[T] | None] = ContextVar(name, default=None)

    def get(self) -> T:
        """Return the value in this thread."""
        set = self._set.get()
        return self.default if set is None or set.thread != get_ident() else set.value

    @contextmanager
    def set(self, value: T) -> Iterator[None]:
        """Let `get` return `value` in this thread within the `with`."""
        set = _Set(get_ident(), value)
        token = self._set.set(set)
        try:
            yield
        finally:
            self._set.reset(token)
            set.thread = 0  # a later thread may have the same number, and this context by way of a third


class _Set(Generic[T]):
    __slots__ = ("thread", "value")

    def __init__(self, thread: int, value: T) -> None:
        self.thread, self.value = thread, value
