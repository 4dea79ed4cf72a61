"""Loops in a row, so many that they are lowered in another way (`lower.function.MANY_LOOPS`), on a GPU."""

import runpy
from pathlib import Path

import numpy as np
import pytest

from cutelite.lower.function import MANY_LOOPS
from tests.places import place_of

HEAD = """
import cutelite as cl
from cutelite import Tensor, i32

N = cl.dims("N")


@cl.kernel(block=32)
def kernel(x: Tensor[i32, (N,)], n: i32) -> None:
    t = cl.thread_idx.x
    sum, last = t, t
"""
LOOP = """
    for i in range(n + t % {step}):
        sum = sum * 3 + i
        if sum % 7 == {step}:
            last = sum
            break
"""


@pytest.mark.sm(90)
def test_sums_through_many_loops(tmp_path: Path) -> None:
    count = MANY_LOOPS + 20
    loops = [LOOP.format(step=1 + i % 5) for i in range(count)]
    file = tmp_path / "many.py"
    file.write_text("".join([HEAD, *loops, "    x[t] = sum + last\n"]))
    kernel, found = runpy.run_path(str(file))["kernel"], np.zeros(32, np.int32)
    place_of("gpu")(kernel[1, 32], found, 3)
    expected = np.zeros(32, np.int32)
    kernel[1, 32](expected, 3)
    assert np.array_equal(found, expected) and len(set(expected.tolist())) > 16
