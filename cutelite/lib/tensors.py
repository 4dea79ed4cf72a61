"""Operations on whole tensors and vectors: gather, scatter, any, all, print."""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import boolean, f32
from cutelite.lang.algebra import rank, size
from cutelite.lang.debug import printf
from cutelite.lang.emit import describe, mistake
from cutelite.lang.loops import static_range
from cutelite.lang.tensor import Tensor
from cutelite.lang.values import Scalar, Vector, check_lengths, vector


def gather(t: Any, index: Any, mask: Any = None, other: Any = 0) -> Any:
    """Return the elements of `t` that `index` names, as a vector of the shape of `index`.

    t       a tensor; with several modes, an index counts its elements with the first mode fastest
    index   a vector of integers
    mask    a vector of bools: where one is false, nothing is read, and the result is `other`
    Who     each thread for itself
    """
    check_lengths("gather", index=index, mask=mask)
    items = []
    for i in static_range(index.n):
        if mask is None:
            items.append(t[index[i]])
        else:
            item = t.dtype(other)
            if mask[i]:
                item = t[index[i]]
            items.append(item)
    made = vector(*items, dtype=t.dtype)
    return made if index.shape is None else made.reshape(index.shape)


def scatter(t: Any, index: Any, values: Any, mask: Any = None) -> None:
    """Write element i of the vector `values` to ``t[index[i]]``, in this order; where `mask` is false, nothing.

    Arguments are as for `gather`. Of equal indices in one thread, the last one counts.
    """
    check_lengths("scatter", index=index, values=values, mask=mask)
    for i in static_range(index.n):
        if mask is None or mask[i]:
            t[index[i]] = values[i]


def any_(x: Any) -> Any:
    """Return whether any element of a vector `x`, or a number `x`, is true: not 0."""
    if isinstance(x, Scalar):
        return truth_of(x)
    check_lengths("any_", x=x)
    found = truth_of(x[0])
    for i in static_range(1, x.n):
        found = found | truth_of(x[i])
    return found


def all_(x: Any) -> Any:
    """Return whether every element of a vector `x`, or a number `x`, is true: not 0."""
    if isinstance(x, Scalar):
        return truth_of(x)
    check_lengths("all_", x=x)
    found = truth_of(x[0])
    for i in static_range(1, x.n):
        found = found & truth_of(x[i])
    return found


def truth_of(x: Any) -> Any:
    return x if x.dtype == boolean else x != 0


def print_tensor(x: Any, name: str = "tensor") -> None:
    """Print a tensor or vector `x`: a line with `name`, type and layout, then one for each row of the last mode.

    A tensor is read element by element, when the kernel runs; each thread that comes here prints, and the lines of
    several threads mix. The extents need not be known at compile time.
    """
    if isinstance(x, Vector):
        printf(f"{name}: {x.dtype} vector of {x.n if len(x.shape) == 1 else x.shape}\n")
        rows = x.n // size(x.shape[-1])
        flat = x.reshape((x.n,))
        for row in static_range(rows):
            for i in static_range(row, x.n, rows):
                print(f"  {shown(flat[i])}", end="")
            printf("\n")
    elif not isinstance(x, Tensor):
        raise mistake("tensor", f"print_tensor takes a tensor or a vector, not {describe(x)}", help="`print` takes all")
    else:
        printf(f"{name}: {x.dtype} {x.space} {x.layout}\n")
        columns = size(x.layout, rank(x) - 1) if rank(x) else 1
        rows = size(x) // columns
        for row in range(rows):
            for column in range(columns):
                print(f"  {shown(x[row + rows * column])}", end="")
            printf("\n")


def shown(x: Any) -> Any:
    """Return a number as `printf` takes it: storage formats and narrow floats as f32."""
    return x.to(f32) if x.dtype.is_float and x.dtype.bits < 32 else x
