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
# `zipped_divide` cuts a layout into tiles: mode 0 goes through a tile, mode 1 through the tiles. Nothing is copied;
# strides say where the tile's elements are. In a kernel, `cl.local_tile(tensor, shape, coordinate)` cuts a tensor in
# this way and picks one tile.

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
# by 8 out to 16 threads with 4 values each. What it returns is the number of an element, counted down the columns of
# the tile, first mode fastest as above. In the picture, `T5V2` marks the element that is value 2 of thread 5.

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
# `composition(f, g)` is the layout of `f(g(x))`. Here `g` says which element a thread holds, and `f` where that element
# lies in memory, so the composition gives offsets in memory by thread and value.

# %%
where = composition(row_major((8, 8)), owners)
assert where((1, 2), (0, 1)) == row_major((8, 8))(owners((1, 2), (0, 1)))
print(where)

# %% [markdown]
# ## Swizzles
#
# Shared memory has 32 banks of 4 bytes; threads of a warp that want different words of one bank take turns. Reading a
# column of a row-major 32 by 32 tile of f32 hits one bank 32 times. A swizzle XORs some bits of the offset into others,
# which spreads columns over the banks and only permutes the elements within a row. `Swizzle(bits, base, shift)` is
# CuTe's `Swizzle<B, M, S>`: the `bits` bits from `base + shift` on are XORed into those from `base` on. In
# `Swizzle(5, 0, 5)` these are the row's five bits (the offset is `32 row + column`) and the column's.
#
# `bank_conflicts` takes a (thread, value) layout of one access of a warp, and the bits of an element; `ways` is how
# many turns it takes, 1 at best.

# %%
a_column = Layout((32, 1), (32, 0))  # (thread, value) to offset: thread i reads row i
assert bank_conflicts(a_column, bits=32).ways == 32
swizzled = composition(Swizzle(5, 0, 5), a_column)
assert bank_conflicts(swizzled, bits=32).ways == 1

# %%
viz.banks(composition(Swizzle(3, 0, 3), row_major((8, 8))), bits=128)

# %% [markdown]
# That was an 8 by 8 tile of 16-byte elements, with the banks of each.
#
# Layouts are worked out when a kernel is compiled; what is left at run time is integer arithmetic on the coordinates
# that are not known before: a few adds, shifts and multiplications. {doc}`/layouts` lists the algebra. From a shell,
# `cutelite layout '(4,(2,4)):(2,(1,8))'` draws any of them.
#
# Try: draw the banks of a padded tile, `viz.banks(Layout((8, 8), (9, 1)), bits=128)`. What does one more element in
# each row do to the banks of a column, and what does it cost?
#
# Next: [tiled copies](04_tiled_copies).
