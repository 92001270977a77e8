"""How many fewer users a search for the worst case may need, beside a solution of the average case."""

from __future__ import annotations

from stratagem.estimators import comparable
from stratagem.math.number import percent_apart, users_text
from stratagem.solvers import Auto
from stratagem.solvers.problem import WorstCase
from stratagem.study.optimisation import optimise
from stratagem.study.solution import Solution

SEARCHED = 16
"""Largest number of user types for which the worst case is searched for at once: some seconds."""
SECONDS = 10.0
WORTH = 0.05
"""Share of the users that must be in question for anything to be said."""
ALIKE = 5e-5
"""Ratio below which the bound does not say how many fewer."""
GAP = 0.02
"""Gap to the bound of the worst case at which its search may end."""


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
