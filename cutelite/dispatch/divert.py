"""Launches that do something else instead: `Kernel.launch` asks here first.

In    a function, for as long as a `with` lasts and in this thread alone
Out   every launch goes to it, kernel, `Launch` and arguments, and nothing is launched unless it does so

So any code that launches kernels can be run to learn which kernels it needs, without knowing the code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from cutelite_rt import forks
from cutelite_rt.launcher.facts import DIVERTED

Diversion = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], None]
"""It gets the kernel, the `Launch`, and the arguments."""

diversion: ContextVar[Diversion | None] = ContextVar("diversion", default=None)


@contextmanager
def diverted(to: Diversion | None) -> Iterator[None]:
    """Have launches of this thread go to `to` within the `with`; to the GPU or the simulator again where it is None."""
    token = diversion.set(to)
    with _lock:
        DIVERTED.value += 1  # compiled launchers do not ask: meanwhile they are not used, in no thread
    try:
        yield
    finally:
        with _lock:
            DIVERTED.value -= 1
        diversion.reset(token)


def nothing(*launch: Any) -> None:
    """A diversion that leaves launches out: the function is run for what it allocates and returns."""


def left_out() -> bool:
    """Tell whether launches are left out, and so nothing is to be asked of arrays but their shapes and dtypes."""
    return diversion.get() is nothing


_lock = forks.lock()
