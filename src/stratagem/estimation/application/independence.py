"""A test of association of two attributes that knows the noise of privacy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.stats import chi2

from stratagem.estimation.estimate import Estimate


class Association(NamedTuple):
    """A test of independence of two attributes in the population."""

    statistic: float
    """Chi-squared distributed under independence."""
    degrees: int
    """(r - 1)(c - 1) degrees of freedom."""
    p_value: float
    """Probability of so large a statistic under independence."""


def association(estimate: Estimate, first: str, second: str) -> Association:
    """Test whether two attributes (r and c values) are independent in the population that users are a sample of.

    With T the unbiased table (r x c) and Z_ij = T_ij - T_i. T_.j/N, the statistic is the Wald statistic
    z^T (J C J^T)^-1 z: z are the cells of Z without the last row and column, C the estimated covariance of T
    (of privacy and of sampling), J the derivative of z by T. Asymptotically chi-squared under independence,
    whatever the strategy; the plain statistic sum (T - E)^2/E takes the noise for association.

    Raises:
        ValueError: for unknown or equal attributes, one with a single value, or too few reports to tell the noise.
        UnsupportedWorkloadError: if the strategy does not determine the table.

    Reference:
        Wald statistics: Rao, Scott, JASA 1981, section 2 (tables of complex surveys); privacy: Gaboardi, Rogers,
        ICML 2018.
    """
    if not isinstance(estimate, Estimate):
        raise ValueError(f"{estimate!r} was given, but a test of association takes what st.estimate returned")
    domain = estimate.workload.domain
    marginal = estimate.raw().marginal(first, second)
    sizes = [a for a, name in zip(domain.sizes, domain.attributes, strict=True) if name in (first, second)]
    if len(sizes) != 2 or min(sizes) < 2:
        raise ValueError(
            f"a test of association of {first!r} and {second!r} was asked for, but needs two attributes of two or "
            "more values each: name two"
        )
    table = marginal.unbiased_answers.reshape(sizes)
    rows, columns, N = table.sum(axis=1), table.sum(axis=0), estimate.users
    z = (table - np.outer(rows, columns) / N)[:-1, :-1].ravel()
    J = np.eye(table.size).reshape(*sizes, *sizes)
    J -= np.einsum("ik,j->ijk", np.eye(sizes[0]), columns)[..., None] / N
    J -= np.einsum("jl,i->ijl", np.eye(sizes[1]), rows)[:, :, None, :] / N
    J = J[:-1, :-1].reshape(len(z), table.size)
    spread = J @ marginal.reconstruction.covariance(marginal.workload, "population") @ J.T
    try:
        statistic = float(z @ cho_solve(cho_factor(spread), z))
    except LinAlgError:
        raise ValueError(
            f"the noise of the table of {first!r} and {second!r} cannot be told from {N} reports: collect more"
        ) from None
    return Association(statistic, len(z), float(chi2.sf(statistic, len(z))))
