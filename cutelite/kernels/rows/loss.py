"""Sums over the logits of a row, and the loss and gradients that the kernels of cross entropy compute from them."""

from typing import Any

import cutelite as cl
from cutelite import f32, i32
from cutelite.kernels.rows.softmax import LOWEST, Exponentials, Merge, added, exponentials, greatest, power, total_of
from cutelite.lib.row_words import widened
from cutelite.records import dataclass
from cutelite.tuples import NamedTuple


@dataclass(frozen=True)
class Loss:
    """A loss of rows of `n` logits.

    dtype      the dtype of the logits
    smoothing  the part of a target's weight that is spread evenly over all columns
    z          the weight of the square of lse
    ignore     the target of rows that are left out
    part       the logits are a part of each row's, whose lse is of all of them
    """

    dtype: Any
    n: int
    smoothing: float
    z: float
    ignore: int
    part: bool = False

    @property
    def folding(self) -> "Folding":
        """The sums over a row."""
        return Folding(self.dtype == f32, self.smoothing != 0)

    def value(self, target: Any, wanted: Any, known: "Known", lse: Any) -> Any:
        """Return the loss of a row, by its target's logit and its sums: from differences to the greatest logit."""
        value = (1.0 - self.smoothing) * (known.all.top - wanted) + cl.math.log(known.all.total)
        value = value - self.smoothing / self.n * known.apart + self.z * lse * lse
        return f32(0) if target == self.ignore else value

    def scales(self, target: Any, gradient: Any, lse: Any) -> tuple[Any, Any]:
        """Return the factor of softmax in the gradient of a row's logits, and what is taken from each: of smoothing."""
        g = f32(0) if target == self.ignore else gradient
        factor = g * (1.0 + 2.0 * self.z * lse) if self.z else g
        return factor, g * (self.smoothing / self.n) if self.smoothing else 0.0

    def marked(self, target: Any, gradient: Any, d: Any) -> Any:
        """Return the gradient of the target's logit, of which `d` is what any other logit like it has."""
        return d if target == self.ignore else d - gradient * (1.0 - self.smoothing)


@dataclass(frozen=True)
class Target:
    """The target of a row, for the thread that has its logit: it loads the logit, and writes its gradient last.

    column  a column of the row: the target's, or 0 where it is none
    valid   whether it is the target's
    mine    whether this thread has it
    """

    column: Any
    valid: Any
    mine: Any

    @staticmethod
    def of(part: Any, target: Any) -> "Target":
        """Return the target of a row that is distributed as `part` says."""
        valid = (target >= 0) & (target < part.n)
        column = cl.where(valid, target.to(i32), 0)
        return Target(column, valid, part.has(column))

    def logit(self, x: Any) -> Any:
        """Return the logit in the thread that has it; 0 in others, and where there is none.

        As it is stored: converted here, it would be waited for.
        """
        wanted = x.dtype(0)
        if self.mine and self.valid:
            wanted = x[self.column]
        return wanted

    def write(self, d: Any, dx: Any) -> None:
        """Write the gradient of the logit, after those of all."""
        if self.mine and self.valid:
            dx[self.column] = d.to(dx.dtype)


class Known(NamedTuple):
    """Sums over a part of a row: of exponentials, and where labels are smoothed of x - all.top; how many logits."""

    all: Exponentials
    apart: f32
    count: f32

    def below(self, top: Any) -> Any:
        """Return the sum of x - top, for a `top` that no logit is above."""
        return cl.where(self.count > 0.0, self.apart + self.count * (self.all.top - top), 0.0)


class Powers(NamedTuple):
    """exp(x - top) of elements of a thread: of its vectors, and of `RowEnds` if there are such."""

    top: f32
    all: Any


@dataclass(frozen=True)
class Folding:
    """The sums over a row: `Known` where labels are smoothed, else `Exponentials` alone.

    exact   exponentials are exact: for f32
    smooth  labels are smoothed
    """

    exact: bool
    smooth: bool

    @property
    def start(self) -> Any:
        """The sums over no logits."""
        none = Exponentials(f32(LOWEST), f32(0))
        return Known(none, f32(0), f32(0)) if self.smooth else none

    def more(self, known: Any, logits: Any, some: Any) -> Any:
        """Return the sums with more logits, those of the `RowVectors` `some`."""
        v, before = widened(logits), known.all if self.smooth else known
        all = added(before, v, self.exact, lambda x, top: power(x - top, self.exact))  # losses are f32
        if not self.smooth:
            return all
        count = f32(v.n) if some.whole else some.keep(cl.full(v.shape, 1, f32)).reduce("sum")
        return Known(all, known.below(all.top) + some.keep(v - all.top).reduce("sum"), known.count + count)

    def taken(self, known: Any, held: Any, some: Any) -> Any:
        """Return the sums with the logits `some` of the `RowPart` `held`, if this thread has any of them."""
        if some.reached:
            known = self.more(known, held.of(some), some)
        return known

    def whole(self, part: Any, logits: Any) -> tuple[Any, "Powers"]:
        """Return the sums over a thread's part of a row, `logits` as `RowStream.all_of` gives them, and its powers."""
        vectors = [widened(each) for each in logits]
        if not self.smooth:
            all, (top, e) = exponentials(vectors, lambda x, top: power(x - top, self.exact))
            return all, Powers(top, e)
        pairs, top = list(zip(part.steps, vectors, strict=True)), greatest(vectors)
        count = total_of([some.keep(cl.full(v.shape, 1, f32)) for some, v in pairs])
        apart = total_of([some.keep(v - top) for some, v in pairs])  # before powers take the registers of logits
        all, (top, e) = exponentials(vectors, lambda x, top: power(x - top, self.exact), top)
        return Known(all, apart, count), Powers(top, e)

    @property
    def combine(self) -> Any:
        """The merge of the sums of two parts of a row."""
        return Merged(Merge(self.exact)) if self.smooth else Merge(self.exact)

    def known(self, sums: Any) -> Known:
        """Return the sums of a row as `Known`."""
        return sums if self.smooth else Known(sums, f32(0), f32(0))


@dataclass(frozen=True)
class Merged:
    """The merge of the sums of two parts of a row (call), or of a warp's threads (`together`)."""

    merge: Merge

    def __call__(self, a: Known, b: Known) -> Known:
        all = self.merge(a.all, b.all)
        return Known(all, a.below(all.top) + b.below(all.top), a.count + b.count)

    def together(self, x: Known, reduce: Any) -> Known:
        all = self.merge.together(x.all, reduce)
        return Known(all, reduce(x.below(all.top), "add"), reduce(x.count, "add"))
