"""Arrays of pointers: addresses in global memory that a kernel indexes at run time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cutelite.records import dataclass


@dataclass(frozen=True)
class PointerArray:
    """A parameter, in a kernel, annotated `Tensor[Pointer[f32], (N,)]` or `Tensor[Tensor[f32, (M, K)], (N,)]`.

    addresses  the tensor of i64 that holds the addresses
    to         the type of the tensor at each of them
    """

    addresses: Any
    to: Any

    def __iter__(self) -> Iterator[Any]:
        from cutelite.lang.emit import refuse_iteration  # which a launch by the cache does not load

        return refuse_iteration(self)

    def __getitem__(self, key: Any) -> Any:
        """Return the tensor whose address is at `key`; each thread loads it. Slices give an array of pointers."""
        found = self.addresses.pointee(key, self.to)
        return PointerArray(self.addresses[key], self.to) if found is None else found

    @property
    def shape(self) -> Any:
        return self.addresses.shape

    @property
    def size(self) -> Any:
        return self.addresses.size
