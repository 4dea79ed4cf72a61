"""The option `debug`: lines, functions and variables of the user's, as a debugger on a GPU reads them."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, bf16, f32
from cutelite.options import OptionError
from cutelite.target import Target
from cutelite.toolchain import assemble
from tests.lower.dwarf import Entry, unit, variables

N = cl.dims("N")


def twice(v: f32) -> f32:
    w = v * 2.0
    return w + 1.0


@cl.kernel(block=64)
def sums(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    tile = cl.shared(bf16, 64)
    total = 0.0
    kept = cl.make_rmem_tensor(f32, 4)
    for k in range(4):
        total += twice(a[(i + k) % N])
        kept[k] = total
    tile[cl.thread_idx.x] = bf16(total)
    where = (i, (total, 3))
    values = kept.load()
    known, text = 7, "no number"
    x = i < N
    if x:
        x = values[3].to(bf16)
        b[i] = x.to(f32) + where[0] * 0 + known * len(text) * 0


def line_of(text: str) -> int:
    return Path(__file__).read_text(encoding="utf-8").splitlines().index(text) + 1


@cache
def compiled() -> Any:
    return sums.compile(debug=True, arch="sm_90a")


@cache
def kernel() -> Entry:
    return unit(compiled().ptx).named("sums")


def test_variables_have_their_types() -> None:
    assert variables(kernel()) == {
        "N": "i32",
        "a": "{ptr *f32}",
        "b": "{ptr *f32}",
        "i": "i32",
        "tile": "{ptr *__bf16}",
        "total": "f32",
        "kept": "[4 f32]",
        "k": "i32",
        "where": "{_0 i32, _1_0 f32, _1_1 i32}",
        "values": "[4 f32]",
        "known": "i32",
        "x": "bool",
        "x$2": "bf16",
    }
    assert kernel().named("a").given["type"].given["name"] == "tensor<f32,gmem,(N):(1),16>"


def test_all_of_them_are_in_local_memory_of_their_own() -> None:
    scopes = [entry for entry in unit(compiled().ptx).all() if entry.tag in ("function", "inlined")]
    kept = [
        entry.given for scope in scopes for entry in scope.within if entry.tag == "variable" and "place" in entry.given
    ]
    assert {given["space"] for given in kept} == {6}  # local memory: cuda-gdb, and LLVM's NVPTX backend
    assert all(given["place"][0] == 3 for given in kept)  # DW_OP_addr
    assert len({given["place"] for given in kept}) == len(kept) == 15


def test_an_inlined_function_is_a_scope_of_its_call() -> None:
    (call,) = [entry for entry in kernel().all() if entry.tag == "inlined"]
    assert call.given["origin"].given["name"] == "twice"
    assert call.given["call_line"] == line_of("        total += twice(a[(i + k) % N])")
    assert variables(call) == {"v": "f32", "w": "f32"}


def test_lines_are_those_of_the_source() -> None:
    assert f".loc\t1 {line_of('    w = v * 2.0')} 5" in compiled().ptx


@pytest.mark.parametrize("assembler", ["ptxas", "nvjitlink"])
def test_assemblers_take_it(assembler: str) -> None:
    if assemble.first_there(assembler) is None:
        pytest.skip(f"no {assembler}")
    cubin = assemble.to_cubin(compiled().ptx, Target.parse("sm_90a"), assembler=assembler)
    assert b".debug_info" in cubin.image and b"kept\0" in cubin.image


def test_warnings_of_speed_are_left_out() -> None:
    assert compiled().warnings == []


def test_without_it_there_is_nothing_of_it() -> None:
    plain = sums.compile(arch="sm_90a")
    assert ".debug_info" not in plain.ptx and "__local_depot" not in plain.ptx
    assert not any(op.name == "variable" for op in plain.build.front.ops())


def test_libnvvm_is_refused() -> None:
    with pytest.raises(OptionError, match="backend='llvm'"):
        sums.compile(debug=True, backend="nvvm", arch="sm_90a")


def test_the_simulator_runs_it_all_the_same() -> None:
    a, b = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    sums.options(debug=True)[2](a, b)
    np.testing.assert_array_equal(b[:124], 8 * a[:124] + 16)


@pytest.mark.gpu
def test_it_computes_the_same_on_a_gpu() -> None:
    import cutelite_rt as rt

    a, b = rt.to_device(np.arange(128, dtype=np.float32)), rt.to_device(np.zeros(128, np.float32))
    sums.options(debug=True)[2](a, b)
    np.testing.assert_array_equal(rt.from_device(b)[:60], 8 * np.arange(60) + 16)


def test_only_elements_that_changed_are_stored() -> None:
    @cl.kernel(block=32)
    def puts(a: Tensor[f32, (64,)]) -> None:
        vec = a.load()
        for i in cl.static_range(8):
            vec = vec.put(i, 1.0)
        a[0] = vec[63]

    text = puts.compile(debug=True, arch="sm_90a").build.llvm
    assert text.count("store float ") == 64 + 8 + 1  # `vec` once, an element each time, and `a[0]`


def power(x: f32, n: int) -> f32:
    y = x * 2.0
    return y if n == 0 else y + power(y, n - 1)


def test_calls_share_memory_unless_one_is_within_another() -> None:
    @cl.kernel(block=32)
    def powers(a: Tensor[f32, (64,)]) -> None:
        a[0] = power(a[0], 1)
        a[1] = power(a[1], 1)

    def places(call: Entry) -> tuple[bytes, ...]:
        return tuple(
            entry.given["place"] for entry in call.within if entry.tag == "variable" and "place" in entry.given
        )

    body = unit(powers.compile(debug=True, arch="sm_90a").ptx).named("powers")
    outer = [entry for entry in body.within if entry.tag == "inlined"]
    inner = [entry for call in outer for entry in call.within if entry.tag == "inlined"]
    assert [len({*map(places, calls)}) for calls in (outer, inner)] == [1, 1]
    assert not set(places(outer[0])) & set(places(inner[0]))
