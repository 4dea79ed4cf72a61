"""What tests of graphs of torch share."""

from collections.abc import Iterator

import pytest


@pytest.fixture
def graphs() -> Iterator[None]:
    """Graphs are made anew, and gradients added up in one order on a GPU too, so that equal calls give equal bits."""
    torch = pytest.importorskip("torch")
    torch._dynamo.reset()
    torch.use_deterministic_algorithms(torch.cuda.is_available(), warn_only=True)  # of cuBLAS it would refuse products
    yield
    torch.use_deterministic_algorithms(False)
    torch._dynamo.reset()
