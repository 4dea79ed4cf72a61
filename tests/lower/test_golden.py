"""The text of inline assembly that gives several registers: their struct is written out once, and named elsewhere."""

import re

from tests.golden.cases import Case, paths
from tests.lower.test_lower import llvm


def test_structs_of_registers_are_written_out_once() -> None:
    (path,) = (path for path in paths("ops") if path.stem == "matrices")
    text = llvm(Case.read(path).source)
    named = dict(re.findall(r"^(%struct\d+) = type (.*)$", text, re.MULTILINE))
    assert named and len(set(named.values())) == len(named)
    used = re.findall(r" = call ([%{].*?) asm|= extractvalue (\S+)", text)
    assert used and {call or part for call, part in used} == set(named)
