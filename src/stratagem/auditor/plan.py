"""The plan of an audit: user types, classes of outputs and events, all fixed before any report is seen.

`choose`, `plan` and what they need are those of a table, of which every output is counted by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from stratagem.auditor.event import EXCESS, TINY, Event, Favoured, OutputClasses, best_event
from stratagem.strategies import Strategy

BINS = 4096
"""Bins of the logarithm of the ratio: each is 1/2000 of the largest one wide."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two user types, with the probability of every class of outputs for each of them."""

    u: int
    v: int
    of_u: np.ndarray
    of_v: np.ndarray
    classes: Callable[[np.ndarray], np.ndarray] = np.asarray
    """Map from outputs (k,) to the numbers of their classes (k,); the identity where every output is a class."""


@dataclass(frozen=True, eq=False)
class PooledEvents:
    """Events of several pairs, cut at one ratio of probabilities, and their mean.

    No user type is twice the first of a pair, or twice the second. If p_k <= exp(epsilon) q_k for every pair,
    then the means of p_k and of q_k keep to the same factor: what all the counts together prove holds for the
    client, and is proved by as many times more reports as there are pairs.
    """

    events: tuple[Event, ...]
    mean: Event
    columns: tuple[np.ndarray, np.ndarray]
    """Mean probability of every bin for the first user types of the pairs and for the second ones."""


def pooled(pairs: Sequence[Pair], samples: int, level: float) -> PooledEvents | None:
    """Return the events of pairs whose pool gives the highest bound for `samples` reports of each user type."""
    if not pairs:
        return None
    most = max(float(np.abs(_log_ratio(pair)).max()) for pair in pairs)
    bins = [_binned(pair, most) for pair in pairs]
    columns = [
        np.stack([np.bincount(found, of, BINS) for found, of in zip(bins, sides, strict=True)])
        for sides in ([pair.of_u for pair in pairs], [pair.of_v for pair in pairs])
    ]
    means = columns[0].mean(axis=0), columns[1].mean(axis=0)
    mean, _ = best_event(None, None, means, samples * len(pairs), level)
    events = tuple(
        Event(pair.u, pair.v, mean.inside, float(p), float(q), _classes(pair, found))
        for pair, found, p, q in zip(
            pairs, bins, *(column[:, mean.inside].sum(axis=1) for column in columns), strict=True
        )
    )
    return PooledEvents(events, mean, means)


def _log_ratio(pair: Pair) -> np.ndarray:
    """Return log(Q_u/Q_v) of every class, 0 for what never comes."""
    return np.log(np.maximum(pair.of_u, TINY)) - np.log(np.maximum(pair.of_v, TINY))


def _binned(pair: Pair, most: float) -> np.ndarray:
    """Return the bin of every class: the last one of the largest ratio, the first of the smallest."""
    place = (_log_ratio(pair) / (most or 1.0) + 1) / 2 * (BINS - 1)
    return np.floor(place + 1e-6).astype(np.uint16)  # rounding keeps equal ratios in one bin


def _classes(pair: Pair, bins: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    return lambda outputs: bins[pair.classes(outputs)]


@dataclass(frozen=True)
class Chosen:
    """The user types that an audit tests."""

    user_types: tuple[int, ...]
    drawn: int | None
    """Number of them drawn at random from all user types; None if all are tested."""


Classes = tuple[tuple[tuple[tuple[str, OutputClasses], ...], ...], tuple[Favoured, ...]]
"""For every user type its `partitions` and what is `favoured`, as a plan holds them."""


@dataclass(frozen=True, eq=False)
class AuditPlan:
    """The classes of outputs and the events that an audit counts for some user types."""

    user_types: tuple[int, ...]
    partitions: tuple[tuple[tuple[str, OutputClasses], ...], ...]
    """For every user type, pairs of a check's name and the classes of outputs that it counts, finest classes first."""
    favoured: tuple[Favoured, ...]
    """For every user type, the outputs that favour it."""
    pool: PooledEvents | None
    """Events that prove an epsilon; None where no two user types can be compared."""


def matched(distance: np.ndarray) -> list[tuple[int, int]]:
    """Return pairs (i, j) whose distances (t x t) sum to the most, every number at most once first and once second.

    Pairs of distance 0 or less are left out.
    """
    wanted = np.where(distance > 0, distance, 0.0)
    rows, columns = linear_sum_assignment(wanted, maximize=True)
    return [(int(i), int(j)) for i, j in zip(rows, columns, strict=True) if wanted[i, j] > 0]


def number_of(user: Sequence[int] | np.ndarray, sizes: Sequence[int]) -> int:
    """Return the number of a user type, exact at any size."""
    number = 0
    for value, size in zip(user, sizes, strict=True):
        number = number * size + int(value)
    return number


def random_types(sizes: Sequence[int], rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield random user types, each value of an attribute equally likely."""
    while True:
        yield rng.integers(0, sizes)


def filled(first: Sequence[int], others: Sequence[int], count: int) -> Chosen:
    """Return `count` user types: the first ones, then others, which are random, in their order."""
    chosen = list(dict.fromkeys(first))[:count]
    drawn = 0
    for drawn, one in enumerate(others, 1):
        if len(chosen) == count:
            return Chosen(tuple(chosen), drawn - 1)
        if one not in chosen:
            chosen.append(one)
    return Chosen(tuple(chosen), drawn)


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
    return AuditPlan(tuple(user_types), *_column_classes(strategy, Q), pooled(pairs, samples, level))


def classes(strategy: Strategy, user_types: Sequence[int]) -> Classes:
    """Return the classes of outputs that are counted for user types, and the outputs that favour each."""
    return _column_classes(strategy, _columns(strategy, user_types))


def distances(strategy: Strategy, user_types: Sequence[int]) -> np.ndarray:
    """Return the chi-squared distances (t, t) between user types."""
    return _distances(_columns(strategy, user_types))


def pair(strategy: Strategy, u: int, v: int) -> Pair:
    """Return two user types, with the probability of every output for each of them."""
    of_u, of_v = _columns(strategy, (u, v)).T
    return Pair(u, v, of_u, of_v)


def _column_classes(strategy: Strategy, Q: np.ndarray) -> Classes:
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
