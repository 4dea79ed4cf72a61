"""`planned`: decorator of functions that launch kernels, whose calls on torch's tensors are planned.

Without torch, and for arrays of other libraries, such a function runs as it is.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from cutelite.tune.warm import tuning_wanted

F = TypeVar("F", bound=Callable[..., Any])


_epoch = 0


def forget_plans() -> None:
    """Run no more calls by plans made so far: a function would choose another configuration now."""
    global _epoch
    _epoch += 1


def _state() -> int | None:
    return None if tuning_wanted() else _epoch


def planned(function: F) -> F:
    """Decorator: plan the function's calls, as `cutelite.interop.planned` does, which says what it may do."""
    found: F | None = None

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        nonlocal found
        torch = sys.modules.get("torch")
        if torch is None or torch.compiler.is_compiling():
            return function(*args, **kwargs)
        if found is None:
            from cutelite.interop.planned import planned as on_tensors

            found = on_tensors(function, _state)
        return found(*args, **kwargs)

    return call  # type: ignore[return-value]
