"""``kernel[...]`` by machine code: what Python makes of a subscript, and the same object for the same one."""

from __future__ import annotations

import gc
import sys
import weakref
from types import BuiltinFunctionType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cutelite as cl
from cutelite import Tensor, f32
from cutelite.dispatch import Kernel, Launch, LaunchError, launcher
from cutelite.dispatch.divert import diverted
from cutelite.dispatch.launch import from_subscript
from cutelite_rt.launcher import native, subscript
from tests.dispatch.alike import with_launcher
from tests.rt.conftest import FakeCuda, machine_code_or_skip
from tests.threads import at_once

N = cl.dims("N")


def _nothing(a: Tensor[f32, (N,)]) -> None:
    pass


def _made() -> Kernel:
    function: Any = _nothing
    return with_launcher(Kernel(function, cl.kernel(function).given))


@pytest.fixture
def kernel(cuda: FakeCuda) -> Kernel:
    return _made()


def launch_of(held: Any) -> Launch:
    """The launch that it is, as Python is told of it."""
    seen: list[Any] = []
    with diverted(lambda *launch: seen.append(launch)):
        held()
    ((_, launch, _, _),) = seen
    return launch  # type: ignore[no-any-return]


EXTENT = st.one_of(
    st.integers(0, 3), st.sampled_from([(1 << 30) - 1, 1 << 30, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 64, True, 2.0])
)
SHAPE = st.one_of(EXTENT, st.lists(EXTENT, max_size=4).map(tuple))
SUBSCRIPT = st.one_of(
    st.tuples(SHAPE, SHAPE),
    st.tuples(SHAPE, SHAPE, st.sampled_from([None, 0, 7, 1 << 40])),
    st.tuples(SHAPE, SHAPE, st.none(), st.integers(0, 64)),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=400)
@given(SUBSCRIPT)
def test_what_python_makes_of_it(kernel: Kernel, key: Any) -> None:
    expected = from_subscript(key)
    for _ in range(2):
        found = launch_of(kernel[key])
        assert repr(found) == repr(expected), "to the type: 1, True and 1.0 are equal"


@pytest.mark.parametrize("key", [5, (5,), (1, 2, None, 0, 0), "ab", None, ()])
def test_what_is_none(kernel: Kernel, key: Any) -> None:
    for _ in range(2):
        with pytest.raises(LaunchError, match=r"^_nothing: a kernel is launched as"):
            kernel[key]


def test_the_same_object_again(kernel: Kernel) -> None:
    stream = 1 << 40
    for key in ((3, 32), ((3,), 32), ((3, 1), 32), ((3, 1, 1), (32, 1)), (70000, (32, 2, 2)), (3, 32, stream)):
        first = kernel[key]
        assert kernel[key] is kernel[tuple(key)] is first
        assert isinstance(first, BuiltinFunctionType)
    assert len({id(kernel[key]) for key in (((1, 2), 32), ((2, 1), 32), ((1, 2, 1), 32), ((1, 2), (32,)))}) == 4
    assert kernel[3, 32] is not _made()[3, 32]


def test_python_is_asked_once(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def read(key: Any) -> Launch:
        asked.append(key)
        return from_subscript(key)

    monkeypatch.setattr(kernel._launching, "_read", read)
    grids = [(x, y) for x in range(40) for y in range(1, 20)]
    for _ in range(3):
        for grid in grids:
            kernel[grid, 32]
    assert asked == [(grid, 32) for grid in grids]


def test_how_many_are_kept(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscript, "MOST", 5)
    found = kernel._launching._subscripts
    assert found is not None
    for x in range(1, 20):
        assert launch_of(kernel[x, 32]).grid == x
        assert launch_of(kernel[x, 32]).grid == x
        assert len(found) == (x - 1) % 5 + 1


def test_counts_of_references_stay(kernel: Kernel) -> None:
    key = ((2, 3), 32)
    held = kernel[key]
    before = sys.getrefcount(held), sys.getrefcount(key)
    for _ in range(100):
        kernel[key]
    assert (sys.getrefcount(held), sys.getrefcount(key)) == before


def test_a_kernel_goes_with_what_is_held_of_it(cuda: FakeCuda) -> None:
    kernel = _made()
    kernel[2, 32], kernel[2, 32]
    alive = weakref.ref(kernel._launching)
    held = kernel[2, 32]
    del kernel
    gc.collect()
    assert launch_of(held) == Launch(2, 32)
    assert alive() is not None
    del held
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("most", [subscript.MOST, 3])
def test_many_threads(kernel: Kernel, monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(subscript, "MOST", most)
    monkeypatch.setattr(launcher, "MOST_HELD", most)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)

    def work(start: int) -> None:
        for i in range(300):
            x = (start + i) % 200
            assert launch_of(kernel[(x, 1), 32]).grid == (x, 1)

    at_once(work, (0, 50, 100, 0))
    sys.setswitchinterval(before)


def test_where_ints_are_kept_in_another_way(monkeypatch: pytest.MonkeyPatch, cuda: FakeCuda) -> None:
    monkeypatch.setattr(native, "one_digit", lambda: (1 << 64) - 1)
    kernel = _made()
    for x in (0, 1, (1 << 30) - 1, 1 << 30, (1 << 32) - 1):
        for _ in range(2):
            assert launch_of(kernel[x, (32, 1)]) == Launch(x, (32, 1))


def test_this_python_keeps_ints_in_a_known_way() -> None:
    machine_code_or_skip()
    assert native.one_digit() == (8 if sys.version_info >= (3, 12) else 1)
