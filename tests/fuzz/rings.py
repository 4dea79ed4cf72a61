"""Random rings of shared memory: threads, cp.async or TMA fill them, ldmatrix and mma.sync empty them, beside NumPy.

Results leave from registers, or by way of shared memory, through stmatrix or not, by threads or TMA.

python -m tests.fuzz.rings --count 500 --gpu        # from a seed on; says which products are wrong
python -m tests.fuzz.rings --seed 17 --count 1 --show

A kernel multiplies small integers, any M, N and K, by every form of mma.sync, and must be exact.
"""

import sys
from random import Random
from typing import Any

import numpy as np

from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import SCALARS
from cutelite.ops.mma import every_form
from cutelite.ops.swizzles import span_of
from tests.fuzz import by_seed
from tests.fuzz.boxes import SPANS

Array = np.ndarray[Any, Any]
HELPERS = """\
import cutelite as cl

def by_threads(x, tile, row, column, extents, along_k, bytes):
    rows, k = extents
    for i in range(cl.thread_idx.x, rows * k, cl.block_dim.x):
        r, c = i // k, i % k
        at = (row + r, column + c) if along_k else (column + c, row + r)
        if cl.elem_less(at, x.shape):
            tile[r, c] = x[at]
        else:
            tile[r, c] = x.dtype(0)

def by_cp_async(x, tile, row, column, extents, along_k, bytes):
    rows, k = extents
    each = bytes // x.dtype.bytes
    for i in range(cl.thread_idx.x, rows * k // each, cl.block_dim.x):
        if along_k:
            r, c = i // (k // each), i % (k // each) * each
            at = row + r, column + c
        else:
            r, c = i % (rows // each) * each, i // (rows // each)
            at = column + c, row + r
        inside = cl.elem_less(at, x.shape)
        source = x.at(*(cl.where(inside, i, 0) for i in at))
        cl.cp_async(tile.at(r, c), source, bytes, src_bytes=cl.where(inside, bytes, 0))
"""


class Operand:
    """A or B: its type, how it lies in global and in shared memory, what brings it there and to registers."""

    def __init__(self, random: Random, dtype: str, rows: int, k: int, atom: int) -> None:
        self.dtype, self.rows, self.k = dtype, rows, k
        self.stored = "f32" if dtype == "tf32" else dtype
        self.held = numpy_dtype(SCALARS[self.stored])
        self.size = np.dtype(self.held).itemsize
        self.way = random.choice(("by_threads", "by_cp_async", "by_cp_async", "tma"))
        self.along_k = self.way == "tma" or rows * self.size % 16 > 0 or random.random() < 0.7
        inner = k if self.along_k else rows
        fits = [name for name in SPANS if inner * self.size % span_of(name) == 0]
        if self.way == "tma":
            fits = [name for name in SPANS if name == "none" or k * self.size <= span_of(name)]
        self.swizzle = random.choice(fits)
        self.bytes = random.choice([n for n in (4, 8, 16) if n >= self.size])
        self.order = tuple(random.sample(range(3), 3))
        self.unit = {"by_threads": 1, "by_cp_async": self.bytes // self.size, "tma": 16 // self.size}[self.way]
        registers = atom * self.size // 128  # of a thread, for the elements that a warp's atoms take together
        some = [n for n in (1, 2, 4) if registers % n == 0]
        self.matrices = random.choice((0, *some)) if self.size < 8 and (self.along_k or self.size == 2) else 0
        self.extents = [0, 0]

    def annotation(self) -> str:
        if self.way == "tma":
            return f"cl.TmaTensor[cl.{self.stored}, {tuple(self.extents)}, {(self.rows, self.k)}, {self.swizzle!r}]"
        return f"cl.Tensor[cl.{self.stored}, {tuple(self.extents if self.along_k else self.extents[::-1])}]"

    def ring(self, name: str, stages: int) -> str:
        if self.way == "tma":
            return f"{name} = cl.tma_shared({name}_, {stages})"
        major = "K" if self.along_k else "MN"
        atom = f"cl.make_smem_layout_atom(cl.{self.stored}, {major!r}, {self.swizzle!r})"
        shape = self.rows, self.k, stages
        return f"{name} = cl.shared(cl.{self.stored}, cl.tile_to_shape({atom}, {shape}, {self.order}))"

    def tile(self, name: str, stage: str) -> str:
        return f"{name}[{stage}, None, None]" if self.way == "tma" else f"{name}[None, None, {stage}]"

    def fetch(self, name: str, row: str) -> list[str]:
        """Return the source that fills the stage `s` with step `n`."""
        if self.way == "tma":
            at = f"at=({row}, n * {self.k}), barrier=full[s]"
            return ["if cl.thread_idx.x == 0:", f"    cl.tma_load({name}_, {self.tile(name, 's')}, {at})"]
        where = f"{row}, n * {self.k}, {(self.rows, self.k)}, {self.along_k}, {self.bytes}"
        return [f"{self.way}({name}_, {self.tile(name, 's')}, {where})"]

    def load(self, name: str, letter: str) -> list[str]:
        """Return the source that brings stage `s` to registers."""
        tile = self.tile(name, "s") + (".recast(cl.tf32)" if self.dtype == "tf32" else "")
        made = [
            f"s{name} = {tile}",
            f"p{name} = mine.partition_{letter}(s{name})",
            f"f{name} = mma.make_fragment_{letter}(p{name})",
        ]
        if not self.matrices:
            return [*made, f"cl.copy(p{name}, f{name})"]
        matrix = f"cl.LdMatrix8x8x16bOp(transpose={not self.along_k}, num_matrices={self.matrices})"
        copy = f"cl.make_tiled_copy_{letter}(cl.make_copy_atom({matrix}, cl.{self.dtype}), mma)"
        part = f"l{name}.get_slice(cl.thread_idx.x).partition_S(s{name})"
        return [*made, f"l{name} = {copy}", f"cl.copy(l{name}, {part}, l{name}.retile(f{name}))"]

    def numbers(self, draw: np.random.Generator) -> Array:
        low, high = {"i8": (-128, 128), "u8": (0, 256)}.get(self.dtype, (-2, 3))
        return draw.integers(low, high, self.extents).astype(self.held)

    def given(self, numbers: Array) -> Array:
        return numbers if self.along_k else np.ascontiguousarray(numbers.T)


class Results:
    """How an accumulator of type `d` comes to global memory: by way of shared memory, or directly.

    dtype     the type there
    matrices  the 8 x 8 matrices of an stmatrix; 0: threads write their elements
    way       'directly', 'threads' or 'tma'
    """

    def __init__(self, random: Random, d: str, rows: int, columns: int, matrices: int, narrows: bool) -> None:
        self.d, self.rows, self.columns = d, rows, columns
        self.dtype = "f16" if narrows and random.random() < 0.7 else d
        self.way = random.choice(("directly", "threads", "tma", "tma"))
        some = [n for n in (1, 2, 4) if matrices % n == 0]
        self.matrices = random.choice((0, *some, *some)) if self.dtype == "f16" and self.way != "directly" else 0
        row = columns * np.dtype(numpy_dtype(SCALARS[self.dtype])).itemsize
        fits = [name for name in SPANS if row % span_of(name) == 0]
        if self.way == "tma":
            fits = [name for name in SPANS if name == "none" or row <= span_of(name)]
        self.swizzle = random.choice(fits)

    def annotation(self, shape: tuple[int, int]) -> str:
        if self.way == "tma":
            return f"cl.TmaTensor[cl.{self.dtype}, {shape}, {(self.rows, self.columns)}, {self.swizzle!r}]"
        return f"cl.Tensor[cl.{self.dtype}, {shape}]"

    def lines(self) -> list[str]:
        """Return the source that brings `acc` to the tile of `c` at (row, column)."""
        size = f"{(self.rows, self.columns)}, (cl.block_idx.x, cl.block_idx.y)"
        narrow = [f"out = cl.make_rmem_tensor_like(acc, cl.{self.dtype})", f"out.store(acc.load().to(cl.{self.dtype}))"]
        if self.way == "directly":
            return [
                *narrow,
                f"places = mine.partition_C(cl.local_tile(cl.make_identity_tensor(c.shape), {size}))",
                f"results = mine.partition_C(cl.local_tile(c, {size}))",
                "for i in cl.static_range(cl.size(out)):",
                "    if cl.elem_less(places[i], c.shape):",
                "        results[i] = out[i]",
            ]
        atom = f"cl.make_smem_layout_atom(cl.{self.dtype}, 'K', {self.swizzle!r})"
        made = f"cl.shared(cl.{self.dtype}, cl.tile_to_shape({atom}, {(self.rows, self.columns)}, (0, 1)))"
        tile = ["tile = cl.tma_shared(c)" if self.way == "tma" else f"tile = {made}"]
        into = ["cl.copy(out, mine.partition_C(tile))"]
        if self.matrices:
            matrix = f"cl.StMatrix8x8x16bOp(num_matrices={self.matrices})"
            into = [
                f"to = cl.make_tiled_copy_C(cl.make_copy_atom({matrix}, cl.f16), mma)",
                "cl.copy(to, to.retile(out), to.get_slice(cl.thread_idx.x).partition_D(tile))",
            ]
        if self.way == "tma":
            leave = [
                "cl.fence_proxy_async('shared::cta')",
                "cl.syncthreads()",
                "if cl.thread_idx.x == 0:",
                "    cl.tma_store(tile, c, at=(row, column))",
                "    cl.cp_async_bulk_commit_group()",
                "    cl.cp_async_bulk_wait_group(0)",
            ]
        else:
            leave = [
                "cl.syncthreads()",
                f"for i in range(cl.thread_idx.x, {self.rows * self.columns}, cl.block_dim.x):",
                f"    r, k = i // {self.columns}, i % {self.columns}",
                "    if cl.elem_less((row + r, column + k), c.shape):",
                "        c[row + r, column + k] = tile[r, k]",
            ]
        return [*tile, *narrow, *into, *leave]


class Ring:
    """A kernel that multiplies through a ring, drawn from a seed."""

    def __init__(self, seed: int) -> None:
        random = Random(f"ring {seed}")
        name, form = random.choice(list(every_form()))
        self.a_type, self.b_type, self.d = name, random.choice(form.b), random.choice(form.d)
        self.inst = form.m, random.choice(form.k)
        self.atoms = random.choice(((1, 1, 1), (2, 1, 1), (1, 2, 1), (2, 2, 1), (4, 1, 1)))
        self.wide = random.choice((1, 2, 4))  # columns of a warp side by side, in atoms
        self.threads = 32 * self.atoms[0] * self.atoms[1]
        size = np.dtype(numpy_dtype(SCALARS["f32" if name == "tf32" else name])).itemsize
        rows = form.m * self.atoms[0] * random.choice((1, 2)), 8 * self.atoms[1] * self.wide * random.choice((1, 2))
        self.bk = max(8, self.inst[1], random.choice((32, 64, 128)) // size)
        self.stages = random.randint(2, 4)
        tiles = random.choice(((1, 1), (1, 2), (2, 1)))
        m, n = (
            max(1, each * extent - random.randint(0, extent // 2)) for each, extent in zip(tiles, rows, strict=True)
        )
        k = max(1, random.choice((1, 2, 3, 5)) * self.bk - random.randint(0, self.bk // 2))
        self.a, self.b = (
            Operand(random, dtype, extent, self.bk, atom * self.inst[1])
            for dtype, extent, atom in ((self.a_type, rows[0], form.m), (self.b_type, rows[1], 8 * self.wide))
        )
        k = -(-k // 16) * 16 if any(x.unit > 1 and x.along_k for x in (self.a, self.b)) else k
        narrows = self.d in ("f16", "f32") and 4 * k < 1 << 11  # f16 holds every sum
        self.results = Results(random, self.d, *rows, form.m // 8 * self.wide, narrows)
        n = -(-n // 8) * 8 if self.results.way == "tma" else n
        for x, total in ((self.a, m), (self.b, n)):
            x.extents = [total if x.along_k else -(-total // x.unit) * x.unit, k]
        self.grid = tuple(-(-x.extents[0] // x.rows) for x in (self.a, self.b))

    def source(self) -> str:
        a, b = self.a, self.b
        by_tma = [f"{name}_.tile_bytes" for name, x in (("a", a), ("b", b)) if x.way == "tma"]
        shape = a.extents[0], b.extents[0]
        permutation = f"(None, {8 * self.atoms[1] * self.wide}, None)"
        op = f"cl.WarpMmaOp(cl.{self.a_type}, cl.{self.d}, {self.inst[1]}, cl.{self.b_type}, m={self.inst[0]})"
        fetch = [
            "s = n % STAGES",
            *(["if cl.thread_idx.x == 0:", f"    full[s].arrive_expect_tx({' + '.join(by_tma)})"] if by_tma else []),
            *a.fetch("a", "row"),
            *b.fetch("b", "column"),
        ]
        first = ["full = cl.shared(cl.mbarrier, (STAGES,))", "if cl.thread_idx.x == 0:"]
        first += ["    for s in cl.static_range(STAGES):", "        full[s].init(1)"]
        first += ["    cl.fence_mbarrier_init()", "cl.syncthreads()"]
        body = [
            *(first if by_tma else []),
            a.ring("a", self.stages),
            b.ring("b", self.stages),
            f"row, column = cl.block_idx.x * {a.rows}, cl.block_idx.y * {b.rows}",
            f"mma = cl.make_tiled_mma({op}, {self.atoms}, {permutation})",
            "mine = mma.get_slice(cl.thread_idx.x)",
            f"acc = mma.make_fragment_C(mine.partition_C(cl.make_identity_tensor({(a.rows, b.rows)})))",
            "for n in cl.static_range(STAGES - 1):",
            "    if n < steps:",
            *(f"        {line}" for line in fetch),
            "    cl.cp_async_commit_group()",
            "for step in range(steps):",
            "    cl.cp_async_wait_group(STAGES - 2)",
            *(["    full[step % STAGES].wait(step // STAGES % 2)"] if by_tma else []),
            "    cl.syncthreads()",
            "    n = step + STAGES - 1",
            "    if n < steps:",
            *(f"        {line}" for line in fetch),
            "    cl.cp_async_commit_group()",
            "    s = step % STAGES",
            *(f"    {line}" for line in (*a.load("a", "A"), *b.load("b", "B"))),
            "    cl.gemm(mma, acc, fa, fb)",
            *self.results.lines(),
        ]
        head = f"""
STAGES = {self.stages}

@cl.kernel(block={self.threads})
def kernel(a_: {a.annotation()}, b_: {b.annotation()}, c: {self.results.annotation(shape)}, steps: cl.i32):
"""
        return HELPERS + head + "".join(f"    {line}\n" for line in body)


def mistakes(seed: int, gpu: bool = False) -> list[str]:
    """Multiply through the ring of a seed; return what is wrong."""
    ring, draw = Ring(seed), np.random.default_rng(seed)
    a, b = ring.a.numbers(draw), ring.b.numbers(draw)
    right = a.astype(float) @ b.astype(float).T
    out = np.full(right.shape, 77, numpy_dtype(SCALARS[ring.results.dtype]))
    arrays = [ring.a.given(a), ring.b.given(b), out]
    steps = -(-a.shape[1] // ring.bk)
    if failed := by_seed.failure(ring.source(), f"ring {seed}", ring.grid, arrays, (steps,), gpu):
        return failed
    wrong = out.astype(float) != right
    if not wrong.any():
        return []
    at = np.unravel_index(np.argmax(wrong), wrong.shape)
    return [ring.source(), f"c{[int(i) for i in at]} is {out[at]}, not {right[at]}: {wrong.sum()} are wrong"]


if __name__ == "__main__":
    sys.exit(by_seed.main("rings", mistakes, lambda seed: [Ring(seed).source()]))
