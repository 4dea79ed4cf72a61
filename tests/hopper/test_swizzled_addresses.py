"""Instructions that take an address, given tiles and elements of swizzled shared memory: what lies there is theirs."""

from io import StringIO
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, bf16, f16, i32, passes, sim, u16, u32
from cutelite.ir.function import Value
from cutelite.ir.types import i32 as INT
from cutelite.layout import Dim, composition
from cutelite.ops.arith import Add, And, Const, FloorDiv, Mod, Mul, Shl
from cutelite.ops.congruence import known
from cutelite.sim import SimError
from cutelite.target import Target
from tests.mutate.launches import first_launch
from tests.pieces import barriers
from tests.places import Place

SWIZZLES = {"32B": cl.Swizzle(1, 4, 3), "64B": cl.Swizzle(2, 4, 3), "128B": cl.Swizzle(3, 4, 3), "none": None}
t16: Any = f16
t32: Any = u32
ROWS = np.arange(16 * 64, dtype=np.uint16).reshape(16, 64)


def agree(launch: Any, *arguments: Any) -> None:
    """Run what the frontend made, and then what the passes made of it: the results are the same."""
    arrays = [x for x in arguments if isinstance(x, np.ndarray)]
    before = [x.copy() for x in arrays]
    launch(*arguments)
    wanted = [x.copy() for x in arrays]
    for x, y in zip(arrays, before, strict=True):
        x[...] = y
    made = first_launch(lambda: launch(*arguments))
    final = passes.run(passes.PIPELINE, made.function, passes.Context(Target.parse("sm_90a")))
    sim.run(final, made.grid, made.args, dims=made.dims, stdout=StringIO())
    for x, y in zip(arrays, wanted, strict=True):
        assert (x == y).all()


@cl.kernel(block=32)
def reversed_between(
    x: Tensor[t32, (96,)], y: Tensor[t32, (96,)], near: Tensor[u32, (8,)], how: cl.Constexpr[Any]
) -> None:
    """Reverse numbers by way of a swizzled tensor between two others."""
    before, t, behind = cl.shared(u32, (4,)), cl.shared(u32, cl.composition(how, cl.Layout(96))), cl.shared(u32, (4,))
    me = cl.thread_idx.x
    if me < 4:
        before[me], behind[me] = me.to(u32), me.to(u32) + 4
    for i in cl.static_range(3):
        t[32 * i + me] = x[32 * i + me]
    cl.syncthreads()
    for i in cl.static_range(3):
        y[32 * i + me] = t[95 - 32 * i - me]
    if me < 4:
        near[me], near[4 + me] = before[me], behind[me]


@pytest.mark.parametrize("how", [(2, 0, -3), (3, 1, -4), (5, 0, 5), (0, 2, -4)])
def test_any_swizzle_keeps_to_its_memory(how: tuple[int, int, int]) -> None:
    x, y, near = np.arange(96, dtype=np.uint32), np.zeros(96, np.uint32), np.zeros(8, np.uint32)
    agree(lambda *args: reversed_between[1, 32](*args, cl.Swizzle(*how)), x, y, near)
    assert (y == x[::-1]).all() and (near == np.arange(8)).all()


@pytest.mark.parametrize("how", ["shared", "recast", "view"])
def test_a_swizzle_that_takes_elements_apart_is_refused(how: str) -> None:
    @cl.kernel(block=32)
    def kernel(x: Tensor[f16, (8,)]) -> None:
        if how == "shared":
            cl.shared(u32, (64,), swizzle=cl.Swizzle(2, 1, 4))
        t = cl.shared(f16, cl.composition(cl.Swizzle(2, 0, 4), cl.Layout(64)))
        if how == "recast":
            t.recast(u32)
        t.view(cl.Layout(32), u32)

    with pytest.raises(
        cl.CompileError, match=r"S<2,1,4> of byte addresses takes the 4 bytes of a u32 apart(.|\n)*3, 4\)"
    ):
        kernel[1](np.zeros(8, np.float16))


@cl.kernel(block=32)
def chunks(
    src: Tensor[u16, (16, 64)],
    out: Tensor[u16, (16, 64)],
    memory: cl.Constexpr[Any],
    bytes: cl.Constexpr[Any],
    how: cl.Constexpr[str],
) -> None:
    """Every chunk of `bytes` bytes by cp.async, then every element by itself."""
    t = memory()
    n = bytes // 2
    each = 64 // n
    if how in ("tile", "at"):
        for i in range(cl.thread_idx.x, 16 * each, 32):
            r, c = i // each, i % each
            if how == "tile":
                cl.cp_async(t.tile((1, n), (r, c)), src.tile((1, n), (r, c)), bytes)
            else:
                cl.cp_async(t.at(r, c * n), src.at(r, c * n), bytes)
    elif cl.thread_idx.x == 0:
        for r in cl.static_range(16):
            for c in cl.static_range(each):
                if how == "static tile":
                    cl.cp_async(t.tile((1, n), (r, c)), src.tile((1, n), (r, c)), bytes)
                elif how == "static at":
                    cl.cp_async(t.at(r, c * n), src.at(r, c * n), bytes)
                else:
                    cl.cp_async(t[r, None].tile(n, c), src[r, None].tile(n, c), bytes)
    cl.cp_async_wait_all()
    cl.syncthreads()
    for i in range(cl.thread_idx.x, 16 * 64, 32):
        out[i // 64, i % 64] = t[i // 64, i % 64]


def swizzled(swizzle: Any) -> Any:
    return lambda: cl.shared(u16, (16, 64), swizzle=swizzle)


def composed() -> Any:
    """As CuTe writes it: a swizzle of element offsets, composed with a layout whose modes nest."""
    return cl.shared(u16, composition(cl.Swizzle(3, 3, 3), cl.Layout(((8, 2), (32, 2)), ((64, 512), (1, 32)))))


def far_apart() -> Any:
    """A swizzle that keeps 4 bytes together."""
    return cl.shared(u16, (16, 64), swizzle=cl.Swizzle(3, 2, 4))


MEMORY = {**{name: swizzled(s) for name, s in SWIZZLES.items()}, "composed": composed}


@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("how", ["tile", "at", "static tile", "static at", "rows"])
def test_copies_reach_every_chunk(memory: str, how: str) -> None:
    for bytes in (16, 8, 4) if how in ("tile", "at") else (16,):
        out = np.zeros_like(ROWS)
        agree(chunks[1, 32], ROWS.copy(), out, MEMORY[memory], bytes, how)
        assert (out == ROWS).all()


def test_what_a_swizzle_tears_apart_is_refused() -> None:
    out = np.zeros_like(ROWS)
    chunks[1, 32](ROWS.copy(), out, far_apart, 4, "tile")
    assert (out == ROWS).all()
    for how in ("tile", "at", "static tile"):
        with pytest.raises(cl.CompileError, match=r"S<3,2,4> keeps 4 bytes together") as refusal:
            chunks[1, 32](ROWS.copy(), out, far_apart, 8, how)
        assert "cl.cp_async(t." in str(refusal.value)


@cl.kernel(block=32)
def hopes(src: Tensor[u16, (16, 64)], start: i32, swizzle: cl.Constexpr[Any], how: cl.Constexpr[str]) -> None:
    t = cl.shared(u16, (16, 64), swizzle=swizzle)
    if how == "unknown":
        cl.cp_async(t.at(start, start), src.at(0, start), 16)
    elif how == "odd":
        cl.cp_async(t.at(start, 2 * start + 1), src.at(0, 0), 4)
    elif how == "known":
        cl.cp_async(t.at(0, 4), src.at(0, 0), 16)
    elif how == "column":
        padded = cl.make_tensor(t.ptr, cl.Layout((8, 64), (66, 1)), u16)
        cl.cp_async(padded.at(start, 0), src.at(0, 0), 16)
    elif how == "source":
        cl.cp_async(t.at(0, 0), src.at(start, start), 16, src_bytes=4)
    else:
        cl.ldmatrix(t.at(cl.thread_idx.x % 16, start), 1)


@pytest.mark.parametrize("swizzle", [None, cl.Swizzle(3, 4, 3)], ids=["plain", "swizzled"])
def test_an_index_of_which_nothing_is_known_is_trusted_and_checked(swizzle: Any) -> None:
    hopes[1, 32](ROWS.copy(), 8, swizzle, "unknown")
    for how, said in (("unknown", "`dst` of cp.async is at"), ("source", "`src` of cp.async is at")):
        with pytest.raises(SimError, match=f"{said} an address that is no multiple of 16"):
            hopes[1, 32](ROWS.copy(), 2, swizzle, how)
    with pytest.raises(SimError, match="an access of 16 bytes at an address that is no multiple of 16"):
        hopes[1, 32](ROWS.copy(), 4, swizzle, "matrix")


@pytest.mark.parametrize("how", ["odd", "known", "column"])
def test_what_is_known_not_to_be_aligned_is_refused(how: str) -> None:
    for swizzle in (None, cl.Swizzle(3, 4, 3)):
        with pytest.raises(cl.CompileError, match=r"`dst` of cp.async must be a multiple of (4|16) bytes"):
            hopes[1, 32](ROWS.copy(), 0, swizzle, how)


@cl.kernel(block=32)
def matrices(
    src: Tensor[f16, (16, 64)], out: Tensor[f16, (16, 64)], swizzle: cl.Constexpr[Any], tiled: cl.Constexpr[bool]
) -> None:
    """Every 8 x 8 matrix out of one swizzled tile and into another."""
    a, b = cl.shared(f16, (16, 64), swizzle=swizzle), cl.shared(f16, (16, 64), swizzle=swizzle)
    lane = cl.thread_idx.x
    for i in range(lane, 16 * 64, 32):
        a[i // 64, i % 64] = src[i // 64, i % 64]
    cl.syncwarp()
    for m in range(4):
        row, column = lane % 8 + 8 * (lane // 8 % 2), 2 * m + lane // 16
        if tiled:
            held = cl.ldmatrix(a.tile((1, 8), (row, column)))
            cl.stmatrix(b.tile((1, 8), (row, column)), held)
        else:
            held = cl.ldmatrix(a.at(row, column * 8), dtype=t16)
            cl.stmatrix(b.at(row, column * 8), held)
    cl.syncwarp()
    for i in range(lane, 16 * 64, 32):
        out[i // 64, i % 64] = b[i // 64, i % 64]


@pytest.mark.parametrize("swizzle", SWIZZLES)
def test_matrices_find_their_rows(swizzle: str) -> None:
    source = ROWS.astype(np.float16)
    for tiled in (True, False):
        out = np.zeros_like(source)
        agree(matrices[1, 32], source.copy(), out, SWIZZLES[swizzle], tiled)
        assert (out == source).all()


@cl.kernel(block=32, cluster=2)
def remote(out: Tensor[u32, (2, 8, 32)], swizzle: cl.Constexpr[Any], how: cl.Constexpr[str]) -> None:
    """Each block fills the other's tile, 16 bytes at a time or all at once, and adds one to each element."""
    t, bar = cl.shared(u32, (8, 32), swizzle=swizzle, align=1024), cl.shared(cl.mbarrier, (1,))
    mine = cl.shared(u32, (8, 32), swizzle=swizzle, align=1024)
    lane, rank = cl.thread_idx.x, cl.block_rank_in_cluster()
    for i in range(lane, 256, 32):
        t[i // 32, i % 32] = cl.u32(0)
        mine[i // 32, i % 32] = cl.u32(1000 * rank + i)
    if lane == 0:
        bar[0].init(1)
        cl.fence_mbarrier_init()
        bar[0].arrive_expect_tx(2048 if how != "whole" else 1024)
    cl.fence_proxy_async()
    cl.cluster_sync()
    there, bell = cl.mapa(t, 1 - rank), cl.mapa(bar[0], 1 - rank)
    if how == "whole":
        if lane == 0:
            cl.cp_async_bulk(there, mine, mine.nbytes, barrier=bell)
    else:
        for i in range(lane, 64, 32):
            r, c = i // 8, i % 8
            if how == "bulk":
                cl.cp_async_bulk(there.tile((1, 4), (r, c)), mine.at(r, c * 4), 16, barrier=bell)
            else:
                four = mine.tile((1, 4), (r, c)).load()
                cl.st_async(there.tile((1, 4), (r, c)) if how == "tile" else there.at(r, c * 4), four, bell)
        for i in range(lane, 256, 32):
            place = cl.mapa(t.tile((1, 1), (i // 32, i % 32)), 1 - rank)
            cl.red_async(place, cl.u32(1), bell)
    bar[0].wait(0, cluster=True)
    for i in range(lane, 256, 32):
        out[rank, i // 32, i % 32] = t[i // 32, i % 32]
    cl.cluster_sync()


@pytest.mark.parametrize("how", ["tile", "at", "bulk", "whole"])
def test_other_blocks_are_reached_at_every_place(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_SIM_SEED", "0")
    for swizzle in SWIZZLES.values():
        out = np.zeros((2, 8, 32), np.uint32)
        agree(remote[2, 32], out, swizzle, how)
        wanted = 1000 * np.arange(2)[::-1, None] + np.arange(256)
        more = out.reshape(2, 256) - wanted
        assert set(more.ravel()) <= ({0} if how == "whole" else {0, 1})  # stores and additions come in any order


@cl.kernel(block=32)
def bulk(
    src: Tensor[u16, (16, 64)],
    out: Tensor[u16, (16, 64)],
    total: Tensor[u32, (16, 32)],
    swizzle: cl.Constexpr[Any],
    how: cl.Constexpr[str],
) -> None:
    t, bar = cl.shared(u16, (16, 64), swizzle=swizzle, align=1024), barriers(1)
    if cl.thread_idx.x == 0:
        bar[0].arrive_expect_tx(t.nbytes if how != "row" else 64 * 2)
        if how == "chunks":
            for i in range(128):
                r, c = i // 8, i % 8
                cl.cp_async_bulk(t.tile((1, 8), (r, c)), src.tile((1, 8), (r, c)), 16, barrier=bar[0])
        else:  # row 8 begins a block of the swizzle, which leaves it as it is
            cl.cp_async_bulk(t[8, None], src[8, None], 128, barrier=bar[0])
        bar[0].wait(0)
        for i in range(128) if how == "chunks" else range(64, 72):
            r, c = i // 8, i % 8
            cl.cp_async_bulk(out.at(r, c * 8), t.at(r, c * 8), 16)
            cl.cp_reduce_async_bulk(total.at(r, c * 4), t.tile((1, 8), (r, c)), 16, "add", dtype=t32)
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)


@pytest.mark.parametrize("how", ["chunks", "row"])
def test_bulk_copies_of_what_a_swizzle_keeps_together(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_SIM_SEED", "0")
    for swizzle in SWIZZLES.values():
        out, total = np.zeros_like(ROWS), np.zeros((16, 32), np.uint32)
        agree(bulk[1, 32], ROWS.copy(), out, total, swizzle, how)
        rows = slice(None) if how == "chunks" else slice(8, 9)
        assert (out[rows] == ROWS[rows]).all()
        assert (total[rows] == ROWS.view(np.uint32)[rows]).all()


@cl.kernel(block=32)
def longer(src: Tensor[u16, (16, 64)], swizzle: cl.Constexpr[Any], row: cl.Constexpr[Any], n: i32) -> None:
    """More bytes at once: a row, known or not, all of it, or a number known at run time only."""
    t, bar = cl.shared(u16, (16, 64), swizzle=swizzle, align=1024), barriers(1)
    if cl.thread_idx.x == 0:
        bar[0].arrive_expect_tx(t.nbytes if row == "all" else 128)
        if row == "all":
            cl.cp_async_bulk(t, src, t.nbytes, barrier=bar[0])
        elif row == "some":
            cl.cp_async_bulk(t[0, None], src[0, None], n * 16, barrier=bar[0])
        else:
            r = n if row == "any" else row
            cl.cp_async_bulk(t.at(r, 0), src[r, None], 128, barrier=bar[0])
        bar[0].wait(0)


@pytest.mark.parametrize("row", [1, "any", "all", "some"])
def test_bulk_copies_of_more_are_refused(row: Any) -> None:
    longer[1, 32](ROWS.copy(), None, row, 8)
    for name in ("32B", "128B"):
        with pytest.raises(cl.CompileError, match="keeps 16 bytes together") as refusal:
            longer[1, 32](ROWS.copy(), SWIZZLES[name], row, 8)
        assert "cl.cp_async_bulk(" in str(refusal.value)


@cl.kernel(block=32)
def adds(out: Tensor[u32, (8, 32)], swizzle: cl.Constexpr[Any]) -> None:
    """Atomics by tile, by pointer and by index, and pairs of bf16 by vector."""
    t = cl.shared(u32, (8, 32), swizzle=swizzle)
    halves = cl.make_rmem_tensor(bf16, (2,))
    halves[0], halves[1] = cl.bf16(1), cl.bf16(2)
    pairs = t.recast(bf16)
    for i in range(cl.thread_idx.x, 256, 32):
        t[i // 32, i % 32] = cl.u32(0)
    cl.syncwarp()
    for i in range(cl.thread_idx.x, 128, 32):
        r, c = i // 32, i % 32
        cl.atomic_add(t.tile((1, 1), (r, c)), None, cl.u32(1))
        cl.atomic_add(t.at(r, c), None, cl.u32(10))
        cl.atomic_add(t, (r, c), 100)
        cl.atomic_add(pairs.tile((1, 2), (r + 4, c)), None, halves.load())
    cl.syncwarp()
    for i in range(cl.thread_idx.x, 256, 32):
        out[i // 32, i % 32] = t[i // 32, i % 32]


def test_atomics_find_their_places() -> None:
    for swizzle in SWIZZLES.values():
        out = np.zeros((8, 32), np.uint32)
        agree(adds[1, 32], out, swizzle)
        assert (out[:4] == 111).all()
        assert (out[4:] == 0x4000_3F80).all()


def test_what_is_known_of_an_index() -> None:
    i = Value(INT, None)

    def made(op: Any) -> Value:
        return Value(INT, op)

    def number(n: int) -> Value:
        return made(Const(n, INT))

    eight = made(Mul(i, number(8)))
    cases = [
        (number(12), (12, 0)),
        (i, (0, 1)),
        (made(Add(eight, number(3))), (3, 8)),
        (made(FloorDiv(made(Mul(i, number(24))), number(3))), (0, 8)),
        (made(Mod(made(Add(eight, number(5))), number(4))), (1, 0)),
        (made(Mod(eight, number(12))), (0, 4)),
        (made(And(i, number(-16))), (0, 16)),
        (made(Shl(made(Add(eight, number(1))), number(1))), (2, 16)),
    ]
    for value, wanted in cases:
        found = known(value)
        assert (found.rest, found.modulus) == wanted
    assert known(Dim("K", divisible_by=8) * 2).divisor == 16


def test_schedules_agree(scheduled: Place) -> None:
    out = np.zeros_like(ROWS)
    scheduled(chunks[1, 32], ROWS.copy(), out, MEMORY["128B"], 16, "at")
    assert (out == ROWS).all()
