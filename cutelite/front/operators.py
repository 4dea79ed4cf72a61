"""Operators, comparisons and subscripts.

Python and the proxies of `cutelite.lang` do most of it. The rest is done here: operators that the user's own classes
define are inlined, as any function is; tuples are compared item by item; dims, known only at launch, are compared as
expressions where that decides it; compile-time objects change only where they may.
"""

from __future__ import annotations

import functools
import operator
from collections import defaultdict
from collections.abc import Callable, Hashable
from types import FunctionType
from typing import Any

from cutelite.diag import CompileError
from cutelite.front import calls, tree, unready
from cutelite.front.frame import Frame, handles
from cutelite.front.instructions import Instr
from cutelite.front.iterators import Range, refuse_foreign
from cutelite.front.mutation import MEMORY, check_tensor, is_array
from cutelite.front.state import State
from cutelite.front.strings import formatted_now
from cutelite.ir.types import Ptr, boolean, i32, meet
from cutelite.ir.types import Scalar as DType
from cutelite.lang.emit import Runtime, describe, emit, mistake, wrap
from cutelite.lang.promotion import as_dtype, as_value, to_dtype
from cutelite.lang.tensor import Tensor, TmaTensor
from cutelite.lang.values import RuntimeNumber, Scalar, Vector, choose, logical_and, logical_not, logical_or, truth
from cutelite.layout import DimExpr, prove_le, prove_lt
from cutelite.ops.arith import Choose
from cutelite.ops.tensor import TensorMake

UNARY: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "@": operator.matmul,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    symbol: getattr(operator, f"i{function.__name__.strip('_')}") for symbol, function in BINARY.items()
}
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
MIRRORED = {"<": ">", "<=": ">=", "==": "==", "!=": "!=", ">": "<", ">=": "<="}
_METHODS = {symbol: (COMPARE[symbol].__name__, COMPARE[mirror].__name__) for symbol, mirror in MIRRORED.items()}
"""The methods that compare, of the left operand and of the right one, without underscores."""
_SYMBOLS = {method: symbol for symbol, (method, _) in _METHODS.items()}
ON_DIMS = ("+", "-", "*", "//", "%")
"""The operators that leave an expression over dims one; with any other it becomes a run-time number."""


def overloads(cls: type) -> dict[str, FunctionType]:
    """Return the operators that a user's class defines in Python, by name without underscores."""
    return _overloads(cls)


@functools.lru_cache(maxsize=1024)
def _overloads(cls: Hashable) -> dict[str, FunctionType]:
    assert isinstance(cls, type)
    found: dict[str, FunctionType] = {}
    for base in reversed(cls.__mro__):
        for name, function in base.__dict__.items():
            if name[:2] == "__" == name[-2:]:
                found.pop(name[2:-2], None)
                if isinstance(function, FunctionType) and calls.is_inlined(function):
                    found[name[2:-2]] = function
    return found


# Unary and binary operators.


@handles("UNARY")
def _unary(frame: Frame, state: State, instr: Instr) -> None:
    symbol, a = instr.arg, state.stack.pop()
    state.stack.append(negated(truth_of(frame, a)) if symbol == "not" else unary(frame, symbol, a))


def unary(frame: Frame, symbol: str, a: Any) -> Any:
    """Return ``symbol a``."""
    function = UNARY[symbol]
    own = overloads(type(a)).get(function.__name__.strip("_"))
    if own is not None:
        return calls.call(frame, own, [a], {})
    try:
        return frame.native(function, as_number(a) if symbol == "~" else a)
    except CompileError as error:
        raise _undefined(error, symbol, a) from error.__cause__


@handles("BINARY")
def _binary(frame: Frame, state: State, instr: Instr) -> None:
    b, a = state.stack.pop(), state.stack.pop()
    symbol = instr.arg
    made = in_place(frame, symbol[:-1], a, b) if symbol[-1] == "=" else binary(frame, symbol, a, b)
    state.stack.append(made)


def in_place(frame: Frame, symbol: str, a: Any, b: Any) -> Any:
    """Return what ``a symbol= b`` assigns to `a`."""
    kind: Any = type(a)
    name = f"i{_dunder(symbol)}"
    own = overloads(kind).get(name)
    check_tensor(a, f"`{symbol}=`")
    changes = calls.may_change(kind) or (is_array(a) and not isinstance(b, Runtime))
    if own is None and hasattr(kind, f"__{name}__") and changes:
        frame.evaluation.mutables.changing(a, frame.share, f"`{symbol}=`")
        refuse_foreign(b)
        return frame.native(IN_PLACE[symbol], a, b)
    result = NotImplemented if own is None else calls.call(frame, own, [a, b], {})
    return binary(frame, symbol, a, b) if result is NotImplemented else result


def binary(frame: Frame, symbol: str, a: Any, b: Any) -> Any:
    """Return ``a symbol b``."""
    if symbol == "%" and isinstance(a, str) and tree.holds_unknown(b):
        raise formatted_now()
    if overloads(type(a)) or overloads(type(b)):
        name = _dunder(symbol)
        return _overloaded(frame, symbol, name, f"r{name}", a, b)
    if isinstance(a, DimExpr) or isinstance(b, DimExpr):
        return frame.native(_binary_of_dims, symbol, a, b)
    if isinstance(a, Runtime) or isinstance(b, Runtime):
        a, b = calls.literal(a), calls.literal(b)
    try:
        return frame.made(frame.native(BINARY[symbol], a, b))
    except CompileError as error:
        raise _undefined(error, symbol, a, b) from error.__cause__


def _undefined(error: CompileError, symbol: str, *operands: Any) -> CompileError:
    """Return `error`; if Python has no such operator for these operands, return an error of our own that says so."""
    unready.check_operands(operands, symbol)
    said = str(error.__cause__) if isinstance(error.__cause__, TypeError) else ""
    known = any(words in said for words in ("unsupported operand", "not supported between", "bad operand"))
    texts = [x for x in operands if isinstance(x, (str, bytes))]
    if known or ((texts or said) and any(isinstance(x, Runtime) for x in operands)):
        elements = "write elements, `t[i, j]`, or vectors, `t.load()` of a tile or of registers"
        help = elements if any(isinstance(x, Tensor) for x in operands) else ""
        places = [x for x in operands if isinstance(x, Tensor) or isinstance(getattr(x, "type", None), Ptr)]
        if symbol in ("+", "-") and len(places) == 1:  # as in C
            further = "`cl.domain_offset(n, t)` begins n elements further, `t.at(n)` is its address"
            help = f"{help}; {further}" if help else further
        help = "`cl.gemm` multiplies tiles" if help and symbol == "@" else help
        if any(isinstance(x, complex) for x in operands):
            help = "keep real and imaginary parts apart, in a frozen dataclass that has the operators"
        if texts:
            help = "text is made while the kernel is compiled; f-strings hold run-time numbers, for `print`"
        if "ufuncs" in said:
            help = "NumPy computes while the kernel is compiled: write elements, or `cl.vector(*array)`"
        told = " and ".join(map(describe, operands))
        return mistake("operator", f"`{symbol}` is not defined for {told}", help=help)
    return error


def _dunder(symbol: str) -> str:
    return BINARY[symbol].__name__.strip("_")


def _binary_of_dims(symbol: str, a: Any, b: Any) -> Any:
    if symbol in ON_DIMS and isinstance(a, (DimExpr, int)) and isinstance(b, (DimExpr, int)):
        return BINARY[symbol](a, b)
    return BINARY[symbol](as_number(a), as_number(b))


def as_number(x: Any) -> Any:
    """Return `x`; a dim, known at launch, as a run-time number."""
    return wrap(as_value(x)) if isinstance(x, DimExpr) else x


def _overloaded(frame: Frame, symbol: str, name: str, mirrored: str, a: Any, b: Any) -> Any:
    """Call the left operand's method, then the right one's; that first if its class is derived from the other."""
    a, b = calls.literal(a), calls.literal(b)  # NumPy's own operators would have Python call the other's method
    ways = [(name, a, b), (mirrored, b, a)]
    if type(a) is not type(b) and issubclass(type(b), type(a)):
        ways.reverse()
    for method, left, right in ways:
        own = overloads(type(left)).get(method)
        if own is not None:
            result = calls.call(frame, own, [left, right], {})
        elif method in _SYMBOLS and _are_sequences(left, right):
            result = _compare_sequences(frame, _SYMBOLS[method], list(left), list(right))
        else:
            native = getattr(type(left), f"__{method}__", None)
            result = NotImplemented if native is None else frame.native(native, left, right)
        if result is not NotImplemented:
            return result
    if symbol in ("==", "!="):
        return (a is b) == (symbol == "==")
    raise mistake("operator", f"`{symbol}` is not defined for {describe(a)} and {describe(b)}")


# Truth.


def truth_of(frame: Frame, x: Any) -> Any:
    """Return a bool where the truth of `x` is known at compile time, else a run-time bool."""
    if type(x) is bool:
        return x
    if isinstance(x, DimExpr):
        return compare(frame, "!=", x, 0)
    if isinstance(x, Runtime):
        return truth(x)
    own = overloads(type(x))
    for name in ("bool", "len"):
        if name in own:
            return truth_of(frame, calls.call(frame, own[name], [x], {}))
    unready.check_condition(x)
    return frame.native(bool, x)


# Comparisons.


@handles("COMPARE")
def _compare(frame: Frame, state: State, instr: Instr) -> None:
    b, a = state.stack.pop(), state.stack.pop()
    state.stack.append(compare(frame, instr.arg, a, b))


def compare(frame: Frame, symbol: str, a: Any, b: Any) -> Any:
    """Return ``a symbol b``: a bool, or a run-time bool. Of a dtype the other may be torch's or NumPy's."""
    if isinstance(a, DType) or isinstance(b, DType):
        a, b = as_dtype(a), as_dtype(b)
    match symbol:
        case "is":
            return _identical(frame, a, b)
        case "is not":
            return negated(_identical(frame, a, b))
        case "in":
            return contains(frame, b, a)
        case "not in":
            return negated(contains(frame, b, a))
    if isinstance(a, Range) and isinstance(b, Range):  # as sequences
        a, b = frame.native(lambda: (a.items, b.items))
    own = {*overloads(type(a)), *overloads(type(b))}
    if _are_sequences(a, b) and own.isdisjoint(_METHODS[symbol]) and not (_by_python(a) and _by_python(b)):
        return _compare_sequences(frame, symbol, list(a), list(b))
    if own:
        return _compare_overloaded(frame, symbol, a, b)
    if isinstance(a, DimExpr) or isinstance(b, DimExpr):
        unready.check_comparison(a, b)
        return frame.native(_compare_dims, symbol, a, b)
    if symbol in ("==", "!="):
        unready.check_comparison(a, b)
    try:
        return frame.native(COMPARE[symbol], a, b)
    except CompileError as error:
        raise _undefined(error, symbol, a, b) from error.__cause__


def negated(known: Any) -> Any:
    """Return the opposite of a condition."""
    return logical_not(known) if isinstance(known, Scalar) else not known


def _identical(frame: Frame, a: Any, b: Any) -> Any:
    """Return ``a is b``. Of a run-time bool, ``is True`` and ``is False`` ask for the value."""
    if a is None or b is None:
        return a is b
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Scalar) and isinstance(y, bool):
            return (x if y else logical_not(x)) if x.dtype == boolean else False
        if isinstance(x, DType) and y in unready.NUMBERS:
            raise unready.not_a_class(x, y)
        if isinstance(x, (Scalar, Vector, DimExpr)) and isinstance(y, (RuntimeNumber, DimExpr, int, float)):
            raise mistake("identity", "`is` on run-time numbers", help="compare them with `==`")
    if a is not b and frame.evaluation.mutables.may_be_one(a, b):
        help = "compare them with `==`, or ask before the paths meet"
        raise mistake("identity", f"`is` on {describe(a)} that depends on the path", help=help)
    return a is b or (isinstance(a, Runtime) and isinstance(b, Runtime) and a.value is b.value)


def _by_python(x: Any) -> bool:
    """Tell whether Python may compare `x`: it is known, and holds no dtype, which equals no class of Python's."""
    return not (tree.holds_unknown(x) or tree.holds(x, DType))


def _are_sequences(a: Any, b: Any) -> bool:
    return (isinstance(a, tuple) and isinstance(b, tuple)) or (isinstance(a, list) and isinstance(b, list))


def _compare_sequences(frame: Frame, symbol: str, a: list[Any], b: list[Any]) -> Any:
    """Compare sequences item by item, and by length where one is the beginning of the other."""
    if symbol in ("==", "!="):
        equal: Any = len(a) == len(b)
        for x, y in zip(a, b, strict=False):
            if equal is False:
                break
            equal = logical_and(equal, compare(frame, "==", x, y))
        return equal if symbol == "==" else negated(equal)
    result: Any = COMPARE[symbol](len(a), len(b))
    for x, y in reversed(list(zip(a, b, strict=False))):
        rest = logical_and(compare(frame, "==", x, y), result)
        result = logical_or(compare(frame, symbol[0], x, y), rest)
    return result


def _compare_overloaded(frame: Frame, symbol: str, a: Any, b: Any) -> Any:
    if symbol == "!=" and not (_has_own_inequality(a) or _has_own_inequality(b)):
        return negated(truth_of(frame, _compare_overloaded(frame, "==", a, b)))
    return _overloaded(frame, symbol, *_METHODS[symbol], a, b)


def _has_own_inequality(x: Any) -> bool:
    """Tell whether `!=` of an object is no mere opposite of its class's `==`: defined, or inherited, as of tuples."""
    own = overloads(type(x)).keys() & {"eq", "ne"}
    return bool(own) and any("__ne__" in vars(base) for base in type(x).__mro__[:-1])


def _compare_dims(symbol: str, a: Any, b: Any) -> Any:
    """Compare dims as expressions where that decides it; else at run time."""
    if isinstance(a, (DimExpr, int)) and isinstance(b, (DimExpr, int)):
        known = _proven(symbol, a, b)
        if known is not None:
            return known
    if not all(isinstance(x, (DimExpr, int, float, Scalar)) for x in (a, b)):
        return COMPARE[symbol](a, b)
    return COMPARE[symbol](as_number(a), as_number(b))


def _proven(symbol: str, a: Any, b: Any) -> bool | None:
    match symbol:
        case "<":
            return True if prove_lt(a, b) else False if prove_le(b, a) else None
        case ">" | ">=":
            return _proven(MIRRORED[symbol], b, a)
        case "<=":
            return True if prove_le(a, b) else False if prove_lt(b, a) else None
    equal = True if a == b else False if prove_lt(a, b) or prove_lt(b, a) else None
    return equal if equal is None or symbol == "==" else not equal


def contains(frame: Frame, container: Any, item: Any) -> Any:
    """Return ``item in container``."""
    refuse_foreign(container)
    own = overloads(type(container)).get("contains")
    if own is not None:
        return truth_of(frame, calls.call(frame, own, [container, item], {}))
    if isinstance(container, Range) and (not container.is_static or isinstance(item, Scalar)):
        return frame.native(container.holds, item)
    held = container if isinstance(container, (tuple, list)) else ()
    compared = any("eq" in overloads(type(x)) for x in (item, *held))  # not by Python's `==`
    if not (compared or unready.is_unready(item)) and _by_python(item) and _by_python(container):
        return frame.native(operator.contains, container, item)
    found: Any = False
    for candidate in frame.native(iter, container):
        found = logical_or(found, compare(frame, "==", item, candidate))
        if found is True:
            return True
    return found


# Subscripts.


@handles("SUBSCR")
def _subscr(frame: Frame, state: State, instr: Instr) -> None:
    key, obj = state.stack.pop(), state.stack.pop()
    state.stack.append(subscript(frame, obj, key))


def _missing(frame: Frame, obj: Any, key: Any) -> Any:
    """Return what a dict gives for a key that it lacks. A `defaultdict` is changed, and its item the kernel's own."""
    own = overloads(type(obj)).get("missing")
    if own is not None:
        return calls.call(frame, own, [obj, key], {})
    if not isinstance(obj, defaultdict) or obj.default_factory is None:
        return frame.native(operator.getitem, obj, key)
    frame.evaluation.mutables.changing(obj, frame.share, "looking up a key that is missing")
    return obj.setdefault(key, calls.call(frame, obj.default_factory, [], {}))


def subscript(frame: Frame, obj: Any, key: Any) -> Any:
    """Return ``obj[key]``."""
    own = overloads(type(obj)).get("getitem")
    if own is not None:
        return calls.call(frame, own, [obj, key], {})
    if isinstance(obj, dict) and isinstance(key, DimExpr):
        unready.check_key(key)
    if (isinstance(obj, dict) or type(obj).__module__ == "numpy") and tree.holds_runtime(key):
        what = "a dict" if isinstance(obj, dict) else "a NumPy array that is no argument"
        array = "" if isinstance(obj, dict) else "`cl.constant(array, dtype)` is indexed at run time; or "
        help = f"{array}use `match` or `if`, or pass it to the kernel as a tensor"
        raise mistake("runtime-index", f"{what} is looked into at compile time", f"the key is {describe(key)}", help)
    if type(obj) in (tuple, list):
        key = as_number(key)
    if type(obj) in (tuple, list) and isinstance(key, Scalar) and (key.dtype.is_int or key.dtype == boolean):
        if not obj:
            raise mistake("runtime-index", f"{describe(obj)} is indexed, and has no items")
        return chosen(frame, obj, to_dtype(key, i32) if key.dtype == boolean else key)
    if isinstance(obj, dict):
        unready.check_lookup(obj, key)
    if isinstance(obj, dict) and hasattr(type(obj), "__missing__") and not frame.native(operator.contains, obj, key):
        return _missing(frame, obj, key)
    of_class = isinstance(obj, type) and hasattr(obj, "__class_getitem__")
    if not hasattr(type(obj), "__getitem__") and not of_class:
        raise _no_elements(obj)
    result = frame.native(operator.getitem, obj, calls.literal(key) if isinstance(obj, Runtime) else key)
    return frame.made(result) if isinstance(key, slice) or is_array(obj) else result


def chosen(frame: Frame, items: tuple[Any, ...] | list[Any], key: Scalar) -> Any:
    """Return the item that a run-time index names.

    An index out of range names the first; the simulator, and kernels with assertions, stop there.

    Items are numbers, or tensors of one type, or tuples and structures of those with equal compile-time parts.
    """
    leaves: list[list[Any]] = []
    structures = []
    for item in items:
        leaves.append([])
        structures.append(tree.flatten(item, leaves[-1]))
    for i, other in enumerate(structures):
        if not tree.same_structure(structures[0], other):
            raise _not_alike(items[0], items[i], i)
    from cutelite.lang.debug import assert_  # imported here: few kernels index tuples at run time

    assert_((key >= 0) & (key < len(items)), f"a run-time index is none of 0 to {len(items) - 1}")
    columns = (_chosen_leaf(column, key) for column in zip(*leaves, strict=True))
    return frame.evaluation.mutables.met(items, tree.met(items, columns))


def _chosen_leaf(items: tuple[Any, ...], key: Scalar) -> Any:
    first = items[0]
    if all(tree.same_leaf(first, item) for item in items):
        return first
    if not isinstance(first, Tensor):
        for i, item in enumerate(items):
            if not isinstance(item, (RuntimeNumber, DimExpr, int, float)):
                raise _not_alike(first, item, i)
        return choose(key, items)
    least = first.value.type
    for i, item in enumerate(items):  # arrays of one annotation may be aligned differently
        found = meet((least, item.value.type)) if isinstance(item, Tensor) else None
        if found is None:
            raise _not_alike(first, item, i)
        least = found
    addresses = [wrap(as_value(item, least)).ptr.value for item in items]
    return emit(TensorMake(emit(Choose(key.value, tuple(addresses))).value, least))


def _no_elements(obj: Any) -> CompileError:
    """Return the error for an object that is indexed, and cannot be."""
    if isinstance(obj, Scalar):
        title, help = "is one number, without elements", "index all modes at once: `t[i, j]`; a row is `t[i, None]`"
    elif isinstance(obj, TmaTensor):
        title, help = "has no elements to index", "copies read it: `cl.local_tile(cl.coordinates(t), tile, where)`"
    elif isinstance(obj, Vector):
        title, help = "is a value that does not change", "make a new one: `v = v.put(i, x)`"
    else:
        title, help = "has no elements to index", "call it, `f(...)`" if callable(obj) else ""
        if hasattr(type(obj), "__iter__") and not isinstance(obj, Runtime):  # those refuse it
            help = "make a tuple of it: `tuple(...)`"
    return mistake("subscript", f"{describe(obj)} {title}", help=help)


def _not_alike(first: Any, other: Any, i: int) -> CompileError:
    return mistake(
        "runtime-index",
        "a run-time index chooses among numbers, or among tensors of one type, not these",
        f"item 0 is {describe(first)}, item {i} is {describe(other)}",
        "use `match` or `if`, or an array in memory: `cl.shared`, `cl.constant`, a parameter",
    )


@handles("STORE_SUBSCR")
def _store_subscr(frame: Frame, state: State, instr: Instr) -> None:
    key, obj, value = state.stack.pop(), state.stack.pop(), state.stack.pop()
    own = overloads(type(obj)).get("setitem")
    if own is not None:
        calls.call(frame, own, [obj, key, value], {})
        return
    if isinstance(obj, (tuple, str)):
        raise mistake("mutation", f"{describe(obj)} cannot be changed", help="make a new one")
    if not isinstance(obj, Runtime):
        if isinstance(obj, dict):
            unready.check_key(key)
        check_tensor(obj, "assigning to an item")
        frame.evaluation.mutables.changing(obj, state.share, "assigning to an item")
        unknown = next((x for x in (key, value) if tree.holds_runtime(x)), None)
        if unknown is not None and is_array(obj):
            text = f"an array of NumPy takes what is known at compile time, not {describe(unknown)}"
            raise mistake("mutation", text, help=MEMORY)
    elif not hasattr(type(obj), "__setitem__"):
        raise _no_elements(obj)
    frame.native(operator.setitem, obj, calls.literal(key) if isinstance(obj, Runtime) else key, value)
