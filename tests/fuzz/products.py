"""Random products by wgmma, of dense and sparse A: chains of accumulators, in loops and outside, beside NumPy.

python -m tests.fuzz.products --count 500 --gpu        # from a seed on; says which accumulators are wrong
python -m tests.fuzz.products --seed 17 --count 1 --show

Small integers must come out exactly. Other numbers may be as far from float64 as the sums' roundings bring them.
"""

import sys
from random import Random
from typing import Any

import numpy as np

from cutelite.ir.contract import numpy_dtype
from cutelite.ir.types import SCALARS
from cutelite.ops.swizzles import span_of
from cutelite.ops.wgmma import wide
from cutelite.ops.wgmma_layouts import FORMS, legal_n
from cutelite.ops.wgmma_sparse import compress_sparse, group_of
from tests.fuzz import by_seed
from tests.fuzz.boxes import SPANS

Array = np.ndarray[Any, Any]
MOST = 1 << 14  # elements of A and B together, of more than one stage: a simulation fills them one by one
EXACT = {"f32": 2.0**24, "f16": 2.0**11, "fp8": 2.0**12}
"""Sums of integers up to here lose no bit; those of fp8 lose what lies 13 bits below the greatest summand."""
ROUNDING = {"f32": 2.0**-20, "f16": 2.0**-9, "fp8": 2.0**-11}
"""How much of the sum of magnitudes an instruction may lose."""


class Tile:
    """The stages of an operand in shared memory: rows, K, and how they lie there.

    least  the bytes along K that the swizzle has to keep together
    """

    def __init__(self, random: Random, dtype: str, rows: int, part: int, k: int, stages: int, least: int = 0) -> None:
        self.dtype, self.shape = dtype, (stages, rows, k)
        self.held = numpy_dtype(SCALARS["f32" if dtype == "tf32" else dtype])
        size = np.dtype(self.held).itemsize
        majors = [("K", k), ("MN", part)] if FORMS[dtype].any_major else [("K", k)]
        fits = [(major, name) for major, extent in majors for name in SPANS if extent * size % span_of(name) == 0]
        fits = [(major, name) for major, name in fits if (major, name) != ("K", "32B") or least <= 32]
        self.major, self.swizzle = random.choice(fits)
        self.order = tuple(random.sample(range(3), 3))

    def lines(self, name: str, threads: int) -> list[str]:
        """Return the source that makes the tile and fills it."""
        stages, rows, k = self.shape
        dtype = "f32" if self.dtype == "tf32" else self.dtype
        atom = f"cl.make_smem_layout_atom(cl.{dtype}, {self.major!r}, {self.swizzle!r})"
        return [
            f"{name} = cl.shared(cl.{dtype}, cl.tile_to_shape({atom}, {(rows, k, stages)}, {self.order}))",
            f"for i in range(cl.thread_idx.x, {stages * rows * k}, {threads}):",
            f"    stage, row, column = i // {rows * k}, i // {k} % {rows}, i % {k}",
            f"    {name}[row, column, stage] = {name}_[stage, row, column]",
            *([f"{name} = {name}.recast(cl.tf32)"] if self.dtype == "tf32" else []),
        ]

    def numbers(self, draw: np.random.Generator, exact: bool) -> Array:
        if self.dtype in ("i8", "u8"):
            limits = np.iinfo(self.held)
            return draw.integers(limits.min, limits.max + 1, self.shape).astype(self.held)
        return (draw.integers(-2, 3, self.shape) if exact else draw.standard_normal(self.shape)).astype(self.held)

    def wide(self, numbers: Array) -> Array:
        found: Array = wide(numbers, SCALARS[self.dtype])
        return found


class Sum:
    """An accumulator: its part of B's rows, where it stands, and its value as float64 or int64 has it."""

    def __init__(self, name: str, first: int, n: int, value: Array) -> None:
        self.name, self.first, self.n = name, first, n
        self.value, self.magnitude, self.error = value, np.abs(value), np.zeros(value.shape)
        self.group: int | None = None  # that its last product is in; None if it can be read


class Products:
    """A kernel of products drawn from a seed, and what float64 makes of it."""

    def __init__(self, seed: int) -> None:
        self.random = random = Random(f"products {seed}")
        draw = np.random.default_rng(seed)
        a = random.choice(list(FORMS))
        b, self.d = random.choice(FORMS[a].b), random.choice(FORMS[a].d)
        self.form, self.exact = FORMS[a], random.random() < 0.6 or self.d == "i32"
        self.kind = self.d if self.d == "i32" or a[0] != "e" else "fp8"
        self.step = 32 // np.dtype(numpy_dtype(SCALARS["f32" if a == "tf32" else a])).itemsize
        self.sparse = random.random() < 0.25
        self.step *= 2 if self.sparse else 1
        self.k, stages = self.step * random.choice((1, 2, 3, 4)), random.randint(1, 3)
        self.kept = self.k // 2 if self.sparse else self.k  # of A along K
        self.groups = random.choice((1, 1, 2))
        sizes = [n for n in range(8, 257, 8) if legal_n(self.form, n)]
        count = random.choice((1, 1, 2, 3))
        n = random.choice([n for n in sizes if n * count <= 256])
        if random.random() < 0.2 and self.k % 16 == 0 and self.k * count <= 256 and self.k in sizes:
            n = self.k  # then accumulators can become operands
        stages = min(stages, max(1, MOST // ((64 * self.groups + n * count) * self.k)))
        self.a = Tile(random, a, 64 * self.groups, 64, self.kept, stages)
        self.b = Tile(random, b, n * count, n, self.k, stages, 64 if self.sparse else 32)
        self.stages = [random.randrange(stages) for _ in range(4)]  # known at run time only
        self.steps, self.on = random.randint(0, 4), random.randint(0, 1)
        self.saturate = self.d == "i32" and random.random() < 0.3
        self.arrays = [self.a.numbers(draw, self.exact), self.b.numbers(draw, self.exact)]
        whole = self.halved(draw) if self.sparse else self.arrays[0]
        self.wide = self.a.wide(whole), self.b.wide(self.arrays[1])
        shape = (64 * self.groups, n)
        self.sums: list[Sum] = []
        self.lines: list[str] = []
        self.closed, self.opened = 0, False  # groups so far; whether products have been started since
        self.registers = False  # whether some products may still read A there
        for i in range(count):
            self.arrays.append(self.start(draw, shape))
            self.sums.append(Sum(f"d{i}", i * n, n, self.arrays[-1].astype(float)))
            self.line(f"d{i} = cl.wgmma.partition(d{i}_.tile((64, {n}), (group, 0))).load()")
        for _ in range(random.randint(2, 7)):
            random.choice((self.products, self.products, self.loop, self.wait, self.arithmetic, self.operand))()
        self.commit()
        self.wait(0)

    def halved(self, draw: np.random.Generator) -> Array:
        """Make A sparse and return it with its zeros: one array has what is kept, another one the metadata."""
        dtype = SCALARS[self.a.dtype]
        group, (stages, rows, kept) = group_of(dtype), self.a.shape
        whole = np.concatenate([self.a.numbers(draw, self.exact), self.arrays[0]], axis=2)
        order = draw.random((stages, rows, 2 * kept // group, group)).argsort(axis=3).reshape(whole.shape)
        whole = np.where(order < group // 2, whole, np.zeros((), whole.dtype))
        compressed = [compress_sparse(stage, dtype) for stage in whole]
        self.arrays[0], words = (np.stack(parts) for parts in zip(*compressed, strict=True))
        self.arrays.append(words)
        return whole

    def start(self, draw: np.random.Generator, shape: tuple[int, int]) -> Array:
        held = numpy_dtype(SCALARS[self.d])
        if self.d == "i32":
            near = self.random.choice((0, 2**31 - 2**20, 2**20 - 2**31))
            return (near + draw.integers(-(2**18), 2**18, shape)).astype(held)
        return (draw.integers(-4, 5, shape) if self.exact else draw.standard_normal(shape)).astype(held)

    def line(self, text: str, depth: int = 0) -> None:
        self.lines.append("    " * depth + text)

    # What a kernel does.

    def products(self) -> None:
        """Products of one or more accumulators, each of one stage, as one group or more."""
        for one in self.random.sample(self.sums, self.random.randint(1, len(self.sums))):
            turn = self.random.randrange(4)
            stage = self.random.choice((f"stages[{turn}]", str(self.stages[turn])))
            self.product(one, stage, [self.stages[turn]], 0)
            if self.random.random() < 0.5:
                self.commit()
        if self.random.random() < 0.7:
            self.commit()

    def loop(self) -> None:
        """A loop of so many steps as the run says, whose products are waited for in it or behind it."""
        self.commit()
        if self.registers:
            self.wait(0)
        subset = self.random.sample(self.sums, self.random.randint(1, len(self.sums)))
        before = [one.group for one in self.sums]
        pending = 0 if self.sparse else self.random.choice((0, 0, 1, 2))  # registers hold the metadata
        self.line("for step in range(steps):")
        for one in subset:
            self.product(one, "stages[step]", self.stages[: self.steps], 1, pending == 0)
        self.line("cl.wgmma.commit_group()", 1)
        self.closed += 1
        if pending == 0 or self.random.random() < 0.7:
            self.wait(pending, 1)
        self.closed -= 1  # the loop may have had no step
        for one, group in zip(self.sums, before, strict=True):
            one.group = group if one.group is None else min(one.group, self.closed)

    def product(self, one: Sum, stage: str, turns: list[int], depth: int, waits: bool = True) -> None:
        """A product, and its values for each turn that it is executed in.

        waits  A may come from registers: in a loop, the same ones hold the next A, so there must be a wait in between
        """
        random, form = self.random, self.form
        whole = self.k // self.step
        registers = random.random() < 0.3 and waits
        self.registers = self.registers or registers
        fixed = registers or self.sparse
        begin = 0 if fixed else random.choice((0, 0, random.randrange(whole)))
        end = whole if fixed else random.choice((whole, random.randint(begin + 1, whole)))
        adds = random.choice(("True", "True", "True", "False", "on > 0", *["step > 0"] * depth))
        signs = [random.random() < 0.2 if form.negate else False for _ in "ab"]
        if not self.fits(one, len(turns)):
            adds = "False"
        left = f"a[None, None, {stage}].tile((64, {self.kept}), (group, 0))"
        if registers:
            left = f"registers({left}, {self.kept})"
        right = f"b[None, None, {stage}].tile(({one.n}, {self.k}), ({one.first // one.n}, 0))"
        more = [f"accumulate={adds}"] if adds != "True" else []
        more += [f"negate_{letter}=True" for letter, sign in zip("ab", signs, strict=True) if sign]
        more += [f"steps=slice({begin}, {end})"] if (begin, end) != (0, whole) else []
        more += ["saturate=True"] if self.saturate else []
        more += [f"metadata=meta_[{stage}, group, None, cl.thread_idx.x % 128].load()"] if self.sparse else []
        self.registers = self.registers or self.sparse
        if one.group is not None and not fixed and not depth and random.random() < 0.3:
            more.append("fenced=True")
        self.line(f"{one.name} = cl.wgmma.mma_async({', '.join([left, right, one.name, *more])})", depth)
        one.group, self.opened = self.closed + 1, True
        sign = -1 if signs[0] != signs[1] else 1
        for i, turn in enumerate(turns):
            added = {"True": True, "False": False, "on > 0": self.on > 0, "step > 0": i > 0}[adds]
            a, b = self.wide[0][turn], self.wide[1][turn][one.first : one.first + one.n]
            self.add(one, sign * a, b, added, begin, end)

    def fits(self, one: Sum, turns: int) -> bool:
        """Tell whether integers stay exact after so many products more."""
        most = 16 * self.k * turns
        return not self.exact or self.d == "i32" or bool(one.magnitude.max() + most <= EXACT[self.kind])

    def add(self, one: Sum, a: Array, b: Array, added: bool, begin: int, end: int) -> None:
        """What the instructions along K do."""
        if not added:
            one.value, one.magnitude, one.error = (np.zeros(one.value.shape) for _ in range(3))
        for i in range(begin, end):
            along = slice(i * self.step, (i + 1) * self.step)
            one.value = one.value + a[:, along] @ b[:, along].T
            one.magnitude = one.magnitude + np.abs(a[:, along]) @ np.abs(b[:, along]).T
            if self.d == "i32":
                one.value = np.clip(one.value, -(2.0**31), 2.0**31 - 1) if self.saturate else wrapped(one.value)
            elif not self.exact:
                one.error = one.error + ROUNDING[self.kind] * one.magnitude

    def commit(self) -> None:
        if self.opened or self.random.random() < 0.1:
            self.line("cl.wgmma.commit_group()")
            self.closed, self.opened = self.closed + 1, False

    def wait(self, pending: int | None = None, depth: int = 0) -> None:
        """A wait: accumulators of groups that it retires can be read."""
        pending = self.random.randint(0, 3) if pending is None else pending
        running = [one for one in self.sums if one.group is not None]
        done = [one for one in running if one.group is not None and one.group <= self.closed - pending]
        kept = [one for one in running if one not in done]
        results = ", ".join(one.name for one in (*done, *kept))
        given = "".join(f", {one.name}" for one in done)
        keep = f", keep=({', '.join(one.name for one in kept)},)" if kept else ""
        self.line(f"{results + ' = ' if results else ''}cl.wgmma.wait_group({pending}{given}{keep})", depth)
        for one in done:
            one.group = None
        self.registers = self.registers and pending > 0

    def arithmetic(self) -> None:
        """Ordinary code, with accumulators that can be read."""
        for one in self.sums:
            if one.group is None and self.random.random() < 0.7:
                self.line(f"{one.name} = 2 - {one.name}")
                one.value, one.magnitude = 2 - one.value, 2 + one.magnitude
                if self.d == "i32":
                    one.value = wrapped(one.value)
                elif not self.exact:
                    one.error = one.error + ROUNDING[self.kind] * one.magnitude

    def operand(self) -> None:
        """An accumulator that can be read becomes the operand A of another's product."""
        ready = [one for one in self.sums if one.group is None and one.n == self.k]
        if not (ready and self.a.dtype in ("f16", "bf16") and self.exact and not self.sparse):
            return
        source, target, turn = self.random.choice(ready), self.random.choice(self.sums), self.random.randrange(4)
        if source is target or (source.magnitude.max() * 2 * self.k + target.magnitude.max()) > EXACT[self.kind]:
            return
        a = source.value.astype(self.a.held).astype(float)
        stage = self.stages[turn]
        right = f"b[None, None, {stage}].tile(({target.n}, {self.k}), ({target.first // target.n}, 0))"
        self.line(f"{target.name} = cl.wgmma.mma_async({source.name}.to(cl.{self.a.dtype}), {right}, {target.name})")
        target.group, self.opened, self.registers = self.closed + 1, True, True
        b = self.wide[1][stage][target.first : target.first + target.n]
        self.add(target, a, b, True, 0, self.k // self.step)

    def source(self) -> str:
        threads, n = 128 * self.groups, self.sums[0].n
        names = [one.name for one in self.sums]
        a, b = (f"cl.Tensor[cl.{'f32' if t.dtype == 'tf32' else t.dtype}, {t.shape}]" for t in (self.a, self.b))
        sums = ", ".join(f"{name}_: cl.Tensor[cl.{self.d}, {(64 * self.groups, n)}]" for name in names)
        meta = f"meta_: cl.Tensor[cl.u32, {self.arrays[2].shape}], " if self.sparse else ""
        body = [
            *self.a.lines("a", threads),
            *self.b.lines("b", threads),
            "cl.fence_proxy_async('shared::cta')",
            "cl.syncthreads()",
            "group = cl.thread_idx.x // 128",
            *self.lines,
            *(f"cl.wgmma.partition({name}_.tile((64, {n}), (group, 0))).store({name})" for name in names),
        ]
        return f"""\
import cutelite as cl

def registers(tile, k):
    places = cl.wgmma.operand_coordinates(tile.dtype, k)
    held = cl.make_rmem_tensor(tile.dtype, (len(places),))
    for i, at in enumerate(places):
        held[i] = tile[at]
    return held.load()

@cl.kernel(block={threads})
def kernel(a_: {a}, b_: {b}, {meta}{sums},
           stages: cl.Tensor[cl.i32, (4,)], steps: cl.i32, on: cl.i32):
""" + "".join(f"    {line}\n" for line in body)


def wrapped(numbers: Array) -> Array:
    """Integers as 32 bits keep them."""
    return (numbers + 2.0**31) % 2.0**32 - 2.0**31


def mistakes(seed: int, gpu: bool = False) -> list[str]:
    """Run the products of a seed; return what is wrong."""
    products = Products(seed)
    arrays = [*(x.copy() for x in products.arrays), np.array(products.stages, np.int32)]
    said = by_seed.failure(products.source(), f"products {seed}", 1, arrays, (products.steps, products.on), gpu)
    if said:
        return said
    for one, found in zip(products.sums, arrays[3 if products.sparse else 2 :], strict=False):
        far = np.abs(found.astype(float) - one.value)
        if not (far <= one.error).all():
            at = np.unravel_index(np.argmax(np.where(np.isnan(far), np.inf, far - one.error)), far.shape)
            bound = f"not {one.value[at]} to within {one.error[at]:.2g}"
            wrong = (~(far <= one.error)).sum()
            said.append(f"{one.name}{[int(i) for i in at]} is {found[at]}, {bound}: {wrong} are wrong")
    return [products.source(), *said] if said else []


if __name__ == "__main__":
    sys.exit(by_seed.main("products", mistakes, lambda seed: [Products(seed).source()]))
