"""What kernels of tests have in common."""

from typing import Any

from cutelite.lib import pipelines


def barriers(*arrivals: int) -> Any:
    """mbarriers, each for so many arrivals, that thread 0 initialises: threads meet before they use them."""
    return pipelines.barriers(len(arrivals), list(arrivals))
