"""Kernels in JAX: opaque calls within `jax.jit`, in XLA's stream, through XLA's foreign function interface.

    out = jax.ShapeDtypeStruct(a.shape, a.dtype)
    c = call(vector_add, out, grid=cl.ceil_div(a.size, 256), block=256)(a, b)

In: a kernel, its launch, and the shapes of its outputs. Out: a function of JAX arrays. On a GPU the kernel is launched
on XLA's buffers; on the CPU it is simulated. XLA calls Python for each launch, which takes about as long as a launch
from Python, so the GPU waits for the host more often than with XLA's own kernels.

`interop.xla` has the interface itself.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np

import cutelite_rt as rt
from cutelite.dispatch import BoundKernel, Kernel, Launch
from cutelite.dispatch.fingerprint import constant_key
from cutelite.dispatch.launch import Extent
from cutelite.dispatch.signature import InOrder
from cutelite.interop.xla import TARGET, register
from cutelite_rt import forks


def call(
    kernel: Kernel | BoundKernel,
    outputs: Any,
    *,
    grid: Extent,
    block: Extent | None = None,
    cluster: Extent | None = None,
    smem: int = 0,
    aliases: Mapping[int, int] | None = None,
    vmap_method: str | None = None,
    **others: Any,
) -> Callable[..., Any]:
    """Return a function of JAX arrays that launches `kernel`, to be used within `jax.jit` or without.

    outputs   what it returns: `jax.ShapeDtypeStruct`s, one or several
    grid, block, cluster, smem   how it is launched (`cutelite.Launch`)
    aliases   input number -> number of the output that is written over it; such outputs are not passed to the kernel
              again. XLA copies the input first where it is needed elsewhere
    vmap_method   as `jax.ffi.ffi_call` has it; without, the call cannot be batched
    others    arguments that are no arrays, by name: numbers and constants
    Gives     a function of the arrays for the kernel's other parameters, in order: inputs, then outputs. It returns
              arrays as `outputs` has them
    Errors    `ArgumentError` for names and numbers of arguments that the kernel does not take. What a launch raises
              comes as JAX's error of the computation, with the text

    JAX's arrays are row-major, and never written: only outputs may be, and a kernel that writes others is refused.
    There is no derivative; wrap it in `jax.custom_vjp`, with kernels for both ways.
    """
    if not isinstance(kernel, Kernel | BoundKernel):
        raise TypeError(f"call() takes a kernel, not {kernel!r}")
    register(_launch)
    single = not isinstance(outputs, Sequence)
    shapes = (outputs,) if single else tuple(outputs)
    aliases = dict(aliases or {})
    launch = Launch(grid=grid, block=block, cluster=cluster, smem=smem)
    made = _Call(kernel, launch, others, aliases)
    number = _remembered(made)
    run = jax.ffi.ffi_call(
        TARGET, shapes, vmap_method=vmap_method, input_output_aliases=aliases or None, has_side_effect=False
    )

    def launched(*arrays: Any) -> Any:
        made.check_count(len(arrays), len(shapes) - len(set(aliases.values())))
        results = run(*arrays, call=np.int64(number))
        return results[0] if single else results

    return launched


def host_call(
    function: Callable[..., None], outputs: Any, /, *, aliases: Any = None, vmap_method: Any = None, **options: Any
) -> Callable[..., Any]:  # fmt: skip
    """Return a function of JAX arrays that calls host code which launches kernels, to be used within `jax.jit`.

    function  called as ``function(inputs, outputs, **options)`` with lists of arrays over XLA's memory: of NumPy on the
              CPU; on a GPU of torch, which must be installed, with XLA's stream as the current one
    outputs, vmap_method  as for `call`
    aliases   number of an array -> number of the output that it has become when the function is called, both not None
    options   constants, hashable
    Arrays, and outputs if they are several, may be None: so they are in the lists, and among the results
    """
    register(_launch)
    single = not isinstance(outputs, Sequence)
    check_untraced(options)
    hash(tuple(options.values()))  # TypeError for one that may change
    shapes = (outputs,) if single else tuple(outputs)
    made = [shape for shape in shapes if shape is not None]
    same = function, tuple((name, constant_key(options[name])) for name in sorted(options))

    def called(*arrays: Any) -> Any:
        given, wanted = (tuple(x is not None for x in group) for group in (arrays, shapes))
        over = {sum(given[:i]): sum(wanted[:j]) for i, j in (aliases or {}).items()}
        run = jax.ffi.ffi_call(
            TARGET, made, vmap_method=vmap_method, input_output_aliases=over or None, has_side_effect=False
        )
        number = _number((*same, given, wanted), _HostCall(function, options, given, wanted))
        results = run(*(x for x in arrays if x is not None), call=np.int64(number))
        return results[0] if single else _spread(results, wanted)

    return called


def derived(*constants: int, keep: Callable[..., Any] | None = None) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: `jax.custom_vjp` of a function whose arguments at these places are constants, and not to be traced.

    keep    returns, of the result and the arguments, what the derivative needs, which `derive` then takes alone. By
            ``derive(..., symbolic_zeros=True)`` arguments are `CustomVJPPrimal`: those `perturbed` are differentiated
    Errors  `ArgumentError` for a traced constant, also in a named tuple, when the function is called
    """

    def decorated(function: Callable[..., Any]) -> Any:
        taken, run = inspect.signature(function), jax.custom_vjp(function, nondiff_argnums=constants)
        names = list(taken.parameters)

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> Any:
            bound = taken.bind(*given, **named)
            bound.apply_defaults()
            args = bound.args
            for at in constants:
                check_untraced(args[at]._asdict() if hasattr(args[at], "_asdict") else {names[at]: args[at]})
            return run(*args)

        def kept(*args: Any) -> tuple[Any, Any]:
            values = [x if i in constants else jax.tree.map(_value, x, is_leaf=_primal) for i, x in enumerate(args)]
            made = run(*values)  # it may be differentiated again
            return made, keep(made, *args)  # type: ignore[misc]

        call.defvjp, call.derive = run.defvjp, functools.partial(run.defvjp, kept)  # type: ignore[attr-defined]
        return call

    return decorated


def _primal(x: Any) -> bool:
    return isinstance(x, jax.custom_derivatives.CustomVJPPrimal)


def _value(x: Any) -> Any:
    return x.value if _primal(x) else x


def check_untraced(constants: Mapping[str, Any]) -> None:
    """Check that JAX traces none of these constants, given by name. Errors: `ArgumentError`."""
    for name, value in constants.items():
        if isinstance(value, jax.core.Tracer):
            text = "is traced, and kernels are made for its value: pass a number, as by static_argnames"
            raise rt.ArgumentError(f"{name} {text}")


@dataclass(frozen=True)
class _HostCall:
    """Host code that an XLA computation refers to by number. `given`, `wanted`: the inputs and outputs not None."""

    function: Callable[..., None]
    options: Mapping[str, Any]
    given: tuple[bool, ...]
    wanted: tuple[bool, ...]

    def __call__(self, inputs: list[Any], outputs: list[Any], stream: int | None) -> None:
        if stream is None:
            self.function(_spread(inputs, self.given), _spread(outputs, self.wanted), **self.options)
            return
        import torch

        device = rt.read((inputs + outputs)[0]).device[1]
        read, written = (_spread(map(_lent, x), of) for x, of in ((inputs, self.given), (outputs, self.wanted)))
        with torch.cuda.stream(torch.cuda.ExternalStream(stream, device)):
            self.function(read, written, **self.options)


def _spread(arrays: Iterable[Any], there: tuple[bool, ...]) -> list[Any]:
    """Return the arrays in order, with None in the places where none is `there`."""
    left = iter(arrays)
    return [next(left) if each else None for each in there]


@dataclass(frozen=True)
class _Bytes:
    """Memory of a GPU, in the form that array libraries read."""

    __cuda_array_interface__: dict[str, Any]


def _lent(array: rt.DeviceArray) -> Any:
    """Return a torch tensor over the same memory."""
    import torch

    view = rt.read(array)
    code = rt.dtype.DTYPES[view.dtype]
    bytes = int(np.prod(view.shape)) * code.bytes
    interface = {"shape": (bytes,), "typestr": "|u1", "data": (view.pointer, False), "version": 3}
    flat = torch.as_tensor(_Bytes(interface), device=f"cuda:{view.device[1]}")
    return flat.view(getattr(torch, code.numpy or "")).reshape(view.shape)


class _Call:
    """A kernel's call that an XLA computation refers to by number.

    others       arguments that are no arrays
    aliases      number of an input -> of the output that is the same memory
    """

    def __init__(
        self, kernel: Kernel | BoundKernel, launch: Launch, others: Mapping[str, Any], aliases: Mapping[int, int]
    ) -> None:
        self.kernel, self.launch, self.others, self.aliases = kernel, launch, others, aliases
        own = kernel.signature.names[isinstance(kernel, BoundKernel) :]
        self.order = InOrder.of(kernel.__cutelite_function__, own, others)
        for name, value in others.items():
            if name not in own:
                raise rt.ArgumentError(f"{kernel.__name__}() has no parameter {name!r}; it has {', '.join(own)}")
            if isinstance(value, jax.core.Tracer):
                text = "is traced, and what is given by name is a constant of the call: take an array of one element"
                raise rt.ArgumentError(f"{kernel.__name__}(): argument `{name}` {text}")
        self._launcher = functools.lru_cache(_MOST_STREAMS)(lambda stream: kernel[replace(launch, stream=stream)])
        self._checked = False

    def __call__(self, inputs: list[Any], outputs: list[Any], stream: int | None) -> None:
        overwriting = set(self.aliases.values())
        arrays = inputs + [array for i, array in enumerate(outputs) if i not in overwriting]
        given = {**self.order.given(arrays), **self.others}
        if stream is None:
            for i, array in enumerate(inputs):
                array.flags.writeable = i in self.aliases
        elif not self._checked:
            self._check_written(len(inputs), given)
            self._checked = True
        self._launcher(stream)(**given)

    def check_count(self, inputs: int, results: int) -> None:
        """Check how many arrays are given, and made for what is returned. Errors: `ArgumentError`."""
        names, star = self.order
        needed = [name for name in names if name not in self.kernel.signature.defaults]
        if inputs + results < len(needed) or (star is None and inputs + results > len(names)):
            takes = f"{self.kernel.__name__}() takes arrays for {', '.join(names)}"
            by_name = "; numbers and constants are given by name" if inputs + results < len(needed) else ""
            raise rt.ArgumentError(f"{takes}; {inputs} came, and {results} for what it returns{by_name}")

    def _check_written(self, inputs: int, given: Mapping[str, Any]) -> None:
        """Refuse a kernel that writes an input. Errors: `ArgumentError`; those of a compile."""
        compiled = self.kernel.compiling(self.launch, **given)
        written = () if compiled is None else compiled().artifact.written
        names = (*self.order.names, *(f"{self.order.star}.{i}" for i in range(inputs)))
        for i, name in enumerate(names[:inputs]):
            if name in written and i not in self.aliases:
                text = f"writes `{name}`, an array of JAX's, which nobody writes: make it an output too (`aliases=`)"
                raise rt.ArgumentError(f"{self.kernel.__name__}() {text}")


_MOST_STREAMS = 64
_calls: dict[int, _Call | _HostCall] = {}  # computations may live as long as the process, and so do these
_numbers = itertools.count()
_known: dict[Any, int] = {}
_lock = forks.lock()


def _launch(number: int, inputs: list[Any], outputs: list[Any], stream: int | None) -> None:
    """Make the call of this number, with arrays over XLA's memory. stream: None on the CPU."""
    _calls[number](inputs, outputs, stream)


def _remembered(made: _Call) -> int:
    """Return the number of a call; the same one where JAX traces it again."""
    launch = made.launch
    shapes = (launch.grid, launch.block, launch.cluster, launch.smem)
    key: tuple[Any, ...] = (
        id(made.kernel),
        repr(shapes),  # 1, 1.0 and True are three
        tuple(sorted(made.aliases.items())),
        tuple(sorted((k, repr(v)) for k, v in made.others.items())),
    )
    plain = all(isinstance(value, bool | int | float | str | None) for value in made.others.values())
    if not plain or isinstance(made.kernel, BoundKernel):  # whose identity is that of nothing that lasts
        key = next(_numbers), *key
    return _number(key, made)


def _number(key: tuple[Any, ...], made: _Call | _HostCall) -> int:
    """Return the number of the first call that was made for this key."""
    with _lock:
        number = _known.get(key)
        if number is None:
            number = _known[key] = next(_numbers)
            _calls[number] = made
        return number
