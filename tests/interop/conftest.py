"""What tests of graphs of torch share."""

from collections.abc import Iterator

import pytest


@pytest.fixture
def graphs_of_host() -> Iterator[None]:
    """Graphs are made anew, of host tensors: for machines without a GPU, beside which kernels refuse these."""
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("host tensors are simulated where there is no GPU")
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()
