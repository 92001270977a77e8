"""Events that tell user types apart best, and what their counts prove about epsilon."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrik, betainccinv, betaincinv, expit, logit, ndtri

from stratagem.auditor.goodness import share_fit
from stratagem.strategies import Strategy

CANDIDATES = 256
"""User types among which the pair that differs most is sought."""
ENTRIES = 1 << 24
"""Numbers of an array that holds the columns of the candidates."""
SHORTLIST = 32
"""Pairs whose best event is computed."""
MISS = 0.01
"""Probability with which an epsilon called provable or noticeable is missed."""
TINY = 1e-300
"""In place of zero, where an output never comes."""
MOST = 10**12
"""Samples beyond which nobody goes."""


@dataclass(frozen=True, eq=False)
class Event:
    """A set S of outputs that is likelier for user type u than for v: p = Q_u(S) > q = Q_v(S)."""

    u: int
    v: int
    inside: np.ndarray
    """Which classes of outputs belong to S, bool."""
    p: float
    q: float
    classes: Callable[[np.ndarray], np.ndarray] = np.asarray
    """From outputs (k,) to their classes; as they are where every output is a class."""

    def hits(self, outputs: np.ndarray) -> int:
        """Return how many outputs (k,) belong to S."""
        return int(self.inside[self.classes(outputs)].sum())


def best_event(
    u: int, v: int, columns: tuple[np.ndarray, np.ndarray], samples: int, level: float
) -> tuple[Event, float]:
    """Return the event that promises the highest lower bound on epsilon, and that bound.

    By Neyman and Pearson it is a set {y: Q[y, u] > t Q[y, v]}; t maximises
    log(p/q) - z sqrt(((1 - p)/p + (1 - q)/q) / samples), z the normal quantile of `level`.
    """
    Q_u, Q_v = columns
    order = np.argsort(-Q_u / np.maximum(Q_v, TINY), kind="stable")
    p, q = (np.clip(np.cumsum(Q[order]), TINY, 1) for Q in columns)
    promise = np.log(p / q) + ndtri(level) * np.sqrt(((1 - p) / p + (1 - q) / q) / samples)
    size = int(promise[:-1].argmax()) + 1 if len(promise) > 1 else 1  # all outputs together prove nothing
    inside = np.zeros(len(order), dtype=bool)
    inside[order[:size]] = True
    return Event(u, v, inside, float(p[size - 1]), float(q[size - 1])), float(promise[size - 1])


def choose(
    strategy: Strategy, types: int, samples: int, level: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, list[Event]]:
    """Return user types to test (t,), their probabilities (m x t) and for each its best event against another.

    The types are the two that are told apart best among (at most 256) candidates, the first, the last, and
    random ones: all from the table and the generator, before any report is seen.
    """
    n = strategy.domain_size
    room = ENTRIES // max(n, strategy.outputs)
    some = rng.permutation(n)[: max(2 * types, min(CANDIDATES, room))]
    candidates = np.unique(np.concatenate([[0, n - 1], some]))
    Q = strategy.forward((candidates == np.arange(n)[:, None]).astype(float))
    pair = _furthest(Q, samples, level)
    wanted = [*candidates[list(pair)].tolist(), 0, n - 1, *some.tolist()]
    chosen = np.array(list(dict.fromkeys(wanted))[:types])
    Q = Q[:, np.searchsorted(candidates, chosen)]
    events = []
    for i, u in enumerate(chosen.tolist()):
        others = [(j, v) for j, v in enumerate(chosen.tolist()) if j != i]
        found = [best_event(u, v, (Q[:, i], Q[:, j]), samples, level) for j, v in others]
        events += [max(found, key=lambda one: one[1])[0]] if found else []
    return chosen, Q, events


def _furthest(Q: np.ndarray, samples: int, level: float) -> tuple[int, int]:
    """Return the two columns whose best event promises most, out of 32 pairs with much chi-squared distance.

    The distance sum_y (Q[y, u] - Q[y, v])^2 / d_y is asked of all pairs, d the row sums.
    """
    d = Q.sum(axis=1)
    scaled = Q[d > 0] / np.sqrt(d[d > 0])[:, None]
    gram = scaled.T @ scaled
    size = gram.diagonal()
    rows, columns = np.triu_indices(len(gram), 1)
    if len(rows) == 0:
        return 0, 0
    distance = (size[:, None] + size - 2 * gram)[rows, columns]
    pairs = [(int(rows[k]), int(columns[k])) for k in np.argsort(-distance, kind="stable")[:SHORTLIST]]
    return max(pairs, key=lambda one: best_event(*one, (Q[:, one[0]], Q[:, one[1]]), samples, level)[1])


def epsilon_bound(hits: tuple[int, int], trials: tuple[int, int], level: float) -> float:
    """Return a lower bound on epsilon from how often S came for u and for v: log(p_low / q_high), at least 0.

    Clopper and Pearson's exact bounds of p and q, each wrong with probability at most level/2.

    Guarantee:
        Whatever the client does, the bound exceeds its epsilon with probability at most `level` if reports
        are independent.
    """
    (a, b), (k, r) = hits, trials
    if a == 0:
        return 0.0
    p = float(betaincinv(a, k - a + 1, level / 2))
    q = float(betainccinv(b + 1, r - b, level / 2)) if b < r else 1.0
    return max(0.0, math.log(p / q)) if p > 0 else 0.0


def provable(event: Event, epsilon: float, samples: int, level: float) -> float:
    """Return the smallest epsilon that `samples` reports of each user type prove to exceed the budget `epsilon`.

    Infinite if no client can be caught with so few samples.
    """

    def caught(p: float, q: float) -> bool:
        hits = math.floor(_quantile(MISS / 2, samples, p)), math.ceil(_quantile(1 - MISS / 2, samples, q))
        return epsilon_bound(hits, (samples, samples), level) > epsilon

    return epsilon * _smallest(event, caught)


def noticeable(event: Event, epsilon: float, samples: int, level: float) -> float:
    """Return the smallest epsilon whose client is noticed to leave the table of `epsilon`, by `share_fit`."""

    def caught(p: float, q: float) -> bool:
        more, fewer = math.floor(_quantile(MISS, samples, p)), math.ceil(_quantile(1 - MISS, samples, q))
        return min(share_fit(more, samples, event.p), share_fit(fewer, samples, event.q)) < level

    return epsilon * _smallest(event, caught)


def _smallest(event: Event, caught: Callable[[float, float], bool]) -> float:
    """Return the smallest factor log(p'/q') / log(p/q) that is caught: that by which such a client's epsilon errs.

    p' and q' leave p and q by equal steps of the log-odds.
    """

    def moved(step: float) -> tuple[float, float]:
        return float(expit(logit(event.p) + step)), float(expit(logit(event.q) - step))

    low, high = 0.0, 40.0
    if not event.p > event.q or not caught(*moved(high)):
        return math.inf
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if caught(*moved(middle)) else (middle, high)
    p, q = moved(high)
    return math.log(p / q) / math.log(event.p / event.q)


def samples_to_prove(
    columns: tuple[np.ndarray, np.ndarray], epsilon: float, excess: float, level: float
) -> int | None:
    """Return the reports of each of two user types that prove epsilon (1 + excess), within 1 %.

    Each number of samples has its own best event. None where not even 10^12 are enough, as for two user types
    that are never told apart by the full budget.
    """

    def proved(samples: int) -> bool:
        event, _ = best_event(0, 1, columns, samples, level)
        return provable(event, epsilon, samples, level) <= epsilon * (1 + excess)

    low, high = 1.0, float(MOST)
    if not proved(MOST):
        return None
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if proved(int(middle)) else (middle, high)
    return math.ceil(high)


def _quantile(probability: float, trials: int, success: float) -> float:
    """Return the count below which a binomial count falls with this probability."""
    found = float(bdtrik(probability, trials, success))
    if math.isnan(found):  # where hardly any or nearly all trials succeed
        return 0.0 if success < 0.5 else float(trials)
    return min(max(found, 0.0), float(trials))
