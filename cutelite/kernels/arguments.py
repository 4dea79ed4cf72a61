"""Checks of the arrays that a function of `cutelite.kernels` is given, before anything is computed."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import pairwise
from math import inf, isfinite, isinf, prod
from numbers import Integral, Real
from typing import Any, TypeVar

import cutelite as cl
import cutelite_rt as rt
from cutelite.dispatch.divert import left_out
from cutelite.dispatch.mistakes import around_users_code
from cutelite.kernels.arrays import code_of, empty, strides_of
from cutelite.kernels.lent import check_known, is_jax
from cutelite_rt.arrays import memory
from cutelite_rt.dtype import DTYPES
from cutelite_rt.signature.bind import plain_number

HALVES = ("bf16", "f16")
FLOATS = ("bf16", "f16", "f32")
PLACES = ("i32", "i64")
MOST_OF_F32 = (2 - 2**-23) * 2.0**127
MOST = 10_000  # arrays whose facts are kept
NONE: dict[str, Any] = {}
E = TypeVar("E", bound=Exception)
F = TypeVar("F", bound=Callable[..., Any])


class Misfit(cl.ArgumentError, ValueError):
    """An argument does not fit. Also a `ValueError`, which NumPy and torch raise for that."""


class ArrayError(Misfit):
    """An array does not fit its argument."""


def as_number(
    name: str, x: Any, *, whole: bool = False, above: float = -inf, least: float = -inf, most: float = inf
) -> Any:
    """Return a number of Python, NumPy or torch as Python's: an int if it is to be `whole`, else a float of f32.

    above, least, most  what it has to be: greater, not less, not greater
    Errors  `Misfit`, which has the name
    """
    torch = sys.modules.get("torch")
    if torch is not None and not whole and torch.compiler.is_dynamo_compiling() and not isinstance(x, str | None):
        return float(x)  # it may be a symbol: the operator checks what that stands for
    symbolic = torch is not None and isinstance(x, torch.SymInt)  # an extent of a traced tensor: it is fixed here
    found = int(x) if symbolic else plain_number(x)
    fits, held = isinstance(found, Integral if whole else Real) and not isinstance(found, bool), True
    if fits:
        with suppress(OverflowError):
            found = int(found) if whole else float(found)
        held = whole or isinf(found) or not abs(found) > MOST_OF_F32
        fits = held and all(
            (above == -inf or found > above, least == -inf or found >= least, most == inf or found <= most)
        )
    if not fits:
        check_known({name: x})
        wanted = "a whole number" if whole else "a number" if held else "a number that f32 holds"
        ends = {"above": above, "from": least, "to": most}
        bounds = (
            f" {word} {end if isinstance(end, int) else f'{end:g}'}" for word, end in ends.items() if isfinite(end)
        )
        raise Misfit(f"{name} is {x!r}, but must be {wanted}{''.join(bounds)}")
    return found


def one_of(name: str, x: Any, names: Iterable[str]) -> Any:
    """Return `x`, which has to be one of some names. Errors: `Misfit`."""
    if not isinstance(x, str) or x not in names:
        raise Misfit(f"{name} is {x!r}, but must be one of {', '.join(map(repr, names))}")
    return x


def check_for_hopper(why: str, **given: Any) -> None:
    """Refuse arguments that kernels for tensor memory have not: those that are not None. Errors: ValueError."""
    for name, x in given.items():
        if x is not None:
            raise Misfit(f"{name}= is for Hopper: {why}")


def instance(name: str, x: Any, kind: type, *, needed: bool = False) -> Any:
    """Return `x`, which has to be of a class, or unless it is `needed` None. Errors: `Misfit`."""
    if not isinstance(x, kind) and (needed or x is not None):
        end = "" if needed else ", or None"
        raise Misfit(f"{name} is {x!r}, but must be a {kind.__name__} of {kind.__module__}{end}")
    return x


def as_flag(name: str, x: Any) -> bool:
    """Return True or False, which may be NumPy's, 1 or 0. Errors: `Misfit`, also for what Python takes as either."""
    found = plain_number(x)
    if not isinstance(found, Integral) or found not in (0, 1):
        check_known({name: x})
        raise Misfit(f"{name} is {x!r}, but must be True or False")
    return bool(found)


class Arguments:
    """The arrays of one call. A mode that has a name is as long in all arrays, and the first one says how long.

        given = Arguments()
        given.array("q", q, HALVES, "B SQ H D")
        given.array("k", k, "q", "B SK HK D")

    The text of an error has the array's name, what it is, what it has to be, and which array said so. What has been
    checked once is found again: arrays of the same facts, after others of the same facts.
    """

    def __init__(self) -> None:
        self._known = Known.first()
        self._missed = would_be_missed()

    def array(
        self, name: str, array: Any, kinds: str | tuple[str, ...], modes: str | tuple[str | int, ...], *,
        written: bool = False, dense: bool = False, rows: bool = False, why: str = "",
    ) -> None:  # fmt: skip
        """Check an array.

        kinds    codes of the dtypes that it may have, or the name of an array before it, whose dtype it has
        modes    names and numbers, in order, a number being what the mode has to be: "B S 1", or ("B", -(-n // 128)).
                 "..." at the start: any modes in front
        written  it is written
        dense    it is row-major, without gaps
        rows     it is contiguous along its last mode
        why      says where numbers among `modes` come from
        Errors   `ArrayError` for what is no array, another dtype or shape, and a read-only array that is written;
                 `Misfit` for a tensor whose operators torch records
        """
        key: Any
        if self._missed:
            check_recorded(array)
        try:
            asked = name, kinds, modes, written, dense, rows
            strides = strides_of(array) if dense or rows or written else None
            layout = getattr(array, "layout", None)  # of torch's: a sparse tensor has the facts of a strided one
            key = asked, type(array), array.dtype, array.shape, layout, strides, written and is_read_only(array)
            known = self._known.after.get(key)
        except (AttributeError, TypeError, RuntimeError):  # what is no array, extents that are symbols, nested tensors
            key = known = None
        if known is None:
            known = self._known.copy()
            known.check(name, array, kinds, modes, written, dense, rows, why)
            if key is not None:
                self._known.after[key] = known
        self._known = known

    def result(
        self, out: Any, like: Any, kinds: str | tuple[str, ...], modes: str | tuple[str | int, ...], *,
        made: str | None = None, dense: bool = False, rows: bool = False, why: str = "", apart: dict[str, Any] = NONE,
    ) -> Any:  # fmt: skip
        """Return the array that a result goes to: `out`, which is checked as by `array`, or a new one where it is None.

        like     what the new one is like: in its place, and of its library
        modes    numbers, and modes that arrays before have
        made     the code of the new one's dtype; default: `kinds`, where that is a single one
        apart    arrays or None, by name, which are still read when results are written: `out` lies where none does
        Errors   `ArrayError`
        """
        if out is None:
            places = parsed(modes)[1] if isinstance(modes, str) else modes
            shape = tuple(self._known.extents[x][0] if isinstance(x, str) else x for x in places)
            code = self._known.dtypes.get(kinds, kinds) if isinstance(kinds, str) else None
            return empty(like, shape, made or code)
        self.array("out", out, kinds, modes, written=True, dense=dense, rows=rows, why=why)
        check_given_apart(out, **apart)
        return out


class Known:
    """The facts of the arrays of a call that have been checked, and `after`: what is known after a further one."""

    _first: Known | None = None
    _count = 0

    def __init__(self, extents: dict[str, tuple[int, str]], dtypes: dict[str, str]) -> None:
        self.extents, self.dtypes = extents, dtypes
        self.after: dict[Any, Known] = {}

    @classmethod
    def first(cls) -> Known:
        """Nothing is known yet. After `MOST` facts all are forgotten."""
        if cls._first is None or cls._count > MOST:
            cls._first, cls._count = cls({}, {}), 0
        return cls._first

    def copy(self) -> Known:
        """The same, to be added to."""
        Known._count += 1
        return Known(dict(self.extents), dict(self.dtypes))

    def check(
        self, name: str, array: Any, kinds: str | tuple[str, ...], modes: str | tuple[str | int, ...], written: bool,
        dense: bool, rows: bool, why: str,
    ) -> None:  # fmt: skip
        """Check an array, as `Arguments.array` says."""
        is_array(name, array)
        code = self.dtypes[name] = code_of(array)
        wanted = self.dtypes.get(kinds, kinds) if isinstance(kinds, str) else kinds
        if code != wanted and (isinstance(wanted, str) or code not in wanted):
            said = wanted if isinstance(wanted, str) else " or ".join(wanted)
            raise ArrayError(
                f"{name} has dtype {array.dtype}, but must be {said}" + f", as {kinds}" * (wanted is not kinds)
            )
        if written:
            writable(name, array)
        free, last = parsed(modes) if isinstance(modes, str) else (False, modes)
        shape = tuple(array.shape)
        fits = len(shape) >= len(last) if free else len(shape) == len(last)
        reasons = []
        for mode, extent in zip(last, shape[len(shape) - len(last) :], strict=True) if fits else ():
            known, by = self.extents.setdefault(mode, (extent, name)) if isinstance(mode, str) else (mode, "")
            if known != extent:
                fits = False
                reasons += [f"{mode} is {known}, as in {by}"] if by else []
        if not fits:
            modes = ", ".join(["..."] * free + [str(mode) for mode in last]) + "," * (len(last) == 1 and not free)
            text = f"{name} has shape {shape}, but must be ({modes}){why}"
            raise ArrayError(text + "".join(f"; {x}" for x in reasons))
        if 0 in shape:
            return  # strides of no elements mean nothing
        if dense and not is_dense(array):
            raise ArrayError(f"{name} has gaps, or its modes in another order: pass a contiguous copy")
        if rows and len(array.shape) and array.shape[-1] > 1 and strides_of(array)[-1] != 1:
            raise ArrayError(f"{name} is not contiguous along its last mode: pass a contiguous copy")


def results(
    out: Any, wanted: Mapping[str, tuple[tuple[int, ...], str]], free: tuple[str, ...] = (), **operands: Any
) -> list[Any]:
    """Return the arrays that results go to: those of `out`, or new ones of the library of the first operand.

    out       None; an array where one is wanted, else a sequence of them, without gaps
    wanted    shape and code of the dtype of each, by name
    free      names of those that may have gaps, and modes in any order
    operands  arrays or None, which are still read when results are written
    Errors    `Misfit`, `ArrayError`: also for results that lie where operands or other results do, and, of `out`, for
              operands that need a gradient
    """
    if out is None:
        like = next(iter(operands.values()))
        return [empty(like, shape, kind) for shape, kind in wanted.values()]
    check_underived(**operands)
    made = [out] if len(wanted) == 1 else list(out) if isinstance(out, Sequence) else []
    if len(made) != len(wanted):
        raise Misfit(f"out must be {len(wanted)} arrays: {', '.join(wanted)}")
    read = {name: rt.read(x) for name, x in operands.items() if x is not None}
    for i, (x, (name, (shape, kind))) in enumerate(zip(made, wanted.items(), strict=True)):
        called = "out" if len(wanted) == 1 else f"out[{i}], the {name},"
        Arguments().array(called, x, kind, shape, written=True, dense=name not in free)
        view = rt.read(x)
        check_apart(called, view, read)
        read[called] = view
    return made


def result_like(x: Any, out: Any) -> Any:
    """Return `out`, or a new array like `x` where it is None; who takes it checks the rest.

    Errors  `Misfit` for an `x` that needs a gradient, of an `out`
    """
    if out is None:
        return empty(x, tuple(x.shape))
    check_underived(x=x)
    return out


def would_be_missed() -> bool:
    """Tell whether torch records operators (`torch.jit.trace`, `make_fx`): it would record no launch of a kernel."""
    torch = sys.modules.get("torch")
    if torch is None or not (torch._C._is_tracing() or torch._C._len_torch_dispatch_stack()) or left_out():
        return False
    from cutelite.interop.torch import recorded  # late: it imports torch

    return recorded()


def check_recorded(array: Any) -> None:
    """Check that torch, if it records operators, misses no launch of a kernel for this array. Errors: `Misfit`."""
    if is_torch(array) and would_be_missed():
        raise Misfit(
            "torch.jit.trace and make_fx record operators of torch, and would miss this call: call one of "
            "torch.ops.cutelite, or make an operator by cutelite.interop.torch.custom_op"
        )


def check_underived(what: str = "out=", /, **operands: Any) -> None:
    """Check that no operand is a tensor of torch that needs a gradient: one through `out`, or `what`, does not exist.

    Errors  `Misfit`
    """
    for name, x in operands.items():
        if needs_gradient(x):
            raise Misfit(f"{what} has no derivative, and {name} needs a gradient: detach it, or leave {what} out")


def underived(*only: str, see: str = "") -> Callable[[F], F]:
    """Declare that a function has no derivative: it refuses tensors of torch that need a gradient.

    Tensors in lists and tuples are found too.

    only    the parameters by which it has none; without names all
    see     the module whose function of this name has a derivative
    Errors  the function raises `Misfit`, which names the parameter
    """

    def declared(function: F) -> F:
        names = tuple(inspect.signature(function).parameters)
        apart = only or names
        ways = "detach it" + (f", or call {see}.{function.__name__}" if see else "")
        told = with_words_of_caller(function)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            torch = sys.modules.get("torch")
            if torch is not None and torch.is_grad_enabled():
                for name, x in (*zip(names, args, strict=False), *kwargs.items()):
                    for i, each in enumerate(as_list(x)):
                        if isinstance(each, torch.Tensor) and each.requires_grad and name in apart:
                            by, one = f" by {name}" if only else "", name if each is x else f"{name}[{i}]"
                            raise Misfit(
                                f"{function.__name__} has no derivative{by}, and {one} needs a gradient: {ways}"
                            )
            return told(*args, **kwargs)

        return around_users_code(call)  # type: ignore[return-value]

    return declared


def in_words_of_caller(function: F) -> F:
    """Name the function's arguments in errors of kernels' arguments, whose tracebacks end at the caller.

    Keyword arguments that are annotated as `bool` are checked. What is `underived` does all that by itself.
    """
    return around_users_code(with_words_of_caller(function))


def with_words_of_caller(function: F) -> F:
    """Name the function's arguments in errors of kernels' arguments, and check those that are annotated as `bool`.

    Torch is told of what was written to `out`, which may not need a gradient.
    """
    parameters = inspect.signature(function).parameters
    names, flags = tuple(parameters), [name for name, x in parameters.items() if x.annotation in ("bool", bool)]
    at = names.index("out") if "out" in names else -1

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for name in flags:
            if name in kwargs and type(kwargs[name]) is not bool:
                kwargs[name] = as_flag(name, kwargs[name])
        out = kwargs.get("out", args[at] if 0 <= at < len(args) else None)
        if out is not None and needs_gradient(*as_list(out)):
            raise Misfit("out needs a gradient, and has none of what is written to it: detach it, or leave it out")
        try:
            found = function(*args, **kwargs)
        except cl.ArgumentError as error:
            raise in_words_of(error, (*zip(names, args, strict=False), *kwargs.items())) from None
        except rt.UnreadableArray as error:
            raise of_unreadable(error, (*zip(names, args, strict=False), *kwargs.items())) from None
        except RuntimeError as error:
            told = of_operand(error, dict(zip(names, args, strict=False)) | kwargs)
            if told is None:
                raise
            raise told from None
        if out is not None:
            tell_written(out)
        return found

    return call  # type: ignore[return-value]


def of_operand(error: RuntimeError, given: dict[str, Any]) -> Misfit | None:
    """Return torch's error of an operator's argument, no tensor or no number, as one of the caller's, or None.

    given   the caller's arguments by name
    """
    found = re.search(r"a value of type '([^']*)' for argument '(\w+)' but instead found type", str(error))
    if found is None or found[2] not in given:
        return None
    kind, name, x = found[1], found[2], given[found[2]]
    try:
        if "Tensor" in kind:
            is_array(name, x)
        elif (number := re.search("int|float", kind.lower())) is not None:
            as_number(name, x, whole=number[0] == "int")
    except Misfit as own:
        return own
    if "Tensor" not in kind:
        return None
    return ArrayError(f"{name} is a {type(x).__name__}, beside tensors of torch: pass a tensor")


def changing(*names: str) -> Callable[[F], F]:
    """Declare that a function writes to the arguments of these names: torch is told, and JAX's arrays are refused."""

    def declared(function: F) -> F:
        places = tuple(inspect.signature(function).parameters)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            given = dict(zip(places, args, strict=False)) | kwargs
            for name in names:
                if is_jax(given.get(name)):
                    writable(name, given[name])  # here: functions may get these lent, as arrays of others
            found = function(*args, **kwargs)
            tell_written([given.get(name) for name in names])
            return found

        return call  # type: ignore[return-value]

    return declared


def tell_written(arrays: Any) -> None:
    """Tell torch that a kernel has written to tensors, given alone or in lists: it counts that, and so refuses the
    gradient of what was computed of their elements before."""
    torch = sys.modules.get("torch")
    if torch is None or torch.compiler.is_compiling() or left_out():
        return  # where an operator is traced that writes, torch knows
    tensors = [x for group in as_list(arrays) for x in as_list(group) if isinstance(x, torch.Tensor)]
    if tensors:
        from cutelite.interop import planned  # late: it imports torch

        planned.tell_written(tensors)


def as_list(x: Any) -> Sequence[Any]:
    """Return a list or tuple itself, and a list of anything else."""
    return x if isinstance(x, (list, tuple)) else [x]


def of_unreadable(error: E, given: Iterable[tuple[str, Any]]) -> E | ArrayError:
    """Return the error of an array that cannot be read as one of the caller's argument, or itself if it is of none."""
    for name, x in given:
        for i, each in enumerate(as_list(x)):
            try:
                if hasattr(each, "shape") and hasattr(each, "dtype"):
                    rt.read(each)
            except rt.UnreadableArray as own:
                return ArrayError(f"{name if each is x else f'{name}[{i}]'} cannot be read: {own}")
    return error


def in_words_of(error: cl.ArgumentError, given: Iterable[tuple[str, Any]]) -> cl.ArgumentError:
    """Return an error of a kernel's argument as one of the caller's, the one that starts at the same place in memory.

    Of an array that cannot be read it is the caller's that cannot be read.

    given  the caller's arguments by name
    Out    `error` itself if it is of none of them, or of nothing in memory
    """
    place = start_of(argument_of(error))
    if place is None and f"argument `{error.name}` cannot be read: " in str(error):
        return of_unreadable(error, given)
    parts = [(name if each is x else f"{name}[{i}]", each) for name, x in given for i, each in enumerate(as_list(x))]
    same = [name for name, x in parts if place is not None and start_of(x) == place]
    text = str(error).partition(f"argument `{error.name}` ")[2]
    text = re.sub(r"\b\w+ is declared divisible by", "must be a multiple of", text)  # a dim of the kernel's
    text = re.sub(
        r"\bbut \w+ is at least (\S+); if it can be \S+, declare it cl\.Dim\(.*", r"but must be at least \1", text
    )
    return ArrayError(f"{' or '.join(same)} {text}") if same and text else error


def argument_of(error: cl.ArgumentError) -> Any:
    """Return the argument of a kernel that an error is about, or None."""
    if error.name in error.arguments:
        return error.arguments[error.name]
    name, *within = error.name.split(".")
    found: Any = error.arguments.get(name)
    for part in within:
        found = found[int(part)] if part.isdecimal() else getattr(found, part)
    return found


def start_of(x: Any) -> int | None:
    """Return the address of the first element of an array, or of a view of one; None for what is none."""
    if isinstance(x, rt.ArrayView):
        return x.pointer
    with suppress(rt.UnreadableArray, ValueError, TypeError):
        return int(rt.read(x).pointer)
    return None


def is_torch(x: Any) -> bool:
    """Tell whether it is a tensor of torch, those of classes that others derive from it included."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def needs_gradient(*operands: Any) -> bool:
    """Tell whether one of the operands is a tensor of torch that needs a gradient, where gradients are enabled."""
    torch = sys.modules.get("torch")  # other libraries have `requires_grad` too
    if torch is None or not torch.is_grad_enabled():
        return False
    return any(isinstance(x, torch.Tensor) and x.requires_grad for x in operands)


def wants_operator(*operands: Any) -> bool:
    """Tell whether a call goes to an operator of torch: an operand holds no data (`traced`), or needs a gradient.

    So it does where Python sees operators (`watched`).
    """
    if not any(map(is_torch, operands)):
        return False
    from cutelite.interop.torch import traced, watched  # late: it imports torch

    return traced(*operands) or watched(*operands) or (not left_out() and needs_gradient(*operands))


def check_levels(*arrays: Any) -> None:
    """Check that none of these is a tensor of a transform of `torch.func`: no result is written to those, or from them.

    Errors  `cl.ArgumentError`
    """
    torch = sys.modules.get("torch")
    if torch is None or torch.compiler.is_compiling():
        return
    flat = [x for each in arrays for x in as_list(each)]
    if any(isinstance(x, torch.Tensor) for x in flat):
        from cutelite.interop.torch import in_transform  # late: it imports torch

        if in_transform(*flat):
            raise cl.ArgumentError("out: there is none within torch.vmap and torch.func: `out.copy_` takes the result")


def check_apart(name: str, out: Any, operands: dict[str, Any]) -> None:
    """Check that a result lies where no operand does. All are views. Errors: `ArrayError`."""
    for other, operand in operands.items():
        if overlap(out, operand):
            text = "which is read until the end: pass another array, or none"
            raise ArrayError(f"{name} lies where {other} does, {text}")


def check_given_apart(out: Any, **operands: Any) -> None:
    """`check_apart` of `out`, an array or None, and of operands, of which some may be None."""
    if out is not None and not left_out():
        check_apart("out", rt.read(out), {name: rt.read(x) for name, x in operands.items() if x is not None})


def check_in_place(name: str, out: Any, operands: dict[str, Any]) -> None:
    """Check that a result lies where an operand does, element by element, or where none does. All are views.

    Errors  `ArrayError`
    """
    for other, operand in operands.items():
        if overlap(out, operand) and place_of(out) != place_of(operand):
            raise ArrayError(f"{name} and {other} overlap, and are not the same elements: pass another array, or none")


def place_of(view: Any) -> tuple[Any, ...]:
    """Return where each element of a view is."""
    steps = [step for extent, step in zip(view.shape, view.strides, strict=True) if extent > 1]
    return view.pointer, view.dtype, *steps


def overlap(a: Any, b: Any) -> bool:
    """Tell whether two views overlap, as far as that is seen: of rows with gaps, if both have the same pitch."""
    if 0 in (*a.shape, *b.shape):
        return False
    (first, end), (start, stop) = without_gaps(a), without_gaps(b)
    if a.pointer == b.pointer or (stop > first and end > start):
        return True
    (high, wide, pitch), (rows, row, step) = rows_of(a), rows_of(b)
    if not pitch == step > 0:
        return False
    down, across = divmod(b.pointer - a.pointer, pitch)
    here, below = across < wide and -rows < down < high, across + row > pitch and -rows < down + 1 < high
    return bool(here or below)


def rows_of(view: Any) -> tuple[int, int, int]:
    """Return how many rows a view has, their bytes, and the bytes from one to the next; 0 if not evenly apart."""
    size = DTYPES[view.dtype].bytes
    modes = [(extent, step) for extent, step in zip(view.shape, view.strides, strict=True) if extent > 1]
    row = modes.pop()[0] if modes and modes[-1][1] == 1 else 1
    even = all(step == extent * below for (_, step), (extent, below) in pairwise(modes))
    return prod(extent for extent, _ in modes), row * size, modes[-1][1] * size if modes and even else 0


def without_gaps(view: Any) -> tuple[int, int]:
    """Return where an array begins and ends; twice its address if it has gaps, between which another may lie."""
    first, end = view.span
    return (first, end) if end - first == view.nbytes else (view.pointer, view.pointer)


def is_read_only(array: Any) -> bool:
    return not getattr(getattr(array, "flags", None), "writeable", True)


def writable(name: str, array: Any) -> None:
    """Check that an array is not read-only, and that its elements have places of their own. Errors: `ArrayError`."""
    if is_jax(array):
        anew = "adamw, rope_append and scale of cutelite.kernels.rows.on_jax_elements give anew what they change"
        raise ArrayError(f"{name} is written, and is JAX's, whose arrays never are: pass another library's; {anew}")
    if is_read_only(array):
        raise ArrayError(f"{name} is read-only, and is written; pass a copy")
    if 0 in array.shape or not code_of(array):
        return  # strides of no elements mean nothing; a dtype that kernels do not have is refused elsewhere
    reach = 0  # of the modes with smaller strides: how far their last element is from their first
    for step, extent in sorted(
        (abs(step), extent) for extent, step in zip(array.shape, strides_of(array), strict=True)
    ):
        if extent > 1 and step <= reach:
            said = (
                "in one place (a stride of 0)" if step == 0 else f"in one place, or between others (a stride of {step})"
            )
            raise ArrayError(f"{name} has elements {said}, and is written: pass a whole array")
        reach += step * (extent - 1)


def is_dense(array: Any) -> bool:
    """Tell whether an array is row-major without gaps. Strides of modes of one element do not count."""
    step = 1
    for extent, stride in zip(reversed(array.shape), reversed(strides_of(array)), strict=True):
        if extent > 1 and stride != step:
            return False
        step *= extent
    return True


def contiguous(array: Any) -> Any:
    """Return the array if it is row-major, else a row-major copy. Errors: `ArrayError` for one that makes no copies."""
    if hasattr(array, "contiguous"):
        return array.contiguous()
    if is_dense(array):
        return array
    if not hasattr(array, "copy"):
        said = f"an array of shape {tuple(array.shape)} has strides {strides_of(array)}"
        raise ArrayError(f"{said}: pass a row-major copy, which a {type(array).__name__} does not make")
    return array.copy(order="C")


@lru_cache
def parsed(modes: str) -> tuple[bool, tuple[int | str, ...]]:
    """Return whether there may be modes in front, and the modes behind them."""
    words = modes.split()
    free = words[:1] == ["..."]
    return free, tuple(int(word) if word.isdecimal() else word for word in words[free:])


def is_array(name: str, value: Any) -> None:
    """Check that a value is an array. Errors: `ArrayError`."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and (value.is_nested or value.layout is not torch.strided):
        kind = "nested" if value.is_nested else str(value.layout).removeprefix("torch.")
        raise ArrayError(f"{name} is a tensor of layout {kind}, but must be strided: pass `to_dense()`, or `values()`")
    written = hasattr(value, "__setitem__") and not isinstance(value, type)  # so it is no number of NumPy
    if not (hasattr(value, "shape") and hasattr(value, "dtype") and written and memory.is_array(value)):
        kind = "None" if value is None else "an int" if type(value) is int else f"a {type(value).__name__}"
        raise ArrayError(f"{name} is not an array, but {kind}")
