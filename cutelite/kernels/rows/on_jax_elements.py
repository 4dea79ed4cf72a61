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

from cutelite.interop.jax import check_untraced, derived, host_call, into
from cutelite.kernels.arguments import Misfit, as_number, one_of
from cutelite.kernels.arrays import code_of
from cutelite.kernels.lent import check_call, widened
from cutelite.kernels.rows import adamw as optimiser
from cutelite.kernels.rows import elementwise as elements
from cutelite.kernels.rows import linear_cross_entropy as linear
from cutelite.kernels.rows import rope_append as rope_cache
from cutelite.kernels.rows import rope_tables as angles
from cutelite.kernels.rows import transpose as transposes
from cutelite.kernels.rows.arrays import DTYPES
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.on_jax import BROADCAST, IN_ORDER, check_whole, like, named, no_gradient

# Functions of elements.


def elementwise(function: Callable[..., Any], inputs: Sequence[Any], *, dtypes: Sequence[str] = ()) -> tuple[Any, ...]:
    """`elementwise` of this room, with the derivative that `cl.value_and_derivative` finds, where kernels take it.

    That is of up to three inputs, with the results up to four, none of them of 8 bits.
    """
    elements.check_count("inputs", inputs, elements.MOST_INPUTS)
    names = tuple(f"inputs[{i}]" for i in range(len(inputs)))
    check_call(
        _checked_elements, {"function": function, "dtypes": tuple(dtypes)}, **dict(zip(names, inputs, strict=True))
    )
    return _computed(tuple(inputs), function, tuple(dtypes) or (code_of(inputs[0]),))  # type: ignore[no-any-return]


def _checked_elements(function: Any, dtypes: Any, **inputs: Any) -> None:
    elements.elementwise(function, tuple(inputs.values()), dtypes=dtypes)


@derived(1, 2, keep=lambda made, inputs, *_: inputs)
def _computed(inputs: tuple[Any, ...], function: Any, dtypes: tuple[str, ...]) -> Any:
    results = [jax.ShapeDtypeStruct(inputs[0].shape, named(kind)) for kind in dtypes]
    return tuple(host_call(_run_elements, results, vmap_method=BROADCAST, function=function)(*inputs))


def _run_elements(inputs: list[Any], outputs: list[Any], function: Any) -> None:
    elements.elementwise(function, inputs, out=outputs)


def _differentiate_computed(function: Any, dtypes: tuple[str, ...], inputs: Any, gradients: Any) -> tuple[Any]:
    if not elements.has_slopes(len(inputs), len(dtypes), dtypes):
        raise Misfit(f"a function of {len(inputs)} arrays with results of {', '.join(dtypes)} has no derivative here")
    kinds = tuple(code_of(x) for x in inputs)
    return (_computed((*gradients, *inputs), elements.slopes(function, len(dtypes)), kinds),)


_computed.derive(_differentiate_computed)


def scale(x: Any, by: Any) -> Any:
    """Return x times a number, an array of one element. (`scale` of this room is in place.)"""
    by = jnp.asarray(by, jnp.float32).reshape((1,))
    check_call(elements.scale, {}, x=x, by=by)
    return _scaled(x, by)


@derived(keep=lambda made, *given: given)
def _scaled(x: Any, by: Any) -> Any:
    return host_call(_run_scale, like(x), aliases={0: 0}, vmap_method=IN_ORDER)(x, by)


def _run_scale(inputs: list[Any], outputs: list[Any]) -> None:
    elements.scale(outputs[0], inputs[1])


def _differentiate_scale(kept: Any, dy: Any) -> tuple[Any, Any]:
    x, by = kept
    return _scaled(dy, by), (dy.astype(jnp.float32) * x.astype(jnp.float32)).sum().reshape((1,))


_scaled.derive(_differentiate_scale)


# Transposes.


def transposed(x: Any, to: str | Narrow) -> Any:
    """`transposed` of this room: a matrix, or of a `Narrow` codes and scales. Rows of results have no gaps.

    It has a derivative where `to` has more than 8 bits.
    """
    check_call(transposes.transposed, {"to": to}, x=x)
    if not isinstance(to, Narrow):
        return _transposed(x, to)
    m, n = x.shape
    results = [jax.ShapeDtypeStruct((n, m), named(to.dtype.name)), jax.ShapeDtypeStruct((n, to.count(m)), "f4")]
    return tuple(host_call(into(transposes.transposed), results, vmap_method=IN_ORDER, to=to)(x))


@derived(1, keep=lambda made, x, _: jnp.zeros(0, x.dtype))
def _transposed(x: Any, to: str) -> Any:
    out = jax.ShapeDtypeStruct(x.shape[::-1], named(to))
    return host_call(into(transposes.transposed), out, vmap_method=IN_ORDER, to=to)(x)


def _differentiate_transposed(to: str, like: Any, dy: Any) -> tuple[Any]:
    if to not in DTYPES:
        raise Misfit(f"to={to!r} has no derivative: call jax.lax.stop_gradient for x")
    return (_transposed(dy, code_of(like)),)


_transposed.derive(_differentiate_transposed)


# Rotary embedding.


def rope_tables(positions: Any, frequencies: Any, dtype: str = "f32", *, scale: float = 1.0) -> tuple[Any, Any]:
    """`rope_tables` of this room: cosines and sines, which have no derivative."""
    options = {"dtype": dtype, "scale": scale}
    check_call(angles.rope_tables, options, positions=positions, frequencies=frequencies)
    made = jax.ShapeDtypeStruct((*positions.shape, 2 * frequencies.shape[0]), named(dtype))
    run = host_call(_run_tables, [made, made], vmap_method=IN_ORDER, **options)
    return tuple(run(positions, jax.lax.stop_gradient(frequencies)))


@into
def _run_tables(positions: Any, frequencies: Any, dtype: str, **how: Any) -> None:
    angles.rope_tables(positions, frequencies, dtype, **how)


def rope_append(
    q: Any, k: Any, v: Any, cosines: Any, sines: Any, keys: Any, values: Any, length: Any
) -> tuple[Any, Any, Any, Any]:
    """`rope_append` of this room: queries turned, and keys, values and length of the cache with the new tokens.

    length  (1,), of whole numbers of 32 or 64 bits. Donate it, keys and values (`jax.jit(..., donate_argnums=...)`):
            otherwise XLA copies the cache. There is no derivative
    """
    arrays = {"q": q, "k": k, "v": v, "cosines": cosines, "sines": sines, "keys": keys, "values": values}
    check_whole("length", rope_cache.rope_append, {}, **arrays, length=length)
    results = [like(q), like(keys), like(values), like(length)]
    run = host_call(_run_append, results, aliases={5: 1, 6: 2, 7: 3}, vmap_method=IN_ORDER)
    return tuple(run(*arrays.values(), length))


def _run_append(inputs: list[Any], outputs: list[Any]) -> None:
    (out, keys, values, length), wide = outputs, widened(outputs[3])
    q, k, v, cosines, sines, *_ = inputs
    rope_cache.rope_append(q, k, v, cosines, sines, keys, values, wide, out=out)
    if wide is not length:
        length[...] = wide


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
    check_whole("target", linear.linear_cross_entropy, how, x=x, weight=weight, target=target)
    return _linear(x, weight, target, reduction, tuple(how.items()))


def made_with_gradients(x: Any, weight: Any, target: Any, gradient: Any, **how: Any) -> linear.Made:
    """`linear_cross_entropy` of this room itself: losses, sums of exponentials, and gradients with `gradient`."""
    check_whole("target", linear.linear_cross_entropy, how, x=x, weight=weight, target=target, gradient=gradient)
    each, wanted = jax.ShapeDtypeStruct(x.shape[:-1], jnp.float32), gradient is not None
    results = [each, each, like(x) if wanted else None, like(weight) if wanted else None]
    return linear.Made(*host_call(_run_linear, results, vmap_method=IN_ORDER, **how)(x, weight, target, gradient))


def _run_linear(inputs: list[Any], outputs: list[Any], **how: Any) -> None:
    x, weight, target, gradient = inputs
    into = [each for each in outputs if each is not None]
    linear.linear_cross_entropy(x, weight, widened(target), gradient, out=into, **{"sums": code_of(x)} | how)


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
    return *(_scaled(each, gradient.reshape((1,))) for each in (x, weight)), no_gradient(target)


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
    check_call(_checked_step, {"count": count}, **arrays)
    if not count:
        return tuple(trees[i] for i in changed)
    numbers = step_numbers(step, lr, betas, eps, decay)
    results = [like(x) for i in changed for x in leaves[i]]
    aliases = {i * count + j: at * count + j for at, i in enumerate(changed) for j in range(count)}
    run = host_call(_run_step, results, aliases=aliases, vmap_method=IN_ORDER, count=count)
    made = run(*arrays.values(), numbers)
    return tuple(jax.tree.unflatten(shapes[i], made[at * count : (at + 1) * count]) for at, i in enumerate(changed))


def step_numbers(step: Any, lr: Any, betas: tuple[float, float], eps: Any, decay: Any) -> Any:
    """Return the numbers of a `Step`, (6,), f32, of numbers that may be traced."""
    b1, b2 = (as_number("betas", x, least=0, most=1 - 1e-9) for x in betas)
    t = jnp.asarray(step, jnp.float32)
    first, second = (-jnp.expm1(t * jnp.float32(math.log(x) if x else -math.inf)) for x in (b1, b2))  # 1 - b ** t
    found = optimiser.Step(1 - lr * decay, lr / first, 1 / jnp.sqrt(second), 1 - b1, 1 - b2, eps)
    return jnp.stack([jnp.asarray(x, jnp.float32).reshape(()) for x in found])


def _lists(arrays: Sequence[Any], count: int) -> list[list[Any]]:
    return [list(arrays[i : i + count]) for i in range(0, len(arrays), count)]


def _checked_step(count: int, **arrays: Any) -> None:
    p, g, m, v, *w = _lists(list(arrays.values()), count) if count else [[]] * 4
    optimiser.adamw(p, g, m, v, 1, masters=w[0] if w else None)


def _run_step(inputs: list[Any], outputs: list[Any], count: int) -> None:
    *arrays, numbers = inputs
    p, m, v, *w = _lists(outputs, count)
    optimiser.adamw(p, _lists(arrays, count)[1], m, v, masters=w[0] if w else None, numbers=numbers)
