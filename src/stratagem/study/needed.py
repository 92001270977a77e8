"""What is needed at least: the smallest budget for an error, and fewer people for the worst case as objective."""

from __future__ import annotations

import math
from collections.abc import Callable

from stratagem.estimators import comparable, users_needed
from stratagem.math.deadline import deadline, within
from stratagem.math.number import percent_apart, users_text
from stratagem.solvers import Auto
from stratagem.solvers.problem import WorstCase, problem_of
from stratagem.study.optimisation import optimise
from stratagem.study.solution import Solution
from stratagem.workloads import Workload
from stratagem.workloads.centring import estimated

LEAST, MOST = 0.01, 10.0
"""The budgets among which one is sought for an error to reach; above the largest, little is protected."""
CLOSE = 0.01
"""Relative accuracy of a budget that is sought."""
BOUNDED, EACH = 0.2, 1 / 3
"""Share of the time for the bound from which the search begins, and share of what is left for each budget tried."""

SEARCHED = 16
"""Largest number of user types for which the worst case is searched for at once: some seconds."""
SECONDS = 10.0
WORTH = 0.05
"""Share of the users that must be in question for anything to be said."""
ALIKE = 5e-5
"""Ratio below which the bound does not say how many fewer."""
GAP = 0.02
"""Gap to the bound of the worst case at which its search may end."""


def least_budget(
    asked: Workload,
    users: int,
    error: float,
    solve: Callable[[float], Solution],
    needed: Callable[[Solution], int],
    queries: float | None = None,
) -> tuple[Solution, bool]:
    """Return the solution of the smallest budget that reaches the error with so many users, and whether it is that.

    The smallest up to 1 %; where time runs out, one that reaches the error; `needed` says how many users a solution
    needs for it. The bound on the variance of the queries asked, of which `queries` are as many as their weights
    count, needs fewer users than any strategy, so that the search begins at the smallest budget that it allows.
    """

    def solved(budget: float) -> Solution:
        with within(EACH * deadline().left):
            return solve(budget)

    low = _allowed(asked, users, error, queries or estimated(asked))
    tried = min(MOST, _digits(low))
    while (found := needed(solution := solved(tried))) > users:
        if tried == MOST:
            raise ValueError(
                f"a standard error of {100 * error:.3g} % with {users:,} people takes an epsilon above {MOST:g}, which "
                f"protects little: ask {found:,} people, or accept a larger error"
            )
        low, tried = tried, min(MOST, _digits(tried * max(1 + CLOSE, (found / users) ** 0.5)))
    best, high = solution, tried
    while high > low * (1 + CLOSE) and low < (tried := _digits(math.sqrt(low * high))) < high:
        if deadline().over:
            return best, False
        solution = solved(tried)
        if needed(solution) <= users:
            best, high = solution, tried
        else:
            low = tried
    return best, True


def _allowed(asked: Workload, users: int, error: float, queries: float) -> float:
    """Return about the smallest budget at which the bound allows the error, or one below it where time runs out."""

    def bounded(budget: float) -> int:
        problem = problem_of(asked, budget)
        return users_needed(problem.least(problem.bounds) / queries, error)

    low, high = LEAST, MOST
    with within(BOUNDED * deadline().left) as time:
        while high / low > 1 + CLOSE / 4 and not time.over:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if bounded(middle) <= users else (middle, high)
    return low


def _digits(budget: float) -> float:
    """Return a budget rounded up to three digits, so that people can state it."""
    power = 10.0 ** (math.floor(math.log10(budget)) - 2)
    return round(math.ceil(budget / power - 1e-9) * power, 12)


def fewer_users(solution: Solution) -> str | None:
    """Return how many fewer users the worst case as objective needs, or may need; None where it cannot help much.

    Users needed are stated for the least favourable type. The worst type of any unbiased mechanism is at least the
    lower bound on the average, so that nothing is said where that of the solution is near it; nor where the average
    may itself be lowered as much, for another objective, a prior, or queries of different units.
    """
    whole = comparable(solution.workload) is solution.workload
    if not (solution.problem.plain and whole) or solution.gap > WORTH:
        return None
    least = solution.least_variance / (solution.accuracy.worst_case_variance or 1.0)
    if 1 - least < WORTH:
        return None
    if solution.workload.domain_size > SEARCHED:
        most = f"up to {percent_apart(least)} " if least > ALIKE else ""
        return f"with the objective worst-case {most}fewer people may be enough"
    now = solution.users_for().root_mean_square
    found = optimise(
        solution.workload, solution.epsilon, Auto(gap=GAP, max_seconds=SECONDS), objective=WorstCase.kind
    )
    then = found.users_for().root_mean_square
    if then > (1 - WORTH) * now:
        return None
    return f"with the objective worst-case {users_text(then)} people are enough, {percent_apart(then / now)} fewer"
