"""Configurations of the GEMM with stream-K, for tests and benchmarks: others are faster wherever they were measured."""

from dataclasses import replace

from cutelite.kernels.gemm import Config

STREAMED = [
    replace(config, stream=rounds)
    for config in (
        Config(),
        Config(cluster=(1, 2)),
        Config((256, 128), cluster=(1, 2)),
        Config((128, 192), True, (2, 1)),
        Config((128, 128), True, (2, 1), 5),
    )
    for rounds in (1, 2)
]
