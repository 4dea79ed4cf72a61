"""Outcomes of launches: the loaded function and its configuration, by the key of the launch.

In    an outcome, and the key that the compiled launcher computed
Out   `KeyedOutcome` and `OutcomeTable`: the memory of `outcome` and `table` in launcher.c
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from cutelite_rt.arrays.dlpack import CUDA, Facts, Tensor, fill
from cutelite_rt.arrays.exchange import place_of
from cutelite_rt.gpu.launch import Function, LaunchConfig
from cutelite_rt.gpu.params import Parameters
from cutelite_rt.gpu.tensormap import MapForm
from cutelite_rt.signature.data import Unsupported
from cutelite_rt.signature.kinds import KIND, Array, Signature
from cutelite_rt.signature.table import HEAD, Places, Table

MAP_ENTRIES, MAP_ENTRY_BYTES, MAP_HEADER_BYTES = 32, 256, 128
"""The layout of a cache of tensor maps: a header, then entries by hash. An entry has a pointer, five extents, five
strides, and at byte 128 the map."""

MULTIPLIER = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio: multiplicative hashing
_M64 = (1 << 64) - 1


def hash_of(words: Iterable[int]) -> int:
    """Return the hash of a key, as launchers compute it."""
    h = 0
    for word in words:
        h = (h ^ word) * MULTIPLIER & _M64
        h ^= h >> 29
    return h


class Outcome(NamedTuple):
    """The outcome of a launch, which the launcher repeats for launches with the same key.

    function, config   the loaded function, and its launch configuration
    slots              for each slot the index of its parameter in the kernel; None where it is no parameter
    maps               for each slot of a tensor map its form; None as above
    """

    function: Function
    config: LaunchConfig
    slots: Sequence[int | None]
    maps: Sequence[MapForm | None]


def slots_of(table: Table, settled: Signature) -> tuple[list[int | None], list[MapForm | None]]:
    """Return `slots` and `maps` of an `Outcome`, for a kernel that is compiled for a settled signature.

    Errors  `Unsupported` where the signature has values without slots in the launcher's table
    """
    its = {leaf.name: i for i, leaf in enumerate(settled.leaves())}
    names = [leaf.name for leaf in table.leaves]
    if not its.keys() <= {*names}:
        raise Unsupported("its signatures have tuples or lists of different lengths")
    dims = {dim.name: len(its) + i for i, dim in enumerate(settled.dims)}
    boxes = {leaf.name: leaf for leaf in settled.leaves() if isinstance(leaf, Array)}
    maps = [boxes.get(leaf.name) for leaf in table.leaves if isinstance(leaf, Array) and leaf.box is not None]
    return [*map(its.get, names), *map(dims.get, table.dims)], [array and array.form for array in maps]


class KeyedOutcome:
    """The memory of one outcome and its key."""

    def __init__(self, places: Places, key: bytes, outcome: Outcome | Plan) -> None:
        words = struct.unpack(f"<{places.words}Q", key)
        self.key, self.hash = key, hash_of(words)
        if isinstance(outcome, Plan):
            head = HEAD.pack(self.hash, 0, words[1], outcome.address, _PROGRAM, *(0,) * 11)
            self._memory = ctypes.create_string_buffer(head.ljust(places.key, b"\0") + key, places.size)
            self._keep: object = outcome
            self.address = ctypes.addressof(self._memory)
            return
        function, config = outcome.function, outcome.config
        cluster = config.cluster or (1, 1, 1)
        its = {i: slot for slot, i in enumerate(outcome.slots) if i is not None}
        layout = function.layout
        order = [word for i, to in enumerate(layout.offsets) for word in (places.at[its[i]], to)]
        kinds = (0 if i is None else KIND.get(layout.kinds[i], 0) for i in outcome.slots)
        attributes, attribute_count = _attributes(config)
        self._caches = [None if form is None else _cache(form) for form in outcome.maps]
        context_id = int(function.driver.call("cuCtxGetId", function.context))
        data = HEAD.pack(
            *(self.hash, function.context, context_id, int(function.handle)),
            *(cluster != (1, 1, 1), *config.block, config.smem),
            *(ctypes.addressof(attributes), attribute_count, len(layout.offsets), *cluster),
            layout.size if function.takes_one_buffer else 0,
        )
        data = data.ljust(places.key, b"\0") + key + struct.pack(f"<{len(order)}I", *order)
        data = data.ljust(places.kinds, b"\0") + struct.pack(f"<{len(places.at)}I", *kinds)
        caches = (0 if cache is None else cache[1] for cache in self._caches)
        data = data.ljust(places.caches, b"\0") + struct.pack(f"<{places.maps}Q", *caches)
        self._memory = ctypes.create_string_buffer(data, places.size)
        self._keep = attributes, function
        self.address = ctypes.addressof(self._memory)


_PROGRAM = 2  # a value of `clustered` in launcher.c
_MOVED, _PLANNED, _PROGRAM_HEAD = struct.Struct("<6Q"), struct.Struct("<6I 6Q"), struct.Struct("<7Q")


class Moved(NamedTuple):
    """A parameter of a planned launch that follows an array of the call: `delta` bytes after its first byte.

    array                 index of the array among the arguments; `WORKSPACE`: the program's own memory
    parameter             its index among the launch's parameters
    aligned               the address must be a multiple of this many bytes
    form, shape, strides  of a tensor map over that address; None: the parameter is the address itself
    """

    array: int
    delta: int
    parameter: int
    aligned: int = 1
    form: MapForm | None = None
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()


WORKSPACE = -1


class PlannedLaunch(NamedTuple):
    """A launch of a plan: function, configuration but for the stream, parameters, and those that follow arrays."""

    function: Function
    config: LaunchConfig
    parameters: Parameters
    moved: Sequence[Moved]


class Plan:
    """Launches that one call makes, in order, and the parameters that each call sets: `program` in launcher.c.

    memory    the memory of all workspaces, and the only stream that may use it; None without workspaces
    """

    def __init__(self, launches: Sequence[PlannedLaunch], memory: tuple[object, int] | None) -> None:
        self._keep: list[object] = [launches, memory]
        rows = [self._row(move, each.parameters) for each in launches for move in each.moved]
        moved, planned = (
            ctypes.create_string_buffer(b"".join(group)) for group in (rows, map(self._planned, launches))
        )
        owns, stream = memory is not None, 0 if memory is None else memory[1]
        head = 0, owns, stream, len(rows), len(launches), ctypes.addressof(moved), ctypes.addressof(planned)
        self._head = ctypes.create_string_buffer(_PROGRAM_HEAD.pack(*head))
        self._keep += moved, planned
        self.address = ctypes.addressof(self._head)

    def _row(self, move: Moved, parameters: Parameters) -> bytes:
        cache = tensor = 0
        if move.form is not None:
            (kept, cache), (numbers, tensor) = _cache(move.form), _tensor(move.shape, move.strides)
            self._keep += kept, numbers
        to = parameters.places[move.parameter]
        return _MOVED.pack(move.array, move.delta, move.aligned - 1, to, cache, tensor)

    def _planned(self, launch: PlannedLaunch) -> bytes:
        config, (attributes, count) = launch.config, _attributes(launch.config)
        self._keep.append(attributes)
        return _PLANNED.pack(
            *(*config.grid, *config.block, config.smem, 0, ctypes.addressof(attributes), count),
            *(int(launch.function.handle), launch.parameters.address),
        )


def _tensor(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[object, int]:
    """Return a `tensor` of launcher.c with these extents and strides (to be kept alive), and its address."""
    tensor = Tensor()
    numbers = fill(tensor, Facts(0, shape, strides, (0, 0), (CUDA, 0)))
    return (numbers, tensor), ctypes.addressof(tensor)


def _attributes(config: LaunchConfig) -> tuple[ctypes.Array[ctypes.c_char], int]:
    """Return the array of CUlaunchAttribute (an id, and a union of 64 bytes), and its length."""
    rows = [struct.pack("<I4x64s", each.id, each.value) for each in config.all_attributes()]
    return ctypes.create_string_buffer(b"".join(rows)), len(rows)


def _cache(form: MapForm) -> tuple[object, int]:
    """Return an empty cache of tensor maps (to be kept alive), and its address."""
    header = struct.pack("<10I6i", *(word for row in form.words for word in row))
    memory = ctypes.create_string_buffer(MAP_HEADER_BYTES + MAP_ENTRIES * MAP_ENTRY_BYTES + 127)
    address = -(-ctypes.addressof(memory) // 128) * 128
    ctypes.memmove(address, header, len(header))
    return memory, address


_MASK, _USERS, _RECENT, _ENTRIES = range(4)
"""Words of a table of outcomes: number of entries minus 1; how many launches are reading it; address of the outcome
found last; from there on the entries, which are addresses."""


class OutcomeTable:
    """A hash table of outcomes by their keys, with open addressing."""

    def __init__(self, places: Places, outcomes: Sequence[KeyedOutcome]) -> None:
        self.outcomes = tuple(outcomes)
        self._nothing = ctypes.create_string_buffer(b"\xff" * places.size)  # an outcome whose key no launch has
        recent = self.outcomes[-1].address if outcomes else ctypes.addressof(self._nothing)
        size = 4
        while size < 2 * len(outcomes):
            size *= 2
        self._block = (ctypes.c_uint64 * (_ENTRIES + size))(size - 1, 0, recent)
        for each in outcomes:
            self._block[place_of(self._block, each.hash, size, 1, _ENTRIES)] = each.address
        self.address = ctypes.addressof(self._block)

    @property
    def in_use(self) -> bool:
        """True while launches that have released the interpreter lock still read the table."""
        return self._block[_USERS] != 0
