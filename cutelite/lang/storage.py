"""Shared memory as one declaration, in CuTe's manner: a class whose annotations say what is in it.

    class Storage(cl.SharedStorage):
        a: cl.Smem[cl.bf16, cl.make_smem_layout(cl.bf16, (128, 64, STAGES))]
        full: cl.Smem[cl.mbarrier, (STAGES,)]

    @cl.kernel
    def gemm(...):
        storage = Storage.allocate()
        storage.full[0].init(1)

It is allocated as by `cl.shared`: the compiler places it.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass, make_dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cutelite.diag import CompileError, Mistake
from cutelite.ir.types import Scalar as DType
from cutelite.lang.tensor import shared


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
        """``Smem[dtype, shape]`` or ``Smem[dtype, shape, align]``: `shape` extents or a layout, `align` in bytes."""

        def __class_getitem__(cls, item: Any) -> SmemField:
            if not isinstance(item, tuple) or len(item) not in (2, 3):
                raise CompileError(Mistake("annotation", "Smem[...] takes a dtype, a shape, and maybe an alignment"))
            return SmemField(*item)


class SharedStorage:
    """Base of such classes."""

    @classmethod
    def allocate(cls) -> Any:
        """The shared memory: an object with a tensor for each field. Every thread of the block gets the same."""
        made, fields = _declared(cls)  # type: ignore[arg-type]
        return made(*(shared(field.dtype, field.shape, align=field.align) for field in fields))


_STRINGS = (
    "names in string annotations must be globals, and `from __future__ import annotations` makes strings of all: "
    "leave it out where shared memory is declared inside of a function"
)


@lru_cache
def _declared(cls: type) -> tuple[Any, tuple[SmemField, ...]]:
    """A frozen class with the names of the fields, and the fields."""
    try:
        hints = typing.get_type_hints(cls)
    except NameError as error:
        problem = f"an annotation of {cls.__name__} cannot be evaluated: {error}"
        raise CompileError(Mistake("annotation", problem, help=_STRINGS)) from error
    for name, field in hints.items():
        if not isinstance(field, SmemField):
            text = f"`{name}` of {cls.__name__} is {field!r}"
            raise CompileError(Mistake("annotation", f"{text}, but shared storage holds Smem[dtype, shape]"))
    return make_dataclass(cls.__name__, list(hints), frozen=True), tuple(hints.values())
