"""The table of GPU architectures: what is in it, and which GPU runs what."""

import pytest

from cutelite.target import TARGETS, Target, UnknownTarget
from cutelite.target.targets import FEATURES


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a"])
def test_every_advertised_architecture_is_known(arch: str) -> None:
    assert Target.parse(arch).arch == arch


@pytest.mark.parametrize(
    ("name", "arch"),
    [("90a", "sm_90a"), ("compute_80", "sm_80"), ("12.0", "sm_120"), ("Hopper", "sm_90a"), ("sm_101a", "sm_110a")],
)
def test_other_names_of_an_architecture(name: str, arch: str) -> None:
    assert Target.parse(name).arch == arch


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownTarget, match=r"unknown GPU architecture 'sm_42'; known are sm_75, sm_80, .*sm_90a"):
        Target.parse("sm_42")
    with pytest.raises(UnknownTarget, match="unknown GPU architecture 90; known are"):
        Target.parse(90)  # type: ignore[arg-type]


def test_shared_memory_follows_the_programming_guide() -> None:
    kb = {arch: TARGETS[arch].smem_per_block / 1024 for arch in ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_120a")}
    assert kb == {"sm_80": 163, "sm_86": 99, "sm_89": 99, "sm_90a": 227, "sm_120a": 99}


def test_a_targets_have_all_of_the_plain_one() -> None:
    specific = [target for target in TARGETS.values() if target.specific]
    assert specific
    for target in specific:
        plain = TARGETS[target.arch.removesuffix("a")]
        family = TARGETS.get(plain.arch + "f", plain)
        assert target.features >= family.features >= plain.features
        assert target.features > plain.features
        assert target.smem_per_sm == plain.smem_per_sm


def test_features_are_in_the_vocabulary() -> None:
    assert set().union(*(target.features for target in TARGETS.values())) == set(FEATURES)


def test_asking_for_a_misspelt_feature_is_an_error() -> None:
    with pytest.raises(ValueError, match="wgmma"):
        Target.parse("sm_90a").has("wgmmma")


def test_wgmma_is_hopper_only() -> None:
    assert [arch for arch, target in TARGETS.items() if target.has("wgmma")] == ["sm_90a"]


@pytest.mark.parametrize(
    ("arch", "capability", "runs"),
    [
        ("sm_80", (8, 9), True),
        ("sm_89", (8, 6), False),
        ("sm_80", (9, 0), False),
        ("sm_90a", (9, 0), True),
        ("sm_90a", (10, 0), False),
        ("sm_100", (10, 3), True),
        ("sm_100a", (10, 3), False),
    ],
)
def test_which_gpu_loads_which_code(arch: str, capability: tuple[int, int], runs: bool) -> None:
    assert Target.parse(arch).runs_on(capability) is runs


@pytest.mark.parametrize(
    ("capability", "arch"),
    [((9, 0), "sm_90a"), ((8, 0), "sm_80"), ((8, 6), "sm_86"), ((10, 0), "sm_100a"), ((12, 1), "sm_121a")],
)
def test_the_best_target_for_a_gpu(capability: tuple[int, int], arch: str) -> None:
    assert Target.for_capability(capability).arch == arch


def test_a_gpu_older_than_the_table_is_refused() -> None:
    with pytest.raises(UnknownTarget, match=r"compute capability 7\.0"):
        Target.for_capability((7, 0))
