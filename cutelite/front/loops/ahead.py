"""Loads of later iterations, executed ahead within the body of an unrolled loop: `cl.range(..., unroll=4, prefetch=3)`.

    load 0, use 0, store 0, load 1, use 1, store 1      ->      load 0, load 1, use 0, store 0, use 1, store 1

A load from global memory is moved up by as many iterations as asked, and with it the arithmetic of its address. It
crosses stores, which the user has promised do not write what it reads, and no barrier, fence or wait.
"""

from __future__ import annotations

from cutelite.front.cfg import Loop
from cutelite.front.regions import Regions
from cutelite.ir.contract import Effect
from cutelite.ir.function import Block
from cutelite.ir.op import Op
from cutelite.ir.types import Ptr, Tensor
from cutelite.lang.emit import mistake


def move_ahead(regions: Regions, loop: Loop, starts: list[tuple[Block, int]], distance: int) -> None:
    """Move the loads of these iterations up; the last iteration ends with the builder's block.

    Errors    `prefetch` where there are branches among the iterations, or no load that can be moved
    starts    for each iteration its block, and the number of ops there before it
    distance  the most iterations by which loads are moved up
    """
    if len(starts) < 2 or not distance:
        return
    regions.builder.span = regions.span(loop)
    block = regions.builder.block
    if any(other is not block for other, _ in starts):
        help = "use `cl.where`, or a range whose numbers need no condition; and `cl.static_range` for inner loops"
        raise mistake("prefetch", "loads are not moved up across run-time branches, and this body has some", help=help)
    if not _moved(block.ops, [n for _, n in starts], distance):
        help = "loads from global memory are moved up as far as to the last barrier, fence or wait"
        raise mistake("prefetch", "no load of this body can be moved up by an iteration", help=help)


def _moved(ops: list[Op], starts: list[int], distance: int) -> int:
    """Reorder the ops of a block in place, and return the number of loads that were moved."""
    place = {op: n for n, op in enumerate(ops)}
    ordering = [n for n, op in enumerate(ops) if Effect.ORDERS in op.effects]
    own = [n + 1 for n in range(starts[0], starts[1]) if _is_load(ops[n])]
    targets = [max(own, default=starts[0]), *starts[1:]]  # in the first iteration, behind its own loads
    moved: dict[Op, int] = {}
    loads = 0
    for turn, (start, stop) in enumerate(zip(starts[1:], [*starts[2:], len(ops)], strict=True), start=1):
        target = targets[max(0, turn - distance)]
        for n in range(start, stop):
            if _is_load(ops[n]) and not any(target <= at < n for at in ordering):
                needed = _needed(ops[n], place)
                loads += bool(needed)
                moved |= {op: target for op in needed if place[op] >= target and op not in moved}
    ahead: dict[int, list[Op]] = {}
    for op in sorted(moved, key=place.__getitem__):
        ahead.setdefault(moved[op], []).append(op)
    ops[:] = [x for n, op in enumerate(ops) for x in (*ahead.get(n, ()), *(() if op in moved else (op,)))]
    return loads


def _is_load(op: Op) -> bool:
    places = [x.type.space for x in op.operands if isinstance(x.type, Tensor | Ptr)]
    return op.effects == Effect.READS and places == ["gmem"]


def _needed(load: Op, place: dict[Op, int]) -> set[Op]:
    """Return a load and the ops of the body that it needs; the empty set if one of them cannot be moved."""
    found, pending = {load}, [load]
    while pending:
        for value in pending.pop().operands:
            op = value.op
            if op in place and op not in found:
                if op.effects and not _is_load(op):
                    return set()
                found.add(op)
                pending.append(op)
    return found
