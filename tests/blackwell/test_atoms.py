"""tcgen05's products and transfers as atoms of tiled MMAs and copies."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Tensor, bf16, f32
from cutelite.layout import viz
from cutelite.ops.tcgen05_layouts import LANES
from tests.blackwell.pieces import finished
from tests.hopper.test_wgmma import fill
from tests.pieces import barriers

BF16: Any = bf16
F16: Any = cl.f16
F32: Any = f32
U8: Any = cl.u8
E4M3: Any = cl.e4m3


@pytest.mark.parametrize(("m", "shape", "repeats"), [(128, "32x32b", 32), (64, "16x256b", 4), (64, "16x64b", 16)])
@pytest.mark.usefixtures("on_cards")
def test_a_gemm_of_atoms(m: int, shape: str, repeats: int) -> None:
    """A tiled MMA repeated along N and K, its accumulator through two tiled copies, both ways."""
    mma = cl.make_tiled_mma(cl.Tcgen05MmaOp(BF16, F32, m, 32))
    load = cl.make_tmem_copy(cl.make_copy_atom(cl.TmemLoadOp(shape, repeats), F32))
    store = cl.make_tmem_copy(cl.make_copy_atom(cl.TmemStoreOp(shape, repeats), F32))

    @cl.kernel(block=128, arch="sm_100a")
    def kernel(a: Tensor[bf16, (m, 64)], b: Tensor[bf16, (64, 64)], c: Tensor[f32, (m, 64)]) -> None:
        left = cl.shared(bf16, cl.make_smem_layout(BF16, (m, 64)))
        right = cl.shared(bf16, cl.make_smem_layout(BF16, (64, 64)))
        done, t = barriers(1), cl.thread_idx.x
        fill(left, a, m, 64)
        fill(right, b, 64, 64)
        cl.fence_proxy_async("shared::cta")
        tmem = cl.TmemAllocator.create(64)
        acc = tmem.tensor(m, 64)
        ones = store.get_slice(t).partition_D(acc)
        held = cl.make_rmem_tensor_like(store.get_slice(t).partition_S(c))
        held.fill(1.0)
        cl.copy(store, held, ones)
        cl.tcgen05.fence_before_thread_sync()
        cl.syncthreads()
        if t == 0:
            cl.tcgen05.fence_after_thread_sync()
            mine = mma.get_slice(0)
            sums = mma.make_fragment_C(mine.partition_C(acc))
            cl.gemm(mma, sums, mine.partition_A(left), mine.partition_B(right))
            cl.tcgen05.commit(done[0])
        finished(done)
        part = load.get_slice(t)
        results = cl.make_rmem_tensor_like(part.partition_D(c))
        cl.copy(load, part.partition_S(acc), results)
        cl.copy(results, part.partition_D(c))
        tmem.free()

    draw = np.random.default_rng(0)
    a, b = (draw.integers(-4, 5, (rows, 64)).astype(ml_dtypes.bfloat16) for rows in (m, 64))
    c = np.zeros((m, 64), np.float32)
    kernel[1, 128](a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T + 1)
    report = kernel.check(1, 128, a, b, c, seeds=2, notes=False)
    assert not report.findings, str(report)
    assert "tcgen05.mma.cta_group::1.kind::f16" in kernel.compile(a, b, c).ptx


def test_atoms_are_drawn() -> None:
    assert "<" in viz.html(*viz.operands(cl.Tcgen05MmaOp(BF16, F32, 64, 8)))
    pair = cl.Tcgen05MmaOp(BF16, F32, 128, 32, cta_group=2, sparse=False)
    tables = viz.operands(pair)  # which block has what
    assert [t.title.partition(" of ")[0] for t in tables] == ["A (128,16)", "B (32,16)", "C (128,32)"]
    assert pair.layout_tv("B") == cl.Layout((2, (16, 16)), (16, (1, 32)))
    made = cl.make_tmem_copy(cl.make_copy_atom(cl.TmemLoadOp("16x64b", 2), F32))
    assert "<" in made._repr_html_()
    assert made.size == LANES


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cl.Tcgen05MmaOp(BF16, F16, 128, 64), "tcgen05.mma does not multiply bf16 by bf16 into f16"),
        (lambda: cl.Tcgen05MmaOp(BF16, F32, 96, 64), "M is 96; with cta_group::1 it is 64 or 128"),
        (lambda: cl.Tcgen05MmaOp(BF16, F32, 128, 12), "N is 12; kind::f16"),
        (lambda: cl.Tcgen05MmaOp(BF16, F32, 64, 64, cta_group=2), "M is 64; with cta_group::2"),
        (lambda: cl.Tcgen05MmaOp(BF16, F32, 128, 64, cta_group=3), "cta_group is 1, or 2 for a pair"),
        (lambda: cl.Tcgen05ScaledMmaOp("mxf6", 64, U8), "'mxf6' is none of mxf8f6f4, mxf4"),  # type: ignore[arg-type]
        (lambda: cl.Tcgen05ScaledMmaOp("mxf4", 64, BF16), "kind::mxf4 multiplies tensors of u8, not bf16"),
        (lambda: cl.Tcgen05ScaledMmaOp("mxf4", 64, U8, block=16), "kind::mxf4 scales blocks of 32 numbers, not 16"),
        (lambda: cl.Tcgen05ScaledMmaOp("mxf4", 28, U8), "N is 28; kind::mxf4"),
        (lambda: cl.Tcgen05ScaledMmaOp("mxf8f6f4", 64, E4M3, k=96), "k is 96: 96 is of 4 bits with a dense A"),
        (lambda: cl.Tcgen05ScaledMmaOp("mxf4", 64, U8, m=64), "M is 64; with block scales it is 128"),
        (lambda: cl.Tcgen05ScaledMmaOp("mxf4", 64, U8, m=128, cta_group=2, k=96), "M is 128; with block scales"),
        (lambda: cl.TmemLoadOp("8x8b"), "'8x8b' is none of 32x32b"),
        (lambda: cl.TmemStoreOp("16x256b", 64), "a power of two times, 1 to 32"),
        (lambda: cl.make_copy_atom(cl.TmemLoadOp(), BF16), "moves elements of 32 bits, not bf16"),
        (lambda: cl.make_tmem_copy(cl.make_copy_atom(cl.CopyUniversalOp(), F32)), "does not move tensor memory"),
    ],
)
def test_what_no_instruction_does_is_refused(make: Any, words: str) -> None:
    with pytest.raises(CompileError, match=words):
        make()


@pytest.mark.parametrize(
    ("op", "more", "words"),
    [
        (cl.Tcgen05ScaledMmaOp("mxf8f6f4", 64, E4M3), {}, "takes `scales=`, of A and of B"),
        (cl.Tcgen05MmaOp(E4M3, F32, 128, 64), {"scales": (0, 0)}, "takes no scales"),
        (cl.Tcgen05MmaOp(E4M3, F32, 128, 64, sparse=True), {}, "needs `metadata=`"),
        (cl.Tcgen05MmaOp(E4M3, F32, 128, 64), {"metadata": 0}, "is not sparse: it takes no metadata"),
        (cl.WarpMmaOp(E4M3, F32), {"scales": (0, 0)}, "takes no scales"),
    ],
)  # fmt: skip
def test_scales_and_metadata_are_for_those_that_take_them(op: Any, more: dict[str, Any], words: str) -> None:
    @cl.kernel(block=128, arch="sm_100a")
    def kernel() -> None:
        mma = cl.make_tiled_mma(op)
        mine = mma.get_slice(0)
        extents = op.extents("A")
        left = cl.shared(E4M3, cl.make_smem_layout(E4M3, (128, extents[1])))
        right = cl.shared(E4M3, cl.make_smem_layout(E4M3, (64, op.extents("B")[1])))
        tmem = cl.TmemAllocator.create(64)
        if isinstance(op, cl.WarpMmaOp):
            a, b = (
                make(part)
                for make, part in (
                    (mma.make_fragment_A, mine.partition_A(left)),
                    (mma.make_fragment_B, mine.partition_B(right)),
                )
            )
            cl.gemm(mma, mma.make_fragment_C(mma.partition_shape_C((128, 64))), a, b, **more)
        else:
            cl.gemm(
                mma, mine.partition_C(tmem.tensor(128, 64)), mine.partition_A(left), mine.partition_B(right), **more
            )
        tmem.free()

    with pytest.raises(CompileError, match=words):
        kernel.compile()
