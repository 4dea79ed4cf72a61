"""Random loads and stores: of neighbours, of vectors, of the same bytes as other types, at known and unknown indices.

Each thread has `BYTES` of its own in two arrays, in shared memory and in registers. It loads from them and stores to
them in any order, in branches and loops too, so that accesses which may be joined or moved lie beside those which may
not. NumPy does the same for all threads at once.

python -m tests.fuzz.accesses --count 500 --gpu        # from a seed on; says whose bytes differ
python -m tests.fuzz.accesses --seed 17 --count 1 --show
"""

import sys
import traceback
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from tests.fuzz import by_seed
from tests.fuzz.cases import Runner, disagreement, kernel_of, on_gpu, simulated

Array = Any
THREADS, BLOCKS, BYTES = 32, 2, 64
TOTAL = THREADS * BLOCKS
TYPES = ("u8", "u16", "u32", "u64", "f16", "f32")
SIZE = {t: int(t[1:]) // 8 for t in TYPES}
HELD: dict[str, Any] = {t: np.dtype(f"{'uint' if t[0] == 'u' else 'float'}{t[1:]}") for t in TYPES}
VALUES = 3  # variables of each type


@dataclass(frozen=True)
class Place:
    """`count` elements in a memory, as elements of `type` of the thread's own; `moving`: from an unknown one on."""

    memory: str
    type: str
    first: int
    count: int = 1
    moving: bool = False

    def text(self, declared: dict[str, str]) -> str:
        own = BYTES // SIZE[self.type]
        view = self.memory if declared[self.memory] == self.type else f"{self.memory}.recast(cl.{self.type})"
        base = "" if self.memory == "r" else f"{'me' if self.memory == 's' else 'i'} * {own // self.count} + "
        at = self.first // self.count
        index = f"((m + {at}) & {own // self.count - 1})" if self.moving else str(at)
        return f"{view}[{base}{index}]" if self.count == 1 else f"{view}.tile({self.count}, {base}{index})"

    def indices(self, m: Array) -> Array:
        """Return the element of each thread and vector element."""
        own, at = BYTES // SIZE[self.type] // self.count, self.first // self.count
        start = (m + at & own - 1 if self.moving else np.full(TOTAL, at)) * self.count
        return start[:, None] + np.arange(self.count)


class Accesses:
    """Statements drawn from a seed, as source and executed by NumPy. `apart`: the two arrays are never the same one."""

    def __init__(self, seed: int, apart: bool = False) -> None:
        self.random, self.lines = Random(seed), list[str]()
        self.declared = {name: self.random.choice(TYPES) for name in "xysr"}
        numbers = np.random.default_rng(seed)
        self.given = {name: numbers.integers(0, 256, (TOTAL, BYTES), np.uint8) for name in "xy"}
        self.m = numbers.integers(0, 16, TOTAL).astype(np.int32)
        self.memory = {name: self.given["x"].copy() for name in "xysr"}
        self.same = self.random.random() < 0.25 and not apart
        self.memory["y"] = self.memory["x"] if self.same else self.given["y"].copy()
        self.values = {f"{t}_{k}": np.full(TOTAL, k, HELD[t]) for t in TYPES for k in range(VALUES)}
        self._begin()
        for _ in range(self.random.randint(8, 30)):
            self._statement("    ", np.ones(TOTAL, bool), depth=2)

    def _begin(self) -> None:
        for name, base in (("s", f"cl.shared(cl.{{t}}, {THREADS} * {{n}})"), ("r", "cl.make_rmem_tensor(cl.{t}, {n})")):
            t = self.declared[name]
            n = BYTES // SIZE[t]
            self.lines.append(f"    {name} = {base.format(t=t, n=n)}")
            for j in range(n):
                where, source = Place(name, t, j).text(self.declared), Place("x", t, j).text(self.declared)
                self.lines.append(f"    {where} = {source}")
        self.lines += [f"    {v} = cl.{v[:-2]}({v[-1]})" for v in self.values]

    def _statement(self, indent: str, mask: Array, depth: int) -> None:
        kinds = ["load", "load", "store", "store", "neighbours", "change"]
        kinds += ["branch", "loop"] if depth else []
        kinds += ["meet"] if depth == 2 else []
        getattr(self, f"_{self.random.choice(kinds)}")(indent, mask, depth)

    def _place(self, count: int = 0) -> Place:
        memory = self.random.choice("xysxys" + "r")
        t = self.declared["r"] if memory == "r" else self.random.choice((*TYPES, self.declared[memory]))
        own = BYTES // SIZE[t]
        fits = [n for n in (1, 1, 2, 4, 8) if n <= min(own, 16 // SIZE[t])] if memory != "r" else [1]
        count = count or self.random.choice(fits)
        return Place(memory, t, self.random.randrange(own // count) * count, count, self.random.random() < 0.25)

    def _of(self, t: str) -> str:
        return f"{t}_{self.random.randrange(VALUES)}"

    def _load(self, indent: str, mask: Array, depth: int) -> None:
        place = self._place()
        text, data = place.text(self.declared), self._view(place)[np.arange(TOTAL)[:, None], place.indices(self.m)]
        if place.count == 1:
            self._set(indent, mask, self._of(place.type), text, data[:, 0])
            return
        self.lines.append(f"{indent}w = {text}.load()")
        for k in range(min(VALUES, place.count)):
            which = self.random.randrange(place.count)
            self._set(indent, mask, f"{place.type}_{k}", f"w[{which}]", data[:, which])

    def _store(self, indent: str, mask: Array, depth: int, place: Place | None = None) -> None:
        place = place or self._place()
        names = [self._of(place.type) for _ in range(place.count)]
        text = place.text(self.declared)
        self.lines.append(
            f"{indent}{text} = {names[0]}"
            if place.count == 1
            else f"{indent}{text}.store(cl.vector({', '.join(names)}))"
        )
        data = np.stack([self.values[name] for name in names], 1)
        self._view(place)[np.arange(TOTAL)[mask][:, None], place.indices(self.m)[mask]] = data[mask]

    def _neighbours(self, indent: str, mask: Array, depth: int) -> None:
        """Stores, or loads, beside each other, in any order."""
        first = self._place(1)
        own = BYTES // SIZE[first.type]
        near = [
            Place(first.memory, first.type, first.first // 4 * 4 + k)
            for k in range(4)
            if first.first // 4 * 4 + k < own
        ]
        self.random.shuffle(near)
        stores = self.random.random() < 0.6
        for place in near[: self.random.randint(2, 4)]:
            if stores:
                self._store(indent, mask, depth, place)
            else:
                data = self._view(place)[:, place.first].copy()
                self._set(indent, mask, self._of(place.type), place.text(self.declared), data)

    def _change(self, indent: str, mask: Array, depth: int) -> None:
        t = self.random.choice(TYPES[:4])
        a, b = self._of(t), self._of(t)
        self._set(indent, mask, a, f"{a} ^ {b}", self.values[a] ^ self.values[b])

    def _branch(self, indent: str, mask: Array, depth: int) -> None:
        bit = self.random.randrange(4)
        self.lines.append(f"{indent}if m & {1 << bit}:")
        self._block(indent, mask & (self.m >> bit & 1 == 1), depth)

    def _loop(self, indent: str, mask: Array, depth: int) -> None:
        """A loop on the GPU whose rounds all do the same, and so the same as one round if there are any."""
        count = self.random.choice(("m & 1", "m & 1", "1"))
        self.lines.append(f"{indent}for _ in range({count}):")
        self._block(indent, mask if count == "1" else mask & (self.m & 1 == 1), depth)

    def _block(self, indent: str, mask: Array, depth: int) -> None:
        for _ in range(self.random.randint(1, 4)):
            self._statement(indent + "    ", mask, depth - 1)

    def _meet(self, indent: str, mask: Array, depth: int) -> None:
        self.lines.append(f"{indent}cl.syncthreads()")

    def _view(self, place: Place) -> Array:
        return self.memory[place.memory].view(HELD[place.type])

    def _set(self, indent: str, mask: Array, name: str, text: str, data: Array) -> None:
        self.lines.append(f"{indent}{name} = {text}")
        bits = f"u{data.dtype.itemsize}"  # a selection of floats would quieten NaNs
        held = self.values[name].view(bits).copy()
        held[mask] = data.view(bits)[mask] if data.flags.c_contiguous else data.copy().view(bits)[mask]
        self.values[name] = held.view(data.dtype)

    def source(self) -> str:
        sizes = {name: TOTAL * BYTES // SIZE[self.declared[name]] for name in "xy"}
        types = ", ".join(f"{name}: cl.Tensor[cl.{self.declared[name]}, ({size},)]" for name, size in sizes.items())
        ends = []
        for k, name in enumerate(self.values):
            t = name[:-2]
            bits = name if t[0] == "u" else f"cl.bitcast({name}, cl.u{t[1:]})"
            ends.append(f"    out[i, {k}] = cl.u64({bits})")
        for k in range(BYTES // SIZE[self.declared["r"]]):
            t = self.declared["r"]
            bits = f"r[{k}]" if t[0] == "u" else f"cl.bitcast(r[{k}], cl.u{t[1:]})"
            ends.append(f"    out[i, {len(self.values) + k}] = cl.u64({bits})")
        for k in range(BYTES // 8):
            ends.append(f"    held[i, {k}] = s.recast(cl.u64)[me * {BYTES // 8} + {k}]")
        head = f"""\
import cutelite as cl
@cl.kernel(block={THREADS})
def kernel({types}, ms: cl.Tensor[cl.i32, ({TOTAL},)], out: cl.Tensor[cl.u64, ({TOTAL}, {self.outputs})],
           held: cl.Tensor[cl.u64, ({TOTAL}, {BYTES // 8})]):
    me = cl.thread_idx.x
    i = cl.block_idx.x * {THREADS} + me
    m = ms[i]
"""
        return head + "\n".join([*self.lines, *ends]) + "\n"

    @property
    def outputs(self) -> int:
        return len(self.values) + BYTES // SIZE[self.declared["r"]]

    def wrong(self, run: Runner) -> list[str]:
        """Run the kernel; return what differs."""
        arrays = {name: held.copy().view(HELD[self.declared[name]]).reshape(-1) for name, held in self.given.items()}
        if self.same:
            arrays["y"] = arrays["x"].view(HELD[self.declared["y"]])
        out, held = np.zeros((TOTAL, self.outputs), np.uint64), np.zeros((TOTAL, BYTES // 8), np.uint64)
        run(kernel_of(self.source(), id(self)), [*arrays.values(), self.m.copy(), out, held])
        registers = self.memory["r"].view(f"u{SIZE[self.declared['r']]}").astype(np.uint64)
        values = [x.view(f"u{x.dtype.itemsize}").astype(np.uint64) for x in self.values.values()]
        pairs = {
            "the values": (out, np.concatenate([np.stack(values, 1), registers], 1)),
            "shared memory": (held, self.memory["s"].view(np.uint64)),
            **{name: (array.view(np.uint8), self.memory[name].reshape(-1)) for name, array in arrays.items()},
        }
        found = (disagreement(what, is_, right) for what, (is_, right) in pairs.items())
        return [said for said in found if said is not None]


def mistakes(seed: int, gpu: bool = False) -> list[str]:
    """Run the accesses of a seed in the simulator, before and after the passes, or on a GPU; return what is wrong."""
    drawn, shape = Accesses(seed, apart=gpu), (BLOCKS, THREADS)
    runs = {"GPU": on_gpu(shape)} if gpu else {
        "simulator": simulated(seed, False, shape), "after the passes": simulated(seed, True, shape)
    }  # fmt: skip
    found = []
    for who, run in runs.items():
        try:
            found += [f"{who}: {said}" for said in drawn.wrong(run)]
        except Exception:
            found.append(f"{who}:\n{traceback.format_exc(limit=-4)}")
    return [*found, drawn.source()] if found else []


if __name__ == "__main__":
    sys.exit(by_seed.main("accesses", mistakes, lambda seed: [Accesses(seed).source()]))
