"""The estimator of a strategy of translates, on domains of any size."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import suppress
from functools import cached_property
from typing import Generic, TypeVar, final

import numpy as np

from stratagem.estimators.accuracy import UnsupportedWorkloadError
from stratagem.estimators.best_linear import BestLinear, LeastVariance
from stratagem.estimators.dense import DenseEvidence
from stratagem.estimators.estimator import Estimator
from stratagem.estimators.evidence import Evidence
from stratagem.estimators.support import check_entries, check_sizes
from stratagem.estimators.translation.evidence import TranslationEvidence
from stratagem.estimators.translation.reports import PlacedReports
from stratagem.estimators.translation.score import even_scores
from stratagem.estimators.translation.table import largest_by_table, largest_of_kinds
from stratagem.estimators.translation.tables import Tables, typical_by_table
from stratagem.math.counts import Counts
from stratagem.math.privacy import uniform
from stratagem.strategies import TranslationStrategy
from stratagem.strategies.translation import DENSE
from stratagem.workloads import Workload
from stratagem.workloads.combined import unweighted
from stratagem.workloads.identity import Identity
from stratagem.workloads.merged import merged

SMALL = 1024
"""Domain size up to which windows have the estimator of least variance, by n x n arrays."""
Kind = TypeVar("Kind", bound=TranslationStrategy)

QUICK = 1 << 32
"""Largest number of multiplications for which a strategy of translates is written out."""


class Translates(Estimator, Generic[Kind]):
    """Scores by characters, which treat all user types alike; a report tells about the attributes that it covers."""

    strategy: Kind

    @property
    @abstractmethod
    def short(self) -> LeastVariance | None:
        """The estimator by n x n arrays where it is in use; None on domains of any size."""

    @final
    @cached_property
    def cycles(self) -> Kind:
        """The strategy, written over one attribute where all attributes of the domain share one cycle."""
        return self.strategy.on_cycles()

    @final
    @cached_property
    def tables(self) -> Tables:
        """The tables of attributes that scores are known for."""
        return Tables(self.cycles, self.strategy.sizes)

    @final
    def asked(self, workload: Workload) -> Workload:
        """Return the workload, merged into one attribute where there is one cycle.

        Raises:
            ValueError: if the domains differ there.
        """
        if len(self.strategy.cycles) > 1:
            return workload
        check_sizes(workload, self.strategy.sizes)
        return merged(workload)

    @final
    def check(self, workload: Workload) -> None:
        (self.short or self.tables).check(workload)

    @final
    def evidence(self, counts: Counts) -> Evidence:
        reports = PlacedReports.of(self.cycles, counts)
        return DenseEvidence(self.short, reports) if self.short else TranslationEvidence(self.tables, reports)

    @final
    def _variances(self, workload: Workload, x: np.ndarray) -> np.ndarray:
        return BestLinear(self.strategy.dense()).variances(workload, x)

    @final
    def _typical(self, workload: Workload) -> np.ndarray:
        workload, strategy = self.asked(workload), self.cycles
        if not strategy.window:
            return typical_by_table(workload, strategy)
        if (even := even_scores(strategy)) and isinstance(workload, Identity):
            return np.full(workload.queries, even.variance(workload.queries) / workload.queries)
        check_entries(workload)
        return BestLinear(strategy.dense()).variances(workload, uniform(workload.domain_size))

    @final
    def _largest(self, workload: Workload) -> np.ndarray:
        workload = self.asked(workload)
        found = self._by_matrix(workload)
        return largest_by_table(workload, self.cycles) if found is None else found

    @final
    def _worst(self, workload: Workload) -> float:
        workload, strategy = self.asked(workload), self.cycles
        if not strategy.window and self._of_cells(workload):
            with suppress(ValueError):
                return largest_of_kinds(workload, strategy)
        found = self._by_matrix(workload)
        return largest_of_kinds(workload, strategy) if found is None else float(found.max())

    def _of_cells(self, workload: Workload) -> bool:
        """Return whether the queries are the cells of tables: one cell of every kind stands for all others."""
        group = self.cycles.owner
        kinds = workload.kinds([group[i] for i in range(len(group))])
        return all(isinstance(unweighted(queries)[1], Identity) for _, queries in kinds)

    def _written_out(self, workload: Workload) -> bool:
        """Return whether the matrix is written out: if it is cheap; on windows, if its estimator is in use."""
        strategy = self.cycles
        if strategy.window:
            histogram = isinstance(workload, Identity) and len(strategy.sizes) == 1
            return strategy.domain_size <= SMALL and not histogram
        entries = strategy.outputs * strategy.domain_size
        return entries <= DENSE and entries * workload.queries <= QUICK

    def _by_matrix(self, workload: Workload) -> np.ndarray | None:
        """Return the largest variances (p,) by the matrix of the strategy, None where it is not written out."""
        strategy = self.cycles
        if not self._written_out(workload):
            return None
        try:
            return BestLinear(strategy.dense()).largest(workload)
        except UnsupportedWorkloadError:
            # a matrix loses what the characters hold of queries that others outweigh: then they answer
            if strategy.window:
                raise
        return None
