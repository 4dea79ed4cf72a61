"""Shared memory as one declaration, in CuTe's manner: a class whose annotations say what is in it.

    class Storage(cl.SharedStorage):
        a: cl.Smem[cl.bf16, cl.make_smem_layout(cl.bf16, (128, 64, STAGES))]
        full: cl.Smem[cl.mbarrier, (STAGES,)]

    @cl.kernel
    def gemm(...):
        storage = Storage.allocate()
        storage.full[0].init(1)

It is allocated as by `cl.shared`: the compiler places it. A field may be another such class, whose fields are reached
through it, `storage.pipe.full`; or `cl.SmemUnion[A, B]`: the fields of `A` and of `B` in the same memory, reached by
their own names, `storage.scratch.partial` with `scratch: cl.SmemUnion[Sums, Tiles]`. Such a class may have methods and
constants (`STAGES = 4`); what `allocate` returns is an instance of it. What a thread writes through one member and
another reads through the other must be ordered, as any accesses to the same bytes; the checker reports where it is not.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from cutelite.diag import CompileError, Mistake
from cutelite.ir.types import Scalar as DType
from cutelite.ir.types import u8
from cutelite.lang.annotations import seen_beside
from cutelite.lang.tensor import checked_align, make_tensor, shared, whole_layout
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple


@dataclass(frozen=True)
class SmemField:
    """A field of shared storage: the arguments of `shared`."""

    dtype: DType
    shape: Any
    align: int | None = None


if TYPE_CHECKING:
    from typing import Annotated as Smem
else:

    class Smem:
        """``Smem[dtype, shape]`` or ``Smem[dtype, shape, align]``: `shape` extents or a layout, `align` in bytes, or
        `cl.align(bytes)`.
        """

        def __class_getitem__(cls, item: Any) -> SmemField:
            if not isinstance(item, tuple) or len(item) not in (2, 3):
                raise CompileError(Mistake("annotation", "Smem[...] takes a dtype, a shape, and maybe an alignment"))
            return SmemField(*item)


if TYPE_CHECKING:
    from typing import Union as SmemUnion
else:

    class SmemUnion:
        """``u: SmemUnion[A, B]``: the fields of these classes in the same memory. `storage.u.x` is field `x`."""

        def __init_subclass__(cls, **_: Any) -> None:
            title = f"SmemUnion is no base of classes, as {cls.__name__} has it"
            help = "two classes of SharedStorage share memory as a field of a third: `both: cl.SmemUnion[A, B]`"
            raise CompileError(Mistake("annotation", title, help=help))

        def __class_getitem__(cls, item: Any) -> UnionField:
            members = item if isinstance(item, tuple) else (item,)
            if not members:
                raise CompileError(Mistake("annotation", "SmemUnion takes classes of SharedStorage, one at least"))
            for member in members:
                if not (isinstance(member, type) and issubclass(member, SharedStorage)):
                    raise CompileError(
                        Mistake("annotation", f"SmemUnion takes classes of SharedStorage, not {member!r}")
                    )
            return UnionField(members)


@dataclass(frozen=True)
class UnionField:
    """A field of shared storage whose members share their bytes."""

    members: tuple[type, ...]


class SharedStorage:
    """Base of classes that declare shared memory."""

    __cutelite_seen__: ClassVar[Mapping[str, Any]] = {}
    """Variables where the class is declared, for annotations that are text."""

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        cls.__cutelite_seen__ = seen_beside(vars(cls).get("__annotations__", {}))

    def __init__(self, *_: Any, **__: Any) -> None:
        name = type(self).__name__
        title = f"`{name}()` is no shared memory: `{name}` only says what is in it"
        help = f"write `{name}.allocate()`"
        if type(self) is SharedStorage:
            title, help = "SharedStorage is the base of classes", "`class Storage(cl.SharedStorage):`, not a decorator"
        raise CompileError(Mistake("storage", title, help=help))

    @classmethod
    def allocate(cls) -> Any:
        """Allocate the shared memory, and return an object with a tensor for each field: the same in all threads."""
        made, fields = _declared(cls)  # type: ignore[arg-type]
        return made(*map(_allocated, fields))

    @classmethod
    def __cutelite_parts__(cls) -> tuple[Any, ...]:
        """Return the names and fields, for a kernel's key; () if they are invalid, which `allocate` then reports."""
        try:
            made, fields = _declared(cls)  # type: ignore[arg-type]
        except CompileError:
            return ()
        return (*made.__dataclass_fields__, *fields)


def _allocated(field: Any) -> Any:
    if isinstance(field, SmemField):
        return shared(field.dtype, field.shape, align=field.align)
    if not isinstance(field, UnionField):
        return field.allocate()
    plan = _planned(field, "SmemUnion")
    return plan.view(shared(u8, (plan.bytes,), align=plan.align) if plan.bytes else None, 0)


class _Plan(NamedTuple):
    """A field within a union: its bytes, their alignment, and its view of memory from an offset on."""

    bytes: int
    align: int
    view: Callable[[Any, int], Any]


def _planned(field: Any, name: str) -> _Plan:
    """Return the plan of a field, called `name`: a tensor, a class of storage, or a union."""
    if isinstance(field, SmemField):
        if field.dtype.kind == "barrier":
            text = f"`{name}` is an mbarrier, which shares its memory with nothing"
            raise CompileError(Mistake("annotation", text, help="declare barriers outside of the union"))
        layout = whole_layout(field.shape, field.dtype)
        align = max(16, checked_align(field.align) or 0, layout.align)
        return _Plan(layout.bytes, align, lambda memory, at: make_tensor(memory.at(at), field.shape, field.dtype))
    union = isinstance(field, UnionField)
    placed: dict[str, tuple[_Plan, int]] = {}
    size, align = 0, 16
    for cls in field.members if union else (field,):
        at, (made, fields) = 0, _declared(cls)
        for each, inner in zip(made.__dataclass_fields__, fields, strict=True):
            if each in placed:
                raise CompileError(Mistake("annotation", f"two members of a SmemUnion have a field `{each}`"))
            plan = _planned(inner, f"{each}` of `{cls.__name__}")
            at = -(-at // plan.align) * plan.align
            placed[each] = plan, at
            at += plan.bytes
            size, align = max(size, at), max(align, plan.align)
    struct = _struct("SmemUnion", tuple(placed)) if union else made

    def view(memory: Any, start: int) -> Any:
        return struct(*(plan.view(memory, start + at) for plan, at in placed.values()))

    return _Plan(size, align, view)


@lru_cache
def _struct(name: str, fields: tuple[str, ...]) -> Any:
    return dataclasses.make_dataclass(name, fields, frozen=True)


_STRINGS = "names in string annotations are globals, or variables beside the class"


def _hints(cls: type) -> dict[str, Any]:
    """Return the annotations of a class itself; those that are text evaluated where it is declared."""
    own = type(cls.__name__, (), {"__annotations__": inspect.get_annotations(cls)})
    local = {**vars(cls).get("__cutelite_seen__", {}), **vars(cls)}
    return typing.get_type_hints(own, getattr(sys.modules.get(cls.__module__), "__dict__", {}), local)


@lru_cache
def _declared(cls: type[SharedStorage]) -> tuple[Any, tuple[Any, ...]]:
    """Return a frozen class with the names of the fields, derived from `cls` for its methods, and the fields."""
    try:
        hints = {name: field for base in reversed(cls.__mro__) for name, field in _hints(base).items()}
    except NameError as error:
        problem = f"an annotation of {cls.__name__} cannot be evaluated: {error}"
        raise CompileError(Mistake("annotation", problem, help=_STRINGS)) from error
    hints = {name: field for name, field in hints.items() if typing.ClassVar not in (field, typing.get_origin(field))}
    for name, field in hints.items():
        nested = isinstance(field, type) and issubclass(field, SharedStorage)
        if not (nested or isinstance(field, SmemField | UnionField)):
            text = f"`{name}` of {cls.__name__} is {field!r}"
            raise CompileError(Mistake("annotation", f"{text}, but shared storage holds Smem[dtype, shape]"))
        if name in vars(cls):
            raise CompileError(Mistake("annotation", f"`{name}` of {cls.__name__} is memory: it has no value yet"))
    fields = [(name, Any, dataclasses.field()) for name in hints]  # not a base's constant of that name
    return dataclasses.make_dataclass(cls.__name__, fields, bases=(cls,), frozen=True), tuple(hints.values())
