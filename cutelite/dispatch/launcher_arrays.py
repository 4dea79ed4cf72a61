"""An annotation of arrays -> an LLVM function that reads and checks those: arrays annotated alike share one.

    status = arrays(env, objects, frame, key, first, count)

Of `count` arrays side by side, from the one that has the number `first`, it fills the DLTensor and learns the dims, the
dtype and the device. Called in the cold, a launcher takes the longer the more code it is: so there is a loop.
"""

from __future__ import annotations

from typing import Any

from cutelite.dispatch import launcher_ir as ir
from cutelite.dispatch.arrays import VECTOR_BYTES
from cutelite.dispatch.launcher_frame import PENDING, Frame, Leaf, Unsupported, spec_of
from cutelite.dispatch.launcher_text import Code
from cutelite.ir.types import I32_DIM_LIMIT, Scalar
from cutelite.lang.annotations import DTypeVar
from cutelite.layout import Dim, DimExpr
from cutelite_rt.dlpack import CUDA, CUDA_MANAGED
from cutelite_rt.dtype import DTYPES
from cutelite_rt.exchange import TENSOR_BYTES
from cutelite_rt.launcher import WORD

NAME = "@arrays"
"""What the function is called until it gets its name."""


class Arrays:
    """The writing of the function for one annotation.

    laters  the number of the first expression of it
    """

    def __init__(self, frame: Frame, leaf: Leaf, laters: int) -> None:
        self.code, self.frame, self.leaf = Code(), frame, leaf
        self.later: list[tuple[DimExpr, int]] = []
        self._laters = laters

    def write(self) -> str:
        c = self.code
        before = c.let(f"mul i64 %number, {TENSOR_BYTES}")
        self.tensor = c.at("%frame", c.let(f"add i64 {before}, {self.frame.tensors}"))
        self.read()
        self.check()
        c.do("br label %done")
        return "\n".join([_HEAD, *c.lines, _TAIL])

    def read(self) -> None:
        c = self.code
        source = c.at("%frame", self.frame.source)
        status = c.let(f"call i32 @read(ptr %env, ptr %array, ptr {self.tensor}, ptr {source})")
        with c.when(c.compare("ne", status, 0, "i32"), rare=True):
            by_python = c.compare("eq", status, ir.PENDING, "i32")
            c.require_well(c.let(f"select i1 {by_python}, i32 0, i32 {status}"))
            c.do(f"call void @put_half(ptr {source}, i64 {PENDING}, i32 1)")
            c.do("br label %done")
            c.label(c.fresh("dead"))

    def check(self) -> None:
        """Everything about an array; its dims are learnt."""
        c, tensor = self.code, self.tensor
        kind, where = c.half(tensor, 8), c.half(tensor, 12)
        on_gpu = c.either(c.compare("eq", kind, CUDA, "i32"), c.compare("eq", kind, CUDA_MANAGED, "i32"))
        c.require(on_gpu)
        ordinal = c.wide(where, "i32")
        before = c.word("%key", 2 * WORD)
        c.require(c.either(c.compare("eq", before, -1), c.compare("eq", before, ordinal)))
        c.do(f"call void @put(ptr %key, i64 {2 * WORD}, i64 {ordinal})")
        address = c.let(f"add i64 {c.word(tensor, 0)}, {c.word(tensor, 40)}")
        c.require(c.compare("ne", address, 0))
        c.set(c.let("getelementptr i64, ptr %frame, i64 %number"), address)
        spec = spec_of(self.leaf)
        bytes = self.dtype(spec.dtype, c.half(tensor, 20))
        if not self.leaf.is_map:
            self.alignment(spec.align, address, bytes)
        self.layout(self.leaf.parameter._extents, tensor)

    def dtype(self, wanted: Scalar | DTypeVar, found: str) -> str:
        """Check the 32 bits that DLPack has for a dtype, which are never 0; the bytes of an element."""
        c = self.code
        if isinstance(wanted, Scalar):
            row = DTYPES["f32" if wanted.name == "tf32" else wanted.name]
            assert row.dlpack is not None, "arrays have it"
            code, bits = row.dlpack
            c.require(c.compare("eq", found, code | bits << 8 | 1 << 16, "i32"))
            return str(row.bytes)
        at = WORD * self.frame.variables[wanted.name]
        before, value = c.word("%key", at), c.wide(found, "i32")
        c.require(c.either(c.compare("eq", before, value), c.compare("eq", before, 0)))
        c.do(f"call void @put(ptr %key, i64 {at}, i64 {value})")
        bits_ = c.let(f"and i64 {c.let(f'lshr i64 {value}, 8')}, 255")
        return c.let(f"lshr i64 {bits_}, 3")

    def alignment(self, wanted: int | None, address: str, bytes: str) -> None:
        c = self.code
        if wanted is not None:
            c.require(c.compare("eq", c.let(f"and i64 {address}, {wanted - 1}"), 0))
            return
        aligned = c.compare("eq", c.let(f"and i64 {address}, {VECTOR_BYTES - 1}"), 0)
        mask = c.let(f"sub i64 {bytes}, 1")
        c.require(c.either(aligned, c.compare("eq", c.let(f"and i64 {address}, {mask}"), 0)))
        c.set_flag("%key", c.let(f"add i64 %number, {self.frame.flags}"), aligned)

    def layout(self, wanted: Any, tensor: str) -> None:
        """Extents and strides: `arrays._Extents.match`."""
        c = self.code
        if wanted.nested:
            need = wanted.layout.cosize
            if isinstance(need, DimExpr):
                raise Unsupported(f"`{wanted.name}` has nested modes of extents that are not known")
            size = c.let(f"call i64 @compact_size(ptr {tensor})")
            c.require(c.compare("sge", size, need))
            return
        rank = len(wanted.shape)
        c.require(c.compare("eq", c.half(tensor, 16), rank, "i32"))
        at_extents, at_strides = c.link(tensor, 24), c.link(tensor, 32)
        extents = [c.word(at_extents, i * WORD) for i in range(rank)]
        strides = [c.word(at_strides, i * WORD) for i in range(rank)]
        for expected, value in zip(wanted.shape, extents, strict=True):
            self.match(expected, value, None)
        some = "true"
        for extent in extents:
            some = c.both(some, c.compare("ne", extent, 0))
        several = [c.both(some, c.compare("sgt", extent, 1)) for extent in extents]
        if wanted.spec.stride is None:
            order = range(rank)[::-1] if wanted.spec.order == "row" else range(rank)
            step = "1"
            for i in order:
                adjacent = c.compare("eq", strides[i], step)
                c.require(c.either(adjacent, c.negated(several[i])))
                step = c.let(f"mul i64 {step}, {extents[i]}")
            return
        for expected, value, sure in zip(wanted.stride, strides, several, strict=True):
            self.match(expected, value, sure)

    def match(self, wanted: Any, value: str, sure: str | None) -> None:
        """`Call.extent`: an int, a dim or an expression over dims; `sure` is an i1, None for always."""
        c = self.code
        if isinstance(wanted, Dim):
            with c.when(sure):
                self.learn(wanted, value)
            if sure is not None:
                at = self.frame.unsure(wanted.name)
                with c.when(c.both(c.negated(sure), c.negated(c.flag("%frame", at + WORD)))):
                    c.do(f"call void @put(ptr %frame, i64 {at}, i64 {value})")
                    c.set_flag("%frame", at + WORD, "true")
        elif isinstance(wanted, DimExpr):
            at = self.frame.later(self._laters + len(self.later))
            self.later.append((wanted, at))
            c.do(f"call void @put(ptr %frame, i64 {at}, i64 {value})")
            c.set_flag("%frame", at + WORD, sure or "true")
        else:
            right = c.compare("eq", value, wanted)
            c.require(right if sure is None else c.either(right, c.negated(sure)))

    def learn(self, dim: Dim, value: str) -> None:
        c = self.code
        told = c.flag("%key", self.frame.told(dim.name))
        c.require(c.either(c.compare("eq", c.word("%frame", self.frame.dim(dim.name)), value), c.negated(told)))
        with c.unless(told):
            require_declared(c, dim, value)
            tell(c, self.frame, dim.name, value)


def require_declared(c: Code, dim: Dim, value: str) -> None:
    """Go on where a dim may have that value."""
    c.require(c.compare("sge", value, max(dim.min, 0)))
    if dim.max is not None:
        c.require(c.compare("sle", value, dim.max))
    if dim.divisible_by > 1:
        c.require(c.compare("eq", c.let(f"urem i64 {value}, {dim.divisible_by}"), 0))


def tell(c: Code, frame: Frame, name: str, value: str) -> None:
    """From now on a dim has that value."""
    c.do(f"call void @put(ptr %frame, i64 {frame.dim(name)}, i64 {value})")
    c.set_flag("%key", frame.told(name), "true")
    c.set_flag("%key", frame.told(name) + 1, c.compare("sgt", value, I32_DIM_LIMIT))


_HEAD = f"""
define internal i32 {NAME}(ptr %env, ptr %objects, ptr %frame, ptr %key, i64 %first, i64 %count) #2 {{
  br label %next
next:
  %i = phi i64 [ 0, %0 ], [ %after, %done ]
  %number = add i64 %first, %i
  %at = getelementptr ptr, ptr %objects, i64 %i
  %array = load ptr, ptr %at"""

_TAIL = """done:
  %after = add i64 %i, 1
  %over = icmp eq i64 %after, %count
  br i1 %over, label %all, label %next
all:
  ret i32 0
slow:
  ret i32 1
}"""
