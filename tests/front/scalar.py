"""IR executed by one thread on plain Python numbers: what the frontend's tests compare with CPython.

It knows arithmetic, control flow and one-dimensional tensors, and shares no code with the simulator or the lowering.
"""

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

from cutelite.ir.function import Function, Jump, Value
from cutelite.ir.op import Op
from cutelite.ir.types import Scalar, Vec, elem_of
from cutelite.layout import evaluate

Number = int | float | bool
STEPS = 1_000_000
"""Ops after which a kernel is taken for one that never ends."""


class Failed(Exception):
    """An assertion of the kernel's failed."""


def run(function: Function, args: Sequence[Any], dims: dict[str, int] | None = None) -> None:
    """Execute it with an argument for each parameter: a number, or a list for a tensor, which it may change."""
    _Thread(function, args, dims or {}).run()


def wrapped(x: Number, t: Scalar) -> Number:
    """`x` as a number of type `t`: integers modulo its range, floats rounded to it."""
    if t.kind == "bool":
        return bool(x)
    if t.is_float:
        return _rounded(float(x), t)
    low, high = t.range
    return (int(x) - low) % (high - low + 1) + low


def _rounded(x: float, t: Scalar) -> float:
    if t.name == "f64" or not math.isfinite(x):
        return x
    try:
        code = {"f32": "f", "f16": "e"}[t.name]
        return float(struct.unpack(code, struct.pack(code, x))[0])
    except OverflowError:
        return math.copysign(math.inf, x)


class _Thread:
    def __init__(self, function: Function, args: Sequence[Any], dims: dict[str, int]) -> None:
        self.function, self.dims = function, dims
        self.values: dict[Value, Any] = dict(zip(function.params, args, strict=True))

    def run(self) -> None:
        ops = iter(self.function.entry.ops)
        for _ in range(STEPS):
            op = next(ops)
            match op.name:
                case "br":
                    ops = self.jump(op.to)  # type: ignore[attr-defined]
                case "cond_br":
                    ops = self.jump(op.then if self.values[op.cond] else op.other)  # type: ignore[attr-defined]
                case "ret":
                    return
                case "assert.fail":
                    raise Failed(op.message)  # type: ignore[attr-defined]
                case _:
                    self.step(op)
        raise TimeoutError(f"{self.function.name} has not ended after {STEPS} ops")

    def jump(self, to: Jump) -> Any:
        passed = [self.values[value] for value in to.args]
        self.values.update(zip(to.block.params, passed, strict=True))
        return iter(to.block.ops)

    def step(self, op: Any) -> None:
        match op.name:
            case "const":
                self.define(op, op.value)
            case "dim":
                self.define(op, evaluate(op.expr, self.dims))
            case "special":
                self.define(op, {"ntid": 1, "nctaid": 1}.get(op.register.partition(".")[0], 0))
            case "tensor.load":
                self.define(op, self.values[op.t][self.offset(op)])
            case "tensor.store":
                self.values[op.t][self.offset(op)] = self.values[op.a]
            case "vec.make":
                self.define(op, [x for item in op.items for x in _listed(self.values[item])])
            case "vec.splat":
                self.define(op, [self.values[op.a]] * op.n)
            case "vec.gather":
                picked = [self.values[op.a][i] for i in op.picks]
                self.define(op, picked[0] if op.scalar else picked)
            case _:
                compute = COMPUTE[op.name]
                self.define(op, self.each(compute, op, [self.values[value] for value in op.operands]))

    def define(self, op: Op, result: Any) -> None:
        t = op.result.type
        elem = elem_of(t)
        self.values[op.result] = [wrapped(x, elem) for x in result] if isinstance(t, Vec) else wrapped(result, elem)

    def each(self, compute: Callable[..., Any], op: Op, args: list[Any]) -> Any:
        if not any(isinstance(x, list) for x in args):
            return compute(op, *args)
        n = next(len(x) for x in args if isinstance(x, list))
        columns = [x if isinstance(x, list) else [x] * n for x in args]
        return [compute(op, *row) for row in zip(*columns, strict=True)]

    def offset(self, op: Any) -> int:
        layout = op.t.type.layout
        coord = [self.values[index] for index in op.coord]
        extents = layout.shape if len(coord) > 1 else (layout.size,)
        for index, extent in zip(coord, extents, strict=True):
            assert 0 <= index < evaluate(extent, self.dims), f"index {coord} into {layout}"
        return int(evaluate(layout(*coord), self.dims))


def _listed(x: Any) -> list[Any]:
    return x if isinstance(x, list) else [x]


def _convert(op: Any, a: Number) -> Number:
    if op.type.is_int and isinstance(a, float):
        low, high = op.type.range
        return 0 if math.isnan(a) else int(max(low, min(high, a)))
    return a


def _shifted(op: Any, a: int, b: int, left: bool) -> int:
    width = elem_of(op.a.type).bits
    amount = b & (1 << width) - 1
    if left:
        return a << amount if amount < width else 0
    return a >> min(amount, width)


def _divided(op: Any, a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}

COMPUTE: dict[str, Callable[..., Any]] = {
    "add": lambda op, a, b: a + b,
    "sub": lambda op, a, b: a - b,
    "mul": lambda op, a, b: a * b,
    "div": _divided,
    "floordiv": lambda op, a, b: a // b,
    "mod": lambda op, a, b: a % b,
    "neg": lambda op, a: -a,
    "abs": lambda op, a: abs(a),
    "not": lambda op, a: not a if isinstance(a, bool) else ~a,
    "and": lambda op, a, b: a & b,
    "or": lambda op, a, b: a | b,
    "xor": lambda op, a, b: a ^ b,
    "shl": lambda op, a, b: _shifted(op, a, b, True),
    "shr": lambda op, a, b: _shifted(op, a, b, False),
    "min": lambda op, a, b: min(a, b),
    "max": lambda op, a, b: max(a, b),
    "cmp": lambda op, a, b: COMPARE[op.predicate](a, b),
    "select": lambda op, cond, a, b: a if cond else b,
    "cvt": _convert,
    "fmod": lambda op, a, b: math.fmod(a, b) if b and math.isfinite(a) else math.nan,
    "copysign": lambda op, a, b: math.copysign(a, b),
    "floor": lambda op, a: math.floor(a) if math.isfinite(a) else a,
    "rint": lambda op, a: round(a) if math.isfinite(a) else a,
}
