"""Normal noise and the (epsilon, delta) that it gives, exactly."""

from __future__ import annotations

import math

from stratagem.math import privacy
from stratagem.math.number import real

SAFE = 1 + 1e-9
"""Factor on sigma that makes good the rounding of the calibration."""


def gaussian_delta(epsilon: float, noise: float) -> float:
    """Return the least delta of normal noise of `noise` = sigma/Delta times the sensitivity.

    Phi(1/(2 s) - epsilon s) - e^epsilon Phi(-1/(2 s) - epsilon s), s = sigma/Delta, as a product that keeps its
    digits where delta is tiny.

    Reference:
        Balle, Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018, Theorem 8.
    """
    from scipy.special import log_ndtr

    near = float(log_ndtr(0.5 / noise - epsilon * noise))
    far = epsilon + float(log_ndtr(-0.5 / noise - epsilon * noise))
    return math.exp(near) * -math.expm1(min(0.0, far - near))


def gaussian_epsilon(noise: float, delta: float) -> float:
    """Return the least epsilon that goes with delta for normal noise of sigma/Delta times the sensitivity."""
    from scipy.optimize import root_scalar

    if gaussian_delta(0.0, noise) <= delta:
        return 0.0
    high = 1.0
    while gaussian_delta(high, noise) > delta:
        high *= 2
    found = root_scalar(
        lambda epsilon: gaussian_delta(epsilon, noise) - delta, bracket=(0.0, high), xtol=1e-18, rtol=1e-14
    )
    return float(found.root)


def gaussian_noise(epsilon: float, delta: float) -> float:
    """Return the least sigma/Delta that is (epsilon, delta)-differentially private.

    Raises:
        ValueError: unless epsilon is a budget and 0 < delta < 1.
    """
    from scipy.optimize import root_scalar

    epsilon = privacy.check(epsilon)
    check_delta(delta)
    low, high = 1.0, 1.0
    while gaussian_delta(epsilon, low) <= delta:
        low /= 2
    while gaussian_delta(epsilon, high) > delta:
        high *= 2
    if low == high:
        return high
    found = root_scalar(lambda noise: gaussian_delta(epsilon, noise) - delta, bracket=(low, high), rtol=1e-14)
    return float(found.root) * SAFE


def check_delta(delta: float) -> None:
    """Refuse what is no probability between 0 and 1.

    Raises:
        ValueError: unless 0 < delta < 1.
    """
    if not 0 < real(delta) < 1:
        raise ValueError(f"delta is {delta!r}; give a probability between 0 and 1, for example 1e-6.")
