"""The estimator of a survey: every query is answered by the reports of one part, scaled by how often that is drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from stratagem.estimators.accuracy import Accuracy, UnsupportedWorkloadError, check_entries, check_sizes
from stratagem.estimators.best_linear import Averaged, BestLinear, Rounds, check_rounds
from stratagem.estimators.estimator import (
    About,
    Estimator,
    Evidence,
    check_covariance,
    check_number,
    estimator,
    least_share,
    sampled,
    settled,
)
from stratagem.math.counts import Counts, SparseCounts
from stratagem.strategies.survey import SplitStrategy, SurveyPart, SurveyStrategy
from stratagem.workloads import Workload
from stratagem.workloads.centring import levelled
from stratagem.workloads.combined import Stack
from stratagem.workloads.table import asks, by_attributes, means, on_table, spreads

WRITTEN = 1 << 20
"""User types up to which the variance of each is written out."""


class PartQueries(NamedTuple):
    """The queries of a workload that one part answers."""

    part: int
    workload: Workload
    """The queries, over the table of the part."""
    places: np.ndarray
    """Their numbers among all queries (p',)."""


@dataclass(frozen=True, eq=False)
class SeparableAccuracy(Accuracy):
    """The accuracy on a domain of too many user types to list: a sum of functions of the cells of few attributes."""

    terms: tuple[tuple[tuple[int, ...], np.ndarray], ...] = ()
    """Attributes, and the variance that a user of each cell of their table adds, in row-major order."""

    @property
    def worst_case_variance(self) -> float:
        """Upper bound on max_u t_u, exact where no attribute is in two terms."""
        return math.fsum(float(one.max()) for _, one in self.terms)

    @property
    def average_variance(self) -> float:
        return math.fsum(float(one.mean()) for _, one in self.terms)


@final
@dataclass(frozen=True, eq=False)
class Surveyed(Estimator):
    """Scores m + 1[part i] (r - m)/s_i of a query of mean m under 1/n, r the score of part i, drawn with share s_i.

    They are unbiased, and a user of type u adds Var_i(r | u)/s_i + (w_u - m)^2 (1/s_i - 1), with Var_i that of the
    part: the total is known from every report (theory.md, section 15).
    """

    strategy: SurveyStrategy | SplitStrategy
    rounds: tuple[Rounds, ...] = ()
    """How users of each part reported several times by a memo, which keeps their part; empty for one report each."""

    @cached_property
    def through(self) -> tuple[Estimator, ...]:
        """The estimator of every part."""
        return tuple(estimator(one.strategy) for one in self.strategy.parts)

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
            about = asks(margin.workload) and margin.workload.domain_size > 1
            own = margin.attributes if about else ()  # every part counts everybody
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

    def _on(self, queries: Workload, own: tuple[int, ...], part: int, workload: Workload) -> Workload:
        attributes = self.strategy.parts[part].attributes
        return on_table(queries, own, attributes, workload.domain)

    def _cost(self, part: int, queries: Workload) -> float:
        """Return the mean variance of the queries from a part, infinite where it does not answer them."""
        try:
            objective = self.through[part].objective(queries)
        except UnsupportedWorkloadError:
            return math.inf
        known = float(np.square(means(queries)).sum())
        return (objective / queries.scale - known) / self.strategy.parts[part].share

    def check(self, workload: Workload) -> None:
        for part, queries, _ in self.asked(workload):
            self.through[part].check(queries)

    def objective(self, workload: Workload, factor: Callable[[], np.ndarray] | None = None) -> float:
        """Return L/n = sum_q m_q^2 + sum_i (L_i/n_i - sum_q m_q^2)/s_i over the queries q of every part i, times n."""
        total = 0.0
        for part, queries, _ in self.asked(workload):
            known = float(np.square(means(queries)).sum())
            own = self.through[part].objective(queries) / queries.scale
            total += known + (own - known) / self.strategy.parts[part].share
        return workload.scale * total

    def accuracy(self, workload: Workload) -> Accuracy:
        terms = [self._by_cell(one) for one in self.asked(workload)]
        n, sizes = workload.domain_size, self.strategy.sizes
        if n > WRITTEN:
            mean = np.array([math.fsum(float(one.mean()) for _, one in terms)])
            return SeparableAccuracy(self.objective(workload), mean, workload.queries, None, tuple(terms))
        per_type = np.zeros(sizes)
        for attributes, one in terms:
            per_type += one.reshape([a if i in attributes else 1 for i, a in enumerate(sizes)])
        return Accuracy(self.objective(workload), per_type.ravel(), workload.queries)

    def _by_cell(self, asked: PartQueries) -> tuple[tuple[int, ...], np.ndarray]:
        """Return the attributes of a part, and what a user of each of their cells adds to its queries together."""
        one, queries = self._part(asked), levelled(asked.workload)
        found = self.through[asked.part].accuracy(queries)
        added = np.broadcast_to(self._written(found, one), queries.domain_size)
        return one.attributes, _of_share(one.share, added, spreads(queries))

    def _written(self, found: Accuracy, one: SurveyPart) -> np.ndarray:
        """Return the variances by cell of a part's table, also where they depend on few of its attributes."""
        if found.attributes is None:
            return found.per_type
        sizes = [self.strategy.sizes[i] for i in one.attributes]
        shape = [a if k in found.attributes else 1 for k, a in enumerate(sizes)]
        return np.broadcast_to(found.per_type.reshape(shape), sizes).ravel()

    def _part(self, asked: PartQueries) -> SurveyPart:
        return self.strategy.parts[asked.part]

    def gathered(self, workload: Workload, values: Callable[[PartQueries], np.ndarray]) -> np.ndarray:
        """Return one number a query (p,) from those of every part."""
        found = np.empty(workload.queries)
        for asked in self.asked(workload):
            found[asked.places] = values(asked)
        return found

    def _variances(self, workload: Workload, x: np.ndarray) -> np.ndarray:
        table = np.asarray(x, dtype=float).reshape(self.strategy.sizes)

        def of(asked: PartQueries) -> np.ndarray:
            one, queries = self._part(asked), levelled(asked.workload)
            others = tuple(i for i in range(table.ndim) if i not in one.attributes)
            own = table.sum(axis=others).ravel()
            return _of_share(
                one.share, self.through[asked.part].variances(queries, own), _squares(queries) @ own
            )

        return self.gathered(workload, of)

    def _typical(self, workload: Workload) -> np.ndarray:
        def of(asked: PartQueries) -> np.ndarray:
            one, queries = self._part(asked), levelled(asked.workload)
            own = np.asarray(self.through[asked.part].variances(queries))
            return _of_share(one.share, own, _squares(queries).mean(axis=1))

        return self.gathered(workload, of)

    def _largest(self, workload: Workload) -> np.ndarray:
        """Return upper bounds (p,): the largest variance of a part and the largest spread, as if of one user type."""

        def of(asked: PartQueries) -> np.ndarray:
            one, queries = self._part(asked), levelled(asked.workload)
            own = np.asarray(self.through[asked.part].largest(queries))
            return _of_share(one.share, own, _squares(queries).max(axis=1))

        return self.gathered(workload, of)

    def _worst(self, workload: Workload) -> float:
        return float(self._largest(workload).max())

    def evidence(self, counts: Counts) -> SurveyEvidence:
        if isinstance(self.strategy, SplitStrategy):
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
        found = SurveyEvidence(self, self.strategy, given)
        check_rounds([found.of_part(i).sum() for i in range(len(self.strategy.parts))], self.number)
        return found


@final
@dataclass(frozen=True, eq=False)
class SurveyEvidence(Evidence):
    """Counts of reports of a survey: those of every part, through its own estimator.

    With N_i of the N reports in part i, a the sum of a query's scores there and m its mean, the answer is
    N m + (a - N_i m)/s_i. Every sum of second moments follows from the variances of the part's evidence.
    """

    estimator: Surveyed
    strategy: SurveyStrategy
    counts: SparseCounts

    @property
    def users(self) -> int:
        return self.counts.sum() // self.estimator.number

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
            share = self.strategy.parts[asked.part].share
            return self._of(asked).prior_variances(levelled(asked.workload)) / share

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
        found = sampled(-np.outer(off, off) / self.users, self.users)  # no report is in two parts
        for part, queries, places in tables:
            if (table := self.of_table(part)) is None:
                raise ValueError(
                    "the covariance of a table too large to be listed was asked for: ask for its variances"
                )
            found[np.ix_(places, places)] = table.covariance(queries, about)
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


def _of_share(share: float, variance: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return the variance of scores of a part that is drawn with a share, given (w_u - m)^2 as spread: `Surveyed`."""
    return variance / share + spread * (1 / share - 1)


def _squares(workload: Workload) -> np.ndarray:
    """Return (w_u - m)^2 for every query and cell (p x n)."""
    check_entries(workload)
    W = workload.matrix()
    return np.square(W - W.mean(axis=1, keepdims=True))


@estimator.register(SurveyStrategy)
@estimator.register(SplitStrategy)
def _(strategy: SurveyStrategy | SplitStrategy, prior: np.ndarray | None = None) -> Estimator:
    return Surveyed(strategy) if prior is None else estimator(strategy.dense(), prior)
