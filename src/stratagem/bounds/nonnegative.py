"""The nonnegative bound (theory.md, section 4, number 6): a smooth programme whose every iterate proves a lower bound.

`generation` solves it where all patterns can be listed; this is the search on larger domains, tight for small patterns.

1. It starts from the best mixture of the weighted bound with distances of columns (`generation.first_proof`).
2. A stage looks at the worst listed patterns of the last proof (`_look_at`) and takes L-BFGS-B steps (`_descend`) on
   `loss`, log D - 2 log S: D from listed patterns one by one (`_listed_excess`) and from all others by their sizes
   (`_unlisted_excess`, where `largest` smooths the sum of the k largest entries), S from eigenvalues (`spectral`).
3. What the point proves is computed anew without smoothing (`Proof`), and the best is kept; each of 14 stages halves
   the width of what is smoothed, which gains about half of what is left to gain.
4. At the end it is mixed with what randomised response proves, the best at large epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.bounds.bound import Case
from stratagem.bounds.generation import Generation, between, first_proof, single_proof
from stratagem.bounds.proof import WHOLE, Proof, groups, listed_patterns, listed_size, masses
from stratagem.math.computing import working_in
from stratagem.math.deadline import deadline, within
from stratagem.math.optimisers import descend
from stratagem.workloads import Workload

EDGE = 1e-9
"""Eigenvalue, relative to tr V, below which a square root or a logarithm goes on as its tangent."""
LEVEL = 0.01
"""Share of the prices added to the width that smooths the largest entries: at a start where all entries are equal they
give none, and without one there is no slope to follow."""
HALVINGS = 45
"""Bisections of a multiplier; any multiplier gives a valid bound."""


class UnitProblem(NamedTuple):
    """The numbers of a problem, V scaled to trace one."""

    F: jax.Array
    """Factor F of the centred Gram matrix, of Frobenius norm one, n x r."""
    h: jax.Array
    """Prior times n, h = n p, shape (n,)."""
    X: jax.Array
    """Patterns that are looked at one by one (N x n): all that are listed, or the worst at the last proof."""
    sizes: jax.Array
    """Sizes of other patterns (K,); K = 0 where all patterns are listed."""
    f: jax.Array
    """Their masses (K,), sizes/n without a prior."""
    c: jax.Array
    """Difference E - 1 of the two levels of a row."""


def ends(n: int) -> tuple[int, ...]:
    """Return where gamma, lambda, w, r and N end in a point; what masses of patterns cost (K,) is the rest."""
    return n, 2 * n, 3 * n, 3 * n + 2, 3 * n + 2 + n * (n - 1) // 2


@partial(jax.jit, static_argnames="full")
@partial(jax.value_and_grad, argnums=0)
def loss(point: jax.Array, terms: UnitProblem, smoothing: float, barrier: float, full: bool) -> jax.Array:
    """Return log D - 2 log S, less the barrier times log det(G/D)/n on h^perp where V has low rank."""
    F, h, X, _, f, c = terms
    n = len(h)
    gamma, prices, w, level, upper, tilts = jnp.split(point, ends(n))
    prices = prices * c / n
    N = jnp.zeros((n, n)).at[jnp.triu_indices(n, 1)].set(upper)
    N = N + N.T
    G = jnp.diag(gamma) - N - jnp.outer(w, w)
    excess = _listed_excess(G, prices, h / n, X, c)
    if len(f):
        r = level[0] + level[1] * f
        field = gamma - 2 * jnp.outer(r, w) - 2 * jnp.outer(f, G.sum(axis=1))
        others = _unlisted_excess(field, r**2 + f**2 * G.sum(), prices, tilts, terms, smoothing)
        excess = jnp.concatenate([excess, others])
    width = smoothing * jax.lax.stop_gradient(jnp.abs(prices.mean()) + jnp.abs(excess).max())
    D = prices.sum() + n * width * jax.nn.logsumexp(excess / width)
    S: jax.Array = spectral(F.T @ G @ F, root)
    value = jnp.log(D) - 2 * jnp.log(S)
    if full:
        return value
    unit = h / jnp.linalg.norm(h)
    P = jnp.eye(n) - jnp.outer(unit, unit)
    volume: jax.Array = spectral(P @ G @ P + jnp.outer(unit, unit), logarithm)
    return value + barrier / n * ((n - 1) * jnp.log(D) - volume)


def _listed_excess(G: jax.Array, prices: jax.Array, p: jax.Array, X: jax.Array, c: jax.Array) -> jax.Array:
    """Return [c^2 y^T G y - a lambda^T s]/a^2 of every listed pattern x (N,), y = x - 1 p^T x."""
    f = X @ p
    Y, a = X - f[:, None], len(p) * (1 + c * f)
    return c**2 / a**2 * ((Y @ G) * Y).sum(axis=1) - (prices.sum() + c * (X @ prices)) / a


def _unlisted_excess(
    field: jax.Array,
    squares: jax.Array,
    prices: jax.Array,
    tilts: jax.Array,
    terms: UnitProblem,
    smoothing: float,
) -> jax.Array:
    """Return bounds on the excess of patterns of each other size and mass, shape (K,).

    They come from q = field x + squares, with `field` of shape (K, n) and `squares` of shape (K,).

    Under a prior t (n f - h^T x) = 0 is added, t the tilts (K,).
    """
    f, c = terms.f, terms.c
    a = len(prices) * (1 + c * f)
    costs = c * prices
    linear = (c**2 / a)[:, None] * field - costs
    constant = c**2 * squares / a - prices.sum()
    width = smoothing * jax.lax.stop_gradient(jnp.abs(linear).max() + LEVEL * jnp.abs(costs).max())
    if len(tilts):
        linear, constant = linear - jnp.outer(tilts, terms.h), constant + tilts * len(prices) * f
    return (constant + largest(linear, terms.sizes, width)) / a


def largest(linear: jax.Array, sizes: jax.Array, width: jax.Array) -> jax.Array:
    """Return a smooth upper bound on the sum of the `sizes` largest entries of every row, shape (K,).

    It is min over t of size t + width sum softplus((linear - t)/width).
    """

    def halved(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = ends
        t = (low + high) / 2
        many = jax.nn.sigmoid((linear - t[:, None]) / width).sum(axis=1) > sizes
        return jnp.where(many, t, low), jnp.where(many, high, t)

    reach = jnp.abs(linear).max(axis=1) + 40 * width
    low, high = jax.lax.fori_loop(0, HALVINGS, halved, (-reach, reach))
    t = jax.lax.stop_gradient(low + high) / 2
    return sizes * t + width * jax.nn.softplus((linear - t[:, None]) / width).sum(axis=1)


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


SMOOTHINGS = tuple(0.01 * 0.5**stage for stage in range(14))
"""Relative widths of what is smoothed, one a stage: each halving gains about half of what is left to gain."""
FINE, SMALL = 1e-3, 0.15
"""Largest width where optimal patterns hold more than this share 1/(1 + E) of the types: the start is near there."""
STEPS, MEMORY = 100, 20
"""Steps of L-BFGS-B in a stage, and steps that it remembers."""
BARRIER = 10.0
"""Weight of the barrier of low rank, in widths of what is smoothed."""
PADDED = 64
"""Domain size up to which all sizes of patterns and n columns of F are looked at, so that few shapes are compiled."""
ROWS = 1 << 23
"""Products in x^T G x of the patterns that a stage looks at one by one."""
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5)
"""Shares of what randomised response proves in the last proof."""
MASSES, KEPT = 16, 400
"""Masses of patterns of each size under a prior, and how many of all of them are looked at in a stage."""


@dataclass(eq=False)
class Ascent:
    """The search for a proof; `best` is a valid one at any moment, also after Ctrl-C.

    It maximises S^2/D of `Proof` over gamma >= 0, lambda, w, r and N >= 0, about n^2/2 variables. log S is concave and
    D convex in gamma, lambda and N. D is smooth once the k largest entries become
    min_t k t + w sum softplus((v - t)/w) and the largest of all sizes a sum of exponentials; the width w falls from
    stage to stage. Where V has low rank, a logarithmic barrier keeps G positive definite on h^perp. A step costs one
    eigendecomposition, two where V has low rank.
    """

    terms: UnitProblem
    best: Proof
    point: np.ndarray
    """(gamma, lambda n/(E - 1), w, r_0, r_1, N above its diagonal, t), in units in which G has entries of size one."""
    full: bool
    """Whether V has full rank on h^perp."""

    @classmethod
    def of(cls, case: Case) -> Ascent:
        """Return the search at its start, the best of some mixtures of the weighted bound with distances of columns.

        Distances N_uv = p_u p_v ||F_u - F_v||^2 are best at large epsilon, where reports name single types.
        """
        n, start = case.n, first_proof(case)
        largest_size = n if n <= PADDED else int(min(n, 4 * n / (1 + math.exp(case.epsilon)) + 8))
        F, sizes = start.factor, np.arange(listed_size(n) + 1.0, largest_size + 1.0)
        columns = np.pad(F, ((0, 0), (0, n - F.shape[1]))) if n <= PADDED else F
        unit = max(float(np.linalg.norm(F)), math.ulp(0.0))
        with working_in("float64"):
            arrays = (columns / unit, case.h, np.zeros((1, n)), sizes, sizes / n, case.c)
            terms = UnitProblem(*map(jnp.asarray, arrays))
        best = max(start, single_proof(start), key=lambda proof: proof.value)
        return cls(terms, best, _point(start), F.shape[1] == n - 1)

    def run(
        self, seconds: float = math.inf, enough: float = math.inf, stop: Callable[[float], bool] | None = None
    ) -> Proof:
        """Return the best proof once the bound reaches `enough`, time is up or all stages are done.

        `stop` receives the bound after each stage; a true answer ends the search.
        """
        with within(seconds):
            self._run(enough, stop)
        return self.best

    def _run(self, enough: float, stop: Callable[[float], bool] | None) -> None:
        if not self.best.factor.any():
            return
        proof = self._proof()
        small = 1 / (1 + math.exp(proof.epsilon)) <= SMALL
        for smoothing in SMOOTHINGS if small else [width for width in SMOOTHINGS if width <= FINE]:
            self._look_at(proof)
            self._descend(smoothing)
            proof = self._proof()
            self.point = _point(proof)
            self.best = max(self.best, proof, key=lambda proof: proof.value)
            done = self.best.value >= enough or deadline().over
            if done or (stop is not None and stop(self.best.value)):
                return
        single = single_proof(self.best)
        for share in SHARES:
            mixed = between(proof, single, share)
            if mixed.value <= self.best.value:
                break
            self.best = mixed

    def _look_at(self, proof: Proof) -> None:
        """Choose the patterns, under a prior the masses, that the next stage looks at: the worst for a proof."""
        with working_in("float64"):
            self.terms = self.terms._replace(X=jnp.asarray(_worst(proof)))
            if proof.prior is None:
                return
            sizes, f = _grid(proof.prior)
            found, tilts = proof.heaviest(sizes, f)
            kept = (
                np.sort(np.argpartition(-found, KEPT)[:KEPT]) if len(found) > KEPT else np.arange(len(found))
            )
            self.terms = self.terms._replace(
                sizes=jnp.asarray(sizes[kept].astype(float)), f=jnp.asarray(f[kept])
            )
            a = len(proof.prior) * (1 + math.expm1(proof.epsilon) * f[kept])
            self.point = np.append(self.point[: ends(len(proof.prior))[-1]], tilts[kept] / a)

    def _descend(self, smoothing: float) -> None:
        """Minimise the smoothed loss of one stage by L-BFGS-B, which moves the point."""
        n = len(self.best.gamma)
        parts = ends(n)
        gamma, _, _, _, upper, tilts = np.split(self.point, parts)
        unit = np.mean(gamma + np.abs(_symmetric(upper, n)).sum(axis=1))
        self.point = self.point / unit
        self.point[parts[1] : parts[3]] *= math.sqrt(unit)
        barrier = 0.0 if self.full else BARRIER * smoothing

        def fall(point: np.ndarray) -> tuple[jax.Array, jax.Array]:
            return loss(point, self.terms, smoothing, barrier, self.full)

        free = [(None, None)]
        limits = [(0, None)] * n + free * (2 * n + 2) + [(0, None)] * len(upper) + free * len(tilts)
        precise = {"maxcor": MEMORY, "ftol": 1e-13, "gtol": 1e-9}
        with working_in("float64"):
            self.point = descend(fall, self.point, STEPS, limits=limits, **precise).x

    def _proof(self) -> Proof:
        """Return the proof at the present point."""
        n = len(self.best.gamma)
        gamma, prices, spread, (first, second), upper, _ = np.split(self.point, ends(n))
        return replace(
            self.best,
            gamma=gamma,
            prices=prices * math.expm1(self.best.epsilon) / n,
            spread=spread,
            level=(float(first), float(second)),
            avoided=_symmetric(upper, n),
        )


def nonnegative(
    workload: Workload,
    epsilon: float,
    seconds: float = 60.0,
    enough: float = math.inf,
    prior: np.ndarray | None = None,
) -> Proof:
    """Return the best proof found until its bound reaches `enough`, time is up or the search ends.

    Raises:
        ValueError: if epsilon is out of range.

    Example:
        >>> import stratagem as st
        >>> proof = nonnegative(st.prefix(8), 4.0)
        >>> round(proof.value / st.lower_bounds(st.prefix(8), 4.0)["exact"].value, 3)
        1.0
    """
    case = Case(workload, epsilon, prior)
    return (Generation if case.n <= WHOLE else Ascent).of(case).run(seconds, enough)


def _point(proof: Proof) -> np.ndarray:
    """Return the search variables of a proof as one vector."""
    n = len(proof.gamma)
    prices = proof.prices * n / math.expm1(proof.epsilon)
    return np.concatenate(
        [proof.gamma, prices, proof.spread, proof.level, proof.avoided[np.triu_indices(n, 1)]]
    )


def _symmetric(upper: np.ndarray, n: int) -> np.ndarray:
    """Return the symmetric matrix (n x n) with zeros on its diagonal and these entries above it."""
    N = np.zeros((n, n))
    N[np.triu_indices(n, 1)] = upper
    return N + N.T


def _grid(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return sizes that are not listed and masses that patterns of each may have under a prior (K,)."""
    sizes = groups(listed_size(len(p)) + 1, len(p))
    least, most = (ends[sizes] for ends in masses(p))
    shares = 0.5 - 0.5 * np.cos(np.pi * (np.arange(MASSES) + 0.5) / MASSES)  # closer at the ends
    return sizes.repeat(MASSES), (least[:, None] + (most - least)[:, None] * shares).ravel()


def _worst(proof: Proof) -> np.ndarray:
    """Return the patterns (N, n) with the largest excess among those that are listed."""
    n = len(proof.gamma)
    most, kept, found = max(1, ROWS // n**2), np.zeros((0, n)), np.zeros(0)
    for X in listed_patterns(n, listed_size(n)):
        kept, found = np.vstack([kept, X]), np.append(found, proof.excess(X, proof.gamma))
        if len(found) > most:
            worst = np.argpartition(-found, most)[:most]
            kept, found = kept[worst], found[worst]
    return kept
