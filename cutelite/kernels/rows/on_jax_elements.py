"""Functions of elements, transposes, tables of angles and caches, losses of a linear layer, and AdamW, within JAX's
transforms.

In    arrays of JAX, traced or not. Out: such arrays. What the functions of this room change is given back anew here:
      XLA lets it lie where what was given did, where nobody else needs that
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from cutelite.interop.jax import check_untraced, derived
from cutelite.kernels.arguments import Misfit, as_number, one_of
from cutelite.kernels.arrays import code_of
from cutelite.kernels.jax_calls import BROADCAST, computed, like, no_gradient, shaped
from cutelite.kernels.rows import adamw as optimiser
from cutelite.kernels.rows import elementwise as elements
from cutelite.kernels.rows import linear_cross_entropy as linear
from cutelite.kernels.rows import rope_append as rope_cache
from cutelite.kernels.rows import rope_tables as angles
from cutelite.kernels.rows import transpose as transposes
from cutelite.kernels.rows.arrays import DTYPES
from cutelite.kernels.rows.narrow import Narrow

# Functions of elements.


def elementwise(function: Callable[..., Any], inputs: Sequence[Any], *, dtypes: Sequence[str] = ()) -> tuple[Any, ...]:
    """`elementwise` of this room, with the derivative that `cl.value_and_derivative` finds, where kernels take it.

    That is of up to three inputs, with the results up to four, none of them of 8 bits.
    """
    elements.check_count("inputs", inputs, elements.MOST_INPUTS)
    return _elements(tuple(inputs), function, tuple(dtypes) or (code_of(inputs[0]),))  # type: ignore[no-any-return]


@derived(1, 2, keep=lambda made, inputs, *_: inputs)
def _elements(inputs: tuple[Any, ...], function: Any, dtypes: tuple[str, ...]) -> Any:
    def results() -> list[Any]:
        return [shaped(inputs[0].shape, kind) for kind in dtypes]

    arrays = {f"inputs[{i}]": x for i, x in enumerate(inputs)}
    return computed(_of_elements, results, arrays, method=BROADCAST, function=function, dtypes=dtypes)


def _of_elements(function: Any, dtypes: tuple[str, ...], out: Any = None, **inputs: Any) -> None:
    into = out if out is None or len(dtypes) > 1 else (out,)
    elements.elementwise(function, tuple(inputs.values()), out=into, dtypes=dtypes if out is None else ())


def _differentiate_elements(function: Any, dtypes: tuple[str, ...], inputs: Any, gradients: Any) -> tuple[Any]:
    if not elements.has_slopes(len(inputs), len(dtypes), dtypes):
        raise Misfit(f"a function of {len(inputs)} arrays with results of {', '.join(dtypes)} has no derivative here")
    kinds = tuple(code_of(x) for x in inputs)
    return (_elements((*gradients, *inputs), elements.slopes(function, len(dtypes)), kinds),)


_elements.derive(_differentiate_elements)


def scale(x: Any, by: Any) -> Any:
    """Return x times a number, an array of one element. (`scale` of this room is in place.)"""
    return _scaled(x, jnp.asarray(by, jnp.float32).reshape((1,)))


@derived(keep=lambda made, *given: given)
def _scaled(x: Any, by: Any) -> Any:
    return computed(elements.scale, [like(x)], {"x": x, "by": by}, changes=("x",))[0]


def _differentiate_scale(kept: Any, dy: Any) -> tuple[Any, Any]:
    x, by = kept
    return _scaled(dy, by), (dy.astype(jnp.float32) * x.astype(jnp.float32)).sum().reshape((1,))


_scaled.derive(_differentiate_scale)


# Transposes.


def transposed(x: Any, to: str | Narrow) -> Any:
    """`transposed` of this room: a matrix, or of a `Narrow` codes and scales. Rows of results have no gaps.

    It has a derivative where `to` has more than 8 bits.
    """
    if not isinstance(to, Narrow):
        return _transposed(x, to)
    return computed(transposes.transposed, lambda: quantised(shaped(x.shape[::-1], x.dtype), to), {"x": x}, to=to)


@derived(1, keep=lambda made, x, _: jnp.zeros(0, x.dtype))
def _transposed(x: Any, to: str) -> Any:
    return computed(transposes.transposed, lambda: shaped(x.shape[::-1], to), {"x": x}, to=to)


def _differentiate_transposed(to: str, like: Any, dy: Any) -> tuple[Any]:
    if to not in DTYPES:
        raise Misfit(f"to={to!r} has no derivative: call jax.lax.stop_gradient for x")
    return (_transposed(dy, code_of(like)),)


_transposed.derive(_differentiate_transposed)


def quantised(x: Any, narrow: Narrow) -> list[Any]:
    """Describe the codes and scales of quantised rows."""
    return [shaped(x.shape, narrow.dtype.name), shaped((*x.shape[:-1], narrow.count(x.shape[-1])))]


# Rotary embedding.


def rope_tables(positions: Any, frequencies: Any, dtype: str = "f32", *, scale: float = 1.0) -> tuple[Any, Any]:
    """`rope_tables` of this room: cosines and sines, which have no derivative."""

    def tables() -> list[Any]:
        return [shaped((*positions.shape, 2 * frequencies.shape[0]), dtype)] * 2

    arrays = {"positions": positions, "frequencies": jax.lax.stop_gradient(frequencies)}
    return computed(angles.rope_tables, tables, arrays, dtype=dtype, scale=scale)  # type: ignore[no-any-return]


def rope_append(
    q: Any, k: Any, v: Any, cosines: Any, sines: Any, keys: Any, values: Any, length: Any
) -> tuple[Any, Any, Any, Any]:
    """`rope_append` of this room: queries turned, and keys, values and length of the cache with the new tokens.

    length  (1,), of whole numbers of 32 or 64 bits. Donate it, keys and values (`jax.jit(..., donate_argnums=...)`):
            otherwise XLA copies the cache. There is no derivative
    """
    arrays = {"q": q, "k": k, "v": v, "cosines": cosines, "sines": sines, "keys": keys, "values": values}
    results, changes = [like(q), like(keys), like(values), like(length)], ("keys", "values", "length")
    return computed(rope_cache.rope_append, results, arrays | {"length": length}, whole="length", changes=changes)  # type: ignore[no-any-return]


# Cross entropy of a linear layer.


def linear_cross_entropy(
    x: Any, weight: Any, target: Any, *, reduction: str = "mean", smoothing: float = 0.0, z: float = 0.0,
    ignore: int = -100, rows: int | None = None,
) -> Any:  # fmt: skip
    """Cross entropy of the rows of ``x @ weight.T``, whose logits are never stored whole, with derivatives.

    x, weight   (..., k) and (n, k), bf16 or f16;  target  (...), whole numbers
    reduction   'mean' over rows that count, 'sum', or 'none': each row's. For the first two, gradients are computed
                with the loss; for the last the logits are computed once more
    smoothing, z, ignore, rows  as of `linear_cross_entropy` of this room
    """
    one_of("reduction", reduction, linear.REDUCTIONS)
    how = {"smoothing": smoothing, "z": z, "ignore": ignore, "rows": rows}
    return _linear(x, weight, target, reduction, tuple(how.items()))


def made_with_gradients(x: Any, weight: Any, target: Any, gradient: Any, **how: Any) -> linear.Made:
    """`linear_cross_entropy` of this room itself: losses, sums of exponentials, and gradients with `gradient`."""
    each, wanted = shaped(x.shape[:-1]), gradient is not None
    results = [each, each, like(x) if wanted else None, like(weight) if wanted else None]
    arrays = {"x": x, "weight": weight, "target": target, "gradient": gradient}
    return linear.Made(*computed(_with_gradients, results, arrays, whole="target", **{"sums": code_of(x)} | how))


def _with_gradients(out: Any = None, **given: Any) -> None:
    linear.linear_cross_entropy(**given, out=None if out is None else [each for each in out if each is not None])


@derived(3, 4)
def _linear(x: Any, weight: Any, target: Any, reduction: str, how: tuple[Any, ...]) -> Any:
    loss = made_with_gradients(x, weight, target, None, **dict(how)).loss
    return loss if reduction == "none" else loss.sum() * _share(target, reduction, dict(how))


def _share(target: Any, reduction: str, how: dict[str, Any]) -> Any:
    """Return what the gradient of each row's loss is."""
    return 1.0 / (target != how["ignore"]).sum() if reduction == "mean" else jnp.float32(1.0)


def _keep_linear(x: Any, weight: Any, target: Any, reduction: str, how: tuple[Any, ...]) -> tuple[Any, Any]:
    if reduction == "none":
        return _linear(x, weight, target, reduction, how), (x, weight, target)
    share = _share(target, reduction, dict(how))
    of_rows = jnp.where(target != dict(how)["ignore"], share, 0.0).astype(jnp.float32)
    made = made_with_gradients(x, weight, target, of_rows, **dict(how))
    return made.loss.sum() * share, (made.x, made.weight, target)


def _differentiate_linear(reduction: str, how: tuple[Any, ...], kept: Any, gradient: Any) -> tuple[Any, ...]:
    x, weight, target = kept
    if reduction == "none":
        made = made_with_gradients(x, weight, target, gradient, **dict(how))
        return made.x, made.weight, no_gradient(target)
    return *(scale(each, gradient) for each in (x, weight)), no_gradient(target)


_linear.defvjp(_keep_linear, _differentiate_linear)


# AdamW.


def adamw(
    parameters: Any, gradients: Any, means: Any, squares: Any, step: Any, *, lr: Any = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8, decay: float = 1e-2, masters: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """One step of AdamW, as `adamw` of this room does it in place: all tensors in one launch.

    parameters, gradients, means, squares, masters   lists of arrays, or other trees of one structure
    step, lr, eps, decay   numbers, or arrays of one, which may be traced
    Gives   parameters, means and squares, and masters if there are, of these structures. Donate what is given
            (`jax.jit(..., donate_argnums=...)`): otherwise XLA copies it
    """
    check_untraced({"betas[0]": betas[0], "betas[1]": betas[1]})
    trees = [parameters, gradients, means, squares, *([] if masters is None else [masters])]
    leaves, shapes = zip(*(jax.tree.flatten(tree) for tree in trees), strict=True)
    for name, each in zip(optimiser.NAMES[1:], leaves[1:], strict=False):
        if len(each) != len(leaves[0]):
            raise Misfit(f"{name} has {len(each)} arrays, and parameters {len(leaves[0])}")
    count, changed = len(leaves[0]), [i for i in range(len(trees)) if i != 1]
    arrays = {
        f"{name}[{i}]": x for name, each in zip(optimiser.NAMES, leaves, strict=False) for i, x in enumerate(each)
    }
    if not count:
        return tuple(trees[i] for i in changed)
    results = [like(x) for i in changed for x in leaves[i]]
    changes = tuple(f"{optimiser.NAMES[i]}[{j}]" for i in changed for j in range(count))
    arrays["numbers"] = step_numbers(step, lr, betas, eps, decay)
    made = computed(_step, results, arrays, changes=changes, count=count)
    return tuple(jax.tree.unflatten(shapes[i], made[at * count : (at + 1) * count]) for at, i in enumerate(changed))


def step_numbers(step: Any, lr: Any, betas: tuple[float, float], eps: Any, decay: Any) -> Any:
    """Return the numbers of a `Step`, (6,), f32, of numbers that may be traced."""
    b1, b2 = (as_number("betas", x, least=0, most=1 - 1e-9) for x in betas)
    t = jnp.asarray(step, jnp.float32)
    first, second = (-jnp.expm1(t * jnp.float32(math.log(x) if x else -math.inf)) for x in (b1, b2))  # 1 - b ** t
    found = optimiser.Step(1 - lr * decay, lr / first, 1 / jnp.sqrt(second), 1 - b1, 1 - b2, eps)
    return jnp.stack([jnp.asarray(x, jnp.float32).reshape(()) for x in found])


def _step(count: int, numbers: Any, **arrays: Any) -> None:
    every = list(arrays.values())
    p, g, m, v, *w = (every[i : i + count] for i in range(0, len(every), count))
    optimiser.adamw(p, g, m, v, masters=w[0] if w else None, numbers=numbers)
