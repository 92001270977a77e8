"""Best-first branch and bound for the worst pattern of a dual certificate."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stratagem.bounds.slack import Slack
from stratagem.bounds.split import ascend, even, root
from stratagem.bounds.tree import Nodes, Tree

BATCH = 1 << 11
"""Nodes expanded at once."""
MAX_NODES = 1 << 22
"""Nodes kept waiting; about half a gigabyte at n = 64."""


@dataclass(frozen=True, eq=False)
class Worst:
    """How negative f(T)/(1^T s)^2 can be over all 2^n patterns T."""

    lower: float
    """A lower bound on it, at most 0."""
    attained: float
    """Its value at the worst pattern met, at most 0; equal to `lower` when the search was completed."""
    patterns: np.ndarray
    """Violated patterns met (N, n) bool."""
    nodes: int
    """Nodes expanded."""


def worst(slack: Slack, E: float, seeds: np.ndarray, tolerance: float, seconds: float, polish: int = 100) -> Worst:
    """Bound min over T of f(T)/(1^T s)^2 from below, until within a tolerance of the worst pattern met.

    seeds (N x n bool) are patterns to start the comparison with. The search keeps the nodes whose bound is
    below the worst pattern met and expands the lowest first, so it can stop at any time: the answer is then
    the lowest bound still waiting. Sizes 0, 1 and n are evaluated exactly.
    """
    deadline = time.monotonic() + seconds
    n = len(slack.linear)
    small = np.concatenate([np.zeros((1, n), bool), np.eye(n, dtype=bool), np.ones((1, n), bool)])
    search = _Search(slack, E, np.concatenate([small, seeds]))
    tree, waiting = search.plant(polish)
    while waiting is not None and len(waiting):
        low = waiting.score.min()
        if low >= search.attained - tolerance or time.monotonic() > deadline or len(waiting) > MAX_NODES:
            break
        waiting = search.advance(tree, waiting)
    low = search.attained if waiting is None or not len(waiting) else min(search.attained, waiting.score.min())
    floor = low - slack.rounding / n**2
    return Worst(min(floor, 0.0), search.attained, np.concatenate(search.found), search.expanded)


class _Search:
    """The incumbent of a search and what was met on the way."""

    def __init__(self, slack: Slack, E: float, seeds: np.ndarray) -> None:
        self.slack, self.E, self.n = slack, E, len(slack.linear)
        self.attained, self.found, self.expanded = 0.0, [], 0
        self.meet(seeds)

    def meet(self, X: np.ndarray) -> None:
        """Evaluate patterns (N x n bool) and keep those that are violated."""
        score = self.slack.values(X) / np.square(self.n + (self.E - 1) * X.sum(axis=1))
        self.attained = min(self.attained, float(score.min(initial=0.0)))
        self.found.append(X[score < 0])

    def plant(self, polish: int) -> tuple[Tree, Nodes | None]:
        """Return the tree and the roots of all sizes from 2 to n - 1 whose bound is not good enough."""
        splits, scores = {}, {}
        for size in range(2, self.n):
            length = (self.n + (self.E - 1) * size) ** 2
            P = even(self.slack)
            bound = root(self.slack, P, size)[0]
            if bound < self.attained * length and polish:
                P = ascend(self.slack, size, self.attained * length, polish)
                bound = root(self.slack, P, size)[0]
            score = (bound - self.slack.rounding) / length
            if score < self.attained:
                splits[size], scores[size] = P, score
        tree = Tree(self.slack, self.E, splits)
        roots = [tree.root(size, score) for size, score in scores.items()]
        return tree, roots[0].join(*roots[1:]) if roots else None

    def advance(self, tree: Tree, waiting: Nodes) -> Nodes:
        """Expand the lowest nodes; return those still waiting with the children that may be worse than the incumbent."""
        first = np.zeros(len(waiting), dtype=bool)
        count = min(BATCH, len(waiting))
        first[np.argpartition(waiting.score, count - 1)[:count]] = True
        batch, parts = waiting.take(first), [waiting.take(~first)]
        kind = batch.size * self.n + batch.missing
        for value in np.unique(kind):
            children, final = tree.expand(batch.take(kind == value))
            below = children.score < self.attained
            children, final = children.take(below), final[below]
            self.expanded += len(below)
            if not len(children):
                continue
            if children.missing[0] == 1:
                X = children.chosen.copy()
                X[np.arange(len(X)), final] = True
                self.meet(X)
            else:
                parts.append(children)
        waiting = parts[0].join(*parts[1:])
        return waiting.take(waiting.score < self.attained)
