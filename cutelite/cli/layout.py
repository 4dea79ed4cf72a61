"""`cutelite layout`."""

from __future__ import annotations

import argparse
import ast
import sys
from typing import Any

import cutelite
from cutelite import config
from cutelite.cli.errors import UsageError
from cutelite.cli.kernels import setting
from cutelite.ir.types import SCALARS
from cutelite.lang.mma_ops import MmaOp
from cutelite.layout.viz import operands, picture, render


def show(given: argparse.Namespace) -> int:
    """Run `cutelite layout`: draw a layout, or the operands of an MMA."""
    extents = dict(map(setting, given.set))
    color = config.read().use_color(sys.stdout.isatty())
    if "Op(" in given.layout:
        if extents or given.tiler is not None or given.bits is not None:
            raise UsageError("--set, --tiler and --bits are for a layout: an MMA is drawn as it is")
        print(render(operands(find_atom(given.layout)), given.form, color))
        return 0
    print(picture(given.layout, tiler=given.tiler, bits=given.bits, dims=extents, form=given.form, color=color))
    return 0


def find_atom(text: str) -> MmaOp:
    """Return the MMA operation that `text` creates: a class, called with names of dtypes and literals.

    Errors   `UsageError`
    """

    def value(node: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            if node.id not in SCALARS:
                raise ValueError(f"{node.id} is no dtype")
            return SCALARS[node.id]
        try:
            return ast.literal_eval(node)
        except ValueError:
            raise ValueError(f"{ast.unparse(node)} is neither a dtype nor a literal") from None

    try:
        call = ast.parse(text, mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            kind = getattr(cutelite, call.func.id, None)
            if isinstance(kind, type) and issubclass(kind, MmaOp):
                named = {keyword.arg or "": value(keyword.value) for keyword in call.keywords}
                return kind(*map(value, call.args), **named)
    except (SyntaxError, TypeError, ValueError) as error:
        raise UsageError(f"{text} is no MMA operation: {error}") from None
    raise UsageError(f"{text} is no MMA operation, such as 'WarpMmaOp(f16, f32)' or 'WarpgroupMmaOp(bf16, f32, 64)'")
