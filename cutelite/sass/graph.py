"""Instructions -> basic blocks, and the loops that they form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from cutelite.graphs import dominators, postorder, reached
from cutelite.sass.instruction import Instruction
from cutelite.sass.kinds import KINDS

_OF_A_SPIN = frozenset({"sync", "control", "integer", "uniform", "move", "none", "global load", "shared load"})


@dataclass(eq=False)
class Block:
    """A basic block: instructions that are executed one after the other.

    next    blocks that may follow
    before  blocks that it may follow
    """

    instructions: tuple[Instruction, ...]
    next: list[Block] = field(default_factory=list)
    before: list[Block] = field(default_factory=list)

    @property
    def address(self) -> int:
        return self.instructions[0].address

    def __repr__(self) -> str:
        return f"<block {self.address:#06x}: {len(self.instructions)} instructions>"


@dataclass(eq=False)
class Loop:
    """A natural loop: its header, to which branches go back, and the blocks from which it is reached again.

    header  the only block through which the loop is entered
    blocks  blocks of the loop and of its inner loops, by address
    inner   the loops directly inside
    outer   the loop around it; None for an outermost one
    """

    header: Block
    blocks: tuple[Block, ...]
    inner: list[Loop] = field(default_factory=list)
    outer: Loop | None = None

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """Every instruction of the loop and of its inner loops, each once."""
        return tuple(each for block in self.blocks for each in block.instructions)

    @property
    def mix(self) -> Mix:
        """The number of instructions of each class."""
        return mix_of(self.instructions)

    @property
    def stalls(self) -> int:
        """The sum of stalls: the least cycles of one iteration of a warp, if it executes every block once."""
        return sum(each.control.stall for each in self.instructions)

    @property
    def depth(self) -> int:
        """The depth of nesting: 1 for an outermost loop."""
        return 1 if self.outer is None else 1 + self.outer.depth

    @property
    def spins(self) -> bool:
        """Tell whether the loop only waits: 16 instructions or fewer test a barrier or flag, and none computes."""
        mix = self.mix
        waits = mix["sync"] > 0 or any(".STRONG" in each.opcode for each in self.instructions)
        return waits and len(self.instructions) <= 16 and set(mix) <= _OF_A_SPIN and not self.inner

    def __repr__(self) -> str:
        return f"<loop at {self.header.address:#06x}: {len(self.instructions)} instructions, depth {self.depth}>"


class Mix(Counter[str]):
    """Numbers of instructions by class (`KINDS`): 0 for a class without any. Errors: KeyError for another name."""

    def __missing__(self, kind: str) -> int:
        if kind not in KINDS:
            raise KeyError(f"instructions have no class {kind!r}; classes are {', '.join(KINDS)}")
        return 0


def mix_of(instructions: Sequence[Instruction]) -> Mix:
    """Count instructions by class."""
    return Mix(each.kind for each in instructions)


def blocks_of(instructions: Sequence[Instruction], entries: set[int]) -> list[Block]:
    """Split instructions into blocks; functions begin at the addresses `entries`. Unreachable code is left out."""
    starts = set(entries)
    for i, each in enumerate(instructions):
        if each.branches_to is not None:
            starts.add(each.branches_to)
        if (each.branches_to is not None or not each.falls_through) and i + 1 < len(instructions):
            starts.add(instructions[i + 1].address)
    parts: list[list[Instruction]] = []
    for each in instructions:
        if each.address in starts or not parts:
            parts.append([])
        parts[-1].append(each)
    found = {part[0].address: Block(tuple(part)) for part in parts}
    ordered = list(found.values())
    for i, block in enumerate(ordered):
        last = block.instructions[-1]
        if last.falls_through and i + 1 < len(ordered):
            block.next.append(ordered[i + 1])
        if last.branches_to in found and found[last.branches_to] not in block.next:
            block.next.append(found[last.branches_to])
    alive = reached([found[address] for address in entries if address in found], lambda block: block.next)
    for block in ordered:
        for after in block.next if block in alive else ():
            after.before.append(block)
    return [block for block in ordered if block in alive]


def loops_of(blocks: Sequence[Block], entries: set[int]) -> list[Loop]:
    """Return the natural loops, by the address of their header; an outer loop comes before those inside it."""
    starts = [block for block in blocks if block.address in entries]
    order = postorder(None, lambda block: block.next if block else starts)
    nearest = dominators(order, lambda block: block.before if block and block.address not in entries else (None,))
    bodies: dict[Block, set[Block]] = {}
    for block in blocks:
        above = reached([block], lambda each: (nearest[each],) if each else ())
        for header in above.intersection(block.next):  # a back edge
            bodies.setdefault(header, {header}).update(reached([block], lambda each: each.before, [header]))
    loops = [
        Loop(header, tuple(sorted(body, key=lambda block: block.address)))
        for header, body in sorted(bodies.items(), key=lambda item: (-len(item[1]), item[0].address))
    ]
    for i, loop in enumerate(loops):
        around = [other for other in loops[:i] if loop.header in other.blocks and other is not loop]
        if around:
            loop.outer = around[-1]
            around[-1].inner.append(loop)
    return sorted(loops, key=lambda loop: (loop.header.address, loop.depth))
