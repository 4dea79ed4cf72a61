"""An item of a tuple or list that a run-time index names: what it is, where it comes from, and how it is passed."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite import Pointer, Tensor, f32, i32, u8
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import i8, i64
from cutelite.lang.emit import emit as emit_here
from cutelite.lang.promotion import to_dtype
from cutelite.ops.arith import Choose
from cutelite.ops.parameters import kinds
from cutelite_rt.export.format import check_artifact
from cutelite_rt.gpu.params import ParameterLayout
from tests.ir.parser import parse_function
from tests.ops.kernels import Runner

N = cl.dims("N")
Vector = Tensor[f32, (N,)]


@pytest.mark.parametrize("dtype", [i8, u8, i32, i64])
@pytest.mark.parametrize("count", [2, 5, 200])
def test_a_key_out_of_range_names_the_first(dtype: Any, count: int, run: Runner) -> None:
    keys = np.array([0, 1, count - 1, count, -1, 127, -128, 255, *range(24)], np.int64)
    arrays = [np.full(32, i, np.int32) for i in range(count)]
    outs = [np.zeros(32, np.int32) for _ in range(2)]

    def body(keys: Any, numbers: Any, addresses: Any, *arrays: Any) -> None:
        i = cl.thread_idx.x
        key = to_dtype(keys[i], dtype).value
        numbers[i] = emit_here(Choose(key, tuple(x[i].value for x in arrays)))
        addresses[i] = cl.make_tensor(emit_here(Choose(key, tuple(x.ptr.value for x in arrays))), 32, i32)[i]

    run(body, keys, *outs, *arrays)
    wrapped = keys.astype(numpy_dtype(dtype))
    expected = np.where((wrapped >= 0) & (wrapped.astype(int) < count), wrapped, 0)
    for out in outs:
        np.testing.assert_array_equal(out, expected)


TABLES = {
    "in a row": ("i32, ptr<gmem,4>, ptr<gmem,4>, ptr<gmem,4>, ptr<gmem,4>", "1 2 3 4", "i32 ptr +ptr +ptr +ptr"),
    "too few": ("i32, i32, i32, i32", "1 2 3", "i32 i32 i32 i32"),
    "every other one": ("i64, i32, i64, i32, i64, i32, i64, i32", "0 2 4 6", "i64 +i32 +i64 +i32 +i64 +i32 +i64 i32"),
    "behind a wider one": ("i64, i8, i64, i8, i64, i8, i64, i8", "1 3 5 7", "i64 +i8 +i64 +i8 +i64 +i8 +i64 +i8"),
    "before a wider one": ("i32, i64, i32, i64, i32, i64, i32, i64", "0 2 4 6", "i32 i64 i32 i64 i32 i64 i32 i64"),
    "unevenly apart": ("i64, i8, i16, i8, i8, i32, i8, i8", "1 3 4 6", "i64 i8 i16 i8 i8 i32 i8 i8"),
    "backwards": ("i32, i32, i32, i32", "3 2 1 0", "i32 i32 i32 i32"),
    "one twice": ("i32, i32, i32, i32", "0 1 2 2", "i32 i32 i32 i32"),
    "bools": ("bool, bool, bool, bool, i32", "0 1 2 3", "bool bool bool bool i32"),
    "beside a tensor map": (
        "tensormap<bf16,(64,64):(64,1),(64,64),128B>, i32, i32, i32, i32", "1 2 3 4", "tensormap i32 i32 i32 i32"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TABLES)
def test_parameters_that_are_one(case: str) -> None:
    types, items, passed = TABLES[case]
    named = ", ".join(f"%p{i}: {t.strip()}" for i, t in enumerate(split(types)))
    chosen = ", ".join(f"%p{i}" for i in items.split())
    function = parse_function(f"func @k({named}, %key: i32) {{ %x = choose key=%key, items=({chosen}) ret }}", "k.cir")
    assert kinds(function) == (*passed.split(), "i32")


def split(types: str) -> list[str]:
    """Types between commas outside of brackets."""
    found, depth = [""], 0
    for letter in types:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return found


def test_slices_of_one_list_are_one_table() -> None:
    items = ", ".join(f"%p{i}: i32" for i in range(8))
    text = f"""func @k({items}, %key: i32) {{
      %a = choose key=%key, items=(%p0, %p1, %p2, %p3)
      %b = choose key=%key, items=(%p2, %p3, %p4, %p5)
      ret
    }}"""
    assert kinds(parse_function(text, "k.cir")) == ("i32", *["+i32"] * 5, "i32", "i32", "i32")


@dataclass(frozen=True)
class Part:
    n: i32
    x: Pointer[f32]
    by: u8


def _parts(parts: list[Part], which: Tensor[i32, (None,)], out: Vector) -> None:
    i = cl.thread_idx.x
    if i < N:
        part = parts[which[i]]
        out[i] = part.x[i] * f32(part.by) + f32(part.n)


def test_structures_are_chosen_field_by_field() -> None:
    which = np.array([0, 4, 1, 3, 2, 2, 0, 4], np.int32)
    parts = [Part(100 * i, np.arange(8, dtype=np.float32) + i, i) for i in range(5)]  # type: ignore[arg-type]
    out = np.zeros(8, np.float32)
    cl.kernel(_parts)[1, 32](parts, which, out)
    np.testing.assert_array_equal(out, (np.arange(8) + which) * which + 100 * which)
    compiled = cl.kernel(_parts).compile(parts, which, out, block=32)
    assert "selp.b64" not in compiled.ptx


def _sums(xs: list[Pointer[f32]], ys: list[Pointer[f32]], ends: list[i32], out: Vector) -> None:
    i: i32 = cl.block_idx.x
    which: Any = i32(0)
    for bit in reversed(range((len(ends) - 1).bit_length())):
        further = min(which + (1 << bit), len(ends) - 1)
        which = cl.where(i >= ends[further], further, which)
    out[i] = xs[which][i] + ys[which][i]


@pytest.mark.parametrize("count", [40, 1000])
def test_long_lists_spill_nothing_and_cost_no_instructions(count: int, ptxas: str) -> None:
    compiled = cl.kernel(_sums).compile([64] * count, [64] * count, [1] * count, (4,), block=32, arch="sm_90a")
    assert compiled.spills == 0
    assert compiled.ptx.count("ld.param") < 60 and compiled.ptx.count("selp") < 30
    starts = [kind for kind in compiled.artifact.params if not kind.startswith("+")]
    assert starts == ["ptr", "ptr", "i32", "ptr", "i32"]


def test_what_is_one_has_one_pointer() -> None:
    layout = ParameterLayout(["i32", "ptr", "+ptr", "+i32", "i64"])
    packed = layout.pack([1, 2, 3, 4, 5])
    assert layout.offsets == (0, 8, 16, 24, 32) and layout.starts == (0, 8, 32)
    pointers = (ctypes.c_uint64 * 3).from_address(packed.address)
    assert [at - pointers[0] for at in pointers] == [0, 8, 32]
    assert packed.data() == ParameterLayout(["i32", "ptr", "ptr", "i32", "i64"]).pack([1, 2, 3, 4, 5]).data()


def test_a_file_that_begins_in_the_middle_of_an_array_is_refused() -> None:
    artifact = rt.Artifact("k", "sm_90a", ptx="x", params=("+ptr",), block=(32, 1, 1))
    with pytest.raises(rt.ArtifactError, match=r"params\[0\]"):
        check_artifact(artifact)
