"""The estimate of a survey: a table for every part, those that share attributes together, from all users' reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from stratagem.estimation.agreement import agreeing
from stratagem.estimation.answer import check_arranged
from stratagem.estimation.estimate import Estimate
from stratagem.estimation.impossibility import Impossible, merged
from stratagem.estimation.interval import Interval
from stratagem.estimation.postprocessing import Method
from stratagem.estimators.estimator import Evidence
from stratagem.estimators.survey import SurveyEvidence
from stratagem.workloads import Workload
from stratagem.workloads.given import WorkloadLike, workload_of


@dataclass(frozen=True, eq=False)
class PartTables:
    """The tables of the parts of a survey, each estimated once for all queries about it, whatever is asked of it."""

    evidence: SurveyEvidence
    asked: Workload
    """All queries of the survey."""
    make: Callable[..., Estimate]
    """Function from the evidence of a table and the queries about it to an estimate, unless another method is named."""
    method: Method

    @cached_property
    def estimates(self) -> dict[int, Estimate]:
        """The estimate of every part's table, for all queries of the survey that it answers, by its number.

        Tables of parts that share attributes are post-processed by wnnls all together.
        """
        surveyed = self.evidence.estimator
        asked = {part: queries for part, queries, _ in surveyed.by_part(self.asked)}
        found = dict[int, Estimate]()
        if self.method.agrees:
            for overlap in dict.fromkeys(each.overlap for each in surveyed.overlaps.values()):
                own = {
                    part: asked.pop(part, None) or surveyed.told(part, self.asked) for part in overlap.numbers
                }
                found |= self._agreed({part: queries for part, queries in own.items() if queries})
        return found | {part: self.make(self.of(part), queries) for part, queries in asked.items()}

    def _agreed(self, asked: dict[int, Workload]) -> dict[int, Estimate]:
        """Return the estimates of the tables of parts that share attributes, with the queries about each."""
        tables = [(self.of(part), queries) for part, queries in asked.items()]
        both = zip(asked, tables, agreeing(tables), strict=True)
        return {
            part: replace(self.make(*table, method="unbiased"), method=self.method, processed=x)
            for part, table, x in both
        }

    def of(self, part: int) -> Evidence:
        """Return what all reports say of the table of a part; those of the part alone where they are to be listed."""
        found = self.evidence.alone(part) if self.method.listed else self.evidence.of_table(part)
        if found is None:
            raise ValueError(
                "a table of the survey is too large for estimates with post-processing or shares: ask for unbiased ones"
            )
        return found

    def answered(self, part: int, queries: Workload) -> Estimate:
        """Return the answers to queries about the table of a part."""
        table = self.estimates.get(part)
        if table is None:
            return self.make(self.of(part), queries)
        return table if queries is table.workload else table.ask(queries)


@dataclass(frozen=True, eq=False)
class SurveyEstimate(Estimate):
    """Answers to the questions of a survey.

    All queries that one part answers are about one table, whose data vector is post-processed for all of them together:
    one cell has one answer, whatever it is asked with. Post-processing, shares and intervals are those of that table.
    Tables that share attributes have the same answers to what they share, unbiased and by wnnls (see `agreeing`).
    """

    evidence: SurveyEvidence
    tables: PartTables = field(kw_only=True)

    def by_table(self) -> list[tuple[Estimate, np.ndarray]]:
        shown = {"among": self.among or self.workload.queries, "simultaneous": self.simultaneous}
        found = []
        for part, queries, places in self.evidence.estimator.by_part(self.workload):
            own = self.tables.answered(part, queries)
            found.append((replace(own.raw() if self.unbiased else own, **shown), places))
        return found

    @cached_property
    def _by_table(self) -> list[tuple[Estimate, np.ndarray]]:
        return self.by_table()

    def _gathered(self, numbers: Callable[[Estimate], np.ndarray]) -> np.ndarray:
        found = np.empty(self.workload.queries)
        for one, places in self._by_table:
            found[places] = numbers(one)
        return found

    def _answers(self) -> np.ndarray:
        return self._gathered(lambda one: one.answers)

    @cached_property
    def _interval(self) -> Interval:
        return Interval(self._gathered(lambda one: one.low), self._gathered(lambda one: one.high))

    @cached_property
    def impossible(self) -> Impossible:
        return merged([one.impossible for one, _ in self._by_table])

    @property
    def data(self) -> np.ndarray:
        raise ValueError(
            "a survey has a table for each part: ask for the table of some attributes, by marginal"
        )

    def ask(self, workload: WorkloadLike) -> Estimate:
        asked = workload_of(workload, default=lambda: self.workload.domain)
        base = self.base or self.workload
        self.evidence.check(asked)
        check_arranged(self.naming.attributes, asked, base)
        return replace(self, workload=asked, base=base)
