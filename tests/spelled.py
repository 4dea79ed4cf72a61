"""Spellings: an op in one of the ways in which it is written, made from values of given types; and ptxas on them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from cutelite.ir.builder import Builder
from cutelite.ir.function import Block, Function, Value
from cutelite.ir.op import Op
from cutelite.ir.types import InFlight, Type, Vec, elem_of
from cutelite.ops import wgmma
from cutelite.ops.arith import VecSplat
from cutelite.ops.control import Ret
from cutelite.target import Target


class Spelling(NamedTuple):
    """`make` builds the op from values of these types; `name` is its own, or that of its family."""

    name: str
    types: tuple[Type, ...]
    make: Callable[..., Op]

    def op(self) -> Op:
        return self.make(*map(Value, self.types))

    def function(self) -> Function:
        """A kernel that does nothing else. Vectors are made of a scalar parameter, and put in flight by a fence."""
        params = tuple(Value(element(t), hint=f"p{i}") for i, t in enumerate(self.types))
        block = Block(params)
        builder = Builder(Function("spelling", [block], {}, {"block": (128, 1, 1)}), block)
        builder.emit(self.make(*(made(builder, t, p) for t, p in zip(self.types, params, strict=True))))
        builder.emit(Ret())
        return builder.function

    def is_there(self, target: Target) -> bool:
        """Whether the target has the instruction, and the memory that it works on."""
        feature = self.op().feature
        reaches = target.has("cluster") or "cluster" not in str(self.types)
        return reaches and (feature is None or target.has(feature))


def element(t: Type) -> Type:
    """What a kernel can take for a value of type `t`."""
    return elem_of(t) if isinstance(t, Vec | InFlight) else t


def made(builder: Builder, t: Type, p: Value) -> Value:
    if isinstance(t, InFlight):
        return builder.emit(wgmma.Fence((made(builder, t.inner, p),)))  # type: ignore[no-any-return]
    return builder.emit(VecSplat(p, t.n)) if isinstance(t, Vec) else p


def check_assembles(text: str, target: Target, ptxas: str, folder: Path, *options: str) -> None:
    """ptxas takes this PTX."""
    source = folder / "spelled.ptx"
    source.write_text(text)
    command = [ptxas, f"-arch={target.arch}", *options, str(source), "-o", str(folder / "spelled.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
