"""Options of a compile: one table, said in five ways, the nearest first."""

from __future__ import annotations

import types
import typing
from pathlib import Path
from typing import Any

import pytest

import cutelite as cl
from cutelite import cli, config
from cutelite.cli.parser import options_of, parser
from cutelite.dispatch import Kernel
from cutelite.options import OPTIONS, Given, OptionError, Options, checked, parsed
from cutelite.parsers import FLAG
from tests.dispatch import kernels

LIBRARY = str(Path(__file__).with_name("linked") / "empty.ptx")
OTHERS: dict[str, Any] = {
    "fmad": False,
    "assertions": True,
    "line_info": True,
    "debug": True,
    "opt": 1,
    "max_registers": 40,
    "min_blocks": 2,
    "ptxas_options": ("--warn-on-spills",),
    "link_libraries": (LIBRARY,),
    "backend": "nvvm",
    "assembler": "ptxas",
    "passes": "-join_accesses",
    "warnings_as_errors": True,
    "profile": True,
    "record": True,
    "name": "other",
}
"""A value of each that is not its default."""


def text_of(value: Any) -> str:
    return " ".join(value) if isinstance(value, tuple) else str(int(value) if isinstance(value, bool) else value)


def in_effect(kernel: Any, **said: Any) -> dict[str, Any]:
    """What a compile with `said` is made with, but for the defaults."""
    kernel.compile(**said)
    (made,) = {spec.options for spec in kernel.specialisations}
    return {
        row.name: getattr(made, row.name) for row in OPTIONS if getattr(made, row.name) != getattr(Options(), row.name)
    }


@pytest.fixture(autouse=True)
def nothing_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for row in OPTIONS:
        monkeypatch.delenv(row.variable, raising=False)
    monkeypatch.setenv("CUTELITE_CACHE", "0")


def test_every_option_has_a_type_for_callers() -> None:
    hints = typing.get_type_hints(Given)
    assert list(hints) == [row.name for row in OPTIONS] == list(OTHERS)
    for name, hint in typing.get_type_hints(Options).items():
        kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
        assert set(kinds) <= set(typing.get_args(hints[name])), name


@pytest.mark.parametrize("name", OTHERS)
def test_each_way_to_say_an_option_means_the_same(name: str) -> None:
    row = next(row for row in OPTIONS if row.name == name)
    value, text = OTHERS[name], text_of(OTHERS[name])
    assert checked({name: value}) == {name: value}
    assert parsed(f"{row.flag}='{text}'") == parsed(f"{row.flag} '{text}'") == {name: value}
    assert all(parsed(f"{alias}='{text}'") == {name: value} for alias in row.aliases)
    if not row.of_one:
        assert config.read({row.variable: text}).options == Options(**{name: value})
    flags = [f"--no-{row.flag[2:]}" if value is False else row.flag] if row.parser is FLAG else [f"{row.flag}={text}"]
    given = parser().parse_args(["compile", "k.py", *flags])
    assert options_of(given) == {row.name: value if row.name == name else None for row in OPTIONS}


def fresh(**options: Any) -> Kernel:
    return kernels.add.options(block=(64, 1, 1), **options)


def test_the_nearest_word_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_MAX_REGISTERS", "128")
    monkeypatch.setenv("CUTELITE_OPT", "1")
    assert in_effect(fresh()) == {"max_registers": 128, "opt": 1}
    assert in_effect(fresh(max_registers=64)) == {"max_registers": 64, "opt": 1}
    assert in_effect(fresh(max_registers=64), max_registers=32, opt=2) == {"max_registers": 32, "opt": 2}
    assert in_effect(fresh(max_registers=64), max_registers=None) == {"max_registers": 64, "opt": 1}


def test_options_of_a_compile_make_another_kernel() -> None:
    kernel = fresh()
    assert in_effect(fresh(), options="--opt-level=2 --maxrregcount=64", opt=1) == {"opt": 1, "max_registers": 64}
    assert kernel.compile() is kernel.compile(opt=3) is not kernel.compile(opt=0)
    assert ".loc" in kernel.compile(line_info=True).ptx and ".loc" not in kernel.compile().ptx


def test_a_derived_kernel_keeps_what_is_not_said() -> None:
    first = fresh(opt=2)
    derived = first.options("--generate-line-info --maxrregcount 40", fmad=False, block=128)
    assert in_effect(derived) == {"opt": 2, "line_info": True, "max_registers": 40, "fmad": False}
    assert derived.block == (128, 1, 1) and derived.cluster == first.cluster
    assert first.given == {"opt": 2} and first.block == (64, 1, 1)


def test_a_method_is_derived_with_its_object() -> None:
    class Scaling:
        by = 3.0

        @cl.kernel(block=32)
        def scale(self, x: cl.Tensor[cl.f32, (32,)]) -> None:
            x[cl.thread_idx.x] = x[cl.thread_idx.x] * self.by

    compiled = Scaling().scale.options(line_info=True).compile()
    assert ".loc" in compiled.ptx


def test_a_parameter_with_the_name_of_an_option_is_meant_by_it() -> None:
    @cl.kernel(block=32)
    def shifted(x: cl.Tensor[cl.f32, (32,)], opt: cl.Constexpr[int]) -> None:
        x[cl.thread_idx.x] = x[cl.thread_idx.x] + opt

    assert in_effect(shifted, opt=7) == {}
    assert in_effect(shifted.options(opt=1), opt=7) == {"opt": 1}


def test_exports_take_options(ptxas: str) -> None:
    with_lines = fresh().export(None, line_info=True, arch="sm_90", ptx="sm_90")
    assert ".loc" in with_lines.variants[0].artifacts[-1].ptx


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("--opt-levle=1", "--opt-levle is none of the options"),
        ("--opt-level=4", "--opt-level=4: takes a whole number from 0 to 3"),
        ("--opt-level", "--opt-level needs a value: a whole number from 0 to 3"),
        ("--ptxas-options='-v", 'options="--ptxas-options=\'-v": no closing quotation'),
        (3, "options are a text, such as '--opt-level=3', not 3"),
        ("--keep-ptx", "--keep-ptx is no option of a kernel here: `compiled.ptx` has it"),
        ("--gpu-arch=sm_80", "--gpu-arch is no option of a kernel here: `arch=` of `compile`"),
    ],
)
def test_texts_that_make_no_sense(text: Any, said: str) -> None:
    with pytest.raises(OptionError) as caught:
        kernels.add.options(text)
    assert str(caught.value).startswith(said)


def test_wide_dims_are_asked_for_or_not() -> None:
    with pytest.raises(cl.ArgumentError, match="takes True or False for wide_dims, not 'yes'"):
        kernels.add.compile(wide_dims="yes")  # type: ignore[arg-type]


def test_the_command_line_compiles_with_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["compile", f"{kernels.__file__}:add", "--block", "64", "--line-info", "--emit", "ptx"]) == 0
    assert ".loc" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        cli.main(["compile", f"{kernels.__file__}:add", "--opt", "9"])
    assert "--opt=9: takes a whole number from 0 to 3" in capsys.readouterr().err
