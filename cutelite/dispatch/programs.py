"""`@program`: a host function that launches several kernels, issued by one call of machine code.

In    a Python function whose launches depend on its arguments' shapes and constants, not on the contents of arrays
Out   `Program`: on NumPy arrays it runs the function, simulated; on a GPU it issues launches planned once per shapes

The function is executed once for each combination of shapes, dtypes and constants, with its launches diverted
(`divert.py`). From them a plan is made: loaded kernels, their parameters, which of these are addresses in which
argument, and one block of memory for all workspaces. At later calls the launcher (`cutelite_rt/launcher`) checks the
arguments by tables, as it does a kernel's, and issues the plan's launches.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import cutelite_rt as rt
from cutelite import config
from cutelite.dispatch import building, nested
from cutelite.dispatch.arguments import ArgumentError
from cutelite.dispatch.device import arrays_in, has_gpu
from cutelite.dispatch.divert import diversion, diverted, on_host
from cutelite.dispatch.launch import Launch, LaunchError
from cutelite.dispatch.mistakes import around_users_code, is_mistake, shorten, without_our_frames
from cutelite.ir.contract import np, numpy_dtype
from cutelite.ir.types import SCALARS, Scalar
from cutelite.threads import OfThread
from cutelite.tuples import NamedTuple
from cutelite_rt import forks
from cutelite_rt.arrays import stream as streams
from cutelite_rt.arrays.memory import is_array
from cutelite_rt.callers import calling_line
from cutelite_rt.gpu.driver import get as driver
from cutelite_rt.launcher import asked, native
from cutelite_rt.launcher.outcomes import WORKSPACE, Moved, Plan, PlannedLaunch
from cutelite_rt.launcher.state import Callbacks, Launcher
from cutelite_rt.shapes import whole
from cutelite_rt.signature import data, kinds
from cutelite_rt.signature.bind import Address, MapRequest, home_of, packable
from cutelite_rt.signature.data import Unsupported
from cutelite_rt.signature.table import Table

if TYPE_CHECKING:
    import os

    from cutelite.dispatch.kernel import BoundKernel, Kernel, Planned

T = TypeVar("T")

_ALIGN = 256
"""Workspaces are aligned to this many bytes, as allocations are."""

_MOST_SHAPES = 256
"""At most this many groups of plans are kept, one for each combination of shapes; then all are dropped."""

_NOWHERE = 1 << 46
"""The first address given to workspaces while a plan is made. No argument's memory is there."""


@without_our_frames
def program(function: Callable[..., None]) -> Program:
    """Decorator: make a host function issue all its launches by one call of machine code.

        @cl.program
        def step(x, scale, out):
            hidden = cl.workspace(x.shape, cl.f32)
            normed[x.shape[0], 256](x, hidden)
            scaled[x.shape[0], 256](hidden, scale, out)

    The function is executed for the first arguments of each combination of shapes, strides, dtypes, devices and
    alignments of arrays, and values of other arguments. Later calls with the same combination do not execute it: they
    issue the same launches with the new arrays' addresses. So it may compute, branch and loop by anything but the
    contents of arrays, and it must return None. The arrays that it passes to kernels must be its arguments, views of
    them, or a `workspace`. All launches go to the current stream of the arrays' library. A stream capture into a CUDA
    graph captures them; call the program once before the capture.
    On NumPy arrays the function is executed at each call, and its kernels are simulated.
    Errors  at a call: `ArgumentError` for other arrays, for a launch that names a stream, and for a result that is not
            None; and the errors of the launches
    """
    return Program(function)


@without_our_frames
def workspace(shape: int | tuple[int, ...], dtype: Any) -> Any:
    """Return an array with undefined contents on a `program`'s device, for intermediate results.

    All workspaces of a program are in one block of memory. Two of them share bytes if the launches from the first
    to the last that uses either do not overlap.
    Errors  RuntimeError outside of a program; TypeError for an object that is no dtype (`cl.f32` is one)
    """
    if not isinstance(dtype, Scalar):
        raise ArgumentError(f"a workspace has a dtype, such as cl.f32, not {dtype!r}")
    calling = _calling.get()
    if calling is None:
        raise RuntimeError("a workspace is a program's: call cl.workspace in a function that is a @cl.program")
    extents = tuple(whole(n, "the shape of a workspace") for n in (shape if isinstance(shape, tuple) else (shape,)))
    return calling.workspace(extents, dtype.name)


def keep(array: T) -> T:
    """Return an array that has the same address whenever a stream launches the same: a program's launches may take it.

    Outside of a program this does nothing.
    """
    calling = _calling.get()
    if calling is not None:
        calling.kept.append(rt.read(array))
    return array


class _Calling:
    """A call of a program's function: its device, the workspaces that it asked for, and the arrays kept for it."""

    def __init__(self, where: Any, planned: bool, arguments: Iterable[Any] = ()) -> None:
        self.where, self.planned = where, planned  # a device; None: the simulator's
        self.arguments = arguments
        self.workspaces: list[rt.DeviceArray] = []
        self.unplanned: list[Any] = []  # workspaces without a plan
        self.kept: list[rt.ArrayView] = []
        self._end = _NOWHERE

    def workspace(self, shape: tuple[int, ...], dtype: str) -> Any:
        if self.where is None:
            self.unplanned.append(np.empty(shape, numpy_dtype(SCALARS[dtype])))
            return self.unplanned[-1]
        if not self.planned:
            if streams.is_captured(self.where, streams.of(self.arguments)):
                text = (
                    "this call has no plan, since arguments overlap or have no elements, or nothing is launched; then"
                )
                raise ArgumentError(f"{text} a workspace lasts as long as the call, and no graph can use it")
            self.unplanned.append(rt.empty(shape, dtype, self.where))
            return self.unplanned[-1]
        made = rt.DeviceArray(shape, dtype, self.where, self._end, owner=self)
        self._end += _rounded(made.nbytes)
        self.workspaces.append(made)
        return made


def _constant(x: Any) -> tuple[Hashable, bool]:
    """Return a constant's key, as `building.constant`. Errors: TypeError for an array: another group has such calls."""
    if is_array(x):
        raise TypeError("an array is no constant")
    return building.constant(x)


_calling: OfThread[_Calling | None] = OfThread("calling", None)


class _Recorded(NamedTuple):
    kernel: Kernel
    launch: Launch
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    line: str  # of the launch, in the program

    def planned(self) -> Planned | None:
        try:
            found: Planned | None = self.kernel.planned(self.launch, *self.args, **self.kwargs)
        except (ArgumentError, LaunchError) as error:
            error.add_note(f"of the launch{self.line}")
            raise
        return found

    def arguments(self) -> dict[str, Any]:
        """Return an argument for each parameter of the kernel."""
        found: dict[str, Any] = self.kernel.signature.match(self.args, self.kwargs)
        return found

    def aligned(self) -> int:
        """Return the largest alignment of addresses that the kernel's annotations require. Bind the launch first."""
        most = 1
        for parameter in self.kernel.signature.parameters:
            with suppress(Unsupported):  # of a list that may be None, and is
                most = max((most, *(getattr(leaf, "align", None) or 1 for leaf in parameter.data.leaves())))
        return most


class Program:
    """A host function that launches several kernels, made by `program`. Threads may call it at the same time.

    entry   what calls go to: whose errors' tracebacks have our frames
    """

    __name__: str
    __qualname__: str

    def __init__(self, function: Callable[..., None], tied: bool = False) -> None:
        """Make a program of a function.

        tied  where arrays of a call overlap, their distances are those of the first call: only so are overlapping
              arrays planned
        """
        functools.update_wrapper(self, function)
        self.function, self.tied = function, tied
        try:
            self._signature = inspect.signature(function)
        except (TypeError, ValueError):
            raise ArgumentError(f"a program is a Python function, not {function!r}") from None
        if hasattr(function, "__cutelite_function__"):
            raise ArgumentError(f"a program is a function that launches kernels, not {function!r}")
        self._groups: dict[Hashable, _Group] = {}
        self._lock = forks.lock()
        self._of_parts: dict[Hashable, Program] = {}  # by structure of the arguments
        kinds = {parameter.kind for parameter in self._signature.parameters.values()}
        several = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
        self.entry: Callable[..., None] = self._by_python if kinds.isdisjoint(several) else self._by_parts
        if (
            inspect.iscoroutinefunction(function)
            or inspect.isgeneratorfunction(function)
            or isinstance(function, type)
            or not hasattr(function, "__name__")
        ):
            raise ArgumentError(f"a program is a plain function, not {function!r}")

    def __repr__(self) -> str:
        return f"<program {self.__qualname__}{self._signature}>"

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Return the program as a method: its object is the first argument, a constant."""
        return self if instance is None else BoundProgram(self, instance)

    def __reduce__(self) -> str:
        """Pickle the program by name, as functions are; a copy is the program itself."""
        return self.__qualname__

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        """Issue the program's launches for these arguments. Errors: as `program` says."""
        try:
            self.entry(*args, **kwargs)
        except Exception as error:
            if is_mistake(error):
                shorten(error)
            raise

    def _by_python(self, *args: Any, **kwargs: Any) -> None:
        self._anew(None, None, None, *args, **kwargs)

    def _by_parts(self, *args: Any, **kwargs: Any) -> None:
        program, parts = self._apart(self._arguments(args, kwargs))
        program(*parts)

    def _apart(self, arguments: Mapping[str, Any]) -> tuple[Program, list[Any]]:
        """Return a program of the parts that the arguments consist of, each an array or a constant, and these parts."""
        parts, key = nested.parts_of(arguments.values())
        found = self._of_parts.get(key)
        if found is None:
            structure = nested.Structure(arguments)

            def of_parts(*given: Any) -> None:
                self._result_of(structure.put_together(given))

            each = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in structure.names]
            of_parts.__name__, of_parts.__qualname__ = self.__name__, self.__qualname__
            of_parts.__signature__ = inspect.Signature(each)  # type: ignore[attr-defined]
            found = self._of_parts.setdefault(key, Program(of_parts, self.tied))
        return found, parts

    def _arguments(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{self.__name__}(): {error}") from None
        bound.apply_defaults()
        return bound.arguments

    def _anew(self, group: _Group | None, key: bytes | None, held: Any, /, *args: Any, **kwargs: Any) -> None:
        """Handle a call without a known plan: make a plan, ask the launcher of another group, or execute the function.

        group, key  the group whose launcher was called, and the key that it did not find; None without a launcher
        """
        on_host(f"the program {self.__name__}")
        arguments = self._arguments(args, kwargs)
        if _calling.get() is not None and diversion.get():  # within another program, which is traced
            return self._result_of(arguments)
        if any(map(nested.is_nested, arguments.values())):
            self.entry = self._by_parts  # from now on: the launcher takes what holds arrays for a constant
            return self._by_parts(*args, **kwargs)
        views = {name: rt.read(x) for name, x in arguments.items() if is_array(x)}
        kind, ordinal = home_of(self.__name__, [*views.items()]) or ("cuda" if has_gpu() else "cpu", 0)
        environment = config.read()
        each_by_python = environment.sync or environment.dry_run or environment.nvtx or environment.profile_dir
        separable = are_apart(views) or self.tied
        if kind != "cuda" or each_by_python or native.unsupported() or diversion.get() or not separable:
            checked = not diversion.get() and _calling.get() is None and separable
            with self._checked(views) if checked else nullcontext():
                return self._executed(arguments, ordinal if kind == "cuda" else None)
        if group is not None and key is not None and _planning.group is not group:
            plan = self._planned(group, arguments, views, ordinal)
            if plan is not None:
                group.launcher.add(key, plan, group.launcher.generation)
                _planning.group = group
                try:
                    return group.entry(*args, **kwargs)  # if it still finds no plan, the function is executed
                finally:
                    _planning.group = None
            return self._executed(arguments, ordinal)
        # The facts that all plans of a group share.
        seen = [(name, view.dtype, view.shape, view.strides, view.device) for name, view in views.items()]
        shape = (*seen, streams.of(arguments.values()))
        with self._lock:
            current = all(source.is_current() for each in self._groups.values() for source in each.watched)
            if not current or len(self._groups) >= _MOST_SHAPES:
                self._groups = {}
            found = self._groups.get(shape)
        if _planning.group is not None or (found is not None and found is group):
            # A plan that was just made, another context, or an argument that reads differently each time.
            return self._executed(arguments, ordinal)
        if found is None:
            made = self._group(arguments, views)
            with self._lock:
                found = self._groups.setdefault(shape, made)
        self.entry = found.entry
        found.entry(*args, **kwargs)
        return None

    def _executed(self, arguments: Mapping[str, Any], ordinal: int | None) -> None:
        """Execute the function; its kernels launch themselves."""
        where = None if ordinal is None else rt.device(ordinal)
        calling = _calling.get() or _Calling(where, False, arguments.values())  # within another program, that one's
        with _calling.set(calling):
            self._result_of(arguments)

    @contextmanager
    def _checked(self, views: Mapping[str, rt.ArrayView]) -> Iterator[None]:
        """Refuse those launches that no plan can have, though none is made here."""
        spans = [view.span for view in views.values()]

        def launched(kernel: Kernel, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            self._check_stream(kernel, launch)
            calling = _calling.get()
            own = [] if calling is None else [*map(rt.read, calling.unplanned), *calling.kept]
            given = kernel.signature.match(args, kwargs).values()
            for view in map(rt.read, arrays_in(list(given))):
                homes = *spans, *(each.span for each in own)
                if view.shape and view.size and not any(start <= view.pointer < end for start, end in homes):
                    raise self._homeless(kernel, view)
            with diverted(None):
                kernel.launch(launch, *args, **kwargs)

        with diverted(launched):
            yield

    def _check_stream(self, kernel: Kernel | BoundKernel, launch: Launch) -> None:
        if launch.stream is not None:
            text = f"a launch of {kernel.__name__} names its stream, but those of a program go where the program goes"
            raise ArgumentError(f"{self.__name__}(): {text}")

    def _homeless(self, kernel: Kernel | BoundKernel, view: rt.ArrayView) -> ArgumentError:
        text = f"an array of {kernel.__name__}, {view.dtype} {view.shape}, lies in no argument"
        return ArgumentError(f"{self.__name__}(): {text}: take it as one, or as a cl.workspace")

    def _result_of(self, arguments: Mapping[str, Any]) -> None:
        bound = inspect.BoundArguments(self._signature, OrderedDict(arguments))
        if self.function(*bound.args, **bound.kwargs) is not None:
            raise ArgumentError(f"{self.__name__}(): a program returns nothing: give it the arrays to write to")

    # Groups: one for all arguments of equal shapes.

    def _group(self, arguments: Mapping[str, Any], views: Mapping[str, rt.ArrayView]) -> _Group:
        rows: dict[str, kinds.Parameter] = {name: kinds.Constant(name) for name in arguments}
        for name, view in views.items():
            rows[name] = kinds.Array(name, "", view.dtype, data.Strided(view.shape, view.strides))
        said = self._signature.parameters
        positional = sum(p.kind != p.KEYWORD_ONLY for p in said.values())
        only = sum(p.kind == p.POSITIONAL_ONLY for p in said.values())
        table = Table(kinds.Signature(self.__name__, tuple(rows.values()), positional, only))
        defaults = {name: p.default for name, p in said.items() if p.default is not p.empty}
        group = _Group([name for name in arguments if name in views])
        anew = functools.partial(self._anew, group)
        calls = Callbacks(anew, _constant, lambda held: bytes(held[0]))
        doc = "launch several kernels, compiled"
        group.launcher = building.launcher_of(table, calls, driver(), defaults, doc, config.read())
        group.entry = group.launcher.bound(asked.facts_of((1, 1, 1), "program", None), None)
        return group

    # Plans.

    def _planned(
        self, group: _Group, arguments: Mapping[str, Any], views: Mapping[str, rt.ArrayView], ordinal: int
    ) -> Plan | None:
        """Return the plan for a call; None where there is nothing to launch."""
        calling, recorded = self.traced(arguments, rt.device(ordinal))
        block = None
        if calling.workspaces:  # placed by the first and the last launch that uses each
            first = (each.planned() for each in recorded)
            total, offsets = self.offsets(calling, [planned and planned.values for planned in first])
            block = rt.empty((max(total, 1) + _ALIGN,), "u8", rt.device(ordinal))
            base = -(-block.pointer // _ALIGN) * _ALIGN
            for made, offset in zip(calling.workspaces, offsets, strict=True):
                made.pointer = base + offset
                made.__dict__.pop("dltensor", None)
        launches, watched = [], {id(source): source for source in group.watched}
        spans = [views[name].span for name in group.arrays]
        spaces = [] if block is None else [(block.pointer, block.pointer + block.nbytes, 0)]
        spaces += [(*view.span, 0) for view in calling.kept]
        for each in recorded:
            planned = each.planned()
            if planned is None:
                continue
            values = [packable(each.kernel.__name__, value) for value in planned.values]
            moved = [move for move in self.moved(each, planned.values, spans, spaces) if move.array != WORKSPACE]
            packed = planned.function.layout.pack(values)
            launches.append(PlannedLaunch(planned.function, planned.config, packed, moved))
            watched |= {id(source): source for source in planned.watched}
        group.watched = tuple(watched.values())
        group.launcher.watch(building.watch(group.watched))
        memory = ((block, calling.kept), streams.of(arguments.values())) if spaces else None
        return Plan(launches, memory) if launches else None

    def traced(self, arguments: Mapping[str, Any], where: Any) -> tuple[_Calling, list[_Recorded]]:
        """Execute the function without launching; return the call and its launches in order."""
        recorded: list[_Recorded] = []
        calling = _Calling(where, planned=True)

        def record(kernel: Kernel, launch: Launch, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            recorded.append(_Recorded(kernel, launch, args, kwargs, calling_line()))

        with _calling.set(calling), diverted(record):
            self._result_of(arguments)
        for each in recorded:
            self._check_stream(each.kernel, each.launch)
        return calling, recorded

    def offsets(self, calling: _Calling, planned: Sequence[Sequence[Any] | None]) -> tuple[int, list[int]]:
        """Return the bytes of all workspaces, and the offset of each; `planned`: each launch's parameter values."""
        used = [[view.pointer for value in each or () if (view := _view(value))] for each in planned]
        lives = []
        for made in calling.workspaces:
            its = [i for i, at in enumerate(used) if any(0 <= p - made.pointer < max(made.nbytes, 1) for p in at)]
            lives.append((_rounded(made.nbytes), its[0] if its else 0, its[-1] if its else 0))
        offsets, total = placed(lives)
        return total, offsets

    def moved(
        self,
        of: _Recorded,
        values: Iterable[Any],
        spans: Sequence[tuple[int, int]],
        spaces: Sequence[tuple[int, int, int]],
    ) -> Iterator[Moved]:
        """Yield each parameter of a launch that depends on an address, with the argument or workspace it lies in.

        spans   (first address, address after the last) of each argument that is an array
        spaces  likewise of each workspace, with a number that is added to offsets in it
        Errors  `ArgumentError` for an address in neither, and for tensor maps that programs do not support
        """
        name, aligned = of.kernel.__name__, of.aligned()
        homes = [(i, *span, 0) for i, span in enumerate(spans)] + [(WORKSPACE, *space) for space in spaces]
        for parameter, value in enumerate(values):
            view = _view(value)
            if view is None and not isinstance(value, Address):
                continue
            if view is None:
                raise ArgumentError(f"{self.__name__}(): {name} is given an address for `{value.name}`: "
                                    "give it the array")  # fmt: skip
            home = next((home for home in homes if home[1] <= view.pointer < home[2]), None)
            if home is None:
                raise self._homeless(of.kernel, view)
            array, start, _, base = home
            form = value.form if isinstance(value, MapRequest) else None
            if isinstance(value, MapRequest) and not value.tiling.by_launchers:
                text = "is for pixels that lie apart, or along one row of images"
                raise ArgumentError(f"{self.__name__}(): `{value.name}` {text}, which programs have not")
            must = aligned if view.pointer % aligned == 0 else 1
            yield Moved(array, base + view.pointer - start, parameter, must, form, view.shape, view.strides)

    # For C.

    @around_users_code
    def export(
        self,
        path: str | os.PathLike[str] | None,
        /,
        *examples: Any,
        arch: str | Sequence[str] = "sm_90a",
        name: str | None = None,
        **given: Any,
    ) -> rt.CStub:
        """Write `NAME.h` and `NAME.c` to a folder: all kernels and the program's launches, for arrays of these shapes.

        path      None: write nothing, only return the text
        examples  arrays like those of later calls, and the program's constants. Where an example's address is a
                  multiple of 16 bytes, later ones must be too
        arch      architectures to compile for
        name      the name of the C functions; default: the program's
        Errors    as calling it; ValueError for a name that is none in C. It needs no GPU
        """
        from cutelite.dispatch.export_program import exported

        program, parts = self._apart(self._arguments(examples, given))
        arguments = program._arguments(parts, {})
        made = exported(program, arguments, (arch,) if isinstance(arch, str) else arch, name)
        if path is not None:
            made.save(path)
        return made


class BoundProgram(functools.partial[None]):
    """A program that is a method, bound to an object. Other attributes are the program's."""

    func: Program

    def export(self, path: str | os.PathLike[str] | None, /, *examples: Any, **given: Any) -> rt.CStub:
        """As `Program.export`, for this object."""
        return self.func.export(path, *self.args, *examples, **given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.func, name)

    def __repr__(self) -> str:
        return f"<{self.func!r} of {self.args[0]!r}>"


class _Group:
    """The plans of a program for arguments of equal shapes.

    arrays   names of the parameters that are arrays, in order
    watched  the sources of their kernels
    entry    the function that launches by machine code
    """

    launcher: Launcher
    entry: Callable[..., None]

    def __init__(self, arrays: Sequence[str]) -> None:
        self.arrays = arrays
        self.watched: tuple[Any, ...] = ()


class _Planning(threading.local):
    group: _Group | None = None
    """The group whose launcher is called with a plan that was just made, so that it is not planned twice."""


_planning = _Planning()


def placed(lives: Iterable[tuple[int, int, int]]) -> tuple[list[int], int]:
    """Place pieces of memory, given as (bytes, first launch, last launch); return their offsets and the bytes in all.

    >>> placed([(512, 0, 1), (256, 1, 2), (512, 2, 3)])
    ([0, 512, 0], 768)
    """
    pieces = list(lives)
    offsets, done = [0] * len(pieces), list[tuple[int, int, int, int]]()
    for i in sorted(range(len(pieces)), key=lambda i: -pieces[i][0]):
        size, first, last = pieces[i]
        at = 0
        for start, end in sorted((o, o + s) for o, s, f, e in done if f <= last and first <= e):
            if at + size <= start:
                break
            at = max(at, end)
        offsets[i] = at
        done.append((at, size, first, last))
    return offsets, max((at + size for at, size, *_ in done), default=0)


def _view(value: Any) -> rt.ArrayView | None:
    if isinstance(value, MapRequest | Address):
        return value.view
    return value if isinstance(value, rt.ArrayView) else None


def are_apart(views: Mapping[str, rt.ArrayView]) -> bool:
    """Tell whether every address belongs to one array: all arrays have elements, and none overlap."""
    if not all(math.prod(view.shape) and min((*view.strides, 0)) >= 0 for view in views.values()):
        return False
    spans = sorted(view.span for view in views.values())
    return all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))


def _rounded(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN
