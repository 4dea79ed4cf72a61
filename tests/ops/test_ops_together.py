"""Shuffles, votes, reductions, barriers and atomics of a few threads, against NumPy."""

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import cutelite as cl
from cutelite.diag import CompileError
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.function import Jump
from cutelite.ir.types import Scalar, Vec, bf16, f16, f32, f64, i8, i32, i64, u32, u64
from cutelite.lang import warp
from cutelite.lang.emit import builder_here, wrap
from cutelite.lang.emit import emit as emit_here
from cutelite.lang.promotion import as_value
from cutelite.lang.tensor import shared
from cutelite.lang.values import where
from cutelite.ops.arith import VecMake
from cutelite.ops.control import Br, CondBr
from cutelite.sim.error import SimError
from tests.ops.kernels import Runner
from tests.ops.kernels import run as simulate

RANDOM = np.random.default_rng(0)
LANES = np.arange(32)


def me() -> Any:
    return cl.thread_idx.x


# Shuffles.


@pytest.mark.parametrize("width", [1, 4, 32])
def test_shuffles_move_values_within_segments(width: int, run: Runner) -> None:
    a, by = RANDOM.integers(0, 99, 64, np.int32), RANDOM.integers(0, 40, 64, np.int32)
    outs = [np.zeros(64, np.int32) for _ in range(4)]

    def body(a: Any, by: Any, idx: Any, up: Any, down: Any, xor: Any) -> None:
        x, n = a[me()], by[me()]
        idx[me()] = cl.shuffle(x, n, width=width)
        up[me()] = cl.shuffle_up(x, n % 8, width=width)
        down[me()] = cl.shuffle_down(x, 3, width=width)
        xor[me()] = cl.shuffle_xor(x, 2, width=width)

    run(body, a, by, *outs, block=64)
    thread = np.arange(64)
    start = thread - thread % width
    end = start + width
    low, high, swapped = thread - by % 8, thread + 3, thread ^ 2
    assert np.array_equal(outs[0], a[start + by % 32 % width])
    assert np.array_equal(outs[1], a[np.where(low >= start, low, thread)])
    assert np.array_equal(outs[2], a[np.where(high < end, high, thread)])
    assert np.array_equal(outs[3], a[np.where(swapped < end, swapped, thread)])


@pytest.mark.parametrize(("t", "n"), [(f16, 2), (bf16, 4), (i8, 3), (f16, 3), (i64, 2), (f32, 3)], ids=str)
def test_shuffles_take_vectors(t: Scalar, n: int, run: Runner) -> None:
    a = RANDOM.integers(0, 100, (32, n)).astype(numpy_dtype(t))
    out = np.zeros_like(a)

    def body(a: Any, out: Any) -> None:
        vector = emit_here(VecMake(tuple(a[me(), i].value for i in range(n))))
        moved = cl.shuffle_xor(vector, 5)
        assert moved.value.type == Vec(t, n)
        for i in range(n):
            out[me(), i] = moved[i]

    run(body, a, out)
    assert np.array_equal(out, a[LANES ^ 5])


def test_shuffles_of_bools_and_of_some_lanes(run: Runner) -> None:
    a, out, half = RANDOM.integers(0, 2, 32, np.int32), np.zeros(32, np.int32), np.zeros(32, np.int32)

    def body(a: Any, out: Any, half: Any) -> None:
        out[me()] = where(cl.shuffle_xor(a[me()] > 0, 1), 1, 0)
        half[me()] = cl.shuffle_xor(a[me()], 1, members=wrap(as_value(0xFFFFFFFF, u32)))

    run(body, a, out, half)
    assert np.array_equal(out, a[LANES ^ 1]) and np.array_equal(half, a[LANES ^ 1])


def test_reading_from_a_lane_that_takes_no_part_is_found() -> None:
    a = np.zeros(16, np.int32)

    def body(a: Any) -> None:
        a[me()] = cl.shuffle_xor(a[me()], 16, members=0xFFFF)

    with pytest.raises(SimError, match="reads from a lane that takes no part"):
        simulate(body, a, block=16)


# Votes, matches, reductions.


@pytest.mark.parametrize("t", [f16, f32, f64, i64], ids=str)
def test_warp_reduce_of_segments_gives_every_lane_the_same(t: Scalar, run: Runner) -> None:
    a = RANDOM.integers(0, 9, 32).astype(numpy_dtype(t))
    total, top = np.zeros_like(a), np.zeros_like(a)

    def body(a: Any, total: Any, top: Any) -> None:
        total[me()] = cl.warp_reduce(a[me()], width=8)
        top[me()] = cl.warp_reduce(a[me()], "max")

    run(body, a, total, top)
    assert np.array_equal(total, np.repeat(a.reshape(4, 8).sum(1), 8).astype(a.dtype)) and (top == a.max()).all()


def test_the_rest_of_warp() -> None:
    out = np.zeros(32, np.uint32)

    def body(out: Any) -> None:
        cl.syncwarp()
        out[me()] = cl.active_mask()
        cl.syncwarp(0xFFFFFFFF)

    simulate(body, out)
    assert (out == 0xFFFFFFFF).all()
    for wrong in (0, 1 << 32):
        with pytest.raises(CompileError, match="`members` has a bit for each of 32 lanes"):
            warp.syncwarp(wrong)
    number: Any = 1.0
    for lane in (32, -1):
        with pytest.raises(CompileError, match=f"a warp has lanes 0 to 31, and none is lane {lane}"):
            warp.shuffle(number, lane)
    with pytest.raises(CompileError, match="values are combined by one of add, mul"):
        simulate(lambda a: cl.warp_reduce(a[me()], "mean"), np.zeros(32, np.float32))


# Barriers and fences.


def test_barriers_let_all_see_what_each_wrote(run: Runner) -> None:
    a, out = RANDOM.integers(0, 99, 128, np.int32), np.zeros(128, np.int32)

    def body(a: Any, out: Any) -> None:
        tile = shared(i32, (128,))
        tile[me()] = a[me()]
        cl.syncthreads()
        out[me()] = tile[127 - me()]
        cl.barrier_sync(1)
        tile[me()] = out[me()] + 1
        cl.fence("cta")
        cl.barrier_sync(2, 128)
        out[me()] = tile[me() ^ 64]

    for seed in range(3):
        run(body, a, out, block=128, seed=seed)
        assert np.array_equal(out, a[::-1][np.arange(128) ^ 64] + 1)


def test_a_barrier_can_be_chosen_at_run_time(run: Runner) -> None:
    out = np.zeros(128, np.int32)

    def body(out: Any) -> None:
        pair = me() // 64
        tile = shared(i32, (128,))
        tile[me()] = me()
        cl.barrier_sync(pair + 1, 64)
        out[me()] = tile[me() ^ 32]

    run(body, out, block=128)
    assert np.array_equal(out, np.arange(128) ^ 32)


def test_barriers_that_count(run: Runner) -> None:
    a = RANDOM.integers(0, 2, 96, np.int32)
    outs = [np.zeros(96, np.int32) for _ in range(3)]

    def body(a: Any, count: Any, every: Any, some: Any) -> None:
        count[me()] = cl.syncthreads_count(a[me()])
        every[me()] = where(cl.syncthreads_and(a[me()] >= 0), 1, 0)
        some[me()] = where(cl.syncthreads_or(a[me()] > 1), 1, 0)

    run(body, a, *outs, block=96)
    assert [set(out.tolist()) for out in outs] == [{int(a.sum())}, {1}, {0}]


def test_arriving_without_waiting(run: Runner) -> None:
    """The upper two warps hand over what they wrote and are gone; the lower ones wait for it."""
    out = np.zeros(128, np.int32)

    def body(out: Any) -> None:
        tile = shared(i32, (64,))
        builder = builder_here()
        waits, arrives, after = (builder.new_block() for _ in range(3))
        builder.emit(CondBr((me() < 64).value, Jump(waits), Jump(arrives)))
        builder.block = arrives
        cl.nanosleep(100)
        tile[me() - 64] = me()
        cl.barrier_arrive(3, 128)
        builder.emit(Br(Jump(after)))
        builder.block = waits
        cl.barrier_sync(3, 128)
        out[me()] = tile[me()]
        builder.emit(Br(Jump(after)))
        builder.block = after

    for seed in range(4):
        run(body, out, block=128, seed=seed)
        assert np.array_equal(out[:64], np.arange(64, 128))


# Atomics.

UPDATES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": cl.atomic_add,
    "sub": cl.atomic_sub,
    "min": cl.atomic_min,
    "max": cl.atomic_max,
    "and": cl.atomic_and,
    "or": cl.atomic_or,
    "xor": cl.atomic_xor,
}
ACTIONS: dict[str, Any] = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum}
ACTIONS |= {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("t", [i32, u32, i64, u64, f32, f64], ids=str)
def test_atomics_lose_no_update(name: str, t: Scalar, run: Runner) -> None:
    if t.is_float and name in ("and", "or", "xor"):
        return
    a = RANDOM.integers(-50 if t.signed else 0, 50, 256).astype(numpy_dtype(t))
    bins = RANDOM.integers(0, 8, 256, np.int32)
    out = RANDOM.integers(0, 50, 8).astype(a.dtype)
    expected = out.copy()
    ACTIONS[name].at(expected, bins, a)

    def body(a: Any, bins: Any, out: Any) -> None:
        i = cl.block_idx.x * cl.block_dim.x + me()
        UPDATES[name](out, bins[i], a[i])

    run(body, a, bins, out, block=64, grid=4)
    assert np.array_equal(out, expected)


@pytest.mark.parametrize("t", [f32, f64], ids=str)
def test_float_extremes_order_zeros_and_nan_as_their_bits(t: Scalar, run: Runner) -> None:
    dtype = numpy_dtype(t)
    start = np.array([0.0, -0.0, 1, -1, -5, 5], dtype)
    other = np.array([-0.0, 0.0, np.nan, -2, 3, -np.inf], dtype)
    low, high = start.copy(), start.copy()

    def body(x: Any, low: Any, high: Any) -> None:
        cl.atomic_min(low, me(), x[me()])
        cl.atomic_max(high, me(), x[me()])

    run(body, other, low, high, block=6)
    assert low.tolist() == [0, 0, 1, -2, -5, -np.inf] and np.signbit(low[:2]).all()
    assert high[3:].tolist() == [-1, 3, 5] and np.isnan(high[2]) and not np.signbit(high[:2]).any()


def test_atomics_give_the_old_value_and_can_order(run: Runner) -> None:
    ticket, order = np.zeros(1, np.uint32), np.zeros(64, np.uint32)

    def body(ticket: Any, order: Any) -> None:
        mine = cl.atomic_add(ticket, 0, 1, semantic="acq_rel", scope="sys")
        order[mine.to(i32)] = me().to(u32)

    run(body, ticket, order, block=64)
    assert ticket[0] == 64 and sorted(order) == list(range(64))


def test_exchange_compare_count(run: Runner) -> None:
    exch, cas, up, down = (np.zeros(32, np.uint32) for _ in range(4))
    down[0] = 2

    def body(exch: Any, cas: Any, up: Any, down: Any) -> None:
        exch[me()] = cl.atomic_exch(exch, 31, 7)
        won = cl.atomic_cas(cas, 0, 0, me().to(u32) + 1)
        up[me()] = cl.atomic_inc(up, 0, 4) + won * 0
        cl.atomic_dec(down, 0, 9)

    run(body, exch, cas, up, down)
    assert cas[0] == 1  # the first lane's: later ones found it changed
    assert down[0] == (2 - 32) % 10
    assert exch[1] == 7 and exch[0] == 0


def test_shared_memory_and_pointers_and_red(run: Runner) -> None:
    out = np.zeros(4, np.int32)

    def body(out: Any) -> None:
        counts = shared(i32, (4,))
        counts[me() % 4] = 0
        cl.syncthreads()
        cl.red(counts, me() % 4, "add", 1)
        cl.atomic_add(counts.at(0), None, wrap(as_value(10, i32)))
        cl.syncthreads()
        cl.red(out, me() % 4, "max", counts[me() % 4], semantic="release")

    run(body, out, block=64)
    assert out.tolist() == [16 + 640, 16, 16, 16]


@pytest.mark.parametrize(("t", "n"), [(f16, 2), (bf16, 2), (f32, 2), (f32, 4), (f16, 8), (bf16, 4)], ids=str)
def test_vector_adds(t: Scalar, n: int, run: Runner) -> None:
    a = RANDOM.integers(0, 5, (8, n)).astype(numpy_dtype(t))
    out = np.ones(n, a.dtype)

    def body(a: Any, out: Any) -> None:
        cl.atomic_add(out, None, a[me(), None].load())

    run(body, a, out, block=8)
    assert np.array_equal(out.astype(float), 1 + a.astype(float).sum(0))


def test_half_precision_adds_round_each_time(run: Runner) -> None:
    out = np.full(2, 2048, np.float16)

    def body(out: Any) -> None:
        cl.atomic_add(out, 0, 1.0)  # 2049 is no f16: it rounds back

    run(body, out)
    assert out.tolist() == [2048, 2048]
    brain = np.zeros(1, ml_dtypes.bfloat16)
    run(lambda out: cl.atomic_add(out, 0, 1.0), brain)
    assert brain[0] == 32


def test_atomics_reach_other_blocks_of_the_cluster(run: Runner) -> None:
    out = np.zeros(8, np.int32)

    def body(out: Any) -> None:
        count = shared(i32, (2,))
        count[me() % 2] = 0
        cl.cluster_sync()
        cl.atomic_add(cl.mapa(count, 0), me() % 2, cl.block_rank_in_cluster() + 1, scope="cluster")
        cl.cluster_sync()
        out[cl.block_idx.x * 2 + me() % 2] = count[me() % 2]

    run(body, out, block=64, grid=4, cluster=2)
    assert out.tolist() == [32 * 3, 32 * 3, 0, 0] * 2


def test_ordered_loads_and_stores(run: Runner) -> None:
    flag, data, out = np.zeros(1, np.uint32), np.zeros(32, np.float32), np.zeros(32, np.float32)

    def body(flag: Any, data: Any, out: Any) -> None:
        cl.store_relaxed(data, me(), 1.5)
        cl.store_release(flag, 0, 1)
        out[me()] = cl.load_relaxed(data, me()) + cl.load_acquire(flag, 0).to(f32)
        cl.store_volatile(data, me(), cl.load_volatile(data.at(me()), dtype=f32) * 2)
        cl.prefetch(data, 0)

    run(body, flag, data, out)
    assert (out == 2.5).all() and (data == 3).all()


WRONG: list[tuple[Callable[[Any], Any], str]] = [
    (lambda a: cl.atomic_add(a, 0, cl.thread_idx.x), "f32 is needed here, not i32"),
    (lambda a: cl.atomic_and(a, 0, 1.0), "atom and takes i32, u32, i64, u64, not f32"),
    (lambda a: cl.atomic_add(a.at(0), None, 1.0), "a pointer has no element type"),
    (lambda a: cl.atomic_add(a.at(0), 0, a[0]), "a pointer takes no index"),
    (lambda a: cl.atomic_add(3, 0, a[0]), "a tensor or a pointer is needed here"),  # type: ignore[arg-type]
    (lambda a: cl.load_acquire(a.at(0)), "a pointer has no element type"),
    (lambda a: a.load(0, cache="foo"), "'foo' is none of ca, cg"),
    (lambda a: a.tile((4,), 0).load(cache="cg"), "hints such as 'cg' are for one element"),
    (lambda a: cl.load_acquire(a, 0, dtype=cl.u64), "the tensor holds f32"),
    (lambda a: cl.atomic_add(cl.make_rmem_tensor(f32, (4,)), 0, 1.0), "registers belong to one thread"),  # type: ignore[arg-type]
    (lambda a: cl.barrier_sync(16), "`id` of .* is 16, but must be 0 to 15"),
    (lambda a: cl.barrier_arrive(1, 33), "a multiple of 32 threads up to 1024, not 33"),
    (lambda a: cl.barrier_arrive(1, 0), "needs the number of threads"),
    (lambda a: cl.fence("block"), "`scope` of fence is 'block', but must be 'cta', 'cluster', 'gpu' or 'sys'"),  # type: ignore[arg-type]
    (lambda a: cl.shuffle(a[0], 0, width=5), "`width` of .* is 5, but must be 1, 2, 4, 8, 16 or 32"),
]


@pytest.mark.parametrize(("body", "message"), WRONG, ids=[m[:30] for _, m in WRONG])
def test_mistakes_are_named(body: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        simulate(body, np.zeros(4, np.float32))
