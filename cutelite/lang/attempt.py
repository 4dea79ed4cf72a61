"""Calls in kernels that are undone where they return None."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cutelite.diag import InternalError

T = TypeVar("T")


def attempt(function: Callable[[], T | None]) -> T | None:
    """Call ``function()`` in a kernel and return its result. If that is None, undo all that the call did.

    Undone are the ops, branches and loops that it emitted, and its changes of compile-time objects.
    """
    raise InternalError(f"attempt({function}) was called by Python: only kernels can undo a call", stage="lang")
