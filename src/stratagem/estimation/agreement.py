"""Post-processing of tables with attributes in common: they agree, have no cell below zero and sum to all users."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from scipy.linalg import block_diag

from stratagem.estimation.marginal_table import MarginalTable, consistent_marginals, without_debt
from stratagem.estimation.postprocessing import tolerance
from stratagem.estimation.working_set import sparse_minimum
from stratagem.estimators.estimator import Evidence
from stratagem.workloads import Workload, along, histogram

APART = 1e5
"""Penalty of people by whom two tables differ, as a multiple of the largest one of people by whom cells are off: what
it leaves of differences is a millionth of a standard error, and answers are a tenth of `tolerance` off."""


def agreeing(tables: Sequence[tuple[Evidence, Workload]]) -> list[np.ndarray]:
    """Return the data vectors (n_i,) of tables with attributes in common, as `wnnls`, that agree in what they share.

    argmin sum_i ||W_i (x_i - x_hat_i)||^2 / v_i subject to x_i >= 0, sum x_i = N, and the same number of people for
    every value of shared attributes; v_i is the mean variance of an answer at even shares. That set is convex and holds
    the true tables, so that no answers are farther from the truth than the unbiased ones in this norm. Tables that
    differ are penalised; what is left of that goes by `consistent_marginals`, and cells below zero by `without_debt`.
    """
    N, many = tables[0][0].users, len(tables)
    weights = [_weight(evidence, queries) for evidence, queries in tables]
    grams = [weight * queries.gram() for weight, (_, queries) in zip(weights, tables, strict=True)]
    both = zip(weights, tables, strict=True)
    gap = 0.5 * sum(weight * tolerance(*table) ** 2 for weight, table in both) / many**2
    centre = np.concatenate([evidence.data for evidence, _ in tables]) / (many * N)
    apart = _differences([queries for _, queries in tables])
    penalty = APART * max(float(np.diag(V).max()) for V in grams) * (apart.T @ apart)
    H = np.asarray(block_diag(*grams)) + penalty
    x = many * N * sparse_minimum(H, centre, penalty @ centre, gap)
    found, first = list[MarginalTable](), 0
    for weight, (_, queries) in zip(weights, tables, strict=True):
        cells = x[first : first + queries.domain_size].reshape(queries.domain.sizes)
        found.append(MarginalTable(queries.domain.names, cells, 1 / weight))
        first += queries.domain_size
    return [one.counts.ravel() for one in without_debt(consistent_marginals(found, N), N)]


def _weight(evidence: Evidence, workload: Workload) -> float:
    """Return one over the mean variance of an answer to one report at even shares; 1 for answers without error."""
    variance = float(evidence.prior_variances(workload).mean())
    return 1 / variance if variance > 0 else 1.0


def _differences(asked: Sequence[Workload]) -> np.ndarray:
    """Return C (k x sum n_i) with C x = 0 where the tables x of these queries agree in all that two of them share."""
    domains = [queries.domain for queries in asked]
    starts = np.cumsum([0, *(one.size for one in domains)])
    rows = [np.zeros((0, starts[-1]))]
    for i, j in combinations(range(len(domains)), 2):
        shared = [name for name in domains[i].names if name in domains[j].names]
        if shared:
            one, other = (along(domains[k], shared, histogram).matrix() for k in (i, j))
            rows.append(np.zeros((len(one), starts[-1])))
            rows[-1][:, starts[i] : starts[i + 1]], rows[-1][:, starts[j] : starts[j + 1]] = one, -other
    return np.concatenate(rows)
