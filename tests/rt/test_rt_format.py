"""Exported kernels that somebody made up: every byte is covered by the checksum, and every field is checked."""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest

from cutelite_rt.artifact import Artifact, ArtifactError
from cutelite_rt.export.bundle import Bundle, Variant
from cutelite_rt.export.cstub import c_stub
from cutelite_rt.signature.data import Box, Dim, Expression, Nested, Strided, plain
from cutelite_rt.signature.kinds import Absent, Array, Constant, Fixed, Number, Optional, Signature, Struct
from cutelite_rt.signature.settled import Binder

N = Dim("N", 4)
EXPR = Expression("ceil_div(N, 4)", ("ceil_div", N, 4))
A = Array("a", "Tensor", "f32", Strided((N, EXPR), (EXPR, 1)), 16)
T = Array("t", "TmaTensor", "bf16", Strided((N, 64)), box=Box((8, 64), "128B"))
SETTLED = Signature(
    "k",
    (
        A,
        Number("b", "i32", 3),
        Struct("s", "S", (Number("s.x", "f16"), Array("s.y", "Tensor", "i8", Nested("9:1", 9), 1))),
        Fixed("c", 3),
        T,
        Absent("n", "None"),
    ),
    positional=6,
    position_only=1,
    dims=(N,),
    grid=(N, EXPR),
    text="a: Tensor[f32, (N,)], b: i32, s: S, c: 3, t: TmaTensor, n: None",
)
SIGNATURE: dict[str, Any] = plain(SETTLED)
ARTIFACT = Artifact("k", "sm_90a", b"cubin", params=("ptr", "i32", "f16", "ptr", "tensormap", "i32"), block=(32, 1, 1))
WHOLE = Bundle("k", (Variant(SETTLED, (ARTIFACT,)),))

ODD: list[Any] = [None, True, -1, 0, 2**70, 1.5, float(10**300), "", "x y", "*/", "a\nb", "é", [], ["N"], {}, [[[]]]]


def places(x: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where there is something in JSON data."""
    yield path
    items = x.items() if isinstance(x, dict) else enumerate(x) if isinstance(x, list) else ()
    for key, value in items:
        yield from places(value, (*path, key))


def changed(signature: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    made = copy.deepcopy(signature)
    at = made
    for key in path[:-1]:
        at = at[key]
    if value is MISSING:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return made


MISSING = object()


def with_signature(signature: Any) -> bytes:
    image = ARTIFACT.to_bytes()
    meta = {"name": "k", "variants": [{"signature": signature, "bytes": [len(image)]}]}
    return forged(json.dumps(meta).encode(), image)


def test_the_whole_one_is_taken() -> None:
    assert Bundle.from_bytes(WHOLE.to_bytes()) == WHOLE
    c_stub(WHOLE)


def test_every_byte_counts() -> None:
    data = WHOLE.to_bytes()
    for at in range(len(data)):
        for flipped in (1, 0x80):
            with pytest.raises(ArtifactError):
                Bundle.from_bytes(data[:at] + bytes([data[at] ^ flipped]) + data[at + 1 :])
    for length in range(len(data)):
        with pytest.raises(ArtifactError):
            Bundle.from_bytes(data[:length])


def test_whatever_a_field_holds_it_is_taken_as_it_is_meant_or_refused() -> None:
    taken = 0
    for path in places(SIGNATURE):
        for value in (*ODD, MISSING):
            if value is MISSING and not path:
                continue
            made = changed(SIGNATURE, path, value)
            try:
                bundle = Bundle.from_bytes(with_signature(made))
            except ArtifactError as error:
                assert "malformed" in str(error)
                continue
            taken += 1
            Binder(bundle.variants[0].signature)
            for source in c_stub(bundle)[1:]:
                assert source.translate({ord("\n"): None, ord("\t"): None}).isprintable()
    assert taken > 20  # an other default, say


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("kernel", '"); system("', "signature.kernel is .* should be a name"),
        ("text", "*/ int evil; /*\n", "should be text of one line"),
        ("dims", (N._replace(name="N]; evil["),), r"signature.dims\[0\].name"),
        ("dims", (), "should be a dim as the signature declares it"),
        ("dims", (N._replace(divisible_by=8),), "a is 'N{div=4}', and should be a dim as the signature declares it"),
        ("wide_dims", ("M",), "the wide ones among them"),
        ("grid", (Expression("N % 0", ("mod", N, 0)),), r"signature.grid\[0\].tree"),
        ("parameters", SETTLED.parameters[:3], "signature.positional is 6"),
        ("positional", 7, "signature.positional is 7"),
        ("parameters", (Constant("a"),) * 6, "should be settled"),
        ("parameters", (Optional("a", Number("a", "i32")),) * 6, "should be settled"),
        ("parameters", (A._replace(align=None),), r"parameters\[0\].align is None"),
        ("parameters", (T._replace(box=Box((8,), "128B")),), "one for each mode"),
        ("parameters", (T._replace(box=Box((8, 512), "128B")),), "up to 256, one for each mode"),
        (
            "parameters",
            (T._replace(box=Box((8, 64), "128B", (-1, 0))),),
            "two corners for each mode between first and last",
        ),
    ],
)
def test_what_is_said_of_a_field(field: str, value: Any, words: str) -> None:
    made = SETTLED._replace(**{field: value})
    with pytest.raises(ArtifactError, match=words):
        Bundle.from_bytes(with_signature(plain(made)))
    with pytest.raises(ArtifactError, match=words):
        c_stub(Bundle("k", (Variant(made, (ARTIFACT,)),)))


def test_comments_end_where_c_stub_ends_them() -> None:
    made = SETTLED._replace(text="a */ int evil; /* b ??/")
    source = c_stub(Bundle("k", (Variant(made, (ARTIFACT,)),)))
    assert "a */" not in source.header
    assert "??/" not in source.header


def test_nesting_ends_with_a_word() -> None:
    deep: Any = plain(N)
    for _ in range(300):
        deep = ["add", deep, 1]
    grid = [{"kind": "expression", "text": "deep", "tree": deep}]
    with pytest.raises(ArtifactError, match="malformed"):
        Bundle.from_bytes(with_signature({**SIGNATURE, "grid": grid}))
    struct: Any = SIGNATURE["parameters"][1]
    for _ in range(300):
        struct = {"name": "s", "kind": "struct", "cls": "S", "fields": [struct]}
    with pytest.raises(ArtifactError, match="malformed"):
        Bundle.from_bytes(with_signature({**SIGNATURE, "parameters": [struct]}))


@pytest.mark.parametrize(
    "fields",
    [
        {"arch": "sm_x"},
        {"params": ("pointer",)},
        {"block": (0, 1, 1)},
        {"block": None},
        {"cluster": (1, 1)},
        {"static_smem": -1},
        {"registers": "many"},
        {"name": 3},
        {"built_with": (13,)},
    ],
)
def test_fields_of_artefacts(fields: dict[str, Any]) -> None:
    with pytest.raises(ArtifactError):
        Bundle.from_bytes(Bundle("k", (Variant(SETTLED, (ARTIFACT._replace(**fields),)),)).to_bytes())


def test_json_of_any_form() -> None:
    source = random.Random(0)
    meta = {"name": "k", "variants": [{"signature": SIGNATURE, "bytes": [len(ARTIFACT.to_bytes())]}]}
    for path in [p for p in places(meta) if p[:3] != ("variants", 0, "signature")]:
        for value in ODD:
            made = changed(meta, path, value)
            text = json.dumps(made).encode()
            with pytest.raises(ArtifactError):
                Bundle.from_bytes(forged(text, ARTIFACT.to_bytes() * source.randint(0, 2)))


def forged(meta: bytes, images: bytes) -> bytes:
    """A file with a checksum that is right."""
    from cutelite_rt.artifact import checksum
    from cutelite_rt.export import bundle

    header = bundle._HEADER.pack(bundle._MAGIC, bundle._VERSION, len(meta))
    return header + checksum(header + meta + images) + meta + images
