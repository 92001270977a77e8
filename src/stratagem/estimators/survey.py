"""The estimator of a survey: a query is answered by the reports of one part, and of those that share attributes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import NamedTuple, cast, final

import numpy as np

from stratagem.estimators.accuracy import Accuracy, UnsupportedWorkloadError, check_sizes
from stratagem.estimators.best_linear import Averaged, BestLinear, Rounds, check_rounds
from stratagem.estimators.dense import DenseEvidence
from stratagem.estimators.estimator import (
    About,
    Estimator,
    Evidence,
    check_covariance,
    check_number,
    estimator,
    even_handed,
    least_share,
    sampled,
    settled,
)
from stratagem.estimators.overlap import Overlapping, overlapping
from stratagem.estimators.part import Alone, ByCell, Onto, PartScores, SeparableAccuracy
from stratagem.math.vector import Counts, SparseCounts
from stratagem.strategies.survey import SplitStrategy, SurveyStrategy
from stratagem.workloads import Workload
from stratagem.workloads.centring import levelled
from stratagem.workloads.combined import Stack
from stratagem.workloads.identity import Identity
from stratagem.workloads.table import attributes_asked, by_attributes, means, on_table

WRITTEN = 1 << 20
"""User types up to which the variance of each is written out."""


class PartQueries(NamedTuple):
    """The queries of a workload that one part answers."""

    part: int
    workload: Workload
    """The queries, over the table of the part."""
    places: np.ndarray
    """Their numbers among all queries (p',)."""


@final
@dataclass(frozen=True, eq=False)
class Surveyed(Estimator):
    """Scores m + 1[part i] (r - m)/s_i of a query of mean m under 1/n, r the score of part i, drawn with share s_i.

    They are unbiased, and a user of type u adds Var_i(r | u)/s_i + (w_u - m)^2 (1/s_i - 1), with Var_i that of the
    part: the total is known from every report (theory.md, section 15). Parts that share attributes have scores together
    (see `Overlap`), so that what they share has one answer.
    """

    strategy: SurveyStrategy | SplitStrategy
    rounds: tuple[Rounds, ...] = ()
    """How users of each part reported several times by a memo, which keeps their part; empty for one report each."""

    @cached_property
    def through(self) -> tuple[Estimator, ...]:
        """The estimator of every part."""
        return tuple(estimator(one.strategy) for one in self.strategy.parts)

    @cached_property
    def overlaps(self) -> dict[int, Overlapping]:
        """The scores of parts that share attributes with others, by their numbers; none for means of several rounds."""
        alone = self.rounds or not self.strategy.runnable
        return {} if alone else overlapping(self.strategy.parts, self.strategy.sizes)

    @cached_property
    def alone(self) -> tuple[Alone, ...]:
        """The scores for the table of every part from its own reports."""
        both = zip(self.strategy.parts, self.through, strict=True)
        return tuple(Alone(one, own, self.strategy.sizes) for one, own in both)

    @cached_property
    def tables(self) -> tuple[PartScores, ...]:
        """The scores for the table of every part, from its own reports or those of its overlap."""
        return tuple(self.overlaps.get(i) or one for i, one in enumerate(self.alone))

    @property
    def number(self) -> int:
        """Number of reports of every user."""
        return self.rounds[0].number if self.rounds else 1

    def averaged(self, part: int) -> Estimator | Averaged:
        """Return the estimator of a part for its own users, of several rounds by the means of their reports."""
        if not self.rounds:
            return self.through[part]
        return Averaged(BestLinear(self.strategy.parts[part].strategy.listed()), self.rounds[part])

    def among_others(self, part: int) -> Estimator | Averaged | None:
        """Return the same of a part's table for all users; None where the table is too large to be listed."""
        one, strategy = self.strategy.parts[part], self.strategy.parts[part].among_others()
        if not self.rounds:
            return None if strategy is None else estimator(strategy)
        if strategy is None:
            raise ValueError(
                "a table of the survey is too large for means of several reports: estimate every round"
            )
        return Averaged(BestLinear(strategy), self.rounds[part]._replace(share=one.share))

    def asked(self, workload: Workload) -> list[PartQueries]:
        """Return the queries by the part that answers them: of those that hold all their attributes, the best.

        Raises:
            UnsupportedWorkloadError: naming the attributes of a query that no part holds together.
            ValueError: if the domains differ.
        """
        check_sizes(workload, self.strategy.sizes)
        found, every = [], np.arange(workload.queries)
        for margin in by_attributes(workload):
            own = attributes_asked(margin)
            able = [i for i, one in enumerate(self.strategy.parts) if {*own} <= {*one.attributes}]
            if not able:
                names = ", ".join(workload.domain.names[i] for i in own)
                raise UnsupportedWorkloadError(
                    f"no part of the survey asks {names} together, which a query needs: ask for queries of its parts, "
                    "or make the survey for this one too"
                )
            tables = {i: self._on(margin.workload, own, i, workload) for i in able}
            part = min(able, key=lambda i: self._cost(i, tables[i])) if len(able) > 1 else able[0]
            found.append(PartQueries(part, tables[part], every[margin.places]))
        return found

    def by_part(self, workload: Workload) -> list[PartQueries]:
        """Return the queries by part, all that one part answers together."""
        every: dict[int, list[PartQueries]] = {}
        for one in self.asked(workload):
            every.setdefault(one.part, []).append(one)
        return [one[0] if len(one) == 1 else _together(one) for one in every.values()]

    def told(self, part: int, workload: Workload) -> Workload | None:
        """Return the queries that a part answers, also where another does so better, over its table.

        Without any they are the cells of the table; None where it does not tell these.
        """
        attributes = self.strategy.parts[part].attributes
        inside = [one for one in by_attributes(workload) if {*one.attributes} <= {*attributes}]
        queries = [self._on(one.workload, one.attributes, part, workload) for one in inside]
        found = tuple(one for one in queries if self._cost(part, one) < math.inf)
        cells = Identity(workload.domain.part(attributes))
        return Stack(found) if found else cells if self._cost(part, cells) < math.inf else None

    def _on(self, queries: Workload, own: tuple[int, ...], part: int, workload: Workload) -> Workload:
        attributes = self.strategy.parts[part].attributes
        return on_table(queries, own, attributes, workload.domain)

    def _cost(self, part: int, queries: Workload) -> float:
        """Return the mean variance of the queries from a part alone, infinite where it does not answer them."""
        try:
            return self.alone[part].excess(queries)
        except UnsupportedWorkloadError:
            return math.inf

    def check(self, workload: Workload) -> None:
        for part, queries, _ in self.asked(workload):
            self.through[part].check(queries)

    def objective(self, workload: Workload, factor: Callable[[], np.ndarray] | None = None) -> float:
        """Return n (sum_q m_q^2 + the mean of sum_q (score - m_q)^2), which is L(Q)."""
        total = 0.0
        for part, queries, _ in self.asked(workload):
            total += float(np.square(means(queries)).sum()) + self.tables[part].excess(queries)
        return workload.scale * total

    def accuracy(self, workload: Workload) -> Accuracy:
        terms = self.by_cell(workload)
        n, sizes = workload.domain_size, self.strategy.sizes
        if n > WRITTEN:
            mean = np.array([math.fsum(float(one.mean()) for _, one in terms)])
            return SeparableAccuracy(self.objective(workload), mean, workload.queries, None, tuple(terms))
        per_type = np.zeros(sizes)
        for attributes, one in terms:
            per_type += one.reshape([a if i in attributes else 1 for i, a in enumerate(sizes)])
        return Accuracy(self.objective(workload), per_type.ravel(), workload.queries)

    def by_cell(self, workload: Workload) -> list[ByCell]:
        """Return functions of the cells of tables whose sum is the variance that a user adds to all answers."""
        asked = self.asked(workload)
        return [one for part, queries, _ in asked for one in self.tables[part].by_cell(levelled(queries))]

    def gathered(self, workload: Workload, values: Callable[[PartQueries], np.ndarray]) -> np.ndarray:
        """Return one number a query (p,) from those of every part."""
        found = np.empty(workload.queries)
        for asked in self.asked(workload):
            found[asked.places] = values(asked)
        return found

    def _variances(self, workload: Workload, x: np.ndarray) -> np.ndarray:
        table = np.asarray(x, dtype=float).reshape(self.strategy.sizes)

        def onto(attributes: tuple[int, ...]) -> np.ndarray:
            return table.sum(axis=tuple(i for i in range(table.ndim) if i not in attributes)).ravel()

        return self.variances_of(workload, onto)

    def variances_of(self, workload: Workload, onto: Onto | None) -> np.ndarray:
        """Return the variance (p,) of every answer for users whose tables are known, or from one of random type."""
        tables = self.tables
        return self.gathered(workload, lambda one: tables[one.part].variances(levelled(one.workload), onto))

    def _typical(self, workload: Workload) -> np.ndarray:
        return self.variances_of(workload, None)

    def _largest(self, workload: Workload) -> np.ndarray:
        """Return upper bounds (p,): the largest variance of a part and the largest spread, as if of one user type."""
        return self.gathered(workload, lambda one: self.tables[one.part].largest(levelled(one.workload)))

    def _worst(self, workload: Workload) -> float:
        return float(self._largest(workload).max())

    def evidence(self, counts: Counts) -> SurveyEvidence:
        if not self.strategy.parted:
            raise ValueError(
                "reports of all parts at once are for comparison alone: collect those of a survey"
            )
        given = SparseCounts.of(counts)
        if given.size != self.strategy.outputs:
            raise ValueError(
                f"the counts are of {given.size} outputs, but the strategy has {self.strategy.outputs}: give one count "
                "for each"
            )
        check_number(given.sum())
        found = SurveyEvidence(self, cast("SurveyStrategy", self.strategy), given)
        check_rounds([found.of_part(i).sum() for i in range(len(self.strategy.parts))], self.number)
        return found


@final
@dataclass(frozen=True, eq=False)
class SurveyEvidence(Evidence):
    """Counts of reports of a survey: those of every part through its own estimator, or of an overlap through its.

    With N_i of the N reports in part i, a the sum of a query's scores there and m its mean, the answer is
    N m + (a - N_i m)/s_i. Every sum of second moments follows from the variances of the part's evidence.
    """

    estimator: Surveyed
    strategy: SurveyStrategy
    counts: SparseCounts

    @property
    def users(self) -> int:
        return self.counts.sum() // self.estimator.number

    def reports_about(self, workload: Workload) -> int:
        asked = [{*own} for own in map(attributes_asked, by_attributes(workload)) if own] or [set()]
        told = (any(own <= {*one.attributes} for own in asked) for one in self.strategy.parts)
        return sum(self.of_part(i).sum() for i, tells in enumerate(told) if tells) // self.estimator.number

    @cached_property
    def parts(self) -> tuple[Evidence | None, ...]:
        """What the reports of every part say by themselves; None without any."""
        counts = [self.of_part(i) for i in range(len(self.strategy.parts))]
        return tuple(
            self.estimator.averaged(i).evidence(one) if one.sum() else None for i, one in enumerate(counts)
        )

    @cached_property
    def _tables(self) -> dict[int, Evidence | None]:
        return {}

    def of_table(self, part: int) -> Evidence | None:
        """Return what all reports say of the table of a part, of all users; None where that is not listed."""
        return self.together.get(part) or self.alone(part)

    @cached_property
    def together(self) -> dict[int, DenseEvidence]:
        """What the reports of all parts that share attributes say of the table of each, by the number of the part."""
        found, _ = dict[int, DenseEvidence](), self.parts  # these refuse reports that a part never makes
        for part, scores in self.estimator.overlaps.items():
            counts = np.concatenate([self.of_part(i).dense() for i in scores.overlap.numbers])
            found[part] = scores.evidence(np.append(counts, self.users - counts.sum()))
        return found

    def alone(self, part: int) -> Evidence | None:
        """Return what the reports of a part by itself say of its table, of all users; None where it is not listed."""
        if part not in self._tables:
            through, own = self.estimator.among_others(part), self.of_part(part)
            rest = self.counts.sum() - own.sum()
            self._tables[part] = None if through is None else through.evidence(np.append(own.dense(), rest))
        return self._tables[part]

    def of_part(self, part: int) -> SparseCounts:
        """Return the counts of the reports of a part."""
        first, end = self.strategy.offsets[part : part + 2]
        own = (self.counts.outputs >= first) & (self.counts.outputs < end)
        return SparseCounts(self.counts.outputs[own] - first, self.counts.counts[own], end - first)

    def estimated_data(self) -> np.ndarray:
        raise ValueError(
            "the reports of a survey tell about its parts, and not about all combinations of answers: ask for its "
            "questions and tables"
        )

    def written_out(self) -> Evidence:
        return self

    def check(self, workload: Workload) -> None:
        self.estimator.check(workload)

    def answers(self, workload: Workload) -> np.ndarray:
        def of(asked: PartQueries) -> np.ndarray:
            found, share = self._of(asked), self.strategy.parts[asked.part].share
            if (table := self.together.get(asked.part)) is not None:
                return table.answers(asked.workload)
            mean = means(asked.workload)
            return self.users * mean + (found.answers(asked.workload) - found.users * mean) / share

        return self.estimator.gathered(workload, of)

    def variances(self, workload: Workload, about: About = "users") -> np.ndarray:
        def of(asked: PartQueries) -> np.ndarray:
            table = self.of_table(asked.part)
            return self._variances(asked, about) if table is None else table.variances(asked.workload, about)

        return self.estimator.gathered(workload, of)

    def _variances(self, asked: PartQueries, about: About) -> np.ndarray:
        """Return the variances of the queries of a part whose table is too large to be listed.

        sum (r - m)^2 over the part's reports follows from their variance about a population, and sum (w_u - m)^2
        over its users from what the variance about them lacks to it.
        """
        found, share = self._of(asked), self.strategy.parts[asked.part].share
        queries, N, n = levelled(asked.workload), self.users, found.users
        mean = means(queries)
        a = found.answers(queries) - n * mean
        population = found.variances(queries, "population") * (max(1, n - 1) / n)
        second = population + a**2 / n
        floor = least_share(N, self.strategy.epsilon, 0.0) * found.prior_variances(queries) / share
        if about == "population":
            variance = sampled(second / share**2 - a**2 / (share**2 * N), N)
            return settled(variance, floor, second / share**2)
        squares = population + found.answers(queries) ** 2 / n - found.variances(queries, "users")
        spread = (squares - 2 * mean * found.answers(queries) + mean**2 * n) / share
        return settled(second / share**2 - spread, floor, second / share**2)

    def prior_variances(self, workload: Workload) -> np.ndarray:
        def of(asked: PartQueries) -> np.ndarray:
            found, share = self._of(asked), self.strategy.parts[asked.part].share
            if (table := self.together.get(asked.part)) is not None:
                return table.prior_variances(asked.workload)
            return found.prior_variances(levelled(asked.workload)) / share

        return self.estimator.gathered(workload, of)

    def covariance(self, workload: Workload, about: About = "users") -> np.ndarray:
        check_covariance(workload)
        tables = self.estimator.by_part(workload)
        if about == "users" and len(tables) > 1:
            raise ValueError(
                "the covariance about the users was asked for, but no report is about two parts of the survey: ask "
                "about='population', or for the queries of one part"
            )
        off = self.answers(workload) - self.users * self.estimator.gathered(
            workload, lambda one: means(one.workload)
        )
        found = sampled(-np.outer(off, off) / self.users, self.users)  # the rest where no report tells both
        for part, queries, places in tables:
            if (table := self.of_table(part)) is None:
                raise ValueError(
                    "the covariance of a table too large to be listed was asked for: ask for its variances"
                )
            found[np.ix_(places, places)] = table.covariance(queries, about)
        for one, other in permutations((each for each in tables if each.part in self.together), 2):
            first, second = (self.estimator.overlaps[each.part] for each in (one, other))
            if first.overlap is second.overlap:
                weighted = self.together[one.part].counts[:-1, None] * first.listed(one.workload)
                added = sampled(weighted.T @ second.listed(other.workload), self.users)
                found[np.ix_(one.places, other.places)] += added
        return found

    def _of(self, asked: PartQueries) -> Evidence:
        found = self.parts[asked.part]
        if found is None:
            names = self.strategy.parts[asked.part].attributes
            raise ValueError(
                f"no report is about the attributes {names}, of which a query is asked: collect more reports first"
            )
        return found


def _together(asked: list[PartQueries]) -> PartQueries:
    places = np.concatenate([one.places for one in asked])
    return PartQueries(asked[0].part, Stack(tuple(one.workload for one in asked)), places)


estimator.register(SurveyStrategy, even_handed(Surveyed))
estimator.register(SplitStrategy, even_handed(Surveyed))
