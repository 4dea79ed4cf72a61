"""d = activation(alpha * (a @ b) + beta * c + bias) on Hopper, at the speed of cuBLAS and above.

A block is one warpgroup that loads and two that multiply. Blocks stay, and take tiles of the result in turn. One thread
brings tiles of A and B by TMA into a ring of stages; blocks of a cluster share what both need. The other warpgroups
multiply by wgmma and write their results by stmatrix and TMA while the next tiles are loaded. Either they work on one
tile together (cooperative), half of its rows each, or on a tile each in turn (ping-pong), so that one stores while the
other multiplies.
"""

# mypy: disable-error-code="valid-type, name-defined, index, attr-defined"
# pyright: reportInvalidTypeForm=false, reportGeneralTypeIssues=false, reportAttributeAccessIssue=false
# (kernels are made for types that no annotation can say to a checker)

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import cutelite as cl
import cutelite_rt as rt
from common import check, clusters_at_once, empty, poisoned, random, to_numpy
from cutelite import Smem, Tensor, TmaTensor, f32, i32
from gemm_configs import CONFIGS, Config, Problem, fitting
from gemm_sum import add_up

M, N, K, L = cl.dims("M N K L")
GROUP = 128  # threads of a warpgroup


class Tile(NamedTuple):
    """Where a tile begins in the result and in K, and in how many steps along K it is added up."""

    row: Any
    column: Any
    batch: tuple[Any, ...]
    out: tuple[Any, ...]
    first: Any
    steps: Any


@cache
def build(config: Config, problem: Problem) -> Any:
    """The kernel."""
    (BM, BN), (CM, CN), WIDE, BUFFERS = config.tile, config.cluster, config.piece, config.buffers
    BK = 128 // problem.a.bytes  # a swizzled row
    ROWS = BM if config.pingpong else BM // 2  # of a warpgroup
    CLUSTER, BATCHED, SPLITS = CM * CN > 1, problem.batched, config.splits
    FEW = BM if CLUSTER else min(BM, problem.rows or BM)  # rows of A that are brought
    mma = cl.make_tiled_mma(cl.WarpgroupMmaOp(problem.a, problem.acc, BN, problem.b))
    piece = cl.WarpgroupMmaOp(problem.a, problem.acc, WIDE, problem.b)
    for name, major, part in zip("AB", problem.majors, (FEW // CN, BN // CM), strict=True):
        if major == "MN" and part % BK:
            raise ValueError(f"{config}: {part} rows of {name} for each block, which lie in spans of {BK}")

    def matrix(dtype: Any, rows: Any, columns: Any, box: tuple[int, int], major: str, batches: Any) -> Any:
        """The type of a TMA tensor, with batches if there are any, declared the other way round if not K-major."""
        shape, (high, wide) = ((rows, columns), box) if major == "K" else ((columns, rows), (box[1], box[0]))
        wide = next(row for row in (128, 64, 32, 16) if wide * dtype.bytes % row == 0) // dtype.bytes
        lead = len(batches)
        return TmaTensor[dtype, (*batches, *shape), (*(1,) * lead, high, wide), (*(None,) * (1 + lead), 1)]

    A = matrix(problem.a, M, K, (FEW // CN, BK), problem.majors[0], (L,) * BATCHED)
    B = matrix(problem.b, N, K, (BN // CM, BK), problem.majors[1], (L,) * BATCHED)
    D = matrix(problem.d, M, N, (64, WIDE), "K", (L * SPLITS,) if BATCHED else (SPLITS,) * (SPLITS > 1))
    BIAS = TmaTensor[problem.bias or f32, (N,), (BN,), "none"]
    SCALE_A = TmaTensor[f32, (M,), (ROWS,), "none"] if problem.rowwise else Tensor[f32, (1,)]
    SCALE_B = TmaTensor[f32, (N,), (BN,), "none"] if problem.rowwise else Tensor[f32, (1,)]

    class Storage(cl.SharedStorage):
        a: Smem[problem.a, cl.make_smem_layout(problem.a, (BM, BK, config.stages), problem.majors[0])]
        b: Smem[problem.b, cl.make_smem_layout(problem.b, (BN, BK, config.stages), problem.majors[1])]
        d: Smem[problem.d, cl.make_smem_layout(problem.d, (64, WIDE, 2 * BUFFERS))]

    @cl.kernel(block=3 * GROUP, cluster=(CM * CN, 1, 1) if CLUSTER else None)
    def gemm(
        a: A, b: B, d: D, c: D | None, bias: BIAS | None,
        scale_a: SCALE_A | None, scale_b: SCALE_B | None, alpha: f32, beta: f32,
    ) -> None:  # fmt: skip
        if cl.thread_idx.x == 0:
            for t in (a, b, d):
                cl.prefetch_tensormap(t)
        storage = Storage.allocate()
        if FEW < BM:
            cl.cooperative_clear(storage.a)
        consumers, peers = GROUP if config.pingpong else 2 * GROUP, cl.multicast_peers(config.cluster)
        bytes = (FEW + BN) * 128
        pipe = cl.PipelineTmaAsync.create(config.stages, bytes, consumers, peers, sync=False, reads="wgmma")
        second = cl.warpgroup_idx() // 2
        turns = cl.PipelineOrder.create(1, 2, second, GROUP, sync=False) if config.pingpong else None
        fetch = cl.Fetch.create((2, 1 + BUFFERS))
        cl.pipeline_init_arrive(CLUSTER)
        counts = cl.ceil_div(M, BM * CM), cl.ceil_div(N, BN * CN), *d.shape[:-2]
        tiles = cl.StaticPersistentTileScheduler.create(counts, config.swizzle, config.raster, CLUSTER)
        first = place(tiles)
        cl.griddepcontrol_launch_dependents()
        cl.pipeline_init_wait(CLUSTER)
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            if cl.thread_idx.x == 0:
                cl.griddepcontrol_wait()
                produce(a, b, storage, pipe, tiles, first)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            cl.griddepcontrol_wait()
            group, thread = cl.warpgroup_idx() - 1, cl.thread_idx.x % GROUP
            pieces = cl.local_tile(storage.d, (64, WIDE, BUFFERS), (0, 0, group))
            out = cl.ResultRing.create(pieces, piece, thread, cl.NamedBarrier(1 + group, GROUP))
            mine, given = cl.Fetch(fetch.bars[group, None]), (d, c, bias, scale_a, scale_b, alpha, beta)
            sums = cl.Epilogue.create((ROWS, BN), out, *given, problem.activation, mine, 2, group)
            consume(sums, storage, pipe, turns, tiles, group)

    def place(tiles: Any) -> Any:
        """This block's next tile."""
        m, n, batch = tiles.coordinate()
        steps, split = i32(cl.ceil_div(K, BK)), batch % SPLITS
        if CLUSTER:
            rank = cl.block_rank_in_cluster()
            m, n = m * CM + rank % CM, n * CN + rank // CM
        first, last = (steps * split // SPLITS, steps * (split + 1) // SPLITS) if SPLITS > 1 else (0, steps)
        out = (batch,) if BATCHED or SPLITS > 1 else ()
        return Tile(m * BM, n * BN, (batch // SPLITS,) if BATCHED else (), out, first, last - first)

    def produce(a: Any, b: Any, storage: Any, pipe: Any, tiles: Any, tile: Any) -> None:
        """One thread: fill the ring, tile after tile."""
        left = cl.OperandTile.create(a, FEW, config.cluster, 0, problem.majors[0])
        right = cl.OperandTile.create(b, BN, config.cluster, 1, problem.majors[1])
        state, backward = pipe.producer_state(), False
        while tiles.is_valid():
            for i in range(tile.steps):
                pipe.producer_acquire(state)
                full, k = pipe.barrier(state), (tile.first + (tile.steps - 1 - i if backward else i)) * BK
                left.load(storage.a[None, None, state.index].tile((FEW, BK), (0, 0)), tile.batch, tile.row, k, full)
                right.load(storage.b[None, None, state.index], tile.batch, tile.column, k, full)
                state = state.advance()
            tiles = tiles.advance()
            tile, backward = place(tiles), not backward  # the end of K is in L2 still
        if CLUSTER:
            pipe.producer_tail(state)  # others still tell this block's barriers that they have read

    def consume(sums: Any, storage: Any, pipe: Any, turns: Any, tiles: Any, group: Any) -> None:
        """A warpgroup: multiply what comes, and write what it adds up to."""
        half = 0 if config.pingpong else group
        mine = mma.get_slice(cl.thread_idx.x % GROUP)
        left = mine.partition_A(cl.local_tile(storage.a, (ROWS, BK), (half, 0)))
        right = mine.partition_B(storage.b)
        state, count = pipe.consumer_state(), i32(0)
        if config.pingpong and group == 1:  # the first tile is the other one's
            tiles, state = tiles.advance(), state.advance(place(tiles).steps)
        while tiles.is_valid():
            tile = place(tiles)
            row = tile.row + half * ROWS
            sums.prepare(row, tile.column, tile.out)
            if config.pingpong:
                turns.wait()
            acc = mma.make_fragment_C(mma.partition_shape_C((ROWS, BN)))
            pipe.consumer_wait(state)
            at = None, None, None, state.index
            acc = cl.gemm(mma, acc, left[at], right[at], accumulate=False)
            before, state = state, state.advance()
            for _ in range(1, tile.steps):
                pipe.consumer_wait(state)
                at = None, None, None, state.index
                acc = cl.gemm(mma, acc, left[at], right[at]).keep(1)
                pipe.consumer_release(before)
                before, state = state, state.advance()
            if config.pingpong:
                turns = turns.arrive()
            acc = acc.wait()
            pipe.consumer_release(before)
            sums.write(acc, row, tile.column, tile.out, count)
            tiles, count = tiles.advance(), count + 1
            if config.pingpong:
                tiles, state = tiles.advance(), state.advance(place(tiles).steps)
        sums.ring.tail()

    return gemm


def run(config: Config, problem: Problem, a: Any, b: Any, d: Any, *more: Any) -> None:
    """Launch what a configuration needs. A is (..., M, K) or (..., K, M) as `problem` says, B likewise.

    more   C, bias, scales of A and of B (or None), alpha, beta
    """
    (bm, bn), (cm, cn), (m, n), splits = config.tile, config.cluster, d.shape[-2:], config.splits
    if splits > 1:  # as far as there are steps along K
        splits = min(splits, -(-a.shape[-1 if problem.majors[0] == "K" else -2] * problem.a.bytes // 128))
        config = replace(config, splits=splits)
    batches = d.shape[0] if problem.batched else 1
    blocks = -(-m // (bm * cm)) * -(-n // (bn * cn)) * cm * cn * batches * splits
    launch = cl.Launch(min(blocks, clusters_at_once(cm * cn) * cm * cn), 3 * GROUP, pdl=True)
    if splits == 1 and n * problem.d.bytes % 16 == 0:
        build(config, problem)[launch](a, b, d, *more)
        return
    # TMA writes the last 16 bytes of a row whole: where others may hold something of `d`, rows of another array.
    plain, rest = replace(problem, d=problem.acc, bias=None, activation=None, rowwise=False), (None,) * 4 + (1.0, 0.0)
    of_parts = None if splits == 1 else "int32" if problem.acc.is_int else "float32"
    parts = empty(d, (batches * splits, m, -(-n // 16) * 16), of_parts)[..., :n]
    if splits > 1:
        build(config, plain)[launch](a, b, parts, *rest)
        add_up(problem, splits, parts, d, *more)
    else:
        build(config, problem)[launch](a, b, parts if problem.batched else parts[0], *more)
        add_up(replace(plain, d=problem.d, acc=problem.d), 1, parts, d, *rest)


def arguments(
    a: Any, b: Any, d: Any, c: Any = None, bias: Any = None, scale_a: Any = None, scale_b: Any = None,
    alpha: float = 1.0, beta: float = 0.0, activation: Callable[[Any], Any] | None = None, precision: str | None = None,
) -> tuple[Any, ...]:  # fmt: skip
    """What `run` takes besides a configuration."""
    left, right = rt.read(a), rt.read(b)
    kinds = [getattr(cl, "tf32" if x.dtype == "f32" and precision == "tf32" else x.dtype) for x in (left, right)]
    majors = "K" if left.strides[-1] == 1 else "MN", "K" if right.strides[-2] == 1 else "MN"
    rowwise = scale_a is not None and rt.read(scale_a).size > 1
    of_bias = None if bias is None else getattr(cl, rt.read(bias).dtype)
    acc, out = i32 if kinds[0].is_int else f32, getattr(cl, rt.read(d).dtype)
    rows = next((r for r in (8, 16, 32, 64) if d.shape[-2] <= r and majors[0] == "K"), None)
    problem = Problem(kinds[0], kinds[1], acc, out, of_bias, majors, a.ndim == 3, rows, rowwise, activation)
    a = a if majors[0] == "K" else a.swapaxes(-1, -2)
    b = b.swapaxes(-1, -2) if majors[1] == "K" else b
    scales = [x if x is None else x.reshape(-1) for x in (scale_a, scale_b)]
    if precision not in (None, "tf32"):
        raise ValueError(f"precision is None or 'tf32', not {precision!r}")
    if out.is_int and (c, bias, scale_a, scale_b, alpha, beta, activation) != (None,) * 4 + (1.0, 0.0, None):
        raise ValueError(f"results of {out} are the sums as they are: no alpha, beta, bias, scales, or activation")
    return problem, a, b, d, c, bias, *scales, alpha, beta


tuned = cl.autotune(CONFIGS, key=("problem", "a", "b", "d"), prune=fitting)(run)


def chosen(a: Any, b: Any, out: Any, **how: Any) -> Config:
    """The configuration that `gemm` takes for these arguments."""
    return tuned.config_for(*arguments(a, b, out, **how))  # type: ignore[no-any-return]


def gemm(
    a: Any, b: Any, out: Any = None, *, c: Any = None, bias: Any = None, scale_a: Any = None, scale_b: Any = None,
    alpha: float = 1.0, beta: float = 0.0, activation: Callable[[Any], Any] | None = None,
    precision: str | None = None, config: Config | None = None,
) -> Any:  # fmt: skip
    """``activation(alpha * scale_a * scale_b * (a @ b) + beta * c + bias)``; returns `out`.

    a, b        (M, K) and (K, N), or with batches in front; contiguous along either mode, rows a multiple of 16 bytes
                apart. bf16, f16, fp8 (e4m3, e5m2), i8; f32 with ``precision="tf32"``
    out, c      (M, N), contiguous along N; `out` is made if it is not given, of the operands' dtype. Rows of `out` that
                are no multiple of 16 bytes take a copy more
    bias        (N,): bf16, f16 or f32
    scale_a     f32, one number or (M, 1); `scale_b` likewise (1, N)
    activation  elementwise, on vectors of f32, compiled in
    config      None: the fastest, found at the first call for these shapes
    """
    out = empty(a, (*a.shape[:-1], b.shape[-1])) if out is None else out
    given = arguments(a, b, out, c, bias, scale_a, scale_b, alpha, beta, activation, precision)
    if config is None:
        tuned(*given)
    else:
        run(config, *given)
    return out


def main(m: int = 200, n: int = 520, k: int = 136) -> None:
    a, b = random(m, k, dtype="bfloat16", seed=1), random(n, k, dtype="bfloat16", seed=2).T
    c, d, bias = random(m, n, dtype="bfloat16", seed=3), poisoned(m, n, dtype="bfloat16"), random(n, seed=4)
    gemm(a, b, d, c=c, bias=bias, alpha=0.5, beta=2.0, activation=lambda x: max(x, 0.0))
    expected = 0.5 * (to_numpy(a) @ to_numpy(b)) + 2.0 * to_numpy(c) + to_numpy(bias)
    check(f"gemm {m} x {n} x {k}", d, expected.clip(0.0), 5e-3)


if __name__ == "__main__":
    main()
