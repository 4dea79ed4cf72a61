"""What tests of graphs of torch share."""

from collections.abc import Iterator

import pytest


@pytest.fixture
def graphs_of_host(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Graphs are made anew; host tensors are simulated, beside a GPU too."""
    torch = pytest.importorskip("torch")
    monkeypatch.setenv("CUTELITE_SIM", "1")
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()
