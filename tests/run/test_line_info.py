"""Every example compiles with source lines, and its instructions carry them."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import pytest

from cutelite.dispatch import Kernel
from cutelite.dispatch.divert import diverted
from cutelite.dispatch.launch import Launch
from cutelite.toolchain.sass import disassemble
from tests.mutate.launches import of_examples
from tests.run.test_examples import SMALL

LINE = re.compile(r'//## File "([^"]+)", line (\d+)')
INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s", re.MULTILINE)


@pytest.mark.parametrize("name", SMALL)
def test_instructions_of_examples_carry_lines(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_CACHE", "0")
    found: dict[Kernel, bytes] = {}

    def compile_with_lines(kernel: Kernel, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if kernel not in found:
            make = kernel.options(line_info=True).compiling(launch, *args, **kwargs)
            assert make is not None
            found[kernel] = make().artifact.cubin

    example = of_examples(name)
    with diverted(compile_with_lines), contextlib.suppress(AssertionError):  # what nothing computed is wrong
        example.main(**SMALL[name][-1])
    assert found
    for kernel, cubin in found.items():
        text = disassemble(cubin)
        assert text is not None
        code = kernel.__cutelite_function__.__code__  # of the example, or of the library
        told = {line for file, line in LINE.findall(text) if Path(file).name == Path(code.co_filename).name}
        body = {line for _, _, line in code.co_lines() if line}
        assert told & {str(line) for line in body}, kernel
        instructions = [INSTRUCTION.match(line) for line in text.splitlines()]
        first_told = next(i for i, line in enumerate(text.splitlines()) if LINE.search(line))
        assert sum(map(bool, instructions[:first_told])) < 0.1 * sum(map(bool, instructions)), "instructions of no line"
