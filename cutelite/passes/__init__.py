"""Passes: typed SSA to typed SSA, a file per pass, in the order of `PIPELINE`.

In: what the frontend built, with tensors, layouts and dims. Out: what `lower` spells: scalars, vectors, pointers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

from cutelite.ir.faults import reported
from cutelite.ir.function import Function
from cutelite.ir.verifier import verify
from cutelite.passes.allocate_smem import allocate_smem
from cutelite.passes.check_indices import check_indices
from cutelite.passes.check_registers import check_registers
from cutelite.passes.context import Context, Warned
from cutelite.passes.cse import cse
from cutelite.passes.dce import dce
from cutelite.passes.fold import fold
from cutelite.passes.hoist_descriptors import hoist_descriptors
from cutelite.passes.join_accesses import join_accesses
from cutelite.passes.lower_tensors import lower_tensors
from cutelite.passes.materialise_dims import materialise_dims
from cutelite.passes.number_fences import number_fences
from cutelite.passes.promote_rmem import promote_rmem
from cutelite.passes.unroll_loops import unroll_loops

PassFunction = Callable[[Function, Context], Function]


@dataclass(frozen=True)
class Pass:
    """A row of the table: the pass, the reason for its place, and the passes that must have run before."""

    function: PassFunction
    why: str
    after: tuple[PassFunction, ...] = ()

    @property
    def name(self) -> str:
        return self.function.__name__


PIPELINE = (
    Pass(fold, why="branches and indices that are known decide what the others see"),
    Pass(check_indices, why="while tensors and their indices are whole", after=(fold,)),
    Pass(check_registers, why="branches that are known say who comes there", after=(fold,)),
    Pass(
        unroll_loops,
        why="indices of registers that a short loop's counter gives are known",
        after=(fold, check_indices),
    ),
    Pass(promote_rmem, why="values can be followed, memory cannot", after=(fold, check_indices, unroll_loops)),
    Pass(allocate_smem, why="a kernel that asks for too much is refused before work goes into it"),
    Pass(lower_tensors, why="addresses become arithmetic like any other", after=(promote_rmem, check_indices)),
    Pass(materialise_dims, why="strides and extents have been asked for", after=(lower_tensors,)),
    Pass(hoist_descriptors, why="what a tile's address is made of is arithmetic now", after=(lower_tensors,)),
    Pass(cse, why="neighbouring accesses share most of their address", after=(lower_tensors, materialise_dims)),
    Pass(fold, why="address arithmetic of known numbers, and parameters that promotion made in vain", after=(cse,)),
    Pass(join_accesses, why="addresses that differ by a number can be told, and LLVM is not asked", after=(cse,)),
    Pass(dce, why="what was only there for the passes above goes", after=(fold, join_accesses)),
    Pass(number_fences, why="the fences that are left are to be found again in machine code", after=(dce,)),
)
"""The order, as a table. Verified IR goes into each pass and comes out of it."""

Dump = Callable[[str, Function], None]


def run(
    pipeline: Sequence[Pass],
    function: Function,
    context: Context,
    dump: Dump | None = None,
    times: dict[str, float] | None = None,
    verified: bool = True,
) -> Function:
    """The function after all passes.

    dump      called after each pass with its name and the function
    times     seconds for each pass by name are added here
    verified  check the IR after each pass, rather than after the last one only
    Errors    `CompileError` for mistakes that a pass finds; `InternalError` where a pass broke the IR
    """
    _claim(function)
    for step in pipeline:
        start = perf_counter()
        with reported(step.name, function):
            function = step.function(function, context)
        if verified or step is pipeline[-1]:
            verify(function, step.name)
        if times is not None:
            times[step.name] = times.get(step.name, 0.0) + perf_counter() - start
        if dump is not None:
            dump(step.name, function)
    return function


def _claim(function: Function) -> None:
    """Point the values of this function to its ops: an earlier run left them pointing to those it ended with."""
    for op in function.ops():
        for value in op.results:
            value.op = op


__all__ = ["PIPELINE", "Context", "Dump", "Pass", "PassFunction", "Warned", "run"]
