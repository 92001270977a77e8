"""Unary encodings: symmetric (basic RAPPOR) and optimised."""

from __future__ import annotations

import math

from stratagem.math.privacy import probability, ratio
from stratagem.published.baseline import Baseline, untuned
from stratagem.strategies.unary_protocol import UnaryEncoding


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


OPTIMISED_UNARY_ENCODING = Baseline(
    "optimised-unary-encoding",
    "one noisy bit for every value, zeros kept more often than ones (OUE)",
    "@wang2017locally",
    untuned(optimised_unary_encoding),
)
SYMMETRIC_UNARY_ENCODING = Baseline(
    "symmetric-unary-encoding",
    "one noisy bit for every value, zeros and ones kept alike (basic RAPPOR)",
    "@erlingsson2014rappor",
    untuned(symmetric_unary_encoding),
)
