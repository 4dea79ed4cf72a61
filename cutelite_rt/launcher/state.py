"""The launcher of a kernel: the state that its machine code reads, and the builtins that launch.

In    the table of a kernel's signature (`signature.table`), and outcomes of launches that succeeded
Out   `Launcher.function` and `Launcher.bound`, builtins that repeat such launches, and pass all others to Python

Python writes the state, and the code reads it, while holding the interpreter lock, if there is one. A structure is
changed by making a new one and replacing the pointer to it; `readers` keeps the old one where launches may read it.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from cutelite_rt import forks
from cutelite_rt.arrays import exchange
from cutelite_rt.arrays import stream as streams
from cutelite_rt.arrays.memory import ArrayView, UnreadableArray, read
from cutelite_rt.gpu.driver import Driver
from cutelite_rt.launcher import native, watching
from cutelite_rt.launcher.asked import FACTS, GENERAL
from cutelite_rt.launcher.environment import environment
from cutelite_rt.launcher.image import Machine
from cutelite_rt.launcher.outcomes import KeyedOutcome, Outcome, OutcomeTable, Plan
from cutelite_rt.signature.bind import plain_number
from cutelite_rt.signature.table import WORD, Table

_STATE = "env general outcomes watch constants launch_anew number constant arrays resolved names defaults objects is"
STATE = {name: i * WORD for i, name in enumerate(_STATE.split())}
"""Offsets in `state`, in bytes."""

MOST_OUTCOMES = 1024
CONSTANTS = 256
"""Entries of the table of constants by identity. At most a quarter of them are used, so that searches are short."""


class Callbacks(NamedTuple):
    """The functions that launchers call in Python.

    launch_anew  (key or None, held, *args, **kwargs): launch without a kept outcome, or raise an error
    constant     (x) -> (a key that is equal for equal constants, whether it never changes while x lives)
    resolved     (held, *args, **kwargs) -> facts without `UNRESOLVED`
    """

    launch_anew: Callable[..., None]
    constant: Callable[[Any], tuple[Hashable, bool]]
    resolved: Callable[..., bytes]


Watch = tuple[Sequence[tuple[dict[Any, Any], Any, Any]], Sequence[tuple[Any, Any]]]
"""(namespace, name, expected object) for names, (cell, expected object) for cells; `UNBOUND`: no object."""

UNBOUND = object()
_numbers = itertools.count(1)  # numbers of constants; none is reused, not even after `forget`


class Launcher:
    """The memory of one kernel's launcher, and its function.

    Errors  OSError where memory cannot be made executable; `CudaError`
    """

    def __init__(
        self, machine: Machine, table: Table, calls: Callbacks, driver: Driver, defaults: dict[str, Any], doc: str
    ) -> None:
        self.table = table
        self._calls, self._lock = calls, forks.lock()
        self._environment = environment(driver)
        self._outcomes = OutcomeTable(table.places, ())
        self._left: list[OutcomeTable] = []  # older tables that some launches still read
        self._constants: dict[Hashable, tuple[int, Any]] = {}
        self._state = (ctypes.c_uint64 * len(STATE))()
        names = table.names
        self._by_identity = (ctypes.c_uint64 * (2 * CONSTANTS))()
        self._identified: list[object] = []
        self._watched: object = None
        arrays = {
            "names": _pointers(map(id, names)),
            "defaults": _pointers(id(defaults[name]) if name in defaults else 0 for name in names),
            "objects": _pointers(map(id, table.objects)),
            "constants": self._by_identity,
        }
        functions = {
            "launch_anew": calls.launch_anew,
            "number": _number,
            "constant": self._constant,
            "arrays": _read_others,
            "resolved": calls.resolved,
        }
        words = {name: ctypes.addressof(array) for name, array in arrays.items()}
        words |= {name: id(function) for name, function in functions.items()}
        words |= {"env": self._environment.address, "outcomes": self._outcomes.address, "is": table.address}
        for name, word in words.items():
            self._put(name, word)
        self._keep = arrays, functions
        self.watch(((), ()))
        self._own = struct.pack("<3Q", ctypes.addressof(self._state), self._environment.address, table.address)
        self._method = native.method("launch", machine.launch, doc)
        facts = FACTS.pack(0, 0, 0, GENERAL, 0, 0) + self._own
        self.function = native.builtin(self._method, (facts, self._method, self, defaults))
        self._put("general", id(self.function.__self__))  # type: ignore[attr-defined]

    def _put(self, name: str, value: int) -> None:
        native.publish(ctypes.addressof(self._state) + STATE[name], value)

    def bound(self, facts: bytes, launch: object) -> Callable[..., None]:
        """Return a builtin that launches with these facts: `function` with (facts, launch) before its arguments."""
        return native.builtin(self._method, (facts + self._own, launch, self.function))

    def __len__(self) -> int:
        """Return the number of outcomes that are kept."""
        return len(self._outcomes.outcomes)

    @property
    def generation(self) -> object:
        """An object that each `forget` replaces by another."""
        return self._constants

    def add(self, key: bytes, outcome: Outcome | Plan, generation: object) -> None:
        """Keep an outcome for launches with that key, unless `forget` was called since `generation` was read."""
        keyed = KeyedOutcome(self.table.places, key, outcome)
        with self._lock:
            if generation is not self._constants:
                return
            if len(self) >= MOST_OUTCOMES:
                self._forget()
            self._replace([each for each in self._outcomes.outcomes if each.key != key] + [keyed])

    def forget(self) -> None:
        """Drop all outcomes."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        before = self._by_identity, self._identified
        self._constants = {}
        self._by_identity, self._identified = (ctypes.c_uint64 * (2 * CONSTANTS))(), []
        self._put("constants", ctypes.addressof(self._by_identity))
        self._environment.readers.let_go(before)
        self._replace([])

    def _replace(self, outcomes: list[KeyedOutcome]) -> None:
        table = OutcomeTable(self.table.places, outcomes)
        self._put("outcomes", table.address)
        self._left = [each for each in (*self._left, self._outcomes) if each.in_use]
        self._environment.readers.let_go(self._outcomes)
        self._outcomes = table

    def watch(self, watch: Watch) -> None:
        """Make launches go to Python as soon as one of these names or cells holds another object."""
        names, cells = watch
        counted = watching.watch(list({id(namespace): namespace for namespace, _, _ in names}.values()))
        words = [len(cells), len(names), 0, 0 if counted else 1 << 63]
        words += (0 if each is UNBOUND else id(each) for rows in (cells, names) for row in rows for each in row)
        block = _pointers(words)
        self._put("watch", ctypes.addressof(block))
        self._environment.readers.let_go(self._watched)
        self._watched = block, watch

    def _constant(self, x: Any) -> int:
        """Return the number of a constant; equal constants have the same one."""
        key, lasting = self._calls.constant(x)
        with self._lock:
            # `x` is kept alive, since its key may contain ids of objects in it.
            number, _ = self._constants.setdefault(key, (next(_numbers), x))
            if lasting and 4 * len(self._identified) < CONSTANTS:
                self._identified.append(x)
                table, address = self._by_identity, id(x)
                at = exchange.place_of(table, exchange.hash_of(address), CONSTANTS, 2, known=address)
                table[at + 1] = number
                native.publish(ctypes.addressof(table) + 8 * at, address)
        return number


def _pointers(words: Iterable[int]) -> ctypes.Array[ctypes.c_uint64]:
    found = list(words)
    return (ctypes.c_uint64 * max(len(found), 1))(*found)


def _number(x: Any) -> int | float | bool:
    """Return an argument as a Python int, float or bool. Errors: TypeError if it is no number."""
    found = plain_number(x)
    if type(found) not in (int, float, bool):
        raise TypeError(f"{x!r} is no number")
    return found  # type: ignore[no-any-return]


def _read_others(given: int, address: int, *arrays: Any) -> tuple[int, object]:
    """Read the arrays without a C function of their library into `DLTensor`s, an array of which begins at `address`.

    given    the stream of the launch; -1 where it names none
    arrays   all arrays of the launch in order; None for one that is not given
    Result   the stream, and objects to be kept alive until the launch
    """
    stream = streams.of(arrays) if given < 0 else given
    keep: list[object] = []
    for i, array in enumerate(arrays):
        if array is not None and exchange.way_of(type(array)).how == exchange.BY_PYTHON:
            place = address + i * exchange.TENSOR_BYTES
            try:
                view: ArrayView | None = read(array, stream)
            except UnreadableArray:
                view = None
            if view is None or view.readonly:  # Python then launches, and raises an error if need be
                keep.append(exchange.refused(place))
            else:
                keep.append((view, exchange.filled(place, view)))
    return stream, keep
