"""Where a launcher keeps what it learns of a launch: its frame, and the key that an outcome is looked up by.

In    the leaves of a signature: parameters and fields that are neither structs nor optional
Out   offsets

The frame is memory of one launch. It begins with the values that the kernel's parameters point to, 64 bits for each:
addresses of arrays, numbers, dims. The key has words, and behind them flags of a byte each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from cutelite.dispatch.arrays import TensorParameter, TmaParameter
from cutelite.dispatch.parameters import ScalarParameter
from cutelite.lang.annotations import DTypeVar, TensorSpec
from cutelite.layout import Dim, DimExpr, dims_of
from cutelite_rt.exchange import TENSOR_BYTES
from cutelite_rt.launcher import FACTS, WORD, Places

SOURCE_BYTES, PENDING, READ = 24, 12, 16
"""What is noted of all arrays: what tells the stream, see `launcher_ir`; whether some are Python's to read, 32 bits;
and whether that has been done, 64."""

MAP_BYTES, MAP_ALIGN = 128, 64


class Unsupported(Exception):
    """A signature that no launcher is made for: every launch of it is an error, or Python's."""


@dataclass(eq=False)
class Leaf:
    """A parameter or field that is neither a struct nor optional: where its object is, and when there is one.

    at       the address of a pointer to the object
    place    its position among the launcher's arguments, where it is one itself
    given    an i1, None for always
    number   of the array among the arrays, of the number among the numbers
    """

    parameter: Any
    at: str
    place: int | None
    given: str | None
    number: int = 0

    @property
    def is_array(self) -> bool:
        return isinstance(self.parameter, TensorParameter | TmaParameter)

    @property
    def is_map(self) -> bool:
        return isinstance(self.parameter, TmaParameter)

    @property
    def variable(self) -> bool:
        """A number whose dtype others tell."""
        return isinstance(self.parameter, ScalarParameter) and isinstance(self.parameter.wanted, DTypeVar)


def spec_of(leaf: Leaf) -> TensorSpec:
    """What the annotation of an array says of it."""
    spec: TensorSpec = leaf.parameter.spec.tensor if leaf.is_map else leaf.parameter.spec
    return spec


class Frame:
    """Offsets for one signature.

    arrays, numbers, maps  its leaves of these kinds
    dims                   those that arrays tell, by name
    strided                of these, the ones that strides tell
    variables              dtype variables, by name: the word of the key that has the dtype
    """

    def __init__(self, leaves: Sequence[Leaf], constants: int, given: int) -> None:
        self.leaves, self.given = leaves, given
        self.arrays = [leaf for leaf in leaves if leaf.is_array]
        self.numbers = [leaf for leaf in leaves if not leaf.is_array]
        self.maps = [leaf for leaf in leaves if leaf.is_map]
        for row in (self.arrays, self.numbers):
            for i, leaf in enumerate(row):
                leaf.number = i
        self.dims: dict[str, Dim] = {}
        self.strided: set[str] = set()
        self._expressions = 0
        for leaf in self.arrays:
            self._learn(leaf)
        dtypes = [spec_of(leaf).dtype for leaf in self.arrays]
        names = dict.fromkeys(dtype.name for dtype in dtypes if isinstance(dtype, DTypeVar))
        self.variables = {name: 3 + i for i, name in enumerate(names)}
        first = 3 + len(names)  # class of the launch, context, device
        self.types = {leaf: first + i for i, leaf in enumerate(each for each in self.numbers if each.variable)}
        self.constants = first + len(self.types)
        self.flags = WORD * (self.constants + 2 * constants)
        self._lay()

    def _learn(self, leaf: Leaf) -> None:
        for expected, stride in _expected(leaf):
            if isinstance(expected, Dim):
                self._declare(expected)
                if stride:
                    self.strided.add(expected.name)
            elif isinstance(expected, DimExpr):
                self._expressions += 1
                for dim in sorted(dims_of(expected), key=lambda dim: dim.name):
                    self._declare(dim)

    def _declare(self, dim: Dim) -> None:
        if self.dims.setdefault(dim.name, dim) != dim:
            raise Unsupported(f"{dim.name} is declared in two ways")

    def _lay(self) -> None:
        count = len(self.leaves) + len(self.dims)
        cells = len(self.strided) + self._expressions  # a value and a flag each
        self.cells = WORD * count
        self.source = self.cells + 2 * WORD * cells
        self.facts = self.source + SOURCE_BYTES
        self.tensors = self.facts + FACTS.size
        end = self.tensors + TENSOR_BYTES * len(self.arrays)
        self._maps = -(-end // MAP_ALIGN) * MAP_ALIGN
        self.size = self._maps + MAP_BYTES * len(self.maps)
        flags = 2 * len(self.arrays) + self.given + 2 * len(self.dims)
        self.words = -(-(self.flags + flags) // WORD)

    @property
    def cell_count(self) -> int:
        return (self.source - self.cells) // (2 * WORD)

    def value(self, leaf: Leaf) -> int:
        """Where in the frame the 64 bits of an address or a number are."""
        return WORD * (leaf.number + (0 if leaf.is_array else len(self.arrays)))

    def dim(self, name: str) -> int:
        """Where in the frame the value of a dim is."""
        return WORD * (len(self.leaves) + list(self.dims).index(name))

    def told(self, name: str) -> int:
        """Where in the key a flag says that the dim is known; behind it is one that says whether it is wide."""
        return self.flags + len(self.arrays) + self.given + 2 * list(self.dims).index(name)

    @property
    def large(self) -> int:
        """Where in the key flags say of each array whether it has too many elements for 32-bit indices."""
        return self.flags + len(self.arrays) + self.given + 2 * len(self.dims)

    def unsure(self, name: str) -> int:
        """Where in the frame a stride of one element is, that may be the dim, and behind it whether there is one."""
        return self.cells + 2 * WORD * sorted(self.strided).index(name)

    def later(self, number: int) -> int:
        """Where in the frame the value is that an expression has to have, and behind it whether it has to."""
        return self.cells + 2 * WORD * (len(self.strided) + number)

    def tensor(self, leaf: Leaf) -> int:
        return self.tensors + TENSOR_BYTES * leaf.number

    def map(self, leaf: Leaf) -> int:
        return self._maps + MAP_BYTES * self.maps.index(leaf)

    def places(self) -> Places:
        at = [self.map(leaf) if leaf.is_map else self.value(leaf) for leaf in self.leaves]
        return Places((*at, *map(self.dim, self.dims)), len(self.maps), self.words)


def _expected(leaf: Leaf) -> Iterator[tuple[Any, bool]]:
    """Extents and strides of an array, and which it is, in the order in which they are looked at."""
    wanted = leaf.parameter._extents
    if not wanted.nested:
        yield from ((extent, False) for extent in wanted.shape)
        if wanted.spec.stride is not None:
            yield from ((stride, True) for stride in wanted.stride)
