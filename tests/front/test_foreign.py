"""Names that CUDA C++, CuTe DSL and others have are answered with the name here."""

from __future__ import annotations

import ast
import keyword
import re
from typing import Any

import pytest

import cutelite as cl
from cutelite.lang.foreign import NAMES
from tests.front.lines import refusal

ANSWERS = {
    "cl.threadIdx.x": "`thread_idx`",
    "cl.__syncthreads()": "`syncthreads`",
    "cl.atomicAdd(a, 0, x)": "`atomic_add`",
    "cl.__shfl_down_sync(-1, x, 1)": "`shuffle_down`",
    "cl.any_sync(n > 0)": "`cl.vote_any(x)`",
    "cl.Float32(n)": "`cl.f32`",
    "cl.BFloat16(n)": "`cl.bf16`",
    "cl.mbarrier_init(o, 1)": "did you mean `init`?",
    "cl.exp(x)": "`cl.math.exp`",
    "cl.max(x, 0.0)": "Python's `max`",
    "cl.fmaxf(x, 0.0)": "Python's `max`",
    "cl.__expf(x)": "`cl.math.exp`",
    "cl.grid_sync()": "`cl.store_release`",
    "cl.load(o)": "`t[i]`",
    "cl.jit(n)": "`@cl.kernel`",
    "cl.Vec(n)": "`cl.vector(a, b)`",
    "cl.sigmoid(x)": "`1 / (1 + cl.math.exp(-x))`",
    "cl.static_assert(n > 1)": "write `assert`",
    "__float_as_int(x)": "`cl.bitcast(x, dtype)`",
    "cl.shared.array(4, cl.f32)": "`cl.shared(dtype, shape)`",
    "cl.atomic.add(o, 0, x)": "`cl.atomic_add(t, i, x)`",
    "a.numel()": "`t.size`",
    "a.size(0)": "leave out the parentheses",
    "a(0)": "its elements are in brackets: `x[i]`",
    "cl.math(x)": "help: call a function of it",
    "cl.uint8_t(n)": "write `cl.u8`",
    "cl.unsigned(n)": "write `cl.u32`",
    "cl.i23(n)": "did you mean `i32`?",
    "cl.softmax(x)": "write a kernel by `cl.Team`",
    "a.iterator": "`t.ptr`",
    "cl.utils.SmemAllocator()": "`cl.StaticPersistentTileScheduler`",
    "a.T[0]": "cl.select(t, mode=[1, 0])",
    "a.sum()": "cl.block_reduce(x)",
    "a + 1": "`t.load()` of a tile",
    "blockIdx.x": "`cl.block_idx`",
    "__syncthreads()": "`cl.syncthreads`",
    "sqrtf(x)": "`cl.math.sqrt`",
    "__shfl_xor_sync(-1, x, 1)": "`cl.shuffle_xor`",
    "cl.make_tiled_tma_atom(a)": "a parameter `a: cl.TmaTensor[dtype, shape, tile]`",
    "cl.arch.cluster_arrive_relaxed()": "`cl.syncthreads()`",
    "cl.cluster_arrive_relaxed()": "`cl.cluster_arrive(relaxed=True)`",
    "cl.LayoutEnum.ROW_MAJOR": "write nothing: `cl.make_tiled_mma` finds it from the layouts",
    "cl.tex2D(o, 0, 0)": "a copy by TMA, which fills beyond the bounds",
}


@pytest.mark.parametrize("line", ANSWERS)
def test_the_name_here_is_told(line: str) -> None:
    assert ANSWERS[line] in str(refusal(line))


def test_answers_mark_code_alone_as_code() -> None:
    for answer in {*NAMES.values()}:
        if "`" in answer:
            assert "cl." not in "".join(answer.split("`")[::2])
        else:
            assert keyword.iskeyword(answer) or ast.parse(answer, mode="eval")  # all of it is quoted as code


def test_a_name_like_no_other_gets_no_guess() -> None:
    for line in ("cl.lerp(x, x)", "cl.xor_sum(o)", "x.foo", "a.ptr[0]"):
        assert "help" not in str(refusal(line))


def test_the_name_here_is_told_outside_of_kernels() -> None:
    with pytest.raises(AttributeError) as raised:
        _ = cl.Int32  # type: ignore[attr-defined]
    assert raised.value.__notes__ == ["help: write `cl.i32`"]


def test_answers_name_what_there_is() -> None:
    for answer in NAMES.values():
        for word in re.findall(r"cl\.(\w+(?:\.\w+)?)", answer):
            held: Any = cl
            for part in word.split("."):
                if type(held).__name__ != "Axes":
                    held = getattr(held, part)
    assert not any(name in dir(cl) for name in NAMES)
