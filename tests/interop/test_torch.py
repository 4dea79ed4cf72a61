"""Kernels as torch's operators: under torch.compile without a break, with derivatives, and with shapes alone."""

from __future__ import annotations

import importlib
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import cutelite as cl
from cutelite import Tensor, f32

pytest.importorskip("torch")

import torch

from cutelite.interop.torch import custom_op, out_form
from cutelite.interop.torch_transforms import autocast

N = cl.dims("N")
EXAMPLES = str(Path(__file__).resolve().parents[2] / "examples" / "interop")


@cl.kernel(block=128)
def multiply_add(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)], by: f32, c: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * cl.block_dim.x + cl.thread_idx.x
    if i < N:
        c[i] = a[i] * b[i] + by


@custom_op("cutelite_tests::muladd", mutates_args=())
def muladd(a: torch.Tensor, b: torch.Tensor, by: float) -> torch.Tensor:
    c = torch.empty_like(a)
    multiply_add[cl.ceil_div(a.numel(), 128), 128](a, b, by, c)
    return c


@custom_op("cutelite_tests::muladd_into", mutates_args={"c"})
def muladd_into(a: torch.Tensor, b: torch.Tensor, by: float, c: torch.Tensor) -> None:
    multiply_add[cl.ceil_div(a.numel(), 128), 128](a, b, by, c)


def remember(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    ctx.save_for_backward(*inputs[:2])


def backward(ctx: Any, grad: Any) -> tuple[Any, Any, None]:
    a, b = ctx.saved_tensors
    grad = grad.contiguous()  # of a sum it has strides of 0
    return muladd(grad, b, 0.0), muladd(grad, a, 0.0), None


muladd.register_autograd(backward, setup_context=remember)


def squared(a: torch.Tensor, /, b: torch.Tensor | None = None, *, by: float = 0.0, out: Any = None) -> torch.Tensor:
    found = torch.empty_like(a) if out is None else out
    multiply_add[cl.ceil_div(a.numel(), 128), 128](a, a if b is None else b, by, found)
    return found


@custom_op("cutelite_tests::squared", mutates_args=(), results="a")
def squared_op(a: torch.Tensor, b: torch.Tensor | None = None, *, by: float = 0.0) -> torch.Tensor:
    return squared(a, b, by=by)


def remember_squared(ctx: Any, inputs: tuple[Any, ...], keyword_only_inputs: dict[str, Any], output: Any) -> None:
    assert keyword_only_inputs == {"by": 2.0}
    ctx.save_for_backward(inputs[0])


squared_op.register_autograd(lambda ctx, grad: (2 * grad * ctx.saved_tensors[0], None), setup_context=remember_squared)
autocast(squared_op, "a")
out_form(squared_op, squared)


def test_an_operator_with_arguments_by_keyword_alone() -> None:
    """In every way in which torch calls it."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    a = torch.arange(-150.0, 150.0, device=device).requires_grad_()
    both = torch.stack([a.detach(), -a.detach()])
    assert squared_op(a, by=2.0).equal(a * a + 2)
    assert squared_op(a.detach(), b=both[1]).equal(a * -a)
    assert torch.vmap(lambda x: squared_op(x, by=2.0))(both).equal(both * both + 2)
    for gradient in (
        torch.autograd.grad(squared_op(a, by=2.0).sum(), a)[0],
        torch.func.grad(lambda x: squared_op(x, by=2.0).sum())(a.detach()),
        torch.vmap(torch.func.grad(lambda x: squared_op(x, by=2.0).sum()))(both)[0],
    ):
        assert gradient.equal(2 * a)
    compiled = torch.compile(lambda x: squared_op(x, by=2.0) + 1, fullgraph=True, dynamic=True, backend="aot_eager")
    assert compiled(a).equal(a * a + 3)
    out = torch.empty_like(both[0])
    torch.ops.cutelite_tests.squared.out(a.detach(), out, by=4.0)
    assert out.equal(a * a + 4)
    torch.library.opcheck(squared_op, (a,), {"by": 2.0})


def test_shapes_are_known_without_a_gpu() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        a = torch.empty(1000, device="cuda") if torch.cuda.is_available() else torch.empty(1000)
        c = muladd(a, a, 1.0)
        assert (c.shape, c.dtype, c.device) == (a.shape, a.dtype, a.device)
    meta = torch.empty(77, device="meta")
    assert muladd(meta, meta, 1.0).shape == (77,)


@pytest.fixture
def vectors() -> tuple[Any, Any]:
    torch.manual_seed(0)
    return tuple(torch.randn(1000, device="cuda", requires_grad=True) for _ in range(2))


@pytest.mark.gpu
def test_torch_finds_nothing_to_mend(vectors: tuple[Any, Any]) -> None:
    torch.library.opcheck(muladd, (*vectors, 0.5))
    a, b = (v.detach() for v in vectors)
    torch.library.opcheck(muladd_into, (a, b, 0.5, torch.empty_like(a)))


@pytest.mark.gpu
def test_compiled_whole(vectors: tuple[Any, Any]) -> None:
    a, b = (v.detach() for v in vectors)

    @torch.compile(fullgraph=True)  # type: ignore[untyped-decorator]
    def program(a: Any, b: Any) -> Any:
        c = torch.empty_like(a)
        muladd_into(a.sin(), b, 2.0, c)
        return muladd(c, b * 2, 0.5).cos()

    expected = ((a.sin() * b + 2) * (b * 2) + 0.5).cos()
    torch.testing.assert_close(program(a, b), expected)


@pytest.mark.gpu
def test_one_compile_for_sizes_that_vary() -> None:
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounter()

    @torch.compile(fullgraph=True, dynamic=True, backend=counter)  # type: ignore[untyped-decorator]
    def program(a: Any) -> Any:
        return muladd(a, a, 1.0) + 1

    for n in (1000, 1500, 77, 4096):
        a = torch.randn(n, device="cuda")
        torch.testing.assert_close(program(a), a * a + 2)
    assert counter.frame_count == 1


@pytest.mark.gpu
def test_derivatives(vectors: tuple[Any, Any]) -> None:
    a, b = vectors
    expected = torch.autograd.grad((a * b + 0.5).square().sum(), (a, b))
    torch.testing.assert_close(torch.autograd.grad(muladd(a, b, 0.5).square().sum(), (a, b)), expected)
    compiled = torch.compile(lambda a, b: muladd(a, b, 0.5).square().sum(), fullgraph=True)
    torch.testing.assert_close(torch.autograd.grad(compiled(a, b), (a, b)), expected)


@pytest.mark.parametrize(("kind", "needs"), [("Tensor", (True, False)), ("Tensor[]", ([True], False))])
def test_two_threads_may_compute_one_derivative(kind: str, needs: tuple[Any, ...]) -> None:
    def added(x: Any, by: float) -> torch.Tensor:
        return sum(x) + by

    def backward(ctx: Any, grad: Any) -> tuple[Any, None]:
        if threading.current_thread() is threading.main_thread():
            others.append(pool.submit(gradient).result())
        assert ctx.needs_input_grad == needs
        return grad[None] if kind == "Tensor" else [grad], None

    def gradient() -> Any:
        return torch.autograd.grad(made, x, torch.ones(3), retain_graph=True)[0]

    operator = custom_op(
        f"cutelite_tests::added{len(kind)}", added, mutates_args=(), schema=f"({kind} x, float by) -> Tensor"
    )
    operator.register_autograd(backward)
    x, others = torch.ones(3, requires_grad=True), list[Any]()
    made = operator(x[None] if kind == "Tensor" else [x], 2.0)
    with ThreadPoolExecutor(1) as pool:
        for _ in range(2):
            assert gradient().equal(torch.ones(3)) and others.pop().equal(torch.ones(3))


@pytest.mark.parametrize(
    ("m", "n"), [(3, 77), pytest.param(1, 1, marks=pytest.mark.gpu), pytest.param(4096, 1024, marks=pytest.mark.gpu)]
)
def test_the_example(monkeypatch: pytest.MonkeyPatch, m: int, n: int) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    importlib.import_module("torch_operator").main(m, n)


@pytest.mark.gpu
def test_in_the_stream_that_is_current(vectors: tuple[Any, Any]) -> None:
    a, b = (v.detach() for v in vectors)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        torch.cuda._sleep(20_000_000)  # 10 ms and more
        x = torch.ones_like(a)
        y = muladd(x, x, 1.0)
    side.synchronize()
    assert y.eq(2).all()
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured):
        z = muladd(a, b, 1.0)
    a.fill_(3)
    captured.replay()
    torch.testing.assert_close(z, 3 * b + 1)


TABLE = torch.arange(4)


@pytest.mark.parametrize(
    "change", ["t.fill_(1)", "t += 1", "t[0] = 1", "torch.add(t, 1, out=t)", "torch.nn.init.zeros_(t)"]
)
def test_tensors_are_constants_in_kernels(change: str) -> None:
    space: dict[str, Any] = {"TABLE": TABLE, "torch": torch}
    exec(f"def kernel() -> None:\n    t = TABLE\n    {change}\n", space)
    with pytest.raises(cl.CompileError, match="would change a tensor of torch, which is constant in a kernel"):
        cl.kernel(block=1)(space["kernel"]).compile()
    assert TABLE.tolist() == [0, 1, 2, 3]
