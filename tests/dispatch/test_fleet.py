"""Processes that share a cache directory, in every scenario of `fleet.py`, a few of them at a time."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.dispatch import fleet


@pytest.mark.skipif(sys.platform == "win32", reason="forks")
@pytest.mark.parametrize("scenario", fleet.SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_a_small_fleet(tmp_path: Path, scenario: Callable[[fleet.Fleet], str]) -> None:
    assert scenario(fleet.Fleet(tmp_path, processes=4, kernels=8))
