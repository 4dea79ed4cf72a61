"""Where the small kernels of these tests run."""

from __future__ import annotations

import pytest

from tests.ops import kernels


@pytest.fixture(params=["sim", pytest.param("gpu", marks=pytest.mark.sm(90))])
def run(request: pytest.FixtureRequest) -> kernels.Runner:
    """Executes a body for every thread, on arrays in place (see `kernels.run`)."""
    return kernels.run if request.param == "sim" else kernels.run_gpu
