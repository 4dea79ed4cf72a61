"""Experts whose matrices have weights of 4 bits, with a scale for each few along K: integers, and MXFP4.

    e2m1 (MXFP4)   0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives; a scale for each 32, a power of two
    i4             -8 to 7; a scale for each 32 or 128

wgmma reads only its left operand from registers. So weights are on the left, 64 rows for each warpgroup, an expert's
rows of x on the right, and the result is transposed. Each thread converts to bf16 the weights that its fragment of
wgmma's A takes. Rows are gathered by cp.async. With a gate, eight of its rows and eight of `up` alternate in the packed
matrix, so that a thread has both factors of a result.
"""

from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

import cutelite as cl
from cutelite import Smem, Tensor, bf16, f32, i32
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import (
    Arguments,
    ArrayError,
    Misfit,
    as_number,
    is_array,
    one_of,
    underived,
)
from cutelite.kernels.arrays import clusters_at_once, empty
from cutelite.kernels.gemm.laid import packed_rows
from cutelite.kernels.gemm.mixed import check_packing, codes, scaled, tiled
from cutelite.kernels.lent import takes_jax
from cutelite.kernels.moe.call import by_operator, check_choices
from cutelite.kernels.moe.combine import combine
from cutelite.kernels.moe.gather import GatherPipe
from cutelite.kernels.moe.routing import sort
from cutelite.kernels.planning import planned, planned_whole
from cutelite.kernels.rows.gates import silu
from cutelite.records import dataclass

M, N, K, E, T, NT, KT = cl.dims("M N K:8 E T NT KT")
P = cl.Dim("P", 8)
GROUP, ROWS, DEPTH, EIGHT = 128, 64, 128, 8  # threads of a warpgroup; a packed tile; what alternates with a gate
WORDS = ROWS * DEPTH * 4 // 32 // GROUP  # of a packed tile, for each thread
LOAD = cl.make_copy_atom(cl.CopyBulkG2SOp(), i32)
KINDS = {"e2m1": (32,), "i4": (32, 128)}
"""Kinds of weights, and how many weights along K may share a scale."""
E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


@dataclass(frozen=True)
class Config:
    """A configuration: tiles, stages and registers.

    tokens  rows of an expert in a tile
    groups  warpgroups that multiply: each has 64 rows of weights of a tile
    stages  tiles of rows and of weights, 128 along K, that are held
    behind  stages of copies in flight before the oldest one is announced as full
    regs    registers of a thread that loads, and of one that multiplies
    """

    tokens: int = 64
    groups: int = 2
    stages: int = 4
    behind: int = 1
    regs: tuple[int, int] = (72, 216)


@dataclass(frozen=True)
class Problem:
    """The kind of GEMM that a kernel is made for.

    kind    of `KINDS`
    each    the number of weights along K that share a scale
    gather  rows are gathered
    gated   results are ``silu(gate) * up``
    """

    kind: str
    each: int
    gather: bool = False
    gated: bool = False

    @property
    def scales(self) -> int:
        """Scales of a row of a packed tile."""
        return DEPTH // self.each

    @property
    def size(self) -> int:
        """Words of 32 bits of a packed tile, with its scales in bf16."""
        return WORDS * GROUP + ROWS * self.scales // 2


@cache
def build(config: Config, problem: Problem) -> Any:
    """Make the kernel. Errors: ValueError for too few stages."""
    plan, BT, GROUPS, SIZE = Plan(config, problem), config.tokens, config.groups, problem.size
    if config.stages < config.behind + 2:
        raise Misfit(f"{config}: stages must be two more than those that are started ahead")

    class Storage(cl.SharedStorage):
        x: Smem[bf16, cl.make_smem_layout(bf16, (BT, DEPTH, config.stages))]
        w: Smem[i32, cl.make_layout((SIZE, GROUPS, config.stages)), 128]

    @cl.kernel(block=(1 + GROUPS) * GROUP)
    def gemm(
        x: Tensor[bf16, (T, K), (P, 1)], w: Tensor[i32, (E, NT, KT, SIZE), cl.align(16)], ends: Tensor[i32, (E,)],
        rows: Tensor[i32, (M,)] | None, d: Tensor[bf16, (M, N)],
    ) -> None:  # fmt: skip
        storage = Storage.allocate()
        pipe = GatherPipe.create(config.stages, GROUPS * SIZE * 4, GROUP, GROUPS * GROUP, config.behind, "generic")
        cl.pipeline_init_sync()
        cl.griddepcontrol_launch_dependents()
        cl.griddepcontrol_wait()
        tiles = cl.GroupedTileScheduler.create(ends, BT, cl.ceil_div(NT, GROUPS), most=M)
        if cl.thread_idx.x < GROUP:
            cl.setmaxnreg_dec(config.regs[0])
            plan.produce(x, w, rows, storage, pipe, tiles)
        else:
            cl.setmaxnreg_inc(config.regs[1])
            plan.consume(d, storage, pipe, tiles, cl.warpgroup_idx() - 1)

    return gemm


@dataclass(frozen=True)
class Plan:
    """The work of the threads of a block."""

    config: Config
    problem: Problem

    def produce(self, x: Any, w: Any, rows: Any, storage: Any, pipe: Any, tiles: Any) -> None:
        """A warpgroup: fill the ring. Sixteen threads bring a row, 16 bytes each; rows behind the last are zeros."""
        thread, units = cl.thread_idx.x, DEPTH // EIGHT
        down, across, high = thread // units, thread % units * EIGHT, GROUP // units
        states = pipe.start()
        while tiles.is_valid():
            expert, row, end, n = tiles.coordinate()
            places = cl.make_rmem_tensor(i32, (self.config.tokens // high,))
            for i in cl.static_range(self.config.tokens // high):
                at = min(row + i * high + down, end - 1)
                places[i] = at if rows is None else rows[at]
            for step in range(KT):
                stage, k = states.state.index, step * DEPTH + across
                pipe.acquire(states)
                if thread == 0:
                    pipe.expect(states)
                    for g in cl.static_range(self.config.groups):
                        tile = min(n * self.config.groups + g, i32(NT) - 1)  # past the end, the last tile again
                        full = pipe.barrier(states.state)
                        cl.copy(LOAD, w[expert, tile, step, None], storage.w[None, g, stage], barrier=full)
                for i in cl.static_range(self.config.tokens // high):
                    inside = row + i * high + down < end and k < K
                    of = x.at(places[i], min(k, K - EIGHT))
                    cl.cp_async(storage.x.at(i * high + down, across, stage), of, 16, src_bytes=cl.where(inside, 16, 0))
                states = pipe.commit(states)
            tiles = tiles.advance()
        pipe.finish(states)

    def consume(self, d: Any, storage: Any, pipe: Any, tiles: Any, group: Any) -> None:
        """Convert weights to bf16, multiply, and write the results. Who: a warpgroup."""
        thread = cl.thread_idx.x % GROUP
        mma = cl.make_tiled_mma(cl.WarpgroupMmaOp(bf16, f32, self.config.tokens, a_source="rmem"))
        right = mma.get_slice(thread).partition_B(storage.x)
        state = pipe.consumer_state()
        while tiles.is_valid():
            _, row, end, n = tiles.coordinate()
            acc = mma.make_fragment_C(mma.partition_shape_C((ROWS, self.config.tokens)))
            for _ in range(KT):
                pipe.consumer_wait(state)
                left = mma.make_fragment_A(mma.partition_shape_A((ROWS, DEPTH)))
                tile, of_row = storage.w[None, group, state.index], self.problem.scales
                left.store(scaled(tile, thread, WORDS, of_row, self.problem.kind))
                acc = cl.gemm(mma, acc, left, right[None, None, None, state.index]).wait()
                pipe.consumer_release(state)
                state = state.advance()
            self.write(acc.parts[0], d, row, end, n * self.config.groups + group, thread)
            tiles = tiles.advance()

    def write(self, sums: Any, d: Any, row: Any, end: Any, tile: Any, thread: Any) -> None:
        """Write a tile of the transpose: of each eight rows a thread has two, in one column or two."""
        warp, lane = thread // 32, thread % 32
        for i in cl.static_range(self.config.tokens // EIGHT):
            for j in cl.static_range(2):
                token = row + i * EIGHT + lane % 4 * 2 + j
                first, second = sums[4 * i + j], sums[4 * i + 2 + j]  # of rows of weights eight apart
                if self.problem.gated:
                    column = tile * (ROWS // 2) + warp * EIGHT + lane // 4
                    if token < end and column < N:
                        d[token, column] = (silu(first, False)[0] * second).to(bf16)
                else:
                    column = tile * ROWS + warp * 2 * EIGHT + lane // 4
                    if token < end and column < N:
                        d[token, column] = first.to(bf16)
                    if token < end and column + EIGHT < N:
                        d[token, column + EIGHT] = second.to(bf16)


def pack(values: Any, scales: Any, kind: str, each: int = 32, *, gated: bool = False) -> Any:
    """Weights as the kernel reads them, from NumPy arrays: i32 (E, row tiles, K tiles, words).

    values  (E, N, K): integers from -8 to 7 ('i4'), or codes of e2m1 from 0 to 15: sign, two of exponent, one of
            fraction
    kind    of the weights: 'i4' or 'e2m1'
    scales  (E, N, ceil(K / each)), floats: of MXFP4's bytes, ``2.0 ** (bytes - 127.0)``. They are rounded to bf16,
            which is exact for powers of two
    each    the number of weights along K that share a scale: 32, or 128 for 'i4'
    gated   the first half of N is a gate's; both halves are a multiple of 8
    Result  of each tile of 64 x 128 words as `cutelite.kernels.gemm.mixed.pack` has them, then its scales
    Errors  ValueError for kinds, shapes and numbers of scales that there are not
    """
    if each not in KINDS[one_of("kind", kind, KINDS)]:
        known = " or ".join(map(str, KINDS[kind]))
        raise Misfit(f"each is {each!r}, but {kind!r} has a scale for each {known} along K")
    check_packing(values, scales, "E, N, K", each)
    if gated and (n := values.shape[1]) % 16:
        raise Misfit(f"values have {n} rows, but with gated=True must have a multiple of 16: both halves of 8")
    if scales.dtype.kind in "iu":
        raise Misfit(f"scales have dtype {scales.dtype}, but are floats: of MXFP4's bytes, 2.0 ** (bytes - 127.0)")
    codes(values, *((0, 15) if kind == "e2m1" else (-8, 7)))
    order = np.arange(values.shape[1])
    order = order.reshape(2, -1, EIGHT).swapaxes(0, 1).reshape(-1) if gated else order
    return tiled(values[:, order], scales[:, order], 4, each)


def unpacked(values: Any, scales: Any, kind: str, each: int = 32) -> Any:
    """The weights that values and scales stand for, f64, of NumPy arrays."""

    table = np.array([*E2M1, *(-x for x in E2M1)])
    numbers = table[values & 15] if kind == "e2m1" else values.astype(np.float64)
    factors = scales.astype(ml_dtypes.bfloat16).astype(np.float64)
    return numbers * factors.repeat(each, axis=2)[:, :, : values.shape[2]]


def chosen(rows: int, experts: int) -> Config:
    """Pick a configuration: a tile has as many rows as an expert on average, to a power of two."""
    tokens = next((w for w in (16, 32, 64, 128) if rows <= w * experts), 128)
    return Config(tokens, 2, 8 if tokens <= 32 else 5 if tokens <= 64 else 4, 2 if tokens <= 64 else 1)


def run(problem: Problem, x: Any, w: Any, ends: Any, d: Any, rows: Any = None, config: Config | None = None) -> None:
    """Launch the kernel, as `grouped.run`; w of `pack`."""
    config = config or chosen(d.shape[0], ends.shape[0])
    across = -(-w.shape[1] // config.groups)
    at_most = (-(-d.shape[0] // config.tokens) + min(ends.shape[0], d.shape[0])) * across
    launch = cl.Launch(min(at_most, clusters_at_once(1, d)), (1 + config.groups) * GROUP, pdl=True)
    build(config, problem)[launch](x, w, ends, rows, d)


@planned_whole()
@underived()
@takes_jax(traced="moe.on_jax.narrow_experts")
def narrow_experts(
    x: Any, gate_up: Any, down: Any, index: Any, weights: Any, kind: str, *, inner: int, out: Any = None
) -> Any:  # fmt: skip
    """`experts` with matrices of weights of 4 bits.

    x        (tokens, hidden), bf16, row-major, hidden a multiple of 8
    gate_up  ``pack(..., gated=True)`` of (experts, 2 * inner, hidden); `down`: of (experts, hidden, inner)
    kind     'e2m1' or 'i4', of both
    inner    a multiple of 8
    Arrays   as for `experts`, but for gradients, of which there are none
    Errors   ValueError for weights packed for other shapes
    """
    if (found := by_operator("narrow_experts", out, x, gate_up, down, index, weights, kind, inner)) is not None:
        return found
    return mix_narrow(x, gate_up, down, index, weights, kind, inner, out)


@untraced
@planned
def mix_narrow(
    x: Any, gate_up: Any, down: Any, index: Any, weights: Any, kind: str, inner: int, out: Any = None
) -> Any:  # fmt: skip
    """Compute `narrow_experts` of arrays that hold data."""
    given, inner = Arguments(), as_number("inner", inner, whole=True, least=0)
    one_of("kind", kind, KINDS)
    given.array("x", x, "bf16", "T H")
    x, (index, weights) = packed_rows(x), check_choices(given, index, weights)
    (tokens, hidden), k = x.shape, index.shape[1]
    given.array("gate_up", gate_up, "i32", "E TILES_N TILES_K WORDS", dense=True)
    count, sizes = gate_up.shape[0], {"gate_up": (2 * inner, hidden), "down": (hidden, inner)}
    for name, packed in (("gate_up", gate_up), ("down", down)):
        is_array(name, packed)
        wanted = (count, -(-sizes[name][0] // ROWS), -(-sizes[name][1] // DEPTH), *packed.shape[3:4])
        given.array(name, packed, "i32", wanted, dense=True, why=f", as pack makes it of {sizes[name]} weights each")
    if hidden % EIGHT or inner % EIGHT or not hidden or not inner:
        raise ArrayError(f"x has rows of {hidden}, and inner is {inner}: both are multiples of 8")
    read, pairs = {"gate_up": gate_up, "down": down, "index": index, "weights": weights}, tokens * k
    out = given.result(out, x, "bf16", "T H", dense=True, apart=read)
    order = sort(index, count)
    first, second = (
        Problem(kind, each_of(w, kind, name), i == 0, i == 0)
        for i, (name, w) in enumerate((("gate_up", gate_up), ("down", down)))
    )
    if left_out():
        return out
    if not pairs:
        out[...] = 0
        return out
    between, found = empty(x, (pairs, inner)), empty(x, (pairs, hidden))
    run(first, x, gate_up, order.ends, between, order.rows)
    run(second, between, down, order.ends, found)
    return combine(found, order.place, weights, out=out)


def each_of(packed: Any, kind: str, name: str) -> int:
    """Return how many weights of a packed array share a scale. Errors: ValueError where it is none of the kind."""
    for each in KINDS.get(kind, ()):
        if Problem(kind, each).size == packed.shape[3]:
            return each
    raise ArrayError(f"{name}, of {tuple(packed.shape)}, is not packed as {kind!r}")
