"""Whether a strategy answers every query: one test, query by query, each against its own length."""

from __future__ import annotations

import numpy as np

from stratagem.accuracy.accuracy import UnsupportedWorkloadError
from stratagem.math.privacy import uniform
from stratagem.strategies import LinearProtocol, Randomiser
from stratagem.workloads import Workload
from stratagem.workloads.centring import levelled, unmerged
from stratagem.workloads.dependence import LISTED, first_dependent
from stratagem.workloads.naming import Naming


def check_domain(workload: Workload, strategy: Randomiser) -> None:
    """Refuse a workload and a strategy with different numbers of user types.

    Raises:
        ValueError: if the domains differ in size.
    """
    if strategy.domain_size != workload.domain.size:
        raise ValueError(
            f"the strategy has {strategy.domain_size} user types and the workload {workload.domain.size}; "
            "both must speak of the same domain"
        )


def check_seen(workload: Workload, protocol: LinearProtocol) -> None:
    """Refuse a workload that needs dimensions of the data vector that no report of the protocol depends on.

    Raises:
        UnsupportedWorkloadError: if there is such a query.
        ValueError: if the domains differ in size.
    """
    check_domain(workload, protocol)
    check_support(workload, protocol.null_space)


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
