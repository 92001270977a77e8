"""The nonnegative bound for prefixes and ranges of many values: its matrices are smooth, so its search knows no n."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.optimize import OptimizeResult, minimize

from stratagem.bounds.path_proof import CELLS, LOW, Arrays, PathProof, cosines, hats, kinks, low_factor, nodes
from stratagem.bounds.smooth import largest, logarithm, root, spectral
from stratagem.numeric.precision import working_in
from stratagem.workloads.line import Line

SMOOTHINGS = tuple(0.01 * 0.5**stage for stage in range(8))
"""Relative widths of what is smoothed, one a stage; beyond the eighth the bound rises by less than .1 %."""
STEPS, MEMORY = 60, 20
"""Steps of L-BFGS-B in a stage, and steps that it remembers."""
SIZES, REACH = 48, 10
"""Pattern sizes that are looked at, evenly in the logarithm, from n/(1 + E)/REACH on."""
OCTAVE = 16
"""Cosines beyond LOW that stand for all of an octave."""
FIRST = 1e-6
"""Entries of N to begin with, beside eigenvalues of one: from zero on the search finds no direction."""
FORBIDDEN = 1e6
"""Loss where a trial step leaves what has a logarithm."""


class Terms(NamedTuple):
    """The numbers of a problem, all but the first two independent of n."""

    F: jax.Array
    """The factor of the low block of V (m - 1 x m - 1), V scaled so that its largest eigenvalue is one."""
    beyond: jax.Array
    """Sums of roots of V that a cosine beyond the low ones stands for (J,), in the same scale."""
    near: jax.Array
    """What the hats give the low cosines (m - 1, s)."""
    far: jax.Array
    """What they give those beyond (J, s)."""
    sums: jax.Array
    """What they give nu (s,)."""
    C: jax.Array
    """The low cosines of the kernels (m - 1, P)."""
    bumps: jax.Array
    """The kernels at the centres of 2 P cells (2 P, P)."""
    f: jax.Array
    """Pattern sizes over n (K,)."""
    c: jax.Array
    """E - 1."""


class Search:
    """The search for a proof; `best` is a valid one at any moment."""

    def __init__(self, line: Line, epsilon: float):
        """Begin with N near zero, which proves what the closed bound says."""
        self.terms = _terms(line, epsilon)
        count = int(mirrored().max()) + 1
        c, f = math.expm1(epsilon), 1 / (1 + math.exp(epsilon))
        prices = np.array([c * (1 - 2 * f), 2 * c * f]) / (1 + c * f)
        self.point = np.concatenate([prices, np.full(self.terms.sums.size + count, FIRST)])
        self.best = PathProof(line, self._arrays(self.point), epsilon)

    def run(self, seconds: float, enough: float = math.inf) -> None:
        """Go on until the bound is enough, time is up or all stages are done."""
        deadline = time.monotonic() + seconds
        for smoothing in SMOOTHINGS:
            self._descend(smoothing, deadline)
            found = replace(self.best, arrays=self._arrays(self.point))
            self.best = max(self.best, found, key=lambda proof: proof.value)
            if self.best.value >= enough or time.monotonic() > deadline:
                break

    def _descend(self, smoothing: float, deadline: float) -> None:
        """Make the steps of one stage, in which the widths do not change, so that loss and slope agree."""
        with working_in("float64"):
            width = smoothing * np.array([float(size) for size in _sizes(self.point, self.terms)])

        def fall(point: np.ndarray) -> tuple[float, np.ndarray]:
            value, slope = _loss(point, self.terms, width, smoothing)
            return float(value), np.array(slope)

        def step(intermediate_result: OptimizeResult) -> None:
            self.point = intermediate_result.x.copy()
            if time.monotonic() > deadline:
                raise StopIteration

        limits = [(None, None)] * 2 + [(0, None)] * (len(self.point) - 2)
        options = {"maxiter": STEPS, "maxcor": MEMORY, "ftol": 1e-13, "gtol": 1e-9}
        with working_in("float64"):
            minimize(
                fall, self.point, jac=True, method="L-BFGS-B", bounds=limits, callback=step, options=options
            )

    def _arrays(self, point: np.ndarray) -> Arrays:
        """Return the arrays of a point."""
        s = self.terms.sums.size
        return Arrays(point[:2], point[2 : 2 + s], point[2 + s :][mirrored()])


def _terms(line: Line, epsilon: float) -> Terms:
    """Return the numbers of a problem; beyond the low cosines one in 1/OCTAVE of an octave stands for all."""
    n, unit = line.n, float(line.roots(np.ones(1))[0])
    edges = np.unique(np.round(np.geomspace(LOW, n, math.ceil(OCTAVE * math.log2(n / LOW)) + 2)).astype(int))
    middle = (edges[:-1] + edges[1:]) // 2
    beyond = np.add.reduceat(line.roots(np.arange(LOW, n)), edges[:-1] - LOW)
    slopes = np.column_stack([kinks(n, unity)[:, 0] for unity in np.eye(len(nodes(n)))])
    near, far = (np.array(list(hats(n, j))).T @ slopes / n for j in (np.arange(1, LOW), middle))
    usual, C = 1 / (1 + math.exp(epsilon)), cosines()
    f = np.geomspace(max(usual / REACH, 1 / n), 1, SIZES)
    centres = (np.arange(2 * CELLS) + 0.5) / (2 * CELLS)
    bumps = 1 + math.sqrt(2) * np.cos(math.pi * np.outer(centres, np.arange(1, LOW))) @ C
    last = np.append(np.zeros(len(slopes) - 1), 2.0)
    with working_in("float64"):
        arrays = (
            low_factor(line) / unit,
            beyond / unit,
            near,
            far,
            np.square(nodes(n)) / n @ slopes + last,
            C,
            bumps,
            np.append(0.0, f),
            math.expm1(epsilon),
        )
        return Terms(*map(jnp.asarray, arrays))


@cache
def mirrored() -> np.ndarray:
    """Return the number (P x P) of the variable that an entry of R is, the same for its mirror images."""
    a, b = np.indices((CELLS, CELLS))
    last = CELLS - 1
    alike = [(a, b), (b, a), (last - a, last - b), (last - b, last - a)]
    first = np.min([CELLS * x + y for x, y in alike], axis=0)
    return np.unique(first, return_inverse=True)[1].reshape(CELLS, CELLS)


def _parts(point: jax.Array, terms: Terms) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]:
    """Return w, R/P^2, the mean price, slacks of user types (K, 2 P) and constants of the sizes of patterns (K,)."""
    prices, w, R = (
        point[:2],
        point[2 : 2 + terms.sums.size],
        point[2 + terms.sums.size :][mirrored()] / CELLS**2,
    )
    f, c, nu = terms.f, terms.c, terms.sums @ w + terms.bumps @ R.sum(axis=1)
    a = 1 + c * f
    linear = (c**2 / a)[:, None] * ((1 - 2 * f)[:, None] + jnp.outer(2 * f, nu)) - c * (
        prices[0] + prices[1] * nu
    )
    price = prices[0] + prices[1] * nu.mean()
    return w, R, price, linear, (c * f) ** 2 / a * (1 - nu.mean()) - price


def _excess(linear: jax.Array, constant: jax.Array, terms: Terms, width: jax.Array) -> jax.Array:
    """Return the excess of every size of patterns (K,)."""
    many = linear.shape[1]
    top = largest(linear, terms.f * many, width) / many
    return (top + constant) / (1 + terms.c * terms.f)


@jax.jit
def _sizes(point: jax.Array, terms: Terms) -> tuple[jax.Array, jax.Array]:
    """Return the sizes of slacks and of excesses, which the widths of what is smoothed are relative to."""
    _, _, price, linear, constant = _parts(point, terms)
    size = jnp.abs(linear).max()
    excess = _excess(linear, constant, terms, 1e-9 * size)
    return size, jnp.abs(price) + jnp.abs(excess).max()


@jax.jit
@partial(jax.value_and_grad, argnums=0)
def _loss(point: jax.Array, terms: Terms, width: jax.Array, barrier: float) -> jax.Array:
    """Return log D - 2 log S less the barrier times a mean of the logarithms of the eigenvalues of G."""
    w, R, price, linear, constant = _parts(point, terms)
    excess = _excess(linear, constant, terms, width[0])
    D = price + width[1] * jax.nn.logsumexp(excess / width[1])
    low, beyond = jnp.diag(1 - terms.near @ w) - terms.C @ R @ terms.C.T, 1 - terms.far @ w
    near: jax.Array = spectral(terms.F.T @ low @ terms.F, root)
    volume: jax.Array = spectral(low, logarithm)
    S = near + terms.beyond @ root(beyond)[0]
    inside = (D > 0) & (S > 0)
    value = jnp.log(jnp.where(inside, D, 1.0)) - 2 * jnp.log(jnp.where(inside, S, 1.0))
    volume = volume + logarithm(beyond)[0].sum() / OCTAVE
    return jnp.where(inside, value - barrier / LOW * volume, FORBIDDEN)
