"""Prints, assertions and traps in a kernel, and clocks."""

from __future__ import annotations

import itertools
from typing import Any

from cutelite.ir.function import Jump
from cutelite.ir.types import f32
from cutelite.lang.emit import builder_here, describe, emit, mistake
from cutelite.lang.promotion import as_value, to_dtype
from cutelite.lang.values import RuntimeNumber, Scalar, truth
from cutelite.ops import debug as ops
from cutelite.ops.control import AssertFail, CondBr
from cutelite.ops.index import Special


def printf(fmt: str, *args: Any) -> None:
    """Print a line per thread when the host next waits for the GPU: ``cl.printf("%d: %f\\n", i, x)``, or an f-string.

    fmt       an f-string with run-time numbers in it; or a format of C, and `args` for its conversions: integers and
              bools for %d %u %x (of 64 bits %lld %llu %llx), floats for %f %e %g, pointers for %p; or a line with
              fields for `args` as of ``str.format``: ``cl.printf("x = {}, {:.2f}", i, x)``
    Who       each thread for itself, in no particular order. If the GPU's buffer is full, texts are lost. Of more than
              32 numbers, the most that CUDA's printf takes, each 32 are printed by themselves: texts of other threads
              may come between
    Source    CUDA C++ Programming Guide: formatted output
    """
    if not isinstance(fmt, str):
        raise mistake("printf", f"printf takes a text known at compile time, not {describe(fmt)}")
    if "\0" in fmt:
        raise mistake("printf", "the text has a zero character, at which C's printf would end", help="leave it out")
    given, places = tuple(map(_argument, args)), ops.conversions(fmt)
    if len(given) == len(places) > MOST_PRINTED:
        starts = [0, *(places[i].start() for i in range(MOST_PRINTED, len(places), MOST_PRINTED)), len(fmt)]
        for i, (start, end) in enumerate(itertools.pairwise(starts)):
            emit(ops.Printf(fmt[start:end], given[i * MOST_PRINTED :][:MOST_PRINTED]))
    else:
        emit(ops.Printf(fmt, given))


MOST_PRINTED = 32
"""The most numbers that a call of CUDA's printf takes; it prints the conversions of further ones as they are."""


def _argument(x: Any) -> Any:
    if isinstance(x, str):
        raise mistake("printf", f"printf prints numbers, not {x!r}", help="write the text into the format: an f-string")
    if isinstance(x, RuntimeNumber) and x.dtype.is_float and not x.dtype.arithmetic:
        x = to_dtype(x, f32)
    return as_value(x)


def assert_(condition: Any, message: str = "assertion failed") -> None:
    """Stop the kernel with `message` unless `condition` holds, as ``assert`` does.

    As with ``assert``, this is compiled only into kernels with assertions, and for the simulator.

    Who      each thread for itself
    Source   PTX ISA: trap
    """
    if isinstance(condition, bool):
        if not condition:
            raise mistake("assertion", "an assertion fails at compile time", message)
        return
    builder, holding = builder_here("assert_"), truth(condition)
    if builder.function.attrs.get("assertions"):
        holds, fails = builder.new_block(), builder.new_block()
        builder.emit(CondBr(holding.value, Jump(holds), Jump(fails)))
        builder.block = fails
        builder.emit(AssertFail(message))
        builder.block = holds


def trap() -> None:
    """Stop the whole kernel with an error; the host sees it at its next call. PTX: trap."""
    emit(ops.Trap())


def brkpt() -> None:
    """Stop here under cuda-gdb. PTX: brkpt."""
    emit(ops.Brkpt())


def clock() -> Scalar:
    """Return a counter of this SM's cycles, u32: it wraps around. PTX: %clock."""
    return emit(Special("clock"))  # type: ignore[no-any-return]


def clock64() -> Scalar:
    """Return a counter of this SM's cycles, u64. PTX: %clock64."""
    return emit(Special("clock64"))  # type: ignore[no-any-return]


def globaltimer() -> Scalar:
    """Return the time in nanoseconds, u64, of a clock that all SMs share; the GPU sets its steps. PTX: %globaltimer."""
    return emit(Special("globaltimer"))  # type: ignore[no-any-return]
