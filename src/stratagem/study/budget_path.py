"""Solutions for one workload over several privacy budgets, where each search starts from the previous solution."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from stratagem.math.privacy import check
from stratagem.solvers import Callback, Certified
from stratagem.strategies import TwoLevelStrategy
from stratagem.study.optimisation import optimise
from stratagem.study.solution import Solution
from stratagem.workloads import Workload


def path(
    workload: Workload,
    epsilons: Iterable[float],
    solver: Certified | None = None,
    on_step: Callback | None = None,
) -> tuple[Solution, ...]:
    """Return a certified solution for every budget, in the order given.

    At low budgets the patterns are large sets, and random fields alone come close to the optimum. At high
    budgets the patterns are small, hard to guess and change little with epsilon. Each search therefore starts
    with the patterns of the solution at the next lower budget as well.

    Raises:
        ValueError: if there is no budget or one is out of range, and as `optimise`.

    Example:
        >>> import stratagem as st
        >>> solutions = path(st.prefix(8), [0.5, 1.0, 2.0])
        >>> [solution.gap < 0.01 for solution in solutions]
        [True, True, True]
    """
    if not isinstance(epsilons, Iterable) or isinstance(epsilons, str):
        raise ValueError(f"epsilons is {epsilons!r}; give several budgets, for example [0.5, 1, 2].")
    budgets = [check(epsilon) for epsilon in epsilons]
    if not budgets:
        raise ValueError("No epsilon was given; give at least one, for example [0.5, 1, 2].")
    if not isinstance(solver, Certified | None):
        raise ValueError(f"{type(solver).__name__} cannot start from other budgets; use st.Certified().")
    solver, solved = solver or Certified(), dict[float, Solution]()
    for epsilon in sorted(set(budgets)):
        last = next(reversed(solved.values()), None)
        if last is not None and isinstance(last.strategy, TwoLevelStrategy):
            solver = replace(solver, start=last.strategy)
        solved[epsilon] = optimise(workload, epsilon, solver, on_step)
    return tuple(solved[epsilon] for epsilon in budgets)
