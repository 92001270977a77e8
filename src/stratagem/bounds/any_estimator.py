"""A bound for every estimator, biased or not, from one report per person: an error that some population has."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any

import numpy as np
from scipy.linalg.lapack import get_lapack_funcs

from stratagem.bounds.bound import AnyEstimator, Bounds, Case, norms
from stratagem.bounds.formulas import ULP, root_trace, spread, ulps
from stratagem.bounds.proof import Proof
from stratagem.math.linalg import centre
from stratagem.math.number import coordinates_of, count_text, integer
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.centring import estimated, levelled
from stratagem.workloads.given import WorkloadLike, workload_of
from stratagem.workloads.workload import COUNTED

WHOLE, LISTED = 4096, 1 << 25
"""Largest domain whose types are chosen by their Gram matrix, and on others most answers that are listed for them."""
LARGEST, FEWER, LADDER = 512, 64, 24
"""Most types of a population that is tried, the whole domain apart, fewer on large domains, and how many numbers of
types are tried."""
ALPHAS = 2 + np.geomspace(0.05, 1e6, 400)
"""Concentrations that are tried; any is valid, and neighbours differ by 4 % at most."""
SHARE = 1e-9
"""Share by which a bound is lowered for the rounding of what no other allowance covers."""


@dataclass(frozen=True, kw_only=True)
class _Dual:
    """A matrix G on 1^perp of m types and D with tr(G M) <= D for every strategy: what a bound needs of them."""

    types: np.ndarray
    """The types (m,), by their number in the domain."""
    root: float
    """S = tr (F^T G F)^(1/2), F F^T = P V P."""
    trace: float
    """tr(G P)."""
    D: float
    uneven: float = 0.0
    """chi = (m sum_u (lambda_u/D - 1/m)^2)^(1/2) of the prices lambda that prove D; 0 for equal prices."""

    def errors(self, epsilon: float, people: int) -> np.ndarray:
        """Return the bound on the squared error under every concentration."""
        m = float(len(self.types))
        total = m * ALPHAS
        apart = np.sqrt((m - 1) / (total + 1))  # of E m sum_u (p_u - 1/m)^2
        informed = people * m * self.D * slack(epsilon, apart, self.uneven)
        return self.root**2 / (informed + (total - 1) * (total - 2) / (ALPHAS - 2) * self.trace)


def slack(epsilon: float, apart: Any, uneven: float = 0.0) -> Any:
    """Return rho with tr(G I(p)) <= m D rho for every strategy, I(p) the information in one report about p.

    `apart` is (m sum_u (p_u - 1/m)^2)^(1/2), `uneven` the same of the prices that prove D, over D. Its mean over p
    is at most what it is at the root of the mean square.
    """
    half = math.sinh(epsilon / 2)  # half^2 = kappa - 1
    return 1 + half**2 * uneven * apart + (1 + half * uneven) * math.expm1(epsilon / 2) ** 2 * apart**2


def any_estimator(
    workload: WorkloadLike,
    epsilon: float,
    people: int,
    *,
    proof: Proof | None = None,
    domain: DomainLike | None = None,
) -> AnyEstimator:
    """Return a lower bound on the error of every estimator of W p, for some population p, from N people's reports.

    Van Trees' inequality with a Dirichlet prior of concentration alpha on m of the types, and (G, D) of section 4 of
    theory.md: with K = m alpha, sum_i E (estimate_i - (W p)_i)^2 >= S^2/(N m D rho + (K - 1)(K - 2)/(alpha - 2) tr G).
    Types, alpha and G are the best of those tried; a `proof` of the nonnegative bound under even shares is one more G.
    For large N and m = n it tends to the bound on unbiased estimates.

    Raises:
        ValueError: if epsilon is out of range, or people is no positive whole number, or the domain is
            so large, and the queries so many, that their answers of a few types cannot be listed.

    Source:
        Gill and Levit, Bernoulli 1995 (van Trees' inequality); theory.md, section 16.

    Example:
        >>> import stratagem as st
        >>> found = st.bounds.any_estimator("prefix", 1.0, 100_000, domain=16)
        >>> round(found.typical_error, 4), len(found.types)
        (0.0066, 16)
    """
    case = Case(workload_of(workload, domain), epsilon)
    number = integer(people, "people", 1, COUNTED, "give for example 10000")
    found = [(dual.types, dual.errors(case.epsilon, number)) for dual in _duals(case, proof)]
    if not found:
        raise ValueError(
            f"a bound for {people} people is computed from the answers of a few user types, but "
            f"{count_text(case.workload.queries)} queries are too many to list them: ask fewer queries"
        )
    types, errors = max(found, key=lambda one: one[1].max())
    best = int(errors.argmax())
    return AnyEstimator(
        number, float(errors[best]) * (1 - SHARE), estimated(case.workload), float(ALPHAS[best]), types
    )


def with_any_estimator(bounds: Bounds, workload: Workload, epsilon: float, people: int) -> Bounds:
    """Return the bounds with `any_estimator`, from their proof too if they have one.

    Raises:
        ValueError: as `any_estimator`.
    """
    proof = bounds["nonnegative"].proof if "nonnegative" in bounds else None
    return replace(bounds, any_estimator=any_estimator(workload, epsilon, people, proof=proof))


def _duals(case: Case, proof: Proof | None) -> Iterator[_Dual]:
    """Yield G = P on the whole domain and on chosen types, and the G of a proof."""
    n, every = case.n, np.arange(min(case.n, WHOLE))
    if n <= WHOLE:
        if proof is not None and proof.prior is None:
            yield _proved(proof, every)
        yield _even(case, every, norms(case).centred * math.sqrt(n))
        V, most, relative = levelled(case.workload).gram(), min(LARGEST, n - 1), ulps(case.workload)
        (pivoted,) = get_lapack_funcs(("pstrf",), (V,))
        types = pivoted(centre(V))[1][:most] - 1
        V = V[np.ix_(types, types)]
    elif (most := min(FEWER, LISTED // case.workload.queries)) < 2:
        return
    else:
        types, V = _spaced(case.workload, most)
        relative = 8 * case.workload.queries * ULP
    for m in np.unique(np.geomspace(2, max(2, len(types)), LADDER).astype(int)):
        if m <= len(types):
            gram = V[:m, :m]
            error = (relative + 8 * m * ULP) * float(np.trace(gram))
            yield _even(case, types[:m], root_trace(np.linalg.eigvalsh(centre(gram)), error))


def _proved(proof: Proof, types: np.ndarray) -> _Dual:
    """Return the G of a proof on all types, with how uneven its prices are, what they leave included."""
    G, D, n = proof.matrix(proof.definite), proof.price, len(types)
    uneven = math.sqrt(n) * float(np.linalg.norm((proof.prices + proof.delta) / D - 1 / n))
    trace = float(np.trace(G) - G.sum() / n)
    return _Dual(types=types, root=proof.root, trace=trace, D=D, uneven=uneven)


def _even(case: Case, types: np.ndarray, root: float) -> _Dual:
    """Return G = P on some types, S the sum of the singular values of W P: patterns have whole sizes."""
    m = len(types)
    return _Dual(types=types, root=root, trace=m - 1.0, D=1 / (spread(m, case.epsilon) or 1.0))


def _spaced(workload: Workload, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return m types, the first and the last one and others halfway between those before, and their Gram matrix."""
    n = workload.domain_size
    types = [0, n - 1, *(n * numerator // denominator for numerator, denominator in islice(_halves(), m))][:m]
    users = [np.array([coordinates_of(one, workload.domain.sizes)]) for one in types]
    answers = np.array([workload.answer_users(one) for one in users])  # W^T of the types
    return np.array(types), answers @ answers.T


def _halves() -> Iterator[tuple[int, int]]:
    """Yield 1/2, 1/4, 3/4, 1/8, 3/8, ... as numerator and denominator."""
    return ((odd, 1 << level) for level in count(1) for odd in range(1, 1 << level, 2))
