"""Declarations of ops: features, effects, and the fields that docstrings speak of."""

import inspect
import re
from typing import Any

import pytest

from cutelite.diag import CompileError
from cutelite.ir.builder import Builder
from cutelite.ir.contract import Effect
from cutelite.ir.function import Block, Function, Value
from cutelite.ir.op import REGISTRY
from cutelite.ir.types import bf16, boolean, f32, i32, tf32, u16, u32
from cutelite.ops import arith, atomics, convert, math, sync, warp
from cutelite.target import Target
from tests.vocabulary.atomics import GMEM, REMOTE


def test_targets_refuse_what_they_lack() -> None:
    ampere = Builder(Function("f", [Block()], {}, {}), target=Target.parse("sm_80"))
    with pytest.raises(CompileError, match=r"atom needs a GPU with atom\.bf16, which sm_80 lacks"):
        ampere.emit(atomics.Atom(Value(GMEM), "add", Value(bf16)))


def test_effects_follow_from_the_fields() -> None:
    relaxed, ordered = (atomics.Atom(Value(GMEM), "add", Value(i32), s) for s in ("relaxed", "acquire"))
    assert (
        Effect.ORDERS not in relaxed.effects and Effect.ORDERS in ordered.effects and Effect.WRITES in relaxed.effects
    )
    assert math.Sqrt(Value(f32)).is_pure and not warp.ActiveMask().is_pure
    assert Effect.CONVERGENT in warp.Ballot(Value(boolean), Value(u32)).effects


def test_what_a_cluster_needs() -> None:
    for op in (
        atomics.Atom(Value(REMOTE), "add", Value(i32)),
        atomics.AtomCas(Value(GMEM), Value(i32), Value(i32), "relaxed", "cluster"),
        sync.Fence("sc", "cluster"),
        atomics.LoadStrong(Value(REMOTE), f32),
    ):
        assert op.feature == "cluster"
    assert (
        convert.Convert(Value(f32), tf32, "rn").feature == "tf32.rounding"
        and convert.Convert(Value(f32), tf32).feature == "tf32"
    )
    assert atomics.Atom(Value(GMEM), "add", Value(u16)).feature is None


def test_docstrings_of_ops_fit_their_fields() -> None:
    """A word that opens a laid-out line of an op's docstring is one of its fields, or a heading like 'Result'."""
    for op in REGISTRY.values():
        fields = {field.name for field in op.fields}
        for line in (inspect.getdoc(op) or "").splitlines():
            found = re.match(r"([a-z_]+(?:, [a-z_]+)*)  +\S", line)
            if found and op.__module__.rsplit(".", 1)[-1] in (
                "atomics",
                "bits",
                "warp",
                "sync",
                "debug",
                "asm",
                "convert",
            ):
                named: Any = set(found[1].split(", "))
                assert named <= fields | set(arith.PREDICATES), (op.name, named - fields)
