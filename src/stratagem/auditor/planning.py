"""The choice and the plan of an audit, by the kind of strategy.

That of a survey counts how often its parts come, and of every part what its own table says.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from types import ModuleType
from typing import NamedTuple

import numpy as np

from stratagem.auditor import plan as table_plan
from stratagem.auditor import translation_plan
from stratagem.auditor.event import Favoured, OutputClasses
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
from stratagem.strategies import Randomiser, SurveyPart, SurveyStrategy

ENTRIES = 1 << 25
"""Largest number of entries of the array that holds the probabilities of all outputs for every user type."""
Map = Callable[[np.ndarray], np.ndarray]


class Planner(NamedTuple):
    """How audits of a kind of strategy are planned."""

    choose: Callable[..., Chosen]
    """Returns user types to test: all where there are no more than asked for, otherwise mostly random ones."""
    plan: Callable[..., AuditPlan]
    """Returns the plan of an audit of some user types, events chosen for a number of reports of each."""
    by_part: Callable[..., list[Classes]] | None = None
    """Returns the classes of outputs of every part of a survey; None where there are no parts."""


def planner(strategy: Randomiser) -> Planner:
    """Return how audits of a kind of strategy are planned."""
    if strategy.parted:
        return Planner(_choose_survey, _plan_survey, _survey_by_part)
    plans = _plans(strategy)
    return Planner(plans.choose, plans.plan)


def _plans(strategy: Randomiser) -> ModuleType:
    """Return how an audit of a strategy without parts is planned."""
    return table_plan if strategy.translated is None else translation_plan


def choose(strategy: Randomiser, types: int, samples: int, level: float, rng: np.random.Generator) -> Chosen:
    """Return user types to test: all where there are no more than `types`, otherwise mostly random ones."""
    return planner(strategy).choose(strategy, types, samples, level, rng)


def plan(strategy: Randomiser, user_types: Sequence[int], samples: int, level: float) -> AuditPlan:
    """Return the plan of an audit of these user types, events chosen for `samples` reports of each."""
    return planner(strategy).plan(strategy, user_types, samples, level)


def by_part(strategy: Randomiser, planned: AuditPlan) -> list[Classes]:
    """Return the classes of outputs of every part, or of all, for each user type of a plan, and what favours it."""
    parts = planner(strategy).by_part
    return parts(strategy, planned.user_types) if parts else [(planned.partitions, planned.favoured)]


def _choose_survey(
    strategy: SurveyStrategy, types: int, samples: int, level: float, rng: np.random.Generator
) -> Chosen:
    """Return user types to test: all where there are no more than `types`, otherwise mostly random ones.

    The first of them are then two for each part, with answers that differ in its attributes alone, and there the most,
    parts of large shares first; the first and the last user type follow.
    """
    n, sizes = strategy.domain_size, strategy.sizes
    widest = sum(max(one.strategy.domain_size, one.strategy.outputs or 0) for one in _tables(strategy))
    count = min(types, max(2, ENTRIES // max(widest, 1)))
    if n <= count:
        return Chosen(tuple(range(n)), None)
    base, named = rng.integers(0, sizes), list[int]()
    for one in sorted(strategy.parts, key=lambda part: -part.share):
        few = max(1, round(samples * one.share))
        for cell in _plans(one.strategy).choose(one.strategy, 2, few, level, rng).user_types[:2]:
            user = base.copy()
            user[list(one.attributes)] = coordinates_of(cell, _sizes(strategy, one))
            named.append(number_of(user, sizes))
    others = [number_of(user, sizes) for user in islice(random_types(sizes, rng), 100 * count)]
    return filled([*named, 0, n - 1], others, count)


def _plan_survey(
    strategy: SurveyStrategy, user_types: Sequence[int], samples: int, level: float
) -> AuditPlan:
    """Return the plan of an audit of these user types, events chosen for `samples` reports of each."""
    own = _cells(strategy, user_types)
    apart = [_distances(one, cells) for one, cells in zip(strategy.parts, own, strict=True)]
    pairs = [
        _pair(
            strategy,
            (user_types[u], user_types[v]),
            [_between(*sides, u, v) for sides in zip(strategy.parts, own, apart, strict=True)],
        )
        for u, v in matched(np.sum([one / (one.max() or 1.0) for one in apart], axis=0))
    ]
    return AuditPlan(tuple(user_types), *_classes(strategy, user_types), pooled(pairs, samples, level))


def _survey_by_part(strategy: SurveyStrategy, user_types: Sequence[int]) -> list[Classes]:
    """Return the classes of every part's outputs by itself, for each user type, and what favours it there."""
    found = []
    for one, cells in zip(strategy.parts, _cells(strategy, user_types), strict=True):
        distinct = list(dict.fromkeys(cells))
        partitions, favoured = _plans(one.strategy).classes(one.strategy, distinct)
        places = [distinct.index(cell) for cell in cells]
        found.append((tuple(partitions[k] for k in places), tuple(favoured[k] for k in places)))
    return found


def _cells(strategy: SurveyStrategy, user_types: Sequence[int]) -> list[list[int]]:
    """Return the cells of user types in the table of every part."""
    users = np.array([coordinates_of(one, strategy.sizes) for one in user_types])
    return [
        [number_of(user, _sizes(strategy, one)) for user in users[:, list(one.attributes)]]
        for one in strategy.parts
    ]


def _tables(strategy: SurveyStrategy) -> list[SurveyPart]:
    return [one for one in strategy.parts if _plans(one.strategy) is table_plan]


def _sizes(strategy: SurveyStrategy, one: SurveyPart) -> list[int]:
    return [strategy.sizes[i] for i in one.attributes]


def _distances(one: SurveyPart, cells: Sequence[int]) -> np.ndarray:
    """Return the distances (t, t) between the user types of a part, 0 for the same and where no event tells them."""
    distinct = list(dict.fromkeys(cells))
    places = [distinct.index(cell) for cell in cells]
    return _plans(one.strategy).distances(one.strategy, distinct)[np.ix_(places, places)]


def _between(one: SurveyPart, cells: Sequence[int], apart: np.ndarray, u: int, v: int) -> Pair | None:
    """Return the pair of two users in a part; None where nothing in it tells them apart."""
    return _plans(one.strategy).pair(one.strategy, cells[u], cells[v]) if apart[u, v] > 0 else None


def _pair(strategy: SurveyStrategy, users: tuple[int, int], own: Sequence[Pair | None]) -> Pair:
    """Return two user types with the classes of all parts; a part that does not tell them apart is one class."""
    whole = np.ones(1)
    of_u = _mixed(strategy, [whole if one is None else one.of_u for one in own])
    of_v = _mixed(strategy, [whole if one is None else one.of_v for one in own])
    counts = [1 if one is None else len(one.of_u) for one in own]
    return Pair(*users, of_u, of_v, _joined(strategy, counts, [one and one.classes for one in own]))


def _classes(strategy: SurveyStrategy, user_types: Sequence[int]) -> Classes:
    """Return the classes of outputs that are counted for user types, and what favours each."""
    partitions, favoured = zip(*_survey_by_part(strategy, user_types), strict=True)
    return (
        tuple(_partitions(strategy, one) for one in zip(*partitions, strict=True)),
        tuple(_favoured(strategy, one) for one in zip(*favoured, strict=True)),
    )


def _partitions(
    strategy: SurveyStrategy, own: Sequence[tuple[tuple[str, OutputClasses], ...]]
) -> tuple[tuple[str, OutputClasses], ...]:
    """Return all outputs, the parts, and of every part its own classes beside one of all other parts."""
    finest = [partitions[0][1] for partitions in own]
    counts = [len(one.probabilities) for one in finest]
    every = OutputClasses(
        _mixed(strategy, [one.probabilities for one in finest]),
        _joined(strategy, counts, [one.classes for one in finest]),
    )
    shares = OutputClasses(
        _mixed(strategy, [np.ones(1)] * len(own)), _joined(strategy, [1] * len(own), [None] * len(own))
    )
    alone = [(name, _alone(strategy, i, one)) for i, partitions in enumerate(own) for name, one in partitions]
    return ("outputs", every), ("parts", shares), *alone


def _favoured(strategy: SurveyStrategy, own: Sequence[Favoured]) -> Favoured:
    """Return the outputs that favour a user in the part that they are of; shares stay as epsilon grows."""
    shares = [one.share for one in strategy.parts]
    return Favoured(
        np.concatenate([one.inside for one in own]),
        float(np.dot(shares, [one.probability for one in own])),
        float(np.dot(shares, [one.raised for one in own])),
        _joined(strategy, [len(one.inside) for one in own], [one.classes for one in own]),
    )


def _mixed(strategy: SurveyStrategy, own: Sequence[np.ndarray]) -> np.ndarray:
    """Return the probabilities of the classes of all parts, one after the other."""
    return np.concatenate([part.share * one for part, one in zip(strategy.parts, own, strict=True)])


def _joined(strategy: SurveyStrategy, counts: Sequence[int], own: Sequence[Map | None]) -> Map:
    """Return the map from outputs to the classes of all parts, of which each has so many; None stands for one."""
    starts = np.cumsum([0, *counts])

    def classes(outputs: np.ndarray) -> np.ndarray:
        found = np.empty(len(outputs), dtype=np.int64)
        part = np.searchsorted(strategy.offsets, outputs, side="right") - 1
        for i, one in enumerate(own):
            where = part == i
            found[where] = starts[i] + (0 if one is None else one(outputs[where] - strategy.offsets[i]))
        return found

    return classes


def _alone(strategy: SurveyStrategy, part: int, own: OutputClasses) -> OutputClasses:
    """Return the classes of one part, and a last one of all other parts."""
    share, others = strategy.parts[part].share, len(own.probabilities)
    first, end = strategy.offsets[part : part + 2]

    def classes(outputs: np.ndarray) -> np.ndarray:
        found = np.full(len(outputs), others)
        where = (first <= outputs) & (outputs < end)
        found[where] = own.classes(outputs[where] - first)
        return found

    return OutputClasses(np.append(share * own.probabilities, max(0.0, 1 - share)), classes)
