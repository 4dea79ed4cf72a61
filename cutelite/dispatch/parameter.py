"""A parameter of a kernel: one class for each kind of annotation, from which dispatch, launcher and export follow.

In    a parameter's annotation
Out   `Parameter`: which arguments it takes, as data of the runtime, and the type that it has in the kernel

The runtime's kinds (`cutelite_rt.signature.kinds`) check arguments, word the errors, and write rows for the launcher,
files and C. A class here says which kinds an annotation consists of, and the types in the kernel. A new kind of
argument needs a `Spec` and a class here, and a kind of the runtime unless an existing one fits.
tests/dispatch/test_new_kind.py adds one, from annotation to C.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from cutelite.diag import CompileError, Mistake
from cutelite.dispatch.arguments import Call
from cutelite.front.types import ArgType
from cutelite.ir.types import Scalar
from cutelite.lang.annotations import Annotation
from cutelite_rt.signature import kinds


class Parameter:
    """One parameter of a kernel, a field of a struct or an item of a tuple."""

    name: str

    _data: kinds.Parameter

    @property
    def data(self) -> kinds.Parameter:
        """The arguments it takes, as data. Errors: `Unsupported` where its annotation does not say."""
        return self._data

    def bind(self, call: Call, argument: Any) -> ArgType:
        """Check an argument, add its run-time values to `call.values`, return its type. Errors: `ArgumentError`.

        Ahead of a call (`call.ahead`) it is an example: an array may be its shape, and `MISSING` stands for none.
        """
        raise NotImplementedError

    def settled(self, t: ArgType) -> kinds.Parameter:
        """Return the arguments that a kernel compiled for this type takes, as data."""
        return self.data

    def classes(self) -> Iterator[tuple[str, type]]:
        """Yield (parameter name, class) of each struct."""
        yield from ()


def defined_again(x: Any, *wanted: type) -> str:
    """Return, in words, that the class of `x` is another one of the name of one wanted, as in a notebook; or ""."""
    cls = type(x)
    alike = ((t.__module__, t.__qualname__) == (cls.__module__, cls.__qualname__) for t in wanted if t is not cls)
    return f"; {cls.__name__} was defined again after the kernel: define the kernel again too" if any(alike) else ""


_KINDS: dict[type, Callable[[str, Any], Parameter]] = {}
Class = TypeVar("Class", bound=Callable[[str, Any], Parameter])


def takes(*specs: type) -> Callable[[Class], Class]:
    """Decorator: use this class for parameters with such a spec. It is called with their name and spec."""

    def register(cls: Class) -> Class:
        _KINDS.update(dict.fromkeys(specs, cls))
        return cls

    return register


def parameter(name: str, spec: Annotation | None) -> Parameter:
    """Return the parameter `name` by its annotation. Errors: `CompileError`."""
    if isinstance(spec, Scalar) and spec.kind == "barrier":
        help = "declare it in the kernel: `cl.shared(cl.mbarrier, (n,))`"
        raise CompileError(Mistake("annotation", f"the parameter `{name}` cannot be an {spec}", help=help))
    its = next((_KINDS[cls] for cls in type(spec).__mro__ if cls in _KINDS), None)
    assert its is not None, f"a class is annotated with `takes` for {type(spec).__name__}"
    return its(name, spec)
