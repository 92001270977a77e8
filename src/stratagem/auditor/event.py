"""Events that distinguish user types best, the classes of outputs that they are made of, and the bound that they prove.

Outputs are put into classes of known probability where a strategy has more of them than can be counted one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtrik, betainccinv, betaincinv, expit, logit, ndtri

from stratagem.math.transform import correlation
from stratagem.strategies import Pattern, TranslationStrategy

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


BLOCKS = 64
"""Largest number of parts into which the cells inside a pattern are merged, and those outside."""
PRIME = 61
"""Modulus for the numbers of placements; all axes contribute to the remainder."""
ONE_BY_ONE = 1 << 20
"""Largest number of outputs that are counted one by one."""


@dataclass(frozen=True, eq=False)
class OutputClasses:
    """Classes of outputs, and how likely each is for one user type."""

    probabilities: np.ndarray
    """Probability of every class for the user type, with sum 1."""
    classes: Callable[[np.ndarray], np.ndarray] = np.asarray
    """Map from outputs (k,) to the numbers of their classes (k,); the identity where every output is a class."""

    def counts(self, outputs: np.ndarray) -> np.ndarray:
        """Return how often each class came among outputs (k,)."""
        return np.bincount(self.classes(outputs), minlength=len(self.probabilities))


def by_output(strategy: TranslationStrategy, user: np.ndarray, most: int = ONE_BY_ONE) -> OutputClasses:
    """Return the outputs themselves, or where they are too many pattern and cell of the user type (d,) in it.

    The cells of a pattern are put together to at most 64 parts inside it and 64 outside.
    """
    if strategy.outputs > min(most, ONE_BY_ONE):
        return by_cell(strategy, user)
    column = [
        (strategy.weights[b] / strategy.placements[b] * pattern.levels(strategy.ratio)).ravel()[
            strategy.cells(b, np.arange(strategy.placements[b] * pattern.cells), user)
        ]
        for b, pattern in enumerate(strategy.patterns)
    ]
    return OutputClasses(np.concatenate(column))


def by_cell(strategy: TranslationStrategy, user: np.ndarray) -> OutputClasses:
    """Return the classes of pattern, of whether it holds the user type (d,), and of the part that has its cell."""

    def classes(strategy: TranslationStrategy, b: int, local: np.ndarray) -> np.ndarray:
        cells, pattern = strategy.cells(b, local, user), strategy.patterns[b]
        return (2 * b + _held(pattern, cells)) * BLOCKS + cells * BLOCKS // pattern.cells

    probabilities = np.zeros((len(strategy.patterns), 2, BLOCKS))
    for b, pattern in enumerate(strategy.patterns):
        part, inside = np.arange(pattern.cells) * BLOCKS // pattern.cells, pattern.inside.ravel()
        probabilities[b] = (
            np.bincount(part, ~inside, BLOCKS),
            np.bincount(part, inside, BLOCKS) * strategy.ratio,
        )
        probabilities[b] *= strategy.weights[b] / probabilities[b].sum()
    return OutputClasses(probabilities.ravel(), _per_pattern(strategy, classes))


def by_holding(strategy: TranslationStrategy, user: np.ndarray) -> OutputClasses:
    """Return the classes of pattern and of whether it holds the user type (d,)."""

    def classes(strategy: TranslationStrategy, b: int, local: np.ndarray) -> np.ndarray:
        return 2 * b + _held(strategy.patterns[b], strategy.cells(b, local, user))

    return OutputClasses(holding(strategy).ravel(), _per_pattern(strategy, classes))


def by_attribute(strategy: TranslationStrategy, user: np.ndarray, axis: int) -> OutputClasses:
    """Return the classes of the attribute that an axis was placed on, and of whether the user type (d,) is held.

    One more class is of the patterns without that axis.
    """
    none = 2 * len(strategy.sizes)

    def classes(strategy: TranslationStrategy, b: int, local: np.ndarray) -> np.ndarray:
        if axis >= len(strategy.patterns[b].axes):
            return np.full(len(local), none)
        held = _held(strategy.patterns[b], strategy.cells(b, local, user))
        return 2 * strategy.decoded(b, local)[0][:, axis] + held

    probabilities = np.zeros(none + 1)
    for pattern, (outside, inside) in zip(strategy.patterns, holding(strategy), strict=True):
        if axis >= len(pattern.axes):
            probabilities[none] += outside + inside
            continue
        members = np.array(strategy.groups[pattern.axes[axis]])
        probabilities[2 * members] += outside / len(members)
        probabilities[2 * members + 1] += inside / len(members)
    return OutputClasses(probabilities, _per_pattern(strategy, classes))


def by_placement(strategy: TranslationStrategy) -> OutputClasses:
    """Return the classes of the placement's number modulo 61."""

    def classes(strategy: TranslationStrategy, b: int, local: np.ndarray) -> np.ndarray:
        return local // strategy.patterns[b].cells % PRIME

    probabilities = np.zeros(PRIME)
    for weight, ways in zip(strategy.weights, strategy.placements, strict=True):
        full, rest = divmod(ways, PRIME)
        probabilities += weight * (full + (np.arange(PRIME) < rest)) / ways
    return OutputClasses(probabilities, _per_pattern(strategy, classes))


def by_pair(strategy: TranslationStrategy, u: np.ndarray, v: np.ndarray) -> tuple[OutputClasses, np.ndarray]:
    """Return the classes of pattern and of which of two user types it holds, for u (d,), and their chances for v.

    Attributes of one group must all differ alike, v - u: then the placement does not matter.
    """

    def classes(strategy: TranslationStrategy, b: int, local: np.ndarray) -> np.ndarray:
        holds = [_held(strategy.patterns[b], strategy.cells(b, local, one)) for one in (u, v)]
        return 4 * b + 2 * holds[0] + holds[1]

    columns = np.zeros((2, len(strategy.patterns), 4))
    for b, pattern in enumerate(strategy.patterns):
        steps = [int(v[first] - u[first]) for first in (strategy.groups[group][0] for group in pattern.axes)]
        both = _overlap(pattern, steps)
        one = pattern.size - both
        cells = np.array([pattern.cells - 2 * one - both, one, one, both])
        scale = strategy.weights[b] / (pattern.cells + (strategy.ratio - 1) * pattern.size)
        columns[0, b] = cells * scale * np.array([1, 1, strategy.ratio, strategy.ratio])
        columns[1, b] = cells * scale * np.array([1, strategy.ratio, 1, strategy.ratio])
    of_u, of_v = columns.reshape(2, -1)
    return OutputClasses(of_u, _per_pattern(strategy, classes)), of_v


def _per_pattern(
    strategy: TranslationStrategy, classes: Callable[[TranslationStrategy, int, np.ndarray], np.ndarray]
) -> Callable[[np.ndarray], np.ndarray]:
    """Return the classes of outputs from those of one pattern's, given from its first output on."""

    def found(outputs: np.ndarray) -> np.ndarray:
        result = np.empty(len(outputs), dtype=np.int64)
        for b, places in strategy.by_pattern(outputs):
            result[places] = classes(strategy, b, outputs[places] - strategy.offsets[b])
        return result

    return found


def holding(strategy: TranslationStrategy, power: float = 1.0) -> np.ndarray:
    """Return the chances (B, 2) that a report is of a pattern and the pattern does not hold the user, or does.

    The ratio of the two probabilities of a report is E^power, as it is at that many times epsilon.
    """
    size = np.array([pattern.size for pattern in strategy.patterns]) * strategy.ratio**power
    rest = np.array([pattern.cells - pattern.size for pattern in strategy.patterns])
    return np.stack([rest, size], axis=1) * (strategy.weights / (rest + size))[:, None]


def _overlap(pattern: Pattern, steps: Sequence[int]) -> float:
    """Return how many cells of a pattern it shares with its translate by `steps`, averaged over its multiples."""
    inside = pattern.inside
    if pattern.multiples == 1:
        return float(np.count_nonzero(inside & np.roll(inside, steps, axis=tuple(range(len(steps))))))
    overlaps = np.rint(correlation(inside.astype(float), inside.astype(float)))
    return float(
        overlaps[pattern.divided(np.array(steps[0] % pattern.cells), np.arange(pattern.multiples))].mean()
    )


def _held(pattern: Pattern, cells: np.ndarray) -> np.ndarray:
    """Return 1 for cells inside a pattern, else 0."""
    return (pattern.packed[cells >> 3] >> (7 - (cells & 7)).astype(np.uint8) & 1).astype(np.int64)
