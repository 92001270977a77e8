"""Every answer that one number may be given, checked at once: the exact pricing of a single query."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Peaks(NamedTuple):
    """Where prices are exceeded most, between any two neighbouring changes of a set."""

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
    left, right = np.append(-np.inf, changes[order]), np.append(changes[order], np.inf)
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
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(discriminant)
        first, last = (linear - root) / (2 * square), (linear + root) / (2 * square)
        zero = -constant / linear
    flat = square == 0
    first = np.where(flat, np.where(linear > 0, zero, -np.inf), first)
    last = np.where(flat, np.where(linear < 0, zero, np.inf), last)
    never = np.where(flat, (linear == 0) & (constant <= 0), discriminant <= 0)
    return np.where(never, 0.0, first), np.where(never, 0.0, last)
