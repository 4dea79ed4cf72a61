"""Make wgmma descriptors outside of loops: add the varying part of a tile's address to a descriptor of the rest.

                                                    %d = wgmma.descriptor t=%ring
    ^loop(%stage):                                ^loop(%stage):
      %o = mul a=%stage, b=%24576                   %i = cvt a=%stage, type=i64
      %q = ptr.add p=%p, bytes=%o, align=1024  ->   %u = mul a=%i, b=%1536
      %t = tensor.make p=%q                         %w = cvt a=%u, type=u64
      %e = wgmma.descriptor t=%t                    %e = add a=%d, b=%w

with %p the address of %ring. Making a descriptor takes some six instructions, which neither LLVM nor ptxas moves out of
a loop. Adding a number of units of 16 bytes to one is a multiply-add.

The address has a field of 14 bits, and no carry may reach the bits above it. So the descriptor to add to is that of an
allocation, whose address fits. The address of the tile fits too, so a sum modulo 2**64 is right whatever its partial
sums are; and products do not wrap in their own types because the tile is in bounds, like indices. Tiles at other
addresses (from a pointer that was selected, or masked) keep their descriptors.

Needs: `lower_tensors`, so that distances are arithmetic. Keeps: every op with an effect, in order.
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.function import Block, Function, Value
from cutelite.ir.op import Op
from cutelite.ir.types import i64, u64
from cutelite.ops.arith import Add, Const, Mul, Shl
from cutelite.ops.convert import Convert
from cutelite.ops.memory import PtrAdd
from cutelite.ops.tensor import SmemAlloc, TensorAddress, TensorMake
from cutelite.passes.algebra import known_integer
from cutelite.passes.context import Context
from cutelite.passes.rewrite import Rewrite
from cutelite.passes.uniform import Uniform

DESCRIPTORS = ("wgmma.descriptor", "tcgen05.descriptor", "tcgen05.smem_descriptor")
# by name: most kernels have none, and need not import `ops.wgmma`
UNIT = 16  # bytes: the unit of addresses in descriptors (PTX ISA, matrix-descriptor-encode)
FAR = 1 << 18  # bytes: the bound of the address in a descriptor
MOST = 4  # terms of a distance: with more, making a descriptor is cheaper than moving one

Term = tuple[Value, int]
"""A term of a distance: a value, and its factor in bytes."""


def hoist_descriptors(function: Function, context: Context) -> Function:
    parts = {op: _taken_apart(op["t"]) for op in function.ops() if op.name in DESCRIPTORS}
    uniform = Uniform(function) if parts else None
    if uniform and all(uniform(value) for _, terms in parts.values() for value, _ in terms):
        return _Parting(function, parts).run()
    return function


class _Parting:
    """The new function under construction.

    parts  for each descriptor's tile: its allocation, and its distance from the start of that
    home   the old block in which each value is defined; a hoisted value can be used from the end of that block on
    index  the position of each old block in the order: of two that dominate a third, the earlier dominates the later
    """

    def __init__(self, function: Function, parts: dict[Op, tuple[Any, list[Term]]]) -> None:
        self.rewrite, self.parts = Rewrite(function), parts
        self.index = {block: i for i, block in enumerate(self.rewrite.order)}
        self.home: dict[Value, Block] = dict.fromkeys(function.dims.values(), function.entry)

    def run(self) -> Function:
        rewrite = self.rewrite
        for block in rewrite.blocks():
            self.home.update(dict.fromkeys(block.params, block))
            for op in rewrite.ops(block):
                if op.name in DESCRIPTORS:
                    rewrite.replace(op.result, self._parted(op, rewrite.value(op["t"])))
                else:
                    for value in rewrite.keep(op).results:
                        self.home[value] = block
        return rewrite.function

    def _parted(self, op: Op, tile: Any) -> Value:
        """Return the value that replaces the descriptor `op` of `tile`."""
        memory, terms = self.parts[op]
        if not terms or memory.type.align % tile.type.align:
            return self._emit(op.map_operands(lambda _: tile))
        first = self._emit(TensorMake(self._emit(TensorAddress(memory)), tile.type))
        moved = self._emit(op.map_operands(lambda _: first))
        varying = [term for term in terms if known_integer(term[0]) is None]
        for value, bytes in sorted(varying, key=lambda term: self.index[self.home[term[0]]]):  # inner loops last
            wide = value if value.type == i64 else self._emit(Convert(value, i64))
            units = self._emit(Mul(wide, self._emit(Const(bytes // UNIT, i64))))
            moved = self._emit(Add(moved, self._emit(Convert(units, u64))))
        known = sum(number * bytes for value, bytes in terms if (number := known_integer(value)) is not None)
        if known:
            moved = self._emit(Add(moved, self._emit(Const(known // UNIT % (1 << 64), u64))))
        return moved

    def _emit(self, op: Op) -> Value:
        """Emit a pure op here, or at the end of an earlier block that has all of its operands; return its result."""
        entry = self.rewrite.order[0]
        home = max((self.home[value] for value in op.operands), key=self.index.__getitem__, default=entry)
        builder = self.rewrite.builder
        here, builder.block = builder.block, self.rewrite.block(home)
        end = [] if builder.block is here else [builder.block.ops.pop()]
        made: Value = builder.emit(op)
        builder.block.ops += end
        builder.block = here
        self.home[made] = home
        return made


def _taken_apart(tile: Value) -> tuple[Any, list[Term]]:
    """Return the allocation of a tile and its distance from the start; no terms if they are not multiples of 16."""
    at: Any = tile
    terms: list[Term] = []
    while not isinstance(at.op, SmemAlloc):
        if isinstance(at.op, PtrAdd) and (more := _terms(at.op.bytes)):
            at, terms = at.op.p, terms + more
        elif isinstance(at.op, TensorAddress):
            at = at.op.t
        elif isinstance(at.op, TensorMake):
            at = at.op.p
        else:
            return at, []
    return at, terms


def _terms(distance: Value) -> list[Term]:
    """Return a distance in bytes as a sum of multiples of 16; no terms if it is not known to be one."""
    found: list[Term] = []
    left = [(distance, 1)]
    while left:
        value, bytes = left.pop()
        op: Any = value.op
        number = known_integer(value)
        if (factor := _factor(op)) is not None:
            left.append((op.a, bytes * factor))
        elif bytes % UNIT and isinstance(op, Add):
            left += (op.b, bytes), (op.a, bytes)
        elif (bytes if number is None else bytes * number) % UNIT == 0 and abs(bytes) < FAR:
            found.append((value, bytes))
        else:
            return []
        if len(found) + len(left) > MOST:
            return []
    return found


def _factor(op: Op | None) -> int | None:
    """Return the number by which an op multiplies its `a`."""
    if not isinstance(op, (Mul, Shl)) or (number := known_integer(op.b)) is None:
        return None
    return number if isinstance(op, Mul) else 1 << number if 0 <= number < FAR.bit_length() else None
