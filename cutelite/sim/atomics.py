"""Atomic read-modify-write: as if the elements were updated one after the other, in the order of the addresses.

Elements at distinct addresses are updated at once. Where several share an address, either a running reduction
computes all the intermediate values of an address, or the first element of each address is updated, then the second
of each, and so on; whichever takes fewer steps. Both give the bits of the serial order, floats included.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cutelite.ir.types import Scalar
from cutelite.sim.error import Accuser
from cutelite.sim.memory import Selected, Space, memory_dtype

Array = Any


def _inc(old: Array, limit: Array) -> Array:
    return np.where(old >= limit, 0, old + 1).astype(old.dtype)


def _dec(old: Array, limit: Array) -> Array:
    return np.where((old == 0) | (old > limit), limit, old - 1).astype(old.dtype)


ACTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "min": np.fmin,
    "max": np.fmax,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exch": lambda old, new: new,
    "inc": _inc,
    "dec": _dec,
}
"""New value from old value and operand (PTX ISA: atom)."""


def atomic(
    space: Space,
    address: Array,
    action: str,
    elem: Scalar,
    operand: Array,
    compare: Array | None,
    who: Accuser,
) -> Array:
    """The old values. Addresses (k,), operand (k,) or (k, n) for `n` neighbours at each; `compare` for 'cas'."""
    dtype = memory_dtype(elem)
    shape = operand.shape
    operand = np.ascontiguousarray(operand, dtype).reshape(-1)
    if len(shape) == 2:
        address = (address[:, None] + np.arange(shape[1]) * dtype.itemsize).reshape(-1)
        who = Selected(who, np.repeat(np.arange(shape[0]), shape[1]), 1)
    compare = None if compare is None else np.ascontiguousarray(compare, dtype).reshape(-1)
    order = np.argsort(address, kind="stable")
    runs = np.flatnonzero(np.diff(address[order], prepend=address[order[:1]] - 1))
    lengths = np.diff(runs, append=len(order))
    longest = int(lengths.max(initial=0))
    if longest <= 1:
        return _step(space, address, action, elem, operand, compare, who).reshape(shape)
    old = np.empty(len(address), dtype)
    ufunc = ACTIONS.get(action)
    if longest > len(runs) and isinstance(ufunc, np.ufunc) and dtype.isbuiltin == 1:
        for start, length in zip(runs.tolist(), lengths.tolist(), strict=True):
            at = order[start : start + length]
            first = space.load(address[at[:1]], elem, 1, Selected(who, at, 1)).reshape(1)
            running = ufunc.accumulate(np.concatenate([first, operand[at]]))
            old[at] = running[:-1]
            space.update(address[at[:1]], first, running[-1:], Selected(who, at, 1))
        return old.reshape(shape)
    for rank in range(longest):
        at = order[runs[lengths > rank] + rank]
        mine = None if compare is None else compare[at]
        old[at] = _step(space, address[at], action, elem, operand[at], mine, Selected(who, at, 1))
    return old.reshape(shape)


def _step(
    space: Space, address: Array, action: str, elem: Scalar, operand: Array, compare: Array | None, who: Accuser
) -> Array:
    """Update elements at distinct addresses; their old values."""
    old = space.load(address, elem, 1, who).reshape(-1)
    if action == "cas":
        assert compare is not None
        bits = f"u{old.itemsize}"  # cas compares bits: -0.0 is not 0.0, and a NaN equals itself
        new = np.where(old.view(bits) == compare.view(bits), operand, old)
    else:
        new = ACTIONS[action](old, operand).astype(old.dtype, copy=False)
    space.update(address, old, np.ascontiguousarray(new), who)
    return old
