"""Integer tuples: an int (or an expression over dims), or a tuple of integer tuples.

Shapes, strides, coordinates and tilers are all of them. Functions that look at structure alone (`rank`, `get`,
`select`, `group_modes`, ...) take a layout as well and treat its shape and stride alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from cutelite.layout.dims import DimExpr, Int, ceil_div_dims
from cutelite.layout.errors import LayoutError
from cutelite.layout.facts import exact_div, prove_le, prove_lt

IntTuple: TypeAlias = "Int | tuple[IntTuple, ...]"
Mode: TypeAlias = "int | Sequence[int]"
"""A mode: its index, or the path of indices to it."""


def _shape(x: Any) -> Any:
    """Return the shape of a layout; anything else is its own shape."""
    return x.shape if hasattr(x, "on_modes") else x


def is_static(x: Any) -> bool:
    """Tell whether every leaf of `x` is known at compile time.

    >>> from cutelite.layout import Dim, Layout
    >>> is_static((2, (3, 4))), is_static(Layout((2, Dim("M"))))
    (True, False)
    """
    if isinstance(x, tuple):
        return all(is_static(item) for item in x)
    if hasattr(x, "on_modes"):
        return all(is_static(part) for part in x.parts())
    if hasattr(x, "terms"):  # a basis
        return all(is_static(value) for _, value in x.terms)
    return not isinstance(x, DimExpr)


def rank(x: Any, mode: Mode | None = None) -> int:
    """Return the number of modes of `x`, or of its mode `mode`; 1 for a leaf.

    >>> rank((2, (3, 4))), rank(7), rank((2, (3, 4)), mode=1)
    (2, 1, 2)
    """
    x = _shape(x if mode is None else get(x, mode))
    return len(x) if isinstance(x, tuple) else 1


def depth(x: Any, mode: Mode | None = None) -> int:
    """Return the depth to which tuples nest in `x`, or in its mode `mode`; 0 for a leaf.

    >>> depth(7), depth((2, 3)), depth((2, (3, 4)))
    (0, 1, 2)
    """
    x = _shape(x if mode is None else get(x, mode))
    return 1 + max((depth(item) for item in x), default=0) if isinstance(x, tuple) else 0


def product(x: IntTuple) -> Int:
    """Return the product of all leaves of `x`.

    >>> product((2, (3, 4)))
    24
    """
    if not isinstance(x, tuple):
        return x
    result: Int = 1
    for item in x:
        result = result * product(item)
    return result


def size(x: Any, mode: Mode | None = None) -> Int:
    """Return the number of elements of a shape or a layout, or of one of its modes.

    >>> size((2, (3, 4))), size((2, (3, 4)), mode=[1])
    (24, 12)
    """
    return product(_shape(x if mode is None else get(x, mode)))


def product_each(x: IntTuple) -> IntTuple:
    """Return the size of each mode of `x`.

    >>> product_each((2, (3, 4)))
    (2, 12)
    """
    return tuple(product(item) for item in x) if isinstance(x, tuple) else x


def product_like(x: IntTuple, profile: Any) -> IntTuple:
    """Return x in the nesting of `profile`: the leaves of x in place of a leaf of `profile` are multiplied.

    >>> product_like(((2, 3), (4, (5, 6))), (0, (0, 0)))
    (6, (4, 30))
    """
    if not isinstance(profile, tuple):
        return product(x)
    if not isinstance(x, tuple) or len(x) != len(profile):
        raise LayoutError("product_like", f"{show(x)} does not have the modes of {show(profile)}")
    return tuple(product_like(a, b) for a, b in zip(x, profile, strict=True))


def flatten(x: Any) -> Any:
    """Return all leaves in one tuple; a leaf stays a leaf. Takes layouts too.

    >>> flatten((2, ((3,), 4))), flatten(7)
    ((2, 3, 4), 7)
    """
    if hasattr(x, "on_modes"):
        return x.on_modes(flatten)
    return flatten_to_tuple(x) if isinstance(x, tuple) else x


def flatten_to_tuple(x: Any) -> tuple[Any, ...]:
    """All leaves of `x` in one tuple, which has one item for a leaf.

    >>> flatten_to_tuple(((1, 2), 3)), flatten_to_tuple(7)
    ((1, 2, 3), (7,))
    """
    if not isinstance(x, tuple):
        return (x,)
    for item in x:
        if isinstance(item, tuple):
            break
    else:
        return x  # flat already, as most are: the fast path of the most frequent call here
    leaves: list[Any] = []
    for item in x:
        if isinstance(item, tuple):
            leaves += flatten_to_tuple(item)
        else:
            leaves.append(item)
    return tuple(leaves)


def unflatten(leaves: Sequence[Any], profile: Any) -> Any:
    """Return the leaves in the nesting of `profile`.

    >>> unflatten((1, 2, 3), ((0, 0), 0))
    ((1, 2), 3)
    """
    flat = flatten_to_tuple(profile)
    if len(leaves) == len(flat) and flat is profile:
        return tuple(leaves)
    if len(leaves) != len(flat):
        raise LayoutError("unflatten", f"{len(leaves)} leaves do not fill {show(profile)}", leaves=len(leaves))
    rest = iter(leaves)

    def fill(part: Any) -> Any:
        return tuple(fill(item) for item in part) if isinstance(part, tuple) else next(rest)

    return fill(profile)


def is_congruent(a: Any, b: Any) -> bool:
    """Tell whether a and b nest alike.

    >>> is_congruent((1, (2, 3)), (4, (5, 6))), is_congruent((1, 2), (1, (2, 3)))
    (True, False)
    """
    a, b = _shape(a), _shape(b)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(is_congruent, a, b))
    return not isinstance(a, tuple) and not isinstance(b, tuple)


def is_weakly_congruent(a: Any, b: Any) -> bool:
    """Tell whether b nests like a, or deeper: a leaf of a may face a whole subtree of b.

    >>> is_weakly_congruent((1, 2), (1, (2, 3))), is_weakly_congruent((1, (2, 3)), (1, 2))
    (True, False)
    """
    a, b = _shape(a), _shape(b)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(is_weakly_congruent, a, b))
    return True


def is_compatible(a: IntTuple, b: IntTuple) -> bool:
    """Tell whether every coordinate of shape a is one of shape b: b refines a, with the same sizes.

    >>> is_compatible(24, (4, 6)), is_compatible((4, 6), ((2, 2), 6)), is_compatible((4, 6), 24)
    (True, True, False)
    """
    a, b = _shape(a), _shape(b)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(is_compatible, a, b))
    return bool(a == product(b))


def show(x: Any) -> str:
    """Return an integer tuple as CuTe prints it: ``(2,(3,4))``, and ``_`` for None.

    >>> show((2, (3, None)))
    '(2,(3,_))'
    """
    if isinstance(x, tuple):
        return "(" + ",".join(map(show, x)) + ")"
    return "_" if x is None else str(x)


# --------------------------------------------------------------------------------------------------- choosing


def get(x: Any, mode: Mode) -> Any:
    """Return the mode of `x` at an index `mode`, or at the end of a path of indices.

    >>> get((2, (3, 4)), 1), get((2, (3, 4)), [1, 0])
    ((3, 4), 3)
    """
    for index in [mode] if isinstance(mode, int) else mode:
        if hasattr(x, "on_modes"):
            x = x.on_modes(lambda t, index=index: _item(t, index))
        else:
            x = _item(x, index)
    return x


def _item(x: Any, index: int, function: str = "get") -> Any:
    if not isinstance(x, tuple):
        if index in (0, -1):
            return x  # a leaf is its own only mode
        raise LayoutError(function, f"no mode {index} in {show(x)}, which has one mode", mode=index, rank=1)
    if not -len(x) <= index < len(x):
        raise LayoutError(function, f"no mode {index} in {show(x)}, which has {len(x)} modes", mode=index, rank=len(x))
    return x[index]


def select(x: Any, mode: Sequence[int]) -> Any:
    """Return the modes of `x` at the indices `mode`, in that order.

    >>> select((2, 3, (4, 5)), mode=[2, 0])
    ((4, 5), 2)
    """
    if hasattr(x, "on_modes"):
        return x.on_modes(lambda t: select(t, mode))
    return tuple(_item(x, index, "select") for index in mode)


def take(x: Any, begin: int, end: int) -> Any:
    """Return the modes of `x` from `begin` up to `end`, exclusive.

    >>> take((2, 3, 4, 5), 1, 3)
    (3, 4)
    """
    if hasattr(x, "on_modes"):
        return x.on_modes(lambda t: take(t, begin, end))
    begin, end = _range("take", x, begin, end)
    return _modes(x)[begin:end]


def group_modes(x: Any, begin: int, end: int | None = None) -> Any:
    """Return `x` with its modes from `begin` up to `end`, exclusive, or all further ones, as one mode.

    >>> group_modes((2, 3, 4, 5), 1, 3)
    (2, (3, 4), 5)
    """
    if hasattr(x, "on_modes"):
        return x.on_modes(lambda t: group_modes(t, begin, end))
    begin, end = _range("group_modes", x, begin, len(_modes(x)) if end is None else end)
    modes = _modes(x)
    return (*modes[:begin], modes[begin:end], *modes[end:])


def _modes(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


def _range(function: str, x: Any, begin: int, end: int) -> tuple[int, int]:
    count = len(_modes(x))
    first = begin + count if begin < 0 else begin
    last = end + count if end < 0 else end
    if not 0 <= first < last <= count:
        raise LayoutError(function, f"modes {begin} to {end} are not a range in {show(x)}", mode=begin, rank=count)
    return first, last


def append(x: Any, elem: Any, up_to_rank: int | None = None) -> Any:
    """Return x with the mode `elem` appended: once, or until the rank is `up_to_rank`.

    >>> append((2, 3), 4), append(2, 1, up_to_rank=3)
    ((2, 3, 4), (2, 1, 1))
    """
    return _extend("append", x, elem, up_to_rank, behind=True)


def prepend(x: Any, elem: Any, up_to_rank: int | None = None) -> Any:
    """Return x with the mode `elem` prepended: once, or until the rank is `up_to_rank`.

    >>> prepend((2, 3), 4), prepend(2, 1, up_to_rank=3)
    ((4, 2, 3), (1, 1, 2))
    """
    return _extend("prepend", x, elem, up_to_rank, behind=False)


def _extend(function: str, x: Any, elem: Any, up_to_rank: int | None, behind: bool) -> Any:
    missing = 1 if up_to_rank is None else up_to_rank - rank(x)
    if missing < 0:
        raise LayoutError(function, f"rank {rank(x)} is above {up_to_rank}", rank=rank(x))
    if missing == 0:
        return x
    if hasattr(x, "extended"):
        return x.extended([elem] * missing, behind)
    extra = (elem,) * missing
    return (*_modes(x), *extra) if behind else (*extra, *_modes(x))


def repeat(x: Any, n: int) -> Any:
    """Return a tuple of n times x; x itself for n = 1.

    >>> repeat(2, 3), repeat(2, 1)
    ((2, 2, 2), 2)
    """
    if n < 1:
        raise LayoutError("repeat", f"n is {n}, must be 1 or more", n=n)
    return x if n == 1 else (x,) * n


def repeat_like(x: Any, target: Any) -> Any:
    """Return x at every leaf of `target`.

    >>> repeat_like(0, (1, (2, 3)))
    (0, (0, 0))
    """
    target = _shape(target)
    return tuple(repeat_like(x, item) for item in target) if isinstance(target, tuple) else x


def transform_leaf(function: Callable[..., Any], *args: Any) -> Any:
    """Apply `function` to corresponding leaves of the congruent tuples `args`.

    >>> transform_leaf(lambda a, b: a + b, (1, (2, 3)), (10, (20, 30)))
    (11, (22, 33))
    """
    first = args[0]
    if not isinstance(first, tuple):
        return function(*args)
    for other in args[1:]:
        if not is_congruent(first, other):
            raise LayoutError("transform_leaf", f"{show(first)} and {show(other)} do not nest alike")
    return tuple(transform_leaf(function, *items) for items in zip(*args, strict=True))


# ------------------------------------------------------------------------------------------------- arithmetic


def ceil_div(a: Any, b: Any) -> Any:
    """Return a / b rounded up: of ints, or mode by mode; modes of a beyond those of b stay.

    An int b divides the first modes of a, as in `shape_div`: the part of b that one mode leaves divides the next.

    >>> from cutelite.layout import Dim
    >>> ceil_div(10, 4), ceil_div((10, 7, 3), (4, 2)), ceil_div(Dim("K"), 64)
    (3, (3, 4, 3), ceil_div(K,64))
    >>> ceil_div((4, 8), 2), ceil_div((4, 8), 10)
    ((2, 8), (1, 3))
    """
    if isinstance(b, tuple):
        return _by_mode(ceil_div, a, b)
    if isinstance(a, tuple):
        left: list[Any] = []
        for item in a:
            left.append(ceil_div(item, b))
            b = ceil_div(b, product(item))
        return tuple(left)
    if isinstance(a, (int, DimExpr)) and isinstance(b, (int, DimExpr)):
        if b == 0:
            raise LayoutError("ceil_div", f"{a} is divided by zero")
        return ceil_div_dims(a, b)
    return (a + (b - 1)) // b  # run-time values, which must be positive


def round_up(a: Any, b: Any) -> Any:
    """Return the least multiple of b that is not below a: of ints, or mode by mode; modes of a beyond those of b stay.

    >>> round_up(10, 4), round_up((10, 7, 3), (4, 2))
    (12, (12, 8, 3))
    """
    if isinstance(b, tuple):
        return _by_mode(round_up, a, b)
    if isinstance(a, tuple):
        raise LayoutError("round_up", f"{show(a)} is a tuple, {b} is not: give a number for each mode", rank=len(a))
    return ceil_div(a, b) * b


def _by_mode(function: Callable[[Any, Any], Any], a: Any, b: tuple[Any, ...]) -> tuple[Any, ...]:
    modes = _modes(a)
    if len(modes) < len(b):
        raise LayoutError(function.__name__, f"{show(a)} has fewer modes than {show(b)}", rank=len(modes))
    return *map(function, modes[: len(b)], b), *modes[len(b) :]


def shape_div(a: Any, b: Any) -> Any:
    """Return the shape that is left of a when its first b elements become one.

    For ints, one must divide the other, and the result is a / b rounded up. An int b divides the first modes of a: the
    part of b that one mode leaves divides the next. A tuple b divides mode by mode.

    >>> shape_div(12, 4), shape_div(4, 12), shape_div((3, 4, 5), 6), shape_div((12, 8), (4, 2))
    (3, 1, (1, 2, 5), (3, 4))
    """
    if isinstance(a, tuple):
        if isinstance(b, tuple):
            if len(a) != len(b):
                raise LayoutError("shape_div", f"{show(a)} and {show(b)} differ in rank", rank=len(a))
            return tuple(map(shape_div, a, b))
        left: list[Any] = []
        for item in a:
            left.append(shape_div(item, b))
            b = shape_div(b, product(item))
        return tuple(left)
    b = product(b)
    quotient = exact_div(a, b)
    if quotient is not None:
        return quotient
    if b == 0:
        raise LayoutError("shape_div", f"{a} is divided by 0", a=a, b=b)
    if exact_div(b, a) is not None:
        return 1
    raise LayoutError("shape_div", f"neither of {a} and {b} is known to divide the other", a=a, b=b)


def elem_less(a: Any, b: Any) -> Any:
    """Tell whether every leaf of a is below that of b; run-time leaves give a run-time boolean.

    >>> elem_less((1, 2), (2, 3)), elem_less((1, 3), (2, 3))
    (True, False)
    """
    if isinstance(b, tuple):
        modes = _modes(a)
        if len(modes) != len(b):
            raise LayoutError("elem_less", f"{show(a)} and {show(b)} differ in rank", rank=len(modes))
        result: Any = True
        for x, y in zip(modes, b, strict=True):
            part = elem_less(x, y)
            if part is False:
                return False
            if part is not True:
                result = part if result is True else result & part
        return result
    if isinstance(a, tuple):
        raise LayoutError("elem_less", f"{show(a)} nests deeper than {show(b)}")
    if not isinstance(a, (int, DimExpr)) or not isinstance(b, (int, DimExpr)):
        return a < b
    if prove_lt(a, b):
        return True
    if prove_le(b, a):
        return False
    raise LayoutError("elem_less", f"whether {a} is below {b} is known at launch only", a=a, b=b)


def inner_product(a: Any, b: Any) -> Any:
    """Return the sum of the products of corresponding leaves.

    >>> inner_product((2, (3, 4)), (1, (10, 100)))
    432
    """
    if not is_congruent(a, b):
        raise LayoutError("inner_product", f"{show(a)} and {show(b)} do not nest alike")
    total: Any = 0
    for x, y in zip(flatten_to_tuple(a), flatten_to_tuple(b), strict=True):
        total = total + x * y
    return total


def prefix_product(x: IntTuple, init: Int = 1) -> IntTuple:
    """Return, for each leaf, the product of all leaves before it, times `init`.

    >>> prefix_product((3, (4, 5)))
    (1, (3, 12))
    """
    products: list[Int] = []
    for leaf in flatten_to_tuple(x):
        products.append(init)
        init = init * leaf
    result: IntTuple = unflatten(products, x)
    return result


def leaves_with_paths(x: Any, path: tuple[int, ...] = ()) -> Iterable[tuple[tuple[int, ...], Any]]:
    """Yield the path of modes to every leaf, and the leaf."""
    if isinstance(x, tuple):
        for index, item in enumerate(x):
            yield from leaves_with_paths(item, (*path, index))
    else:
        yield path, x
