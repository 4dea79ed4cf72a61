"""Where the tests of Blackwell's instructions run: in the simulator, and on a GPU that has tensor memory."""

from collections.abc import Iterator

import pytest

from tests.conftest import capability, on_gpus_of

WITH_TENSOR_MEMORY = (10, 11)
"""Major numbers of compute capabilities."""


def has_tensor_memory() -> bool:
    there = capability()
    return there is not None and there[0] in WITH_TENSOR_MEMORY


@pytest.fixture(autouse=True)
def on_blackwell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile for sm_100a, unless there is a GPU that has its own."""
    if not has_tensor_memory():
        monkeypatch.setenv("CUTELITE_ARCH", "sm_100a")


@pytest.fixture(params=["sim", pytest.param("gpu", marks=pytest.mark.gpu)])
def on_cards(request: pytest.FixtureRequest) -> Iterator[str]:
    """As `everywhere`, but on GPUs with tensor memory alone."""
    yield from on_gpus_of(request, WITH_TENSOR_MEMORY)
