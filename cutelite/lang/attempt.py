"""Calls that leave nothing behind where they come to nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from cutelite.diag import InternalError

T = TypeVar("T")


def attempt(function: Callable[[], T | None]) -> T | None:
    """Return what ``function()`` gives, in a kernel. Where that is None, undo all that it did.

    What it emitted is gone then, as are the branches and loops that it began and its changes of compile-time objects.
    """
    raise InternalError(f"attempt({function}) was called by Python: kernels alone can take back", stage="lang")
