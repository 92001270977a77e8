"""Mixing weights of patterns whose information has common eigenvectors: a convex problem on the simplex."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

UPDATES = 60
"""Multiplicative updates that choose the patterns to begin with."""
FAINT = 1e-9
"""Weight below which a pattern leaves the working set."""
SPARE = 64
"""Patterns of a working set beyond one for each cost: so many suffice for a minimum."""
STEPS = 100
"""Newton steps on one working set; some 15 to 30 are used."""
INTERIOR = 0.99
"""Largest share of the way to the boundary that a step may go."""
RIDGE = 1e-14
"""Multiple of the mean diagonal added to the Hessian: patterns of equal energies make it singular."""
BLOCK = 1 << 22
"""Entries of the energies that are cast to double precision at a time."""


class SimplexWeights(NamedTuple):
    """Weights on the simplex, and how far from the best they can be."""

    weights: np.ndarray
    """(B,), nonnegative, sum 1."""
    value: float
    """sum_c costs_c / (sum_b w_b e_bc)."""
    gap: float
    """max_b gain_b / value - 1: the value is at most 1 + gap times the minimum."""


class _Point(NamedTuple):
    value: float
    gains: np.ndarray
    """sum_c costs_c e_bc / m_c^2 (B,), minus the gradient; its mean under the weights is the value."""

    @property
    def gap(self) -> float:
        return max(0.0, float(self.gains.max()) / self.value - 1)


def simplex_weights(
    energies: np.ndarray, costs: np.ndarray, start: np.ndarray | None = None, tolerance: float = 1e-9
) -> SimplexWeights:
    """Minimise f(w) = sum_c costs_c / m_c, m_c = sum_b w_b e_bc, over weights w >= 0 of sum 1.

    `energies` e (B, C), single or double precision, and `costs` (C,), both nonnegative; `start` (B,), positive
    where a pattern is thought useful. For any weights w' Cauchy-Schwarz gives
    f(w)^2 <= f(w') sum_b w'_b gain_b, gain_b = sum_c costs_c e_bc / m_c^2, hence f(w) <= (1 + gap) min f.
    f is homogeneous of degree -1, so the minimum of f(w) + sum w over w >= 0 has the same direction: a
    primal-dual barrier method finds it on a working set, to which undervalued patterns are added.

    Raises:
        ValueError: if a cost is positive where no pattern has energy.
    """
    asked = costs > 0
    energies, costs = (energies, costs) if asked.all() else (energies[:, asked], costs[asked])
    if not len(costs):
        return SimplexWeights(np.full(len(energies), 1 / len(energies)), 0.0, 0.0)
    costs = costs.astype(float)
    w = _multiplied(energies, costs, start)
    at, values = _point(energies, costs, w), [np.inf]
    while at.gap > tolerance and (len(values) == 1 or values[-1] < values[-2]):
        chosen = _working(w, at, len(costs) + SPARE, first=len(values) == 1)
        start, w = w[chosen], np.zeros(len(w))
        w[chosen] = _barrier(energies[chosen], costs, start, 0.1 * tolerance)
        at = _point(energies, costs, w)
        values.append(at.value)
    return SimplexWeights(w, at.value, at.gap)


def _multiplied(energies: np.ndarray, costs: np.ndarray, start: np.ndarray | None) -> np.ndarray:
    """Return weights after the monotone updates w <- w sqrt(gain), normalised."""
    w = np.full(len(energies), 1 / len(energies))
    if start is not None:
        w = 0.9 * start / start.sum() + 0.1 * w
    for _ in range(UPDATES):
        w = w * np.sqrt(_point(energies, costs, w).gains)
        w /= w.sum()
    return w


def _working(w: np.ndarray, at: _Point, most: int, first: bool) -> np.ndarray:
    """Return the numbers of the patterns in use and of at most `most` of the most undervalued.

    Before the `first` barrier all patterns are in use, of which `most` suffice.
    """
    heavy = np.argsort(-w, kind="stable")[: most if first else (w > FAINT).sum()]
    undervalued = np.argsort(-at.gains, kind="stable")[:most]
    return np.union1d(heavy, undervalued[at.gains[undervalued] > at.value])


def _barrier(energies: np.ndarray, costs: np.ndarray, start: np.ndarray, tolerance: float) -> np.ndarray:
    """Return the weights (B,) that minimise f(w) + sum w, normalised, by Newton steps on w_b z_b = mu.

    z = 1 - gains are the multipliers of w >= 0; then sum w z / sum w is the gap.
    """
    B = len(start)
    x = start / start.sum() + 1e-3 / B
    x /= x.sum()
    costs = costs / _point(energies, costs, x).value
    mu = 0.1 / B
    z = mu / x
    for _ in range(STEPS):
        at, hessian = _point(energies, costs, x), _hessian(energies, costs, x)
        if (x @ z) <= tolerance * x.sum() and at.gains.max() * x.sum() <= (1 + tolerance) * at.value:
            break
        hessian[np.diag_indices(B)] += z / x + RIDGE * np.trace(hessian) / B
        dx = np.linalg.solve(hessian, at.gains - 1 + mu / x)
        dz = mu / x - z - z / x * dx
        step = _shortened(energies, costs, x, dx, mu, _longest(x, dx))
        if step == 0:
            break
        along = _longest(z, dz)
        x, z = x + step * dx, z + along * dz
        mu = float(x @ z) / B * (0.1 if min(step, along) > 0.9 else 0.5)
    return x / x.sum()


def _longest(x: np.ndarray, dx: np.ndarray) -> float:
    """Return the longest step, at most 1, that leaves x + step dx well inside the positive orthant."""
    falling = dx < 0
    return min(1.0, INTERIOR * float((-x[falling] / dx[falling]).min(initial=np.inf)))


def _shortened(
    energies: np.ndarray, costs: np.ndarray, x: np.ndarray, dx: np.ndarray, mu: float, step: float
) -> float:
    """Halve the step until f + sum x - mu sum log x does not rise beyond rounding; 0 if it always does."""
    m, dm = _mixed(energies, x), _mixed(energies, dx)

    def rise(step: float) -> float:
        fractions = costs * (-step * dm) / (m * (m + step * dm))
        return float(fractions.sum() + step * dx.sum() - mu * np.log1p(step * dx / x).sum())

    for _ in range(40):
        if rise(step) <= 1e-15:
            return step
        step /= 2
    return 0.0


def _point(energies: np.ndarray, costs: np.ndarray, w: np.ndarray) -> _Point:
    """Return the value and the gains at w.

    Raises:
        ValueError: as `simplex_weights`.
    """
    m, value, gains = _mixed(energies, w), 0.0, np.zeros(len(w))
    if not (m > 0).all():
        raise ValueError(
            "no pattern tells apart some user types that the queries ask about: add patterns with energy there."
        )
    for block in _blocks(energies):
        value += float((costs[block] / m[block]).sum())
        gains += energies[:, block].astype(float, copy=False) @ (costs[block] / m[block] ** 2)
    return _Point(value, gains)


def _mixed(energies: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return sum_b w_b e_b (C,)."""
    return np.concatenate([w @ energies[:, block].astype(float, copy=False) for block in _blocks(energies)])


def _hessian(energies: np.ndarray, costs: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return 2 sum_c costs_c e_bc e_ac / m_c^3 (B, B)."""
    m, total = _mixed(energies, w), np.zeros((len(w), len(w)))
    for block in _blocks(energies):
        scaled = energies[:, block] * np.sqrt(2 * costs[block] / m[block] ** 3)
        total += scaled @ scaled.T
    return total


def _blocks(energies: np.ndarray) -> list[slice]:
    width = max(1, BLOCK // len(energies))
    return [slice(first, first + width) for first in range(0, energies.shape[1], width)]
