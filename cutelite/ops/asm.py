"""Inline PTX, for instructions that have no op."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cutelite.ir.contract import Effect, Problem, Ptx, describe
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.simulation import Lanes
from cutelite.ir.types import Ptr, Scalar, Tensor, Type, Vec

PLACE = re.compile(r"\$(?:([A-Za-z_]\w*?)(?:\.(\d+))?(?![\w.])|\$)")
"""A reference in a template: `$name` or `$name.2`; `$$` is a dollar sign."""


@op("asm", source="PTX ISA: the instructions in its template")
class InlinePtx(Op):
    """Execute the PTX in `template`, in which `$name` stands for the register of the input called `name`.

    template  a vector is a braced list of registers, and `$name.2` its third; `$out` is the result, `$out0`, `$out1`...
              if there are several. `$$` is a dollar sign. Put braces around the labels and registers that it declares
    names     the names of `inputs`
    outs      the types of the results: scalars, or vectors of them
    pure      it has no effect but its results: equal ones may become one, unused ones are dropped
    memory    it may read and write memory, and is not moved across other accesses

    The simulator cannot execute it: `cl.inline_ptx(..., meaning=)` says what it computes.
    """

    template: str
    names: tuple[str, ...]
    inputs: tuple[Value, ...]
    outs: tuple[Type, ...] = ()
    pure: bool = False
    memory: bool = True

    @property
    def effects(self) -> Effect:  # type: ignore[override]
        if self.pure:
            return Effect.PURE
        access = Effect.READS | Effect.WRITES | Effect.ORDERS if self.memory else Effect.PURE
        return access | Effect.UNMERGEABLE | Effect.CONVERGENT | Effect.HOST_VISIBLE

    def result_types(self) -> tuple[Type, ...]:
        return self.outs

    def verify(self) -> Iterator[Problem]:
        if len(self.names) != len(self.inputs) or len(set(self.names)) != len(self.names):
            yield Problem("names", f"{len(self.inputs)} inputs need as many different names, not {self.names}")
            return
        for name in self.names:
            if not name.isidentifier() or re.fullmatch(r"out\d*", name):
                yield Problem("names", f"an input of inline PTX cannot be called {name!r}")
        for name, value in zip(self.names, self.inputs, strict=True):
            if not isinstance(value.type, Scalar | Vec | Ptr | Tensor):
                yield Problem("inputs", f"inline PTX takes numbers, vectors and addresses, `{name}` is {value.type}")
        for t in self.outs:
            if not isinstance(t, Scalar | Vec):
                yield Problem("outs", f"inline PTX gives numbers and vectors, not {describe((t,))}")
        yield from self._place_problems()
        if self.pure and not self.outs:
            yield Problem("pure", "pure PTX without a result has no effect")

    def _place_problems(self) -> Iterator[Problem]:
        results = ["out"] if len(self.outs) == 1 else [f"out{i}" for i in range(len(self.outs))]
        types = dict(zip(self.names, (value.type for value in self.inputs), strict=True))
        types |= dict(zip(results, self.outs, strict=True))
        used = set()
        for found in PLACE.finditer(self.template):
            name, index = found[1], found[2]
            if name is None:
                continue
            used.add(name)
            if name not in types:
                known = f"none of {', '.join(f'${n}' for n in types)}" if types else "neither an input nor a result"
                yield Problem("template", f"`${name}` is {known}")
            elif index is not None and int(index) >= _registers(types[name]):
                yield Problem("template", f"`${name}.{index}` is not in {types[name]}")
        for left in re.findall(r"\$[^\s,;]*", PLACE.sub("", self.template)):
            yield Problem(
                "template", f"`{left}` is no place: write `$name` of an input, `$out`, or `$$` for a dollar sign"
            )
        for name in types:
            if name not in used:
                yield Problem("template", f"the template does not use `${name}`")

    def ptx(self) -> Ptx:
        first, starts = 0, {}
        for name, value in zip(self.names, self.inputs, strict=True):
            starts[name] = (first, value.type)
            first += _registers(value.type)

        def place(found: re.Match[str]) -> str:
            name, index = found[1], found[2]
            if name is None:
                return "$$"
            if name not in starts:
                return found[0]
            start, t = starts[name]
            if index is not None:
                return f"$inputs.{start + int(index)}"
            registers = [f"$inputs.{start + i}" for i in range(_registers(t))]
            return f"{{{', '.join(registers)}}}" if isinstance(t, Vec) else registers[0]

        return Ptx(PLACE.sub(place, self.template), pure=self.pure, memory=self.memory and not self.pure)

    def simulate(self, lanes: Lanes) -> None:
        lanes.fault(
            lanes.mask,
            "the simulator cannot execute inline PTX",
            "inline-ptx",
            "give it a meaning in Python, `meaning=`; or run this kernel on a GPU; or use an intrinsic of cutelite",
        )


def _registers(t: Type) -> int:
    return t.n if isinstance(t, Vec) else 1


__all__ = ["InlinePtx"]
