"""`templates.txt` holds the PTX of every spelling, so that a change of one shows. ``pytest --update`` rewrites it."""

from __future__ import annotations

from pathlib import Path

from cutelite.ir.op import Op
from tests.hopper.spellings import spellings
from tests.spelled import Spelling

GOLDEN = Path(__file__).parent / "templates.txt"


def template(spelling: Spelling) -> str:
    """The assembly of the op that the spelling is about, its operands by name; LLVM where it needs none."""
    op: Op = spelling.function().blocks[0].ops[-2]
    form = op.ptx()
    if form is not None:
        return form.template
    instructions = op.llvm()
    assert instructions is not None
    return instructions.body.replace("\n", "; ")


def test_templates(update: bool) -> None:
    lines = [f"{spelling.name}: {template(spelling)}" for spelling in spellings()]
    assert len(lines) == len({line.split(": ")[0] for line in lines}), "two spellings of one name"
    text = "\n".join(lines) + "\n"
    if update:
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text()
