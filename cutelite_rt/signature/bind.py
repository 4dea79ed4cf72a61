"""A call while it is bound: the facts found in its arguments so far, and the values of the kernel's parameters.

In    the arguments of a call, as the kinds of its parameters (`kinds`) check them one by one
Out   `Call`: named dims, dtypes, the arrays that were found, and a value for each leaf

Live kernels (`cutelite.dispatch`) and exported ones (`settled`) use it. The compiled launcher makes the same checks by
tables, without error texts, and passes a call that it refuses to one of these, which raises the error.
"""

from __future__ import annotations

import numbers
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cutelite_rt.arrays import stream as streams
from cutelite_rt.arrays.memory import ArrayView, UnreadableArray, is_array, read
from cutelite_rt.errors import ArgumentError, brief
from cutelite_rt.gpu.tensormap import MapForm, TensorMapError, Tiling, check_tensormap, encode
from cutelite_rt.signature.data import Dim, DType, Expr, Expression, dims_of, evaluate

MISSING: Any = object()
"""Stands for an argument that is not given."""

KNOWN_LIBRARIES = frozenset(("torch", "numpy", "cupy", "cutelite_rt"))
"""Libraries whose arrays are read without a stream: they order work by their own current stream."""


class Names(NamedTuple):
    """The parameters of a kernel by Python's rules.

    names, positional, position_only  all parameters; those that may, and those that must be given by position
    defaults                          values for parameters that are left out
    text                              (): the parameters in words
    gathers                           whether the last positional one gets all further arguments as a tuple
    """

    kernel: str
    names: Sequence[str]
    positional: Sequence[str]
    position_only: Sequence[str]
    defaults: Mapping[str, Any]
    text: Callable[[], str]
    gathers: bool = False

    def match(self, args: Sequence[Any], kwargs: Mapping[str, Any], partial: bool = False) -> dict[str, Any]:
        """Return an argument for each parameter, with defaults filled in; with `partial`, some may be `MISSING`.

        Errors  `ArgumentError` for too many or too few arguments, for an unknown name, and for one given twice
        """
        named = len(self.positional) - 1
        if self.gathers and len(args) >= named and self.positional[named] not in kwargs:
            args = (*args[:named], tuple(args[named:]))
        if not kwargs and len(args) == len(self.names) == len(self.positional):
            return dict(zip(self.names, args, strict=True))
        if len(args) > len(self.positional):
            most = len(self.positional)
            raise self.wrong(f"takes {most} positional argument{'s' * (most != 1)}, but {len(args)} were given")
        given = dict(zip(self.positional, args, strict=False))
        for name, argument in kwargs.items():
            if name not in self.names or name in self.position_only:
                raise self.wrong(f"has no parameter {name!r} to give by keyword")
            if name in given:
                raise self.wrong(f"got `{name}` twice, by position and by keyword")
            given[name] = argument
        given = {name: given.get(name, self.defaults.get(name, MISSING)) for name in self.names}
        missing = [name for name, argument in given.items() if argument is MISSING]
        if missing and not partial:
            raise self.wrong(f"lacks the argument{'s'[: len(missing) > 1]} {', '.join(missing)}")
        return given

    def wrong(self, text: str) -> ArgumentError:
        return ArgumentError(f"{self.kernel}() {text}; its parameters are ({self.text()})")


class Call:
    """A call while it is bound: the dims and dtype variables found so far, each with the parameter it was found in."""

    def __init__(self, kernel: str, arguments: Mapping[str, Any] | None = None, stream: int | None = None) -> None:
        self.kernel = kernel
        self.dims: dict[str, tuple[int, str]] = {}  # name -> (value, the parameter it was found in)
        self.dtypes: dict[str, tuple[str, str]] = {}  # likewise
        self.values: list[Any] = []  # numbers, `ArrayView`s, and objects with methods `packed` and `simulated`
        self.arrays: list[tuple[str, ArrayView]] = []
        self._stated: dict[str, Dim] = {}
        self._unsure: dict[str, tuple[int, str]] = {}  # from strides of one-element modes, which may have any value
        self._later: list[tuple[Expression, int, str, str]] = []  # to check once every dim is bound
        self._arguments = arguments or {}
        self._stream = stream

    def error(self, name: str, text: str) -> ArgumentError:
        """Return an error about the argument `name`; it holds all arguments of the call."""
        error = ArgumentError(f"{self.kernel}(): argument `{name}` {text}")
        error.name, error.arguments = name, self._arguments
        return error

    def settle(self, needed: Iterable[str]) -> None:
        """Check `needed` dims and all expressions, once all arguments are bound. Errors: `ArgumentError`."""
        for name in needed:
            if name not in self.dims:
                if name not in self._unsure:
                    raise ArgumentError(
                        f"{self.kernel}(): nothing tells {name}: no argument has it as an extent or stride of its own"
                    )
                self.dims[name] = self._unsure[name]
        for expr, value, name, what in self._later:
            expected = evaluate(expr, {dim: bound for dim, (bound, _) in self.dims.items()})
            if expected != value:
                told = sorted((dim, self.dims[dim]) for dim in {dim.name for dim in dims_of(expr)})
                sources = ", ".join(f"{dim} = {bound} from `{source}`" for dim, (bound, source) in told)
                raise self.error(name, f"has {what}, but {expr.text} is {expected} ({sources})")

    # Arrays.

    def read(self, name: str, argument: Any) -> ArrayView:
        """Return the view of an argument that is an array. Errors: `ArgumentError`."""
        known = type(argument).__module__.partition(".")[0] in KNOWN_LIBRARIES
        try:
            return read(argument) if known else read(argument, self.stream)
        except UnreadableArray as error:
            if is_array(argument):
                raise self.error(name, f"cannot be read: {error}") from None
            raise self.error(name, f"must be an array of torch, CuPy, JAX or NumPy, not {brief(argument)}") from None

    @property
    def stream(self) -> int:
        """The stream of the launch, which arrays read by interface alone make wait for their pending work."""
        if self._stream is None:
            self._stream = streams.of(_flat(self._arguments.values()))
        return self._stream

    def dtype(self, name: str, wanted: DType, found: str) -> str:
        """Return the dtype in the kernel of an array or number of dtype `found`. Errors: `ArgumentError`."""
        if isinstance(wanted, str):
            if found != ("f32" if wanted == "tf32" else wanted):
                raise self.error(name, f"has dtype {found}, but its annotation says {wanted}")
            return wanted
        if wanted.choices and found not in wanted.choices:
            raise self.error(name, f"has dtype {found}; {wanted} is one of {', '.join(wanted.choices)}")
        bound, source = self.dtypes.setdefault(wanted.name, (found, name))
        if bound != found:
            raise self.error(name, f"has dtype {found}, but {wanted} is {bound}, from `{source}`")
        return bound

    def extent(self, name: str, wanted: Expr, found: tuple[int, ...], mode: int, what: str, sure: bool = True) -> None:
        """Check the extent or stride (`what`) of `mode` of the array `name`, and learn a dim from it.

        found  the array's extents or strides, for all modes
        sure   False for the stride of a one-element mode, which may have any value
        """
        if isinstance(wanted, Dim):
            self._dim(name, wanted, found, mode, what, sure)
        elif not sure:
            return
        elif isinstance(wanted, Expression):
            self._later.append((wanted, found[mode], name, _words(what, mode, found)))
        elif wanted != found[mode]:
            raise self.error(name, f"has {_words(what, mode, found)}, but its annotation says {wanted}")

    def aligned(self, name: str, address: int, least: int, on_host: bool = False) -> None:
        """Check that an address is a multiple of `least` bytes. Errors: `ArgumentError`.

        on_host  it is counted from the start of its memory (`ArrayView.place`)
        """
        if address % least:
            found = f"begins {address} bytes into its memory" if on_host else f"is at {address:#x}"
            raise self.error(name, f"{found}, but must be at a multiple of {least} bytes")

    def states(self, name: str, dim: Dim) -> None:
        """Note that a parameter uses a dim. Errors: `ArgumentError` where another one declares it differently."""
        stated = self._stated.setdefault(dim.name, dim)
        if stated is not dim and stated != dim:
            raise self.error(name, f"uses {dim}, which another parameter has as {stated}: declare each dim once")

    def _dim(self, name: str, dim: Dim, found: tuple[int, ...], mode: int, what: str, sure: bool) -> None:
        value = found[mode]
        self.states(name, dim)
        told = self.dims.get(dim.name)
        if not sure:
            self._unsure.setdefault(dim.name, (value, name))
        elif told is None:
            problem = problem_of(dim, value)
            if problem:
                raise self.error(name, f"has {_words(what, mode, found)}, but {problem}")
            self.dims[dim.name] = (value, name)
        elif told[0] != value:
            raise self.error(name, f"has {_words(what, mode, found)}, but {dim.name} is {told[0]}, from `{told[1]}`")


_ORDINALS = ("first", "second", "third", "fourth", "fifth", *(f"{n}th" for n in range(6, 65)))


def _words(what: str, mode: int, found: tuple[int, ...]) -> str:
    return f"{what} {found[mode]}" if len(found) == 1 else f"{what} {found[mode]}, the {_ORDINALS[mode]} of {found}"


def problem_of(dim: Dim, value: int) -> str:
    """Return why a dim cannot have this value; empty where it can."""
    if value % dim.divisible_by:
        return f"{dim.name} is declared divisible by {dim.divisible_by}"
    if value < 0:
        return "a dim is never negative: pass a copy"
    if value < dim.min:
        return f"{dim.name} is at least {dim.min}; if it can be {value}, declare it cl.Dim({dim.name!r}, min={value})"
    if dim.max is not None and value > dim.max:
        return f"{dim.name} is declared at most {dim.max}"
    return ""


def plain_number(argument: Any) -> Any:
    """Convert NumPy scalars, and arrays without dimensions in host memory, to Python numbers; keep other objects."""
    if type(argument) in (int, float, bool):
        return argument
    # A number in GPU memory is not read: that would wait for the GPU without the caller noticing.
    on_gpu = getattr(argument, "is_cuda", False) or hasattr(argument, "__cuda_array_interface__")
    if getattr(argument, "shape", None) == () and hasattr(argument, "item") and not on_gpu:
        jax = sys.modules.get("jax")
        return argument if jax is not None and isinstance(argument, jax.core.Tracer) else argument.item()
    if isinstance(argument, numbers.Integral) and not isinstance(argument, bool):
        return int(argument)
    return argument


def _flat(arguments: Iterable[Any]) -> Iterator[Any]:
    """Yield the arguments; for structs, tuples and lists their fields and items."""
    for argument in arguments:
        if hasattr(argument, "__dict__") and hasattr(type(argument), "__dataclass_fields__"):
            yield from _flat(vars(argument).values())
        elif isinstance(argument, tuple | list):
            yield from _flat(argument)
        else:
            yield argument


# Places, and values.


def home_of(kernel: str, arrays: Sequence[tuple[str, ArrayView]]) -> tuple[str, int] | None:
    """Return the device that holds all arrays; None without arrays. Errors: `ArgumentError` for several devices."""
    if not arrays:
        return None
    name, first = arrays[0]
    for other, view in arrays[1:]:
        if view.device != first.device:
            raise ArgumentError(
                f"{kernel}(): argument `{name}` is {_place(first)}, but `{other}` is {_place(view)}; "
                "move them to one place"
            )
    return first.device


def _place(view: ArrayView) -> str:
    kind, ordinal = view.device
    return f"on GPU {ordinal}" if kind == "cuda" else "in host memory"


class MapRequest(NamedTuple):
    """A parameter's value that is a tensor map of the array given for `name`."""

    name: str
    view: ArrayView
    dtype: str
    tiling: Tiling

    @property
    def form(self) -> MapForm:
        return MapForm(self.dtype, self.tiling.box, self.tiling.swizzle, self.tiling.corners)

    def packed(self, kernel: str) -> bytes:
        """Return the tensor map. Errors: `ArgumentError` for an array that TMA cannot read."""
        return self._by(encode, kernel)  # type: ignore[no-any-return]

    def simulated(self, kernel: str, host: Callable[[ArrayView], Any]) -> Any:
        """Return the host array, after checking that a map of it can be made. Errors: as `packed`."""
        self._by(check_tensormap, kernel)
        return host(self.view)

    def _by(self, function: Callable[..., Any], kernel: str) -> Any:
        view = self.view
        try:
            return function(view.pointer, self.dtype, view.shape, view.strides, self.tiling)
        except TensorMapError as error:
            raise Call(kernel, {self.name: view}).error(self.name, f"cannot be accessed by TMA: {error}") from None


class Address(NamedTuple):
    """A parameter's value that is an address given for `name`; `view` is the array, if an array was given."""

    name: str
    address: int
    view: ArrayView | None

    def packed(self, kernel: str) -> int:
        return self.address

    def simulated(self, kernel: str, host: Callable[[ArrayView], Any]) -> Any:
        """Return the host array. Errors: `ArgumentError` where only an address was given."""
        if self.view is None:
            what = f"argument `{self.name}` is an address, and the simulator has no memory there"
            raise ArgumentError(f"{kernel}(): {what}; pass an array")
        return host(self.view)


def packable(kernel: str, value: Any) -> Any:
    """Return a value in the form that `gpu.params` packs. Errors: `ArgumentError` for an array that TMA cannot read."""
    if isinstance(value, ArrayView):
        return value.pointer
    return value.packed(kernel) if hasattr(value, "packed") else value


def simulable(kernel: str, value: Any, host: Callable[[ArrayView], Any]) -> Any:
    """Return a value as the simulator takes it; `host` makes a NumPy array of a view. Errors: as `packable`."""
    if isinstance(value, ArrayView):
        return host(value)
    return value.simulated(kernel, host) if hasattr(value, "simulated") else value
