"""The solver for few queries: the solution of the linear programme of the lower bound, turned into a strategy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from stratagem.bounds.duals import LINEAR_LIMIT, LISTED, RANK, SIMPLE, LinearDual
from stratagem.math.privacy import ratio
from stratagem.solvers.few.interval import interval_strategy
from stratagem.solvers.few.served import served_strategy
from stratagem.solvers.parameter import check_limits
from stratagem.solvers.solver import Limits, Problem, Solver
from stratagem.strategies import MatrixStrategy, Strategy


@dataclass(frozen=True, eq=False)
class Randomised:
    """The state of the solver: the strategy that the solved linear programme gives."""

    strategy: MatrixStrategy
    objective: float
    """L(Q) with the answers of the programme."""
    stuck: bool = True


@dataclass(frozen=True)
class FewQueries(Solver):
    """The optimal unbiased randomiser of one to five numbers: a mean, a mean with a variance, a predicate, scores.

    Every output carries an answer, a vector of estimates of these numbers. Each user type raises the
    probabilities of some outputs, whose answers are near its own numbers, by the factor E. Answers and
    probabilities solve a linear programme (theory.md, section 8), which also gives the lower bound. The
    queries may be any combinations of five queries and of the total, with any prior.

    Raises:
        ValueError: for a gap that is not a number of at least 0; a search refuses other workloads likewise.

    Example:
        >>> import stratagem as st
        >>> st.optimise(st.moments([0.0, 0.3, 0.6, 1.0], 2), 1.0, st.FewQueries()).gap < 2e-3
        True
    """

    reference: ClassVar[str] = "@stratagem, linear programme over outputs; @badanidiyuru2023optimal"

    gap: float = 1e-3
    """Gap above which more work is spent on a tighter lower bound."""

    def __post_init__(self) -> None:
        """Check the parameter."""
        check_limits(None, gap=self.gap)

    @property
    def limits(self) -> Limits:
        """The limits of a search that ends after its first state."""
        return Limits(1, 1, 0.0, 1, math.inf, self.gap)

    def begin(self, problem: Problem, start: int, best: Any) -> Randomised:
        """Return the strategy that the solved linear programme gives.

        Raises:
            ValueError: if the linear programme does not take the workload.
        """
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
        """Return the state unchanged, because it is final."""
        return state

    def finish(self, problem: Problem, state: Randomised) -> Strategy:
        """Return the strategy of the state."""
        return state.strategy


def _strategy(found: LinearDual, E: float) -> tuple[MatrixStrategy, np.ndarray]:
    """Return the strategy of a solved linear programme (K outputs) and its answers (K x r).

    Randomised response with its answers (n x r) is returned if rounding leaves no feasible probabilities.
    """
    if found.queries.shape[1] == 1:
        strategy = interval_strategy(found.answers[:, 0], found.theta, found.queries[:, 0], E)
        return strategy, found.answers
    try:
        return served_strategy(found.answers, found.theta, found.queries, E)
    except np.linalg.LinAlgError:
        F, n = found.queries, len(found.queries)
        told = ((E + n - 1) * F - F.sum(axis=0)) / (E - 1)
        return MatrixStrategy((np.ones((n, n)) + (E - 1) * np.eye(n)) / (E + n - 1)), told
