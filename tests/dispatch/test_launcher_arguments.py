"""What compiled launchers take by themselves: each kind of argument comes to what it comes to in Python."""

from __future__ import annotations

import ctypes
import gc
import struct
import sys
import time
import weakref
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cutelite as cl
import cutelite_rt as rt
from cutelite import Constexpr, Tensor, TmaTensor, bf16, config, f32
from cutelite.dispatch import ArgumentError, Kernel, Launch, LaunchError, fingerprint, launcher
from cutelite.dispatch.divert import diverted
from cutelite.layout import Layout
from cutelite.toolchain import host
from cutelite_rt.arrays import exchange, torch_layout
from cutelite_rt.dtype import compact_strides
from cutelite_rt.gpu import driver
from cutelite_rt.launcher import environment as runtime
from tests.dispatch.alike import alike, launched, reuses
from tests.dispatch.conftest import GpuArray
from tests.dispatch.test_launcher import in_a_context as in_a_context
from tests.dispatch.test_launcher import made, plain
from tests.rt import exchange as other
from tests.rt.conftest import FakeCuda, machine_code_or_skip
from tests.rt.test_rt_memory import FakeTensor
from tests.rt.test_rt_memory import torch as torch

M, N, LD = cl.dims("M N LD")
K = cl.Dim("K", divisible_by=8, min=0, max=512)
T = TypeVar("T")

Kinds = (cl.boolean, cl.i8, cl.i16, cl.i32, cl.i64, cl.u8, cl.u16, cl.u32, cl.u64)
Floats = (cl.f16, cl.bf16, cl.f32, cl.f64, cl.tf32, cl.e4m3, cl.e5m2)


def _copied(x: Tensor[f32, (M, N), (LD, 1)], y: Tensor[f32, (M, N)]) -> None:
    y[0, 0] = x[0, 0]


Columns = Tensor[f32, (N, cl.ceil_div(M, 4)), cl.col_major]


def _expressions(x: Tensor[f32, (M, 2 * N)], y: Columns, z: Tensor[f32, (K,)]) -> None:
    y[0, 0] = x[0, 0]


Tiles = Tensor[f32, Layout((4, (2, 8)), (2, (1, 8)))]


def _nested(x: Tiles, y: Tensor[f32, (None, 4), (None, 1), cl.align(32)]) -> None:
    y[0, 0] = x[0]


def _integers(
    a: cl.boolean, b: cl.i8, c: cl.i16, d: cl.i32, e: cl.i64, f: cl.u8, g: cl.u16, h: cl.u32, i: cl.u64
) -> None:
    pass


def _floats(a: cl.f16, b: cl.bf16, c: cl.f32, d: cl.f64, e: cl.tf32, f: cl.e4m3, g: cl.e5m2) -> None:
    pass


def _any_number(x: Tensor[T, (N,)] | None, y: T) -> None:
    pass


SEVEN, NINE = cl.i32(7), cl.i32(9)


def _by_rules(x: Tensor[f32, (N,)], /, a: cl.i32, b: cl.i32 = SEVEN, *, c: cl.i32 = NINE, d: cl.i32) -> None:
    x[0] = f32(a + b + c + d)


def _constant(x: Tensor[f32, (N,)], n: Constexpr[Any]) -> None:
    x[0] = 1.0


def _tma(a: TmaTensor[bf16, (M, N, 64), (1, 16, 64)], b: TmaTensor[bf16, (M, N), (16, 64)] | None) -> None:
    pass


def _pixels(a: TmaTensor[bf16, (M, N, 7, 32), cl.Im2col(48, 16, (-1, -2), (0, -3))]) -> None:
    pass


def _nothing() -> None:
    pass


class TwoOf(NamedTuple):
    x: Tensor[f32, (N,)]
    by: f32


@dataclass(frozen=True)
class NestOf:
    two: TwoOf
    more: Tensor[f32, (N,)] | None


Two: Any = TwoOf  # arguments are of other types than annotations say
Nest: Any = NestOf


def _structs(nest: NestOf, n: cl.i32) -> None:
    nest.two.x[0] = nest.two.by


def both(cuda: FakeCuda, *launch: Any, **kwargs: Any) -> Any:
    """The same of a launch that the launcher makes by itself if it goes well."""
    expected = alike(cuda, *launch, **kwargs)
    assert bool(cuda.packed) == isinstance(expected[0], dict), "what goes well is launched by the launcher"
    return expected


def pair_of(function: Any) -> tuple[Kernel, Kernel]:
    return made(function), plain(function)


def kept(cuda: FakeCuda, function: Any) -> tuple[Kernel, Kernel]:
    """One pair for all examples of a test."""
    pairs = cuda.__dict__.setdefault("pairs", {})
    if function not in pairs:
        pairs[function] = pair_of(function)
    return pairs[function]  # type: ignore[no-any-return]


# ---- arrays


def test_arrays_are_read_by_their_librarys_own_function(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = pair_of(_copied)
    x, y = other.Array(0x10000, (4, 8), strides=(16, 1)), other.Array(0x20000, (4, 8), offset=64)
    went = both(cuda, pair, (1, 32), x, y)
    assert went[0]["hStream"] == 0x600, "the library's current stream"
    assert struct.unpack("<QQ3i", went[3][:28])[:2] == (0x10000, 0x20040)
    assert both(cuda, pair, (1, 32, 0x7700), x, y)[0]["hStream"] == 0x7700
    monkeypatch.setattr(other.Array, "stream", 0x900)
    assert both(cuda, pair, (1, 32), x, y)[0]["hStream"] == 0x900
    before = other.Array.reads
    launched(pair[0], cuda, (1, 32), x, y)
    assert other.Array.reads == before + 2, "once each"


@pytest.mark.parametrize(
    "x",
    [
        other.Array(0x10000, (4, 9)),
        other.Array(0x10000, (4, 8), strides=(1, 4)),
        other.Array(0x10000, (4, 8), "f16"),
        other.Array(0x10000, (32,)),
        other.Array(0x10000, (4, 8), device=(2, 1)),
        other.Array(0x10002, (4, 8)),
        other.Array(0, (4, 8)),
    ],
    ids=range(7),
)
def test_arrays_that_do_not_fit(cuda: FakeCuda, x: other.Array) -> None:
    pair, y = pair_of(_copied), other.Array(0x20000, (4, 8))
    both(cuda, pair, (1, 32), y, y)
    alike(cuda, pair, (1, 32), x, y)
    both(cuda, pair, (1, 32), y, y)


def test_a_library_that_cannot_read_or_says_no_strides(cuda: FakeCuda) -> None:
    compiled, y = made(_copied), other.Array(0x20000, (4, 8))
    launched(compiled, cuda, (1, 32), y, y)
    quiet = other.Array(0x30000, (4, 8))
    quiet.says_strides = False
    assert launched(compiled, cuda, (1, 32), quiet, y)[3] == launched(plain(_copied), cuda, (1, 32), quiet, y)[3]
    assert launched(compiled, cuda, (1, 32), other.Array(-1, (4, 8)), y)[0] is ArgumentError


def test_a_sign_to_flip_is_asked_for_where_elements_do_not_lie_side_by_side(
    cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Tensor(other.Array):
        asked, negated = 0, False

        def is_neg(self) -> bool:
            type(self).asked += 1
            return self.negated

    functions = exchange.of_type(Tensor)
    assert functions is not None
    monkeypatch.setattr(exchange, "way_of", lambda kind: exchange.Way(exchange.EXCHANGE_UNLESS_NEGATED, functions))
    kernel = made(_nested_free)
    tight, loose = Tensor(0x10000, (4,)), Tensor(0x10000, (4,), strides=(2,))
    for x in (tight, loose):
        kernel[1, 32](x)
    Tensor.asked = 0
    reuses(kernel, monkeypatch)
    kernel[1, 32](tight)
    assert Tensor.asked == 0
    kernel[1, 32](loose)
    assert Tensor.asked == 1
    loose.negated = True
    with pytest.raises(AssertionError, match="launched from the start"):
        kernel[1, 32](loose)


def _nested_free(x: Tensor[f32, (N,), (None,)]) -> None:
    x[0] = 1.0


def test_plain_tensors_of_torch_are_looked_into(
    torch: ModuleType, cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A torch whose tensors are `bytes` behind a slot: what a launcher looks at is the content of those."""

    class Plain(FakeTensor):
        __slots__ = ("impl", "storage")
        keys, owner, number, kind = 0x1234, 0x9000, 6, 1

        def made(self) -> Plain:
            self.storage = struct.pack("<2Q", 0x9000, self.owner)
            shape, strides = ((*each, *[0] * 5)[:5] for each in (self.shape, self.stride()))
            words = id(self.storage), self.keys, len(self.shape), *shape, *strides, 4
            self.impl = struct.pack("<3Q 10q Q 2B H", *words, self.kind, 1, self.number)
            return self

    Plain.__dlpack_c_exchange_api__ = other.capsule(counting)  # type: ignore[attr-defined]
    monkeypatch.setitem(torch.__dict__, "Tensor", Plain)
    monkeypatch.setattr(other.Array, "stream", 0x100)  # as that torch says in Python
    monkeypatch.setitem(torch.__dict__, "nn", SimpleNamespace(Parameter=Plain))
    monkeypatch.setenv("CUTELITE_ARCH", "sm_80")  # they are on the other GPU
    x = Plain("torch.float32", (4, 8), 0x9010).made()
    words = (ctypes.c_uint64 * (Plain.__basicsize__ // 8)).from_address(id(x))
    content = bytes.__basicsize__ - 1  # where that of a `bytes` begins
    layout = torch_layout.Layout(
        impl=8 * list(words).index(id(x.impl)),
        storage=content,
        keys=content + 8,
        sizes=content + 16,
        offset=content + 104,
        device=content + 112,
        dtype=content + 114,
        data=content,
        owner=content + 8,
        plain=(0x1234, 0x5678),
    )
    monkeypatch.setattr(torch_layout, "find", lambda: layout)
    pair = pair_of(_copied)
    both(cuda, pair, (1, 32), x, x)
    for shape in ((4, 8), (2, 3)):
        y = Plain("torch.float32", shape, 0x9010).made()
        both(cuda, pair, (1, 32), y, y)
    assert counted == [], "the library's function is not asked"
    for odd in ({"keys": 0x1235}, {"owner": 0x9008}, {"number": 40}, {"number": 99}, {"kind": 0}):
        y = Plain("torch.float32", (4, 8), 0x9010)
        for name, value in odd.items():
            setattr(Plain, name, value)
        y.made()
        for name in odd:
            setattr(Plain, name, {"keys": 0x1234, "owner": 0x9000, "number": 6, "kind": 1}[name])
        launched(pair[0], cuda, (1, 32), y, y)
        assert counted, "what is not plain is read by the library's function"
        counted.clear()
    for wrong in (layout._replace(offset=layout.keys), layout._replace(plain=(1, 2)), None):
        monkeypatch.setattr(torch_layout, "find", lambda wrong=wrong: wrong)
        runtime.environment.cache_clear()
        launched(made(_copied), cuda, (1, 32), x, x)
        assert counted, "what torch does not confirm is not looked at"
        counted.clear()


counted: list[int] = []


def _count(array: Any, address: int) -> int:
    counted.append(address)
    return -1


_counting = other.READ(_count)
counting = exchange._Table(1, 3)
counting.read, counting.current_stream = ctypes.cast(_counting, ctypes.c_void_p).value, other.table.current_stream


def test_arrays_known_by_dlpack_alone_are_asked_with_the_stream(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    told: list[Any] = []

    class Exporter(other.ByDlpack):
        def __dlpack__(self, **wanted: Any) -> Any:
            told.append(wanted.get("stream"))
            return super().__dlpack__(**wanted | {"stream": -1})

    pair, x = pair_of(_copied), on_gpu((4, 8))
    both(cuda, pair, (1, 32), Exporter(x), x)
    both(cuda, pair, (1, 32, 0x55), Exporter(x), Exporter(x))
    told.clear()
    both(cuda, pair, (1, 32), Exporter(x), other.Array(0x20000, (4, 8)))
    assert set(told) == {0x600}


def test_impossible_arrays_are_refused_alike(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    from tests.rt.test_rt_memory import IMPOSSIBLE, Says

    pair, x = pair_of(_copied), on_gpu((4, 8))
    good = Says(1 << 20, (4, 8), (8, 1))
    for _ in range(3):
        both(cuda, pair, (1, 32), good, x)
    nowhere = [
        (lambda: Says(device=(2, 99)), "is on device 99, and there are"),
        (lambda: Says(device=(2, -1)), "device -1"),
    ]
    for make, said in (*IMPOSSIBLE, *nowhere):
        for name, arguments in (("x", (make(), x)), ("y", (x, make()))):  # type: ignore[no-untyped-call]
            for run in pair:
                with pytest.raises(cl.ArgumentError, match=f"argument `{name}` cannot be read: this Says .*{said}"):
                    run[1, 32](*arguments)
    both(cuda, pair, (1, 32), good, x)


class ReadOnly:
    """What says that it must not be written."""

    def __init__(self, array: Any) -> None:
        said = array.__cuda_array_interface__
        self.__cuda_array_interface__ = {**said, "data": (said["data"][0], True)}


def test_arrays_that_are_written_must_not_be_read_only(cuda: FakeCuda, on_gpu: GpuArray, tmp_path: Path) -> None:
    x, given = on_gpu((4, 8), gpu=1), ReadOnly(on_gpu((4, 8), gpu=1))
    said = "argument `y` is read-only, and the kernel writes it; pass a copy"
    compiled, python = pair_of(_copied)
    for run in (compiled, python):
        for _ in range(3):
            went = launched(run, cuda, (1, 32), given, x)
            assert isinstance(went[0], dict), went
            with pytest.raises(cl.ArgumentError, match=said):
                run[1, 32](x, given)
    python.export(tmp_path / "copied.cutelite", block=32, x=x, y=x, arch="sm_80")
    exported = rt.load_kernel(tmp_path / "copied.cutelite")
    exported[1](given, x)
    with pytest.raises(cl.ArgumentError, match=said):
        exported[1](x, given)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_extents_and_strides(cuda: FakeCuda, data: st.DataObject) -> None:
    """Shapes that fit and that do not, over expressions, nested modes, strides of single elements."""
    extent = st.sampled_from([0, 1, 2, 4, 5, 8, 16])

    def array(*shape: int, order: str = "row") -> other.Array:
        compact = compact_strides(shape) if order == "row" else compact_strides(shape[::-1])[::-1]
        drawn = st.tuples(*[st.sampled_from([1, 4, 8, 64])] * len(shape))
        strides = data.draw(st.one_of(st.just(compact), st.just(compact), drawn))
        return other.Array(data.draw(st.sampled_from([0x10000, 0x10010, 0x10004, 0x10020])), shape, strides=strides)

    m, n = data.draw(extent), data.draw(extent)
    function = data.draw(st.sampled_from([_copied, _expressions, _nested]))
    pair = kept(cuda, function)
    arguments: tuple[Any, ...]
    if function is _copied:
        arguments = array(m, n), array(m, n)
    elif function is _expressions:
        rows, k = data.draw(st.sampled_from([n, n, 4])), data.draw(st.sampled_from([0, 8, 512, 513, 12]))
        arguments = array(m, 2 * n), array(rows, -(-m // 4), order="col"), array(k)
    else:
        arguments = array(data.draw(st.sampled_from([64, 63, 100]))), array(n, 4)
    alike(cuda, pair, (1, 32), *arguments)


def test_extents_may_be_others_without_python(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = made(_copied)
    kernel[1, 32](*(other.Array(0x10000, (4, 8)) for _ in range(2)))
    reuses(kernel, monkeypatch)
    for m, n in ((5, 8), (1 << 28, 3), (2, 2)):
        array = other.Array(0x10000, (m, n))
        assert sorted(struct.unpack("<3i", launched(kernel, cuda, (1, 32), array, array)[3][16:])) == sorted((m, n, n))
    for extents, blocks in (((1, 1 << 33), 1), ((1 << 29, 3), 1), ((4, 8), 1 << 26)):  # of wide launches
        wide = other.Array(0x10000, extents)
        with pytest.raises(AssertionError, match="from the start"):
            kernel[blocks, 32](wide, wide)


def test_memory_under_nested_modes_may_be_large(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, y = made(_nested), other.Array(0x10000, (2, 4))
    kernel[1, 32](other.Array(0x10000, (64,)), y)
    reuses(kernel, monkeypatch)
    kernel[1, 32](other.Array(0x10000, (1 << 30,)), y)
    with pytest.raises(AssertionError, match="from the start"):
        kernel[1, 32](other.Array(0x10000, ((1 << 30) + 1,)), y)


def test_tensor_maps_of_other_tensors(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    pair = pair_of(_tma)
    for pointer, m, n in ((0x10000, 2, 32), (0x10000, 2, 16), (0x20000, 1, 32), (0x10008, 2, 32), (0x10000, 2, 32)):
        a = other.Array(pointer, (m, n, 64), "bf16")
        for b in (None, other.Array(0x40000, (m, n), "bf16", strides=(64, 1))):
            expected = launched(pair[1], cuda, (1, 32), a, b)
            for _ in range(3):
                got = launched(pair[0], cuda, (1, 32), a, b)
                assert got[:3] == expected[:3]  # the driver of the test counts in its maps
            if isinstance(expected[0], dict):
                encoded = [each for each in cuda.maps if each["address"] == a.pointer and each["dims"] == [64, n, m]]
                python, own = (dict(each, target=0) for each in encoded[:2])
                assert python == own
    reuses(pair[0], monkeypatch)
    count = len(cuda.maps)
    for i in range(100):
        launched(pair[0], cuda, (1, 32), other.Array(0x100000 + 0x1000 * i, (2, 32, 64), "bf16"), None)
    assert len(cuda.maps) == count + 100
    last = cuda.maps[-1]
    assert (last["dims"], last["strides"], last["box"]) == ([64, 32, 2], [128, 4096], [64, 16, 1])


def test_tensor_maps_of_rows_of_pixels(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = made(_pixels)
    compiled[1, 32](other.Array(0x10000, (2, 3, 7, 32), "bf16"))
    reuses(compiled, monkeypatch)
    for pointer, n in ((0x10000, 3), (0x20000, 3), (0x20000, 4), (0x20000, 3)):
        launched(compiled, cuda, (1, 32), other.Array(pointer, (2, n, 7, 32), "bf16"))
    python, *own = (dict(each, target=0) for each in cuda.maps)
    assert python == own[0] and len(own) == 3
    assert python["corners"] == ([-2, -1], [-3, 0]) and python["box"][:2] == [16, 48]
    assert own[2] == python | {"address": 0x20000, "dims": [32, 7, 4, 2], "strides": [64, 448, 1792]}


# ---- numbers


NUMBERS = st.one_of(
    st.integers(-(1 << 65), 1 << 65),
    st.sampled_from([0, 1, -1, 127, 128, -128, -129, 255, 256, 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**64 - 1, 2**64]),
    st.booleans(),
    st.floats(),
    st.sampled_from([np.int8(5), np.float32(1.5), np.float64(2.5), np.bool_(True), np.uint64(2**63), np.array(3)]),
    st.none(),
)


EDGES = st.sampled_from([464.0, 448.0, 65504.0, 65519.9, 65520.0, 61440.0, 5e-324])


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(number=NUMBERS, place=st.integers(0, 8))
def test_integers(cuda: FakeCuda, number: Any, place: int) -> None:
    pair = kept(cuda, _integers)
    arguments: list[Any] = [True, *[1] * 8]
    arguments[place] = number
    alike(cuda, pair, (1, 32), *arguments)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    number=st.one_of(NUMBERS, st.floats(width=16), st.floats(-500, 500), st.floats(-1e-6, 1e-6), EDGES),
    place=st.integers(0, 6),
)
def test_floats(cuda: FakeCuda, number: Any, place: int) -> None:
    pair = kept(cuda, _floats)
    arguments: list[Any] = [1.0] * 7
    arguments[place] = number
    alike(cuda, pair, (1, 32), *arguments)


def test_numbers_of_a_dtype_variable(cuda: FakeCuda, on_gpu: GpuArray) -> None:
    pair = pair_of(_any_number)
    for x in (None, on_gpu((8,), "f32"), on_gpu((8,), "i32"), None):
        for y in (1, 1.5, True, np.float32(2.0), np.int16(3), 1):
            alike(cuda, pair, (1, 32), x, y)


def test_what_stands_for_a_number_may_be_interrupted(cuda: FakeCuda) -> None:
    class Interrupting:
        shape = ()

        def item(self) -> float:
            raise KeyboardInterrupt

    kernel = made(_floats)
    kernel[1, 32](*[1.0] * 7)
    with pytest.raises(KeyboardInterrupt):
        kernel[1, 32](Interrupting(), *[1.0] * 6)


# ---- by Python's rules


def test_keywords_and_defaults(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    pair, x = pair_of(_by_rules), other.Array(0x10000, (8,))
    right: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((x, 1), {"d": 2}),
        ((x, 1, 3), {"d": 2, "c": 5}),
        ((x,), {"a": 1, "d": 2}),
        ((x,), {"d": 2, "b": 4, "a": 1}),
    ]
    for args, kwargs in right:
        both(cuda, pair, (1, 32), *args, **kwargs)
    wrong: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((x, 1, 3, 4), {"d": 2}),
        ((x, 1), {}),
        ((x, 1), {"d": 2, "e": 1}),
        ((x, 1), {"d": 2, "a": 1}),
        ((), {"x": x, "a": 1, "d": 2}),
    ]
    for args, kwargs in wrong:
        alike(cuda, pair, (1, 32), *args, **kwargs)
    own = "".join(["d", ""])  # perhaps not the very string that the parameter is called by
    assert launched(pair[0], cuda, (1, 32), x, 1, **{own: 2}) == launched(pair[1], cuda, (1, 32), x, 1, d=2)


def test_structs(cuda: FakeCuda) -> None:
    class SubOf(TwoOf):
        pass

    Sub: Any = SubOf

    pair, x = pair_of(_structs), other.Array(0x10000, (8,))
    for two in (Two(x, 2.0), Sub(x, 3.0), Two(other.Array(0x20010, (8,)), 4.0)):
        for more in (None, x):
            both(cuda, pair, (1, 32), Nest(two, more), 3)

    class Negated(TwoOf):  # its methods are others: it has a kernel of its own
        def __neg__(self) -> Any: ...

    its: Any = Negated
    assert isinstance(alike(cuda, pair, (1, 32), Nest(its(x, 3.0), None), 3)[0], dict) and not cuda.packed
    for wrong in (x, Nest(Two(x, "no"), None), Nest((x, 2.0), None), Nest(Two(x, 1.0), other.Array(0x1000, (9,)))):
        assert alike(cuda, pair, (1, 32), wrong, 3)[0] is ArgumentError


def test_kernels_without_arrays(cuda: FakeCuda) -> None:
    pair = pair_of(_nothing)
    assert both(cuda, pair, (3, 32))[2] == 0x1000
    cuda.stack[-1] = 0x1001
    both(cuda, pair, (3, 64))


def test_constants_that_last_are_looked_at_once(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Tile:
        m: int
        by: tuple[int, ...]

    def scale(x: Any) -> Any:
        return x

    pair, x = pair_of(_constant), other.Array(0x10000, (8,))
    lasting = [Tile(1, (2, 3)), Tile(1, (2, 3)), Tile(1, (2, 4)), "text", (1, 2), f32, Layout((4, 2)), 1 << 70, scale]
    for constant in lasting:
        both(cuda, pair, (1, 32), x, constant)
    seen: list[Any] = []
    key = fingerprint.constant_key

    def looked_at(constant: Any) -> object:
        seen.append(constant)
        return key(constant)

    monkeypatch.setattr(fingerprint, "constant_key", looked_at)
    for constant in lasting:
        pair[0][1, 32](x, constant)
    assert seen == []
    changing = [1]
    for _ in range(2):
        pair[0][1, 32](x, changing)
    assert len(seen) >= 2
    first = both(cuda, pair, (1, 32), x, changing)
    changing.append(2)
    assert both(cuda, pair, (1, 32), x, changing)[1] == first[1]  # what is launched does not use it


# ---- grids, streams, and what else a launch says


def test_grids_that_are_functions(cuda: FakeCuda) -> None:
    pair, x = pair_of(_by_rules), other.Array(0x10000, (8,))
    launch = Launch(lambda arguments: (arguments["x"].shape[0], arguments["b"]), 32)
    assert both(cuda, pair, launch, x, 1, d=2)[0]["gridDimX"] == 8
    assert both(cuda, pair, launch, x, 1, b=3, d=2)[0]["gridDimY"] == 3
    assert launched(pair[0], cuda, launch, x, 1, b=0, d=2) is None
    assert launched(pair[0], cuda, Launch(lambda arguments: (1, 2, 3, 4), 32), x, 1, d=2)[0] is LaunchError


def test_streams_that_may_be_closed_are_asked_each_time(cuda: FakeCuda) -> None:
    class Stream:
        is_closed = False

        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, 0x123

    pair, x, stream = pair_of(_constant), other.Array(0x10000, (8,)), Stream()
    for _ in range(2):
        assert both(cuda, pair, (1, 32, stream), x, 1)[0]["hStream"] == 0x123
    stream.is_closed = True
    assert launched(pair[0], cuda, (1, 32, stream), x, 1)[0] is LaunchError


def test_clusters_and_attributes(cuda: FakeCuda) -> None:
    pair, x = pair_of(_constant), other.Array(0x10000, (8,))
    launch = Launch((4, 2), 32, cluster=2, cooperative=True, pdl=True, smem=100)
    went = both(cuda, pair, launch, x, 1)
    assert went[0]["attrs"] == [4, 2, 6]
    config = cuda.launches[-1][0]
    assert config.attrs[0].value.clusterDim.x == 2
    assert (config.attrs[1].value.cooperative, config.sharedMemBytes) == (1, 100)
    said = replace(launch, priority=-2, carveout=30, domain="remote", launched=0x55)
    assert both(cuda, pair, said, x, 1)[0]["attrs"] == [4, 2, 6, 8, 10, 12, 14]
    for wrong in (replace(launch, grid=(3, 2)), Launch((1, 1 << 17), 32), Launch(1 << 32, 32)):
        alike(cuda, pair, wrong, x, 1)


def test_diverted_launches_go_elsewhere(cuda: FakeCuda) -> None:
    kernel, x = made(_constant), other.Array(0x10000, (8,))
    for _ in range(2):
        kernel[1, 32](x, 1)
    seen: list[Any] = []
    with diverted(lambda *launch: seen.append(launch)):
        assert launched(kernel, cuda, (1, 32), x, 1) is None
    assert len(seen) == 1
    assert launched(kernel, cuda, (1, 32), x, 1)


# ---- memory


def test_nothing_is_kept_of_a_launch(cuda: FakeCuda) -> None:
    kernel, x = made(_structs), other.Array(0x10000, (8,))
    nest, held, number, exporter = Nest(Two(x, 2.0), None), kernel[1, 32], np.int32(3), Launch(lambda given: 1, 32)
    things = [nest, nest.two, x, kernel, held, number, exporter]

    def launches() -> None:
        for _ in range(50):
            held(nest, number)
            kernel.launch(exporter, nest, number)
            with pytest.raises(ArgumentError):
                held(nest, "no")
        for remembered in (cuda.launches, cuda.packed, cuda.calls, cuda.launch_contexts):
            remembered.clear()

    launches()
    before = [sys.getrefcount(thing) for thing in things]
    launches()
    assert [sys.getrefcount(thing) for thing in things] == before


def test_a_kernel_goes_with_its_launcher(cuda: FakeCuda) -> None:
    def once() -> weakref.ref[Kernel]:
        kernel = made(_constant)
        kernel[1, 32](other.Array(0x10000, (8,)), 1)
        return weakref.ref(kernel)

    gone = once()
    gc.collect()
    assert gone() is None


# ---- how a launcher comes to be


def waited(condition: Any) -> bool:
    deadline = time.monotonic() + 20
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(condition())


def test_it_is_built_in_the_background_and_taken_by_what_is_held(
    cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine_code_or_skip()
    monkeypatch.setattr(launcher, "LAUNCHES", 3)
    kernel, x = plain(_constant), other.Array(0x10000, (8,))
    held = kernel[1, 32]
    for _ in range(2):
        held(x, 1)
    assert kernel._launching.launcher is None
    held(x, 1)
    assert waited(lambda: kernel._launching.launcher is not None)
    held(x, 1)
    reuses(kernel, monkeypatch)
    cuda.packed.clear()
    held(x, 1)
    kernel[1, 32](x, 1)
    assert len(cuda.packed) == 2


def test_its_code_is_kept_on_disk(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    made(_constant)

    def to_image(*_: Any) -> bytes:
        raise AssertionError("it is on disk")

    monkeypatch.setattr(host, "to_image", to_image)
    kernel, x = made(_constant), other.Array(0x10000, (8,))
    for _ in range(2):
        kernel[1, 32](x, 1)
    assert cuda.packed


def test_a_driver_that_is_too_old_leaves_launches_to_python(cuda: FakeCuda, capsys: pytest.CaptureFixture[str]) -> None:
    cuda.version = 11040
    kernel, x = plain(_constant), other.Array(0x10000, (8,))
    kernel._launching.build(driver.get(), config.Config(verbose=True))
    assert kernel._launching.launcher is None
    assert "_constant has no compiled launcher: " in capsys.readouterr().err
    kernel[1, 32](x, 1)
    assert len(cuda.launches) == 1
