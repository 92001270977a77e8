"""The linear programme of few queries: the optimal unbiased randomiser of numbers, and prices that prove it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stratagem.bounds.allowance import safe
from stratagem.bounds.group import grouped
from stratagem.bounds.nuclear import total_term
from stratagem.bounds.programme import programme
from stratagem.numeric.linalg import low_rank_factor
from stratagem.prior import uniform
from stratagem.privacy import ratio
from stratagem.workloads import Workload
from stratagem.workloads.difference import centred

LIMIT = 4096
"""Largest domain: a second or two up to 1,024 user types, all of it for the Gram matrix."""
LARGEST_RATIO = 1e12
"""E beyond which sums over user types have no digits left."""
RANK = 5
"""Queries, up to multiples, sums and the total, beyond which boxes that prove a bound are too many: six take
ten times as many as five."""
SIMPLE, LISTED = 3, 12
"""More queries than the first number are left to the search among all patterns, which is exact, up to the second
number of user types."""
SAFETY = 1e-9
"""Relative amount taken off for the small columns of a pivoted Cholesky factor, which keep half the digits."""


@dataclass(frozen=True, eq=False)
class LinearDual:
    """The bound, and the outputs that come near it."""

    value: float
    """The bound on L(Q)."""
    queries: np.ndarray
    """The queries less their means, for every user type (n x r)."""
    answers: np.ndarray
    """Answers t of every output (K x r), in lexicographic order."""
    theta: np.ndarray
    """Least probability of every output (K,)."""
    total: float
    """What the total costs under every strategy, n p^T V p."""

    def cost(self, answers: np.ndarray, occurrence: np.ndarray) -> float:
        """Return L(Q) with some answers (K x r), for outputs that occur with given probabilities (K,)."""
        return self.total + len(self.queries) * float(occurrence @ np.square(answers).sum(axis=1))


def linear(workload: Workload, epsilon: float, prior: np.ndarray | None = None) -> float | None:
    """Return the bound of `linear_dual`, None where it does not apply."""
    found = linear_dual(workload, epsilon, prior)
    return None if found is None else found.value


def linear_dual(workload: Workload, epsilon: float, prior: np.ndarray | None = None) -> LinearDual | None:
    """Return the optimum for queries that are combinations of one to five and the total, from below.

    Let F (n x r) be the queries less their means under h = n p, p a prior (n,), 1/n by default, with
    V = F F^T seen from p^perp. A strategy with rows theta_k s_k, s_k in {1, E}^n, and the answers t_k in R^r for
    row k, unbiased, costs sum_k theta_k ||t_k||^2 h^T s_k beside the total, n p^T V p. So the optimum is a
    linear programme over pairs (t, s), and by its dual

        L(Q) >= n p^T V p + sum_i (lambda_i + mu_i^T f_i) - max(0, max_t sum_i phi(lambda_i + mu_i^T t - h_i ||t||^2))

    for all prices (lambda, mu), phi(c) = c + (E - 1) max(c, 0). The maximum over all t in R^r is exact for r = 1
    (module sweep) and bounded box by box above (module boxes); prices come from the programme over some answers
    (module interior), which more answers then join. User types with nearly the same f share their mean:
    whatever serves each of them serves, on average over them, the mean, so that the bound stays valid. None for
    other queries, for more than three queries up to 12 user types, and beyond 4,096.

    Reference:
        Badanidiyuru, Ghazi, Kamath, Kumar, Leeman, Manurangsi, Varadarajan, Zhang, Optimal Unbiased
        Randomizers for Regression with Label Differential Privacy, NeurIPS 2023 (the programme on a grid, r = 1).
    """
    n = workload.domain_size
    if not 1 < n <= LIMIT or workload.norms is not None:
        return None
    V = centred(workload, prior).gram
    F = low_rank_factor(V, RANK) if V.any() else None
    if F is None or (F.shape[1] > SIMPLE and n <= LISTED):
        return None
    E = ratio(epsilon)
    if E > LARGEST_RATIO:
        return None
    h = n * (uniform(n) if prior is None else prior)
    F = F @ np.linalg.eigh((F.T * h) @ F)[1]
    found = programme(*grouped(F, h), epsilon, E)
    if not math.isfinite(found.bound):
        return None
    total = total_term(workload, prior)
    value = safe((total + max(found.bound, 0.0)) * (1 - SAFETY), epsilon)
    return LinearDual(value, F, found.points, found.theta, total)
