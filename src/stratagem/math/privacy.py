"""The privacy budget, priors over user types, and the normal noise of (epsilon, delta): checked where they enter."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from stratagem.math.number import count_text, real, root, upper

MINIMUM, MAXIMUM = 1e-6, 300.0
"""Smallest and largest epsilon. Below the smallest, rounding outweighs exp(epsilon) - 1; above the largest,
exp(2 epsilon) exceeds the range of double precision."""
PROMISING = 4.0
"""Largest epsilon that promises anything: above it the best guess from a report is usually right."""


def check(epsilon: float | None) -> float:
    """Return epsilon as a float; a text is none."""
    value = real(epsilon)
    if not MINIMUM <= value <= MAXIMUM:
        raise ValueError(
            f"epsilon is {epsilon!r}: give a number from {MINIMUM:g} to {MAXIMUM:g}, for example 1.0"
        )
    return value


def check_several(values: int) -> int:
    """Return the number of values that a person may have, where a report can tell something about them."""
    if values < 2:
        raise ValueError(
            "the domain has a single value, which everybody knows without a report: give one of at least 2 values"
        )
    return values


def ratio(epsilon: float) -> float:
    """Return a ratio E just under exp(epsilon) that floating-point matrices may use.

    Guarantee:
        E = exp(epsilon) (1 - 1e-14): a matrix whose rows satisfy max <= E min before a few roundings of
        1e-16 each measures at most epsilon afterwards; the objective pays about 1e-14 of its value.
    """
    return math.exp(check(epsilon)) * (1 - 1e-14)


def probability(odds: float) -> float:
    """Return the probability p whose odds p/(1 - p) are those given, rounded so that they are never exceeded.

    Near p = 1 a double keeps 16 digits of p but few of 1 - p, which the privacy loss is measured from.
    """
    p = min(odds / (1 + odds), 1 - 2.0**-53)
    while p / (1 - p) > odds:
        p = math.nextafter(p, 0)
    return p


def posterior(prior: float, epsilon: float) -> float:
    """Return the probability of an event of probability `prior` once its odds are multiplied by e^epsilon.

    One report of an epsilon-LDP mechanism multiplies the odds of any two user types by at most e^epsilon, and by at
    least e^-epsilon (Kasiviswanathan and Smith, Journal of Privacy and Confidentiality, 2014).

    >>> round(posterior(0.5, 1.0), 4)
    0.7311
    """
    return prior / (prior + (1 - prior) * math.exp(-epsilon))


def surest(epsilon: float) -> str:
    """Return how sure of an event of probability 1/2 one report can make, at most e^epsilon/(1 + e^epsilon), in words.

    Three significant digits, rounded up so that it remains an upper limit.

    >>> surest(1.0), surest(10.0)
    ('at most 73.2 %', 'at most 99.996 %')
    """
    return limit(posterior(0.5, epsilon))


def told(epsilon: float, whose: str = "a person's answer", seen: str = "the report") -> str:
    """Return what reports of this epsilon tell at most, in two sentences; the page of the form says the same.

    >>> told(1.0, "your answer")[:102]
    'whoever thinks a guess of your answer 50 % likely before seeing the report can think it at most 73.2 %'
    """
    return (
        f"whoever thinks a guess of {whose} 50 % likely before seeing {seen} can think it {surest(epsilon)} likely "
        "afterwards. At 50 % they would have learnt nothing, at 100 % everything."
    )


def limit(share: float) -> str:
    """Return an upper limit of a share in words, rounded up as `upper`, with more digits where it would read 100 %.

    >>> limit(0.99901), limit(1 - 1e-12), limit(1.0)
    ('at most 99.91 %', 'at most 100 %', 'at most 100 %')
    """
    finer = (math.ceil(10 ** (2 + places) * share) / 10**places for places in (2, 3, 4))
    least = next((f"{one:.8g}" for one in finer if one < 100), "100")
    return f"at most {least if upper(100 * share) == '100' else upper(100 * share)} %"


def little(epsilon: float) -> list[str]:
    """Return the sentence that so large an epsilon protects little, none for one that may be promised."""
    said = f"Do not promise privacy with an epsilon above {PROMISING:g}: a report nearly tells the answer."
    return [said] * (epsilon > PROMISING)


def best_guess(Q: np.ndarray) -> float:
    """Return sum_y max_u Q[y, u]/n, the probability with which the best guess from one report is the user's type.

    Q (m x n) holds the probabilities of the reports by user type. All n types are equally likely before the report,
    so that a guess without it is right with probability 1/n (the Bayes vulnerability of quantitative information flow).

    >>> float(best_guess(np.eye(4))), float(best_guess(np.full((1, 4), 1.0)))
    (1.0, 0.25)
    """
    return float(Q.max(axis=1).sum() / Q.shape[1])


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
    # probabilities of a file stay as they stand there: dividing again would move last digits
    if p.max() <= 1 and abs(p.sum() - 1) <= n * np.finfo(float).eps:
        return p
    p = p / p.max()
    return p / p.sum()


SAFE = 1 + 1e-9
"""Factor on sigma that makes good the rounding of the calibration."""


def gaussian_delta(epsilon: float, noise: float) -> float:
    """Return the least delta of normal noise of `noise` = sigma/Delta times the sensitivity.

    Phi(1/(2 s) - epsilon s) - e^epsilon Phi(-1/(2 s) - epsilon s), s = sigma/Delta, as a product that keeps its
    digits where delta is tiny.

    Reference:
        Balle, Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018, Theorem 8.
    """
    near = float(log_ndtr(0.5 / noise - epsilon * noise))
    far = epsilon + float(log_ndtr(-0.5 / noise - epsilon * noise))
    return math.exp(near) * -math.expm1(min(0.0, far - near))


def gaussian_epsilon(noise: float, delta: float) -> float:
    """Return the least epsilon that goes with delta for normal noise of sigma/Delta times the sensitivity."""
    if gaussian_delta(0.0, noise) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(high, noise) > delta:
        high *= 2
    return root(lambda epsilon: gaussian_delta(epsilon, noise) - delta, 0.0, high, xtol=1e-18, rtol=1e-14)


def gaussian_noise(epsilon: float, delta: float) -> float:
    """Return the least sigma/Delta that is (epsilon, delta)-differentially private.

    Raises:
        ValueError: unless epsilon is a budget and 0 < delta < 1.
    """
    epsilon = check(epsilon)
    check_delta(delta)
    low, high = 1.0, 1.0
    while gaussian_delta(epsilon, low) <= delta:
        low /= 2
    while gaussian_delta(epsilon, high) > delta:
        high *= 2
    if low == high:
        return high
    return root(lambda noise: gaussian_delta(epsilon, noise) - delta, low, high, rtol=1e-14) * SAFE


def check_delta(delta: float) -> None:
    """Refuse what is no probability between 0 and 1."""
    if not 0 < real(delta) < 1:
        raise ValueError(f"delta is {delta!r}: give a probability between 0 and 1, for example 1e-6")
