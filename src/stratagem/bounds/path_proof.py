"""A lower bound for prefixes and ranges of up to a million values from a few small arrays, in O(n log n)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from stratagem.bounds.allowance import root_trace, safe
from stratagem.workloads.line import Line

LOW, CELLS = 32, 24
"""Cosines m in which the smooth part of N lies, the constant one included, and cells P on which it is given. At
n = 2^16 and epsilon 4, m = 48 gains .3 %, 96 another .3 %."""
ULP = float(np.finfo(float).eps)


class Arrays(NamedTuple):
    """What a proof consists of; N has eigenvalues of size one."""

    prices: np.ndarray
    """alpha and beta."""
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

    is the mean of two Fejer kernels, at u + 1/2 -+ n y_b: so N >= 0. In the cosines of `Line` the first part is
    diagonal, the second lies in the first m. G = gamma I - N is thus a block of m - 1 and a diagonal, and V a diagonal
    less a ramp: seen from the low cosines and from those others on which the ramp is zero, F^T G F is a block and a
    diagonal, which loses no more than its largest root to the ramp; eigenvalues seen from a subspace are never larger.

    The diagonal of N need not be zero, as x^T N x >= 0 holds all the same. With lambda = (alpha + beta nu)/n the slack
    of a user type in patterns of k types is A_k + B_k nu_u: one sort of nu = N 1 finds the worst pattern of every size.
    """

    line: Line
    arrays: Arrays
    epsilon: float

    def __post_init__(self) -> None:
        """Check what the proof takes for granted.

        Raises:
            ValueError: if N is negative somewhere, or there are fewer values than cosines.
        """
        if self.line.n < LOW or min(self.arrays.far.min(), self.arrays.cells.min()) < 0:
            raise ValueError(
                f"a proof for {self.line.n} values was given, but needs at least {LOW} and no negative entry in its "
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
        least = float(np.linalg.eigvalsh(low)[0]) - error - 8 * LOW * ULP * float(np.linalg.norm(low))
        lift = max(0.0, -least, -float(beyond.min(initial=1.0)))
        S = self._low_roots(low + lift * np.eye(len(low)), error) + self._far_roots(beyond + lift)
        D = self._allowed(1 + lift)
        return safe(self.line.total + (S * S / D if D > 0 and math.isfinite(D) else 0.0), self.epsilon)

    def _spectrum(self) -> tuple[np.ndarray, float, np.ndarray]:
        """Return G on the low cosines, its error in the norm, and its other eigenvalues, errors taken off."""
        n, C = self.line.n, cosines()
        far = np.zeros((2, n - 1))
        for pair, hat in zip(kinks(n, self.arrays.far), hats(n, np.arange(1, n)), strict=True):
            far += np.outer(pair, hat / n)
        error = (len(self.arrays.far) + 32) * ULP * far[1]
        kept = LOW - 1
        low = np.diag(1 - far[0, :kept]) - C @ self.arrays.cells @ C.T / CELLS**2
        entries = 2 * float(self.arrays.cells.sum()) / CELLS**2
        block = LOW * (2 * CELLS + 32) * ULP * entries + float(error[:kept].max())
        return (low + low.T) / 2, block, (1 - far[0] - error)[kept:]

    def _low_roots(self, low: np.ndarray, error: float) -> float:
        """Return tr (F^T G F)^(1/2) on the low cosines; F = diag(v)^(1/2) (I - q q^T)^(1/2) is known exactly."""
        F = low_factor(self.line)
        norm = float(np.linalg.norm(low))
        error = (error + 16 * LOW * ULP * norm) * float(np.square(F).sum())
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
        size = (
            f * (own + c * abs(alpha))
            + (shared + c * abs(beta)) * heavy
            + shared * f * (gamma + mean)
            + worth
        )
        off = error * (f * (2 * shared + c * abs(beta)) + abs(beta))
        excess = (excess + off + 8 * n * ULP * size) / a
        return float(price + excess.max() + error * abs(beta) + 8 * n * ULP * worth)

    def _sums(self) -> tuple[np.ndarray, float]:
        """Return nu (n,) and a bound on its error."""
        n, rows = self.line.n, self.arrays.cells.sum(axis=1) / CELLS**2
        far = 2 * self.arrays.far[-1] + np.square(nodes(n)) / n @ kinks(n, self.arrays.far)
        waves = math.sqrt(2) * cosines() @ rows
        nu = np.full(n, float(far[0] + rows.sum()))
        for j, wave in enumerate(waves, 1):
            nu += wave * np.cos(math.pi / (2 * n) * ((2 * np.arange(n) + 1) * j % (4 * n)))
        size = float(far[1] + 2 * LOW * rows.sum())
        return nu, (LOW + CELLS + len(self.arrays.far) + 64) * ULP * size


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


def cosines() -> np.ndarray:
    """Return n^(-1/2) e_j^T k_b = 2^(1/2) (1 - j/m) cos(pi j y_b), 0 < j < m, (m - 1 x P)."""
    j, b = np.arange(1, LOW), np.arange(CELLS)
    angles = math.pi / (2 * CELLS) * (np.outer(j, 2 * b + 1) % (4 * CELLS))
    return math.sqrt(2) * (1 - j / LOW)[:, None] * np.cos(angles)


def low_factor(line: Line) -> np.ndarray:
    """Return F with F F^T = P V P on the first cosines, diag(v) - r r^T = diag(v)^(1/2) (I - q q^T) diag(v)^(1/2)."""
    j = np.arange(1, LOW)
    roots = line.roots(j)
    q = line.ramp(j) / roots
    square = float(q @ q)
    shrunk = (1 - math.sqrt(max(0.0, 1 - square))) / (square or 1.0)
    return roots[:, None] * (np.eye(LOW - 1) - shrunk * np.outer(q, q))
