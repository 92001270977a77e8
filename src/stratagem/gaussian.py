"""Normal noise and the (epsilon, delta) that it gives, exactly."""

from __future__ import annotations

import math

from stratagem import privacy

SAFE = 1 + 1e-9
"""Factor on sigma that makes good the rounding of the calibration."""


def gaussian_delta(epsilon: float, distance: float) -> float:
    """Return the least delta of normal noise when neighbours are `distance` = Delta/sigma apart.

    Phi(h/2 - epsilon/h) - e^epsilon Phi(-h/2 - epsilon/h), h = Delta/sigma, as a product that keeps its
    digits where delta is tiny.

    Reference:
        Balle, Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018, Theorem 8.
    """
    from scipy.special import log_ndtr

    near = float(log_ndtr(distance / 2 - epsilon / distance))
    far = epsilon + float(log_ndtr(-distance / 2 - epsilon / distance))
    return math.exp(near) * -math.expm1(min(0.0, far - near))


def gaussian_epsilon(distance: float, delta: float) -> float:
    """Return the least epsilon that normal noise has at a delta when neighbours are `distance` = Delta/sigma apart."""
    from scipy.optimize import root_scalar

    if distance == 0 or gaussian_delta(0.0, distance) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(high, distance) > delta:
        high *= 2
    found = root_scalar(
        lambda epsilon: gaussian_delta(epsilon, distance) - delta, bracket=(0.0, high), xtol=1e-18, rtol=1e-14
    )
    return float(found.root)


def gaussian_sigma(epsilon: float, delta: float) -> float:
    """Return the least sigma/Delta that is (epsilon, delta)-differentially private.

    Raises:
        ValueError: unless epsilon is a budget and 0 < delta < 1.
    """
    from scipy.optimize import root_scalar

    epsilon = privacy.check(epsilon)
    check_delta(delta)
    low, high = 1.0, 1.0
    while gaussian_delta(epsilon, low) <= delta:
        low *= 2
    while gaussian_delta(epsilon, high) > delta:
        high /= 2
    if low == high:
        return SAFE / low
    found = root_scalar(
        lambda distance: gaussian_delta(epsilon, distance) - delta, bracket=(high, low), rtol=1e-14
    )
    return SAFE / float(found.root)


def check_delta(delta: float) -> None:
    """Refuse what is no probability between 0 and 1.

    Raises:
        ValueError: unless 0 < delta < 1.
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta is {delta!r}; give a probability between 0 and 1, for example 1e-6.")
