"""The solver of few queries: the linear programme that bounds them, turned into a strategy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from stratagem.bounds.duals import LINEAR_LIMIT, LISTED, RANK, SIMPLE, LinearDual
from stratagem.privacy import ratio
from stratagem.solvers.few.interval import interval_strategy
from stratagem.solvers.few.served import served_strategy
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
class FewQueries(Solver):
    """The optimal unbiased randomiser of one to five numbers: a mean, a mean with a variance, a predicate, scores.

    Every output carries an answer, and each user type raises the probabilities of some near its own numbers
    by the factor E. Answers and probabilities solve a linear programme (theory.md, section 8), which also gives
    the bound. The queries may be any combinations of five queries and of the total, under any prior.

    Raises:
        ValueError: for a gap that is no number of at least 0, and for other queries.

    Example:
        >>> import stratagem as st
        >>> st.optimise(st.moments([0.0, 0.3, 0.6, 1.0], 2), 1.0, st.FewQueries()).gap < 2e-3
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
                f"the solver FewQueries was given {problem.workload.queries} queries over "
                f"{problem.workload.domain_size} user types, but takes combinations of {RANK} queries and the total, "
                f"over at most {LINEAR_LIMIT}, more than {SIMPLE} over more than {LISTED}: "
                "use st.Auto() or st.Certified()"
            )
        strategy, answers = _strategy(found, ratio(problem.epsilon))
        return Randomised(strategy, found.cost(answers, strategy.forward(problem.shares)))

    def advance(self, problem: Problem, state: Randomised) -> Randomised:
        """Return the state as it is."""
        return state

    def finish(self, problem: Problem, state: Randomised) -> Strategy:
        """Return the strategy."""
        return state.strategy


def _strategy(found: LinearDual, E: float) -> tuple[MatrixStrategy, np.ndarray]:
    """Return the strategy of a solved programme and its answers (K x r); randomised response if rounding wins."""
    if found.queries.shape[1] == 1:
        strategy = interval_strategy(found.answers[:, 0], found.theta, found.queries[:, 0], E)
        return strategy, found.answers
    try:
        return served_strategy(found.answers, found.theta, found.queries, E)
    except np.linalg.LinAlgError:
        F, n = found.queries, len(found.queries)
        told = ((E + n - 1) * F - F.sum(axis=0)) / (E - 1)
        return MatrixStrategy((np.ones((n, n)) + (E - 1) * np.eye(n)) / (E + n - 1)), told
