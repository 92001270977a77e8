"""The nonnegative bound for prefixes and ranges of many values; its search hardly slows with n."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from stratagem.bounds.formulas import ULP, root_trace, safe
from stratagem.bounds.nonnegative import largest, logarithm, root, spectral
from stratagem.math.computing import working_in
from stratagem.math.deadline import within
from stratagem.math.optimisers import descend
from stratagem.workloads.ranges import PathGram

CELLS = (24, 72, 216)
"""Cells P on which the smooth part of N is given, one search after another. For prefixes of 1,024 at epsilon 4 the
second gains 1.0 %, the third .4 %."""


def cosines_of(cells: int) -> int:
    """Return the number m of cosines in which the smooth part of N lies, the constant one included."""
    return 4 * cells // 3


class Arrays(NamedTuple):
    """The arrays that define a proof; N has eigenvalues of size one."""

    prices: np.ndarray
    """Coefficients alpha and beta of the prices, shape (2,)."""
    far: np.ndarray
    """w >= 0 at the distances of `nodes` (s,)."""
    cells: np.ndarray
    """R >= 0 (P x P), symmetric."""


@dataclass(frozen=True, eq=False)
class PathProof:
    """A `Proof` for values along a line: gamma = 1, N smooth but for a part that depends on distances alone.

    n N_uv = w(u - v) + w(u + v + 1) + sum_ab k_a(u) R_ab k_b(v)/P^2, u, v = 0, ..., n - 1. w is even of period 2 n and
    runs straight between its values at 0, where it is zero, and at the nodes. With y_b = (b + 1/2)/P the kernel

        k_b(u) = 1 + 2 sum_(0 < j < m) (1 - j/m) cos(pi j (u + 1/2)/n) cos(pi j y_b)

    is the mean of two Fejer kernels, at u + 1/2 -+ n y_b: so N >= 0. In the cosines of `PathGram` the first part is
    diagonal, the second lies in the first m. G = gamma I - N is thus a block of m - 1 and a diagonal, and V a diagonal
    less a ramp: seen from the low cosines and from those others on which the ramp is zero, F^T G F is a block and a
    diagonal, which loses no more than its largest root to the ramp; eigenvalues seen from a subspace are never larger.

    The diagonal of N need not be zero, as x^T N x >= 0 holds all the same. With lambda = (alpha + beta nu)/n the slack
    of a user type in patterns of k types is A_k + B_k nu_u: one sort of nu = N 1 finds the worst pattern of every size.
    """

    line: PathGram
    arrays: Arrays
    epsilon: float

    @property
    def low(self) -> int:
        """The number m of cosines of the block."""
        return cosines_of(len(self.arrays.cells))

    def __post_init__(self) -> None:
        """Check what the proof takes for granted."""
        if self.line.n < self.low or min(self.arrays.far.min(), self.arrays.cells.min()) < 0:
            raise ValueError(
                f"a proof for {self.line.n} values was given, but needs at least {self.low} and no negative entry in its "
                "arrays: take the nonnegative bound of small domains"
            )

    @cached_property
    def value(self) -> float:
        """The bound, from below after every rounding.

        N is what the arrays say exactly, so that only what is computed from it has errors: sums of t products lose
        t ulp of their absolute values, cosines of angles reduced in whole numbers 8 ulp. They are added where G must
        be positive semidefinite (gamma rises), taken off S and added to D.
        """
        low, error, beyond = self._spectrum()
        least = float(np.linalg.eigvalsh(low)[0]) - error - 8 * self.low * ULP * float(np.linalg.norm(low))
        lift = max(0.0, -least, -float(beyond.min(initial=1.0)))
        S = self._low_roots(low + lift * np.eye(len(low)), error) + self._far_roots(beyond + lift)
        D = self._allowed(1 + lift)
        return safe(self.line.total + (S * S / D if D > 0 and math.isfinite(D) else 0.0), self.epsilon)

    def _spectrum(self) -> tuple[np.ndarray, float, np.ndarray]:
        """Return G on the low cosines, its error in the norm, and its other eigenvalues, errors taken off."""
        n, cells, C = self.line.n, len(self.arrays.cells), cosines(len(self.arrays.cells))
        far = np.zeros((2, n - 1))
        for pair, hat in zip(kinks(n, self.arrays.far), hats(n, np.arange(1, n)), strict=True):
            far += np.outer(pair, hat / n)
        error = (len(self.arrays.far) + 32) * ULP * far[1]
        kept = self.low - 1
        low = np.diag(1 - far[0, :kept]) - C @ self.arrays.cells @ C.T / cells**2
        entries = 2 * float(self.arrays.cells.sum()) / cells**2
        block = self.low * (2 * cells + 32) * ULP * entries + float(error[:kept].max())
        return (low + low.T) / 2, block, (1 - far[0] - error)[kept:]

    def _low_roots(self, low: np.ndarray, error: float) -> float:
        """Return tr (F^T G F)^(1/2) on the low cosines; F = diag(v)^(1/2) (I - q q^T)^(1/2) is known exactly."""
        F = low_factor(self.line, self.low)
        norm = float(np.linalg.norm(low))
        error = (error + 16 * self.low * ULP * norm) * float(np.square(F).sum())
        return root_trace(np.linalg.eigvalsh(F.T @ low @ F), error)

    def _far_roots(self, beyond: np.ndarray) -> float:
        """Return the sum of the roots at the other cosines, without the largest if V has a ramp."""
        j = np.arange(self.line.n - len(beyond), self.line.n)
        roots = self.line.roots(j) * np.sqrt(np.maximum(beyond, 0.0))
        return float(roots.sum() - (roots.max(initial=0.0) if self.line.share else 0.0))

    def _allowed(self, gamma: float) -> float:
        """Return D for all patterns, from above."""
        n, c = self.line.n, math.expm1(self.epsilon)
        beta, usual = self.arrays.prices[1], 1 / (2 + c)
        alpha = self.arrays.prices[0] + (gamma - 1) * c * (1 - 2 * usual) / (1 + c * usual)
        nu, error = self._sums()
        nu.sort()
        f, mean = np.arange(n + 1) / n, float(nu.mean())
        a, price = 1 + c * f, alpha + beta * mean
        own, shared = c**2 / a * gamma, 2 * c**2 / a * f
        A, B = (1 - 2 * f) * own - c * alpha, shared - c * beta
        light, heavy = (np.append(0.0, np.cumsum(part)) / n for part in (nu, nu[::-1]))
        excess = f * A + np.maximum(B * light, B * heavy) + (c * f) ** 2 / a * (gamma - mean) - price
        worth = abs(alpha) + abs(beta) * mean
        size = f * (own + c * abs(alpha)) + (shared + c * abs(beta)) * heavy
        size = size + shared * f * (gamma + mean) + worth
        off = error * (f * (2 * shared + c * abs(beta)) + abs(beta))
        excess = (excess + off + 8 * n * ULP * size) / a
        return float(price + excess.max() + error * abs(beta) + 8 * n * ULP * worth)

    def _sums(self) -> tuple[np.ndarray, float]:
        """Return nu (n,) and a bound on its error."""
        n, cells = self.line.n, len(self.arrays.cells)
        rows = self.arrays.cells.sum(axis=1) / cells**2
        far = 2 * self.arrays.far[-1] + np.square(nodes(n)) / n @ kinks(n, self.arrays.far)
        waves = math.sqrt(2) * cosines(cells) @ rows
        nu = np.full(n, float(far[0] + rows.sum()))
        for j, wave in enumerate(waves, 1):
            nu += wave * np.cos(math.pi / (2 * n) * ((2 * np.arange(n) + 1) * j % (4 * n)))
        size = float(far[1] + 2 * self.low * rows.sum())
        return nu, (self.low + cells + len(self.arrays.far) + 64) * ULP * size


def nodes(n: int) -> np.ndarray:
    """Return the distances (s,) at which w is given: about one an octave, from 1 to n."""
    return np.unique(np.round(np.geomspace(1, n, round(math.log2(n)) + 1)).astype(np.int64))


def kinks(n: int, values: np.ndarray) -> np.ndarray:
    """Return the changes of slope at the nodes of what runs straight between zero and values (s,), flat in the end.

    The second column of the array (s, 2) bounds the absolute values of what they are computed from.
    """
    gaps, before = np.diff(nodes(n), prepend=0), np.append(0.0, values[:-1])
    slopes, sizes = np.append((values - before) / gaps, 0.0), np.append((values + before) / gaps, 0.0)
    return np.column_stack([np.diff(slopes), sizes[1:] + sizes[:-1]])


def hats(n: int, j: np.ndarray) -> Iterator[np.ndarray]:
    """Yield for every node d the eigenvalues of max(0, d - |x|), (sin(d t)/sin t)^2 with t = pi j/(2 n), j > 0."""
    below = np.square(np.sin(math.pi / (2 * n) * j))
    for d in nodes(n):
        turned = d * j % (2 * n)
        yield np.square(np.sin(math.pi / (2 * n) * np.minimum(turned, 2 * n - turned))) / below


def cosines(cells: int) -> np.ndarray:
    """Return n^(-1/2) e_j^T k_b = 2^(1/2) (1 - j/m) cos(pi j y_b), 0 < j < m, (m - 1 x P)."""
    j, b = np.arange(1, cosines_of(cells)), np.arange(cells)
    angles = math.pi / (2 * cells) * (np.outer(j, 2 * b + 1) % (4 * cells))
    return math.sqrt(2) * (1 - j / cosines_of(cells))[:, None] * np.cos(angles)


def low_factor(line: PathGram, low: int) -> np.ndarray:
    """Return F with F F^T = P V P on the cosines below `low`, diag(v) - r r^T = diag(v)^(1/2) (I - q q^T) diag(v)^(1/2)."""
    j = np.arange(1, low)
    roots = line.roots(j)
    q = line.ramp(j) / roots
    square = float(q @ q)
    shrunk = (1 - math.sqrt(max(0.0, 1 - square))) / (square or 1.0)
    return roots[:, None] * (np.eye(low - 1) - shrunk * np.outer(q, q))


SMOOTHINGS = tuple(0.01 * 0.5**stage for stage in range(8))
"""Relative widths of what is smoothed, one a stage; beyond the eighth the bound rises by less than .1 %."""
FINER = 3
"""The stage that finer cells begin with."""
STEPS, MEMORY = 60, 20
"""Steps of L-BFGS-B in a stage, and steps that it remembers."""
SIZES, REACH = 48, 10
"""Pattern sizes that are looked at, evenly in the logarithm, from n/(1 + E)/REACH on."""
OCTAVE = 16
"""Cosines beyond the low ones that stand for all of an octave."""
FIRST = 1e-6
"""Entries of N to begin with, beside eigenvalues of one: from zero on the search finds no direction."""
FORBIDDEN = 1e6
"""Loss of a trial step at which a logarithm is not defined."""


class RangeProblem(NamedTuple):
    """The numbers of a problem, all but the first two independent of n."""

    F: jax.Array
    """The factor of the low block of V (m - 1 x m - 1), V scaled so that its largest eigenvalue is one."""
    beyond: jax.Array
    """Sums of roots of V that a cosine beyond the low ones stands for (J,), in the same scale."""
    near: jax.Array
    """Contribution of each node of w to the eigenvalues at the low cosines, shape (m - 1, s)."""
    far: jax.Array
    """Contribution of each node of w to the eigenvalues at the other cosines, shape (J, s)."""
    sums: jax.Array
    """Contribution of each node of w to nu, shape (s,)."""
    C: jax.Array
    """The low cosines of the kernels (m - 1, P)."""
    bumps: jax.Array
    """The kernels at the centres of 2 P cells (2 P, P)."""
    f: jax.Array
    """Pattern sizes over n (K,)."""
    c: jax.Array
    """Difference E - 1 of the two levels of a row."""


class RangeSearch:
    """The search for a proof; `best` is a valid one at any moment."""

    def __init__(self, line: PathGram, epsilon: float):
        """Start with N near zero, where the proof gives the closed bound."""
        cells = CELLS[0]
        self.terms = _terms(line, epsilon, cells)
        count = int(mirrored(cells).max()) + 1
        c, f = math.expm1(epsilon), 1 / (1 + math.exp(epsilon))
        prices = np.array([c * (1 - 2 * f), 2 * c * f]) / (1 + c * f)
        self.point = np.concatenate([prices, np.full(self.terms.sums.size + count, FIRST)])
        self.best = PathProof(line, self._arrays(), epsilon)

    def run(self, seconds: float, enough: float = math.inf) -> None:
        """Run until the bound reaches `enough`, time is up or all stages on the finest cells are done."""
        with within(seconds) as time:
            for cells in CELLS:
                if cells > CELLS[0]:
                    if cosines_of(cells) > self.best.line.n or not self._smooth():
                        break
                    self._refine(cells)
                for smoothing in SMOOTHINGS[FINER if cells > CELLS[0] else 0 :]:
                    self._descend(smoothing)
                    found = replace(self.best, arrays=self._arrays())
                    self.best = max(self.best, found, key=lambda proof: proof.value)
                    if self.best.value >= enough or time.over:
                        return

    def _smooth(self) -> bool:
        """Say whether the smooth part of N is any: where it is zero on some cells, it is zero on finer ones."""
        return float(self.best.arrays.cells.max()) > 10 * FIRST

    def _refine(self, cells: int) -> None:
        """Go on with finer cells, each with the entry of the one that holds it."""
        arrays, times = self._arrays(), cells // self.terms.C.shape[1]
        count = int(mirrored(cells).max()) + 1
        entries = np.zeros(count)
        entries[mirrored(cells)] = np.kron(arrays.cells, np.ones((times, times)))
        self.terms = _terms(self.best.line, self.best.epsilon, cells)
        self.point = np.concatenate([arrays.prices, arrays.far, entries])

    def _descend(self, smoothing: float) -> None:
        """Make the steps of one stage, in which the widths do not change, so that loss and slope agree."""
        with working_in("float64"):
            width = smoothing * np.array([float(size) for size in _sizes(self.point, self.terms)])

        def fall(point: np.ndarray) -> tuple[jax.Array, jax.Array]:
            return _loss(point, self.terms, width, smoothing)

        limits = [(None, None)] * 2 + [(0, None)] * (len(self.point) - 2)
        precise = {"maxcor": MEMORY, "ftol": 1e-13, "gtol": 1e-9}
        with working_in("float64"):
            self.point = descend(fall, self.point, STEPS, limits=limits, **precise).x

    def _arrays(self) -> Arrays:
        """Return the arrays of a proof from the search variables."""
        s, cells = self.terms.sums.size, self.terms.C.shape[1]
        return Arrays(self.point[:2], self.point[2 : 2 + s], self.point[2 + s :][mirrored(cells)])


def _terms(line: PathGram, epsilon: float, cells: int) -> RangeProblem:
    """Return the numbers of a problem; beyond the low cosines one in 1/OCTAVE of an octave stands for all."""
    n, low, unit = line.n, cosines_of(cells), float(line.roots(np.ones(1))[0])
    edges = np.unique(np.round(np.geomspace(low, n, math.ceil(OCTAVE * math.log2(n / low)) + 2)).astype(int))
    middle = (edges[:-1] + edges[1:]) // 2
    beyond = np.add.reduceat(line.roots(np.arange(low, n)), edges[:-1] - low)
    slopes = np.column_stack([kinks(n, unity)[:, 0] for unity in np.eye(len(nodes(n)))])
    near, far = (np.array(list(hats(n, j))).T @ slopes / n for j in (np.arange(1, low), middle))
    usual, C = 1 / (1 + math.exp(epsilon)), cosines(cells)
    f = np.geomspace(max(usual / REACH, 1 / n), 1, SIZES)
    centres = (np.arange(2 * cells) + 0.5) / (2 * cells)
    bumps = 1 + math.sqrt(2) * np.cos(math.pi * np.outer(centres, np.arange(1, low))) @ C
    last = np.append(np.zeros(len(slopes) - 1), 2.0)
    with working_in("float64"):
        arrays = (
            low_factor(line, low) / unit,
            beyond / unit,
            near,
            far,
            np.square(nodes(n)) / n @ slopes + last,
            C,
            bumps,
            np.append(0.0, f),
            math.expm1(epsilon),
        )
        return RangeProblem(*map(jnp.asarray, arrays))


@cache
def mirrored(cells: int) -> np.ndarray:
    """Return the index (P x P) of the search variable of each entry of R, the same for mirror images."""
    a, b = np.indices((cells, cells))
    last = cells - 1
    alike = [(a, b), (b, a), (last - a, last - b), (last - b, last - a)]
    first = np.min([cells * x + y for x, y in alike], axis=0)
    return np.unique(first, return_inverse=True)[1].reshape(cells, cells)


def _parts(
    point: jax.Array, terms: RangeProblem
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]:
    """Return w, R/P^2, the mean price, slacks of user types (K, 2 P) and constants of the sizes of patterns (K,)."""
    prices, w, R = jnp.split(point, (2, 2 + terms.sums.size))
    cells = terms.C.shape[1]
    R = R[mirrored(cells)] / cells**2
    f, c, nu = terms.f, terms.c, terms.sums @ w + terms.bumps @ R.sum(axis=1)
    a = 1 + c * f
    linear = (c**2 / a)[:, None] * ((1 - 2 * f)[:, None] + jnp.outer(2 * f, nu))
    linear = linear - c * (prices[0] + prices[1] * nu)
    price = prices[0] + prices[1] * nu.mean()
    return w, R, price, linear, (c * f) ** 2 / a * (1 - nu.mean()) - price


def _excess(linear: jax.Array, constant: jax.Array, terms: RangeProblem, width: jax.Array) -> jax.Array:
    """Return the excess of every size of patterns (K,)."""
    many = linear.shape[1]
    top = largest(linear, terms.f * many, width) / many
    return (top + constant) / (1 + terms.c * terms.f)


@jax.jit
def _sizes(point: jax.Array, terms: RangeProblem) -> tuple[jax.Array, jax.Array]:
    """Return the sizes of slacks and of excesses, which the widths of what is smoothed are relative to."""
    _, _, price, linear, constant = _parts(point, terms)
    size = jnp.abs(linear).max()
    excess = _excess(linear, constant, terms, 1e-9 * size)
    return size, jnp.abs(price) + jnp.abs(excess).max()


@jax.jit
@partial(jax.value_and_grad, argnums=0)
def _loss(point: jax.Array, terms: RangeProblem, width: jax.Array, barrier: float) -> jax.Array:
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
    return jnp.where(inside, value - barrier / len(low) * volume, FORBIDDEN)
