"""Tensor memory of a block (Blackwell), allocated at once and handed out as tensors.

    with cl.TmemAllocator.create(256) as tmem:      # all threads of the block
        acc = tmem.tensor(128, 128)                 # an accumulator in columns 0 to 127
        other = tmem.tensor(128, 128, column=128)
        ...                                         # at the end it is freed, as by `tmem.free()`

Compiling the kernel checks that each tensor lies in the allocation, and that no two tensors made by `tensor` and `own`
share cells. `view` makes further tensors of the same cells.
"""

from __future__ import annotations

from typing import Any

from cutelite.ir.types import f32, u32
from cutelite.lang import tcgen05
from cutelite.lang.cluster import cluster_sync
from cutelite.lang.emit import mistake
from cutelite.lang.index import linear_thread_idx
from cutelite.lang.sync import syncthreads
from cutelite.lang.tensor import shared
from cutelite.layout import Layout
from cutelite.ops.tcgen05_layouts import columns_of_layout, per_cell
from cutelite.records import dataclass
from cutelite.target.targets import WARP


@dataclass(frozen=True)
class TmemAllocator:
    """An allocation of tensor memory.

    slot       shared memory that holds its address
    columns    of the allocation
    warp       the number of the warp that allocates and frees
    """

    slot: Any
    columns: int
    warp: int = 0
    cta_group: int = 1

    @classmethod
    def create(cls, columns: int, warp: int = 0, cta_group: int = 1, sync: bool = True) -> TmemAllocator:
        """Allocate columns, and give up the permit to allocate more.

        columns    32, 64, 128, 256 or 512
        warp       the number in the block of the warp that allocates
        cta_group  2: for pairs of blocks, by both
        sync       meet at a barrier at the end, for pairs that of the cluster; False: the threads meet before they ask
                   for tensors
        Who        all threads of the block
        """
        slot = shared(u32, (1,))
        if linear_thread_idx() // WARP == warp:
            tcgen05.alloc(slot, columns, cta_group)
            tcgen05.relinquish_alloc_permit(cta_group)
        made = TmemAllocator(slot, columns, warp, cta_group)
        if sync:
            made._meet()
        return made

    def _meet(self) -> None:
        """A barrier of all threads that may access the memory."""
        if self.cta_group == 2:
            cluster_sync()
        else:
            syncthreads()

    def __enter__(self) -> TmemAllocator:
        return self

    def __exit__(self, *left_by: Any) -> None:
        self.free()

    def tensor(
        self, rows: int, extent: int, dtype: Any = f32, column: int = 0, stages: int = 1, sparse: bool = False
    ) -> Any:
        """Return an accumulator of this allocation: a tensor (rows, extent), as `tcgen05.mma` takes it.

        rows     the rows of this block, 64 or 128
        extent   the columns of the accumulator, N; for a pair of blocks all N
        column   the first column of the tensor, counted from the first one of the allocation
        stages   more than 1: that number of accumulators side by side, a tensor (rows, extent, stages)
        sparse   the accumulator is for products with a sparse A
        Errors   `tensor-memory` where it reaches beyond the allocation, or overlaps another tensor of `tensor` or `own`
        """
        one = tcgen05.accumulator(rows * self.cta_group, extent, dtype, self.cta_group, sparse=sparse)
        layout = one
        if stages > 1:
            apart = columns_of_layout(one, dtype) * per_cell(dtype)
            layout = Layout((*one.shape, stages), (*one.stride, apart))
        return self.own(layout, dtype, column)

    def own(self, layout: Any, dtype: Any = f32, column: int = 0) -> Any:
        """Return a tensor of any layout from a column on. It shares no cell with others made by `tensor` and `own`.

        The same arguments give the same tensor again. Errors: as for `tensor`
        """
        made = self.view(layout, dtype, column)
        tcgen05.claim(self.slot, layout, dtype, column)
        return made

    def view(self, layout: Any, dtype: Any = f32, column: int = 0) -> Any:
        """Return a tensor of any layout from a column of the allocation on; other tensors may share its cells.

        Errors  `tensor-memory` where it reaches beyond the allocation
        """
        last = column + columns_of_layout(layout, dtype)
        if column < 0 or last > self.columns:
            raise mistake(
                "tensor-memory",
                f"{layout} of {dtype} is in columns {column} to {last - 1}, and {self.columns} are allocated",
            )
        return tcgen05.tensor(self.slot[0] + column, layout, dtype)

    def free(self) -> None:
        """Free the allocation, when all threads of the block, or pair, are here: all accesses are over by then."""
        tcgen05.fence_before_thread_sync()
        self._meet()
        if linear_thread_idx() // WARP == self.warp:
            tcgen05.dealloc(tcgen05.tensor(self.slot[0], tcgen05.lanes_layout(1, 1)), self.columns, self.cta_group)
