"""Partial patterns and the lower bounds on every way to complete them."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from stratagem.bounds.slack import Slack
from stratagem.bounds.split import rounding


@dataclass(frozen=True, eq=False)
class Nodes:
    """N partial patterns: T holds the chosen elements, its others come after the last of them."""

    chosen: np.ndarray
    """(N, n) bool."""
    last: np.ndarray
    """Largest chosen element (N,), -1 where none is chosen."""
    size: np.ndarray
    """|T| (N,)."""
    missing: np.ndarray
    """Elements still to choose (N,), at least 1."""
    value: np.ndarray
    """f of the chosen elements alone (N,)."""
    score: np.ndarray
    """Lower bound on the score f(T)/lengths (N,)."""

    def __len__(self) -> int:
        """Return N."""
        return len(self.size)

    def take(self, index: np.ndarray) -> Nodes:
        """Return the nodes at an index or mask."""
        return Nodes(*(getattr(self, field.name)[index] for field in fields(self)))

    def join(self, *others: Nodes) -> Nodes:
        """Return these nodes and others in one."""
        parts = (self, *others)
        return Nodes(*(np.concatenate([getattr(p, field.name) for p in parts]) for field in fields(self)))


def roots(slack: Slack, size: np.ndarray, score: np.ndarray) -> Nodes:
    """Return the nodes of all patterns of each size (N,), with the bounds known for them (N,)."""
    nothing = np.zeros((len(size), len(slack.linear)), dtype=bool)
    return Nodes(nothing, np.full(len(size), -1), size, size, np.full(len(size), slack.constant), score)


class Tree:
    """The bounds of one certificate: what a partial pattern of each size costs at the very least.

    Elements are taken in their order. A node's bound is f of the chosen part plus the cheapest missing
    elements l after the last chosen j, each at linear_l, its pairs with the chosen part, and its own
    `missing - 1` cheapest split costs P_ll' with l' after j (module split). Exact when one is missing.
    """

    def __init__(self, slack: Slack, splits: dict[int, np.ndarray]) -> None:
        self.slack, self.n = slack, len(slack.linear)
        self.errors = {size: slack.rounding[size] + rounding(P) for size, P in splits.items()}
        self.tables = {size: _cheapest(P, size) for size, P in splits.items()}

    def expand(self, nodes: Nodes) -> tuple[Nodes, np.ndarray]:
        """Return the children of nodes of one size and depth, and for each the cheapest last element (C,).

        The last element completes a child that misses just one.
        """
        size, missing = int(nodes.size[0]), int(nodes.missing[0]) - 1
        position = np.arange(self.n)
        field = self.slack.linear + nodes.chosen.astype(float) @ self.slack.pair
        parent, j = np.nonzero((position > nodes.last[:, None]) & (position < self.n - missing))
        value = nodes.value[parent] + field[parent, j]
        chosen = nodes.chosen[parent]
        chosen[np.arange(len(j)), j] = True
        rest = field[parent] + self.slack.pair[j] + self.tables[size][missing - 1, j]
        final = rest.argmin(axis=1)
        rest.partition(missing - 1, axis=1)
        bound = value + rest[:, :missing].sum(axis=1) - self.errors[size]
        score = np.maximum(bound / self.slack.lengths[size], nodes.score[parent])
        return Nodes(chosen, j, np.full(len(j), size), np.full(len(j), missing), value, score), final


def _cheapest(P: np.ndarray, size: int) -> np.ndarray:
    """Return H (size - 1, n, n): H[q, j, l] = sum of the q smallest P_ll' over l' after j; inf for l <= j."""
    n = len(P)
    after = np.arange(n)[None, :] > np.arange(n)[:, None]
    P = np.where(np.eye(n, dtype=bool), np.inf, P)
    costs = np.sort(np.where(after[:, None, :], P, np.inf), axis=2)[:, :, : max(size - 2, 0)]
    H = np.concatenate([np.zeros((1, n, n)), np.cumsum(np.moveaxis(costs, 2, 0), axis=0)])
    return np.where(after, H, np.inf)
