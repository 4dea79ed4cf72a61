"""Random traffic of tensor memory, against a model of it in NumPy that is written apart from the tables of the ops."""

import random
from itertools import groupby
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Layout, Tensor, u32
from cutelite.ops.swizzles import SWIZZLES
from tests.hopper.test_wgmma import k_major

COLUMNS, STEPS = 64, 12
WORD: Any = u32
BF16: Any = cl.bf16
F32: Any = cl.f32


def cell(shape: str, thread: int, register: int) -> tuple[int, int]:
    """The lane and column of a register, one repeat after the other (PTX ISA, figures of tcgen05.ld)."""
    quad, place = divmod(thread, 4)
    if shape == "32x32b":
        return thread, register
    if shape == "16x64b":
        return quad + (8 if place in (1, 3) else 0), 2 * register + (1 if place >= 2 else 0)
    if shape == "16x128b":
        repeat, half = divmod(register, 2)
        return quad + 8 * half, 4 * repeat + place
    repeat, within = divmod(register, 4)
    return quad + (8 if within >= 2 else 0), 8 * repeat + 2 * place + within % 2


ENGINE = ("copy", "shift", "multiply")
N = 16  # columns of a product


PER_COLUMN = {"32x32b": (1, 1), "16x64b": (1, 2), "16x128b": (2, 4), "16x256b": (4, 8)}


def programs(seed: int) -> list[tuple[Any, Any, int, int, int]]:
    """What, shape, repeats, first column, upper or lower lanes of a warp; of the engine, a number for repeats.

    Stores and loads are of all warps; copies from shared memory, shifts of the lanes of one warp and products are of
    one thread, in order, without waiting in between.
    """
    draw = random.Random(seed)
    found = []
    for _ in range(STEPS):
        shape = draw.choice(list(PER_COLUMN))
        repeats = draw.choice([1, 2, 4])
        width = PER_COLUMN[shape][1] * repeats
        half = 0 if shape == "32x32b" else draw.choice([0, 16])
        what = draw.choice(["store", "load", *ENGINE])
        if what in ENGINE:
            width, number = N if what == "multiply" else 8, draw.randrange(1, 5)
            found.append((what, "", number, draw.randrange(0, COLUMNS - width + 1), draw.randrange(4)))
        else:
            found.append((what, shape, repeats, draw.randrange(0, COLUMNS - width + 1), half))
    return found


class Engine:
    """What one thread starts: copies of (lane, column) numbers, shifts, and products of small whole ones."""

    def __init__(self, slot: Any) -> None:
        self.slot, self.waited = slot, 0
        self.tile = cl.shared(u32, k_major(128, 8, "none", 4), align=1024)
        self.left = cl.shared(BF16, k_major(128, 16, "32B", 2), swizzle=SWIZZLES["32B"], align=1024)
        self.right = cl.shared(BF16, k_major(N, 16, "32B", 2), swizzle=SWIZZLES["32B"], align=1024)
        self.done = cl.shared(cl.mbarrier, (1,))
        t = cl.thread_idx.x
        if t == 0:
            self.done[0].init(1)
            cl.fence_mbarrier_init()
        for i in cl.static_range(8):
            self.tile[t, i] = cl.u32(t * 8 + i)
        for i in cl.static_range(16):
            self.left[t, i] = cl.bf16(t % 8 - i)
            if t < N:
                self.right[t, i] = cl.bf16(t - 3 * i)
        cl.fence_proxy_async("shared::cta")
        cl.syncthreads()

    def at(self, column: int, lane: int, layout: Any, dtype: Any = u32) -> Any:
        return cl.tcgen05.tensor(self.slot + cl.u32(column | lane << 16), layout, dtype)

    def start(self, what: str, number: int, column: int, warp: int) -> None:
        rows = Layout((128, 8), (1 << 16, 1))
        if what == "copy":
            cl.tcgen05.copy(self.at(column, 0, rows), self.tile)
        elif what == "shift":
            cl.tcgen05.shift(self.at(column, 32 * warp, Layout((32, 8), (1 << 16, 1))))
        else:
            d = self.at(column, 0, cl.tcgen05.accumulator(128, N), F32)
            for i in range(number):
                cl.tcgen05.mma(d, self.left, self.right, accumulate=i > 0)

    def run(self, steps: Any) -> None:
        """Start all of them, and have all threads wait for their end."""
        cl.tcgen05.fence_before_thread_sync()
        cl.syncthreads()
        if cl.thread_idx.x == 0:
            cl.tcgen05.fence_after_thread_sync()
            for what, _, number, column, warp in steps:
                self.start(what, number, column, warp)
            cl.tcgen05.commit(self.done[0])
        self.done[0].wait(self.waited % 2)
        self.waited += 1
        cl.tcgen05.fence_after_thread_sync()


def done_by_engine(model: Any, what: str, number: int, column: int, warp: int) -> None:
    """The same of the model."""
    if what == "copy":
        model[:, column : column + 8] = np.arange(1024).reshape(128, 8)
    elif what == "shift":
        part = model[32 * warp : 32 * warp + 32, column : column + 8]
        part[1:] = part[:-1].copy()
    else:
        left = np.arange(128)[:, None] % 8 - np.arange(16)[None, :]
        right = np.arange(N)[:, None] - 3 * np.arange(16)[None, :]
        model[:, column : column + N] = (number * (left @ right.T)).astype(np.float32).view(np.uint32)


@pytest.mark.usefixtures("on_cards")
@pytest.mark.parametrize("seed", range(4))
def test_traffic_is_that_of_the_model(seed: int) -> None:
    program, words = programs(seed), 16
    groups = [(is_engine, list(steps)) for is_engine, steps in groupby(enumerate(program), lambda s: s[1][0] in ENGINE)]

    @cl.kernel(block=128, arch="sm_100a")
    def kernel(out: Tensor[u32, (STEPS, 128, words)], memory: Tensor[u32, (128, COLUMNS)]) -> None:
        t = cl.thread_idx.x
        tmem = cl.TmemAllocator.create(COLUMNS)
        whole = tmem.view(cl.tcgen05.lanes_layout(128, COLUMNS), WORD)
        engine = Engine(tmem.slot[0])
        cl.tcgen05.store(whole, cl.vector(*(t * COLUMNS + j for j in range(COLUMNS)), dtype=u32))
        cl.tcgen05.wait_store()
        for is_engine, steps in groups:
            if is_engine:
                engine.run([how for _, how in steps])
                continue
            for step, (what, shape, repeats, column, half) in steps:
                count, width = PER_COLUMN[shape][0] * repeats, PER_COLUMN[shape][1] * repeats
                rows = 32 if shape == "32x32b" else 16
                first = tmem.slot[0] + cl.u32(column) + (cl.u32(t // 32 * 32 + half) << 16)
                lanes = cl.tcgen05.tensor(first, Layout((rows, width), (1 << 16, 1)), WORD)
                if what == "store":
                    given = cl.vector(*((step + 1) * 100000 + t * words + i for i in range(count)), dtype=u32)
                    cl.tcgen05.store(lanes, given, shape)
                    cl.tcgen05.wait_store()
                else:
                    held = cl.tcgen05.wait_load(cl.tcgen05.load(lanes, shape))
                    for i in cl.static_range(count):
                        out[step, t, i] = held[i]
        rest = cl.tcgen05.wait_load(cl.tcgen05.load(whole))
        for j in cl.static_range(COLUMNS):
            memory[t, j] = rest[j]
        tmem.free()

    out, memory = np.zeros((STEPS, 128, words), np.uint32), np.zeros((128, COLUMNS), np.uint32)
    kernel[1, 128](out, memory)
    model: Any = np.arange(128 * COLUMNS, dtype=np.uint32).reshape(128, COLUMNS)
    want = np.zeros_like(out)
    for step, (what, shape, repeats, column, half) in enumerate(program):
        if what in ENGINE:
            done_by_engine(model, what, repeats, column, half)
            continue
        for t in range(128):
            for i in range(PER_COLUMN[shape][0] * repeats):
                lane, at = cell(shape, t % 32, i)
                place = t // 32 * 32 + half + lane, column + at
                if what == "store":
                    model[place] = (step + 1) * 100000 + t * words + i
                else:
                    want[step, t, i] = model[place]
    np.testing.assert_array_equal(out, want)
    np.testing.assert_array_equal(memory, model)
    if seed == 0:
        report = kernel.check(1, 128, out, memory, seeds=1, notes=False)
        assert not report.findings, str(report)
