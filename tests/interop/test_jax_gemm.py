"""GEMMs on JAX's arrays: outside of jax.jit, on a GPU through torch or CuPy, else simulated."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
import jax.numpy as jnp

from cutelite.kernels.gemm import Finish, fp8_block, gemm, grouped, mixed


def random(*shape: int) -> Any:
    return jax.random.normal(jax.random.key(shape[-1]), shape, jnp.float32).astype(jnp.bfloat16)


def test_jax_arrays_come_and_go() -> None:
    a, b, bias = random(2, 40, 64), random(64, 72), jnp.ones(72)
    d = gemm(a, b, bias=bias, activation="relu")
    wanted = jax.nn.relu(a.astype(jnp.float32) @ b.astype(jnp.float32) + bias)
    assert isinstance(d, jax.Array) and (d.shape, d.dtype, d.devices()) == ((2, 40, 72), a.dtype, a.devices())
    assert jnp.linalg.norm(d.astype(jnp.float32) - wanted) <= 4e-3 * jnp.linalg.norm(wanted)
    narrow = random(64, 128).astype(jnp.float8_e4m3fn)
    assert fp8_block.gemm(narrow, narrow, jnp.ones((64, 1)), jnp.ones((1, 1))).dtype == jnp.bfloat16


def test_what_jax_does_not_allow() -> None:
    a = random(64, 64)
    with pytest.raises(TypeError, match="leave out= out"):
        gemm(a, a, a)
    with pytest.raises(TypeError, match="within JAX's transforms there is no rows= here"):
        jax.jit(lambda x: grouped.gemm(x, x[None], jnp.array([64], jnp.int32), rows=jnp.arange(64)))(a)
    with pytest.raises(ValueError, match="for arrays of JAX there is no finish="):
        gemm(a, a, finish=Finish(lambda piece: piece.result(piece.sums)))


def near(ours: Any, theirs: Any, most: float = 8e-3) -> bool:
    ours, theirs = ours.astype(jnp.float32), theirs.astype(jnp.float32)
    return ours.shape == theirs.shape and bool(jnp.linalg.norm(ours - theirs) <= most * jnp.linalg.norm(theirs))


SHAPES = [
    ((40, 64), (64, 72)), ((40, 0), (0, 72)), ((2, 40, 64), (64, 72)), ((40, 64), (2, 64, 72)),
    ((2, 1, 40, 64), (3, 64, 72)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_derivatives_within_jit(shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b, bias = random(*shapes[0]), random(*shapes[1]), jnp.linspace(-1, 1, 72)
    c = random(*jnp.broadcast_shapes(shapes[0][:-2], shapes[1][:-2]), 40, 72)

    def ours(a: Any, b: Any, c: Any, bias: Any) -> Any:
        d = gemm(a, b, c=c, bias=bias, alpha=0.5, beta=2.0, activation="relu")
        return (d.astype(jnp.float32) ** 2).sum(), d

    def theirs(a: Any, b: Any, c: Any, bias: Any) -> Any:
        wide = [x.astype(jnp.float32) for x in (a, b, c, bias)]
        d = jax.nn.relu(0.5 * jnp.matmul(wide[0], wide[1], precision="highest") + 2.0 * wide[2] + wide[3])
        return (d**2).sum(), d

    which = (0, 1, 2, 3)
    (_, found), gradients = jax.jit(jax.value_and_grad(ours, which, has_aux=True))(a, b, c, bias)
    (_, right), expected = jax.value_and_grad(theirs, which, has_aux=True)(a, b, c, bias)
    assert near(found, right) and all(near(x, y, 1e-2) for x, y in zip(gradients, expected, strict=True))


def test_batches_by_vmap() -> None:
    a, b, bias = random(3, 40, 64), random(64, 72), jnp.ones(72)
    right = a.astype(jnp.float32) @ b.astype(jnp.float32)
    assert near(jax.vmap(gemm, (0, None))(a, b), right)
    assert near(jax.vmap(lambda x: gemm(x, b, bias=bias))(a), right + 1)


FUNCTIONS: dict[str, tuple[dict[str, Any], Any]] = {
    "of one's own": ({"activation": lambda x: x * x}, lambda z: z * z),
    "of JAX": ({"activation": jax.nn.silu}, jax.nn.silu),
    "a gate": ({"gate": "silu"}, lambda z: jax.nn.silu(z[..., :32]) * z[..., 32:]),
    "a gate of JAX": ({"gate": jax.nn.gelu}, lambda z: jax.nn.gelu(z[..., :32]) * z[..., 32:]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [(40, 48), (2, 24, 48)])
def test_functions_and_their_derivatives(name: str, shape: tuple[int, ...]) -> None:
    how, function = FUNCTIONS[name]
    given = [random(*shape), random(48, 64)]
    if "gate" not in how:
        given += [random(*shape[:-1], 64), jnp.ones(64)]

    def ours(a: Any, b: Any, c: Any = None, bias: Any = None) -> Any:
        more = {} if c is None else {"c": c, "bias": bias, "alpha": 0.25, "beta": 0.5}
        return gemm(a, b, **more, **how)

    def theirs(a: Any, b: Any, c: Any = None, bias: Any = None) -> Any:
        product = jnp.matmul(a.astype(jnp.float32), b.astype(jnp.float32))
        return function(product if c is None else 0.25 * product + 0.5 * c + bias)

    weight = jax.random.normal(jax.random.key(3), theirs(*given).shape)
    which = tuple(range(len(given)))
    found = jax.jit(jax.grad(lambda *x: (ours(*x).astype(jnp.float32) * weight).sum(), which))(*given)
    right = jax.grad(lambda *x: (theirs(*x) * weight).sum(), which)(*given)
    assert near(jax.jit(ours)(*given), theirs(*given), 2e-2)
    assert all(near(x, y, 2e-2) for x, y in zip(found, right, strict=True))


def test_gates_by_vmap() -> None:
    a, b = random(3, 40, 48), random(48, 64)
    right = FUNCTIONS["a gate"][1](a.astype(jnp.float32) @ b.astype(jnp.float32))
    assert near(jax.vmap(lambda x: gemm(x, b, gate="silu"))(a), right, 2e-2)


def by_groups(product: Any) -> Any:
    """A product of each group's rows by `product`, of rows that lie one after the other; or None behind the last."""
    starts = [0, *ENDS]
    return [product(e, slice(*pair)) for e, pair in enumerate(pairwise(starts))]


ENDS, COUNTS = (10, 10, 37), (0, 7, 20)
GROUPS: dict[str, tuple[Any, Any, tuple[int, ...], tuple[int, ...], Any]] = {
    "rows": (grouped.gemm, lambda a, b: jnp.concatenate(by_groups(lambda e, at: a[at] @ b[e].T)),
             (40, 61), (3, 48, 61), lambda y: y[:37]),
    "padded": (grouped.padded, lambda a, b: inside(jnp.einsum("emk,enk->emn", a, b)), (3, 20, 64), (3, 48, 64),
               lambda y: inside(y)),
    "along K": (grouped.along_k, lambda a, b: jnp.stack(by_groups(lambda e, at: a[at].T @ b[at])), (40, 64), (40, 48),
                lambda y: y),
}  # fmt: skip


def inside(y: Any) -> Any:
    return jnp.where((jnp.arange(20) < jnp.array(COUNTS)[:, None])[..., None], y, 0)


@pytest.mark.parametrize("name", GROUPS)
def test_groups_within_jit(name: str) -> None:
    ours, theirs, *shapes, part = GROUPS[name]
    a, b = (random(*shape) for shape in shapes)
    ends = jnp.array(COUNTS if name == "padded" else ENDS, jnp.int32)

    def loss(function: Any) -> Any:
        def value(*given: Any) -> tuple[Any, Any]:
            found = part(function(*given)).astype(jnp.float32)
            return (found * jnp.sin(jnp.arange(found.size).reshape(found.shape))).sum(), found

        return jax.jit(jax.grad(value, (0, 1), has_aux=True))

    found = loss(lambda a, b: ours(a, b, ends))(a, b)
    with jax.default_matmul_precision("highest"):
        right = loss(theirs)(a.astype(jnp.float32), b.astype(jnp.float32))
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(right), strict=True):
        assert near(x, y, 1e-2)
    batch = jax.vmap(lambda x: part(ours(x, b, ends)))(jnp.stack([a, 2 * a]))
    assert near(batch[1], 2 * right[1])


def test_narrow_operands_within_jit() -> None:
    a = random(64, 128).astype(jnp.float8_e4m3fn)
    found = jax.jit(fp8_block.gemm)(a, a, jnp.ones((64, 1)), jnp.ones((1, 1)))
    wide = a.astype(jnp.float32)
    assert near(found, jnp.matmul(wide, wide.T, precision="highest"))
    codes, x = np.arange(64 * 128).reshape(64, 128) % 15 - 7, random(16, 128)
    packed = jnp.asarray(mixed.pack(codes.astype(np.int8), np.ones((64, 1), np.float32), "i4"))
    found = jax.jit(lambda x: mixed.gemm(x, packed, "i4"))(x)
    assert near(found, jnp.matmul(x.astype(jnp.float32), codes.T.astype(np.float32), precision="highest"))
