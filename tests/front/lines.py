"""One line of a kernel at a time: what the compiler says of it."""

import itertools
import linecache
import re
import textwrap
from typing import Any

from cutelite.diag import CompileError
from cutelite.front.build import build
from cutelite.ir.types import Tensor, f32, i32
from cutelite.layout import Layout, dims
from cutelite.target import Target

M, N = dims("M, N")
TYPES: dict[str, Any] = {
    "a": Tensor(f32, "gmem", Layout((M, N), (N, 1)), 16),
    "o": Tensor(i32, "gmem", Layout((N,), (1,)), 16),
    "n": i32,
    "x": f32,
}
HEAD = """\
import dataclasses, functools, itertools, math
import numpy as np
import cutelite as cl
from cutelite import Tensor, f32, i32

def kernel(a, o, n, x):
"""
FIRST = HEAD.count("\n") + 1
"""The line where the body starts."""

_numbers = itertools.count()


def built(body: str, **more: Any) -> Any:
    """The IR of a kernel with this body; `more` are further globals. Its file lives in `linecache` alone."""
    name = f"line{next(_numbers)}.py"
    source = HEAD + textwrap.indent(body, "    ") + "\n"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    scope: dict[str, Any] = {"__name__": "lines", "M": M, "N": N, **more}
    exec(compile(source, name, "exec", dont_inherit=True), scope)
    attrs = {"block": (128, 1, 1), "cluster": (2, 1, 1)}
    return build(scope["kernel"], TYPES, {"M": i32, "N": i32}, attrs, Target.parse("sm_90a"))


def refusal(body: str, **more: Any) -> CompileError:
    """The error for it, which must be at a line of the body."""
    try:
        built(body, **more)
    except CompileError as error:
        place = error.span
        assert place is not None, f"{body!r}: no line is told: {error}"
        assert place.filename.startswith("line") and place.line >= FIRST, f"{body!r}: {error}"
        return error
    raise AssertionError(f"{body!r} compiles")


def told(text: str) -> list[tuple[str, str]]:
    """The pieces of code in a text, each with what is to be said of its last line, which stands behind it."""
    return re.findall(r"((?:.+\n)+?) {4}# (.+)\n", text)


def last_line(error: CompileError, body: str) -> bool:
    """Whether an error is at the last line of the body."""
    return error.span is not None and error.span.line == FIRST + len(body.splitlines()) - 1
