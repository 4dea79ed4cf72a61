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
from cutelite_rt.shapes import MOST_IN_32_BITS

SEEN = {"address": "i64", "device": "i32", "rank": "i32", "dtype": "i32", "extents": "ptr", "strides": "ptr"}
"""What an array says, as `launcher_ir` has it in %seen."""

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
        self.check(self.read())
        c.do("br label %done")
        return "\n".join([_HEAD, *c.lines, _TAIL])

    def read(self) -> dict[str, str]:
        """What an array says, by the names in `SEEN`: looked up where it lies if that can be, or asked for."""
        c = self.code
        source = c.at("%frame", self.frame.source)
        seen = c.let(f"call %seen @peek(ptr %env, ptr %array, ptr {source})")
        looked = [c.let(f"extractvalue %seen {seen}, {i}") for i in range(len(SEEN))]
        there, other, after = (c.fresh(stem) for stem in ("there", "other", "after"))
        c.do(f"br i1 {c.compare('ne', looked[0], 0)}, label {there}, label {other}, !prof !0")
        c.label(other)
        asked = self.ask(source)
        others = c.block
        c.do(f"br label {after}")
        c.label(there)
        if self.leaf.is_map or self.leaf.parameter._extents.nested:
            rank, extents, strides = looked[2], *looked[4:]
            c.do(f"call void @put_shape(ptr {self.tensor}, i32 {rank}, ptr {extents}, ptr {strides})")
        c.do(f"br label {after}")
        c.label(after)
        rows = zip(SEEN.items(), looked, asked, strict=True)
        return {name: c.merged(type, (a, there), (b, others)) for (name, type), a, b in rows}

    def ask(self, source: str) -> list[str]:
        """Likewise, in a DLTensor; Python may have to fill it, and until then the array is passed over."""
        c, tensor = self.code, self.tensor
        status = c.let(f"call i32 @read(ptr %env, ptr %array, ptr {tensor}, ptr {source})")
        with c.when(c.compare("ne", status, 0, "i32"), rare=True):
            by_python = c.compare("eq", status, ir.PENDING, "i32")
            c.require_well(c.let(f"select i1 {by_python}, i32 0, i32 {status}"))
            c.do(f"call void @put_half(ptr {source}, i64 {PENDING}, i32 1)")
            c.do("br label %done")
            c.label(c.fresh("dead"))
        kind = c.half(tensor, 8)
        c.require(c.either(c.compare("eq", kind, CUDA, "i32"), c.compare("eq", kind, CUDA_MANAGED, "i32")))
        address = c.let(f"add i64 {c.word(tensor, 0)}, {c.word(tensor, 40)}")
        c.require(c.compare("ne", address, 0))
        return [address, *(c.half(tensor, at) for at in (12, 16, 20)), c.link(tensor, 24), c.link(tensor, 32)]

    def check(self, seen: dict[str, str]) -> None:
        """Everything about an array; its dims are learnt."""
        c = self.code
        ordinal = c.wide(seen["device"], "i32")
        before = c.word("%key", 2 * WORD)
        c.require(c.either(c.compare("eq", before, -1), c.compare("eq", before, ordinal)))
        c.do(f"call void @put(ptr %key, i64 {2 * WORD}, i64 {ordinal})")
        c.set(c.let("getelementptr i64, ptr %frame, i64 %number"), seen["address"])
        spec = spec_of(self.leaf)
        bytes = self.dtype(spec.dtype, seen["dtype"])
        if not self.leaf.is_map:
            self.alignment(spec.align, seen["address"], bytes)
        self.layout(self.leaf.parameter._extents, seen)

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

    def layout(self, wanted: Any, seen: dict[str, str]) -> None:
        """Extents and strides: `arrays._Extents.match`."""
        c = self.code
        if wanted.nested:
            need = wanted.layout.cosize
            if isinstance(need, DimExpr):
                raise Unsupported(f"`{wanted.name}` has nested modes of extents that are not known")
            size = c.let(f"call i64 @compact_size(ptr {self.tensor})")
            c.require(c.compare("sge", size, need))
            return
        rank = len(wanted.shape)
        c.require(c.compare("eq", seen["rank"], rank, "i32"))
        extents = [c.word(seen["extents"], i * WORD) for i in range(rank)]
        strides = [c.word(seen["strides"], i * WORD) for i in range(rank)]
        for expected, value in zip(wanted.shape, extents, strict=True):
            self.match(expected, value, None)
        if not self.leaf.is_map and any(isinstance(expected, DimExpr) for expected in wanted.shape):
            count = extents[0]
            for extent in extents[1:]:
                count = c.let(f"mul i64 {count}, {extent}")
            at = c.let(f"add i64 %number, {self.frame.large}")
            c.set_flag("%key", at, c.compare("sgt", count, MOST_IN_32_BITS))
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
