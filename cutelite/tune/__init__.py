"""`@autotune`: choose the config that is fastest on this GPU, by measurement, for any kernel or host function.

tuned.py      `@autotune`: the decorator and its results; everything else serves it
configs.py    the meaning of a config                   problem.py    which calls are alike, and where they run
tuner.py      a winner known, on disk, or found now     compile.py    compiling all configs at once, without launches
race.py       rounds, and which configs drop out        timing.py     seconds on the GPU: graphs, cold caches
report.py     the result, as people and files read it   sets.py       copies of arguments
warm.py       `warm`: kernels compiled before the calls that need them
"""

from cutelite.tune.configs import Config
from cutelite.tune.report import AutotuneError, Report
from cutelite.tune.tuned import TunedFunction, TunedKernel, autotune
from cutelite.tune.warm import Warmed, warm

__all__ = ["AutotuneError", "Config", "Report", "TunedFunction", "TunedKernel", "Warmed", "autotune", "warm"]
