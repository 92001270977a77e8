"""Exact variance of (workload, strategy) under the optimal reconstruction, by n x n arrays."""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from stratagem.accuracy.accuracy import Accuracy, accuracy_of, objective_of
from stratagem.accuracy.support import check_domain, check_seen, check_support
from stratagem.math.linalg import (
    CANCELLED,
    CentredInverse,
    PseudoInverse,
    squared_distances,
)
from stratagem.math.privacy import check_prior, uniform
from stratagem.strategies import LinearProtocol, Randomiser, Runnable
from stratagem.strategies.strategy import Strategy, apply_inverse, inverse_row_sums
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.centring import levelled, root, total_term
from stratagem.workloads.given import WorkloadLike, workload_of

BLOCK = 1 << 25
"""Entries of a temporary array."""
PLAIN = 1 << 22
"""Largest number of answers to reports, (m, p), for which variances of queries are summed report by report: the
covariance of all types would lose the digits of queries that the strategy answers much better than others."""


@accuracy_of.register
def dense_accuracy(strategy: Strategy, workload: Workload, prior: np.ndarray | None) -> Accuracy:
    """Return the accuracy with all n x n arrays formed, as `evaluate`."""
    prior = None if prior is None else check_prior(prior, workload.domain_size)
    F = root(workload, prior)
    B = apply_inverse(supporting_inverse(workload, strategy, prior), F, prior)
    inverse, own = inverse_row_sums(strategy, prior), np.square(F).sum(axis=1)
    per_type = strategy.backward(_squared_norms(strategy, B, inverse)) - own
    if not (per_type >= CANCELLED * own).all():
        per_type = _distances_by_type(strategy, inverse[:, None] * strategy.forward(B), F)
    return Accuracy(total_term(workload, prior) + float(np.sum(F * B)), per_type, workload.queries)


@objective_of.register
def dense_objective(
    strategy: Strategy, workload: Workload, F: np.ndarray | None, prior: np.ndarray | None
) -> float:
    """Return L(Q) with all n x n arrays formed, as `objective`."""
    F = root(workload, prior) if F is None else F
    inverse = supporting_inverse(workload, strategy, prior)
    return total_term(workload, prior) + float(np.sum(F * apply_inverse(inverse, F, prior)))


def per_query_variance(
    workload: WorkloadLike,
    strategy: Runnable,
    x: np.ndarray,
    prior: np.ndarray | None = None,
    *,
    domain: DomainLike | None = None,
) -> np.ndarray:
    """Return the exact variance (p,) of every answer for the data vector x (n,); workload and R as in `evaluate`.

    Var_i = w_i^T C w_i with C = R diag(Q x) R^T - diag(x), the covariance of the estimated data vector;
    C = sum_k c_k e_k e_k^T gives Var = sum_k c_k (W e_k)^2 without building W.

    Raises:
        UnsupportedWorkloadError: as `evaluate`.
    """
    asked = workload_of(workload, domain, lambda: strategy.domain_size)
    return _variances_of(strategy, asked, np.asarray(x, dtype=float), prior)


@singledispatch
def _variances_of(
    strategy: Randomiser, workload: Workload, x: np.ndarray, prior: np.ndarray | None
) -> np.ndarray:
    return _variances_of(strategy.dense(), workload, x, prior)


@_variances_of.register
def _(protocol: LinearProtocol, workload: Workload, x: np.ndarray, prior: np.ndarray | None) -> np.ndarray:
    check_seen(workload, protocol)
    return np.maximum(quadratic_forms(workload, protocol.spread(x) - np.diag(x)), 0.0)


@_variances_of.register
def _(strategy: Strategy, workload: Workload, x: np.ndarray, prior: np.ndarray | None) -> np.ndarray:
    inverse, workload = supporting_inverse(workload, strategy, prior), levelled(workload, prior)
    if workload.queries * max(strategy.outputs, len(x)) > PLAIN:
        covariance = spread(strategy, inverse, strategy.forward(x), prior) - np.diag(x)
        return np.maximum(quadratic_forms(workload, covariance), 0.0)
    W = workload.matrix().T
    answers = inverse_row_sums(strategy, prior)[:, None] * strategy.forward(apply_inverse(inverse, W, prior))
    own = x @ np.square(W)
    variance = strategy.forward(x) @ np.square(answers) - own
    if (variance < CANCELLED * own).any():
        return _distances_by_query(strategy, answers, W, x)
    return np.maximum(variance, 0.0)


@accuracy_of.register
def published_accuracy(protocol: LinearProtocol, workload: Workload, prior: np.ndarray | None) -> Accuracy:
    """Return the accuracy of a protocol with the estimator that it was published with, whatever the prior."""
    prior = None if prior is None else check_prior(prior, workload.domain_size)
    check_seen(workload, protocol)
    V, n = workload.gram(), workload.domain_size
    moments = protocol.second_moments(V)
    shares = uniform(n) if prior is None else prior
    return Accuracy(float(n * (shares @ moments)), np.maximum(moments - np.diag(V), 0.0), workload.queries)


def spread(
    strategy: Strategy,
    inverse: CentredInverse | PseudoInverse,
    counts: np.ndarray,
    prior: np.ndarray | None = None,
) -> np.ndarray:
    """Return R diag(counts) R^T (n x n) for counts of reports (m,), `inverse` as in `supporting_inverse`.

    R^T = D^-1 Q M^+ is formed first: rows of Q are nearly constant at small epsilon, and products of two of
    them would lose the digits that M^+ magnifies.
    """
    rows = strategy.forward(apply_inverse(inverse, np.eye(strategy.domain_size), prior))
    rows *= (np.sqrt(counts) * inverse_row_sums(strategy, prior))[:, None]
    return rows.T @ rows


def quadratic_forms(workload: Workload, C: np.ndarray) -> np.ndarray:
    """Return w_i^T C w_i (p,) for a symmetric C (n x n), never holding all of W."""
    values, vectors = np.linalg.eigh(C)
    forms = np.zeros(workload.queries)
    step = max(1, (1 << 24) // workload.queries)
    for first in range(0, len(values), step):
        block = slice(first, first + step)
        forms += np.square(workload.answer(vectors[:, block])) @ values[block]
    return forms


def _distances_by_type(strategy: Strategy, A: np.ndarray, F: np.ndarray) -> np.ndarray:
    """Return t_u = sum_y Q[y, u] ||a_y - f_u||^2 (n,) for answers A (m x r) and the rows of F (n x r).

    It equals the difference of two sums of squares, and is used where that difference would be nothing but
    rounding: at high epsilon it is a share exp(-eps) of the sums.
    """
    n, width = len(F), max(1, BLOCK // strategy.outputs)
    blocks = (np.eye(n, min(width, n - first), -first) for first in range(0, n, width))
    return np.concatenate(
        [(strategy.forward(block) * squared_distances(A, block.T @ F)).sum(axis=0) for block in blocks]
    )


def _distances_by_query(strategy: Strategy, A: np.ndarray, F: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return sum_u x_u sum_y Q[y, u] (a_yi - f_ui)^2 (p,) for every query i, A (m x p) and F (n x p)."""
    columns = ((u, strategy.forward(np.eye(len(F), 1, -u))[:, 0]) for u in map(int, np.flatnonzero(x)))
    return sum((x[u] * (q @ np.square(A - F[u])) for u, q in columns), np.zeros(F.shape[1]))


def _squared_norms(strategy: Strategy, B: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return ||scale_y e_y^T Q B||^2 for every report y (m,), never holding all of Q B (m x r)."""
    width = max(1, BLOCK // strategy.outputs)
    blocks = (B[:, first : first + width] for first in range(0, B.shape[1], width))
    return sum(
        (np.square(scale[:, None] * strategy.forward(block)).sum(axis=1) for block in blocks),
        np.zeros(strategy.outputs),
    )


def supporting_inverse(
    workload: Workload, strategy: Strategy, prior: np.ndarray | None = None
) -> CentredInverse | PseudoInverse:
    """Return (M - 11^T/n)^+ after checking that the strategy answers every query (see `check_support`)."""
    check_domain(workload, strategy)
    inverse = strategy.inverse_information(prior)
    if isinstance(inverse, PseudoInverse):
        check_support(workload, inverse.null, prior)
    return inverse
