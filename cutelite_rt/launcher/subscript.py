"""Find the kept result of ``kernel[grid, block]`` by machine code: comparing a few ints is faster than hashing tuples.

In    the launcher's machine code (`launcher.c`), and the result of each subscript
Out   `Subscripts.function`, a builtin that takes a subscript; an unknown one goes to Python

Two subscripts are the same if they have the same ints in the same form (`16` is not `(16,)`) and the same stream
object. The subscript found last is compared first, by identity of its objects. `True` and `16.0` do not count as ints;
subscripts with anything but ints, tuples of ints and a stream go to Python.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from cutelite_rt import forks
from cutelite_rt.arrays.exchange import place_of
from cutelite_rt.launcher import native
from cutelite_rt.launcher.environment import Environment
from cutelite_rt.launcher.image import Machine
from cutelite_rt.launcher.outcomes import hash_of
from cutelite_rt.signature.table import WORD

STATE = {"env": 0, "entries": WORD, "anew": 2 * WORD, "recent": 3 * WORD}
"""Offsets in the state, in bytes."""

KEY_WORDS, ENTRY_BYTES = 5, 8 * WORD
"""An entry has the words of a subscript, then its result, then the subscript itself. Before the entries, in the space
of one, is their number minus 1."""

MOST = 1024
"""At most this many are kept; then all are dropped."""

Held = Callable[..., None]


class Subscripts:
    """The subscripts of one kernel.

    anew    a function that returns the result for an unknown subscript. Errors: any
    """

    def __init__(self, machine: Machine, environment: Environment, anew: Callable[[Any], Held]) -> None:
        self._environment, self._anew, self._lock = environment, anew, forks.lock()
        self._kept: dict[tuple[int, ...], tuple[Any, Held]] = {}
        self._table = _table([], 4)
        own = bytes(WORD * len(STATE))  # the state is written into this object, which nothing else uses
        self._state = (ctypes.c_uint64 * len(STATE)).from_address(id(own) + native.BYTES_OFFSET)
        self._state[:] = [environment.address, ctypes.addressof(self._table), id(anew), ctypes.addressof(_NONE)]
        method = native.method("subscript", machine.subscript, "kernel[...]")
        self.function = native.builtin(method, (own, method, self))

    def __len__(self) -> int:
        return len(self._kept)

    def add(self, key: Any, held: Held) -> None:
        """Keep the result of a subscript in the table that machine code reads."""
        words = words_of(key)
        if words is None:
            return
        with self._lock:
            kept = {} if len(self._kept) >= MOST else self._kept
            kept = {**kept, words: (key, held)}
            size = len(self._table) // (ENTRY_BYTES // WORD) - 1
            table = _table([(row, *each) for row, each in kept.items()], size)
            state, before = ctypes.addressof(self._state), (self._table, self._kept)
            native.publish(state + STATE["entries"], ctypes.addressof(table))
            native.publish(state + STATE["recent"], ctypes.addressof(_NONE))
            self._table, self._kept = table, kept
            self._environment.readers.let_go(before)  # to which no pointer is left


def words_of(key: Any) -> tuple[int, ...] | None:
    """Return the words of a subscript: a grid, (grid, block) or (grid, block, stream), of ints; None for others."""
    grid, block, *rest = key if type(key) is tuple else (key, None)
    g, b = _shape(grid), (0, 0) if type(key) is int else _shape(block)
    if g is None or b is None or len(rest) > 1:
        return None
    return (*g, *b, id(rest[0]) if rest else 0)


def _shape(x: Any) -> tuple[int, int] | None:
    """Return two words of 32-bit numbers: x and y; z and the length of the tuple, 0 for an int. None for others."""
    given = x if type(x) is tuple else (x,)
    if not 1 <= len(given) <= 3 or any(type(n) is not int or n >> 32 for n in given):
        return None
    a, b, c = (*given, 1, 1)[:3]
    return a | b << 32, c | (len(given) if type(x) is tuple else 0) << 32


def _table(rows: list[tuple[tuple[int, ...], Any, Held]], size: int) -> ctypes.Array[ctypes.c_uint64]:
    """Return a hash table of the rows, with open addressing: at least half of its entries are empty."""
    while size < 2 * len(rows):
        size *= 2
    step = ENTRY_BYTES // WORD
    table = (ctypes.c_uint64 * (step * (1 + size)))(size - 1)
    for words, key, held in rows:
        at = place_of(table, hash_of(words), size, step, step + KEY_WORDS)
        table[at - KEY_WORDS : at + 2] = [*words, id(held), id(key)]
    return table


_NONE = (ctypes.c_uint64 * (ENTRY_BYTES // WORD))(*[0] * (KEY_WORDS + 1), id(None))
"""An entry that is equal to no subscript."""
