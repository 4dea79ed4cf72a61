"""The builder: puts ops into blocks, checking each where the user wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from math import prod
from typing import Any

from cutelite.diag import CompileError, Mistake
from cutelite.ir.contract import Problem
from cutelite.ir.function import Block, Function, Value
from cutelite.ir.op import Op
from cutelite.target import first_with
from cutelite.threads import OfThread

_CURRENT: OfThread[Builder | None] = OfThread("builder", None)


class Builder:
    """Appends ops at the end of `block`; `span` (the user's line being interpreted) is given to each.

    `Builder.current()` returns the builder of the compile in progress in this thread.
    """

    def __init__(self, function: Function, block: Block | None = None, target: Any = None) -> None:
        self.function = function
        self.block = block or function.entry
        self.span: Any = None
        self.target = target  # target.Target whose features ops are checked against; None: no check
        self.made_dims: dict[str, Value] = {}  # made by `cl.dim`, with the values they were made from
        self.dim_types: dict[Any, Any] = {}  # the types of expressions over dims of the launch, as far as asked for
        self.owned: dict[Value, list[Any]] = {}  # set by `tcgen05.claim`: the claimed cells of each allocation
        self.rounded = False
        self.approximate = False  # whether quotients of f32 are approximate
        self.undone = 0  # number of undos: values made before the last one may be gone

    current = staticmethod(_CURRENT.get)

    def active(self) -> AbstractContextManager[None]:
        """Make this the builder that operators and intrinsics use, in this thread."""
        return _CURRENT.set(self)

    @staticmethod
    def inactive() -> AbstractContextManager[None]:
        """Hide the current builder: code that is called within finds no kernel being compiled."""
        return _CURRENT.set(None)

    @contextmanager
    def rounding_each(self) -> Iterator[None]:
        """Make additions and products emitted within round by themselves: `fmad` does not fuse them."""
        before, self.rounded = self.rounded, True
        try:
            yield
        finally:
            self.rounded = before

    def new_block(self, params: tuple[Value, ...] = (), label: str = "") -> Block:
        block = Block(params, label)
        self.function.blocks.append(block)
        return block

    def snapshot(self, block: Block | None = None) -> Callable[[], None]:
        """Return a function that undoes what happens after this call: blocks, ops added to `block`, dims and claims.

        block  the block that is open again after the undo; default: the one that is open now
        """
        blocks, open_block = self.function.blocks, block or self.block
        count, length = len(blocks), len(open_block.ops)
        dims, approximate = dict(self.made_dims), self.approximate
        owned = {slot: list(claims) for slot, claims in self.owned.items()}

        def undo() -> None:
            del blocks[count:]
            del open_block.ops[length:]
            self.block, self.made_dims, self.approximate, self.owned = open_block, dims, approximate, owned
            self.undone += 1

        return undo

    def emit(self, op: Op) -> Any:
        """Append `op`; returns its result, a tuple of results if there are several, None if there are none."""
        if op.span is None:
            op.span = self.span
        if self.rounded and getattr(op, "fusible", False):
            op.rounded = True  # type: ignore[attr-defined]
        self.check(op)
        op.results = tuple([Value(t, op) for t in op.result_types()])
        if op.elementwise:
            for value in op.operands:
                if value.shape is not None:
                    op.results[0].shape = value.shape
                    break
        self.block.ops.append(op)
        return op.results[0] if len(op.results) == 1 else (op.results or None)

    def check(self, op: Op) -> None:
        """Check that `op` could be appended. Errors: `CompileError`."""
        if self.target is not None and op.feature is not None and not self.target.has(op.feature):
            title = f"{op.name} needs a GPU with {op.feature}, which {self.target.arch} lacks"
            raise self._refused(op, Problem("", title, f"compile for {first_with(op.feature)}, which has it"))
        if op._typed:
            for problem in op.misplaced():
                raise self._refused(op, problem)
        for problem in op.problems():
            raise self._refused(op, problem)
        block = self.function.attrs.get("block") if op.scope != "thread" else None
        absent = 0 if op.scope == "warpgroup" else 31  # a barrier counts a last warp of fewer threads as a whole one
        if block is not None and prod(block) < op.threads - absent:
            title = f"{op.name} is for {op.threads} threads, and the block has {prod(block)}"
            raise self._refused(op, Problem("", title, "launch a larger block"))

    def _refused(self, op: Op, problem: Problem) -> CompileError:
        code = op.name.replace(".", "-").replace("_", "-")
        return CompileError(Mistake(code, problem.message, help=problem.help), op.span or self.span)
