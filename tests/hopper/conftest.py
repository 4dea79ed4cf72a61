"""Schedules of the simulator: kernels are run under several, whose differences are in when copies happen."""

from __future__ import annotations

import pytest


@pytest.fixture(params=range(4))
def seed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """0: asynchronous work as late as possible, 1: at once, others: at any time."""
    monkeypatch.setenv("CUTELITE_SIM_SEED", str(request.param))
    return int(request.param)
