"""Kernels in JAX: opaque calls within `jax.jit`, in XLA's stream, through XLA's foreign function interface.

    out = jax.ShapeDtypeStruct(a.shape, a.dtype)
    c = call(vector_add, out, grid=cl.ceil_div(a.size, 256), block=256)(a, b)

In: a kernel, its launch, and the shapes of its outputs. Out: a function of JAX arrays. On a GPU the kernel is launched
on XLA's buffers; on the CPU it is simulated. XLA calls Python for each launch, which takes about as long as a launch
from Python, so the GPU waits for the host more often than with XLA's own kernels.

The interface is C's (xla/ffi/api/c_api.h, of which jaxlib has a copy), declared here for ctypes: no compiler is needed.
"""

from __future__ import annotations

import ctypes
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np

import cutelite_rt as rt
from cutelite.dispatch import BoundKernel, Kernel, Launch
from cutelite.dispatch.fingerprint import constant_key
from cutelite.dispatch.launch import Extent
from cutelite_rt import forks

TARGET = "cutelite_launch"
_EXECUTE = 3  # XLA_FFI_ExecutionStage_EXECUTE
_METADATA = 1  # XLA_FFI_Extension_Metadata
_INTERNAL = 13  # XLA_FFI_Error_Code_INTERNAL

# XLA_FFI_DataType -> dtype of ours
_DTYPES = {1: "bool", 2: "i8", 3: "i16", 4: "i32", 5: "i64", 6: "u8", 7: "u16", 8: "u32", 9: "u64",
           10: "f16", 11: "f32", 12: "f64", 16: "bf16", 19: "e5m2", 20: "e4m3"}  # fmt: skip


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
    Errors    what a launch raises comes as JAX's error of the computation, with the text

    JAX's arrays are row-major, and never written: only outputs may be, and a kernel that writes others is refused.
    There is no derivative; wrap it in `jax.custom_vjp`, with kernels for both ways.
    """
    if not isinstance(kernel, Kernel | BoundKernel):
        raise TypeError(f"call() takes a kernel, not {kernel!r}")
    _register()
    single = not isinstance(outputs, Sequence)
    shapes = (outputs,) if single else tuple(outputs)
    aliases = dict(aliases or {})
    launch = Launch(grid=grid, block=block, cluster=cluster, smem=smem)
    number = _remembered(_Call(kernel, launch, others, aliases))
    run = jax.ffi.ffi_call(
        TARGET, shapes, vmap_method=vmap_method, input_output_aliases=aliases or None, has_side_effect=False
    )

    def launched(*arrays: Any) -> Any:
        results = run(*arrays, call=np.int64(number))
        return results[0] if single else results

    return launched


def host_call(
    function: Callable[..., None], outputs: Any, *, vmap_method: str | None = None, **options: Any
) -> Callable[..., Any]:
    """Return a function of JAX arrays that calls host code which launches kernels, to be used within `jax.jit`.

    function  called as ``function(inputs, outputs, **options)`` with lists of arrays over XLA's memory: of NumPy on the
              CPU; on a GPU of torch, which must be installed, with XLA's stream as the current one
    outputs, vmap_method  as for `call`
    options   constants, hashable
    Arrays, and outputs if they are several, may be None: so they are in the lists, and among the results
    """
    _register()
    single = not isinstance(outputs, Sequence)
    hash(tuple(options.values()))  # TypeError for one that may change
    shapes = (outputs,) if single else tuple(outputs)
    made = [shape for shape in shapes if shape is not None]
    run = jax.ffi.ffi_call(TARGET, made, vmap_method=vmap_method, has_side_effect=False)
    same = function, tuple((name, constant_key(options[name])) for name in sorted(options))

    def called(*arrays: Any) -> Any:
        given, wanted = (tuple(x is not None for x in group) for group in (arrays, shapes))
        number = _number((*same, given, wanted), _HostCall(function, options, given, wanted))
        results = run(*(x for x in arrays if x is not None), call=np.int64(number))
        return results[0] if single else _spread(results, wanted)

    return called


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
        self.names = [name for name in own if name not in others]
        self._launchers: dict[int | None, Callable[..., None]] = {}  # by stream

    def __call__(self, inputs: list[Any], outputs: list[Any], stream: int | None) -> None:
        overwriting = set(self.aliases.values())
        arrays = inputs + [array for i, array in enumerate(outputs) if i not in overwriting]
        if len(arrays) > len(self.names):
            takes = f"{self.kernel.__name__}() takes arrays for {', '.join(self.names)}"
            raise rt.ArgumentError(f"{takes}; {len(inputs)} came, and {len(arrays) - len(inputs)} for what it returns")
        given = {**dict(zip(self.names, arrays, strict=False)), **self.others}
        if stream is None:
            for i, array in enumerate(inputs):
                array.flags.writeable = i in self.aliases
        launcher = self._launchers.get(stream)
        if launcher is None:
            if stream is not None:
                self._check_written(len(inputs), given)
            if len(self._launchers) >= _MOST_STREAMS:
                self._launchers.clear()
            launcher = self._launchers[stream] = self.kernel[replace(self.launch, stream=stream)]
        launcher(**given)

    def _check_written(self, inputs: int, given: Mapping[str, Any]) -> None:
        """Refuse a kernel that writes an input. Errors: `ArgumentError`; those of a compile."""
        compiled = self.kernel.compiling(self.launch, **given)
        written = () if compiled is None else compiled().artifact.written
        for i, name in enumerate(self.names[:inputs]):
            if name in written and i not in self.aliases:
                text = f"writes `{name}`, an array of JAX's, which nobody writes: make it an output too (`aliases=`)"
                raise rt.ArgumentError(f"{self.kernel.__name__}() {text}")


_MOST_STREAMS = 64
_calls: dict[int, _Call | _HostCall] = {}  # computations may live as long as the process, and so do these
_numbers = itertools.count()
_known: dict[Any, int] = {}


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


# The interface, as xla/ffi/api/c_api.h declares it.


class _Extension(ctypes.Structure):
    _fields_ = (("struct_size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", ctypes.c_void_p))


class _Version(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
    )


class _Metadata(ctypes.Structure):
    _fields_ = (("struct_size", ctypes.c_size_t), ("version", _Version), ("traits", ctypes.c_uint32))


class _MetadataExtension(ctypes.Structure):
    _fields_ = (("base", _Extension), ("metadata", ctypes.POINTER(_Metadata)))


class _Buffer(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("dtype", ctypes.c_int),
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
    )


class _Buffers(ctypes.Structure):
    """The structures XLA_FFI_Args and XLA_FFI_Rets."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("size", ctypes.c_int64),
        ("types", ctypes.POINTER(ctypes.c_int)),
        ("buffers", ctypes.POINTER(ctypes.POINTER(_Buffer))),
    )


class _Scalar(ctypes.Structure):
    _fields_ = (("dtype", ctypes.c_int), ("value", ctypes.POINTER(ctypes.c_int64)))


class _Attributes(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("size", ctypes.c_int64),
        ("types", ctypes.POINTER(ctypes.c_int)),
        ("names", ctypes.c_void_p),
        ("values", ctypes.POINTER(ctypes.POINTER(_Scalar))),
    )


class _Api(ctypes.Structure):
    """The structure XLA_FFI_Api, up to the last function used here."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("version", _Version),
        ("internal", ctypes.c_void_p),
        ("error_create", ctypes.c_void_p),
        ("error_get_details", ctypes.c_void_p),
        ("error_destroy", ctypes.c_void_p),
        ("handler_register", ctypes.c_void_p),
        ("stream_get", ctypes.c_void_p),
    )


class _Frame(ctypes.Structure):
    """The structure XLA_FFI_CallFrame."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension", ctypes.POINTER(_Extension)),
        ("api", ctypes.POINTER(_Api)),
        ("context", ctypes.c_void_p),
        ("stage", ctypes.c_int),
        ("inputs", _Buffers),
        ("outputs", _Buffers),
        ("attributes", _Attributes),
    )


class _ErrorCreate(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("message", ctypes.c_char_p),
        ("code", ctypes.c_int),
    )


class _StreamGet(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    )


_HANDLER = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_Frame))
_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)


def _version() -> tuple[int, int]:
    """Return the version of the interface that this jaxlib speaks, from its own header. Errors: RuntimeError."""
    header = Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h"
    text = header.read_text()
    found = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", text) for part in ("MAJOR", "MINOR")]
    if not (found[0] and found[1]) or int(found[0][1]) != 0:
        raise RuntimeError(f"{header} is not of the interface that cutelite knows, version 0: update cutelite")
    return 0, int(found[1][1])


_lock = forks.lock()
_handlers: dict[str, Any] = {}  # which XLA calls until the process ends


def _register() -> None:
    with _lock:
        if _handlers:
            return
        version = _version()
        for platform, on_gpu in (("CUDA", True), ("cpu", False)):
            handler = _handlers[platform] = _HANDLER(_handler(version, on_gpu))
            jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(handler), platform=platform)


def _handler(version: tuple[int, int], on_gpu: bool) -> Callable[[Any], int | None]:
    def handle(pointer: Any) -> int | None:
        frame = pointer.contents
        if frame.extension and frame.extension.contents.type == _METADATA:
            asked = ctypes.cast(frame.extension, ctypes.POINTER(_MetadataExtension)).contents.metadata.contents
            asked.version.major, asked.version.minor = version
            asked.traits = 0
            return None
        if frame.stage != _EXECUTE:
            return None
        try:
            _launch(frame, on_gpu)
        except BaseException as error:  # a callback has nobody to raise to: XLA gets it as the computation's error
            return _error(frame.api.contents, f"{type(error).__name__}: {error}")
        return None

    return handle


def _launch(frame: Any, on_gpu: bool) -> None:
    number = frame.attributes.values[0].contents.value[0]
    inputs, outputs = ([each.buffers[i].contents for i in range(each.size)] for each in (frame.inputs, frame.outputs))
    launched = _calls[number]
    if not on_gpu:
        launched(list(map(_in_memory, inputs)), list(map(_in_memory, outputs)), None)
        return
    # XLA's numbers of devices need not be CUDA's; an array without elements lies anywhere.
    pointer = next((buffer.data for buffer in (*inputs, *outputs) if buffer.data), 0)
    where = rt.over(pointer, (), "u8").device
    arrays = ([_on_gpu(buffer, where) for buffer in group] for group in (inputs, outputs))
    launched(next(arrays), next(arrays), _stream(frame))


def _stream(frame: Any) -> int:
    asked = _StreamGet(ctypes.sizeof(_StreamGet), None, frame.context, None)
    if _FUNCTION(frame.api.contents.stream_get)(ctypes.addressof(asked)):
        raise RuntimeError("XLA tells no stream")
    return asked.stream or 0


def _error(api: Any, text: str) -> int | None:
    asked = _ErrorCreate(ctypes.sizeof(_ErrorCreate), None, text.encode(), _INTERNAL)
    made: int | None = _FUNCTION(api.error_create)(ctypes.addressof(asked))
    return made


def _shape(buffer: Any) -> tuple[tuple[int, ...], str]:
    dtype = _DTYPES.get(buffer.dtype)
    if dtype is None:
        raise rt.UnreadableArray(f"a kernel cannot take arrays of XLA's type {buffer.dtype}")
    return tuple(buffer.dims[: buffer.rank]), dtype


def _on_gpu(buffer: Any, where: rt.Device) -> rt.DeviceArray:
    shape, dtype = _shape(buffer)
    return rt.over(buffer.data or 0, shape, dtype, where)


def _in_memory(buffer: Any) -> Any:
    shape, dtype = _shape(buffer)
    code = rt.dtype.DTYPES[dtype]
    if dtype in ("bf16", "e4m3", "e5m2"):
        import ml_dtypes

        kind = np.dtype(getattr(ml_dtypes, code.numpy or ""))
    else:
        kind = np.dtype(code.numpy)
    size = int(np.prod(shape)) * code.bytes
    if not size:
        return np.empty(shape, kind)
    memory = memoryview((ctypes.c_char * size).from_address(buffer.data))
    return np.frombuffer(memory, np.uint8).view(kind).reshape(shape)
