"""Frequency oracles: unary encodings, noisy histograms, local hashing and subset selection."""

from __future__ import annotations

import math

import numpy as np

from stratagem.math.number import integer, real
from stratagem.math.privacy import check, probability, ratio
from stratagem.published.baseline import Baseline, Candidates, Setting, untuned
from stratagem.strategies.additive_noise import AdditiveNoise, Laplace
from stratagem.strategies.hashing import MOST, PRIME, LocalHashing
from stratagem.strategies.set_protocol import LARGEST as MOST_VALUES
from stratagem.strategies.set_protocol import SubsetSelection, UnaryEncoding


def optimised_unary_encoding(domain_size: int, epsilon: float) -> UnaryEncoding:
    """Send n bits: the own one is one with probability 1/2, every other with 1/(E + 1).

    The variance of a count is N 4 E/(E - 1)^2 + x_j, the least q (1 - q)/(p - q)^2 of all unary encodings.

    Guarantee:
        epsilon-LDP, measured from p and q as they are stored.

    Reference:
        Wang, Blocki, Li, Jha, USENIX Security 2017, OUE.

    Example:
        >>> oracle = optimised_unary_encoding(8, 1.0)
        >>> oracle.p, round(oracle.q, 4)
        (0.5, 0.2689)
    """
    return at_epsilon(domain_size, epsilon, 0.5)


def symmetric_unary_encoding(domain_size: int, epsilon: float) -> UnaryEncoding:
    """Send n bits, each flipped with probability 1/(e^(epsilon/2) + 1): basic RAPPOR, one time.

    The variance of a count is N s/(s - 1)^2, s = e^(epsilon/2), whatever the data. Above an epsilon of about
    73 p stays at 1 - 2^-53, the largest double below one, and q alone falls as epsilon allows.

    Guarantee:
        epsilon-LDP, measured from p and q as they are stored.

    Reference:
        Erlingsson, Pihur, Korolova, CCS 2014; its epsilon was log 9 for each question, p = 3/4 and q = 1/4.

    Example:
        >>> round(symmetric_unary_encoding(8, 2.1972246).p, 6)
        0.75
    """
    return at_epsilon(domain_size, epsilon, probability(math.sqrt(ratio(epsilon))))


def at_epsilon(domain_size: int, epsilon: float, p: float) -> UnaryEncoding:
    """Return the unary encoding of a given p with the least q that epsilon allows, p/(p + E (1 - p))."""
    return UnaryEncoding(domain_size, p, p / (p + ratio(epsilon) * (1 - p)))


SUMMED = 1 << 14
"""User types of the largest domain of SHE."""
SAFE = 1 + 1e-14
"""Factor on the scale of noise that covers its rounding error."""


def summed_histogram_encoding(domain_size: int, epsilon: float) -> AdditiveNoise:
    """Send e_u with Laplace noise of scale 2/epsilon on all n entries; the aggregator adds up.

    The variance of a count is 8 N/epsilon^2, whatever the data.

    Guarantee:
        epsilon-LDP for real noise: two unit vectors are 2 apart in L1.

    Raises:
        ValueError: unless n is a whole number from 1 to 16,384.

    Reference:
        Wang, Blocki, Li, Jha, USENIX Security 2017, SHE; Dwork et al. 2006.

    Example:
        >>> round(summed_histogram_encoding(8, 1.0).variance, 6)
        8.0
    """
    n = integer(domain_size, "The number of values", 1, SUMMED, "the aggregator's matrices hold n^2 numbers")
    return AdditiveNoise(np.eye(n), Laplace(2 / check(epsilon) * SAFE), total_known=False)


def thresholded_histogram_encoding(
    domain_size: int, epsilon: float, threshold: float | None = None
) -> UnaryEncoding:
    """Send which entries of e_u + Lap(2/epsilon)^n are above a threshold t: a unary encoding.

    p = 1 - e^(epsilon (t - 1)/2)/2 and q = e^(-epsilon t/2)/2 for t from 1/2 to 1; without a threshold the
    one of least q (1 - q)/(p - q)^2 is taken.

    Guarantee:
        Measured from p and q, strictly less than epsilon, which bounds the noisy vector before the threshold.

    Raises:
        ValueError: if the threshold is not from 1/2 to 1; and as `UnaryEncoding`.

    Reference:
        Wang, Blocki, Li, Jha, USENIX Security 2017, THE.

    Example:
        >>> round(thresholded_histogram_encoding(8, 1.0).epsilon, 4)
        0.896
    """
    epsilon = check(epsilon)
    threshold = best_threshold(epsilon) if threshold is None else threshold
    if not 0.5 <= real(threshold) <= 1:
        raise ValueError(f"the threshold is {threshold!r}; between 0 and 1 give a number from 1/2 to 1")
    return UnaryEncoding(domain_size, *_shares(threshold, epsilon))


def best_threshold(epsilon: float) -> float:
    """Return the threshold in [1/2, 1] that minimises q (1 - q)/(p - q)^2."""
    from scipy.optimize import minimize_scalar

    def variance(threshold: float) -> float:
        p, q = _shares(threshold, epsilon)
        return math.log(q) + math.log1p(-q) - 2 * math.log(p - q)

    found = minimize_scalar(variance, bounds=(0.5, 1.0), method="bounded")
    return float(found["x"])  # type: ignore[index]


def _shares(threshold: float, epsilon: float) -> tuple[float, float]:
    """Return p and q, p below one in double precision."""
    p = 1 - math.exp(epsilon * (threshold - 1) / 2) / 2
    return min(p, 1 - 2.0**-53), math.exp(-epsilon * threshold / 2) / 2


def _thresholded(setting: Setting, epsilon: float) -> Candidates:
    threshold = best_threshold(epsilon)
    oracle = thresholded_histogram_encoding(setting.domain_size, epsilon, threshold)
    yield f"threshold {threshold:.3f}", oracle


def local_hashing(domain_size: int, epsilon: float, hash_values: int | None = None) -> LocalHashing:
    """Tell a random hash of the value by randomised response over g hash values, truly with E/(E + g - 1).

    A count has variance N (E + g - 1)^2/((E - 1)^2 (g - 1)) + x_j (1 - p - q)/(p - q), q = 1/g. Without a
    number of hash values the one of least mean variance over all data is taken, near E + 1 (OLH).

    Guarantee:
        epsilon-LDP, measured from p as it is stored.

    Raises:
        ValueError: if the number of hash values is not from 2 to 65,536, or n not a whole number.

    Reference:
        Wang, Blocki, Li, Jha, USENIX Security 2017; g = 2 is the binary local hashing of Bassily, Smith 2015.

    Example:
        >>> local_hashing(64, 1.0).g
        4
    """
    n = integer(domain_size, "The number of values", 1, PRIME, "name the size of the domain")
    g = best_hash_values(n, epsilon) if hash_values is None else hash_values
    g = integer(g, "The number of hash values g", 2, MOST, "the best is near e^epsilon + 1")
    return LocalHashing(n, g, probability(ratio(epsilon) / (g - 1)))


def best_hash_values(domain_size: int, epsilon: float) -> int:
    """Return the g that minimises q (1 - q)/(p - q)^2 + (1 - 2 q)/(n (p - q)), the mean of E[s_j^2]."""
    E = ratio(epsilon)
    g = np.arange(2, min(2 * E + 10, MOST) + 1)
    q, difference = 1 / g, (E - 1) * (g - 1) / (g * (E + g - 1))
    moments = q * (1 - q) / difference**2 + (1 - 2 * q) / (domain_size * difference)
    return int(g[moments.argmin()])


def _optimised(setting: Setting, epsilon: float) -> Candidates:
    oracle = local_hashing(setting.domain_size, epsilon)
    yield f"{oracle.g} hash values", oracle


def subset_selection(domain_size: int, epsilon: float, subset_size: int | None = None) -> SubsetSelection:
    """Report a set of k values, E times as likely if it holds the own one: p = E k/(E k + n - k).

    Without a size the one of least mean variance for the histogram is taken, near n/(E + 1).

    Guarantee:
        epsilon-LDP, measured from p as it is stored.

    Raises:
        ValueError: if there are fewer than 2 values or the size is not from 1 to n - 1.

    Reference:
        Ye, Barg, IEEE Trans. Inf. Theory 2018; Wang et al. 2016.

    Example:
        >>> subset_selection(64, 1.0).k
        17
    """
    n = integer(domain_size, "The number of values", 2, MOST_VALUES, "name the size of the domain")
    k = best_subset_size(n, epsilon, n, n) if subset_size is None else subset_size
    k = integer(k, "The subset size k", 1, n - 1, "the best is near n/(e^epsilon + 1)")
    return SubsetSelection(n, k, probability(ratio(epsilon) * k / (n - k)))


def best_subset_size(domain_size: int, epsilon: float, total: float, trace: float) -> int:
    """Return the k of least mean variance for a Gram matrix with this sum and trace; every k is tried."""

    def moment(k: int) -> float:
        return subset_selection(domain_size, epsilon, k).mean_moment(total, trace)

    return min(range(1, domain_size), key=moment)


def _selected(setting: Setting, epsilon: float) -> Candidates:
    if setting.domain_size > 1:
        k = best_subset_size(
            setting.domain_size, epsilon, float(setting.gram.sum()), float(np.trace(setting.gram))
        )
        yield f"{k} values", subset_selection(setting.domain_size, epsilon, k)


BASELINES = (
    Baseline(
        "optimised-unary-encoding",
        "one noisy bit for every value, zeros kept more often than ones (OUE)",
        "@wang2017locally",
        untuned(optimised_unary_encoding),
    ),
    Baseline(
        "symmetric-unary-encoding",
        "one noisy bit for every value, zeros and ones kept alike (basic RAPPOR)",
        "@erlingsson2014rappor",
        untuned(symmetric_unary_encoding),
    ),
    Baseline(
        "thresholded-histogram-encoding",
        "which entries of a noisy unit vector are above a threshold (THE)",
        "@wang2017locally",
        _thresholded,
    ),
    Baseline(
        "summed-histogram-encoding",
        "Laplace noise on every entry of one's unit vector (SHE)",
        "@wang2017locally; @dwork2006calibrating",
        untuned(summed_histogram_encoding),
    ),
    Baseline(
        "optimised-local-hashing",
        "randomised response on a hash into about e^epsilon + 1 values (OLH)",
        "@wang2017locally",
        _optimised,
    ),
    Baseline(
        "binary-local-hashing",
        "randomised response on one bit of hash (BLH)",
        "@bassily2015local",
        untuned(lambda values, epsilon: local_hashing(values, epsilon, 2)),
    ),
    Baseline(
        "subset-selection",
        "a random set of values that likes to hold the own one",
        "@ye2018optimal; @wang2016mutual",
        _selected,
    ),
)
"""Its baselines, in the order in which lists show them."""
