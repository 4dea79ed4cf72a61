"""The launcher's C beside what is made of it and for it: its IR, and the tables and structures that it reads."""

import json
import re

import pytest

from cutelite.toolchain import host
from cutelite_rt.arrays import torch_layout
from cutelite_rt.launcher import environment, image, readers, state, subscript
from cutelite_rt.signature import data, kinds, table
from tests.rt import launcher_ll

C = "".join(launcher_ll.SOURCE.with_name(name).read_text() for name in ("tables.h", "launcher.c"))

N, LD = data.Dim("N", 8, 0, 64), data.Dim("LD")
EXPRESSION = data.Expression("ceil_div(N,4)", ("ceil_div", N, 4))
MAPPED = kinds.Array("b", "", "f32", data.Strided((EXPRESSION,), (LD,)), box=data.Box((64,), "auto"))
SIGNATURE = kinds.Signature(
    "f",
    (
        kinds.Array("a", "Tensor[T, (N, 4)]", data.Variable("T", ("f16", "f32")), data.Strided((N, 4)), 32),
        kinds.Optional("b", MAPPED),
        kinds.Struct("s", "Pair", (kinds.Number("s.x", "i32"), kinds.Constant("s.y"))),
        kinds.Array("c", "", "f32", data.Nested("((2,2),2):((1,2),4)", 8)),
        kinds.Number("n", data.Variable("T")),
    ),
    positional=4,
    dims=(N, LD),
    grid=(EXPRESSION, 1),
)


def fields(structure: str) -> list[str]:
    """Names of the fields of a structure of the C, in order."""
    named, unnamed = rf"struct {structure} {{(.*?)^}};", rf"typedef struct {{((?:(?!typedef).)*?)^}} {structure};"
    found = re.search(f"{named}|{unnamed}", C, re.DOTALL | re.MULTILINE)
    assert found is not None
    body = found[1] or found[2]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL)
    declared = [re.sub(r"\(\*(\w+)\)\([^;]*\)", r"\1", each) for each in body.split(";")]
    return [
        re.findall(r"\w+", name)[-1]
        for each in declared
        for name in re.sub(r"\[\w*\]", "", each).split(",")
        if name.strip()
    ]


def test_the_ir_is_of_the_c() -> None:
    command = launcher_ll.compiler()
    if command is None:
        pytest.skip(f"needs ziglang {launcher_ll.VERSION}")
    assert launcher_ll.generated(command) == launcher_ll.IR.read_text(), "run `make update-launcher`"


@pytest.mark.parametrize("cpu", host.BASELINES)
def test_machine_code_is_whole_for_each_architecture(cpu: str) -> None:
    made = host.to_image(image.launcher_ir(), image.Machine._fields, cpu)
    starts = image.IMAGE.unpack_from(made)
    assert image.IMAGE.size <= min(starts) < max(starts) < len(made)


def test_structures_have_the_fields_of_the_c() -> None:
    assert fields("environment") == list(environment.ENVIRONMENT)
    assert fields("state") == list(state.STATE)
    assert fields("signature") == [name for name, *_ in table._Signature._fields_]
    assert fields("torch_layout") == [*torch_layout.Layout._fields, "dtypes"]
    assert [name.replace("is_env", "env") for name in fields("subscript_state")] == list(subscript.STATE)


def test_places_of_launches_are_those_of_the_c() -> None:
    assert re.findall(r"#define PLACES (\d+)|u64 \*place = places \+ (\d+) \*", C) == [
        (str(readers.PLACES), ""),
        ("", str(readers.PLACE_WORDS)),
    ]


def test_a_signature_goes_through_json() -> None:
    assert data.parsed(json.loads(json.dumps(data.plain(SIGNATURE)))) == SIGNATURE


def test_places_of_a_table() -> None:
    made = table.Table(SIGNATURE)
    assert made.names == ("a", "b", "s", "c", "n") and made.dims == ("N", "LD")
    assert made.objects == ("x", "y"), "fields, and no classes"
    values, dims = made.places.at[:5], made.places.at[5:]
    assert dims == (40, 48) and made.places.maps == 1
    assert values[1] % 64 == 0 and values[1] >= 56, "a tensor map lies behind all values"
    assert sorted((values[0], *values[2:])) == [0, 16, 24, 32], "of the second array the address is kept as well"


def test_what_has_no_table() -> None:
    deep: data.Tree = N
    for _ in range(table._MOST_DEPTH + 1):
        deep = ("min", N, deep)
    for tree, why in ((deep, "nested too deeply"), (("add", N, 1 << 63), "more than 64 bits")):
        array = kinds.Array("a", "", "f32", data.Strided((data.Expression("", tree),)))
        with pytest.raises(data.Unsupported, match=why):
            table.Table(kinds.Signature("f", (array,), 1, dims=(N,)))
