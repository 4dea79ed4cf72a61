"""Random traffic of tensor memory, against a model of it in NumPy that is written apart from the tables of the ops."""

import random
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Layout, Tensor, u32

COLUMNS, STEPS = 64, 12
WORD: Any = u32


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


PER_COLUMN = {"32x32b": (1, 1), "16x64b": (1, 2), "16x128b": (2, 4), "16x256b": (4, 8)}


def programs(seed: int) -> list[tuple[Any, Any, int, int, int]]:
    """Stores and loads: what, shape, repeats, first column, upper or lower lanes of a warp."""
    draw = random.Random(seed)
    found = []
    for _ in range(STEPS):
        shape = draw.choice(list(PER_COLUMN))
        repeats = draw.choice([1, 2, 4])
        width = PER_COLUMN[shape][1] * repeats
        half = 0 if shape == "32x32b" else draw.choice([0, 16])
        found.append((draw.choice(["store", "load"]), shape, repeats, draw.randrange(0, COLUMNS - width + 1), half))
    return found


@pytest.mark.usefixtures("on_cards")
@pytest.mark.parametrize("seed", range(6))
def test_stores_and_loads_are_those_of_the_model(seed: int) -> None:
    program, words = programs(seed), 16

    @cl.kernel(block=128, arch="sm_100a")
    def kernel(out: Tensor[u32, (STEPS, 128, words)], memory: Tensor[u32, (128, COLUMNS)]) -> None:
        t = cl.thread_idx.x
        tmem = cl.TmemAllocator.create(COLUMNS)
        whole = tmem.view(cl.tcgen05.lanes_layout(128, COLUMNS), WORD)
        cl.tcgen05.store(whole, cl.vector(*(t * COLUMNS + j for j in range(COLUMNS)), dtype=u32))
        cl.tcgen05.wait_store()
        for step, (what, shape, repeats, column, half) in enumerate(program):
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
