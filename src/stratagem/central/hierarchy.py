"""Trees of ranges with a budget for every level, and hierarchies over one ordered attribute."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy.optimize import minimize, root_scalar

from stratagem.math.number import entries, integer
from stratagem.published.hierarchical import level_widths
from stratagem.workloads.workload import MATRIX_LIMIT

BRANCHINGS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 24, 32, 48, 64)
"""Branchings that are tried."""
ROUNDS = 60
"""Largest number of descent steps from each start of the search for budgets."""


class Tree(ABC):
    """Nodes level by level, leaves first; the nodes of a level split the domain, so a person is in one of each."""

    branching: int

    @cached_property
    @abstractmethod
    def widths(self) -> list[int]:
        """Number of values along an attribute in a node of every level (h,), 1 for the leaves."""

    @cached_property
    @abstractmethod
    def levels(self) -> np.ndarray:
        """Level of every node (k,), 0 for the leaves."""

    @abstractmethod
    def queries(self) -> np.ndarray:
        """Return the nodes as queries K (k x n) of zeros and ones.

        Raises:
            ValueError: when K would hold more than 2^27 numbers.
        """

    @final
    def shares(self, budgets: np.ndarray) -> np.ndarray:
        """Return the share of every node (k,) from the budgets of the levels (h,), leaves first.

        Raises:
            ValueError: unless there is a nonnegative budget for each level and not all are zero.
        """
        w = np.asarray(budgets, dtype=float)
        if w.shape != (len(self.widths),) or (w < 0).any() or not 0 < w.sum() < math.inf:
            raise ValueError(f"budgets have shape {w.shape}: give each of {len(self.widths)} levels a part")
        return (w / w.sum())[self.levels]


def check_queries(nodes: int, domain_size: int) -> None:
    """Refuse a matrix of nodes that would be too large.

    Raises:
        ValueError: above 2^27 numbers.
    """
    entries(nodes * domain_size, MATRIX_LIMIT, "the nodes as queries", "use fewer values")


def best_budgets(tree: Tree, V: np.ndarray) -> np.ndarray:
    """Return budgets of the levels (h,), leaves first, that minimise the total variance of a workload.

    L-BFGS over the logarithms from even and tilted budgets; the leaves keep at least 1e-6 of the largest.
    """
    K, levels = tree.queries().astype(float), tree.levels
    blocks = np.stack([K[levels == level].T @ K[levels == level] for level in range(len(tree.widths))])
    scale = np.trace(V)

    def value(logs: np.ndarray) -> tuple[float, np.ndarray]:
        w = np.exp(logs - logs.max())
        inverted = np.linalg.inv(np.tensordot(w**2, blocks, 1))
        f, total = (inverted * V).sum() / scale, w.sum()
        slope = -2 * w**2 * np.tensordot(blocks, inverted @ V @ inverted, 2) / scale
        return math.log(f) + 2 * math.log(total), slope / f + 2 * w / total

    h = len(tree.widths)
    starts = [np.zeros(h), -np.arange(h) / 2.0, np.arange(h) / 2.0]
    starts += [np.where(np.arange(h) % k == 0, 0.0, -2.0) for k in (2, 3) if k < h]
    limits = [(-14.0, 0.0)] * h
    rounds = {"maxiter": ROUNDS}
    found = [
        minimize(value, start - start.max(), jac=True, method="L-BFGS-B", bounds=limits, options=rounds)
        for start in starts
    ]
    logs = min(found, key=lambda one: one.fun).x
    w = np.exp(logs - logs.max())
    return w / w.sum()


@dataclass(frozen=True)
class Hierarchy(Tree):
    """The B-ary tree over n values without its root: counts of 1, B, B^2, ... neighbouring values.

    The root is left out because the levels below add up to it. Any n: a level's last node may be short. One
    person changes one node a level, so that h levels cost h times the budget of one.

    Raises:
        ValueError: for a domain without values or a branching below 2.

    Reference:
        Qardaji, Yang, Li, "Understanding hierarchical methods for differentially private histograms", PVLDB 2013.
    """

    domain_size: int
    branching: int

    def __post_init__(self) -> None:
        """Check both numbers."""
        integer(self.domain_size, "the domain size", 1, 2**20, "give the number of values")
        integer(self.branching, "the branching", 2, 2**20, "give the children of a node")

    @cached_property
    def widths(self) -> list[int]:
        return level_widths(self.domain_size, self.branching)

    @cached_property
    def spans(self) -> np.ndarray:
        """First value and last value (k x 2) of every node, level by level, leaves first."""
        n = self.domain_size
        firsts = [np.arange(0, n, width) for width in self.widths]
        return np.vstack(
            [np.column_stack([a, np.minimum(a + w, n) - 1]) for a, w in zip(firsts, self.widths, strict=True)]
        )

    @cached_property
    def levels(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.widths)), [-(-self.domain_size // w) for w in self.widths])

    def queries(self) -> np.ndarray:
        check_queries(len(self.spans), self.domain_size)
        u, (first, last) = np.arange(self.domain_size), self.spans.T[:, :, None]
        return ((first <= u) & (u <= last)).astype(np.int64)


def published_variance(domain_size: int, branching: int) -> float:
    """Return ((B - 1) h^3 - 2 (B + 1) h^2/3) for h = ceil(log_B n): the average over ranges, in units 2/epsilon^2.

    Reference:
        Qardaji, Yang, Li, PVLDB 2013, equation 4: without inference and with equal budgets.
    """
    h, width = 1, branching
    while width < domain_size:
        h, width = h + 1, width * branching
    return (branching - 1) * h**3 - 2 * (branching + 1) * h**2 / 3


def published_branching(domain_size: int) -> int:
    """Return the branching B <= n, at least 2, with the least `published_variance`."""
    return min(range(2, max(3, domain_size + 1)), key=lambda b: published_variance(domain_size, b))


def limiting_branching() -> float:
    """Return the root 16.80 of B ln B = 3 B - 3: the best branching of a very large domain."""
    return root_scalar(lambda b: b * math.log(b) - 3 * b + 3, bracket=(2, 100)).root
