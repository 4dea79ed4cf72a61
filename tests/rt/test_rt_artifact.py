"""Artefacts as bytes."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutelite_rt.artifact import Artifact, ArtifactError
from cutelite_rt.gpu.params import KINDS

DIM3 = st.none() | st.tuples(*[st.integers(1, 1024)] * 3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
ARTIFACTS = st.builds(
    Artifact,
    name=st.text(),
    arch=st.sampled_from(["sm_80", "sm_90a"]),
    cubin=st.binary(),
    ptx=st.text(),
    params=st.lists(st.sampled_from(sorted(KINDS))).map(tuple),
    static_smem=st.integers(0, 1 << 18),
    dynamic_smem=st.integers(0, 1 << 18),
    block=DIM3,
    cluster=DIM3,
    registers=st.integers(-1, 255),
    spills=st.integers(-1, 4096),
    max_threads=st.integers(0, 1024),
    built_with=st.tuples(st.integers(0, 99), st.integers(0, 9)),
    signature=JSON,
)
ONE = Artifact("add", "sm_90a", b"\x7fELF", ".version 8.0", ("ptr", "i32"), signature={"dims": ["M", "N"]})


@settings(max_examples=15)
@given(ARTIFACTS)
def test_bytes_come_back_as_they_were(artifact: Artifact) -> None:
    assert Artifact.from_bytes(artifact.to_bytes()) == artifact


def test_equal_artefacts_have_equal_bytes() -> None:
    assert ONE.to_bytes() == Artifact(**ONE._asdict()).to_bytes()


@given(st.data())
def test_damage_is_noticed(data: st.DataObject) -> None:
    whole = ONE.to_bytes()
    damaged = bytearray(whole)
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(ArtifactError):
        Artifact.from_bytes(bytes(damaged))


@given(st.integers(0, len(ONE.to_bytes()) - 1), st.binary(max_size=9))
def test_cut_short_or_too_long(length: int, more: bytes) -> None:
    with pytest.raises(ArtifactError):
        Artifact.from_bytes(ONE.to_bytes()[:length])
    if more:
        with pytest.raises(ArtifactError):
            Artifact.from_bytes(ONE.to_bytes() + more)


@given(st.binary())
def test_other_bytes(data: bytes) -> None:
    with pytest.raises(ArtifactError, match="this is not a cutelite artefact"):
        Artifact.from_bytes(data)


def test_another_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutelite_rt.artifact._VERSION", 7)
    later = ONE.to_bytes()
    monkeypatch.undo()
    with pytest.raises(ArtifactError, match="the artefact has format 7, and this runtime reads format 2"):
        Artifact.from_bytes(later)


def test_whole_bytes_of_another_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutelite_rt.artifact._IMAGES", ("cubin", "ptx", "arch"))
    without_arch = ONE.to_bytes()
    monkeypatch.undo()
    with pytest.raises(ArtifactError, match="whole, but not of format 2"):
        Artifact.from_bytes(without_arch)


@pytest.mark.parametrize("signature", [object(), {1: b"bytes"}, {"x": float("nan")}, {"x": {1, 2}}])
def test_a_signature_is_plain_data(signature: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        ONE._replace(signature=signature).to_bytes()


def test_the_digest_is_of_the_code_and_of_what_a_launch_packs() -> None:
    assert ONE.digest == ONE._replace(signature=None, registers=9).digest
    others: list[dict[str, Any]] = [{"name": "sub"}, {"arch": "sm_80"}, {"cubin": b"\x7fELG"}, {"cubin": b""}]
    others += [{"params": ("ptr", "f32")}, {"written": ("x",)}]
    assert len({ONE.digest} | {ONE._replace(**other).digest for other in others}) == 7
