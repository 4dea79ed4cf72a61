"""Functions of users in a compile: hooks around stages, passes of their own, pipelines as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import cutelite as cl
from cutelite import OptionError, StageEvent, Tensor, ToolchainError, f32
from cutelite.builds.hooks import STAGES
from cutelite.config import ConfigError
from cutelite.dispatch import fingerprint
from cutelite.ir.function import Function
from cutelite.passes import PIPELINE, Context
from tests.dispatch.test_compile import fresh

N = cl.dims("N")


def test_an_assembler_that_is_named_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_PTXAS", "/nowhere/ptxas")
    with pytest.raises(ConfigError, match="CUTELITE_PTXAS=/nowhere/ptxas: takes the path of a program, and none is"):
        fresh(doubled).compile()


@pytest.mark.parametrize(
    ("variable", "value"),
    [("CUTELITE_LINK_LIBRARIES", "/no.bc"), ("CUTELITE_LINK_LIBRARIES", "/"), ("CUTELITE_PTXAS_OPTIONS", "-garbage")],
)
def test_an_error_of_a_tool_says_what_the_environment_set(
    variable: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ToolchainError, match=f"\nset: {variable}={value}$"):
        fresh(doubled).compile()


@cl.kernel(block=32)
def doubled(x: Tensor[f32, (N,)]) -> None:
    if cl.thread_idx.x < N:
        x[cl.thread_idx.x] = x[cl.thread_idx.x] * 2


@pytest.fixture
def hooks() -> Iterator[list[Any]]:
    added: list[Any] = []
    yield added
    for hook in added:
        cl.remove_hook(hook)


def test_hooks_see_each_stage_in_order(hooks: list[Any]) -> None:
    seen: list[StageEvent] = []
    hooks += [cl.before_stage(*STAGES)(seen.append), cl.after_stage(*STAGES)(seen.append)]
    made = fresh(doubled).compile(arch="sm_80")
    assert [(e.stage, e.when) for e in seen] == [(stage, when) for stage in STAGES for when in ("before", "after")]
    assert {(e.name, str(e.target), e.options.opt) for e in seen} == {("doubled", "sm_80", 3)}
    kinds = [type(e.artefact).__name__ for e in seen]
    assert kinds == ["function", *["Function"] * 4, *["str"] * 4, "bytes"]
    assert seen[-1].artefact == made.cubin


def test_what_a_hook_returns_goes_on(hooks: list[Any]) -> None:
    def other(event: StageEvent) -> str:
        return str(event.artefact).replace("@doubled(", "@renamed(")

    hooks.append(cl.after_stage("lower")(other))
    assert ".entry renamed(" in fresh(doubled).compile().ptx


def test_nothing_comes_from_disk_or_goes_there_meanwhile(hooks: list[Any]) -> None:
    fresh(doubled).compile(arch="sm_86")
    assert fresh(doubled).compile(arch="sm_86").cached
    seen: list[StageEvent] = []
    hooks.append(cl.after_stage("assemble")(seen.append))
    assert not fresh(doubled).compile(arch="sm_86").cached
    assert len(seen) == 1


def test_hooks_that_are_wrong(hooks: list[Any]) -> None:
    with pytest.raises(ValueError, match="'ptx' is no stage; the stages are front, passes"):
        cl.after_stage("ptx")
    with pytest.raises(TypeError, match=r'write @cl.after_stage\("llvm"\) above the function'):
        cl.after_stage(print)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="is no hook"):
        cl.remove_hook(print)
    hooks.append(cl.after_stage("lower")(lambda event: 3))
    with pytest.raises(TypeError, match="returned 3 after lower, which takes a str, or None") as caught:
        fresh(doubled).compile()
    assert caught.traceback[-1].path == Path(__file__)
    cl.remove_hook(hooks.pop())
    hooks.append(cl.after_stage("lower")(nonsense))
    with pytest.raises(ToolchainError, match="the hook nonsense changed what came after lower"):
        fresh(doubled).compile()
    for stages, hook, said in (
        (("front", "passes"), drops_the_first, "used where it is not defined.*drops_the_first.* left IR that breaks"),
        (("assemble",), lambda event: b"junk", "returned b'junk' after assemble, which is no cubin"),
    ):
        for name in stages:
            cl.remove_hook(hooks.pop())
            hooks.append(cl.after_stage(name)(hook))
            with pytest.raises(TypeError, match=f"(?s){said}"):
                fresh(doubled).compile()


def drops_the_first(event: cl.StageEvent) -> None:
    event.artefact.blocks[0].ops.pop(0)


def nonsense(event: cl.StageEvent) -> str:
    return "nonsense"


ran: list[str] = []


@cl.passes.register
def noted(function: Function, context: Context) -> Function:
    ran.append(f"{function.name} on {context.target}")
    return function


@cl.passes.register
def nothing(function: Function, context: Context) -> Function:
    return function


@cl.passes.register
def broken(function: Function, context: Context) -> Function:
    raise ZeroDivisionError("by nothing")


OURS = [step.name for step in PIPELINE]
ALL = ", ".join([*OURS, "noted"])


@pytest.mark.parametrize("text", ["+noted", "+noted<fold", "+noted>cse", "dce=noted", ALL])
def test_a_pass_of_the_user_s_runs_where_it_is_put(text: str) -> None:
    ran.clear()
    made = fresh(doubled).compile(passes=text)
    assert "doubled on sm_90a" in ran
    names = [name.partition("-")[2].removesuffix(".cir") for name in made.stage("cir")][1:]
    places = {"+noted<fold": 0, "+noted>cse": OURS.index("cse") + 1, "dce=noted": OURS.index("dce")}
    assert names.index("noted") == places.get(text, len(OURS))


def test_a_pass_can_be_left_out() -> None:
    plain, without = (fresh(doubled).compile(passes=text) for text in (None, "-cse, -join_accesses"))
    assert set(plain.stage("cir")) != set(without.stage("cir"))
    assert not any("cse" in name for name in without.stage("cir"))


@cl.passes.register
def empty(function: Function, context: Context) -> Function:
    return None  # type: ignore[return-value]


@pytest.mark.parametrize(("name", "said"), [("broken", "ZeroDivisionError: by nothing"), ("empty", "returned None")])
def test_a_pass_of_the_user_s_that_fails_is_named(name: str, said: str) -> None:
    with pytest.raises(cl.InternalError, match=said) as caught:
        fresh(doubled).compile(passes=f"+{name}")
    assert str(caught.value).endswith(f"`{name}` is a pass of yours.")
    with pytest.raises(TypeError, match="a pass is a function with a name"):
        cl.passes.register(lambda function, context: function)
    given: Any = called
    refused = r"is a function of \(%s\), and this one cannot be called so: too many positional"
    with pytest.raises(TypeError, match="a pass " + refused % "function, context"):
        cl.passes.register(given)
    with pytest.raises(TypeError, match="a hook " + refused % "event"):
        cl.after_stage("llvm")(given)
    with pytest.raises(TypeError, match="on_compile takes " + refused % "event"):
        cl.on_compile(given)


def called() -> Any:
    raise AssertionError("it is refused where it is given")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("+none", "no pass is called 'none'; known are allocate_smem"),
        ("-none", "no pass is called 'none' there; there are fold"),
        ("-lower_tensors", "leaves out lower_tensors, without which nothing can be lowered"),
        ("lower_tensors, fold", "lower_tensors must come behind promote_rmem"),
    ],
)
def test_pipelines_that_are_wrong(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        fresh(doubled).compile(passes=text)
    with pytest.raises(ValueError, match="cse is a pass of cutelite's own"):
        cl.passes.register(type("cse", (), {}))


def test_a_pass_may_reach_llvm() -> None:
    """Objects of llvmlite answer to any attribute, and remember what was asked of them."""
    from llvmlite.binding import ffi

    def reaching(function: Function, context: Context) -> Function:
        if ffi.lib is None:  # no `assert`: pytest rewrites it, and all of pytest is reached
            raise ValueError
        return function

    first = fingerprint.source(reaching)
    assert first.digest is not None
    ffi.lib.LLVMPY_GetVersionInfo  # noqa: B018  # remembered
    assert fingerprint.source(reaching).digest == first.digest


def test_the_code_of_a_pass_is_part_of_the_key() -> None:
    assert not fresh(doubled).compile(passes="+nothing").cached
    assert fresh(doubled).compile(passes="+nothing").cached

    def other(function: Function, context: Context) -> Function:
        if not function.blocks:
            raise ValueError
        return function

    other.__name__ = "nothing"
    cl.passes.register(other)
    try:
        assert not fresh(doubled).compile(passes="+nothing").cached
    finally:
        cl.passes.register(nothing)
