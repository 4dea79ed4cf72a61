"""The places in which the small kernels of these tests run."""

import pytest

from tests.ops import kernels
from tests.places import PLACES


@pytest.fixture(params=PLACES)
def run(request: pytest.FixtureRequest) -> kernels.Runner:
    """Executes a body for every thread, on arrays in place (see `kernels.run`)."""
    return kernels.run if request.param == "sim" else kernels.run_gpu
