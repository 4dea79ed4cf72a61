"""Values that hold in one thread."""

from collections.abc import Callable
from contextvars import copy_context

from cutelite.threads import OfThread
from tests.threads import at_once

COLOUR = OfThread("colour", "white")


def in_a_thread(function: Callable[[], str], inherits: bool) -> str:
    """The result of a function in a new thread, which has this one's context, as in free-threaded 3.14, or none."""
    context = copy_context()
    return at_once(lambda _: context.run(function) if inherits else function(), [0])[0]


def test_a_value_holds_in_its_thread_within_the_with() -> None:
    with COLOUR.set("red"):
        with COLOUR.set("blue"):
            assert COLOUR.get() == "blue"
            assert [in_a_thread(COLOUR.get, inherits) for inherits in (False, True)] == ["white", "white"]
        assert COLOUR.get() == "red"
    assert COLOUR.get() == "white"


def test_a_context_that_outlives_the_with_has_the_default() -> None:
    with COLOUR.set("red"):
        context = copy_context()
        assert context.run(COLOUR.get) == "red"
    assert context.run(COLOUR.get) == "white"


def test_a_thread_that_inherits_sets_its_own() -> None:
    def own() -> str:
        with COLOUR.set("green"):
            return COLOUR.get()

    with COLOUR.set("red"):
        assert in_a_thread(own, inherits=True) == "green"
        assert COLOUR.get() == "red"
