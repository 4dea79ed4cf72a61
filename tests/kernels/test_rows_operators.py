"""Kernels of rows as operators of torch: opcheck, and derivatives against those of float64."""

from typing import Any

import pytest

import cutelite as cl
from cutelite.kernels.rows.cross_entropy import cross_entropy, cross_entropy_backward
from cutelite.kernels.rows.embedding import embedding, embedding_backward
from cutelite.kernels.rows.gates import activated, activated_backward, gated, gated_backward
from cutelite.kernels.rows.histogram import histogram
from cutelite.kernels.rows.narrow import Narrow
from cutelite.kernels.rows.norm import Normed, layer_norm, norm_backward, rms_norm
from cutelite.kernels.rows.quantise import quantise
from cutelite.kernels.rows.reduce import reduced
from cutelite.kernels.rows.rope import rope
from cutelite.kernels.rows.rope_append import rope_append
from cutelite.kernels.rows.rope_tables import rope_tables
from cutelite.kernels.rows.sample import sample
from cutelite.kernels.rows.scan import cumsum
from cutelite.kernels.rows.select import argmax, top_k
from cutelite.kernels.rows.softmax import log_softmax, softmax, softmax_backward
from cutelite.kernels.rows.sort import sort
from cutelite.kernels.rows.transpose import transposed

torch = pytest.importorskip("torch")
made = pytest.importorskip("cutelite.kernels.rows.operators_elements")
FakeTensorMode = pytest.importorskip("torch._subclasses.fake_tensor").FakeTensorMode
F = torch.nn.functional


@pytest.fixture(autouse=True)
def seeded() -> None:
    """Of few numbers of 16 bits two are equal now and then, and which of them comes first is nobody's promise."""
    torch.manual_seed(1)


def tensors(*shapes: tuple[int, ...], **more: Any) -> tuple[Any, ...]:
    on = {"device": "cuda" if torch.cuda.is_available() else "cpu"}
    return tuple(torch.randn(*shape, **on, **more, requires_grad=True) for shape in shapes)


def compare(operator: Any, args: tuple[Any, ...], reference: Any) -> None:
    """Results and derivatives are those of `reference`, in float64, of the tensors that are differentiated."""
    torch.library.opcheck(operator, args)
    inputs = [x for x in args if isinstance(x, torch.Tensor) and x.requires_grad]
    wide = [x.detach().double().requires_grad_() for x in inputs]
    found, exact = operator(*args), reference(*wide)
    found, exact = (x if isinstance(x, tuple) else (x,) for x in (found, exact))
    gradients = [torch.randn_like(x) for x in exact]
    for a, b in zip(found, exact, strict=False):
        torch.testing.assert_close(a.double(), b, rtol=1e-5, atol=1e-5)
    mine = torch.autograd.grad(found[: len(exact)], inputs, [g.float() for g in gradients])
    theirs = torch.autograd.grad(exact, wide, gradients)
    for a, b in zip(mine, theirs, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("name", "f"), [("silu", F.silu), ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"))])
def test_activations_and_gates(name: str, f: Any) -> None:
    (both,) = tensors((3, 80))
    gate, up = (each.detach().requires_grad_() for each in both.chunk(2, -1))
    compare(made.activated, (gate, name), f)
    compare(made.gated, (gate, up, name), lambda gate, up: f(gate) * up)
    both = torch.cat([gate.detach(), up.detach()], -1).requires_grad_()
    compare(made.gated_halves, (both, name), lambda both: f(both.chunk(2, -1)[0]) * both.chunk(2, -1)[1])
    with pytest.raises(cl.ArgumentError, match=r"x has shape \(3, 1\), but must have an even number of columns"):
        made.gated_halves(both[:, :1], name)


@pytest.mark.parametrize("interleaved", [False, True])
def test_rope(interleaved: bool) -> None:
    q, k = tensors((2, 5, 3, 16), (2, 5, 1, 16))
    angles = torch.rand(8, 8, device=q.device)
    positions = torch.tensor([[0, 3, 1, 7, 2], [4, 4, 5, 6, 0]], device=q.device)

    def exact(*heads: Any) -> tuple[Any, ...]:
        c, s = (table.double()[positions][..., None, :] for table in (angles.cos(), angles.sin()))
        found = []
        for x in heads:
            a, b = (x[..., ::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
            pair = a * c - b * s, b * c + a * s
            found.append(torch.stack(pair, -1).flatten(-2) if interleaved else torch.cat(pair, -1))
        return tuple(found)

    compare(made.rope, (q, k, angles.cos(), angles.sin(), positions, interleaved, False), exact)
    given = q.detach().clone(), k.detach().clone()
    torch.library.opcheck(made.rope_, (*given, angles.cos(), angles.sin(), positions, interleaved, False))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_of_a_linear_layer(reduction: str) -> None:
    losses = pytest.importorskip("cutelite.kernels.rows.operators_losses")
    x, w = (t.detach().bfloat16().requires_grad_() for t in tensors((2, 9, 32), (40, 32)))
    target = torch.randint(0, 40, (2, 9), device=x.device)
    target[0, 1] = -100
    torch.library.opcheck(losses.linear_loss, (x, w, target, reduction, 0.1, 0.0, -100, 8, reduction != "none"))
    wide = [t.detach().double().requires_grad_() for t in (x, w)]
    exact = F.cross_entropy(
        (wide[0] @ wide[1].T).flatten(0, 1), target.flatten(), reduction=reduction, label_smoothing=0.1
    )
    found = losses.linear_cross_entropy(x, w, target, reduction=reduction, smoothing=0.1, rows=8)
    torch.testing.assert_close(found.double().flatten(), exact.flatten(), rtol=2e-2, atol=2e-2)
    found *= 1.0  # as weights of rows are multiplied in place
    weights = torch.rand_like(exact)
    again = torch.autograd.grad(found, (x, w), weights.float().view(found.shape), retain_graph=True)
    mine = torch.autograd.grad(found, (x, w), weights.float().view(found.shape))
    assert all(torch.equal(a, b) for a, b in zip(again, mine, strict=True))
    for a, b in zip(mine, torch.autograd.grad(exact, wide, weights), strict=True):
        assert (a.double() - b).norm() < 2e-2 * b.norm()


def test_embeddings_sums_and_selections() -> None:
    numbers = pytest.importorskip("cutelite.kernels.rows.operators")
    table, x, row = tensors((9, 20), (3, 30), (1, 5))
    places = torch.tensor([[0, 3, 3], [8, 0, 1]], device=x.device)
    found = embedding(table, places, padding=3)
    dy = torch.randn_like(found)
    mine, theirs = (
        torch.autograd.grad(rows, table, dy)[0] for rows in (found, F.embedding(places, table, padding_idx=3))
    )
    torch.testing.assert_close(mine, theirs)
    with pytest.raises(cl.ArgumentError, match="padding is 9, but must be a whole number to 8"):
        numbers.embedding(table, places, 9)
    compare(numbers.cumsum, (x,), lambda x: x.cumsum(-1))
    half = row.detach().bfloat16().requires_grad_()  # fewer bits to look at
    values, columns = numbers.top_k(half, 2)
    assert columns.tolist() == half.topk(2)[1].tolist()
    (gradient,) = torch.autograd.grad(values.sum(), (half,))
    assert gradient.nonzero()[:, 1].tolist() == sorted(columns[0].tolist())
    assert numbers.sample(half.detach(), torch.zeros(1, device=x.device), 1.0, 1, 1.0).tolist() == [int(half.argmax())]
    torch.library.opcheck(numbers.quantise, (x.detach().repeat(1, 5), 128, None, "silu"))


@pytest.mark.parametrize("mode", [None, 0, 1])
def test_reductions(mode: int | None) -> None:
    numbers = pytest.importorskip("cutelite.kernels.rows.operators")
    (x,) = tensors((3, 40))
    where = () if mode is None else (mode,)
    compare(numbers.reduced, (x, "mean", mode), lambda x: x.mean(*where))
    compare(numbers.reduced, (x, "sum", mode), lambda x: x.sum(*where))
    compare(numbers.reduced, (x, "min", mode), lambda x: x.amin(where))
    tied = torch.ones_like(x).requires_grad_()
    numbers.reduced(tied, "max", mode).sum().backward()
    assert tied.grad.unique().tolist() == pytest.approx([{None: 1 / 120, 0: 1 / 3, 1: 1 / 40}[mode]])


def test_orders() -> None:
    numbers = pytest.importorskip("cutelite.kernels.rows.operators")
    (x,) = tensors((300,))
    compare(numbers.sort, (x, True), lambda x: x.sort(stable=True, descending=True)[0])
    (x,) = tensors((3, 40))
    compare(numbers.argmax, (x,), lambda x: x.max(-1)[0])


def test_rope_append() -> None:
    q, k, v, keys, values = (
        x.detach() for x in tensors((2, 1, 4, 16), (2, 1, 2, 16), (2, 1, 2, 16), (2, 2, 12, 16), (2, 2, 12, 16))
    )
    angles = torch.rand(1, 8, device=q.device)
    length = torch.tensor(3, device=q.device)
    torch.library.opcheck(made.rope_append, (q, k, v, angles.cos(), angles.sin(), keys, values, length))


def test_out_is_refused_where_a_gradient_is_wanted() -> None:
    (x,) = tensors((4, 8))
    out = torch.empty_like(x)
    for function in (softmax, cumsum, rms_norm):
        with pytest.raises(cl.ArgumentError, match="out= has no derivative, and x needs a gradient"):
            function(x, out=out)
        with torch.no_grad():
            function(x, out=out)
    assert (out - rms_norm(x.detach()).y).abs().max() == 0
    with pytest.raises(cl.ArgumentError, match="narrow= has no derivative, and weight needs a gradient"):
        rms_norm(x.detach(), x[0], narrow=Narrow())


def test_numbers_may_be_extents_that_torch_keeps_symbolic() -> None:
    graphs = []

    def gradient(dy: Any) -> Any:
        return embedding_backward(dy, torch.zeros(len(dy), dtype=torch.int64), dy.shape[0] + 1)

    def keep(graph: Any, _: Any) -> Any:
        graphs.append(graph)
        return graph

    compiled = torch.compile(gradient, fullgraph=True, dynamic=True, backend=keep)
    with FakeTensorMode():
        shapes = [tuple(compiled(torch.zeros(rows, 8)).shape) for rows in (3, 5)]
    assert shapes == [(4, 8), (6, 8)]
    assert len(graphs) == 1

    def chosen(x: Any) -> Any:
        return softmax(x[x[:, 0] > 0])  # nobody knows how many rows, not even this time

    (x,) = (each.detach() for each in tensors((6, 8)))
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        assert torch.equal(torch.compile(chosen, fullgraph=True, backend="aot_eager")(x), chosen(x))


def test_sums_in_an_order_that_differs_are_refused_as_torch_does() -> None:
    (rows,) = (x.detach() for x in tensors((1, 131_073)))
    torch.use_deterministic_algorithms(True)
    try:
        for more in {}, {"out": torch.empty_like(rows)}:
            with pytest.raises(RuntimeError, match="an order that differs from run to run"):
                cumsum(rows, **more)
        with pytest.raises(RuntimeError, match="an order that differs from run to run"):
            cumsum(rows.clone().requires_grad_())
        few = rows[:, :8200]  # which a cluster adds up
        torch.testing.assert_close(cumsum(few), few.cumsum(-1), rtol=1e-3, atol=1e-3)
    finally:
        torch.use_deterministic_algorithms(False)


SWISH = made.elementwise("cutelite_tests::swish", lambda x: x / (1.0 + cl.math.exp(-x)))
BOTH = made.elementwise("cutelite_tests::both", lambda x, y: (x * y + 1.0, 2.0 * y), dtypes=("f32", "f16"))
BYTES = made.elementwise("cutelite_tests::bytes", lambda x: x * 2.0, dtypes=("e4m3",))


def test_functions_of_elements_become_operators_with_derivatives() -> None:
    x, y = tensors((3, 33), (3, 33))
    compare(SWISH, (x,), F.silu)
    torch.library.opcheck(BOTH, (x, y))
    half = y.detach().bfloat16().requires_grad_()
    product, doubled = BOTH(x, half)
    assert (product.dtype, doubled.dtype) == (torch.float32, torch.float16)
    for_x, for_half = torch.autograd.grad(product.sum() + 3 * doubled.float().sum(), (x, half))
    torch.testing.assert_close(for_x, half.float().detach())
    torch.testing.assert_close(for_half, (x.detach() + 6).bfloat16())
    assert torch.autograd.grad(BOTH(x, y)[1].float().sum(), (x, y))[0].eq(0).all()
    torch.library.opcheck(BYTES, (x.detach(),))
    with pytest.raises(RuntimeError, match=r"bytes.default has no derivative: detach what it is given"):
        BYTES(x).float().sum().backward()
    out = torch.empty_like(x)
    SWISH.into(x.detach(), out)
    torch.testing.assert_close(out, F.silu(x.detach()))
    torch.testing.assert_close(torch.vmap(SWISH)(x.detach()), out)
    for function, dtypes, said in (max, (), "but must be one of 1 to 4"), (F.silu, ("f9",), "dtypes is 'f9'"):
        with pytest.raises(cl.ArgumentError, match=said):
            made.elementwise("cutelite_tests::wrong", function, dtypes)
    with pytest.raises(cl.ArgumentError, match=r"y is \(3, 8\), but must be \(3, 33\), as x"):
        BOTH(x, y[:, :8])


@pytest.mark.parametrize("shape", [(5, 9), (200, 70), (1, 1)])
def test_counts_and_transposes(shape: tuple[int, int]) -> None:
    numbers = pytest.importorskip("cutelite.kernels.rows.operators")
    (x,) = tensors(shape)
    compare(numbers.transposed, (x, "f32"), lambda x: x.T)
    torch.library.opcheck(numbers.transposed, (x.detach(), "e4m3"))
    torch.library.opcheck(numbers.transposed_blocks, (x.detach(), "e5m2"))
    torch.library.opcheck(numbers.histogram, (x.detach(), 8, -1.0, 1.0))
    half = transposed(x, "f16")
    (gradient,) = torch.autograd.grad(half.sum(), x)
    assert half.dtype == torch.float16 and gradient.eq(1).all()
    q, scale = transposed(x.detach(), Narrow(block=128))
    wide = q.float() * scale.repeat_interleave(128, 1)[:, : shape[0]]
    torch.testing.assert_close(wide, x.detach().T, rtol=0.07, atol=0.01)
    for to in "e4m3", Narrow(block=128):
        with pytest.raises(cl.ArgumentError, match="has no derivative, and x needs a gradient"):
            transposed(x, to)
    with pytest.raises(cl.ArgumentError, match="histogram has no derivative, and x needs a gradient"):
        histogram(x, 4)
    torch.compiler.reset()
    compiled = torch.compile(lambda x: (histogram(x, 8), transposed(x, "bf16")), fullgraph=True, backend="aot_eager")
    for mine, exact in zip(compiled(x.detach()), (histogram(x.detach(), 8), x.detach().bfloat16().T), strict=True):
        assert torch.equal(mine, exact)


FUNCTIONS: dict[str, tuple[Any, Any]] = {
    "softmax": (softmax, lambda x, w: F.softmax(x, -1)),
    "log_softmax": (log_softmax, lambda x, w: F.log_softmax(x, -1)),
    "rms_norm": (lambda x, w: rms_norm(x, w).y, lambda x, w: F.rms_norm(x, (16,), w, 1e-6)),
    "residual": (lambda x, w: rms_norm(x, w, residual=2 * x).total, lambda x, w: 3 * x),
    "layer_norm": (lambda x, w: layer_norm(x, w).y, lambda x, w: F.layer_norm(x, (16,), w)),
    "activated": (lambda x, w: activated(x, "gelu"), lambda x, w: F.gelu(x)),
    "gated": (lambda x, w: gated(x, x), lambda x, w: F.silu(x) * x),
    "cross_entropy": (lambda x, w: cross_entropy(x, x.argmax(1))[0], lambda x, w: -F.log_softmax(x, -1).amax(1)),
    "embedding": (lambda x, w: embedding(x, torch.tensor([1, 1], device=x.device)), lambda x, w: x[[1, 1]]),
    "top_k": (lambda x, w: top_k(x, 2)[0], lambda x, w: x.topk(2)[0]),
    "argmax": (lambda x, w: argmax(x)[0], lambda x, w: x.amax(1)),
    "sort": (lambda x, w: sort(x[0])[0], lambda x, w: x[0].sort()[0]),
    "values": (lambda x, w: sort(x[0], x[1])[1], lambda x, w: x[1][x[0].sort()[1]]),
    "cumsum": (lambda x, w: cumsum(x), lambda x, w: x.cumsum(1)),
    "reduced": (lambda x, w: reduced(x, "mean", 1), lambda x, w: x.mean(1)),
    "transposed": (lambda x, w: transposed(x, "f32"), lambda x, w: x.T),
    "rope": (lambda x, w: rope(x[:, None], x[:, None], x[:, :8].detach(), x[:, 8:].detach())[1], None),
    "rope of queries": (lambda x, w: rope(x[:, None], None, x[:, :8].detach(), x[:, 8:].detach())[0], None),
}


def test_gradients_samples_and_numbers_of_8_bits_are_operators_where_they_are_traced() -> None:
    """What torch has only fake tensors of, as where its compiler traces, becomes fake tensors of the right dtypes."""
    f32, bf16 = torch.float32, torch.bfloat16
    with FakeTensorMode():
        x, y, lse, q, table = (torch.zeros(*shape) for shape in ((3, 16), (3, 16), (3,), (1, 3, 2, 16), (3, 8)))
        cache, places, length = torch.zeros(1, 2, 9, 16), torch.zeros(3, dtype=torch.int64), torch.zeros(1).long()
        made: list[tuple[Any, Any]] = [
            (softmax_backward(x, y), [(x.shape, f32)]),
            (norm_backward(x, Normed(y, y, None, lse), y[0], bias=True), [(x.shape, f32), ((16,), f32), ((16,), f32)]),
            (norm_backward(x, Normed(y, y, lse, lse), add=y), [(x.shape, f32)]),
            (cross_entropy_backward(lse, x, places, lse, part=True), [(x.shape, f32)]),
            (activated_backward(x, y, "relu"), [(x.shape, f32)]),
            (gated_backward(x, x, y), [(x.shape, f32)] * 2),
            (embedding_backward(x, places, 7), [((7, 16), f32)]),
            (sample(x, lse, top_k=3), [((3,), torch.int64)]),
            (quantise(x, Narrow(cl.e5m2), up=y), [(x.shape, torch.float8_e5m2), ((3, 1), f32)]),
            (rope_tables(places, table[0], "bf16"), [((3, 16), bf16)] * 2),
            (rope_append(q, q, q, table, table, cache, cache, length), [(q.shape, f32)]),
        ]
    for results, wanted in made:
        found = results if isinstance(results, tuple) else (results,)
        assert [(tuple(x.shape), x.dtype) for x in found if x is not None] == [(tuple(s), d) for s, d in wanted]


def test_tensors_without_data_are_refused_beside_others() -> None:
    with pytest.raises(cl.ArgumentError, match="softmax_backward: a tensor is on 'meta'"):
        softmax_backward(torch.zeros(3, 16, device="meta"), torch.zeros(3, 16))
    with pytest.raises(cl.ArgumentError, match="sort: a tensor is on 'meta'"):
        sort(torch.zeros(8, device="meta"), torch.zeros(8))
    with pytest.raises(cl.ArgumentError, match="sort: a tensor is on 'meta'"):
        sort(torch.zeros(8), torch.zeros(8, device="meta"))


def called(function: Any, x: Any, w: Any) -> Any:
    return function(x) if function in (softmax, log_softmax) else function(x, w)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_derivatives_and_do_not_break_graphs(name: str) -> None:
    """What needs a gradient gets one, instead of a result that is silently apart from the graph."""
    function, reference = FUNCTIONS[name]
    x, w = tensors((3, 16), (16,))
    found = called(function, x, w)
    assert found.requires_grad
    if reference is not None:
        want = reference(x, w)
        given = torch.randn_like(want)
        mine, exact = (torch.autograd.grad(y, x, given)[0] for y in (found, want))
        torch.testing.assert_close(mine, exact, rtol=1e-4, atol=1e-5)
    torch.compiler.reset()  # the same code is compiled for each function
    compiled = torch.compile(lambda x: called(function, x, w), fullgraph=True, backend="eager")
    torch.testing.assert_close(compiled(x.detach()), found.detach())
    with torch.no_grad():
        assert not called(function, x, w).requires_grad
