"""The exact pricing of few queries: a check of prices against every possible answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stratagem.math.deadline import deadline


class Peaks(NamedTuple):
    """Local maxima of the excess over the prices, as a function of the answer."""

    points: np.ndarray
    """Answers t (k,), ascending."""
    values: np.ndarray
    """The excess there (k,), the largest between two changes."""


def peaks(prices: np.ndarray, weights: np.ndarray, E: float) -> Peaks:
    """Return the local maxima of sum_i (c_i + (E - 1) max(c_i, 0)), c_i(t) = lambda_i + mu_i t - h_i t^2.

    For a given t the pattern that pays most holds the i with c_i(t) > 0; each of these quadratics changes its
    sign at most twice, so at most 2 n + 1 patterns are ever best and one sort finds them: O(n log n). Between
    two changes the sum is a concave quadratic, as the weights h (n,), nonnegative, are not all zero.

    Prices are (lambda, mu), shape (n, 2). Values are from above: what rounding may take from sums of 2 n terms,
    each E times a term of c, is added.
    """
    first, last = _positive(prices[:, 0], prices[:, 1], weights)
    coefficients = np.column_stack([prices, weights])
    changes = np.concatenate([first, last])
    order = np.argsort(changes, kind="stable")
    jumps = (E - 1) * np.concatenate([coefficients, -coefficients])[order]
    sums = coefficients.sum(axis=0) + np.cumsum(np.vstack([np.zeros(3), jumps]), axis=0)
    reach = _reach(prices, weights, E) or 1.0  # no maximum is farther out
    ends = np.clip(np.concatenate([[-np.inf], changes[order], [np.inf]]), -reach, reach)
    left, right = ends[:-1], ends[1:]
    proper = left < right
    constant, linear, square = sums[proper].T
    t = np.clip(linear / (2 * square), left[proper], right[proper])
    return Peaks(t, constant + (linear - square * t) * t + rounding(prices, weights, E, np.abs(t)))


def rounding(prices: np.ndarray, weights: np.ndarray, E: float, reach: np.ndarray) -> np.ndarray:
    """Return a bound on the error of sum_i E c_i(t) in float64, ||t|| = reach (k,): 2 n terms lose 2 n ulp."""
    size = np.abs(prices).sum(axis=0)
    terms = size[0] + size[1:].sum() * reach + weights.sum() * reach**2
    return 8 * len(weights) * np.finfo(float).eps * E * terms


def _positive(constant: np.ndarray, linear: np.ndarray, square: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of where constant + linear t - square t^2 is positive, equal ones where it never is."""
    discriminant = linear**2 + 4 * square * constant
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # the larger root first, the other from their product: where squares are tiny, a difference has no digits
        larger = (linear + np.copysign(np.sqrt(discriminant), linear)) / 2
        roots = np.stack([larger / square, -constant / larger])
        first, last = roots.min(axis=0), roots.max(axis=0)
        zero = -constant / linear
    flat = square == 0
    first = np.where(flat, np.where(linear > 0, zero, -np.inf), first)
    last = np.where(flat, np.where(linear < 0, zero, np.inf), last)
    never = np.where(flat, (linear == 0) & (constant <= 0), discriminant <= 0)
    return np.where(never, 0.0, first), np.where(never, 0.0, last)


CLIMBS = 40
"""Steps of an ascent; about ten are usual."""
BATCH, FIRST, BOXES = 1 << 13, 1 << 14, 1 << 20
"""Boxes halved at once, boxes after which ascents start for the first time, and after which the largest ceiling
counts: about ten seconds."""
HIGHEST = 64
"""Boxes from whose middles ascents start."""
CHUNK = 1 << 21
"""Largest number of entries of a temporary array."""


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
    Boxes whose ceiling is above `enough` are halved, the highest first, each along the axis that moves the c_i of
    unknown sign most, until an ascent from their middles shows an excess (k x r), or until there have been too
    many. There are none where `enough` holds.
    """
    reach, r = _reach(prices, weights, E), prices.shape[1] - 1
    waiting = _tops(prices, weights, E, np.zeros((1, r)), np.full((1, r), reach))
    settled, seen, look = -math.inf, 0, FIRST
    while len(waiting.top) and seen < BOXES and not (seen and deadline().over):
        first = np.zeros(len(waiting.top), dtype=bool)
        count = min(BATCH, len(first))
        first[np.argpartition(-waiting.top, count - 1)[:count]] = True
        halves = _tops(prices, weights, E, *waiting.take(first).halved())
        settled = max(settled, _above(prices, weights, E, halves.take(halves.top <= enough)))
        waiting = waiting.take(~first).join(halves.take(halves.top > enough))
        seen += len(halves.top)
        if seen >= look and len(waiting.top):
            look *= 2
            if climbed(prices, weights, E, waiting.highest()).values.max() > enough:
                break
    return max(settled, _above(prices, weights, E, waiting)), waiting.highest()


@dataclass(frozen=True, eq=False)
class _Boxes:
    """Boxes centre + [-half, half], with an upper bound on the sum of `climbed` in each."""

    centre: np.ndarray
    """Centres, shape (k, r)."""
    half: np.ndarray
    """Half lengths, shape (k, r)."""
    top: np.ndarray
    """Upper bounds on the sum, shape (k,)."""
    axis: np.ndarray
    """The axis to halve (k,)."""

    def take(self, which: np.ndarray) -> _Boxes:
        """Return some of the boxes, by a mask or numbers."""
        return _Boxes(self.centre[which], self.half[which], self.top[which], self.axis[which])

    def join(self, other: _Boxes) -> _Boxes:
        """Return the boxes of both."""
        return _Boxes(
            np.concatenate([self.centre, other.centre]),
            np.concatenate([self.half, other.half]),
            np.concatenate([self.top, other.top]),
            np.concatenate([self.axis, other.axis]),
        )

    def halved(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the centres and half lengths (2 k, r) of both halves of every box."""
        rows, half, move = np.arange(len(self.top)), self.half.copy(), np.zeros_like(self.half)
        half[rows, self.axis] /= 2
        move[rows, self.axis] = half[rows, self.axis]
        return np.concatenate([self.centre - move, self.centre + move]), np.concatenate([half, half])

    def highest(self) -> np.ndarray:
        """Return the middles of the highest boxes."""
        return self.centre[np.argsort(-self.top)[:HIGHEST]]


def _reach(prices: np.ndarray, weights: np.ndarray, E: float) -> float:
    """Return a length beyond every coordinate of every maximum, t = sum_i s_i mu_i / (2 sum_i s_i h_i)."""
    return float(E * np.abs(prices[:, 1:]).sum(axis=0).max() / (2 * weights.sum())) * (1 + 1e-9)


def _tops(
    prices: np.ndarray, weights: np.ndarray, E: float, centres: np.ndarray, halves: np.ndarray
) -> _Boxes:
    """Return boxes (k) with their ceilings."""
    size = max(1, CHUNK // prices.size)
    parts = [slice(k, k + size) for k in range(0, len(centres), size)]
    found = [_top(prices, weights, E, centres[part], halves[part]) for part in parts]
    tops, axes = (np.concatenate(each) for each in zip(*found, strict=True))
    return _Boxes(centres, halves, tops, axes)


def _top(
    prices: np.ndarray, weights: np.ndarray, E: float, centres: np.ndarray, halves: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ceiling over every box of a few (k,), and the axis to halve (k,)."""
    constant, linear = prices[:, 0], prices[:, 1:]
    low, high = np.broadcast_to(constant, (2, len(centres), len(prices))).copy()
    spreads = []
    for mu, middle, half in zip(linear.T, centres.T, halves.T, strict=True):
        first, last = (middle - half)[:, None], (middle + half)[:, None]
        least = np.minimum(mu * first - weights * first**2, mu * last - weights * last**2)
        vertex = np.divide(mu, 2 * weights, where=weights > 0, out=np.copysign(np.inf, mu))
        best = np.clip(vertex, first, last)
        spreads.append(mu * best - weights * best**2 - least)
        low += least
        high += least + spreads[-1]
    unknown = (low < 0) & (high > 0)
    chord = (np.maximum(high, E * high) - np.maximum(low, E * low)) / np.where(high > low, high - low, 1.0)
    slope = np.where(low >= 0, E, np.where(high <= 0, 1.0, np.where(high > low, chord, E)))
    rest = np.maximum(low, E * low) - slope * low
    square, slopes = slope @ weights, slope @ linear
    t = np.clip(slopes / (2 * square)[:, None], centres - halves, centres + halves)
    top = rest.sum(axis=1) + slope @ constant + ((slopes - square[:, None] * t) * t).sum(axis=1)
    return top, np.stack([np.sum(spread, axis=1, where=unknown) for spread in spreads]).argmax(axis=0)


def _above(prices: np.ndarray, weights: np.ndarray, E: float, boxes: _Boxes) -> float:
    """Return the largest ceiling over boxes, with what rounding may have taken from it."""
    corner = np.linalg.norm(np.abs(boxes.centre) + boxes.half, axis=1)
    return float((boxes.top + rounding(prices, weights, E, corner)).max(initial=-math.inf))
