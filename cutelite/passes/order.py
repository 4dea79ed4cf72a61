"""The passes in their order, with the reasons. `texts.py` reads pipelines that users write."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cutelite.ir.function import Function
from cutelite.passes.allocate_smem import allocate_smem
from cutelite.passes.check_indices import check_indices
from cutelite.passes.check_registers import check_registers
from cutelite.passes.context import Context
from cutelite.passes.cse import cse
from cutelite.passes.dce import dce
from cutelite.passes.fold import fold
from cutelite.passes.hoist_descriptors import hoist_descriptors
from cutelite.passes.hold_operands import hold_operands
from cutelite.passes.join_accesses import join_accesses
from cutelite.passes.lower_tensors import lower_tensors
from cutelite.passes.materialise_dims import materialise_dims, mentions_other_dims
from cutelite.passes.number_fences import number_fences
from cutelite.passes.promote_rmem import promote_rmem
from cutelite.passes.unroll_loops import unroll_loops
from cutelite.tuples import NamedTuple

PassFunction = Callable[[Function, Context], Function]


class Pass(NamedTuple):
    """A row of the table.

    function  the pass
    why       the reason for its place
    after     the passes that must run before it
    ours      False for a user's pass
    refuses   whether it reports mistakes of the user, or a function of the frontend's IR that tells whether it may
    """

    function: PassFunction
    why: str
    after: tuple[PassFunction, ...] = ()
    ours: bool = True
    refuses: bool | Callable[[Function], bool] = False

    @property
    def name(self) -> str:
        return self.function.__name__


PIPELINE = (
    Pass(fold, why="decided branches and known indices help all other passes"),
    Pass(check_indices, why="while tensors and their indices are whole", after=(fold,), refuses=True),
    Pass(check_registers, why="decided branches show which threads come to an op", after=(fold,), refuses=True),
    Pass(
        unroll_loops,
        why="the counter of a short loop becomes known, and with it indices into registers",
        after=(fold, check_indices),
    ),
    Pass(
        promote_rmem,
        why="later passes can follow values, but not memory",
        after=(fold, check_indices, unroll_loops),
        refuses=True,
    ),
    Pass(
        hold_operands,
        why="the registers of operands are values now, and short loops are none",
        after=(unroll_loops, promote_rmem),
        refuses=True,
    ),
    Pass(allocate_smem, why="a kernel that needs too much is refused before work goes into it", refuses=True),
    Pass(lower_tensors, why="addresses become arithmetic like any other", after=(promote_rmem, check_indices)),
    Pass(
        materialise_dims,
        why="no later pass asks for strides or extents",
        after=(lower_tensors,),
        refuses=mentions_other_dims,
    ),
    Pass(hoist_descriptors, why="the address of a tile is arithmetic now", after=(lower_tensors,)),
    Pass(cse, why="neighbouring accesses share most of their address", after=(lower_tensors, materialise_dims)),
    Pass(fold, why="address arithmetic of known numbers, and parameters that promotion added in vain", after=(cse,)),
    Pass(join_accesses, why="addresses that differ by a number are visible; LLVM's own pass is slow", after=(cse,)),
    Pass(dce, why="ops that only the passes above needed are dropped", after=(fold, join_accesses)),
    Pass(number_fences, why="only the fences that remain are looked for in machine code", after=(dce,)),
)
"""The order, as a table. Verified IR goes into each pass and comes out of it."""


def refusals(function: Function) -> Sequence[Pass]:
    """Return the passes up to the last that may report a mistake of the user in this function of the frontend."""
    may = (step.refuses if isinstance(step.refuses, bool) else step.refuses(function) for step in PIPELINE)
    return PIPELINE[: 1 + max(at for at, refuses in enumerate(may) if refuses)]
