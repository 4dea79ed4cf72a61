# %% [markdown]
# # 3. Layouts, drawn
#
# A layout is a function from coordinates to offsets: a shape and a stride for each mode. Who holds which element, in
# which order a tile lies in memory, how a tile is cut out of a matrix: all of these are layouts, known at compile
# time, and plain Python objects that you can print, call and draw.

# %%
from cutelite.layout import Layout, Swizzle, bank_conflicts, composition, row_major, viz, zipped_divide

row = row_major((4, 8))
column = Layout((4, 8), (1, 4))
print(row, column)
print(row(2, 3), column(2, 3))

# %% [markdown]
# `(4,8):(8,1)` reads: shape `(4,8)`, stride `(8,1)`; the offset of `(i, j)` is `8 i + j`. A layout also takes one
# number, which counts through the coordinates with the first mode fastest: `row(1)` is the offset of `(1, 0)`.

# %%
assert row(1) == row(1, 0) == 8
viz.offsets(row)

# %%
viz.offsets(column)

# %% [markdown]
# ## Modes nest
#
# A mode may itself have modes. Here columns come in pairs: within a pair they are 1 apart, pairs are 8 apart. The
# shape is still 4 by 8, and coordinates `(i, j)` still work.

# %%
blocked = Layout((4, (2, 4)), (2, (1, 8)))
assert blocked(3, 5) == 3 * 2 + 5 % 2 + 5 // 2 * 8
viz.offsets(blocked)

# %% [markdown]
# ## Cutting tiles
#
# `zipped_divide` cuts a layout into tiles: mode 0 goes through a tile, mode 1 through the tiles. `local_tile` picks
# one. Nothing is copied; strides say where the tile's elements are.

# %%
matrix = row_major((8, 16))
tiles = zipped_divide(matrix, (4, 8))
print(tiles)
inner, of_tiles = tiles[0], tiles[1]
assert inner(1, 2) == matrix(1, 2)
assert of_tiles(1, 1) == matrix(4, 8)

# %% [markdown]
# ## Who holds what
#
# A *(thread, value)* layout maps a thread and one of its values to an element of a tile. This one deals a tile of 8
# by 8 out to 16 threads with 4 values each: `T5V2` is the third value of thread 5. Elements are counted down the
# columns, as above.

# %%
owners = Layout(((4, 4), (2, 2)), ((16, 2), (8, 1)))
viz.owners(owners, (8, 8))

# %% [markdown]
# Tensor core instructions define such layouts: this is the accumulator of `mma.sync.m16n8k16`.

# %%
from cutelite import WarpMmaOp, f16, f32  # noqa: E402

viz.operands(WarpMmaOp(f16, f32))[-1]

# %% [markdown]
# ## Composition
#
# `composition(f, g)` is the layout of `f(g(x))`: first `g` picks, then `f` places. It is how a tile of a matrix,
# dealt out to threads, becomes offsets in memory.

# %%
where = composition(row_major((8, 8)), owners)
assert where((1, 2), (0, 1)) == row_major((8, 8))(owners((1, 2), (0, 1)))
print(where)

# %% [markdown]
# ## Swizzles
#
# Shared memory has 32 banks of 4 bytes; threads of a warp that want different words of one bank take turns. Reading a
# column of a 32 by 32 tile of f32 hits one bank 32 times. A swizzle XORs some bits of the offset into others, which
# spreads columns over the banks and keeps rows as they are:

# %%
a_column = Layout((32, 1), (32, 0))  # (thread, value) to offset: thread i reads row i
assert bank_conflicts(a_column, bits=32).ways == 32
swizzled = composition(Swizzle(5, 0, 5), a_column)
assert bank_conflicts(swizzled, bits=32).ways == 1

# %%
viz.banks(composition(Swizzle(3, 0, 3), row_major((8, 8))), bits=128)

# %% [markdown]
# All of this happens when a kernel is compiled; at run time what is left of a layout is an add or a shift.
# {doc}`/layouts` lists the algebra. From a shell, `cutelite layout '(4,(2,4)):(2,(1,8))'` draws any of them.
#
# Try: draw `Layout((8, 8), (1, 9))`. What does padding by one do to the banks, and what does it cost?
#
# Next: [tiled copies](04_tiled_copies).
