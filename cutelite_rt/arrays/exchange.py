"""The DLPack C exchange API: functions by which C code reads a library's arrays, and asks for its stream.

In    types of arrays
Out   the functions of their library, and `TypeTable`, in which compiled launchers look up types

Source: dlpack.h 1.3, `DLPackExchangeAPI`; the array API standard's page on `__dlpack_c_exchange_api__`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

from cutelite_rt import forks
from cutelite_rt.arrays.dlpack import CPU, CUDA, CUDA_MANAGED, Facts, Tensor, content, fill, is_capsule
from cutelite_rt.arrays.memory import ArrayView, DeviceArray, adapter, reader_library
from cutelite_rt.dtype import DTYPES

ON_CUDA = (CUDA, CUDA_MANAGED)
"""Kinds of devices whose memory kernels take."""

_CAPSULE = b"dlpack_exchange_api"
_MAJOR = 1


class _Table(ctypes.Structure):
    """The structure `DLPackExchangeAPI`."""


_Table._fields_ = (
    ("major", ctypes.c_uint32),
    ("minor", ctypes.c_uint32),
    ("older", ctypes.POINTER(_Table)),  # the table of an earlier major version
    ("allocate", ctypes.c_void_p),
    ("managed_from_object", ctypes.c_void_p),
    ("object_from_managed", ctypes.c_void_p),
    ("read", ctypes.c_void_p),  # dltensor_from_py_object_no_sync
    ("current_stream", ctypes.c_void_p),  # current_work_stream
)


class Exchange(NamedTuple):
    """Addresses of a library's functions; 0 for one that it lacks.

    read            int (PyObject *array, DLTensor *filled): 0, or an exception is set
    current_stream  int (int32 device_type, int32 device, void **stream)
    """

    read: int
    current_stream: int


def of_type(kind: type) -> Exchange | None:
    """Return the exchange functions of an array type's library; None if it has none in a version that we know."""
    capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
    if capsule is None or not is_capsule(capsule, _CAPSULE):
        return None
    table = _Table.from_address(content(capsule, _CAPSULE))
    while table.major > _MAJOR and table.older:
        table = table.older.contents
    if table.major != _MAJOR:
        return None
    return Exchange(table.read or 0, table.current_stream or 0)


def stream_of(kind: type) -> Callable[[int], int] | None:
    """Return a function from a CUDA device's ordinal to the stream on which the library of `kind` works there."""
    found = of_type(kind)
    if found is None or not found.current_stream:
        return None
    prototype = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
    ask = prototype(found.current_stream)

    def current(ordinal: int) -> int:
        stream = ctypes.c_void_p()
        if ask(CUDA, ordinal, ctypes.byref(stream)):
            raise RuntimeError(f"the library of {kind.__name__} does not tell its current stream")
        return stream.value or 0

    return current


# Arrays as C code reads them.

TENSOR_BYTES = ctypes.sizeof(Tensor)


def filled(address: int, view: ArrayView) -> object:
    """Write the `DLTensor` of an array to `address`; its extents and strides live as long as the result."""
    kind, ordinal = view.device
    device = (CUDA if kind == "cuda" else CPU), ordinal
    dtype = DTYPES[view.dtype].dlpack or (0, 0)
    return fill(Tensor.from_address(address), Facts(*view[:3], dtype, device))


def refused(address: int) -> object:
    """Write a `DLTensor` of an impossible dtype to `address`: launchers refuse it. The result is as for `filled`."""
    return fill(Tensor.from_address(address), Facts(0, (), (), (255, 255), (CPU, 0)))


# Types as compiled launchers look them up.

EXCHANGE, EXCHANGE_UNLESS_NEGATED, OWN, BY_PYTHON, REFUSED, DIRECT = 1, 2, 3, 4, 5, 6
"""Ways to read arrays of a type. EXCHANGE: by the library's C function. EXCHANGE_UNLESS_NEGATED: likewise, but torch
tensors with a pending negation are refused. OWN: a `DeviceArray`. BY_PYTHON: by `memory.read`. REFUSED: no arrays, or
never on a GPU. DIRECT: from the memory of a torch tensor (`torch_layout`) if it is plain, else as the second."""

ENTRY_WORDS = 4  # type, way of reading, read, current_stream


class TypeTable:
    """A hash table from the address of a type to its way of reading: open addressing in 2**n entries.

    Before the entries, in the space of one, is their number minus 1.

    publish  (address, word): store a word, after all that was stored before
    """

    def __init__(self, publish: Callable[[int, int], None]) -> None:
        self._publish = publish
        self._lock = forks.lock()
        self._known: dict[type, tuple[int, int, int]] = {}  # keeps the types, so that addresses are not reused
        self._outgrown: list[object] = []  # smaller tables, which a launch may still read
        self._renew(64)

    def _renew(self, size: int) -> None:
        self._words = (ctypes.c_uint64 * (ENTRY_WORDS * (1 + size)))(size - 1)
        self._size, self.address = size, ctypes.addressof(self._words)

    def add(self, kind: type, way: Way) -> None:
        """Make launchers read arrays of `kind` that way."""
        with self._lock:
            self._known[kind] = way.how, *way.functions
            if 2 * len(self._known) > self._size:
                self._outgrown.append(self._words)
                self._renew(2 * self._size)
                for each, row in self._known.items():
                    self._put(id(each), row)
            else:
                self._put(id(kind), self._known[kind])

    def _put(self, address: int, row: tuple[int, int, int]) -> None:
        at = place_of(self._words, hash_of(address), self._size, ENTRY_WORDS, ENTRY_WORDS, known=address)
        # The address is written last: a launch that finds it also finds the rest.
        self._words[at + 1 : at + ENTRY_WORDS] = list(row)
        self._publish(self.address + 8 * at, address)


def hash_of(address: int) -> int:
    """Return the index at which a search for an object begins: its address without the low bits."""
    return address >> 4


def place_of(words: Any, begin: int, size: int, step: int, first: int = 0, known: int = 0) -> int:
    """Return the index of the key word of a free entry, or of the entry of `known`, in a table with open addressing.

    begin  the entry where the search begins; there are `size` entries, a power of two
    step   words from one entry to the next
    first  index of the first entry's key word
    """
    at = begin & size - 1
    while words[first + step * at] not in (0, known):
        at = (at + 1) & size - 1
    return first + step * at


class Way(NamedTuple):
    """The way in which the compiled launcher reads arrays of a type, and the functions that it calls."""

    how: int
    functions: Exchange = Exchange(0, 0)


class _Ways(dict[type, Way]):
    def __missing__(self, kind: type) -> Way:
        self[kind] = way = self._found(kind)
        return way

    def _found(self, kind: type) -> Way:
        if adapter(kind) is not None:
            return Way(BY_PYTHON)
        library, found = reader_library(kind), of_type(kind)
        if issubclass(kind, DeviceArray):
            return Way(OWN)
        if library == "numpy":
            return Way(REFUSED)
        if found is not None and found.read:
            return Way(EXCHANGE_UNLESS_NEGATED if library == "torch" else EXCHANGE, found)
        if library is not None or hasattr(kind, "__dlpack__") or hasattr(kind, "__cuda_array_interface__"):
            return Way(BY_PYTHON)
        return Way(REFUSED)


way_of = _Ways().__getitem__
"""A function that returns the fastest way to read arrays of a type."""
