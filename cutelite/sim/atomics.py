"""Atomic read-modify-write, with the results of updating one element after the other, in the order of the addresses.

Memory is read once and written once. Where several elements share an address, a running reduction computes all the
intermediate values of one address; or, where that takes fewer steps, the first element of each address is applied,
then the second of each, and so on. Both give the bits of the serial order, floats included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cutelite.ir.types import Scalar
from cutelite.sim.actors import Accuser
from cutelite.sim.memory import Selected, Space, memory_dtype

Array = Any


def _flushed(x: Array) -> Array:
    return np.where(_subnormal(x), np.copysign(np.zeros_like(x), x), x)


def _subnormal(x: Array) -> Array:
    return (x != 0) & (np.abs(x) < np.finfo(x.dtype).tiny)


ACTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "min": np.fmin,
    "max": np.fmax,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, new: new,
    "inc": lambda old, limit: np.where(old >= limit, 0, old + 1).astype(old.dtype),
    "dec": lambda old, limit: np.where((old == 0) | (old > limit), limit, old - 1).astype(old.dtype),
    "least": lambda old, new: np.where(old == new, np.where(np.signbit(old), old, new), np.fmin(old, new)),
    "greatest": lambda old, new: np.where(old == new, np.where(np.signbit(old), new, old), np.fmax(old, new)),
    "flushing sum": lambda old, new: _flushed(_flushed(old) + _flushed(new)),
}
"""New value from old value and operand (PTX ISA: atom). Of floats, -0 is below +0 (seen on an H200)."""

OF_FLOATS = {"min": "least", "max": "greatest"}


def atomic(
    space: Space,
    address: Array,
    action: str,
    elem: Scalar,
    operand: Array,
    compare: Array | None,
    who: Accuser,
    flush: bool = False,
) -> Array:
    """Update memory and return the old values.

    address, operand  (k,), and (k,) or (k, n) for `n` neighbours at each address
    compare           for 'cas': the values to compare with; else None
    flush             in sums, take subnormal operands and results as zeros of their sign
    """
    dtype = memory_dtype(elem)
    action = OF_FLOATS.get(action, action) if elem.is_float else action
    if action in ("exch", "cas") and operand.ndim == 2:
        return _whole(space, address, elem, operand, compare, who)
    shape = operand.shape
    operand = np.ascontiguousarray(operand, dtype).reshape(-1)
    if len(shape) == 2:
        address = (address[:, None] + np.arange(shape[1]) * dtype.itemsize).reshape(-1)
        who = Selected(who, np.repeat(np.arange(shape[0]), shape[1]), 1)
    compare = None if compare is None else np.ascontiguousarray(compare, dtype).reshape(-1)
    order = np.argsort(address, kind="stable")
    runs = np.diff(address[order], prepend=address[order[:1]] - 1).nonzero()[0]
    lengths = np.diff(runs, append=len(order))
    mine = order[runs]  # the first element of each address
    first = Selected(who, mine, 1)
    before = space.load(address[mine], elem, 1, first, tell=False).reshape(-1)
    if len(runs) == len(order):  # all addresses are distinct
        old = np.empty_like(before)
        old[mine], after = before, _apply(action, before, operand[mine], None if compare is None else compare[mine])
    elif compare is not None:
        old, after = _one_by_one(before, operand, compare, order, runs, lengths)
    elif len(runs) < lengths.max() and isinstance(ACTIONS[action], np.ufunc) and dtype.isbuiltin == 1:
        old, after = _run_by_run(action, before, operand, order, runs, lengths)
    else:
        old, after = _rank_by_rank(action, before, operand, order, runs, lengths)
    if flush and any(_subnormal(x).any() for x in (operand, old, after)):
        old, after = _rank_by_rank("flushing sum", before, operand, order, runs, lengths)
    space.update(address[mine], before, np.ascontiguousarray(after), first)
    if compare is None or space.observer is None:
        space.tell(address, dtype.itemsize, who, "atomic", old)
        return old.reshape(shape)
    bits = f"u{dtype.itemsize}"
    written = old.view(bits) == compare.view(bits)
    for kind, where in (("atomic", written), ("read", ~written)):  # a comparison that fails writes nothing
        some = where.nonzero()[0]
        if len(some):
            space.tell(address[some], dtype.itemsize, Selected(who, some, 1), kind, old[some])
    return old.reshape(shape)


def _whole(space: Space, address: Array, elem: Scalar, operand: Array, compare: Array | None, who: Accuser) -> Array:
    """Exchange, or compare and swap, neighbours together: 16 bytes at each address. Return the old values."""
    mine, row = np.unique(address, return_index=True, return_inverse=True)[1:]
    n, first = operand.shape[1], Selected(who, mine, 1)
    before = space.load(address[mine], elem, n, first, tell=False)
    after, old, written = before.copy(), np.empty_like(before, shape=operand.shape), np.ones(len(address), bool)
    for i, at in enumerate(row.reshape(-1).tolist()):
        old[i] = after[at]
        written[i] = compare is None or np.array_equal(compare[i], old[i])
        if written[i]:
            after[at] = operand[i]
    whole = f"V{n * before.itemsize}"
    space.update(address[mine], before.view(whole).reshape(-1), after.view(whole).reshape(-1), first)
    for kind, where in (("atomic", written), ("read", ~written)):
        some = np.flatnonzero(where)
        if len(some):
            seen = np.ascontiguousarray(old[some]).view(whole).reshape(-1)
            space.tell(address[some], seen.itemsize, Selected(who, some, 1), kind, seen)
    return old


def _run_by_run(
    action: str, before: Array, operand: Array, order: Array, runs: Array, lengths: Array
) -> tuple[Array, Array]:
    """Return the old value of each element, and the final value at each address; one address after the other."""
    old, after = np.empty(len(order), before.dtype), np.empty_like(before)
    ufunc: Any = ACTIONS[action]
    for i, (start, length) in enumerate(zip(runs.tolist(), lengths.tolist(), strict=True)):
        at = order[start : start + length]
        running = ufunc.accumulate(np.concatenate([before[i : i + 1], operand[at]]), dtype=before.dtype)
        old[at], after[i] = running[:-1], running[-1]
    return old, after


def _rank_by_rank(
    action: str, before: Array, operand: Array, order: Array, runs: Array, lengths: Array
) -> tuple[Array, Array]:
    """Return the same; apply the first element of all addresses at once, then their second elements, and so on."""
    old, after = np.empty(len(order), before.dtype), before.copy()
    for rank in range(int(lengths.max())):
        going = (lengths > rank).nonzero()[0]
        at = order[runs[going] + rank]
        old[at] = after[going]
        after[going] = _apply(action, after[going], operand[at], None)
    return old, after


def _one_by_one(
    before: Array, operand: Array, compare: Array, order: Array, runs: Array, lengths: Array
) -> tuple[Array, Array]:
    """Return the same for compare-and-swap, one element after the other."""
    bits = f"u{before.itemsize}"
    old, after = np.empty(len(order), before.dtype), before.copy()
    old_bits, after_bits = old.view(bits), after.view(bits)
    wanted, given = compare.view(bits), operand.view(bits)
    for i, (start, length) in enumerate(zip(runs.tolist(), lengths.tolist(), strict=True)):
        at = order[start : start + length]
        held, seen = int(after_bits[i]), []
        for expected, new in zip(wanted[at].tolist(), given[at].tolist(), strict=True):
            seen.append(held)
            held = new if held == expected else held
        old_bits[at], after_bits[i] = seen, held
    return old, after


def _apply(action: str, old: Array, operand: Array, compare: Array | None) -> Array:
    """Return the new values."""
    if compare is None:
        return ACTIONS[action](old, operand).astype(old.dtype, copy=False)
    bits = f"u{old.itemsize}"  # cas compares bits: -0.0 is not 0.0, and a NaN equals itself
    return np.where(np.ascontiguousarray(old).view(bits) == np.ascontiguousarray(compare).view(bits), operand, old)
