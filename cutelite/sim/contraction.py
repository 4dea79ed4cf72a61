"""Sums that LLVM contracts with a product to an fma, which rounds once, in kernels with `fmad`.

In    a function, at any stage
Out   for each sum with elements that contract a `Contracted`, which computes it

`lower` lets `mul`, `add` and `sub` of floats contract, and LLVM's NVPTX backend (DAGCombiner: visitFADDForFMACombine,
visitFSUBForFMACombine) makes an fma of a sum and a product that is one of its operands

- where both are in one basic block; LLVM first moves a product with a single use into the block of its use
- if both operands are products, with the one that has fewer uses; with the first, if they have equally many

This also happens if the product has other uses, and element by element, since vectors are scalars by then. ptxas
contracts no more. Not modelled here: products that went through a register tensor, which a later pass makes a value;
equal products, which LLVM merges; and other ops that LLVM moves between blocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from cutelite.ir.function import Block, Function, Value, predecessors
from cutelite.ir.op import Op
from cutelite.ir.types import Scalar, Vec, elem_of
from cutelite.ops.arith import Add, Fusible, Mul, Neg, Sub, VecGather, VecMake, VecSplat, fused_multiply_add
from cutelite.tuples import NamedTuple

Array = Any


class Element(NamedTuple):
    """Element `at` of a value that is no rearrangement of others; `minus`: it is used negated."""

    value: Value
    at: int
    minus: bool


class Part(NamedTuple):
    """Elements of a sum that contract with elements of one product.

    at     positions of the elements in the sum
    picks  their positions in the product
    first  whether the product is the first operand of the sum
    minus  whether the product is subtracted
    """

    product: Mul
    at: tuple[int, ...]
    picks: tuple[int, ...]
    first: bool
    minus: bool


class Contracted:
    """A sum some or all of whose elements round once together with a product."""

    def __init__(self, sum: Add | Sub, parts: Sequence[Part], count: int) -> None:
        self.sum, self.parts = sum, parts
        self.whole = sorted(at for part in parts for at in part.at) == list(range(count))
        self.factors = tuple(dict.fromkeys(value for part in parts for value in part.product.operands))

    def simulate(self, lanes: Any) -> None:
        a, b = lanes.get(self.sum.a), lanes.get(self.sum.b)
        minus = isinstance(self.sum, Sub)
        if self.whole and len(self.parts) == 1:
            lanes.define(self._fused(lanes, self.parts[0], a, b, minus, None))
            return
        found = np.empty_like(a) if self.whole else self.sum.compute(a, b).astype(a.dtype, copy=False)
        for part in self.parts:
            at = list(part.at)
            found[:, at] = self._fused(lanes, part, a, b, minus, at)
        lanes.define(found)

    def _fused(self, lanes: Any, part: Part, a: Array, b: Array, minus: bool, at: list[int] | None) -> Array:
        x, y = (_picked(lanes.get(factor), part.picks, a.ndim) for factor in (part.product.a, part.product.b))
        other = b if part.first else a
        other = other if at is None else other[:, at]
        return fused_multiply_add(-x if part.minus else x, y, -other if minus and part.first else other)


def _picked(factor: Array, picks: tuple[int, ...], dims: int) -> Array:
    """Return the elements of a factor that a sum uses: (lanes,) for a scalar sum, else (lanes, elements)."""
    if factor.ndim == 1:
        return factor if dims == 1 else np.broadcast_to(factor[:, None], (len(factor), len(picks)))
    if dims == 1:
        return factor[:, picks[0]]
    return factor if picks == tuple(range(factor.shape[1])) else factor[:, list(picks)]


def contracted(function: Function, order: Sequence[Block]) -> dict[Op, Contracted]:
    """Return the sums of a function that contract; `order`: its blocks."""
    if not function.attrs.get("fmad", True):
        return {}
    ops = [(op, block) for block in order for op in block.ops]
    if not any(isinstance(op, Mul) and _contracts(op) for op, _ in ops):
        return {}
    products = _Products(ops, order)
    found: dict[Op, Contracted] = {}
    for op, block in ops:
        if isinstance(op, Add | Sub) and _contracts(op):
            parts = products.parts(op, block)
            if parts:
                found[op] = Contracted(op, parts, _count(op.result))
    return found


def _contracts(op: Fusible) -> bool:
    return op.fusible and not op.rounded


def _count(value: Value) -> int:
    return value.type.n if isinstance(value.type, Vec) else 1


class _Products:
    """The products of a function: the block of each, and how often each of its elements is used."""

    def __init__(self, ops: list[tuple[Op, Block]], order: Sequence[Block]) -> None:
        self._ops = ops
        self._made: dict[Value, tuple[Op, Block]] = {value: (op, block) for op, block in ops for value in op.results}
        self._elements: dict[Value, list[Element]] = {}
        self._uses: Counter[tuple[Value, int]] | None = None
        self._stretch = _stretches(order)

    def parts(self, sum: Add | Sub, block: Block) -> list[Part]:
        sides = [[self._product(element, block) for element in self._of(value)] for value in (sum.a, sum.b)]
        groups: dict[tuple[Mul, bool, bool], tuple[list[int], list[int]]] = {}
        for at, (one, other) in enumerate(zip(*sides, strict=True)):
            first = one is not None and (other is None or self._used(one) <= self._used(other))
            chosen = one if first else other
            if chosen is not None:
                product = self._made[chosen.value][0]
                assert isinstance(product, Mul)
                minus = chosen.minus ^ (isinstance(sum, Sub) and not first)
                held = groups.setdefault((product, first, minus), ([], []))
                held[0].append(at)
                held[1].append(chosen.at)
        return [Part(mul, tuple(at), tuple(picks), *more) for (mul, *more), (at, picks) in groups.items()]

    def _product(self, element: Element, block: Block) -> Element | None:
        """Return the element if it is of a product that contracts with a sum in that block; else None."""
        op, made = self._made.get(element.value, (None, None))
        if not isinstance(op, Mul) or not _contracts(op):
            return None
        assert made is not None
        here = self._stretch[made] is self._stretch[block] or self._used(element) == 1
        return element if here else None

    def _of(self, value: Value) -> list[Element]:
        """Return the elements of a value, traced back through rearrangements and negations."""
        found = self._elements.get(value)
        if found is None:
            found = self._elements[value] = list(self._traced(value))
        return found

    def _traced(self, value: Value) -> Iterator[Element]:
        op = self._made[value][0] if value in self._made else None
        match op:
            case VecGather(a=a, picks=picks):
                held = self._of(a)
                yield from (held[pick] for pick in picks)
            case VecMake(items=items):
                for item in items:
                    yield from self._of(item)
            case VecSplat(a=a, n=n):
                yield from self._of(a) * n
            case Neg(a=a):
                yield from (each._replace(minus=not each.minus) for each in self._of(a))
            case _:
                yield from (Element(value, i, False) for i in range(_count(value)))

    def _used(self, element: Element) -> int:
        """Return how often an element is used, directly or through rearrangements."""
        if self._uses is None:
            self._uses = Counter(
                (each.value, each.at)
                for op, _ in self._ops
                if not isinstance(op, VecGather | VecMake | VecSplat | Neg)
                for value in op.operands
                if isinstance(value.type, Scalar | Vec) and elem_of(value.type).is_float
                for each in self._of(value)
            )
        return self._uses[element.value, element.at]


def _stretches(order: Sequence[Block]) -> dict[Block, Block]:
    """Map each block to the first of its chain: a block with one predecessor that has one successor."""
    before = predecessors(list(order))
    first: dict[Block, Block] = {}
    for block in order:
        sources = [source for source, _ in before[block]]
        alone = len(sources) == 1 and len(sources[0].successors) == 1 and sources[0] in first
        first[block] = first[sources[0]] if alone else block
    return first
