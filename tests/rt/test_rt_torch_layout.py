"""Finding where torch keeps things, in a torch whose tensors are `bytes` behind a slot."""

from __future__ import annotations

import contextlib
import ctypes
import struct
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from cutelite_rt.arrays import torch_layout
from cutelite_rt.arrays.memory import ArrayView
from cutelite_rt.dtype import compact_strides
from tests.rt.conftest import machine_code_or_skip

HEADER = bytes.__basicsize__ - 1
NUMBERS = {"torch.float32": 6, "torch.float64": 7, "torch.uint8": 0}


class Storage:
    def __init__(self, pointer: int) -> None:
        self.pointer = pointer
        self.memory = struct.pack("<8Q", 11, pointer, 12, pointer, 13, 14, 15, 16)

    @property
    def _cdata(self) -> int:
        return id(self.memory) + HEADER - 32  # 4 words ahead of the content, in a Python with longer heads too

    def data_ptr(self) -> int:
        return self.pointer


class Tensor:
    """What is asked of a tensor, and the memory that is looked at: `twice` has a value there in two places."""

    __slots__ = ("dtype", "impl", "inferring", "offset", "on_gpu", "shape", "steps", "store")
    twice = False

    def __init__(
        self, store: Storage, dtype: str, shape: Any, steps: Any, offset: int, on_gpu: bool, inferring: bool
    ) -> None:
        self.store, self.dtype, self.shape, self.steps, self.offset = store, dtype, shape, steps, offset
        self.on_gpu, self.inferring = on_gpu, inferring
        sizes, strides = ((*each, *[0] * 5)[:5] for each in (shape, steps))
        place = bytes((1, 2, 1)) if on_gpu else b"\x00\xff\x01"
        tail = NUMBERS[dtype].to_bytes(2, "little") + place + b"\x41\x01\x00"
        words = store._cdata, self.keys, len(shape), *sizes, *strides, offset
        self.impl = struct.pack("<3Q 10q Q 8s Q 16x 32x", *words, tail, offset if self.twice else 99)

    @property
    def _cdata(self) -> int:
        return id(self.impl)

    @property
    def keys(self) -> int:
        return 0x12800010001 + self.on_gpu - (self.inferring << 40)

    def as_strided(self, shape: Any, steps: Any, offset: int) -> Tensor:
        return Tensor(self.store, self.dtype, shape, steps, offset, self.on_gpu, self.inferring)

    def view(self, dtype: str) -> Tensor:
        return Tensor(self.store, dtype, self.shape, self.steps, self.offset, self.on_gpu, self.inferring)

    def untyped_storage(self) -> Storage:
        return self.store

    def dim(self) -> int:
        return len(self.shape)

    def stride(self) -> Any:
        return self.steps

    def storage_offset(self) -> int:
        return self.offset

    def element_size(self) -> int:
        return {6: 4, 7: 8, 0: 1}[NUMBERS[self.dtype]]

    def data_ptr(self) -> int:
        return self.store.pointer + self.offset * self.element_size()

    def get_device(self) -> int:
        return 2 if self.on_gpu else -1


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> Any:
    module: Any = ModuleType("torch")
    module.float32, module.float64, module.uint8 = NUMBERS
    inferring = [False]

    def empty(count: int, dtype: str = "torch.float32", device: str = "cpu") -> Tensor:
        return Tensor(Storage(0x77000), dtype, (count,), compact_strides((count,)), 0, device == "cuda", inferring[0])

    @contextlib.contextmanager
    def inference_mode(mode: bool = True) -> Iterator[None]:
        inferring[0], before = mode, inferring[0]
        yield
        inferring[0] = before

    module.empty, module.inference_mode = empty, inference_mode
    module._C = SimpleNamespace(_dispatch_keys=lambda t: SimpleNamespace(raw_repr=lambda: t.keys))
    module.Tensor, module.nn = Tensor, SimpleNamespace(Parameter=None)
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


@pytest.mark.parametrize("inferring", [False, True])
def test_a_layout_is_found(torch: Any, inferring: bool) -> None:
    machine_code_or_skip()
    with torch.inference_mode(inferring):
        found = torch_layout.find()
    slots = (ctypes.c_uint64 * (Tensor.__basicsize__ // 8)).from_address(id(t := torch.empty(3)))
    assert found == torch_layout.Layout(
        impl=8 * list(slots).index(id(t.impl)),
        storage=HEADER,
        keys=HEADER + 8,
        sizes=HEADER + 16,
        offset=HEADER + 104,
        dtype=HEADER + 112,
        device=HEADER + 114,
        data=32 + 8,
        owner=32 + 24,
        plain=(0x12800010002, 0x2800010002),
    )
    assert torch_layout.is_plain(Tensor)
    assert not torch_layout.is_plain(Storage)


def test_what_is_found_has_to_tell_what_torch_says(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    machine_code_or_skip()

    def read(t: Any) -> ArrayView:
        code = {"torch.float32": "f32", "torch.uint8": "u8"}[t.dtype]
        where = ("cuda", 2) if t.on_gpu else ("cpu", 0)
        return ArrayView(t.data_ptr(), t.shape, t.stride(), code, where, t, "torch")

    monkeypatch.setattr(torch_layout, "read", read)
    layout = torch_layout.find()
    assert layout is not None
    on_gpu = torch.empty(4096, device="cuda").as_strided((3, 5), (40, 2), 7)
    assert torch_layout.agrees(layout, on_gpu)
    assert torch_layout.agrees(layout, on_gpu.view("torch.uint8"))
    assert not torch_layout.agrees(layout, torch.empty(3)), "is not plain, and tells nothing"
    for field, elsewhere in (("sizes", 8), ("offset", -8), ("dtype", 2), ("device", 1), ("data", 8), ("owner", 8)):
        wrong = layout._replace(**{field: getattr(layout, field) + elsewhere})
        assert not torch_layout.agrees(wrong, on_gpu), field
    assert not torch_layout.agrees(layout._replace(plain=(1, 2)), on_gpu)
    monkeypatch.setattr(Tensor, "stride", lambda self: (40, 3))
    assert not torch_layout.agrees(layout, on_gpu)


def test_what_is_not_clear_is_not_guessed(torch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tensor, "twice", True)
    assert torch_layout.find() is None
    monkeypatch.setattr(Tensor, "twice", False)
    monkeypatch.setattr(Tensor, "data_ptr", lambda self: self.store.pointer)
    assert torch_layout.find() is None


def test_a_torch_that_says_too_little(torch: Any) -> None:
    del torch._C
    assert torch_layout.find() is None


def test_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert torch_layout.find() is None
    assert not torch_layout.is_plain(int)


def test_the_table_has_every_field_and_dtype() -> None:
    layout = torch_layout.Layout(1, 2, 3, 4, 5, 6, 7, 8, 9, (10, 11))
    data = torch_layout.table(layout).raw
    assert struct.unpack_from("<11Q", data) == tuple(range(1, 12))
    dtypes = struct.unpack_from(f"<{torch_layout.MOST_NUMBERS}I", data, torch_layout.DTYPES_AT)
    assert (dtypes[6], dtypes[15], dtypes[0], dtypes[9]) == (0x12002, 0x11004, 0x10801, 0)
