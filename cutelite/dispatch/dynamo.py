"""Make `torch.compile` break the graph at a launch, and trace nothing of what a launch does.

In    functions that compiled code may call
Out   the marks by which torch.compile knows them (`untraced`), and the packages in which it traces nothing (`keep_out`)

torch is not imported for this: the mark is an attribute, and packages are registered only if torch._dynamo is loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

TRACED = ("cutelite.kernels", "cutelite.models", "cutelite.interop", "cutelite.layout")
"""Packages that torch.compile may trace: their functions call operators, or compute with numbers."""

_told = False


def untraced(function: F) -> F:
    """Mark a function so that torch.compile breaks the graph where it is called."""
    marked: Any = function
    marked._torchdynamo_disable = True
    marked._torchdynamo_disable_msg = "it launches a kernel: make it an operator by cutelite.interop.torch.custom_op"
    return function


@untraced
def keep_out() -> None:
    """Tell torch.compile to trace nothing of cutelite but `TRACED`. Called while launches still go through Python."""
    global _told
    if _told or "torch._dynamo" not in sys.modules:
        return
    rules = sys.modules.get("torch._dynamo.trace_rules")
    if rules is None or not hasattr(rules, "add"):
        return
    import pkgutil

    _told = True
    for room in pkgutil.iter_modules(sys.modules["cutelite"].__path__, "cutelite."):
        if room.name not in TRACED:
            rules.add(room.name)
    rules.add("cutelite_rt")
