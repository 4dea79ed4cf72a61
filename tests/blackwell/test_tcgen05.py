"""Products into tensor memory and transfers to and from it, in the simulator against NumPy; and mistakes.

Operands are small integers, so that results are exact.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, Layout, SimError, Tensor, bf16, f32, i32, u32
from cutelite.lang.attempt import attempt
from cutelite.ops.swizzles import SWIZZLES
from cutelite.ops.tcgen05_layouts import accumulator_cells, cells
from tests.blackwell.pieces import finished, integers, product, write
from tests.hopper.test_wgmma import DTYPES, k_major
from tests.pieces import barriers

A = TypeVar("A", bound=Any)
D = TypeVar("D", bound=Any)


@pytest.mark.parametrize(
    ("m", "n", "k", "elem", "to", "how"),
    [
        (128, 16, 64, "bf16", "f32", {}),
        (128, 64, 32, "f16", "f32", {"swizzle": "64B", "negate_a": True}),
        (64, 8, 16, "bf16", "f32", {"swizzle": "32B"}),
        (64, 32, 128, "bf16", "f32", {}),
        (128, 32, 32, "f16", "f32", {"swizzle": "none", "collector": "fill"}),
        (128, 32, 64, "f16", "f16", {}),
        (128, 16, 32, "tf32", "f32", {}),
        (128, 32, 128, "e4m3", "f32", {}),
        (64, 16, 64, "e5m2", "f32", {"swizzle": "64B", "negate_b": True}),
        (128, 48 + 16, 64, "i8", "i32", {"swizzle": "64B"}),
        (64, 8, 32, "u8", "i32", {"swizzle": "32B"}),
        (128, 32, 64, "bf16", "f32", {"in_tmem": True}),
    ],
)
@pytest.mark.usefixtures("on_cards")
def test_products_are_those_of_numpy(m: int, n: int, k: int, elem: str, to: str, how: dict[str, Any]) -> None:
    sign = -1 if how.get("negate_a") or how.get("negate_b") else 1
    held = "f32" if elem == "tf32" else elem
    a, b = integers(held, m, k), integers(held, n, k, seed=1)
    c = np.full((m, n), 77, DTYPES[to])
    kernel = product(m, n, k, elem, to, how)
    kernel[1, 128](a, b, c)
    np.testing.assert_array_equal(c.astype(np.float64), 2 * sign * (a.astype(np.float64) @ b.astype(np.float64).T))


@pytest.mark.parametrize(("elem", "n", "swizzle"), [("bf16", 64, "128B"), ("e4m3", 128, "128B"), ("i8", 64, "64B")])
@pytest.mark.usefixtures("on_cards")
def test_operands_may_be_contiguous_along_m_and_n(elem: str, n: int, swizzle: Any) -> None:
    """Those of 8 bits too, which wgmma's may not."""
    k, to = (32, "f32") if elem == "bf16" else (64, "i32" if elem == "i8" else "f32")
    span = int(swizzle[:-1]) // getattr(cl, elem).bytes
    layouts = [Layout(((span, rows // span), k), ((1, span * k), span)) for rows in (128, n)]
    a, b, c = integers(elem, 128, k), integers(elem, n, k, seed=1), np.zeros((128, n), DTYPES[to])
    product(128, n, k, elem, to, {"swizzle": swizzle, "layouts": layouts})[1, 128](a, b, c)
    np.testing.assert_array_equal(c, 2 * (a.astype(np.float32) @ b.astype(np.float32).T))


def test_the_kernel_of_a_product_is_clean_under_all_schedules() -> None:
    a, b, c = integers("bf16", 128, 64), integers("bf16", 32, 64), np.zeros((128, 32), np.float32)
    for how in ({}, {"in_tmem": True}):
        report = product(128, 32, 64, "bf16", "f32", how).check(1, 128, a, b, c, seeds=3, notes=False)
        assert not report.findings, str(report)


@pytest.mark.usefixtures("on_cards")
def test_lanes_that_are_disabled_are_left_as_they_are() -> None:
    a, b, c = integers("bf16", 128, 16), integers("bf16", 16, 16, seed=1), np.zeros((128, 16), np.float32)
    words = (0xF0F0F0F0, 0, 0xFFFFFFFF, 1)
    product(128, 16, 16, "bf16", "f32", {"swizzle": "32B", "disable_lanes": words})[1, 128](a, b, c)
    disabled = np.array([words[row // 32] >> row % 32 & 1 for row in range(128)], bool)
    once = a.astype(np.float32) @ b.astype(np.float32).T
    np.testing.assert_array_equal(c, np.where(disabled[:, None], once, 2 * once))


# Layouts.


@pytest.mark.parametrize(
    ("m", "how", "known"),
    [
        # row, column -> block, lane, column: PTX ISA, figures of the data paths
        (128, {}, {(0, 0): (0, 0, 0), (127, 15): (0, 127, 15)}),
        (64, {"sparse": True}, {(15, 0): (0, 15, 0), (16, 0): (0, 32, 0), (63, 15): (0, 111, 15)}),
        (256, {"cta_group": 2, "sparse": True}, {(127, 0): (0, 127, 0), (128, 0): (1, 0, 0), (255, 15): (1, 127, 15)}),
        (128, {"cta_group": 2}, {(63, 7): (0, 63, 7), (0, 8): (0, 64, 0), (64, 0): (1, 0, 0), (127, 15): (1, 127, 7)}),
        (128, {"cta_group": 2, "sparse": True}, {(16, 8): (0, 32, 8), (63, 15): (0, 111, 15), (64, 0): (1, 0, 0)}),
        (128, {"ws": True}, {(127, 15): (0, 127, 15)}),
        (64, {"ws": True}, {(63, 7): (0, 63, 7), (0, 8): (0, 64, 0), (63, 15): (0, 127, 7)}),
        (32, {"ws": True}, {(31, 3): (0, 31, 3), (0, 4): (0, 32, 0), (31, 15): (0, 127, 3)}),
    ],
)  # fmt: skip
def test_an_accumulator_lies_where_the_figures_have_it(m: int, how: dict[str, Any], known: dict[Any, Any]) -> None:
    table = accumulator_cells(m, 16, **how)
    assert {at: tuple(table[at].tolist()) for at in known} == known
    assert len(np.unique(table.reshape(-1, 3), axis=0)) == 16 * m, "every element has a cell"


@pytest.mark.parametrize(
    ("shape", "repeats", "known"),
    [
        # thread, register -> lane, column: PTX ISA, figures of tcgen05.ld
        ("32x32b", 4, {(0, 0): (0, 0), (31, 3): (31, 3), (5, 2): (5, 2)}),
        ("16x64b", 2, {(0, 0): (0, 0), (1, 0): (8, 0), (2, 0): (0, 1), (3, 0): (8, 1), (31, 1): (15, 3)}),
        ("16x128b", 2, {(0, 0): (0, 0), (3, 0): (0, 3), (4, 0): (1, 0), (0, 1): (8, 0), (31, 3): (15, 7)}),
        ("16x256b", 2, {(0, 0): (0, 0), (0, 1): (0, 1), (3, 1): (0, 7), (0, 2): (8, 0), (31, 7): (15, 15)}),
        ("16x32bx2", 4, {(0, 0): (0, 0), (15, 3): (15, 3), (16, 0): (0, 0), (31, 3): (15, 3)}),
    ],
)  # fmt: skip
def test_registers_hold_the_cells_of_the_figures(shape: str, repeats: int, known: dict[Any, Any]) -> None:
    table = cells(shape, repeats)
    assert {at: tuple(table[at].tolist()) for at in known} == known
    flat = table[: 16 if shape == "16x32bx2" else 32].reshape(-1, 2)
    assert len(np.unique(flat, axis=0)) == len(flat), "every cell is in one register"


@pytest.mark.parametrize("shape", ["32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"])
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.usefixtures("on_cards")
def test_what_is_stored_is_loaded_again_and_lies_in_its_cells(shape: Any, narrow: bool) -> None:
    """Stored in one shape, loaded as rows: against the table of cells."""
    lanes = 32 if shape == "32x32b" else 16
    columns, split = 8 if narrow and shape == "16x32bx2" else 16, 16 if shape == "16x32bx2" else 0
    dtype: Any = cl.u16 if narrow else u32
    words: Any = u32
    extent = columns * 2 if split else columns
    pitch = 2 if narrow else 1
    count = columns if lanes == 32 or split else columns // 2

    @cl.kernel(block=128)
    def kernel(out: Tensor[u32, (128, 32)], again: Tensor[A, (128, count)]) -> None:
        t = cl.thread_idx.x
        tmem = cl.TmemAllocator.create(64)
        whole = tmem.view(cl.tcgen05.lanes_layout(128, 32, words), words)
        cl.tcgen05.store(whole, cl.vector(*(0 for _ in range(32)), dtype=u32))
        cl.tcgen05.wait_store()
        if lanes == 16:
            part = tmem.view(Layout(((16, 4), extent), ((pitch << 16, pitch << 21), pitch)), dtype)
        else:
            part = tmem.view(Layout((128, extent), (pitch << 16, pitch)), dtype)
        given = cl.vector(*(t * count + i + 1 for i in range(count)), dtype=dtype)
        cl.tcgen05.store(part, given, shape, narrow, split)
        cl.tcgen05.wait_store()
        back = cl.tcgen05.load(part, shape, narrow, split)
        rows = cl.tcgen05.load(whole)
        back, rows = cl.tcgen05.wait_load(back, rows)
        for i in cl.static_range(32):
            out[t, i] = rows[i]
        for i in cl.static_range(count):
            again[t, i] = back[i]
        tmem.free()

    out, again = np.zeros((128, 32), np.uint32), np.zeros((128, count), np.uint16 if narrow else np.uint32)
    kernel[1, 128](out, again)
    given = 1 + np.arange(128 * count, dtype=again.dtype).reshape(128, count)
    np.testing.assert_array_equal(again, given)
    registers = count // 2 if narrow else count
    one = cells(shape, registers // {"16x128b": 2, "16x256b": 4}.get(shape, 1))
    want = np.zeros((128, 32), np.uint32)
    for warp in range(4):
        for thread in range(32):
            for r in range(count):
                lane, column = one[thread, r // pitch]
                column = column * pitch + r % pitch + thread // 16 * split
                want[32 * warp + lane, column] = given[32 * warp + thread, r]
    np.testing.assert_array_equal(out, want)


# Mistakes.


def run(body: Callable[[Any], None], columns: int = 32) -> None:
    @cl.kernel(block=128)
    def kernel() -> None:
        tmem = cl.TmemAllocator.create(columns)
        body(tmem)
        tmem.free()

    kernel[1, 128]()


def lanes_of_others(tmem: Any) -> None:
    first = cl.tcgen05.tensor(tmem.slot[0], cl.tcgen05.lanes_layout(32, 8))
    cl.tcgen05.wait_load(cl.tcgen05.load(first))


def unwritten(tmem: Any) -> None:
    cl.tcgen05.wait_load(cl.tcgen05.load(tmem.tensor(128, 8)))


def not_allocated(tmem: Any) -> None:
    beyond = cl.tcgen05.tensor(tmem.slot[0] + 32, cl.tcgen05.lanes_layout(128, 8))
    cl.tcgen05.wait_load(cl.tcgen05.load(beyond))


def beyond_the_last_column(tmem: Any) -> None:
    beyond = cl.tcgen05.tensor(tmem.slot[0] + 508, cl.tcgen05.lanes_layout(128, 8))
    cl.tcgen05.wait_load(cl.tcgen05.load(beyond))


def freed_twice(tmem: Any) -> None:
    tmem.free()


def freed_in_part(tmem: Any) -> None:
    if cl.thread_idx.x < 32:
        cl.tcgen05.dealloc(tmem.view(cl.tcgen05.lanes_layout(1, 1)), 64)


def allocated_after_the_permit(tmem: Any) -> None:
    if cl.thread_idx.x < 32:
        cl.tcgen05.alloc(tmem.slot, 32)


def committed_by_a_warp(tmem: Any) -> None:
    done = cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        done[0].init(32)
    cl.syncthreads()
    if cl.thread_idx.x < 32:
        cl.tcgen05.commit(done[0])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lanes_of_others, "warp 1 of a warpgroup reaches lanes 32 to 63, but the address is in 0"),
        (unwritten, "never written|unwritten|uninitialised"),
        (not_allocated, "tmem memory that belongs to no tensor"),
        (beyond_the_last_column, "columns up to 515 of tensor memory"),
        (freed_twice, "nothing is allocated there"),
        (freed_in_part, "64 columns of cta_group::1 are freed, but 32 of cta_group::1 were allocated"),
        (allocated_after_the_permit, "after the permit for it was given up"),
        (committed_by_a_warp, "tcgen05.commit is for one thread"),
    ],
)
def test_what_is_wrong_is_an_error_of_the_simulator(body: Callable[[Any], None], words: str) -> None:
    with pytest.raises(SimError, match=words) as error:
        run(body)
    assert error.value.span is not None


def test_an_allocation_that_is_left_is_an_error_at_its_line() -> None:
    @cl.kernel(block=128)
    def kernel() -> None:
        cl.TmemAllocator.create(64)

    with pytest.raises(SimError, match=r"64 columns of tensor memory .* were not freed"):
        kernel[1, 128]()


def test_relinquish_alloc_permit_is_an_instruction_of_a_warp() -> None:
    @cl.kernel(block=32)
    def kernel() -> None:
        slot = cl.shared(u32, (1,))
        for _ in cl.static_range(2):  # as long as the permit is there, it allocates again and again
            cl.tcgen05.alloc(slot, 32)
            cl.syncwarp()
            cl.tcgen05.dealloc(cl.tcgen05.tensor(slot[0], cl.tcgen05.lanes_layout(1, 1)), 32)
            cl.syncwarp()
        cl.tcgen05.relinquish_alloc_permit()

    assert kernel.check(1, 32).findings == ()
    assert kernel.compile(arch="sm_100a").ptx.count("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned") == 1


def test_an_allocation_waits_for_columns_until_others_are_freed() -> None:
    @cl.kernel(block=64)
    def kernel(out: Tensor[i32, (1,)]) -> None:
        slots = cl.shared(u32, (2,))
        warp = cl.thread_idx.x // 32
        if warp == 0:
            cl.tcgen05.alloc(slots.tile((1,), (0,)), 512)
        cl.syncthreads()
        if warp == 1:
            cl.tcgen05.alloc(slots.tile((1,), (1,)), 256)
            cl.tcgen05.dealloc(cl.tcgen05.tensor(slots[1], cl.tcgen05.lanes_layout(1, 1)), 256)
        else:
            cl.tcgen05.dealloc(cl.tcgen05.tensor(slots[0], cl.tcgen05.lanes_layout(1, 1)), 512)
        if cl.thread_idx.x == 0:
            out[0] = 1

    out = np.zeros(1, np.int32)
    kernel[1, 64](out)
    assert out[0] == 1


def too_many_columns(tmem: Any) -> None:
    tmem.tensor(128, 64)


def cells_of_another(tmem: Any) -> None:
    tmem.tensor(128, 16)
    tmem.tensor(128, 16)  # the same one
    tmem.own(cl.tcgen05.lanes_layout(32, 8), column=24)
    tmem.tensor(64, 8, column=16)
    tmem.own(Layout(((16, 4), 8), ((1 << 16, 32 << 16), 1)), column=23)


def one_element(tmem: Any) -> None:
    tmem.tensor(128, 32)[0, 0] = 1.0


def read_in_flight(tmem: Any) -> None:
    part = cl.tcgen05.load(tmem.tensor(128, 32))
    part + 1.0


def of_another_shape(tmem: Any) -> None:
    cl.tcgen05.load(tmem.tensor(128, 24))


def of_shared_memory(tmem: Any) -> None:
    cl.tcgen05.load(cl.shared(f32, (128, 8)))


def no_operand(tmem: Any) -> None:
    tile = cl.shared(bf16, (128, 64))
    cl.tcgen05.mma(tmem.tensor(128, 16), tile, tmem.tensor(128, 16))


def of_other_extents(tmem: Any) -> None:
    tile = cl.shared(bf16, k_major(64, 64, "128B", 2), swizzle=SWIZZLES["128B"], align=1024)
    cl.tcgen05.mma(tmem.tensor(128, 16), tile, tile)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (too_many_columns, "is in columns 0 to 63, and 32 are allocated"),
        (cells_of_another, "of f32 from column 23 on has cells of another tensor of the allocation"),
        (one_element, "tensor memory has no loads and stores of single threads"),
        (read_in_flight, "in flight"),
        (of_another_shape, "24 elements of f32 are 24 columns: 32x32b moves 1 at a time, a power of two times"),
        (of_shared_memory, "a tensor in tensor memory is needed here"),
        (no_operand, "`b` is a tile in shared memory"),
        (of_other_extents, "A is .* and the accumulator .*: A is \\(M, K\\)"),
    ],
)
def test_what_is_wrong_is_an_error_at_its_line(body: Callable[[Any], None], words: str) -> None:
    with pytest.raises(CompileError, match=words) as error:
        run(body)
    assert error.value.span is not None


def tried(tmem: Any) -> None:
    tmem.tensor(128, 16)


def test_cells_of_a_tensor_that_is_taken_back_are_free() -> None:
    def body(tmem: Any) -> None:
        assert attempt(lambda: tried(tmem)) is None
        tmem.own(cl.tcgen05.lanes_layout(32, 8), column=8)

    run(body)


def test_hopper_has_no_tensor_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_ARCH", "sm_90a")
    with pytest.raises(CompileError, match=r"tcgen05.alloc needs a GPU with tcgen05, which sm_90a lacks"):
        run(unwritten)


def test_integers_are_multiplied_by_sm_100a_but_not_by_sm_103a() -> None:
    kernel = product(128, 16, 32, "i8", "i32", {"swizzle": "32B"})
    shapes = (np.zeros((128, 32), np.int8), np.zeros((16, 32), np.int8), np.zeros((128, 16), np.int32))
    assert "UTCIMMA" in str(kernel.compile(*shapes, arch="sm_100a").sass.text)
    with pytest.raises(CompileError, match="sm_103a lacks"):
        kernel.compile(*shapes, arch="sm_103a")


@pytest.mark.usefixtures("on_cards")
def test_an_accumulator_in_flight_is_readable_after_the_wait_for_its_commit() -> None:
    """By the warpgroup that holds it, around a loop in which products chain it."""
    layout = k_major(128, 16, "32B", 2)

    @cl.kernel(block=128)
    def kernel(c: Tensor[f32, (128, 16)], count: i32) -> None:
        a = cl.shared(bf16, layout, swizzle=SWIZZLES["32B"], align=1024)
        b = cl.shared(bf16, k_major(16, 16, "32B", 2), swizzle=SWIZZLES["32B"], align=1024)
        done, t = barriers(1), cl.thread_idx.x
        for k in cl.static_range(16):
            a[t, k] = 1.0
            b[t % 16, k] = 1.0
        cl.fence_proxy_async("shared::cta")
        tmem = cl.TmemAllocator.create(32)
        acc = tmem.tensor(128, 16)
        if t == 0:
            for i in range(count):
                acc = cl.tcgen05.mma(acc, a, b, accumulate=i > 0)
            cl.tcgen05.commit(done[0])
        acc = cl.tcgen05.wait_commit(done[0], 0, acc)
        write(c, acc)
        tmem.free()

    c = np.zeros((128, 16), np.float32)
    kernel[1, 128](c, 3)
    assert (c == 48).all()


@pytest.mark.usefixtures("on_cards")
def test_threads_feed_products_by_their_stores() -> None:
    """A of three blocks of K goes to tensor memory and B to shared memory, through two buffers of a pipeline."""
    n, bk, blocks = 8, 16, 3
    elem: Any = cl.bf16

    @cl.kernel(block=160, arch="sm_100a")
    def kernel(
        a: Tensor[cl.bf16, (128, bk * blocks)], b: Tensor[cl.bf16, (n, bk * blocks)], c: Tensor[f32, (128, n)]
    ) -> None:
        parts = cl.PipelineAsyncUmma.create(2, producers=128)
        right = cl.shared(elem, Layout((n, bk, 2), (bk, 1, n * bk)), swizzle=SWIZZLES["32B"], align=1024)
        done, t = barriers(1), cl.thread_idx.x
        tmem = cl.TmemAllocator.create(64)
        acc = tmem.tensor(128, n)
        held = [tmem.view(cl.tcgen05.lanes_layout(128, bk, elem), elem, n + 8 * i) for i in range(2)]
        if t < 128:
            state = parts.producer_state()
            for i in cl.static_range(blocks):
                parts.producer_acquire(state)
                row = [a[t, i * bk + j] for j in cl.static_range(bk)]
                cl.tcgen05.store(held[i % 2], cl.vector(*row, dtype=elem))
                for j in range(t, n * bk, 128):
                    right[j // bk, j % bk, i % 2] = b[j // bk, i * bk + j % bk]
                cl.tcgen05.wait_store()
                parts.producer_commit(state)
                state = state.advance()
        elif cl.elect_one():
            state = parts.consumer_state()
            for i in cl.static_range(blocks):
                parts.consumer_wait(state)
                cl.tcgen05.mma(acc, held[i % 2], right[None, None, i % 2], accumulate=i > 0)
                parts.consumer_release(state)
                state = state.advance()
            cl.tcgen05.commit(done[0])
        if t < 128:
            finished(done)
            write(c, acc)
        tmem.free()

    a, b = integers("bf16", 128, bk * blocks), integers("bf16", n, bk * blocks, seed=1)
    c = np.zeros((128, n), np.float32)
    kernel[1, 160](a, b, c)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)
    report = kernel.check(1, 160, a, b, c, seeds=2, notes=False)
    assert not report.findings, str(report)
