"""`cutelite.records.dataclass` makes what `dataclasses.dataclass` makes."""

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from cutelite import records


def classes(make: Any) -> list[Any]:
    @make(frozen=True)
    class Plain:
        """A comment."""

        first: int
        second: Any = 3
        shared: ClassVar[int] = 5

    @make(frozen=True, slots=True)
    class Checked:
        """A comment."""

        first: int

        def __post_init__(self) -> None:
            if self.first < 0:
                raise ValueError(self.first)

    @make(frozen=True)
    class Derived(Plain):
        """A comment."""

        third: tuple[int, ...] = dataclasses.field(default_factory=lambda: (1, 2))

    @make(frozen=True, repr=False)
    class Named:
        """A comment."""

        first: int

        def __str__(self) -> str:
            return f"named {self.first}"

    @make(frozen=True)
    class Extended:
        """A comment."""

        first: int
        more: dataclasses.InitVar[int] = 5  # type: ignore[assignment]

        def __post_init__(self, more: int) -> None:
            object.__setattr__(self, "first", self.first + more)

    @make(frozen=True, slots=True)
    class Keyword:
        """A comment."""

        first: int
        _: dataclasses.KW_ONLY
        second: int = 3

    @make(frozen=True)
    class Bare:
        first: int
        second: int = 2

    @make(frozen=True)
    class Longer(Plain):
        """A comment."""

        third: str = "t"

        def __repr__(self) -> str:
            return f"longer {self.first}"

        def __hash__(self) -> int:
            return 7

    @make(frozen=True, slots=True)
    class Under(Checked):
        """A comment."""

        second: int = 4

    @make(frozen=True)
    class Over(Keyword):
        """A comment."""

    @make(frozen=True, kw_only=True)
    class Named_(Plain):
        """A comment."""

        third: int = dataclasses.field(default=4, metadata={"row": 1})
        fourth: int = dataclasses.field(default=5, repr=False)

    @make(frozen=True, kw_only=True)
    class Worded:
        """A comment."""

        first: int = dataclasses.field(default=1, metadata={"row": 1})
        second: tuple[int, ...] = (1,)

        def __post_init__(self) -> None:
            object.__setattr__(self, "second", (*self.second, self.first))

    return [Plain, Checked, Derived, Named, Extended, Keyword, Bare, Longer, Under, Over, Named_, Worded]


USES: tuple[Callable[[Any], Any], ...] = (
    lambda cls: cls(1),
    lambda cls: (cls(first=1) == cls(1), cls(1) == cls(2), cls(1) == 1, len({cls(1), cls(1), cls(2)})),
    lambda cls: hash(cls(1)) == hash((1,)),
    lambda cls: cls(),
    lambda cls: (
        cls(first=3),
        cls(first=3) == cls(first=3),
        hash(cls(first=3)),
        [f.metadata for f in dataclasses.fields(cls)],
    ),
    lambda cls: cls(1, 2, 3, 4),
    lambda cls: cls(1, other=2),
    lambda cls: setattr(cls(1), "first", 2),
    lambda cls: delattr(cls(1), "first"),
    lambda cls: cls(-1),
    lambda cls: (dataclasses.replace(cls(1), first=4), dataclasses.asdict(cls(1)), cls.__match_args__),
    lambda cls: (cls.__dataclass_params__, cls.__doc__, cls.__init__.__annotations__, inspect.signature(cls)),
    lambda cls: (copy.copy(cls(1)) == cls(1), copy.deepcopy(cls(1))),
    lambda cls: repr((within := [], within.append(cls(within)))),  # type: ignore[var-annotated,func-returns-value]
)

WITHOUT_SLOTS: tuple[Callable[[Any], Any], ...] = (  # with slots, `dataclasses` of 3.12 fails in its own `super()`
    lambda cls: setattr(cls(1), "other", 2),
    lambda cls: setattr(type("Under", (cls,), {})(1), "other", 2),
)


def told(use: Callable[[Any], Any], cls: Any) -> str:
    try:
        return str(use(cls)).partition(" object at ")[0]
    except Exception as error:
        return f"{type(error).__name__}: {error}"


@pytest.mark.parametrize("kind", range(12))
def test_uses_come_to_the_same(kind: int) -> None:
    ours, theirs = classes(records.dataclass)[kind], classes(dataclasses.dataclass)[kind]
    uses = USES if hasattr(ours, "__slots__") else USES + WITHOUT_SLOTS
    assert [told(use, ours) for use in uses] == [told(use, theirs) for use in uses]


@dataclasses.dataclass
class Thawed:
    """A comment."""

    first: int


def test_what_python_refuses_is_refused() -> None:
    with pytest.raises(TypeError, match="non-default argument 'second' follows default argument"):

        @records.dataclass(frozen=True)
        class Wrong:
            """A comment."""

            first: int = 1
            second: int  # type: ignore[misc]

    with pytest.raises(TypeError, match="non-default argument 'third' follows default argument"):

        @records.dataclass(frozen=True)
        class Under(classes(records.dataclass)[0]):  # type: ignore[misc]
            """A comment."""

            third: int

    with pytest.raises(TypeError, match="cannot inherit frozen dataclass from a non-frozen one"):

        @records.dataclass(frozen=True)
        class Frozen(Thawed):  # type: ignore[misc]
            """A comment."""

            second: int


@records.dataclass(frozen=True, slots=True)
class Kept:
    """For pickle, which finds classes by their module."""

    first: int
    second: str = "s"


def test_slots_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Kept(3))) == Kept(3)
