"""Diverted launches: a function is called instead of each launch. `Kernel.launch` looks here first.

In    a function; the diversion lasts as long as a `with`, in this thread alone
Out   each launch calls it with kernel, `Launch` and arguments, and launches nothing itself

So any code that launches kernels can be run to find out which kernels it needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from cutelite.diag import CompileError, Mistake
from cutelite.threads import OfThread
from cutelite_rt import forks
from cutelite_rt.launcher.asked import DIVERTED

Diversion = Callable[[Any, Any, tuple[Any, ...], dict[str, Any]], None]
"""A function of the kernel, the `Launch`, and the arguments."""

diversion: OfThread[Diversion | None] = OfThread("diversion", None)


@contextmanager
def diverted(to: Diversion | None) -> Iterator[None]:
    """Divert launches of this thread to `to` within the `with`; None: they go to the GPU or the simulator again."""
    with diversion.set(to):
        with _lock:
            DIVERTED.value += 1  # compiled launchers do not look at `diversion`, so no thread uses them meanwhile
        try:
            yield
        finally:
            with _lock:
                DIVERTED.value -= 1


def on_host(what: str) -> None:
    """Refuse a launch from within a kernel, which is being compiled. Errors: `CompileError`."""
    builder = sys.modules.get("cutelite.ir.builder")  # where nothing is compiled it is not imported
    if builder is not None and builder.Builder.current() is not None:
        text = f"{what} is launched in a kernel, and only the host launches"
        help = "a kernel that is called by another one, without a grid, is inlined; a cl.program launches several"
        raise CompileError(Mistake("launch", text, help=help))


def nothing(*launch: Any) -> None:
    """Do nothing instead of a launch: for functions that are run for what they allocate and return."""


def left_out() -> bool:
    """Tell whether launches are diverted to `nothing`: arrays then have shapes and dtypes, but no contents."""
    return diversion.get() is nothing


_lock = forks.lock()
