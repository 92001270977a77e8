"""Best-first branch and bound for the worst pattern of a dual certificate."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from stratagem.bounds.lift import lift
from stratagem.bounds.slack import Slack
from stratagem.bounds.split import ascend, even, root, rounding
from stratagem.bounds.tree import Nodes, Tree, roots

BATCH = 1 << 11
"""Nodes expanded at once."""
MAX_NODES = 1 << 22
"""Nodes kept waiting; about half a gigabyte at n = 64."""


@dataclass(frozen=True, eq=False)
class Worst:
    """How negative the score f(T)/lengths can be over all 2^n patterns T."""

    lower: float
    """A lower bound on it, at most 0."""
    attained: float
    """Its value at the worst pattern met, at most 0; equal to `lower` when the search was completed."""
    patterns: np.ndarray
    """Violated patterns met (N, n) bool."""
    nodes: int
    """Partial patterns bounded."""


def worst(slack: Slack, seeds: np.ndarray, tolerance: float, seconds: float) -> Worst:
    """Bound the least score f(T)/lengths over all T from below, until within a tolerance of the worst pattern met.

    seeds (N x n bool) are patterns to start the comparison with. The search keeps the nodes whose bound is
    below the worst pattern met and expands the lowest first, so it can stop at any time: the answer is then
    the lowest bound still waiting. Half-way through its time it lifts the roots (module lift), which raises
    the bounds of whole sizes at once. Sizes 0, 1 and n are evaluated exactly.
    """
    begun = time.monotonic()
    n = len(slack.linear)
    search = _Search(slack, begun + seconds)
    search.meet(np.concatenate([np.zeros((1, n), bool), np.eye(n, dtype=bool), np.ones((1, n), bool), seeds]))
    tree, waiting = search.plant()
    lifted = False
    while len(waiting) and waiting.score.min() < search.attained - tolerance:
        spent = time.monotonic() - begun
        if spent > seconds or len(waiting) > MAX_NODES:
            break
        if spent > seconds / 2 and not lifted:
            waiting, lifted = search.lift(waiting), True
        else:
            waiting = search.advance(tree, waiting)
    low = float(waiting.score.min(initial=search.attained))
    floor = min(low, search.attained) - float((slack.rounding / slack.lengths).max())
    return Worst(min(floor, 0.0), search.attained, np.concatenate(search.found), search.expanded)


class _Search:
    """The worst pattern met so far, and the steps that may find a worse one."""

    def __init__(self, slack: Slack, deadline: float) -> None:
        self.slack, self.n, self.deadline = slack, len(slack.linear), deadline
        self.attained, self.expanded = 0.0, 0
        self.found: list[np.ndarray] = []

    def meet(self, X: np.ndarray) -> None:
        """Evaluate patterns (N x n bool) and keep those that are violated."""
        score = self.slack.scores(X)
        self.attained = min(self.attained, float(score.min(initial=0.0)))
        self.found.append(X[score < 0])

    def plant(self) -> tuple[Tree, Nodes]:
        """Return the tree and the roots of all sizes from 2 to n - 1 whose bound is not good enough."""
        splits, scores = {}, {}
        for size in range(2, self.n):
            P, score = even(self.slack), self.score(even(self.slack), size)
            if score < self.attained and time.monotonic() < self.deadline:
                P = ascend(self.slack, size, self.attained * float(self.slack.lengths[size]))
                score = self.score(P, size)
            if score < self.attained:
                splits[size], scores[size] = P, score
        sizes = np.array(list(scores), dtype=int)
        return Tree(self.slack, splits), roots(self.slack, sizes, np.array(list(scores.values())))

    def score(self, P: np.ndarray, size: int) -> float:
        """Return the root bound on the score at a size."""
        error = self.slack.rounding[size] + rounding(P)
        return (root(self.slack, P, size)[0] - error) / float(self.slack.lengths[size])

    def lift(self, waiting: Nodes) -> Nodes:
        """Return the waiting nodes with the semidefinite root bound of their size where that is higher."""
        score = waiting.score.copy()
        for size in np.unique(waiting.size):
            if time.monotonic() > self.deadline:
                break
            rest, P = lift(self.slack, int(size), self.attained * float(self.slack.lengths[size]))
            value = (
                root(rest, P, int(size))[0]
                - self.slack.rounding[size]
                - 4 * rounding(P)
                - rounding(rest.pair)
            )
            same = waiting.size == size
            score[same] = np.maximum(score[same], value / self.slack.lengths[size])
        waiting = replace(waiting, score=score)
        return waiting.take(score < self.attained)

    def advance(self, tree: Tree, waiting: Nodes) -> Nodes:
        """Expand the lowest nodes; return all that may still hold a pattern worse than the worst met."""
        count = min(BATCH, len(waiting))
        first = np.zeros(len(waiting), dtype=bool)
        first[np.argpartition(waiting.score, count - 1)[:count]] = True
        batch, parts = waiting.take(first), [waiting.take(~first)]
        kind = batch.size * self.n + batch.missing
        for value in np.unique(kind):
            children, final = tree.expand(batch.take(kind == value))
            self.expanded += len(children)
            below = children.score < self.attained
            children, final = children.take(below), final[below]
            if len(children) and children.missing[0] == 1:
                X = children.chosen.copy()
                X[np.arange(len(X)), final] = True
                self.meet(X)
            else:
                parts.append(children)
        waiting = parts[0].join(*parts[1:])
        return waiting.take(waiting.score < self.attained)
