"""Random TMA tensors: a box that lies anywhere is loaded, and stored or reduced elsewhere, beside NumPy.

python -m tests.fuzz.boxes --count 500 --gpu        # from a seed on; says which boxes land elsewhere
python -m tests.fuzz.boxes --seed 17 --count 1 --show
"""

import itertools
import sys
from random import Random
from typing import Any

import numpy as np

from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import SCALARS
from cutelite.ops.cp_async import TENSOR_REDUCTIONS
from tests.fuzz import by_seed

Array = np.ndarray[Any, Any]
TYPES = (*dict.fromkeys(t for types in TENSOR_REDUCTIONS.values() for t in types), "u8", "u16", "e4m3")
SPANS = {"none": 256, "32B": 32, "64B": 64, "128B": 128}


class Boxes:
    """A TMA tensor drawn from a seed: its box, shape and pitch, from where a box is loaded and to where it goes."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(seed)
        self.dtype, rank = random.choice(TYPES), random.randint(1, 5)
        self.held = numpy_dtype(SCALARS[self.dtype])
        unit = 16 // np.dtype(self.held).itemsize
        swizzle = random.choice(list(SPANS))
        while True:
            rows = [random.choice((1, 2, 3, 4, 5, 8, 16, 30)) for _ in range(rank - 1)]
            self.box = (*rows, random.randint(1, min(8, SPANS[swizzle] // 16)) * unit)
            if int(np.prod(self.box)) <= 2000:
                break
        shape = [max(1, random.choice((n, n - 1, n + 1, 2 * n, random.randint(1, 3 * n)))) for n in self.box]
        if rank == 1:  # the rest of 16 bytes is written too, and here no rows follow
            shape[-1] = -(-shape[-1] // unit) * unit
        self.shape = tuple(shape)
        self.pitch = shape[-1] if rank == 1 else -(-shape[-1] // unit) * unit + random.choice((0, 0, unit))
        self.kind = random.choice((None, *(kind for kind, of in TENSOR_REDUCTIONS.items() if self.dtype in of)))
        self.source_at = [random.randint(-n - 1, extent + 1) for n, extent in zip(self.box, shape, strict=True)]
        self.target_at = [random.randint(0, extent + 1) for extent in shape]
        for at in (self.source_at, self.target_at):
            at[-1] = at[-1] // unit * unit
        names = random.choice(([f"D{i}" for i in range(rank)], list(map(str, shape))))
        strides = "" if self.pitch == shape[-1] else f", ({'None, ' * (rank - 1)}1,)"
        self.annotation = f"cl.TmaTensor[cl.{self.dtype}, ({', '.join(names)},), {self.box}{strides}, {swizzle!r}]"

    def source(self) -> str:
        coordinates = [[f"{letter}{i}" for i in range(len(self.box))] for letter in "ab"]
        a, b = (f"({', '.join(names)},)" for names in coordinates)
        goes = "tma_store(tile, y, " if self.kind is None else f"tma_reduce(tile, y, {self.kind!r}, "
        return f"""\
import cutelite as cl
{"; ".join(f"D{i} = cl.dims('D{i}')" for i in range(len(self.box)))}
X = {self.annotation}
@cl.kernel(block=32)
def kernel(x: X, y: X, out: cl.Tensor[cl.{self.dtype}, {self.box}],
           {", ".join(f"{name}: cl.i32" for names in coordinates for name in names)}):
    tile, full = cl.tma_shared(x), cl.shared(cl.mbarrier, (1,))
    if cl.thread_idx.x == 0:
        full[0].init(1)
        cl.fence_mbarrier_init()
        full[0].arrive_expect_tx(x.tile_bytes)
        cl.tma_load(x, tile, at={a}, barrier=full[0])
    cl.syncthreads()
    full[0].wait(0)
    for i in range(cl.thread_idx.x, {int(np.prod(self.box))}, 32):
        at = cl.idx2crd(i, {self.box})
        out[at] = tile[at]
    cl.fence_proxy_async()
    cl.syncthreads()
    if cl.thread_idx.x == 0:
        cl.{goes}at={b})
        cl.cp_async_bulk_commit_group()
        cl.cp_async_bulk_wait_group(0)
"""

    def array(self) -> Array:
        """An array as the tensor is, within a wider one."""
        most = 16 if self.dtype in ("e4m3", "u8") else 50
        count = int(np.prod(self.shape[:-1])) * self.pitch
        least = 0 if self.dtype.startswith("u") else -most
        numbers = np.array([self.random.randint(least, most) for _ in range(count)]).astype(self.held)
        return numbers.reshape(*self.shape[:-1], self.pitch)[..., : self.shape[-1]]

    def by_numpy(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The box, and the target after it was stored or reduced."""
        box, target = np.zeros(self.box, self.held), y.copy()
        for at in itertools.product(*map(range, self.box)):
            where = tuple(start + i for start, i in zip(self.source_at, at, strict=True))
            if self.within(where):
                box[at] = x[where]
            where = tuple(start + i for start, i in zip(self.target_at, at, strict=True))
            if self.within(where):
                target[where] = combined(self.kind, y[where], box[at])
        return box, target

    def within(self, where: tuple[int, ...]) -> bool:
        return all(0 <= at < extent for at, extent in zip(where, self.shape, strict=True))


def combined(kind: str | None, old: Any, new: Any) -> Any:
    match kind:
        case None:
            return new
        case "add":
            return old + new
        case "inc":
            return 0 if old >= new else old + 1
        case "dec":
            return new if old == 0 or old > new else old - 1
        case "min" | "max":
            return min(old, new) if kind == "min" else max(old, new)
        case _:
            return {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[kind](old, new)


def mistakes(seed: int, gpu: bool = False) -> list[str]:
    """Move the box of a seed there and back; return what is wrong."""
    boxes = Boxes(seed)
    x, y, out = boxes.array(), boxes.array(), np.zeros(boxes.box).astype(boxes.held)
    right = boxes.by_numpy(x, y)
    numbers = [*boxes.source_at, *boxes.target_at]
    said = [f"{boxes.annotation} of {boxes.shape}, {boxes.pitch}: {boxes.source_at} to {boxes.target_at}"]
    if failed := by_seed.failure(boxes.source(), f"boxes {seed}", 1, (x, y, out), numbers, gpu):
        return [*said, *failed]
    both = zip(("the box", "the target"), (out, y), right, strict=True)
    return [
        f"{said[0]}\n{what} holds {found.ravel()[:8]}, not {wanted.ravel()[:8]}"
        for what, found, wanted in both
        if not np.array_equal(found.astype(float), wanted.astype(float))
    ]


if __name__ == "__main__":
    sys.exit(by_seed.main("boxes", mistakes, lambda seed: [Boxes(seed).source()]))
