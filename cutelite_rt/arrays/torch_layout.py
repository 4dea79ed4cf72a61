"""Offsets in memory at which torch keeps a tensor's address, shape and so on, so that launchers can read them there.

Reading takes 5 ns; calling torch's C function takes 60.

In    the torch that is imported
Out   a `Layout`, found by searching the memory of some new tensors for known values; None where a value is found twice,
      or not at all, or at different offsets: then tensors are read by torch's own functions

The structure is `c10::TensorImpl`, which is private to torch. So launchers use a layout only after it gave the same
results as torch for a tensor on the GPU (`agrees`), and only for plain tensors: of exactly the class `torch.Tensor` or
`Parameter`, with the dispatch keys that a new dense CUDA tensor has (no views with a sign to flip or to conjugate, no
wrappers, nothing fake, batched, functional or sparse), of at most five dimensions, and with memory of torch's own
allocator (no lazy copies).
"""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from cutelite_rt.arrays.memory import UnreadableArray, read
from cutelite_rt.dtype import DTYPES

MOST_RANK = 5
"""Up to this many extents and strides are in the tensor itself."""

_IMPL_WORDS, _STORAGE_WORDS = 23, 8  # words to search; each structure has at least as many
_OBJECT_WORDS = object.__basicsize__ // 8 + 3


class Layout(NamedTuple):
    """Offsets in bytes: in the Python object, in the C++ tensor that it points to, and in the tensor's storage.

    impl      in the Python object: the tensor's address
    keys      in the tensor: the dispatch keys, 64 bits
    sizes     the number of dimensions, followed by `MOST_RANK` extents and as many strides
    offset    the index of the first element in the storage
    storage   the storage's address
    device    two bytes: kind and ordinal
    dtype     16 bits: torch's number of the dtype
    data      in the storage: the address of its memory
    owner     in the storage: the pointer that is freed with it; equal to `data` for memory of torch's own allocator
    plain     (no offset) the dispatch keys of new tensors on a GPU, without and within inference mode
    """

    impl: int
    keys: int
    sizes: int
    offset: int
    storage: int
    device: int
    dtype: int
    data: int
    owner: int
    plain: tuple[int, int]


class _Unclear(Exception):
    """Raised where a value was not found exactly once."""


def find() -> Layout | None:
    """Return the layout of the torch that is imported; None where it cannot be found with certainty."""
    try:
        return _find(sys.modules["torch"])
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError, _Unclear):
        return None


def _find(torch: Any) -> Layout:
    base = torch.empty(1 << 16, dtype=torch.float32, device="cpu")
    samples = [
        base.as_strided((3, 5, 7), (701, 131, 17), 23),
        base.view(torch.float64).as_strided((11, 2), (37, 91), 41),
        base.view(torch.uint8).as_strided((13, 3, 19, 2, 1), (43, 47, 53, 59, 61), 67),
    ]
    impls = [_words(t._cdata, _IMPL_WORDS) for t in samples]
    storage = base.untyped_storage()
    data = _words(storage._cdata, _STORAGE_WORDS)
    held = [i for i, word in enumerate(data) if word == storage.data_ptr()]
    # A launcher has to compute the same addresses as torch.
    starts = [storage.data_ptr() + t.storage_offset() * t.element_size() == t.data_ptr() for t in samples]
    if len(held) != 2 or not all(starts):
        raise _Unclear
    with torch.inference_mode():
        inferring = torch.empty(0, dtype=torch.float32, device="cuda")
    with torch.inference_mode(False):
        new = torch.empty(0, dtype=torch.float32, device="cuda")  # without elements, so nothing is allocated
    kinds = [ctypes.string_at(t._cdata, 8 * _IMPL_WORDS) for t in (*samples, new)]
    sizes = _at(impls, [[t.dim(), *t.shape] for t in samples])
    steps = [tuple(impl[sizes + 1 + MOST_RANK :][: t.dim()]) for impl, t in zip(impls, samples, strict=True)]
    if steps != [t.stride() for t in samples]:
        raise _Unclear
    return Layout(
        impl=8 * _at([_words(id(t), _OBJECT_WORDS) for t in samples], [[t._cdata] for t in samples]),
        keys=8 * _at(impls, [[_keys(torch, t)] for t in samples]),
        sizes=8 * sizes,
        offset=8 * _at(impls, [[t.storage_offset()] for t in samples]),
        storage=8 * _at(impls, [[storage._cdata]] * 3),
        device=_at(kinds, [b"\x00\xff\x01"] * 3 + [bytes((1, new.get_device(), 1))], 1),  # kind, ordinal, whether known
        dtype=_at(kinds, [struct.pack("<H", DTYPES[name].torch) for name in ("f32", "f64", "u8", "f32")], 2),
        data=8 * held[0],
        owner=8 * held[1],
        plain=(_keys(torch, new), _keys(torch, inferring)),
    )


def agrees(layout: Layout, tensor: Any) -> bool:
    """Tell whether a launcher would read the same from a plain CUDA tensor as torch; False for other tensors."""
    try:
        view = read(tensor)
    except UnreadableArray:
        return False
    return _seen(layout, tensor) == (view.pointer, view.shape, view.strides, view.dtype, view.device)


def _seen(layout: Layout, tensor: Any) -> tuple[Any, ...] | None:
    """Return address, shape, strides, dtype and device as launchers read them; None for a tensor that is not plain."""
    (impl,) = _words(id(tensor) + layout.impl, 1)
    rank, *sizes = _words(impl + layout.sizes, 1 + 2 * MOST_RANK)
    (keys,), (offset,), (storage,) = (_words(impl + at, 1) for at in (layout.keys, layout.offset, layout.storage))
    (data,), (owner,) = (_words(storage + at, 1) for at in (layout.data, layout.owner))
    kind, ordinal = ctypes.string_at(impl + layout.device, 2)
    code = _CODES.get(int.from_bytes(ctypes.string_at(impl + layout.dtype, 2), "little"))
    if keys not in layout.plain or rank > MOST_RANK or kind != _CUDA or code is None or not data == owner != 0:
        return None
    shape, strides = tuple(sizes[:rank]), tuple(sizes[MOST_RANK:][:rank])
    return data + offset * DTYPES[code].bytes, shape, strides, code, ("cuda", ordinal)


def _keys(torch: Any, tensor: Any) -> int:
    return int(torch._C._dispatch_keys(tensor).raw_repr())


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(address))


def _at(memories: Sequence[Sequence[Any]], values: Sequence[Sequence[Any]], step: int = 1) -> int:
    """Return the only index, a multiple of `step`, at which each memory has its values. Errors: `_Unclear`."""
    found = [
        i
        for i in range(0, len(memories[0]), step)
        if all(memory[i : i + len(value)] == value for memory, value in zip(memories, values, strict=True))
    ]
    if len(found) != 1:
        raise _Unclear
    return found[0]


_CODES = {row.torch: code for code, row in DTYPES.items() if row.torch is not None}
_CUDA = 1  # c10::DeviceType

MOST_NUMBERS = 64

TABLE = struct.Struct(f"<{len(Layout._fields) - 1}Q 2Q {MOST_NUMBERS}I")
DTYPES_AT = TABLE.size - 4 * MOST_NUMBERS


def table(layout: Layout) -> ctypes.Array[ctypes.c_char]:
    """Return a layout as launchers read it: its fields as words; at `DTYPES_AT` DLPack's dtypes by torch's numbers.

    A dtype of DLPack is 32 bits: code, bits and one lane; 0 for a number that is no dtype of arrays.
    """
    dtypes = [0] * MOST_NUMBERS
    for number, code in _CODES.items():
        kind = DTYPES[code].dlpack
        assert kind is not None, "arrays have it"
        dtypes[number] = kind[0] | kind[1] << 8 | 1 << 16
    return ctypes.create_string_buffer(TABLE.pack(*layout[:-1], *layout.plain, *dtypes), TABLE.size)


def is_plain(kind: type) -> bool:
    """Tell whether tensors of a class are torch's own, with nothing overridden."""
    torch = sys.modules.get("torch")
    return torch is not None and kind in (torch.Tensor, torch.nn.Parameter)
