"""Whether a strategy answers every query: one test, query by query, each against its own length."""

from __future__ import annotations

import math

import numpy as np

from stratagem.estimators.accuracy import UnsupportedWorkloadError
from stratagem.math.privacy import uniform
from stratagem.workloads import Workload
from stratagem.workloads.centring import levelled, unmerged
from stratagem.workloads.dependence import LISTED, first_dependent
from stratagem.workloads.naming import Naming

WORK = 1 << 34
"""Largest number of multiplications spent on all queries: some seconds."""
ENTRIES = 1 << 28
"""Largest number of queries times user types for which variances are computed."""


def check_domain(workload: Workload, domain_size: int) -> None:
    """Refuse a workload and a strategy with different numbers of user types."""
    if domain_size != workload.domain.size:
        raise ValueError(
            f"the strategy has {domain_size} user types and the workload {workload.domain.size}; "
            "both must speak of the same domain"
        )


def check_sizes(workload: Workload, sizes: tuple[int, ...]) -> None:
    """Refuse a workload over other attributes than those of a strategy."""
    if workload.domain.sizes != sizes:
        raise ValueError(
            f"the strategy has {len(sizes)} attributes of {math.prod(sizes)} cells and the workload the domain "
            f"{workload.domain}; both must speak of the same domain, with the same attribute sizes in the same order"
        )


def check_work(workload: Workload, products: int) -> None:
    """Refuse queries whose variances take too long one by one."""
    if products > WORK:
        raise ValueError(
            f"the variances of {workload.queries} queries over {workload.domain_size} user types were asked for one "
            "by one, which takes too long: ask for fewer queries, or use evaluate for their sum"
        )


def check_entries(workload: Workload) -> None:
    """Refuse queries whose variances take too much memory."""
    if workload.queries * workload.domain_size > ENTRIES:
        raise ValueError(
            f"the variances of {workload.queries} queries over {workload.domain_size} user types take too long: "
            "ask for fewer queries, or use evaluate for their sum"
        )


def check_support(workload: Workload, null: np.ndarray, prior: np.ndarray | None = None) -> None:
    """Refuse a workload with a query that depends on data that no report depends on (see `first_dependent`).

    `null` (n x k) is an orthonormal basis of the data vectors that leave all reports unchanged, in which the prior
    (n,), 1/n by default, may be too.

    Raises:
        UnsupportedWorkloadError: naming the first query that is not answered, and what it needs.
    """
    query = first_dependent(workload, null, prior)
    if query is not None:
        raise _refusal(workload, query, null, uniform(workload.domain_size) if prior is None else prior)


def _refusal(
    workload: Workload, query: int, null: np.ndarray, shares: np.ndarray
) -> UnsupportedWorkloadError:
    """Return the error that names a query and two user types between which reports do not tell enough for it."""
    inner = levelled(unmerged(workload))
    w = inner.adjoint(np.eye(1, workload.queries, query)[0]) if workload.queries <= LISTED else np.zeros(0)
    hidden = null @ (null.T @ (w - shares @ w)) if len(w) else null[:, 0]
    plus, minus = sorted((int(hidden.argmax()), int(hidden.argmin())))
    name = Naming.of(workload).label(query)
    return UnsupportedWorkloadError(
        f"the strategy cannot answer query {query} of {workload.queries}, {name!r}: it depends on a difference, "
        f"largest between the user types {plus} and {minus}, that no report depends on: use a "
        "strategy made for these queries, or leave this query out"
    )
