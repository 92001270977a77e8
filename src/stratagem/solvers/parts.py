"""The solver of surveys: one part of the questions at random, and questions on a common table where that is better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any, ClassVar

import numpy as np

from stratagem.bounds.formulas import FAILURES
from stratagem.estimators import UnsupportedWorkloadError, estimator
from stratagem.estimators.overlap import portions
from stratagem.estimators.survey import Surveyed
from stratagem.math.deadline import deadline, fits, within
from stratagem.math.privacy import ratio
from stratagem.solvers.certified.certified import Certified
from stratagem.solvers.certified.patterns import EXHAUSTIVE
from stratagem.solvers.problem import Average, Problem
from stratagem.solvers.solver import Algorithm, Limits, Solver, check_limits, check_whole, search
from stratagem.strategies import Strategy, SurveyPart, SurveyStrategy, TranslationStrategy, TwoLevelStrategy
from stratagem.workloads import Workload
from stratagem.workloads.combined import Stack
from stratagem.workloads.marginals import Marginals, Parity
from stratagem.workloads.table import by_attributes, means, on_table

BREAKDOWN = (*FAILURES, UnsupportedWorkloadError)
"""Exceptions of a search that meets what double precision does not hold."""
QUESTIONS, PIECES = 40, 1 << 12
"""Most tables of questions that are taken as a survey, and most sets of queries that are looked at for that."""
CELLS = 1000
"""Most cells of a table on which questions are asked together."""
APART = 1 + 2 * math.sqrt(2)
"""The E up to which tables are left apart of which neither holds all attributes of the other: there two yes/no
questions at random are optimal, and larger ones up to a larger E (theory.md, section 15)."""
GAIN = 1e-4
"""Relative gain of the variance from which on two parts are joined."""
SETTLED = 5e-4
"""Gap to the bound at which the search for the strategy of a part ends."""
FIRST, JOINED, ALONE = 0.5, 0.75, 0.95
"""Share of the time for the parts one by one, and the share until which they are joined, where any may be; the rest is
for parts that share attributes."""
GAINED = 1e-3
"""Relative gain of the variance by a round over parts that share attributes from which on another is tried."""
ROUND = 8
"""Multiplications of a round on n cells of such parts, beside the searches, over n^3."""


def asks_in_parts(workload: Workload) -> bool:
    """Return whether the queries are about a few tables of attributes, none of them of all attributes."""
    if len(workload.domain.sizes) < 2 or isinstance(workload.unweighted[1], Marginals | Parity):
        return False
    found = {one.attributes for one in islice(workload.margins(), PIECES)}
    return 1 < len(found) <= QUESTIONS and max(map(len, found)) < len(workload.domain.sizes)


@dataclass(frozen=True, eq=False)
class AskedTable:
    """Queries of one table with the strategy found for them."""

    attributes: tuple[int, ...]
    queries: Workload
    """The queries, over the table of these attributes."""
    strategy: Strategy | TranslationStrategy
    known: float
    """v0: the sum of the squares of the queries' means, which the number of users gives."""
    excess: float
    """D = L/n - v0, what the answers cost where everybody is asked this part."""

    @property
    def root(self) -> float:
        """D^(1/2), to which the best shares are proportional."""
        return math.sqrt(self.excess)


@dataclass(frozen=True, eq=False)
class Parting:
    """Questions of which each device answers one, with the pairs that were found better apart."""

    questions: tuple[AskedTable, ...]
    scale: float
    apart: frozenset[tuple[tuple[int, ...], tuple[int, ...]]] = frozenset()
    survey: SurveyStrategy | None = None
    """The strategy of all parts together, once those that share attributes are improved."""
    cost: float = math.inf
    """The objective of `survey`."""
    stuck: bool = False

    @property
    def objective(self) -> float:
        """L = n (v0 + (sum_i D_i^(1/2))^2), at the best shares, less where parts share attributes."""
        known = math.fsum(one.known for one in self.questions)
        return min(self.cost, self.scale * (known + math.fsum(one.root for one in self.questions) ** 2))


@dataclass(frozen=True)
class Parts(Algorithm):
    """One part of the questions, drawn at random: each table by the best solver for it alone, joined greedily.

    Those that still share attributes are then improved for what they answer together.

    With part i drawn with probability s_i, L/n = v0 + sum_i D_i/s_i, which is v0 + (sum_i D_i^(1/2))^2 at the best
    shares (theory.md, section 15). Two parts are asked together, on the table of all their attributes, if that lowers
    the sum of the roots; the search there starts from the patterns of both.

    Raises:
        ValueError: for parameters out of range.
    """

    reference: ClassVar[str] = (
        "@stratagem, one part of the questions at random, with parts joined where it pays"
    )
    partial: ClassVar[bool] = True

    inner: Solver
    """What solves every part."""
    seed: int = 0
    max_seconds: float = math.inf
    gap: float = 0.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_whole(0, seed=self.seed)
        check_limits(self.max_seconds, gap=self.gap)

    @property
    def limits(self) -> Limits:
        return Limits(1 << 20, 1, 0.0, 1 << 20, self.max_seconds, self.gap)

    def begin(self, problem: Problem, start: int, best: Any) -> Parting:
        """Return the questions one by one, the small ones first: what these leave of the time is for the large ones."""
        tables = by_attributes(problem.workload)
        meeting = sum(len(one.attributes) for one in tables) > len(
            {i for one in tables for i in one.attributes}
        )
        until = deadline().part(FIRST if meeting or ratio(problem.epsilon) > APART else ALONE)
        questions = dict[int, AskedTable]()
        for k in sorted(range(len(tables)), key=lambda k: tables[k].workload.domain_size):
            queries, known = tables[k].workload, float(np.square(means(tables[k].workload)).sum())
            with within(until.left / (len(tables) - len(questions))):
                found = self._alone(Average(workload=queries, epsilon=problem.epsilon))
            questions[k] = _question(tables[k].attributes, queries, found, known)
        every = (questions[k] for k in range(len(tables)))
        return Parting(tuple(one for one in every if one.excess > 0), problem.workload.scale)

    def _alone(self, problem: Problem) -> Strategy | TranslationStrategy:
        solver = self.inner.select(problem).solver
        found = search(solver, problem, lower_bound=0.0)
        return solver.finish(problem, found.best)

    def advance(self, problem: Problem, state: Parting) -> Parting:
        """Return the survey with the next two parts joined, or known to be better apart; then with better parts."""
        for one, two in sorted(combinations(state.questions, 2), key=lambda pair: self._cells(problem, pair)):
            pair = one.attributes, two.attributes
            if pair in state.apart or self._cells(problem, (one, two)) > CELLS:
                continue
            if not (seconds := deadline().until(JOINED)):
                break
            with within(seconds):
                joined = self._joined(problem, one, two)
            if joined is None or joined.root >= (one.root + two.root) * (1 - GAIN):
                return replace(state, apart=state.apart | {pair})
            rest = tuple(other for other in state.questions if other not in (one, two))
            return replace(state, questions=(joined, *rest))
        return self._improved(problem, state)

    def _improved(self, problem: Problem, state: Parting) -> Parting:
        """Return the survey with strategies and shares for what the parts that share attributes answer for the whole.

        Each such part k answers h_k of the queries at the cost D_k/s_k (see `portions`): a better strategy for h_k, and
        shares in proportion to D_k^(1/2), lower the objective.
        """
        ended = replace(state, stuck=True)
        before = state.survey or self._survey(problem, state)
        through, costs = Surveyed(before), [one.excess for one in state.questions]
        cells = sum(before.parts[k].strategy.domain_size for k in through.overlaps)
        if not cells or deadline().over or not fits(ROUND * cells**3):
            return ended
        with suppress(*BREAKDOWN):
            was = through.objective(problem.workload) if state.survey is None else state.cost
            answered = portions(through.overlaps, through.asked(problem.workload))
            parts = list(before.parts)
            for done, (k, queries) in enumerate(answered.items()):
                with within(deadline().left / (len(answered) - done)):
                    strategy, costs[k] = self._better(problem, parts[k].strategy, queries)
                parts[k] = replace(parts[k], strategy=strategy)
            total = math.fsum(map(math.sqrt, costs))
            shared = (replace(one, share=math.sqrt(D) / total) for one, D in zip(parts, costs, strict=True))
            found = replace(before, parts=tuple(shared))
            if (cost := estimator(found).objective(problem.workload)) < was:
                return replace(state, survey=found, cost=cost, stuck=cost > (1 - GAINED) * was)
        return ended

    def _better(self, problem: Problem, known: Any, asked: Workload) -> tuple[Any, float]:
        """Return the best strategy for queries of mean zero, the known one or another, and its excess."""
        found = [known]
        if asked.domain_size <= CELLS and not deadline().over:
            with suppress(*BREAKDOWN):
                found.append(self._alone(Average(workload=asked, epsilon=problem.epsilon)))
        values = [estimator(one).objective(asked) / asked.scale for one in found]
        return min(zip(found, values, strict=True), key=lambda pair: pair[1])

    def _cells(self, problem: Problem, pair: Sequence[AskedTable]) -> int:
        sizes = problem.workload.domain.sizes
        return math.prod(sizes[i] for i in {i for one in pair for i in one.attributes})

    def _joined(self, problem: Problem, one: AskedTable, two: AskedTable) -> AskedTable | None:
        """Return both questions on their common table; None where a bound says that they are better apart."""
        attributes = tuple(sorted({*one.attributes, *two.attributes}))
        if attributes not in (one.attributes, two.attributes) and ratio(problem.epsilon) <= APART:
            return None
        domain = problem.workload.domain
        try:
            tables = [on_table(each.queries, each.attributes, attributes, domain) for each in (one, two)]
        except ValueError:
            return None
        asked = Average(workload=Stack(tuple(tables)), epsilon=problem.epsilon)
        known, size = one.known + two.known, asked.workload.scale
        least = asked.bounds.best / size - known
        if math.sqrt(max(0.0, least)) >= (one.root + two.root) * (1 - GAIN):
            return None
        if asked.workload.domain_size <= EXHAUSTIVE:
            found = self._alone(asked)
        else:
            fresh = Certified(seed=self.seed, gap=SETTLED)
            mixture = self._mixture(asked, one, two, attributes)
            starts = [fresh] if mixture is None else [fresh, replace(fresh, resume=mixture)]
            tried = [new for solver in starts if (new := _searched(solver, asked)) is not None]
            if not tried:
                return None
            found = min(tried, key=lambda new: estimator(new).objective(asked.workload))
        return _question(attributes, asked.workload, found, known)

    def _mixture(
        self, asked: Problem, one: AskedTable, two: AskedTable, attributes: tuple[int, ...]
    ) -> TwoLevelStrategy | None:
        """Return the strategy on the common table that asks one of two questions at random.

        None where one of them is not of two levels, but for rounding.
        """
        sizes = asked.workload.domain.sizes
        places = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1)
        patterns, theta = [], []
        for each in (one, two):
            own = [attributes.index(i) for i in each.attributes]
            cells = np.ravel_multi_index(tuple(places.T[own]), [sizes[k] for k in own])
            listed = each.strategy.listed()
            patterns.append(listed.two_valued()[:, cells])
            theta.append(listed.lowest * (each.root / (one.root + two.root)))
        weights = np.concatenate(theta)
        packed = np.packbits(np.concatenate(patterns)[weights > 0], axis=1)
        try:
            return TwoLevelStrategy(packed, weights[weights > 0], len(places), ratio(asked.epsilon))
        except ValueError:
            return None

    def finish(self, problem: Problem, state: Parting) -> Any:
        sizes = problem.workload.domain.sizes
        if len(state.questions) == 1 and len(state.questions[0].attributes) == len(sizes):
            return state.questions[0].strategy
        return state.survey or self._survey(problem, state)

    def _survey(self, problem: Problem, state: Parting) -> SurveyStrategy:
        """Return the strategy of all parts with the best shares of parts that share no attributes."""
        total = math.fsum(one.root for one in state.questions)
        parts = tuple(SurveyPart(one.attributes, one.strategy, one.root / total) for one in state.questions)
        return SurveyStrategy(problem.workload.domain.sizes, parts)


def _searched(solver: Certified, problem: Problem) -> Strategy | None:
    """Return what a search finds; None where it leaves double precision."""
    try:
        return solver.finish(problem, search(solver, problem).best)
    except BREAKDOWN:
        return None


def _question(
    attributes: tuple[int, ...], queries: Workload, found: Strategy | TranslationStrategy, known: float
) -> AskedTable:
    objective = estimator(found).objective(queries) / queries.scale
    return AskedTable(attributes, queries, found, known, max(0.0, objective - known))
