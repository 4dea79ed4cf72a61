"""`ArrayView`: address, shape, strides, dtype and device of an array of any library; and device arrays of our own.

`read` handles arrays of torch, NumPy and CuPy directly, without importing these, and all others by DLPack or the CUDA
array interface.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from cutelite_rt.arrays import views
from cutelite_rt.dtype import BY_DLPACK, BY_NUMPY, DTYPES, compact_strides
from cutelite_rt.errors import ArgumentError
from cutelite_rt.gpu import driver as cuda
from cutelite_rt.gpu.device import Device, count, device

if TYPE_CHECKING:
    import numpy

_NO_ADDRESS = 1 << 63  # addresses of a process are below this
_DEVICE_ORDINAL = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


class ArrayView(NamedTuple):
    """An array: its address and its layout.

    pointer   address of element (0, ..., 0), in bytes
    strides   in elements
    dtype     a code of `dtype.DTYPES`: 'f32', 'bf16', 'e4m3', ...
    device    ('cuda', ordinal) or ('cpu', 0); pinned host memory counts as 'cpu'
    owner     the object that keeps the memory alive
    library   the library of the array: 'torch', 'numpy', 'cupy', 'cutelite', or the first part of its type's module
    readonly  whether the producer forbids writing
    """

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    device: tuple[str, int]
    owner: object
    library: str
    readonly: bool = False

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of the elements, without gaps between them."""
        return self.size * DTYPES[self.dtype].bytes

    @property
    def span(self) -> tuple[int, int]:
        """The first address of the elements, and the address after the last; equal if there are none."""
        low, high = reach(self.shape, self.strides, DTYPES[self.dtype].bytes)
        return self.pointer + low, self.pointer + high

    @property
    def place(self) -> int:
        """An address of element (0, ..., 0) that is a multiple of what its true one is a multiple of on a GPU.

        There it is the true one. On the host it is counted from the start of the memory that the array is a view of:
        a GPU aligns the start of each, and so does the simulator, whatever the host does.
        """
        owner: Any = self.owner[-1] if isinstance(self.owner, tuple) else self.owner
        if self.device[0] != "cpu":
            return self.pointer
        if self.library == "torch":
            return int(owner.storage_offset() * owner.itemsize)
        if self.library == "numpy":
            return self.pointer - _start(owner)
        return self.pointer - self.span[0]


def _start(array: Any) -> int:
    while isinstance(array.base, sys.modules["numpy"].ndarray):
        array = array.base
    return int(array.ctypes.data) + reach(array.shape, array.strides, 1)[0]


def reach(shape: Sequence[int], strides: Sequence[int], element_bytes: int) -> tuple[int, int]:
    """Return where an array begins and ends, in bytes from element (0, ..., 0); equal if there are no elements.

    strides  in elements, of any sign
    """
    if 0 in shape:
        return 0, 0
    low = high = 0
    for extent, step in zip(shape, strides, strict=True):
        furthest = (extent - 1) * step
        low, high = low + min(furthest, 0), high + max(furthest, 0)
    return low * element_bytes, (high + 1) * element_bytes


class UnreadableArray(TypeError):
    """Raised for an object that is no array, or none that a kernel can take; the message says why."""


def read(array: object, stream: int | None = None) -> ArrayView:
    """Return the view of `array`, which is neither copied nor converted.

    stream   handle of the stream that will use the array. A producer that is read by DLPack or the CUDA array interface
             makes that stream wait for its pending work; torch and CuPy order work by their own current stream (see
             `stream.current`)
    Errors   `UnreadableArray`
    """
    reader = _READERS.get(type(array))
    if reader is None:
        adapted, passed = array, []
        while adapt := adapter(type(adapted)):  # which may return an object that another function is registered for
            passed.append(type(adapted))
            adapted = adapt(adapted)
            said = f"the function registered for {passed[-1].__name__}"
            if type(adapted) in passed:
                raise UnreadableArray(f"{said} must return an array, not another {type(adapted).__name__}")
            if not is_array(adapted):
                raise UnreadableArray(f"{said} returned a {type(adapted).__name__}, which is not an array")
        if passed:
            view = read(adapted, stream)
            return view._replace(owner=(array, view.owner))
        reader = _named_reader(type(array))
        if reader is None:
            # DLPack first: it has bf16 and fp8, and says on which device the memory is.
            if hasattr(type(array), "__dlpack__"):
                return _read_dlpack(array, stream)
            if hasattr(array, "__cuda_array_interface__"):
                return _read_cuda_array(array, stream)
            name = type(array).__name__
            raise UnreadableArray(
                f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name} is not an array: pass a torch, CuPy, JAX or NumPy "
                "array, or any object with __dlpack__ or __cuda_array_interface__"
            )
        _READERS[type(array)] = reader
    return reader(array)


def register_array(kind: type, adapt: Callable[[Any], object]) -> None:
    """Let kernels take objects of a class that is no array, and of its subclasses.

    adapt   returns an array of torch, CuPy, JAX or NumPy over the object's memory, or any object with ``__dlpack__`` or
            ``__cuda_array_interface__``. It runs at every launch, in Python
    Errors  `TypeError` for a class that `read` knows by name: torch's, CuPy's, NumPy's and cutelite's own
    """
    if not isinstance(kind, type) or not callable(adapt):
        raise TypeError(f"register_array takes a class and a function, not {kind!r} and {adapt!r}")
    if kind in _READERS or _named_reader(kind) is not None:
        raise TypeError(f"arrays of {kind.__module__}.{kind.__qualname__} are read as they are")
    _ADAPTERS[kind] = adapt


def adapter(kind: type) -> Callable[[Any], object] | None:
    """Return the function registered for a class, or for the nearest class that it inherits from."""
    if not _ADAPTERS:
        return None
    return next((_ADAPTERS[base] for base in kind.__mro__ if base in _ADAPTERS), None)


_ADAPTERS: dict[type, Callable[[Any], object]] = {}


def is_array(value: object) -> bool:
    """Tell whether `read` would treat an object as an array, though perhaps one that it refuses."""
    kind = type(value)
    return (
        kind in _READERS
        or _named_reader(kind) is not None
        or adapter(kind) is not None
        or hasattr(kind, "__dlpack__")
        or hasattr(value, "__cuda_array_interface__")
    )


def check_writable(kernel: str, arrays: Sequence[tuple[str, ArrayView]], written: Sequence[str]) -> None:
    """Check that no read-only array is given for a parameter that the kernel writes. Errors: `ArgumentError`."""
    for name, view in arrays:
        if view.readonly and name in written:
            raise ArgumentError(f"{kernel}(): argument `{name}` is read-only, and the kernel writes it; pass a copy")


def reader_library(kind: type) -> str | None:
    """Return the library of an array type, as in `ArrayView.library`, if `read` handles it directly; else None."""
    reader = _READERS.get(kind) or _named_reader(kind)
    return "cutelite" if reader is _read_own else reader and _LIBRARY_OF[reader]


def _named_reader(kind: type) -> Callable[[Any], ArrayView] | None:
    for reader, library in _LIBRARY_OF.items():
        module = sys.modules.get(library)
        if module is not None and issubclass(kind, getattr(module, "Tensor" if library == "torch" else "ndarray", ())):
            return reader
    return None


class _Imagined(threading.local):
    """Addresses of tensors that hold no data. `memories`: those seen, by number; None: they have none."""

    memories: dict[int, int] | None = None

    def address(self, tensor: Any) -> int:
        """Return a made-up address: memories are far apart, and each begins at a multiple of any alignment."""
        assert self.memories is not None
        memory = self.memories.setdefault(tensor.untyped_storage()._cdata, len(self.memories) + 1)
        return (memory << 44) + int(tensor.storage_offset() * tensor.itemsize)


_imagined = _Imagined()


@contextmanager
def imagined_addresses() -> Iterator[None]:
    """Read torch's tensors in this thread as if those without data, fake ones and those on 'meta', were in memory.

    So arguments can be checked of calls that compute nothing.
    """
    before, _imagined.memories = _imagined.memories, {}
    try:
        yield
    finally:
        _imagined.memories = before


_torch_codes: dict[object, str] = {}


def _read_torch(tensor: Any) -> ArrayView:
    code = _torch_codes.get(tensor.dtype)
    if code is None:
        torch = sys.modules["torch"]
        _torch_codes.update((getattr(torch, name), code) for name, code in BY_NUMPY.items() if hasattr(torch, name))
        code = _code(_torch_codes, tensor.dtype, f"a torch tensor of {tensor.dtype}")
    if _imagined.memories is not None:
        pointer = _imagined.address(tensor)
        return ArrayView(pointer, tuple(tensor.shape), tensor.stride(), code, ("cpu", 0), tensor, "torch")
    if tensor.is_cuda:
        where = ("cuda", tensor.get_device())
    elif tensor.is_cpu:
        where = ("cpu", 0)
    else:
        raise UnreadableArray(f"this torch tensor is on {str(tensor.device)!r}; kernels take CUDA and CPU tensors")
    try:
        pointer, strides = tensor.data_ptr(), tensor.stride()
    except RuntimeError as problem:  # sparse, nested and fake tensors
        raise UnreadableArray(f"this torch tensor has no strided memory of its own: {problem}") from problem
    shape = tuple(tensor.shape)
    if not pointer and 0 not in shape:
        if type(tensor).__module__.startswith("torch") and not tensor.untyped_storage().nbytes():
            raise UnreadableArray(f"the memory of this {type(tensor).__name__} has been freed")  # as by FSDP
        raise UnreadableArray(f"this {type(tensor).__name__} has no memory of its own: pass the tensor it stands for")
    if tensor.is_neg():
        raise UnreadableArray("this torch tensor is a view with its sign yet to be flipped: call .resolve_neg() first")
    return ArrayView(pointer, shape, strides, code, where, tensor, "torch")


_numpy_codes: dict[object, str] = {}


def _numpy_code(dtype: Any) -> str:
    """Return the code of a NumPy dtype; dtypes of ml_dtypes are found by name."""
    code = _numpy_codes.get(dtype)
    if code is None:
        if not dtype.isnative:
            raise UnreadableArray(f"this array has the byte order of another machine ({dtype.str})")
        code = _numpy_codes[dtype] = _code(BY_NUMPY, dtype.name, f"an array of {dtype}")
    return code


def _read_numpy(array: numpy.ndarray[Any, Any]) -> ArrayView:
    code = _numpy_code(array.dtype)
    if hasattr(type(array), "mask"):
        raise UnreadableArray("this NumPy array has a mask, which a kernel would ignore: pass .filled() or .data")
    pointer = array.__array_interface__["data"][0]
    strides = _element_strides(array.strides, array.itemsize)
    return ArrayView(pointer, array.shape, strides, code, ("cpu", 0), array, "numpy", not array.flags.writeable)


def _read_cupy(array: Any) -> ArrayView:
    where = ("cuda", int(array.device.id))
    strides = _element_strides(array.strides, array.itemsize)
    return ArrayView(array.data.ptr, array.shape, strides, _numpy_code(array.dtype), where, array, "cupy")


def _read_own(array: DeviceArray) -> ArrayView:
    where = ("cuda", array.device.ordinal)
    return ArrayView(array.pointer, array.shape, array.strides, array.dtype, where, array, "cutelite")


def _read_dlpack(array: Any, stream: int | None) -> ArrayView:
    from cutelite_rt.arrays import dlpack

    name = type(array).__name__
    try:
        kind, ordinal = (int(part) for part in array.__dlpack_device__())
    except AttributeError as problem:  # of JAX's tracers
        text = "call a kernel by cutelite.interop.jax; its docs, interop.md, tell what of cutelite.kernels goes there"
        raise UnreadableArray(
            f"this {name} stands for an array without data, within jax.jit or the like: {text}"
        ) from problem
    except (TypeError, ValueError) as problem:
        raise UnreadableArray(f"this {name} does not tell its device: {problem}") from problem
    on_cuda = kind in (dlpack.CUDA, dlpack.CUDA_MANAGED)
    if not on_cuda and kind not in (dlpack.CPU, dlpack.CUDA_HOST):
        raise UnreadableArray(f"this {name} is neither on CUDA nor the CPU (DLPack device type {kind})")
    # DLPack calls the legacy default stream 1, and leaves 0 undefined
    wanted = {"stream": stream or 1} if on_cuda and stream is not None else {}
    try:
        try:
            capsule = array.__dlpack__(max_version=(1, 0), **wanted)
        except TypeError:  # a producer from before DLPack 1
            capsule = array.__dlpack__(**wanted)
        said = dlpack.parse(capsule)
    except (BufferError, RuntimeError, ValueError, TypeError) as problem:
        raise UnreadableArray(f"this {name} cannot be exported through DLPack: {problem}") from problem
    if said.device != (kind, ordinal):
        raise UnreadableArray(
            f"this {name} is on device {(kind, ordinal)} by __dlpack_device__(), and on {said.device} by its capsule"
        )
    if said.lanes != 1:
        raise UnreadableArray(f"this {name} has elements of {said.lanes} lanes")
    code = _code(BY_DLPACK, said.dtype, f"an array ({name}) of DLPack type (code, bits) {said.dtype}")
    strides = compact_strides(said.shape) if said.strides is None else said.strides
    where = ("cuda", ordinal) if on_cuda else ("cpu", 0)
    if on_cuda and not 0 <= ordinal < _gpus():
        raise UnreadableArray(f"this {name} is on device {ordinal}, and there are {_gpus()} GPUs")
    owner, library = (array, capsule), _library(array)
    readonly = said.readonly or library == "jax"  # JAX's arrays never change; its capsules do not say so
    view = ArrayView(said.pointer, said.shape, strides, code, where, owner, library, readonly)
    return _possible(view, name)


def _read_cuda_array(array: Any, stream: int | None) -> ArrayView:
    name = type(array).__name__
    try:
        return _of_interface(array, name, array.__cuda_array_interface__, stream)
    except (KeyError, IndexError, TypeError, ValueError) as problem:
        if isinstance(problem, UnreadableArray):
            raise
        said = f"{type(problem).__name__}: {problem}"
        raise UnreadableArray(f"this {name} has a malformed __cuda_array_interface__ ({said})") from problem


def _of_interface(array: Any, name: str, interface: dict[str, Any], stream: int | None) -> ArrayView:
    if interface.get("mask") is not None:
        raise UnreadableArray(f"this {name} has a mask, which a kernel would ignore")
    import numpy

    typestr = interface["typestr"]
    # Dtypes of ml_dtypes appear as plain bytes here ('<V2'); the array's `dtype` may be better.
    dtype = numpy.dtype(getattr(array, "dtype", typestr) if "V" in typestr else typestr)
    code = _numpy_code(dtype)
    shape = tuple(map(operator.index, interface["shape"]))
    strides = interface.get("strides")
    in_elements = compact_strides(shape) if strides is None else _element_strides(strides, DTYPES[code].bytes)
    pointer, readonly = interface["data"]
    view = ArrayView(pointer, shape, in_elements, code, ("cuda", 0), array, _library(array), bool(readonly))
    _possible(view, name)
    driver = cuda.get()
    made_on = interface.get("stream")
    if made_on is not None and made_on != stream:
        driver.call("cuStreamSynchronize", made_on, doing=f"waiting for the stream of a {name}")
    ordinal = _ordinal_of(pointer) if pointer else device(driver=driver).ordinal
    return view._replace(device=("cuda", ordinal))


def _gpus() -> int:
    """Return the number of GPUs; a large number without a driver, as nothing is known then."""
    try:
        return _counted(cuda.get())
    except cuda.NoDriver:
        return 1 << 31


@functools.lru_cache(4)
def _counted(driver: cuda.Driver) -> int:
    return count(driver)


def _possible(view: ArrayView, name: str) -> ArrayView:
    """Check that an array read by interface alone can exist. Errors: `UnreadableArray`."""
    if len(view.strides) != len(view.shape) or any(type(n) is not int for n in view.strides):
        raise UnreadableArray(f"this {name} has shape {view.shape}, and strides {view.strides}")
    if any(extent < 0 for extent in view.shape):
        raise UnreadableArray(f"this {name} has the shape {view.shape}, with a negative extent")
    if not 0 <= view.device[1] < 1 << 31:
        raise UnreadableArray(f"this {name} is on device {view.device[1]}, which no GPU is")
    if view.size:
        if view.pointer == 0:
            raise UnreadableArray(f"this {name} has {view.size} elements, and no memory: its address is 0")
        first, end = view.span
        if first < 0 or end > _NO_ADDRESS:
            raise UnreadableArray(f"this {name} reaches beyond all addresses: {view.shape} at {view.pointer:#x}")
    elif not 0 <= view.pointer <= _NO_ADDRESS:
        raise UnreadableArray(f"this {name} is at {view.pointer:#x}, which is no address")
    return view


def _ordinal_of(pointer: int) -> int:
    driver = cuda.get()
    kind = driver.raw.CUpointer_attribute(_DEVICE_ORDINAL)
    return int(driver.call("cuPointerGetAttribute", kind, pointer, doing=f"asking where {pointer:#x} lies"))


def _library(array: object) -> str:
    package = type(array).__module__.partition(".")[0]
    return "jax" if package == "jaxlib" else package  # jaxlib is the package of JAX's array type


def _code(table: dict[Any, str], key: object, what: str) -> str:
    code = table.get(key)
    if code is None:
        raise UnreadableArray(f"a kernel cannot take {what}; it takes elements of {', '.join(BY_NUMPY.values())}")
    return code


def _element_strides(strides: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    if any(stride % itemsize for stride in strides):
        raise UnreadableArray(f"strides of {strides} bytes are not multiples of the {itemsize}-byte element")
    return tuple(stride // itemsize for stride in strides)


class DeviceArray:
    """An array in device memory: in memory of its own (`empty`, `to_device`), or in another object's (`over`).

    It is row-major without gaps, but for views of it: `x[...]`, `x.reshape`, `x.transpose`, `x.swapaxes` and `x.T` are
    as NumPy's. torch, CuPy and JAX take it through DLPack, others through the CUDA array interface.

    strides   in elements
    pointees  arrays whose addresses are its elements; it keeps them alive
    """

    pointees: tuple[object, ...] = ()

    def __init__(
        self, shape: tuple[int, ...], dtype: str, where: Device, pointer: int = 0, owner: object = None,
        strides: tuple[int, ...] | None = None,
    ) -> None:  # fmt: skip
        self.shape = shape
        self.dtype = dtype
        self.device = where
        self.strides = compact_strides(shape) if strides is None else strides
        self.nbytes = math.prod(shape) * DTYPES[dtype].bytes
        self.owner = owner  # owner of the memory; None: this object
        self.pointer = pointer
        if self.nbytes and owner is None:
            doing = f"allocating {self.nbytes} bytes on device {where.ordinal}"
            with where.active():
                self.pointer = int(where.driver.call("cuMemAlloc", self.nbytes, doing=doing))

    def __del__(self, _exits: Callable[[], bool] = sys.is_finalizing) -> None:
        # At exit the driver frees everything itself, and may be gone already, as may the names of this module.
        if getattr(self, "pointer", 0) and self.owner is None and not _exits():
            with self.device.active():
                self.device.driver.call("cuMemFree", self.pointer)

    @functools.cached_property
    def dltensor(self) -> int:
        """The address of a `DLTensor` of this array, which lives as long as it: compiled launchers read that."""
        import ctypes

        from cutelite_rt.arrays import exchange

        storage = ctypes.create_string_buffer(exchange.TENSOR_BYTES)
        self._dltensor = storage, exchange.filled(ctypes.addressof(storage), read(self))
        return ctypes.addressof(storage)

    def __repr__(self) -> str:
        return f"DeviceArray({self.shape}, {self.dtype!r}, device={self.device.ordinal})"

    def numpy(self, stream: int = 0) -> numpy.ndarray[Any, Any]:
        """Return a copy in host memory, taken after the work already in `stream`."""
        return from_device(self, stream)

    @property
    def ndim(self) -> int:
        """The number of modes."""
        return len(self.shape)

    @property
    def T(self) -> DeviceArray:
        """The view with the modes in the opposite order."""
        return self.transpose()

    def __getitem__(self, key: Any) -> DeviceArray:
        """Return the view by whole numbers, slices, None and an ellipsis. Errors: IndexError, TypeError."""
        modes, begin = views.indexed(self.shape, self.strides, key)
        return self._view(*modes, begin)

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write a number or an array, broadcast and converted, to the view by a key, through host memory and in order.

        Errors  ValueError for a view or an array that is not row-major without gaps; ImportError as `from_device`
        """
        view = self[key]
        if not is_compact(read(view)):
            raise ValueError(f"strides {view.strides} of shape {view.shape} are not row-major without gaps")
        on_device = is_array(value) and read(value).device[0] == "cuda"
        made = on_host(view.shape, self.dtype)
        made[...] = from_device(value) if on_device else value
        _copy_in(view, made.ctypes.data, 0)

    def reshape(self, *shape: Any) -> DeviceArray:
        """Return the view of another shape, in row-major order. Errors: ValueError where strides allow none."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        modes = views.reshaped(self.shape, self.strides, wanted)
        if modes is None:
            raise ValueError(f"this DeviceArray has strides {self.strides}: no view of it has the shape {wanted}")
        return self._view(*modes)

    def transpose(self, *order: int) -> DeviceArray:
        """Return the view with the modes in another order; default: the opposite one."""
        modes = order or range(self.ndim)[::-1]
        return self._view(tuple(self.shape[i] for i in modes), tuple(self.strides[i] for i in modes))

    def swapaxes(self, one: int, other: int) -> DeviceArray:
        """Return the view with two modes exchanged."""
        order = list(range(self.ndim))
        order[one], order[other] = order[other], order[one]
        return self.transpose(*order)

    def _view(self, shape: tuple[int, ...], strides: tuple[int, ...], begin: int = 0) -> DeviceArray:
        """Return a view of other modes, which keeps the memory alive. `begin`: elements before its first one."""
        pointer = self.pointer + begin * DTYPES[self.dtype].bytes
        made = DeviceArray(shape, self.dtype, self.device, pointer, self, strides)
        made.pointees = self.pointees
        return made

    def __dlpack_device__(self) -> tuple[int, int]:
        from cutelite_rt.arrays import dlpack

        return dlpack.CUDA, self.device.ordinal

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> object:
        """Return a DLPack capsule, after waiting for all work on the device unless `stream` is -1."""
        from cutelite_rt.arrays import dlpack

        if copy:
            raise BufferError("a DeviceArray is exported without a copy; make one with to_device()")
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__():
            raise BufferError(f"a DeviceArray on device {self.device.ordinal} is exported there and nowhere else")
        kind = DTYPES[self.dtype].dlpack
        assert kind is not None, "`empty` takes no dtype that DLPack lacks"
        if stream != -1:
            # It is not known which streams have written the array.
            with self.device.active():
                self.device.driver.call("cuCtxSynchronize")
        versioned = max_version is not None and max_version[0] >= 1
        facts = dlpack.Facts(self.pointer, self.shape, self.strides, kind, self.__dlpack_device__())
        return dlpack.export(facts, self, versioned)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        typestr = {"f16": "<f2", "f32": "<f4", "f64": "<f8", "bool": "|b1"}.get(self.dtype)
        if typestr is None and self.dtype[0] in "iu":
            typestr = f"{'|' if self.dtype.endswith('8') else '<'}{self.dtype[0]}{DTYPES[self.dtype].bytes}"
        if typestr is None:
            raise AttributeError(f"the CUDA array interface has no {self.dtype}; DLPack has")
        size, compact = DTYPES[self.dtype].bytes, self.strides == compact_strides(self.shape)
        strides = None if compact else tuple(step * size for step in self.strides)
        return {
            "shape": self.shape, "typestr": typestr, "data": (self.pointer, False), "strides": strides, "version": 3
        }  # fmt: skip


def empty(shape: tuple[int, ...], dtype: str, where: Device | None = None) -> DeviceArray:
    """Return an array with undefined contents on `where`, by default the current device. Errors: ValueError."""
    _check_dtype(dtype)
    return DeviceArray(tuple(shape), dtype, where or device())


def zeros(shape: tuple[int, ...], dtype: str, where: Device | None = None) -> DeviceArray:
    """Return an array of zeros as `empty` does, for any stream: they have been written."""
    made = empty(shape, dtype, where)
    if made.nbytes:
        with made.device.active():
            made.device.driver.call("cuMemsetD8Async", made.pointer, 0, made.nbytes, 0)
            made.device.driver.call("cuStreamSynchronize", 0)
    return made


def _check_dtype(dtype: str) -> None:
    if dtype not in BY_NUMPY.values():
        raise ValueError(f"{dtype!r} is not a dtype of arrays: {', '.join(BY_NUMPY.values())}")


def over(memory: Any, shape: tuple[int, ...], dtype: str, where: Device | None = None, offset: int = 0) -> DeviceArray:
    """Return a row-major array over memory that another object owns.

    memory   an array, an object with a device address as `handle` (cuda.core's Buffer) or `ptr` (CuPy's memory), or an
             address. The result keeps the object alive; for an address the caller has to
    where    the device of the memory; default: the driver is asked
    offset   bytes from the beginning of the memory to the first element
    Errors   ValueError for an unknown dtype, and for memory that is known to be too small; TypeError
    """
    _check_dtype(dtype)
    pointer, size = _extent_of(memory)
    needed = offset + math.prod(shape) * DTYPES[dtype].bytes
    if size is not None and needed > size:
        raise ValueError(f"an array of {dtype} {tuple(shape)} reaches {needed} bytes, and the memory has {size}")
    if where is None:
        where = device(_ordinal_of(pointer)) if pointer else device()
    return DeviceArray(tuple(shape), dtype, where, pointer + offset, memory)


def _extent_of(memory: Any) -> tuple[int, int | None]:
    """Return the address of some memory, and its size in bytes; None for an unknown size."""
    if isinstance(memory, int) and not isinstance(memory, bool):
        return memory, None
    for attribute in ("handle", "ptr"):
        found = getattr(memory, attribute, None)
        if found is not None:
            return int(found), getattr(memory, "size", None)
    view = read(memory)
    if view.device[0] != "cuda":
        raise TypeError(f"this {type(memory).__name__} is in host memory; `to_device` copies it")
    return view.pointer, view.nbytes if is_compact(view) else None


def to_device(array: object, where: Device | None = None, stream: int = 0) -> DeviceArray:
    """Return a row-major copy of `array` on `where`, by default the current device; the copy has ended.

    array    a NumPy array, or any array in host memory without gaps
    stream   handle of the stream that copies; default: the null stream
    Errors   ValueError for an array with gaps of another library, and for an array on a device
    """
    view = read(array)
    if not is_compact(view):
        if view.owner is not array or not hasattr(array, "copy"):
            raise ValueError("this array has gaps or is not row-major; make it contiguous first")
        view = read(array.copy(order="C"))
    if view.device[0] != "cpu":
        raise ValueError(f"this {view.library} array is already on device {view.device[1]}")
    result = empty(view.shape, view.dtype, where)
    _copy_in(result, view.pointer, stream)
    return result


def _copy_in(array: DeviceArray, host: int, stream: int) -> None:
    """Copy from an address in host memory to an array without gaps, and wait."""
    if array.nbytes:
        with array.device.active():
            array.device.driver.call("cuMemcpyHtoDAsync", array.pointer, host, array.nbytes, stream)
            array.device.driver.call("cuStreamSynchronize", stream)


def from_device(array: object, stream: int = 0) -> numpy.ndarray[Any, Any]:
    """Return a copy of `array` in host memory, taken after the work already in `stream`.

    Errors: ValueError for an array with gaps, not row-major, or in host memory; ImportError where its dtype needs
    ml_dtypes, which is not installed.
    """
    view = read(array, stream)
    result = on_host(view.shape, view.dtype)
    if not is_compact(view):
        raise ValueError(f"strides {view.strides} of shape {view.shape} are not row-major without gaps")
    if view.device[0] != "cuda":
        raise ValueError(f"this {view.library} array is in host memory already")
    if view.nbytes:
        where = device(view.device[1])
        with where.active():
            driver = where.driver
            driver.call("cuMemcpyDtoHAsync", result.ctypes.data, view.pointer, view.nbytes, stream)
            driver.call("cuStreamSynchronize", stream)
    return result


def on_host(shape: tuple[int, ...], dtype: str) -> numpy.ndarray[Any, Any]:
    """Return a NumPy array that is not filled. Errors: ImportError where its dtype needs ml_dtypes."""
    import numpy

    if dtype in ("bf16", "e4m3", "e5m2"):
        import ml_dtypes  # noqa: F401 (which gives NumPy these types)
    return numpy.empty(shape, DTYPES[dtype].numpy)


def is_compact(view: ArrayView) -> bool:
    """Tell whether the elements are row-major without gaps. Strides of dimensions of one element do not matter."""
    wanted = compact_strides(view.shape)
    return view.size == 0 or all(
        have == want or extent == 1 for have, want, extent in zip(view.strides, wanted, view.shape, strict=True)
    )


_LIBRARY_OF: dict[Callable[[Any], ArrayView], str] = {_read_torch: "torch", _read_numpy: "numpy", _read_cupy: "cupy"}
_READERS: dict[type, Callable[[Any], ArrayView]] = {DeviceArray: _read_own}
