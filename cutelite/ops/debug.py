"""Prints, traps and breakpoints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cutelite.ir.contract import Effect, Problem, Ptx
from cutelite.ir.function import Value
from cutelite.ir.op import Op, op
from cutelite.ir.types import Ptr, Scalar, Tensor, Type, Vec, elem_of, i32
from cutelite.ops.address import among

if TYPE_CHECKING:
    from cutelite.ir.simulation import Lanes

SPECIFIER = r"%(?:%|([-+ #0]*)(\d*)(?:\.(\d+))?(hh|h|ll|l)?([diouxXeEfFgGaAcp]))"
"""A conversion of C's printf that CUDA's vprintf knows; groups: flags, width, precision, size, letter. None for %%."""

INTEGER = "diouxXc"


def conversions(fmt: str) -> list[re.Match[str]]:
    """Return the conversions of a printf format but %%: matches of `SPECIFIER`, which any other % is left out of."""
    return [found for found in re.finditer(SPECIFIER, fmt) if found[5]]


def _unknown(fmt: str) -> str | None:
    """Return the first % of a printf format that starts no conversion, with what C would take for one."""
    found = next((each for each in re.finditer(f"{SPECIFIER}|(%[-+ #0-9.*hlLjzt]*.?)", fmt) if each[6]), None)
    return found and found[6].rstrip("\n")


@op("printf", effects=Effect.HOST_VISIBLE, source="CUDA C++ Programming Guide: formatted output")
class Printf(Op):
    """Print `args` as C's printf would with `fmt`; the text appears when the host next synchronises.

    args  as many as `fmt` has conversions: integers and bools for %d, %u, %x, %c..., floats for %f, %e, %g,
          pointers for %p. `lower` widens them as C does (i32 or i64, f64) and passes them to vprintf; 64-bit
          integers need %lld, %llu or %llx
    """

    fmt: str
    args: tuple[Value, ...]

    def verify(self) -> Iterator[Problem]:
        yield from format_problems(self.fmt, self.args, "fmt")

    def simulate(self, lanes: Lanes) -> None:
        lanes.print(formatted(lanes, self.fmt, self.args))


def format_problems(fmt: str, args: tuple[Value, ...], field: str) -> Iterator[Problem]:
    """Yield what is wrong with a printf format, which is the field of that name, and the values for it."""
    unknown, wanted = _unknown(fmt), conversions(fmt)
    if unknown is not None:
        what = "write %% for a percent sign"
        if unknown[-1] == "s":
            what = "the text belongs into the format itself, and a number takes %d, %f or their like: write an f-string"
        yield Problem(field, f"{unknown!r} is no conversion that printf knows", what)
        return
    if len(wanted) != len(args):
        yield Problem("args", f"the format takes {len(wanted)} value{'s' * (len(wanted) != 1)}, not {len(args)}")
        return
    for found, arg in zip(wanted, args, strict=True):
        yield from _argument_problems(found[5], found[4] in ("l", "ll"), arg)


def formatted(lanes: Lanes, fmt: str, args: tuple[Value, ...]) -> list[str]:
    """Return for each lane the text that C's printf makes of its values."""
    from cutelite.ops.c_format import text_of  # imported here: only the simulator needs it

    pieces: list[str] = []  # a text before each conversion, and one behind the last
    columns: list[list[str]] = []
    end = 0
    for found, arg in zip(conversions(fmt), args, strict=True):
        flags, width, digits, size, letter = found.groups()
        precision = None if digits is None else int(digits)
        numbers = [_as_c(letter, size, arg, x) for x in lanes.get(arg).tolist()]
        columns.append([text_of(flags, int(width or 0), precision, letter, number) for number in numbers])
        pieces.append(fmt[end : found.start()].replace("%%", "%"))
        end = found.end()
    pieces.append(fmt[end:].replace("%%", "%"))
    rows = zip(*columns, strict=True) if columns else [()] * len(lanes.mask)
    return ["".join([p for pair in zip(pieces, row, strict=False) for p in pair] + pieces[-1:]) for row in rows]


def _as_c(letter: str, size: str | None, arg: Value, x: Any) -> Any:
    """Return `x` as C takes it: integers wrap to the size and sign of their conversion."""
    if letter not in INTEGER:
        return x
    bits = {"hh": 8, "h": 16}.get(size or "") or max(32, elem_of(arg.type).bits)
    unsigned = int(x) % (1 << bits)
    return unsigned - (1 << bits) if letter in "di" and unsigned >> bits - 1 else unsigned


def _argument_problems(letter: str, long: bool, arg: Value) -> Iterator[Problem]:
    t = arg.type
    if letter == "p":
        fits = isinstance(t, Ptr)
    elif letter in INTEGER:
        fits = isinstance(t, Scalar) and (t.is_int or t.kind == "bool")
    else:
        fits = isinstance(t, Scalar) and t.is_float and t.arithmetic
    if not fits:
        kind = "pointers" if letter == "p" else "integers" if letter in INTEGER else "floats"
        yield Problem("args", f"%{letter} is for {kind}, not {t}")
    elif letter in INTEGER and isinstance(t, Scalar) and (t.bits == 64) != long:
        given, right = ("ll", "") if long else ("", "ll")
        yield Problem("args", f"%{given}{letter} does not fit {t}", f"write %{right}{letter}")


@op("trap", effects=Effect.HOST_VISIBLE, source="PTX ISA: trap")
class Trap(Op):
    """Stop the whole kernel with an error; the host sees it at its next call."""

    as_ptx = Ptx("trap;")

    def simulate(self, lanes: Lanes) -> None:
        lanes.fault(lanes.mask, "the kernel executed a trap", "trap")


@op("brkpt", effects=Effect.HOST_VISIBLE, source="PTX ISA: brkpt")
class Brkpt(Op):
    """A breakpoint for cuda-gdb; the simulator ignores it."""

    as_ptx = Ptx("brkpt;")

    def simulate(self, lanes: Lanes) -> None:
        return None


@op("breakpoint", effects=Effect.HOST_VISIBLE, source="Python: sys.breakpointhook")
class Breakpoint(Op):
    """In the simulator, stop in Python's debugger for each warp that comes here; on a GPU, do nothing.

    names   the local variables with run-time values, which are `values`
    known   the other local variables: name and value as text, in turn
    """

    names: tuple[str, ...]
    values: tuple[Value, ...]
    known: tuple[str, ...]

    def verify(self) -> Iterator[Problem]:
        if len(self.names) != len(self.values):
            yield Problem("names", f"{len(self.names)} names stand for {len(self.values)} values")

    def simulate(self, lanes: Lanes) -> None:
        values = {name: lanes.get(value) for name, value in zip(self.names, self.values, strict=True)}
        lanes.stop(values, dict(zip(self.known[::2], self.known[1::2], strict=True)))


@op("variable", effects=Effect.HOST_VISIBLE, source="DWARF: DW_TAG_variable")
class Variable(Op):
    """Keep what a variable of the user's holds now where a debugger on a GPU finds it; nothing in the simulator.

    called  the name of the variable
    parts   the parts of a tuple or object, as they are reached from it: `[0]`, `.phase`; one empty text for a value
    values  of the parts: scalars, vectors, pointers, tensors

    The variable belongs to the function in which the op's place lies, and to the call that inlined it; it has local
    memory of its own (`lower/variables.py`).
    """

    called: str
    parts: tuple[str, ...]
    values: tuple[Value, ...]

    def verify(self) -> Iterator[Problem]:
        if len(self.parts) != len(self.values):
            yield Problem("parts", f"{len(self.parts)} parts are named for {len(self.values)} values")
        for value in self.values:
            if not shown(value.type):
                yield Problem("values", f"{value.type} is not shown by debuggers")

    def simulate(self, lanes: Lanes) -> None:
        return None


def shown(t: Type) -> bool:
    """Tell whether a debugger on a GPU can show values of this type: those in flight are not to be read."""
    return isinstance(t, Scalar | Vec | Ptr | Tensor)


PHASES = ("mark", "begin", "end")
MARK_NAMES, MARK_VALUES = 1 << 10, 1 << 20
"""Limits of the events of a profile: the number of names, and the bound that values stay below."""


@op("profile.mark", effects=Effect.HOST_VISIBLE, source="PTX ISA: %clock, activemask")
class ProfileMark(Op):
    """Record an event of a profile: the clock, the thread's warp, a name and a value.

    phase  'mark', or 'begin' and 'end' of a range
    value  none, or one i32, of which 20 bits are kept

    The first of the threads that come here together writes 8 bytes to its ring in global memory (`lower/profile.py`).
    """

    label: str
    phase: str
    value: tuple[Value, ...]
    takes = {"phase": among(PHASES)}

    def verify(self) -> Iterator[Problem]:
        if len(self.value) > 1 or any(each.type != i32 for each in self.value):
            yield Problem("value", f"a mark has one i32 or nothing, not {', '.join(str(v.type) for v in self.value)}")

    def simulate(self, lanes: Lanes) -> None:
        return None


@op("record", effects=Effect.HOST_VISIBLE, source="cutelite: comparison by line")
class Record(Op):
    """Keep the value of each thread that comes here in the thread's log in global memory (`lower/records.py`).

    number  the number, among the recorded ops, of the op that made the value
    what    the line and the op, as text
    value   a scalar or vector whose elements have 8, 16, 32 or 64 bits, or bools
    """

    number: int
    what: str
    value: Value

    def verify(self) -> Iterator[Problem]:
        if not recordable(self.value.type):
            yield Problem("value", f"{self.value.type} is not recorded")

    def simulate(self, lanes: Lanes) -> None:
        return None


def recordable(t: Type) -> bool:
    """Tell whether values of this type can be recorded."""
    return isinstance(t, Scalar | Vec) and (elem_of(t).kind == "bool" or elem_of(t).bits in (8, 16, 32, 64))


def record_words(t: Type) -> int:
    """Return the number of 32-bit words of a record: one for its number, and one or two for each element."""
    return 1 + (t.n if isinstance(t, Vec) else 1) * (2 if elem_of(t).bits == 64 else 1)


def recorded_ops(ops: Iterable[Op]) -> dict[int, Op]:
    """Return the records of a kernel by number."""
    return {op["number"]: op for op in ops if op.name == "record"}


def mark_names(ops: Iterable[Op]) -> list[str]:
    """Return the names of the events that a kernel records, by their number."""
    return sorted({op["label"] for op in ops if op.name == "profile.mark"})


__all__ = [
    "MARK_NAMES", "MARK_VALUES", "PHASES", "Breakpoint", "Brkpt", "Printf", "ProfileMark", "Record", "Trap", "Variable",
    "conversions", "format_problems", "formatted", "mark_names", "record_words", "recordable", "recorded_ops", "shown",
]  # fmt: skip
