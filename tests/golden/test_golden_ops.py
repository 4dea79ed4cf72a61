"""Each file in ops/ is a kernel that uses an op in each of its spellings, and the PTX it becomes.

The kernels are made from the rows of `tests/vocabulary`, but for some written by hand. What works asynchronously has
its PTX, operands by name, in `templates.txt`.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from cutelite import lower, passes, toolchain
from cutelite.ir.verifier import verify
from cutelite.target import Target
from tests.golden.cases import HERE, Case, paths
from tests.ir.parser import parse_function
from tests.vocabulary import ROWS, spellings
from tests.vocabulary.kernels import alone, golden
from tests.vocabulary.row import Row, Spelling

HOPPER = Target.parse("sm_90a")
TEMPLATES = HERE / "templates.txt"
MADE = {row.name: row for row in ROWS if not row.alone and not row.case}
BY_HAND = sorted({case for row in ROWS for case in row.case.split()})


def source(name: str) -> str:
    return str(golden(MADE[name])) if name in MADE else Case.read(HERE / "ops" / f"{name}.cir").source


@cache
def ptx(name: str) -> str:
    """The PTX of a case's kernel."""
    function = parse_function(source(name), f"{name}.cir")
    verify(function, "the case")
    final = passes.run(passes.PIPELINE, function, passes.Context(HOPPER))
    return toolchain.to_ptx(lower.to_llvm(final, HOPPER), HOPPER)


def instructions(text: str) -> str:
    """The kernel without declarations and the backend's comments, and without what describes its variables."""
    kernel = text[text.index(".visible .entry") :].partition("\n\t.file")[0]
    lines = [line for line in kernel.splitlines() if not re.match(r"\s*(\.reg|//|\{? ?//|\} ?//|$)", line)]
    return "\n".join(line.split("\t// ")[0].rstrip() for line in lines) + "\n"


@pytest.mark.parametrize("name", [*MADE, *BY_HAND])
def test_spelling(name: str, update: bool) -> None:
    path = HERE / "ops" / f"{name}.cir"
    case = Case.read(path) if path.exists() else Case(path, {}, "", "", "")
    assert update or path.exists(), f"{path.name} is missing: `make update` writes it"
    assert update or case.source == source(name), "the row has other forms than its file: see what `make update` writes"
    case._replace(source=source(name)).check("ptx", instructions(ptx(name)), update)


@pytest.mark.parametrize("name", [*MADE, *BY_HAND])
def test_assembles(name: str, ptxas: str) -> None:
    text = ptx(name)
    to_be_linked = ("-c",) if ".extern .func" in text else ()
    toolchain.to_cubin(text, HOPPER, assembler="ptxas", options=to_be_linked)


@pytest.mark.parametrize("row", [row for row in ROWS if row.case], ids=lambda row: row.name)
def test_what_is_written_by_hand_shows_the_op(row: Row) -> None:
    for case in row.case.split():
        assert row.name in {op.name for op in parse_function(source(case)).ops()}


def test_every_file_has_its_row() -> None:
    assert {path.stem for path in paths("ops")} == {*MADE, *BY_HAND}


def template(spelling: Spelling) -> str:
    """The assembly of the op, its operands by name and its constants filled in; LLVM where it needs no assembly."""
    op = alone(spelling).blocks[0].ops[-2]
    form, instructions = op.ptx(), op.llvm()
    assert form or instructions
    text = form.template if form else instructions.body.replace("\n", "; ")  # type: ignore[union-attr]
    return re.sub(r"\$\{(\w+)\}", lambda constant: str(op[constant[1]]), text)


def test_templates(update: bool) -> None:
    lines = [f"{spelling}: {template(spelling)}" for spelling in spellings(alone=True)]
    assert len(lines) == len({line.split(": ")[0] for line in lines}), "two spellings of one name"
    text = "\n".join(lines) + "\n"
    if update:
        TEMPLATES.write_text(text)
    assert text == TEMPLATES.read_text()
