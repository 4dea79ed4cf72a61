"""Vectors of rows that begin anywhere: loads of neighbours, stores of parts of a vector, elements that are replaced."""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import i32, u32
from cutelite.lang.algebra import aligned_down, domain_offset
from cutelite.lang.bits import bmsk, funnel_right
from cutelite.lang.index import linear_thread_idx
from cutelite.lang.loops import static_range
from cutelite.lang.tensor import make_rmem_tensor, make_tensor
from cutelite.lang.values import full, maximum, minimum, where
from cutelite.lang.warp import exchange
from cutelite.lang.words import pack, unpack
from cutelite.layout import ceil_div, make_layout
from cutelite.target.targets import WARP

COPIED = 16  # bytes; sizes of bulk copies are multiples of this


def kept_within(v: Any, begin: Any, end: Any, fill: Any) -> Any:
    """Return the vector `v`, with `fill` in the place of elements before `begin` and from `end` on, if there are.

    fill  a number, or a vector, of which the elements of the same places are taken
    """
    each = 4 // v.dtype.bytes
    other = fill if hasattr(fill, "n") else full((v.n,), fill, v.dtype)
    if each < 2 or v.n % each:
        made = make_rmem_tensor(v.dtype, (v.n,))
        for j in static_range(v.n):
            made[j] = where((begin is None or begin <= j) & (end is None or j < end), v[j], other[j])
        return made.load()
    words, beyond, bits = pack(v), pack(other), 8 * v.dtype.bytes
    found = make_rmem_tensor(u32, (v.n // each,))
    for j in static_range(v.n // each):
        mask: Any = u32(0xFFFFFFFF)
        if begin is not None:
            mask = bmsk(maximum(begin * bits - 32 * j, 0), 32).to(u32)
        if end is not None:
            mask = mask & bmsk(0, maximum(end * bits - 32 * j, 0)).to(u32)
        found[j] = (words[j] & mask) | (beyond[j] & ~mask)
    return unpack(found.load(), v)


def neighbours(memory: Any, at: Any, width: int, step: Any = 0) -> Any:
    """Load `width` neighbouring elements of `memory` that begin anywhere, at ``at + step``.

    Narrow elements come in words of 32 bits, which are shifted where the first element begins within one: then the
    elements of that word before it are read too, and as many behind the last one.

    step  a multiple of a word. What is known at compile time belongs here: accesses then share an address
    """
    each, dtype = 4 // memory.dtype.bytes, memory.dtype
    if each < 2 or width % each:
        found = make_rmem_tensor(dtype, (width,))
        for j in static_range(width):
            found[j] = memory[at + step + j]
        return found.load()
    if memory.value.type.align % 4:
        memory, before = aligned_down(memory, 4)
        at = at + before
    count, rest = width // each, at % each
    shape = (ceil_div(memory.size, each) + 1,)
    whole = make_tensor(memory, make_layout(shape), u32)
    words, made = make_rmem_tensor(u32, (count + 1,)), make_rmem_tensor(u32, (count,))
    first, last = at // each, at // each + minimum(rest, 1)  # without a rest the last word is read again
    for j in static_range(count):
        words[j] = whole[first + (step // each + j)]
    words[count] = whole[last + (step // each + count - 1)]
    for j in static_range(count):
        made[j] = funnel_right(words[j], words[j + 1], rest * (8 * dtype.bytes))
    return unpack(made.load(), full((width,), 0, dtype))


def between(memory: Any, at: Any, width: int, step: Any = 0) -> Any:
    """Load `width` neighbouring elements, 16 bytes, that begin anywhere, at ``at + step``, by two vectors.

    Elements beside those that are wanted are read: up to a vector's before them, and behind them.

    step    a multiple of a vector
    """
    if memory.value.type.align % COPIED:
        memory, before = aligned_down(memory, COPIED)
        memory, at = make_tensor(memory, make_layout((memory.size + 2 * width,))), at + before
    number, rest = at // width, at % width  # without a rest the first vector is read again
    both = [memory.tile((width,), (i + step // width,)).load() for i in (number, number + minimum(rest, 1))]
    return behind(both[0], both[1], rest)


def behind(a: Any, b: Any, rest: Any) -> Any:
    """Return as many elements as `a` or `b` has, of both in a row, from element `rest` of `a` on, which is below that.

    Vectors have a power of two of 32-bit words.
    """
    each, count = 4 // a.dtype.bytes, a.n * a.dtype.bytes // 4
    words = [v[j] for v in (pack(a), pack(b)) for j in static_range(count)]
    bit = count // 2  # words
    while bit:
        some = (rest & bit * each) > 0
        words = [where(some, words[j + bit], words[j]) for j in static_range(len(words) - bit)]
        bit //= 2
    made = make_rmem_tensor(u32, (count,))
    for j in static_range(count):
        made[j] = words[j] if each == 1 else funnel_right(words[j], words[j + 1], rest % each * (8 * a.dtype.bytes))
    return unpack(made.load(), a)


def store_beside(v: Any, row: Any, at: Any) -> None:
    """Write a warp's vectors, one behind the other, to elements of `row` that begin anywhere: `v` of this lane at `at`.

    Each lane writes a whole vector of memory, which begins with elements of the lane before; the first and the last
    lane write the ends.

    Who   the whole warp; vectors have a power of two of 32-bit words
    """
    cover, lead = aligned_down(domain_offset((at,), row), v.n * v.dtype.bytes)
    cover, lane = make_tensor(cover, make_layout((2 * v.n,))), linear_thread_idx() % WARP
    before, rest = exchange(v, "up", 1), (v.n - lead) % v.n
    made = behind(chosen(lead > 0, before, v), v, rest)
    if (lane == 0) & (lead > 0):
        store_some(made, cover, 0, rest, first=False)
    else:
        cover.tile((v.n,), (0,)).store(made)
    if (lane == WARP - 1) & (lead > 0):
        store_some(behind(v, v, rest), cover, 1, lead, first=True)


def copy_vector(row: Any, held: Any, number: Any, width: int, piece: int, into: bool) -> None:
    """Copy a whole vector, the one of this number, between `row` and column `piece` of `held`; `into`: to the row."""
    there = row.tile((width,), (number,))
    if into:
        there.store(held[None, piece].load())
    else:
        held[None, piece].store(there.load())


def store_some(v: Any, row: Any, number: Any, count: Any, first: bool) -> None:
    """Write the `first` or last elements of `v`, `count` of them, to the vector of `row` of this number.

    They go by accesses of half a vector, a quarter and so on, each as the bits of `count` say.

    count  below the elements of `v`; where it is not above 0, none is written
    """
    size, rest, count = v.n // 2, v, maximum(i32(count), 0)
    while size:
        place = count >> size.bit_length() - 1 & -2  # in accesses of this size
        some, ends = (count & size) > 0, (rest[:size], rest[size:])
        if some:
            at = number * (v.n // size) + (place if first else v.n // size - 1 - place)
            row.tile((size,), (at,)).store(ends[0] if first else ends[1])
        rest = chosen(some, *(ends[::-1] if first else ends)) if size > 1 else rest
        size //= 2


def chosen(condition: Any, a: Any, b: Any) -> Any:
    """Return one of two vectors, word by word where they fill words."""
    if a.n * a.dtype.bytes % 4:
        return where(condition, a, b)
    words, made = (pack(a), pack(b)), make_rmem_tensor(u32, (a.n * a.dtype.bytes // 4,))
    for j in static_range(made.shape[0]):
        made[j] = where(condition, words[0][j], words[1][j])
    return unpack(made.load(), a)


def copy_elements(
    row: Any, held: Any, first: Any, end: Any, width: int, piece: int, into: bool, begin: Any = None
) -> None:
    """Copy the elements of a vector that lie before `end`, and not before `begin` if given, as `copy_vector` does."""
    for j in static_range(width):
        if first + j < end if begin is None else (first + j >= begin) & (first + j < end):
            if into:
                row[first + j] = held[j, piece]
            else:
                held[j, piece] = row[first + j]
