"""Random kernels, and every operation by itself: NumPy, the simulator and a GPU agree. `make fuzz` runs many more."""

from collections.abc import Iterator

import pytest

from tests.fuzz import accesses, boxes, cases, misuse, orders, products, rings, sequences, signatures
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


@pytest.mark.parametrize("seed", range(12))
def test_random_kernels(seed: int) -> None:
    assert not cases.mistakes(seed)


@pytest.mark.sm(90)
@pytest.mark.parametrize("seed", range(200))
def test_random_kernels_on_a_gpu(seed: int) -> None:
    assert not cases.mistakes(seed, cases.Way(gpu=True))


@pytest.mark.parametrize("seed", range(4))
def test_random_expressions(seed: int) -> None:
    assert not cases.mistakes(seed, cases.Way(straight=True))


@pytest.mark.sm(90)
@pytest.mark.parametrize("seed", range(40))
def test_random_expressions_on_a_gpu(seed: int) -> None:
    assert not cases.mistakes(seed, cases.Way(straight=True, simulator=False, gpu=True))


PYTHON = cases.Way(python=True)


@pytest.mark.parametrize("seed", range(20))
def test_random_functions_are_what_cpython_makes_of_them(seed: int) -> None:
    assert not cases.mistakes(seed, PYTHON)


@pytest.mark.sm(90)
@pytest.mark.parametrize("seed", range(60))
def test_random_functions_on_a_gpu(seed: int) -> None:
    assert not cases.mistakes(seed, PYTHON._replace(simulator=False, gpu=True))


@pytest.mark.parametrize("first", [0, 8])
def test_kernels_of_random_signatures_find_what_they_are_given(first: int) -> None:
    assert not [said for seed in range(first, first + 8) for said in signatures.mistakes(seed)]


@pytest.mark.sm(90)
@pytest.mark.parametrize("seed", range(40))
def test_random_signatures_on_a_gpu(seed: int) -> None:
    assert not signatures.mistakes(seed, gpu=True)


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_do_what_their_launches_say(seed: int) -> None:
    assert not sequences.mistakes(seed)


@pytest.mark.sm(90)
@pytest.mark.parametrize("seed", range(30))
def test_random_programs_on_a_gpu(seed: int) -> None:
    pytest.importorskip("torch")
    assert not sequences.mistakes(seed, gpu=True)


@pytest.mark.parametrize("first", [0, 12])
def test_random_boxes_land_where_they_should(first: int) -> None:
    assert not [said for seed in range(first, first + 12) for said in boxes.mistakes(seed)]


@pytest.mark.sm(90)
@pytest.mark.parametrize("seed", range(60))
def test_random_boxes_on_a_gpu(seed: int) -> None:
    assert not boxes.mistakes(seed, gpu=True)


@pytest.mark.parametrize("first", [0, 5])
def test_random_accesses_find_what_was_stored(first: int) -> None:
    assert not [said for seed in range(first, first + 5) for said in accesses.mistakes(seed)]


@pytest.mark.sm(90)
@pytest.mark.parametrize("seed", range(40))
def test_random_accesses_on_a_gpu(seed: int) -> None:
    assert not accesses.mistakes(seed, gpu=True)


@pytest.mark.parametrize("seed", [0, 4, 5, 6, 9, 10, 20, 40])  # others take some seconds each
def test_random_products(seed: int) -> None:
    assert not products.mistakes(seed)


@pytest.mark.sm(90)
@pytest.mark.parametrize("seed", range(60))
def test_random_products_on_a_gpu(seed: int) -> None:
    assert not products.mistakes(seed, gpu=True)


@pytest.mark.parametrize("seed", range(4))
def test_random_rings(seed: int) -> None:
    assert not rings.mistakes(seed)


@pytest.mark.sm(90)
@pytest.mark.parametrize("seed", range(40))
def test_random_rings_on_a_gpu(seed: int) -> None:
    assert not rings.mistakes(seed, gpu=True)


@pytest.mark.parametrize("first", [0, 12])
def test_random_races_are_found_and_nothing_else(first: int) -> None:
    assert not [said for seed in range(first, first + 12) for said in orders.mistakes(seed)]


@pytest.mark.parametrize("first", [0, 12])
def test_random_mistakes_are_told_at_a_line(first: int) -> None:
    assert not [said for seed in range(first, first + 12) for said in misuse.mistakes(seed)]
