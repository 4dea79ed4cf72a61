"""CuTe's vocabulary for tuples: joining, searching, transforming, and predicates on their leaves.

In: nested tuples of ints, expressions over dims, or anything else; where it says so, layouts. Out: tuples, positions,
numbers. None of it knows coordinates or indices.
"""

from __future__ import annotations

from collections.abc import Callable
from math import lcm
from typing import Any

from cutelite.layout.basis import Basis
from cutelite.layout.dims import Dim, DimExpr, Int
from cutelite.layout.errors import LayoutError
from cutelite.layout.facts import is_divisible, known_divisor
from cutelite.layout.inttuple import Mode, flatten_to_tuple, get, is_congruent, is_static, leaves_with_paths, show

ScaledBasis = Basis
"""CuTe DSL's name for a stride along a coordinate."""


def wrap(x: Any) -> tuple[Any, ...]:
    """Return a tuple of x alone, unless x is a tuple.

    >>> wrap(3), wrap((3, 4))
    ((3,), (3, 4))
    """
    return x if isinstance(x, tuple) else (x,)


def unwrap(x: Any) -> Any:
    """Return the only element of a tuple `x`, and the only element of that, as long as it is a tuple of one.

    >>> unwrap(((3,),)), unwrap((3, 4)), unwrap(5)
    (3, (3, 4), 5)
    """
    while isinstance(x, tuple) and len(x) == 1:
        x = x[0]
    return x


def tuple_cat(*tuples: Any) -> tuple[Any, ...]:
    """Return the elements of all tuples in one; what is no tuple counts as an element.

    >>> tuple_cat((1, 2), 3, (4, (5, 6)))
    (1, 2, 3, 4, (5, 6))
    """
    return tuple(item for part in tuples for item in wrap(part))


def repeat_as_tuple(x: Any, n: int) -> tuple[Any, ...]:
    """Return a tuple of n times x, also for n = 1.

    >>> repeat_as_tuple(2, 3), repeat_as_tuple(2, 1)
    ((2, 2, 2), (2,))
    """
    if n < 1:
        raise LayoutError("repeat_as_tuple", f"n is {n}, must be 1 or more", n=n)
    return (x,) * n


def front(x: Any) -> Any:
    """Return the first leaf of a tuple; of a layout, its first mode that does not nest.

    >>> from cutelite.layout import Layout
    >>> front(((2, 3), 4)), front(Layout(((2, 3), 4)))
    (2, 2:1)
    """
    while isinstance(x, tuple) or isinstance(getattr(x, "shape", None), tuple):
        if x == ():
            raise LayoutError("front", "an empty tuple has no first leaf")
        x = get(x, 0)
    return x


def get_leaves(x: Any) -> tuple[Any, ...]:
    """All leaves of `x` in one tuple; of a layout those of its shape, then those of its strides.

    >>> from cutelite.layout import Layout
    >>> get_leaves((2, (3, 4))), get_leaves(7), get_leaves(Layout((2, (3, 4))))
    ((2, 3, 4), (7,), (2, 3, 4, 1, 2, 6))
    """
    if hasattr(x, "on_modes"):
        return flatten_to_tuple((x.shape, x.stride))
    return flatten_to_tuple(x)


def find_if(t: Any, pred_fn: Callable[[Any, Any], Any], hierarchical: bool = True) -> int | tuple[int, ...] | None:
    """Return the position of the first leaf of `t` for which ``pred_fn(leaf, position)`` holds; None without one.

    A position is an int at the top level, and a path of modes where the tuple nests; with `hierarchical` false always
    the mode at the top level.

    >>> find_if((3, (4, 8)), lambda value, position: value % 4 == 0)
    (1, 0)
    >>> find_if((3, (4, 8)), lambda value, position: value % 4 == 0, hierarchical=False)
    1
    """
    for path, value in leaves_with_paths(wrap(t)):
        if pred_fn(value, path if len(path) > 1 else path[0]):
            return path if hierarchical and len(path) > 1 else path[0]
    return None


def find(t: Any, x: Int, hierarchical: bool = True) -> int | tuple[int, ...] | None:
    """Return the position of the first leaf of `t` that is x, an int or an expression, as `find_if` returns it.

    >>> find((4, (1, 8)), 8), find((4, 2), 8)
    ((1, 1), None)
    """
    if not is_integer(x):
        raise LayoutError("find", f"{x!r} is neither an int nor an expression over dims")
    return find_if(t, lambda value, position: is_integer(value) and value == x, hierarchical)


def transform_apply(*args: Any, f: Callable[..., Any], g: Callable[..., Any]) -> Any:
    """Return `g` of all results of `f` on corresponding leaves of congruent tuples `args`; for no tuple ``g(f(...))``.

    >>> transform_apply((1, (2, 3)), f=lambda x: 2 * x, g=lambda *items: sum(items))
    12
    """
    if not args:
        raise LayoutError("transform_apply", "there is nothing to transform")
    for other in args[1:]:
        if not is_congruent(args[0], other):
            raise LayoutError("transform_apply", f"{show(args[0])} and {show(other)} do not nest alike")
    return g(*(f(*items) for items in zip(*map(flatten_to_tuple, args), strict=True)))


def filter_tuple(*args: Any, f: Callable[..., Any]) -> tuple[Any, ...]:
    """Return the tuples that `f` makes of corresponding leaves of `args`, joined: () drops a leaf.

    >>> filter_tuple((1, (2, 3), 4), f=lambda x: (x,) if x % 2 == 0 else ())
    (2, 4)
    """
    result: tuple[Any, ...] = transform_apply(*args, f=f, g=tuple_cat)
    return result


# -------------------------------------------------------------------------------------------------- questions


def is_integer(x: Any) -> bool:
    """Tell whether x is an int or an expression over dims.

    >>> from cutelite.layout import Dim
    >>> is_integer(3), is_integer(Dim("M") + 1), is_integer((3,))
    (True, True, False)
    """
    return isinstance(x, (int, DimExpr)) and not isinstance(x, bool)


def is_int_tuple(x: Any) -> bool:
    """Tell whether x is an int, an expression over dims, or a nested tuple of them.

    >>> is_int_tuple((2, (3, 4))), is_int_tuple((2, None))
    (True, False)
    """
    return all(map(is_int_tuple, x)) if isinstance(x, tuple) else is_integer(x)


def has_scaled_basis(x: Any) -> bool:
    """Tell whether a stride `x`, or one in a tuple of them or of a layout, is along a coordinate.

    >>> from cutelite.layout import E
    >>> has_scaled_basis((1, (E(1), 0))), has_scaled_basis((1, 4))
    (True, False)
    """
    return any(isinstance(leaf, Basis) for leaf in flatten_to_tuple(x.stride if hasattr(x, "on_modes") else x))


def is_major(mode: Mode, stride: Any) -> bool:
    """Tell whether a mode is contiguous: the first of its strides is 1. One known only at launch does not count as 1.

    stride  the strides, or a layout for its own

    >>> from cutelite.layout import Layout
    >>> is_major(0, (1, 8)), is_major(1, (1, 8)), is_major(1, Layout((4, (2, 2)), (4, (1, 2))))
    (True, False, True)
    """
    first = front(get(stride.stride if hasattr(stride, "on_modes") else stride, mode))
    return isinstance(first, int) and first == 1


def get_divisibility(x: Int) -> int:
    """Return the greatest number that is known to divide x (`known_divisor`).

    >>> from cutelite.layout import Dim
    >>> get_divisibility(12), get_divisibility(4 * Dim("K", divisible_by=8))
    (12, 32)
    """
    return known_divisor(x)


def assume(x: Int, divby: int | None = None) -> Int:
    """Return x, assumed to be a multiple of `divby`: a dim gets that fact, which is checked at launch.

    Errors  for an int that is no multiple; for other expressions: give their dims the facts instead

    >>> from cutelite.layout import Dim
    >>> assume(Dim("K", max=64), 8), assume(24, 8)
    (K{div=8,max=64}, 24)
    """
    if divby is None or (is_integer(x) and is_divisible(x, divby)):
        return x
    if isinstance(x, Dim):
        return Dim(x.name, lcm(x.divisible_by, divby), min=x.min, max=x.max)
    known = f"is no multiple of {divby}" if is_static(x) else "has several dims: give them the facts, as in dims('K:8')"
    raise LayoutError("assume", f"{x} {known}", value=x, divisor=divby)


def pretty_str(x: Any) -> str:
    """Return an integer tuple or a layout `x` as CuTe prints it (`show`).

    >>> pretty_str((2, (3, None)))
    '(2,(3,_))'
    """
    return show(x)
