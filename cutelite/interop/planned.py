"""Planned calls: all but the first few calls of a kind run none of a function's Python.

In    a function of torch's tensors that checks its arguments, allocates, takes views and launches kernels
Out   the same function, which keeps a `program` for each kind of call with tensors on a GPU

Calls are of one kind if their tensors have equal shapes, strides, dtypes, devices and alignments and overlap in the
same way, if all other arguments are equal, and the stream, and whether torch is to be deterministic. Functions are
equal if their code is, and what they captured and find in their module; tensors among that are tensors of the call. The
first `COUNTED` calls of a kind are only counted, because a plan takes as long to make as they take. The next one is
watched: all that torch may do in it is to make views, and to allocate, without contents or with zeros. The one after
makes the program, whose arguments are the tensors of the call and those that it allocates. Each later call reads its
tensors, allocates, and has machine code issue the launches.
That takes a sixth of the host's time or less: most of a call is checks and the choice of a configuration.

A call of tensors that need a gradient is planned where all that it does is to call one operator: later ones go to the
operator's autograd function at once.

Other calls run as they are: those in a stream capture, in torch's dispatch modes, of tensors on a CPU or without
elements, and those in which torch computes something itself.
"""

# mypy: disable-error-code="misc"
# (torch is not installed where types are checked)

from __future__ import annotations

import functools
import inspect
import itertools
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from types import FunctionType
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode

from cutelite.dispatch import fingerprint
from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.divert import diversion
from cutelite.dispatch.programs import Program
from cutelite.dispatch.replay import epoch
from cutelite.lang.state import state_of
from cutelite.lang.tables import globals_of, replaced
from cutelite_rt.arrays.memory import reach

F = TypeVar("F", bound=Callable[..., Any])

COUNTED = 4
"""Calls of a kind that run as they are before one is planned."""

MOST = 512
"""At most this many kinds of calls are kept for a function; then all are dropped."""

MOST_SHAPES = 1 << 14
"""Likewise of shapes, for all functions."""

_aten = torch.ops.aten
ALLOCATE = {
    _aten.empty.memory_format: False, _aten.empty_like.default: False, _aten.empty_strided.default: False,
    _aten.new_empty.default: False, _aten.new_empty_strided.default: False,
    _aten.zeros.default: True, _aten.new_zeros.default: True, _aten.zeros_like.default: True,
}  # fmt: skip
"""Operators of torch that allocate, and whether they write zeros."""


class Operator(NamedTuple):
    """An operator whose calls may be planned.

    function  computes it, of its arguments by place, and is `planned`; its results may be views
    apply     takes these, and last None or the plan of their call: the same, with its derivative
    """

    function: Callable[..., Any]
    apply: Callable[..., Any]


operators: dict[Any, Operator] = {}
"""Operators by torch's `OpOverload`."""


def planned(function: F) -> F:
    """Decorator: plan calls of a function on tensors.

    function  returns tensors, those it is given, new ones or views of either, alone or in tuples and lists. It depends
              on its arguments, but not on what tensors hold, and on no globals that change
    """
    kinds: dict[Hashable, Plan | _Step | int | None] = {}  # how many calls there were, or a plan; None: there is none

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        tensors: list[Tensor] = []
        kind = kind_of(args, kwargs, tensors)
        if kind is None:
            return function(*args, **kwargs)
        found = kinds.get(kind, 0)
        if isinstance(found, Plan | _Step):
            try:
                return found.run(tensors)
            except ArgumentError:  # a launch takes an array that lies in no tensor of the call, or one was kept
                kinds[kind] = found = None
        if found == COUNTED:
            with _Watching(needy(tensors)) as watched, _within(watched.written):
                result = function(*args, **kwargs)
            if watched.step:
                kinds[kind] = _step_of(tensors, watched, result)
            else:
                kinds[kind] = _plan_of(function, (args, kwargs), tensors, watched, result)
            return result
        if found is not None:
            if len(kinds) >= MOST and not found:
                kinds.clear()
            kinds[kind] = found + 1
        return function(*args, **kwargs)

    def known(args: tuple[Any, ...]) -> Plan | None:
        found = kinds.get(kind_of(args, {}, []))
        return found if isinstance(found, Plan) else None

    call.known = known  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


# What is planned.


class _Place(NamedTuple):
    """The place of a tensor in arguments or results: its number, and of a view of it shape, strides and offset."""

    number: int
    view: tuple[tuple[int, ...], tuple[int, ...], int] | None = None

    def taken(self, tensors: Sequence[Tensor]) -> Tensor:
        """Return the tensor, of all of a call."""
        base = tensors[self.number]
        if self.view is None:
            return base
        shape, strides, offset = self.view
        return base.as_strided(shape, strides, base.storage_offset() + offset)


class Plan(NamedTuple):
    """A planned call: its program, what it allocates, and what makes its result of all its tensors.

    where      the device of all tensors
    allocated  shape, strides and dtype of each tensor, and whether it begins with zeros
    empty      likewise of those without elements, which no launch takes
    written    numbers of the tensors of the call that torch has to be told of (`tell_written`)
    """

    program: Program
    where: torch.device
    allocated: list[tuple[Any, ...]]
    empty: list[tuple[Any, ...]]
    written: list[int]
    result: Callable[[Sequence[Tensor]], Any]

    def run(self, tensors: list[Tensor]) -> Any:
        """Return the result of a call with these tensors."""
        self.allocate(self.allocated, tensors)
        self.program.entry(*tensors)
        self.allocate(self.empty, tensors)
        if self.written:
            torch.autograd.graph.increment_version([tensors[i] for i in self.written])
        return self.result(tensors)

    def allocate(self, those: list[tuple[Any, ...]], tensors: list[Tensor]) -> None:
        """Append tensors, each given by shape, strides, dtype, and whether it begins with zeros."""
        if those:
            here = self.where.type == "cuda" and self.where.index == torch._C._cuda_getDevice()
            for shape, strides, dtype, zeros in those:
                if here:
                    made = _empty_on_gpu(shape, strides, dtype)
                else:
                    made = torch.empty_strided(shape, strides, dtype=dtype, device=self.where)
                tensors.append(made.zero_() if zeros else made)


class _Step:
    """A planned call that goes to an operator, with a derivative.

    given   arguments of the operator, None for each tensor
    places  of tensors among these, and their numbers in the call
    plan    of the operator's call without a derivative, as soon as there is one
    """

    def __init__(
        self, operator: Operator, given: Any, places: list[tuple[int, int]], result: Callable[[Sequence[Tensor]], Any]
    ) -> None:
        self.operator, self.given, self.places, self.result = operator, given, places, result
        self.plan: Plan | None = None

    def run(self, tensors: list[Tensor]) -> Any:
        """Return the result of a call with these tensors."""
        given = [*self.given]
        for place, number in self.places:
            given[place] = tensors[number]
        if self.plan is None:
            with torch.no_grad():
                self.plan = self.operator.function.known(given)  # type: ignore[attr-defined]
        found = self.operator.apply(*given, self.plan)
        tensors += [found] if type(found) is Tensor else found
        return self.result(tensors)


_empty_on_gpu = torch._C._dynamo.guards._empty_strided_cuda
"""What torch.compile allocates with, on the current GPU, in half the time of `torch.empty_strided`."""


def _plan_of(
    function: Callable[..., Any], given: Any, tensors: list[Tensor], watched: _Watching, result: Any
) -> Plan | None:
    """Return the plan of a call that was watched; None if it did more than a plan does."""
    where, count, zeros = tensors[0].device, len(tensors), watched.zeros
    made, empty = ([x for x in watched.allocated if bool(x.numel()) == has] for has in (True, False))
    every = [*tensors, *made, *empty]
    written = [i for i, x in enumerate(tensors) if any(x is each for each in watched.written)]
    if not watched.only_launches or any(x.device != where for x in watched.allocated):
        return None
    try:
        places = _mapped(given, (Tensor, nn.Parameter), lambda x: _place_of(x, tensors))
        returned = _mapped(result, (Tensor, nn.Parameter), lambda x: _place_of(x, every))
    except LookupError:
        return None

    def again(*tensors: Tensor) -> None:
        args, kwargs = _mapped(places, _Place, lambda place: place.taken(tensors))
        with _Allocating(tensors[count:]) as allocating, _within():
            function(*args, **kwargs)
        if next(allocating.left, None) is not None:
            raise ArgumentError(f"{function.__name__} allocates less than before: it has kept a tensor")

    names = (inspect.Parameter(f"tensor{i}", inspect.Parameter.POSITIONAL_ONLY) for i in range(count + len(made)))
    again.__signature__ = inspect.Signature([*names])  # type: ignore[attr-defined]
    again.__name__ = again.__qualname__ = function.__name__
    first, last = ([(tuple(x.shape), x.stride(), x.dtype, id(x) in zeros) for x in each] for each in (made, empty))
    return Plan(Program(again, tied=True), where, first, last, written, _giving(returned))


def _step_of(tensors: list[Tensor], watched: _Watching, result: Any) -> _Step | None:
    """Return the plan of a call that was watched; None if it did more than to call one operator."""
    if len(watched.called) != 1 or not watched.only_launches or watched.allocated:
        return None
    operator, args, made = watched.called[0]
    try:
        places = {i: _place_of(x, tensors, views=False) for i, x in enumerate(args) if isinstance(x, Tensor)}
        every = [*tensors, *([made] if isinstance(made, Tensor) else made)]
        returned = _mapped(result, (Tensor, nn.Parameter), lambda x: _place_of(x, every, views=False))
    except LookupError:
        return None
    given = [None if isinstance(x, Tensor) else x for x in args]
    numbers = [(i, place.number) for i, place in places.items()]
    return _Step(operators[operator], given, numbers, _giving(returned))


def _giving(x: Any) -> Callable[[Sequence[Tensor]], Any]:
    """Return what makes a result, given with `_Place`s, of the tensors of a call."""
    if type(x) is _Place:
        return x.taken
    if x is None:
        return lambda _: None
    if not isinstance(x, tuple | list):
        return lambda tensors: _mapped(x, _Place, lambda place: place.taken(tensors))
    kind, parts = type(x), [_giving(each) for each in x]
    if kind is tuple or kind is list:
        return lambda tensors: kind([part(tensors) for part in parts])
    return lambda tensors: kind(*[part(tensors) for part in parts])


def _place_of(x: Tensor, tensors: Sequence[Tensor], views: bool = True) -> _Place:
    """Return the place of a tensor among those of a call. Errors: LookupError if it is none, and no view of one."""
    for i, base in enumerate(tensors):
        if x is base:
            return _Place(i)
    for i, base in enumerate(tensors if views else ()):
        if x.dtype == base.dtype and x.untyped_storage().data_ptr() == base.untyped_storage().data_ptr():
            return _Place(i, (tuple(x.shape), x.stride(), x.storage_offset() - base.storage_offset()))
    raise LookupError(f"{tuple(x.shape)} is no view of a tensor of the call")


def _mapped(x: Any, what: type | tuple[type, ...], change: Callable[[Any], Any]) -> Any:
    """Return `x` with all of some types changed, also in tuples, lists, dicts, dataclasses and what functions read."""
    kind = type(x)
    if kind is what or (type(what) is tuple and kind in what):
        return change(x)
    if kind is tuple or kind is list:
        return kind(_mapped(each, what, change) for each in x)
    if kind is dict:
        return {name: _mapped(each, what, change) for name, each in x.items()}
    if isinstance(x, tuple):
        return kind(*(_mapped(each, what, change) for each in x))
    if kind is FunctionType or kind is functools.partial:
        among = what if type(what) is tuple else (what,)
        return replaced(x, lambda each: change(each) if type(each) in among else each)
    if is_dataclass(kind):
        return replace(x, **{each.name: _mapped(getattr(x, each.name), what, change) for each in fields(x)})
    return x


# What torch does in a call.


class _Watching(TorchDispatchMode):
    """See what torch does: whether it only makes views and allocates.

    step       only for calls of operators of ours (`operators`), whose own doings are not seen then
    allocated  the tensors, in order;  zeros  the identities of those that begin with zeros
    written    tensors that torch was told of (`tell_written`)
    called     operators, each with its arguments and what it gave
    """

    def __init__(self, step: bool) -> None:
        super().__init__()
        self.step = step
        self.called: list[tuple[Any, tuple[Any, ...], Any]] = []
        self.allocated: list[Tensor] = []
        self.zeros: set[int] = set()
        self.written: list[Tensor] = []
        self.only_launches = True

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in operators and not self.step:
            with self:
                return operators[function].function(*args)
        found = function(*args, **(kwargs or {}))
        if function in operators:
            self.called.append((function, args, found))
        elif function in ALLOCATE:
            self.allocated.append(found)
            self.zeros |= {id(found)} if ALLOCATE[function] else set()
        elif not function.is_view:
            self.only_launches = False
        return found


class _Allocating(TorchDispatchMode):
    """Give these tensors, in order, instead of others that have elements."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        super().__init__()
        self.left = iter(tensors)

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function in operators:
            with self:
                return operators[function].function(*args)
        found = function(*args, **(kwargs or {}))
        return next(self.left) if function in ALLOCATE and found.numel() else found


class _Here(threading.local):
    within = False
    written: list[Tensor] | None = None
    """Gets the tensors of `tell_written`."""


_here = _Here()


@contextmanager
def _within(written: list[Tensor] | None = None) -> Iterator[None]:
    """Plan no calls within: they are parts of the one that is planned. `written` gets the tensors of `tell_written`."""
    before, _here.within, _here.written = (_here.within, _here.written), True, written
    try:
        yield
    finally:
        _here.within, _here.written = before


def tell_written(tensors: list[Tensor]) -> None:
    """Tell torch that kernels have written to tensors (`increment_version`), also at later calls by a plan."""
    if _here.written is not None:
        _here.written += tensors
    elif _here.within:
        return  # a call by a plan, which tells by itself
    torch.autograd.graph.increment_version(tensors)


def planning() -> bool:
    """Tell whether this thread executes a function to plan it."""
    return _here.within


# The kind of a call.


def kind_of(args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[Tensor]) -> Hashable | None:
    """Return the kind of a call, whose tensors are appended in order; None: it is not planned.

    Every planned call pays for this: of its time on the host it is the most.
    """
    now = epoch()
    if now is None or _here.within or diversion.get() is not None or is_transformed():
        return None
    kind: list[Any] = [now, _deterministic(), len(args)]
    try:
        for x in args:
            if type(x) is Tensor:
                tensors.append(x)
                kind.append(Tensor)
            else:
                kind.append(x if type(x) in _SAME else _without_tensors(x, tensors))
        if kwargs:
            kind.append(_without_tensors(kwargs, tensors))
    except TypeError:
        return None
    if not tensors:
        return None
    if _any_autocast() and torch.is_autocast_enabled("cuda"):
        kind.append(torch.get_autocast_dtype("cuda"))
    on_gpu, ordinal = tensors[0].is_cuda, tensors[0].get_device()
    if ("cuda" if on_gpu else tensors[0].device.type) not in PLANNED:
        return None
    kind.append(ordinal)
    if on_gpu:
        if _is_capturing():
            return None
        kind.append(_stream_of(ordinal))
    if needy(tensors):
        kind += [x.requires_grad for x in tensors]
    spans, known, aligned = [], _shapes.get, ALIGNED
    try:
        for x in tensors:
            shape, start = (x.shape, x.stride(), x.dtype), x.data_ptr()
            if not start or x.is_neg() or x.get_device() != ordinal:  # or it has no elements
                return None
            number, size = known(shape) or _known(shape)
            kind += number, start % aligned
            spans.append((start, start + size))
    except RuntimeError:  # nested tensors have no strides, sparse ones and those of `is_grads_batched=True` no data
        return None
    if len(spans) > 1:
        kind.append(_overlaps(spans))
    return tuple(kind)


def needy(tensors: Sequence[Tensor]) -> bool:
    """Tell whether one of these tensors needs a gradient here."""
    return torch._C._any_requires_grad(*tensors) and torch.is_grad_enabled() and not _excluded(_AUTOGRAD)


_excluded, _AUTOGRAD = torch._C._dispatch_tls_is_dispatch_key_excluded, torch._C.DispatchKey.AutogradCUDA
_deterministic = torch._C._get_deterministic_algorithms
_is_capturing, _stream_of = (
    getattr(torch._C, f"_cuda_{name}", None) for name in ("isCurrentStreamCapturing", "getCurrentRawStream")
)
_any_autocast = torch._C._is_any_autocast_enabled
_modes, _levels, _is_traced = (
    torch._C._len_torch_dispatch_stack, torch._C._are_functorch_transforms_active, torch._C._is_tracing
)  # fmt: skip


def is_transformed() -> bool:
    """Tell whether torch does more with calls than to run them: modes, transforms of `torch.func`, tangents, traces."""
    return bool(_modes() or _levels()) or forward_ad._current_level >= 0 or _is_traced()


PLANNED: tuple[str, ...] = ("cuda",)
"""Types of devices on which calls are planned."""

ALIGNED = 128
"""Bytes up to which alignments tell calls apart."""

_shapes: dict[Hashable, tuple[int, int]] = {}
_numbers = itertools.count()


def _known(shape: tuple[torch.Size, tuple[int, ...], torch.dtype]) -> tuple[int, int]:
    """Return the number of a shape with strides and dtype, and the bytes from the first to the last element."""
    _, size = reach(*shape[:2], shape[2].itemsize)  # torch has no negative strides
    if len(_shapes) >= MOST_SHAPES:
        _shapes.clear()
    found = _shapes[shape] = next(_numbers), size
    return found


def _overlaps(spans: Sequence[tuple[int, int]]) -> Hashable:
    """Return how tensors overlap: None where they do not, else `_distances`."""
    end = 0
    for start, its_end in sorted(spans):
        if start < end:
            return _distances(spans)
        end = its_end
    return None


def _distances(spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return for each tensor which group of overlapping ones it is in, and its distance from the group's start.

    A group has the index of its first tensor.
    """
    groups: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if groups and start < groups[-1][1]:
            groups[-1] = groups[-1][0], max(groups[-1][1], end)
        else:
            groups.append((start, end))
    starts = [next(low for low, high in groups if low <= start < high) for start, _ in spans]
    return tuple((starts.index(low), start - low) for low, (start, _) in zip(starts, spans, strict=True))


_SAME = frozenset((str, bytes, type(None), torch.dtype, torch.device, torch.layout))
"""Types of values that are themselves told apart; those of numbers are told apart too."""

_fields: dict[type, tuple[str, ...]] = {}


def _without_tensors(x: Any, tensors: list[Tensor], within: tuple[FunctionType, ...] = ()) -> Any:
    """Return the kind of arguments but for their tensors, which are appended. Errors: TypeError if it is not fixed.

    within  functions that reach `x`
    """
    kind = type(x)
    if kind is Tensor or kind is nn.Parameter:
        tensors.append(x)
        return Tensor
    if kind in _SAME:
        return x
    if kind is int or kind is bool:
        return kind, x
    if kind is float:
        return kind, x.hex()
    if kind is dict:
        return kind, *x, *[_without_tensors(each, tensors, within) for each in x.values()]
    if isinstance(x, (tuple, list)):
        return kind, *[each if type(each) in _SAME else _without_tensors(each, tensors, within) for each in x]
    if kind is FunctionType:
        return within.index(x) if x in within else _of_function(x, tensors, (*within, x))
    if kind is functools.partial:
        held = [_without_tensors(each, tensors, within) for each in (x.func, x.args, x.keywords)]
        return kind, () if within else state_of(x), *held
    names = _fields.get(kind)
    if names is None and is_dataclass(kind):
        names = _fields[kind] = tuple(each.name for each in fields(kind))
    if names is not None:
        return kind, *[_without_tensors(getattr(x, name), tensors, within) for name in names]
    if fingerprint.lasts(x):
        return fingerprint.constant_key(x)
    raise TypeError(f"a {kind.__name__} may change")


def _of_function(x: FunctionType, tensors: list[Tensor], within: tuple[FunctionType, ...]) -> Any:
    """Return the kind of a function, the last of `within`.

    Its global variables are told apart by identity, as those are that a kernel was compiled with, but for tensors and
    functions of its module.
    """
    held = x.__defaults__, x.__kwdefaults__, x.__dict__ or None, *map(fingerprint.content, x.__closure__ or ())
    parts: list[Any] = [state_of(x)] if within == (x,) else []
    parts += [_without_tensors(each, tensors, within) for each in held]
    for _, value in globals_of(x):
        parts.append(_without_tensors(value, tensors, within) if type(value) in _READ else fingerprint.Same(value))
    return x.__code__, fingerprint.Same(x.__globals__), *parts


_READ = frozenset((Tensor, nn.Parameter, FunctionType, functools.partial, tuple, list))
"""Types of global variables that may contain tensors."""
