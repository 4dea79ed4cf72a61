"""Plans of calls hold until they are forgotten: functions that choose configurations may choose others later."""

from __future__ import annotations

from cutelite.threads import OfThread

wanted: OfThread[bool] = OfThread("tuning wanted", False)
"""Whether library functions that choose configurations by a model measure them instead: `tune.warm.tuning_wanted`."""

_epoch = 0


def forget_plans() -> None:
    """Run no more calls by plans made so far: a function would choose another configuration now."""
    global _epoch
    _epoch += 1


def epoch() -> int | None:
    """Return what tells calls apart that may be repeated; None while no call may."""
    return None if wanted.get() else _epoch
