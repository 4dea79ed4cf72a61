"""Products of matrices by a warpgroup, and the waits for them."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from cutelite.ir.types import SCALARS, InFlight, Type, Vec, bf16, boolean, e4m3, f16, f32, i8, i32, u8, u32, u64
from cutelite.layout import Layout
from cutelite.ops import wgmma
from cutelite.ops.wgmma_layouts import FORMS
from cutelite.ops.wgmma_sparse import words_for
from tests.vocabulary import row
from tests.vocabulary.places import GMEM, TILE
from tests.vocabulary.row import Form, of

Row = partial(row.Row, alone=True, tested="tests/hopper/test_wgmma.py")
ACC = Vec(f32, 64)
STEPS = ((0, 0), (32, 32), (64, 2048), (96, 4096))
BF16: dict[str, Any] = {"elem_a": bf16, "elem_b": bf16}
I8: dict[str, Any] = {"elem_a": i8, "elem_b": i8, "elem_d": i32}


def product(n: int, registers: bool = False, sparse: bool = False, fence: bool | None = None, **fields: Any) -> Form:
    elem_a, steps = fields["elem_a"], fields.get("steps", ((0, 0),))
    fence = registers if fence is None else fence
    acc = Vec(fields.get("elem_d", f32), n // 2)
    a: Type = Vec(elem_a, 16 // elem_a.bytes * len(steps)) if registers else u64
    if sparse:
        fields["meta"] = Vec(u32, words_for(elem_a, len(steps)))
    return of(acc if fence else InFlight(acc), a, u64, boolean, n=n, fence=fence, **fields)


def products(sparse: bool) -> Iterator[Form]:
    for name, form in FORMS.items():
        for other in form.b:
            for d in form.d:
                kinds: dict[str, Any] = {"elem_a": SCALARS[name], "elem_b": SCALARS[other], "elem_d": SCALARS[d]}
                yield product(16, sparse=sparse, **kinds)
                yield product(8, registers=True, sparse=sparse, **kinds)
    yield from (product(n, sparse=sparse, **BF16) for n in range(8, 257, 8))
    yield product(64, sparse=sparse, a_major="MN", b_major="MN", **BF16)
    yield product(48, sparse=sparse, saturate=True, **I8)
    if sparse:
        yield product(64, sparse=True, scale_a=-1, fence=True, **BF16)
        yield product(128, sparse=True, steps=(*STEPS, (128, 64)), **BF16)
        return
    yield product(64, registers=True, b_major="MN", **BF16)
    yield product(64, scale_a=-1, scale_b=-1, **BF16)
    yield product(64, fence=True, **BF16)
    yield product(128, steps=STEPS, **BF16)
    yield product(128, registers=True, steps=STEPS, **BF16)


def refused(words: str, *types: Type, **fields: Any) -> tuple[Form, str]:
    types = (*types, *(InFlight(ACC), u64, u64, boolean)[len(types) :])
    return of(*types, **{"n": 128, **BF16, **fields}), words


ROWS = [
    Row(
        wgmma.Descriptor,
        "cl.wgmma.descriptor",
        [of(TILE)],
        tested="tests/passes/test_hoist_descriptors.py",
        refuses=[
            (of(GMEM), "must be in this block's shared memory"),
            (of(replace(TILE, layout=Layout((64, 64), (72, 1)))), "wgmma cannot read this tile: row 1 lies 144 bytes"),
        ],
    ),
    Row(
        wgmma.Fence,
        "cl.wgmma.fence",
        [of(), of((Vec(f32, 32), InFlight(Vec(f32, 32)), Vec(bf16, 8)))],
        refuses=[(of((f32,)), "takes vectors in registers, not f32")],
    ),
    Row(
        wgmma.MmaAsync,
        "cl.wgmma.mma_async",
        list(products(sparse=False)),
        refuses=[
            refused("n is 100; wgmma on bf16 takes a multiple of 8, from 8 to 256", n=100),
            refused("a multiple of 8 up to 32 and of 16 above", n=40, **I8),
            refused("wgmma does not multiply f32 times bf16 into f32", elem_a=f32),
            refused("wgmma does not multiply bf16 times f16 into f32", elem_b=f16),
            refused("wgmma does not multiply bf16 times bf16 into f16", elem_d=f16),
            refused("needs a fence before it", ACC),
            refused("must be vec<f32,64> for n = 128", InFlight(Vec(f32, 32))),
            refused("A was written by ordinary code", InFlight(ACC), Vec(bf16, 8)),
            refused("must be a descriptor .* or vec<bf16,8> in registers", ACC, Vec(bf16, 4), fence=True),
            refused("B is i32, but must be a descriptor", InFlight(ACC), u64, i32),
            refused("accumulate is i32, not bool", InFlight(ACC), u64, u64, i32),
            refused("e4m3 operands must be K-major", elem_a=e4m3, elem_b=e4m3, b_major="MN"),
            refused("scale_a is 2; bf16 takes 1 or -1", scale_a=2),
            refused("scale_b is -1; u8 takes 1", InFlight(Vec(i32, 64)), elem_a=u8, elem_b=i8, elem_d=i32, scale_b=-1),
            refused("only integers saturate, not f32", saturate=True),
            refused("are not pairs of multiples of 16 bytes", steps=((0, 8),)),
            refused("are not pairs of multiples of 16 bytes", steps=()),
        ],
    ),
    Row(
        wgmma.MmaAsyncSp, "cl.wgmma.mma_async", list(products(sparse=True)), tested="tests/hopper/test_wgmma_sparse.py"
    ),
    Row(wgmma.CommitGroup, "cl.wgmma.commit_group", [of()]),
    Row(
        wgmma.WaitGroup,
        "cl.wgmma.wait_group",
        [of(1), of(0, (InFlight(Vec(f32, 32)), InFlight(Vec(f16, 16))), (InFlight(Vec(i32, 16)),))],
        refuses=[
            (of(0, (ACC,)), "takes accumulators in flight, not vec<f32,64>"),
            (of(8), "`n` of .* is 8, but must"),
        ],
    ),
    Row(
        wgmma.FenceOperand,
        "cl.wgmma.fence_operand",
        [of((Vec(f32, 32), Vec(bf16, 8))), of((Vec(f32, 32),), False)],
        tested="tests/toolchain/test_order.py",
        refuses=[(of((f32,)), "takes vectors of whole registers, not f32")],
    ),
]
