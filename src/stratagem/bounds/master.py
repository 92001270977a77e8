"""The design problem over a fixed set of two-level patterns, solved by an interior-point method."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from stratagem.prior import uniform

BOUNDARY = 0.95
"""Share of the way to the boundary that one Newton step may go."""
CENTRING = 0.15
"""Factor by which one Newton step tries to shrink the duality gap."""
SLIVER = 1e-8
"""Share of tr V/n added to V while solving: keeps M away from singular when V has low rank."""


Start = tuple[np.ndarray, np.ndarray]
"""theta (m,), positive, and lambda (n,)."""


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
    prior: np.ndarray | None = None,
) -> Centre:
    """Minimise tr(M^-1 V) over theta >= 0 with S^T theta = 1, to a relative duality gap.

    S holds one two-level row s in {1, E}^n per pattern (m x n), scaled here to h^T s = n, h = n p for a
    prior p (n,), 1/n by default. With
    u_s = s/(h^T s)^(1/2) the derivative is -g_s = -u_s^T G u_s, G = M^-1 V M^-1, and the Hessian
    2 (U M^-1 U^T) o (U G U^T) (Hadamard product), so each primal-dual Newton step is one
    Cholesky decomposition, O(m^3). A start is a positive theta (m,) and a lambda (n,) near a solution, such
    as the last one before patterns were added.
    """
    m, n = S.shape
    h = n * (uniform(n) if prior is None else prior)
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
        target = CENTRING * (theta @ z) / m
        curvature[np.diag_indices(m)] += z / theta
        try:
            dtheta, dlam = _direction(curvature, S, g - S @ lam + target / theta, missing)
            dz = target / theta - z - z / theta * dtheta
            length = min(1.0, BOUNDARY * _reach(theta, dtheta), BOUNDARY * _reach(z, dz))
            expanded = _expand(U, V, theta + length * dtheta)
        except np.linalg.LinAlgError:  # rounding has the last word; where we stand is still a valid pair
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


def _reach(x: np.ndarray, dx: np.ndarray) -> float:
    """Return the largest t with x + t dx >= 0."""
    falling = dx < 0
    return float(np.min(-x[falling] / dx[falling], initial=np.inf))
