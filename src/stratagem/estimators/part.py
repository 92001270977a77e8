"""Scores for the queries about the table of one part of a survey, from the reports of that part alone."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from stratagem.estimators.accuracy import Accuracy, check_entries
from stratagem.estimators.estimator import Estimator
from stratagem.strategies.survey import SurveyPart
from stratagem.workloads import Workload
from stratagem.workloads.table import means, spreads

Onto = Callable[[tuple[int, ...]], np.ndarray]
"""Function from some attributes to the data vector of their table."""
ByCell = tuple[tuple[int, ...], np.ndarray]
"""Attributes, and a number for every cell of their table, in row-major order."""


@dataclass(frozen=True, eq=False)
class SeparableAccuracy(Accuracy):
    """The accuracy on a domain of too many user types to list: a sum of functions of the cells of few attributes."""

    terms: tuple[ByCell, ...] = ()
    """Attributes, and the variance that a user of each cell of their table adds, in row-major order."""

    @property
    def worst_case_variance(self) -> float:
        """Upper bound on max_u t_u, exact where no attribute is in two terms."""
        return math.fsum(float(one.max()) for _, one in self.terms)

    @property
    def average_variance(self) -> float:
        return math.fsum(float(one.mean()) for _, one in self.terms)


class PartScores(ABC):
    """The score of one user's report for every query about the table of a part, and how far it is off.

    Queries (p) are over the cells of the table (n_i). Their means m are known from the number of users.
    """

    @abstractmethod
    def excess(self, queries: Workload) -> float:
        """Return the mean of sum_q (score - m_q)^2 under even shares."""

    @abstractmethod
    def by_cell(self, queries: Workload) -> list[ByCell]:
        """Return functions of the cells of tables whose sum is the variance that a user adds to all queries."""

    @abstractmethod
    def variances(self, queries: Workload, onto: Onto | None) -> np.ndarray:
        """Return the variance (p,) of every answer for a data vector, without one that of a user of random type."""

    @abstractmethod
    def largest(self, queries: Workload) -> np.ndarray:
        """Return an upper bound (p,) on the variance of every answer from one user of its worst type."""


@final
@dataclass(frozen=True, eq=False)
class Alone(PartScores):
    """Scores m + 1[part i] (r - m)/s_i: a user of type u adds Var_i(r | u)/s_i + (w_u - m)^2 (1/s_i - 1)."""

    part: SurveyPart
    through: Estimator
    """The estimator of the part's strategy."""
    sizes: tuple[int, ...]
    """Attribute sizes of the domain."""

    def excess(self, queries: Workload) -> float:
        known = float(np.square(means(queries)).sum())
        return (self.through.objective(queries) / queries.scale - known) / self.part.share

    def by_cell(self, queries: Workload) -> list[ByCell]:
        found = self.through.accuracy(queries)
        added = np.broadcast_to(self._written(found), queries.domain_size)
        return [(self.part.attributes, self._whole(added, spreads(queries)))]

    def _written(self, found: Accuracy) -> np.ndarray:
        """Return the variances by cell of the part's table, also where they depend on few of its attributes."""
        if found.attributes is None:
            return found.per_type
        sizes = [self.sizes[i] for i in self.part.attributes]
        shape = [a if k in found.attributes else 1 for k, a in enumerate(sizes)]
        return np.broadcast_to(found.per_type.reshape(shape), sizes).ravel()

    def variances(self, queries: Workload, onto: Onto | None) -> np.ndarray:
        squares = np.square(centred_rows(queries))
        if onto is None:
            return self._whole(np.asarray(self.through.variances(queries)), squares.mean(axis=1))
        own = onto(self.part.attributes)
        return self._whole(self.through.variances(queries, own), squares @ own)

    def largest(self, queries: Workload) -> np.ndarray:
        squares = np.square(centred_rows(queries))
        return self._whole(np.asarray(self.through.largest(queries)), squares.max(axis=1))

    def _whole(self, variance: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """Return what the variance of the part's scores and (w_u - m)^2 add up to."""
        return variance / self.part.share + squares * (1 / self.part.share - 1)


def centred_rows(workload: Workload) -> np.ndarray:
    """Return w_u - m for every query and cell (p x n)."""
    check_entries(workload)
    W = workload.matrix()
    return W - W.mean(axis=1, keepdims=True)
