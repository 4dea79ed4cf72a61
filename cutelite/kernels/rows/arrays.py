"""Arguments of kernels of rows as matrices, and results as arrays of the same library."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import cutelite as cl
import cutelite_rt as rt
from cutelite.kernels.arguments import (
    check_in_place,
    check_levels,
    check_recorded,
    contiguous,
    instance,
    is_array,
    wants_operator,
    writable,
)
from cutelite.kernels.arrays import clusters_at_once, code_of
from cutelite.kernels.lent import is_jax
from cutelite.kernels.rows.plan import ACCESS, ELEMENT, LONGEST, MOST_BLOCKS, Plan, width
from cutelite.lib.rows import SECTOR
from cutelite.target.targets import WARP
from cutelite.tuples import NamedTuple

DTYPES = {"bf16": cl.bf16, "f16": cl.f16, "f32": cl.f32}
NAMES = "rows are of bfloat16, float16 or float32"
WHOLE = {"i32": cl.i32}
SHORT = 32  # elements of a row below which unaligned rows are accessed by narrow vectors
APART = 256  # from which on ends of rows may go to threads one by one; gradients of softmax and norms cover no others
RESULTS = DTYPES | {"e4m3": cl.e4m3, "e5m2": cl.e5m2}


MOST_ROWS = 2**31 - 1


def countable(name: str, rows: int) -> None:
    """Check that rows, or parts of them, have numbers of 32 bits. Errors: `cl.ArgumentError`."""
    if rows > MOST_ROWS:
        raise cl.ArgumentError(f"{name} has {rows} rows or parts of rows, but at most {MOST_ROWS} are numbered")


def derived(*operands: Any, out: Any = None) -> Any:
    """Return the operators of rows for a call that goes to one: torch's (`wants_operator`), or JAX's; else None.

    Calls with arrays of JAX all go to those of `on_jax`, which have the names of torch's.

    out     where the call writes its results: such a call has no derivative, and is checked by `results`
    Errors  `cl.ArgumentError` for `out` within a transform of `torch.func`
    """
    if out is not None:
        check_levels(out, *operands)
        return None
    if wants_operator(*operands):
        from cutelite.kernels.rows import operators  # late: it imports torch

        return operators
    if any(map(is_jax, operands)):
        from cutelite.kernels.rows import on_jax  # late: it imports JAX

        return on_jax
    return None


class Rows:
    """An array of rows: `matrix` is a view of shape (m, n), or a copy where rows are not evenly apart, or go backwards.

    array    an array of torch, CuPy or NumPy, of any number of modes; the last one is a row
    dtype    bf16, f16 or f32
    shape    of the array
    vector   elements of one access, as pitch and address allow
    most     the most elements of a row; None: any number
    least    the fewest
    kinds    the dtypes that are accepted, by their codes
    written  whether the kernel writes the array, so that `matrix` must not be a copy
    Errors   `cl.ArgumentError` for an object that is no array, another dtype, rows of other lengths, and for an
             array to be written that is read-only, or of which `matrix` would be a copy
    """

    def __init__(
        self,
        array: Any,
        name: str,
        most: int | None = LONGEST,
        kinds: dict[str, Any] = DTYPES,
        *,
        least: int = 0,
        written: bool = False,
    ) -> None:
        is_array(name, array)
        check_recorded(array)
        if written:
            writable(name, array)
        found = kinds.get(code_of(array))
        if found is None:
            taken = NAMES if kinds is DTYPES else f"it must be {', '.join(kinds)}"
            raise rt.ArgumentError(f"{name} has dtype {array.dtype}; {taken}")
        if not array.shape or array.shape[-1] < least or (most is not None and array.shape[-1] > most):
            wanted = "it must have a mode" if most is None else f"a row has {least} to {most} elements"
            raise rt.ArgumentError(f"{name} has shape {tuple(array.shape)}; {wanted}")
        self.dtype = found
        self.shape = tuple(map(int, array.shape))
        self.n = self.shape[-1]
        self.m = math.prod(map(int, array.shape[:-1]))
        self.matrix = array.reshape((self.m, self.n))
        try:
            self.view = view = rt.read(self.matrix)
        except rt.UnreadableArray as error:
            raise rt.ArgumentError(f"{name} cannot be read: {error}") from None
        if (self.n > 1 and view.strides[1] != 1) or (self.m > 1 and view.strides[0] < 0):
            self.matrix = contiguous(self.matrix)
            self.view = view = rt.read(self.matrix)
        if written and self.m * self.n and view.pointer != rt.read(array).pointer:
            raise rt.ArgumentError(f"{name} has rows with gaps, or not evenly apart: pass a contiguous array")
        self.vector = width(found.bytes, view.strides[0] if self.m > 1 else 0, view.place // found.bytes)

    def begins(self, elements: int) -> tuple[int, int]:
        """Return how far apart rows are, and how far into some elements the first begins, modulo their number."""
        pitch = self.view.strides[0] if self.m > 1 else 0
        return pitch % elements, self.view.place // self.dtype.bytes % elements

    @property
    def end(self) -> int:
        """The address behind the last element."""
        last = (max(self.m, 1) - 1) * self.view.strides[0] + self.n
        end: int = self.view.pointer + last * self.dtype.bytes
        return end

    @property
    def apart(self) -> bool:
        """True where no two rows share memory."""
        return self.m < 2 or self.view.strides[0] >= self.n

    def like(self, other: Rows, name: str) -> Rows:
        """Return these rows. Errors: `cl.ArgumentError` where shape or dtype differ from those of `other`."""
        if (self.dtype, self.shape) != (other.dtype, other.shape):
            here, there = (f"{x.dtype} {x.shape}" for x in (self, other))
            raise rt.ArgumentError(f"{name} is {here}, and should be {there}")
        return self

    def over(self, name: str, **read: Rows | None) -> Rows:
        """Return these rows, to be written: where others are that are read, element by element, or apart from them.

        Errors  `ArrayError`
        """
        check_in_place(name, self.view, {other: x.view for other, x in read.items() if x is not None})
        return self

    def at_once(self, cluster: int, resident: int = 1) -> int:
        """Return the number of clusters of `cluster` blocks that run at once; in the simulator a few.

        resident  blocks that a multiprocessor holds
        """
        return clusters_at_once(cluster, self.matrix, resident)

    def planned(self, choose: Callable[..., Plan], *given: Any, **more: Any) -> Plan:
        """Return the plan of `choose`, with clusters that are not portable only where the GPU runs them.

        choose  called with `given`, `more` and ``most=`` where its plan's clusters must be portable
        """
        p = choose(*given, **more)
        fits = p.cluster <= MOST_BLOCKS or self.at_once(p.cluster, p.blocks)
        return p if fits else choose(*given, **more, most=MOST_BLOCKS)


class Access(NamedTuple):
    """The access of threads to rows of several arrays, which all have rows of `n` elements.

    each     16-bit elements that one counts as for plans
    aligned  rows of all arrays begin at multiples of this many elements
    vector   elements of one access: `aligned`, or where rows are `shifted` as many as 16 bytes of the first array hold
    alike    rows of all arrays begin as far into such a vector, and do not share memory
    results  rows of all that are written do
    around   between the first and the last element of what is read, nothing is written
    shifted  rows are covered by aligned vectors (`Plan.shifted`)
    """

    n: int
    each: int
    aligned: int
    vector: int
    alike: bool
    results: bool
    around: bool
    shifted: bool

    @staticmethod
    def of(
        read: list[Rows | None], written: Sequence[Rows] = (), *, narrow: bool = False, sectors: bool = False
    ) -> Access:
        """Return the access to arrays.

        narrow   rows are not covered
        sectors  they are where they begin with vectors, but amid sectors of memory
        """
        rows, reads = read[0], [each for each in read if each is not None]
        assert rows is not None
        aligned, wide = math.gcd(*(each.vector for each in (*reads, *written))), ACCESS // rows.dtype.bytes
        alike, results = (len({each.begins(wide) for each in arrays}) == 1 for arrays in ((*reads, *written), written))
        alike = alike and all(each.apart for each in reads)
        around = all(a.end <= b.view.pointer or b.end <= a.view.pointer for a in reads for b in written)
        amid = sectors and any(each.begins(SECTOR * wide) != (0, 0) for each in (*reads, *written))
        shifted = (alike or results) and not narrow and (aligned < wide or amid) and rows.n >= SHORT
        each, vector = rows.dtype.bytes // ELEMENT, wide if shifted else aligned
        return Access(rows.n, each, aligned, vector, alike, results, around, shifted)

    def covering(self, least: int) -> Access:
        """Return the access that covers rows of `least` elements and more by vectors, and shorter ones not."""
        return self if self.n >= least else self._replace(shifted=False, vector=self.aligned)

    def plan(
        self,
        how: Any,
        choose: Callable[[int, int], Plan],
        copies: bool = False,
        ends: Callable[[int, int], Plan | None] | None = None,
        any_size: bool = False,
    ) -> Plan:
        """Return `how`, a plan of the caller, or what `choose` gives for a length of rows and elements of an access.

        Both count elements of 16 bits, but with `any_size`: for kernels that take time by elements. The length is of
        the vectors that cover a row from its sector on, also where it is covered from its vector on. Plans copy only
        rows of whole vectors ahead: where rows are covered, it is a whole number of them only with `copies`.

        ends    chooses a plan for the elements of a row that lie in whole vectors, whose ends go to threads one by one
                (`Plan.ends`); None: they do not

        Errors  `cl.ArgumentError`
        """
        given: Plan | None = instance("how", how, Plan)
        if given is not None:
            if given.persistent and given.threads < WARP:
                raise cl.ArgumentError(
                    f"how.threads is {given.threads}, but teams that work on one row after the other are whole warps"
                )
            if given.around > self.around:
                raise cl.ArgumentError("how.around is for arrays that are apart from those that are written")
            if given.moved > given.shifted:
                raise cl.ArgumentError("how.moved is for rows that are shifted")
            apart = 2 * given.ends * given.vector
            if apart and not (given.shifted and given.threads >= apart <= self.n):
                raise cl.ArgumentError(
                    f"how.ends is for rows that are shifted, of teams of {apart} threads, and rows as long"
                )
            if given.shifted and not (self.alike if given.alike else self.results):
                raise cl.ArgumentError("how.shifted is for arrays whose rows all begin as far into 16 bytes")
            return given
        each = 1 if any_size else self.each
        vector = self.vector * each
        if not self.shifted:
            p = choose(self.n * each, vector)
            p = replace(p, vector=p.vector // each)
            return replace(p, around=self.around and self.alike) if p.shifted else p
        covered = self.n + SECTOR * self.vector - 1
        more = -covered % self.vector if copies and self.alike else int(covered % self.vector == 0)
        p = choose((covered + more) * each, vector)
        whole = ends(self.n // self.vector * vector, vector) if ends and self.n >= APART else None
        p = replace(whole or p, vector=self.vector, shifted=True)
        return replace(p, alike=self.alike, around=self.around and self.alike)


def as_vector(array: Any, name: str, n: int) -> tuple[Any, Any] | None:
    """Return an array as a contiguous vector of `n` elements, and its dtype; None for None."""
    if array is None:
        return None
    is_array(name, array)
    dtype = DTYPES.get(code_of(array))
    if dtype is None or tuple(array.shape) != (n,):
        given = f"{array.dtype} of shape {tuple(array.shape)}"
        raise rt.ArgumentError(f"{name} is {given}, and should have {n} elements of {', '.join(DTYPES)}")
    return flat(array, n), dtype


def flat(array: Any, n: int) -> Any:
    """Return an array as a contiguous vector of `n` elements. Errors: `Misfit` where torch records its operators."""
    check_recorded(array)
    made = array.reshape((n,))
    return made if n == 1 or rt.read(made).strides[0] == 1 else contiguous(made)
