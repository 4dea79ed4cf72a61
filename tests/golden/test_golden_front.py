"""Each ``front/*.py`` is a kernel, the ``.cir`` beside it the typed SSA that the frontend makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutelite.dispatch import Kernel
from cutelite.front.build import build
from cutelite.ir.verifier import verify
from cutelite.target import Target
from tests.ir.parser import parse_function

KERNELS = sorted((Path(__file__).parent / "front").glob("*.py"))


@pytest.mark.parametrize("path", KERNELS, ids=[path.stem for path in KERNELS])
def test_kernel(path: Path, update: bool) -> None:
    space: dict[str, object] = {"__name__": path.stem}
    exec(compile(path.read_text(), path.name, "exec", dont_inherit=True), space)
    (kernel,) = (value for value in space.values() if isinstance(value, Kernel))
    bound = kernel.signature.ahead((), {}, False)
    attrs = {"block": (128, 1, 1)}
    function = build(kernel.__cutelite_function__, bound.types, bound.dims, attrs, Target.parse("sm_90a"))
    verify(function, "front")
    text = str(function)
    assert str(parse_function(text)) == text, "the text does not round-trip"
    expected = path.with_suffix(".cir")
    if update:
        expected.write_text(text)
    assert text == expected.read_text()


def test_every_text_has_its_kernel() -> None:
    assert {path.with_suffix(".py") for path in (Path(__file__).parent / "front").glob("*.cir")} == set(KERNELS)
