"""Iterators of `for`: compile-time items, which are unrolled, or a range, which is a loop on the GPU."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from types import FunctionType
from typing import Any

from cutelite.diag import CompileError
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import i32, i64
from cutelite.lang.emit import describe, mistake, wrap
from cutelite.lang.loops import MAX_ITEMS
from cutelite.lang.promotion import as_value, common_type, dim_type, literal_type, to_dtype, unsigned
from cutelite.lang.values import Scalar, logical_and, logical_not, maximum, minimum, where
from cutelite.layout import DimExpr, ceil_div, prove_le, prove_lt
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple

_OF_TUPLE = iter(())


class StaticIter:
    """The rest of a compile-time sequence: a tuple, or a list that may grow meanwhile.

    ahead  the number of iterations by which loads are moved up in a loop over it
    once   True for a one-shot iterator, as from `zip` or a generator expression: `next` advances it
    spent  True once it has been iterated over
    python an iterator of Python's, of the class of the one that this stands for: what asks for its class is told that
    """

    __slots__ = ("ahead", "at", "items", "once", "python", "spent")

    def __init__(
        self,
        items: Sequence[Any],
        at: int = 0,
        once: bool = False,
        ahead: int = 0,
        python: Iterator[Any] = _OF_TUPLE,
    ) -> None:
        self.items, self.at, self.once, self.spent, self.ahead = items, at, once, False, ahead
        self.python = python

    def described(self) -> str:
        return "an iterator"

    def start(self) -> StaticIter:
        """Return an iterator over the remaining items, for a loop. A one-shot iterator is spent after this."""
        self._spend()
        if isinstance(self.items, Endless):
            raise _endless("an iterator")
        return StaticIter(self.items, self.at)

    def taken(self) -> tuple[Any, ...]:
        """Return the remaining items. A one-shot iterator is spent after this."""
        self._spend()
        return tuple(self.items[self.at :])

    def drawn(self) -> Iterator[Any]:
        """Iterate in native code, item by item: who draws from the iterator after that gets those that are left."""
        self._spend()
        self.spent = False
        while not self.exhausted:
            self.at += 1
            yield self.items[self.at - 1]
        self.spent = self.once

    def _spend(self) -> None:
        if self.spent:
            raise mistake(
                "exhausted",
                "this iterator has been iterated over already",
                "it yields nothing a second time",
                "make a tuple of it: `tuple(...)`",
            )
        self.spent = self.once

    def advanced(self) -> StaticIter:
        return StaticIter(self.items, self.at + 1)

    @property
    def exhausted(self) -> bool:
        return self.at >= len(self.items)

    def __iter__(self) -> Iterator[Any]:
        """Iterate in native code."""
        return iter(self.taken())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticIter) and self.items is other.items and self.at == other.at

    def __hash__(self) -> int:
        return hash((id(self.items), self.at))


def items_of(x: Any) -> Sequence[Any]:
    """Return what an iterator over `x` goes through: a list itself, which may grow meanwhile; of others the items."""
    return x if type(x) is list else iterate_static(x)


class Numbered(Sequence[Any]):
    """The items of a sequence with their numbers, as `enumerate` yields them."""

    def __init__(self, items: Sequence[Any], start: int) -> None:
        self._items, self._start = items, start

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return tuple(self[i] for i in range(*key.indices(len(self))))
        return key + self._start, self._items[key]


class Endless(Sequence[Any]):
    """Items without end, each found by its number, as `itertools.count`, `cycle` and `repeat` yield them."""

    def __init__(self, item: Callable[[int], Any]) -> None:
        self._item = item

    def __len__(self) -> int:
        return sys.maxsize

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            raise _endless("an iterator")
        return self._item(key)


def _endless(what: str) -> CompileError:
    help = (
        "items are taken where an iterator is used: give `zip` or `itertools.islice` the end, or write a `while` loop",
        "a generator expression takes all of its items at once: let it iterate over an `itertools.islice`",
    )
    return mistake("endless-iterator", f"{what} has not ended after {MAX_ITEMS} items", help=help)


def is_foreign(x: Any) -> bool:
    """Tell whether `x` is an iterator from outside.

    The kernel's own are `StaticIter`, or of the user's classes; those that have a length are sequences as well.
    """
    kind = type(x)
    return hasattr(kind, "__next__") and not (hasattr(kind, "__len__") or isinstance(kind.__next__, FunctionType))


def refuse_foreign(x: Any) -> None:
    """Refuse to use up an iterator from outside, which would be empty in the kernel's next compile."""
    if is_foreign(x):
        help = "make a tuple of it there, `tuple(...)`, which can be iterated over each time the kernel is compiled"
        raise mistake("mutation", f"this would use up {describe(x)} that this kernel did not make", help=help)


def iterate_static(x: Any) -> tuple[Any, ...]:
    """Return the items of a compile-time sequence, or of a run-time object of static length."""
    refuse_foreign(x)
    return _items(x)


def _items(x: Any) -> tuple[Any, ...]:
    if isinstance(x, StaticIter):
        return x.taken()
    if isinstance(x, tuple) and len(x) <= MAX_ITEMS:
        return tuple(x)
    if hasattr(x, "is_valid") and hasattr(x, "advance") and not hasattr(type(x), "__iter__"):
        help = "`while tiles.is_valid():` and, at its end, `tiles = tiles.advance()`"
        raise mistake("iteration", f"{describe(x)} cannot be iterated over", help=help)
    items = tuple(islice(x, MAX_ITEMS + 1))
    if len(items) > MAX_ITEMS:
        raise _endless(describe(x))
    return items


def exhaust(x: Iterator[Any]) -> StaticIter:
    """Return a one-shot Python iterator as items: paths that share it must not take each other's items."""
    return StaticIter(_items(x), once=True, python=x)


class RangeIter(NamedTuple):
    """A loop counter on the GPU, which goes on until `index` equals `end`: exact even where adding `step` wraps.

    more    whether there is a next number, if ``index != end`` does not tell: a counter that takes all values of its
            type ends where it began
    unroll  the number of iterations in the loop's body, which asks for a next number once for all of them
    ahead   the number of iterations by which loads are moved up in the body
    turn    the number of the iteration within the body
    rest    the counter of the iterations that are left when the body does not fit another time, or None
    """

    index: Any
    end: Any
    step: Any
    more: Any = None
    unroll: int = 1
    ahead: int = 0
    turn: int = 0
    rest: Any = None

    @property
    def type(self) -> DType:
        """The counter's type."""
        return counter_type(self.index, self.end, self.step)

    def stop(self) -> Any:
        """Return the end; the index where there are no more numbers."""
        return self.end if self.more is None else where(self.more, self.end, self.index)

    @property
    def begins(self) -> bool:
        """True where it is certain that there is a first number."""
        if self.more is not None:
            return False
        if isinstance(self.index, int) and isinstance(self.end, int):
            return self.index != self.end
        return all(isinstance(x, int | DimExpr) for x in self[:3]) and prove_lt(self.index, self.end)

    def goes_on(self) -> Any:
        """Return whether there is a next number, which may be known at run time only."""
        if self.turn:
            return True
        return self.index != self.end if self.more is None else self.more

    def advanced(self) -> RangeIter:
        """Return the counter of the next iteration."""
        index, turn = self.index + self.step, (self.turn + 1) % self.unroll
        more = self.more if turn or self.more is None else index != self.end
        return self._replace(index=index, more=more, turn=turn)

    def remainder(self) -> RangeIter | StaticIter:
        """Return the iterator over the numbers that are left; if they are known at compile time, one by one."""
        rest: RangeIter = self.rest
        return rest.one_by_one(self.ahead) if isinstance(rest.index, int) and isinstance(rest.end, int) else rest

    def one_by_one(self, ahead: int) -> StaticIter:
        """Return the numbers of a counter that is known at compile time, as run-time numbers of its type."""
        numbers = range(self.index, self.end, self.step)
        return StaticIter(tuple(wrap(as_value(number, self.type)) for number in numbers), ahead=ahead)


MAX_UNROLL = 64
"""The most iterations that the body of a loop may have."""


@dataclass(frozen=True, slots=True)
class Range:
    """`range(start, stop, step)` inside a kernel: `for` over it is a loop on the GPU. `cl.static_range` unrolls.

    Where all three are known at compile time it is also a sequence for `zip`, `tuple`, comprehensions and the like.

    unroll    the number of iterations in the body of the loop
    prefetch  the number of iterations by which loads are moved up in the body
    turned    the numbers come from last to first
    """

    start: Any
    stop: Any
    step: Any
    unroll: int = 1
    prefetch: int = 0
    turned: bool = False

    @property
    def items(self) -> range:
        """The range as a Python range. Errors: `runtime-range` where something is known at run time only."""
        if not self.is_static:
            raise mistake(
                "runtime-range",
                "the items of this range are known only at run time",
                help=("use a `for` statement over the range", "for compile-time items use `cl.static_range`"),
            )
        return range(self.start, self.stop, self.step)

    @property
    def is_static(self) -> bool:
        return all(isinstance(x, int) for x in (self.start, self.stop, self.step))

    def __iter__(self) -> Iterator[int]:
        if len(self.items[: MAX_ITEMS + 1]) > MAX_ITEMS:
            raise mistake(
                "unrolling",
                f"the items of {self.items!r} would be compiled one by one, and {MAX_ITEMS} is the most",
                help="use a `for` statement over the range, which is a loop on the GPU",
            )
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, key: Any) -> Any:
        if self.is_static:
            found = self.items[key]
            return Range(found.start, found.stop, found.step) if isinstance(found, range) else found
        if isinstance(key, slice):
            raise mistake("runtime-range", "a range that is known only at run time cannot be sliced")
        if self.turned:
            raise mistake("runtime-range", "a reversed range cannot be indexed")
        if isinstance(key, int) and key < 0:
            key += self.length()
        return self.start + key * self.step

    def index(self, x: Any) -> int:
        return self.items.index(x)

    def count(self, x: Any) -> int:
        return self.items.count(x)

    def __reversed__(self) -> Iterator[int]:
        return reversed(self.items)

    def backwards(self) -> Range:
        """Return the same numbers from last to first."""
        if self.is_static:
            turned = self.items[::-1]
            return replace(self, start=turned.start, stop=turned.stop, step=turned.step)
        return replace(self, turned=not self.turned)

    def length(self) -> Any:
        """Return how many numbers it has."""
        if self.is_static:
            return len(self.items)
        start, stop, step = self.start, self.stop, self.step
        t = counter_type(start, stop, step)
        if (isinstance(step, int) and step == 1 and t.bits >= 32) or not any(
            isinstance(x, Scalar) for x in (start, stop)
        ):
            counter = _onwards(self)
            return (counter.stop() - counter.index) // counter.step
        some, steps = _steps(_as_counter(start, t), _as_counter(stop, t), step, t)
        return where(some, to_dtype(steps, t if t.bits >= 32 else i32), 0)

    def holds(self, x: Any) -> Any:
        """Return whether the integer `x` is among them."""
        if not isinstance(self.step, int) or not (isinstance(x, int) or (isinstance(x, Scalar) and x.dtype.is_int)):
            raise mistake("runtime-range", "`in` takes an integer, and a range whose step is known at compile time")
        low, high = (self.start, self.stop) if self.step > 0 else (self.stop + 1, self.start + 1)
        inside = logical_and(x >= low, x < high)
        return inside if abs(self.step) == 1 else logical_and(inside, (x - self.start) % abs(self.step) == 0)


def make_range(*args: Any, unroll: Any = None, prefetch: Any = 0) -> Range:
    """Make the range of ``range(...)`` and ``cl.range(..., unroll=...)`` in a kernel. Errors: `range`."""
    if unroll is not None and (type(unroll) is not int or not 1 <= unroll <= MAX_UNROLL):
        text = f"`unroll` is a compile-time integer from 1 to {MAX_UNROLL}, not {describe(unroll)}"
        raise mistake("range", text, help="`cl.static_range` unrolls a loop as a whole")
    limit = (unroll or MAX_UNROLL) - 1
    if type(prefetch) is not int or not 0 <= prefetch <= limit:
        text = f"`prefetch` is a compile-time integer from 0 to {limit}, not {describe(prefetch)}"
        raise mistake("range", text, help="loads are moved up within a body of `unroll` iterations")
    if not 1 <= len(args) <= 3:
        raise mistake("range", f"range takes 1 to 3 arguments, not {len(args)}")
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    for x in (start, stop, step):
        if not (isinstance(x, int | DimExpr) or (isinstance(x, Scalar) and x.dtype.is_int)):
            help = "convert it: `int(...)`" if isinstance(x, Scalar | float) else ""
            raise mistake("range", f"range takes integers, not {describe(x)}", help=help)
    if isinstance(step, int) and step == 0:
        raise mistake("range", "the step of a range must not be 0")
    return Range(start, stop, step, unroll or prefetch + 1, prefetch)


def counter_type(start: Any, stop: Any, step: Any = 1) -> DType:
    """Return the type of a counter: i32, or the common type of its run-time parts; literals must fit it.

    A step that fits its unsigned form is added modulo the type's range.
    """
    parts = (start, stop, step)
    typed = [dim_type(x) if isinstance(x, DimExpr) else x.dtype for x in parts if isinstance(x, Scalar | DimExpr)]
    if not typed:
        return i64 if any(isinstance(x, int) and literal_type(x) == i64 for x in parts) else i32
    t = functools.reduce(common_type, typed)
    for literal in (start, stop):
        if isinstance(literal, int) and not t.range[0] <= literal <= t.range[1]:
            t = common_type(t, i64 if t.signed or t.bits < 64 else t)
    return i64 if isinstance(step, int) and abs(step) >> t.bits else t


def iterate(r: Range) -> RangeIter | StaticIter:
    """Return the iterator of a loop over a range: a counter; or the numbers, where they all fit into one body."""
    counter = count_along(r)
    if r.unroll == 1:
        return counter
    if r.is_static and len(r.items[: r.unroll + 1]) <= r.unroll:
        return counter.one_by_one(r.prefetch)
    return _in_groups(r, counter)


def _in_groups(r: Range, counter: RangeIter) -> RangeIter:
    """Return the counter of a loop whose body has `unroll` iterations, with the counter of those left over."""
    (start, end, step, some, *_), unroll, ahead = counter, r.unroll, r.prefetch
    if isinstance(start, int) and isinstance(end, int | DimExpr):
        left = (end - start) // step % unroll
        middle = end - left * step
        rest = None if isinstance(left, int) and left == 0 else RangeIter(middle, end, step)
        return RangeIter(start, middle, step, None, unroll, ahead, 0, rest)
    t = counter.type
    by = r.step if isinstance(r.step, int) else _as_counter(r.step, t)  # `step` may be -`by`, modulo the type's range
    up, size = (by > 0, abs(by)) if isinstance(by, int) else (by > 0, where(by > 0, by, -by))
    if r.turned:
        up = logical_not(up) if isinstance(up, Scalar) else not up
    if some is None:  # step is 1 or -1, and the distance is the number of iterations
        left = to_dtype(to_dtype(end - start if up else start - end, unsigned(t)) % unroll, t)
        middle = end - left * step
        return RangeIter(start, middle, step, None, unroll, ahead, 0, RangeIter(middle, end, step))
    last = end - step  # its distance from the start fits in the unsigned type
    distance = where(up, last - start, start - last)
    before = to_dtype(distance, unsigned(t)) // to_dtype(size, unsigned(t))  # the iterations before the last one
    left = where(some, (before + 1) % unroll, 0)
    middle = end - to_dtype(left, t) * step
    enough = logical_and(some, before >= unroll - 1)
    return RangeIter(start, middle, step, enough, unroll, ahead, 0, RangeIter(middle, end, step, left != 0))


def count_along(r: Range) -> RangeIter:
    """Return the counter of a range at its start, for one iteration after the other."""
    counter = _onwards(r)
    if not r.turned:
        return counter
    first, end, step, some, *_ = counter
    if some is None and not (isinstance(step, int) and abs(step) == 1):
        some = first != end
    t, back = counter.type, -step
    first, end, step = (to_dtype(wrap(as_value(x)) if isinstance(x, DimExpr) else x, t) for x in (first, end, step))
    return RangeIter(end - step, first - step, _as_counter(back, t), some)


def _onwards(r: Range) -> RangeIter:
    """Return the counter of a range from its first number on."""
    start, stop, step = r.start, r.stop, r.step
    if r.is_static:
        return RangeIter(int(start), r.items[-1] + step if r.items else int(start), int(step))
    if (
        type(start) is int
        and isinstance(stop, DimExpr)
        and isinstance(step, int)
        and step > 0
        and prove_le(start, stop)
    ):
        end = start + step * ceil_div(stop - start, step)
        if counter_type(start, end) == counter_type(start, stop):
            return RangeIter(start, end, step)
    t = counter_type(start, stop, step)
    first, last, by = (_as_counter(x, t) for x in (start, stop, step))
    if isinstance(step, int) and abs(step) == 1:
        return RangeIter(first, maximum(first, last) if step > 0 else minimum(first, last), by)
    some, steps = _steps(first, last, int(step) if isinstance(step, int) else by, t)
    return RangeIter(first, to_dtype(first, t) + to_dtype(steps, t) * to_dtype(by, t), by, some)


def _as_counter(x: Any, t: DType) -> Any:
    """Return a part of a range in the counter's type; literals that fit it stay literals."""
    if isinstance(x, int) and t.range[0] <= x <= t.range[1]:
        return int(x)
    return to_dtype(wrap(as_value(x)) if isinstance(x, DimExpr) else x, t)


def _steps(start: Any, stop: Any, step: Any, t: DType) -> tuple[Any, Any]:
    """Return whether there are any numbers, and how many, modulo the range of their type's unsigned form.

    Distances are unsigned: the one from -2**31 to 2**31 - 1 does not fit in an i32.
    """
    start, stop = to_dtype(start, t), to_dtype(stop, t)
    if isinstance(step, int):
        up = step > 0
        some, distance, size = (stop > start, stop - start, step) if up else (stop < start, start - stop, -step)
    else:
        up = step > 0
        some = where(up, stop > start, stop < start)
        distance, size = where(up, stop - start, start - stop), where(up, step, -step)
    u = unsigned(t)
    return some, (to_dtype(distance, u) - 1) // to_dtype(size, u) + 1
