"""Random well-formed functions: every kind of constant, type, value and jump that IR text has."""

from hypothesis import strategies as st

from cutelite.ir.builder import Builder
from cutelite.ir.function import Block, Function, Jump, Value
from cutelite.ir.types import (
    SCALARS,
    InFlight,
    Ptr,
    Scalar,
    Tensor,
    TensorMap,
    Type,
    Vec,
    bf16,
    boolean,
    f32,
    f64,
    i32,
    i64,
    u8,
    u64,
)
from cutelite.layout import ComposedLayout, Dim, Layout, Swizzle, ceil_div
from cutelite.ops import arith, control, debug, index, tensor

M, K = Dim("M"), Dim("K", divisible_by=8)
HINTS = ("", "x", "x", "acc", "x_1", "a.b", "späť", "0", "for")
LAYOUTS = (
    Layout(8, 1),
    Layout((4, (2, 8)), (2, (1, 8))),
    Layout((M, K), (K, 1)),
    Layout((ceil_div(K, 64), 64), (64, 1)),
    ComposedLayout(Swizzle(3, 4, 3), 0, Layout((8, 64), (64, 1))),
)

scalars = st.sampled_from(list(SCALARS.values()))
spaces = st.sampled_from(["gmem", "smem", "rmem", "cluster"])
vecs = st.builds(Vec, scalars, st.integers(1, 256))
types: st.SearchStrategy[Type] = st.one_of(
    scalars,
    vecs,
    st.builds(Ptr, spaces, st.sampled_from([1, 4, 128])),
    st.builds(
        Tensor,
        scalars,
        spaces,
        st.sampled_from(LAYOUTS),
        st.sampled_from([1, 16, 1024]),
        st.sampled_from([None, Swizzle(2, 4, 3)]),
    ),
    st.builds(TensorMap, scalars, st.sampled_from(LAYOUTS[:3]), st.just((64, 64)), st.sampled_from(["none", "128B"])),
    st.builds(InFlight, vecs),
)
hints = st.sampled_from(HINTS)
floats = st.floats(allow_nan=True, allow_infinity=True)
constants = st.one_of(
    st.tuples(floats, st.sampled_from([f32, f64, bf16])),
    st.tuples(st.integers(-(2**31), 2**31 - 1), st.just(i32)),
    st.tuples(st.integers(0, 255), st.just(u8)),
    st.tuples(st.integers(0, 2**64 - 1), st.just(u64)),
    st.tuples(st.booleans(), st.just(boolean)),
)
texts = st.text(max_size=12).map(lambda text: text.replace("%", "%%"))


@st.composite
def functions(draw: st.DrawFn) -> Function:
    """A function that the verifier accepts, of a few blocks."""

    def hinted(value: Value) -> Value:
        value.hint = draw(hints)
        return value

    params = [hinted(Value(t)) for t in draw(st.lists(types, max_size=3))]
    widths, names = st.sampled_from([i32, i64]), draw(st.sampled_from([(), ("M", "K")]))
    dims = {name: Value(draw(widths), hint=name) for name in names}
    attrs = draw(st.sampled_from([{}, {"block": (128, 1, 1), "fmad": True, "min_blocks": None, "note": 'a "b"\n'}]))
    function = Function("f", [Block(tuple(params))], dims, dict(attrs))
    builder = Builder(function)
    entry = list(params)
    for _ in range(draw(st.integers(0, 6))):
        _op(draw, builder, entry)
    count = draw(st.integers(0, 3))
    blocks = [
        builder.new_block(
            tuple(hinted(Value(v.type)) for v in _some(draw, entry)), draw(st.sampled_from(["", "loop", "bb1", "x y"]))
        )
        for _ in range(count)
    ]
    known = {block: entry + block.params for block in blocks}
    _end(draw, builder, blocks, entry)
    for block in blocks:
        builder.block = block
        values = list(known[block])
        for _ in range(draw(st.integers(0, 3))):
            _op(draw, builder, values)
        _end(draw, builder, blocks, values)
    return function


def _some(draw: st.DrawFn, values: list[Value]) -> list[Value]:
    return draw(st.lists(st.sampled_from(values), max_size=2)) if values else []


def _op(draw: st.DrawFn, builder: Builder, values: list[Value]) -> None:
    """One more op, and its result among `values`."""
    numbers = [v for v in values if isinstance(v.type, Scalar) and v.type.arithmetic]
    kind = draw(st.integers(0, 6 if numbers else 3))
    if kind <= 1:
        value, t = draw(constants)
        values.append(builder.emit(arith.Const(value, t)))
    elif kind == 2:
        builder.emit(debug.Printf(draw(texts), ()))
    elif kind == 3:
        expr = draw(st.sampled_from([M, K // 4, ceil_div(K, 64), M * K + 1]))
        values.append(builder.emit(index.Dim(expr, i64)))
    elif kind == 4:
        a = draw(st.sampled_from(numbers))
        values.append(builder.emit(arith.Add(a, a)))
    elif kind == 5:
        a = draw(st.sampled_from(numbers))
        vector = builder.emit(arith.VecMake((a,) * draw(st.integers(1, 3))))
        values.append(vector)
        values.append(builder.emit(arith.VecGather(vector, (0,), scalar=draw(st.booleans()))))
    else:
        tile = Tensor(f32, "smem", Layout((4, 8), (8, 1)), 16, draw(st.sampled_from([None, Swizzle(1, 2, 3)])))
        values.append(builder.emit(tensor.SmemAlloc(tile, dynamic=draw(st.booleans()))))
    if values and values[-1].op is not None:
        values[-1].hint = draw(hints)


def _end(draw: st.DrawFn, builder: Builder, blocks: list[Block], values: list[Value]) -> None:
    """Return, or jump to a block for whose parameters there are values."""

    def jump(block: Block) -> Jump | None:
        args = []
        for param in block.params:
            fitting = [v for v in values if v.type == param.type]
            if not fitting:
                return None
            args.append(draw(st.sampled_from(fitting)))
        return Jump(block, tuple(args))

    jumps = [found for block in blocks if (found := jump(block)) is not None]
    conds = [v for v in values if v.type == boolean]
    decided: bool = draw(st.booleans())
    if jumps and conds and decided:
        then, other = draw(st.sampled_from(jumps)), draw(st.sampled_from(jumps))
        builder.emit(control.CondBr(draw(st.sampled_from(conds)), then, other))
    elif jumps and not decided:
        builder.emit(control.Br(draw(st.sampled_from(jumps))))
    else:
        ends = (control.Ret(), control.Unreachable(), control.AssertFail("no\t!"))
        builder.emit(ends[draw(st.integers(0, 2))])
