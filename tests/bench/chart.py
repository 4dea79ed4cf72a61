"""Bars, as SVG: `cutelite.bench.chart`, by the name that the benchmarks know."""

from cutelite.bench.chart import BAR as BAR
from cutelite.bench.chart import HEIGHT as HEIGHT
from cutelite.bench.chart import TOP as TOP
from cutelite.bench.chart import bars as bars
