"""Python's collector is called less often while kernels are compiled, and as before behind that."""

import gc
from collections.abc import Iterator

import pytest

from cutelite.builds.collector import OBJECTS, catch_up, rarely


@pytest.fixture(autouse=True)
def known() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_the_last_of_several_compiles_puts_it_back() -> None:
    def failing() -> None:
        with rarely():
            with rarely():
                assert gc.get_threshold() == (OBJECTS, 10, 10)
            assert gc.get_threshold() == (OBJECTS, 10, 10)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing()
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("first", [0, 2 * OBJECTS])
def test_who_calls_it_never_or_less_often_is_left_alone(first: int) -> None:
    gc.set_threshold(first, 10, 10)
    with rarely():
        assert gc.get_threshold() == (first, 10, 10)
    assert gc.get_threshold() == (first, 10, 10)


def test_what_others_set_meanwhile_stays() -> None:
    with rarely():
        gc.set_threshold(900, 10, 10)
    assert gc.get_threshold() == (900, 10, 10)


def test_it_is_called_beside_the_assembler_of_the_last_compile_if_it_would_be_behind() -> None:
    generations: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            generations.append(info["generation"])

    gc.collect()  # a Python without the interpreter lock may have left many objects: it collects in proportion to all
    gc.callbacks.append(note)
    try:
        with rarely():
            catch_up()  # of few objects: nothing is due
            kept: list[list[int]] = [[] for _ in range(2000)]
            with rarely():
                catch_up()  # another compile goes on
            assert generations == []
            catch_up()
            assert generations == [0]
        kept.append([])
        assert generations == [0], "not once more behind it"
        catch_up()
        assert generations == [0], "nothing compiles"
    finally:
        gc.callbacks.remove(note)
