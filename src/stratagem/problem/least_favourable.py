"""Least favourable mixtures: the prior, or the query weights, at which the weighted bound is largest."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from stratagem.bounds.formulas import safe
from stratagem.math.linalg import centre


def pairwise_types(V: np.ndarray, epsilon: float, ulps: float = 0.0) -> float:
    """Return max_uv ||W (e_u - e_v)||^2/(4 sinh^2(eps/2)) <= max_u t_u, in squared counts per user.

    Proof sketch: t_u is the total variance under Q e_u of an estimate whose mean is W e_u, and W e_v under
    Q e_v. The Hammersley-Chapman-Robbins inequality gives ||W (e_u - e_v)||^2 <= t_u chi^2(Q e_v, Q e_u), and
    a ratio of mean one between 1/E and E has variance at most (E - 1)(1 - 1/E) = 4 sinh^2(eps/2). The bound
    subtracts no term, so it stays positive where the other bounds are lost in rounding. The entries of V
    (n x n) have errors of at most `ulps` times its diagonal.
    """
    size = np.diag(V)[:, None] + np.diag(V)
    return safe(float((size * (1 - ulps) - 2 * V).max()) / divergence(epsilon), epsilon)


def pairwise_queries(W: np.ndarray, epsilon: float, p: np.ndarray) -> float:
    """Return max_i sum_u p_u max_v (W_iu - W_iv)^2/(4 sinh^2(eps/2)) <= max_i Var_i, W (k x n), a prior p (n,).

    The inequality of `pairwise_types` for one query at a time; attained for one 0/1 query.
    """
    low, high = W.min(axis=1, keepdims=True), W.max(axis=1, keepdims=True)
    return safe(float((np.square(np.maximum(W - low, high - W)) @ p).max()) / divergence(epsilon), epsilon)


def divergence(epsilon: float) -> float:
    """Return the largest chi-squared divergence of two columns of an epsilon-LDP strategy."""
    return 4 * math.sinh(epsilon / 2) ** 2


MAX_STEPS = 200
KEEP = 1e-12
"""Singular values below this share of the largest one are treated as rounding errors."""


def least_favourable_prior(V: np.ndarray, epsilon: float) -> np.ndarray:
    """Return the prior p (n,) that maximises the bound below on max_u t_u >= sum_u p_u t_u.

    With gamma of sum one and cov(p) = diag(p) - p p^T the weighted bound on sum_u p_u t_u reads

        S^2/(kappa - 1) - tr(V cov(p)),   S = tr (V^(1/2) Gamma V^(1/2))^(1/2),
        Gamma = cov(gamma) - (kappa - 1) (gamma - p)(gamma - p)^T >= 0,

    smooth in p and gamma together; L-BFGS over their logarithms. Any p gives a valid bound, so no accuracy
    is needed here. On a workload that looks the same from every user type p = 1/n, after one step.
    """
    V, n = centre(V), len(V)

    def slopes(blocks: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        p, gamma = blocks
        at = _value(V, p, gamma, epsilon)
        return at.value, [at.prior, at.gamma]

    return _ascend(slopes, [n, n])[0]


def least_favourable_queries(W: np.ndarray, epsilon: float, p: np.ndarray) -> np.ndarray:
    """Return the query weights omega (k,), sum one, that maximise the bound on sum_i omega_i Var_i.

    W (k x n) are the queries and p (n,) the prior; V = W^T diag(omega) W in `least_favourable_prior`.
    """
    W = W - (W @ p)[:, None]

    def slopes(blocks: list[np.ndarray]) -> tuple[float, list[np.ndarray]]:
        omega, gamma = blocks
        at = _value(W.T @ (omega[:, None] * W), p, gamma, epsilon)
        return at.value, [np.sum((W @ at.gram) * W, axis=1), at.gamma]

    return _ascend(slopes, list(W.shape))[0]


class _Value(NamedTuple):
    """The weighted bound and its partial derivatives; the bound is minus infinity where Gamma is not >= 0."""

    value: float
    prior: np.ndarray
    gamma: np.ndarray
    gram: np.ndarray
    """Derivative in V (n x n)."""


def _value(V: np.ndarray, p: np.ndarray, gamma: np.ndarray, epsilon: float) -> _Value:
    excess = math.sinh(epsilon / 2) ** 2  # kappa - 1
    delta = gamma - p
    cov = np.diag(p) - np.outer(p, p)
    if (
        not gamma.all() or excess * (np.sum(p**2 / gamma) - 1) >= 1
    ):  # Gamma >= 0 iff (kappa - 1) chi^2(p, gamma) <= 1
        return _Value(-math.inf, 0 * p, 0 * p, cov)
    values, vectors = np.linalg.eigh(
        np.diag(gamma) - np.outer(gamma, gamma) - excess * np.outer(delta, delta)
    )
    root = vectors * np.sqrt(np.maximum(values, 0))  # Gamma = root root^T
    squares, turn = np.linalg.eigh(root.T @ V @ root)
    kept = squares > KEEP**2 * max(squares[-1], np.finfo(float).tiny)
    singular, turned = np.sqrt(squares[kept]), root @ turn[:, kept]
    S = float(singular.sum())
    # dS = tr(B B^T dV)/2 = tr(Z dGamma)/2 with Z = Y Y^T
    B, Y = turned / np.sqrt(singular), V @ turned / singular**1.5
    Z = Y @ Y.T
    Zd = excess * (Z @ delta)
    rate = 2 * S / excess
    return _Value(
        S**2 / excess - float(np.sum(V * cov)),
        rate * Zd - np.diag(V) + 2 * V @ p,
        rate * (np.diag(Z) / 2 - Z @ gamma - Zd),
        rate * (B @ B.T) / 2 - cov,
    )


def _ascend(
    slopes: Callable[[list[np.ndarray]], tuple[float, list[np.ndarray]]], sizes: list[int]
) -> list[np.ndarray]:
    """Return probability vectors of the given sizes that maximise a function of them together.

    `slopes` returns the function's value and its gradient in each vector. L-BFGS starts from uniform vectors.
    """
    ends = np.cumsum(sizes)[:-1]

    def blocks(theta: np.ndarray) -> list[np.ndarray]:
        parts = [np.exp(part - part.max()) for part in np.split(theta, ends)]
        return [part / part.sum() for part in parts]

    start = np.zeros(sum(sizes))
    scale = max(abs(slopes(blocks(start))[0]), np.finfo(float).tiny)

    def loss(theta: np.ndarray) -> tuple[float, np.ndarray]:
        mixtures = blocks(theta)
        value, gradients = slopes(mixtures)
        if not math.isfinite(value):
            return 1e10, np.zeros_like(theta)
        parts = [m * (g - m @ g) for m, g in zip(mixtures, gradients, strict=True)]
        return -value / scale, -np.concatenate(parts) / scale

    options = {"maxiter": MAX_STEPS}
    return blocks(minimize(loss, start, jac=True, method="L-BFGS-B", options=options).x)
