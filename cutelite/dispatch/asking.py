"""Facts about functions that are known before a kernel that calls them is compiled.

In    a kernel that calls them, and returns what is asked
Out   that answer
"""

from __future__ import annotations

from typing import Any

from cutelite.dispatch.kernel import Kernel
from cutelite.target import Target
from cutelite.together import together


def asked(kernel: Kernel, *examples: Any) -> Any:
    """Return what a kernel returns, which is known when it is evaluated; it is neither compiled nor launched.

    examples   for its parameters, as of `Kernel.compile`
    Errors     `CompileError` at the user's line
    """
    bound, found = kernel.signature.ahead(examples, {}, False), []  # type: tuple[Any, list[Any]]
    attrs = {"block": kernel.block, "asked": found}
    source = kernel.__cutelite_function__, dict(bound.types), dict(bound.dims), attrs
    with together("pipeline") as pipeline:
        pipeline.evaluate(*source, Target.parse(kernel.default_arch))
    return found[0] if len(found) == 1 else None
