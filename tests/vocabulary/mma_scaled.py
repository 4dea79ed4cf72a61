"""Products of floats of 8, 6 and 4 bits by a warp, with block scales."""

from collections.abc import Iterator
from typing import Any

from cutelite.ir.types import Vec, f32, i32, u32
from cutelite.ops import mma_scaled
from tests.vocabulary.row import Form, Row, of

WORDS = Vec(u32, 4), Vec(u32, 2), Vec(f32, 4)
SPARSE = Vec(u32, 4), Vec(u32, 4), Vec(f32, 4)


def product(kind: str, *more: Any, scaled: bool = True, **fields: Any) -> Form:
    scales = {"scale_a": u32, "scale_b": u32} if scaled else {}
    words, k = (SPARSE, 2) if "metadata" in fields else (WORDS, 1)
    return of(*words, k * mma_scaled.KINDS[kind].k, **{**scales, "kind_of_mma": kind, **fields})


def products() -> Iterator[Form]:
    for name, kind in mma_scaled.KINDS.items():
        for a in kind.formats:
            for b in kind.formats:
                formats: dict[str, Any] = {"format_a": a, "format_b": b}
                if not kind.scales:
                    yield product(name, scaled=False, **formats)
                for several, scale in kind.scales:
                    yield product(name, several=several, scale=scale, **formats)
                    if a == b:
                        yield product(name, several=several, scale=scale, metadata=u32, **formats)
    yield product("f8f6f4", scaled=False, metadata=u32, format_a="e3m2", format_b="e2m1")
    for place in range(4):
        yield product("mxf8f6f4", several=1, scale="ue8m0", byte_a=place, thread_a=place % 2, thread_b=place)
    yield product("mxf4", several=2, scale="ue8m0", byte_b=2, format_a="e2m1", format_b="e2m1")


ONE: dict[str, Any] = {"several": 1, "scale": "ue8m0"}

ROWS = [
    Row(
        mma_scaled.MmaBlockScale,
        "cl.mma_scaled",
        list(products()),
        alone=True,
        tested="tests/atoms/test_mma_scaled.py",
        refuses=[
            (product("mxf8f6f4", kind_of_mma="mxf6"), "'mxf6' is none of f8f6f4"),
            (product("mxf4", several=2, scale="ue8m0"), "format_a is 'e4m3'; kind::mxf4 takes e2m1"),
            (product("f8f6f4"), "kind::f8f6f4 takes no scales"),
            (product("mxf8f6f4", scaled=False, **ONE), "kind::mxf8f6f4 takes two words of scales"),
            (product("mxf8f6f4", several=2, scale="ue8m0"), "a row has 2 scales of 'ue8m0'; there are 1 of ue8m0"),
            (product("mxf8f6f4", scale_a=i32, **ONE), "`scale_a` is i32, but must be u32"),
            (product("mxf8f6f4", byte_a=4, **ONE), "byte_a is 4, but must be 0 to 3 and a multiple of 1"),
            (product("mxf8f6f4", thread_a=2, **ONE), "thread_a is 2, not 0 to 1"),
            (of(Vec(u32, 2), *WORDS[1:], 32), "`a` is vec<u32,2>, but must be vec<u32,4>"),
            (of(*WORDS, 16), "k is 16; kind::f8f6f4 takes 32"),
            (of(*SPARSE, 32, metadata=u32), "k is 32; kind::f8f6f4 with a sparse A takes 64"),
            (of(*SPARSE, 64, metadata=i32), "the metadata is a u32 of each thread, not i32"),
            (of(*WORDS, 64, metadata=u32), "`b` is vec<u32,2>, but must be vec<u32,4>"),
        ],
    )
]
