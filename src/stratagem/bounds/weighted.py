"""The weighted bound: the closed form with a free weight on every user type."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from stratagem.bounds.allowance import root_trace, safe, ulps
from stratagem.bounds.nuclear import total_term
from stratagem.numeric.linalg import centred_factor
from stratagem.prior import uniform
from stratagem.workloads import Workload
from stratagem.workloads.difference import centred

WIDEST = 300.0
"""Largest distance of two log gamma: an optimum is far narrower, and beyond it exp overflows."""
FLAT = 1e-9
"""Gain of log S^2/sum(gamma) below which the search is over."""


@dataclass(frozen=True, eq=False)
class WeightedDual:
    """The weighted bound, the weights that give it and the information matrix that would attain it."""

    value: float
    gamma: np.ndarray
    """Weights on the user types (n,), positive, geometric mean one."""
    information: np.ndarray
    """Y (n x n), Y p = 0, up to scale: V^(1/2) (V^(1/2) G V^(1/2))^(-1/2) V^(1/2) on p^perp."""


def weighted(
    workload: Workload, epsilon: float, max_steps: int | None = None, prior: np.ndarray | None = None
) -> float:
    """Return the maximum over gamma >= 0 of ||W 1||^2/n + n S(gamma)^2/((kappa - 1) sum gamma) <= L(Q).

    With Gamma = diag(gamma) - kappa gamma gamma^T/sum(gamma), every s in {1, E}^n has s^T Gamma s <= 0,
    hence tr(Gamma M) <= 0; on 1^perp that reads tr(G Y) <= (kappa - 1) sum(gamma)/n and Cauchy-Schwarz
    gives S = tr (V^(1/2) G V^(1/2))^(1/2). gamma = 1 is the closed form. log S^2/sum(gamma) is maximised by
    L-BFGS over log gamma; any gamma with G >= 0 is a valid bound, so stopping early is safe.
    A prior p puts n p^T V p, p^perp and (I - 1 p^T) V (I - p 1^T) in their places; M (n p) = 1 ends the proof
    as before. gamma = p is then the closed form.
    """
    return weighted_dual(workload, epsilon, max_steps, prior).value


def weighted_dual(
    workload: Workload, epsilon: float, max_steps: int | None = None, prior: np.ndarray | None = None
) -> WeightedDual:
    """Return the weighted bound together with its weights and the information matrix it asks for.

    By default 4096/n steps, 3 to 60: on large domains the first three come within a few 1e-4 of the rest.
    """
    n = workload.domain.size
    kappa = math.cosh(epsilon / 2) ** 2
    p = uniform(n) if prior is None else prior
    seen = centred(workload, prior)
    half = centred_factor(seen.gram, prior)
    total = total_term(workload, prior)
    if not half.any():
        return WeightedDual(safe(total, epsilon), np.ones(n), np.zeros((n, n)))
    evaluate = _Value(half, kappa, p, ulps(workload), float(seen.own.sum()))
    left, before, start = max_steps or int(np.clip(4096 // n, 3, 60)), math.inf, _first_weights(p, kappa) * n
    # a line search that met the edge of G >= 0 ends early: from its best weights there is a way on
    while left > 0:
        options = {"maxiter": left}
        found = minimize(evaluate, np.log(start), jac=True, method="L-BFGS-B", options=options)
        if not evaluate.best < before - FLAT:
            break
        left, before, start = left - max(1, found.nit), evaluate.best, evaluate.gamma
    value = safe(total + n * evaluate.certain() / math.sinh(epsilon / 2) ** 2, epsilon)
    return WeightedDual(value, evaluate.gamma, evaluate.scaled @ evaluate.scaled.T)


def _first_weights(prior: np.ndarray, kappa: float) -> np.ndarray:
    """Return gamma = p, its least entries raised so little that G stays positive semidefinite."""
    return np.maximum(prior, 0.01 / (kappa * len(prior)))


class _Value:
    """-log(S(gamma)^2/sum gamma) with its gradient in log gamma; a high plateau where G is not >= 0.

    Keeps the best weights evaluated and their half H^(-1/4), each the price of an eigendecomposition.
    """

    def __init__(self, half: np.ndarray, kappa: float, prior: np.ndarray, ulps: float, size: float) -> None:
        self.half = half
        """F (n x r) with F F^T = A V A^T, A = I - 1 p^T."""
        self.kappa, self.prior, self.ulps = kappa, prior, ulps
        self.size = size
        """What the rounding of F F^T is relative to."""
        self.best, self.gamma, self.scaled = math.inf, np.ones(len(half)), half

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        if np.ptp(theta) > WIDEST:
            return 1e10, np.zeros_like(theta)
        gamma, kappa = np.exp(theta - theta.mean()), self.kappa
        total = gamma.sum()
        if not self.valid(gamma):
            return 1e10, np.zeros_like(theta)
        S, scaled = self.root(gamma)
        if S == 0:  # rounding left nothing of H at a very high epsilon
            return 1e10, np.zeros_like(theta)
        # dS = tr(H^(-1/2) dH)/2 = tr(B dGamma)/2 with B = half H^(-1/2) half^T = scaled scaled^T
        B_gamma = scaled @ (scaled.T @ gamma)
        slope = np.square(scaled).sum(axis=1) - kappa * (2 * B_gamma / total - gamma @ B_gamma / total**2)
        value = math.log(total) - 2 * math.log(S)
        if value < self.best:
            self.best, self.gamma, self.scaled = value, gamma, scaled
        return value, gamma * (1 / total - slope / S)

    def root(self, gamma: np.ndarray) -> tuple[float, np.ndarray]:
        """Return S = tr H^(1/2) and half H^(-1/4) (n x r) for H = half^T Gamma half."""
        values, vectors = np.linalg.eigh(self.pressed(gamma))
        keep = values > 4 * len(values) * np.finfo(float).eps * values[-1]
        return float(np.sqrt(values[keep]).sum()), self.half @ vectors[:, keep] / values[keep] ** 0.25

    def pressed(self, gamma: np.ndarray) -> np.ndarray:
        """Return H (r x r); F^T p = 0, and less a multiple of p the weights leave no large numbers that cancel."""
        half, total = self.half, gamma.sum()
        pulled = half.T @ (gamma - total * self.prior)
        return (half.T * gamma) @ half - np.outer(pulled, pulled) * (self.kappa / total)

    def certain(self) -> float:
        """Return S^2/sum(gamma) at the best weights from below, zero where there are none.

        H is off by the rounding of its two products, the second of which is no larger than the first where
        `valid`, and by Gamma^(1/2) times the error of F F^T times Gamma^(1/2), Gamma <= max(gamma) on p^perp.
        """
        if not math.isfinite(self.best):
            return 0.0
        gamma, weighed = self.gamma, float(self.gamma @ np.square(self.half).sum(axis=1))
        error = self.ulps * (4 * weighed + float(gamma.max()) * self.size)
        return root_trace(np.linalg.eigvalsh(self.pressed(gamma)), error) ** 2 / float(gamma.sum())

    def valid(self, gamma: np.ndarray) -> bool:
        """Return whether Gamma is positive semidefinite on p^perp.

        It is iff (gamma^T v)^2 <= sum(gamma)/kappa wherever v^T diag(gamma) v = 1 and p^T v = 0. The maximum
        there is sum(gamma) - 1/sum(p^2/gamma), so that with g = gamma/sum(gamma) it is iff (kappa - 1) X <= 1,
        X = sum (p - g)^2/g; the root of X has an error of a few n ulp.
        """
        g = gamma / gamma.sum()
        root = math.sqrt(float((np.square(self.prior - g) / g).sum()))
        return (self.kappa - 1) * (root + 4 * len(g) * np.finfo(float).eps) ** 2 <= 1 - 1e-12
