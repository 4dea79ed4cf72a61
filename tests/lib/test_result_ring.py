"""`cl.ResultRing`: results leave in pieces, in any number for the buffers that there are."""

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite import Smem, TmaTensor, bf16, f32

RESULTS, COLUMNS, PIECE = 2, 192, 64


class Storage(cl.SharedStorage):
    d: Smem[bf16, cl.make_smem_layout(bf16, (64, PIECE, 2))]


@cl.kernel(block=128)
def write(d: TmaTensor[bf16, (RESULTS * 64, COLUMNS), (64, PIECE)]) -> None:
    storage = Storage.allocate()
    ring = cl.ResultRing.create(
        storage.d, cl.WarpgroupMmaOp(bf16, f32, PIECE), cl.thread_idx.x, cl.NamedBarrier(1, 128)
    )
    for i in range(RESULTS):
        pieces = [cl.full((PIECE // 2,), 10.0 * i + j, f32) for j in range(COLUMNS // PIECE)]
        out = cl.vector(*pieces)
        ring.write(out, d, at=(i * 64, 0))
    ring.tail()


@pytest.mark.usefixtures("everywhere")
def test_a_result_of_three_pieces_goes_through_two_buffers() -> None:
    """The first piece of the next result waits for the last piece of this one, which used the same buffer."""
    d = np.zeros((RESULTS * 64, COLUMNS), ml_dtypes.bfloat16)
    write[1](d)
    want = 10 * (np.arange(RESULTS * 64) // 64)[:, None] + np.arange(COLUMNS) // PIECE
    np.testing.assert_array_equal(d.astype(np.int32), want)
