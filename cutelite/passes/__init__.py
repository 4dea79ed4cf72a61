"""Passes: typed SSA to typed SSA, a file per pass, in the order of `PIPELINE`.

In: the frontend's IR, with tensors, layouts and dims. Out: IR that `lower` can spell: scalars, vectors, pointers.
Users add passes of their own (`cl.passes.register`) and write pipelines as text (the option `passes`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter

from cutelite.diag import InternalError
from cutelite.ir.faults import reported
from cutelite.ir.function import Function
from cutelite.ir.verifier import verify
from cutelite.passes.context import Context, Warned
from cutelite.passes.order import PIPELINE, Pass, PassFunction, refusals
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
    times     the seconds of each pass are added here, by name
    verified  check the IR after each pass; otherwise only after passes of users
    Errors    `CompileError` for mistakes that a pass finds; `InternalError` if a pass broke the IR or failed
    """
    _claim(function)
    for step in pipeline:
        start = perf_counter()
        try:
            with reported(step.name, function):
                made = step.function(function, context)
                if not step.ours and not isinstance(made, Function):
                    raise TypeError(f"{step.name} returned {made!r}, and not a function of the IR")
            function = made
            if verified or not step.ours:
                verify(function, step.name)
        except InternalError as error:
            error.blame = "" if step.ours else f"`{step.name}` is a pass of yours."
            raise
        if times is not None:
            times[step.name] = times.get(step.name, 0.0) + perf_counter() - start
        if dump is not None:
            dump(step.name, function)
    return function


def _claim(function: Function) -> None:
    """Make the results of each op point to it: an earlier run may have left them pointing to copies."""
    for op in function.ops():
        for value in op.results:
            value.op = op


__all__ = [
    "PIPELINE", "Context", "Dump", "Pass", "PassFunction", "Warned", "of_users", "pipeline", "refusals", "register",
    "run",
]  # fmt: skip
