"""Arrays of a library with the DLPack C exchange API, made of Python."""

import ctypes
from typing import Any

from cutelite_rt.arrays import exchange
from cutelite_rt.arrays.dlpack import CUDA, Tensor
from cutelite_rt.dtype import DTYPES, compact_strides

_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
READ = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
_STREAM = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


class ByDlpack:
    """An array that says no more than DLPack does."""

    def __init__(self, own: Any) -> None:
        self.own = own

    def __dlpack_device__(self) -> Any:
        return self.own.__dlpack_device__()

    def __dlpack__(self, **wanted: Any) -> Any:
        return self.own.__dlpack__(**wanted)


class Array:
    """An array wherever a test wants it; `reads` counts how often C code read one, `stream` is the current one."""

    reads = 0
    stream = 0x600

    def __init__(
        self,
        pointer: int,
        shape: tuple[int, ...],
        dtype: str = "f32",
        strides: tuple[int, ...] | None = None,
        device: tuple[int, int] = (CUDA, 0),
        offset: int = 0,
    ) -> None:
        self.pointer, self.shape, self.dtype, self.offset = pointer, shape, dtype, offset
        self.strides = compact_strides(shape) if strides is None else strides
        self.device = device
        self.says_strides = True
        self.extents = (ctypes.c_int64 * len(shape))(*shape)
        self.steps = (ctypes.c_int64 * len(shape))(*self.strides)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **options: Any) -> object:
        from cutelite_rt.arrays import dlpack

        kind = DTYPES[self.dtype].dlpack
        assert kind is not None
        facts = dlpack.Facts(self.pointer + self.offset, self.shape, self.strides, kind, self.device)
        return dlpack.export(facts, self, True)


def _read(array: Array, address: int) -> int:
    type(array).reads += 1
    if array.pointer < 0:
        return -1
    tensor = Tensor.from_address(address)
    tensor.data, tensor.byte_offset = array.pointer, array.offset
    tensor.device_type, tensor.device_id = array.device
    tensor.ndim = len(array.shape)
    tensor.type_code, tensor.type_bits = DTYPES[array.dtype].dlpack or (0, 0)
    tensor.type_lanes = 1
    tensor.shape = ctypes.cast(array.extents, ctypes.POINTER(ctypes.c_int64))
    longs = ctypes.POINTER(ctypes.c_int64)
    tensor.strides = ctypes.cast(array.steps, longs) if array.says_strides else longs()
    return 0


def _stream(kind: int, ordinal: int, result: Any) -> int:
    result[0] = Array.stream + ordinal
    return 0


_functions = READ(_read), _STREAM(_stream)
table = exchange._Table(1, 3)
table.read, table.current_stream = (ctypes.cast(each, ctypes.c_void_p).value for each in _functions)
newer = exchange._Table(2, 0, ctypes.pointer(table))


def capsule(of: ctypes.Structure, name: bytes = b"dlpack_exchange_api") -> object:
    return _new(ctypes.addressof(of), name, None)


Array.__dlpack_c_exchange_api__ = capsule(table)  # type: ignore[attr-defined]
