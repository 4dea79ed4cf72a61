"""Products of pairs of blocks, against NumPy and under the checker."""

from typing import Any, TypeVar

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import Layout, Tensor, bf16, f32
from cutelite.ops.swizzles import SWIZZLES
from tests.blackwell.pieces import write
from tests.hopper.test_wgmma import fill
from tests.pieces import barriers

A = TypeVar("A", bound=Any)
BF16: Any = bf16
F32: Any = f32
K = 32


def pair(m: int, n: int, without: str = "") -> Any:
    """A kernel of one product by two blocks, each with half of the rows of A, of B and of the sums."""
    rows, columns = m // 2, n // 2

    @cl.kernel(block=128, cluster=2, arch="sm_100a")
    def kernel(a: Tensor[bf16, (m, K)], b: Tensor[bf16, (n, K)], c: Tensor[f32, (m, n)]) -> None:
        left = cl.shared(bf16, Layout((rows, K), (K, 1)), swizzle=SWIZZLES["64B"], align=1024)
        right = cl.shared(bf16, Layout((columns, K), (K, 1)), swizzle=SWIZZLES["64B"], align=1024)
        done, t, rank = barriers(1), cl.thread_idx.x, cl.block_rank_in_cluster()
        fill(left, a, rows, K, rank * rows)
        fill(right, b, columns, K, rank * columns)
        cl.fence_proxy_async("shared::cta")
        tmem = cl.TmemAllocator.create(256, cta_group=2)
        acc = tmem.tensor(rows, n)
        if t == 0 and rank == 0:
            if n == 64:
                mma = cl.make_tiled_mma(cl.Tcgen05MmaOp(BF16, F32, m, n, cta_group=2))
                mine = mma.get_slice(rank)
                operands = mine.partition_C(acc), mine.partition_A(left), mine.partition_B(right)
                cl.gemm(mma, *operands, accumulate=False)
            else:
                cl.tcgen05.mma(acc, left, right, accumulate=False, cta_group=2)
            cl.tcgen05.commit(done[0], 3 if without != "multicast" else 1, cta_group=2)
        if rank == 0 or without != "multicast":
            done[0].wait(0)
        cl.tcgen05.fence_after_thread_sync()
        if m == 256:
            write(c, acc, rank * rows)
        else:  # the second half of the columns is in lanes 64 to 127
            whole = tmem.view(cl.tcgen05.lanes_layout(128, columns))
            mine = cl.tcgen05.wait_load(cl.tcgen05.load(whole))
            for j in cl.static_range(columns):
                c[rank * rows + t % 64, t // 64 * columns + j] = mine[j]
        if without == "meeting":
            cl.syncthreads()
            if t // 32 == 0:
                cl.tcgen05.dealloc(tmem.view(cl.tcgen05.lanes_layout(1, 1)), 256, cta_group=2)
        else:
            tmem.free()

    return kernel


def arguments(m: int, n: int) -> list[Any]:
    draw = np.random.default_rng(m + n)
    a, b = (draw.integers(-4, 5, (rows, K)).astype(ml_dtypes.bfloat16) for rows in (m, n))
    return [a, b, np.zeros((m, n), np.float32)]


@pytest.mark.parametrize(("m", "n"), [(256, 64), (128, 32), (128, 64), (256, 32)])
@pytest.mark.usefixtures("on_cards")
def test_a_pair_of_blocks_multiplies(m: int, n: int) -> None:
    a, b, c = arguments(m, n)
    kernel = pair(m, n)
    kernel[2, 128](a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)
    report = kernel.check(2, 128, a, b, c, seeds=6, notes=False)
    assert not report.findings, str(report)


def test_who_is_not_told_of_the_end_reads_too_early() -> None:
    report = pair(256, 32, "multicast").check(2, 128, *arguments(256, 32))
    assert {finding.kind for finding in report.findings} & {"race", "uninitialised"}, str(report)


def test_pairs_are_of_clusters_of_two() -> None:
    @cl.kernel(block=128, arch="sm_100a")
    def kernel() -> None:
        cl.TmemAllocator.create(32, cta_group=2)

    with pytest.raises(cl.SimError, match="cta_group::2 is of pairs of blocks, and the cluster has 1"):
        kernel[1, 128]()


def test_a_pair_is_assembled(nvdisasm: str) -> None:
    text = pair(256, 64).compile(arch="sm_103a").sass.text
    assert "UTCHMMA.2CTA" in text and "UTCBAR.2CTA.MULTICAST" in text
