"""What the compiled launcher finds in memory: functions to call, the state of a kernel, and what has been launched.

In    the table of a kernel's signature (`signature.table`), and launches that went well
Out   `Launcher.function` and `Launcher.bound`, builtins that launch whatever is like one of those, and hand the rest to
      Python

The launcher is one piece of machine code for all kernels (`c/launcher.c`). It reads four kinds of structures, whose
fields stand here in the order in which the C declares them:

    environment  one for a driver: addresses of functions and objects, the table of array types
    state        one for a kernel: callbacks into Python, names and defaults, what the kernel's globals held
    variant      one for each outcome of checking and specialising: the loaded function and how it is launched. It is
                 found by its key: words that tell all that the outcome depended on but pointers, numbers and extents
    facts        one for each ``kernel[grid, block]``: see `facts_of`

Everything is written under the interpreter's lock, which the code holds whenever it reads; what is replaced is replaced
whole, by a new pointer.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import struct
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from cutelite_rt import exchange, forks, native, torch_layout, watching
from cutelite_rt import stream as streams
from cutelite_rt.driver import Driver
from cutelite_rt.dtype import DTYPES
from cutelite_rt.errors import LaunchError
from cutelite_rt.launch import Function, LaunchConfig
from cutelite_rt.memory import UnreadableArray, read
from cutelite_rt.shapes import extents, is_wide, whole
from cutelite_rt.tensormap import DATA_TYPES, SWIZZLES

WORD = 8

# The environment.

PYTHON = [
    "PyLong_AsLongLong",
    "PyLong_AsUnsignedLongLong",
    "PyLong_AsDouble",
    "PyLong_AsVoidPtr",
    "PyLong_FromLongLong",
    "PyErr_Occurred",
    "PyErr_Clear",
    "PyErr_ExceptionMatches",
    "Py_IncRef",
    "Py_DecRef",
    "PyTuple_GetItem",
    "PyTuple_Size",
    "PyBytes_FromStringAndSize",
    "PyObject_Vectorcall",
    "PyObject_VectorcallMethod",
    "PyObject_GetAttr",
    "PyObject_IsInstance",
    "PyDict_GetItemWithError",
    "PyCell_Get",
    "PyEval_SaveThread",
    "PyEval_RestoreThread",
]
"""Functions of CPython that launchers call; all are exported, and documented."""

DRIVER = {
    "cuLaunchKernelEx": (11, 6),
    "cuCtxPushCurrent": (4, 0),
    "cuCtxPopCurrent": (4, 0),
    "cuCtxGetId": (12, 0),
    "cuTensorMapEncodeTiled": (12, 0),
}
"""Functions of the driver likewise, with the CUDA version of that form."""

_OBJECTS: dict[str, object] = {
    "none": None,
    "true_": True,
    "false_": False,
    "int_": int,
    "float_": float,
    "bool_": bool,
    "tuple": tuple,
    "exception": Exception,
    "is_neg": "is_neg",
    "dltensor": "dltensor",
}
_OTHERS = ("types", "types_mask", "recent", "learn", "diverted", "changes", "one_digit", "counts_none", "torch")
_USUAL = (
    *("diverted", "changes", "recent", "torch", "int_", "one_digit", "float_", "cuCtxGetId"),
    *("PyEval_SaveThread", "cuLaunchKernelEx", "PyEval_RestoreThread", "none", "counts_none", "tuple"),
)
"""What each launch reads, in two lines of the CPU's caches."""

ENVIRONMENT = {name: i * WORD for i, name in enumerate(dict.fromkeys((*_USUAL, *PYTHON, *DRIVER, *_OBJECTS, *_OTHERS)))}
"""Offsets in `environment`, in bytes."""

_STATE = "env general variants watch constants launch_anew number constant arrays resolved names defaults objects is"
STATE = {name: i * WORD for i, name in enumerate(_STATE.split())}
"""Offsets in `state`, in bytes."""

diverted = ctypes.c_uint64(0)
"""Launches go to Python, all of them, while this is not 0."""


class Environment:
    """Of one driver. Errors: `CudaError` for a driver that lacks a function."""

    def __init__(self, driver: Driver) -> None:
        self._types = exchange.TypeTable()
        self._lock = forks.lock()
        self._learn = self.learn
        self._torch: ctypes.Array[ctypes.c_char] | None = None
        words = {name: native.function_address(name) for name in PYTHON}
        words |= {name: driver.address_of(name, since) for name, since in DRIVER.items()}
        words |= {name: id(value) for name, value in _OBJECTS.items()}
        words |= {"types": self._types.address, "types_mask": self._types.mask, "recent": self._types.address}
        words |= {"learn": id(self._learn), "diverted": ctypes.addressof(diverted), "torch": 0}
        words |= {"changes": ctypes.addressof(watching.CHANGES)}
        words |= {"one_digit": native.one_digit(), "counts_none": int(native.COUNTS_NONE)}
        self._words = (ctypes.c_uint64 * len(ENVIRONMENT))(*(words[name] for name in ENVIRONMENT))
        self.address = ctypes.addressof(self._words)

    def learn(self, array: object) -> None:
        """Called by launchers for an array of a type that they have not met."""
        kind = type(array)
        way = exchange.way_of(kind)
        with self._lock:
            if way.how == exchange.EXCHANGE_UNLESS_NEGATED and torch_layout.is_plain(kind) and self._knows_torch(array):
                way = way._replace(how=exchange.DIRECT)
            self._types.add(kind, way)
            # The table first: with the mask of one less large, some types are not found, and no more.
            self._words[ENVIRONMENT["types"] // WORD] = self._types.address
            self._words[ENVIRONMENT["types_mask"] // WORD] = self._types.mask

    def _knows_torch(self, tensor: object) -> bool:
        """Whether launchers would find in this tensor what torch says of it; from now on they may look there."""
        layout = torch_layout.find()
        if layout is None or not torch_layout.agrees(layout, tensor):
            return False
        if self._torch is None:
            self._torch = torch_layout.table(layout)
            self._words[ENVIRONMENT["torch"] // WORD] = ctypes.addressof(self._torch)
        return True


@functools.lru_cache(8)
def environment(driver: Driver) -> Environment:
    """The environment of a driver, made once. Errors: as `Environment`."""
    return Environment(driver)


# Facts: what ``kernel[grid, block]`` says.

NO_BLOCKS, STREAM, UNRESOLVED, ODD, BY_DIMS, _GENERAL = 1, 2, 4, 8, 16, 32
"""Bits of facts: nothing is to be launched; the stream is given; Python has to resolve the grid or the stream at each
launch; Python has to launch; the grid follows from the dims, by the signature's rule; others come with each call."""

FACTS = struct.Struct("<4I 2Q")  # grid x, y, z; bits; class of the launch; stream. What is called has the state behind
MAX_GRID = 2**31 - 1, 65535, 65535
"""What every GPU takes; a larger one is Python's to refuse."""

_classes: dict[Hashable, int] = {}
_class_numbers = itertools.count()  # no two threads get the same one


def facts_of(grid: tuple[int, int, int], settings: Hashable, stream: int | None, bits: int = 0) -> bytes:
    """Facts of a launch; `settings` is all that specialises or configures it but its grid and stream."""
    if any(not 0 <= extent <= most for extent, most in zip(grid, MAX_GRID, strict=True)):
        bits, grid = bits | ODD, (0, 0, 0)
    bits |= NO_BLOCKS * (0 in grid) | STREAM * (stream is not None)
    return FACTS.pack(*grid, bits, _classes.setdefault(settings, next(_class_numbers)), stream or 0)


def facts_while(stays: bool, settled: Callable[[], bytes]) -> bytes:
    """Facts to keep: settled ones, or where grid or stream do not stay what they are, that each launch asks anew."""
    try:
        return settled() if stays else facts_of((1, 1, 1), None, None, UNRESOLVED)
    except (LaunchError, TypeError, ValueError):  # Python says it, at the launch
        return facts_of((1, 1, 1), None, None, ODD)


def settled_facts(launch: Any, grid: tuple[int, int, int], bits: int = 0) -> bytes:
    """Facts of a launch as it is now, on that grid. Errors: `LaunchError`; those of `stream.handle`."""
    settings = (x if x is None else extents(x, "shape") for x in (launch.block, launch.cluster))
    wide = is_wide(grid, launch.block)
    settled = (*settings, whole(launch.smem, "smem"), bool(launch.cooperative), bool(launch.pdl), wide)
    return facts_of(grid, settled, None if launch.stream is None else streams.handle(launch.stream), bits)


# Variants.

MAP_ENTRIES, MAP_ENTRY_BYTES, MAP_HEADER_BYTES = 32, 256, 128
"""A cache of tensor maps: a header, and entries by hash. An entry is a pointer, five extents and five strides, and at
byte 128 the map."""
_MAP_HEADER = struct.Struct("<4I 5I")  # CUtensorMapDataType, CUtensorMapSwizzle, element bytes, rank; box from inside

_HEAD = struct.Struct("<4Q I 3I I4x 3Q 3I4x")
"""`variant`: the hash of its key; context and function to launch; whether the grid has to be a whole number of
clusters; what CUlaunchConfig takes, with its padding; how many parameters; the cluster. The key and tables follow."""


class Places(NamedTuple):
    """Where the rest of a variant lies: tables with a place for each slot, the maps, the key.

    at     of each slot, where in a launch's frame its parameter is
    maps   how many slots are of tensor maps
    words  of the key
    """

    at: Sequence[int]
    maps: int
    words: int

    @property
    def key(self) -> int:
        return -(-_HEAD.size // WORD) * WORD

    @property
    def order(self) -> int:
        """u32 for each parameter that there is: where it is in the frame."""
        return self.key + WORD * self.words

    @property
    def kinds(self) -> int:
        """u32 for each slot: its dtype by `KIND`, or 0."""
        return self.order + 4 * len(self.at)

    @property
    def caches(self) -> int:
        """Pointer for each map: its cache."""
        return -(-(self.kinds + 4 * len(self.at)) // WORD) * WORD

    @property
    def size(self) -> int:
        return self.caches + WORD * self.maps


KIND = {code: i for i, code in enumerate(DTYPES)}
"""Dtypes as numbers."""

MULTIPLIER = 0x9E3779B97F4A7C15  # 2**64 over the golden ratio: multiplicative hashing
_M64 = (1 << 64) - 1


def hash_of(words: Iterable[int]) -> int:
    """The hash of a key, as launchers compute it."""
    h = 0
    for word in words:
        h = (h ^ word) * MULTIPLIER & _M64
        h ^= h >> 29
    return h


class MapForm(NamedTuple):
    """What a tensor map is encoded from besides the tensor: dtype, box outermost first, swizzle."""

    dtype: str
    box: tuple[int, ...]
    swizzle: str


class Outcome(NamedTuple):
    """What came of a launch.

    function, config   as they were launched
    slots              for each slot the number of its parameter among the kernel's; None for one without
    maps               for each slot of a map what it is encoded from, None as above
    """

    function: Function
    config: LaunchConfig
    slots: Sequence[int | None]
    maps: Sequence[MapForm | None]


class _Variant:
    """Memory of one outcome under its key."""

    def __init__(self, places: Places, key: bytes, outcome: Outcome) -> None:
        words = struct.unpack(f"<{places.words}Q", key)
        self.key, self.hash = key, hash_of(words)
        function, config = outcome.function, outcome.config
        cluster = config.cluster or (1, 1, 1)
        its = {i: slot for slot, i in enumerate(outcome.slots) if i is not None}
        order = [places.at[its[i]] for i in range(len(function.layout.offsets))]
        kinds = (0 if i is None else KIND.get(function.layout.kinds[i], 0) for i in outcome.slots)
        attributes, attribute_count = _attributes(config)
        self._caches = [None if form is None else _cache(form) for form in outcome.maps]
        data = _HEAD.pack(
            *(self.hash, function.context, _context_id(function), int(function.handle)),
            *(cluster != (1, 1, 1), *config.block, config.smem),
            *(ctypes.addressof(attributes), attribute_count, len(order), *cluster),
        )
        data = data.ljust(places.key, b"\0") + key + struct.pack(f"<{len(order)}I", *order)
        data = data.ljust(places.kinds, b"\0") + struct.pack(f"<{len(places.at)}I", *kinds)
        caches = (0 if cache is None else cache[1] for cache in self._caches)
        data = data.ljust(places.caches, b"\0") + struct.pack(f"<{places.maps}Q", *caches)
        self._memory = ctypes.create_string_buffer(data, places.size)
        self._keep = attributes, function
        self.address = ctypes.addressof(self._memory)


def _context_id(function: Function) -> int:
    return int(function.driver.call("cuCtxGetId", function.context))


_ATTRIBUTE = struct.Struct("<I 4x 3I 52x")  # CUlaunchAttribute: its id, and a union of 64 bytes
_COOPERATIVE, _CLUSTER_DIMENSION, _STREAM_SERIALIZATION = 2, 4, 6  # CUlaunchAttributeID


def _attributes(config: LaunchConfig) -> tuple[ctypes.Array[ctypes.c_char], int]:
    rows = [_ATTRIBUTE.pack(_CLUSTER_DIMENSION, *config.cluster)] if config.cluster else []
    rows += [_ATTRIBUTE.pack(_COOPERATIVE, 1, 0, 0)] if config.cooperative else []
    rows += [_ATTRIBUTE.pack(_STREAM_SERIALIZATION, 1, 0, 0)] if config.pdl else []
    return ctypes.create_string_buffer(b"".join(rows)), len(rows)


def _cache(form: MapForm) -> tuple[object, int]:
    """An empty cache of tensor maps, and its address."""
    row = DTYPES[form.dtype]
    box = (*reversed(form.box), *(1,) * (5 - len(form.box)))
    header = _MAP_HEADER.pack(DATA_TYPES[row.tensormap], SWIZZLES[form.swizzle], row.bytes, len(form.box), *box)
    memory = ctypes.create_string_buffer(MAP_HEADER_BYTES + MAP_ENTRIES * MAP_ENTRY_BYTES + 127)
    address = -(-ctypes.addressof(memory) // 128) * 128
    ctypes.memmove(address, header, len(header))
    return memory, address


_MASK, _USERS, _RECENT, _ENTRIES = range(4)
"""Words of a table of variants: the mask of their number; how many launches read it; the variant that was found last;
the first entry, a pointer."""


class _Table:
    """Variants by the hash of their keys, with open addressing."""

    def __init__(self, places: Places, variants: Sequence[_Variant]) -> None:
        self.variants = tuple(variants)
        self._nothing = ctypes.create_string_buffer(b"\xff" * places.size)  # is like no launch
        recent = self.variants[-1].address if variants else ctypes.addressof(self._nothing)
        size = 4
        while size < 2 * len(variants):
            size *= 2
        self._block = (ctypes.c_uint64 * (_ENTRIES + size))(size - 1, 0, recent)
        for variant in variants:
            at = variant.hash & size - 1
            while self._block[_ENTRIES + at]:
                at = (at + 1) & size - 1
            self._block[_ENTRIES + at] = variant.address
        self.address = ctypes.addressof(self._block)

    @property
    def in_use(self) -> bool:
        """Whether launches read it that let the interpreter's lock go."""
        return self._block[_USERS] != 0


# The launcher of a kernel.

MOST_VARIANTS = 1024
CONSTANTS = 256
"""Places for constants that are known by identity: a quarter of them are used."""


class Table(Protocol):
    """The tables of a signature, as `signature.table.Table` makes them.

    address                            of `signature` in the C
    names, positional, position_only   of the parameters, by Python's rules
    objects                            whose addresses the tables have by number: names of fields, classes
    dims                               names of those that have the last slots of a variant
    places                             of its variants
    """

    address: int
    names: tuple[str, ...]
    positional: int
    position_only: int
    objects: Sequence[object]
    dims: tuple[str, ...]
    places: Places


class Machine(NamedTuple):
    """Addresses of the launcher's functions in this process."""

    launch: int
    subscript: int

    @classmethod
    def of(cls, image: bytes) -> Machine:
        """Functions of an image (`cutelite.toolchain.host`); equal images are loaded once. Errors: OSError."""
        address = native.executable(image)
        return cls(*(address + at for at in IMAGE.unpack_from(image)))


IMAGE = struct.Struct("<2Q 48x")
"""Ahead of an image's code: where its functions begin, in a line of the CPU's caches."""


class Callbacks(NamedTuple):
    """What launchers call in Python.

    launch_anew  (key or None, held, *args, **kwargs): a launch that is like none before, or is wrong
    number       (x) -> the int, float or bool that an argument stands for. Errors: any
    constant     (x) -> (what it is compared by, whether that is so as long as it is the same object)
    resolved     (held, *args, **kwargs) -> facts, without `UNRESOLVED`
    """

    launch_anew: Callable[..., None]
    number: Callable[[Any], int | float | bool]
    constant: Callable[[Any], tuple[Hashable, bool]]
    resolved: Callable[..., bytes]


Watch = tuple[Sequence[tuple[dict[Any, Any], Any, Any]], Sequence[tuple[Any, Any]]]
"""(namespace, name, what it has to hold) and (cell, what it has to hold); `UNBOUND` for a cell without content."""

UNBOUND = object()
_numbers = itertools.count(1)  # of constants; none is ever used again, whatever is forgotten


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
        self._variants = _Table(table.places, ())
        self._left: list[_Table] = []  # tables of before, that some launches read still
        self._constants: dict[Hashable, tuple[int, Any]] = {}
        self._state = (ctypes.c_uint64 * len(STATE))()
        names = table.names
        self._arrays = {
            "names": _pointers(map(id, names)),
            "defaults": _pointers(id(defaults[name]) if name in defaults else 0 for name in names),
            "objects": _pointers(map(id, table.objects)),
        }
        self._by_identity = (ctypes.c_uint64 * (2 * CONSTANTS))()
        self._identified: list[object] = []
        self._watched: object = None
        self._python = {
            "launch_anew": calls.launch_anew,
            "number": calls.number,
            "constant": self._constant,
            "arrays": _read_others,
            "resolved": calls.resolved,
        }
        self._put("env", self._environment.address)
        for name, array in self._arrays.items():
            self._put(name, ctypes.addressof(array))
        for name, function in self._python.items():
            self._put(name, id(function))
        self._put("constants", ctypes.addressof(self._by_identity))
        self._put("variants", self._variants.address)
        self._put("is", table.address)
        self.watch(((), ()))
        self._own = struct.pack("<Q", ctypes.addressof(self._state))
        self._method = native.method("launch", machine.launch, doc)
        facts = FACTS.pack(0, 0, 0, _GENERAL, 0, 0) + self._own
        self.function = native.builtin(self._method, (facts, self._method, self, defaults))
        self._put("general", id(self.function.__self__))  # type: ignore[attr-defined]

    def _put(self, name: str, value: int) -> None:
        self._state[STATE[name] // WORD] = value

    def bound(self, facts: bytes, launch: object) -> Callable[..., None]:
        """A builtin that launches so: `function` with (facts, launch) ahead of its arguments."""
        return native.builtin(self._method, (facts + self._own, launch, self.function))

    def __len__(self) -> int:
        """Variants that it has."""
        return len(self._variants.variants)

    @property
    def generation(self) -> object:
        """Another one after each `forget`."""
        return self._constants

    def add(self, key: bytes, outcome: Outcome, generation: object) -> None:
        """Launch by this outcome whatever has that key, unless all has been forgotten since `generation`."""
        variant = _Variant(self.table.places, key, outcome)
        with self._lock:
            if generation is not self._constants:
                return
            if len(self) >= MOST_VARIANTS:
                self._forget()
            self._replace([each for each in self._variants.variants if each.key != key] + [variant])

    def forget(self) -> None:
        """Nothing has been launched."""
        with self._lock:
            self._forget()

    def _forget(self) -> None:
        self._constants = {}
        self._by_identity, self._identified = (ctypes.c_uint64 * (2 * CONSTANTS))(), []
        self._put("constants", ctypes.addressof(self._by_identity))
        self._replace([])

    def _replace(self, variants: list[_Variant]) -> None:
        table = _Table(self.table.places, variants)
        self._put("variants", table.address)
        self._left = [each for each in (*self._left, self._variants) if each.in_use]
        self._variants = table

    def watch(self, watch: Watch) -> None:
        """Have launches go to Python as soon as one of these holds something else."""
        names, cells = watch
        counted = watching.watch(list({id(namespace): namespace for namespace, _, _ in names}.values()))
        words = [len(cells), len(names), 0, 0 if counted else 1 << 63]
        words += (0 if each is UNBOUND else id(each) for row in cells for each in row)
        words += (id(each) for row in names for each in row)
        block = _pointers(words)
        self._put("watch", ctypes.addressof(block))
        self._watched = block, watch

    def _constant(self, x: Any) -> int:
        """The number of a constant: alike for those that are compared as equal."""
        key, lasting = self._calls.constant(x)
        with self._lock:
            # Kept, for keys may tell ids of what it holds.
            number, _ = self._constants.setdefault(key, (next(_numbers), x))
            if lasting and 4 * len(self._identified) < CONSTANTS:
                self._identified.append(x)
                self._identify(id(x), number)
        return number

    def _identify(self, address: int, number: int) -> None:
        table = self._by_identity
        at = exchange.hash_of(address) % CONSTANTS
        while table[2 * at] not in (0, address):
            at = (at + 1) % CONSTANTS
        table[2 * at + 1] = number
        table[2 * at] = address


def _pointers(words: Iterable[int]) -> ctypes.Array[ctypes.c_uint64]:
    found = list(words)
    return (ctypes.c_uint64 * max(len(found), 1))(*found)


def _read_others(given: int, address: int, *arrays: Any) -> tuple[int, object]:
    """Read those arrays that no C function reads: in `DLTensor`s that lie at `address` one behind the other.

    given    the stream that the launch goes to, -1 where it is not said
    arrays   all of the launch in order; None for what is not given
    Result   the stream; what has to live until the launch
    """
    stream = streams.of(arrays) if given < 0 else given
    keep: list[object] = []
    for i, array in enumerate(arrays):
        if array is not None and exchange.way_of(type(array)).how == exchange.BY_PYTHON:
            place = address + i * exchange.TENSOR_BYTES
            try:
                view = read(array, stream)
            except UnreadableArray:  # which is told with the argument's name where Python launches
                keep.append(exchange.refused(place))
                continue
            if view.readonly:  # whether that one is written, is looked at where Python launches
                keep.append(exchange.refused(place))
                continue
            keep.append((view, exchange.filled(place, view)))
    return stream, keep
