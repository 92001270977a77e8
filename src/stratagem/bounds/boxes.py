"""Every answer that two or three numbers may be given, checked box by box: the exact pricing of few queries."""

from __future__ import annotations

import itertools
import math

import numpy as np

from stratagem.bounds.sweep import Peaks

CLIMBS = 40
"""Steps of an ascent; about ten are usual."""
ROUNDS, BOXES = 40, 1 << 15
"""Times that boxes are halved in every direction, and boxes at once, after which the largest ceiling counts."""
HIGHEST = 64
"""Boxes from whose middles ascents start."""
CHUNK = 1 << 21
"""Numbers of one array."""


def climbed(prices: np.ndarray, weights: np.ndarray, E: float, starts: np.ndarray) -> Peaks:
    """Return local maxima of sum_i (c_i + (E - 1) max(c_i, 0)), c_i(t) = lambda_i + mu_i^T t - h_i ||t||^2.

    From each start (k x r) the pattern s that pays most at t, and the t that pays most for s, take turns: the sum
    never falls, and both are closed forms. Prices are (lambda, mu), shape (n, 1 + r); points are unique.
    """
    t = starts
    s = _pattern(prices, weights, E, t)
    for _ in range(CLIMBS):
        t = s @ prices[:, 1:] / (2 * s @ weights)[:, None]
        following = _pattern(prices, weights, E, t)
        if (following == s).all():
            break
        s = np.unique(following, axis=0)
    t = s @ prices[:, 1:] / (2 * s @ weights)[:, None]
    values = s @ prices[:, 0] + (s @ weights) * np.square(t).sum(axis=1)
    return Peaks(t, values)


def _pattern(prices: np.ndarray, weights: np.ndarray, E: float, t: np.ndarray) -> np.ndarray:
    """Return E where c_i(t) is positive, 1 elsewhere (k x n)."""
    c = prices[:, 0] + t @ prices[:, 1:].T - np.outer(np.square(t).sum(axis=1), weights)
    return np.where(c > 0, E, 1.0)


def ceiling(prices: np.ndarray, weights: np.ndarray, E: float, enough: float) -> tuple[float, np.ndarray]:
    """Return a number that the sum of `climbed` exceeds nowhere, and answers that show why it is above `enough`.

    All maxima lie in a ball. Over a box c_i lies between two numbers, and the convex max(c, E c) lies below its
    chord between them; so the sum lies below one concave quadratic, whose maximum over the box is a closed form.
    Boxes whose ceiling is above `enough` are halved in every direction, until an ascent from their middles
    shows an excess (k x r), or until there are too many. There are none where `enough` holds.
    """
    reach = _reach(prices, weights, E)
    r = prices.shape[1] - 1
    corners = np.array(list(itertools.product([-0.5, 0.5], repeat=r)))
    centres, half = np.zeros((1, r)), reach
    settled, top, highest = -math.inf, np.array([math.inf]), centres
    for _ in range(ROUNDS):
        top = _tops(prices, weights, E, centres, half)
        settled = max(settled, float(top[top <= enough].max(initial=-math.inf)))
        centres, top = centres[top > enough], top[top > enough]
        if len(centres) == 0:
            return settled, centres
        highest = centres[np.argsort(-top)[:HIGHEST]]
        if climbed(prices, weights, E, highest).values.max() > enough or len(centres) << r > BOXES:
            break
        centres = (centres[:, None] + half * corners).reshape(-1, r)
        half /= 2
    return max(settled, float(top.max())), highest


def _reach(prices: np.ndarray, weights: np.ndarray, E: float) -> float:
    """Return a length beyond every coordinate of every maximum, t = sum_i s_i mu_i / (2 sum_i s_i h_i)."""
    return float(E * np.abs(prices[:, 1:]).sum(axis=0).max() / (2 * weights.sum())) * (1 + 1e-9)


def _tops(prices: np.ndarray, weights: np.ndarray, E: float, centres: np.ndarray, half: float) -> np.ndarray:
    """Return the ceiling over every box centre + [-half, half]^r (k,)."""
    size = max(1, CHUNK // prices.size)
    parts = [centres[k : k + size] for k in range(0, len(centres), size)]
    return np.concatenate([_top(prices, weights, E, part, half) for part in parts])


def _top(prices: np.ndarray, weights: np.ndarray, E: float, centres: np.ndarray, half: float) -> np.ndarray:
    """Return the ceiling over every box of a few (k,)."""
    constant, linear = prices[:, 0], prices[:, 1:]
    low, high = np.broadcast_to(constant, (2, len(centres), len(prices))).copy()
    for mu, middle in zip(linear.T, centres.T, strict=True):
        first, last = (middle - half)[:, None], (middle + half)[:, None]
        ends = mu * first - weights * first**2, mu * last - weights * last**2
        low += np.minimum(*ends)
        vertex = np.divide(mu, 2 * weights, where=weights > 0, out=np.copysign(np.inf, mu))
        best = np.clip(vertex, first, last)
        high += mu * best - weights * best**2
    chord = (np.maximum(high, E * high) - np.maximum(low, E * low)) / np.where(high > low, high - low, 1.0)
    slope = np.where(low >= 0, E, np.where(high <= 0, 1.0, np.where(high > low, chord, E)))
    rest = np.maximum(low, E * low) - slope * low
    square, slopes = slope @ weights, slope @ linear
    t = np.clip(slopes / (2 * square)[:, None], centres - half, centres + half)
    return rest.sum(axis=1) + slope @ constant + ((slopes - square[:, None] * t) * t).sum(axis=1)
