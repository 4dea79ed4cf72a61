"""`NamedTuple` of `typing`, for classes of the compiler: a class is made in 20 us here, where `typing` takes 120.

`typing` compiles every annotation in order to check it, and a `__new__` for each class. A first compile makes fifty
classes, and the library's kernels a hundred. Here annotations stay as they are, and classes of equally many fields
share the code of one `__new__`, which has the names of their own fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    import sys
    from _collections import _tuplegetter  # of which `collections.namedtuple` makes fields
    from functools import cache
    from types import CodeType, FunctionType

    @cache
    def _making(n: int) -> CodeType:
        fields = "".join(f"_{i}, " for i in range(n))
        return eval(f"lambda cls, {fields}: new(cls, ({fields}))").__code__

    def _annotations(space):
        """Return the annotations of a class that is being made of `space`."""
        if "__annotations__" in space or sys.version_info < (3, 14):
            return space.get("__annotations__", {})
        import annotationlib  # without `from __future__ import annotations`, 3.14 has a function that makes them

        made = annotationlib.get_annotate_from_class_namespace(space)
        return (made and annotationlib.call_annotate_function(made, annotationlib.Format.FORWARDREF)) or {}

    class _Meta(type):
        def __new__(cls, name, bases, space):
            if bases == (tuple,):
                return super().__new__(cls, name, bases, space)
            fields = tuple(_annotations(space))
            defaults = {field: space[field] for field in fields if field in space}
            code = _making(len(fields))
            code = code.replace(co_varnames=("cls", *fields), co_name="__new__", co_qualname=f"{name}.__new__")
            held = {"new": tuple.__new__, "__builtins__": {}, "__name__": f"namedtuple_{name}"}  # as torch expects it
            new = FunctionType(code, held, "__new__", tuple(defaults.values()))
            space |= {field: _tuplegetter(i, f"Alias for field number {i}") for i, field in enumerate(fields)}
            space |= {"__new__": new, "__match_args__": fields, "_fields": fields, "_field_defaults": defaults}
            space = {each: vars(NamedTuple)[each] for each in _METHODS} | {"__slots__": ()} | space
            return type(name, tuple(tuple if base is NamedTuple else base for base in bases), space)

    class NamedTuple(tuple, metaclass=_Meta):
        """The base of classes whose annotated names are the fields of a tuple, in order, some with defaults.

        As with that of `typing`, `tuple` takes its place among their bases: by this torch and JAX know named tuples.
        """

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

    _METHODS = "_make", "_replace", "_asdict", "__repr__", "__getnewargs__"


__all__ = ["NamedTuple"]
