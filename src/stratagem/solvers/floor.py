"""A share of randomised response for queries that others outweigh so far that a search leaves them out."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from stratagem.estimators import UnsupportedWorkloadError, estimator
from stratagem.math.privacy import ratio
from stratagem.solvers.problem import Problem
from stratagem.strategies import MatrixStrategy, Strategy, TwoLevelStrategy
from stratagem.strategies.two_level import mixture, pack

UNEVEN = 1e3
"""Ratio of the lengths of queries from which on some may be left out: their share of L is the square of it."""
BETTER = 1e-3
"""Share of its variance by which a strategy must be better than the one before it: more rows are longer reports."""
SHARES = (1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
"""Shares of randomised response that are tried; L of the other queries pays as much at most."""


S = TypeVar("S", bound=Strategy)


def answering(
    problem: Problem, found: Sequence[S], mixed: Callable[[S, float, float], S], most: int | None = None
) -> S:
    """Return the first of some strategies, or another, or a mixture with randomised response, that is much better.

    With information matrices M and M_0 the mixture has (1 - s) M + s M_0, so that for queries V = V_1 + V_2
    L <= L_1(M)/(1 - s) + L_2(M_0)/s: where V_2 is outweighed, a small share answers its queries, whatever M does.
    The mixture has at most `most` rows; `mixed` makes it from a strategy, E and a share.
    """
    lengths = np.linalg.norm(problem.factor, axis=0)
    tried = list(found)
    if lengths.any() and lengths.max() > UNEVEN * lengths[lengths > 0].min():
        E = ratio(problem.epsilon)
        tried += [mixed(one, E, share) for one in found for share in SHARES]
    fitting = [one for one in tried if most is None or one.outputs <= most] or tried[:1]
    if len(fitting) == 1:
        return fitting[0]
    values = [problem.added(_value(problem, one)) for one in fitting]
    return next(
        one for one, value in zip(fitting, values, strict=True) if value <= (1 + BETTER) * min(values)
    )


def mixed_patterns(strategy: TwoLevelStrategy, E: float, share: float) -> TwoLevelStrategy:
    """Return randomised response with probability `share`, else a strategy of the same levels."""
    return mixture(strategy, _response(strategy.domain_size, E), share)


def mixed_rows(strategy: MatrixStrategy, E: float, share: float) -> MatrixStrategy:
    """Return randomised response with probability `share`, else the strategy."""
    response = _response(strategy.domain_size, E).dense().matrix
    return MatrixStrategy(np.concatenate([(1 - share) * strategy.matrix, share * response]))


def _response(n: int, E: float) -> TwoLevelStrategy:
    """Return randomised response over n user types."""
    return TwoLevelStrategy(pack(np.eye(n, dtype=bool)), np.full(n, 1 / (E + n - 1)), n, E)


def _value(problem: Problem, strategy: Strategy) -> float:
    """Return L(Q), infinite where a query is not answered."""
    try:
        return estimator(strategy, problem.prior).objective(problem.workload, lambda: problem.factor)
    except UnsupportedWorkloadError:
        return math.inf
