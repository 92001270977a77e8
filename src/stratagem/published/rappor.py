"""RAPPOR with Bloom filters and cohorts."""

from __future__ import annotations

import math

import numpy as np

from stratagem.math.number import integer
from stratagem.math.privacy import probability, ratio
from stratagem.published.baseline import Baseline, Candidates, Setting
from stratagem.strategies.bloom import BloomFilters, differences, loss

HASHES = (1, 2)
"""Hash functions of a filter that comparisons try."""
SMALLEST = 8
"""User types below which all of them fit into one filter."""
LARGEST = 512
"""User types up to which comparisons try Bloom filters."""


def rappor(
    domain_size: int, epsilon: float, bits: int = 32, hashes: int = 2, cohorts: int = 64, seed: int = 0
) -> BloomFilters:
    """Send the Bloom filter of the value in a random cohort, every bit flipped with the same probability.

    The hash functions are random tables of a seed. The flips are as few as the filters allow: two of them
    differ in d <= 2 h bits, each with odds e^(epsilon/d); the published epsilon counts 2 h always.

    Guarantee:
        epsilon-LDP, measured from the filters and probabilities as they are stored.

    Raises:
        ValueError: unless sizes are whole numbers, at least 1.

    Reference:
        Erlingsson, Pihur, Korolova, CCS 2014; one time: the permanent response is the report.

    Example:
        >>> oracle = rappor(20, 1.0, bits=16)
        >>> oracle.report, round(oracle.epsilon, 9)
        ('1 of 64 cohorts and 16 bits', 1.0)
    """
    n = integer(domain_size, "The number of values", 1, 1 << 24, "name the size of the domain")
    b = integer(bits, "The bits of a filter", 1, 1 << 16, "RAPPOR had 128")
    h = integer(hashes, "The number of hash functions", 1, b, "RAPPOR had 2")
    c = integer(cohorts, "The number of cohorts", 1, 1 << 16, "RAPPOR had 64")
    filters = np.zeros((c, n, b), dtype=bool)
    np.put_along_axis(filters, np.random.default_rng(seed).integers(0, b, (c, n, h)), True, axis=2)
    more = differences(filters)
    worst = max(1.0, float((more + more.transpose(0, 2, 1)).max()))
    p = probability(ratio(epsilon) ** (1 / worst))
    while loss(more, p, 1 - p) > epsilon:
        p = math.nextafter(p, 0.5)
    return BloomFilters(filters, p, 1 - p)


def _candidates(setting: Setting, epsilon: float) -> Candidates:
    n = setting.domain_size
    if not SMALLEST <= n <= LARGEST:
        return
    bits = min(n, 32)
    cohorts = 2 * -(-n // bits) + 2
    for hashes in (h for h in HASHES if h < bits):
        parameters = f"{cohorts} cohorts, {bits} bits, {hashes} hashes"
        yield parameters, rappor(n, epsilon, bits, hashes, cohorts)


RAPPOR = Baseline(
    "rappor",
    "a noisy Bloom filter in a random cohort, decoded by least squares",
    "@erlingsson2014rappor",
    _candidates,
)
