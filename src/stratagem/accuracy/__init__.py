"""Exact variance of (workload, strategy): every formula once."""

from __future__ import annotations

from stratagem.accuracy import dense, junta, orbit  # noqa: F401 - each registers its formula
from stratagem.accuracy.accuracy import (
    ERROR,
    Accuracy,
    UnsupportedWorkloadError,
    Users,
    both_needed,
    evaluate,
    objective,
    users_needed,
)
from stratagem.accuracy.dense import per_query_variance, quadratic_forms, spread, supporting_inverse
from stratagem.accuracy.largest import largest_variance, largest_variances
from stratagem.accuracy.query import query_variances
from stratagem.accuracy.support import check_domain, check_seen, check_support
from stratagem.accuracy.units import comparable, goal, mean_variance

__all__ = [
    "ERROR",
    "Accuracy",
    "UnsupportedWorkloadError",
    "Users",
    "both_needed",
    "check_domain",
    "check_seen",
    "check_support",
    "comparable",
    "evaluate",
    "goal",
    "largest_variance",
    "largest_variances",
    "mean_variance",
    "objective",
    "per_query_variance",
    "quadratic_forms",
    "query_variances",
    "spread",
    "supporting_inverse",
    "users_needed",
]
