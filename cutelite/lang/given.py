"""Results of functions that users pass to a kernel of the library: activations, modifiers of scores, masks.

In    the name of the argument, the result of its function, a vector that it has to be like, and the function
Out   a vector like that, or an error that names the argument
"""

from __future__ import annotations

from typing import Any

from cutelite.diag import CompileError, Span
from cutelite.ir.types import boolean
from cutelite.lang.emit import describe, mistake
from cutelite.lang.tensor import Tensor
from cutelite.lang.values import full
from cutelite.layout import size


def given_by(name: str, x: Any, like: Any, function: Any) -> Any:
    """Return the numbers that the function passed as `name` returned, converted to the dtype of `like`.

    Floats of other dtypes are converted. Smaller shapes are broadcast, except those of bools.
    Errors  `CompileError` for anything else, such as None, a tuple, or integers: at `function`, if Python defines it
    """
    asked, dtype = like.dtype, getattr(x, "dtype", None)
    literal = isinstance(x, bool if asked is boolean else int | float)
    fits = literal or (dtype is boolean if asked is boolean else dtype is not None and dtype.is_float)
    if not fits or not stretches(getattr(x, "shape", ()), like.shape):
        many = f"{size(like.shape)} " if fits else ""
        wanted = "bools: compare, and combine with & and |" if asked is boolean else f"{many}numbers of {asked}"
        raise mistake_of(function, "given", f"`{name}` gives {describe(x)}, but must give {wanted}")
    if asked is boolean:
        return x
    x = x if literal or dtype is asked else x.to(asked)
    return x if getattr(x, "shape", None) == like.shape else full(like.shape, 0.0, asked) + x


def stretches(shape: tuple[Any, ...], wanted: tuple[Any, ...]) -> bool:
    """Tell whether numbers of a shape are broadcast to another one."""
    pairs = zip(reversed(shape), reversed(wanted), strict=False)
    smaller = len(shape) <= len(wanted) and all(have in (1, want) for have, want in pairs)
    return smaller or size(shape) == size(wanted)


def tensor_of(method: str, x: Any, rank: int) -> Any:
    """Return `x`, which a function passed to a `method`. Errors: `given-tensor` if it is no tensor of this rank."""
    if not isinstance(x, Tensor):
        help = "pass arrays in `tensors=`: the function is called with the tensors that they are in a kernel"
        raise mistake("given-tensor", f"`{method}` takes a tensor of rank {rank}, not {describe(x)}", help=help)
    if len(x.shape) != rank:
        raise mistake("given-tensor", f"`{method}` takes a tensor of rank {rank}, not one of rank {len(x.shape)}")
    return x


def mistake_of(function: Any, code: str, title: str, help: str = "") -> CompileError:
    """Return an error at `function`, if Python defines it, else at the line that is being evaluated."""
    error = mistake(code, title, help=help)
    body = getattr(function, "code", None) or getattr(function, "__code__", None)  # `Closure`, or Python's
    return error if body is None else CompileError(error.diagnostic, Span.of_code(body))
