"""d = a @ b.T on Blackwell in fp8, with a scale for each 1 x 128 of A and each 128 x 128 of B: DeepSeek's recipe.

No card has run it: simulated, checked, assembled. It is the kernel of gemm.py, with other work for two of its roles:
each 128 along K are multiplied into an accumulator of their own, in tensor memory. Two warpgroups read it, half of the
columns each, multiply it by its scales and add it to sums in registers, while the products of the next 128 go to the
other accumulator. Scales of A come by TMA, in a ring of their own, since a warpgroup reads them and not a product.
"""

from typing import Any

import cutelite as cl
from cutelite import Tensor, TmaTensor, f32
from cutelite.kernels.blackwell.configs import GROUP
from cutelite.kernels.blackwell.gemm import K, M, N, Work
from cutelite.kernels.gemm.fp8_block import BLOCK

KB, NB = cl.dims("KB NB")


class BlockWork(Work):
    """The work of the threads of a block, by a plan, for a `promoted` problem."""

    def parameters(self) -> tuple[Any, ...]:
        a, b, d, _, _, *others = super().parameters()
        return a, b, d, TmaTensor[f32, (KB, M), (1, GROUP), (None, 1)], Tensor[f32, (NB, KB), (None, None)], *others

    def rings(self, scales: Any) -> tuple[Any, Any]:
        """Shared memory for the scales of A, and their pipeline: a stage for each one of tiles."""
        stages = self.config.stages
        held = cl.shared(f32, cl.make_layout((1, GROUP, stages), stride=(GROUP, 1, GROUP)), align=128)
        return held, cl.PipelineTmaAsync.create(stages, 4 * GROUP, GROUP * self.groups, sync=False)

    def bring_scales(self, left: Any, right: Any, i: Any, state: Any, full: Any) -> None:
        """Load the scales of block `i` of K, of this block's rows of A."""
        (scales, held, row), (_, pipe, _) = left, right
        pipe.load(state, (scales, held, (i, row)))

    def multiply(self, tmem: Any, acc: Any, held: Any, loads: Any, sums: Any, tiles: Any) -> None:
        """One thread: start the products of each block of K, into one accumulator after the other."""
        (left, right, *_), state, out = held, loads.consumer_state(), sums.producer_state()
        while tiles.is_valid():
            for _ in range(cl.ceil_div(K, BLOCK)):
                sums.producer_acquire(out)
                loads.consumer_wait(state)
                x, y = left[None, None, state.index], right[None, None, state.index]
                cl.tcgen05.mma(acc[None, None, out.index], x, y, accumulate=False, cta_group=self.config.pair + 1)
                loads.consumer_release(state)
                sums.producer_commit(out)
                state, out = state.advance(), out.advance()
            tiles = tiles.advance()

    def finish(self, acc: Any, held: Any, d: Any, given: cl.Finish, scales: Any, sums: Any, tiles: Any) -> None:
        """A warpgroup: scale and add up blocks of K, for half of the columns, and have results made of the sums."""
        (alpha, scale_b, scale_a, pipe), wide, parts = scales, self.piece, self.each // self.piece
        group, thread = cl.warpgroup_idx(), cl.thread_idx.x % GROUP
        mine = cl.local_tile(held, (GROUP, self.stored, self.buffers), (0, 0, group))
        ring = cl.RowRing.create(mine, thread, cl.NamedBarrier(1 + group, GROUP))
        state, there = sums.consumer_state(), pipe.consumer_state()
        while tiles.is_valid():
            row, column, _, end = self.place(tiles)
            column = column + group * self.each
            of_b = scale_b[min(column, N - 1) // BLOCK, None]
            totals = tuple(cl.full((wide,), 0.0, f32) for _ in range(parts))
            for k in range(cl.ceil_div(K, BLOCK)):
                pipe.consumer_wait(there)
                scale = scale_a[0, thread, there.index] * of_b[k]
                pipe.consumer_release(there)
                sums.consumer_wait(state)
                tile, added = acc[None, None, state.index], []
                for i in cl.static_range(parts):
                    x = cl.tcgen05.wait_load(cl.tcgen05.load(tile.tile((GROUP, wide), (0, group * parts + i))))
                    if i == parts - 1:
                        sums.consumer_release(state)
                    added.append(cl.math.fma(x, cl.full((wide,), scale, f32), totals[i]))
                totals = tuple(added)
                state, there = state.advance(), there.advance()
            for i in cl.static_range(parts):
                place = row + self.half(self.config.tile[0]), column + i * wide, (), (end, N)
                piece = cl.RowPiece(totals[i] * alpha, *place, ring, d, given.paired, given.plain, number=i)
                given.make(piece, given.begin(piece))
            tiles = tiles.advance()
        ring.tail()
