"""Functions: SSA in basic blocks, with block arguments in place of phis; predecessors, order, dominators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cutelite import graphs
from cutelite.ir.op import Block as Block
from cutelite.ir.op import Jump as Jump
from cutelite.ir.op import Op
from cutelite.ir.op import Value as Value


class Function:
    """A kernel: its parameters are those of its entry block, then one hidden parameter for each named dim.

    dims   name -> the i32 or i64 parameter that holds the extent at launch
    attrs  the other facts that the kernel was compiled for: block=(x, y, z), cluster=(x, y, z), min_blocks, ...
    """

    def __init__(self, name: str, blocks: list[Block], dims: dict[str, Value], attrs: dict[str, Any]) -> None:
        self.name = name
        self.blocks = blocks
        self.dims = dims
        self.attrs = attrs

    @property
    def entry(self) -> Block:
        return self.blocks[0]

    @property
    def params(self) -> list[Value]:
        return self.entry.params

    def ops(self) -> Iterator[Op]:
        for block in self.blocks:
            yield from block.ops

    def text(self) -> Any:
        """Return its `printer.FunctionText`: the text, whole or line by line."""
        from cutelite.ir.printer import FunctionText  # which imports this module

        return FunctionText(self)

    def __str__(self) -> str:
        return str(self.text())


def predecessors(blocks: list[Block]) -> dict[Block, list[tuple[Block, Jump]]]:
    """Return the blocks that jump to each block, each with its jump."""
    found: dict[Block, list[tuple[Block, Jump]]] = {block: [] for block in blocks}
    for block in blocks:
        end = block.terminator
        for jump in end.jumps if end else ():
            found[jump.block].append((block, jump))
    return found


def reverse_postorder(entry: Block) -> list[Block]:
    """Return the blocks reachable from `entry`; each comes before its successors, loops apart.

    Of two branches the first comes first, with all blocks that only it leads to, so a loop's body stays together.
    """
    return graphs.postorder(entry, lambda block: reversed(block.successors))[::-1]


def dominators(order: list[Block]) -> dict[Block, Block]:
    """Return immediate dominators over a reverse postorder; the entry's is itself."""
    before = predecessors(order)
    return graphs.dominators(order[::-1], lambda block: [source for source, _ in before[block]])


def post_dominators(order: list[Block]) -> dict[Block, Block]:
    """Return the immediate post-dominator of each block that has one; blocks from which there is no way out have none.

    The root of the reversed graph is None, behind all blocks without successors.
    """
    inside = set(order)
    backwards: dict[Block | None, list[Block]] = {None: [block for block in order if not block.successors]}
    for block, found in predecessors(order).items():
        backwards[block] = [source for source, _ in found if source in inside]
    ends = graphs.postorder(None, backwards.__getitem__)
    nearest = graphs.dominators(ends, lambda block: (block and block.successors) or (None,))
    return {block: up for block, up in nearest.items() if block is not None and up is not None}


Interval = tuple[int, int]
"""A block's place in the dominator tree: those it dominates have intervals within its own."""


def dominated(order: list[Block]) -> dict[Block, Interval]:
    """Return the interval of each block of a reverse postorder."""
    idom = dominators(order)
    children: dict[Block, list[Block]] = {block: [] for block in order}
    for block in order[1:]:
        children[idom[block]].append(block)
    first: dict[Block, int] = {}
    intervals: dict[Block, Interval] = {}
    stack = [(order[0], False)]
    while stack:
        block, done = stack.pop()
        if done:
            intervals[block] = first[block], len(first)
        else:
            first[block] = len(first)
            stack.append((block, True))
            stack += [(child, False) for child in children[block]]
    return intervals


def dominates(a: Interval, b: Interval) -> bool:
    """Tell whether the block of `a` dominates that of `b`, or is the same."""
    return a[0] <= b[0] and b[1] <= a[1]
