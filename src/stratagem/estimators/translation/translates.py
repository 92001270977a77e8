"""The estimator of a strategy of translates, on domains of any size, and what its reports say."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar, final

import numpy as np

from stratagem.estimators.accuracy import UnsupportedWorkloadError, check_entries
from stratagem.estimators.best_linear import BestLinear, LeastVariance
from stratagem.estimators.dense import DenseEvidence
from stratagem.estimators.estimator import (
    About,
    Estimator,
    Evidence,
    check_covariance,
    least_share,
    sampled,
    settled,
)
from stratagem.estimators.translation.interaction import Interactions
from stratagem.estimators.translation.largest import largest_by_table, largest_of_kinds
from stratagem.estimators.translation.line import AlongAttribute, Gap
from stratagem.estimators.translation.score import Labels, PlacedReports, even_scores, even_sums
from stratagem.estimators.translation.tables import TABLE, Tables, typical_by_table
from stratagem.math.number import entries
from stratagem.math.privacy import uniform
from stratagem.math.vector import Counts
from stratagem.strategies import TranslationStrategy
from stratagem.strategies.translation import DENSE
from stratagem.workloads import Workload
from stratagem.workloads.explicit import Explicit
from stratagem.workloads.workload import Margin

DATA = 1 << 25
"""Cells of the largest domain whose data vector is written out (256 MiB)."""


@final
@dataclass(frozen=True, eq=False)
class TranslationEvidence(Evidence):
    """Counts of reports of translates: estimates only the tables of the attributes that queries touch.

    A table is estimated from the reports that cover some of its attributes.
    """

    tables: Tables
    reports: PlacedReports
    _interactions: list[Interactions] = field(default_factory=list, init=False, repr=False)
    """Sums over reports that were computed before, kept for later queries."""
    _cells: dict[Labels, float] = field(default_factory=dict, init=False, repr=False)
    """Variances of the score of one report for a cell, by the groups of the table's attributes."""

    @property
    def users(self) -> int:
        return self.reports.users

    def estimated_data(self) -> np.ndarray:
        strategy = self.tables.strategy
        entries(strategy.domain_size, DATA, "the data vector", "ask for marginals, not for all cells")
        return self._tables([tuple(range(len(strategy.sizes)))], False)[0][0].ravel()

    def table(self, attributes: Iterable[int]) -> DenseEvidence:
        """Return the table of some attributes, in rising order, with the covariance of all its cells.

        Raises:
            ValueError: for a table of more than 2048 cells.
        """
        return DenseEvidence(self.tables.table(attributes), self.reports)

    def written_out(self) -> Evidence:
        strategy = self.tables.strategy
        return self if strategy.domain_size > TABLE else self.table(range(len(strategy.sizes)))

    def check(self, workload: Workload) -> None:
        self.tables.check(workload)

    def answers(self, workload: Workload) -> np.ndarray:
        workload = self.tables.asked(workload)
        answers, margins = np.empty(workload.queries), list(workload.margins())
        tables = self._tables([one.attributes for one in margins], False)
        for margin, (table,) in zip(margins, tables, strict=True):
            answers[margin.places] = self._answers(margin, table.ravel())
        return answers

    def variances(self, workload: Workload, about: About = "users") -> np.ndarray:
        workload = self.tables.asked(workload)
        variances, margins = np.empty(workload.queries), list(workload.margins())
        cells = any(one.workload.unweighted[1].cells is not None for one in margins)
        tables = self._tables([one.attributes for one in margins], cells)
        for margin, found in zip(margins, tables, strict=True):
            variances[margin.places] = self._variances(margin, found[0].ravel(), found[-1].ravel(), about)
        return variances

    def prior_variances(self, workload: Workload) -> np.ndarray:
        """Return the variances (p,) of the score of one report if user types are uniform on the cycles."""
        workload = self.tables.asked(workload)
        variances = np.empty(workload.queries)
        for margin in workload.margins():
            variances[margin.places] = self._least(margin)
        return variances

    def covariance(self, workload: Workload, about: About = "users") -> np.ndarray:
        check_covariance(workload)
        workload = self.tables.asked(workload)
        margins = list(workload.margins())
        touched = sorted({i for margin in margins for i in margin.attributes})
        dense = self.table(touched)
        rows = np.empty((workload.queries, *(self.tables.strategy.sizes[i] for i in touched)))
        for margin in margins:
            W = margin.workload.matrix()
            own = [self.tables.strategy.sizes[i] if i in margin.attributes else 1 for i in touched]
            rows[margin.places] = W.reshape(len(W), *own)
        flat = rows.reshape(workload.queries, -1)
        return dense.covariance(Explicit(flat, workload.domain.part(touched)), about)

    def _answers(self, margin: Margin, table: np.ndarray) -> np.ndarray:
        weight, workload = margin.workload.unweighted
        if self._gap is not None and workload.cumulative:
            labels, _ = self.tables.placed(margin.attributes)
            scores = self._source({0}, [labels], False).tables(labels, np.zeros((1, 1), dtype=int))
            return weight * self._gap.window.answers(scores[0, 0])
        return weight * table if workload.by_cell else margin.workload.answer(table)

    @cached_property
    def _gap(self) -> Gap | None:
        """The estimator of prefixes where a single attribute is a window of a longer cycle; None otherwise."""
        strategy = self.tables.strategy
        single = strategy.window and len(strategy.sizes) == 1
        return Gap(self.reports, self.tables.scores) if single else None

    def _variances(self, margin: Margin, table: np.ndarray, squares: np.ndarray, about: About) -> np.ndarray:
        weight, workload = margin.workload.unweighted
        if (cells := workload.cells) is not None:
            squares, table = squares[cells], table[cells]
            found = self._settled(squares, table, table, self._least(margin) / weight**2, about)
        elif self._gap is not None and workload.cumulative:
            answers = self._answers(margin, table) / weight
            found = self._settled(self._gap.squares(), answers, answers, self._gap.least(), about)
        elif self._along(margin):
            line, answers = (
                AlongAttribute(self.reports, self.tables.scores, margin.attributes[0]),
                workload.answer(table),
            )
            own = answers if workload.range_lengths is not None else line.own(workload, table)
            found = self._settled(line.squares(workload), answers, own, line.least(workload), about)
        else:
            found = self.table(margin.attributes).variances(workload, about)
        return weight**2 * found

    def _along(self, margin: Margin) -> bool:
        """Return whether queries are about one attribute and computed along it, without the covariance of cells."""
        _, workload = margin.workload.unweighted
        large = workload.domain_size > TABLE or self._even is not None
        return len(margin.attributes) == 1 and (large or workload.range_lengths is not None)

    def _least(self, margin: Margin) -> np.ndarray:
        """Return the variances of the score of one report from a uniformly random user type."""
        weight, workload = margin.workload.unweighted
        if workload.cells is not None:
            return np.full(
                workload.queries, weight**2 * self._least_of_cell(self.tables.placed(margin.attributes)[0])
            )
        if self._gap is not None and workload.cumulative:
            return weight**2 * self._gap.least()
        if self._along(margin):
            return weight**2 * AlongAttribute(self.reports, self.tables.scores, margin.attributes[0]).least(
                workload
            )
        return weight**2 * self.table(margin.attributes).prior_variances(workload)

    def _least_of_cell(self, labels: Labels) -> float:
        """Return `_least` of a cell of a table over attributes of these groups."""
        if labels not in self._cells:
            cells = math.prod(self.tables.scores.sizes(labels))
            self._cells[labels] = float(self.tables.scores.inverse(labels).sum() - 1) / cells**2
        return self._cells[labels]

    def _settled(
        self, first: np.ndarray, answers: np.ndarray, own: np.ndarray, least: np.ndarray, about: About
    ) -> np.ndarray:
        """Return the estimated variances (p,) of `answers`, about the users or their population.

        `first` are the sums over reports of squared scores, `own` the estimates of sum_u w_u^2 x_u, and `least`
        the variances of the score of one report from a uniformly random user type, all of shape (p,).
        """
        strategy = self.tables.strategy
        about_population = sampled(first - answers**2 / self.users, self.users)
        variance = first - own if about == "users" else about_population
        return settled(variance, least_share(self.users, strategy.epsilon, strategy.delta) * least, first)

    def _tables(self, sets: list[tuple[int, ...]], squared: bool) -> list[np.ndarray]:
        """Return the estimated table (1, sizes) of each set of attributes.

        With `squared` the arrays are (2, sizes), the second entry the sums over reports of squared scores.
        """
        if self._even is not None and all(attributes == (0,) for attributes in sets):
            return [self._even[: 1 + squared, : self.tables.strategy.sizes[0]]] * len(sets)
        inner = [self.tables.placed(attributes) for attributes in sets]
        by_labels: dict[Labels, list[int]] = {}
        for place, (labels, _) in enumerate(inner):
            by_labels.setdefault(labels, []).append(place)
        source = self._source({i for attributes in sets for i in attributes}, by_labels, squared)
        found: dict[int, np.ndarray] = {}
        for labels, places in by_labels.items():
            chosen = np.array([[sets[place][i] for i in inner[place][1]] for place in places])
            tables = source.tables(labels, chosen)[: 1 + squared]
            for k, place in enumerate(places):
                back = 1 + np.argsort(inner[place][1])
                cut = (slice(self.tables.strategy.sizes[i]) for i in sets[place])
                found[place] = tables[:, k].transpose(0, *back)[(slice(None), *cut)]
        return [found[place] for place in range(len(sets))]

    @cached_property
    def _even(self) -> np.ndarray | None:
        """Sums over reports of scores and of squared scores (2, N); None unless scores have two values."""
        scores = even_scores(self.tables.strategy)
        return None if scores is None else even_sums(self.reports, scores)

    def _source(self, asked: set[int], kinds: Iterable[Labels], squared: bool) -> Interactions:
        """Return sums of scores for the attributes asked about; reuse earlier sums that cover all of them."""
        for one in self._interactions:
            if one.holds(asked, kinds, squared):
                return one
        members = [[i for i in group if i in asked] for group in self.tables.strategy.groups]
        self._interactions.append(Interactions(self.reports, self.tables.scores, members, squared))
        return self._interactions[-1]


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
        workload, strategy = self.tables.asked(workload), self.cycles
        if not strategy.window:
            return typical_by_table(workload, strategy)
        if (even := even_scores(strategy)) and workload.by_cell:
            return np.full(workload.queries, even.variance(workload.queries) / workload.queries)
        check_entries(workload)
        return BestLinear(strategy.dense()).variances(workload, uniform(workload.domain_size))

    @final
    def _largest(self, workload: Workload) -> np.ndarray:
        workload = self.tables.asked(workload)
        found = self._by_matrix(workload)
        return largest_by_table(workload, self.cycles) if found is None else found

    @final
    def _worst(self, workload: Workload) -> float:
        workload, strategy = self.tables.asked(workload), self.cycles
        kinds = workload.kinds(strategy.owner)
        if not strategy.window and all(queries.unweighted[1].by_cell for _, queries in kinds):
            with suppress(ValueError):  # one cell of every kind stands for all others
                return largest_of_kinds(workload, strategy)
        found = self._by_matrix(workload)
        return largest_of_kinds(workload, strategy) if found is None else float(found.max())

    def _written_out(self, workload: Workload) -> bool:
        """Return whether the matrix is written out: if it is cheap; on windows, if its estimator is in use."""
        strategy = self.cycles
        if strategy.window:
            return strategy.domain_size <= SMALL and even_scores(strategy) is None
        entries = strategy.outputs * strategy.domain_size
        return max(entries, strategy.domain_size**2) <= DENSE and entries * workload.queries <= QUICK

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
