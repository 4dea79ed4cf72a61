"""Short loops are unrolled: registers that their counter indexes stay registers, and accesses become wide ones."""

import numpy as np

import cutelite as cl
from cutelite import Tensor, f32

N = cl.dims("N")


@cl.kernel
def running_sums(x: Tensor[f32, (N,)], out: Tensor[f32, (N,)]) -> None:
    first, held, total = 4 * cl.thread_idx.x, cl.make_rmem_tensor(f32, (4,)), cl.f32(0)
    for i in range(4):
        held[i] = x[first + i]
    for i in range(3, -1, -1):
        total = total + held[i]
        out[first + i] = total


def test_registers_are_indexed_by_the_counter_of_a_short_loop() -> None:
    compiled = running_sums.compile(block=32)
    assert compiled.warnings == []
    assert ".local" not in compiled.ptx
    assert compiled.ptx.count("ld.global.v4") == compiled.ptx.count("st.global.v4") == 1
    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    running_sums[1, 2](x, out)
    assert out.tolist() == [6, 6, 5, 3, 22, 18, 13, 7]


def test_indices_that_a_condition_keeps_away_are_no_error() -> None:
    """Unrolled, the store at 3 is beyond the end for certain; but it may be that no thread comes there."""

    @cl.kernel
    def guarded(out: Tensor[f32, (3,)], n: cl.i32) -> None:
        if n > 3:
            for i in range(4):
                out[i] = 1.0

    assert "nounroll" not in guarded.compile(block=32).ptx
