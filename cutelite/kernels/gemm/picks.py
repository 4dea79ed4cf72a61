"""The configuration that a GEMM takes: the given one, the one measured fastest, or by default the model's.

In    what the caller asks for, and the arguments of the tuned function
Out   a configuration; nothing is measured but for "tuned", and within `cl.warm(..., tune=True)`
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from cutelite.dispatch.replay import forget_plans
from cutelite.kernels.arguments import Misfit
from cutelite.tune.warm import tuning_wanted


class Picks:
    """The configurations known so far of one tuned function.

    tuned     the function, of `cl.autotune`
    key       of its arguments: what a choice depends on
    by_model  of its arguments: the configuration that a model of the time has for the fastest
    known     key -> what was measured; (key, *how) -> what is of a loaded table, or by the model
    """

    def __init__(self, tuned: Any, key: Callable[..., Hashable], by_model: Callable[..., Any]) -> None:
        self.tuned, self.key, self.by_model, self.known = tuned, key, by_model, dict[Hashable, Any]()
        self.kind = type(tuned.configs[0])

    def take(self, choice: Any, *given: Any, **how: Any) -> Any:
        """Return the configuration for a call. choice: one, "tuned", or None; how: as for `pick`. Errors: `Misfit`."""
        if isinstance(choice, self.kind):
            return choice
        if choice is not None and not (isinstance(choice, str) and choice == "tuned"):
            raise Misfit(f"config is a Config, None or 'tuned', not {choice!r}")
        return self.pick(*given, **how) if choice is None and not tuning_wanted() else self.measured(*given)

    def pick(self, *given: Any, **how: Any) -> Any:
        """Return the configuration measured in this process, of a loaded table, or by the model.

        how  what the model alone is told besides
        """
        key = self.key(*given)
        if key in self.known:
            return self.known[key]
        place = key, *how.values()
        if place not in self.known:
            self.known[place] = self.tuned.shipped(*given) or self.by_model(*given, **how)
        return self.known[place]

    def measured(self, *given: Any) -> Any:
        """Return the fastest, measured at the first call for such shapes; `pick` gives it from then on."""
        key, config = self.key(*given), self.tuned.config_for(*given)
        if self.known.get(key) != config:
            self.known[key] = config
            forget_plans()
        return config
