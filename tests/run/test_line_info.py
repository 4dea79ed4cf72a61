"""Examples compile with source lines, and their instructions carry them: each third here, all where there is a GPU."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cutelite.dispatch import Compiled, Kernel
from cutelite.dispatch.divert import diverted
from cutelite.dispatch.launch import Launch
from cutelite.explore.attribution import attribution
from cutelite.ir.function import Function, reverse_postorder
from tests.mutate.launches import of_examples
from tests.pairs import some
from tests.run.test_examples import SMALL


@pytest.mark.parametrize("name", some(SMALL, 3))
def test_instructions_of_examples_carry_lines(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTELITE_CACHE", "0")
    found: dict[Kernel, Compiled] = {}

    def compile_with_lines(kernel: Kernel, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if kernel not in found:
            make = kernel.options(line_info=True).compiling(launch, *args, **kwargs)
            assert make is not None
            found[kernel] = make()

    example = of_examples(name)
    with diverted(compile_with_lines), contextlib.suppress(AssertionError):  # what nothing computed is wrong
        example.main(**SMALL[name][-1])
    assert found
    for kernel, compiled in found.items():
        sass = compiled.sass
        assert sass is not None
        code = kernel.__cutelite_function__.__code__  # of the example, or of the library
        told = {line for file, line in sass.lines if Path(file).name == Path(code.co_filename).name}
        assert told & {line for _, _, line in code.co_lines() if line}, kernel
        assert sum(each.place is None for each in sass.instructions) < 0.1 * len(sass.instructions)
        assert sass.mix["other"] == 0, {each.name for each in sass.instructions if each.kind == "other"}
        final = compiled.build.final
        assert final is not None
        shares = attribution(final, sass)
        for line in lines_of_loops(final):
            assert shares.of(line), f"{line} is in a loop and has no machine code"
        if any(lines_of_loops(final)):
            assert sass.loops


def lines_of_loops(function: Function) -> Iterator[tuple[str, int]]:
    """Yield the source lines of what is in loops of the kernel as it is lowered."""
    order = reverse_postorder(function.entry)
    place = {block: i for i, block in enumerate(order)}
    for i, block in enumerate(order):
        end = block.terminator
        for jump in end.jumps if end else ():
            if place[jump.block] <= i:
                for inside in order[place[jump.block] : i + 1]:
                    for op in inside.ops:
                        if op.span is not None and op.name != "const":
                            yield op.span.filename, op.span.line
