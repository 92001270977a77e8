"""One problem at several budgets: the solutions found, the baselines and the bounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from stratagem.math.privacy import MAXIMUM, MINIMUM, check
from stratagem.study.comparison import Comparison
from stratagem.study.comparison_sweep import Sweep
from stratagem.study.optimisation import ENDED_BY_HAND
from stratagem.study.solution import Solution

FACTORS = (0.25, 0.5, 0.75, 1.5, 2.0, 4.0)
"""Other budgets of a report, as multiples of the one asked for."""

Solve = Callable[[float], Solution]


@dataclass(frozen=True)
class BudgetSweep:
    """The comparisons at all budgets, and the budgets at which there is none."""

    sweep: Sweep
    left_out: dict[float, str]
    """Reason why there is no comparison, by the budget concerned."""


def around(epsilon: float) -> tuple[float, ...]:
    """Return the other budgets of a report where none are given.

    >>> around(1.0)
    (0.25, 0.5, 0.75, 1.5, 2.0, 4.0)
    """
    return tuple(epsilon * factor for factor in FACTORS if MINIMUM <= epsilon * factor <= MAXIMUM)


def along(
    solution: Solution, budgets: Iterable[float] | None = None, solve: Solve | None = None
) -> BudgetSweep:
    """Return the sweep of a solution over other budgets, which are computed from the nearest to the farthest.

    `solve` finds a strategy for another budget; without it the sweep has only baselines and bounds there.
    Ctrl-C keeps what was computed before it.

    Raises:
        ValueError: for a budget out of range.
    """
    asked = solution.epsilon
    others = {check(one) for one in (around(asked) if budgets is None else budgets)} - {asked}
    found, left_out, complete = {asked: Comparison.of(solution)}, {}, solution.status not in ENDED_BY_HAND
    for epsilon in sorted(others, key=lambda one: (abs(math.log(one / asked)), one)):
        if not complete:
            break
        try:
            found[epsilon], complete = _at(epsilon, solution, solve)
        except KeyboardInterrupt:
            complete = False
        except ValueError as error:
            left_out[epsilon] = str(error)
    return BudgetSweep(Sweep("epsilon", tuple(found[one] for one in sorted(found)), complete), left_out)


def _at(epsilon: float, solution: Solution, solve: Solve | None) -> tuple[Comparison, bool]:
    """Return the comparison at a budget, and whether it is complete: False if the user stopped its search."""
    if solve is None:
        return Comparison.published(solution.aim, epsilon), True
    found = solve(epsilon)
    return Comparison.of(found), found.status not in ENDED_BY_HAND
