"""Shares of the people who answered: ratios of two estimates, where some values stand for gaps."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from stratagem.estimation.answer import (
    Answer,
    Interval,
    answered_words,
    at_most_all,
    inside,
    of_ratios,
    standard_errors_each_side,
    who,
)
from stratagem.estimation.estimate import Estimate
from stratagem.estimation.impossibility import nested
from stratagem.estimators.accuracy import UnsupportedWorkloadError
from stratagem.math.number import entries
from stratagem.workloads.explicit import Explicit
from stratagem.workloads.selection import SomeQueries
from stratagem.workloads.workload import MATRIX_LIMIT

WRITTEN_OUT = 1 << 24
"""Entries of all queries up to which shares take a moment."""
COMPARED = 1 << 20
"""Entries of all queries up to which the limits of a share do not depend on which others are asked for."""


class Share(NamedTuple):
    """The answer to a query per person who answered, with its interval."""

    query: int
    """Number of the query, 0..p-1."""
    label: str
    share: float
    """Share of those who answered; for a query of other entries than 0 and 1 the mean of these."""
    low: float
    high: float
    answered: Answer | None = None
    """How many people answered, with the standard error and the interval of that number; None for shares of all."""

    @property
    def words(self) -> str:
        """Whom the share is of, in words."""
        return "of all" if self.answered is None else answered_words(self.answered)

    def data(self) -> dict[str, Any]:
        """Return the share as JSON values."""
        return self._asdict() | {"answered": None if self.answered is None else self.answered._asdict()}


def shares(estimate: Estimate, queries: Iterable[int] | None = None, *, of_all: bool = False) -> list[Share]:
    """Return the answers of some queries, by default of all, per person who answered, or with `of_all` per person.

    Those who answered have, of any attribute that the query is about, not the value "no answer"; nor "other", unless
    this is a label beside "no answer". A share is the ratio of two estimates, its interval Fieller's (`of_ratios`)
    around the unbiased ones, moved and cut to what is possible. Those of post-processed answers grow until none ends
    above that of a query which counts more (`nested`), of all queries where these have 2^20 entries at most. Queries
    that count any of the rest have none, nor has any where the number of those who answered is not determined, or its
    estimate not positive.
    Intervals that hold together do so for all queries of the workload, whichever are asked for.

    Raises:
        ValueError: for more than 2^27 entries of all queries, or a number that is no query's.
    """
    table = estimate.table(queries)
    if of_all:
        N = estimate.users
        return [Share(one.query, one.label, one.answer / N, one.low / N, one.high / N) for one in table]
    wanted, found = [one.query for one in table], list[Share]()
    for own, numbers in estimate.by_table():
        here = np.flatnonzero(np.isin(numbers, wanted))
        found += [one._replace(query=int(numbers[one.query])) for one in _of_table(own, here)]
    return sorted(found)


def _of_table(estimate: Estimate, wanted: np.ndarray) -> list[Share]:
    """Return the shares of some queries (k,) of an estimate of one table."""
    workload, found = estimate.workload, list[Share]()
    entries(workload.queries * workload.domain_size, MATRIX_LIMIT, "the shares", "ask about fewer attributes")
    rows = workload.matrix()
    for margin in workload.margins():
        places, known = np.arange(workload.queries)[margin.places], _all_inside(estimate, margin.attributes)
        places = places[~(rows[places] * (1 - known)).any(axis=1)]
        places = places[~_alike(rows[places], known)]
        if (asked := np.intersect1d(places, wanted)).size:
            places = places if rows.size <= COMPARED else asked
            words = who(estimate.naming.attributes[place] for place in margin.attributes)
            found += _shares(estimate, places, rows[places], known, words)
    chosen = {*wanted.tolist()}
    return [one for one in found if one.query in chosen]


def _shares(
    estimate: Estimate, places: np.ndarray, rows: np.ndarray, known: np.ndarray, words: str
) -> list[Share]:
    """Return the shares of queries (k, n) that count no gaps, of those who have a 1 in `known` (n,)."""
    k, names = len(places), tuple(estimate.naming.label(place) for place in places)
    queries = np.vstack([rows, rows + known, known])
    try:
        asked = estimate.ask(Explicit(queries, estimate.workload.domain, (*names, *names, words)))
    except UnsupportedWorkloadError:  # no report tells how many people these are
        return []
    # asked alone, as for a median: an interval may be wider beside others
    alone = estimate.ask(Explicit(known[None], estimate.workload.domain, (words,)))
    whole, each = alone.table()[0], 1 / estimate.workload.queries if estimate.simultaneous else 1.0
    plain = replace(asked.raw(), simultaneous=False, confidence=estimate.confidence**each)
    parts, people = plain.answers[:k], float(plain.answers[-1])
    if min(whole.answer, people) <= 0:
        return []
    own, both, other = np.split(np.square(plain.standard_errors), [k, 2 * k])
    moments = np.stack([own, (both - own - other) / 2, np.repeat(other, k)])
    least, most = rows[:, known > 0].min(axis=1), rows[:, known > 0].max(axis=1)
    ratios = np.clip(asked.answers[:k] / whole.answer, least, most)
    apart = rows - np.clip(parts / people, least, most)[:, None] * known
    each_side = np.full(k, standard_errors_each_side(plain.confidence))
    if apart.any():  # none is apart from the whole where all queries count those who answered
        each_side = _each_side(plain.ask(Explicit(apart, estimate.workload.domain)))
    low, high = of_ratios(parts, people, moments, each_side).cut(parts / people, least, most)
    low, high = np.minimum(low, ratios), np.maximum(high, ratios)
    if not estimate.unbiased:
        told = estimate.workload.tells_entries
        compared = (
            SomeQueries(estimate.workload, places) if told else Explicit(rows, estimate.workload.domain)
        )
        low, high = nested(compared, Interval(low, high))
    answered = at_most_all(whole, estimate.users)
    columns = zip(places.tolist(), names, ratios.tolist(), low.tolist(), high.tolist(), strict=True)
    return [Share(query, label, ratio, left, right, answered) for query, label, ratio, left, right in columns]


def _alike(rows: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return which queries (k, n) count everybody in `known` (n,) alike, but not as one person: weighted totals."""
    inner = rows[:, known > 0]
    return (inner == inner[:, :1]).all(axis=1) & (inner[:, 0] != 1)


def _each_side(estimate: Estimate) -> np.ndarray:
    """Return how many standard errors the intervals of unbiased answers reach (p,), more than usual for few users."""
    reach = np.maximum(estimate.high - estimate.answers, estimate.answers - estimate.low)
    usual = np.full(len(reach), standard_errors_each_side(estimate.confidence))
    return np.divide(reach, estimate.standard_errors, out=usual, where=estimate.standard_errors > 0)


def _all_inside(estimate: Estimate, attributes: tuple[int, ...]) -> np.ndarray:
    """Return 1 for every cell without gaps of these attributes (n,)."""
    parts = [
        inside(one) if place in attributes else np.ones(one.size)
        for place, one in enumerate(estimate.naming.attributes)
    ]
    return reduce(np.multiply.outer, parts).ravel()
