"""A function prepared for execution: steps, reconvergence points, live values and addresses, computed once.

In    a verified `ir.Function` at any stage
Out   a `Program`: for each block its `BlockCode`
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from typing import Any

from cutelite import graphs
from cutelite.ir.contract import Effect
from cutelite.ir.function import Block, Function, Value, post_dominators, reverse_postorder
from cutelite.ir.op import Op
from cutelite.layout.dims import Dim as NamedDim
from cutelite.ops.arith import Const
from cutelite.ops.index import Dim, DimBind, Special
from cutelite.ops.tensor import RmemAlloc, SmemAlloc, static_cosize
from cutelite.sim.contraction import Contracted, contracted
from cutelite.sim.deciders import Deciders
from cutelite.sim.direct import direct
from cutelite.target.targets import WARP, WARPGROUP
from cutelite.tuples import NamedTuple

UNITS = {"thread": WARP, "warp": WARP, "warpgroup": WARPGROUP, "cta": 0, "cluster": 0}
"""Scope -> threads of a unit; 0: all of the CTA."""

OF_ALL, OF_THREADS, OF_BLOCK = range(3)
"""Reaches: the threads for which a fixed result is the same. Any threads, if equally many; threads with the same
indices in their blocks; the same threads of the same block."""

Watch = Callable[[Op, Any], None]


class Step(NamedTuple):
    """One op, bound for execution."""

    op: Op
    simulate: Callable[[Any], Any]
    collective: bool  # its threads execute it together
    generator: bool
    wide: bool  # takes any number of units at once
    unit: int  # threads in a unit, 0 for the CTA
    members: Value | None  # the mask of the lanes that execute it together
    strong: bool  # a strong access, which may synchronise threads
    fixed: Value | None = None  # the result, if the same threads get the same one each time
    reach: int = 0  # where it is the same: `OF_ALL` and so on


class BlockCode:
    """One block.

    rows          for each step a tuple for the scheduler: op, simulate, whether strands execute it alone, strong,
                  fixed, reach
    meet          the block where threads that part here meet again: its immediate post-dominator
    needs         whether a value (of a dim: its name) may be used in this block or later
    needs_within  whether it may be used after some point in the block
    """

    __slots__ = ("defined", "label", "meet", "needs", "needs_within", "params", "rows", "steps")

    needs: Callable[[object], bool]
    needs_within: Callable[[object], bool]

    def __init__(
        self, block: Block, watch: Watch | None, sums: Mapping[Op, Contracted], fixed: Mapping[Op, int]
    ) -> None:
        self.label = block.label
        self.params = tuple(block.params)
        self.defined = frozenset([value for op in block.ops for value in op.results])
        self.steps = tuple([_step(op, watch, sums.get(op), fixed.get(op)) for op in block.ops])
        self.rows = tuple(
            [(step.op, step.simulate, not step.collective, step.strong, step.fixed, step.reach) for step in self.steps]
        )
        self.meet: BlockCode | None = None


def _step(op: Op, watch: Watch | None, sum: Contracted | None, reach: int | None) -> Step:
    members = op.members
    simulate = (direct(op) or op.simulate) if sum is None else sum.simulate
    return Step(
        op,
        simulate if watch is None else _watched(op, simulate, watch),
        op.scope != "thread",
        _is_generator(type(op).simulate),
        op.wide or op.scope == "cta",
        UNITS[op.scope],
        members if isinstance(members, Value) else None,
        op.semantic is not None and op.name != "fence",
        None if reach is None else op.result,
        reach or 0,
    )


@cache
def _is_generator(simulate: Callable[[Any, Any], Any]) -> bool:
    return inspect.isgeneratorfunction(simulate)


def _watched(op: Op, simulate: Callable[[Any], Any], watch: Watch) -> Callable[[Any], Any]:
    """Return a function that calls `watch`, then `simulate`."""

    def watched(lanes: Any) -> Any:
        watch(op, lanes)
        return simulate(lanes)

    return watched


class Program:
    """Everything about a function that does not depend on the launch. `watch` is called before each executed op."""

    def __init__(self, function: Function, watch: Watch | None = None) -> None:
        self.function = function
        order = reverse_postorder(function.entry)
        ops = [op for block in order for op in block.ops]
        sums, fixed = contracted(function, order), fixed_of(function, ops) if watch is None else {}
        self.codes: dict[Block, BlockCode] = {block: BlockCode(block, watch, sums, fixed) for block in order}
        self.entry = self.codes[function.entry]
        for block, meet in post_dominators(order).items():
            self.codes[block].meet = self.codes[meet]
        dims = {op.dim.name for op in ops if isinstance(op, DimBind) and isinstance(op.dim, NamedDim)}
        for block, live_in in liveness(order, sums).items():
            code, entering = self.codes[block], frozenset((*live_in, *block.params, *dims))
            code.needs, code.needs_within = entering.__contains__, entering.union(code.defined).__contains__
        self.in_warpgroups = any(UNITS[op.scope] == WARPGROUP for op in ops)  # has instructions of warpgroups
        self.names = frozenset(op.name for op in ops)
        self.strong = tuple(op for op in ops if op.semantic is not None)  # accesses and fences
        self.shared = MemoryPlan(SmemAlloc, ops)
        self.local = MemoryPlan(RmemAlloc, ops)

    @cached_property
    def deciders(self) -> Deciders:
        return Deciders(self.function)


def fixed_of(function: Function, ops: list[Op]) -> dict[Op, int]:
    """Return the ops whose results depend on constants, arguments and thread indices alone, each with its reach."""
    found: dict[Op, int] = {}
    if any(isinstance(op, DimBind) for op in ops):
        return found  # values computed from dims may differ each time
    reach = dict.fromkeys(function.params, OF_ALL)
    for op in ops:
        if isinstance(op, RmemAlloc):  # its address is fixed; its content is undefined each time
            reach[op.result] = OF_THREADS
        elif _is_fixed(op) and all(value in reach for value in op.operands):
            found[op] = reach[op.result] = max([_own_reach(op), *[reach[value] for value in op.operands]])
    return found


def _is_fixed(op: Op) -> bool:
    """Tell whether an op gives the same threads the same result for the same operands, and does nothing else."""
    pure = op.effects == Effect.PURE or isinstance(op, SmemAlloc)
    return pure and op.scope == "thread" and not op.terminator and len(op.results) == 1


def _own_reach(op: Op) -> int:
    """Return for which threads such an op gives the same result for the same operands: its reach."""
    if op.operands or isinstance(op, Const | Dim):
        return OF_ALL
    return OF_THREADS if isinstance(op, Special) and not op.of_the_block else OF_BLOCK


class MemoryPlan:
    """Offsets of all allocations in a space: those that a pass chose, or one after the other with gaps.

    offsets  allocation op -> byte offset (dynamic ones: `size`)
    names    byte offset -> name, for reports
    sizes    allocation op -> bytes (0 for dynamic shared memory)
    size     bytes in all, without dynamic shared memory
    """

    GAP = 16  # unused bytes after each allocation that the simulator places

    def __init__(self, kind: type[SmemAlloc] | type[RmemAlloc], ops: Iterable[Op]) -> None:
        self.offsets: dict[Op, int] = {}
        self.names: dict[int, str] = {}
        self.sizes: dict[Op, int] = {}
        self.size = 0
        allocations = [op for op in ops if isinstance(op, kind)]
        dynamic = [op for op in allocations if isinstance(op, SmemAlloc) and op.dynamic]
        placed = [op for op in allocations if isinstance(op, SmemAlloc) and op.offset >= 0 and op not in dynamic]
        for fixed in placed:
            self._place(fixed, fixed.offset)
        for op in allocations:
            if op not in placed and op not in dynamic:
                self._place(op, -(-self.size // op.type.align) * op.type.align)
                self.size += self.GAP
        self.size = max([self.size, *(-(-self.size // last.type.align) * last.type.align for last in dynamic)])
        for last in dynamic:
            self.offsets[last] = last.offset if last.offset >= 0 else self.size
            self.sizes[last] = 0
            self.names[self.offsets[last]] = name_of(last)

    def _place(self, op: SmemAlloc | RmemAlloc, offset: int) -> None:
        size = op.bytes if isinstance(op, SmemAlloc) else static_cosize(op.type.layout) * op.type.elem.bytes
        self.offsets[op] = offset
        self.sizes[op] = size
        self.names[offset] = name_of(op)
        self.size = max(self.size, offset + size)


def name_of(op: Op) -> str:
    """Return the user's name for the first result of `op`, else its type."""
    return op.result.hint or str(op.result.type)


def liveness(order: list[Block], sums: Mapping[Op, Contracted]) -> dict[Block, set[Value]]:
    """Return for each block the values that it or a later block uses, without its parameters."""
    uses: dict[Block, set[Value]] = {}
    own: dict[Block, set[Value]] = {}
    for block in order:
        defined = set(block.params)
        used: set[Value] = set()
        for op in block.ops:
            used.update(op.operands, sums[op].factors if op in sums else ())
            defined.update(op.results)
        uses[block], own[block] = used - defined, defined  # a value is used behind its definition only
    return graphs.needed(order, lambda block: block.successors, uses, own)
