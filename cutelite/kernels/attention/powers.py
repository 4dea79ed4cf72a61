"""From products of queries and keys to powers, block by block, in the registers of a warpgroup that computes.

In    a block of products, in the order of wgmma's accumulators, and where it is
Out   what functions add before the product starts; powers after functions, masks and softmax
"""

from dataclasses import replace
from typing import Any

import cutelite as cl
from cutelite import f32, i32
from cutelite.kernels.attention.capped import HIGHEST, CappedSoftmax
from cutelite.kernels.attention.here import Here, States
from cutelite.kernels.attention.joined import JoinedSoftmax
from cutelite.kernels.attention.model import Config
from cutelite.kernels.attention.plans import OfProblem
from cutelite.kernels.attention.scores import INF, ROWS, Added, Scores, Sight
from cutelite.kernels.attention.tiles import Tiles
from cutelite.lang.attempt import attempt
from cutelite.lang.places import places
from cutelite.records import fact


class OfScores(OfProblem):
    """Base class of the forward kernels' plans."""

    config: Config

    @fact
    def capped(self) -> bool:
        """Tell whether nothing but a cap is done to scores, whose powers then fit the dtype as they are."""
        cap = self.problem.softcap
        wide = self.problem.dtype == cl.bf16
        return cap is not None and self.problem.score_mod is None and cap <= HIGHEST and wide

    @fact
    def table_in_exponents(self) -> bool:
        """Tell whether terms from a table are added to exponents: where that is faster, and powers have f32's range."""
        return self.linear_in_exponents and self.problem.dim == 128

    @fact
    def linear_in_exponents(self) -> bool:
        """Tell the same of terms that are linear in the indices, and need no table."""
        narrow = self.problem.dim == self.problem.dim_v <= 128
        return self.problem.dtype == cl.bf16 and narrow

    @fact
    def masked_first(self) -> bool:
        """Tell whether masked blocks are computed one by one, before the others: where few tiles have more than one."""
        problem, config = self.problem, self.config
        causal = problem.causal and problem.blocks is None and problem.mask_mod is None
        return causal and problem.score_mod is None and ROWS * config.groups <= config.columns

    @fact
    def late(self) -> bool:
        """Tell whether powers wait in f32 for the product before theirs, and are rounded into its operand's registers.

        Then no copies are made of them, and no loop need be unrolled for that. Terms of functions leave too few
        registers, and so do masks of blocks among others, and ragged sequences with a cap or without masks.
        """
        problem, masks = self.problem, self.tiles.masks
        ragged = problem.ragged and (problem.softcap is not None or not masks)
        return self.config.late and problem.score_mod is None and not ragged and (self.masked_first or not masks)

    @fact
    def of_powers(self) -> Any:
        """The dtype in which powers wait."""
        return f32 if self.late else self.problem.dtype

    def rounded(self, p: Any) -> Any:
        """Return powers as the product with values takes them: rounded from here on, while scores are multiplied."""
        return cl.wgmma.fence_operand(p, held=False).to(self.problem.dtype) if self.late else p

    @fact
    def tiles(self) -> Tiles:
        """The tiles of the problem."""
        return Tiles(self.problem, ROWS * self.config.groups, self.config.columns)

    def added(self, j: Any, states: States, here: Here) -> tuple[Added | None, Any]:
        """Return the factor and the addends that functions apply to the scores of block j; None if they do more."""
        if here.terms is not None:
            row, column = cl.wgmma.coordinates(8)[0]
            added, state = here.terms.read(states.terms, here.group * ROWS + row, column)
            return added, states._replace(terms=state)
        none = cl.wgmma.zeros_accumulator(self.config.columns)
        block = self.block(none, None, j, here, False)
        return attempt(lambda: block.added(self.linear_in_exponents)), states

    def first(self, s: Any, added: Added | None, here: Here) -> tuple[Any, Any]:
        """Return the powers of a tile's first block, and the softmax behind them."""
        if added is not None and added.read is not None:
            softmax = JoinedSoftmax.create(here.given.scale * added.factor, self.problem.dtype)
            p, softmax, _, _ = self.powers(s, added, softmax, here.tile.end - 1, here, True)
            return p, softmax
        if not self.capped:
            s = self.modified(s, added, here.tile.end - 1, here, True)
            return self.start(s, added, here)  # type: ignore[no-any-return]
        softmax = CappedSoftmax.create(self.problem.softcap or 0.0, here.given.scale, self.of_powers)
        p, softmax, _, _ = self.powers(s, added, softmax, here.tile.end - 1, here, True)
        return p, softmax

    def start(self, s: Any, added: Any, here: Here) -> Any:
        """Return powers of a tile's first scores, and the softmax behind them."""
        scale = here.given.scale
        unit = self.problem.unit(scale) if added is None else scale * added.factor
        return cl.OnlineSoftmax.first(s, unit, self.of_powers)

    def nothing(self, here: Here) -> Any:
        """Return the softmax of no scores, where there is no `score_mod`."""
        if self.capped:
            return CappedSoftmax.create(self.problem.softcap or 0.0, here.given.scale, self.of_powers)
        unit = self.problem.unit(here.given.scale)
        none = cl.full((2,), -INF, f32), cl.full((2,), 0.0, f32), i32(0)
        return cl.OnlineSoftmax(unit, self.of_powers, True, *none)

    def anew(self, s: Any, softmax: Any, j: Any, here: Here) -> Any:
        """Return what `powers` does, by the greatest scores of this masked block too: nothing overlaps with it."""
        if self.capped:
            return self.powers(s, None, softmax, j, here, True)
        return softmax.anew(self.modified(s, None, j, here, True))

    def of_block(self, softmax: Any, j: Any, here: Here) -> Any:
        """Return the softmax to use for block j: here the same for all blocks; in fp8, with the block's scales."""
        return softmax

    def modified(self, s: Any, added: Any, j: Any, here: Here, masked: bool) -> Any:
        """Return the scores of block j after mods and masks; the factor of `added` is not yet applied."""
        return self.block(s, added, j, here, masked).all()

    def powers(self, s: Any, added: Any, softmax: Any, j: Any, here: Here, masked: bool) -> Any:
        """Return the powers of block j, and the other results of `OnlineSoftmax.step`."""
        if self.capped:
            seen = self.block(s, added, j, here, True).all_seen if masked else None
            return *softmax.step(s, seen), None, False
        if added is not None and added.read is not None:
            return softmax.step(self.modified(s, added, j, here, masked), added.terms, added.read)
        return self.of_block(softmax, j, here).step(self.modified(s, added, j, here, masked))

    def block(self, s: Any, added: Any, j: Any, here: Here, masked: bool) -> Scores:
        """Return block j of a tile's scores, from the products `s` and, unless None, the addends `added`."""
        tile, spots = here.tile, cl.wgmma.coordinates(8)
        rows = places(tile.row + here.group * ROWS + spots[0][0], (0, 8), (1, 2, 1))
        given, (*_, queries, _, keys) = here.given, self.tiles.sequence(tile)
        key, offset = self.tiles.key(j, tile, here.listed) + spots[0][1], self.tiles.offset(tile, given)
        sight = Sight(rows, key, queries if self.arrays else None, keys, offset, given.left, given.right)
        problem = self.problem if added is None else replace(self.problem, score_mod=None)
        return Scores(problem, s, given.scale, sight, tile.batch, tile.head, masked)
