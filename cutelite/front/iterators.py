"""What `for` iterates over: compile-time items, which are unrolled, or a range, which is a loop on the GPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import i32, i64
from cutelite.lang.emit import describe, mistake, wrap
from cutelite.lang.loops import MAX_ITEMS
from cutelite.lang.promotion import as_value, common_type, dim_type, literal_type, to_dtype, unsigned
from cutelite.lang.values import Scalar, logical_and, maximum, minimum, where
from cutelite.layout import DimExpr, ceil_div, prove_le, prove_lt


class StaticIter:
    """The rest of a compile-time sequence.

    once   a one-shot iterator, such as what `zip` or a generator expression gives: `next` moves it on
    spent  it has been iterated over
    """

    __slots__ = ("at", "items", "once", "spent")

    def __init__(self, items: tuple[Any, ...], at: int = 0, once: bool = False) -> None:
        self.items, self.at, self.once, self.spent = items, at, once, False

    def described(self) -> str:
        return "an iterator"

    def start(self) -> StaticIter:
        """An iterator at the beginning."""
        return StaticIter(self.taken())

    def taken(self) -> tuple[Any, ...]:
        """The remaining items; what can be iterated over only once has been after this."""
        if self.spent:
            raise mistake(
                "exhausted",
                "this iterator has been iterated over already",
                "it yields nothing a second time",
                "make a tuple of it: `tuple(...)`",
            )
        self.spent = self.once
        return self.items[self.at :]

    def advanced(self) -> StaticIter:
        return StaticIter(self.items, self.at + 1)

    @property
    def exhausted(self) -> bool:
        return self.at >= len(self.items)

    def __iter__(self) -> Iterator[Any]:
        """For native code."""
        return iter(self.taken())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticIter) and self.items is other.items and self.at == other.at

    def __hash__(self) -> int:
        return hash((id(self.items), self.at))


def iterate_static(x: Any) -> tuple[Any, ...]:
    """The items of a compile-time sequence, or of a run-time object of static length."""
    if isinstance(x, StaticIter):
        return x.taken()
    if isinstance(x, tuple) and len(x) <= MAX_ITEMS:
        return tuple(x)
    items = tuple(islice(x, MAX_ITEMS + 1))
    if len(items) > MAX_ITEMS:
        raise mistake("endless-iterator", f"{describe(x)} has not ended after {MAX_ITEMS} items")
    return items


def exhaust(x: Iterator[Any]) -> StaticIter:
    """A one-shot iterator of Python's as items: paths that share it must not take them from each other."""
    return StaticIter(iterate_static(x), once=True)


class RangeIter(NamedTuple):
    """A loop counter on the GPU, which goes on until `index` equals `end`: exact even where adding `step` wraps.

    more  whether there is a next one, where that is not the same as ``index != end``: a counter that goes all the
          way round its type ends where it began
    """

    index: Any
    end: Any
    step: Any
    more: Any = None

    @property
    def type(self) -> DType:
        """The counter's type."""
        return counter_type(self.index, self.end, self.step)

    def stop(self) -> Any:
        """The end; the index where there are no more numbers."""
        return self.end if self.more is None else where(self.more, self.end, self.index)

    @property
    def begins(self) -> bool:
        """Whether it is certain that there is a first number."""
        if self.more is not None:
            return False
        if isinstance(self.index, int) and isinstance(self.end, int):
            return self.index != self.end
        return all(isinstance(x, int | DimExpr) for x in self[:3]) and prove_lt(self.index, self.end)

    def goes_on(self) -> Any:
        return self.index != self.end if self.more is None else self.more

    def advanced(self) -> RangeIter:
        index = self.index + self.step
        return RangeIter(index, self.end, self.step, None if self.more is None else index != self.end)


@dataclass(frozen=True, slots=True)
class Range:
    """`range(start, stop, step)` inside a kernel: `for` over it is a loop on the GPU. `cl.static_range` unrolls.

    Where all three are known at compile time it is also a sequence for `zip`, `tuple`, comprehensions and the like.
    """

    start: Any
    stop: Any
    step: Any

    def described(self) -> str:
        return "a range"

    @property
    def items(self) -> range:
        """As Python's range. Errors: `runtime-range` where something is known at run time only."""
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
        return self.start + key * self.step

    def __reversed__(self) -> Iterator[int]:
        return reversed(self.items)

    def backwards(self) -> Range:
        """The same numbers from last to first."""
        if self.is_static:
            turned = self.items[::-1]
            return Range(turned.start, turned.stop, turned.step)
        counter = iterate(self)
        return Range(counter.stop() - counter.step, counter.index - counter.step, -counter.step)

    def count(self) -> Any:
        """How many numbers there are."""
        if self.is_static:
            return len(self.items)
        counter = iterate(self)
        return (counter.stop() - counter.index) // counter.step

    def holds(self, x: Any) -> Any:
        """Whether the integer `x` is among them."""
        if not isinstance(self.step, int) or not (isinstance(x, int) or (isinstance(x, Scalar) and x.dtype.is_int)):
            raise mistake("runtime-range", "`in` takes an integer, and a range whose step is known at compile time")
        low, high = (self.start, self.stop) if self.step > 0 else (self.stop + 1, self.start + 1)
        inside = logical_and(x >= low, x < high)
        return inside if abs(self.step) == 1 else logical_and(inside, (x - self.start) % abs(self.step) == 0)


def make_range(*args: Any) -> Range:
    """What ``range(...)`` is in a kernel."""
    if not 1 <= len(args) <= 3:
        raise mistake("range", f"range takes 1 to 3 arguments, not {len(args)}")
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    for x in (start, stop, step):
        if not (isinstance(x, int | DimExpr) or (isinstance(x, Scalar) and x.dtype.is_int)):
            raise mistake("range", f"range takes integers, not {describe(x)}")
    if isinstance(step, int) and step == 0:
        raise mistake("range", "the step of a range must not be 0")
    return Range(start, stop, step)


def counter_type(*parts: Any) -> DType:
    """The type of a counter that starts, ends and steps so: i32, or what its run-time parts have in common."""
    typed = [dim_type(x) if isinstance(x, DimExpr) else x.dtype for x in parts if isinstance(x, Scalar | DimExpr)]
    literals = [x for x in parts if isinstance(x, int)]
    if not typed:
        return i64 if any(literal_type(x) == i64 for x in literals) else i32
    t: DType = typed[0]
    for other in typed[1:]:
        t = common_type(t, other)
    for literal in literals[:2]:  # a step need not fit: it is added modulo the type's range
        if not t.range[0] <= literal <= t.range[1]:
            t = common_type(t, i64 if t.signed or t.bits < 64 else t)
    return t


def iterate(r: Range) -> RangeIter:
    """The counter of a range at its start."""
    start, stop, step = r.start, r.stop, r.step
    if r.is_static:
        return RangeIter(int(start), start + step * len(r.items), int(step))
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
    some, end = _end(first, last, int(step) if isinstance(step, int) else by, t)
    return RangeIter(first, end, by, some)


def _as_counter(x: Any, t: DType) -> Any:
    """A part of a range in the counter's type; literals that fit it stay literals."""
    if isinstance(x, int) and t.range[0] <= x <= t.range[1]:
        return int(x)
    return to_dtype(wrap(as_value(x)) if isinstance(x, DimExpr) else x, t)


def _end(start: Any, stop: Any, step: Any, t: DType) -> tuple[Any, Any]:
    """Whether there are any numbers, and ``start + step * (how many there are)`` modulo the range of their type.

    Distances are unsigned: from -2**31 to 2**31 - 1 is further than an i32 can tell.
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
    steps = (to_dtype(distance, u) - 1) // to_dtype(size, u) + 1
    return some, start + to_dtype(steps, t) * to_dtype(step, t)
