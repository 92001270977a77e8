"""Trees for ranges: the branchings, oracles and level weights that are worth a look on a workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stratagem.published.partition import strength
from stratagem.strategies import LinearProtocol, Strategy

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


def screen(
    V: np.ndarray,
    epsilon: float,
    keep: int,
    oracles: Mapping[str, Callable[[int, float], Strategy | LinearProtocol]],
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
        known = {k: strength(make(k, epsilon)) for k in {k for one in cells for k in one}}
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
    n, sums = len(V), _corner_sums(V)
    rows = []
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


def _corner_sums(V: np.ndarray) -> np.ndarray:
    """Return the sums of V over the cells above and left of every corner, (n + 1) x (n + 1)."""
    sums = np.zeros((len(V) + 1,) * 2)
    sums[1:, 1:] = V.cumsum(axis=0).cumsum(axis=1)
    return sums


def _rectangle(rows: Sequence[Sequence[float] | np.ndarray]) -> np.ndarray:
    """Return rows of different lengths as one array, zeros behind the short ones."""
    array = np.zeros((len(rows), max(map(len, rows))))
    for line, row in zip(array, rows, strict=True):
        line[: len(row)] = row
    return array
