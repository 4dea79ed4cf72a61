"""Passes keep the meaning of kernels: random ones on the simulator, before and after."""

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cutelite import passes, sim
from cutelite.ir.function import Function
from cutelite.ir.verifier import verify
from cutelite.target import Target
from tests.passes.programs import programs

ROWS = 4


def outcome(function: Function, x: int, p: bool) -> Any:
    out = np.zeros((ROWS, 4), np.int32)
    sim.run(function, 1, [out, x, p], dims={"M": ROWS})
    return out.tolist()


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs(), st.sampled_from([0, 1, 5, -7, 2**31 - 1]), st.booleans())
def test_every_pass_keeps_the_meaning(function: Function, x: int, p: bool) -> None:
    verify(function)
    text = first = str(function)
    expected = outcome(function, x, p)
    context = passes.Context(Target.parse("sm_90a"))
    for step in passes.PIPELINE:
        before, function = text, passes.run((step,), function, context)
        text = str(function)
        if text != before:
            assert outcome(function, x, p) == expected, f"{step.name} changed the meaning of\n{before}\ninto\n{text}"
    assert text != first
