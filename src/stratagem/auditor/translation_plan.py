"""The plan of an audit of a table of translates: reports are counted by pattern, cell and placement."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

import numpy as np

from stratagem.auditor.event import (
    EXCESS,
    Favoured,
    OutputClasses,
    best_event,
    by_attribute,
    by_holding,
    by_output,
    by_pair,
    by_placement,
    holding,
)
from stratagem.auditor.plan import (
    AuditPlan,
    Chosen,
    Classes,
    Pair,
    filled,
    matched,
    number_of,
    pooled,
    random_types,
)
from stratagem.math.number import coordinates_of
from stratagem.strategies import TranslationStrategy

PAIRS = 16
"""Number of pairs of user types among which the most different one is searched for."""
CELLS = 1 << 28
"""Largest number of pattern cells that are examined in that search."""
ENTRIES = 1 << 24
"""Largest number of entries of the array of the probabilities of all outputs for every user type."""


def choose(
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
    firsts = [number_of(u, sizes) for u, _ in some]
    best = max([ends, *some[:room]], key=lambda one: _promise(strategy, one, samples, level))
    named = [number_of(user, sizes) for pair in (best, ends, *some) for user in pair]
    found = filled(
        named, [number_of(user, sizes) for user in islice(random_types(sizes, rng), 100 * types)], types
    )
    # of a random pair only the first is independent of all others
    return Chosen(found.user_types, sum(one in firsts for one in found.user_types[4:]) + (found.drawn or 0))


def plan(strategy: TranslationStrategy, user_types: Sequence[int], samples: int, level: float) -> AuditPlan:
    """Return the plan of an audit of these user types, events chosen for `samples` reports of each."""
    strategy = strategy.on_cycles()
    users = [np.array(coordinates_of(one, strategy.sizes)) for one in user_types]
    room = max(1, CELLS // sum(pattern.cells for pattern in strategy.patterns))
    pairs = [
        _pair(strategy, users[i], users[j]) for i, j in matched(_distances(strategy, np.array(users)))[:room]
    ]
    return AuditPlan(tuple(user_types), *classes(strategy, user_types), pooled(pairs, samples, level))


def classes(strategy: TranslationStrategy, user_types: Sequence[int]) -> Classes:
    """Return the classes of outputs that are counted for user types, and the outputs that favour each."""
    strategy = strategy.on_cycles()
    users = [np.array(coordinates_of(one, strategy.sizes)) for one in user_types]
    partitions = (tuple(_partitions(strategy, user, ENTRIES // len(users))) for user in users)
    return tuple(partitions), tuple(_favoured(strategy, user) for user in users)


def distances(strategy: TranslationStrategy, user_types: Sequence[int]) -> np.ndarray:
    """Return the distances (t, t) between user types, 0 where no event tells two apart."""
    strategy = strategy.on_cycles()
    return _distances(strategy, np.array([coordinates_of(one, strategy.sizes) for one in user_types]))


def pair(strategy: TranslationStrategy, u: int, v: int) -> Pair:
    """Return two user types of a positive distance, with the probability of every class of outputs for each."""
    strategy = strategy.on_cycles()
    return _pair(strategy, *(np.array(coordinates_of(one, strategy.sizes)) for one in (u, v)))


def _pair(strategy: TranslationStrategy, u: np.ndarray, v: np.ndarray) -> Pair:
    partition, of_v = by_pair(strategy, u, v)
    numbers = number_of(u, strategy.sizes), number_of(v, strategy.sizes)
    return Pair(*numbers, partition.probabilities, of_v, partition.classes)


def _promise(
    strategy: TranslationStrategy, users: tuple[np.ndarray, np.ndarray], samples: int, level: float
) -> float:
    pair = _pair(strategy, *users)
    return best_event(pair.u, pair.v, (pair.of_u, pair.of_v), samples, level)[1]


def _favoured(strategy: TranslationStrategy, user: np.ndarray) -> Favoured:
    """Return the outputs whose pattern holds a user type (d,)."""
    found = by_holding(strategy, user)
    inside = np.arange(len(found.probabilities)) % 2 == 1
    raised = holding(strategy, 1 + EXCESS)[:, 1].sum()
    return Favoured(inside, float(found.probabilities[inside].sum()), float(raised), found.classes)


def _distances(strategy: TranslationStrategy, users: np.ndarray) -> np.ndarray:
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
    for first, second in pairwise(random_types(strategy.sizes, rng)):
        v = np.array(second)
        for group in strategy.groups:
            members = np.array(group)
            if len(members) > 1:
                v[members] = (first[members] + rng.integers(0, sizes[members[0]])) % sizes[members]
        yield first, v


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
