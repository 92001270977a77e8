"""The plan of an audit of a table: every output is counted by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stratagem.auditor.event import EXCESS, TINY, Favoured, best_event
from stratagem.auditor.output_classes import OutputClasses
from stratagem.auditor.plan import AuditPlan, Chosen, Classes, Pair, filled, matched, pooled
from stratagem.strategies import Strategy

CANDIDATES = 256
"""Number of user types among which the most different pair is searched for."""
ENTRIES = 1 << 25
"""Largest number of entries of the array that holds the columns of the user types."""
SHORTLIST = 32
"""Number of pairs for which the best event is computed."""


def choose(strategy: Strategy, types: int, samples: int, level: float, rng: np.random.Generator) -> Chosen:
    """Return user types to test: all where there are no more than `types`, otherwise mostly random ones.

    The first of them are then the two that differ most among (at most 256) random candidates, the first and
    the last user type: all from the table and the generator, before any report is seen.
    """
    n = strategy.domain_size
    room = max(2, ENTRIES // max(n, strategy.outputs))
    count = min(types, room)
    if n <= count:
        return Chosen(tuple(range(n)), None)
    some = rng.permutation(n)[: min(max(count, CANDIDATES), room)].tolist()
    candidates = np.unique([0, n - 1, *some])
    furthest = _furthest(_columns(strategy, candidates), samples, level)
    return filled([*candidates[list(furthest)].tolist(), 0, n - 1], some, count)


def plan(strategy: Strategy, user_types: Sequence[int], samples: int, level: float) -> AuditPlan:
    """Return the plan of an audit of these user types, events chosen for `samples` reports of each."""
    Q = _columns(strategy, user_types)
    pairs = [Pair(user_types[i], user_types[j], Q[:, i], Q[:, j]) for i, j in matched(_distances(Q))]
    return AuditPlan(tuple(user_types), *_classes(strategy, Q), pooled(pairs, samples, level))


def classes(strategy: Strategy, user_types: Sequence[int]) -> Classes:
    """Return the classes of outputs that are counted for user types, and the outputs that favour each."""
    return _classes(strategy, _columns(strategy, user_types))


def distances(strategy: Strategy, user_types: Sequence[int]) -> np.ndarray:
    """Return the chi-squared distances (t, t) between user types."""
    return _distances(_columns(strategy, user_types))


def pair(strategy: Strategy, u: int, v: int) -> Pair:
    """Return two user types, with the probability of every output for each of them."""
    of_u, of_v = _columns(strategy, (u, v)).T
    return Pair(u, v, of_u, of_v)


def _classes(strategy: Strategy, Q: np.ndarray) -> Classes:
    mean = strategy.forward(np.full(strategy.domain_size, 1 / strategy.domain_size))
    return tuple((("outputs", OutputClasses(column)),) for column in Q.T), tuple(_favoured(Q, mean))


def _columns(strategy: Strategy, user_types: Sequence[int] | np.ndarray) -> np.ndarray:
    """Return the probabilities (m x t) of all outputs for these user types."""
    one_hot = np.zeros((strategy.domain_size, len(user_types)))
    one_hot[np.asarray(user_types), np.arange(len(user_types))] = 1
    return strategy.forward(one_hot)


def _favoured(Q: np.ndarray, mean: np.ndarray) -> list[Favoured]:
    """Return the outputs that favour every column, and how likely they are after every log-ratio grew by 5 %."""
    least, found = np.maximum(Q.min(axis=1), TINY), []
    for column in Q.T:
        inside = column > mean * (1 + 1e-9)
        raised = column * np.maximum(column / least, 1) ** EXCESS
        share = float(raised[inside].sum() / raised.sum())
        found.append(Favoured(inside, min(float(column[inside].sum()), 1.0), share))
    return found


def _distances(Q: np.ndarray) -> np.ndarray:
    """Return the chi-squared distances sum_y (Q[y, u] - Q[y, v])^2 / d_y of all columns, d the row sums."""
    d = Q.sum(axis=1)
    scaled = Q[d > 0] / np.sqrt(d[d > 0])[:, None]
    gram = scaled.T @ scaled
    size = gram.diagonal()
    distance = size[:, None] + size - 2 * gram
    distance[distance <= 1e-12 * size.max(initial=0)] = 0  # the same column twice
    np.fill_diagonal(distance, 0)
    return distance


def _furthest(Q: np.ndarray, samples: int, level: float) -> tuple[int, int]:
    """Return the two columns whose best event gives the largest bound, of 32 pairs with large chi-squared distance."""
    rows, columns = np.triu_indices(Q.shape[1], 1)
    distance = _distances(Q)[rows, columns]
    pairs = [(int(rows[k]), int(columns[k])) for k in np.argsort(-distance, kind="stable")[:SHORTLIST]]

    def promise(pair: tuple[int, int]) -> float:
        return best_event(*pair, (Q[:, pair[0]], Q[:, pair[1]]), samples, level)[1]

    return max(pairs, key=promise)
