"""Counts of the nodes of a tree, made to add up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from stratagem.math.number import finite, integer, numbers, scalar

ADVICE = (
    "give the levels from the leaves upwards, each node the sum of so many below it, the last one of the rest"
)


def consistent_tree(
    levels: Sequence[ArrayLike],
    branching: int,
    variances: Sequence[ArrayLike] | None = None,
    total: float | None = None,
) -> list[np.ndarray]:
    """Return the counts of a tree's nodes that add up and are nearest to the estimates of them.

    argmin sum_v (x_v - y_v)^2 / var_v subject to x_v = sum of the children's x, in two passes of O(n): upwards
    each node's estimate meets the sum of its children's, z_v = (s y_v + var_v sum z) / (s + var_v) with s the sum
    of the children's variances, of variance s var_v / (s + var_v); downwards what a node still misses is shared
    among its children in proportion to their variances. Equal variances and full nodes give the published
    weights, z_v = (B^i - B^(i-1)) / (B^i - 1) y_v + (B^(i-1) - 1) / (B^i - 1) sum z on level i, leaves 1.

    Linear: unbiased estimates stay unbiased, and those with these variances, independent, have the least variance
    in every range (Gauss-Markov), however the range is put together from nodes.

    Args:
        levels: Estimates from the leaves upwards, each (n_l,), or (n_l, k) for k trees at once, with n_l =
            ceil(n_(l-1) / branching), so the last node of a level may be short; the top need not be a root.
        branching: Children B of a node.
        variances: One a level, or (n_l,) a level, in any unit; equal unless given. Infinite above the leaves
            for nodes that nobody measured.
        total: The count of all, where it is known.

    Raises:
        ValueError: for no levels, sizes that are no tree, numbers that are not finite, or variances that are not
            positive.

    Reference:
        Hay, Rastogi, Miklau, Suciu, VLDB 2010, Theorem 3; variances of nodes, Honaker 2015.

    Example:
        >>> leaves, root = consistent_tree([[4.0, 2.0], [9.0]], 2)
        >>> leaves.tolist(), root.tolist()
        ([5.0, 3.0], [8.0])
    """
    B = integer(branching, "the branching", 2, 2**53, "give at least 2 children to a node")
    estimates = _estimates(levels, B)
    spreads = _variances(variances, estimates)
    total = None if total is None else scalar(total, "the total")
    best, spread = [estimates[0]], [spreads[0]]
    for y, own in zip(estimates[1:], spreads[1:], strict=True):
        below, beneath = _sums(best[-1], B), _sums(spread[-1], B)
        spread.append(beneath / (1 + beneath / own))
        best.append(below + spread[-1] / own * (y - below))
    if total is not None:
        best[-1] = best[-1] + spread[-1] * ((total - best[-1].sum(axis=0)) / spread[-1].sum())
    for k in range(len(best) - 2, -1, -1):
        missing = (best[k + 1] - _sums(best[k], B)) / _sums(spread[k], B)
        best[k] = best[k] + spread[k] * np.repeat(missing, B, axis=0)[: len(best[k])]
    return [x.reshape(np.shape(level)) for x, level in zip(best, levels, strict=True)]


def _sums(level: np.ndarray, branching: int) -> np.ndarray:
    """Return the sums (ceil(n_l / B), k) of every B neighbouring rows of (n_l, k)."""
    return np.add.reduceat(level, np.arange(0, len(level), branching), axis=0)


def _estimates(levels: Sequence[ArrayLike], branching: int) -> list[np.ndarray]:
    """Return the levels as (n_l, k)."""
    arrays = [finite(level, "the estimates of a level") for level in levels]
    if not arrays or any(array.ndim not in (1, 2) or not array.size for array in arrays):
        raise ValueError(f"{len(arrays)} levels were given, but a tree has one or more, none empty: {ADVICE}")
    sizes = [array.shape for array in arrays]
    for below, above in pairwise(sizes):
        if above != (-(-below[0] // branching), *below[1:]):
            raise ValueError(
                f"a level of shape {above} was given above one of shape {below}, but with branching {branching} it "
                f"has {-(-below[0] // branching)} nodes: {ADVICE}"
            )
    return [array.reshape(len(array), -1) for array in arrays]


def _variances(given: Sequence[ArrayLike] | None, estimates: list[np.ndarray]) -> list[np.ndarray]:
    """Return the variances as (n_l, 1), equal unless given."""
    chosen = [1.0] * len(estimates) if given is None else list(given)
    if len(chosen) != len(estimates):
        raise ValueError(
            f"{len(chosen)} variances were given for {len(estimates)} levels: give one a level, or one a node"
        )
    variances = []
    for k, (y, one) in enumerate(zip(estimates, chosen, strict=True)):
        array = numbers(one)
        if array.shape not in ((), (len(y),)) or not (array > 0).all() or (k == 0 and np.isinf(array).any()):
            raise ValueError(
                f"the variances of a level of {len(y)} nodes were given as {one!r}, but are positive, one or one a "
                "node, and finite for the leaves: correct them"
            )
        variances.append(np.broadcast_to(array, len(y)).reshape(-1, 1))
    return variances
