"""The strategy of least variance for one query, given the outputs of a linear programme."""

from __future__ import annotations

import numpy as np

from stratagem.strategies import MatrixStrategy


def interval_strategy(
    answers: np.ndarray, theta: np.ndarray, numbers: np.ndarray, E: float
) -> MatrixStrategy:
    """Return the unbiased strategy of least variance whose outputs have given answers and least probabilities.

    Outputs with answers t_k (K,), ascending, stand side by side on a line, each as wide as its theta_k. A user
    type with the number f raises the probabilities by the factor E on one interval of the line, of width
    (1 - sum theta)/(E - 1), placed where the mean answer is f: least squares makes the set of raised t the set
    where a concave quadratic is positive. The mean is piecewise linear in the place. Answers are stretched
    where rounding has left the extreme numbers (n,) out of reach.

    Guarantee:
        Row k lies between theta_k and E theta_k, so that epsilon is at most log E.
    """
    ends = np.append(0.0, np.cumsum(theta))
    width = (1 - ends[-1]) / (E - 1)
    moments = np.append(0.0, np.cumsum(theta * answers))
    breaks = np.concatenate([ends, ends - width])
    places = np.unique(np.clip(breaks, 0.0, ends[-1] - width))
    raised = np.interp(places + width, ends, moments) - np.interp(places, ends, moments)
    means = np.maximum.accumulate(moments[-1] + (E - 1) * raised)
    first = np.interp(_within(numbers, means[0], means[-1]), means, places)
    overlap = np.minimum(ends[1:, None], first + width) - np.maximum(ends[:-1, None], first)
    return MatrixStrategy(theta[:, None] + (E - 1) * np.clip(overlap, 0.0, theta[:, None]))


def _within(numbers: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return the numbers (n,) after the smallest shrinkage and shift that bring them between low and high."""
    shrink = min(1.0, (high - low) / np.ptp(numbers))
    moved = shrink * (numbers - numbers.min()) + numbers.min()
    return moved - max(0.0, moved.max() - high) + max(0.0, low - moved.min())
