"""Machine code of the host: whole in itself, whatever the architecture."""

import ctypes

import pytest

from cutelite.diag import InternalError
from cutelite.toolchain import ToolchainError, host
from cutelite_rt.launcher import image, native

ADD = """
define internal i64 @twice(i64 %x) noinline nounwind {
  %y = add i64 %x, %x
  ret i64 %y
}
define i64 @f(ptr %at, i64 %x) nounwind {
  %held = load i64, ptr %at
  %y = call i64 @twice(i64 %x)
  %z = add i64 %held, %y
  ret i64 %z
}
"""


def test_code_runs() -> None:
    f = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
    held = ctypes.c_int64(5)
    code = host.to_image(ADD, ("f", "f"))
    assert f(image.Machine.of(code).launch)(ctypes.addressof(held), 8) == 21
    assert native.executable(code) == native.executable(bytes(code)), "equal code is there once"


@pytest.mark.parametrize(
    "body",
    [
        "%r = call double @sin(double %x)\n ret double %r",
        "%r = fadd double %x, 0x3FF3333333333333\n ret double %r",
        "%p = load double, ptr @g\n %r = fadd double %x, %p\n ret double %r",
    ],
    ids=["calls", "constants", "data"],
)
def test_what_needs_a_linker_is_refused(body: str) -> None:
    text = f"@g = global double 1.0\ndeclare double @sin(double)\ndefine double @f(double %x) nounwind {{\n {body}\n}}"
    with pytest.raises(InternalError, match="more sections than code, or relocations"):
        host.to_image(text, ("f", "f"))


def test_text_that_is_none() -> None:
    with pytest.raises(ToolchainError):
        host.to_image("define i64 @f() { ret i32 0 }", ("f", "f"))


@pytest.mark.parametrize("cpu", host.BASELINES)
def test_other_architectures(cpu: str) -> None:
    code = host.to_image(ADD, ("f", "f"), cpu)
    assert len(code) % (4 if cpu == "aarch64" else 1) == 0
    assert (code == host.to_image(ADD, ("f", "f"))) == (cpu == native.MACHINE)


def test_an_architecture_that_is_none() -> None:
    with pytest.raises(ToolchainError, match="cannot generate code for z80"):
        host.to_image(ADD, ("f", "f"), "z80")
