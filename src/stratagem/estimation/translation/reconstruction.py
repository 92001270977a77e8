"""Answers and their variances from reports of a strategy of translates, on domains of any size."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import final

import numpy as np

from stratagem.accuracy import UnsupportedWorkloadError
from stratagem.accuracy.score import SEEN, Labels, Scores
from stratagem.accuracy.two_valued_scores import even_scores
from stratagem.collection.tally import Counts
from stratagem.estimation.reconstruction import (
    About,
    Reconstruction,
    check_covariance,
    least_share,
    sampled,
    settled,
)
from stratagem.estimation.translation.evidence import Evidence, Gap, even_sums
from stratagem.estimation.translation.interaction import Interactions
from stratagem.estimation.translation.line import Line
from stratagem.estimation.translation.margin import TableReconstruction
from stratagem.math.number import count_text, entries
from stratagem.strategies import TranslationStrategy
from stratagem.workloads import Workload
from stratagem.workloads.combined import unweighted
from stratagem.workloads.explicit import Explicit
from stratagem.workloads.identity import Identity
from stratagem.workloads.ranges import AllRange, Prefix
from stratagem.workloads.selection import Ranges
from stratagem.workloads.workload import Margin

DATA = 1 << 25
"""Cells of the largest domain whose data vector is written out (256 MiB)."""
TABLE = 2048
"""Cells of the largest table whose covariance is computed."""


@final
@dataclass(frozen=True, eq=False)
class TranslationReconstruction(Reconstruction):
    """A reconstruction that estimates only the tables of the attributes that queries touch.

    A table is estimated from the reports that cover some of its attributes.
    """

    evidence: Evidence
    scores: Scores
    _interactions: list[Interactions] = field(default_factory=list, init=False, repr=False)
    """Sums over reports that were computed before, kept for later queries."""
    _cells: dict[Labels, float] = field(default_factory=dict, init=False, repr=False)
    """Variances of the score of one report for a cell, by the groups of the table's attributes."""

    @staticmethod
    def of(strategy: TranslationStrategy, counts: Counts) -> TranslationReconstruction:
        """Return the reconstruction from counts of outputs, after checking the counts.

        Raises:
            ValueError: as `Evidence.of`.
        """
        evidence = Evidence.of(strategy, counts)
        return TranslationReconstruction(evidence, Scores(evidence.strategy))

    @property
    def users(self) -> int:
        """Number N of reports, one a user."""
        return self.evidence.users

    @property
    def nullity(self) -> int:
        """Number of the domain's characters at which the information matrix is zero.

        Raises:
            ValueError: for a domain of more than 2^25 cells.
        """
        every = self._every()
        return int(np.count_nonzero(self.scores.information(self._inner(every)[0]) <= SEEN))

    def estimated_data(self) -> np.ndarray:
        """Return the estimated data vector x_hat (n,).

        Raises:
            ValueError: for a domain of more than 2^25 cells.
        """
        return self._tables([self._every()], False)[0][0].ravel()

    def table(self, attributes: Iterable[int]) -> TableReconstruction:
        """Return the table of some attributes, in rising order, with the covariance of all its cells.

        Raises:
            ValueError: for a table of more than 2048 cells.
        """
        chosen = tuple(sorted(attributes))
        cells = math.prod(self.evidence.strategy.cycles[i] for i in chosen)
        if cells > TABLE:
            raise ValueError(
                f"the covariance of a table of {count_text(cells)} cells was asked for, but at most {TABLE} are "
                "computed: ask for fewer attributes at once, or for the cells themselves"
            )
        return TableReconstruction(self.evidence, self.scores, chosen)

    def check(self, workload: Workload) -> None:
        """Refuse a workload that needs a character at which the information matrix is zero.

        Raises:
            UnsupportedWorkloadError: naming the attributes.
            ValueError: if the domains differ.
        """
        workload = self.evidence.asked(workload)
        for attributes, queries in workload.kinds(self.evidence.group.tolist()):
            self._check_support(attributes, queries, workload.domain.attributes)

    def answers(self, workload: Workload) -> np.ndarray:
        """Return the estimated answers W x_hat (p,)."""
        workload = self.evidence.asked(workload)
        answers, margins = np.empty(workload.queries), list(workload.margins())
        tables = self._tables([one.attributes for one in margins], False)
        for margin, (table,) in zip(margins, tables, strict=True):
            answers[margin.places] = self._answers(margin, table.ravel())
        return answers

    def variances(self, workload: Workload, about: About = "users") -> np.ndarray:
        """Return the estimated variances (p,) of the answers W x_hat about the users or their population."""
        workload = self.evidence.asked(workload)
        variances, margins = np.empty(workload.queries), list(workload.margins())
        cells = any(isinstance(unweighted(one.workload)[1], Identity) for one in margins)
        tables = self._tables([one.attributes for one in margins], cells)
        for margin, found in zip(margins, tables, strict=True):
            variances[margin.places] = self._variances(margin, found[0].ravel(), found[-1].ravel(), about)
        return variances

    def prior_variances(self, workload: Workload) -> np.ndarray:
        """Return the variances (p,) of the score of one report if user types are uniform on the cycles."""
        workload = self.evidence.asked(workload)
        variances = np.empty(workload.queries)
        for margin in workload.margins():
            variances[margin.places] = self._least(margin)
        return variances

    def covariance(self, workload: Workload, about: About = "users") -> np.ndarray:
        """Return the unbiased estimate (p x p) of the covariance of queries that touch a few attributes.

        Raises:
            ValueError: if these have a table of more than 2048 cells, or as `DenseReconstruction.covariance`.
        """
        check_covariance(workload)
        workload = self.evidence.asked(workload)
        margins = list(workload.margins())
        touched = sorted({i for margin in margins for i in margin.attributes})
        dense = self.table(touched)
        rows = np.empty((workload.queries, *(self.evidence.strategy.sizes[i] for i in touched)))
        for margin in margins:
            W = margin.workload.matrix()
            own = [self.evidence.strategy.sizes[i] if i in margin.attributes else 1 for i in touched]
            rows[margin.places] = W.reshape(len(W), *own)
        flat = rows.reshape(workload.queries, -1)
        return dense.covariance(Explicit(flat, workload.domain.part(touched)), about)

    def _answers(self, margin: Margin, table: np.ndarray) -> np.ndarray:
        weight, workload = unweighted(margin.workload)
        if self._gap is not None and isinstance(workload, Prefix):
            labels, _ = self._inner(margin.attributes)
            scores = self._source({0}, [labels], False).tables(labels, np.zeros((1, 1), dtype=int))
            return weight * self._gap.window.answers(scores[0, 0])
        return weight * table if isinstance(workload, Identity) else margin.workload.answer(table)

    @cached_property
    def _gap(self) -> Gap | None:
        """The estimator of prefixes where a single attribute is a window of a longer cycle; None otherwise."""
        strategy = self.evidence.strategy
        single = strategy.window and len(strategy.sizes) == 1
        return Gap(self.evidence, self.scores) if single else None

    def _variances(self, margin: Margin, table: np.ndarray, squares: np.ndarray, about: About) -> np.ndarray:
        weight, workload = unweighted(margin.workload)
        if isinstance(workload, Identity):
            found = self._settled(squares, table, table, self._least(margin) / weight**2, about)
        elif self._gap is not None and isinstance(workload, Prefix):
            answers = self._answers(margin, table) / weight
            found = self._settled(self._gap.squares(), answers, answers, self._gap.least(), about)
        elif self._along(margin):
            line, answers = Line(self.evidence, self.scores, margin.attributes[0]), workload.answer(table)
            own = answers if isinstance(workload, Prefix | AllRange | Ranges) else line.own(workload, table)
            found = self._settled(line.squares(workload), answers, own, line.least(workload), about)
        else:
            found = self.table(margin.attributes).variances(workload, about)
        return weight**2 * found

    def _along(self, margin: Margin) -> bool:
        """Return whether queries are about one attribute and computed along it, without the covariance of cells."""
        _, workload = unweighted(margin.workload)
        large = workload.domain_size > TABLE or self._even is not None
        return len(margin.attributes) == 1 and (large or isinstance(workload, Prefix | AllRange | Ranges))

    def _least(self, margin: Margin) -> np.ndarray:
        """Return the variances of the score of one report from a uniformly random user type."""
        weight, workload = unweighted(margin.workload)
        if isinstance(workload, Identity):
            return np.full(
                workload.queries, weight**2 * self._least_of_cell(self._inner(margin.attributes)[0])
            )
        if self._gap is not None and isinstance(workload, Prefix):
            return weight**2 * self._gap.least()
        if self._along(margin):
            return weight**2 * Line(self.evidence, self.scores, margin.attributes[0]).least(workload)
        return weight**2 * self.table(margin.attributes).prior_variances(workload)

    def _least_of_cell(self, labels: Labels) -> float:
        """Return `_least` of a cell of a table over attributes of these groups."""
        if labels not in self._cells:
            cells = math.prod(self.scores.sizes(labels))
            self._cells[labels] = float(self.scores.inverse(labels).sum() - 1) / cells**2
        return self._cells[labels]

    def _settled(
        self, first: np.ndarray, answers: np.ndarray, own: np.ndarray, least: np.ndarray, about: About
    ) -> np.ndarray:
        """Return the estimated variances (p,) of `answers`, about the users or their population.

        `first` are the sums over reports of squared scores, `own` the estimates of sum_u w_u^2 x_u, and `least`
        the variances of the score of one report from a uniformly random user type, all of shape (p,).
        """
        strategy = self.evidence.strategy
        about_population = sampled(first - answers**2 / self.users, self.users)
        variance = first - own if about == "users" else about_population
        return settled(variance, least_share(self.users, strategy.epsilon, strategy.delta) * least, first)

    def _tables(self, sets: list[tuple[int, ...]], squared: bool) -> list[np.ndarray]:
        """Return the estimated table (1, sizes) of each set of attributes.

        With `squared` the arrays are (2, sizes), the second entry the sums over reports of squared scores.
        """
        if self._even is not None and all(attributes == (0,) for attributes in sets):
            return [self._even[: 1 + squared, : self.evidence.strategy.sizes[0]]] * len(sets)
        inner = [self._inner(attributes) for attributes in sets]
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
                cut = (slice(self.evidence.strategy.sizes[i]) for i in sets[place])
                found[place] = tables[:, k].transpose(0, *back)[(slice(None), *cut)]
        return [found[place] for place in range(len(sets))]

    @cached_property
    def _even(self) -> np.ndarray | None:
        """Sums over reports of scores and of squared scores (2, N); None unless scores have two values."""
        scores = even_scores(self.evidence.strategy)
        return None if scores is None else even_sums(self.evidence, scores)

    def _inner(self, attributes: tuple[int, ...]) -> tuple[Labels, list[int]]:
        """Return the groups of the attributes in rising order, and the positions that sort the attributes so."""
        group = self.evidence.group
        order = sorted(range(len(attributes)), key=lambda i: (group[attributes[i]], attributes[i]))
        return tuple(int(group[attributes[i]]) for i in order), order

    def _source(self, asked: set[int], kinds: Iterable[Labels], squared: bool) -> Interactions:
        """Return sums of scores for the attributes asked about; reuse earlier sums that cover all of them."""
        for one in self._interactions:
            if one.holds(asked, kinds, squared):
                return one
        members = [[i for i in group if i in asked] for group in self.evidence.strategy.groups]
        self._interactions.append(Interactions(self.evidence, self.scores, members, squared))
        return self._interactions[-1]

    def _check_support(self, attributes: tuple[int, ...], queries: Workload, names: tuple[str, ...]) -> None:
        _, inner = unweighted(queries)
        try:
            if len(attributes) <= self.evidence.deepest:
                if (self.scores.information(self._inner(attributes)[0]) > SEEN).all():
                    return
            elif isinstance(inner, Identity):
                raise UnsupportedWorkloadError
            self.table(attributes).check(queries)
        except UnsupportedWorkloadError:
            asked = ", ".join(names[i] for i in attributes)
            raise UnsupportedWorkloadError(
                f"the strategy cannot answer this workload: no report tells about some combination of values of "
                f"{asked}: use a strategy made for these queries, or ask for tables of fewer attributes"
            ) from None

    def _every(self) -> tuple[int, ...]:
        """Return the indices of all attributes, after checking that the domain has at most 2^25 cells."""
        strategy = self.evidence.strategy
        entries(strategy.domain_size, DATA, "the data vector", "ask for marginals, not for all cells")
        return tuple(range(len(strategy.sizes)))
