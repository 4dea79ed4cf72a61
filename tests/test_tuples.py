"""`cutelite.tuples.NamedTuple` is `typing`'s, in all that classes of the compiler ask of it."""

import copy
import pickle
from typing import Any

import pytest

from cutelite.tuples import NamedTuple


class Point(NamedTuple):
    """A point."""

    x: int
    y: int = 2
    name: str = ""

    @property
    def sum(self) -> int:
        return self.x + self.y


def test_it_is_a_tuple_with_names_and_defaults() -> None:
    point = Point(1, name="p")
    assert point == (1, 2, "p") and isinstance(point, tuple) and hash(point) == hash((1, 2, "p"))
    assert (point.x, point.y, point.name, point.sum) == (1, 2, "p", 3)
    assert repr(point) == "Point(x=1, y=2, name='p')"
    assert Point._fields == Point.__match_args__ == ("x", "y", "name") and Point._field_defaults == {"y": 2, "name": ""}
    assert point._replace(y=5) == (1, 5, "p") and point._asdict() == {"x": 1, "y": 2, "name": "p"}
    assert Point._make([1, 2, "p"]) == point and type(Point._make([1, 2, "p"])) is Point
    match point:
        case Point(x, name=name):
            assert (x, name) == (1, "p")


def test_copies_and_pickles_are_of_its_class() -> None:
    for other in (copy.copy(Point(1)), copy.deepcopy(Point(1)), pickle.loads(pickle.dumps(Point(1)))):
        assert other == Point(1) and type(other) is Point


def test_it_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Point(1).x = 2  # type: ignore[misc]
    with pytest.raises(AttributeError):
        Point(1).z = 2  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("arguments", "named", "said"),
    [((), {}, "'x'"), ((1, 2, "", 4), {}, "positional"), ((1,), {"z": 3}, "'z'")],
)
def test_wrong_fields_are_named(arguments: tuple[Any, ...], named: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=f"Point.__new__.*{said}"):
        Point(*arguments, **named)
    with pytest.raises(ValueError, match="z"):
        Point(1)._replace(z=2)  # type: ignore[call-arg]
