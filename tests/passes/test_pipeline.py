"""The table of passes, and what `run` does with it."""

from pathlib import Path

import pytest

from cutelite import passes
from cutelite.diag import InternalError
from cutelite.ir.function import Function
from cutelite.target import Target
from tests.golden.cases import Case, paths
from tests.ir.parser import parse_function

HOPPER = Target.parse("sm_90a")
KERNEL = "func @k(%a: i32) {\n  %b = add a=%a, b=%a\n  ret\n}"


def test_every_pass_comes_after_those_it_names() -> None:
    for i, step in enumerate(passes.PIPELINE):
        assert set(step.after) <= {earlier.function for earlier in passes.PIPELINE[:i]}, step.name
        assert step.why


def test_one_name_for_function_file_and_golden_tests() -> None:
    folder = Path(passes.__file__).parent
    shown = {Case.read(path).directives["pass"] for path in paths("passes")}
    for step in passes.PIPELINE:
        assert (folder / f"{step.name}.py").exists()
        assert step.name in shown
        assert "Needs" in (step.function.__globals__["__doc__"] or ""), f"{step.name} says nothing of what it needs"


def test_run_dumps_and_times() -> None:
    seen: list[str] = []
    times: dict[str, float] = {}
    context = passes.Context(HOPPER)
    passes.run(passes.PIPELINE, parse_function(KERNEL), context, lambda name, _: seen.append(name), times)
    assert seen == [step.name for step in passes.PIPELINE]
    assert set(times) == set(seen)
    assert all(seconds > 0 for seconds in times.values())


def test_a_pass_that_breaks_the_ir_is_named() -> None:
    def drop_the_return(function: Function, context: passes.Context) -> Function:
        del function.entry.ops[-1]
        return function

    broken = (passes.Pass(drop_the_return, why="to see it caught"),)
    with pytest.raises(InternalError, match="no terminator") as caught:
        passes.run(broken, parse_function(KERNEL), passes.Context(HOPPER))
    assert caught.value.stage == "drop_the_return"


def test_an_exception_nobody_expected_names_the_pass_and_the_op() -> None:
    def stumble(function: Function, context: passes.Context) -> Function:
        for op in function.ops():
            if op.name == "add":
                raise KeyError("oops")
        return function

    with pytest.raises(InternalError, match="KeyError: 'oops'") as caught:
        passes.run((passes.Pass(stumble, why="to see it told"),), parse_function(KERNEL), passes.Context(HOPPER))
    assert (caught.value.stage, caught.value.op) == ("stumble", "%b = add a=%a, b=%a : i32")
    assert ">   %b = add" in str(caught.value)
