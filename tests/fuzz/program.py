"""Random kernels: drawn from a seed, written as Python source in the language, and evaluated by NumPy.

A kernel has `BLOCKS` blocks of `THREADS` threads. Each thread has variables of fixed types, which begin as elements of
the inputs and end in the outputs. Statements are trees:

    Assign(name, expression)
    If(condition, then, other)
    For(name, count, body)          name = 0, 1, ... (count & 3) - 1; and `While`, the same number of times
    Leave(word, condition)          break, continue or return, in a loop
    Together(name, call)            an operation of a warp; where all threads are
    Exchange(name, stride, offset)  through shared memory; where all threads are
    Update(index, value, ...)       an atomic update of a table in global or shared memory

All updates of one table are of one operation whose order does not matter, and nobody reads it before the end. Where
threads may have returned there is nothing that all execute together, and the outputs of those are as they were.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from random import Random
from typing import Any

import numpy as np

from tests.fuzz.operations import BY_RESULT, COLLECTIVE_BY_RESULT, WARP, Operation, name
from tests.vocabulary.numbers import HELD, INTS, TYPES, Array, samples

THREADS, BLOCKS = 64, 2
TOTAL = THREADS * BLOCKS
BINS = 8
POISON = 77
"""What outputs hold before."""

PREAMBLE = """\
import cutelite as cl
from cutelite import Tensor

N, BINS = cl.dims("N BINS")


def packed(a, b, dtype):
    pair = cl.make_rmem_tensor(cl.f32, 2)
    pair[0], pair[1] = a, b
    return cl.convert(pair.load(), dtype)


def held(a, b, c, dtype):
    three = cl.make_rmem_tensor(dtype, 3)
    three[0], three[1], three[2] = a, b, c
    return three


def constant(number, dtype):
    one = cl.make_rmem_tensor(dtype, 1)
    one[0] = number
    return one[0]


"""


@dataclass(frozen=True)
class Leaf:
    """A variable, or a literal that is given its type."""

    text: str
    type: str
    value: Any = None


@dataclass(frozen=True)
class Call:
    operation: Operation
    operands: tuple[Expression, ...]

    @property
    def type(self) -> str:
        return self.operation.gives


Expression = Leaf | Call


@dataclass(frozen=True)
class Assign:
    name: str
    value: Expression


@dataclass(frozen=True)
class If:
    condition: Expression
    then: list[Statement]
    other: list[Statement]


@dataclass(frozen=True)
class For:
    name: str
    count: Expression
    body: list[Statement]


@dataclass(frozen=True)
class While:
    name: str
    count: Expression
    body: list[Statement]


@dataclass(frozen=True)
class Leave:
    word: str
    condition: Expression


@dataclass(frozen=True)
class Together:
    name: str
    call: Call


@dataclass(frozen=True)
class Exchange:
    name: str
    type: str
    stride: int
    offset: int


@dataclass(frozen=True)
class Update:
    table: Table
    index: Expression
    value: Expression


Statement = Assign | If | For | While | Leave | Together | Exchange | Update


@dataclass(frozen=True)
class Table:
    """A table that threads update atomically, by the operation `how`, NumPy's `ufunc`."""

    name: str
    type: str
    how: str
    shared: bool

    @property
    def ufunc(self) -> Any:
        return {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
                "xor": np.bitwise_xor}[self.how]  # fmt: skip


@dataclass
class Program:
    """types: of each variable; the inputs and outputs are x_<variable> and y_<variable>."""

    types: dict[str, str]
    body: list[Statement]
    tables: list[Table] = field(default_factory=list)


# Drawing.


class Draw:
    """Draws a program: `size` statements at the top, each nested at most `depth` deep."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.counters = 0
        self.loops = 0
        chosen = self.random.sample(TYPES, 5)
        names = [f"v{i}" for i in range(9)]
        self.types = dict(zip(names, [*chosen, *self.random.choices(chosen, k=2), "i32", "bool"], strict=True))
        self.visible = dict(self.types)
        hows = [("i32", "add"), ("u32", "max"), ("u64", "add"), ("i32", "min"), ("u32", "xor"), ("i64", "max"),
                ("u64", "or"), ("f32", "add"), ("i32", "and"), ("f64", "add"), ("u64", "min")]  # fmt: skip
        picked = self.random.sample(hows, 2)
        self.tables = [Table(f"t{i}", *how, shared=self.random.random() < 0.5) for i, how in enumerate(picked)]
        self.words = ["break", "continue"]
        if not any(table.shared for table in self.tables):  # all threads write those at the end
            self.words += ["return"]
        self.together = True

    def program(self, size: int = 9, depth: int = 3) -> Program:
        body = [self.statement(depth, top=True) for _ in range(size)]
        return Program(self.types, body, self.tables)

    def straight(self, count: int = 40) -> Program:
        """Without control flow: `count` expressions of two or three operations above each other, each in a variable."""
        self.types = {f"v{i}": t for i, t in enumerate(TYPES * 2)}
        self.visible = dict(self.types)
        wanted = {f"r{i}": self.random.choice(TYPES) for i in range(count)}
        body: list[Statement] = [
            Assign(r, self.expression(t, self.random.choice((2, 2, 3)))) for r, t in wanted.items()
        ]
        return Program({**self.types, **wanted}, body)

    def statement(self, depth: int, top: bool = False) -> Statement:
        kinds = ["assign"] * 5 + ["update"]
        if depth > 0:
            kinds += ["if", "if", "for", "while"]
        if self.loops:
            kinds += ["leave"]
        if top and self.together:
            kinds += ["together"] * 3 + ["exchange"]
        made: Statement = getattr(self, f"_{self.random.choice(kinds)}")(depth)
        return made

    def _assign(self, depth: int) -> Statement:
        target = self.random.choice(list(self.types))
        return Assign(target, self.expression(self.types[target], 3))

    def _if(self, depth: int) -> Statement:
        other = self.block(depth) if self.random.random() < 0.5 else []
        return If(self.expression("bool", 2), self.block(depth), other)

    def _for(self, depth: int) -> Statement:
        return self._loop(For, depth)

    def _while(self, depth: int) -> Statement:
        return self._loop(While, depth)

    def _loop(self, kind: Any, depth: int) -> Statement:
        self.counters += 1
        counter = f"k{self.counters}"
        count = self.expression("i32", 1)
        self.loops += 1
        self.visible[counter] = "i32"
        body = self.block(depth)
        del self.visible[counter]
        self.loops -= 1
        made: Statement = kind(counter, count, body)
        return made

    def _leave(self, depth: int) -> Statement:
        word = self.random.choice(self.words)
        self.together &= word != "return"
        return Leave(word, self.expression("bool", 1))

    def _together(self, depth: int) -> Statement:
        target = self.random.choice([v for v, t in self.types.items() if t in COLLECTIVE_BY_RESULT])
        rows = COLLECTIVE_BY_RESULT[self.types[target]]
        operation = self.random.choice(rows[self.random.choice(list(rows))])
        return Together(target, Call(operation, tuple(self.expression(t, 1) for t in operation.takes)))

    def _exchange(self, depth: int) -> Statement:
        target = self.random.choice(list(self.types))
        return Exchange(target, self.types[target], self.random.randrange(1, THREADS, 2), self.random.randrange(99))

    def _update(self, depth: int) -> Statement:
        table = self.random.choice(self.tables)
        return Update(table, self.expression("i32", 1), self.small(table.type))

    def small(self, t: str) -> Expression:
        """Draw a number that can be added in any order: floats are small whole numbers."""
        if t in INTS:
            return self.expression(t, 1)
        operation = Operation(f"cl.{t}({{0}} & 15)", ("i32",), t, lambda x: (x & 15).astype(HELD[t]))
        return Call(operation, (self.expression("i32", 1),))

    def block(self, depth: int) -> list[Statement]:
        return [self.statement(depth - 1) for _ in range(self.random.randint(1, 3))]

    def expression(self, t: str, depth: int) -> Expression:
        if depth == 0 or self.random.random() < 0.15:
            return self.leaf(t)
        rows = BY_RESULT[t]
        operation = self.random.choice(rows[self.random.choice(list(rows))])
        return Call(operation, tuple(self.expression(u, depth - 1) for u in operation.takes))

    def leaf(self, t: str) -> Expression:
        held = [v for v, u in self.visible.items() if u == t]
        if held and self.random.random() < 0.85:
            return Leaf(self.random.choice(held), t)
        if t == "bool":
            return Leaf("(v7 > 3)", t, "compare")
        number = samples(t, 1, np.random.default_rng(self.random.getrandbits(32))).item()
        written = repr(number) if t in INTS or isfinite(number) else f'float("{number}")'
        return Leaf(f"constant({written}, cl.{t})", t, number)


# As source.


def source(program: Program) -> str:
    """The kernel in the language, with its annotations, ready for `exec`."""
    inputs = [f"x_{v}: Tensor[cl.{name(t)}, (N,)]" for v, t in program.types.items()]
    outputs = [f"y_{v}: Tensor[cl.{name(t)}, (N,)]" for v, t in program.types.items()]
    tables = [f"{t.name}_out: Tensor[cl.{t.type}, (BINS,)]" for t in program.tables]
    lines = [f"i = cl.block_idx.x * {THREADS} + cl.thread_idx.x", "me = cl.thread_idx.x"]
    lines += [f"{v} = x_{v}[i]" for v in program.types]
    for table in program.tables:
        if table.shared:
            lines += [f"{table.name} = cl.shared(cl.{table.type}, {BINS})", f"if me < {BINS}:",
                      f"    {table.name}[me] = cl.{table.type}({start(table)})"]  # fmt: skip
        else:
            lines += [f"{table.name} = {table.name}_out"]
    if any(table.shared for table in program.tables):
        lines += ["cl.syncthreads()"]
    lines += written(program.body)
    lines += [f"y_{v}[i] = {v}" for v in program.types]
    if any(table.shared for table in program.tables):
        lines += ["cl.syncthreads()"]
    for table in program.tables:
        if table.shared:
            lines += [f"if me < {BINS}:", f"    cl.atomic_{table.how}({table.name}_out, me, {table.name}[me])"]
    head = "@cl.kernel(fmad=False)\ndef kernel(\n    " + ",\n    ".join([*inputs, *outputs, *tables]) + ",\n):\n"
    return PREAMBLE + head + "\n".join(_indented(lines)) + "\n"


def start(table: Table) -> int:
    """Return the neutral number of the operation."""
    if table.how == "and":
        return -1 if table.type[0] == "i" else (1 << int(table.type[1:])) - 1
    if table.how in ("min", "max"):
        info = np.iinfo(HELD[table.type])
        return int(info.max if table.how == "min" else info.min)
    return 0


def written(body: list[Statement]) -> list[str]:
    return [line for statement in body for line in _lines(statement)]


def _lines(s: Statement) -> list[str]:
    match s:
        case Assign(target, value):
            return [f"{target} = {text(value)}"]
        case If(condition, then, other):
            lines = [f"if {text(condition)}:", *_indented(written(then))]
            return [*lines, "else:", *_indented(written(other))] if other else lines
        case For(counter, count, body):
            return [f"for {counter} in range(({text(count)}) & 3):", *_indented(written(body))]
        case While(counter, count, body):
            lines = [
                f"n{counter} = ({text(count)}) & 3",
                f"{counter} = constant(-1, cl.i32)",
                f"while {counter} + 1 < n{counter}:",
            ]
            return [*lines, *_indented([f"{counter} += 1", *written(body)])]
        case Leave(word, condition):
            return [f"if {text(condition)}:", f"    {word}"]
        case Together(target, call):
            return [f"{target} = {text(call)}"]
        case Exchange(target, t, stride, offset):
            tile = f"cl.shared(cl.{name(t)}, {THREADS})"
            return [f"tile = {tile}", f"tile[(me * {stride} + {offset}) % {THREADS}] = {target}", "cl.syncthreads()",
                    f"{target} = tile[me]", "cl.syncthreads()"]  # fmt: skip
        case Update(table, index, value):
            return [f"cl.atomic_{table.how}({table.name}, ({text(index)}) & {BINS - 1}, {text(value)})"]
    raise AssertionError(s)


def text(e: Expression) -> str:
    return e.text if isinstance(e, Leaf) else e.operation.text.format(*map(text, e.operands))


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


# By NumPy.


class Reference:
    """Executes all threads at once; `mask` says who takes part in a statement."""

    def __init__(self, program: Program, inputs: dict[str, Array]) -> None:
        self.program = program
        self.env = {v: inputs[v].copy() for v in program.types}
        self.bins = {t.name: np.full(BINS, start(t), HELD[t.type]) for t in program.tables}
        self.gone = np.zeros(TOTAL, bool)  # who has returned
        self.left: list[tuple[Array, Array]] = []  # of each loop around: who broke out, who goes on with the next round

    def run(self) -> tuple[dict[str, Array], dict[str, Array]]:
        """The variables and the tables at the end."""
        with np.errstate(all="ignore"):
            self.block(self.program.body, np.ones(TOTAL, bool))
        ends = {v: np.where(self.gone, np.full(TOTAL, POISON).astype(x.dtype), x) for v, x in self.env.items()}
        return {v: ends[v] for v in self.program.types}, self.bins

    def block(self, body: list[Statement], mask: Array) -> None:
        for s in body:
            mask = mask & ~self.gone
            if self.left:
                mask = mask & ~self.left[-1][0] & ~self.left[-1][1]
            if mask.any():
                self.statement(s, mask)

    def statement(self, s: Statement, mask: Array) -> None:
        match s:
            case Assign(target, value):
                self.set(target, self.value(value), mask)
            case If(condition, then, other):
                holds = self.value(condition)
                self.block(then, mask & holds)
                self.block(other, mask & ~holds)
            case For(counter, count, body) | While(counter, count, body):
                self.loop(counter, self.value(count) & 3, body, mask)
            case Leave(word, condition):
                whose = self.gone if word == "return" else self.left[-1][word == "continue"]
                whose[:] |= mask & self.value(condition)
            case Together(target, call):
                operands = [self.value(e).reshape(-1, WARP) for e in call.operands]
                self.set(target, call.operation.meaning(*operands).reshape(-1), mask)
            case Exchange(target, _, stride, offset):
                to = (np.arange(THREADS) * stride + offset) % THREADS
                mine = self.env[target].reshape(BLOCKS, THREADS)
                moved = np.empty_like(mine)
                moved[:, to] = mine
                self.set(target, moved.reshape(-1), mask)
            case Update(table, index, value):
                at, operand = self.value(index) & (BINS - 1), self.value(value)
                table.ufunc.at(self.bins[table.name], at[mask], operand[mask])

    def loop(self, counter: str, count: Array, body: list[Statement], mask: Array) -> None:
        broken = np.zeros(TOTAL, bool)
        for i in range(3):
            inside = mask & (i < count) & ~broken
            self.env[counter] = np.full(TOTAL, i, np.int32)
            self.left.append((broken, np.zeros(TOTAL, bool)))
            self.block(body, inside)
            self.left.pop()

    def set(self, target: str, value: Array, mask: Array) -> None:
        self.env[target] = np.where(mask, value, self.env[target])

    def value(self, e: Expression) -> Array:
        if isinstance(e, Call):
            return np.asarray(e.operation.meaning(*map(self.value, e.operands))).astype(HELD[e.type], copy=False)
        if e.value == "compare":
            return self.env["v7"] > 3
        return self.env[e.text] if e.value is None else np.full(TOTAL, e.value, HELD[e.type])


def inputs_of(program: Program, seed: int) -> dict[str, Array]:
    draw = np.random.default_rng(seed)
    return {v: np.array(samples(t, TOTAL, draw)) for v, t in program.types.items()}
