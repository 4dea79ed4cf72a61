"""What every op declares, and that the page made from the declarations is current."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cutelite import ops
from cutelite.diag import CompileError
from cutelite.ir.builder import Builder
from cutelite.ir.function import Block, Function, Value
from cutelite.ir.op import REGISTRY, Op
from cutelite.ir.parser import parse_function
from cutelite.ir.types import (
    Ptr,
    Type,
    Vec,
    bf16,
    boolean,
    e4m3,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    mbarrier,
    tf32,
    u8,
    u16,
    u32,
    u64,
)
from cutelite.ops import arith, atomics, bits, convert, math, sync, trig, warp
from cutelite.target import Target
from cutelite.target.arch import FEATURES
from docs.tools.ops_page import markdown
from tests.ops.spellings import GMEM, REMOTE, SMEM, kernel, spellings

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_TEMPLATE = re.compile(r"(const|vec|br|cond_br|ret|unreachable|assert|printf|dim|rmem|tensor)\b.*")
"""Ops that a pass replaces, or that `lower` writes itself."""


@pytest.mark.parametrize("name", REGISTRY)
def test_every_op_says_what_it_is(name: str) -> None:
    op = REGISTRY[name]
    assert (op.__doc__ or "").strip() and op.__doc__ != Op.__doc__, "an op needs a docstring of its own"
    assert op.source, "an op says where its meaning is written down"
    assert op.simulate is not Op.simulate, "an op has a meaning in the simulator"
    assert WITHOUT_TEMPLATE.fullmatch(name) or op.ptx is not Op.ptx or op.llvm is not Op.llvm, (
        "an op is spelled in PTX or LLVM"
    )
    if isinstance(op.feature, str):
        assert op.feature in FEATURES


def test_every_general_op_is_assembled_in_the_tests() -> None:
    general = (arith, convert, math, trig, bits, atomics, warp, sync, ops.debug, ops.asm)
    instances = {type(spelling.op()) for spelling in spellings()}
    for op in REGISTRY.values():
        if op.__module__ in {module.__name__ for module in general[1:]}:
            assert op in instances, f"{op.name} is not among the spellings"


def test_features_asked_for_are_known_and_targets_refuse() -> None:
    for spelling in spellings():
        op = spelling.op()
        assert not list(op.verify()), (op.name, list(op.verify()))
        assert op.feature is None or op.feature in FEATURES
    ampere = Builder(Function("f", [Block()], {}, {}), target=Target.parse("sm_80"))
    with pytest.raises(CompileError, match=r"atom needs a GPU with atom\.bf16, which sm_80 lacks"):
        ampere.emit(atomics.Atom(Value(GMEM), "add", Value(bf16)))


def test_effects_follow_from_the_fields() -> None:
    from cutelite.ir.contract import Effect

    relaxed, ordered = (atomics.Atom(Value(GMEM), "add", Value(i32), s) for s in ("relaxed", "acquire"))
    assert (
        Effect.ORDERS not in relaxed.effects and Effect.ORDERS in ordered.effects and Effect.WRITES in relaxed.effects
    )
    assert math.Sqrt(Value(f32)).is_pure and not warp.ActiveMask().is_pure
    assert Effect.CONVERGENT in warp.Ballot(Value(boolean), Value(u32)).effects


WRONG: list[tuple[Callable[..., Op], tuple[Type, ...], str]] = [
    (lambda a: convert.Convert(a, e4m3), (bf16,), "no instruction converts bf16 to e4m3"),
    (lambda a: convert.Convert(a, f32), (mbarrier,), "cvt takes numbers, not mbarrier"),
    (lambda a: convert.Convert(a, f32), (GMEM,), "cvt takes numbers, not ptr"),
    (lambda a: convert.Convert(a, f32, "rz"), (f16,), "f16 to f32 is exact: it takes no rounding, not 'rz'"),
    (lambda a: convert.Convert(a, bf16, "rm"), (f32,), "f32 to bf16 rounds as rn, rz, not 'rm'"),
    (lambda a: convert.Convert(a, f32, "", True), (i32,), "i32 to f32 has no saturating form"),
    (lambda a: convert.Bitcast(a, u32), (f64,), r"\(64 bits\) to u32 \(32 bits\)"),
    (lambda a: convert.Bitcast(a, u8), (boolean,), "bitcast takes numbers, not bool"),
    (lambda a: convert.Bitcast(a, Vec(u32, 3)), (Vec(u64, 1),), "64 bits.*96 bits"),
    (math.Sqrt, (i32,), "sqrt does not take i32"),
    (math.Ex2Approx, (bf16,), "ex2.approx does not take bf16"),
    (lambda a: math.Ex2Approx(a, ftz=True), (f16,), "ex2.approx of f16 has no form that flushes subnormals"),
    (math.CopySign, (f32, f64), "copysign takes two of one type, not f32 and f64"),
    (math.Fmod, (f16, f16), "fmod does not take f16"),
    (lambda a: math.FpTest(a, kind="zero"), (f32,), "'zero' is none of nan, inf, finite"),
    (trig.TrigReduce, (bf16,), "trig.reduce does not take bf16"),
    (bits.Popc, (f32,), "popc does not take f32"),
    (bits.Bfe, (i16, i32, i32), "bfe takes i32 or u32 or i64 or u64, not i16"),
    (bits.Bfe, (i64, i64, i32), "`start` of bfe is i64, not i32"),
    (bits.Bfi, (i64, i32, i32, i32), "`b` of bfi is i32, not i64"),
    (lambda a, b, s: bits.Prmt(a, b, s, "f8e"), (u32, u32, u32), "'f8e' is none of"),
    (lambda a, b, c: bits.Lop3(a, b, c, 256), (u32, u32, u32), "has 8 bits, 256 has more"),
    (lambda a, b, n: bits.Shf(a, b, n, "left"), (u32, u32, i32), "shf goes 'l' or 'r', not 'left'"),
    (bits.MulWide, (i64, i64), "mul.wide takes i16, u16, i32 or u32, not i64"),
    (bits.Dp4a, (i32, u32, u32), "`c` must be i32"),
    (bits.Dp4a, (i8, u32, u32), "`a` of dp4a is i8, but must be four bytes"),
    (bits.AddSat, (f32, f32), "add.sat does not take f32"),
    (lambda p, a: atomics.Atom(p, "mul", a), (GMEM, i32), "atom does add, min.*, not 'mul'"),
    (lambda p, a: atomics.Atom(p, "add", a), (GMEM, i8), "atom add takes i32, .* not i8"),
    (lambda p, a: atomics.Atom(p, "inc", a), (GMEM, i32), "atom inc takes u32, not i32"),
    (lambda p, a: atomics.Atom(p, "add", a), (Ptr("gmem", 4), f64), "a multiple of 8 bytes"),
    (lambda p, a: atomics.Atom(p, "add", a), (Ptr("rmem", 4), f32), "`p` of atom is in registers"),
    (lambda p, a: atomics.Atom(p, "add", a), (SMEM, Vec(f32, 4)), "works in global memory only"),
    (lambda p, a: atomics.Atom(p, "max", a), (GMEM, Vec(f16, 2)), "atom max takes .* not vec<f16,2>"),
    (lambda p, a: atomics.Atom(p, "add", a), (GMEM, Vec(f32, 8)), "of vectors, atom can add .* not add vec<f32,8>"),
    (lambda p, a: atomics.Atom(p, "add", a, "acquire", "grid"), (GMEM, i32), "a scope is cta, .* not 'grid'"),
    (lambda p, a: atomics.Atom(p, "add", a, "seq_cst"), (GMEM, i32), "the semantic of atom is"),
    (lambda p, a: atomics.Red(p, "exch", a), (GMEM, i32), "red has no exch"),
    (lambda p, a: atomics.Red(p, "add", a, "acquire"), (GMEM, i32), "the semantic of red is relaxed or release"),
    (atomics.AtomCas, (GMEM, i8, i8), "a number of 16, 32 or 64 bits, not i8"),
    (atomics.AtomCas, (GMEM, i32, u32), "atom.cas takes two of one type"),
    (lambda p: atomics.LoadStrong(p, Vec(f32, 2)), (GMEM,), "ld.strong takes one number"),
    (lambda p: atomics.LoadStrong(p, f32, "release"), (GMEM,), "the semantic of ld.strong is relaxed or acquire"),
    (lambda p, a: atomics.StoreStrong(p, a, "acquire"), (GMEM, f32), "the semantic of st.strong is relaxed or release"),
    (lambda p: atomics.Prefetch(p, "L3"), (GMEM,), "a cache level is L1, L2"),
    (atomics.Prefetch, (SMEM,), "`p` of prefetch is in this block's shared memory"),
    (warp.Shuffle, (f64, i32, u32), "shfl.sync takes 32-bit numbers, not f64"),
    (warp.Shuffle, (f32, i64, u32), "`lane` of shfl.sync is i64"),
    (warp.Shuffle, (f32, i32, i32), "`members` of shfl.sync is i32, but must be u32"),
    (lambda a, n, m: warp.Shuffle(a, n, m, "left"), (f32, i32, u32), "a shuffle goes idx, up, down, bfly, not 'left'"),
    (lambda a, n, m: warp.Shuffle(a, n, m, "up", 12), (f32, i32, u32), "a power of two up to 32, not 12"),
    (warp.Ballot, (i32, u32), "`a` of vote.sync.ballot is i32, but must be bool"),
    (lambda a, m: warp.Vote(a, m, "most"), (boolean, u32), "a vote is all, any or uni, not 'most'"),
    (warp.MatchAny, (f16, u32), "a number of 32 or 64 bits, not f16"),
    (lambda a, m: warp.Redux(a, m, "add"), (f32, u32), "redux.sync of f32 does min, max, not 'add'"),
    (lambda a, m: warp.Redux(a, m, "min", True), (i32, u32), "`abs` and `nan` are for f32"),
    (lambda a, m: warp.Redux(a, m, "add"), (i64, u32), "`a` of redux.sync is i64"),
    (lambda: sync.BarSync(16), (), "has the barriers 0 to 15, not 16"),
    (lambda: sync.BarSync(1, 48), (), "a multiple of 32 threads up to 1024, not 48"),
    (lambda n: sync.BarSync(number=n), (i32,), "a barrier known at run time only needs the number of its threads"),
    (lambda: sync.BarArrive(1), (), "bar.arrive needs the number of threads"),
    (lambda a: sync.BarRed(a=a, operation="xor"), (boolean,), "bar.red does and, or, popc, not 'xor'"),
    (lambda: sync.Fence("relaxed"), (), "a fence is sc, acq_rel, acquire, release, not 'relaxed'"),
    (lambda: sync.Fence("sc", "warp"), (), "a scope is cta, cluster, gpu, sys, not 'warp'"),
    (sync.Nanosleep, (f32,), "`ns` of nanosleep is f32"),
]


@pytest.mark.parametrize(("make", "types", "message"), WRONG, ids=[message[:40] for _, _, message in WRONG])
def test_what_is_wrong_is_said(make: Callable[..., Op], types: tuple[Type, ...], message: str) -> None:
    problems = [problem.message for problem in make(*map(Value, types)).verify()]
    assert problems and re.search(message, problems[0]), problems


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
        and convert.Convert(Value(f32), tf32).feature is None
    )
    assert atomics.Atom(Value(GMEM), "add", Value(u16)).feature is None


def test_the_text_of_every_spelling_reads_back() -> None:
    text = str(kernel(list(spellings())))
    assert str(parse_function(text)) == text


def test_the_page_of_ops_is_current(update: bool) -> None:
    page = ROOT / "docs" / "ops.md"
    if update:
        page.write_text(markdown(), encoding="utf-8")
    assert page.read_text(encoding="utf-8") == markdown(), "make it anew: python docs/tools/ops_page.py > docs/ops.md"


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
