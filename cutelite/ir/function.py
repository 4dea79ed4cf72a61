"""Functions: SSA in basic blocks, with block arguments in place of phis; predecessors, order, dominators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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
    order: list[Block] = []
    seen = {entry}
    stack = [(entry, reversed(entry.successors))]
    while stack:
        block, successors = stack[-1]
        for successor in successors:
            if successor not in seen:
                seen.add(successor)
                stack.append((successor, reversed(successor.successors)))
                break
        else:
            order.append(block)
            stack.pop()
    return order[::-1]


def dominators(order: list[Block]) -> dict[Block, Block]:
    """Return immediate dominators over a reverse postorder (Cooper, Harvey, Kennedy 2001); the entry's is itself."""
    index = {block: i for i, block in enumerate(order)}
    before = predecessors(order)
    idom = {order[0]: order[0]}
    changed = True
    while changed:
        changed = False
        for block in order[1:]:
            new: Block | None = None
            for source, _ in before[block]:
                if source in idom:
                    new = source if new is None else _common(source, new, idom, index)
            if new is not None and idom.get(block) is not new:
                idom[block] = new
                changed = True
    return idom


def _common(a: Block, b: Block, idom: dict[Block, Block], index: dict[Block, int]) -> Block:
    while a is not b:
        while index[a] > index[b]:
            a = idom[a]
        while index[b] > index[a]:
            b = idom[b]
    return a


def post_dominators(order: list[Block]) -> dict[Block, Block]:
    """Return the immediate post-dominator of each block that has one; blocks from which there is no way out have none.

    Cooper, Harvey, Kennedy 2001, on the reversed graph with one exit (None) behind all blocks without successors.
    """
    inside = set(order)
    backwards: list[Block] = []
    seen: set[Block] = set()
    before = {block: [b for b, _ in found if b in inside] for block, found in predecessors(order).items()}
    for end in (block for block in order if not block.successors):
        stack = [(end, iter(before[end]))] if end not in seen else []
        seen.add(end)
        while stack:
            block, sources = stack[-1]
            following = next((source for source in sources if source not in seen), None)
            if following is None:
                backwards.append(block)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(before[following])))
    rank: dict[Block | None, int] = {block: i for i, block in enumerate(backwards)}
    rank[None] = len(backwards)  # the exit: last in postorder of the reversed graph
    parent: dict[Block | None, Block | None] = {None: None}
    changed = True
    while changed:
        changed = False
        for block in reversed(backwards):
            targets: list[Block | None] = [b for b in block.successors if b in parent] or []
            if not block.successors:
                targets = [None]
            if not targets:
                continue
            new = targets[0]
            for target in targets[1:]:
                new = _common_end(new, target, parent, rank)
            if block not in parent or parent[block] is not new:
                parent[block] = new
                changed = True
    return {block: up for block, up in parent.items() if block is not None and up is not None}


def _common_end(
    a: Block | None, b: Block | None, parent: dict[Block | None, Block | None], rank: dict[Block | None, int]
) -> Block | None:
    while a is not b:
        while rank[a] < rank[b]:
            a = parent[a]
        while rank[b] < rank[a]:
            b = parent[b]
    return a


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
