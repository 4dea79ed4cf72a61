"""Rewriting of a function: a new one is made op by op, and the old one stays as it is.

    rewrite = Rewrite(function)
    for op in rewrite:                      # blocks in reverse postorder, so definitions come before their uses
        if isinstance(op, Neg) and ...:
            rewrite.replace(op.result, rewrite.value(inner))
        else:
            rewrite.keep(op)
    return rewrite.function

Blocks and jumps are new. Values and ops are immutable and shared: an op is copied only if an operand of it was
replaced, and its copy takes over its results (`Value.op` is the op that defines it in the newest function).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from cutelite.ir.builder import Builder
from cutelite.ir.function import Block, Function, Jump, Value, reverse_postorder
from cutelite.ir.op import Op


class Rewrite:
    """A new function under construction, without blocks that cannot be reached and the block parameters `dropped`.

    builder  puts ops at the end of the new block; what it emits gets the span of the old op being looked at
    """

    def __init__(self, function: Function, dropped: Collection[Value] = (), order: list[Block] | None = None) -> None:
        self.order = order or reverse_postorder(function.entry)
        self._dropped = dropped
        self._values: dict[Value, Value] = {}
        kept = {block: tuple(value for value in block.params if value not in dropped) for block in self.order}
        self._blocks = {block: Block(kept[block], block.label) for block in self.order}
        entry = self._blocks[function.entry]
        self.function = Function(function.name, [entry], dict(function.dims), dict(function.attrs))
        self.builder = Builder(self.function)

    def __iter__(self) -> Iterator[Op]:
        for block in self.blocks():
            yield from self.ops(block)

    def blocks(self) -> Iterator[Block]:
        """Yield each old block, once its new one has been started."""
        for block in self.order:
            new = self._blocks[block]
            if new is not self.function.entry:
                self.function.blocks.append(new)
            self.builder.block = new
            yield block

    def ops(self, block: Block) -> Iterator[Op]:
        """Yield the ops of an old block."""
        for op in block.ops:
            self.builder.span = op.span
            yield op

    # From old to new.

    def value(self, old: Value) -> Value:
        return self._values.get(old, old)

    def block(self, old: Block) -> Block:
        return self._blocks[old]

    def jump(self, jump: Jump) -> Jump:
        """Return the jump to the new block for a jump of the old function, whose arguments are mapped already."""
        args = jump.args
        if self._dropped:
            pairs = zip(args, jump.block.params, strict=True)
            args = tuple(arg for arg, param in pairs if param not in self._dropped)
        return Jump(self._blocks[jump.block], args)

    def replace(self, old: Value, new: Value) -> None:
        """Replace later uses of `old` by `new`, a value of the new function."""
        if new is not old:
            self._values[old] = new
            new.hint = new.hint or old.hint

    def keep(self, op: Op) -> Op:
        """Append `op`, with its operands mapped and its results the same."""
        new = self.mapped(op)
        self.builder.block.ops.append(new)
        return new

    def mapped(self, op: Op) -> Op:
        """Return `op` with new operands and the same results; `op` itself if no operand was replaced."""
        if op.terminator:
            return op.map_operands(self.value, self.jump)
        if not self._values or self._values.keys().isdisjoint(op.operands):
            return op
        return self.with_results(op.map_operands(self.value), op)

    @staticmethod
    def with_results(new: Op, old: Op) -> Op:
        """Give `new` the results of `old`, and return it."""
        new.results = old.results
        for value in new.results:
            value.op = new
        return new

    def emit(self, op: Op) -> Any:
        """Emit an op, as `Builder.emit` does."""
        return self.builder.emit(op)
