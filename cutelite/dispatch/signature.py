"""A kernel's signature: matches a call's arguments to parameters, and binds each to a type and values."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from types import FunctionType
from typing import Any

from cutelite.diag import CompileError, Mistake, Span
from cutelite.diag.nearest import did_you_mean
from cutelite.dispatch import contract, scalars, several  # noqa: F401 (they register classes by `takes`)
from cutelite.dispatch.arguments import MISSING, ArgumentError, Bound, Call
from cutelite.dispatch.parameter import Parameter, parameter
from cutelite.front.types import ArgType
from cutelite.ir.types import I32_DIM_LIMIT, Scalar, i32, i64
from cutelite.lang.annotations import NOTHING_SEEN, Annotation, ConstexprSpec, DTypeVar, specs_of
from cutelite.layout import DimExpr, dims_of
from cutelite.options import NAMES
from cutelite.tuples import NamedTuple
from cutelite_rt.errors import brief
from cutelite_rt.signature import kinds
from cutelite_rt.signature.bind import Names
from cutelite_rt.signature.data import Expr, Nested

VARARGS, VARKEYWORDS = 0x04, 0x08  # flags of a code object


def gathers(function: FunctionType) -> tuple[str, ...]:
    """Return the name behind ``*``, which gathers the other arguments; () without one."""
    code = function.__code__
    at = code.co_argcount + code.co_kwonlyargcount
    return (code.co_varnames[at],) if code.co_flags & VARARGS else ()


class InOrder(NamedTuple):
    """The parameters of a kernel for which another framework has arguments by their order alone.

    names  those that get one each
    star   the one behind ``*``, which gets all further ones; None without one
    """

    names: tuple[str, ...]
    star: str | None

    @classmethod
    def of(cls, function: FunctionType, own: Sequence[str], others: Container[str]) -> InOrder:
        """Return those of `own`, the kernel's names, for which `others` has no argument; behind ``*`` are none."""
        star = next((name for name in gathers(function) if name not in others), None)
        before = own if star is None else own[: own.index(star)]
        return cls(tuple(name for name in before if name not in others), star)

    def given(self, arguments: Sequence[Any]) -> dict[str, Any]:
        """Return arguments by the names of their parameters."""
        found = dict(zip(self.names, arguments, strict=False))
        return found if self.star is None else {**found, self.star: tuple(arguments[len(self.names) :])}


class Signature:
    """Names, kinds, defaults and annotations of the parameters of `function`.

    method  whether the first parameter is the object that the kernel is a method of: a compile-time constant
    seen    variables that annotations may name besides those visible in the function
    """

    def __init__(self, function: FunctionType, method: bool = False, seen: Mapping[str, Any] = NOTHING_SEEN) -> None:
        code = function.__code__
        if code.co_flags & VARKEYWORDS:
            mistake = Mistake("signature", f"{function.__name__} takes **kwargs",
                              help="name each parameter; several at once can come as a frozen dataclass")  # fmt: skip
            raise CompileError(mistake, Span(code.co_filename, code.co_firstlineno, function=function.__name__))
        self.kernel = function.__name__
        count, keywords = code.co_argcount, code.co_kwonlyargcount
        star = gathers(function)
        self.positional = (*code.co_varnames[:count], *star)
        self.names = (*self.positional, *code.co_varnames[count : count + keywords])
        self.position_only = code.co_varnames[: code.co_posonlyargcount]
        defaults = function.__defaults__ or ()
        self.defaults = dict(zip(self.positional[count - len(defaults) : count], defaults, strict=True))
        self.defaults |= dict.fromkeys(star, ())
        self.defaults |= function.__kwdefaults__ or {}
        positions = self.positional, self.position_only
        self._names = Names(self.kernel, self.names, *positions, self.defaults, self.__str__, bool(star))
        self.match = self._names.match
        found = specs_of(function, seen)
        self.specs: dict[str, Annotation | None] = {name: found[name] for name in self.names}
        if method and self.names and self.specs[self.names[0]] is None:
            self.specs[self.names[0]] = ConstexprSpec(object)
        self.parameters = [parameter(name, spec) for name, spec in self.specs.items()]
        # Numbers of a dtype variable are bound last: a tensor decides the dtype, before a Python number does.
        self._order = sorted(self.parameters, key=lambda p: isinstance(getattr(p, "wanted", None), DTypeVar))

    # Calls.

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any], stream: int | None = None) -> Bound:
        """Bind a call's arguments; `stream` is the launch's, where it is given. Errors: `ArgumentError`."""
        return self.bound(self.match(args, kwargs), stream)

    def bound(self, given: dict[str, Any], stream: int | None = None) -> Bound:
        """Bind a call that gives an argument for each parameter, by name. Errors: as `bind`."""
        call = Call(self.kernel, given, stream)
        bound: dict[str, tuple[ArgType, list[Any]]] = {}
        for p in self._order:
            call.values = []
            bound[p.name] = (p.bind(call, given[p.name]), call.values)
        call.values = [value for name in self.names for value in bound[name][1]]
        return call.done({name: bound[name][0] for name in self.names})

    def data(self, skip: int = 0, grid: Sequence[Any] | None = None) -> kinds.Signature:
        """Return the open signature.

        skip    how many parameters to leave out at the front
        grid    the grid of launches that give none: ints and expressions over dims
        Errors  `Unsupported` where a parameter has no annotation, or dims are declared in two ways
        """
        parameters = tuple(parameter.data for parameter in self.parameters[skip:])
        blocks = None if grid is None else tuple(map(contract.expr, grid))
        return kinds.Signature(self.kernel, parameters, *self._counts(skip), kinds.declared(parameters), blocks)

    def settled(self, of: Bound, skip: int = 0, grid: Sequence[Any] | None = None) -> kinds.Signature:
        """Return the settled signature of the kernel compiled for `of`, an outcome of binding; the rest as for `data`.

        Errors  `ArgumentError` for dims that are declared in two ways, and for a grid of other dims
        """
        parameters = tuple(self._settled(parameter, of.types[parameter.name]) for parameter in self.parameters[skip:])
        dims: dict[str, tuple[kinds.Dim, str]] = {}
        for name, dim in kinds.mentioned(parameters):
            stated, who = dims.setdefault(dim.name, (dim, name))
            if stated != dim:
                raise self._wrong(f"argument `{name}` uses {dim}, which `{who}` has as {stated}: declare each dim once")
        text = str(self).split(", ", skip)[-1] if parameters else ""
        return kinds.Signature(
            self.kernel,
            parameters,
            *self._counts(skip),
            tuple(dims[name][0] for name in of.dims),
            None if grid is None else tuple(self._extent(extent, of) for extent in grid),
            text,
            tuple(name for name, t in of.dims.items() if t is i64),
            of.wide,
        )

    def _settled(self, parameter: Parameter, t: ArgType) -> kinds.Parameter:
        its, default = parameter.settled(t), self.defaults.get(parameter.name)
        for leaf in its.leaves():
            layout = leaf.layout if isinstance(leaf, kinds.Array) else None
            if isinstance(layout, Nested) and layout.cosize is None:
                what = f"has the nested layout {layout.layout}, whose extents must be compile-time"
                raise self._wrong(f"argument `{leaf.name}` {what}")
        if isinstance(its, kinds.Number) and isinstance(default, bool | int | float):
            return its._replace(default=default)
        return its

    def _extent(self, extent: Any, of: Bound) -> Expr:
        unknown = [dim.name for dim in dims_of(extent) if dim.name not in of.dims]
        if unknown or not isinstance(extent, int | DimExpr):
            what = f"{unknown[0]}, which no argument has" if unknown else repr(extent)
            raise self._wrong(f"the grid to export takes ints and expressions over dims, not {what}")
        if isinstance(extent, int) and (extent < 0 or isinstance(extent, bool)):
            raise self._wrong(f"the grid to export has {extent}, but 0 is the least it can have")
        return contract.expr(extent)

    def _counts(self, skip: int) -> tuple[int, int]:
        return len(self.positional) - skip, max(0, len(self.position_only) - skip)

    def _wrong(self, text: str) -> ArgumentError:
        return ArgumentError(f"{self.kernel}(): {text}")

    def _near(self, name: str, *more: str) -> str:
        """Return the hint at what an unknown name may mean: a parameter, one of `more`, or an option; "" for none."""
        near = did_you_mean(name, (*self.names, *more, *NAMES, "arch"))
        return f" ({near})" if near else ""

    def __str__(self) -> str:
        words = []
        for name in self.names:
            spec, default = self.specs[name], self.defaults.get(name, MISSING)
            word = name if spec is None else f"{name}: {spec!r}"
            words.append(word if default is MISSING else f"{word} = {default!r}")
        if self.position_only:
            words.insert(len(self.position_only), "/")
        if len(self.positional) < len(self.names):
            words.insert(len(self.positional) + bool(self.position_only), "*")
        return ", ".join(words)

    # Ahead of a call.

    def ahead(self, examples: Sequence[Any], given: dict[str, Any], wide: bool) -> Bound:
        """Bind without arguments: from examples, or from annotations alone.

        examples  by position, and in `given` by name: an array, its shape, a number, the value of a constant. In
                  `given` also dtypes of dtype variables and extents of dims by their names
        wide      dims and block indices are 64 bits wide
        """
        if type(wide) is not bool:
            raise self._names.wrong(f"takes True or False for wide_dims, not {wide!r}")
        call = Call(self.kernel, ahead=True)
        matched = self.match(examples, {n: value for n, value in given.items() if n in self.names}, partial=True)
        others = {name: value for name, value in given.items() if name not in self.names}
        for name, value in others.items():
            if not isinstance(value, Scalar) and (type(value) is not int or value < 0):
                hint = self._near(name)
                raise self._names.wrong(
                    f"takes a dtype, or the extent of a dim, for {name!r}, not {brief(value)}{hint}"
                )
        call.dtypes = {name: (value.name, name) for name, value in others.items() if isinstance(value, Scalar)}
        call.dims = {name: (value, name) for name, value in others.items() if type(value) is int}
        types = {p.name: p.bind(call, matched[p.name]) for p in self._order}
        for name in others.keys() - call.dtypes.keys() - call.needed.keys():
            hint = self._near(name, *call.needed) or (" (grids are for launches)" if name == "grid" else "")
            raise self._names.wrong(f"has neither a parameter, nor a dtype variable, nor a dim called {name!r}{hint}")
        widths = {n: i64 if wide or (n in call.dims and call.dims[n][0] > I32_DIM_LIMIT) else i32 for n in call.needed}
        wide = wide or call.wide or i64 in widths.values()
        return Bound({name: types[name] for name in self.names}, widths, wide, None, [], [])
