"""Each file in passes/ is IR, the pass to run on it (``// pass: name``, or ``PIPELINE``), and what comes out.

The text shows what changed; running both halves on the simulator, that the meaning did not.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import cutelite.ops  # noqa: F401  # registers the ops
from cutelite import passes
from cutelite.diag import CompileError
from cutelite.ir.function import Function
from cutelite.ir.verifier import verify
from cutelite.target import Target
from tests.golden.cases import Case, paths
from tests.golden.simulated import outcome
from tests.ir.parser import parse_function


def steps(name: str) -> tuple[passes.Pass, ...]:
    """The passes that `name` stands for."""
    if name == "PIPELINE":
        return passes.PIPELINE
    return next((step,) for step in passes.PIPELINE if step.name == name)


def after(case: Case, function: Function) -> tuple[str, str]:
    """Run the pass of a case: 'after' and the IR with any warnings, or 'error' and the message."""
    context = passes.Context(Target.parse(case.directives.get("target", "sm_90a")))
    try:
        function = passes.run(steps(case.directives["pass"]), function, context)
    except CompileError as error:
        return "error", f"{error}\n"
    text = str(function)
    assert str(parse_function(text)) == text
    return "after", text + "".join(f"{warning}\n" for warning in context.warnings)


@pytest.mark.parametrize("path", paths("passes"), ids=lambda path: path.stem)
def test_pass(path: Path, update: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)  # diagnostics name the file without its folder
    case = Case.read(path)
    function = parse_function(case.source, path.name)
    verify(function, "the case")
    text = str(function)
    assert str(parse_function(text)) == text, "the text does not round-trip"
    what, result = after(case, function)
    case.check(what, result, update)
    assert str(function) == text, "the pass changed the function it was given"
    if what == "after":
        for directive in case.directives.get("run", "").split("; "):
            assert outcome(parse_function(result.partition("warning[")[0]), directive) == outcome(function, directive)
