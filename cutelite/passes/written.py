"""Find the parameters whose memory a kernel writes, so that read-only arrays can be refused.

In: the frontend's IR. Out: names of parameters. The address of each write is followed through views, arithmetic
and loops to the parameters that it may come from. Writes of `inline_ptx` are not known, and left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from cutelite.ir.contract import Effect
from cutelite.ir.function import Block, Function, Jump, Value, predecessors
from cutelite.ir.op import Op
from cutelite.ir.types import Ptr, Tensor, TensorMap

_PLACES = ("dst", "p", "t", "map")  # fields with the address that an op writes to; the first one that an op has


def written_parameters(function: Function) -> tuple[str, ...]:
    """Return the names of the parameters that are written, in order; those of fields of structs as `struct.field`."""
    home = {param: block for block in function.blocks for param in block.params}
    before = predecessors(function.blocks)
    entry = function.entry
    found: set[Value] = set()
    seen: set[Value] = set()
    waiting = [place for block in function.blocks for op in block.ops for place in _written(op)]
    while waiting:
        value = waiting.pop()
        if value in seen or not isinstance(value.type, (Ptr, Tensor, TensorMap)):
            continue
        seen.add(value)
        if value.op is not None:
            waiting += value.op.operands
        elif home[value] is entry:
            found.add(value)
        else:
            waiting += _passed(value, home[value], before)
    return tuple(param.hint for param in entry.params if param in found)


def _written(op: Op) -> Iterator[Value]:
    if Effect.WRITES in op.effects:
        place = next((getattr(op, name) for name in _PLACES if hasattr(op, name)), None)
        if isinstance(place, Value):
            yield place


def _passed(param: Value, block: Block, before: dict[Block, list[tuple[Block, Jump]]]) -> Iterator[Value]:
    """Yield the values that jumps pass to a block's parameter."""
    number = block.params.index(param)
    for _, jump in before[block]:
        yield jump.args[number]
