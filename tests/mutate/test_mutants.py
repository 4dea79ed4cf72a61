"""The checker finds what was broken: a sample of all mutants, and no alarm on the originals. `make mutate` does all."""

import functools
from contextlib import suppress
from typing import Any

import pytest

from cutelite.dispatch.divert import diverted
from cutelite.ir.verifier import verify
from tests.ir.parser import parse_function
from tests.mutate import matrix
from tests.mutate.equivalent import ROWS
from tests.mutate.launches import KINDS, LARGE, SOURCES, launched
from tests.mutate.mutations import mutations

HERE = 2
"""At least so many mutants of each kernel are checked here."""

SLOW = ("tensorop_gemm",)
"""Whose checks take seconds: of these there are only mutants that no other kernel has."""

SEEDS_HERE = 2

EVERY_OF_KINDS, SEEDS_OF_KINDS = 80, 1
"""Of the kernels of all kinds, which `make mutate` breaks in every way."""


@pytest.mark.parametrize("kernel", SOURCES)
def test_the_originals_are_right(kernel: str) -> None:
    base = launched(kernel)
    report = matrix.check(base, base.function, range(SEEDS_HERE))
    assert report, str(report)


@functools.cache
def sample() -> dict[str, list[int]]:
    """Return the mutants that are checked here: of all kernels together, each kind of mutation of each op once."""
    tried: set[tuple[str, str]] = set()
    chosen: dict[str, list[int]] = {}
    for kernel in sorted(SOURCES, key=lambda kernel: (kernel in SLOW, len(matrix.mutants(kernel)))):
        firsts: dict[tuple[str, str], int] = {}
        for number, mutation in enumerate(matrix.mutants(kernel)):
            firsts.setdefault((mutation.kind, mutation.op.name), number)
        chosen[kernel] = [number for pair, number in firsts.items() if pair not in tried]
        chosen[kernel] += list(firsts.values())[: max(0, HERE - len(chosen[kernel]))]
        tried.update(firsts)
    return chosen


@pytest.mark.parametrize("kernel", SOURCES)
def test_mutants_are_reported_or_equivalent(kernel: str) -> None:
    for number in sample()[kernel]:
        found = matrix.outcome(kernel, number)
        assert found.good, matrix.describe(found)


@pytest.mark.parametrize("kernel", KINDS)
def test_kernels_of_all_kinds_are_right(kernel: str) -> None:
    KINDS[kernel]()  # compares with NumPy
    base = launched(kernel)
    report = matrix.check(base, base.function, range(SEEDS_OF_KINDS))
    assert report, str(report)


def test_mutants_of_all_kinds_are_reported_or_equivalent() -> None:
    every = [(kernel, n) for kernel in KINDS for n in range(len(matrix.mutants(kernel)))]
    for kernel, number in every[::EVERY_OF_KINDS]:
        found = matrix.outcome(kernel, number)
        assert found.good, matrix.describe(found)


def test_a_check_leaves_arrays_as_they_were() -> None:
    base = launched("tile_counter")
    before = [array.copy() for array in base.args]
    for function in (base.function, matrix.mutants("tile_counter")[0].apply(base.function)):
        matrix.check(base, function, [0, 1])
        assert all((array == old).all() for array, old in zip(base.args, before, strict=True))


def test_there_are_many() -> None:
    assert sum(len(mutations(launched(kernel).function)) for kernel in SOURCES) >= 400


def test_every_row_names_a_kernel_and_a_reason() -> None:
    for row in ROWS:
        assert {name.removeprefix("-") for name in row.kernels.split()} <= {*SOURCES, *KINDS, *LARGE}
        assert len(row.reason) > 20, row


def test_a_mutant_differs_from_the_original_in_one_place() -> None:
    function = launched("pipeline_order").function
    before = str(function)
    for mutation in mutations(function):
        mutant = mutation.apply(function)
        try:
            verify(mutant)
        except Exception as refusal:
            assert "internal error" in str(refusal)
            continue
        assert str(mutant) != before
        assert len(list(mutant.ops())) <= len(list(function.ops())) + 4
    assert str(function) == before


def test_mutations_are_of_the_kinds_that_ops_declare() -> None:
    text = """
func @kernel(%out: tensor<i32,gmem,32:1,16>) attrs {block=(32, 1, 1)} {
  %bars = smem.alloc type=tensor<mbarrier,smem,2:1,16> : tensor<mbarrier,smem,2:1,16>
  %zero = const value=0, type=i32 : i32
  %one = const value=1, type=i32 : i32
  %bar = tensor.ptr t=%bars, coord=(%zero), align=8 : ptr<smem,8>
  mbarrier.init bar=%bar, count=%one
  fence.mbarrier_init
  bar.sync
  mbarrier.wait bar=%bar, phase=%zero
  ret
}
"""
    function = parse_function(text, "kernel.cir")
    kinds = [(mutation.kind, mutation.op.name) for mutation in mutations(function)]
    assert kinds == [
        ("stage", "tensor.ptr"),
        ("drop", "mbarrier.init"),
        ("count", "mbarrier.init"),
        ("drop", "fence.mbarrier_init"),
        ("drop", "bar.sync"),
        ("drop", "mbarrier.wait"),
        ("weaken", "mbarrier.wait"),
        ("parity", "mbarrier.wait"),
    ]


def test_arguments_of_large_kernels_fit() -> None:
    """`make mutate` alone launches these: a kernel with other parameters would go unseen."""

    def bind(kernel: Any, launch: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        kernel.signature.bound(kernel.signature.match(args, kwargs), None)

    for run in LARGE.values():
        with diverted(bind), suppress(AssertionError):  # of results, which are not computed
            run()
