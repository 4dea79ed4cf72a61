"""Where the tests of Blackwell's instructions run: in the simulator, and on a GPU that has tensor memory."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cutelite.dispatch.divert import diverted
from tests.conftest import capability
from tests.places import through_gpu


def has_tensor_memory() -> bool:
    there = capability()
    return there is not None and there[0] in (10, 11)


@pytest.fixture(autouse=True)
def on_blackwell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compile for sm_100a, unless there is a GPU that has its own."""
    if not has_tensor_memory():
        monkeypatch.setenv("CUTELITE_ARCH", "sm_100a")


@pytest.fixture(params=["sim", pytest.param("gpu", marks=pytest.mark.gpu)])
def on_cards(request: pytest.FixtureRequest) -> Iterator[str]:
    """As `everywhere`, but on GPUs with tensor memory alone."""
    if request.param == "gpu" and not has_tensor_memory():
        pytest.skip("needs a GPU with tensor memory")
    with diverted(through_gpu if request.param == "gpu" else None):
        yield request.param
