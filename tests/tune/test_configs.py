"""Configs: their values, and the meaning that these have for a kernel."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

import cutelite as cl
from cutelite import Tensor, f32
from cutelite.dispatch import fingerprint
from cutelite.dispatch.launch import Launch
from cutelite.tune.configs import Config, KernelConfig, Meta, for_kernel, launch_of, values_of, variant
from tests.processes import printed
from tests.tune import kernels


def test_a_config_is_a_fixed_mapping_with_attributes() -> None:
    config = Config(BM=128, stages=4)
    assert (config.BM, config["stages"], dict(config)) == (128, 4, {"BM": 128, "stages": 4})
    assert repr(config) == "Config(BM=128, stages=4)"
    assert config == Config(stages=4, BM=128) and hash(config) == hash(Config(stages=4, BM=128))
    assert config != Config(BM=128) and config != {"BM": 128, "stages": 4}
    with pytest.raises(AttributeError, match="has no 'BN'; it has BM, stages"):
        _ = config.BN
    for change in ("config.BM = 1", "config.BN = 1", "del config.BM"):
        with pytest.raises(AttributeError, match="fixed"):
            exec(change, {"config": config})
    with pytest.raises(ValueError, match="cannot have a value named 'items'"):
        Config(items=3)


def test_a_config_is_a_constant_of_kernels() -> None:
    config = Config(by=3, at=(1, 2))

    @cl.kernel(block=32)
    def run(x: Tensor[f32, (32,)]) -> None:
        x[cl.thread_idx.x] = config.by * len(config.at)

    x = np.zeros(32, np.float32)
    run[1, 32](x)
    np.testing.assert_array_equal(x, np.full(32, 6.0))


def test_equal_configs_have_equal_digests_whatever_the_order_and_the_process() -> None:
    digest = fingerprint.source(Config(BM=1, BN=(2, 3))).digest
    assert digest == fingerprint.source(Config(BN=(2, 3), BM=1)).digest
    assert digest != fingerprint.source(Config(BM=1, BN=(2, 4))).digest
    program = (
        "from cutelite.dispatch import fingerprint; from cutelite import Config;"
        "print(fingerprint.source(Config(BM=1, BN=(2, 3))).digest.hex())"
    )
    assert digest is not None and printed(program, PYTHONHASHSEED="7").strip() == digest.hex()


@dataclasses.dataclass(frozen=True)
class Tile:
    BN: int
    twice: bool = False


class Pair(NamedTuple):
    BN: int
    block: int


@pytest.mark.parametrize(
    ("config", "values"),
    [
        (Config(BN=64), {"BN": 64}),
        ({"BN": 64}, {"BN": 64}),
        (Tile(64), {"BN": 64, "twice": False}),
        (Pair(64, 32), {"BN": 64, "block": 32}),
    ],
)
def test_what_has_names_is_a_config(config: Any, values: dict[str, Any]) -> None:
    assert values_of(config) == values


@pytest.mark.parametrize("config", [(1, 2), 128, "BN", Tile, None])
def test_what_has_none_is_not(config: Any) -> None:
    with pytest.raises(TypeError, match="a config of a kernel needs names"):
        values_of(config)


def test_names_are_sorted_by_what_they_mean() -> None:
    means = for_kernel(Config(BN=64, twice=True, block=128, smem=16, max_registers=64), kernels.scale.signature)
    assert means == ({"BN": 64, "twice": True}, {"block": 128, "smem": 16}, {"max_registers": 64})


def test_names_that_mean_nothing_are_refused() -> None:
    with pytest.raises(
        TypeError, match=r"sets 'BK', which is neither a Constexpr parameter of scale\(\) \(BN, twice\)"
    ):
        for_kernel(Config(BK=64), kernels.scale.signature)
    with pytest.raises(TypeError, match=r"sets `x`, which scale\(\) has as a run-time parameter"):
        for_kernel(Config(x=64), kernels.scale.signature)


def test_a_kernel_with_other_options_is_another_kernel() -> None:
    assert variant(kernels.scale, KernelConfig({}, {}, {})) is kernels.scale
    other = variant(kernels.scale, KernelConfig({}, {}, {"max_registers": 40}))
    assert other.given == {"max_registers": 40} and kernels.scale.given == {}
    assert (other.block, other.__name__) == (kernels.scale.block, "scale")
    with pytest.raises(cl.OptionError):
        variant(kernels.scale, KernelConfig({}, {}, {"max_registers": 4}))


def test_launches_ask_the_config_and_the_config_goes_first() -> None:
    config = {"BN": 64}
    functions: dict[str, Any] = {"grid": lambda c: 1024 // c["BN"], "block": lambda c: c["BN"]}
    launch = Launch(**functions)
    assert launch_of(config, launch, {"cluster": 2}, {}) == Launch(16, 64, 2)
    assert launch_of(config, launch, {"block": 32}, {}) == Launch(16, 32)
    assert launch_of(config, Launch(5, 32), {}, {}) == Launch(5, 32)


def test_functions_are_asked_with_arguments_and_the_config() -> None:
    class Tall(Tile):
        @property
        def rows(self) -> int:
            return 2 * self.BN

    meta = Meta(Tall(64), {"x": 5, "BN": None})
    assert (meta["x"], meta["BN"], meta.BN, meta.rows, meta["twice"]) == (5, 64, 64, 128, False)
    assert Meta({"BN": 3}, {}).BN == Meta(Config(BN=3), {}).BN == 3
    with pytest.raises(AttributeError):
        _ = meta.columns
