"""The GEMM in torch's hands: gradients, torch.compile, fake tensors; and launches that torch.compile comes upon.

On a GPU where there is one; else on tensors in host memory, which are simulated.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import cutelite as cl
from cutelite import Tensor, f32

pytest.importorskip("torch")

import torch

from cutelite.interop.torch import custom_op
from cutelite.kernels.gemm import fp8_block, gemm, operators

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
N = cl.dims("N")


@cl.kernel(block=128)
def add(a: Tensor[f32, (N,)], b: Tensor[f32, (N,)], c: Tensor[f32, (N,)]) -> None:
    i = cl.block_idx.x * 128 + cl.thread_idx.x
    if i < N:
        c[i] = a[i] + b[i]


@custom_op("cutelite_tests::matmul", mutates_args=())
def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return gemm(a, b)


@custom_op("cutelite_tests::tuned_add", mutates_args=())
def tuned_add(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    c = torch.empty_like(a)
    launched(a, b, c)
    return c


@cl.autotune([cl.Config(blocks=1), cl.Config(blocks=2)])
def launched(config: Any, a: Any, b: Any, c: Any) -> None:
    add[cl.ceil_div(a.numel(), 128), 128](a, b, c)


@custom_op("cutelite_tests::blocks", mutates_args=())
def blocks(a: torch.Tensor, b: torch.Tensor, scale_a: torch.Tensor, scale_b: torch.Tensor) -> torch.Tensor:
    return fp8_block.gemm(a, b, scale_a, scale_b)


@pytest.fixture(autouse=True)
def _nothing_is_compiled() -> None:
    torch._dynamo.reset()


def random(*shape: int, dtype: Any = torch.bfloat16, grad: bool = False) -> Any:
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape) + shape[0]))
    return made.to(DEVICE, dtype).requires_grad_(grad)


def near(ours: Any, theirs: Any, most: float = 8e-3) -> bool:
    ours, theirs = ours.detach().double(), theirs.detach().double()
    return float((ours - theirs).norm()) <= most * float(theirs.norm())


def test_opcheck_finds_nothing_to_mend() -> None:
    a, b, c = random(64, 72), random(72, 80), random(64, 80)
    assert operators.gemm._opoverload is torch.ops.cutelite.gemm.default
    torch.library.opcheck(torch.ops.cutelite.gemm.default, (a, b))
    derived = (*(x.requires_grad_() for x in (a, b, c)), random(80, dtype=torch.float32, grad=True))
    torch.library.opcheck(torch.ops.cutelite.gemm.default, (*derived, None, None, 0.5, 2.0, "relu", None))
    torch.library.opcheck(torch.ops.cutelite.gemm.out, (a.detach(), b.detach(), torch.empty_like(c)))
    torch.library.opcheck(matmul, (a.detach(), b.detach()))
    torch.library.opcheck(tuned_add, (random(300, dtype=torch.float32), random(300, dtype=torch.float32)))


SHAPES = [
    ((72, 64), (64, 80)), ((2, 40, 64), (64, 72)), ((2, 40, 64), (2, 64, 72)), ((40, 64), (2, 64, 72)),
    ((2, 1, 40, 64), (3, 64, 72)), ((2, 40, 0), (0, 72)), ((40, 64), (64, 0)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_derivatives(shapes: tuple[tuple[int, ...], ...]) -> None:
    a, b = (random(*shape, grad=True) for shape in shapes)
    c = random(*torch.broadcast_shapes(shapes[0][:-2], shapes[1][:-2]), shapes[0][-2], shapes[1][-1], grad=True)
    bias = random(shapes[1][-1], dtype=torch.float32, grad=True)
    given, exact = (a, b, c, bias), [x.detach().double().requires_grad_() for x in (a, b, c, bias)]
    ours = gemm(a, b, c=c, bias=bias, alpha=0.5, beta=2.0, activation="relu")
    theirs = torch.relu(0.5 * exact[0] @ exact[1] + 2.0 * exact[2] + exact[3])
    assert near(ours, theirs)
    gradients = torch.autograd.grad(ours.float().square().sum(), given)
    expected = torch.autograd.grad(theirs.square().sum(), exact)
    assert [x.dtype for x in gradients] == [x.dtype for x in given]
    assert all(near(x, y) for x, y in zip(gradients, expected, strict=True))


def greatest(piece: cl.Piece, bias: Any, most: Any) -> None:
    x = piece.sums + piece.by_column(bias)
    piece.put_rows(most, piece.of_rows(abs(x), "max"))
    piece.result(x)


def test_parameters_in_functions_are_numbers_or_refused() -> None:
    """Their class is not torch's own, and their operators called those of a kernel's numbers, and these them again."""
    a = torch.eye(8, dtype=torch.bfloat16, device=DEVICE)
    by = torch.nn.Parameter(torch.tensor(3.0, device=DEVICE), requires_grad=False)
    for function in (lambda x: x * by, lambda x: by * x, lambda x: torch.mul(x, by), lambda x: x / (1 / by)):
        assert gemm(a, a, activation=function).equal(3 * a)
    with pytest.raises(cl.CompileError, match="a kernel cannot compute with a whole tensor"):
        gemm(a, a, activation=lambda x: x * torch.nn.Parameter(torch.ones(2)))
    needy = torch.nn.Parameter(torch.tensor(3.0, device=DEVICE))
    for function in (lambda x: x * needy, lambda x: needy + x, lambda x: torch.maximum(x, needy)):
        with pytest.raises(ValueError, match="a function captured a tensor that needs a gradient, and would get none"):
            gemm(a, a, activation=function)
    with torch.no_grad():
        assert gemm(a, a, activation=lambda x: needy * x).equal(3 * a)


def test_relu_keeps_nan_and_where_it_is_flat_no_gradient_is_left() -> None:
    a, b = (torch.eye(8, dtype=torch.bfloat16, device=DEVICE) for _ in range(2))
    a[0, 0], a[1, 1], a[2, 2] = torch.nan, torch.inf, -torch.inf
    b[3:, 3:] = -b[3:, 3:]
    ours = gemm(a.requires_grad_(), b, activation="relu")
    given = a.detach().requires_grad_()
    theirs = torch.relu(given @ b)
    assert torch.equal(ours.isnan(), theirs.isnan()) and ours.nan_to_num().equal(theirs.nan_to_num())
    grad = torch.full_like(ours, torch.inf)
    grad[4:] = torch.nan
    masked = torch.where(theirs <= 0, 0, grad)
    found, wanted = torch.autograd.grad(ours, a, grad)[0], masked @ b.T
    assert torch.equal(found.isnan(), wanted.isnan()) and found.nan_to_num().equal(wanted.nan_to_num())


def test_a_function_that_finishes_the_sums_as_an_operator() -> None:
    operator = operators.finishing("cutelite_tests::greatest", greatest)
    a, b, bias = random(40, 64), random(64, 72), random(72, dtype=torch.float32)
    right = a.double() @ b.double() + bias.double()

    @torch.compile(backend="aot_eager", fullgraph=True)  # type: ignore[untyped-decorator]
    def program(a: Any, b: Any) -> Any:
        out, most = a.new_empty(40, 72), a.new_empty(40, 2, dtype=torch.float32)
        torch.ops.cutelite_tests.greatest(a, b, out, [bias], [most])
        return out * 2, most.amax(1)

    out, most = program(a, b)
    assert near(out, 2 * right) and near(most, right.abs().amax(1), 1e-4)
    written = [random(40, 2, dtype=torch.float32)]
    torch.library.opcheck(operator._opoverload, (a, b, random(40, 72), [bias], written))
    out, right = random(40, 32), (right - bias)[:, :32] * (right - bias)[:, 32:64]
    halves = operators.finishing("cutelite_tests::halves", lambda p: p.result(p.sums * p.others), halves=True)
    halves(a, b[:, :64], out, [], [])
    assert near(out, right)


def dequantised(chunk: cl.Chunk, scales: Any) -> Any:
    return chunk.values * chunk.by_row(scales)


def test_a_function_that_makes_a_as_an_operator() -> None:
    operator = operators.preparing("cutelite_tests::dequantised", dequantised)
    codes, b = torch.randint(-127, 128, (40, 64), dtype=torch.int8, device=DEVICE), random(64, 72)
    scales, bias = (random(size, dtype=torch.float32) for size in (40, 72))
    right = (codes.double() * scales[:, None].double()).bfloat16().double() @ b.double() + bias.double()

    @torch.compile(backend="aot_eager", fullgraph=True)  # type: ignore[untyped-decorator]
    def program(codes: Any, b: Any) -> Any:
        return torch.ops.cutelite_tests.dequantised(codes, b, [scales], bias=bias) * 2

    assert near(program(codes, b), 2 * right)
    torch.library.opcheck(operator._opoverload, (codes, b, [scales]))
    with pytest.raises(ValueError, match="finish= and prepare= have no derivative"):
        gemm(random(40, 64, grad=True), b, prepare=cl.Prepare(lambda chunk: chunk.values))


def twice(x: Any, held: Any = (2.0,)) -> Any:
    return x * held[0]


def test_gradients_that_there_are_none_of() -> None:
    a, b = random(64, 64, grad=True), random(64, 64)
    for activation in None, twice:
        with pytest.raises(ValueError, match="out= has no derivative"):
            gemm(a, b, torch.empty_like(b), activation=activation)
    with pytest.raises(cl.ArgumentError, match="activation= is a function that holds what may change"):
        gemm(a, b, activation=partial(twice, held=[2.0]))
    one = torch.ones(1, device=DEVICE)
    for activation in None, twice:
        with pytest.raises(ValueError, match="no derivative through scales"):
            gemm(a, b, scale_a=one, scale_b=one, activation=activation)
    with torch.no_grad():
        assert not gemm(a, b, activation=lambda x: x * 2.0).requires_grad


def test_compiled_whole_with_derivatives() -> None:
    a, b, out = random(64, 64, grad=True), random(64, 72), torch.empty(64, 72, device=DEVICE, dtype=torch.bfloat16)

    @torch.compile(backend="aot_eager", fullgraph=True)  # type: ignore[untyped-decorator]
    def program(a: Any, b: Any, out: Any) -> Any:
        with torch.no_grad():
            gemm(a, b, out, alpha=2.0)
        return gemm(a * 2, b, activation="relu").float().sum() + out.float().sum()

    loss = program(a, b, out)
    exact = a.detach().double().requires_grad_()
    wanted = torch.relu(exact * 2 @ b.double()).sum()
    assert near(loss - out.float().sum(), wanted, 2e-2) and near(out, 2 * exact.detach() @ b.double())
    assert near(torch.autograd.grad(loss, a)[0], torch.autograd.grad(wanted, exact)[0])


def test_a_product_of_rows_that_a_mask_chose_is_compiled_whole() -> None:
    a, b = random(24, 16, grad=True), random(16, 32, grad=True)

    def program(a: Any, b: Any) -> Any:
        return gemm(a[a[:, 0] > 0], b).float().square().sum()  # nobody knows how many rows there are

    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(program, fullgraph=True, backend="aot_eager")
        found, wanted = (torch.autograd.grad(each(a, b), (a, b)) for each in (compiled, program))
    assert all(map(torch.equal, found, wanted))


def test_shapes_are_known_of_fake_tensors() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        a, b = (torch.empty(64, 64, device=DEVICE, dtype=torch.bfloat16) for _ in range(2))
        found = gemm(a, b), matmul(a, b), gemm(a.expand(3, 64, 64), b)
        assert [tuple(x.shape) for x in found] == [(64, 64), (64, 64), (3, 64, 64)]
        narrow, one = a.to(torch.float8_e4m3fn), torch.empty(64, 1, device=DEVICE)
        assert blocks(narrow, narrow, one, one[:1]).dtype == gemm(narrow, narrow).dtype == torch.bfloat16
    meta = torch.empty(64, 64, device="meta", dtype=torch.float16)
    assert (matmul(meta, meta).dtype, gemm(meta, meta).device.type) == (torch.float16, "meta")


def test_a_launch_breaks_the_graph_and_nothing_of_it_is_traced() -> None:
    graphs: list[Any] = []

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    def program(x: Any, y: Any) -> Any:
        z = torch.empty_like(x)
        x = x.sin()
        add[cl.ceil_div(x.numel(), 128), 128](x, y, z)
        return z.cos()

    x, y = (random(n, dtype=torch.float32)[:1000] for n in (1000, 1001))
    compiled = torch.compile(program, backend=backend)
    for _ in range(2):
        torch.testing.assert_close(compiled(x, y), (x.sin() + y).cos())
    names = {getattr(n.target, "__name__", n.target) for g in graphs for n in g.graph.nodes if n.op.startswith("call")}
    assert names == {"empty_like", "sin", "cos"}
    with pytest.raises(torch._dynamo.exc.Unsupported, match="launches a kernel"):
        torch.compile(program, backend="eager", fullgraph=True)(x, y)


def test_a_launch_that_is_kept_breaks_the_graph() -> None:
    """While Python launches, ``kernel[...]`` is a `HeldLaunch`, a class of ours with a call that torch could trace."""
    held, graphs = add[8, 128], list[Any]()

    def backend(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    def program(x: Any, y: Any) -> Any:
        z = torch.empty_like(x)
        held(x.sin(), y, c=z)
        return z.cos()

    x, y = random(1000, dtype=torch.float32), random(1000, dtype=torch.float32)
    torch.testing.assert_close(torch.compile(program, backend=backend)(x, y), (x.sin() + y).cos())
    names = {getattr(n.target, "__name__", n.target) for g in graphs for n in g.graph.nodes if n.op.startswith("call")}
    assert names == {"empty_like", "sin", "cos"}


def test_an_activation_that_no_graph_holds_breaks_it() -> None:
    """And none of what lies beneath is compiled: a GEMM is some 40 functions, a simulation many more."""
    a, b, by = random(64, 64), random(64, 64), {"factor": 0.5}
    frames = torch._dynamo.utils.counters["frames"]
    before = frames["total"]
    program = torch.compile(lambda a, b: gemm(a * 2, b, activation=lambda x: x * by["factor"]) + 1, backend="eager")
    assert near(program(a, b), a.double() @ b.double() + 1)
    assert frames["total"] - before < 9  # the program, `gemm`, its wrappers, and what comes after breaks in each


def test_functions_without_operators_break_the_graph_and_nothing_of_them_is_compiled() -> None:
    from cutelite.kernels.gemm import grouped
    from cutelite.kernels.moe import route

    def program(x: Any, b: Any, ends: Any) -> Any:
        weights, index = route(x * 2, 2)
        return grouped.gemm(x + 1, b, ends).sum() + weights.sum() + index.sum()

    x, b, ends = random(16, 64), random(2, 32, 64), torch.tensor([3, 16], dtype=torch.int32, device=DEVICE)
    frames = torch._dynamo.utils.counters["frames"]
    before = frames["total"]
    torch.testing.assert_close(torch.compile(program, backend="eager")(x, b, ends), program(x, b, ends))
    assert frames["total"] - before < 5  # the program, and what comes after each break


@pytest.mark.parametrize("shape", [(5, 7, 9), (1, 1, 1), (3, 13, 64)], ids=str)
def test_any_size(shape: tuple[int, int, int]) -> None:
    """Operands that TMA cannot read are copied, and results whose rows it would write beyond come by way of others."""
    m, n, k = shape
    a, b = random(m, k), random(n, k)
    torch.testing.assert_close(gemm(a, b.T).double(), a.double() @ b.double().T, rtol=1e-2, atol=1e-2)


@pytest.mark.gpu
def test_a_call_with_a_captured_number_may_be_captured_in_a_graph() -> None:
    """The GPU is asked for a number once, until it changes in place; a planned call sees that too."""
    a, b = torch.randn(2, 64, 64, device="cuda").bfloat16()
    by = torch.tensor(2.0, device="cuda")
    for function in (lambda x: x * by), partial(lambda x, by: x * by, by=by):
        by.fill_(2.0)
        right = gemm(a, b, activation=function)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = gemm(a, b, activation=function)
        graph.replay()
        assert torch.equal(found, right)
        for value in 4.0, 0.5:
            by.fill_(value)
            for _ in range(8):
                assert torch.equal(gemm(a, b, activation=function), gemm(a, b, alpha=value))
