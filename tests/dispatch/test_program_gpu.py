"""Programs on a GPU. (In `test_program.py` the driver is one made of Python.)"""

from __future__ import annotations

from typing import Any

import pytest

import cutelite as cl
from tests.dispatch import kernels
from tests.dispatch.test_program import _step as launches
from tests.dispatch.test_program import doubled, layers

pytestmark = pytest.mark.sm(90)


def test_on_a_gpu_and_in_a_graph() -> None:
    """Results of plans with workspaces that share bytes, a tensor map and views; replayed, and on another stream."""
    torch: Any = pytest.importorskip("torch")

    @cl.program
    def step(x: Any, tile: Any, copy: Any, out: Any) -> None:
        kernels.copied[1, 128](tile, copy)
        launches(x[64:], out[64:], 3.0, 5)
        doubled[1](x[:64], out[:64])

    def arrays(scale: float) -> list[Any]:
        x = torch.arange(500, device="cuda", dtype=torch.float32) * scale
        tile = (torch.arange(16 * 64, device="cuda") * scale).bfloat16().reshape(16, 64)
        return [x, tile, torch.zeros_like(tile), torch.zeros_like(x)]

    def check(x: Any, tile: Any, copy: Any, out: Any) -> None:
        torch.cuda.synchronize()
        torch.testing.assert_close(copy, tile)
        torch.testing.assert_close(out, torch.cat([2 * x[:64], 32 * x[64:] + 3]))

    for scale in (1.0, 2.0, 3.0):
        given = arrays(scale)
        step(*given)
        check(*given)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        given = arrays(4.0)
        for _ in range(3):
            step(*given)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=side):
            step(*given)
    given[0].mul_(2)
    given[1].mul_(2)
    torch.cuda.synchronize()
    graph.replay()
    check(*given)


def test_arrays_within_arguments_follow_their_calls() -> None:
    torch: Any = pytest.importorskip("torch")

    def array() -> Any:
        return torch.ones(64, device="cuda")

    out, more, rounds = torch.zeros(64, device="cuda"), array(), 0
    for by in (1.0, 5.0, 1.0):
        for _ in range(3):
            held, (first, second, third) = layers(array, by)
            first += by
            second *= 7
            held.run(out, more)
            rounds += 1
            assert (out[0].item(), third[0].item(), more[0].item()) == (9, 2, 2**rounds)
            assert first[0].item() == 1 + by
