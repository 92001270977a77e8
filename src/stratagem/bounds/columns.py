"""Patterns for the design problem over few patterns: where to begin, and which to add."""

from __future__ import annotations

import numpy as np

from stratagem.bounds.slack import Slack
from stratagem.numeric.linalg import centre

STARTS = 300
"""Patterns that a descent begins from."""


def first(V: np.ndarray, E: float, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return about count patterns (N, n) bool: single elements, complements, and thresholded Gaussian fields.

    The fields have covariance V_P^a, a drawn from [0, 0.7] (1/2 is what the spectral bounds ask for), and
    T is where the field is largest; sizes lie around n/(1 + E), where the norm s^T s/(1^T s)^2 peaks.
    """
    n = len(V)
    values, vectors = np.linalg.eigh(centre(V))
    # V may have low rank: the floor lets the fields move everywhere
    values = np.maximum(values / max(values[-1], np.finfo(float).tiny), 1e-4)
    power = values ** (rng.uniform(0, 0.7, (count, 1)) / 2)
    fields = (rng.standard_normal((count, n)) * power) @ vectors.T
    middle = n / (1 + E)
    sizes = np.clip(np.rint(middle * rng.uniform(0.6, 1.4, count) + rng.uniform(-0.5, 1.0, count)), 1, n - 1)
    rank = np.argsort(np.argsort(-fields, axis=1), axis=1)
    single = np.eye(n, dtype=bool)
    return distinct(np.concatenate([single, ~single, rank < sizes[:, None]]))


def descend(slack: Slack, patterns: np.ndarray, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return local minima of f, from perturbed copies of the patterns drawn by weight."""
    X = patterns[rng.choice(len(patterns), STARTS, p=weights / weights.sum())]
    X[np.arange(STARTS), rng.integers(0, X.shape[1], STARTS)] ^= True
    return proper(slack.descend(X))


def neighbours(patterns: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return patterns one or two elements away from the given ones: all of the first, count of the second."""
    n = patterns.shape[1]
    near = (patterns[:, None, :] ^ np.eye(n, dtype=bool)).reshape(-1, n)
    far = near[rng.integers(0, len(near), count)]
    far[np.arange(count), rng.integers(0, n, count)] ^= True
    return proper(np.concatenate([patterns, near, far]))


def choose(slack: Slack, patterns: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return at most count violated patterns: half the most violated, half a random draw of the others."""
    size = patterns.sum(axis=1)
    f = slack.values(patterns)
    # f/(1^T s) is the reduced cost lambda^T s - g_s
    order = np.argsort(f / np.sqrt(slack.lengths[size]))
    patterns = patterns[order][: int((f < -slack.rounding[size]).sum())]
    if len(patterns) <= count:
        return patterns
    half = count // 2
    others = rng.choice(np.arange(half, len(patterns)), count - half, replace=False)
    return patterns[np.concatenate([np.arange(half), others])]


def proper(patterns: np.ndarray) -> np.ndarray:
    """Return the distinct patterns that are neither empty nor everything (those two are constant rows)."""
    size = patterns.sum(axis=1)
    return distinct(patterns[(size > 0) & (size < patterns.shape[1])])


def spanning(patterns: np.ndarray) -> np.ndarray:
    """Return the proper patterns together with all single elements, which keep M positive definite."""
    return proper(np.concatenate([np.eye(patterns.shape[1], dtype=bool), patterns]))


def distinct(patterns: np.ndarray) -> np.ndarray:
    """Return every pattern once."""
    packed = np.packbits(patterns, axis=1)
    return patterns[np.unique(packed, axis=0, return_index=True)[1]]
