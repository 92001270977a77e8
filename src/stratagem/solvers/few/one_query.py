"""The solver of one query: the linear programme that bounds it, turned into a strategy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from stratagem.bounds.linear import LIMIT
from stratagem.privacy import ratio
from stratagem.solvers.few.interval import interval_strategy
from stratagem.solvers.parameter import check_limits
from stratagem.solvers.solver import Limits, Problem, Solver
from stratagem.strategies import MatrixStrategy, Strategy


@dataclass(frozen=True, eq=False)
class Randomised:
    """The strategy of a solved programme."""

    strategy: MatrixStrategy
    objective: float
    """L(Q) with the answers of the programme."""
    stuck: bool = True


@dataclass(frozen=True)
class OneQuery(Solver):
    """The optimal unbiased randomiser of one number: a mean, one predicate, a classifier's score.

    Every output carries an answer, and each user type raises the probabilities of those near its own number
    by the factor E. Answers and probabilities solve a linear programme (see `linear_dual`), which also gives
    the bound. The queries may be any multiples of one query and of the total, under any prior.

    Raises:
        ValueError: for a gap that is no number of at least 0, and for other queries.

    Example:
        >>> import stratagem as st
        >>> st.optimise(st.explicit([[0.0, 0.5, 1.0]]), 1.0, st.OneQuery()).gap < 1e-3
        True
    """

    reference: ClassVar[str] = "@stratagem, linear programme over outputs; @badanidiyuru2023optimal"

    gap: float = 1e-3
    """Gap above which the bound is made tighter."""

    def __post_init__(self) -> None:
        """Check the parameter."""
        check_limits(None, gap=self.gap)

    @property
    def limits(self) -> Limits:
        """When to stop: at once."""
        return Limits(1, 1, 0.0, 1, math.inf, self.gap)

    def begin(self, problem: Problem, start: int, best: Any) -> Randomised:
        """Solve the programme."""
        found = problem.linear
        if found is None:
            raise ValueError(
                f"the solver OneQuery was given {problem.workload.queries} queries over "
                f"{problem.workload.domain_size} user types, but takes one query, up to multiples and the total, over "
                f"at most {LIMIT}: use st.Auto() or st.Certified()"
            )
        strategy = interval_strategy(found.answers, found.theta, found.query, ratio(problem.epsilon))
        return Randomised(strategy, found.cost(strategy.forward(problem.shares)))

    def advance(self, problem: Problem, state: Randomised) -> Randomised:
        """Return the state as it is."""
        return state

    def finish(self, problem: Problem, state: Randomised) -> Strategy:
        """Return the strategy."""
        return state.strategy
