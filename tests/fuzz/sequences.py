"""Random `cl.program`s: chains of small kernels over arguments, parts of them and workspaces, beside NumPy.

python -m tests.fuzz.sequences --count 500 --gpu        # from a seed on; says which programs leave other numbers
python -m tests.fuzz.sequences --seed 17 --count 1 --show

On a GPU, with torch's tensors, later calls are those of machine code, and one is captured in a CUDA graph and replayed.
"""

import sys
import traceback
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple, TypeVar

import numpy as np

import cutelite as cl
from cutelite import Tensor
from tests.fuzz import by_seed

Array = np.ndarray[Any, Any]
N = cl.dims("N")
T = TypeVar("T", cl.i32, cl.i64, cl.f32, cl.f64)
TYPES = {cl.i32: np.int32, cl.i64: np.int64, cl.f32: np.float32, cl.f64: np.float64}
CALLS, CAPTURED = 6, 4


@cl.kernel(block=64)
def scaled(x: Tensor[T, (N,)], a: T, b: T, y: Tensor[T, (N,)]) -> None:
    i = cl.block_idx.x * 64 + cl.thread_idx.x
    if i < N:
        y[i] = x[i] * a + b


@cl.kernel(block=64)
def added(x: Tensor[T, (N,)], z: Tensor[T, (N,)] | None, y: Tensor[T, (N,)]) -> None:
    i = cl.block_idx.x * 64 + cl.thread_idx.x
    if i < N:
        y[i] = x[i] + (z[i] if z is not None else 7)


@cl.kernel(block=64)
def turned(x: Tensor[T, (N,)], y: Tensor[T, (N,)]) -> None:
    i = cl.block_idx.x * 64 + cl.thread_idx.x
    if i < N:
        y[i] = x[N - 1 - i]


@cl.kernel(block=64)
def changed(x: Tensor[T, (N,)], k: cl.Constexpr[int], more: cl.Constexpr[bool]) -> None:
    i = cl.block_idx.x * 64 + cl.thread_idx.x
    if i < N:
        x[i] = x[i] * k + (1 if more else 0)


class Step(NamedTuple):
    """One launch: a kernel, the arrays that it reads and writes by name, two numbers; on the second half of them?"""

    kernel: str
    x: str
    z: str | None
    y: str
    a: int
    b: int
    half: bool

    def launch(self, arrays: dict[str, Any], s: int, flag: bool) -> None:
        x, z, y = (None if name is None else self.part(arrays[name]) for name in (self.x, self.z, self.y))
        assert x is not None and y is not None
        grid = cl.ceil_div(x.shape[0], 64)
        if self.kernel == "scaled":
            scaled[grid](x, self.a + s, self.b, y)
        elif self.kernel == "added":
            added[grid](x, z, y)
        elif self.kernel == "turned":
            turned[grid](x, y)
        else:
            changed[grid](x, self.a, flag)

    def by_numpy(self, arrays: dict[str, Array], s: int, flag: bool) -> None:
        x, y = self.part(arrays[self.x]), self.part(arrays[self.y])
        number = x.dtype.type
        if self.kernel == "scaled":
            y[:] = x * number(self.a + s) + number(self.b)
        elif self.kernel == "added":
            y[:] = x + (number(7) if self.z is None else self.part(arrays[self.z]))
        elif self.kernel == "turned":
            y[:] = x[::-1].copy()
        else:
            x[:] = x * number(self.a) + number(1 if flag else 0)

    def part(self, array: Any) -> Any:
        return array[array.shape[0] // 2 :] if self.half else array


class Sequence:
    """The steps of a program, drawn from a seed, its workspaces and the type of its numbers."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.dtype, self.held = random.choice(list(TYPES.items()))
        self.workspaces = [f"w{i}" for i in range(random.randint(0, 4))]
        self.steps: list[Step] = []
        written = ["A", "B", "C"]
        for _ in range(random.randint(1, 9)):
            kernel = random.choice(("scaled", "added", "turned", "changed"))
            x, z = random.choice(written), random.choice([*written, None])
            y = random.choice([name for name in ("A", "B", "C", *self.workspaces) if name not in (x, z)])
            half = not {name[0] for name in (x, y, z or "A")} & {"w"} and random.random() < 0.25
            step = Step(kernel, x, z, y, random.randint(0, 3), random.randint(-3, 3), half)
            self.steps.append(step)
            if kernel != "changed" and y not in written:
                written.append(y)

    def program(self) -> Callable[..., None]:
        def run(a: Any, b: Any, c: Any, s: int, flag: bool) -> None:
            arrays = {"A": a, "B": b, "C": c}
            arrays |= {name: cl.workspace((a.shape[0],), self.dtype) for name in self.workspaces}
            for step in self.steps:
                step.launch(arrays, s, flag)

        made: Callable[..., None] = cl.program(run)
        return made

    def by_numpy(self, arrays: list[Array], s: int, flag: bool) -> list[Array]:
        held = {name: x.copy() for name, x in zip("ABC", arrays, strict=True)}
        held |= {name: np.zeros_like(arrays[0]) for name in self.workspaces}
        for step in self.steps:
            step.by_numpy(held, s, flag)
        return [held[name] for name in "ABC"]


def mistakes(seed: int, gpu: bool = False) -> list[str]:
    """Call the program of a seed with several arguments; return what is wrong."""
    sequence = Sequence(seed)
    program, random = sequence.program(), sequence.random
    for call in range(CALLS):
        n, s, flag = random.choice((64, 100, 257)), random.randint(0, 2), random.random() < 0.5
        arrays = [np.array([random.randint(-5, 5) for _ in range(n)], sequence.held) for _ in range(3)]
        right = sequence.by_numpy(arrays, s, flag)
        try:
            if gpu:
                on_gpu(program, arrays, s, flag, call == CAPTURED)
            else:
                program(*arrays, s, flag)
        except Exception:
            return [f"call {call}:\n{traceback.format_exc(limit=-4)}", *map(str, sequence.steps)]
        for name, found, wanted in zip("ABC", arrays, right, strict=True):
            if not np.array_equal(found, wanted):
                return [f"call {call} leaves {found[:8]} in {name}, not {wanted[:8]}", *map(str, sequence.steps)]
    return []


def on_gpu(program: Callable[..., None], arrays: list[Array], s: int, flag: bool, captured: bool) -> None:
    """Call the program on torch's tensors, or within a CUDA graph, which is replayed once."""
    import torch

    there = [torch.from_numpy(x).cuda() for x in arrays]
    if captured:
        graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
        with torch.cuda.stream(stream):
            program(*there, s, flag)
            stream.synchronize()
            for x, array in zip(there, arrays, strict=True):
                x.copy_(torch.from_numpy(array))
            stream.synchronize()
            with torch.cuda.graph(graph, stream=stream):
                program(*there, s, flag)
            graph.replay()
            stream.synchronize()
    else:
        program(*there, s, flag)
    for x, array in zip(there, arrays, strict=True):
        array[...] = x.cpu().numpy()


if __name__ == "__main__":
    sys.exit(by_seed.main("programs", mistakes, lambda seed: map(str, Sequence(seed).steps)))
