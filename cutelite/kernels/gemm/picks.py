"""The configuration that a special GEMM takes: the given one, the one measured fastest, or by default the model's.

In    what the caller asks for, a key of the problem, and the arguments of the tuned function
Out   a configuration; nothing is measured but for "tuned", and within `cl.warm(..., tune=True)`
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from cutelite.kernels.gemm.dense import taken
from cutelite.kernels.planning import forget_plans


class Picks:
    """The configurations known so far of one tuned function.

    tuned     the function, of `cl.autotune`
    by_model  of its arguments: the configuration that a model of the time has for the fastest
    """

    def __init__(self, tuned: Any, by_model: Callable[..., Any]) -> None:
        self.tuned, self.by_model, self.known = tuned, by_model, dict[Hashable, Any]()

    def take(self, choice: Any, key: Hashable, *given: Any) -> Any:
        """Return the configuration for a call. choice: one, "tuned", or None. Errors: `Misfit`."""
        return taken(choice, lambda: self.pick(key, *given), lambda: self.measured(key, *given))

    def pick(self, key: Hashable, *given: Any) -> Any:
        """Return the configuration measured in this process, of a loaded table, or by the model."""
        if key not in self.known:
            self.known[key] = self.tuned.shipped(*given) or self.by_model(*given)
        return self.known[key]

    def measured(self, key: Hashable, *given: Any) -> Any:
        """Return the fastest, measured at the first call for such shapes; `pick` gives it from then on."""
        config = self.tuned.config_for(*given)
        if self.known.get(key) != config:
            self.known[key] = config
            forget_plans()
        return config
