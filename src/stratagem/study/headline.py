"""The result in sentences: the users needed, the best published mechanism, and the bound on any mechanism."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from stratagem.accuracy import comparable, goal, users_needed
from stratagem.math.number import number_text, percent_apart, users_text
from stratagem.problem import Problem, WorstQuery
from stratagem.workloads.explicit import counts_users

if TYPE_CHECKING:
    from stratagem.bounds import Bounds
    from stratagem.study.comparison import Comparison
    from stratagem.study.comparison_sweep import Sweep
    from stratagem.study.ranking import Contender
    from stratagem.study.solution import Solution

COUNTS, SIZES = ("fewer", "more", "about as many"), ("lower", "higher", "about the same")
"""Words for a number that is less than another, more, or the same."""
ALIKE = 5e-4
"""Relative difference below which two numbers are the same, as it would read 0.0 %."""
FAR = 100.0
"""Ratio above which a number of times is said, not per cents."""
NOISE = 1e-9
"""Rounding errors of a ratio, a thousand times over."""


def headline(solution: Solution) -> list[str]:
    """Return the users that the strategy needs, those of the best published mechanism, and those of any mechanism.

    The best published mechanism is the one that needs the fewest; those for which time ran out are named at the end.
    """
    sentences = (f"{solution.users_sentence()}.", _published(solution), limit(solution))
    return [*sentences, *filter(None, [solution.baselines.late_sentence])]


def limit(solution: Solution, name: str = "ours") -> str:
    """Return the sentence on the users that any mechanism needs, and how near the solution of this name comes."""
    if comparable(solution.workload) is not solution.workload:
        near = _near(solution.objective, solution.lower_bound)
        return f"{bound_sentence(solution.problem, solution.bounds)}; {name} {near}."
    least = fewest_users(solution.problem, solution.bounds)
    near = f"; {name} {_near(_needed(solution), least)}" if least > 1 else ""
    return f"{bound_sentence(solution.problem, solution.bounds)}{near}."


def bound_sentence(problem: Problem, bounds: Bounds) -> str:
    """Return what lower bounds on the objective say of the users that any mechanism needs, without a full stop."""
    if comparable(problem.workload) is not problem.workload:
        return (
            f"At epsilon {problem.epsilon:g} no unbiased mechanism with one report per user has an objective below "
            f"{number_text(bounds.best)}, over all queries, which differ in units or weights"
        )
    least = fewest_users(problem, bounds)
    if least <= 1:
        return f"At epsilon {problem.epsilon:g} the lower bound is too small to say how many users are needed"
    return (
        f"At epsilon {problem.epsilon:g} no unbiased mechanism with one report per user can need fewer than "
        f"{users_text(least)} users for {goal(problem.workload)}, {_which(problem)}"
    )


def fewest_users(problem: Problem, bounds: Bounds) -> int:
    """Return the users that any unbiased mechanism needs for the `goal`, by lower bounds on the objective.

    For the root mean square over the queries; for the least accurate answer where the objective is its variance.
    """
    queries = 1 if isinstance(problem, WorstQuery) else problem.workload.queries
    return users_needed(problem.least(bounds) / queries)


def data_headline(comparison: Comparison) -> list[str]:
    """Return the expected errors on the data: of the strategy, the best published mechanism, and any mechanism."""
    assert comparison.users is not None, "errors are expected on data"
    ours, *others = sorted(comparison.rows, key=lambda row: (not row.optimised, row.value))
    unit = f"users, {100 * ours.value / comparison.users:.3g} % of all"
    if not counts_users(comparison.workload):
        unit = "in the units of the queries"
    error = f"the expected error of an answer is {number_text(ours.value)} {unit}"
    said = [f"On these data {error}, root mean square over the queries."]
    if others:
        best = comparison.compared[others[0].mechanism]
        less = _less(ours.value, others[0].value, SIZES)
        said.append(
            f"With the best published mechanism, {best}, it is {number_text(others[0].value)}: ours is {less}."
        )
    said.append(f"{comparison.footer()}; ours {_near(ours.value, comparison.least)}.")
    return [*said, *filter(None, [comparison.late_sentence])]


def sweep_headline(sweep: Sweep) -> str:
    """Return how many users fewer than published mechanisms the strategies need along the axis, and than the bound."""
    shares, far, what = (
        [],
        0.0,
        "the fewest users that any unbiased mechanism with one report per user may need",
    )
    for one in sweep.comparisons:
        found = [one.compared[row.mechanism] for row in sorted(one.rows, key=lambda row: not row.optimised)]
        ours, least = _needed(found[0]), fewest_users(found[0].problem, one.bounds)
        if comparable(one.workload) is not one.workload:  # the bound is on queries of all units
            ours, least, what = found[0].objective, one.bounds.best, "the lower bound on the objective"
        far = max(far, ours / least)
        shares += [_needed(found[0]) / _needed(best) for best in (_best(found[1:]),) if best is not None]
    near = f"ours {_near(far, 1, what)}"
    if not shares:
        return f"Along the {sweep.axis} {near}."
    least, most = (_less(share, 1, COUNTS) for share in (max(shares), min(shares)))
    between = most if least == most else f"{least.removesuffix(most[most.rindex(' ') :])} to {most}"
    return f"Along the {sweep.axis} ours needs {between} users than the best published mechanism; {near}."


def _published(solution: Solution) -> str:
    best = _best(solution.baselines)
    if best is None:
        return "Published mechanisms were not set up on a domain of this size."
    users = _needed(best)
    times = _needed(solution) / users
    less = f"{number_text(times)} times as many" if times > FAR else _less(_needed(solution), users, COUNTS)
    which = "the least accurate answer" if isinstance(solution.problem, WorstQuery) else "that"
    theirs = f"{users_text(users)} user{'s' * (users > 1)}"
    return f"The best published mechanism, {best}, needs {theirs} for {which}: ours needs {less}."


def _best(published: Iterable[Solution | Contender]) -> Solution | Contender | None:
    return min(published, key=_needed, default=None)


def _needed(found: Solution | Contender) -> int:
    """Return the users needed for the `goal`, in the measure of `fewest_users`."""
    single = found.largest_comparable if isinstance(found.problem, WorstQuery) else None
    return users_needed(found.mean_variance if single is None else single)


def _which(problem: Problem) -> str:
    single = isinstance(problem, WorstQuery)
    return "for the least accurate answer" if single else "root mean square over the queries"


def _less(ours: float, theirs: float, words: tuple[str, str, str]) -> str:
    """Return by how many per cent of theirs our number is less or more, in `words` for less, more and the same."""
    less, more, same = words
    ratio = ours / theirs if theirs > 0 else 1.0
    return same if abs(1 - ratio) < ALIKE else f"{percent_apart(ratio)} {less if ratio < 1 else more}"


def _near(ours: float, least: float, name: str = "that") -> str:
    """Return how far our number is above the least one possible, in per cent and rounded up."""
    tenths = math.ceil(1000 * (ours / least - 1) - NOISE) if least > 0 else 0
    return f"is within {tenths / 10:,.1f} % of {name}" if tenths > 0 else f"is as good as {name}"
