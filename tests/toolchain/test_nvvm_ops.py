"""Every op of the golden files through libNVVM, as the lowering spells it."""

from pathlib import Path

import pytest

import cutelite.ops  # noqa: F401  # registers the ops
from cutelite import lower, passes
from cutelite.target import Target
from cutelite.toolchain import nvvm, to_cubin
from tests.golden.cases import Case, paths
from tests.ir.parser import parse_function

PATHS = [path for path in paths("ops") if path.stem != "variables"]  # those LLVM alone describes


@pytest.mark.skipif(not nvvm.available(), reason="needs libNVVM")
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_op(path: Path, ptxas: str, hopper: Target) -> None:
    function = parse_function(Case.read(path).source, path.name)
    text = lower.to_llvm(passes.run(passes.PIPELINE, function, passes.Context(hopper)), hopper)
    ptx = nvvm.to_ptx(text, hopper)
    if ".extern .func" not in ptx:  # functions that a library has are linked later
        to_cubin(ptx, hopper, opt_level=0)
