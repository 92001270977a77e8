"""The solver of surveys: one part of the questions at random, and questions on a common table where that is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations, islice
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar

from stratagem.bounds.formulas import FAILURES
from stratagem.estimators import UnsupportedWorkloadError, estimator
from stratagem.estimators.overlap import portions
from stratagem.estimators.survey import Surveyed
from stratagem.math.deadline import deadline, fits, within
from stratagem.math.privacy import ratio
from stratagem.solvers.certified.certified import Certified
from stratagem.solvers.certified.patterns import EXHAUSTIVE
from stratagem.solvers.problem import Average, Problem
from stratagem.solvers.solver import Algorithm, Limits, Solver, check_limits, check_whole, hopeless, search
from stratagem.strategies import Strategy, SurveyPart, SurveyStrategy, TranslationStrategy, TwoLevelStrategy
from stratagem.workloads import Workload, explicit
from stratagem.workloads.centring import root
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
GAIN, CLEAR = 1e-4, 0.01
"""Relative gains of the sum of the roots from which on two parts are joined: where no pair gains more, and at once."""
SETTLED = 5e-4
"""Gap to the bound at which the search for the strategy of a part ends."""
FIRST, JOINED, ALONE = 0.5, 0.75, 0.95
"""Share of the time for the parts one by one, and the share until which they are joined, where any may be; the rest is
for parts that share attributes."""
GAINED = 1e-3
"""Relative gain by a round over parts that share attributes, or by further parts, from which on another is tried."""
FURTHER = 0.5
"""Share of the time that is left then for the strategies of further parts."""
HINT = 1e-4
"""Share of every further part at which it is compared with the others."""
POWERS, SHARES, NEAR = (1.0, 8.0), (0.0, 0.5), 0.05
"""Powers of the step of the shares in a round, shares of all further parts together, and how exactly the best of either
is searched for, over the largest."""
ROUND = 16
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
    """B = L/n - v0, what the answers cost where everybody is asked this part."""

    @property
    def root(self) -> float:
        """B^(1/2), to which the best shares are proportional."""
        return math.sqrt(self.excess)


Pair = tuple[AskedTable, AskedTable]


@dataclass(frozen=True, eq=False)
class Parting:
    """Questions of which each device answers one, and what was found of those that are better apart."""

    questions: tuple[AskedTable, ...]
    scale: float
    first: tuple[AskedTable, ...]
    """The questions one by one, before any were joined."""
    tried: Mapping[frozenset[AskedTable], AskedTable | None] = field(default_factory=dict)
    """What was found for two tables together; None where a bound says that they are better apart."""
    survey: SurveyStrategy | None = None
    """The strategy of all parts together, once those that share attributes are improved."""
    cost: float = math.inf
    """The objective of `survey`."""
    before: float = math.inf
    """The objective when parts were last added."""
    stuck: bool = False

    @property
    def objective(self) -> float:
        """L = n (v0 + (sum_i B_i^(1/2))^2), at the best shares, less where parts share attributes."""
        known = math.fsum(one.known for one in self.questions)
        return min(self.cost, self.scale * (known + math.fsum(one.root for one in self.questions) ** 2))

    def gain(self, pair: Pair) -> float:
        """Return the share of the sum of their roots that two tables save together, as far as this was tried."""
        both = self.tried.get(frozenset(pair))
        return 0.0 if both is None else 1 - both.root / math.fsum(one.root for one in pair)

    def joining(self, pair: Pair) -> Parting:
        """Return the questions with two of them joined to what was found for both."""
        both = self.tried[frozenset(pair)]
        assert both is not None, "they gain something"
        return replace(self, questions=(both, *(one for one in self.questions if one not in pair)))


@dataclass(frozen=True)
class Parts(Algorithm):
    """One part of the questions, drawn at random: each table by the best solver for it alone, joined greedily.

    Those that still share attributes are then improved for what they answer together, and two questions that are not
    asked together get a further part on their common table where that pays.

    With part i drawn with probability s_i, L/n = v0 + sum_i B_i/s_i, which is v0 + (sum_i B_i^(1/2))^2 at the best
    shares (theory.md, section 15). Two parts are asked together, on the table of all their attributes, if that lowers
    the sum of the roots; the search there starts from the patterns of both.

    Raises:
        ValueError: for parameters out of range.
    """

    reference: ClassVar[str] = "@stratagem, one part of the questions at random, joined where it pays"
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
        asked = [i for one in tables for i in one.attributes]
        meeting = len(asked) > len({*asked})
        until = deadline().part(FIRST if meeting or ratio(problem.epsilon) > APART else ALONE)
        questions = dict[int, AskedTable]()
        for k in sorted(range(len(tables)), key=lambda k: tables[k].workload.domain_size):
            queries, known = tables[k].workload, float(np.square(means(tables[k].workload)).sum())
            with within(until.left / (len(tables) - len(questions))):
                found = self._alone(Average(workload=queries, epsilon=problem.epsilon))
            questions[k] = _question(tables[k].attributes, queries, found, known)
        every = tuple(questions[k] for k in range(len(tables)) if questions[k].excess > 0)
        return Parting(every, problem.workload.scale, every)

    def _alone(self, problem: Problem) -> Strategy | TranslationStrategy:
        solver = self.inner.select(problem).solver
        return solver.finish(problem, search(solver, problem, lower_bound=0.0).best)

    def advance(self, problem: Problem, state: Parting) -> Parting:
        """Return the survey with two parts tried together or joined; then with better and with further parts.

        Two are joined at once where that gains a lot, and otherwise those that gain the most once all have been tried.
        """
        pairs = [] if state.survey else self._pairs(problem, state.questions)
        for pair in pairs:
            if frozenset(pair) in state.tried:
                continue
            if not (seconds := deadline().until(JOINED)):
                deadline().cut_short()
                break
            with within(seconds):
                both = self._joined(problem, *pair)
            state = replace(state, tried={**state.tried, frozenset(pair): both})
            return state.joining(pair) if state.gain(pair) >= CLEAR else state
        best = max(pairs, key=state.gain, default=None)
        if best and state.gain(best) > GAIN:
            return state.joining(best)
        found = self._improved(problem, state)
        return self._extended(problem, found) if found.stuck else found

    def _pairs(self, problem: Problem, tables: Sequence[AskedTable]) -> list[Pair]:
        """Return the pairs whose common table can be searched, small tables first."""
        cells = {pair: self._cells(problem, pair) for pair in combinations(tables, 2)}
        return sorted((pair for pair in cells if cells[pair] <= CELLS), key=lambda pair: cells[pair])

    def _improved(self, problem: Problem, state: Parting) -> Parting:
        """Return the survey with strategies and shares for what the parts that share attributes answer for the whole.

        Each such part k answers h_k of the queries at the cost B_k/s_k (see `portions`): a better strategy for h_k, and
        shares in proportion to B_k^(1/2), lower the objective. A longer step in the same direction, to shares in
        proportion to s_k (B_k^(1/2)/s_k)^a, lowers it more; a is searched for.
        """
        ended = replace(state, stuck=True)
        before = state.survey or self._survey(problem, state)
        excess = {one.attributes: one.excess for one in state.questions}
        through, costs = Surveyed(before), [excess.get(one.attributes, 0.0) for one in before.parts]
        if not _fits(through):
            return ended
        with suppress(*BREAKDOWN):
            was = through.objective(problem.workload) if state.survey is None else state.cost
            answered = portions(through.overlaps, through.asked(problem.workload))
            parts = list(before.parts)
            for done, (k, queries) in enumerate(answered.items()):
                with within(deadline().left / (len(answered) - done)):
                    strategy, costs[k] = self._better(problem, parts[k].strategy, queries)
                parts[k] = replace(parts[k], strategy=strategy)
            towards = (np.sqrt(costs) / [one.share for one in parts]).tolist()

            def found(power: float) -> SurveyStrategy:
                both = zip(parts, towards, strict=True)
                return SurveyStrategy.of(
                    before.sizes, (replace(one, share=one.share * step**power) for one, step in both)
                )

            survey, cost = _least(found, problem.workload, POWERS)
            if cost < was:
                return replace(state, survey=survey, cost=cost, stuck=cost > (1 - GAINED) * was)
        return ended

    def _extended(self, problem: Problem, state: Parting) -> Parting:
        """Return the survey with further parts, on the common tables of two questions, where these pay.

        A further part with the share s_k, taken from all others alike, changes the excess B at the rate B - tr(G C_k)
        at first: those with tr(G C_k) = B_k/s_k^2 above B may lower it, at the best share (theory.md, section 15).
        """
        was, ended = state.objective, replace(state, stuck=True)
        if ratio(problem.epsilon) <= APART or was > (1 - GAINED) * state.before:
            return ended
        survey = state.survey or self._survey(problem, state)
        excess = was / state.scale - math.fsum(one.known for one in state.questions)
        with suppress(*BREAKDOWN):
            tried = self._tried(problem, state, survey)
            hint = Surveyed(_with(survey, tried, np.ones(len(tried)), HINT))
            if not _fits(hint):
                return ended
            answered = portions(hint.overlaps, hint.asked(problem.workload))
            costs = [_cost(one.strategy, answered.get(k)) for k, one in enumerate(tried, len(survey.parts))]
            shares = [one.share for one in hint.strategy.parts[len(survey.parts) :]]
            gains = np.maximum(np.array(costs) / np.square(shares) / excess - 1 - GAINED, 0.0)
            if not gains.any():
                return ended
            found = partial(_with, survey, tried, gains / gains.sum())
            best, cost = _least(found, problem.workload, SHARES)
            if cost < was:
                return replace(state, survey=best, cost=cost, before=was, stuck=False)
        return ended

    def _tried(self, problem: Problem, state: Parting, survey: SurveyStrategy) -> list[AskedTable]:
        """Return what is found for pairs of questions on a common table that no part holds."""
        tables = [*dict.fromkeys((*state.first, *state.questions))]
        held = [{*part.attributes} for part in survey.parts]
        pairs = [
            (one, two)
            for one, two in self._pairs(problem, tables)
            if not any({*one.attributes, *two.attributes} <= own for own in held)
        ]
        found = dict[tuple[int, ...], AskedTable]()
        for pair, seconds in deadline().part(FURTHER).shares(pairs):
            with within(seconds):
                known = frozenset(pair) in state.tried
                both = state.tried[frozenset(pair)] if known else self._joined(problem, *pair)
            if both is not None:
                found.setdefault(both.attributes, both)
        return list(found.values())

    def _better(self, problem: Problem, known: Any, asked: Workload) -> tuple[Any, float]:
        """Return the best strategy for queries of mean zero, the known one or another, and its excess."""
        found = [known]
        if asked.domain_size <= CELLS and not deadline().over:
            with suppress(*BREAKDOWN):
                found.append(self._alone(Average(workload=asked, epsilon=problem.epsilon)))
        return min(((one, _cost(one, asked)) for one in found), key=lambda pair: pair[1])

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
        if math.sqrt(max(0.0, asked.bounds.best / size - known)) >= (one.root + two.root) * (1 - GAIN):
            return None
        if asked.workload.domain_size <= EXHAUSTIVE:
            found = self._alone(asked)
        else:
            fresh = Certified(seed=self.seed, gap=SETTLED)
            mixture = self._mixture(asked, one, two, attributes)
            starts = [fresh] if mixture is None else [replace(fresh, resume=mixture), fresh]
            centred = replace(asked, workload=explicit(root(asked.workload).T))
            tried, apart = [], size * (one.root + two.root) ** 2
            for solver, seconds in deadline().shares(starts):
                with within(seconds), suppress(*BREAKDOWN):
                    best: Any = search(solver, centred, hopeless(apart)).best
                    apart = min(apart, best.objective)
                    tried.append(solver.finish(centred, best))
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
        parts = (SurveyPart(one.attributes, one.strategy, one.root) for one in state.questions)
        return SurveyStrategy.of(problem.workload.domain.sizes, parts)


def _least(
    found: Callable[[float], SurveyStrategy], workload: Workload, bounds: tuple[float, float]
) -> tuple[SurveyStrategy, float]:
    """Return the survey of least objective of those between bounds, and its objective."""
    near = {"xatol": NEAR * bounds[1]}
    best: Any = minimize_scalar(
        lambda x: estimator(found(x)).objective(workload), bounds=bounds, method="bounded", options=near
    )
    return found(best.x), float(best.fun)


def _cost(strategy: Any, asked: Workload | None) -> float:
    """Return the excess B of the answers to queries of mean zero; 0 for a part that answers nothing with others."""
    return 0.0 if asked is None else estimator(strategy).objective(asked) / asked.scale


def _fits(through: Surveyed) -> bool:
    """Return whether parts share attributes, and a round over these fits into the time."""
    cells = sum(through.strategy.parts[k].strategy.domain_size for k in through.overlaps)
    return cells > 0 and not deadline().over and fits(ROUND * cells**3)


def _with(
    survey: SurveyStrategy, further: Sequence[AskedTable], weights: np.ndarray, share: float
) -> SurveyStrategy:
    """Return a survey with further parts of some weights, for a share of the sum, which all others lose alike."""
    both = zip(further, (weights * share / (1 - share)).tolist(), strict=True)
    added = (SurveyPart(one.attributes, one.strategy, each) for one, each in both)
    return SurveyStrategy.of(survey.sizes, (*survey.parts, *added))


def _question(attributes: tuple[int, ...], queries: Workload, found: Any, known: float) -> AskedTable:
    objective = estimator(found).objective(queries) / queries.scale
    return AskedTable(attributes, queries, found, known, max(0.0, objective - known))
