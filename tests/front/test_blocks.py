"""`with` and `raise` in kernels."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import CompileError, SimError, Tensor, i32

N = cl.dims("N")


class Around:
    def __init__(self, x: Any, by: int) -> None:
        self.x, self.by = x, by

    def __enter__(self) -> int:
        self.x[1] = self.x[1] * 10 + self.by
        return self.by

    def __exit__(self, *args: object) -> None:
        if self.x[1] > 0:
            self.x[2] = self.x[2] * 10 + self.by

    def __getattr__(self, name: str) -> int:
        return 0  # whatever is asked for: what only managers made of generators have is not looked for by name


@contextlib.contextmanager
def added(x: Any, n: int) -> Iterator[int]:
    x[3] = x[3] + n
    yield n * 2
    x[4] = x[4] + n


@cl.kernel(block=64)
def elects(x: Tensor[i32, (N,)]) -> None:
    with cl.elect_one():
        cl.atomic_add(x, 0, 1)
    for i in range(4):
        with cl.elect_one():
            if i != x[6]:
                cl.atomic_add(x, 1, 1)
    with cl.elect_one():
        return
    cl.atomic_add(x, 2, 1)


def test_an_elected_thread_executes_the_block() -> None:
    x = np.array([0, 0, 0, 0, 0, 0, 2, 0], np.int32)
    elects[1](x)
    assert x.tolist() == [2, 6, 62, 0, 0, 0, 2, 0]


@cl.kernel(block=1)
def manages(x: Tensor[i32, (N,)]) -> None:
    for _ in range(2):
        with Around(x, 5) as five, Around(x, 6):
            with added(x, five) as ten:
                x[5] = ten
            if x[0] == 1:
                return


@pytest.mark.parametrize(("first", "expected"), [(0, [0, 5656, 6565, 10, 10, 10]), (1, [1, 56, 65, 5, 5, 10])])
def test_context_managers_begin_and_end_however_the_block_is_left(first: int, expected: list[int]) -> None:
    x = np.zeros(6, np.int32)
    x[0] = first
    manages[1](x)
    assert x.tolist() == expected


def test_a_generator_ends_a_block_once() -> None:
    @cl.kernel(block=1)
    def kernel(x: Tensor[i32, (N,)]) -> None:
        with added(x, 1):
            if x[0] == 1:
                return
        x[1] = 2

    with pytest.raises(CompileError, match="the block is left in several ways"):
        kernel.compile()


def checked(v: Any) -> Any:
    if v < 0:
        raise ValueError("negative")
    elif v > 100:
        raise OverflowError(f"too large: {v}")
    return v


@cl.kernel(block=32)
def checks(x: Tensor[i32, (N,)]) -> None:
    parts = []
    i = cl.thread_idx.x % 3
    if x[i] > 1000:
        raise ValueError
    parts.append(i)  # the same threads as before: those that failed are gone
    x[i] = checked(x[i]) * 2


@pytest.mark.parametrize(("value", "message"), [(-1, "ValueError: negative"), (101, "OverflowError: too large: 101")])
def test_a_raise_stops_the_kernel_in_builds_with_assertions(
    value: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.array([1, 2, value], np.int32)
    with pytest.raises(SimError) as caught:
        checks[1](x)
    assert caught.value.mistake.title == message and caught.value.threads == tuple((i, 0, 0) for i in range(2, 32, 3))
    assert not capsys.readouterr().out
    assert "assertfail" in checks.compile(assertions=True).ptx
    assert "setp" not in checks.compile().ptx


def test_what_an_exception_holds_may_be_run_time_numbers() -> None:
    @cl.kernel(block=2)
    def kernel(x: Tensor[i32, (N,)]) -> None:
        if x[cl.thread_idx.x] > 0:
            raise IndexError("100% none of", 3, x[cl.thread_idx.x] + 1)

    with pytest.raises(SimError, match="IndexError: 100% none of 3 5") as caught:
        kernel[1](np.array([4, 5], np.int32))
    assert caught.value.threads == ((0, 0, 0),)  # what the other one says has another number
    ptx = kernel.compile(assertions=True).ptx
    assert "assertfail" in ptx and "vprintf" in ptx


class HalfAManager:
    def __enter__(self) -> None: ...


def misused_with(x: Any) -> None:
    with HalfAManager():  # type: ignore[attr-defined]
        x[0] = 1


THREE: Any = 3


def tiles_one_by_one(x: Any) -> None:
    for tile in cl.StaticPersistentTileScheduler.create((4, 4)):  # type: ignore[attr-defined]
        x[0] = tile


def misused_raise(x: Any) -> None:
    if x[0] > 0:
        raise THREE


NEEDS_MORE: Any = UnicodeDecodeError


def raise_of_a_class_that_takes_more(x: Any) -> None:
    if x[0] > 0:
        raise NEEDS_MORE


def number_of_a_number(x: Any) -> None:
    x[1] = x[0][1]


LACKING: Any = cl.WarpgroupMmaOp
ANYTHING: Any = object()
LANES: Any = cl.shuffle
COUNT: Any = 4
SHAPE: Any = (16, 8, 16)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            lambda x: LACKING(cl.bf16, cl.f32),
            r"call\]: WarpgroupMmaOp.*\n(.|\n)*it is `WarpgroupMmaOp\(a_dtype, acc_dtype, n",
        ),
        (lambda x: len(ANYTHING), "python-error.: TypeError: object of type 'object' has no len"),
        (lambda x: LANES(x[0]), r"call\]: shuffle(.|\n)*it is `shuffle\("),
        (lambda x: cl.WarpMmaOp(cl.f16, cl.f32, SHAPE), "M and N are the instruction's: `k=16`"),
        (lambda x: cl.make_copy_atom(cl.LdMatrix8x8x16bOp(COUNT), cl.f16), "not 4\n(.|\n)*`num_matrices=4`"),
        (lambda x: x.at(0)[0], "a run-time ptr<.*> has no elements to index"),
        (tiles_one_by_one, "cannot be iterated over\n(.|\n)*`while tiles.is_valid.*`tiles = tiles.advance"),
        (misused_with, "a HalfAManager is no context manager"),
        (misused_raise, "`raise` takes an exception, not 3"),
        (raise_of_a_class_that_takes_more, "TypeError: function takes exactly 5 arguments"),
        (number_of_a_number, "a run-time i32 is one number, without elements"),
    ],
)
def test_statements_of_the_wrong_objects(body: Any, said: str) -> None:
    @cl.kernel(block=1)
    def kernel(x: Tensor[i32, (N,)]) -> None:
        body(x)

    with pytest.raises(CompileError, match=said):
        kernel[1](np.zeros(2, np.int32))
