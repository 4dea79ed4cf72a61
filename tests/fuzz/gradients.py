"""Random gradients of norms, whose teams have more rows than stages, under the checker, beside NumPy.

python -m tests.fuzz.gradients --seconds 300        # from a seed on; says which are wrong
python -m tests.fuzz.gradients --seed 17 --count 1 --show

Plans are the library's. In the simulator, where four blocks run at once for each that a multiprocessor should hold, a
case takes 1 to 10 seconds.
"""

import os
import sys
import traceback
from random import Random
from typing import Any

import ml_dtypes
import numpy as np

from cutelite.dispatch.divert import diverted
from cutelite.kernels.rows import norm
from cutelite.kernels.rows.plan import MULTIPROCESSORS
from tests.fuzz import by_seed
from tests.kernels.test_rows import close, normed, random
from tests.places import through_gpu

LENGTHS = (200, 1100), (1000, 2600), (2000, 5200), (4500, 9000), (8200, 17_000)
"""Least and most elements of rows, between which plans differ in kind."""
TEAMS = 48, 24, 12, 8, 4
"""How many teams of theirs there are in the simulator, at most."""


class Case:
    """What a seed draws: rows (M, N), their type, whether means are subtracted, whether something is added."""

    def __init__(self, seed: int, gpu: bool = False) -> None:
        draw = Random(seed)
        kind = draw.randrange(len(LENGTHS))
        self.n = draw.randint(*LENGTHS[kind])
        if draw.random() < 0.4:
            self.n &= -8
        self.dtype: Any = draw.choice([ml_dtypes.bfloat16, ml_dtypes.bfloat16, np.float16, np.float32])
        self.center, self.added = draw.random() < 0.5, draw.random() < 0.5
        self.m = draw.randint(6 * TEAMS[kind], 9 * TEAMS[kind])  # of four stages each is used again
        self.m *= MULTIPROCESSORS // 4 if gpu else 1

    def __str__(self) -> str:
        more = f"{', centered' * self.center}{', added to' * self.added}"
        return f"{self.m} rows of {self.n} {np.dtype(self.dtype).name}{more}"


def mistakes(seed: int, gpu: bool = False) -> list[str]:
    """Compute the gradients of a seed; return what is wrong."""
    case = Case(seed, gpu)
    shape = case.m, case.n
    x, dy, w = (random(size, case.dtype, seed + i) for i, size in enumerate((shape, shape, shape[1:])))
    add = random(shape, case.dtype, seed + 3) if case.added else None
    xhat, mean, rstd = normed(x.astype(float), case.center, 1e-5)
    means = mean[:, 0].astype(np.float32) if case.center else None
    given = norm.Normed(None, x, means, rstd[:, 0].astype(np.float32))
    try:
        with diverted(through_gpu if gpu else None):
            found = norm.norm_backward(dy, given, w, bias=case.center, add=add)
        d, g = dy.astype(float), dy.astype(float) * w.astype(float)
        right = g - xhat * (g * xhat).mean(1, keepdims=True)
        right = rstd * (right - g.mean(1, keepdims=True) if case.center else right)
        close(found.x, right if add is None else right + add.astype(float), case.dtype)
        close(found.weight, (d * xhat).sum(0), case.dtype)
        if case.center:
            close(found.bias, d.sum(0), case.dtype)
    except Exception:
        return [str(case), traceback.format_exc(limit=-4)]
    return []


def checked(seed: int, gpu: bool) -> list[str]:
    """Do so under the checker in the simulator."""
    os.environ["CUTELITE_CHECK"] = "" if gpu else "1"  # which kernels read at their first launch
    return mistakes(seed, gpu)


if __name__ == "__main__":
    sys.exit(by_seed.main("gradients", checked, lambda seed: [str(Case(seed))]))
