"""Vectors of a row as f32, and as 32-bit words: for narrow elements, of which registers hold more that way."""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import bf16, f32, u32
from cutelite.lang.convert import bitcast
from cutelite.lang.loops import static_range
from cutelite.lang.tensor import make_rmem_tensor
from cutelite.lang.words import pack, unpack
from cutelite.lib.extern import inline_ptx
from cutelite.records import dataclass


def widened(v: Any) -> Any:
    """Return a vector as f32. Two bf16 elements are converted by a shift and a mask of the word that holds them."""
    if v.dtype != bf16 or v.n % 2:
        return v.to(f32)
    words, made = pack(v), make_rmem_tensor(f32, (v.n,))
    for i in static_range(v.n // 2):
        made[2 * i], made[2 * i + 1] = bitcast(words[i] << 16, f32), bitcast(words[i] & 0xFFFF0000, f32)
    return made.load().reshape(v.shape)


@dataclass(frozen=True)
class Packed:
    """A vector of 8- or 16-bit elements, kept as 32-bit words. Unpacked, each element would take a register.

    words  the words
    like   the vector that was packed, for its shape and dtype
    """

    words: Any
    like: Any

    @staticmethod
    def made(v: Any) -> Any:
        """Return `v`, (vector, pieces), packed if its elements are narrow and each vector fills whole words."""
        return Packed(pack(v), v) if v.shape[0] * v.dtype.bytes % 4 == 0 and v.dtype.bytes < 4 else v

    def of(self, some: Any) -> Any:
        """Return the elements of the vectors `some`, `RowVectors`, of shape (vector, pieces)."""
        each = self.like.shape[0] * self.like.dtype.bytes // 4
        held = make_rmem_tensor(u32, (each * some.pieces,))
        for i in static_range(each * some.pieces):
            word = self.words[some.start * each + i]
            held[i] = inline_ptx("mov.b32 $out, $a;", u32, memory=False, meaning=lambda a: a, a=word)
        like = self.like.reshape((self.like.n,))[: self.like.shape[0] * some.pieces]
        return unpack(held.load(), like).reshape(some.shape)
