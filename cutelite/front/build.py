"""A kernel's Python function and the types of its arguments -> an IR function."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from cutelite.diag import CompileError, InternalError, Mistake
from cutelite.front import branches, builtins, calls, containers, names, operators, patterns, tree
from cutelite.front.evaluation import Evaluation
from cutelite.front.frame import Frame
from cutelite.front.state import WHOLE
from cutelite.front.types import ArgType, Constant, Struct
from cutelite.ir.builder import Builder
from cutelite.ir.function import Block, Function, Value, reverse_postorder
from cutelite.ir.types import SCALARS, Tensor, TensorMap
from cutelite.ir.types import Scalar as DType
from cutelite.lang.annotations import parameter_span
from cutelite.lang.emit import Runtime, describe, wrap
from cutelite.lang.promotion import as_value
from cutelite.ops.control import Ret
from cutelite.target import FEATURES, compiling_for, first_with

_OF_LOWERING = re.compile(r"smem|(text|array)\d+|vprintf|__assertfail|cutelite_(records|profile)|__cuda\w*|WARP_SZ")
"""Symbols of other things in the modules that kernels are lowered to, of CUDA's own functions, and PTX's constant."""

INSTRUCTIONS = (branches, builtins, containers, names, operators, patterns)
"""The modules that register the handlers of instructions and builtins (see `frame` and `calls`)."""

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
    attrs  attributes of the function: block, cluster, fmad, assertions, debug, ... (see `ir.function`); and `name`,
           with `{parameter}` for the value of a Constexpr; and `asked`, a list that gets what the function returns
    Errors `CompileError` at the user's line; `InternalError` for a bug in cutelite
    """
    entry = Block(label="entry")
    attrs = dict(attrs)
    name = _name(attrs.pop("name", None) or function.__name__, args)
    kernel = Function(symbol(name), [entry], {}, attrs)
    builder = Builder(kernel, entry, target)
    bound = {name: _parameter(entry, name, t) for name, t in args.items()}
    for value in entry.params:
        feature = value.type.feature
        if feature is not None and target is not None and not target.has(feature):
            text, help = f"{target.arch} has no {FEATURES[feature]}", f"compile for {first_with(feature)}, which has it"
            place = parameter_span(function, value.hint.partition(".")[0])
            raise CompileError(Mistake("parameter", text, help=help), place)
    for name, t in dims.items():
        kernel.dims[name] = Value(t, hint=name)
    with builder.active(), compiling_for(target), _deep_recursion():
        try:
            _evaluate(function, bound, builder)
        except (CompileError, InternalError):
            raise
        except Exception as error:  # a bug in cutelite, at the line that was evaluated
            raise InternalError(f"{type(error).__name__}: {error}", stage="front", span=builder.span) from error
    kernel.blocks = reverse_postorder(entry)
    linked = {op["function"] for op in kernel.ops() if op.name == "call"}
    while kernel.name in linked or _OF_LOWERING.fullmatch(kernel.name):
        kernel.name += "_"
    return kernel


def _name(text: str, args: dict[str, ArgType]) -> str:
    """Fill the values of Constexprs into the name of a specialisation. Errors: `CompileError` for an invalid text."""
    if "{" not in text:
        return text
    values = {name: getattr(t.value, "__name__", t.value) for name, t in args.items() if isinstance(t, Constant)}
    try:
        return text.format(**values)
    except (KeyError, IndexError, ValueError) as error:
        why = f"there is no Constexpr {error}" if isinstance(error, KeyError) else str(error)
        known = ", ".join(f"{{{name}}}" for name in values)
        help = f"a name may hold {known}" if known else "a name holds values of Constexprs, and this kernel has none"
        raise CompileError(Mistake("kernel-name", f"{text!r} is no name: {why}", help=help)) from None


def symbol(name: str) -> str:
    """Turn a Python name into one that LLVM and PTX take: `größe` is `gr_f6__df_e`, `<lambda>` is `lambda`.

    `_` is `__`: PTX has no name of one such character (PTX ISA, identifiers).
    """
    plain = "".join(c if c.isalnum() or c == "_" else "" for c in name) or "kernel"
    plain = "".join(c if c.isascii() else f"_{ord(c):x}_" for c in plain)
    return f"_{plain}" if plain[0].isdigit() or plain == "_" else plain


def _evaluate(function: FunctionType, bound: dict[str, Any], builder: Builder) -> None:
    code, graph = calls.read(function.__code__)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    frame = Frame(Evaluation(builder), code, graph, function.__globals__, cells, None, ())
    for state, value, span in frame.run(bound, WHOLE, {}):
        builder.block, builder.span = state.block, span
        if "asked" in builder.function.attrs:
            builder.function.attrs["asked"].append(value)
            continue
        if (returned := builder.function.attrs.get("device", "void")) != "void":
            builder.emit(Ret(_returned(value, SCALARS[returned], span)))
            continue
        if value is not None:
            label, what = f"this is {describe(value)}", "function" if "device" in builder.function.attrs else "kernel"
            help = "annotate its result" if what == "function" else "store it in a tensor"
            raise CompileError(Mistake("return-value", f"a {what} returns nothing", label, help), span)
        builder.emit(Ret())


def _returned(value: Any, dtype: DType, span: Any) -> Value:
    """Return the result of a device function in its declared type. Errors: `CompileError` for another type."""
    if isinstance(value, bool | int | float):
        return as_value(value, dtype)
    found = value.value if isinstance(value, Runtime) else None
    if found is None or found.type != dtype:
        mistake = Mistake(
            "return-value", f"the function returns {dtype}", f"this is {describe(value)}", f"convert it: cl.{dtype}(x)"
        )
        raise CompileError(mistake, span)
    return found


def _parameter(entry: Block, name: str, t: ArgType) -> Any:
    """Return the object that stands for a parameter; run-time parts become parameters of the entry block."""
    match t:
        case Constant(value):
            return value
        case Struct(cls, fields):
            parts = [_parameter(entry, f"{name}.{field}", part) for field, part in fields]
            if cls in (tuple, list):
                return cls(parts)
            return tree.make_struct(cls, tuple(field for field, _ in fields), parts)
        case DType() | Tensor() | TensorMap():
            value = Value(t, hint=name)
            entry.params.append(value)
            return wrap(value)
    raise TypeError(f"{name} cannot be {t}")


_lock = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_lock._at_fork_reinit)  # type: ignore[attr-defined]  # as `threading` does
_building = 0  # kernels being built now, by any thread
_limit = 0  # Python's recursion limit when none was


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Let Python recurse deeper. All threads share the limit: the first to come raises it, the last restores it."""
    global _building, _limit
    with _lock:
        if _building == 0:
            _limit = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_limit, RECURSION))
        _building += 1
    try:
        yield
    finally:
        with _lock:
            _building -= 1
            if _building == 0:
                sys.setrecursionlimit(_limit)
