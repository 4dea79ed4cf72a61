"""Running a golden case on the simulator: arguments made up from its directives.

    // run: block=4, M=3, i=1; i=2     threads, named dims and scalars of two runs; what is not named is 2, 2.0, True

Tensors in global memory are filled with 0, 1, 2, ... modulo 97.
"""

from __future__ import annotations

import ast
from io import StringIO
from typing import Any

import numpy as np

from cutelite import sim
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.function import Function
from cutelite.ir.types import Scalar, Tensor, Type
from cutelite.layout import cosize, evaluate


def outcome(function: Function, directive: str) -> tuple[list[list[Any]], str]:
    """Run the kernel; return the contents of its tensors afterwards, and the text it printed."""
    given = ast.literal_eval("{" + ", ".join(f"'{k}': {v}" for k, _, v in map(_pair, _split(directive))) + "}")
    dims = {name: int(given.get(name, 2)) for name in function.dims}
    args = [_argument(param.type, given.get(param.hint), dims) for param in function.params]
    block = function.attrs.get("block") or given.get("block", 2)
    printed = StringIO()
    sim.run(function, given.get("grid", 1), args, block=block, dims=dims, stdout=printed)
    return [arg.tolist() for arg in args if isinstance(arg, np.ndarray)], printed.getvalue()


def _split(directive: str) -> list[str]:
    return [part for part in directive.split(", ") if part]


def _pair(part: str) -> tuple[str, str, str]:
    return part.partition("=")


def _argument(t: Type, given: Any, dims: dict[str, int]) -> Any:
    if isinstance(t, Tensor):
        return (np.arange(evaluate(cosize(t.layout), dims)) % 97).astype(numpy_dtype(t.elem))
    assert isinstance(t, Scalar)
    return given if given is not None else True if t.kind == "bool" else 2.0 if t.is_float else 2
