"""The nonnegative bound: a smooth programme whose every iterate proves a lower bound, tight for small patterns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import OptimizeResult, minimize

from stratagem.bounds.allowance import ulps
from stratagem.bounds.nuclear import total_term
from stratagem.bounds.proof import Proof
from stratagem.numeric.linalg import centred_factor, squared_distances
from stratagem.numeric.precision import working_in
from stratagem.prior import uniform
from stratagem.privacy import check
from stratagem.workloads import Workload
from stratagem.workloads.difference import centred

SMOOTHINGS = tuple(0.01 * 0.5**stage for stage in range(14))
"""Relative widths of what is smoothed, one a stage: each halving gains about half of what is left to gain."""
STEPS, MEMORY = 60, 20
"""Steps of L-BFGS-B in a stage, and steps that it remembers."""
SHARES = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.0)
"""Shares of distances in N that are tried for the start."""
EDGE = 1e-9
"""Eigenvalue, relative to tr V, below which a square root or a logarithm goes on as its tangent."""
HALVINGS = 45
"""Bisections of a multiplier; any multiplier gives a valid bound."""
PADDED = 64
"""Domain size up to which all sizes of patterns and n columns of F are looked at, so that few shapes are compiled."""
FINER = 4
"""Masses of patterns under a prior for each of the sizes 1, 2, ... in the average case."""
LEAST = 1e-6
"""Least weight n p of a user type by which a multiplier is divided."""


class Terms(NamedTuple):
    """The numbers of a problem, V scaled to trace one."""

    F: jax.Array
    """(n x r)"""
    h: jax.Array
    """n p (n,)"""
    f: jax.Array
    """Masses of patterns that are looked at (K,)."""
    c: jax.Array
    """E - 1."""


@dataclass(eq=False)
class Ascent:
    """The search for a proof; `best` is a valid one at any moment, also after Ctrl-C.

    It maximises S^2/D of `Proof` over gamma >= 0, lambda and N >= 0, n^2/2 + 2 n variables. log S is concave and D
    convex in them. D is smooth once the k largest entries become min_t k t + w sum softplus((v - t)/w) and the largest
    of all sizes a sum of exponentials; the width w falls from stage to stage. Where V has low rank, a logarithmic
    barrier keeps G positive definite on h^perp. A step costs one eigendecomposition, two where V has low rank.
    """

    terms: Terms
    best: Proof
    point: np.ndarray
    """(gamma, lambda, N above its diagonal), in units in which diag(gamma) - N has entries of size one."""
    full: bool
    """Whether V has full rank on h^perp."""

    @classmethod
    def of(cls, workload: Workload, epsilon: float, prior: np.ndarray | None = None) -> Ascent:
        """Return the search at its start, the best of some mixtures of gamma = n p with squared distances of columns.

        Distances N_uv = p_u p_v ||F_u - F_v||^2 are best at large epsilon, where reports name single types.

        Raises:
            ValueError: if epsilon is out of range.
        """
        epsilon, n = check(epsilon), workload.domain.size
        F = centred_factor(centred(workload, prior).gram, prior)
        p = uniform(n) if prior is None else prior
        largest = n if n <= PADDED else int(min(n, 4 * n / (1 + math.exp(epsilon)) + 8))
        finer = 1 if prior is None else FINER
        masses = np.arange(finer * largest + 1) / (finer * n)
        columns = np.pad(F, ((0, 0), (0, n - F.shape[1]))) if n <= PADDED else F
        unit = max(float(np.linalg.norm(F)), math.ulp(0.0))
        with working_in("float64"):
            terms = Terms(*map(jnp.asarray, (columns / unit, n * p, masses, math.expm1(epsilon))))
        best = max(_starts(workload, F, p, epsilon, prior), key=lambda proof: proof.value)
        point = np.concatenate([best.gamma, best.prices, best.avoided[np.triu_indices(n, 1)]])
        return cls(terms, best, point, F.shape[1] == n - 1)

    def run(
        self, seconds: float = math.inf, enough: float = math.inf, stop: Callable[[float], bool] | None = None
    ) -> None:
        """Go on until a bound is enough, time is up or all stages are done.

        `stop` receives the bound after each stage; a true answer ends the search.
        """
        deadline = time.monotonic() + seconds
        if not self.best.factor.any():
            return
        for smoothing in SMOOTHINGS:
            self._descend(smoothing, deadline)
            self.best = max(self.best, self._proof(), key=lambda proof: proof.value)
            done = self.best.value >= enough or time.monotonic() > deadline
            if done or (stop is not None and stop(self.best.value)):
                break

    def _descend(self, smoothing: float, deadline: float) -> None:
        """Make the steps of one stage."""
        n = len(self.best.gamma)
        self.point = self.point / np.mean(self.point[:n] + self._avoided().sum(axis=1))
        barrier = 0.0 if self.full else smoothing

        def fall(point: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = _loss(point, self.terms, smoothing, barrier, self.full)
            return float(value), np.array(slope)

        def step(intermediate_result: OptimizeResult) -> None:
            self.point = intermediate_result.x.copy()
            if time.monotonic() > deadline:
                raise StopIteration

        limits = [(0, None)] * n + [(None, None)] * n + [(0, None)] * (len(self.point) - 2 * n)
        options = {"maxiter": STEPS, "maxcor": MEMORY, "ftol": 1e-13, "gtol": 1e-9}
        with working_in("float64"):
            minimize(
                fall, self.point, jac=True, method="L-BFGS-B", bounds=limits, callback=step, options=options
            )

    def _avoided(self) -> np.ndarray:
        """Return N (n x n) of the present point."""
        n = len(self.best.gamma)
        upper = np.zeros((n, n))
        upper[np.triu_indices(n, 1)] = self.point[2 * n :]
        return upper + upper.T

    def _proof(self) -> Proof:
        """Return what the present point proves."""
        n = len(self.best.gamma)
        return replace(self.best, gamma=self.point[:n], prices=self.point[n : 2 * n], avoided=self._avoided())


def nonnegative(
    workload: Workload,
    epsilon: float,
    seconds: float = 60.0,
    enough: float = math.inf,
    prior: np.ndarray | None = None,
) -> Proof:
    """Return the best proof found until its bound is enough, time is up or the search is at its end.

    Raises:
        ValueError: if epsilon is out of range.

    Example:
        >>> import stratagem as st
        >>> proof = nonnegative(st.prefix(8), 4.0)
        >>> round(proof.value / st.lower_bounds(st.prefix(8), 4.0).exact, 3)
        1.0
    """
    search = Ascent.of(workload, epsilon, prior)
    search.run(seconds, enough)
    return search.best


def _starts(
    workload: Workload, F: np.ndarray, p: np.ndarray, epsilon: float, prior: np.ndarray | None
) -> list[Proof]:
    """Return proofs to begin with; their prices make all types alike to patterns of n/(1 + E) types, at least one."""
    n, c = len(F), math.expm1(epsilon)
    f = max(1 / (2 + c), 1 / n)
    unit = F / (np.linalg.norm(F) or 1.0)
    gamma, distances = np.maximum(n * p, 1e-3), squared_distances(unit, unit) * np.outer(p, p)
    distances = np.maximum(distances + distances.T, 0) * (1 - np.eye(n))
    distances *= gamma.sum() / (distances.sum() or 1.0)
    proofs = []
    for share in SHARES if distances.any() else SHARES[:1]:
        mixed, avoided = (1 - share) * gamma, share * distances
        prices = c / (n * (1 + c * f)) * ((1 - 2 * f) * mixed + 2 * f * avoided.sum(axis=1))
        proofs.append(
            Proof(
                gamma=mixed,
                avoided=avoided,
                prices=prices,
                factor=F,
                total=total_term(workload, prior),
                epsilon=epsilon,
                prior=prior,
                ulps=ulps(workload),
            )
        )
    return proofs


@partial(jax.jit, static_argnames="full")
@partial(jax.value_and_grad, argnums=0)
def _loss(point: jax.Array, terms: Terms, smoothing: float, barrier: float, full: bool) -> jax.Array:
    """Return log D - 2 log S, less the barrier times log det G/n on h^perp where V has low rank."""
    F, h, f, c = terms
    n = len(h)
    gamma, prices = point[:n], point[n : 2 * n]
    N = jnp.zeros((n, n)).at[jnp.triu_indices(n, 1)].set(point[2 * n :])
    N = N + N.T
    G, nu, a = jnp.diag(gamma) - N, N.sum(axis=1), n * (1 + c * f)
    linear = (c**2 / a)[:, None] * (jnp.outer(1 - 2 * f, gamma) + jnp.outer(2 * f, nu)) - c * prices
    constant = (c * f) ** 2 / a * (gamma - nu).sum() - prices.sum()
    width = smoothing * jax.lax.stop_gradient(jnp.abs(linear).max())
    excess = (constant + largest(linear, h, n * f, width)) / a
    width = smoothing * jax.lax.stop_gradient(jnp.abs(prices.mean()) + jnp.abs(excess).max())
    D = prices.sum() + n * width * jax.nn.logsumexp(excess / width)
    S: jax.Array = spectral(F.T @ G @ F, root)
    value = jnp.log(D) - 2 * jnp.log(S)
    if full:
        return value
    unit = h / jnp.linalg.norm(h)
    P = jnp.eye(n) - jnp.outer(unit, unit)
    volume: jax.Array = spectral(P @ G @ P + jnp.outer(unit, unit), logarithm)
    return value - barrier / n * volume


def largest(linear: jax.Array, h: jax.Array, mass: jax.Array, width: jax.Array) -> jax.Array:
    """Return the minimum over t of mass t + width sum softplus((linear - t h)/width) for every row (K,)."""

    def halved(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = ends
        t = (low + high) / 2
        heavy = jax.nn.sigmoid((linear - jnp.outer(t, h)) / width) @ h > mass
        return jnp.where(heavy, t, low), jnp.where(heavy, high, t)

    reach = (jnp.abs(linear).max(axis=1) + 40 * width) / jnp.maximum(h, LEAST).min()
    t = sum(jax.lax.stop_gradient(jax.lax.fori_loop(0, HALVINGS, halved, (-reach, reach)))) / 2
    return mass * t + width * jax.nn.softplus((linear - jnp.outer(t, h)) / width).sum(axis=1)


Function = Callable[[jax.Array], tuple[jax.Array, jax.Array]]


def root(values: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return x^(1/2) and its derivative; below EDGE the tangent, which is concave and finite too."""
    inside = jnp.maximum(values, EDGE)
    slope = 0.5 / jnp.sqrt(inside)
    return jnp.sqrt(inside) + slope * (values - inside), slope


def logarithm(values: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return log x and its derivative; below EDGE the tangent."""
    inside = jnp.maximum(values, EDGE)
    return jnp.log(inside) + (values - inside) / inside, 1 / inside


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def spectral(H: jax.Array, function: Function) -> jax.Array:
    """Return the sum of a function over the eigenvalues of a symmetric H (r x r)."""
    return function(jnp.linalg.eigvalsh(H))[0].sum()


def _spectral_forward(H: jax.Array, function: Function) -> tuple[jax.Array, jax.Array]:
    """Return the sum and its derivative by H, the derivative applied to the eigenvalues."""
    values, vectors = jnp.linalg.eigh(H)
    image, slope = function(values)
    return image.sum(), (vectors * slope) @ vectors.T


def _spectral_backward(function: Function, slope: jax.Array, cotangent: jax.Array) -> tuple[jax.Array]:
    """Return the derivative by H of what the sum enters."""
    return (cotangent * slope,)


spectral.defvjp(_spectral_forward, _spectral_backward)
