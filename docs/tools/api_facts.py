"""Facts of words of the language that their docstrings leave to the instructions: who executes, errors, source, units.

In    a function, its code and what it calls in `cutelite.lang`
Out   (row, text) for the reference: what the declarations of the ops that it emits say

So that a fact is written once: where an op is declared, where an error is raised, here for arguments that many share.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from typing import Any

from cutelite.ir.op import Op
from cutelite.ops.arith import Const
from cutelite.ops.convert import Bitcast
from cutelite.target import TARGETS
from docs.tools.ops_page import PURPOSE

SHARED = {
    "semantic": "the memory order: 'relaxed', 'acquire', 'release', 'acq_rel'",
    "scope": "the threads for which the order holds: 'cta', 'cluster', 'gpu', 'sys'",
    "members": "mask of the lanes that take part, each of which names the same; default: the whole warp",
    "cta_group": "1: this block alone; 2: both blocks of a pair",
    "fast": "take the approximation of the special function unit (the option ``cl.fast``, for one call)",
    "policy": "an L2 policy of `cl.createpolicy`",
    "cache": "an L2 policy, as for `tma_load`",
    "multicast": "mask of the blocks of the cluster that get the data, each at the same place",
    "pair": "as of `tma_load`",
    "ftz": "take subnormal operands and results as 0",
    "relaxed": "order no memory accesses",
    "combine": "the name of an operation ('add', 'min', ...), or a function of two values",
    "ordered": "lower threads come first: for functions that are not commutative",
    "width": "lanes of a segment, a power of two up to 32",
    "state": "the stage and phase: a `PipelineState`",
    "index": "the element's place in `t`: a number, or a tuple with one for each mode",
    "dtype": "type of the elements",
    "mode": "a mode of the layout, or several, in a tuple",
    "tiler": "an int, a layout, or a tuple of these with one for each mode",
    "clamp": "a shift of more than 32 counts as 32; else its lower 5 bits count",
    "sync": "meet at a barrier at the end; False: call `pipeline_init_sync` after several are created",
    "seen": "what `producer_try_acquire` or `consumer_try_wait` gave: the buffer is known to be ready",
    "swizzle": "tiles of a band along the other mode: blocks that run at once then share operands",
    "raster": "'M' or 'N': the mode along which the walk goes within a band; 'hilbert': along a Hilbert curve",
    "level": "the cache: 'L1', 'L2', 'L2::evict_last'",
}
"""Arguments that many functions take, where their docstrings do not say more."""

GENERAL = (
    "emit",
    "loops",
    "whole",
    "places",
    "promotion",
    "values",
    "address",
    "coord",
    "shaped",
    "numbers",
    "storage",
    "tensor",
)
"""Modules of the language that bring operands into form: their ops and errors are those of every word."""

LANGUAGE = ("cutelite.lang", "cutelite.lib")
WIDEST = ("cluster", "cta", "warpgroup", "warp", "thread")
DEEPEST = 4


def facts(thing: Any, doc: str) -> Iterator[tuple[str, str]]:
    """Yield the rows that a docstring lacks, for a function of the language or the library."""
    if not inspect.isfunction(thing) or not thing.__module__.startswith(LANGUAGE):
        return
    for name in inspect.signature(thing).parameters:
        if name in SHARED and not re.search(rf"\b{name}\b", doc):
            yield name, SHARED[name]
    ops, codes = said(thing)
    if ops and not re.search(r"^\s*Who\b", doc, re.MULTILINE):
        scopes = {op.scope for op in ops if isinstance(op.scope, str)}
        if scopes:
            yield "Who", PURPOSE[next(scope for scope in WIDEST if scope in scopes)]
    if codes and "Error" not in doc:
        yield "Errors", ", ".join(f"`{code}`" for code in codes)
    features = [op.feature for op in ops if isinstance(op.feature, str)]
    if features and not re.search(r"sm_\d", doc):
        yield "Targets", ", ".join(dict.fromkeys(f"from {_since(feature)} on" for feature in features))
    if ops and not re.search(r"Source|PTX", doc):
        yield "Source", "; ".join(dict.fromkeys(op.source for op in ops))


@cache
def said(function: Any, deep: int = 0) -> tuple[tuple[type[Op], ...], tuple[str, ...]]:
    """Return the ops that a function makes, and the codes of its errors; those of functions that it calls as well."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError):
        return (), ()
    ops: dict[type[Op], None] = {}
    codes: dict[str, None] = {}
    for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
        called = _named(call.func, function.__globals__)
        if inspect.isclass(called) and issubclass(called, Op):
            if called not in (Const, Bitcast):
                ops[called] = None
            if called.verify is not Op.verify and called in ops:
                codes[re.sub(r"[._]", "-", called.name)] = None  # as the builder names them
        elif getattr(called, "__name__", "") == "mistake" and call.args and isinstance(call.args[0], ast.Constant):
            codes[str(call.args[0].value)] = None
        elif inspect.isfunction(called) and deep < DEEPEST and _tells(called):
            more, others = said(called, deep + 1)
            ops |= dict.fromkeys(more)
            codes |= dict.fromkeys(others)
    instructions = tuple(op for op in ops if op.source.startswith(("PTX", "CUDA")))
    return instructions or tuple(ops), tuple(codes)


def _tells(function: Any) -> bool:
    """Tell whether a function that is called says what its caller does."""
    module = function.__module__
    return module.startswith("cutelite.lang") and module.rpartition(".")[2] not in GENERAL


def _named(node: ast.expr, space: dict[str, Any]) -> Any:
    """Return what an expression of names stands for; None for another, or one that is not global."""
    if isinstance(node, ast.Name):
        return space.get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(_named(node.value, space), node.attr, None)
    return None


def _since(feature: str) -> str:
    """Return the first target that has a feature."""
    return next((arch for arch, target in TARGETS.items() if target.has(feature)), "none")
