"""Arrays that a function captured and that need a gradient: the derivative of the function by what it reads of them.

In    a function with `Captured` in place of arrays, some of which are `learned`
Out   the function, with a derivative beside one access to these arrays; and the accesses, to add gradients up

    function, reads = watched(Holder(score_mod), tables, 0)
    y = function(score, b, h, q_idx, kv_idx)    # now `reads` has all accesses; the slope of y is by the first one
"""

from __future__ import annotations

from typing import Any

from cutelite.diag import CompileError, Mistake
from cutelite.ir.function import Block
from cutelite.lang import fragments
from cutelite.lang.dual import Dual, parts
from cutelite.lang.emit import builder_here
from cutelite.lang.tables import Captured, Holder, Table, bound, spread
from cutelite.lang.tensor import Tensor
from cutelite.lang.values import Vector
from cutelite.records import dataclass


@dataclass(frozen=True, eq=False)
class Read:
    """An access to an array.

    index         the number of the array among those that functions captured
    coord         the indices
    block, span   where it is, in the kernel and in the user's code
    """

    index: int
    table: Table
    coord: tuple[Any, ...]
    block: Block
    span: Any

    @property
    def alike(self) -> bool:
        """Tell whether all threads that call the function together read one element: no index is a vector."""
        return not any(isinstance(x, Vector) for x in self.coord)

    def sums(self, of: Any) -> list[tuple[Any, Any]]:
        """Return the index of each element that is read, and the sum of the numbers of vector `of` that belong to it.

        of   of the shape of what the function is called with
        """
        numbers, sums = of.reshape((of.n,)), dict[tuple[int | None, ...], Any]()
        for i, picks in enumerate(spread(self.coord, fragments.shape_of(of.value))):
            sums[picks] = sums[picks] + numbers[i] if picks in sums else numbers[i]
        return [(self.table.at(self.coord, picks), total) for picks, total in sums.items()]


class Watched(Table):
    """A table whose accesses are kept: by one of these, of all, a function is differentiated.

    index   of the array among those captured
    reads   the accesses, to all arrays; `which` of them
    """

    __slots__ = ("index", "reads", "which")

    def __init__(
        self, tensor: Tensor, index: int, reads: list[Read], which: int, given: tuple[Any, ...] = (),
        ends: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(tensor, given, ends)
        self.index, self.reads, self.which = index, reads, which

    def part(self, coord: tuple[Any, ...]) -> Watched:
        return Watched(self.tensor, self.index, self.reads, self.which, coord, self.ends)

    def read(self, coord: tuple[Any, ...], shape: tuple[Any, ...] | None) -> Any:
        builder = builder_here()
        self.reads.append(Read(self.index, self, coord, builder.block, builder.span))
        return Dual(super().read(coord, shape), float(len(self.reads) == self.which + 1))


def watched(held: Holder, tensors: tuple[Tensor, ...], which: int, ends: bool = False) -> tuple[Any, list[Read]]:
    """Return a function with tables in place of `Captured`, and a list that gets its accesses to `learned` ones.

    which   the number of the access by which it is differentiated
    ends    as of `Table`
    """
    reads: list[Read] = []

    def table(x: Captured) -> Any:
        if not x.learned:
            return Table(tensors[x.index], ends=ends)
        return Watched(tensors[x.index], x.index, reads, which, ends=ends)

    return bound(held, tensors, table=table).function, reads


def slope(y: Any, read: Read, begin: Block) -> Any:
    """Return the derivative of what a function gave, `y`, by an access; `begin`: where the function began.

    Errors  `no-derivative` for an access in a branch or loop: what is behind it knows no index of it
    """
    if read.block not in (begin, builder_here().block):
        title = "an array that needs a gradient is read in a branch or loop that depends on a run-time number"
        raise CompileError(Mistake("no-derivative", title, help="read it before, or choose with `cl.where`"), read.span)
    return parts(y)[1]
