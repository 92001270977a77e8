"""Local hashing, with the best number of hash values and with two."""

from __future__ import annotations

import numpy as np

from stratagem.math.number import integer
from stratagem.math.privacy import probability, ratio
from stratagem.published.baseline import Baseline, Candidates, Setting, untuned
from stratagem.strategies.hashing_protocol import MOST, PRIME, LocalHashing


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


OPTIMISED_LOCAL_HASHING = Baseline(
    "optimised-local-hashing",
    "randomised response on a hash into about e^epsilon + 1 values (OLH)",
    "@wang2017locally",
    _optimised,
)
BINARY_LOCAL_HASHING = Baseline(
    "binary-local-hashing",
    "randomised response on one bit of hash (BLH)",
    "@bassily2015local",
    untuned(lambda values, epsilon: local_hashing(values, epsilon, 2)),
)
