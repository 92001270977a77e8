"""Mechanisms for people who report again and again: the sets of user types chosen for the mean of several reports."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, cast

from stratagem.bounds import noiseless
from stratagem.estimators import ask
from stratagem.estimators.best_linear import Averaged, BestLinear, Rounds
from stratagem.estimators.survey import Surveyed
from stratagem.math.deadline import deadline, within
from stratagem.math.number import above_minimum
from stratagem.mechanism.client import MOST_BITS
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.memo import lower_level_of
from stratagem.mechanism.rounding import rounded
from stratagem.mechanism.table import Exact
from stratagem.solvers.problem import Problem
from stratagem.solvers.solver import Candidate
from stratagem.strategies import MatrixStrategy, Strategy, SurveyStrategy, TranslationStrategy
from stratagem.strategies.two_level import two_levels
from stratagem.study.constrained import Kind, SearchStart, Solve, constrained, in_whole_numbers
from stratagem.study.solution import Solution
from stratagem.workloads import Workload

POINTS = 4
"""Budgets between the two epsilons, ends included, for which sets are looked for first."""
HALVINGS = 2
"""How often the steps between them are halved around the best."""
SHOWN = (1, 2, 5, 10, 30, 100, 1000)
"""Numbers of reports of one person of which it is told what they promise."""
NEAR = 1e-3
"""Gap at which the search for one of these budgets ends."""


class Memoised(Kind):
    """A memoised answer, permanent randomised response (theory.md, section 12).

    With V_1 the total variance of one report and V_p that of the permanent one, the mean of k has V_p + (V_1 - V_p)/k,
    at least l_p + (l_1 - l_p)/k with l the bounds of one report. The objective is n times that and what it is more.
    """

    bundled: ClassVar[bool] = True

    def start(self, problem: Problem, seed: int, solve: Solve) -> SearchStart:
        """Return the bound, and sets for several budgets."""
        permanent, free = problem.constraint, replace(problem, constraints=())
        single, lasting = (replace(free, epsilon=one) for one in (problem.epsilon, permanent.epsilon))
        once, least = (one.least(one.bounds) for one in (single, lasting))
        least += (once - least) / permanent.reports
        if not least > 0:
            raise ValueError(
                "the queries can be answered without an error, so that no report needs repeating: ask for others"
            )
        bounds = constrained(lasting.bounds, _total(problem, least))
        return SearchStart(None, lambda _: bounds, lambda: _candidates(problem, solve))

    def mechanism(self, solution: Solution, name: str) -> Mechanism:
        permanent = solution.problem.constraint.epsilon
        return in_whole_numbers(solution, name, solution.epsilon).memoised(permanent)

    def text(self, solution: Solution) -> str:
        made, k = solution.mechanism(), solution.problem.constraint.reports
        assert made.memo is not None
        one, several = variances_of_means(made, [1, k])
        share = f"{100 * math.sqrt(several / one):.3g} % of its standard error"
        mean = f"\nThat is for one report a person. The mean of {k:,} has {share}."
        return (
            f"{' '.join(ask(solution.users_for(), solution.workload))}{mean if k > 1 else ''}\n\n{made.memo}\n"
            f"Variance {above_minimum(solution.variance_gap)} for means of reports of epsilon "
            f"{float(made.epsilon):g} that repeat permanent ones of epsilon {made.memo.permanent} or less."
        )

    def record(self, solution: Solution) -> dict[str, Any]:
        return promised(solution.mechanism())


def _candidates(problem: Problem, solve: Solve) -> Iterator[Candidate]:
    """Yield the sets that are best for several budgets from the epsilon of one report to the permanent one.

    For one report the sets that are best for its epsilon are best with a memo too; for the mean of many, those for the
    permanent epsilon are. Budgets near the best follow.
    """
    permanent = problem.constraint
    points, halvings = (POINTS, HALVINGS) if permanent.reports > 1 else (1, 0)
    ratio = (permanent.epsilon / problem.epsilon) ** (1 / (POINTS - 1))
    waiting: Sequence[float] = [problem.epsilon * ratio**i for i in range(points)]
    tried: dict[float, float] = {}
    while waiting:
        for budget, share in deadline().shares(waiting):
            with within(share / (1 + halvings)):
                one = _made(problem, budget, solve)
            tried[budget] = one.objective
            yield one
        waiting, halvings = _between(tried) if halvings else [], halvings - 1


def _made(problem: Problem, budget: float, solve: Solve) -> Candidate:
    """Return the strategy for one report whose sets are best for a budget, with the objective of a mean."""
    strategy, permanent = solve(replace(problem, epsilon=budget), NEAR).strategy, problem.constraint
    if strategy.parted:
        survey = cast("SurveyStrategy", strategy)
        parts = (
            replace(one, strategy=_once(cast("Any", one.strategy), budget, problem.epsilon))
            for one in survey.parts
        )
        once: Exact = replace(survey, parts=tuple(parts))
    else:
        once = _once(cast("Any", strategy), budget, problem.epsilon)
    made = Mechanism.of(once, problem.workload, problem.epsilon).memoised(permanent.epsilon)
    return Candidate(once, _total(problem, variances_of_means(made, [permanent.reports])[0]), budget)


def _once(strategy: Strategy | TranslationStrategy, budget: float, epsilon: float) -> Any:
    """Return the strategy for one report of this epsilon that has the sets and weights of one for a budget."""
    strategy = two_levels(strategy) if isinstance(strategy, MatrixStrategy) else strategy
    table = rounded(strategy, Fraction(budget * (1 + 1e-9)), MOST_BITS)
    if not table.levelled:
        raise ValueError(
            "the best strategy has rows of more than two probabilities, but repeated reports need two"
        )
    return table.lowered(lower_level_of(epsilon)).strategy


def _total(problem: Problem, variance: float) -> float:
    """Return the objective whose part that reports decide is this variance of one user."""
    return noiseless(problem.workload, None) + problem.workload.scale * variance


def _between(tried: dict[float, float]) -> Sequence[float]:
    """Return budgets halfway between the best and its neighbours."""
    known = sorted(tried)
    at = known.index(min(tried, key=tried.__getitem__))
    return [math.sqrt(one * known[at]) for one in known[max(0, at - 1) : at + 2] if one != known[at]]


def promised(mechanism: Mechanism) -> dict[str, Any]:
    """Return what a mechanism with a memo promises, by name, for several numbers of reports of one person.

    The `error` is that of their mean as a share of that of one report, None where reports are too many to list.
    """
    memo, errors = mechanism.memo, [None] * len(SHOWN)
    assert memo is not None
    with suppress(ValueError):
        first, *others = variances_of_means(mechanism, SHOWN)
        errors = [1.0, *(math.sqrt(one / first) for one in others)]
    rows = [
        {"reports": k, "epsilon": memo.epsilon(k), "error": error}
        for k, error in zip(SHOWN, errors, strict=True)
    ]
    return {"permanent_epsilon": float(memo.permanent), "kept": memo.kept, "promised": rows}


def variances_of_means(mechanism: Mechanism, numbers: Sequence[int]) -> list[float]:
    """Return the total variances that one user adds to unbiased answers from the means of such numbers of reports.

    V_p + (V_1 - V_p)/k, averaged over the user types, or by the prior where there is one; V_p = V_1 without a memo.

    Raises:
        ValueError: for a table whose rows are too many to list.
    """
    found = [through.totals(queries) for through, queries in _through(mechanism)]
    single, lasting = map(math.fsum, zip(*found, strict=True))
    return [lasting + (single - lasting) / k for k in numbers]


def _through(mechanism: Mechanism) -> list[tuple[Averaged, Workload]]:
    """Return the estimators of means of reports, of a survey one for each part, and the queries that each answers."""
    strategy, workload, memo = mechanism.strategy, mechanism.workload, mechanism.memo
    repeats = memo.repeats if memo else [1.0] * len(mechanism.table.drawn())
    rounds = tuple(Rounds(1, alpha, float(mechanism.epsilon)) for alpha in repeats)
    if not strategy.parted:
        return [(Averaged(BestLinear(strategy.listed(), mechanism.prior), *rounds), workload)]
    survey = Surveyed(cast("SurveyStrategy", strategy), rounds)
    return [(cast("Averaged", survey.among_others(i)), queries) for i, queries, _ in survey.by_part(workload)]
