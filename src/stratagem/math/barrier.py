"""A small concave program, solved by Newton's method with logarithmic barriers."""

from __future__ import annotations

import numpy as np

FIRST, SHRINK = 1e-2, 0.1
"""Weight of the barriers at the start, and its factor from round to round."""
STEPS = 40
"""Newton steps a round at most; five are usual."""


def maximise(
    gains: np.ndarray, G: np.ndarray, C: np.ndarray, gap: float = 1e-8
) -> tuple[np.ndarray, np.ndarray]:
    """Return x (k,) that nearly maximises sum_l gains_l sqrt((G x)_l) and the forces on the rows of G (r,).

    Subject to G x >= 0, C x <= 1 and x >= 0 but for its first entry; gains >= 0 (r,), G (r x k) with ones in the
    first column and no entry below -1, C (q x k) > 0. The forces are the derivatives by G x of the logarithm of
    the sum and of the barriers.
    """
    rows, k = G.shape
    x = np.full(k, 0.1 / k)
    x[0] = 0.5
    x /= 2 * (C @ x).max()
    weight = FIRST
    while True:
        barrier = _Barrier(gains / gains.sum(), G, C, weight)
        x = barrier.centre(x)
        if weight * (rows + len(C) + k) <= gap:
            return x, barrier.forces(x)
        weight *= SHRINK


class _Barrier:
    """-log sum_l gains_l sqrt((G x)_l) - weight * (logarithms of everything that must stay positive)."""

    def __init__(self, gains: np.ndarray, G: np.ndarray, C: np.ndarray, weight: float):
        self.gains, self.G, self.C, self.weight = gains, G, C, weight

    def value(self, x: np.ndarray) -> float:
        """Return the value of the function at x (k,), infinite outside the interior."""
        g, slack = self.G @ x, 1 - self.C @ x
        if min(g.min(), slack.min(), x[1:].min(initial=1.0)) <= 0:
            return np.inf
        logs = np.log(g).sum() + np.log(slack).sum() + np.log(x[1:]).sum()
        return float(-np.log(self.gains @ np.sqrt(g)) - self.weight * logs)

    def forces(self, x: np.ndarray) -> np.ndarray:
        """Return minus the derivatives of the function by G x, shape (r,)."""
        g = self.G @ x
        return self.gains / (2 * np.sqrt(g) * (self.gains @ np.sqrt(g))) + self.weight / g

    def centre(self, x: np.ndarray) -> np.ndarray:
        """Return a point near the minimum, from x in the interior."""
        for _ in range(STEPS):
            gradient, hessian = self.derivatives(x)
            step = -np.linalg.lstsq(hessian, gradient)[0]
            decrease = -float(gradient @ step)
            if not decrease > 1e-3 * self.weight:
                break
            length, value = 1.0, self.value(x)
            while not self.value(x + length * step) <= value - 0.1 * length * decrease:
                length /= 2
                if length < 1e-9:
                    return x
            x = x + length * step
        return x

    def derivatives(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradient (k,) and Hessian (k x k)."""
        g, slack = self.G @ x, 1 - self.C @ x
        total = self.gains @ np.sqrt(g)
        slopes = self.G.T @ (self.gains / (2 * np.sqrt(g))) / total
        gradient = -self.G.T @ self.forces(x) + self.weight * self.C.T @ (1 / slack)
        gradient[1:] -= self.weight / x[1:]
        bends = self.gains / (4 * g**1.5 * total) + self.weight / g**2
        hessian = (self.G.T * bends) @ self.G + np.outer(slopes, slopes)
        hessian += self.weight * (self.C.T / slack**2) @ self.C
        hessian[np.diag_indices(len(x))] += np.append(0.0, self.weight / x[1:] ** 2)
        return gradient, hessian
