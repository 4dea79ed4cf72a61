# ruff: noqa: B007
# mypy: ignore-errors
# (the functions to be compiled are odd on purpose)
"""Parameters of loops are guessed before a body is executed: right guesses save executions, wrong ones do no harm."""

import pytest

import cutelite as cl
from cutelite.front.loops.run_time import RunTimeLoop
from cutelite.ir.types import i32
from tests.front.differential import array, compiled

STAGES = 4
OUT = array(i32, 64)


@pytest.fixture
def executions(monkeypatch):
    """A list to which each execution of a run-time loop's body adds the loop's header."""
    found = []
    body = RunTimeLoop._body

    def counted(self, *how):
        found.append(self.key)
        return body(self, *how)

    monkeypatch.setattr(RunTimeLoop, "_body", counted)
    return found


def headers(function):
    """The types of the parameters of each loop's header, in the order of the blocks."""
    return [[str(p.type) for p in b.params] for b in function.blocks if b.label == "loop"]


def without_guesses(monkeypatch, kernel, **args):
    """What is printed of a kernel whose loops guess nothing."""
    with monkeypatch.context() as patch:
        patch.setattr("cutelite.front.loops.run_time.guesses", lambda *_: {})
        patch.setattr("cutelite.front.loops.run_time.phases", lambda *_: {})
        return headers(compiled(kernel, **args)), count(compiled(kernel, **args))


def count(function):
    return [op.name for block in function.blocks for op in block.ops]


def persistent(out, n, m):
    """Two rings, of which the second goes on where its loop ends; what is added up is in a tuple."""
    tiles = cl.StaticPersistentTileScheduler.create((n, m))
    state, turn, flip = cl.PipelineState.consumer(STAGES), cl.PipelineState.producer(2), False
    while tiles.is_valid():
        sums = (m, n)
        for i in range(n):
            sums = (sums[0] + out[state.index], sums[1] ^ state.phase)
            state = state.advance()
        out[turn.index] = sums[0] + turn.phase + (sums[1] if flip else 0)
        tiles, turn, flip = tiles.advance(), turn.advance(), not flip


def rounds(out, n, m):
    """A ring that is unrolled as a whole, in a loop in a loop: its index stays known, its phase changes."""
    state = cl.PipelineState.consumer(STAGES)
    for i in range(n):
        if i < m:
            for j in range(m):
                for k in cl.static_range(STAGES):
                    assert type(state.index) is int
                    out[state.index] = state.phase
                    state = state.advance()


def quiet_rounds(out, n, m):
    """The same where nothing fails if the index is not known."""
    state = cl.PipelineState.consumer(STAGES)
    for i in range(n):
        if i < m:
            for j in range(m):
                for k in cl.static_range(STAGES):
                    out[state.index] = state.phase
                    state = state.advance()


def one_stage(out, n, m):
    state = cl.PipelineState.consumer(1)
    for i in range(n):
        out[state.index] = state.phase
        state = state.advance()


def exchanged(out, n, m):
    """Two numbers that are equal, and change places."""
    a, b = cl.PipelineState(2, 1, 0), cl.PipelineState(2, 1, 0)
    for i in range(n):
        out[a.index] = b.index
        a, b = b, a


def left_at_once(out, n, m):
    done, state = False, cl.PipelineState.consumer(STAGES)
    for i in range(n):
        out[state.index] = i
        state = state.advance()
        done = True
        if done:
            break
    out[0] = state.index


def staying(out, n, m):
    """Numbers in a structure that is assigned, of which one stays, and a truth value that comes back."""
    pair, flag = (n, m), True
    for i in range(n):
        flag = False
        out[i] = pair[0] if flag else pair[1]
        pair, flag = (pair[0], pair[1] + i), True
    out[0] = 1 if flag else 2


KERNELS = [persistent, rounds, quiet_rounds, one_stage, exchanged, left_at_once, staying]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_guesses_change_nothing(kernel, monkeypatch):
    made = compiled(kernel, out=OUT, n=i32, m=i32)
    assert (headers(made), count(made)) == without_guesses(monkeypatch, kernel, out=OUT, n=i32, m=i32)


def test_each_loop_is_executed_once(executions):
    compiled(persistent, out=OUT, n=i32, m=i32)
    assert len(executions) == len(set(executions)) == 2


def test_rings_of_one_stage_have_no_index():
    assert headers(compiled(one_stage, out=OUT, n=i32, m=i32)) == [["i32", "i32"]]


def test_what_an_inner_loop_carried_for_a_wrong_guess_is_forgotten():
    assert headers(compiled(quiet_rounds, out=OUT, n=i32, m=i32)) == [["i32", "i32"], ["i32", "i32"]]
