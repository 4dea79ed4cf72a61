"""A kernel's Python function and the types of its arguments -> an IR function."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from cutelite.diag import CompileError, Mistake, Span
from cutelite.ir.builder import Builder
from cutelite.ir.function import Block, Function, Value, reverse_postorder
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import Tensor, TensorMap
from cutelite.lang.values import describe, wrap
from cutelite.ops.control import Ret

from . import bytecode, cfg
from .evaluation import Evaluation
from .frame import Frame
from .tree import put_together
from .types import ArgType, Constant, Struct

RECURSION = 20_000
"""Python frames that inlining may need: about ten for each call that is inlined into another."""


def build(
    function: FunctionType,
    args: dict[str, ArgType],
    dims: dict[str, DType],
    attrs: dict[str, Any],
    target: Any = None,
) -> Function:
    """Evaluate `function` for arguments of these types.

    args   parameter -> an IR type (a run-time argument), `Constant` or `Struct`
    dims   every named dim that layouts of `args` mention -> i32 or i64
    attrs  of the function: block, cluster, fmad, assertions, ... (see `ir.function`)
    Errors `CompileError` at the user's line
    """
    entry = Block(label="entry")
    kernel = Function(function.__name__, [entry], {}, dict(attrs))
    builder = Builder(kernel, entry, target)
    bound = {name: _parameter(entry, name, t) for name, t in args.items()}
    for name, t in dims.items():
        kernel.dims[name] = Value(t, hint=name)
    with builder.active(), _deep_recursion():
        _evaluate(function, bound, builder, bool(attrs.get("assertions")))
    kernel.blocks = reverse_postorder(entry)
    return kernel


def _evaluate(function: FunctionType, bound: dict[str, Any], builder: Builder, assertions: bool) -> None:
    evaluation = Evaluation(builder, assertions)
    code = bytecode.read(function)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    frame = Frame(evaluation, code, cfg.build(code), function.__globals__, cells, None, ())
    for state, value in frame.run(bound, ()):
        if value is not None:
            raise CompileError(
                Mistake("return-value", "a kernel returns nothing", f"this is {describe(value)}", "store it in a tensor"),
                _return_span(frame, code),
            )
        builder.block = state.block
        builder.emit(Ret())


def _return_span(frame: Frame, code: bytecode.Code) -> Span | None:
    return next((i.span for i in code.instrs if i.op == "RETURN"), None)


def _parameter(entry: Block, name: str, t: ArgType) -> Any:
    """The object that stands for a parameter; run-time parts become parameters of the entry block."""
    match t:
        case Constant(value):
            return value
        case Struct(cls, fields):
            parts = [_parameter(entry, f"{name}.{field}", part) for field, part in fields]
            return put_together(cls, tuple(field for field, _ in fields), parts)
        case DType() | Tensor() | TensorMap():
            value = Value(t, hint=name)
            entry.params.append(value)
            return wrap(value)
    raise TypeError(f"{name} cannot be {t}")


class _Recursion:
    """The interpreter's recursion limit, which all threads share: raised while any of them evaluates a kernel."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users = 0
        self.before = 0


_recursion = _Recursion()


@contextmanager
def _deep_recursion() -> Iterator[None]:
    with _recursion.lock:
        if _recursion.users == 0:
            _recursion.before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_recursion.before, RECURSION))
        _recursion.users += 1
    try:
        yield
    finally:
        with _recursion.lock:
            _recursion.users -= 1
            if _recursion.users == 0:
                sys.setrecursionlimit(_recursion.before)
