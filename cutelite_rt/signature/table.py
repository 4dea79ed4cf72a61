"""Make the tables of a signature that the compiled launcher reads at each launch.

In    `kinds.Signature`, and the classes of its structs
Out   `Table`: memory laid out as `launcher.c` declares it, and the layout of the memory that a launch writes

Each launch has memory of its own. It begins with the frame: the values that the kernel's parameters point to, 64 bits
each (addresses of arrays, numbers, dims), and tensor maps. The key follows: words by which the outcome is looked up,
and then flags of one byte each.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from cutelite_rt.arrays.exchange import TENSOR_BYTES
from cutelite_rt.dtype import DTYPES
from cutelite_rt.signature.data import Dim, Expr, Expression, Nested, Strided, Tree, Unsupported, Variable, dims_of
from cutelite_rt.signature.kinds import ALWAYS, KIND, Array, Held, Pointer, Rows, Signature

WORD = 8

HEAD = struct.Struct("<4Q I 3I I4x 3Q 3I I")
"""The head of `outcome` in launcher.c: the hash of its key; context, its id, and the function; whether there are
clusters; the fields of CUlaunchConfig, with padding; the number of parameters; the cluster; the bytes of all parameters
if they are passed as one buffer, else 0. The key and tables follow."""


class Places(NamedTuple):
    """The layout of an outcome: after its head the key, then tables by slot, then a pointer for each tensor map.

    at      for each slot the offset of its parameter in a launch's frame
    maps    number of slots that are tensor maps
    words   number of words of the key
    key     offset of the key in the outcome, in bytes; so are the following
    order   two u32 for each parameter: its offset in the frame, and in one buffer
    kinds   a u32 for each slot: its dtype by `KIND`, or 0
    caches  a pointer for each tensor map: its cache
    size    the bytes of an outcome
    """

    at: tuple[int, ...]
    maps: int
    words: int
    key: int
    order: int
    kinds: int
    caches: int
    size: int

    @classmethod
    def of(cls, at: tuple[int, ...], maps: int, words: int) -> Places:
        key = -(-HEAD.size // WORD) * WORD
        order = key + WORD * words
        kinds = order + 8 * len(at)
        caches = -(-(kinds + 4 * len(at)) // WORD) * WORD
        return cls(at, maps, words, key, order, kinds, caches, caches + WORD * maps)


# The constants of launcher.c, in its order.
_NUMBER, _DIM, _EXPRESSION = range(3)
_ROW_MAJOR, _COLUMN_MAJOR, _GIVEN_STRIDES, _NESTED = range(4)
_WIDE_INTEGER, _SINGLE, _OTHER = range(3)
_END, _CONSTANT, _VALUE = range(3)
_OPERATIONS = {"add": 3, "sub": 4, "mul": 5, "floordiv": 6, "mod": 7, "min": 8, "max": 9}
_MOST_DEPTH = 32
_MAP_BYTES, _MAP_ALIGN = 128, 64  # size and alignment of CUtensorMap
_LINE = 64  # bytes in a line of the CPU's caches
_WIDE_INTEGERS = ("i32", "i64", "u32", "u64")

_FETCH = struct.Struct("<4H 2I")
_ARRAY = struct.Struct("<2H I Q")
_NUMBER_ROW = struct.Struct("<2H 4I")
_CONSTANT_ROW = struct.Struct("<2H I")
_DIM_ROW = struct.Struct("<3q 2I")
_RULE = struct.Struct("<2I q")
_STEP = struct.Struct("<2q")
_ANNOTATION = struct.Struct("<6I q")

_FIELDS = (
    "count plain positional position_only slots fetches givens arrays numbers constants dims grid strided to_make "
    "unusual dims_at frame words flags key order kinds caches parameters words_at told_at large_at tensors_at "
    "bound_at unsure_at later_at given_at scratch"
)
_LINKS = "fetch array number constant dim expression grid_rules"


class _Signature(ctypes.Structure):
    """The structure `signature` of launcher.c."""

    _fields_ = (
        *((name, ctypes.c_uint32) for name in _FIELDS.split()),
        *((name, ctypes.c_uint64) for name in _LINKS.split()),
    )


class Table:
    """The memory of one signature's tables.

    classes  the classes of structs, by the names of their parameters ('a', 'a.b'); None: any object with such fields
    Errors   `Unsupported`

    address             the address of the structure `signature`
    names               names of the parameters
    objects             names of fields, and classes, to which rows refer by index
    leaves              leaves of all parameters; each has a slot in an outcome
    dims                names of the dims, which have the last slots of an outcome
    places              the layout of an outcome
    expressions, later  expressions as text; how many of them are checked once all dims are known
    scratch             bytes of the memory of one launch
    """

    def __init__(self, signature: Signature, classes: Mapping[str, type] | None = None) -> None:
        self.names = tuple(sys.intern(parameter.name) for parameter in signature.parameters)
        self.dims = tuple(dim.name for dim in signature.dims)
        self._block = bytearray(ctypes.sizeof(_Signature))  # one block, so that a launch reads few lines of the caches
        self._known: dict[tuple[bytes, tuple[int, ...]], int] = {}  # (content, links) -> offset; stored once
        self._links: list[int] = []  # offsets of the words in the block that are themselves offsets in it
        self._rows = rows = Rows(len(self.names), classes)
        for slot, parameter in enumerate(signature.parameters):
            parameter.rows(rows, slot, ALWAYS)
        self.objects = tuple(rows.objects)
        self.leaves = [held.leaf for held in rows.leaves]
        self._arrays = [held for held in rows.leaves if isinstance(held.leaf, Array)]
        self._numbers = [held for held in rows.leaves if not isinstance(held.leaf, Array)]
        self._maps = [held for held in self._arrays if held.leaf.packs_as == "tensormap"]
        self._expressions: list[int] = []
        self.expressions: list[str] = []
        self.later = 0
        self._inside: set[str] = set()  # dims in expressions
        self._strided: set[str] = set()  # dims that occur as strides
        self._lay_key()
        self._lay_frame()
        self.address = self._written(signature)

    # The key: class of the launch, context, device; dtype variables, types of numbers, constants; flags.

    def _lay_key(self) -> None:
        words = itertools.count(3)
        variables = (held.leaf.dtype for held in self._arrays)
        names = dict.fromkeys(dtype.name for dtype in variables if isinstance(dtype, Variable))
        self._variables = {name: next(words) for name in names}
        self._typed = {held: next(words) for held in self._numbers if isinstance(held.leaf.dtype, Variable)}
        first = next(words)
        constants = self._rows.constants
        self._constants = [_CONSTANT_ROW.pack(*held, first + 2 * i) for i, held in enumerate(constants)]
        self._flags = WORD * (first + 2 * len(constants))
        flags = 2 * len(self._arrays) + self._rows.givens + 2 * len(self.dims)
        self._words = -(-(self._flags + flags) // WORD)

    # The frame: addresses, numbers, dims, tensor maps.

    def _lay_frame(self) -> None:
        values = {held: WORD * i for i, held in enumerate((*self._arrays, *self._numbers))}
        self._dims_at = WORD * len(values)
        first = -(-(self._dims_at + WORD * len(self.dims)) // _MAP_ALIGN) * _MAP_ALIGN
        maps = {held: first + _MAP_BYTES * i for i, held in enumerate(self._maps)}
        self._at = {**values, **maps}
        self._frame = first + _MAP_BYTES * len(maps)
        dims = (self._dims_at + WORD * i for i in range(len(self.dims)))
        self.places = Places.of((*(self._at[held] for held in self._rows.leaves), *dims), len(maps), self._words)

    # The tables.

    def _written(self, signature: Signature) -> int:
        given = self._rows
        rows = {
            "fetch": [_FETCH.pack(*row, 0) for row in given.fetches],
            "array": [self._array(held) for held in self._arrays],
            "number": [self._number(held) for held in self._numbers],
            "constant": self._constants,
            "grid_rules": [self._rule(extent) for extent in signature.grid or ()],
            "dim": [],
        }
        for d in signature.dims:
            most = 2**63 - 1 if d.max is None else d.max
            rows["dim"].append(_DIM_ROW.pack(max(d.min, 0), most, d.divisible_by, d.name in self._inside, 0))
        rows["expression"] = [struct.pack("<Q", address) for address in self._expressions]
        links = {
            "array": range(_ARRAY.size - WORD, _ARRAY.size * len(rows["array"]), _ARRAY.size),
            "expression": range(0, WORD * len(rows["expression"]), WORD),
        }
        put = {name: self._put(b"".join(group), *links.get(name, ())) for name, group in rows.items()}
        said, places = _Signature(**put), self.places
        said.fetches, said.arrays, said.numbers, said.constants, said.grid, said.dims, _ = map(len, rows.values())
        said.count, said.positional, said.position_only = len(self.names), signature.positional, signature.position_only
        said.plain = said.count if said.count == signature.positional else 0xFFFFFFFF
        said.slots, said.givens = given.slots, given.givens
        said.strided, said.to_make = bool(self._strided), bool(self._maps or self._typed)
        said.unusual = bool(given.givens or given.constants or self._strided or self.later)
        said.dims_at, said.frame, said.words, said.flags = self._dims_at, self._frame, self._words, self._flags
        said.key, said.order, said.kinds, said.caches = places.key, places.order, places.kinds, places.caches
        said.parameters = max(len(places.at), 1)
        self._lay_launch(said)
        return self._loaded(bytes(said))

    def _lay_launch(self, said: _Signature) -> None:
        """Lay out the memory of one launch."""
        said.told_at = self._flags + len(self._arrays) + self._rows.givens
        said.large_at = said.told_at + 2 * len(self.dims)
        sizes = {
            "words_at": WORD * self._words,
            "tensors_at": TENSOR_BYTES * len(self._arrays),
            "bound_at": WORD * self._rows.slots,
            "unsure_at": 2 * WORD * len(self.dims),
            "later_at": 2 * WORD * self.later,
            "given_at": self._rows.givens,
        }
        at = self._frame
        for name, size in sizes.items():
            setattr(said, name, at)
            at += -(-size // WORD) * WORD
        said.scratch = at

    def _put(self, data: bytes, *links: int) -> int:
        """Store bytes in the block and return their offset; their words at `links` are offsets in the block."""
        at = self._known.get((data, links))
        if at is None:
            at = self._known[data, links] = len(self._block)
            self._block += data.ljust(-(-len(data) // WORD) * WORD, b"\0")
            self._links += (at + link for link in links)
        return at

    def _loaded(self, said: bytes) -> int:
        """Copy the block, with `said` at its beginning, to where it stays; turn offsets into addresses."""
        self._block[: len(said)] = said
        self._links += range(_Signature.fetch.offset, len(said), WORD)
        size = len(self._block)
        self._memory = ctypes.create_string_buffer(size + _LINE)
        address = -(-ctypes.addressof(self._memory) // _LINE) * _LINE
        block = bytearray(self._block)
        for at in self._links:
            (place,) = struct.unpack_from("<Q", block, at)
            struct.pack_into("<Q", block, at, address + place)
        ctypes.memmove(address, bytes(block), size)
        self.scratch: int = _Signature.from_buffer_copy(said).scratch
        return address

    def words(self, name: str) -> Iterator[str]:
        """Yield the 64-bit words of the tables in C, for an array called `name`."""
        links = set(self._links)
        for at, (word,) in enumerate(struct.iter_unpack("<Q", self._block)):
            yield f"(u64)(uintptr_t)({name} + {word // WORD})" if WORD * at in links else hex(word)

    def _array(self, held: Held) -> bytes:
        wanted = held.leaf
        assert isinstance(wanted, Array)
        dtype = variable = size = 0
        if isinstance(wanted.dtype, Variable):
            variable = self._variables[wanted.dtype.name]
        else:
            row = DTYPES["f32" if wanted.dtype == "tf32" else wanted.dtype]
            assert row.dlpack is not None, "arrays have it"
            dtype, size = row.dlpack[0] | row.dlpack[1] << 8 | 1 << 16, row.bytes
        rules: list[bytes] = []
        order, rank, cosize = _NESTED, 0xFFFFFFFF, 0
        if isinstance(wanted.layout, Nested):
            if wanted.layout.cosize is None:
                raise Unsupported(f"`{wanted.name}` has nested modes of extents that are not known")
            cosize = wanted.layout.cosize
        else:
            order, rank, rules = self._modes(wanted.layout)
        align = wanted.align or (0 if wanted.box is None else 1)  # for a tensor map, the encoding checks it
        said = _ANNOTATION.pack(dtype, variable, size, align, rank, order, cosize)
        said += struct.pack("<Q", self._put(b"".join(rules)))
        return _ARRAY.pack(
            held.slot, held.given, 0 if wanted.box is None else self._at[held], self._put(said, _ANNOTATION.size)
        )

    def _modes(self, layout: Strided) -> tuple[int, int, list[bytes]]:
        """Return the order, the number of modes, and a rule for each extent and each given stride."""
        rank = len(layout.shape)
        order = _GIVEN_STRIDES if layout.strides is not None else _ROW_MAJOR if layout.order == "row" else _COLUMN_MAJOR
        from_inside = reversed(range(rank)) if order == _ROW_MAJOR else range(rank)
        rules = [self._checked(layout.shape[mode], mode) for mode in from_inside]
        rules += [self._checked(stride, mode) for mode, stride in enumerate(layout.strides or ())]
        self._strided.update(stride.name for stride in layout.strides or () if isinstance(stride, Dim))
        return order, rank, rules

    def _checked(self, wanted: Expr, mode: int) -> bytes:
        """Return the rule by which an extent or stride is checked."""
        if isinstance(wanted, Dim):
            return _RULE.pack(_DIM, mode, self.dims.index(wanted.name))
        if isinstance(wanted, Expression):
            self.later += 1
            self._inside.update(dim.name for dim in dims_of(wanted))
        return self._rule(wanted, mode)

    def _rule(self, wanted: Expr, mode: int = 0) -> bytes:
        """Return the rule for a value: a number, or an expression to compute."""
        if isinstance(wanted, int):
            return _RULE.pack(_NUMBER, mode, wanted)
        steps = [*self._steps(wanted.tree if isinstance(wanted, Expression) else wanted), (_END, 0)]
        pushed = (1 if op in (_CONSTANT, _VALUE) else 0 if op == _END else -1 for op, _ in steps)
        if max(itertools.accumulate(pushed)) > _MOST_DEPTH:
            raise Unsupported("an expression is nested too deeply")
        self._expressions.append(self._put(b"".join(_STEP.pack(*step) for step in steps)))
        self.expressions.append(wanted.text if isinstance(wanted, Expression) else str(wanted))
        return _RULE.pack(_EXPRESSION, mode, len(self._expressions) - 1)

    def _steps(self, tree: Tree) -> Iterable[tuple[int, int]]:
        """Yield an expression as steps of a stack machine, operands first."""
        if isinstance(tree, int):
            if not -(2**63) <= tree < 2**63:
                raise Unsupported(f"{tree} has more than 64 bits")
            yield _CONSTANT, tree
        elif isinstance(tree, Dim):
            yield _VALUE, self.dims.index(tree.name)
        elif tree[0] == "ceil_div":
            _, n, by = tree
            yield from self._steps(("sub", 0, ("floordiv", ("sub", 0, n), by)))
        else:
            operation, a, b = tree
            yield from self._steps(a)
            yield from self._steps(b)
            yield _OPERATIONS[operation], 0

    def _number(self, held: Held) -> bytes:
        dtype = held.leaf.dtype
        how, kind = _OTHER, self._rows.leaves.index(held)  # an outcome has the variable's dtype at this index
        if isinstance(held.leaf, Pointer):
            kind = held.leaf.number
        elif isinstance(dtype, str):
            kind = KIND[dtype]
            if held.given == ALWAYS:
                how = _WIDE_INTEGER if dtype in _WIDE_INTEGERS else _SINGLE if dtype == "f32" else _OTHER
        return _NUMBER_ROW.pack(held.slot, held.given, how, self._at[held], kind, self._typed.get(held, 0))
