"""Random kernels, and every operation by itself: NumPy, the simulator and a GPU agree. `make fuzz` runs many more."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import pytest

from tests.fuzz import accesses, boxes, cases, gradients, misuse, orders, products, rings, sequences, signatures
from tests.fuzz.operations import COLLECTIVE, TABLE, Operation
from tests.fuzz.program import BLOCKS, THREADS, Assign, Call, Leaf, Program, Statement, Together, inputs_of
from tests.vocabulary.numbers import TYPES

TOGETHER = 60  # operations in a kernel of their own
ROWS = [*TABLE, *COLLECTIVE]
SAMPLED = 8  # of this many kernels with all operations one is run by default


def catalogue() -> Iterator[Program]:
    """Kernels that use each operation of the table once, on numbers of all sizes."""
    for first in range(0, len(ROWS), TOGETHER):
        types = {f"{letter}_{t}": t for t in TYPES for letter in "abcd"}
        body: list[Statement] = []
        for i, row in enumerate(ROWS[first : first + TOGETHER]):
            types[f"r{i}"] = row.gives
            body.append(alone(row, f"r{i}", first + i >= len(TABLE)))
        used = {leaf.text for s in body for leaf in leaves(s)} | {f"r{i}" for i in range(len(body))}
        yield Program({v: t for v, t in types.items() if v in used}, body)


def alone(row: Operation, target: str, collective: bool) -> Statement:
    letters = iter("abcdabcd")
    call = Call(row, tuple(Leaf(f"{next(letters)}_{t}", t) for t in row.takes))
    return Together(target, call) if collective else Assign(target, call)


def leaves(s: Statement) -> list[Leaf]:
    call = s.value if isinstance(s, Assign) else s.call if isinstance(s, Together) else None
    assert isinstance(call, Call)
    return [e for e in call.operands if isinstance(e, Leaf)]


PROGRAMS = list(catalogue())


@pytest.mark.parametrize("n", range(0, len(PROGRAMS), SAMPLED))
def test_operations(n: int) -> None:
    run = {"simulator": cases.simulated(0, False), "after the passes": cases.simulated(1, True)}
    assert not cases.wrongs(PROGRAMS[n], inputs_of(PROGRAMS[n], n), f"operations {n}", run)


@pytest.mark.sm(90)
@pytest.mark.parametrize("n", range(len(PROGRAMS)))
def test_operations_on_a_gpu(n: int) -> None:
    run = {"simulator": cases.simulated(0, False), "GPU": cases.on_gpu((BLOCKS, THREADS))}
    assert not cases.wrongs(PROGRAMS[n], inputs_of(PROGRAMS[n], n), f"operations {n}", run)


Table = dict[str, tuple[Callable[[int], list[str]], Iterable[int]]]
"""By name: what is wrong at a seed, and the seeds."""


def drawn(table: Table) -> pytest.MarkDecorator:
    """Parametrise by name and seed."""
    pairs = [(name, seed) for name, (_, seeds) in table.items() for seed in seeds]
    return pytest.mark.parametrize(("name", "seed"), pairs, ids=[f"{name} {seed}" for name, seed in pairs])


def of(**way: bool) -> Callable[[int], list[str]]:
    return partial(cases.mistakes, way=cases.Way(**way))


SIMULATED: Table = {
    "kernels": (of(), range(4)),
    "expressions": (of(straight=True), range(3)),
    "functions of Python": (of(python=True), range(6)),
    "signatures": (signatures.mistakes, range(8)),
    "programs": (sequences.mistakes, range(6)),
    "boxes": (boxes.mistakes, range(12)),
    "accesses": (accesses.mistakes, range(4)),
    "products": (products.mistakes, (0, 5, 9, 20)),  # others take some seconds each
    "rings": (rings.mistakes, range(4)),
    "races": (orders.mistakes, range(12)),
    "mistakes at a line": (misuse.mistakes, range(12)),
}
ON_A_GPU: Table = {
    "kernels": (of(gpu=True), range(200)),
    "expressions": (of(straight=True, simulator=False, gpu=True), range(40)),
    "functions of Python": (of(python=True, simulator=False, gpu=True), range(60)),
    "signatures": (partial(signatures.mistakes, gpu=True), range(40)),
    "programs": (partial(sequences.mistakes, gpu=True), range(30)),
    "boxes": (partial(boxes.mistakes, gpu=True), range(60)),
    "accesses": (partial(accesses.mistakes, gpu=True), range(40)),
    "products": (partial(products.mistakes, gpu=True), range(60)),
    "rings": (partial(rings.mistakes, gpu=True), range(40)),
    "gradients": (partial(gradients.mistakes, gpu=True), range(12)),
}


@drawn(SIMULATED)
def test_nothing_random_goes_wrong(name: str, seed: int) -> None:
    assert not SIMULATED[name][0](seed)


@pytest.mark.parametrize("seed", range(6))
def test_no_gradient_of_a_norm_is_wrong_or_races(seed: int, checked: Callable[[int], None]) -> None:
    checked(1)
    assert not gradients.mistakes(seed)


@pytest.mark.sm(90)
@drawn(ON_A_GPU)
def test_nothing_random_goes_wrong_on_a_gpu(name: str, seed: int) -> None:
    if name == "programs":
        pytest.importorskip("torch")
    assert not ON_A_GPU[name][0](seed)
