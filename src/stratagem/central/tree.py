"""The common base of all hierarchies: levels that each split the domain, and the budget of every level."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import final

import numpy as np
from scipy.optimize import minimize

from stratagem.math.number import entries
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
            raise ValueError(f"Budgets have shape {w.shape}; give each of {len(self.widths)} levels a part.")
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
