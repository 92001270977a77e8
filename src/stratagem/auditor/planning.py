"""The choice and the plan of an audit, by the kind of strategy: every output of a table, patterns of translates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import singledispatch
from itertools import islice, pairwise

import numpy as np

from stratagem.auditor.event import EXCESS, TINY, Favoured, best_event
from stratagem.auditor.output_classes import (
    OutputClasses,
    by_attribute,
    by_holding,
    by_output,
    by_pair,
    by_placement,
    holding,
)
from stratagem.auditor.plan import Chosen, Pair, Plan, filled, matched, pooled
from stratagem.strategies import Strategy, TranslationStrategy

CANDIDATES = 256
"""Number of user types among which the most different pair is searched for."""
ENTRIES = 1 << 25
"""Largest number of entries of the array that holds the columns of the user types."""
SHORTLIST = 32
"""Number of pairs for which the best event is computed."""
PAIRS = 16
"""Number of pairs of user types among which the most different one is searched for."""
CELLS = 1 << 28
"""Largest number of pattern cells that are examined in that search."""
OUTPUTS = 1 << 24
"""Largest number of entries of the array of the probabilities of all outputs for every user type."""


@singledispatch
def choose(strategy: Strategy, types: int, samples: int, level: float, rng: np.random.Generator) -> Chosen:
    """Return user types to test: all where there are no more than `types`, otherwise mostly random ones.

    The first of them are then the two that differ most among (at most 256) random candidates, the first and the last
    user type: all from the table and the generator, before any report is seen. Every output of a table is counted.
    """
    n = strategy.domain_size
    room = max(2, ENTRIES // max(n, strategy.outputs))
    count = min(types, room)
    if n <= count:
        return Chosen(tuple(range(n)), None)
    some = rng.permutation(n)[: min(max(count, CANDIDATES), room)].tolist()
    candidates = np.unique([0, n - 1, *some])
    pair = _furthest(_columns(strategy, candidates), samples, level)
    return filled([*candidates[list(pair)].tolist(), 0, n - 1], some, count)


@singledispatch
def plan(strategy: Strategy, user_types: Sequence[int], samples: int, level: float) -> Plan:
    """Return the plan of an audit of these user types, events chosen for `samples` reports of each."""
    Q = _columns(strategy, user_types)
    mean = strategy.forward(np.full(strategy.domain_size, 1 / strategy.domain_size))
    pairs = [Pair(user_types[i], user_types[j], Q[:, i], Q[:, j]) for i, j in matched(_distances(Q))]
    partitions = tuple((("outputs", OutputClasses(column)),) for column in Q.T)
    return Plan(tuple(user_types), partitions, tuple(_favoured(Q, mean)), pooled(pairs, samples, level))


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


@choose.register
def _(
    strategy: TranslationStrategy, types: int, samples: int, level: float, rng: np.random.Generator
) -> Chosen:
    """Return user types to test: all where there are no more than `types`, otherwise random pairs.

    The first of them are then the most different pair of 17, followed by the first and the last user type.
    """
    strategy = strategy.on_cycles()
    sizes, cells = strategy.sizes, sum(pattern.cells for pattern in strategy.patterns)
    if strategy.domain_size <= types:
        return Chosen(tuple(range(strategy.domain_size)), None)
    room = min(PAIRS, max(1, CELLS // cells))
    ends = np.zeros_like(sizes), np.array(sizes) - 1
    some = list(islice(_pairs(strategy, rng), max(-(-types // 2), room)))
    firsts = [_number(u, sizes) for u, _ in some]
    best = max([ends, *some[:room]], key=lambda one: _promise(strategy, one, samples, level))
    named = [_number(user, sizes) for pair in (best, ends, *some) for user in pair]
    found = filled(named, [_number(user, sizes) for user in islice(_random(sizes, rng), 100 * types)], types)
    # of a random pair only the first is independent of all others
    return Chosen(found.user_types, sum(one in firsts for one in found.user_types[4:]) + (found.drawn or 0))


@plan.register
def _(strategy: TranslationStrategy, user_types: Sequence[int], samples: int, level: float) -> Plan:
    """Count reports by pattern, cell and placement."""
    strategy = strategy.on_cycles()
    users = [np.array(_coordinates(one, strategy.sizes)) for one in user_types]
    room = max(1, CELLS // sum(pattern.cells for pattern in strategy.patterns))
    pairs = [
        _pair(strategy, users[i], users[j]) for i, j in matched(_around(strategy, np.array(users)))[:room]
    ]
    return Plan(
        tuple(user_types),
        tuple(tuple(_partitions(strategy, user, OUTPUTS // len(users))) for user in users),
        tuple(_holding(strategy, user) for user in users),
        pooled(pairs, samples, level),
    )


def _pair(strategy: TranslationStrategy, u: np.ndarray, v: np.ndarray) -> Pair:
    partition, of_v = by_pair(strategy, u, v)
    numbers = _number(u, strategy.sizes), _number(v, strategy.sizes)
    return Pair(*numbers, partition.probabilities, of_v, partition.classes)


def _promise(
    strategy: TranslationStrategy, users: tuple[np.ndarray, np.ndarray], samples: int, level: float
) -> float:
    pair = _pair(strategy, *users)
    return best_event(pair.u, pair.v, (pair.of_u, pair.of_v), samples, level)[1]


def _holding(strategy: TranslationStrategy, user: np.ndarray) -> Favoured:
    """Return the outputs whose pattern holds a user type (d,)."""
    found = by_holding(strategy, user)
    inside = np.arange(len(found.probabilities)) % 2 == 1
    raised = holding(strategy, 1 + EXCESS)[:, 1].sum()
    return Favoured(inside, float(found.probabilities[inside].sum()), float(raised), found.classes)


def _around(strategy: TranslationStrategy, users: np.ndarray) -> np.ndarray:
    """Return the distances around the cycles between user types (t, d), of shape (t, t).

    The distance is 0 where the attributes of a group do not all differ by the same step, because then the
    placement of a pattern would matter.
    """
    cycles, distance = np.array(strategy.cycles), np.zeros((len(users), len(users)))
    alike = np.ones(distance.shape, dtype=bool)
    for group in strategy.groups:
        members = np.array(group)
        steps = (users[None, :, members] - users[:, None, members]) % cycles[members]
        alike &= (steps == steps[..., :1]).all(axis=2)
        distance += np.minimum(steps, cycles[members] - steps).sum(axis=2) / cycles[members[0]]
    return np.where(alike, distance, 0.0)


def _pairs(
    strategy: TranslationStrategy, rng: np.random.Generator
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield random pairs of user types, whose difference is one and the same in a group of attributes."""
    sizes = np.array(strategy.sizes)
    for first, second in pairwise(_random(strategy.sizes, rng)):
        v = np.array(second)
        for group in strategy.groups:
            members = np.array(group)
            if len(members) > 1:
                v[members] = (first[members] + rng.integers(0, sizes[members[0]])) % sizes[members]
        yield first, v


def _random(sizes: Sequence[int], rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield random user types, each value of an attribute equally likely."""
    while True:
        yield rng.integers(0, sizes)


def _partitions(
    strategy: TranslationStrategy, user: np.ndarray, most: int
) -> Iterator[tuple[str, OutputClasses]]:
    """Yield the classes that are counted for a user type (d,), with the name of the check."""
    yield "outputs", by_output(strategy, user, most)
    yield "outputs", by_holding(strategy, user)
    if max(strategy.placements) > 1:
        yield "placements", by_placement(strategy)
        for axis in range(max(len(pattern.axes) for pattern in strategy.patterns)):
            yield "placements", by_attribute(strategy, user, axis)


def _number(user: Sequence[int] | np.ndarray, sizes: Sequence[int]) -> int:
    """Return the number of a user type, exact at any size."""
    number = 0
    for value, size in zip(user, sizes, strict=True):
        number = number * size + int(value)
    return number


def _coordinates(number: int, sizes: Sequence[int]) -> list[int]:
    """Return the value of every attribute of a user type, exact at any size."""
    values = []
    for size in reversed(sizes):
        number, value = divmod(number, size)
        values.append(value)
    return values[::-1]
