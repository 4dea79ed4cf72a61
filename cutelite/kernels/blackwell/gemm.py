"""d = finish(a @ b.T) on Blackwell's tensor cores, of tensor memory. No card has run it: simulated, checked, assembled.

Blocks stay, and take tiles of the result in turn, alone or in pairs that multiply together. One thread of a block
brings tiles of A and B, and their scales where they have any, by TMA into a ring of stages; blocks of a cluster share
what both need. Another one starts the products, into one of two accumulators in tensor memory. A warpgroup reads the
other one, row by row, has a function make results of the sums, and stores them by TMA.
"""

from dataclasses import replace
from functools import cache
from typing import Any

import cutelite as cl
from cutelite import Smem, Tensor, TmaTensor, f32, i32, u8
from cutelite.kernels.blackwell.configs import ATOM, GROUP, Plan
from cutelite.kernels.gemm.dense import matrix
from cutelite.kernels.gemm.prepare import beside
from cutelite.records import dataclass

M, N, K, L, C, RM, RN, RK, E = cl.dims("M N K L C RM RN RK E")


@cache
def build(work: Any) -> Any:
    """The kernel of a `Work`. It takes a, b, d, the scales of a and of b, alpha, and what `finish` is given."""
    config, problem = work.config, work.problem
    A, B, D, SA, SB, MORE, PLAIN = work.parameters()
    (ROWS, COLUMNS), depth, stored = work.loaded, work.depth, work.stored

    class Storage(cl.SharedStorage):
        a: Smem[problem.a, cl.make_smem_layout(problem.a, (ROWS, depth, config.stages), problem.majors[0])]
        b: Smem[problem.b, cl.make_smem_layout(problem.b, (COLUMNS, depth, config.stages), problem.majors[1])]
        d: Smem[problem.d, cl.make_smem_layout(problem.d, (GROUP, stored, work.buffers * work.groups))]

    @cl.kernel(block=work.threads, cluster=config.blocks if config.blocks > 1 else None, arch="sm_100a")
    def gemm(
        a: A, b: B, d: D, sa: SA | None, sb: SB | None, alpha: f32, more: MORE | None,
        ends: Tensor[i32, (E,)] | None, plain: PLAIN | None,
    ) -> None:  # fmt: skip
        storage = Storage.allocate()
        of_a, of_b = work.rings(sa)
        peers, mask = work.peers()
        loads = cl.PipelineTmaUmma.create(
            config.stages, work.bytes, config.pair + 1, mask, sync=False, peers=len(peers)
        )  # fmt: skip
        readers, both = GROUP * work.groups, 3 if config.pair else None
        sums = cl.PipelineUmmaAsync.create(2, readers, config.pair + 1, both, sync=False)
        counts = cl.ceil_div(M, config.tile[0] * config.cluster[0]), cl.ceil_div(N, config.tile[1] * config.cluster[1])
        many = counts if not problem.batched else (*counts, d.shape[0])  # type: ignore[attr-defined]
        tiles: Any = cl.StaticPersistentTileScheduler.create(many, config.swizzle, "M", config.blocks > 1)
        if config.dynamic:
            tiles = cl.ClcTileScheduler.create(many, work.walkers, 3, config.swizzle, "M", config.blocks, sync=False)
        warp = cl.make_warp_uniform(cl.thread_idx.x // 32)
        cl.pipeline_init_arrive(config.cluster != (1, 1))
        with cl.TmemAllocator.create(work.columns, cta_group=config.pair + 1) as tmem:
            if config.cluster != (1, 1):
                cl.pipeline_init_wait(cluster=True)
            acc = tmem.tensor(GROUP, config.tile[1], problem.acc, stages=2)
            cl.griddepcontrol_launch_dependents()
            cl.griddepcontrol_wait()
            if ends is not None:
                tiles = cl.GroupedTileScheduler.create(
                    ends, config.tile[0], counts[1], config.swizzle, config.blocks > 1, most=M
                )
            if warp == work.producer:
                if cl.elect_one():
                    tiles = tiles if problem.grouped else tiles.fetching()
                    work.produce((a, b, sa, sb), (storage.a, storage.b, of_a, of_b), loads, tiles)
            elif warp == work.producer + 1:
                if cl.elect_one() and (not config.pair or cl.block_rank_in_cluster() == 0):
                    work.multiply(tmem, acc, (storage.a, storage.b, of_a, of_b), loads, sums, tiles)
            else:
                finish = replace(problem.finish, tensors=more or (), plain=plain)
                work.finish(acc, storage.d, d, finish, (alpha, sb, of_a, of_b), sums, tiles)

    return gemm


@dataclass(frozen=True)
class Work(Plan):
    """The work of the threads of a block, by a plan."""

    def parameters(self) -> tuple[Any, ...]:
        """The types of the kernel's parameters: A, B and results, scales, what is given besides, results in memory."""
        problem, config = self.problem, self.config
        lead_a, lead_b, lead_d = ((L,) if problem.has_batches(operand) else () for operand in "ABD")
        high, wide = (each // share for each, share in zip(self.loaded, reversed(config.cluster), strict=True))
        a = matrix(problem.a, M, K, (high, self.depth), problem.majors[0], lead_a)
        b = matrix(problem.b, N, K, (wide, self.depth), problem.majors[1], lead_b)
        d = matrix(problem.d, M, C, (GROUP, self.stored), "K", lead_d)
        scales = (
            TmaTensor[u8, (rows, RK, 32, 16), (max(1, each // ATOM[0]), 1, 32, 16), "none"]
            for rows, each in zip((RM, RN), self.scale_rows, strict=True)
        )
        given = (f32 if kind[1] == 0 else beside(i, *kind) for i, kind in enumerate(problem.tensors))
        plain = Tensor[problem.d, (*lead_d, M, C), (*(None,) * (len(lead_d) + 1), 1), cl.align(16)]
        return a, b, d, *scales, tuple[tuple(given)], plain  # type: ignore[misc]

    def rings(self, scales: Any) -> tuple[Any, Any]:
        """Shared memory for scales, of A and of B."""
        return (None, None) if scales is None else map(self.scale_ring, self.scale_rows)  # type: ignore[return-value]

    def scale_ring(self, rows: int) -> Any:
        """Shared memory for the scales of `rows` rows: (groups of rows, 1, 32, 16, groups of blocks, stages)."""
        groups, deep = rows // ATOM[0], self.blocks // ATOM[1]
        strides = ATOM[2], 0, 16, 1, ATOM[2] * groups, ATOM[2] * groups * deep
        layout = cl.make_layout((groups, 1, 32, 16, deep, self.config.stages), stride=strides)
        return cl.shared(u8, layout, align=128)

    def peers(self) -> tuple[tuple[Any, ...], Any]:
        """Ranks of the blocks that bring this block's tiles, and those that commits tell, as bits."""
        if self.config.pair:
            return (0,), 3
        ranks = cl.multicast_peers(self.config.cluster)
        if len(ranks) == 0:
            return (0,), None
        if 1 in self.config.cluster:
            return ranks, (1 << len(ranks)) - 1
        mask = i32(0)
        for rank in ranks:
            mask = mask | i32(1) << rank
        return ranks, mask.to(cl.u16)

    def place(self, tiles: Any) -> tuple[Any, Any, Any, Any]:
        """Row and column of this block's tile, its batch or group, and the end of the rows that belong to it."""
        (bm, bn), (cm, cn) = self.config.tile, self.config.cluster
        if self.problem.grouped:
            group, row, end, n = tiles.coordinate()
            return row, n * bn, group, end
        m, n, batch = tiles.coordinate()
        if self.config.cluster != (1, 1):
            rank = cl.block_rank_in_cluster()
            m, n = m * cm + rank % cm, n * cn + rank // cm
        return m * bm, n * bn, batch, M

    def half(self, extent: int) -> Any:
        """The place at which this block's half of a pair's rows or columns begins; 0 without pairs."""
        return cl.block_rank_in_cluster() * (extent // 2) if self.config.pair else 0

    def produce(self, given: Any, held: Any, loads: Any, tiles: Any) -> None:
        """One thread: fill the ring, tile after tile."""
        (a, b, sa, sb), (left, right, of_a, of_b), state = given, held, loads.producer_state()
        (rows, columns), (bm, bn), problem, pair = self.loaded, self.config.tile, self.problem, self.config.pair
        one = cl.OperandTile.create(a, rows, self.config.cluster, 0, problem.majors[0])
        two = cl.OperandTile.create(b, columns, self.config.cluster, 1, problem.majors[1])
        while tiles.is_valid():
            row, column, batch, _ = self.place(tiles)
            at_a, at_b = ((batch,) if problem.has_batches(operand) else () for operand in "AB")
            for i in range(cl.ceil_div(K, self.depth)):
                loads.producer_acquire(state)
                full, s = loads.barrier(state), state.index
                one.load(left[None, None, s], at_a, row + self.half(bm), i * self.depth, full, pair)
                two.load(right[None, None, s], at_b, column + self.half(bn), i * self.depth, full, pair)
                if of_a is not None:
                    self.bring_scales((sa, of_a, row + self.half(bm)), (sb, of_b, column), i, state, full)
                state = state.advance()
            tiles = tiles.advance()
        if self.config.cluster != (1, 1):
            loads.producer_tail(state)  # others still tell this block's barriers that they have read

    def bring_scales(self, left: Any, right: Any, i: Any, state: Any, full: Any) -> None:
        """Load the scales of stage `i` of K. `left`, `right`: of A and B, where from, where to, and the first row."""
        for j in cl.static_range(self.blocks // ATOM[1]):
            at = i * (self.blocks // ATOM[1]) + j, 0, 0
            for tensor, ring, start in (left, right):
                target = ring[None, None, None, None, j, state.index]
                cl.tma_load(tensor, target, at=(start // ATOM[0], *at), barrier=full, pair=self.config.pair)

    def multiply(self, tmem: Any, acc: Any, held: Any, loads: Any, sums: Any, tiles: Any) -> None:
        """One thread: start the products of what comes, into one accumulator after the other."""
        (left, right, of_a, of_b), state, out = held, loads.consumer_state(), sums.producer_state()
        (rows, columns), scaled, group = self.scale_rows, self.problem.scaled, self.config.pair + 1
        if scaled is not None:
            first = 2 * self.config.tile[1]
            by_a = tmem.own(cl.tcgen05.scales(rows, self.blocks), u8, first)
            by_b = tmem.own(cl.tcgen05.scales(columns, self.blocks), u8, first + rows // 32 * self.blocks // 4)
        while tiles.is_valid():
            sums.producer_acquire(out)
            for i in range(cl.ceil_div(K, self.depth)):
                loads.consumer_wait(state)
                s, into = state.index, acc[None, None, out.index]
                x, y = left[None, None, s], right[None, None, s]
                if scaled is None:
                    cl.tcgen05.mma(into, x, y, accumulate=i > 0, cta_group=group)
                else:
                    for ring, scales, extent in ((of_a, by_a, rows), (of_b, by_b, columns)):
                        there = ring[None, None, None, None, None, s]
                        held_so = there.view(cl.tcgen05.scales_in_smem(extent, self.blocks))
                        cl.tcgen05.copy_scales(scales, held_so, group)
                    more: Any = {"accumulate": i > 0, "kind": scaled.kind, "block": scaled.block, "cta_group": group}
                    cl.tcgen05.mma_scaled(into, x, y, by_a, by_b, **more)
                loads.consumer_release(state)
                state = state.advance()
            sums.producer_commit(out)
            out, tiles = out.advance(), tiles.advance()

    def finish(self, acc: Any, held: Any, d: Any, given: cl.Finish, scales: Any, sums: Any, tiles: Any) -> None:
        """A warpgroup: have results made of the sums, a row to each thread, in pieces of some columns."""
        ring = cl.RowRing.create(held, cl.thread_idx.x, cl.NamedBarrier(1, GROUP))
        (alpha, *_), state, wide = scales, sums.consumer_state(), self.piece
        pieces = self.config.tile[1] // wide
        while tiles.is_valid():
            row, column, batch, end = self.place(tiles)
            at = (batch,) if self.problem.batched else ()
            plain = given.plain if given.plain is None or len(at) == 0 else given.plain[*at, None, None]
            sums.consumer_wait(state)
            tile = acc[None, None, state.index]
            for i in cl.static_range(pieces):
                x = cl.tcgen05.wait_load(cl.tcgen05.load(tile.tile((GROUP, wide), (0, i))))
                if i == pieces - 1:
                    sums.consumer_release(state)
                x = x if self.problem.acc.is_int else x.to(f32) * alpha
                place = row + self.half(self.config.tile[0]), column + i * wide, at, (end, N)
                piece = cl.RowPiece(x, *place, ring, d, given.paired, plain, number=i)
                given.make(piece, given.begin(piece))
            state, tiles = state.advance(), tiles.advance()
        ring.tail()
