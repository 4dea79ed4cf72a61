"""Parted descriptors are what whole ones were, for random distances; and the loop of a GEMM makes none."""

import re
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cutelite as cl
from cutelite import passes, sim
from cutelite.ir.builder import Builder
from cutelite.ir.function import Block, Function, Jump, Value
from cutelite.ir.types import Tensor, bf16, i32, i64, u64
from cutelite.ir.verifier import verify
from cutelite.layout import Layout
from cutelite.ops import arith, control, memory, tensor, wgmma
from cutelite.target import Target

TILE = Tensor(bf16, "smem", Layout((8, (8, 2)), (8, (1, 64))), 16)  # 256 bytes
MEMORY = 1 << 17


class Product(NamedTuple):
    """A number known at run time only, multiplied by others, or shifted by them."""

    value: int
    factors: tuple[int, ...]
    shift: bool

    @property
    def bytes(self) -> int:
        result = self.value
        for factor in self.factors:
            result = result << factor if self.shift else result * factor
        return result


class Distance(NamedTuple):
    """The sum of some, in i64 if `wide` and else in i32."""

    products: tuple[Product, ...]
    wide: bool


FACTORS = st.lists(st.sampled_from([2, 3, 8, 16, 24, 48, 1024, -16, -2048]), min_size=1, max_size=2).map(tuple)
VALUES = st.integers(-40, 40)
PRODUCTS = st.builds(Product, VALUES, FACTORS, st.just(False)) | st.builds(
    Product, VALUES, st.tuples(st.integers(0, 12)), st.just(True)
)
DISTANCES = st.builds(Distance, st.lists(PRODUCTS, min_size=1, max_size=3).map(tuple), st.booleans())


def kernel(at: int, distances: list[Distance]) -> Function:
    """Stores the descriptor of the tile `at` bytes into the memory, where a known distance brings its address last."""
    out = Value(Tensor(u64, "gmem", Layout(1, 1), 16), hint="out")
    values = [[Value(i64 if d.wide else i32) for _ in d.products] for d in distances]
    function = Function("k", [Block((out, *(v for some in values for v in some)))], {}, {"block": (1, 1, 1)})
    build = Builder(function)
    memory_ = build.emit(tensor.SmemAlloc(Tensor(bf16, "smem", Layout(MEMORY // 2, 1), 16), offset=0))
    p = build.emit(tensor.TensorAddress(memory_))
    later = build.new_block()
    build.emit(control.Br(Jump(later)))
    build.block = later
    for distance, some in zip(distances, values, strict=True):
        total = None
        for product, value in zip(distance.products, some, strict=True):
            made = value
            for factor in product.factors:
                number = build.emit(arith.Const(factor, value.type))
                made = build.emit((arith.Shl if product.shift else arith.Mul)(made, number))
            total = made if total is None else build.emit(arith.Add(total, made))
        p = build.emit(memory.PtrAdd(p, total, 1))
    rest = at - sum(product.bytes for distance in distances for product in distance.products)
    p = build.emit(memory.PtrAdd(p, build.emit(arith.Const(rest, i32)), 16))
    descriptor = build.emit(wgmma.Descriptor(build.emit(tensor.TensorMake(p, TILE))))
    build.emit(memory.Store(build.emit(tensor.TensorAddress(out)), descriptor))
    build.emit(control.Ret())
    verify(function)
    return function


def descriptor(function: Function, distances: list[Distance]) -> int:
    out = np.zeros(1, np.uint64)
    sim.run(function, 1, [out, *(product.value for distance in distances for product in distance.products)])
    return int(out[0])


@settings(max_examples=150, deadline=None)
@given(st.integers(0, MEMORY // 16 - 16), st.lists(DISTANCES, min_size=1, max_size=3))
def test_a_parted_descriptor_is_the_whole_one(unit: int, distances: list[Distance]) -> None:
    function = kernel(16 * unit, distances)
    whole = descriptor(function, distances)
    assert whole == descriptor(kernel(0, []), []) + unit
    part = next(step for step in passes.PIPELINE if step.name == "hoist_descriptors")
    parted = passes.run((part,), function, passes.Context(Target.parse("sm_90a")))
    assert descriptor(parted, distances) == whole, parted


# In the loop of a GEMM.

STAGES = 4
RING: dict[str, Any] = {"swizzle": cl.Swizzle(3, 4, 3), "align": 1024}


def products(dtype: Any) -> Any:
    """A kernel that multiplies what lies in a ring, a stage a round: 64 rows of its own by 64 of all."""
    wide = 128 // dtype.bytes

    @cl.kernel(block=256)
    def multiply(out: cl.Tensor[cl.f32, (128, 64)], rounds: cl.i32) -> None:
        a = cl.shared(dtype, cl.Layout((128, wide, STAGES), (wide, 1, 128 * wide)), **RING)
        b = cl.shared(dtype, cl.Layout((64, wide, STAGES), (wide, 1, 64 * wide)), **RING)
        group = cl.warpgroup_idx()
        acc = cl.wgmma.zeros_accumulator(64)
        state = cl.PipelineState.consumer(STAGES)
        for _ in range(rounds):
            a_tile = cl.local_tile(a, (64, wide, STAGES), (group, 0, 0))[None, None, state.index]
            acc = cl.wgmma.mma_async(a_tile, b[None, None, state.index], acc)
            cl.wgmma.commit_group()
            acc = cl.wgmma.wait_group(0, acc)
            state = state.advance()
        cl.wgmma.partition(cl.local_tile(out, (64, 64), (group, 0))).store(acc)

    return multiply


@pytest.mark.parametrize("dtype", [cl.bf16, cl.e4m3], ids=str)
def test_the_loop_moves_descriptors_and_makes_none(dtype: Any) -> None:
    ptx = products(dtype).compile(arch="sm_90a", rounds=5, out=np.zeros((128, 64), np.float32)).ptx
    before, loop = ptx[: ptx.index("wgmma.commit_group")].rsplit("\n$L_", 1)
    mask = r"\band\.b(32|64)\b|\bshr\."
    assert re.search(mask, before)
    assert not re.search(mask, loop), loop
    assert len(re.findall(r"\bmul\.wide|\bmad\.wide", loop)) == 2, loop
