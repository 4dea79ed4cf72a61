"""Kernels made of spellings: to be assembled, printed, and kept as golden files."""

import subprocess
from pathlib import Path
from typing import Any

from cutelite.ir.builder import Builder
from cutelite.ir.function import Block, Function, Value
from cutelite.ir.types import InFlight, Ptr, Scalar, Tensor, Type, Vec, elem_of, f32, i32
from cutelite.layout import Layout
from cutelite.ops.arith import Const, VecGather, VecMake, VecSplat
from cutelite.ops.cluster import Mapa
from cutelite.ops.control import Ret
from cutelite.ops.memory import Load, PtrAdd, Store
from cutelite.ops.tcgen05 import Load as TmemLoad
from cutelite.ops.tcgen05 import Start
from cutelite.ops.tensor import SmemAlloc, TensorAddress, TensorLoadAll, TensorStore, TensorStoreAll
from cutelite.ops.wgmma import Fence
from cutelite.target import Target
from tests.vocabulary.row import Row, Spelling

ATTRIBUTES = {"block": (128, 1, 1)}


def check_assembles(text: str, target: Target, ptxas: str, folder: Path, *options: str) -> None:
    """Assert that ptxas takes this PTX."""
    source = folder / "spelled.ptx"
    source.write_text(text)
    command = [ptxas, f"-arch={target.arch}", *options, str(source), "-o", str(folder / "spelled.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]


# What works asynchronously: one spelling in a kernel.


def alone(spelling: Spelling, kept: bool = False) -> Function:
    """Return a kernel with this op alone. Vectors are made of a scalar parameter, or put in flight by a fence or load.

    kept  store the results that can be stored: else LLVM leaves out ops without other effects
    """
    tensor_memory = spelling.cls.name.startswith("tcgen05")
    params = tuple(Value(_parameter(t, tensor_memory), hint=f"p{i}") for i, t in enumerate(spelling.types))
    base = Value(Ptr("gmem", 16), hint="base")
    block = Block((*params, base) if kept else params)
    builder = Builder(Function("spelling", [block], {}, dict(ATTRIBUTES)), block)
    op = spelling.op([_made(builder, t, p) for t, p in zip(spelling.types, params, strict=True)])
    builder.emit(op)
    memory = _Memory(builder, base)
    for result in op.results if kept else ():
        if isinstance(result.type, Scalar | Vec):
            memory.store(result)
    builder.emit(Ret())
    return builder.function


def _parameter(t: Type, tensor_memory: bool) -> Type:
    if tensor_memory and isinstance(t, InFlight):
        return t.inner if isinstance(t.inner, Tensor) else Ptr("tmem", 4)
    return elem_of(t) if isinstance(t, Vec | InFlight) else t


def _made(builder: Builder, t: Type, p: Value) -> Value:
    if isinstance(t, InFlight) and isinstance(t.inner, Tensor):
        return builder.emit(Start(p))  # type: ignore[no-any-return]
    if isinstance(t, InFlight) and isinstance(p.type, Ptr):
        held = t.inner
        assert isinstance(held, Vec)
        load = TmemLoad(p, repeats=held.n * held.elem.bits // 32, elem=held.elem)
        return builder.emit(load)  # type: ignore[no-any-return]
    if isinstance(t, InFlight):
        return builder.emit(Fence((_made(builder, t.inner, p),)))  # type: ignore[no-any-return]
    return builder.emit(VecSplat(p, t.n)) if isinstance(t, Vec) else p


# All else: many in a kernel, with loads and stores around them, so that none is left out.


def together(of: list[Spelling], target: Target | None = None) -> Function:
    """Return a kernel that loads the operands of each op from memory, executes it, and stores its results."""
    params = {t: Value(t, hint=t.space) for s in of for t in s.types if isinstance(t, Ptr)}
    base = Value(Ptr("gmem", 16), hint="base")
    block = Block((base, *params.values()))
    builder = Builder(Function("spellings", [block], {}, dict(ATTRIBUTES)), block, target)
    memory = _Memory(builder, base)
    for spelling in of:
        op = spelling.op([params[t] if isinstance(t, Ptr) else memory.load(t) for t in spelling.types])
        builder.emit(op)
        for result in op.results:
            memory.store(result)
    builder.emit(Ret())
    return builder.function


class _Memory:
    """Loads and stores, each at a new address."""

    def __init__(self, builder: Builder, base: Value) -> None:
        self.builder, self.base, self.offset = builder, base, 0

    def _place(self) -> Value:
        self.offset += 16
        distance = self.builder.emit(Const(self.offset, i32))
        return self.builder.emit(PtrAdd(self.base, distance, 16))  # type: ignore[no-any-return]

    def load(self, t: Type) -> Value:
        items = [self.builder.emit(Load(self._place(), elem_of(t))) for _ in range(t.n if isinstance(t, Vec) else 1)]
        return self.builder.emit(VecMake(tuple(items))) if isinstance(t, Vec) else items[0]  # type: ignore[no-any-return]

    def store(self, value: Value) -> None:
        count = value.type.n if isinstance(value.type, Vec) else 0
        elements = [self.builder.emit(VecGather(value, (i,), scalar=True)) for i in range(count)]
        for element in elements or [value]:
            self.builder.emit(Store(self._place(), element))


# Golden files.


def golden(row: Row) -> Function:
    """Return the kernel of a row's golden file: operands are parameters or loaded from them, results are stored."""
    name = "op_" + row.name.replace(".", "_")
    return _Golden(Function(name, [Block()], {}, dict(ATTRIBUTES))).filled(row)


class _Golden:
    def __init__(self, function: Function) -> None:
        self.function, self.builder = function, Builder(function)
        self.made: dict[tuple[str, Type], Value] = {}

    def filled(self, row: Row) -> Function:
        for i, spelling in enumerate(row.golden):
            op = spelling.op([self.operand(letter, t) for letter, t in spelling.lettered])
            self.builder.emit(op)
            for j, result in enumerate(op.results):
                result.hint = f"r{i}_{j}" if len(op.results) > 1 else f"r{i}"
                self.store(result, f"out{i}_{j}")
        self.builder.emit(Ret())
        return self.function

    def operand(self, letter: str, t: Type) -> Value:
        """Return the value for an operand: one for each place among the operands, and type."""
        if (letter, t) not in self.made:
            self.made[letter, t] = self.new(
                f"{letter}_{''.join(c for c in str(t).replace(',', 'x') if c.isalnum())}", t
            )
        return self.made[letter, t]

    def new(self, name: str, t: Type) -> Value:
        if isinstance(t, Vec):
            return self.named(TensorLoadAll(self.tensor(f"{name}_in", t)), name)
        if isinstance(t, Ptr) and t.space in ("smem", "cluster"):
            memory = self.builder.emit(SmemAlloc(Tensor(f32, "smem", Layout(64, 1), 16)))
            address = self.named(TensorAddress(memory), name)
            return address if t.space == "smem" else self.named(Mapa(address, self.operand("e", i32)), name)
        return self.parameter(name, t)

    def parameter(self, name: str, t: Type) -> Value:
        self.function.entry.params.append(Value(t, hint=name))
        return self.function.entry.params[-1]

    def tensor(self, name: str, t: Type) -> Value:
        """Return a parameter: a tensor in global memory with the elements of a vector or number."""
        elem, count = elem_of(t), t.n if isinstance(t, Vec) else 1
        return self.parameter(name, Tensor(elem, "gmem", Layout(count, 1), elem.bytes))

    def named(self, op: Any, name: str) -> Value:
        value: Value = self.builder.emit(op)
        value.hint = name
        return value

    def store(self, value: Value, name: str) -> None:
        out = self.tensor(name, value.type)
        if isinstance(value.type, Vec):
            self.builder.emit(TensorStoreAll(out, value))
        else:
            self.builder.emit(TensorStore(out, (self.builder.emit(Const(0, i32)),), value))
