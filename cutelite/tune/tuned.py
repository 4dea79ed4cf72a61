"""`@autotune`: a tuned host function, or a tuned kernel."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import fields
from os import PathLike
from types import FunctionType
from typing import TYPE_CHECKING, Any, overload

from cutelite.dispatch.arguments import MISSING, ArgumentError
from cutelite.dispatch.divert import left_out, on_host
from cutelite.dispatch.kernel import Kernel
from cutelite.dispatch.launch import Launch, from_subscript
from cutelite.dispatch.mistakes import without_our_frames
from cutelite.tune.configs import KernelConfig, for_kernel, launch_of, variant
from cutelite.tune.problem import Problem, quick_key
from cutelite.tune.report import Report
from cutelite.tune.timing import Timer, on_gpu
from cutelite.tune.tuner import Key, Prune, Tuner


class _Tuned:
    """The common part of tuned functions and tuned kernels."""

    __qualname__: str

    def __init__(self, tuner: Tuner) -> None:
        self._tuner = tuner

    @property
    def configs(self) -> list[Any]:
        """The configs to choose from."""
        return list(self._tuner.configs)

    @property
    def reports(self) -> list[Report]:
        """The reports of the tunings that this process has made or found on disk, in order."""
        return list(self._tuner.reports.values())

    def forget(self) -> None:
        """Forget the choices and the loaded tables of this process. Winners on disk are kept."""
        self._tuner.forget()

    def save(self, path: str | PathLike[str]) -> int:
        """Write the winners that this process found or loaded to a table, to be shipped. Return their number."""
        return self._tuner.save(path)

    def load(self, path: str | PathLike[str]) -> int:
        """Load winners from a table that `save` wrote, so that they need not be measured. Return how many can be used.

        A winner is used on GPUs of the same model, with this version of the library and any driver. Winners whose
        config is no longer among the configs are left out.

        Errors  ValueError for a file that is no table of this function; OSError
        """
        return self._tuner.load(path)

    def __reduce__(self) -> str:
        """Pickle by name, as functions are pickled; a copy is the object itself."""
        return self.__qualname__

    def __set_name__(self, owner: type, name: str) -> None:
        raise TypeError(f"{owner.__name__}.{name}: autotune decorates functions and kernels of a module, not methods")

    def __cutelite_key__(self) -> tuple[Any, ...]:
        return self._tuner.subject, tuple(self._tuner.configs)


class TunedFunction(_Tuned):
    """A host function whose first parameter is set to the fastest config. Made by `autotune`.

    Threads may call it at the same time.
    """

    __name__: str

    def __init__(self, function: FunctionType, tuner: Tuner) -> None:
        functools.update_wrapper(self, function, updated=())
        super().__init__(tuner)
        self.function = function
        whole = inspect.signature(function)
        self.__signature__ = whole.replace(parameters=[*whole.parameters.values()][1:])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function with the config for these arguments. A call unlike all earlier ones tunes first.

        Errors  `AutotuneError` if no config runs; `CudaError`; errors of the function
        """
        config = self.configs[0] if left_out() else self.config_for(*args, **kwargs)
        return self.function(config, *args, **kwargs)

    def config_for(self, *args: Any, **kwargs: Any) -> Any:
        """Return the config for these arguments, by tuning if it is not known. The function itself is not called."""
        return self._tuner.pick(quick_key(args, kwargs), lambda: self._problem(args, kwargs))

    def shipped(self, *args: Any, **kwargs: Any) -> Any:
        """Return the config that a loaded table has for these arguments (`load`); None if there is none."""
        return self._tuner.shipped(lambda: self._problem(args, kwargs))

    def _problem(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Problem:
        call = functools.partial(functools.partial, self.function)
        return Problem(call, args, kwargs, _named(self.function, args, kwargs), {})

    def __repr__(self) -> str:
        return f"<{self.function.__qualname__} of {len(self.configs)} configs>"


def _named(function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return arguments by the names of their parameters, with defaults filled in, and without the config."""
    signature = inspect.signature(function)
    bound = signature.bind(None, *args, **kwargs)
    bound.apply_defaults()
    _, *names = signature.parameters
    named: dict[str, Any] = {}
    for name in names:
        more = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        named.update(bound.arguments[name] if more else {name: bound.arguments[name]})
    return named


class TunedKernel(_Tuned):
    """A kernel whose Constexpr parameters, launch settings and options are filled in from the fastest config.

    Launched as ``kernel[grid, block](...)``, where grid, block and cluster may be functions of arguments and config by
    name: ``lambda meta: cl.ceil_div(meta["x"].shape[0], meta.BM)``.
    """

    __name__: str

    def __init__(self, kernel: Kernel, tuner: Tuner) -> None:
        functools.update_wrapper(self, kernel, updated=())
        super().__init__(tuner)
        self.kernel = kernel
        self.__cutelite_function__ = kernel.__cutelite_function__  # a kernel that calls it gives what configs fill in

    @functools.cached_property
    def _variants(self) -> list[tuple[Any, KernelConfig, Kernel]]:
        """Each config, its meaning, the kernel with its options. Errors: TypeError for a config without a meaning."""
        made: dict[str, Kernel] = {}
        found = []
        for config in self._tuner.configs:
            means = for_kernel(config, self.kernel.signature)
            text = repr((means.options, "block" in means.launch, "cluster" in means.launch))
            if text not in made:
                made[text] = variant(self.kernel, means)
            found.append((config, means, made[text]))
        return found

    __iter__ = None  # by `__getitem__` alone Python would iterate for ever

    def __getitem__(self, key: Any) -> Callable[..., None]:
        """Return a callable. `key` is a grid; (grid, block), then stream and shared memory; or a `Launch`."""
        return functools.partial(self.launch, from_subscript(key))

    @without_our_frames
    def launch(self, launch: Launch, /, *args: Any, **kwargs: Any) -> None:
        """Run the kernel with the config for these arguments. A call unlike all earlier ones tunes first.

        Errors  `AutotuneError` if no config runs; others as for `Kernel.launch`
        """
        on_host(self.__name__)
        if not left_out():
            self._launching(self.config_for(launch, *args, **kwargs), launch)(*args, **kwargs)

    def config_for(self, launch: Launch, /, *args: Any, **kwargs: Any) -> Any:
        """Return the config for these arguments, by tuning if it is not known. The kernel is not launched."""
        how = _how(launch)
        return self._tuner.pick((how, quick_key(args, kwargs)), lambda: self._problem(launch, how, args, kwargs))

    def _launching(self, config: Any, launch: Launch) -> Callable[..., None]:
        _, means, kernel = next(entry for entry in self._variants if entry[0] is config)
        signature = kernel.signature
        positional = signature.positional[: kernel.__cutelite_function__.__code__.co_argcount]  # without *args

        def call(*args: Any, **kwargs: Any) -> None:
            given = signature.match(args, kwargs | means.constants)
            shaped = launch_of(config, launch, means.launch, given)
            kernel.launch(shaped, *(given.pop(name) for name in positional), **given)

        return call

    def _problem(self, launch: Launch, how: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Problem:
        signature = self.kernel.signature
        constants = self._variants[0][1].constants
        for name in (*signature.positional[: len(args)], *kwargs):
            if any(name in means.constants for _, means, _ in self._variants):
                raise ArgumentError(f"{self.__name__}() got `{name}`, which its configs set")
        matched = signature.match(args, kwargs | constants)
        named = {name: x for name, x in matched.items() if x is not MISSING and name not in constants}
        bound = signature.bind(args, kwargs | constants)
        dims = dict(zip(bound.dims, bound.values[len(bound.values) - len(bound.dims) :], strict=True))
        return Problem(lambda config: self._launching(config, launch), args, kwargs, named, dims, how)

    if not TYPE_CHECKING:  # which knows all attributes

        def __getattr__(self, name: str) -> Any:
            own = f": that of its kernel is `{self.__name__}.kernel.{name}`" if hasattr(Kernel, name) else ""
            raise AttributeError(f"a tuned kernel has no `{name}`{own}", name=name, obj=self)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        self.kernel(*args, **kwargs)  # it raises, and says how kernels are launched

    def __repr__(self) -> str:
        return f"<{self.kernel!r} of {len(self.configs)} configs>"


def _how(launch: Launch) -> tuple[Any, ...]:
    """Return the settings of a launch, without those that follow from the arguments; for functions, their code."""
    asked = [value for field in fields(Launch) if callable(value := getattr(launch, field.name))]
    codes = tuple(getattr(value, "__code__", type(value)) for value in asked)
    settings = (launch.block, launch.cluster, launch.smem, launch.cooperative, launch.pdl, launch.carveout)
    return codes, tuple(repr(value) for value in settings if not callable(value))


class Autotune:
    """The decorator that `autotune` returns."""

    def __init__(self, configs: Iterable[Any], how: dict[str, Any]) -> None:
        self._configs, self._how = list(configs), how

    @overload
    def __call__(self, function: Kernel, /) -> TunedKernel: ...
    @overload
    def __call__(self, function: Callable[..., Any], /) -> TunedFunction: ...
    def __call__(self, function: Any, /) -> Any:
        if isinstance(function, Kernel):
            subject = (function.__cutelite_function__, function.given, function.block, function.cluster)
            return TunedKernel(function, Tuner(function.__name__, self._configs, subject, **self._how))
        if not isinstance(function, FunctionType):
            raise TypeError(f"autotune decorates a function or a kernel, not {function!r}")
        if not function.__code__.co_argcount:
            raise TypeError(f"{function.__name__}() needs a first parameter for the config")
        return TunedFunction(function, Tuner(function.__name__, self._configs, function, **self._how))


def autotune(
    configs: Iterable[Any],
    key: Iterable[str] | Callable[..., Hashable] | None = None,
    *,
    prune: Prune | None = None,
    restore: Iterable[str] = (),
    timer: Timer = on_gpu,
) -> Autotune:
    """Choose the first parameter of a host function, or the constants of a kernel, by measurement.

        @cl.autotune([cl.Config(BM=128), cl.Config(BM=256)], key=("a", "b"))
        def gemm(config, a, b, c):
            build(config.BM)[grid(config, c), 384](a, b, c)

    configs  the choices: any objects for a host function, names with values for a kernel. The first one is used if
             nothing can be measured (no GPU, CUTELITE_AUTOTUNE=0)
    key      the facts that the choice depends on: names of arguments (shape and strides of arrays, values of others)
             and, for kernels, of dims; or a function of the arguments. Default: all arguments, floats by type only.
             It always depends on the dtypes of arrays, and on the GPU
    prune    (configs, *args, **kwargs) -> those worth trying. At least two are tried, if there are two
    restore  names of arguments that the function changes in place: after tuning they have their old contents
    timer    the function that measures, a `cutelite.tune.timing.Timer`

    A config that does not compile, fit or run is skipped, and the report says why (CUTELITE_AUTOTUNE_REPORT=1).
    Tuning calls the function many times, also with the caller's own arrays. The results that it writes there are
    written again by the call that follows.
    """
    if isinstance(configs, Mapping | str) or not isinstance(configs, Iterable):
        raise TypeError(f"autotune takes a list of configs, not {configs!r}")
    for what, given in (("key", () if key is None or callable(key) else key), ("restore", restore)):
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise TypeError(f"{what} takes a sequence of names: {what}=({given!r},)")
    for what, function in (("prune", prune), ("timer", timer)):
        if function is not None and not callable(function):
            raise TypeError(f"{what} takes a function, not {function!r}")
    names: Key = key if key is None or callable(key) else tuple(key)
    return Autotune(configs, {"key": names, "prune": prune, "restore": tuple(restore), "timer": timer})
