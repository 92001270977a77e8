"""The hierarchical mechanism for ranges."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from stratagem.math.number import integer, numbers
from stratagem.published.baseline import LARGE, Baseline, Candidates, Setting
from stratagem.published.partition import TUNED, partition_strategy
from stratagem.published.tree import level_widths, screen
from stratagem.strategies.two_level import TwoLevelStrategy


def hierarchical(
    domain_size: int,
    epsilon: float,
    branching: int = 4,
    oracle: str = "hadamard",
    levels: ArrayLike | None = None,
) -> TwoLevelStrategy:
    """Draw a level of a B-ary tree over the domain, report the user's node there through an oracle.

    Levels l = 0, 1, ..., h - 1 group B^l neighbouring values into ceil(n / B^l) nodes, down from the
    children of the root (the root itself tells nothing); Q stacks the oracles of the levels, weighted by
    their probabilities. Any n: the last node of a level may be short.

    Args:
        domain_size: number n of user types.
        epsilon: the budget.
        branching: B, from 2.
        oracle: "hadamard" (response), "randomised" (response), "one-bit" (of a Hadamard coefficient) or
            "design" (a block of a balanced design, or a point of a geometry).
        levels: probabilities of the levels (h,), leaves first, with sum 1; all equal by default.

    Guarantee:
        epsilon-LDP: each row is a row of one epsilon-LDP oracle, repeated over the members of a node.

    Raises:
        ValueError: if `branching` is below 2, the oracle is unknown, or `levels` are not probabilities of
            the levels.

    Reference:
        Cormode, Kulkarni, Srivastava, "Answering range queries under local differential privacy", PVLDB 2019.
    """
    partitions, shares = node_partitions(domain_size, branching, levels)
    return partition_strategy(partitions, shares, epsilon, oracle)


def node_partitions(
    domain_size: int, branching: int, levels: ArrayLike | None
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the node of every type (n,) on each level of positive probability, and the probabilities."""
    domain_size = integer(domain_size, "the domain size", 1, 1 << 24, "name the size of the domain")
    branching = integer(
        branching, "the branching", 2, 1 << 53, "a tree needs at least 2 children for each node"
    )
    widths = level_widths(domain_size, branching)
    p = np.full(len(widths), 1 / len(widths)) if levels is None else numbers(levels)
    if p.shape != (len(widths),) or not (p >= 0).all() or abs(p.sum() - 1) > 1e-9:
        raise ValueError(
            f"the levels have probabilities of shape {p.shape} and sum {p.sum():.6g}; {domain_size} values in "
            f"nodes of {branching} have {len(widths)} levels: give one probability for each, with sum 1"
        )
    drawn = np.flatnonzero(p)
    return [np.arange(domain_size) // widths[level] for level in drawn], p[drawn] / p.sum()


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    n = setting.domain_size
    screened = screen(setting.gram, epsilon, 1 if n > LARGE else 2, TUNED)
    for words, trees in zip(("equal levels", "optimal levels"), screened, strict=True):
        for tree in trees:
            strategy = hierarchical(n, epsilon, tree.branching, tree.oracle, tree.shares)
            yield f"branching {tree.branching}, {tree.oracle}, {words}", strategy


HIERARCHICAL = Baseline(
    "hierarchical",
    "a random level of a tree over the domain",
    "@cormode2019answering",
    _candidates,
)
