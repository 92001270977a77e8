"""What patterns that are not listed are worth at most under a prior, by their sizes and masses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from stratagem.bounds.allowance import ULP

EACH, GROWTH = 64, 1.05
"""Size up to which every one is looked at by itself, and by what factor the groups of larger sizes grow."""
PARTS, FINE, ROUNDS, WORK = 16, 1e-5, 6, 1 << 22
"""Parts of the masses of a size, and of each part where the relative error is larger; how often, and most entries of
their rows."""
HALVINGS, LIGHT = 30, 1e-4
"""Bisections of a multiplier, any of which gives a valid bound, and least h by which its range is divided."""


class Terms(NamedTuple):
    """Numerators linear x + constant of patterns x at masses f (K,), over a^2."""

    linear: np.ndarray
    """(K, n)"""
    constant: np.ndarray
    square: float
    """Half the second derivative of linear x + constant by f."""


class Boxes(NamedTuple):
    """Ranges of sizes and of masses (B,)."""

    fewest: np.ndarray
    most: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @staticmethod
    def beyond(p: np.ndarray, size: int) -> Boxes:
        """Return boxes for all patterns of more types than a size."""
        fewest = groups(size + 1, len(p))
        most = np.append(fewest[1:], len(p) + 1) - 1
        least, largest = masses(p)
        error = len(p) * ULP
        whole = Boxes(fewest, most, least[fewest] * (1 - error), largest[most] * (1 + error))
        return whole.divided(np.full(len(fewest), True))

    def divided(self, chosen: np.ndarray) -> Boxes:
        """Return the parts of the chosen ones (B,), equal ranges of masses."""
        fewest, most, low, high = (side[chosen].repeat(PARTS) for side in self)
        part = np.tile(np.arange(PARTS), int(chosen.sum()))
        ends = (low + (high - low) * share / PARTS for share in (part, part + 1))
        return Boxes(fewest, most, *ends)


def groups(first: int, n: int) -> np.ndarray:
    """Return the least size of each group of the sizes first, ..., n: one by one up to 64, then wider and wider."""
    sizes = [first]
    while (following := max(sizes[-1] + 1, int(sizes[-1] * GROWTH) if sizes[-1] >= EACH else 0)) <= n:
        sizes.append(following)
    return np.array(sizes)


def masses(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and the largest mass of patterns of 0, 1, ..., n types (n + 1,)."""
    inorder = np.sort(p)
    return np.append(0.0, np.cumsum(inorder)), np.append(0.0, np.cumsum(inorder[::-1]))


def largest(terms: Callable[[np.ndarray], Terms], p: np.ndarray, c: float, listed: int) -> float:
    """Return a bound on (linear x + constant)/a^2, a = n (1 + c f), of all patterns of more types than are listed."""
    found, level, boxes, left = -math.inf, -math.inf, Boxes.beyond(p, listed), ROUNDS
    while True:
        middle, most, _ = within(terms, p, c, boxes, level)
        level, left = max(level, float(middle.max())), left - 1
        wide = most > level + FINE * abs(level)
        if not left or not wide.any() or PARTS * int(wide.sum()) * len(p) > WORK:
            return max(found, float(most.max()))
        found = max(found, float(most[~wide].max(initial=-math.inf)))
        boxes = boxes.divided(wide)


def within(
    terms: Callable[[np.ndarray], Terms], p: np.ndarray, c: float, boxes: Boxes, level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return about what is reached in the middle of boxes, what bounds all of them, and their multipliers t (B,).

    For any t and u the numerator is at most constant + t (n f - h^T x) + u (k - 1^T x) + linear x for patterns of k
    types and mass f, whatever x in [0, 1]^n. For given x, t and u that is quadratic in f, and so it is less a level
    times a^2: between two masses it is below the larger end, or above it by a quarter of the square of the step where
    it is concave. Any level is valid; the best is the largest (linear x + constant)/a^2.
    """
    n, f, k = len(p), (boxes.low + boxes.high) / 2, (boxes.fewest + boxes.most) // 2
    h, rows = n * p, np.arange(len(boxes.low))
    linear, constant, _ = terms(f)
    t = tilts(linear, h, k, n * f)
    tilted = -np.sort(np.outer(t, h) - linear, axis=1)
    u, a = tilted[rows, k - 1], n * (1 + c * f)
    reached = (constant + t * n * f + tilted.cumsum(axis=1)[rows, k - 1]) / a**2
    level = max(level, float(reached.max()))

    def end(f: np.ndarray) -> tuple[np.ndarray, float]:
        linear, constant, square = terms(f)
        positive = np.maximum(linear - np.outer(t, h) - u[:, None], 0).sum(axis=1)
        counted = np.maximum(u * boxes.fewest, u * boxes.most)
        return constant + t * n * f + counted + positive - level * (n * (1 + c * f)) ** 2, square

    (left, square), (right, _) = end(boxes.low), end(boxes.high)
    concave = max(0.0, level * (n * c) ** 2 - square)
    rounding = 16 * n * ULP * (n * (np.abs(t) + np.abs(u)) + abs(level) * a**2 * 4)
    worst = np.maximum(left, right) + concave * np.square((boxes.high - boxes.low) / 2) + rounding
    nearest = np.where(worst > 0, boxes.low, boxes.high)
    return reached, level + worst / (n * (1 + c * nearest)) ** 2, t


def tilts(linear: np.ndarray, h: np.ndarray, sizes: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """Return for every row the t (K,) at which the largest entries of linear - t h, as many as a size, have a mass."""
    rows = np.arange(len(linear))
    reach = 4 * np.abs(linear).max(axis=1) / max(float(h[h > 0].min()), LIGHT)
    low, high = -reach, reach
    for _ in range(HALVINGS):
        t = (low + high) / 2
        order = np.argsort(np.outer(t, h) - linear, axis=1)
        heavy = h[order].cumsum(axis=1)[rows, sizes - 1] > mass
        low, high = np.where(heavy, t, low), np.where(heavy, high, t)
    return (low + high) / 2
