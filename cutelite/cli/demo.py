"""`cutelite demo`."""

from __future__ import annotations

import argparse

from cutelite.kernels import demo as gemm


def demo(given: argparse.Namespace) -> int:
    """Run the demonstration."""
    return gemm.main()
