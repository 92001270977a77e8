"""The exact optimum of a small domain by column generation, and its semidefinite relaxation."""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from stratagem.bounds.bound import Case
from stratagem.bounds.formulas import ULP, Rule, root_trace
from stratagem.bounds.proof import all_patterns
from stratagem.math.computing import quiet_solver
from stratagem.math.deadline import deadline
from stratagem.math.linalg import factor, reach
from stratagem.workloads import Workload

EXACT = Rule("exact", "the optimum itself, up to ten user types", "@stratagem", 7)
SDP = Rule(
    "sdp",
    "a semidefinite relaxation of the sets of types that reports favour",
    "@stratagem; @padberg1989boolean",
    6,
)
BOUNDARY = 0.95
"""Share of the way to the boundary that one Newton step may go."""
CENTRING = 0.15
"""Factor by which one Newton step tries to shrink the duality gap."""
SLIVER = 1e-8
"""Share of tr V/n added to V while solving: keeps M away from singular when V has low rank."""


Start = tuple[np.ndarray, np.ndarray]
"""Starting point of `solve`: theta (m,), positive, and lambda (n,)."""


@dataclass(frozen=True, eq=False)
class Centre:
    """A primal-dual pair over m patterns: theta for the strategy, lambda for the certificate."""

    theta: np.ndarray
    """Probabilities of the patterns (m,), averaged over the prior; sum_s theta_s n s/(h^T s) = 1, h = n p."""
    multiplier: np.ndarray
    """lambda (n,): g_s <= lambda^T s for the patterns given, up to the gap."""
    information: np.ndarray
    """M = sum_s theta_s n s s^T/(h^T s)^2, n x n."""


def solve(
    S: np.ndarray,
    V: np.ndarray,
    gap: float = 1e-4,
    start: Start | None = None,
    max_steps: int = 80,
    h: np.ndarray | None = None,
) -> Centre:
    """Minimise tr(M^-1 V) over theta >= 0 with S^T theta = 1, to a relative duality gap.

    S holds one two-level row s in {1, E}^n per pattern (m x n), scaled here to h^T s = n, h = n p (n,) for a
    prior p, ones by default. With
    u_s = s/(h^T s)^(1/2) the derivative is -g_s = -u_s^T G u_s, G = M^-1 V M^-1, and the Hessian
    2 (U M^-1 U^T) o (U G U^T) (Hadamard product), so each primal-dual Newton step is one
    Cholesky decomposition, O(m^3). A start is a positive theta (m,) and a lambda (n,) near a solution, such
    as the last one before patterns were added.
    """
    m, n = S.shape
    h = np.ones(n) if h is None else h
    S = S * (n / (S @ h))[:, None]
    V = V + SLIVER * np.trace(V) / n * np.eye(n)
    U = S / math.sqrt(n)
    theta, lam = start or (np.full(m, 1 / m), np.zeros(n))
    M, G, curvature, g = _expand(U, V, theta)
    lam = lam + max(0.0, 1.1 * (g - S @ lam).max() / n) * h
    z = S @ lam - g
    for _ in range(max_steps):
        missing = 1 - S.T @ theta
        if theta @ z < gap * np.sum(M * G) and np.abs(missing).max() < 1e-4 * gap:
            break
        if deadline().over:
            break
        target = CENTRING * (theta @ z) / m
        curvature[np.diag_indices(m)] += z / theta
        try:
            dtheta, dlam = _direction(curvature, S, g - S @ lam + target / theta, missing)
            dz = target / theta - z - z / theta * dtheta
            length = min(1.0, BOUNDARY * reach(theta, dtheta), BOUNDARY * reach(z, dz))
            expanded = _expand(U, V, theta + length * dtheta)
        except np.linalg.LinAlgError:  # rounding ends the progress; the present pair is still valid
            break
        theta, lam, z = theta + length * dtheta, lam + length * dlam, z + length * dz
        M, G, curvature, g = expanded
    return Centre(theta, lam, M)


def _expand(U: np.ndarray, V: np.ndarray, theta: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return M, G, the Hessian of tr(M^-1 V) and minus its gradient, at theta."""
    M = (U.T * theta) @ U
    X = np.linalg.inv(M)
    X = (X + X.T) / 2
    G = X @ V @ X
    UG = U @ G
    curvature = 2 * (U @ X @ U.T) * (UG @ U.T)
    return M, G, curvature, np.einsum("si,si->s", UG, U)


def _direction(
    H: np.ndarray, S: np.ndarray, slope: np.ndarray, missing: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Solve H dtheta + S dlambda = slope, S^T dtheta = missing; H is overwritten."""
    root = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
    HS = cho_solve(root, S, check_finite=False)
    dlam = np.linalg.solve(S.T @ HS, HS.T @ slope - missing)
    return cho_solve(root, slope - S @ dlam, check_finite=False), dlam


EXACT_LIMIT = 10
"""Largest domain: 2^10 patterns, a minute or less."""


class ExactDual(NamedTuple):
    """The optimum from below, and probabilities of all proper patterns that come close to it."""

    value: float
    """The bound on L(Q)."""
    probabilities: np.ndarray | None
    """Probability of each of the 2^n - 2 proper patterns under the prior, in the order of `all_patterns`; None where
    every strategy is as good, or rounding leaves none."""


def exact(workload: Workload, epsilon: float, gap: float = 1e-7, prior: np.ndarray | None = None) -> float:
    """Return the bound of `exact_dual`.

    Example:
        >>> import stratagem as st
        >>> round(exact(st.prefix(4), 2.0), 3)
        14.11
    """
    return exact_dual(Case(workload, epsilon, prior), gap).value


def exact_dual(case: Case, gap: float = 1e-7) -> ExactDual:
    """Return the least L(Q) of all epsilon-LDP strategies, from below to a relative gap.

    Splitting rows into two-level patterns never raises L, so the optimum is a convex program over the 2^n - 2
    patterns (theory.md, section 3). The number is a certificate evaluated at every pattern, hence a lower bound
    whatever the solver did.
    """
    n, E = case.n, math.exp(case.epsilon)
    if n > EXACT_LIMIT:
        raise ValueError(
            f"the domain has {n} elements; all patterns are tried up to {EXACT_LIMIT}: use the nonnegative bound"
        )
    seen = case.seen
    size = float(seen.own.sum())
    if not seen.gram.any():
        return ExactDual(case.safe(case.total), None)
    X = all_patterns(n)
    try:
        centre = solve(1 + (E - 1) * X[1:-1], seen.gram / size, gap, h=case.h)
    except np.linalg.LinAlgError:  # epsilon about 1e-6: two-level rows are constant rows up to rounding
        return ExactDual(case.safe(case.total), None)
    B = np.linalg.solve(centre.information, case.factor(seen.gram / size))
    G = B @ B.T
    proof = case.proof(np.diag(G).copy(), np.diag(np.diag(G)) - G, centre.multiplier)
    # an unlikely type has h = 0 in a = h^T s: what its own price lacks is added there and not to delta
    S = 1 + (E - 1) * X
    lacking = proof.excess(X.astype(float), proof.gamma) * (S @ case.h) / S.sum(axis=1)
    value = replace(proof, prices=proof.prices + max(0.0, float(lacking.max()))).value
    return ExactDual(value, centre.theta)


RELAXED_LIMIT = 32
"""Largest domain: some ten seconds."""
RELAXED_SLIVER = 1e-7
"""Share of tr V/n added to V while solving: keeps M away from singular when V has low rank."""
FINE = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
"""Tolerances of the solver: at its usual 1e-8 the multipliers prove less."""
RIDGE = 1e-9
"""Least eigenvalue left to the solver's M, a share of the largest; any positive M is a valid certificate."""


def sdp(workload: Workload, epsilon: float, seconds: float = 60.0, prior: np.ndarray | None = None) -> float:
    """Return min tr(M^-1 V) over a relaxation of what two-level strategies reach, made safe: <= L(Q).

    Over rows theta_y s_y, s = 1 + c 1_T, c = E - 1, put weights w = theta/(h^T s), h = n p for a prior p
    (n,), 1/n by default, and t = sum w, x = sum w 1_T, X = sum w 1_T 1_T^T. Then
    M = t 11^T + c (x 1^T + 1 x^T) + c^2 X, and [[t, x^T], [x, X]] >= 0, diag X = x, M h = 1;
    0 <= X_ij <= x_i, x_i + x_j - t <= X_ij (RLT cuts);
    1^T X 1 - (2k + 1) 1^T x + k (k + 1) t >= 0 for whole k, as |T| is no value between k and k + 1.
    The solver's M and multipliers prove a bound at any accuracy. With G = M^-1 V M^-1, lambda the multiplier of
    M h = 1 and z = (1, 1_T), f(T) = (lambda^T s)(h^T s) - s^T G s is a quadratic form in z. Less the cuts, each of
    which is at least 0 at z, it is z^T R z >= e (1 + |T|), e the least eigenvalue of R. If
    f(T) >= -delta (1^T s)(h^T s) for all T, lambda + delta 1 makes it nonnegative, and
    L(Q) >= ||F^T B||_*^2/(1^T lambda + n delta) for V = F F^T, G = B B^T.
    Within 0.7 % of the optimum for prefix and all-range at n = 8; at low epsilon a workload of low rank may
    stay at the integer bound (2-way marginals, n = 8, eps = 0.5: 6 % below the optimum).

    Raises:
        ValueError: if epsilon is out of range or the domain has more than 32 elements.

    Reference:
        Padberg, The boolean quadric polytope, Mathematical Programming 1989 (the cuts).
    """
    case = Case(workload, epsilon, prior)
    n, E, h = case.n, math.exp(case.epsilon), case.h
    if n > RELAXED_LIMIT:
        raise ValueError(
            f"the domain has {n} elements; the semidefinite bound is for at most {RELAXED_LIMIT}: "
            "use the nonnegative one"
        )
    V = workload.gram()
    found = _relax(V, E, h, seconds) if n > 1 else None
    if found is None:
        return case.safe(case.total)
    F = factor(V)
    B = np.linalg.solve(found.information, F)
    error = (case.ulps + 8 * n * ULP) * float(np.square(F).sum() * np.square(B).sum())
    nuclear = root_trace(np.square(np.linalg.svd(F.T @ B, compute_uv=False)), error)
    total = float(found.multiplier.sum()) + n * lacking(found, B @ B.T, E - 1, h)
    return case.safe(max(nuclear**2 / total if total > 0 else 0.0, case.total))


class Relaxed(NamedTuple):
    """The solver's matrix and multipliers for the relaxation."""

    information: np.ndarray
    """M (n x n), made positive definite."""
    multiplier: np.ndarray
    """Multiplier lambda of M h = 1, shape (n,)."""
    diagonal: np.ndarray
    """Multipliers of diag X = x (n,), of any sign."""
    cuts: tuple[np.ndarray, ...]
    """Multipliers of X >= 0, x_i >= X_ij and X_ij >= x_i + x_j - t (n x n each), nonnegative."""
    whole: np.ndarray
    """Multipliers of the cuts of whole sizes k = 0, 1, ... (n,), nonnegative."""


def lacking(found: Relaxed, G: np.ndarray, c: float, h: np.ndarray) -> float:
    """Return delta >= 0 with f(T) >= -delta (1^T s)(h^T s) for every pattern T (see `sdp`).

    Both signs of the multipliers of diag X = x are tried: x_i^2 - x_i is 0 at every pattern.
    An eigenvalue of R is off by 16 n ulp of the norm of the sums of the absolute values of its terms.
    """
    n, (apart, above, below) = len(h), found.cuts
    A = np.hstack([np.ones((n, 1)), c * np.eye(n)])
    k, q = np.arange(n), found.whole
    tilt, roots = np.outer(found.multiplier, h), np.sqrt(np.diag(G))
    border = above.sum(axis=1) - below.sum(axis=1) - below.sum(axis=0) - q @ (2 * k + 1)
    least = -np.inf
    for diagonal in (found.diagonal, -found.diagonal):
        inner = apart - above + below + q.sum()
        cuts = np.block([[below.sum() + q @ (k * (k + 1.0)), border[None] / 2], [border[:, None] / 2, inner]])
        cuts[1:, 1:] += np.diag(diagonal)
        cuts[0, 1:] -= diagonal / 2
        cuts[1:, 0] -= diagonal / 2
        form = A.T @ (tilt - G) @ A
        R = (form + form.T - cuts - cuts.T) / 2
        size = A.T @ (np.abs(tilt) + np.outer(roots, roots)) @ A
        size += np.abs(diagonal).sum() + sum(map(np.sum, found.cuts)) + q @ (k + 1.0) ** 2
        error = 16 * (n + 1) * ULP * float(np.linalg.norm(size))
        least = max(least, float(np.linalg.eigvalsh(R)[0]) - error)
    sizes = np.arange(n + 1.0)
    lengths = (n + c * sizes) * (n + c * np.concatenate([[0.0], np.cumsum(np.sort(h))]))
    return max(0.0, float((-least * (1 + sizes) / lengths).max()))


def _relax(V: np.ndarray, E: float, h: np.ndarray, seconds: float) -> Relaxed | None:
    """Return the solver's solution of the relaxation, or None if it finds none."""
    import cvxpy as cp

    n, c, one = len(V), E - 1, np.ones((len(V), 1))
    lifted = cp.Variable((n + 1, n + 1), PSD=True)
    t, x, X = lifted[0, 0], cp.reshape(lifted[1:, 0], (n, 1), order="C"), lifted[1:, 1:]
    M = t * (one @ one.T) + c * (x @ one.T + one @ x.T) + c**2 * X
    balance = cp.Zero(M @ h - 1)
    rows = x @ one.T
    cuts: list[cp.Constraint] = [cp.diag(X) == lifted[1:, 0], X >= 0, rows >= X, X + t >= rows + rows.T]
    whole: list[cp.Constraint] = [
        cp.sum(X) - (2 * k + 1) * cp.sum(x) + k * (k + 1) * t >= 0 for k in range(n)
    ]
    scale = float(np.trace(V))
    cost = cp.matrix_frac(factor(V / scale + RELAXED_SLIVER / n * np.eye(n)), M)
    problem = cp.Problem(cp.Minimize(cost), [balance, *cuts, *whole])
    with quiet_solver(), warnings.catch_warnings(), suppress(cp.SolverError):
        warnings.simplefilter("ignore")  # inaccurate solutions are fine here
        problem.solve(solver=cp.CLARABEL, time_limit=max(seconds, 1.0), **FINE)
    if M.value is None or balance.dual_value is None:
        return None
    if not (np.isfinite(M.value).all() and np.trace(M.value) > 0):
        return None
    values, vectors = np.linalg.eigh((M.value + M.value.T) / 2)
    values = np.maximum(values, RIDGE * values[-1])
    sign = np.sign(np.sum(balance.dual_value))
    return Relaxed(
        (vectors * values) @ vectors.T,
        scale * sign * np.asarray(balance.dual_value),
        scale * np.asarray(cuts[0].dual_value),
        tuple(scale * np.maximum(np.asarray(cut.dual_value), 0.0) for cut in cuts[1:]),
        scale * np.maximum(np.array([cut.dual_value for cut in whole], dtype=float).ravel(), 0.0),
    )
