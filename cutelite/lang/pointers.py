"""Arrays of pointers: addresses in global memory, chosen among at run time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PointerArray:
    """A parameter that is annotated `Tensor[Pointer[f32], (N,)]` or `Tensor[Tensor[f32, (M, K)], (N,)]`, in a kernel.

    addresses  the tensor of i64 that they lie in
    to         the type of the tensor at each of them
    """

    addresses: Any
    to: Any

    def __getitem__(self, key: Any) -> Any:
        """The tensor whose address is at `key`, which each thread loads; with slices, an array of some of them."""
        found = self.addresses.pointee(key, self.to)
        return PointerArray(self.addresses[key], self.to) if found is None else found

    @property
    def shape(self) -> Any:
        return self.addresses.shape

    @property
    def size(self) -> Any:
        return self.addresses.size
