"""The accuracy of a strategy on a workload: exact variances by user type."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stratagem.io.screen import brief


class UnsupportedWorkloadError(ValueError):
    """The workload is not in the row space of the strategy: no unbiased estimate of it exists."""


@dataclass(frozen=True, eq=False)
class Accuracy:
    """The variance of a workload's answers under a strategy, for one user of each type.

    A user of type u adds t_u = sum_y Q[y, u] ||W R e_y||^2 - ||W e_u||^2 to the total variance of the
    answers, R = M^+ Q^T D^-1 (McKenna et al., VLDB 2020, Theorem 3.4, with R as in Theorem 3.10). R, M and D
    are those of a prior p over the user types: D = diag(n Q p), M = Q^T D^-1 Q; p = 1/n unless one is given.
    """

    __repr__ = brief

    objective: float
    """L(Q) = tr(M^+ V) = n sum_u p_u (t_u + V_uu), with p = 1/n Theorem 3.11's average case; per user type,
    L/n, on a domain that is not `counted`."""
    per_type: np.ndarray
    """t_u (n,): total variance over all queries added by one user of type u, in squared counts; (1,) where all
    types add the same."""
    queries: int
    """Number p of queries."""
    attributes: tuple[int, ...] | None = None
    """The attributes whose cells `per_type` lists, where others do not matter and n is large; None for all."""

    @property
    def worst_case_variance(self) -> float:
        """max_u t_u: total variance per user if everybody had the least favourable type."""
        return float(self.per_type.max())

    @property
    def average_variance(self) -> float:
        """mean_u t_u = (L(Q) - tr V)/n: total variance per user, averaged over the types."""
        return float(self.per_type.mean())

    def samples_for(self, alpha: float) -> float:
        """Return the users needed for a worst-case normalised variance alpha: max_u t_u / (p alpha).

        Normalised variance: the variance of an answer divided by N, averaged over the p queries, with the
        answers as fractions of the N users (McKenna et al., VLDB 2020, Corollary 5.3). It is the square of the
        standard error as a share of the users, so that a standard error of 1 %, root mean square over the queries,
        takes samples_for(0.0001) users; single answers may take more, as `Solution.users_for` says.

        Raises:
            ValueError: if alpha is not a positive number.
        """
        if not (alpha > 0 and math.isfinite(alpha)):
            raise ValueError(f"alpha is {alpha!r}; give the wanted normalised variance, for example 0.01.")
        return self.worst_case_variance / (self.queries * alpha)

    def total_variance(self, x: np.ndarray) -> float:
        """Return Var(x) = sum_u x_u t_u, the exact total variance for the data vector x (n,)."""
        return float((np.asarray(x, dtype=float) * self.per_type).sum())
