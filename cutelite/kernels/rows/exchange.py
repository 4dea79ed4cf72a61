"""The sum of two GPUs' arrays, each of which writes to the other's memory: the kernel of one of them.

A block writes its part of x to the other GPU, sets a flag there, waits for the flag of the same block over there, and
adds what has come. Both add the same two numbers in f32, so results are equal bit by bit.
"""

from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Tensor, f32, i64
from cutelite.kernels.arrays import code_of
from cutelite.kernels.rows.arrays import DTYPES

N, S, B = cl.dims("N S B")
THREADS, VECTOR = 512, 8  # of a block; elements that a thread moves at once
MANY, FEW = 4, 1  # vectors of a thread in a round: of many elements, and of few, which more blocks share
BLOCKS = 264  # two on each multiprocessor of an H100
SLOT = THREADS * VECTOR * MANY  # elements of a round


def exchange(
    x: Any, out: Any, mine: Any, theirs: Any, flags: Any, their_flags: Any, counts: Any, vectors: int, blocks: Any
) -> None:
    """Add the other GPU's x to this one's, as one of `blocks` blocks.

    x, out         (N,), N a multiple of `VECTOR`; `out` may be x
    mine, theirs   (blocks * 2 * SLOT,): where the other GPU writes here, and this one there
    flags          (blocks,), i64: the number of rounds that the other GPU's block has written; `their_flags` there
    counts         (blocks,), i64: the number of rounds of this GPU's block, of all calls
    vectors        of a thread in a round

    Rounds take the two halves of a block's place by turns. A block writes to a half again when the flag of the round
    between has come, which the other block sets after it has read that half.
    """
    block, thread = cl.block_idx.x, cl.thread_idx.x
    each = THREADS * vectors
    done = counts[block]
    held = cl.make_rmem_tensor(x.dtype, (VECTOR, vectors))
    come = cl.make_rmem_tensor(x.dtype, (VECTOR, vectors))
    count = x.shape[0] // VECTOR
    for first in range(block * each + thread, cl.ceil_div(count, each) * each, blocks * each):
        place = (block * 2 + cl.i32(done % 2)) * (SLOT // VECTOR) + thread
        for i in cl.static_range(vectors):
            at = min(first + i * THREADS, count - 1)  # beyond the end the last vector stands in, and is not stored
            held[None, i].store(cl.local_tile(x, (VECTOR,), (at,)).load())
        for i in cl.static_range(vectors):
            cl.local_tile(theirs, (VECTOR,), (place + i * THREADS,)).store(held[None, i].load())
        done = done + 1
        cl.syncthreads()
        if thread == 0:
            cl.store_release(their_flags, block, done, scope="sys")
            while cl.load_acquire(flags, block, scope="sys") < done:
                pass
        cl.syncthreads()
        for i in cl.static_range(vectors):
            come[None, i].store(cl.local_tile(mine, (VECTOR,), (place + i * THREADS,)).load())
        for i in cl.static_range(vectors):
            if first + i * THREADS < count:
                total = held[None, i].load().to(f32) + come[None, i].load().to(f32)
                cl.local_tile(out, (VECTOR,), (first + i * THREADS,)).store(total.to(out.dtype))
    if thread == 0:
        counts[block] = done


@cache
def build(dtype: Any, vectors: int) -> Any:
    """Make the kernel."""
    numbers, memory, count = (
        Tensor[dtype, (N,), (1,), cl.align(16)],
        Tensor[dtype, (S,), (1,), cl.align(16)],
        Tensor[i64, (B,), (1,)],
    )

    @cl.kernel(block=THREADS, min_blocks=2)
    def add_pair(
        x: numbers, out: numbers, mine: memory, theirs: memory, flags: count, their_flags: count, counts: count
    ) -> None:
        cl.griddepcontrol_launch_dependents()
        cl.griddepcontrol_wait()
        exchange(x, out, mine, theirs, flags, their_flags, counts, vectors, cl.grid_dim.x)

    return add_pair


def add_other(x: Any, memory: tuple[Any, ...]) -> None:
    """Add the other GPU's x to this one's, in place. Both do so at once, with arrays of the same length.

    x       (N,), bf16 or f16, N a multiple of `VECTOR`
    memory  the arguments of `exchange` from `mine` to `counts`, with places for `BLOCKS` blocks
    """
    vectors = MANY if len(x) > BLOCKS * THREADS * VECTOR * FEW else FEW
    launch = cl.Launch(min(BLOCKS, -(-len(x) // (THREADS * VECTOR * vectors))), THREADS, pdl=True)
    build(DTYPES[code_of(x)], vectors)[launch](x, x, *memory)
