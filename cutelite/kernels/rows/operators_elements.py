"""Activations, gates and rotary embedding as operators of torch, with derivatives: `torch.ops.cutelite.gated`.

`elementwise` makes an operator of a function of elements.

`cutelite.kernels.rows.operators` imports this module.
"""

# mypy: disable-error-code="untyped-decorator, no-any-return"
# (torch is not installed where types are checked)

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch import Tensor

import cutelite as cl
from cutelite.interop.torch import derive, library_op
from cutelite.interop.torch_functions import restored, takes
from cutelite.interop.torch_transforms import batched
from cutelite.kernels.arguments import ArrayError, one_of
from cutelite.kernels.arrays import code_of, empty
from cutelite.kernels.functions import by_number, settled
from cutelite.kernels.rows import elementwise as elements
from cutelite.kernels.rows import gates
from cutelite.kernels.rows import rope as rotary
from cutelite.kernels.rows import rope_append as rope_cache
from cutelite.kernels.rows import rope_tables as angles
from cutelite.kernels.rows.arrays import RESULTS


@library_op("cutelite::activated", results="x", out=("out",))
def activated(x: Tensor, activation: str, out: Any = None) -> Tensor:
    """An activation of every element: 'silu', 'gelu', 'gelu_tanh', 'relu'."""
    return gates.activated(x, activation, out=out)


@library_op("cutelite::activated_backward", results="x")
def activated_backward(dy: Tensor, x: Tensor, activation: str) -> Tensor:
    """The gradient of x."""
    return gates.activated_backward(dy, x, activation)


def _given(made: Any, *given: Any) -> tuple[Any, ...]:
    """Return the arguments, of which the last is a constant."""
    return *given[:-1], given[-1:]


derive(activated, _given, activated_backward)


@library_op("cutelite::gated", results="gate", out=("out",))
def gated(gate: Tensor, up: Tensor, activation: str, out: Any = None) -> Tensor:
    """``activation(gate) * up``: SwiGLU with 'silu', GeGLU with 'gelu' or 'gelu_tanh'."""
    return gates.gated(gate, up, activation, out=out)


@library_op("cutelite::gated_backward", results=("gate", "up"))
def gated_backward(dy: Tensor, gate: Tensor, up: Tensor, activation: str) -> tuple[Tensor, Tensor]:
    """The gradients of gate and up."""
    return gates.gated_backward(dy, gate, up, activation)


derive(gated, _given, gated_backward)


def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the two halves of the last mode. Errors: `ArrayError` if there are none."""
    if not x.ndim or x.shape[-1] % 2:
        raise ArrayError(f"x has shape {tuple(x.shape)}, but must have an even number of columns")
    n = x.shape[-1] // 2
    return x[..., :n], x[..., n:]


@library_op("cutelite::gated_halves", results=lambda x, _: x.new_empty(halves(x)[0].shape), out=("out",))
def gated_halves(x: Tensor, activation: str, out: Any = None) -> Tensor:
    """``activation(gate) * up`` of the two halves of x's last mode, whose gradient is one tensor too."""
    return gates.gated(*halves(x), activation, out=out)


@library_op("cutelite::gated_halves_backward", results="x")
def gated_halves_backward(dy: Tensor, x: Tensor, activation: str) -> Tensor:
    """The gradient of x."""
    dx = x.new_empty(x.shape)
    gates.gated_backward(dy, *halves(x), activation, out=halves(dx))
    return dx


derive(gated_halves, _given, gated_halves_backward)


@library_op("cutelite::rope", results=("q", "k"), out=("turned_q", "turned_k"))
def rope(
    q: Tensor, k: Tensor, cosines: Tensor, sines: Tensor, positions: Tensor | None, interleaved: bool, inverse: bool,
    out: Any = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Queries and keys turned by the angles of their positions."""
    q, k = (whole(x) if out is None else x for x in (q, k))
    return rotary.rope(q, k, cosines, sines, positions, interleaved=interleaved, inverse=inverse, out=out)


derive(rope, lambda made, q, k, *given: (*given[:3], given[3:]), lambda *given: tuple(rope(*given[:-1], not given[-1])))


@library_op("cutelite::rope_", mutates_args={"q", "k"}, results=None)
def rope_(
    q: Tensor, k: Tensor, cosines: Tensor, sines: Tensor, positions: Tensor | None, interleaved: bool, inverse: bool
) -> None:
    """As `rope`, in place; without a derivative."""
    rotary.rope(q, k, cosines, sines, positions, interleaved=interleaved, inverse=inverse, out=(q, k))


@library_op("cutelite::rope_append", mutates_args={"keys", "values", "length"}, results="q")
def rope_append(
    q: Tensor, k: Tensor, v: Tensor, cosines: Tensor, sines: Tensor, keys: Tensor, values: Tensor, length: Tensor
) -> Tensor:
    """Queries turned; keys turned, and values, behind those of a cache, whose length grows. It has no derivative."""
    one = length.reshape(1) if length is not None and not length.ndim else length
    return rope_cache.rope_append(q, k, v, cosines, sines, keys, values, one)


def _tables(positions: Tensor, frequencies: Tensor, dtype: torch.dtype, scale: float) -> tuple[Tensor, Tensor]:
    made = positions.new_empty((*positions.shape, 2 * len(frequencies)), dtype=dtype)
    return made, torch.empty_like(made)


@library_op("cutelite::rope_tables", results=_tables)
def rope_tables(positions: Tensor, frequencies: Tensor, dtype: torch.dtype, scale: float) -> tuple[Tensor, Tensor]:
    """Cosines and sines of positions times frequencies, twice in each row. They have no derivative."""
    code = code_of(torch.empty((0,), dtype=dtype))
    return angles.rope_tables(positions, frequencies, code, scale=scale)


def whole(x: Tensor) -> Tensor:
    """The tensor with elements of a head side by side: gradients of sums have strides of 0."""
    return x if x is None or x.stride()[-1:] == (1,) else x.contiguous()


def elementwise_by_operator(
    function: Any, inputs: Sequence[Tensor], out: Sequence[Tensor] | None, dtypes: Sequence[str], names: Sequence[str]
) -> tuple[Tensor, ...]:
    """Compute `elementwise` by an operator, which gets the function by number; or as it is: `torch_functions.takes`."""
    if not torch.compiler.is_dynamo_compiling() and not takes({"function": function}, *inputs):
        return elements.computed(function, inputs, dtypes=dtypes, names=names)
    (number, captured), called = by_number((function,)), ",".join(names)
    if out is None:
        return tuple(elements_of(list(inputs), captured, number, ",".join(dtypes), called))
    elements_into(list(inputs), list(out), captured, number, called)
    return tuple(out)


def _split(names: str) -> tuple[str, ...]:
    return tuple(names.split(",")) if names else ()


def _results(inputs: Sequence[Tensor], _: Any, __: int, dtypes: str, *more: Any) -> list[Tensor]:
    return [empty(inputs[0], tuple(inputs[0].shape), kind) for kind in _split(dtypes) or (None,)]


@library_op("cutelite::elements", results=_results)
def elements_of(
    inputs: Sequence[Tensor], captured: Sequence[Tensor], function: int, dtypes: str, names: str
) -> list[Tensor]:
    """`cutelite.kernels.rows.elementwise.elementwise` of a function by number; names are joined by commas."""
    (found,) = restored(function, captured)
    return [*elements.computed(found, inputs, dtypes=_split(dtypes), names=_split(names))]


@library_op("cutelite::elements_into", mutates_args={"out"}, results=None)
def elements_into(
    inputs: Sequence[Tensor], out: Sequence[Tensor], captured: Sequence[Tensor], function: int, names: str
) -> None:
    """`elements_of`, written to the caller's tensors; without a derivative."""
    (found,) = restored(function, captured)
    elements.computed(found, inputs, out=out, names=_split(names))


@library_op("cutelite::elements_backward", results=lambda dy, inputs, *_: [x.new_empty(x.shape) for x in inputs])
def elements_backward(
    dy: Sequence[Tensor], inputs: Sequence[Tensor], captured: Sequence[Tensor], function: int
) -> list[Tensor]:
    """The gradients of the inputs of `elements_of`."""
    (found,) = restored(function, captured)
    kinds = tuple(map(code_of, inputs))
    return [*elements.computed(elements.slopes(settled(found), len(dy)), (*dy, *inputs), dtypes=kinds)]


def _of_elements(made: Any, tensors: Any, captured: Any, function: int, *_: Any) -> tuple[Any, ...]:
    return *tensors, *captured, (len(tensors), function)


def _differentiate_elements(dy: Sequence[Tensor], *kept: Any) -> tuple[Any, ...]:
    *saved, count, function = kept
    return elements_backward(dy, saved[:count], saved[count:], function), [None] * (len(saved) - count)


derive(elements_of, _of_elements, _differentiate_elements)


def elementwise(name: str, function: Callable[..., Any], dtypes: Sequence[str] = ()) -> Any:
    """Make an operator of a function of elements, as `cutelite.kernels.rows.elementwise.elementwise` takes it.

        swish = elementwise("mylib::swish", lambda x: x / (1.0 + cl.math.exp(-x)))
        y = swish(x)       # or torch.ops.mylib.swish, within torch.compile too

    name      'namespace::name', by which torch.ops has it
    function  of one to four vectors, whose names the operator's arguments get
    dtypes    codes of the results' dtypes; default: one result, of the dtype of the first argument
    Gives     torch's `CustomOpDef`. It has derivatives (`cl.value_and_derivative`) unless a result has 8 bits, or the
              arguments are more than three or with the results more than four
    Errors    `cl.ArgumentError` for other functions and dtypes
    """
    names = _parameters(function)
    elements.check_count("dtypes", dtypes or ("",), elements.MOST_OUTPUTS)
    for kind in dtypes:
        one_of("dtypes", kind, RESULTS)
    count = len(dtypes) or 1

    def results(*given: Tensor) -> Any:
        made = tuple(empty(given[0], tuple(given[0].shape), kind) for kind in dtypes or (None,))
        return made if count > 1 else made[0]

    def computed(*given: Tensor, out: Any = None) -> Any:
        to = out if out is None or count > 1 else (out,)
        made = elements.computed(function, given, out=to, dtypes=dtypes, names=(*names, *outs))
        return made if count > 1 else made[0]

    outs = tuple(f"out{i}" for i in range(count)) if count > 1 else ("out",)
    computed.__signature__ = _takes(names, count, out=True)  # type: ignore[attr-defined]
    made = library_op(name, results=results, out=outs, plans=False)(computed)
    batched(made, *names)
    if elements.has_slopes(len(names), count, dtypes):
        _differentiable(made, function, names, count)
    return made


def _parameters(function: Any) -> tuple[str, ...]:
    """Return the names of a function's arguments. Errors: `cl.ArgumentError` unless they are one to four, by place."""
    taken: list[inspect.Parameter] = []
    with suppress(TypeError, ValueError):  # what is no function, and what has no signature
        taken += inspect.signature(function).parameters.values()
    names = tuple(x.name for x in taken if x.kind in (x.POSITIONAL_ONLY, x.POSITIONAL_OR_KEYWORD))
    if not 1 <= len(names) <= elements.MOST_INPUTS or len(names) < len(taken):
        raise cl.ArgumentError(f"function is {function!r}, but must be one of 1 to {elements.MOST_INPUTS} vectors")
    return names


def _takes(names: Sequence[str], results: int, out: bool = False) -> inspect.Signature:
    """Return the signature of a function of tensors with these names."""
    taken = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Tensor) for name in names]
    if out:
        taken.append(inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Any))
    gives = Tensor if results == 1 else tuple[(Tensor,) * results]  # type: ignore[misc]
    return inspect.Signature(taken, return_annotation=gives)


def _differentiable(operator: Any, function: Callable[..., Any], names: tuple[str, ...], count: int) -> None:
    """Give an operator of `elementwise` its derivative, an operator too."""

    slopes = elements.slopes(function, count)

    def backward(*given: Tensor) -> Any:
        kinds = tuple(code_of(x) for x in given[count:])
        made = elements.computed(slopes, given, dtypes=kinds, names=(*of_results, *names, *of_names))
        return made if len(names) > 1 else made[0]

    of_results, of_names = (tuple(f"d{each}" for each in every) for every in (map(str, range(count)), names))
    backward.__signature__ = _takes((*of_results, *names), len(names))  # type: ignore[attr-defined]
    like = names if len(names) > 1 else names[0]
    derived = library_op(f"{operator._qualname}_backward", results=like, plans=False)(backward)

    derive(operator, lambda made, *given: (*given, ()), derived)
