"""Events that distinguish user types best, and the lower bound on epsilon that their counts prove."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrik, betainccinv, betaincinv, expit, logit, ndtri

MISS = 0.01
"""Probability of a miss for everything that is called provable or noticeable."""
TINY = 1e-300
"""Probability used in place of zero for an output that never occurs."""
EXCESS = 0.05
"""Relative excess over epsilon for which the power of an audit is stated."""
FARTHEST = 40.0
"""Largest step of the log-odds that is tried."""
MOST = 10**12
"""Largest number of reports that is considered."""


@dataclass(frozen=True, eq=False)
class Event:
    """A set S of outputs that is likelier for user type u than for v: p = Q_u(S) > q = Q_v(S)."""

    u: int | None
    """First user type; None, as for v, if the event pools several pairs, where p and q are means over the pairs."""
    v: int | None
    inside: np.ndarray
    """Whether each class of outputs belongs to S, boolean."""
    p: float
    q: float
    classes: Callable[[np.ndarray], np.ndarray] = np.asarray
    """Map from outputs (k,) to the numbers of their classes (k,); the identity where every output is a class."""

    def hits(self, outputs: np.ndarray) -> int:
        """Return how many outputs (k,) belong to S."""
        return int(self.inside[self.classes(outputs)].sum())


@dataclass(frozen=True, eq=False)
class Favoured:
    """The outputs that are likelier for one user type than on the average over all."""

    inside: np.ndarray
    """Whether each class of outputs is favoured, boolean."""
    probability: float
    """Probability of a favoured output for the user type."""
    raised: float
    """The same probability if every log-ratio of the table is 5 % larger, as it is at 1.05 times epsilon."""
    classes: Callable[[np.ndarray], np.ndarray] = np.asarray
    """Map from outputs (k,) to the numbers of their classes (k,); the identity where every output is a class."""

    def holds(self, outputs: np.ndarray) -> np.ndarray:
        """Return which outputs (k,) are favoured."""
        return self.inside[self.classes(outputs)]


def best_event(
    u: int | None, v: int | None, columns: tuple[np.ndarray, np.ndarray], samples: int, level: float
) -> tuple[Event, float]:
    """Return the event with the highest expected lower bound on epsilon, and that bound.

    By Neyman and Pearson it is a set {y: Q[y, u] > t Q[y, v]}; t maximises log(p/q) - z s, z the normal quantile
    of `level`, s = sqrt(((1 - p)/p + (1 - q)/q) / samples). Where samples are so few that nothing is promised it
    maximises log(p/q) / s, so that a client far beyond the table still shows.
    """
    Q_u, Q_v = columns
    order = np.argsort(-Q_u / np.maximum(Q_v, TINY), kind="stable")
    p, q = (np.clip(np.cumsum(Q[order]), TINY, 1) for Q in columns)
    gain, error = np.log(p / q), np.sqrt(((1 - p) / p + (1 - q) / q) / samples)
    promise = gain + ndtri(level) * error
    wanted = promise if promise.max() > 0 else gain / np.maximum(error, TINY)
    size = int(wanted[:-1].argmax()) + 1 if len(promise) > 1 else 1  # all outputs together prove nothing
    inside = np.zeros(len(order), dtype=bool)
    inside[order[:size]] = True
    return Event(u, v, inside, float(p[size - 1]), float(q[size - 1])), float(promise[size - 1])


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

    That is epsilon log(p'/q') / log(p/q), p' and q' as far from p and q as is noticed, by equal steps of the log-odds.
    Infinite if no client can be caught with so few samples.
    """

    def moved(step: float) -> tuple[float, float]:
        return float(expit(logit(event.p) + step)), float(expit(logit(event.q) - step))

    def caught(step: float) -> bool:
        p, q = moved(step)
        hits = math.floor(quantile(MISS / 2, samples, p)), math.ceil(quantile(1 - MISS / 2, samples, q))
        return epsilon_bound(hits, (samples, samples), level) > epsilon

    if not event.p > event.q or not caught(FARTHEST):
        return math.inf
    p, q = moved(first(caught, FARTHEST))
    return epsilon * (math.log(p / q) / math.log(event.p / event.q))


def first(caught: Callable[[float], bool], most: float) -> float:
    """Return the smallest number up to `most` for which `caught` holds, by bisection."""
    low, high = 0.0, most
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if caught(middle) else (middle, high)
    return high


def samples_to_prove(
    columns: tuple[np.ndarray, np.ndarray], epsilon: float, excess: float, level: float
) -> int | None:
    """Return the reports of each of two user types that prove epsilon (1 + excess), within 1 %.

    Each number of samples has its own best event. None where not even 10^12 are enough, as for two user types
    whose probabilities never differ by the full budget.
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


def quantile(probability: float, trials: int, success: float) -> float:
    """Return the quantile of a binomial count: it falls below with the given probability."""
    found = float(bdtrik(probability, trials, success))
    if math.isnan(found):  # where hardly any or nearly all trials succeed
        return 0.0 if success < 0.5 else float(trials)
    return min(max(found, 0.0), float(trials))
