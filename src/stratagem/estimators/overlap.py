"""Parts of a survey that share attributes, estimated together, so that what they share has one answer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import final

import numpy as np
from scipy.linalg import helmert

from stratagem.estimators.accuracy import check_domain, check_support
from stratagem.estimators.dense import Dense, DenseEvidence
from stratagem.estimators.part import ByCell, Onto, PartScores, centred_rows
from stratagem.math.linalg import PseudoInverse, RegularInverse, inverse
from stratagem.math.privacy import uniform
from stratagem.strategies import Strategy
from stratagem.strategies.survey import SurveyPart
from stratagem.strategies.translation import DENSE
from stratagem.workloads import Workload, explicit
from stratagem.workloads.centring import root

CELLS = 1 << 12
"""Most cells of tables that are estimated together; of more, every part is estimated alone."""
UNSEEN = 1e-8
"""Length from which on what is left of a direction on one table is a direction that no report depends on, and relative
length from which on a part answers something of a query."""


@final
@dataclass(frozen=True, eq=False)
class Overlap:
    """The reports of parts that share attributes, as one experiment about the functions of any part's attributes.

    phi_b = prod_a h_{a, b_a}, with h_{a, 0} = 1 and the h_a orthonormal under even shares, are a basis of these
    functions; part k sees those with b_a = 0 outside its attributes. With M_k = Q_k^T D_k^-1 Q_k on the n_k cells of
    its table, Phi_k the values of its phi_b there, and shares s_k, the information about the functions of mean zero is
    J = sum_k s_k Phi_k^T (M_k - 11^T/n_k) Phi_k / n_k. A query w of table i has the coordinates Phi_i^T w / n_i, and a
    report y of part k the score q_y^T Phi_k J^+ Phi_i^T w / (n_i d_y) beside the mean of w. That is M^+ of the matrix
    of the whole survey: unbiased, and at even shares of least variance (Gauss and Markov; theory.md, section 15).
    """

    numbers: tuple[int, ...]
    """Numbers of the parts in the survey."""
    parts: tuple[SurveyPart, ...]
    sizes: tuple[int, ...]
    """Attribute sizes of the domain."""

    @cached_property
    def strategies(self) -> tuple[Strategy, ...]:
        """The strategy of every part, listed."""
        return tuple(one.strategy.listed() for one in self.parts)

    @cached_property
    def _places(self) -> list[np.ndarray]:
        """Number of every function of mean zero that a part sees (n_k - 1,), among those of all parts."""
        seen = []
        for one in self.parts:
            b = np.zeros((one.strategy.domain_size, len(self.sizes)), dtype=np.int64)
            own = np.indices([self.sizes[a] for a in one.attributes])
            b[:, list(one.attributes)] = own.reshape(len(own), -1).T
            seen.append(b[1:])
        numbers = np.unique(np.concatenate(seen), axis=0, return_inverse=True)[1].ravel()
        return np.split(numbers, np.cumsum([len(one) for one in seen])[:-1])

    @cached_property
    def _values(self) -> list[np.ndarray]:
        """Phi_k of every part (n_k x (n_k - 1))."""
        asked = {a for one in self.parts for a in one.attributes}
        each = {a: np.sqrt(self.sizes[a]) * helmert(self.sizes[a], full=True).T for a in asked}
        return [reduce(np.kron, [each[a] for a in one.attributes])[:, 1:] for one in self.parts]

    @cached_property
    def _inverse(self) -> RegularInverse | PseudoInverse:
        """J^+ over the functions of all parts."""
        many = 1 + max(int(one.max(initial=0)) for one in self._places)
        J = np.zeros((many, many))
        for one, strategy, places, Phi in self._each():
            own = Phi.T @ strategy.centred_information() @ Phi
            J[np.ix_(places, places)] += one.share / strategy.domain_size * own
        return inverse(J)

    def _each(self) -> Iterator[tuple[SurveyPart, Strategy, np.ndarray, np.ndarray]]:
        return zip(self.parts, self.strategies, self._places, self._values, strict=True)

    @cached_property
    def _roots(self) -> list[np.ndarray]:
        """Phi_k R of every part (n_k x r), with R R^T = J^+."""
        root = self._inverse.root
        return [Phi @ root[places] for places, Phi in zip(self._places, self._values, strict=True)]

    def null(self, table: int) -> np.ndarray:
        """Return an orthonormal basis of the data vectors of a table that no report depends on."""
        hidden = self._inverse.null[self._places[table]]
        vectors, lengths, _ = np.linalg.svd(self._values[table] @ hidden, full_matrices=False)
        return vectors[:, lengths > UNSEEN * math.sqrt(len(vectors))]

    def directions(self, table: int, F: np.ndarray) -> np.ndarray:
        """Return R^T Phi_i^T F / n_i for queries F (n_i x r) of a table, whose squares are the mean ones of scores."""
        return self._roots[table].T @ F / len(F)

    def scores(self, table: int, F: np.ndarray) -> list[np.ndarray]:
        """Return the scores (m_k, r) of the reports of every part for queries F (n_i x r) of a table, of mean zero."""
        inner = self.directions(table, F)
        return [
            strategy.inverse_row_sums()[:, None] * strategy.forward(root @ inner)
            for strategy, root in zip(self.strategies, self._roots, strict=True)
        ]

    def portions(self, table: int, F: np.ndarray) -> list[np.ndarray]:
        """Return the mean score (n_k x r) of users of every cell through each part; these add up to F less its mean."""
        both = zip(self.parts, self.strategies, self.scores(table, F), strict=True)
        return [one.share * strategy.backward(scores) for one, strategy, scores in both]

    def moments(self, table: int, F: np.ndarray) -> list[np.ndarray]:
        """Return the mean square (n_k x r) of the scores from reports of every part, by the cells of its table."""
        both = zip(self.parts, self.strategies, self.scores(table, F), strict=True)
        return [one.share * strategy.backward(np.square(scores)) for one, strategy, scores in both]


@final
@dataclass(frozen=True, eq=False)
class OverlapTable(Dense):
    """The scores of all reports for the table of one part; the last report stands for those of no part of these."""

    overlap: Overlap
    table: int

    @cached_property
    def rows(self) -> np.ndarray:
        """The scores (m x n_i) of every report for the cells of the table."""
        n = len(self.shares)
        found = np.concatenate([*self.overlap.scores(self.table, np.eye(n)), np.zeros((1, n))])
        return found - found.mean(axis=1, keepdims=True) + 1 / n  # the total is known to the last digit

    @property
    def privacy(self) -> tuple[float, float]:
        return max(one.strategy.epsilon for one in self.overlap.parts), 0.0

    @property
    def shares(self) -> np.ndarray:
        return uniform(self.overlap.parts[self.table].strategy.domain_size)

    @property
    def null(self) -> np.ndarray:
        return self.overlap.null(self.table)

    @property
    def least_spread(self) -> np.ndarray:
        both = zip(self.overlap.parts, self.overlap.strategies, strict=True)
        chances = [one.share / strategy.domain_size * strategy.row_sums for one, strategy in both]
        rest = 1 - math.fsum(one.share for one in self.overlap.parts)
        return self.estimated_spread(np.append(np.concatenate(chances), max(0.0, rest)))

    def check(self, workload: Workload) -> None:
        check_domain(workload, len(self.shares))
        check_support(workload, self.null, self.shares)

    def users(self, counts: np.ndarray) -> int:
        return round(counts.sum())

    def estimated_data(self, counts: np.ndarray) -> np.ndarray:
        return counts @ self.rows

    def estimated_spread(self, counts: np.ndarray) -> np.ndarray:
        weighted = np.sqrt(counts)[:, None] * self.rows
        return weighted.T @ weighted


@final
@dataclass(frozen=True, eq=False)
class Overlapping(PartScores):
    """Scores for the table of one part from the reports of all parts of an overlap."""

    overlap: Overlap
    table: int
    """Place of the part in the overlap."""

    def excess(self, queries: Workload) -> float:
        return float(np.square(self.overlap.directions(self.table, root(queries))).sum())

    def by_cell(self, queries: Workload) -> list[ByCell]:
        F = root(queries)
        return [
            (one.attributes, added.sum(axis=1))
            for one, added in zip(self.overlap.parts, self._added(F), strict=True)
        ]

    def variances(self, queries: Workload, onto: Onto | None) -> np.ndarray:
        added = self._added(centred_rows(queries).T)
        if onto is None:
            found = [own.mean(axis=0) for own in added]
        else:
            both = zip(self.overlap.parts, added, strict=True)
            found = [onto(one.attributes) @ own for one, own in both]
        return np.maximum(np.sum(found, axis=0), 0.0)

    def largest(self, queries: Workload) -> np.ndarray:
        added = self._added(centred_rows(queries).T)
        return np.maximum(np.sum([own.max(axis=0) for own in added], axis=0), 0.0)

    def _added(self, F: np.ndarray) -> list[np.ndarray]:
        """Return what users add to the variances of queries F (n_i x r), by the cells (n_k x r) of every part."""
        moments = self.overlap.moments(self.table, F)
        moments[self.table] = moments[self.table] - np.square(F)
        return moments

    def listed(self, queries: Workload) -> np.ndarray:
        """Return the score of every report of the overlap less the mean of the query (m, p)."""
        return np.concatenate(self.overlap.scores(self.table, centred_rows(queries).T))

    def evidence(self, counts: np.ndarray) -> DenseEvidence:
        """Return what the counts of the overlap's reports, and of all others together, say of the table."""
        return DenseEvidence(OverlapTable(self.overlap, self.table), counts)


def overlapping(parts: Sequence[SurveyPart], sizes: tuple[int, ...]) -> dict[int, Overlapping]:
    """Return the scores for every part that shares attributes with others, by its number; all have reports to count.

    Parts that hang together through others are in one overlap. Those with more than 4,096 cells together, or too many
    reports to be listed, are in none.
    """
    groups = list[set[int]]()
    for i, one in enumerate(parts):
        near = [group for group in groups if any(meet(parts[k], one) for k in group)]
        groups = [group for group in groups if group not in near] + [{i}.union(*near)]
    found = dict[int, Overlapping]()
    for group in map(sorted, groups):
        own = tuple(parts[i] for i in group)
        cells = sum(one.strategy.domain_size for one in own)
        if len(group) > 1 and cells <= CELLS and cells * sum(one.outputs for one in own) <= DENSE:
            overlap = Overlap(tuple(group), own, sizes)
            found |= {i: Overlapping(overlap, place) for place, i in enumerate(group)}
    return found


def meet(one: SurveyPart, other: SurveyPart) -> bool:
    """Return whether two parts share attributes."""
    return not {*one.attributes}.isdisjoint(other.attributes)


def portions(
    overlaps: Mapping[int, Overlapping], asked: Iterable[tuple[int, Workload, np.ndarray]]
) -> dict[int, Workload]:
    """Return what each part that shares attributes answers of all queries, over its table, by its number.

    Through part k a user adds h_k to the score of a query, in the mean, and over all parts the query less its mean,
    whatever strategy answers h_k. The least excess of the whole is the sum of B_k/s_k, with B_k that of h_k by part k
    alone: strategies and shares that lower this sum lower L (theory.md, section 15). `asked` are queries by their part,
    as the estimator of the survey splits them.
    """
    found = dict[int, list[np.ndarray]]()
    for part, queries, _ in asked:
        if scores := overlaps.get(part):
            own = scores.overlap.portions(scores.table, root(queries))
            for number, portion in zip(scores.overlap.numbers, own, strict=True):
                found.setdefault(number, []).append(portion)
    return {number: _alike(np.hstack(every)) for number, every in found.items()}


def _alike(F: np.ndarray) -> Workload:
    """Return queries, at most one for every cell, whose errors weigh as those of the columns of F (n x r)."""
    lengths = np.linalg.norm(F, axis=0)
    return explicit(root(explicit(F[:, lengths > UNSEEN * lengths.max()].T)).T)
