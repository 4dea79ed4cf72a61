"""Passes: typed SSA to typed SSA, a file per pass, in the order of `PIPELINE`.

In: what the frontend built, with tensors, layouts and dims. Out: what `lower` spells: scalars, vectors, pointers.
Users add passes of their own (`cl.passes.register`) and say pipelines as text (the option `passes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from time import perf_counter

from cutelite.ir.faults import reported
from cutelite.ir.function import Function
from cutelite.ir.verifier import verify
from cutelite.passes.context import Context, Warned
from cutelite.passes.order import PIPELINE, Pass, PassFunction, refusals
from cutelite.passes.recorded import recorded
from cutelite.passes.texts import of_users, pipeline, register

Dump = Callable[[str, Function], None]


def run(
    pipeline: Sequence[Pass],
    function: Function,
    context: Context,
    dump: Dump | None = None,
    times: dict[str, float] | None = None,
    verified: bool = True,
) -> Function:
    """Run the passes in order and return the resulting function.

    dump      called after each pass with its name and the function
    times     seconds for each pass by name are added here
    verified  check the IR after each pass; otherwise only after passes of users
    Errors    `CompileError` for mistakes that a pass finds; `InternalError` where a pass broke the IR. What a pass of a
              user's raises goes on as it is
    """
    _claim(function)
    for step in pipeline:
        start = perf_counter()
        with reported(step.name, function) if step.ours else nullcontext():
            function = step.function(function, context)
        if verified or not step.ours:
            verify(function, step.name)
        if times is not None:
            times[step.name] = times.get(step.name, 0.0) + perf_counter() - start
        if dump is not None:
            dump(step.name, function)
    return function


def _claim(function: Function) -> None:
    """Point the values of this function to its ops: an earlier run left them pointing to those it ended with."""
    for op in function.ops():
        for value in op.results:
            value.op = op


__all__ = [
    "PIPELINE", "Context", "Dump", "Pass", "PassFunction", "Warned", "of_users", "pipeline", "recorded", "refusals",
    "register", "run",
]  # fmt: skip
