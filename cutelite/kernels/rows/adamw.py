"""AdamW over lists of tensors in one launch: each element of each is read and written once.

m = b1 * m + (1 - b1) * g        v = b2 * v + (1 - b2) * g * g
p = p - lr * decay * p - lr * (m / (1 - b1 ** t)) / (sqrt(v / (1 - b2 ** t)) + eps)
"""

import math
import sys
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from operator import attrgetter
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite import Tensor, f32, i32, i64
from cutelite.dispatch.dynamo import untraced
from cutelite.kernels.arguments import (
    Arguments,
    Misfit,
    as_number,
    changing,
    check_recorded,
    in_words_of_caller,
    is_array,
    would_be_missed,
    writable,
)
from cutelite.kernels.arrays import clusters_at_once, code_of, counter
from cutelite.kernels.rows.arrays import DTYPES
from cutelite.kernels.rows.plan import ACCESS
from cutelite.lib.tile_queue import clear_counter
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple

THREADS, TENSORS, BLOCKS = 128, 512, 5  # threads of a block; tensors of a launch; blocks of a multiprocessor
ELEMENTS = 8  # elements that a thread works on at a time
TAKEN = 4  # tiles that a block takes together
NAMES = ("parameters", "gradients", "means", "squares", "masters")
N = cl.dims("N")


class Step(NamedTuple):
    """The numbers of a step, computed from lr, betas and the number t of the step.

    keep   1 - lr * decay;  rate  lr / (1 - b1 ** t);  root  1 / sqrt(1 - b2 ** t)
    new1   1 - b1;  new2  1 - b2: computed from an f32 of b2, it would have 16 bits
    """

    keep: f32
    rate: f32
    root: f32
    new1: f32
    new2: f32
    eps: f32

    @staticmethod
    def told(step: "Step", numbers: Any) -> "Step":
        """Return the step that `numbers`, in memory, are of; without them `step`."""
        return step if numbers is None else Step(*[numbers[i] for i in range(6)])


@dataclass(frozen=True)
class Parts:
    """Parts of `TAKEN` tiles. Blocks take one part after the other, so that all end together, whatever their speed.

    tiles    the number of tiles
    counter  (1,) i32 in global memory, 0 before and after each launch
    told     the next part, through which one thread tells the others; two elements, used alternately
    known    (2,) i32 in registers: the next part, in that thread; the number of parts before
    """

    tiles: Any
    counter: Any
    told: Any
    known: Any

    @staticmethod
    def create(tiles: Any, counter: Any) -> "Parts":
        """Return the state before the first part."""
        return Parts(tiles, counter, cl.shared(i32, (2,)), cl.make_rmem_tensor(i32, (2,)))

    def first(self) -> Any:
        """Return the first tile of this block. Who: all threads of the block."""
        part = i32(cl.block_idx.x)
        self.known[0], self.known[1] = part, 0
        self.take(part)
        return part * TAKEN

    def after(self, tile: Any) -> Any:
        """Return the tile after this one, in the same part or the next. Who: all threads of the block."""
        tile += 1
        if tile % TAKEN == 0:
            place = self.known[1] % 2
            if cl.thread_idx.x == 0:
                self.told[place] = self.known[0]
            cl.syncthreads()
            part = self.told[place]
            self.known[1] += 1
            self.take(part)
            tile = part * TAKEN
        return tile

    def take(self, part: Any) -> None:
        """Take another part, unless `part` is beyond the last: so the counter is raised once for each part."""
        if cl.thread_idx.x == 0 and part * TAKEN < self.tiles:
            self.known[0] = cl.atomic_add(self.counter, 0, 1) + i32(cl.grid_dim.x)

    def close(self) -> None:
        """Clear the counter, if this block took the last part. Who: all threads of the block, at the end."""
        end = (self.tiles - 1) // TAKEN + i32(cl.grid_dim.x) + 1  # `known` is a number of the counter plus the grid
        if cl.thread_idx.x == 0:
            clear_counter(self.counter, self.known[0], end)


def holder(starts: Any, tile: Any) -> Any:
    """Return the number of the tensor that has a tile: the last that starts no later. All end at the last start."""
    which, last = i32(0), len(starts) - 1
    for bit in reversed(range((last - 1).bit_length())):
        further = min(which + (1 << bit), last)
        which = cl.where(tile >= starts[further], further, which)
    return which


@cache
def build(kinds: tuple[Any, ...], aligned: bool) -> Any:
    """Make the kernel for parameters whose p, g, m, v and, where there is one, master have these dtypes.

    aligned  all addresses are multiples of 16 bytes
    """
    vector = ACCESS // max(kind.bytes for kind in kinds if kind is not None)  # then each access has whole sectors
    pieces = ELEMENTS // vector
    size, full = THREADS * ELEMENTS, kinds[-1] is not None
    P, G, V, W, X = (
        list[cl.Pointer[kind, cl.align(ACCESS if aligned else kind.bytes)]]  # type: ignore[misc]
        for kind in (*kinds[:4], kinds[4] if full else kinds[0])
    )

    def loaded(arrays: Any, tile: cl.RowTile) -> Any:
        _, g, m, v, w = arrays
        return tuple(tile.load(x) for x in (w, g, m, v))

    def work(arrays: Any, tile: cl.RowTile, found: Any, step: Step) -> None:
        p, _, m, v, w = arrays
        fp, fg, fm, fv = (x.to(f32) for x in found)
        fm = fm * (1.0 - step.new1) + fg * step.new1
        fv = fv * (1.0 - step.new2) + fg * fg * step.new2
        change = cl.math.fdividef(step.rate * fm, cl.math.sqrt(fv, fast=True) * step.root + step.eps)
        fp = fp * step.keep - change
        for out, made in [(p, fp), (m, fm), (v, fv)] + ([(w, fp)] if full else []):
            tile.store(made.to(out.dtype), out)

    @cl.kernel(block=THREADS, min_blocks=BLOCKS)
    def adamw(
        like: Tensor[kinds[0], (N,)],  # for its device and stream, which addresses do not have
        ps: P, gs: G, ms: V, vs: W, ws: X, starts: list[i32], sizes: list[i64], tiles: i32, step: Step,
        numbers: Tensor[f32, (6,)] | None, counter: Tensor[i32, (1,)],
    ) -> None:  # fmt: skip
        step, parts = Step.told(step, numbers), Parts.create(tiles, counter)
        tile: Any = parts.first()
        while tile < tiles:
            which = holder(starts, tile)
            arrays, length, begin = [each[which] for each in (ps, gs, ms, vs, ws)], sizes[which], starts[which]
            whole = begin + (length // size).to(i32)  # tiles before this one are

            def within(at: Any, begin: Any = begin) -> cl.RowTile:
                return cl.RowTile((at - begin).to(i64) * size, None, vector, pieces)

            if tile < whole:
                coming = loaded(arrays, within(tile))
                while tile < whole:
                    found, now = coming, within(tile)
                    tile = parts.after(tile)
                    if tile < whole:
                        coming = loaded(arrays, within(tile))
                    work(arrays, now, found, step)
            if tile < starts[which + 1]:
                rest = cl.RowTile((tile - begin).to(i64) * size, length, vector, pieces)
                work(arrays, rest, loaded(arrays, rest), step)
                tile = parts.after(tile)
        parts.close()

    return adamw, size


@untraced
@in_words_of_caller
@changing("parameters", "means", "squares", "masters")
def adamw(
    parameters: Sequence[Any],
    gradients: Sequence[Any],
    means: Sequence[Any],
    squares: Sequence[Any],
    step: int = 1,
    *,
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    decay: float = 1e-2,
    masters: Sequence[Any] | None = None,
    numbers: Any = None,
) -> None:
    """Do one step of AdamW in place: update parameters, means (first moments) and squares (second moments).

    parameters, gradients, means, squares   lists of equally many contiguous tensors; tensors at the same index have the
               same shape: bf16, f16 or f32; computations are in f32
    step       the number of the step, from 1 on
    lr, betas, eps, decay   as in torch's AdamW
    masters    f32 copies of the parameters, which are updated; `parameters` are then these, rounded
    numbers    (6,), f32, on the device: those of a `Step`, in its order. Then `step`, lr, betas, eps and decay count
               for nothing, and a launch that is captured in a graph has other numbers each time
    Errors     `cl.ArgumentError` for tensors that do not fit
    """
    tensors_of = parameters, gradients, means, squares, masters
    for name, each in zip(NAMES, tensors_of, strict=True):
        if each is None and name == "masters":
            continue
        if not isinstance(each, Sequence) or len(each) != len(parameters):
            there = "" if name == "parameters" else f" of {len(parameters)} tensors, as parameters"
            raise Misfit(f"{name} is a {type(each).__name__}, but must be a list{there}")
    step, lr = as_number("step", step, whole=True, least=1), as_number("lr", lr)
    if not isinstance(betas, Sequence) or len(betas) != 2:
        raise Misfit(f"betas is {betas!r}, but must be two numbers")
    b1, b2 = (as_number("betas", x, least=0, most=1 - 1e-9) for x in betas)
    eps, decay = as_number("eps", eps), as_number("decay", decay)
    if numbers is not None:
        Arguments().array("numbers", numbers, "f32", (6,), dense=True)
    now = Step(1 - lr * decay, lr / (1 - b1**step), 1 / math.sqrt(1 - b2**step), 1 - b1, 1 - b2, eps)  # type: ignore[arg-type]
    given = list(zip(parameters, gradients, means, squares, masters or [None] * len(parameters), strict=True))
    for part in parts_of(given):
        kernel, lists, like = build(part.kinds, part.aligned)[0], part.lists, given[part.members[0]][0].reshape((-1,))
        if lists is None:  # in the simulator
            members = [[x for x in given[i] if x is not None] for i in part.members]
            lists = [[x.reshape((-1,)) for x in each] for each in zip(*members, strict=True)]
        tiles, most = part.starts[-1], clusters_at_once(1, like, BLOCKS)
        kernel[min(most, -(-tiles // TAKEN)), THREADS](
            like, *lists, *lists[:1] * (5 - len(lists)), part.starts, part.sizes, tiles, now, numbers, counter(like)
        )


class Part(NamedTuple):
    """Tensors that one launch updates.

    kinds    dtypes, in the order of `NAMES`;  aligned  whether all tensors begin at multiples of an access
    members  the tensors' indices, at most `TENSORS`;  lists  their addresses; None: they are not on a GPU
    starts   the first tile of each, and how many there are;  sizes  their elements
    """

    kinds: tuple[Any, ...]
    aligned: bool
    members: list[int]
    lists: list[list[int]] | None
    starts: list[int]
    sizes: list[int]


def parts_of(given: list[tuple[Any, ...]]) -> list[Part]:
    """Return what is launched for tensors, which are checked unless tensors with the same facts have been.

    Errors  as of `grouped`
    """
    facts = facts_of(given)
    found = next((parts for each, parts in _known if each == facts), None)
    if found is None:
        found = [
            part_of(kinds, aligned, members[first : first + TENSORS], given)
            for (kinds, aligned), members in grouped(given).items()
            for first in range(0, len(members), TENSORS)
        ]
        if facts is not None:
            if len(_known) >= KNOWN:
                _known.clear()
            _known.append((facts, found))
    return found


_known: list[tuple[Any, list[Part]]] = []  # compared, not hashed, which would cost as much as to gather facts
KNOWN = 16  # lists of tensors whose checks are remembered: they take the host longer than launches


def facts_of(given: list[tuple[Any, ...]]) -> tuple[Any, ...] | None:
    """Return all that checks and launches depend on, or None where arrays are not plain, contiguous tensors of torch.

    Each step pays for it: methods are mapped, as a loop in Python takes twice as long.
    """
    torch = sys.modules.get("torch")
    if torch is None or would_be_missed():
        return None
    tensors, of = [x for each in given for x in each if x is not None], torch.Tensor
    if not {*map(type, tensors)} <= {of, torch.nn.Parameter} or len(tensors) % max(len(given), 1):
        return None  # the number of tensors has to tell whether there are masters
    try:
        if any(map(of.is_neg, tensors)) or not all(map(of.is_contiguous, tensors)):
            return None
        return len(given), *([*map(each, tensors)] for each in (of.data_ptr, attrgetter("dtype"), attrgetter("shape")))
    except RuntimeError:  # of tensors that have no memory of their own, which checks refuse
        return None


def part_of(kinds: tuple[Any, ...], aligned: bool, members: list[int], given: list[tuple[Any, ...]]) -> Part:
    """Return a `Part` of tensors that have been checked."""
    size, lists = build(kinds, aligned)[1], None
    sizes = [math.prod(map(int, given[i][0].shape)) for i in members]
    if rt.read(given[members[0]][0]).device[0] == "cuda":  # a launch with addresses is faster than one with arrays
        views = [[rt.read(x).pointer for x in given[i] if x is not None] for i in members]
        lists = list(map(list, zip(*views, strict=True)))
    return Part(kinds, aligned, members, lists, list(accumulate((-(-n // size) for n in sizes), initial=0)), sizes)


def grouped(given: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], list[int]]:
    """Return the indices of tensors by their dtypes and whether all begin at multiples of an access.

    given   of each index the tensors, in the order of `NAMES`, with None for no master
    Result  without tensors of no elements
    Errors  `cl.ArgumentError` for tensors that do not fit, overlap, or are not on the parameter's device
    """
    groups: dict[tuple[Any, ...], list[int]] = {}
    spans: list[tuple[int, int, str]] = []
    for i, tensors in enumerate(given):
        is_array(f"parameters[{i}]", tensors[0])
        kinds = tuple(
            None if x is None and name == "masters" else dtype_of(x, tensors[0], name, i, name != "gradients")
            for name, x in zip(NAMES, tensors, strict=True)
        )
        if math.prod(tensors[0].shape):
            named = [(f"{name}[{i}]", x) for name, x in zip(NAMES, tensors, strict=True) if x is not None]
            views = [dense(x, name, tensors[0], i) for name, x in named]
            spans += [(*view.span, name) for view, (name, _) in zip(views, named, strict=True)]
            groups.setdefault((kinds, all(view.pointer % ACCESS == 0 for view in views)), []).append(i)
    check_all_apart(spans)
    return groups


def dtype_of(x: Any, like: Any, name: str, i: int, written: bool) -> Any:
    """Return the dtype of a tensor. Errors: `cl.ArgumentError` for another dtype or shape."""
    is_array(f"{name}[{i}]", x)
    check_recorded(x)
    if written:
        writable(f"{name}[{i}]", x)
    found = DTYPES.get(code_of(x))
    if found is None:
        raise cl.ArgumentError(f"{name}[{i}] has dtype {x.dtype}, but must be {' or '.join(DTYPES)}")
    if tuple(x.shape) != tuple(like.shape):
        there = f"parameters[{i}] is {tuple(like.shape)}"
        raise cl.ArgumentError(f"{name}[{i}] is {tuple(x.shape)}, and {there}")
    return found


def check_all_apart(spans: list[tuple[int, int, str]]) -> None:
    """Check that what is written, all but gradients, lies where nothing else does. Errors: `Misfit`.

    spans  of each tensor the first address, that after the last, and its name
    """
    ends = {True: (0, ""), False: (0, "")}  # the furthest so far of what is written, and of gradients
    for start, end, name in sorted(spans):
        written = not name.startswith("gradients")
        for end_before, before in (ends[True], ends[False]) if written else (ends[True],):
            if start < end_before:
                raise Misfit(f"{name} lies where {before} does, and all but gradients are written")
        ends[written] = max(ends[written], (end, name))


def dense(x: Any, name: str, parameter: Any, i: int) -> rt.ArrayView:
    """Return what a tensor, which is written in place, is. Errors: `cl.ArgumentError` for gaps, or another device."""
    view, step, there = rt.read(x), 1, rt.read(parameter).device
    for extent, stride in zip(reversed(view.shape), reversed(view.strides), strict=True):
        if extent > 1 and stride != step:
            raise cl.ArgumentError(f"{name} is not contiguous: strides {view.strides} of shape {view.shape}")
        step *= extent
    if view.device != there:
        raise Misfit(f"{name} is on {view.device}, and parameters[{i}] on {there}")
    return view
