"""The plan of an audit: user types, classes of outputs and events, settled before any report is seen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise

import numpy as np

from stratagem.auditor.event import Event, best_event, choose
from stratagem.auditor.partition import (
    Partition,
    by_attribute,
    by_holding,
    by_output,
    by_pair,
    by_placement,
)
from stratagem.mechanism.table import Exact
from stratagem.strategies import InvariantStrategy

PAIRS = 16
"""Pairs of user types among which those that differ most are sought."""
CELLS = 1 << 28
"""Cells of patterns that are looked through for them."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What reports are asked for, and what is counted in them."""

    user_types: tuple[int, ...]
    partitions: tuple[tuple[tuple[str, Partition], ...], ...]
    """For every user type the name of a check and the classes that it counts, the finest classes first."""
    events: tuple[Event, ...]
    columns: tuple[np.ndarray, np.ndarray] | None
    """How likely each class of the first event is for its two user types."""


def planned(strategy: Exact, types: int, samples: int, level: float, rng: np.random.Generator) -> Plan:
    """Return the plan of an audit of `types` user types, events chosen for `samples` reports of each."""
    if isinstance(strategy, InvariantStrategy):
        return _of_translates(strategy, types, samples, level, rng)
    chosen, Q, events = choose(strategy, types, samples, level, rng)
    place = {int(u): k for k, u in enumerate(chosen)}
    partitions = tuple((("outputs", Partition(column)),) for column in Q.T)
    columns = (Q[:, place[events[0].u]], Q[:, place[events[0].v]]) if events else None
    return Plan(tuple(place), partitions, tuple(events), columns)


def _of_translates(
    strategy: InvariantStrategy, types: int, samples: int, level: float, rng: np.random.Generator
) -> Plan:
    """Plan by pattern, cell and placement: the user types are the best pairs, and the first with the last."""
    cells = sum(pattern.cells for pattern in strategy.patterns)
    room = max(-(-types // 2), min(PAIRS, CELLS // cells))
    ends, *others = [
        _compared(strategy, pair, samples, level) for pair in islice(_pairs(strategy, rng), room)
    ]
    best, *rest = sorted([ends, *others], key=lambda one: -one.promise)
    ordered = list(dict.fromkeys([best, ends, *rest]))
    users = {tuple(user): None for one in ordered for user in one.users}
    users |= {tuple(user): None for user in islice(_random(strategy.sizes, rng), 100 * types)}
    chosen = list(users)[:types]
    events = [
        event for one in ordered for event in one.events if all(tuple(user) in chosen for user in one.users)
    ]
    return Plan(
        tuple(_number(user, strategy.sizes) for user in chosen),
        tuple(tuple(_partitions(strategy, np.array(user))) for user in chosen),
        tuple(events),
        best.columns if events else None,
    )


@dataclass(frozen=True, eq=False)
class _Compared:
    """Two user types, the best events that tell them apart, and what these promise."""

    users: tuple[np.ndarray, np.ndarray]
    promise: float
    events: tuple[Event, ...]
    columns: tuple[np.ndarray, np.ndarray]


def _compared(
    strategy: InvariantStrategy, users: tuple[np.ndarray, np.ndarray], samples: int, level: float
) -> _Compared:
    partition, of_v = by_pair(strategy, *users)
    names = [_number(user, strategy.sizes) for user in users]
    columns = partition.probabilities, of_v
    found = [
        best_event(names[i], names[1 - i], (columns[i], columns[1 - i]), samples, level) for i in range(2)
    ]
    events = tuple(replace(event, classes=partition.classes) for event, _ in found)
    if names[0] == names[1]:
        return _Compared(users, -math.inf, (), columns)
    return _Compared(users, found[0][1], events, columns)


def _pairs(strategy: InvariantStrategy, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the first user type with the last, then random ones whose difference is one and the same in a group."""
    sizes = np.array(strategy.sizes)
    yield np.zeros_like(sizes), sizes - 1
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


def _partitions(strategy: InvariantStrategy, user: np.ndarray) -> Iterator[tuple[str, Partition]]:
    """Yield the classes that are counted for a user type (d,), with the name of the check."""
    yield "outputs", by_output(strategy, user)
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
