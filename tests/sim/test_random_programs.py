"""Random structured programs give, in every thread and under every schedule, what a Python interpreter gives.

A program works on four i32 variables of each thread. Statements, as tuples:

    ("set", d, op, a, b)                v[d] = v[a] op v[b]
    ("if", p, a, b, then, other)        on v[a] p v[b]
    ("loop", n, body)                   (v[n] & 3) + 1 times
    ("break", p, a, b)  ("continue", p, a, b)  ("return", p, a, b)      if v[a] p v[b]
    ("rotate", d, by)                   v[d] of thread (t + by) % threads, through shared memory; at top level only
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from cutelite import sim
from cutelite.ir.builder import Builder
from cutelite.ir.function import Block, Function, Jump, Value
from cutelite.ir.types import Tensor, Type, i32
from cutelite.ir.verifier import verify
from cutelite.layout import Layout
from cutelite.ops.arith import Add, And, Cmp, Const, Max, Min, Mul, Or, Sub, Xor
from cutelite.ops.control import Br, CondBr, Ret
from cutelite.ops.index import Special
from cutelite.ops.sync import BarSync
from cutelite.ops.tensor import SmemAlloc, TensorLoad, TensorStore

Statement = tuple[Any, ...]

VARIABLES = 4
THREADS = 48  # a whole warp and half a one
OPS: dict[str, tuple[Any, Callable[[int, int], int]]] = {
    "+": (Add, operator.add),
    "-": (Sub, operator.sub),
    "*": (Mul, operator.mul),
    "&": (And, operator.and_),
    "|": (Or, operator.or_),
    "^": (Xor, operator.xor),
    "min": (Min, min),
    "max": (Max, max),
}
PREDICATES: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}

# ------------------------------------------------------------------------------------------------ drawing programs

variable = st.integers(0, VARIABLES - 1)
compare = st.tuples(st.sampled_from(sorted(PREDICATES)), variable, variable)
assignment = st.tuples(st.just("set"), variable, st.sampled_from(sorted(OPS)), variable, variable)
leaving = st.builds(lambda kind, c: (kind, *c), st.sampled_from(["break", "continue", "return"]), compare)


def nested(inner: st.SearchStrategy[Statement]) -> st.SearchStrategy[Statement]:
    body = st.lists(inner, min_size=1, max_size=4)
    branch = st.builds(lambda c, t, o: ("if", *c, t, o), compare, body, st.one_of(st.just([]), body))
    return st.one_of(branch, st.tuples(st.just("loop"), variable, body))


statement: st.SearchStrategy[Statement] = st.recursive(st.one_of(assignment, leaving), nested, max_leaves=10)
rotation = st.tuples(st.just("rotate"), variable, st.integers(1, THREADS - 1))
programs = st.lists(st.one_of(statement, rotation), min_size=1, max_size=7)

# ------------------------------------------------------------------------------------------------------ in Python


class _Left(Exception):
    """A `break`, `continue` or `return` on its way out."""


def wrap(x: int) -> int:
    return (x + (1 << 31)) % (1 << 32) - (1 << 31)


def execute(body: list[Statement], v: list[int], in_loop: bool) -> None:
    for s in body:
        match s:
            case ("set", d, op, a, b):
                v[d] = wrap(OPS[op][1](v[a], v[b]))
            case ("if", p, a, b, then, other):
                execute(then if PREDICATES[p](v[a], v[b]) else other, v, in_loop)
            case ("loop", n, inside):
                _loop((v[n] & 3) + 1, inside, v)
            case (kind, p, a, b):
                if (in_loop or kind == "return") and PREDICATES[p](v[a], v[b]):
                    raise _Left(kind)


def _loop(count: int, body: list[Statement], v: list[int]) -> None:
    for _ in range(count):
        try:
            execute(body, v, True)
        except _Left as left:
            if left.args[0] == "break":
                return
            if left.args[0] == "return":
                raise


def expected(program: list[Statement]) -> np.ndarray[Any, Any]:
    state = [[t, t % 32, 5, -3] for t in range(THREADS)]
    gone = [False] * THREADS
    for s in program:
        if s[0] == "rotate":
            _, d, by = s
            for v, new in zip(state, [state[(t + by) % THREADS][d] for t in range(THREADS)], strict=True):
                v[d] = new
            continue
        for t in range(THREADS):
            if not gone[t]:
                try:
                    execute([s], state[t], False)
                except _Left:
                    gone[t] = True
    return np.array(state, np.int32)


# ---------------------------------------------------------------------------------------------------------- in IR


class Emitter:
    """Builds the kernel; all variables are parameters of every block that control flow merges in."""

    def __init__(self) -> None:
        self.out = Value(Tensor(i32, "gmem", Layout((THREADS, VARIABLES), (VARIABLES, 1)), 16), hint="out")
        entry = Block((self.out,))
        self.function = Function("random", [entry], {}, {"block": (THREADS, 1, 1)})
        self.builder = Builder(self.function)
        self.exit = self.merging_block()
        shared = Tensor(i32, "smem", Layout((THREADS,), (1,)), 16)
        self.shared = self.emit(SmemAlloc(shared))

    def emit(self, op: Any) -> Any:
        return self.builder.emit(op)

    def number(self, n: int) -> Value:
        result: Value = self.emit(Const(n, i32))
        return result

    def tid(self) -> Value:
        """Asked again each time: whoever executes together must know who they are."""
        result: Value = self.emit(Special("tid.x"))
        return result

    def merging_block(self, *more: Type) -> Block:
        return self.builder.new_block(tuple(Value(t) for t in (*[i32] * VARIABLES, *more)))

    def go_on_in(self, block: Block) -> list[Value]:
        self.builder.block = block
        return list(block.params)

    def condition(self, p: str, a: int, b: int, v: list[Value]) -> Value:
        result: Value = self.emit(Cmp(p, v[a], v[b]))
        return result

    def program(self, program: list[Statement]) -> Function:
        v = [self.tid(), self.emit(Special("laneid")), self.number(5), self.number(-3)]
        for s in program:
            v = self.rotate(s, v) if s[0] == "rotate" else self.statement(s, v, None)
        self.emit(Br(Jump(self.exit, tuple(v))))
        last = self.go_on_in(self.exit)
        tid = self.tid()
        for i, held in enumerate(last):
            self.emit(TensorStore(self.out, (tid, self.number(i)), held))
        self.emit(Ret())
        return self.function

    def rotate(self, s: Statement, v: list[Value]) -> list[Value]:
        _, d, by = s
        tid = self.tid()
        self.emit(TensorStore(self.shared, (tid,), v[d]))
        self.emit(BarSync())
        far = self.emit(Add(tid, self.number(by)))
        over = self.emit(Cmp("ge", far, self.number(THREADS)))
        wrapped = self.merging_block()
        neighbour = self.builder.new_block((Value(i32),))
        self.emit(CondBr(over, Jump(wrapped, tuple(v)), Jump(neighbour, (far,))))
        self.go_on_in(wrapped)
        self.emit(Br(Jump(neighbour, (self.emit(Sub(far, self.number(THREADS))),))))
        (at,) = self.go_on_in(neighbour)
        v = list(v)
        v[d] = self.emit(TensorLoad(self.shared, (at,)))
        self.emit(BarSync())
        return v

    def statement(self, s: Statement, v: list[Value], loop: tuple[Block, Block, Value] | None) -> list[Value]:
        """`loop`: where `continue` and `break` go, and the rounds left before this one."""
        match s:
            case ("set", d, op, a, b):
                v = list(v)
                v[d] = self.emit(OPS[op][0](v[a], v[b]))
                return v
            case ("if", p, a, b, then, other):
                return self.branch(self.condition(p, a, b, v), then, other, v, loop)
            case ("loop", n, body):
                return self.loop(n, body, v)
            case (kind, p, a, b):
                return self.leave(kind, self.condition(p, a, b, v), v, loop)
        raise AssertionError(s)

    def branch(
        self, cond: Value, then: list[Statement], other: list[Statement], v: list[Value], loop: Any
    ) -> list[Value]:
        blocks, meet = [self.builder.new_block(), self.builder.new_block()], self.merging_block()
        self.emit(CondBr(cond, Jump(blocks[0]), Jump(blocks[1])))
        for block, body in zip(blocks, (then, other), strict=True):
            self.builder.block = block
            inside = v
            for s in body:
                inside = self.statement(s, inside, loop)
            self.emit(Br(Jump(meet, tuple(inside))))
        return self.go_on_in(meet)

    def loop(self, n: int, body: list[Statement], v: list[Value]) -> list[Value]:
        rounds = self.emit(And(v[n], self.number(3)))
        head, latch, behind = self.merging_block(i32), self.merging_block(), self.merging_block()
        self.emit(Br(Jump(head, (*v, rounds))))
        *v, left = self.go_on_in(head)
        for s in body:
            v = self.statement(s, v, (latch, behind, left))
        self.emit(Br(Jump(latch, tuple(v))))
        v = self.go_on_in(latch)
        more = self.emit(Cmp("gt", left, self.number(0)))
        fewer = self.emit(Sub(left, self.number(1)))
        self.emit(CondBr(more, Jump(head, (*v, fewer)), Jump(behind, tuple(v))))
        return self.go_on_in(behind)

    def leave(self, kind: str, cond: Value, v: list[Value], loop: Any) -> list[Value]:
        if kind != "return" and loop is None:
            return v
        target = self.exit if kind == "return" else loop[0] if kind == "continue" else loop[1]
        on = self.builder.new_block()
        self.emit(CondBr(cond, Jump(target, tuple(v)), Jump(on)))
        self.builder.block = on
        return v


def leaves(s: Statement) -> bool:
    """Whether a statement may return."""
    return s[0] == "return" or any(leaves(t) for part in s if isinstance(part, list) for t in part)


@settings(max_examples=60, deadline=None)
@given(programs, st.integers(2, 1 << 20))
def test_as_the_interpreter(program: list[Statement], seed: int) -> None:
    first = next((i for i, s in enumerate(program) if leaves(s)), len(program))
    program = program[:first] + [s for s in program[first:] if s[0] != "rotate"]  # barriers only while all are there
    function = Emitter().program(program)
    verify(function)
    right = expected(program)
    for schedule in (0, 1, seed):
        out = np.full((THREADS, VARIABLES), -99, np.int32)
        sim.run(function, 1, [out], seed=schedule, strict=True)
        np.testing.assert_array_equal(out, right)
