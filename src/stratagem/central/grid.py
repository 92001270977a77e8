"""Hierarchies over several ordered attributes at once, and their exact variance without any n x n matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from stratagem.baselines.tree import level_widths
from stratagem.central.hierarchy import Tree, check_queries
from stratagem.math.number import integer


@dataclass(frozen=True)
class GridHierarchy(Tree):
    """The B^d-ary tree over d attributes without its root: boxes of B^l values along every attribute.

    Branching 2 over two attributes is the quadtree. Any sizes: a box at the end may be short, and an attribute
    of at most B^l values is not split on level l.

    Raises:
        ValueError: for no attributes, an attribute without values or a branching below 2.

    Reference:
        Cormode, Procopiuc, Srivastava, Shen, Yu, "Differentially private spatial decompositions", ICDE 2012;
        Qardaji, Yang, Li, PVLDB 2013, section 5.
    """

    sizes: tuple[int, ...]
    branching: int

    def __post_init__(self) -> None:
        """Check all numbers."""
        if not self.sizes:
            raise ValueError("no attributes were given: give the number of values of each")
        for size in self.sizes:
            integer(size, "the size of an attribute", 1, 2**20, "give its number of values")
        integer(self.branching, "the branching", 2, 2**20, "give the parts that an attribute splits into")

    @cached_property
    def widths(self) -> list[int]:
        """Values in a box of every level along an attribute that is long enough, leaves first."""
        return level_widths(max(self.sizes), self.branching)

    @cached_property
    def levels(self) -> np.ndarray:
        """Level of every box (k,), 0 for the leaves."""
        boxes = [prod(-(-size // width) for size in self.sizes) for width in self.widths]
        return np.repeat(np.arange(len(self.widths)), boxes)

    def queries(self) -> np.ndarray:
        """Return the boxes as queries K (k x n) of zeros and ones, each level in row-major order."""
        check_queries(len(self.levels), prod(self.sizes))
        return np.vstack([reduce(np.kron, self._parts(width)) for width in self.widths])

    def _parts(self, width: int) -> list[np.ndarray]:
        """Return which values (rows: parts) each part of every attribute holds."""
        return [
            (np.arange(-(-size // width))[:, None] == np.arange(size) // width).astype(np.int64)
            for size in self.sizes
        ]

    def product_variance(self, grams: Sequence[np.ndarray], variances: ArrayLike) -> float:
        """Return the total variance of a product workload, V = V_1 kron ... kron V_d, without building V.

        With P_l the average over the boxes of level l, which hold c_l cells each, and level variances s_l, the
        information K^T N^-1 K is sum_l c_l P_l/s_l, and P_l P_m = P_m for l <= m. Hence

            sum_l (t_l - t_(l+1))/(c_0/s_0 + ... + c_l/s_l),  t_l = prod_a tr(P_(a,l) V_a),  t_h = 0.

        Args:
            grams: V_a (n_a x n_a) of every attribute.
            variances: Of the answers of every level (h,), leaves first.

        Raises:
            ValueError: unless every box of a level has the same shape, or for other shapes or variances.
        """
        s = np.asarray(variances, dtype=float)
        shapes = [np.shape(V) for V in grams]
        if shapes != [(size, size) for size in self.sizes]:
            raise ValueError(
                f"Gram matrices have shapes {shapes}: give one for each of the sizes {self.sizes}"
            )
        if s.shape != (len(self.widths),) or not (s > 0).all():
            raise ValueError(f"variances have shape {s.shape}: give {len(self.widths)} levels a positive one")
        if any(size > width and size % width for size in self.sizes for width in self.widths):
            raise ValueError(
                f"boxes over {self.sizes} are cut short at branching {self.branching}: use a `Measurement`"
            )
        spans = [[min(width, size) for size in self.sizes] for width in self.widths]
        traces = [prod(map(_block_trace, grams, span)) for span in spans]
        information = np.cumsum([prod(span) / one for span, one in zip(spans, s, strict=True)])
        return float((-np.diff(traces, append=0.0) / information).sum())


def _block_trace(V: np.ndarray, width: int) -> float:
    """Return tr(P V) for the average P over blocks of `width` values."""
    blocks = np.asarray(V, dtype=float).reshape(len(V) // width, width, -1, width)
    return float(np.einsum("iaib->", blocks)) / width
