"""Objects that are no values yet: an axis without its `.x`, a function that was not called.

Python would compare them without an error.

In    the operands of a comparison or condition
Out   nothing, or an error that says what may have been forgotten
"""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from typing import Any

from cutelite.diag import CompileError
from cutelite.front import tree
from cutelite.front.closure import Closure
from cutelite.front.instructions import Instr, stack_effect
from cutelite.front.strings import RuntimeText
from cutelite.ir.types import Scalar as DType
from cutelite.lang.emit import Runtime, describe, incomparable, mistake, not_a_key
from cutelite.lang.index import Axes
from cutelite.lang.promotion import holds_literal
from cutelite.lang.values import RuntimeNumber
from cutelite.layout import DimExpr

FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.MethodWrapperType, Closure)
NUMBERS = (int, float, bool)
KEYED: tuple[Any, ...] = (set, frozenset, hash, id)
"""Builtins that hash or identify what they are given."""


def check_condition(x: Any) -> None:
    """Refuse a condition that always holds: a function of cutelite's own, or three numbers at once."""
    if isinstance(x, Axes) or (isinstance(x, FUNCTIONS) and _is_ours(x)):
        raise _error(x, f"{describe(x)} is neither true nor false", "or ask whether there is one: `is not None`")


def check_comparison(a: Any, b: Any) -> None:
    """Refuse ``a == b`` and the like if, to Python, one of them equals only itself."""
    for x, other in ((a, b), (b, a)):
        if isinstance(x, Axes):
            raise _error(x, f"{describe(x)} cannot be compared", "or ask whether it is the same: `is`")
        if isinstance(x, (*FUNCTIONS, type)) and (_is_number(other) or (_is_ours(x) and not isinstance(other, type))):
            raise _error(x, f"{describe(x)} cannot be compared", "or ask whether it is the same: `is`")
        if isinstance(x, DType) and other in NUMBERS:
            raise not_a_class(x, other)
        if isinstance(x, Runtime) and type(other).__module__ == "numpy" and not holds_literal(other):
            raise mistake("comparison", f"{describe(x)} cannot be compared with a NumPy array")


def is_unready(x: Any) -> bool:
    """Tell whether comparing `x` is refused, at least with some things."""
    return isinstance(x, (Axes, DType, RuntimeText, *FUNCTIONS))


def is_next(x: Any) -> bool:
    """Tell whether `x` is the next state of something that never changes itself: of a pipeline, of an accumulator."""
    kind = type(x)
    if kind is tuple:
        return any(map(is_next, x))
    return kind.__module__.startswith("cutelite.") and (hasattr(kind, "advance") or hasattr(kind, "in_flight"))


def check_dropped(x: Any, instrs: Sequence[Instr], drops: Instr) -> None:
    """Refuse a statement that does nothing as it stands. Its value is `x`, and the instruction that `drops` it ends it.

    It names a function without calling it, or is a call that only computes the next state of something.
    """
    last = next((i for i, instr in enumerate(instrs) if instr is drops), 0) - 1
    if isinstance(x, FUNCTIONS):
        if last >= 0 and instrs[last].op in ("ATTR", "GLOBAL", "LOAD", "LOAD_CELL"):
            raise _error(x, f"{describe(x)} is not called here", "")
        return
    called = _called(instrs, last)
    if called in _NEXT:
        of = next(filter(is_next, x)) if type(x) is tuple else x
        what = "an accumulator" if hasattr(type(of), "in_flight") else describe(of)
        text = f"the result of `{called}` is dropped, and {what} never changes itself"
        raise mistake("dropped", text, help=f"keep it: {_NEXT[called]}")


_NEXT = {
    **dict.fromkeys(("advance", "begin"), "`state = state.advance()`"),
    "tell": "`tiles = tiles.tell(ticket)`",
    **dict.fromkeys(("acquire_and_advance", "wait_and_advance"), "`slot, consumer = consumer.wait_and_advance()`"),
    "gemm": "`acc = cl.gemm(mma, acc, a, b)`",
}
"""Methods and functions that only return the next state of something, with what to write."""


def _called(instrs: Sequence[Instr], at: int) -> Any:
    """Return the attribute that the call at `at` calls; None for anything else, and for arguments that branch."""
    if at < 0 or instrs[at].op != "CALL":
        return None
    wanted = stack_effect("CALL", instrs[at].arg)[0]  # values below the call, the first of them the function
    for instr in reversed(instrs[:at]):
        takes, leaves = stack_effect(instr.op, instr.arg)
        if wanted <= leaves:
            return instr.arg if instr.op == "ATTR" else None
        wanted += takes - leaves
    return None


def check_operands(operands: tuple[Any, ...], symbol: str) -> None:
    """Raise the error for an operator that has failed on something that is no value yet."""
    for x in operands:
        if isinstance(x, Axes) or (isinstance(x, FUNCTIONS) and _is_ours(x)):
            raise _error(x, f"`{symbol}` is not defined for {describe(x)}", "")
        if isinstance(x, Runtime) and not isinstance(x, RuntimeNumber) and symbol in ("<", "<=", ">", ">="):
            raise incomparable(x)


def check_key(key: Any) -> None:
    """Refuse a key of a dict, or a member of a set, that is not known at compile time."""
    for leaf in [key] if isinstance(key, RuntimeText) else tree.leaves_of(key):
        if isinstance(leaf, Runtime | DimExpr | RuntimeText):
            raise not_a_key(leaf)


def check_keys(function: Any, owner: Any, args: list[Any]) -> None:
    """Check the keys in a call of one of Python's own functions and methods."""
    name = getattr(function, "__name__", "")
    if isinstance(owner, dict):
        keys = args[-1:] if name == "fromkeys" else args[:1] if name in ("get", "setdefault", "pop") else []
    else:
        keys = args if isinstance(owner, set | frozenset) or any(function is each for each in KEYED) else []
    if isinstance(owner, list | tuple) and name in ("count", "index", "remove"):
        for held in owner if isinstance(args[0] if args else None, DType) else ():
            check_comparison(args[0], held)
    for key in keys:
        check_key(key)
        if isinstance(owner, dict):
            check_lookup(owner, key)


def check_lookup(owner: dict[Any, Any], key: Any) -> None:
    """Refuse a key that a dict lacks, if it is a dtype and a key of the dict is `int` or `float`, or the reverse."""
    if isinstance(key, DType | type) and key not in owner:
        for held in owner:
            if isinstance(key, DType) or isinstance(held, DType):
                check_comparison(key, held)


def not_a_class(dtype: DType, kind: Any) -> CompileError:
    """Return the error for comparing a dtype with `int` or `float`, which it never equals."""
    return mistake(
        "comparison",
        f"the dtype {dtype} is never `{kind.__name__}`",
        help=f"write `isinstance(x, {kind.__name__})`, or `type(x) is cl.{dtype}`",
    )


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float | DimExpr | RuntimeNumber) or holds_literal(x)


def _is_ours(x: Any) -> bool:
    function = getattr(x, "__func__", x)
    module = getattr(function, "__module__", None) or type(getattr(x, "__self__", None)).__module__ or ""
    return module.partition(".")[0] == "cutelite"


def _error(x: Any, title: str, instead: str) -> CompileError:
    if isinstance(x, Axes):
        return mistake("forgotten", title, "these are three numbers", f"did you mean `{describe(x)}.x`?")
    name = getattr(x, "__name__", "")
    if not name.isidentifier():
        return mistake("forgotten", title, help=instead)
    owner = "cl." if getattr(sys.modules["cutelite"], name, None) is x else "." if hasattr(x, "__self__") else ""
    return mistake("forgotten", title, help=(f"call it: `{owner}{name}()`", instead))
