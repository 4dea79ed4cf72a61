"""Reads that decide whether a loop goes on, from which the simulator tells a thread that spins from one that counts."""

from collections.abc import Callable
from typing import Any

import pytest

import cutelite as cl
from cutelite import Tensor, i32
from cutelite.ir import types
from cutelite.sim.deciders import Deciders
from tests.front.differential import array, compiled


def waits(x: Tensor[i32, (4,)]) -> None:
    n = 0
    while x[0] == 0:
        n += 1


def waits_in_a_loop(x: Tensor[i32, (4,)]) -> None:
    for i in range(100):
        while True:
            if x[i % 2] > 0:
                break


def counts_what_it_waits_for(x: Tensor[i32, (4,)]) -> None:
    found = 0
    while found < 3:
        if x[0] > 0:
            found += 1


def waits_by_a_register_tensor(x: Tensor[i32, (4,)]) -> None:
    seen: Any = cl.make_rmem_tensor(i32, 1)
    seen[0] = 0
    while seen[0] == 0:
        seen[0] = x[0]


def steps_by_what_it_reads(x: Tensor[i32, (4,)]) -> None:
    i = i32(0)
    while i != 100:
        i += x[0]


def sums(x: Tensor[i32, (4,)]) -> None:
    total = 0
    for _ in range(100):
        for _ in range(100):
            total += x[0]
            if x[1] > 3:
                total += 1
    x[2] = total


def searches(x: Tensor[i32, (4,)]) -> None:
    for _ in range(100):
        assert x[1] > 0
        if x[0] == 0:
            break


@pytest.mark.parametrize(
    ("function", "decides"),
    [(waits, True), (waits_in_a_loop, True), (counts_what_it_waits_for, True), (waits_by_a_register_tensor, True),
     (steps_by_what_it_reads, True), (sums, False), (searches, False)],
)  # fmt: skip
def test_reads_that_lead_out_of_a_loop(function: Callable[..., None], decides: bool) -> None:
    made = compiled(function, x=array(types.i32, 4))
    deciders = Deciders(made)
    reads = [op for op in made.ops() if op.name == "tensor.load" and op.operands[0] is made.params[0]]
    assert reads and any(op in deciders for op in reads) == decides
