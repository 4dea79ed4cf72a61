"""Random signatures: kernels whose parameters nest all kinds, launched again and again with other arguments.

python -m tests.fuzz.signatures --count 500 --gpu        # from a seed on; says which kernels find other numbers
python -m tests.fuzz.signatures --seed 17 --count 1 --show

Each kernel reads all that it is given, numbers, the first and last element of tensors, their extents, and stores it. On
a GPU later launches are those of machine code (`cutelite_rt/launcher`). In the simulator each is also launched with
an argument, or a part of one, that is wrong: it may be refused, in no other way than by an error of ours.
"""

import math
import sys
import traceback
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

import numpy as np

import cutelite as cl
from cutelite import ArgumentError, CompileError, SimError
from cutelite.dispatch import Kernel
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import SCALARS
from tests.fuzz import by_seed
from tests.fuzz.cases import kernel_of
from tests.places import Staged

TYPES = ("bool", *(f"{s}{n}" for s in "iu" for n in (8, 16, 32, 64)), "f16", "bf16", "f32", "f64", "e4m3", "e5m2")
LEAVES = ("number", "tensor", "tensor", "optional", "pointer", "constant", "pointers")
NESTS = ("sequence", "pair", "record")
LAUNCHES, LAUNCHES_ON_A_GPU = 2, 14
ABSENT = -99.0

WRONG: list[Any] = [
    *(None, "x", b"x", 3, -1, 2**40, 2**70, 1.5, math.nan, True, (), [], {}, (1, 2), [1], object(), np.float32(3), ...),
    *(cl.f32, type, range(3), memoryview(b"abcd"), np.array(3), np.broadcast_to(np.float32(1), (3, 3))),
    *(np.zeros(4, dtype) for dtype in (np.complex64, object, "U3", ">f4")),
    *(np.zeros(shape, np.float32) for shape in ((0,), (2, 0), (1,) * 6)),
    *(np.zeros((4, 4), np.float32)[part] for part in ((slice(None, None, 2), slice(None, None, 2)), np.s_[:, ::-1])),
]
"""Arguments that hardly any parameter takes."""

Stage = Callable[[np.ndarray[Any, Any]], Any]  # an array to where the kernel runs


class Given(NamedTuple):
    """An argument, and the numbers that the kernel finds in it."""

    argument: Any
    found: list[float]


class Part(NamedTuple):
    """A parameter, or a part of one: how it is annotated, drawn, and read by a kernel's lines."""

    annotation: str
    draw: Callable[[Random, Stage], Given]
    reads: Callable[[str], list[str]]


class Signature:
    """The parameters of one kernel, drawn from a seed, and its source."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.dims = 0
        self.classes: list[str] = []
        self.constants = self.random.sample([0, 1, 2, 5, 3.5], 2)
        self.space: dict[str, Any] = {}
        self.parts = [self.part(2) for _ in range(self.random.randint(1, 5))]
        parameters = ", ".join(f"p{i}: {part.annotation}" for i, part in enumerate(self.parts))
        lines = [line for i, part in enumerate(self.parts) for line in part.reads(f"p{i}")]
        self.source = "\n".join(
            [
                "from dataclasses import dataclass",
                "from typing import NamedTuple",
                "import cutelite as cl",
                *(f"D{i} = cl.dims('D{i}')" for i in range(self.dims)),
                *self.classes,
                "@cl.kernel(block=1)",
                f"def kernel(out: cl.Tensor[cl.f64, (None,)], {parameters}):",
                "    n = 0",
                *(f"    {line}" for line in lines),
                "",
            ]
        )

    def part(self, depth: int) -> Part:
        kind = self.random.choice((*LEAVES, *NESTS) if depth else LEAVES)
        return getattr(self, kind)(*[depth - 1] * (kind in NESTS))  # type: ignore[no-any-return]

    def type(self) -> str:
        return self.random.choice(TYPES)

    def number(self) -> Part:
        t = self.type()
        return Part(f"cl.{spelled(t)}", lambda random, _: number(random, t), lambda e: [store(value(e, t))])

    def constant(self) -> Part:
        def draw(random: Random, _: Stage) -> Given:
            chosen = random.choice(self.constants)
            return Given(chosen, [float(chosen)])

        return Part("cl.Constexpr", draw, lambda e: [store(f"cl.f64({e})")])

    def tensor(self) -> Part:
        t, rank = self.type(), self.random.randint(1, 3)
        names = "".join(f"D{self.dims + i}, " for i in range(rank))
        self.dims += rank
        unknown = "None, " * rank
        forms = {
            "rows": f"({names})",
            "columns": f"({names}), cl.col_major",
            "strides": f"({names}), ({unknown})",
            "no names": f"({unknown})",
            "aligned": f"({names}), cl.align(16)",
        }
        form = self.random.choice(list(forms))

        def reads(e: str) -> list[str]:
            last = ", ".join(f"{e}.shape[{i}] - 1" for i in range(rank))
            ends = [value(f"{e}[{'0, ' * rank}]", t), value(f"{e}[{last}]", t)]
            return [store(each) for each in (*ends, *(f"cl.f64({e}.shape[{i}])" for i in range(rank)))]

        return Part(
            f"cl.Tensor[cl.{spelled(t)}, {forms[form]}]",
            lambda random, stage: tensor(random, stage, t, rank, form),
            reads,
        )

    def optional(self) -> Part:
        inner = self.tensor()

        def draw(random: Random, stage: Stage) -> Given:
            return Given(None, [ABSENT]) if random.random() < 0.3 else inner.draw(random, stage)

        def reads(e: str) -> list[str]:
            return [
                f"if {e} is None:",
                f"    {store(f'cl.f64({ABSENT})')}",
                "else:",
                *(f"    {x}" for x in inner.reads(e)),
            ]

        return Part(f"{inner.annotation} | None", draw, reads)

    def pointer(self) -> Part:
        t = self.type()

        def draw(random: Random, stage: Stage) -> Given:
            x = filled(random, t, (4,))
            return Given(stage(x), [float(x[3])])

        return Part(f"cl.Pointer[cl.{spelled(t)}]", draw, lambda e: [store(value(f"{e}[3]", t))])

    def pointers(self) -> Part:
        t, self.dims = self.type(), self.dims + 1

        def draw(random: Random, stage: Stage) -> Given:
            arrays = [filled(random, t, (3,)) for _ in range(random.randint(1, 4))]
            return Given(cl.pointers([stage(x) for x in arrays]), [float(arrays[-1][2]), float(len(arrays))])

        return Part(
            f"cl.Tensor[cl.Pointer[cl.{spelled(t)}], (D{self.dims - 1},)]",
            draw,
            lambda e: [store(value(f"{e}[{e}.shape[0] - 1][2]", t)), store(f"cl.f64({e}.shape[0])")],
        )

    def sequence(self, depth: int) -> Part:
        """A list of numbers, of which each kernel has as many in all its launches."""
        inner, count = self.number(), self.random.randint(1, 3)

        def draw(random: Random, stage: Stage) -> Given:
            items = [inner.draw(random, stage) for _ in range(count)]
            return Given([x.argument for x in items], [number for x in items for number in x.found])

        return Part(
            f"list[{inner.annotation}]",
            draw,
            lambda e: [line for i in range(count) for line in inner.reads(f"{e}[{i}]")],
        )

    def pair(self, depth: int) -> Part:
        parts = [self.part(depth) for _ in range(2)]
        return Part(
            f"tuple[{', '.join(part.annotation for part in parts)}]",
            lambda random, stage: together(tuple, [part.draw(random, stage) for part in parts]),
            lambda e: [line for i, part in enumerate(parts) for line in part.reads(f"{e}[{i}]")],
        )

    def record(self, depth: int) -> Part:
        parts, name = [self.part(depth) for _ in range(self.random.randint(1, 3))], f"Record{len(self.classes)}"
        head = self.random.choice((f"@dataclass(frozen=True)\nclass {name}:", f"class {name}(NamedTuple):"))
        fields = [f"    f{i}: {part.annotation}" for i, part in enumerate(parts)]
        self.classes.append("\n".join([head, *fields]))
        return Part(
            name,
            lambda random, stage: together(
                lambda given: self.space[name](*given), [part.draw(random, stage) for part in parts]
            ),
            lambda e: [line for i, part in enumerate(parts) for line in part.reads(f"{e}.f{i}")],
        )

    def kernel(self, seed: int) -> Kernel:
        made = kernel_of(self.source, f"signature {seed}")
        self.space = made.__cutelite_function__.__globals__
        return made


def together(make: Callable[[list[Any]], Any], parts: list[Given]) -> Given:
    return Given(make([part.argument for part in parts]), [number for part in parts for number in part.found])


def spelled(t: str) -> str:
    return "boolean" if t == "bool" else t


def store(expression: str) -> str:
    return f"out[n] = {expression}; n += 1"


def value(expression: str, t: str) -> str:
    return f"cl.f64({expression}.to(cl.f32))" if t in ("e4m3", "e5m2", "f16", "bf16") else f"cl.f64({expression})"


def number(random: Random, t: str) -> Given:
    if t == "bool":
        chosen: Any = random.random() < 0.5
    elif t[0] in "iu":
        bits = int(t[1:])
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if t[0] == "i" else (0, (1 << bits) - 1)
        chosen = (
            random.randint(0, 1 << 52) if bits == 64 else random.choice((low, high, 0, 1, random.randint(low, high)))
        )
    else:
        chosen = float(np.array(random.uniform(-4, 4)).astype(numpy_dtype(SCALARS[t])))
    return Given(chosen, [float(chosen)])


def filled(random: Random, t: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    count, most = int(np.prod(shape)), 1 if t == "bool" else 7
    return np.array([random.randint(0, most) for _ in range(count)]).astype(numpy_dtype(SCALARS[t])).reshape(shape)


def tensor(random: Random, stage: Stage, t: str, rank: int, form: str) -> Given:
    shape = tuple(random.randint(1, 5) for _ in range(rank))
    if form == "columns":
        x = np.asfortranarray(filled(random, t, shape))
    elif form == "strides":
        steps = tuple(random.randint(1, 2) for _ in shape)
        x = filled(random, t, tuple(n * step for n, step in zip(shape, steps, strict=True)))
        x = x[tuple(slice(None, None, step) for step in steps)]
    else:
        x = filled(random, t, shape)
    return Given(stage(x), [float(x[(0,) * rank]), float(x[(-1,) * rank]), *map(float, shape)])


def mistakes(seed: int, gpu: bool = False) -> list[str]:
    """Launch the kernel of a seed with several arguments; return what is wrong."""
    signature = Signature(seed)
    kernel = signature.kernel(seed)
    for launch in range(LAUNCHES_ON_A_GPU if gpu else LAUNCHES):
        staged = Staged()
        stage: Stage = staged.array if gpu else lambda x: x
        given = together(tuple, [part.draw(signature.random, stage) for part in signature.parts])
        out = np.zeros(len(given.found))
        try:
            kernel[1](stage(out), *given.argument)
        except Exception:
            return [f"launch {launch}:\n{traceback.format_exc(limit=-4)}", signature.source]
        staged.bring()
        if out.tolist() != given.found:
            return [f"launch {launch} finds {out.tolist()}, not {given.found}", signature.source]
        if not gpu and (said := misfit(signature, kernel, list(given.argument))):
            return [*said, signature.source]
    return []


def misfit(signature: Signature, kernel: Kernel, arguments: list[Any]) -> list[str]:
    """Launch the kernel with a wrong argument; return what is wrong about the answer."""
    at = signature.random.randrange(len(arguments))
    arguments[at] = spoilt(signature.random, arguments[at])
    try:
        kernel[1](np.zeros(400), *arguments)
    except (ArgumentError, CompileError, SimError):
        pass
    except Exception:
        return [f"with {arguments[at]!r} as p{at}:\n{traceback.format_exc(limit=-4)}"]
    return []


def spoilt(random: Random, argument: Any) -> Any:
    """Return something else, or the argument with something else in it."""
    if isinstance(argument, tuple | list) and argument and random.random() < 0.7:
        parts, at = list(argument), random.randrange(len(argument))
        parts[at] = spoilt(random, parts[at])
        return type(argument)(*parts) if hasattr(argument, "_fields") else type(argument)(parts)
    return random.choice(WRONG)


if __name__ == "__main__":
    sys.exit(by_seed.main("signatures", mistakes, lambda seed: [Signature(seed).source]))
