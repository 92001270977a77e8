"""The queries whose errors can be set beside each other: those that count users, where others have own units."""

from __future__ import annotations

import numpy as np

from stratagem.accuracy.accuracy import ERROR, ONE_PERCENT, Accuracy, evaluate
from stratagem.strategies import Randomiser
from stratagem.workloads import Workload
from stratagem.workloads.combined import Stack, Weighted
from stratagem.workloads.explicit import Explicit, counting, counts_users
from stratagem.workloads.identity import Total


def comparable(workload: Workload) -> Workload:
    """Return the queries that count users, without weights, if there are any; else the workload itself.

    A mean error over counts and over sums of hours has no unit, and a weighted count has another one than users. The
    number of all users, which every strategy knows, is not among them where others are.
    """
    chosen = _counting(workload)
    return workload if chosen is None or _plain(workload) else chosen


def _plain(workload: Workload) -> bool:
    """Return whether all queries count users, without weights."""
    match workload:
        case Weighted():
            return False
        case Stack():
            return all(map(_plain, workload.parts))
    return counts_users(workload)


def _counting(workload: Workload) -> Workload | None:
    match workload:
        case Total():
            return None
        case Weighted():
            return _counting(workload.workload)
        case Stack():
            parts = tuple(found for part in workload.parts if (found := _counting(part)) is not None)
            return Stack(parts) if parts else None
        case Explicit():
            rows = workload.rows
            chosen = counting(rows) & (np.ptp(rows, axis=1) > 0)
            return Explicit(rows[chosen], workload.domain) if chosen.any() else None
    return workload if counts_users(workload) else None


def mean_variance(
    workload: Workload, strategy: Randomiser, prior: np.ndarray | None, accuracy: Accuracy
) -> float:
    """Return max_u t_u/p, what a user of the worst type adds to the variance of an answer, over `comparable` queries.

    `accuracy` is that of the strategy on all queries.
    """
    chosen = comparable(workload)
    found = accuracy if chosen is workload else evaluate(chosen, strategy, prior)
    return found.worst_case_variance / chosen.queries


def goal(workload: Workload) -> str:
    """Return the standard error for which users are counted, in words: 1 % of all users.

    Where answers are sums of numbers and not of users, it is 0.01 a user in the units of the queries; where there are
    both, it is that of those that count users.
    """
    chosen = comparable(workload)
    if chosen.queries < workload.queries:
        return f"{ONE_PERCENT} in the {chosen.queries:,} of {workload.queries:,} queries that count users"
    if counts_users(chosen):
        return ONE_PERCENT
    return f"a standard error of {ERROR:g} a user, in the units of the queries"
