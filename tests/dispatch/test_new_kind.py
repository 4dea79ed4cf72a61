"""A new kind of argument, declared in one place: bound, compiled, simulated, launched, exported, and called from C.

Members of an Enum, which are an i32 in the kernel. Nothing of cutelite knows of them but what stands in `The kind`.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32
from cutelite.dispatch import ArgumentError
from cutelite.dispatch.arguments import MISSING, Call
from cutelite.dispatch.parameter import Parameter, takes
from cutelite.front.types import ArgType
from cutelite.ir.types import SCALARS
from cutelite.lang.annotations import Spec
from cutelite_rt.launcher import native
from cutelite_rt.signature import bind, data, kinds
from tests.dispatch.alike import launched, reuses, with_launcher
from tests.dispatch.conftest import GpuArray
from tests.dispatch.test_launcher import in_a_context as in_a_context
from tests.dispatch.test_launcher import plain
from tests.rt.conftest import FakeCuda

# The kind.


@data.kind
class Member(NamedTuple):
    """An object whose `value` is one of `values`: for the runtime, which needs no Enum to check it."""

    name: data.Name
    cls: str
    values: tuple[int, ...]

    def leaves(self) -> Iterator[kinds.Leaf]:
        yield kinds.Number(self.name, "i32")

    def rows(self, rows: kinds.Rows, slot: int, given: int) -> None:
        rows.instance(self.name, slot, given)
        value = rows.field("value", slot, given)
        rows.constant(value, given)  # what is no member is found under no key
        for leaf in self.leaves():
            rows.leaf(leaf, value, given)

    def fit(self, call: bind.Call, argument: Any) -> None:
        value = getattr(argument, "value", None)
        if type(value) is not int or value not in self.values:
            raise call.error(self.name, f"must be a member of {self.cls}, not {argument!r}")
        call.values.append(value)


class MemberOf(Spec):
    """The annotation: `MemberOf(Color)`."""

    def __init__(self, cls: type[enum.Enum]) -> None:
        self.cls = cls

    def __repr__(self) -> str:
        return f"MemberOf({self.cls.__name__})"


@takes(MemberOf)
class MemberParameter(Parameter):
    def __init__(self, name: str, spec: MemberOf) -> None:
        self.name, self.cls = name, spec.cls

    @property
    def data(self) -> Member:
        return Member(self.name, self.cls.__name__, tuple(member.value for member in self.cls))

    def bind(self, call: Call, argument: Any) -> ArgType:
        if argument is not MISSING:
            self.data.fit(call, argument)
        return SCALARS["i32"]

    def classes(self) -> Iterator[tuple[str, type]]:
        yield self.name, self.cls


# What follows from it.


class Color(enum.Enum):
    RED, GREEN, BLUE = 3, 5, 7


class Shade(enum.Enum):
    DARK = 4


N = cl.dims("N")
Vector = Tensor[f32, (N,)]


class Paint(NamedTuple):
    color: MemberOf(Color)
    gloss: float


def _painted(color: MemberOf(Color), paint: Paint, other: MemberOf(Color) | None, out: Vector) -> None:
    i = cl.thread_idx.x
    if i < N:
        out[i] = f32(color) + paint.gloss * f32(paint.color)
        if other is not None:
            out[i] = out[i] + f32(other)


def test_it_is_simulated_and_may_be_none_or_a_field() -> None:
    kernel, out = cl.kernel(_painted), np.zeros(8, np.float32)
    kernel[1, 32](Color.GREEN, Paint(Color.RED, 0.5), Color.BLUE, out)
    np.testing.assert_array_equal(out, 5 + 1.5 + 7)
    assert not kernel.check(1, 32, Color.GREEN, Paint(Color.RED, 0.5), None, out).findings
    np.testing.assert_array_equal(out, 5 + 1.5)
    assert kernel.compile(block=32, other=None).cubin


def test_what_is_refused() -> None:
    kernel, out = cl.kernel(_painted), np.zeros(8, np.float32)
    with pytest.raises(ArgumentError, match="`color` must be a member of Color, not 4"):
        kernel[1, 32](4, Paint(Color.RED, 0.5), None, out)
    with pytest.raises(ArgumentError, match=r"`paint\.color` must be a member of Color, not 'red'"):
        kernel[1, 32](Color.RED, Paint("red", 1.0), None, out)


def test_the_launcher_takes_it(cuda: FakeCuda, on_gpu: GpuArray, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, by_python, out = plain(_painted), plain(_painted), on_gpu((8,))
    with_launcher(kernel)
    cases = [(Color.GREEN, Paint(Color.RED, 0.5), None, out), (Color.RED, Paint(Color.BLUE, 2.0), Color.RED, out)]
    expected = [launched(by_python, cuda, (1, 32), *case) for case in cases]
    assert [launched(kernel, cuda, (1, 32), *case)[3] for case in cases] == [each[3] for each in expected]
    wrong = (5, Paint(Color.RED, 0.5), None, out)
    assert launched(kernel, cuda, (1, 32), *wrong) == launched(by_python, cuda, (1, 32), *wrong)
    reuses(kernel, monkeypatch)
    assert [launched(kernel, cuda, (1, 32), *case)[3] for case in cases] == [each[3] for each in expected]


@pytest.mark.parametrize("host", [False, True])
def test_it_is_exported(host: bool, cuda: FakeCuda, on_gpu: GpuArray) -> None:
    bundle = cl.kernel(_painted).export(None, block=32, other=None, cpus=native.MACHINE)
    kernel, out = rt.load_kernel(bundle.to_bytes(), host_code=host), on_gpu((8,))
    for _ in range(3):
        kernel[1](Color.GREEN, Paint(Color.RED, 0.5), None, out)
    assert len(cuda.launches) + len(cuda.packed) >= 3
    for _ in range(2):
        with pytest.raises(ArgumentError, match=r"`color` must be a member of Color, not <Shade\.DARK: 4>"):
            kernel[1](Shade.DARK, Paint(Color.RED, 0.5), None, out)
    stub = rt.c_stub(bundle)
    assert "int32_t color, int32_t paint_color, float paint_gloss, const cutelite_tensor *out" in stub.header
