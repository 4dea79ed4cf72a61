"""Every word computes its row's reference, on the simulator and on a GPU: exactly, or as close as the row says."""

from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import cutelite as cl
from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import SCALARS, Vec, u32
from cutelite.lang.emit import emit
from cutelite.lang.straight import evaluate
from cutelite.lang.values import logical_not, maximum, minimum
from cutelite.ops.arith import VecMake
from tests.ops import kernels
from tests.vocabulary import ROWS
from tests.vocabulary.numbers import HELD, Array, samples
from tests.vocabulary.row import Operation, Row

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
BLOCK = 192  # threads, each with arguments of its own: six warps
TOGETHER = 60  # operations in a kernel
COMPUTED = [row for row in ROWS if row.computed]
ALONE = [row for row in COMPUTED if row.op.scope == "thread"]
COLLECTIVE = [row for row in COMPUTED if row.op.scope == "warp"]
by_name = attrgetter("name")


def packed(a: Any, b: Any, dtype: Any) -> Any:
    return cl.convert(emit(VecMake((a.value, b.value))), dtype)


def written(operation: Operation) -> Any:
    """Return the expression as a function of run-time values."""
    letters = "abcd"[: len(operation.takes)]
    text = f"lambda {', '.join(letters)}: {operation.text.format(*letters)}"
    names = {
        "cl": cl,
        "packed": packed,
        "min": minimum,
        "max": maximum,
        "logical_not": logical_not,
    }  # what Python cannot overload
    return eval(text.replace("not a", "logical_not(a)"), names)


def arguments(row: Row, operation: Operation, count: int, draw: np.random.Generator) -> list[Array]:
    """Return numbers of all sizes, or of the domain; amounts of bits go a little beyond the width, one far."""
    if row.close:
        return [draw.uniform(*row.domain, count).astype(HELD[t]) for t in operation.takes]
    columns = [samples(t, count, draw) for t in operation.takes]
    for i in row.amounts:
        width = SCALARS[operation.takes[0]].bits
        columns[i] = draw.integers(0, width + 8, count).astype(columns[i].dtype)
        columns[i][:3] = 0, width, 127
    return columns


def held(x: Array, t: str) -> Array:
    """Return an array of the reference in the simulator's form."""
    return x.astype(numpy_dtype(SCALARS[t]))


def wrong(row: Row, operation: Operation, got: Array, columns: list[Array]) -> str | None:
    """Return the first arguments whose result differs from the reference: bit by bit, but all NaNs are equal."""
    shaped = columns if row.op.scope == "thread" else [x.reshape(-1, 32) for x in columns]
    with np.errstate(all="ignore"):
        expected = operation.meaning(*shaped).reshape(-1)
    got = got.astype(expected.dtype)
    differs = got != expected
    if expected.dtype.kind == "f":
        both = np.isnan(got) & np.isnan(expected)
        if row.close is None:
            differs |= np.signbit(got) != np.signbit(expected)
        else:
            differs &= ~(np.abs(got - expected) <= row.close(operation.gives, expected))
        differs &= ~both
    at = np.flatnonzero(differs)[:3]
    return f"{operation.text}: {[(*(c[i] for c in columns), got[i], expected[i]) for i in at]}" if len(at) else None


def mistakes(row: Row, run: Any, blocks: int = 1, operations: list[Operation] | None = None) -> list[str]:
    """Compare the results that `run` gives for arguments of every operation; return the differences."""
    draw, operations = np.random.default_rng(len(row.name)), operations or row.computed
    columns = [arguments(row, operation, BLOCK * blocks, draw) for operation in operations]
    return [*filter(None, map(partial(wrong, row), operations, run(operations, columns), columns))]


def straight(operations: list[Operation], columns: list[list[Array]]) -> list[Array]:
    """Compute operations in the simulator, without a kernel around them."""
    return [
        evaluate(written(o), tuple(SCALARS[t] for t in o.takes), *map(held, given, o.takes))
        for o, given in zip(operations, columns, strict=True)
    ]


def in_kernels(run: kernels.Runner, operations: list[Operation], columns: list[list[Array]]) -> list[Array]:
    """Compute operations in kernels: each thread computes a row of every operation."""
    count = len(columns[0][0])
    outs = [np.zeros(count, numpy_dtype(SCALARS[o.gives])) for o in operations]
    for first in range(0, len(operations), TOGETHER):
        chosen = operations[first : first + TOGETHER]
        given = [x for o, row in zip(chosen, columns[first:], strict=False) for x in map(held, row, o.takes)]

        def body(*tensors: Any, chosen: list[Operation] = chosen) -> None:
            i, left = cl.block_idx.x * BLOCK + cl.thread_idx.x, iter(tensors)
            results = [written(o)(*(next(left)[i] for _ in o.takes)) for o in chosen]
            for out, result in zip(left, results, strict=True):
                out[i] = result

        run(body, *given, *outs[first : first + TOGETHER], block=BLOCK, grid=count // BLOCK)
    return outs


PLACES = [pytest.param(kernels.run, id="sim"), pytest.param(kernels.run_gpu, id="gpu", marks=pytest.mark.sm(90))]


@pytest.mark.parametrize("row", ALONE, ids=by_name)
def test_on_the_simulator(row: Row) -> None:
    assert not mistakes(row, straight, 8 if row.close else 2)


def in_vectors(operations: list[Operation], columns: list[list[Array]]) -> list[Array]:
    """Compute operations in the simulator on vectors of the arguments of four threads."""
    results = []
    for o, given in zip(operations, columns, strict=True):
        vectors = [held(x, t).reshape(-1, 4) for x, t in zip(given, o.takes, strict=True)]
        results.append(evaluate(written(o), tuple(Vec(SCALARS[t], 4) for t in o.takes), *vectors).reshape(-1))
    return results


@pytest.mark.parametrize("row", [row for row in ALONE if row.op.elementwise], ids=by_name)
def test_vectors_element_by_element(row: Row) -> None:
    written = [operation for operation in row.computed if operation not in row.more and "not " not in operation.text]
    assert not mistakes(row, in_vectors, operations=written[::2])


def test_literals_beside_vectors() -> None:
    a = np.random.default_rng(0).integers(0, 1 << 32, (20, 3), np.uint32)
    turned = evaluate(lambda x: cl.funnel_left(x, x, 8), (Vec(u32, 3),), a)
    assert np.array_equal(turned, a << np.uint32(8) | a >> np.uint32(24))
    assert np.array_equal(evaluate(lambda x: cl.bfe(x, 4, 8), (Vec(u32, 3),), a), a >> np.uint32(4) & np.uint32(255))


@pytest.mark.sm(90)
@pytest.mark.parametrize("row", ALONE, ids=by_name)
def test_on_a_gpu(row: Row) -> None:
    assert not mistakes(row, partial(in_kernels, kernels.run_gpu), 1 << 11 if row.close else 5)


@pytest.mark.parametrize("run", PLACES)
@pytest.mark.parametrize("row", COLLECTIVE, ids=by_name)
def test_of_a_warp(row: Row, run: kernels.Runner) -> None:
    assert not mistakes(row, partial(in_kernels, run))


@pytest.mark.parametrize("row", COMPUTED, ids=by_name)
def test_the_word_becomes_the_op(row: Row) -> None:
    for operation in row.computed:
        function = kernels.build(
            lambda *tensors, o=operation: written(o)(*(t[cl.thread_idx.x] for t in tensors)),
            tuple(np.zeros(32, numpy_dtype(SCALARS[t])) for t in operation.takes),
            32,
        )
        assert row.name in {op.name for op in function.ops()}, operation.text
