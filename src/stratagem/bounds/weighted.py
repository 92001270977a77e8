"""The weighted bound: the closed form with a free weight on every user type."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from stratagem.bounds.nuclear import total_term
from stratagem.linalg import centre
from stratagem.workloads import Workload


@dataclass(frozen=True, eq=False)
class WeightedDual:
    """The weighted bound, the weights that give it and the information matrix that would attain it."""

    value: float
    gamma: np.ndarray
    """Weights on the user types (n,), positive, geometric mean one."""
    information: np.ndarray
    """Y (n x n), Y 1 = 0, up to scale: V^(1/2) (V^(1/2) G V^(1/2))^(-1/2) V^(1/2) on 1^perp."""


def weighted(workload: Workload, epsilon: float, max_steps: int = 60) -> float:
    """Return the maximum over gamma >= 0 of ||W 1||^2/n + n S(gamma)^2/((kappa - 1) sum gamma) <= L(Q).

    With Gamma = diag(gamma) - kappa gamma gamma^T/sum(gamma), every s in {1, E}^n has s^T Gamma s <= 0,
    hence tr(Gamma M) <= 0; on 1^perp that reads tr(G Y) <= (kappa - 1) sum(gamma)/n and Cauchy-Schwarz
    gives S = tr (V^(1/2) G V^(1/2))^(1/2). gamma = 1 is the closed form. log S^2/sum(gamma) is maximised by
    L-BFGS over log gamma; any gamma with G >= 0 is a valid bound, so stopping early is safe.
    """
    return weighted_dual(workload, epsilon, max_steps).value


def weighted_dual(workload: Workload, epsilon: float, max_steps: int = 60) -> WeightedDual:
    """Return the weighted bound together with its weights and the information matrix it asks for."""
    n = workload.domain.size
    kappa = math.cosh(epsilon / 2) ** 2
    half = _centred_root(workload.gram())
    if not half.any():
        return WeightedDual(total_term(workload), np.ones(n), np.zeros((n, n)))
    evaluate = _Value(half, kappa)
    solution = minimize(
        lambda theta: evaluate(theta)[:2],
        np.zeros(n),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_steps},
    )
    theta = min((np.zeros(n), solution.x), key=lambda theta: evaluate(theta)[0])
    value = total_term(workload) + n * math.exp(-evaluate(theta)[0]) / (kappa - 1)
    return WeightedDual(value, np.exp(theta - theta.mean()), evaluate.information(theta))


class _Value:
    """-log(S(gamma)^2/sum gamma) with its gradient in log gamma; a high plateau where G is not >= 0."""

    def __init__(self, half: np.ndarray, kappa: float) -> None:
        self.half = half
        """V_P^(1/2), n x n."""
        self.kappa = kappa

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        gamma, kappa = np.exp(theta - theta.mean()), self.kappa
        total = gamma.sum()
        if not self.valid(gamma):
            return 1e10, np.zeros_like(theta)
        S, scaled = self.root(gamma)
        if S == 0:  # rounding left nothing of H at a very high epsilon
            return 1e10, np.zeros_like(theta)
        # dS = tr(H^(-1/2) dH)/2 = tr(B dGamma)/2 with B = half H^(-1/2) half = scaled scaled^T
        B_gamma = scaled @ (scaled.T @ gamma)
        slope = np.square(scaled).sum(axis=1) - kappa * (2 * B_gamma / total - gamma @ B_gamma / total**2)
        value = math.log(total) - 2 * math.log(S)
        return value, gamma * (1 / total - slope / S)

    def information(self, theta: np.ndarray) -> np.ndarray:
        """Return B = half H^(-1/2) half (n x n), the information matrix that attains the bound, unscaled."""
        _, scaled = self.root(np.exp(theta - theta.mean()))
        return scaled @ scaled.T

    def root(self, gamma: np.ndarray) -> tuple[float, np.ndarray]:
        """Return S = tr H^(1/2) and half H^(-1/4) (n x r) for H = half Gamma half."""
        half = self.half
        pulled = half @ gamma
        H = (half * gamma) @ half - np.outer(pulled, pulled) * (self.kappa / gamma.sum())
        values, vectors = np.linalg.eigh(H)
        keep = values > 4 * len(values) * np.finfo(float).eps * values[-1]
        return float(np.sqrt(values[keep]).sum()), half @ vectors[:, keep] / values[keep] ** 0.25

    def valid(self, gamma: np.ndarray) -> bool:
        """Return whether G = P Gamma P is positive semidefinite.

        On 1^perp it is iff gamma^T X^+ gamma <= sum(gamma)/kappa for X = P diag(gamma) P, in closed form:
        the maximum of (gamma^T v)^2 under v^T diag(gamma) v = 1, 1^T v = 0 is sum(gamma) - n^2/sum(1/gamma).
        """
        total = gamma.sum()
        return self.kappa * (total - len(gamma) ** 2 / (1 / gamma).sum()) <= total * (1 - 1e-12)


def _centred_root(V: np.ndarray) -> np.ndarray:
    """Return (P V P)^(1/2); rounding noise is cut, which only lowers the bound."""
    values, vectors = np.linalg.eigh(centre(V))
    values = np.where(values > 4 * len(values) * np.finfo(float).eps * max(values[-1], 0), values, 0.0)
    root = (vectors * np.sqrt(values)) @ vectors.T
    return centre(root)
