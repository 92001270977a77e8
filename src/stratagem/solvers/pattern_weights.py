"""Optimal weights of patterns whose information matrices share eigenvectors: a convex problem on the simplex."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from stratagem.math.linalg import reach

UPDATES = 60
"""Number of multiplicative updates that select the first working set of patterns."""
FAINT = 1e-9
"""Weight below which a pattern leaves the working set."""
SPARE = 64
"""Number of patterns in a working set beyond one for each cost; one for each cost is enough for a minimum."""
HALVINGS = 40
"""Number of times that a step is halved before it is abandoned."""
ROUNDING = 1e-15
"""Rise of the function, scaled to a value near 1, that is attributed to rounding."""
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
    """Weights w of the patterns (B,), nonnegative, of sum 1."""
    value: float
    """sum_c costs_c / (sum_b w_b e_bc)."""
    gap: float
    """max_b gain_b / value - 1: the value is at most 1 + gap times the minimum."""


class _Point(NamedTuple):
    """The function f at given weights, with its negative gradient."""

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

    `energies` e (B, C), in single or double precision, and `costs` (C,) are nonnegative. `start` (B,) is a
    guess of the weights. For any weights w' Cauchy-Schwarz gives f(w)^2 <= f(w') sum_b w'_b gain_b, gain_b =
    sum_c costs_c e_bc / m_c^2, hence f(w) <= (1 + gap) min f. f is homogeneous of degree -1, so the minimum
    of f(w) + sum w over w >= 0 has the same direction: a primal-dual barrier method finds it on a working
    set, to which undervalued patterns are added.

    Raises:
        ValueError: if a cost is positive where no pattern has energy.
    """
    asked = costs > 0
    energies, costs = (energies, costs) if asked.all() else (energies[:, asked], costs[asked])
    if not len(costs):
        return SimplexWeights(np.full(len(energies), 1 / len(energies)), 0.0, 0.0)
    costs, most = costs.astype(float), len(costs) + SPARE
    w = _first(energies, costs, start, most)
    at, values = _point(energies, costs, _mixed(energies, w)), [np.inf]
    while at.gap > tolerance and (len(values) == 1 or values[-1] < values[-2]):
        chosen = _covering(energies, w, _working(w, at, most, first=len(values) == 1))
        start, w = w[chosen], np.zeros(len(w))
        w[chosen] = _barrier(energies[chosen], costs, start, 0.1 * tolerance)
        at = _point(energies, costs, _mixed(energies, w))
        values.append(at.value)
    return SimplexWeights(w, at.value, at.gap)


def _first(energies: np.ndarray, costs: np.ndarray, start: np.ndarray | None, most: int) -> np.ndarray:
    """Return the initial weights (B,), after monotone updates w <- w sqrt(gain) if there are more than `most`."""
    w = np.full(len(energies), 1 / len(energies))
    if start is not None:
        w = 0.9 * start / start.sum() + 0.1 * w
    for _ in range(UPDATES if len(w) > most else 0):
        w = w * np.sqrt(_point(energies, costs, _mixed(energies, w)).gains)
        w /= w.sum()
    return w


def _working(w: np.ndarray, at: _Point, most: int, first: bool) -> np.ndarray:
    """Return the indices of the patterns in use and of at most `most` patterns whose gain exceeds the value.

    Before the first barrier method (`first`) every pattern has a weight; then the `most` heaviest are taken.
    """
    heavy = np.argsort(-w, kind="stable")[: most if first else (w > FAINT).sum()]
    undervalued = np.argsort(-at.gains, kind="stable")[:most]
    return np.union1d(heavy, undervalued[at.gains[undervalued] > at.value])


def _covering(energies: np.ndarray, w: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """Return the indices `chosen` with others added, so that the chosen patterns have energy for every cost c.

    Where no chosen pattern has energy, the pattern with the largest w_b e_bc is added.
    """
    unrepresented = np.concatenate(
        [(energies[chosen, block] == 0).all(axis=0) for block in _blocks(energies)]
    )
    return np.union1d(chosen, (w[:, None] * energies[:, unrepresented]).argmax(axis=0))


def _barrier(energies: np.ndarray, costs: np.ndarray, start: np.ndarray, tolerance: float) -> np.ndarray:
    """Return the weights (B,) that minimise f(w) + sum w, normalised, by Newton steps on w_b z_b = mu.

    z = 1 - gains are the multipliers of w >= 0; then sum w z / sum w is the gap.
    """
    B = len(start)
    x = start / start.sum() + 1e-3 / B
    x /= x.sum()
    m = _mixed(energies, x)
    costs = costs / _point(energies, costs, m).value
    mu = 0.1 / B
    z = mu / x
    for _ in range(STEPS):
        at = _point(energies, costs, m)
        if (x @ z) <= tolerance * x.sum() and at.gains.max() * x.sum() <= (1 + tolerance) * at.value:
            break
        hessian = _hessian(energies, costs, m)
        hessian[np.diag_indices(B)] += z / x + RIDGE * np.trace(hessian) / B
        dx = np.linalg.solve(hessian, at.gains - 1 + mu / x)
        dz, dm = mu / x - z - z / x * dx, _mixed(energies, dx)

        step = _shortened(partial(_rise, costs, m, dm, x, dx, mu), min(1.0, INTERIOR * reach(x, dx)))
        if step == 0:
            break
        along = min(1.0, INTERIOR * reach(z, dz))
        x, z, m = x + step * dx, z + along * dz, m + step * dm
        mu = float(x @ z) / B * (0.1 if min(step, along) > 0.9 else 0.5)
    return x / x.sum()


def _rise(
    costs: np.ndarray, m: np.ndarray, dm: np.ndarray, x: np.ndarray, dx: np.ndarray, mu: float, step: float
) -> float:
    """Return by how much a step changes f + sum x - mu sum log x, without cancellation."""
    fractions = costs * (-step * dm) / (m * (m + step * dm))
    return float(fractions.sum() + step * dx.sum() - mu * np.log1p(step * dx / x).sum())


def _shortened(rise: Callable[[float], float], step: float) -> float:
    """Halve the step until the function does not rise beyond rounding; 0 if it always does."""
    for _ in range(HALVINGS):
        if rise(step) <= ROUNDING:
            return step
        step /= 2
    return 0.0


def _point(energies: np.ndarray, costs: np.ndarray, m: np.ndarray) -> _Point:
    """Return the value and the gains at weights whose mean energies are m (C,)."""
    if not (m > 0).all():
        raise ValueError(
            "no pattern tells apart some user types that the queries ask about: add patterns with energy there"
        )
    gains = np.zeros(len(energies))
    for block in _blocks(energies):
        gains += energies[:, block].astype(float, copy=False) @ (costs[block] / m[block] ** 2)
    return _Point(float((costs / m).sum()), gains)


def _mixed(energies: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the mean energies m = sum_b w_b e_b (C,)."""
    return np.concatenate([w @ energies[:, block].astype(float, copy=False) for block in _blocks(energies)])


def _hessian(energies: np.ndarray, costs: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Return the Hessian of f, 2 sum_c costs_c e_bc e_ac / m_c^3 (B, B)."""
    total = np.zeros((len(energies), len(energies)))
    for block in _blocks(energies):
        scaled = energies[:, block] * np.sqrt(2 * costs[block] / m[block] ** 3)
        total += scaled @ scaled.T
    return total


def _blocks(energies: np.ndarray) -> list[slice]:
    width = max(1, BLOCK // len(energies))
    return [slice(first, first + width) for first in range(0, energies.shape[1], width)]
