"""`@autotune`: of several configs, the one that a measurement on this GPU found fastest. Any kernel, any host function.

tuned.py      `@autotune`: the decorator, and what it makes: the room from above
configs.py    what a config says                        problem.py    which calls are alike, and where they run
tuner.py      known, on disk, or found out now          compile.py    every config compiled at once, none launched
race.py       rounds, and who drops out of them         timing.py     seconds on the GPU: graphs, cold caches
report.py     what came of it, as people and files read it
sets.py       copies of arguments                       warm.py       `warm`: what calls need, compiled beforehand
"""

from cutelite.tune.configs import Config
from cutelite.tune.report import AutotuneError, Report
from cutelite.tune.tuned import TunedFunction, TunedKernel, autotune
from cutelite.tune.warm import Warmed, warm

__all__ = ["AutotuneError", "Config", "Report", "TunedFunction", "TunedKernel", "Warmed", "autotune", "warm"]
