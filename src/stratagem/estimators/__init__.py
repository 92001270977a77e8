"""Linear estimators, a kind of strategy a file: exact variances, and answers with their errors from counts."""

from __future__ import annotations

from stratagem.estimators import best_linear, dense, survey  # noqa: F401 - each kind registers its estimator
from stratagem.estimators.accuracy import (
    ERROR,
    Accuracy,
    Errors,
    UnsupportedWorkloadError,
    Users,
    ask,
    both_needed,
    comparable,
    errors,
    goal,
    off,
    users_needed,
)
from stratagem.estimators.estimator import (
    Estimator,
    Evidence,
    estimator,
    evaluate,
    mean_variance,
    per_query_variance,
)
from stratagem.estimators.translation import junta, orbit  # noqa: F401 - each kind registers its estimator

__all__ = [
    "ERROR",
    "Accuracy",
    "Errors",
    "Estimator",
    "Evidence",
    "UnsupportedWorkloadError",
    "Users",
    "ask",
    "both_needed",
    "comparable",
    "errors",
    "estimator",
    "evaluate",
    "goal",
    "mean_variance",
    "off",
    "per_query_variance",
    "users_needed",
]
