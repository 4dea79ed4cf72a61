"""Reading arrays of every library, exporting our own, and which stream goes with them."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutelite_rt.arrays import dlpack, exchange, memory, stream
from cutelite_rt.arrays.memory import (
    ArrayView,
    DeviceArray,
    UnreadableArray,
    empty,
    from_device,
    is_array,
    is_compact,
    read,
    to_device,
)
from cutelite_rt.dtype import DTYPES, compact_strides
from tests.processes import printed

if TYPE_CHECKING:
    from tests.rt.conftest import FakeCuda

NUMPY_DTYPES = {row.numpy: row.code for row in DTYPES.values() if row.numpy and hasattr(np, row.numpy)}

# ---- NumPy


@pytest.mark.parametrize("name", NUMPY_DTYPES)
def test_numpy(name: str) -> None:
    array = np.zeros((3, 4), name)
    view = read(array)
    assert view == ArrayView(array.ctypes.data, (3, 4), (4, 1), NUMPY_DTYPES[name], ("cpu", 0), array, "numpy", False)
    assert (view.size, view.nbytes) == (12, array.nbytes)


@given(st.data())
def test_numpy_views(data: st.DataObject) -> None:
    """Every element is where pointer and strides say, whatever slicing and permuting made the view."""
    array = np.arange(5 * 6 * 7, dtype=np.int16).reshape(5, 6, 7)
    index = tuple(data.draw(st.slices(extent)) for extent in (5, 6, 7))
    array = array[index].transpose(data.draw(st.permutations(range(3))))
    view = read(array)
    for place in np.ndindex(array.shape):
        offset = sum(i * step for i, step in zip(place, view.strides, strict=True))
        assert ctypes.c_int16.from_address(view.pointer + 2 * offset).value == array[place]


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2)])
def test_numpy_scalars_and_empty_arrays(shape: tuple[int, ...]) -> None:
    view = read(np.zeros(shape, np.float32))
    assert view.shape == shape
    assert is_compact(view)


def test_numpy_that_may_not_be_written() -> None:
    array = np.zeros(3)
    array.flags.writeable = False
    assert read(array).readonly


def test_numpy_low_precision() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for name, code in (("bfloat16", "bf16"), ("float8_e4m3fn", "e4m3"), ("float8_e5m2", "e5m2")):
        assert read(np.zeros((2, 2), getattr(ml_dtypes, name))).dtype == code


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.zeros(3, np.complex64), "a kernel cannot take an array of complex64; it takes elements of bool, i8"),
        (np.zeros(3, "M8[s]"), "cannot take an array of datetime64"),
        (np.zeros(3, [("a", "i4")]), "cannot take an array of"),
        (np.zeros(3, ">f4"), "has the byte order of another machine"),
        (np.zeros(3, [("a", "i1"), ("b", "i4")])["b"], r"strides of \(5,\) bytes are not multiples of the 4-byte"),
        ([1, 2, 3], "a list is not an array: pass a torch, CuPy, JAX or NumPy array"),
        (None, "a NoneType is not an array"),
        (3.0, "a float is not an array"),
    ],
)
def test_what_cannot_be_read(array: object, reason: str) -> None:
    with pytest.raises(UnreadableArray, match=reason):
        read(array)


def test_is_array() -> None:
    assert is_array(np.zeros(3))
    assert is_array(Exporter(np.zeros(3)))
    assert not any(is_array(value) for value in (3, 2.0, None, "x", [1], np.float32(1), object()))


# ---- DLPack, with NumPy's own exporter as the other side


class Exporter:
    """An array known by `__dlpack__` alone."""

    def __init__(self, array: np.ndarray[Any, Any], old: bool = False, device: tuple[int, int] = (1, 0)) -> None:
        self.array = array
        self.old = old
        self.device = device
        self.asked: dict[str, Any] = {}

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device

    def __dlpack__(self, **wanted: Any) -> object:
        if self.old and "max_version" in wanted:
            raise TypeError("unexpected keyword argument 'max_version'")
        self.asked = wanted
        if self.device[0] == 1:
            return self.array.__dlpack__(**{k: v for k, v in wanted.items() if k == "max_version"})
        view = read(self.array)
        kind = DTYPES[view.dtype].dlpack
        assert kind is not None
        return dlpack.export(dlpack.Facts(*view[:3], kind, self.device), self, not self.old)


@pytest.mark.parametrize("old", [True, False])
@pytest.mark.parametrize("name", NUMPY_DTYPES)
def test_dlpack(name: str, old: bool) -> None:
    array = np.zeros((4, 6, 5), name)[1:, ::2].transpose(2, 0, 1)
    view, direct = read(Exporter(array, old)), read(array)
    assert view[:5] == direct[:5]
    assert view.library == Exporter.__module__.split(".")[0]


def test_dlpack_keeps_the_memory_alive() -> None:
    array = np.arange(5.0)
    gone = weakref.ref(array)
    view = read(Exporter(array))
    pointer = view.pointer
    view = view._replace(owner=view.owner[1])  # the capsule alone
    del array
    gc.collect()
    assert gone() is not None
    assert ctypes.c_double.from_address(pointer + 32).value == 4.0
    del view
    gc.collect()
    assert gone() is None


def test_dlpack_that_may_not_be_written() -> None:
    array = np.zeros(3)
    array.flags.writeable = False
    assert read(Exporter(array)).readonly
    of_jax = type("ArrayImpl", (Exporter,), {"__module__": "jaxlib._jax"})
    assert read(of_jax(np.zeros(3))).readonly
    assert not read(Exporter(np.zeros(3))).readonly


@pytest.fixture
def three_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with three, whether this one has none or some."""
    monkeypatch.setattr(memory, "_gpus", lambda: 3)


@pytest.mark.usefixtures("three_gpus")
@pytest.mark.parametrize(("stream_", "asked"), [(None, {}), (0, {"stream": 1}), (0x77, {"stream": 0x77})])
def test_dlpack_is_told_the_stream(stream_: int | None, asked: dict[str, int]) -> None:
    array = Exporter(np.zeros(3), device=(2, 1))
    view = read(array, stream_)
    assert view.device == ("cuda", 1)
    assert {k: v for k, v in array.asked.items() if k == "stream"} == asked


@pytest.mark.usefixtures("three_gpus")
@pytest.mark.parametrize(("device", "where"), [((3, 0), ("cpu", 0)), ((13, 2), ("cuda", 2))])
def test_dlpack_pinned_and_managed_memory(device: tuple[int, int], where: tuple[str, int]) -> None:
    array = Exporter(np.zeros(3), device=device)
    assert read(array, 5).device == where


def test_dlpack_on_another_kind_of_device() -> None:
    with pytest.raises(UnreadableArray, match=r"neither on CUDA nor the CPU \(DLPack device type 10\)"):
        read(Exporter(np.zeros(3), device=(10, 0)))


def test_dlpack_refused_by_its_producer() -> None:
    class Stubborn(Exporter):
        def __dlpack__(self, **wanted: Any) -> object:
            raise BufferError("it requires a gradient")

    with pytest.raises(UnreadableArray, match="this Stubborn cannot be exported through DLPack: it requires a grad"):
        read(Stubborn(np.zeros(3)))


class Says:
    """What exports any facts as a capsule."""

    def __init__(self, pointer: int = 1 << 20, shape: Any = (4,), strides: Any = (1,), device: Any = (2, 0)) -> None:
        self.facts = pointer, shape, strides, (2, 32), device
        self.device = device

    def __dlpack_device__(self) -> Any:
        return self.device

    def __dlpack__(self, **wanted: Any) -> object:
        return dlpack.export(dlpack.Facts(*self.facts), self, True)


def contradicting() -> Says:
    array = Says()
    array.device = 2, 1
    return array


IMPOSSIBLE = [
    (lambda: Says(pointer=0), "has 4 elements, and no memory"),
    (lambda: Says(pointer=0, shape=(), strides=()), "has 1 elements, and no memory"),
    (lambda: Says(pointer=-16), "reaches beyond all addresses"),
    (lambda: Says(pointer=8, strides=(-4,)), "reaches beyond all addresses"),
    (lambda: Says(shape=(1 << 62,)), "reaches beyond all addresses"),
    (lambda: Says(shape=(-1,)), "a negative extent"),
    (lambda: Says(shape=(-2, -2), strides=(1, 1)), "a negative extent"),
    (lambda: Says(device=(2, -1)), "is on device -1"),
    (contradicting, r"is on device \(2, 1\) by __dlpack_device__\(\), and on \(2, 0\) by its capsule"),
]


@pytest.mark.parametrize(("make", "said"), IMPOSSIBLE, ids=[said for _, said in IMPOSSIBLE])
def test_arrays_that_cannot_be(make: Any, said: str) -> None:
    with pytest.raises(UnreadableArray, match=f"this Says .*{said}"):
        read(make())
    assert read(Says(pointer=0, shape=(0, 4), strides=(4, 1))).size == 0


@pytest.mark.parametrize(
    "changed",
    [{"data": (0, False)}, {"data": (-16, False)}, {"data": None}, {"shape": (-4,)}, {"shape": (2.5,)},
     {"strides": (4, 4)},
     {"typestr": "?!"}, {"shape": None}, {"data": ("x", 1)}],
)  # fmt: skip
def test_cuda_array_interfaces_that_cannot_be(changed: dict[str, Any], cuda: FakeCuda) -> None:
    class Array:
        __cuda_array_interface__ = {"shape": (4,), "typestr": "<f4", "data": (1 << 20, False), "version": 3} | changed

    with pytest.raises(UnreadableArray, match="this Array "):
        read(Array())


def test_dlpack_of_what_no_kernel_takes() -> None:
    with pytest.raises(UnreadableArray, match=r"an array \(Exporter\) of DLPack type \(code, bits\) \(5, 128\)"):
        read(Exporter(np.zeros(3, complex)))


def test_a_capsule_is_read_only_until_it_is_taken() -> None:
    class Constant(Exporter):
        capsule = np.zeros(3).__dlpack__()

        def __dlpack__(self, **wanted: Any) -> object:
            return self.capsule

    array = Constant(np.zeros(3))
    assert read(array).shape == (3,)
    np.from_dlpack(array)  # type: ignore[arg-type]
    with pytest.raises(UnreadableArray, match="is not a DLPack capsule that may still be read"):
        read(array)


@pytest.mark.parametrize("versioned", [True, False])
def test_our_own_capsules_are_read_by_numpy(versioned: bool) -> None:
    source = np.arange(24, dtype=np.int32)

    class Ours:
        def __dlpack_device__(self) -> tuple[int, int]:
            return 1, 0

        def __dlpack__(self, **wanted: Any) -> object:
            return dlpack.export(dlpack.Facts(source.ctypes.data, (3, 2), (9, 3), (0, 32), (1, 0)), self, versioned)

    owner = Ours()
    gone = weakref.ref(owner)
    taken = np.from_dlpack(owner)  # type: ignore[arg-type]
    del owner
    gc.collect()
    assert taken.tolist() == [[0, 3], [9, 12], [18, 21]]
    assert gone() is not None
    del taken
    gc.collect()
    assert gone() is None


def test_a_capsule_nobody_takes_lets_go() -> None:
    class Owner:
        pass

    for versioned in (True, False):
        owner = Owner()
        gone = weakref.ref(owner)
        capsule = dlpack.export(dlpack.Facts(0x1000, (3,), (1,), (2, 32), (2, 0)), owner, versioned)
        assert dlpack.parse(capsule)[:3] == (0x1000, (3,), (1,))
        del owner
        gc.collect()
        assert gone() is not None
        del capsule
        gc.collect()
        assert gone() is None


def test_exports_may_outlive_python() -> None:
    """A consumer that lets go while the interpreter ends finds nothing to call."""
    program = """
        import numpy as np
        from cutelite_rt.arrays import dlpack

        class Ours:
            def __init__(self): self.array = np.arange(4.0)
            def __dlpack_device__(self): return 1, 0
            def __dlpack__(self, **wanted):
                return dlpack.export(dlpack.Facts(self.array.ctypes.data, (4,), (1,), (2, 64), (1, 0)), self, True)

        import sys
        sys.kept = np.from_dlpack(Ours())  # freed when everything else has gone
        print(sys.kept.sum())
    """
    assert printed(program) == "6.0\n"


# ---- the CUDA array interface


class CudaArray:
    """An array known by `__cuda_array_interface__` alone."""

    def __init__(self, **interface: Any) -> None:
        base = {"shape": (4, 8), "typestr": "<f4", "data": (0x5000, False), "version": 3}
        self.__cuda_array_interface__ = base | interface


@pytest.mark.parametrize(
    ("typestr", "code"), [("<f4", "f32"), ("<f2", "f16"), ("|b1", "bool"), ("|u1", "u8"), ("<i8", "i64")]
)
def test_cuda_array_interface(cuda: FakeCuda, typestr: str, code: str) -> None:
    array = CudaArray(typestr=typestr)
    library = CudaArray.__module__.split(".")[0]
    assert read(array) == ArrayView(0x5000, (4, 8), (8, 1), code, ("cuda", 1), array, library)


def test_cuda_array_interface_strides_and_flags(cuda: FakeCuda) -> None:
    view = read(CudaArray(strides=(4, 16), data=(0x6000, True)))
    assert (view.strides, view.readonly) == ((1, 4), True)
    with pytest.raises(UnreadableArray, match=r"strides of \(30, 4\) bytes"):
        read(CudaArray(strides=(30, 4)))


def test_cuda_array_interface_waits_for_the_producers_stream(cuda: FakeCuda) -> None:
    read(CudaArray(stream=5), stream=5)
    assert "cuStreamSynchronize" not in cuda.calls
    read(CudaArray(stream=5), stream=6)
    assert cuda.calls.count("cuStreamSynchronize") == 1
    read(CudaArray(stream=5))
    assert cuda.calls.count("cuStreamSynchronize") == 2


def test_cuda_array_interface_with_a_mask(cuda: FakeCuda) -> None:
    with pytest.raises(UnreadableArray, match="this CudaArray has a mask, which a kernel would ignore"):
        read(CudaArray(mask=object()))


def test_an_empty_cuda_array_has_no_address(cuda: FakeCuda) -> None:
    view = read(CudaArray(shape=(0, 8), data=(0, False)))
    assert (view.pointer, view.device) == (0, ("cuda", 0))


# ---- torch and CuPy, by the methods that are used of them


class FakeTensor:
    """What `read` asks of a `torch.Tensor`."""

    is_cuda, is_cpu = True, False
    device = "cuda:1"

    def __init__(self, dtype: object, shape: tuple[int, ...] = (2, 3), pointer: int = 0x9000, negated: bool = False):
        self.dtype, self.shape, self.pointer, self.negated = dtype, shape, pointer, negated

    def data_ptr(self) -> int:
        if self.pointer < 0:
            raise RuntimeError("Cannot access data pointer")
        return self.pointer

    def stride(self) -> tuple[int, ...]:
        return compact_strides(self.shape)

    def get_device(self) -> int:
        return 1

    def is_neg(self) -> bool:
        return self.negated


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("torch")
    names = [row.numpy for row in DTYPES.values() if row.numpy]
    module.__dict__.update({name: f"torch.{name}" for name in names if name != "uint64"}, Tensor=FakeTensor)
    current = SimpleNamespace(current_stream=lambda ordinal: SimpleNamespace(cuda_stream=0x100 + ordinal))
    module.__dict__["cuda"] = current
    monkeypatch.setitem(sys.modules, "torch", module)
    monkeypatch.setattr("cutelite_rt.arrays.memory._torch_codes", {})
    monkeypatch.setattr("cutelite_rt.arrays.memory._READERS", {})
    monkeypatch.setattr(exchange, "way_of", exchange._Ways().__getitem__)
    return module


@pytest.mark.parametrize(("name", "code"), [("bfloat16", "bf16"), ("float8_e4m3fn", "e4m3"), ("bool", "bool")])
def test_torch(torch: ModuleType, name: str, code: str) -> None:
    tensor = FakeTensor(f"torch.{name}")
    for _ in range(2):
        assert read(tensor) == ArrayView(0x9000, (2, 3), (3, 1), code, ("cuda", 1), tensor, "torch")


def test_torch_subclasses_are_tensors(torch: ModuleType) -> None:
    class Parameter(FakeTensor):
        pass

    assert is_array(Parameter("torch.float32"))
    assert read(Parameter("torch.float32")).library == "torch"


def test_torch_on_the_cpu(torch: ModuleType) -> None:
    tensor = FakeTensor("torch.float32")
    tensor.is_cuda, tensor.is_cpu = False, True
    assert read(tensor).device == ("cpu", 0)


@pytest.mark.parametrize(
    ("tensor", "reason"),
    [
        (FakeTensor("torch.complex64"), "cannot take a torch tensor of torch.complex64"),
        (FakeTensor("torch.float32", pointer=0), "this FakeTensor has no memory of its own"),
        (FakeTensor("torch.float32", pointer=-1), "no strided memory of its own: Cannot access data pointer"),
        (FakeTensor("torch.float32", negated=True), r"call .resolve_neg\(\) first"),
    ],
)
def test_torch_tensors_that_cannot_be_read(torch: ModuleType, tensor: FakeTensor, reason: str) -> None:
    with pytest.raises(UnreadableArray, match=reason):
        read(tensor)


def test_an_empty_torch_tensor(torch: ModuleType) -> None:
    assert read(FakeTensor("torch.float32", (0, 3), 0)).size == 0


def test_torch_on_another_device(torch: ModuleType) -> None:
    tensor = FakeTensor("torch.float32")
    tensor.is_cuda, tensor.device = False, "xpu:0"
    with pytest.raises(UnreadableArray, match="this torch tensor is on 'xpu:0'"):
        read(tensor)


class FakeCupyArray:
    """What `read` asks of a `cupy.ndarray`."""

    shape, strides, itemsize, dtype = (2, 3), (24, 8), 8, np.dtype(np.float64)
    data = SimpleNamespace(ptr=0xA000)
    device = SimpleNamespace(id=1)


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("cupy")
    current = SimpleNamespace(get_current_stream=lambda ordinal: SimpleNamespace(ptr=0x200 + ordinal))
    module.__dict__.update(ndarray=FakeCupyArray, cuda=current)
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setattr("cutelite_rt.arrays.memory._READERS", {})
    monkeypatch.setattr(exchange, "way_of", exchange._Ways().__getitem__)
    return module


def test_cupy(cupy: ModuleType) -> None:
    array = FakeCupyArray()
    assert read(array) == ArrayView(0xA000, (2, 3), (3, 1), "f64", ("cuda", 1), array, "cupy")


# ---- streams


def test_torch_is_asked_for_its_current_stream_by_handle_where_it_can_be(torch: ModuleType) -> None:
    torch.__dict__["_C"] = SimpleNamespace(_cuda_getCurrentRawStream=lambda ordinal: 0x300 + ordinal)
    assert stream.current([read(FakeTensor("torch.float32"))]) == 0x301


def test_the_current_stream_is_the_first_arrays_librarys(torch: ModuleType, cupy: ModuleType) -> None:
    host, own = read(np.zeros(3)), ArrayView(1, (), (), "f32", ("cuda", 0), None, "cutelite")
    on_torch, on_cupy = read(FakeTensor("torch.float32")), read(FakeCupyArray())
    assert stream.current([]) == stream.current([host, own]) == 0
    assert stream.current([host, own, on_torch, on_cupy]) == 0x101
    assert stream.current([on_cupy, on_torch]) == 0x201


def test_a_torch_tensor_in_host_memory_has_no_stream(torch: ModuleType) -> None:
    view = read(FakeTensor("torch.float32"))._replace(device=("cpu", 0))
    assert stream.current([view]) == 0


class CUstream:
    """As that of cuda.bindings: only an int() of it is known."""

    def __int__(self) -> int:
        return 0x44


@pytest.mark.parametrize(
    ("given", "handle"),
    [
        (None, 0),
        (0, 0),
        (2, 2),
        (0x7F00_1234, 0x7F00_1234),
        (SimpleNamespace(__cuda_stream__=lambda: (0, 0x11)), 0x11),
        (SimpleNamespace(__cuda_stream__=(0, 0x12)), 0x12),
        (SimpleNamespace(cuda_stream=0x22), 0x22),
        (SimpleNamespace(ptr=0x33), 0x33),
        (SimpleNamespace(handle=SimpleNamespace(value=0x34)), 0x34),
        (SimpleNamespace(handle=SimpleNamespace(value=None)), 0),
        (SimpleNamespace(is_closed=False, __cuda_stream__=lambda: (0, 0x66)), 0x66),
        (CUstream(), 0x44),
    ],
)
def test_handles_of_streams(given: object, handle: int) -> None:
    assert stream.handle(given) == handle


def test_a_closed_stream_is_refused() -> None:
    closed = SimpleNamespace(is_closed=True, __cuda_stream__=lambda: (0, 0))
    with pytest.raises(stream.ClosedStream, match="this SimpleNamespace has been closed"):
        stream.handle(closed)


@pytest.mark.parametrize("given", ["0", 1.0, True, object(), []])
def test_what_is_no_stream(given: object) -> None:
    with pytest.raises(TypeError, match="is not a CUDA stream: pass a stream object, its handle, or None"):
        stream.handle(given)


@pytest.mark.parametrize("given", [-1, 3, 1024])
def test_numbers_that_are_no_handles(given: int) -> None:
    with pytest.raises(ValueError, match=f"{given} is not the handle of a stream, which is an address"):
        stream.handle(given)


# ---- arrays of our own


@pytest.mark.parametrize("name", NUMPY_DTYPES)
def test_there_and_back(cuda: FakeCuda, name: str) -> None:
    array = np.arange(12).reshape(3, 4).astype(name)
    there = to_device(array)
    assert (there.shape, there.strides, there.dtype) == ((3, 4), (4, 1), NUMPY_DTYPES[name])
    back = there.numpy()
    assert back.dtype == array.dtype
    assert (back == array).all()


def test_low_precision_there_and_back(cuda: FakeCuda) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    array = np.arange(6).astype(ml_dtypes.bfloat16)
    assert (to_device(array).numpy() == array).all()


def test_gaps_are_closed_on_the_way(cuda: FakeCuda) -> None:
    array = np.arange(48).reshape(6, 8)[::2, ::-3].T
    assert (to_device(array).numpy() == array).all()


def test_another_library_in_host_memory(cuda: FakeCuda) -> None:
    assert to_device(Exporter(np.arange(4))).numpy().tolist() == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="make it contiguous first"):
        to_device(Exporter(np.arange(8)[::2]))


@pytest.mark.parametrize("shape", [(), (0,), (2, 0)])
def test_scalars_and_nothing_there_and_back(cuda: FakeCuda, shape: tuple[int, ...]) -> None:
    back = to_device(np.ones(shape, np.int8)).numpy()
    assert back.shape == shape
    assert (back == 1).all()


def test_memory_is_freed_in_its_context(cuda: FakeCuda) -> None:
    from cutelite_rt.gpu.device import device

    array = empty((8,), "f32", device(1))
    assert len(cuda.memory) == 1
    del array
    gc.collect()
    assert not cuda.memory
    assert cuda.calls[-3:] == ["cuCtxPushCurrent", "cuMemFree", "cuCtxPopCurrent"]


def test_an_array_may_be_let_go_after_the_names_of_its_module(cuda: FakeCuda, monkeypatch: pytest.MonkeyPatch) -> None:
    """As at the exit of a Python without the interpreter lock."""
    array = empty((8,), "f32")
    monkeypatch.setattr("cutelite_rt.arrays.memory.sys", None)
    array.__del__()
    assert not cuda.memory
    array.pointer = 0


def test_out_of_memory_says_how_much(cuda: FakeCuda) -> None:
    from cutelite_rt.gpu.driver import CudaError

    cuda.fail["cuMemAlloc"] = 2
    with pytest.raises(CudaError, match=r"\(2\) allocating 4000 bytes on device 0: the device has not enough"):
        empty((1000,), "f32")


def test_our_arrays_are_read_by_the_runtime(cuda: FakeCuda) -> None:
    array = empty((3, 5), "e4m3")
    assert read(array) == ArrayView(array.pointer, (3, 5), (5, 1), "e4m3", ("cuda", 0), array, "cutelite")


def test_our_arrays_by_dlpack(cuda: FakeCuda) -> None:
    array = empty((3, 5), "bf16")
    assert array.__dlpack_device__() == (2, 0)
    for versioned in ({}, {"max_version": (1, 1)}, {"max_version": (0, 8)}):
        capsule = array.__dlpack__(**versioned)  # type: ignore[arg-type]
        assert ("versioned" in repr(capsule)) == (versioned == {"max_version": (1, 1)})
        assert dlpack.parse(capsule) == (array.pointer, (3, 5), (5, 1), (4, 16), (2, 0), 1, False)
    assert cuda.calls.count("cuCtxSynchronize") == 3
    array.__dlpack__(stream=-1)
    assert cuda.calls.count("cuCtxSynchronize") == 3


def test_our_memory_lives_as_long_as_its_capsule(cuda: FakeCuda) -> None:
    array = empty((3, 5), "bf16")
    capsule = array.__dlpack__()
    del array
    gc.collect()
    assert len(cuda.memory) == 1
    del capsule
    gc.collect()
    assert not cuda.memory


@pytest.mark.parametrize("wanted", [{"copy": True}, {"dl_device": (1, 0)}, {"dl_device": (2, 1)}])
def test_an_export_we_do_not_make(cuda: FakeCuda, wanted: dict[str, Any]) -> None:
    with pytest.raises(BufferError, match="a DeviceArray"):
        empty((3,), "f32").__dlpack__(**wanted)


@pytest.mark.parametrize("name", NUMPY_DTYPES)
def test_our_arrays_by_the_cuda_array_interface(cuda: FakeCuda, name: str) -> None:
    array = empty((3, 5), NUMPY_DTYPES[name])
    interface = array.__cuda_array_interface__
    assert np.dtype(interface["typestr"]) == np.dtype(name)
    assert interface["data"] == (array.pointer, False)
    assert (interface["shape"], interface["strides"], interface["version"]) == ((3, 5), None, 3)


def test_the_cuda_array_interface_has_no_bf16(cuda: FakeCuda) -> None:
    assert not hasattr(empty((3,), "bf16"), "__cuda_array_interface__")


@pytest.mark.parametrize("dtype", ["tf32", "float32", "f8"])
def test_no_array_has_such_elements(cuda: FakeCuda, dtype: str) -> None:
    with pytest.raises(ValueError, match=f"'{dtype}' is not a dtype of arrays: bool, i8"):
        empty((3,), dtype)


def test_copies_go_one_way(cuda: FakeCuda) -> None:
    array = empty((3,), "f32")
    with pytest.raises(ValueError, match="is already on device 0"):
        to_device(array)
    with pytest.raises(ValueError, match="is in host memory already"):
        from_device(np.zeros(3))
    assert isinstance(array, DeviceArray)


@pytest.mark.parametrize(
    ("shape", "strides", "compact"),
    [
        ((2, 3), (3, 1), True),
        ((2, 3), (4, 1), False),
        ((2, 3), (1, 2), False),
        ((1, 3), (99, 1), True),
        ((2, 1), (1, 7), True),
        ((0, 3), (5, 5), True),
        ((), (), True),
    ],
)
def test_is_compact(shape: tuple[int, ...], strides: tuple[int, ...], compact: bool) -> None:
    assert is_compact(ArrayView(0, shape, strides, "f32", ("cpu", 0), None, "numpy")) is compact
