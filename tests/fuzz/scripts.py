"""Random Python functions: executed by CPython as they stand, and by kernels in which they are inlined.

python -m tests.fuzz.cases --python --count 2000 --jobs 16      # as tests.fuzz.cases, with CPython for NumPy

A function has variables of fixed types, changes them under all kinds of control flow, and returns them. It may call
others like it, which return early, define one, and keep numbers in named tuples, dataclasses and lists. Some of what it
branches on is known when the kernel is compiled, until it is changed under a condition that is not. It is written
twice, line by line alike. The kernel has Python's operators; for CPython, which knows neither widths nor divisions by
zero, what must wrap is in `W32` or `W64`, what must round in `R`, and quotients are calls: see `HELPERS`.
"""

import math
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

import numpy as np

from tests.vocabulary.numbers import HELD, Array, limits, samples

THREADS = 32
VARIABLES = {
    "a": "i32",
    "b": "i32",
    "p": "i64",
    "q": "i64",
    "x": "f64",
    "y": "f64",
    "u": "f32",
    "v": "f32",
    "t": "bool",
}
INTS = {"i32": "W32", "i64": "W64"}
STORED = {**HELD, "bool": np.dtype(np.uint8)}


class Text(NamedTuple):
    """Source of an expression or a line, for the kernel and for CPython."""

    kernel: str
    python: str


def text(template: str, *parts: Text, python: str | None = None) -> Text:
    """Parts put into a template, which may be another one for CPython."""
    return Text(
        template.format(*(part.kernel for part in parts)),
        (python or template).format(*(part.python for part in parts)),
    )


# What CPython computes with.


def _wrapping(t: str) -> Callable[[int], int]:
    low, high = limits(t)
    return lambda n: (int(n) - low) % (high - low + 1) + low


def _rounded(number: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float32(number))


def _over(a: float, b: float) -> float:
    with np.errstate(all="ignore"):
        return float(np.float64(a) / np.float64(b))


HELPERS: dict[str, Any] = {
    "W32": _wrapping("i32"),
    "W64": _wrapping("i64"),
    "R": _rounded,
    "D": _over,
    "Q": lambda a, b: a // b if b else _over(a, b),
    "M": lambda a, b: a % b if b else math.nan,
    "DM": lambda a, b: divmod(a, b) if b else (_over(a, b), math.nan),
}


STRUCTURES = """\
from dataclasses import dataclass, replace
from typing import NamedTuple


class Pair(NamedTuple):
    one: object
    two: object

    def bent(self, when):
        if when:
            return self._replace(one=self.low)
        return Pair(self.one ^ 3, self.two)

    @property
    def low(self):
        return self.one & 7 if self.one > 7 else 7


@dataclass(frozen=True)
class Couple:
    one: object
    two: object


"""


class Draw:
    """One function, drawn from a seed; `helpers` are the names of those that it may call."""

    def __init__(self, seed: int | str, helpers: tuple[str, ...] = ()) -> None:
        self.random = Random(f"script {seed}")
        self.helpers = helpers
        self.types = dict(VARIABLES)
        self.fresh = 0
        self.loops: list[bool] = []  # around the statement; whether each is a for statement
        self.lines: list[tuple[int, Text]] = []

    def draw(self, least: int = 4) -> list[Text]:
        self.line(1, f"known, size = {self.random.choice(['True', 'False'])}, {self.random.randrange(8)}")
        self.types["known"] = "bool"
        self.block(1, self.random.randint(least, 2 * least), 3)
        return [Text("    " * depth + line.kernel, "    " * depth + line.python) for depth, line in self.lines]

    # Statements.

    def line(self, depth: int, template: str, *parts: Text, python: str | None = None) -> None:
        self.lines.append((depth, text(template, *parts, python=python)))

    def block(self, depth: int, count: int, nested: int) -> None:
        known = dict(self.types)
        for _ in range(count):
            kinds = (
                ["assign"] * 5 + ["divmod", "structure", "several", "known", "lists"] + ["call"] * bool(self.helpers)
            )
            kinds += ["if", "if", "for", "while", "match", "for_else", "unrolled", "first"] * (nested > 0)
            kinds += ["forever", "closure"] * (nested > 0)
            getattr(self, f"_{self.random.choice(kinds)}")(depth, nested - 1)
        roll = self.random.random()
        if self.loops and roll < 0.25:
            self.line(
                depth, f"if {{0}}:\n{'    ' * (depth + 1)}{self.random.choice(['break', 'continue'])}", self.truth(2)
            )
        elif roll > 0.94:
            self.line(depth, f"if {{0}}:\n{'    ' * (depth + 1)}return {', '.join(VARIABLES)}", self.truth(2))
        self.types = known  # counters that are bound here

    def variable(self, *types: str) -> str:
        return self.random.choice([name for name, t in VARIABLES.items() if not types or t in types])

    def _assign(self, depth: int, _: int) -> None:
        name = self.variable()
        value = self.of(VARIABLES[name], 3)
        if VARIABLES[name] in INTS and self.random.random() < 0.3:
            self.line(depth, f"{name} ^= {{0}}", value)
        else:
            self.line(depth, f"{name} = {{0}}", value)

    def _known(self, depth: int, _: int) -> None:
        """Change what is known when the kernel is compiled, until a condition or a loop around it is not."""
        self.line(depth, self.random.choice([
            "known = not known", "known = size > 3", "known = {0}", "size = 2", "size = (size + 3) & 7", "size = 0",
        ]), self.truth(1))  # fmt: skip

    def _divmod(self, depth: int, _: int) -> None:
        first, second = self.random.choice([("a", "b"), ("p", "q"), ("x", "y"), ("u", "v")])
        t = VARIABLES[first]
        if t in INTS:
            self.line(depth, f"{first}, {second} = divmod({{0}}, {{1}})", self.of(t, 2), self.divisor(t))
            return
        round_ = "R" if t == "f32" else ""
        self.line(depth, f"{first}, {second} = divmod({{0}}, {{1}})", self.of(t, 2), self.of(t, 2),
                  python=f"{first}, {second} = map({round_ or 'float'}, DM({{0}}, {{1}}))")  # fmt: skip

    def _call(self, depth: int, _: int) -> None:
        """A call of another function, which may get two variables of a type in each other's place."""
        names = list(VARIABLES)
        i, j = self.random.choice([(0, 1), (2, 3), (4, 5), (6, 7), (0, 0)])
        names[i], names[j] = names[j], names[i]
        self.line(depth, f"{', '.join(VARIABLES)} = {self.random.choice(self.helpers)}({', '.join(names)})")

    def _structure(self, depth: int, _: int) -> None:
        """Numbers in a named tuple or a dataclass, exchanged and replaced on some paths."""
        name, kind = self.counter(), self.random.choice(["Pair", "Couple"])
        change = "{0}._replace" if kind == "Pair" else "replace"
        first, second = self.variable("i32", "i64"), self.variable("f32", "f64", "bool")
        t, u = VARIABLES[first], VARIABLES[second]
        self.line(depth, f"{name} = {kind}({{0}}, {{1}})", self.of(t, 1), self.of(u, 1))
        self.line(depth, "if {0}:", self.truth(2))
        given = "" if kind == "Pair" else f"{name}, "
        self.line(depth + 1, f"{name} = {change.format(name)}({given}one={{0}})", self.of(t, 2))
        if kind == "Pair":
            self.line(depth, f"[*{name}_, {name}], _ = [{first}, {name}.bent({{0}})], {second}", self.truth(1))
        if self.random.random() < 0.5:
            self.line(depth, "for _ in range({0} & 3):", self.of("i32", 0))
            self.line(depth + 1, f"{name} = {kind}({name}.one ^ {{0}}, {{1}})", self.of(t, 1), self.of(u, 1))
        self.line(depth, f"{first}, {second} = {name}.one, {name}.two")

    def _lists(self, depth: int, _: int) -> None:
        """Lists of which one is taken by a condition, and that change once the one taken is not read any more."""
        name, one, two, taken = self.variable("i32", "i64"), self.counter(), self.counter(), self.counter()
        t = VARIABLES[name]
        for held in (one, two):
            self.line(depth, f"{held} = [{{0}}, {{1}}]", self.of(t, 1), self.leaf(t))
        form = self.random.choice(["{0} if {{0}} else {1}", "[{1}, {0}][{{0}}]", "({0} if {{0}} else {1})[::-1]"])
        self.line(depth, f"{taken} = {form.format(one, two)}", self.truth(2))
        self.line(depth, f"{name} = {taken}[{self.random.choice([0, 1, -1])}]")
        self.line(depth, f"{one}[{self.random.choice([0, 1])}] ^= {name}")
        self.line(depth, f"{name} ^= {one}[0] ^ {one}[1] ^ {two}[{self.random.choice([0, 1])}]")

    def _several(self, depth: int, _: int) -> None:
        """Comprehensions, walruses, starred targets."""
        name = self.variable("i32", "i64")
        t = VARIABLES[name]
        k, parts = self.counter(), (self.of(t, 1), self.of(t, 1), self.of(t, 1))
        match self.random.randrange(5):
            case 0:
                template = f"sum([{k} ^ {{0}} for {k} in ({{1}}, {{2}})])"
                self.line(depth, f"{name} = {template}", *parts, python=f"{name} = {INTS[t]}({template})")
            case 1:
                self.line(depth, f"{name} = max({k} for {k} in [{{0}}, {{1}}, {{2}}])", *parts)
            case 2:
                self.line(depth, f"if ({k} := {{0}}) > {{1}}:", *parts[:2])
                self.line(depth + 1, f"{name} = {k} & {{0}}", parts[2])
            case 3:
                self.line(depth, f"*{k}, {name} = {{0}}, {{1}}, {{2}}", *parts)
                self.line(depth, f"{name} ^= {k}[{self.random.choice([0, 1, -1])}]")
            case 4:
                last = self.counter()
                template = f"sum([({last} := {k} ^ {{0}}) & 7 for {k} in ({{1}}, {{2}})]) - {last}"
                self.line(depth, f"{name} = {template}", *parts, python=f"{name} = {INTS[t]}({template})")

    def _closure(self, depth: int, _: int) -> None:
        """A function of the function, which reads variables that change before it is called."""
        function, name = self.counter(), self.variable("i32", "i64")
        t = VARIABLES[name]
        self.line(depth, f"def {function}(n):")
        self.line(depth + 1, "if {0}:", self.truth(2))
        self.line(depth + 2, "return {0}", self.of(t, 1))
        self.line(depth + 1, "return n ^ {0}", self.of(t, 2))
        self.block(depth, 1, 0)
        self.line(depth, f"{name} = {function}({{0}})", self.of(t, 1))

    def _unrolled(self, depth: int, nested: int) -> None:
        k, bounds = self.counter(), self.random.choice(["3", "2, 0, -1", "1, 7, 4", "0"])
        self.line(depth, f"for {k} in cl.static_range({bounds}):", python=f"for {k} in range({bounds}):")
        self.line(depth + 1, f"a ^= {k}")
        self.loops.append(True)
        self.block(depth + 1, self.random.randint(1, 2), nested if len(self.loops) < 2 else 0)
        self.loops.pop()

    def _if(self, depth: int, nested: int) -> None:
        self.line(depth, "if {0}:", self.truth(3))
        self.block(depth + 1, self.random.randint(1, 3), nested)
        for word in self.random.choice([(), ("else:",), ("elif {0}:",), ("elif {0}:", "else:")]):
            self.line(depth, word, self.truth(2))
            self.block(depth + 1, self.random.randint(1, 2), nested)

    def _match(self, depth: int, nested: int) -> None:
        self.line(depth, "match {0}:", text(self.random.choice(["({0} & 3)", "({0} % 5)"]), self.of("i32", 2)))
        for pattern in self.random.sample(["0", "1 | 3", "2", "4", "1"], 3):
            guard = self.random.random() < 0.3
            self.line(depth + 1, f"case {pattern} if {{0}}:" if guard else f"case {pattern}:", self.truth(2))
            self.block(depth + 2, 1, nested - 1)
        if self.random.random() < 0.7:
            self.line(depth + 1, "case _:")
            self.block(depth + 2, 1, nested - 1)

    def counter(self) -> str:
        self.fresh += 1
        return f"k{self.fresh}"

    def _for(self, depth: int, nested: int) -> None:
        k, roll, after = self.counter(), self.random.random(), False
        small, start = text("({0} & 3)", self.of("i32", 1)), text("({0} % 7)", self.of("i32", 1))
        if roll < 0.3:
            t, bounds, after = "i32", text(str(self.random.randint(1, 4))), True
        elif roll < 0.5:
            t, bounds = "i32", self.random.choice([small, text("size")])
        elif roll < 0.75:
            step = self.random.choice([-3, -2, -1, 2, 3])
            t, bounds = "i32", text(f"{{0}}, {{1}}, {step}", start, text("({0} % 7)", self.of("i32", 1)))
        else:
            base = self.random.choice([2**31 - 2, -(2**31) - 1, 2**32 - 1, 2**40])
            t, bounds = (
                "i64",
                text(f"{{0}} + {base}, {base + 4}, {self.random.randint(1, 2)}", text("({0} & 1)", self.of("i64", 1))),
            )
        counted = self.random.choice(["range({0})", "range({0})", "cl.range({0}, unroll=2)", "cl.range({0}, unroll=3)"])
        self.line(depth, f"for {k} in {counted}:", bounds, python=f"for {k} in range({{0}}):")
        self.loop(depth, nested, k, t, True)
        if not after:
            del self.types[k]

    def _for_else(self, depth: int, nested: int) -> None:
        self._for(depth, nested)
        self.line(depth, "else:")
        self.block(depth + 1, 1, nested - 1)

    def _while(self, depth: int, nested: int) -> None:
        k = self.counter()
        self.line(depth, f"{k} = cl.i32(0)", python=f"{k} = 0")
        self.line(depth, f"while {k} < ({{0}} & 3) and {{1}}:", Text("a", "a"), self.truth(2))
        self.line(depth + 1, f"{k} += 1")
        self.loop(depth, nested, k, "i32", False)
        if self.random.random() < 0.3:
            self.line(depth, "else:")
            self.block(depth + 1, 1, nested - 1)

    def _forever(self, depth: int, nested: int) -> None:
        k = self.counter()
        self.line(depth, f"{k} = cl.i32(0)", python=f"{k} = 0")
        self.line(depth, "while True:")
        self.line(depth + 1, f"{k} += 1")
        self.line(depth + 1, f"if {k} > ({{0}} & 3):\n{'    ' * (depth + 2)}break", self.of("i32", 1))
        self.loop(depth, nested, k, "i32", False)

    def _first(self, depth: int, nested: int) -> None:
        """A variable that begins as a literal, and one that a loop binds first; both are read behind it."""
        number, last, name = self.counter(), self.counter(), self.variable("i32")
        self.line(depth, f"{number} = {self.random.choice([0, 1, -5])}")
        self.line(depth, f"for _ in range({self.random.choice([1, 2, 9, 12])}):")
        self.line(depth + 1, f"{last} = {number}")
        self.line(depth + 1, f"{number} = {{0}}", self.of("i32", 2))
        self.loop(depth, nested, number, "i32", True)
        self.line(depth, f"{name} ^= {last} - {number}", python=f"{name} ^= W32({last} - {number})")

    def loop(self, depth: int, nested: int, counter: str, t: str, is_for: bool) -> None:
        self.types[counter] = t
        self.loops.append(is_for)
        self.block(depth + 1, self.random.randint(1, 3), nested if len(self.loops) < 2 else 0)
        self.loops.pop()

    # Expressions.

    def of(self, t: str, depth: int) -> Text:
        if t == "bool":
            return self.truth(depth)
        if depth == 0 or self.random.random() < 0.15:
            return self.leaf(t)
        return self.integer(t, depth - 1) if t in INTS else self.float(t, depth - 1)

    def leaf(self, t: str) -> Text:
        name = self.random.choice([name for name, of in self.types.items() if of == t])
        return Text(name, name)

    def literal(self, t: str) -> Text:
        low, high = limits(t)
        numbers = [
            0,
            1,
            -1,
            7,
            high,
            low + 1,
            2**31 - 1,
            -(2**31),
            2**31,
            2**32,
            2**32 + 5,
            self.random.randint(-99, 99),
        ]
        return text(f"({self.random.choice([n for n in numbers if low <= n <= high])})")

    def operand(self, t: str, depth: int) -> Text:
        """Draw a partner of a `t`: another one, a narrower number, or a literal that fits."""
        roll = self.random.random()
        if roll < 0.3:
            return self.literal(t) if t in INTS else text(self.random.choice(["0.5", "(-2.0)", "3", "0.0", "1.5"]))
        if roll < 0.5 and t in ("i64", "f64"):
            return self.of("i32", depth)
        return self.of(t, depth)

    def divisor(self, t: str) -> Text:
        forms = ["({0} & 1023 | 1)", "-({0} & 7 | 2)", "3", "(-5)", "16", *["({0} & 0xFFFFFFFFFF | 1)"] * (t == "i64")]
        return text(self.random.choice(forms), self.leaf(t))

    def integer(self, t: str, depth: int) -> Text:
        left, right, wrap = self.of(t, depth), self.operand(t, depth), INTS[t]
        form = self.random.randrange(11)
        if form == 10:
            asked = [
                "({0}).bit_length()",
                "({0}).bit_count()",
                "({0}).numerator",
                "({0}, {1}).count({1})",
                "({0}).__abs__()",
            ]
            template = f"({{1}} ^ {self.random.choice(asked)})"
            return text(template, left, self.of(t, depth), python=f"{wrap}({template})")
        if form <= 3:
            template = self.random.choice(["{0} + {1}", "{0} - {1}", "{1} - {0}", "{0} * {1}"])
            return text(f"({template})", left, right, python=f"{wrap}({template})")
        if form == 4:
            return text(self.random.choice(["({0} // {1})", "({0} % {1})"]), left, self.divisor(t))
        if form == 5:
            return text(self.random.choice(["({0} & {1})", "({0} | {1})", "({0} ^ {1})"]), left, right)
        if form == 6:
            template = self.random.choice(
                ["(-{0})", "abs({0})", f"({{0}} << {self.random.randrange(limits(t)[1].bit_length())})", "(~{0})"]
            )
            return text(template, left, python=f"{wrap}({template})")
        if form == 7:
            return text(f"({{0}} >> {self.random.randrange(limits(t)[1].bit_length())})", left)
        if form == 8:
            return text(self.random.choice(["min({0}, {1})", "max({0}, {1})"]), left, self.of(t, depth))
        return self.chosen(t, depth)

    def float(self, t: str, depth: int) -> Text:
        left, right = self.of(t, depth), self.operand(t, depth)
        if self.random.random() < 0.5:
            left, right = right, left
        form = self.random.randrange(9)
        if form <= 3:
            template = self.random.choice(["({0} + {1})", "({0} - {1})", "({0} * {1})"])
            found = text(template, left, self.of(t, depth), python=template)
        elif form <= 6:
            sign, function = self.random.choice([("/", "D"), ("//", "Q"), ("%", "M")])
            found = text(f"({{0}} {sign} {{1}})", left, self.of(t, depth), python=f"{function}({{0}}, {{1}})")
        elif form == 7:
            found = text(self.random.choice(["(-{0})", "abs({0})"]), self.of(t, depth))
        else:
            return self.chosen(t, depth)
        return text("{0}", found, python="R({0})") if t == "f32" else text("{0}", found, python="float({0})")

    def chosen(self, t: str, depth: int) -> Text:
        """One of two numbers."""
        left, right = self.of(t, depth), self.of(t, depth)
        form = self.random.choice(["({0} if {2} else {1})", "({0} or {1})", "({0} and {1})", "(({2} and {0}) or {1})"])
        return text(form, left, right, self.truth(depth))

    def truth(self, depth: int) -> Text:
        if depth <= 0:
            return self.leaf("bool")
        form = self.random.randrange(10)
        t = self.random.choice(["i32", "i64", "f32", "f64"])
        if form <= 3:
            sign = self.random.choice(["<", "<=", ">", ">=", "==", "!="])
            return text(f"({{0}} {sign} {{1}})", self.of(t, depth - 1), self.operand(t, depth - 1))
        if form == 4:
            template = self.random.choice(["({0} < {1} <= {2})", "({0} == {1} != {2})", "({2} > {0} >= {1})"])
            return text(template, *(self.of(t, depth - 1) for _ in range(3)))
        if form == 5:
            return text("(not {0})", self.of(self.random.choice([t, "bool"]), depth - 1))
        if form == 9:
            return text("({0}).is_integer()", self.of(self.random.choice(["f32", "f64"]), depth - 1))
        if form == 6:
            return text(self.random.choice(["(size < {0})", "(size == {0})", "(size > 2)"]), self.of("i32", depth - 1))
        return text(
            self.random.choice(["({0} and {1})", "({0} or {1})", "({0} != {1})"]),
            *(self.truth(depth - 1) for _ in range(2)),
        )


# Running one.


class Script(NamedTuple):
    """A function in both spellings: the kernel's module, and CPython's."""

    kernel: str
    python: str


def script(seed: int) -> Script:
    names, end = ", ".join(VARIABLES), f"    return {', '.join(VARIABLES)}"
    helpers = tuple(f"helper{i}" for i in range(seed % 3))
    drawn = [(name, Draw(f"{seed} {name}").draw(2)) for name in helpers]
    drawn.append(("function", Draw(seed, helpers).draw()))
    functions = Text(*("\n".join(
        line for name, lines in drawn for line in (f"def {name}({names}):", *(text[way] for text in lines), end, "")
    ) for way in (0, 1)))  # fmt: skip
    loads = ", ".join(f"{name}_[i]{' != 0' if t == 'bool' else ''}" for name, t in VARIABLES.items())
    stores = ", ".join(f"{name}_[i]" for name in VARIABLES)
    parameters = ", ".join(f"{name}_: Tensor[cl.{'u8' if t == 'bool' else t}, (N,)]" for name, t in VARIABLES.items())
    names_ = ", ".join("cl.u8(t)" if name == "t" else name for name in VARIABLES)
    kernel = [
        f"import cutelite as cl\nfrom cutelite import Tensor\n{STRUCTURES}\nN = cl.dims('N')\n\n",
        functions.kernel,
        f"\n\n@cl.kernel(fmad=False)\ndef kernel({parameters}):",
        f"    i = cl.thread_idx.x\n    {names} = function({loads})\n    {stores} = {names_}\n",
    ]
    return Script("\n".join(kernel), STRUCTURES + functions.python)


def inputs_of(seed: int) -> dict[str, Array]:
    """Numbers of each type: ordinary ones, the ends of ranges, around 2**31 and 2**32, zeros, infinities, NaN."""
    draw = np.random.default_rng(seed)
    found = {name: samples(t, THREADS, draw) for name, t in VARIABLES.items()}
    near = draw.choice([2**31, -(2**31), 2**32, -(2**32)], THREADS) + draw.integers(-3, 4, THREADS)
    found["p"] = np.where(draw.random(THREADS) < 0.5, near, found["p"])
    for name in ("x", "u"):
        ordinary = (draw.normal(size=THREADS) * 10).astype(found[name].dtype)
        found[name] = np.where(draw.random(THREADS) < 0.5, ordinary, found[name])
    return found


def by_python(source: str, inputs: dict[str, Array]) -> dict[str, Array]:
    space = dict(HELPERS)
    exec(compile(source, "<script>", "exec"), space)
    rows = [space["function"](*(inputs[name][i].item() for name in VARIABLES)) for i in range(THREADS)]
    columns = zip(*rows, strict=True)
    with np.errstate(all="ignore"):
        return {name: np.array(column, STORED[t]) for (name, t), column in zip(VARIABLES.items(), columns, strict=True)}


def stored(inputs: dict[str, Array]) -> dict[str, Array]:
    """Fresh arrays, in the order of the kernel's parameters; it leaves its results there."""
    return {name: inputs[name].astype(STORED[t]) for name, t in VARIABLES.items()}


def different(found: dict[str, Array], right: dict[str, Array]) -> Iterator[str]:
    from tests.fuzz.cases import disagreement

    for name, expected in right.items():
        if said := disagreement(name, found[name], expected):
            yield said
