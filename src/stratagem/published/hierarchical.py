"""The hierarchical mechanism for ranges, with strategies or encodings on its levels, and the trees worth a look."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stratagem.math.number import integer, numbers
from stratagem.published.baseline import LARGE, Baseline, Candidates, Oracle, Setting
from stratagem.published.partition import ENCODINGS, TUNED, partition_protocol, partition_strategy
from stratagem.strategies import LinearProtocol, Strategy
from stratagem.strategies.stratified_protocol import StratifiedProtocol
from stratagem.strategies.two_level import TwoLevelStrategy

STEPS = 300
"""Multiplicative updates of the level weights; on prefix and all-range they leave 1e-4 of the objective."""
LEAST = 1e-9
"""Probability below which a level is left out."""
ROUNDING = 1e-12
"""Share of tr V below which the trace on a level counts as zero."""


@dataclass(frozen=True, eq=False)
class TunedTree:
    """The parameters of a hierarchical mechanism, with an estimate of its objective."""

    branching: int
    oracle: str
    shares: np.ndarray
    """Probabilities of the levels (h,), leaves first."""
    estimate: float
    """Its objective without the constant 1^T V 1 / n: exact if nodes are full and oracles symmetric."""


def level_widths(domain_size: int, branching: int) -> list[int]:
    """Return the node widths 1, B, B^2, ... below n; a single leaf level when n = 1."""
    widths = [1]
    while widths[-1] * branching < domain_size:
        widths.append(widths[-1] * branching)
    return widths


def screened_trees(
    V: np.ndarray, epsilon: float, keep: int, oracles: Mapping[str, Oracle]
) -> tuple[list[TunedTree], list[TunedTree]]:
    """Return the `keep` trees of least estimate with equal and with optimised probabilities of the levels.

    If nodes are full and oracles treat their cells alike, M is mu_l = sum_{i <= l} p_i e_i on the functions
    of level l (0 the leaves) that average to zero over each node of level l + 1, e_i the strength of the
    oracle on the nodes of level i. So L = 1^T V 1/n + sum_l c_l / mu_l, c_l the trace of V on those
    functions: all branchings from 2 to n - 1 cost O(n log n) sums of V over squares.

    Reference:
        Equal weights: Cormode, Kulkarni, Srivastava, PVLDB 2019, Lemma 9, where they minimise a bound.
    """
    n, branchings = len(V), range(2, max(3, len(V)))
    widths = [level_widths(n, branching) for branching in branchings]
    energies = level_energies(V, branchings)
    cells = [[-(-n // width) for width in one] for one in widths]
    found: tuple[list[TunedTree], list[TunedTree]] = ([], [])
    for oracle, make in oracles.items():
        known = {k: make(k, epsilon).strength for k in {k for one in cells for k in one}}
        strengths = _rectangle([[known[k] for k in one] for one in cells])
        equal = _rectangle([[1 / len(one)] * len(one) for one in widths])
        for trees, shares in zip(found, (equal, _optimal(energies, strengths, equal)), strict=True):
            estimates = _quotients(energies, np.cumsum(shares * strengths, axis=1)).sum(axis=1)
            for i in np.argsort(estimates)[:keep]:
                trees.append(
                    TunedTree(branchings[i], oracle, shares[i, : len(widths[i])], float(estimates[i]))
                )
    best = (sorted(trees, key=lambda tree: tree.estimate)[:keep] for trees in found)
    return next(best), next(best)


def _optimal(energies: np.ndarray, strengths: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return level weights (B x h) that minimise sum_l c_l / mu_l, starting from `shares`.

    The objective is convex, and p_l <- p_l sqrt(g_l), g = -dL/dp, scaled to sum 1 never raises it.

    Reference:
        Silvey, Titterington, Torsney 1978, "An algorithm for optimal designs on a finite design space".
    """
    for _ in range(STEPS if energies.any() else 0):
        falling = _quotients(energies, np.cumsum(shares * strengths, axis=1) ** 2)
        gradient = strengths * np.cumsum(falling[:, ::-1], axis=1)[:, ::-1]
        moved = shares * np.sqrt(gradient)
        moved[moved < LEAST * moved.max(axis=1, keepdims=True)] = 0
        shares = moved / moved.sum(axis=1, keepdims=True)
    return shares


def _quotients(energies: np.ndarray, eigenvalues: np.ndarray) -> np.ndarray:
    """Return c / mu entry by entry, zero where c is zero."""
    return np.divide(energies, eigenvalues, out=np.zeros_like(energies), where=energies > 0)


def level_energies(V: np.ndarray, branchings: Sequence[int]) -> np.ndarray:
    """Return c_l for every branching (B x h), zeros behind the levels of the shorter trees.

    c_l is the trace of V on the functions that are constant on each node of level l, less that of level l + 1.
    """
    n, rows = len(V), []
    sums = np.pad(
        V.cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0))
    )  # over the cells above and left of every corner
    for branching in branchings:
        constant = []
        for width in (*level_widths(n, branching), n):
            edges = np.append(np.arange(0, n, width), n)
            low, high = edges[:-1], edges[1:]
            squares = sums[high, high] - sums[low, high] - sums[high, low] + sums[low, low]
            constant.append((squares / (high - low)).sum())
        falls = -np.diff(constant)
        rows.append(np.where(falls > ROUNDING * constant[0], falls, 0))
    return _rectangle(rows)


def _rectangle(rows: Sequence[Sequence[float] | np.ndarray]) -> np.ndarray:
    """Return rows of different lengths as one array, zeros behind the short ones."""
    array = np.zeros((len(rows), max(map(len, rows))))
    for line, row in zip(array, rows, strict=True):
        line[: len(row)] = row
    return array


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
    return _best(setting, epsilon, 1 if setting.domain_size > LARGE else 2, TUNED, hierarchical)


def _best(
    setting: Setting,
    epsilon: float,
    keep: int,
    oracles: Mapping[str, Oracle],
    tree: Callable[..., Strategy | LinearProtocol],
) -> Candidates:
    """Yield a mechanism for each of the best trees."""
    screened = screened_trees(setting.gram, epsilon, keep, oracles)
    for words, trees in zip(("equal levels", "optimal levels"), screened, strict=True):
        for one in trees:
            made = tree(setting.domain_size, epsilon, one.branching, one.oracle, one.shares)
            yield f"branching {one.branching}, {one.oracle}, {words}", made


HIERARCHICAL = Baseline(
    "hierarchical",
    "a random level of a tree over the domain",
    "@cormode2019answering",
    _candidates,
)


def tree_encoding(
    domain_size: int,
    epsilon: float,
    branching: int = 4,
    encoding: str = "optimised",
    levels: ArrayLike | None = None,
) -> StratifiedProtocol:
    """Draw a level of a B-ary tree over the domain, report the user's node there by an encoding.

    Levels as in `hierarchical`; the encoding is "optimised" (OUE), "symmetric" (SUE) or "hashing" (OLH). The
    estimate is the least-squares one with the root fixed to the number of users, so that every node is the sum of
    its children (constrained inference).

    Guarantee:
        epsilon-LDP: that of `partition_protocol`.

    Raises:
        ValueError: as `hierarchical`.

    Reference:
        Cormode, Kulkarni, Srivastava, "Answering range queries under local differential privacy", PVLDB
        2019, sections 4.4 and 4.5; Hay et al., PVLDB 2010, for the least squares.
    """
    partitions, shares = node_partitions(domain_size, branching, levels)
    return partition_protocol(partitions, shares, epsilon, encoding)


def _encoded(setting: Setting, epsilon: float) -> Candidates:
    if setting.domain_size <= LARGE:
        yield from _best(setting, epsilon, 1, ENCODINGS, tree_encoding)


TREE_ENCODING = Baseline(
    "tree-encoding",
    "a random level of a tree over the domain, as noisy bits or a noisy hash",
    "@cormode2019answering (TreeOUE, TreeOLH with consistency)",
    _encoded,
    slow=True,
)
