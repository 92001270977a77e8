"""Priors: how common the user types are believed to be, checked where they enter the package."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from stratagem.math.number import count_text


def uniform(n: int) -> np.ndarray:
    """Return the uniform prior 1/n, an array of shape (n,), which the average case uses."""
    return np.full(n, 1 / n)


def check_prior(prior: ArrayLike | None, n: int) -> np.ndarray:
    """Return a prior p (n,), nonnegative with sum 1, from counts or probabilities; None is the uniform one.

    p_u is the share of users expected to have type u. It decides only where accuracy is spent: privacy and
    unbiasedness hold for every user and every data vector. A type of prior zero may still occur.

    Raises:
        ValueError: unless it holds n finite, nonnegative numbers, not all of them zero.

    Example:
        >>> check_prior([3, 1, 0, 0], 4).tolist()
        [0.75, 0.25, 0.0, 0.0]
    """
    if prior is None:
        return uniform(n)
    try:
        given = np.asarray(prior)
    except ValueError:
        given = np.array(None)
    if given.dtype.kind not in "biuf" or given.shape != (n,):
        raise ValueError(
            f"the prior was given as {given.dtype} of shape {given.shape}, but must hold {count_text(n)} numbers: "
            "give one count or probability for each user type"
        )
    p = given.astype(float)
    if not np.isfinite(p).all() or (p < 0).any() or not p.any():
        raise ValueError(
            "the prior must hold finite numbers of at least zero, not all of them zero: give counts or "
            "probabilities"
        )
    p = p / p.max()
    return p / p.sum()
