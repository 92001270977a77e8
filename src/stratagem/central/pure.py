"""Pure differential privacy: double exponential noise, on whole numbers or as the continuous formula."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, final

import numpy as np
from numpy.typing import ArrayLike

from stratagem.central.measurement import Measurement, Neighbours, sensitivity
from stratagem.counts.sampling import Source, TwoSided
from stratagem.math import privacy
from stratagem.strategies.strategy import check_counts

SAFE = 1 - 1e-13
"""Fraction of the budget that is spent, so that rounding of the rates never exceeds it."""
SMALL = 1e-5
"""Rate below which alpha is computed by a series, with an error of rate^2/6 relative to 1 - alpha."""
RARE = 64.0
"""Number of noise scales beyond which the noise is drawn in a second round."""
SLOWEST = 1e-16
"""Smallest rate of a release; then 64 scales of its noise are below 2^60."""
LARGEST = 2**62
"""Limit of all whole numbers of a release, noise included."""


@dataclass(frozen=True, eq=False)
class Pure(Measurement):
    """Queries answered with double exponential noise."""

    queries: np.ndarray
    rates: np.ndarray
    """Rates r (k,): the budget spent per unit of each query."""
    neighbours: Neighbours

    @property
    @final
    def epsilon(self) -> float:
        return _loss(self.queries, self.rates, self.neighbours)

    @property
    @final
    def delta(self) -> float:
        return 0.0


class LaplaceMeasurement(Pure):
    """Laplace noise of scale 1/r_i and variance 2/r_i^2 on query i: the textbook's formula.

    There is no release: its floating-point draws give data away (Mironov, CCS 2012). Use the geometric one.

    Guarantee:
        epsilon-differential privacy in real arithmetic, epsilon = max sum_i r_i |K_iu| (or |K_iu - K_iv|).

    Reference:
        Dwork, McSherry, Nissim, Smith, TCC 2006.
    """

    @property
    def variances(self) -> np.ndarray:
        return 2 / np.square(self.rates)


class GeometricMeasurement(Pure):
    """Two-sided geometric noise, Pr[z] in proportion to exp(-r_i |z|), on whole-number queries.

    Its variance 1/(2 sinh^2(r_i/2)) is below the 2/r_i^2 of Laplace noise, by 1/6 for small r_i.

    Guarantee:
        epsilon-differential privacy, epsilon = max sum_i r_i |K_iu| (or |K_iu - K_iv|). `release` computes in
        whole numbers with ratios alpha_i >= exp(-r_i), rounded up; how long it takes depends on no data.

    Reference:
        Ghosh, Roughgarden, Sundararajan, STOC 2009.
    """

    @property
    def variances(self) -> np.ndarray:
        return geometric_variance(self.rates)

    def release(self, x: ArrayLike, source: Source = secrets.token_bytes) -> np.ndarray:
        """Return noisy whole-number answers (k,) of a data vector x (n,).

        Raises:
            ValueError: unless x holds n nonnegative whole numbers, few enough for 62-bit answers, and all rates
                are at least 1e-16.
        """
        if (slowest := float(self.rates.min())) < SLOWEST:
            raise ValueError(
                f"a query has the rate {slowest:.1e}, whose noise exceeds 62 bits; from {SLOWEST:g} on it can be "
                "drawn: give a larger epsilon, or coarser queries"
            )
        counts = check_counts(np.asarray(x), self.domain_size)
        if float(np.abs(self.queries).max()) * float(counts.sum()) >= LARGEST / 2:
            raise ValueError("the answers exceed 62 bits: give fewer people, or coarser queries")
        return self.queries @ counts + geometric_noise(self.rates, source)


def measure(
    queries: ArrayLike,
    epsilon: float,
    neighbours: Neighbours,
    shares: ArrayLike | None = None,
    noise: Literal["geometric", "laplace"] = "geometric",
) -> Pure:
    """Spend a budget on queries K (k x n): geometric noise on whole numbers, or the Laplace formula.

    Row i gets the rate r_i = c shares_i with the c that spends epsilon; rows of share 0 are left out.

    Args:
        queries: K, whole numbers for geometric noise.
        epsilon: Budget of all queries together.
        neighbours: "add-remove" or "replace".
        shares: Relative budget per unit of each query (k,), by default the same for all.
        noise: "geometric" or "laplace".

    Raises:
        ValueError: for queries that are not a finite matrix or see nobody, shares that are negative or of
            another shape, geometric noise on fractions, and an epsilon or relation that is not one.

    Example:
        >>> import numpy as np
        >>> histogram = measure(np.eye(4), epsilon=1.0, neighbours="replace", noise="laplace")
        >>> round(histogram.total_variance(np.eye(4)), 9)  # 2 (2/epsilon)^2 a cell
        32.0
    """
    kind = {"geometric": GeometricMeasurement, "laplace": LaplaceMeasurement}.get(noise)
    if kind is None:
        raise ValueError(f"noise is {noise!r}: choose geometric or laplace")
    return kind(*spending(queries, epsilon, neighbours, shares, whole=noise == "geometric"), neighbours)


def spending(
    queries: ArrayLike,
    epsilon: float,
    neighbours: Neighbours,
    shares: ArrayLike | None = None,
    *,
    whole: bool = True,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the queries of a positive share (k x n) and the rates (k,) that spend a budget on them, as `measure`."""
    K = _checked(queries, whole=whole)
    s = np.ones(len(K)) if shares is None else np.asarray(shares, dtype=float)
    if s.shape != (len(K),) or not np.isfinite(s).all() or (s < 0).any():
        raise ValueError(f"shares are {len(K)} nonnegative numbers, one a query; this has shape {s.shape}")
    K, s = K[s > 0], s[s > 0]
    spent = _loss(K, s, neighbours) if len(K) else 0.0
    if not spent > 0:
        raise ValueError("no query of a positive share tells neighbours apart: add one that does")
    return K, s * (privacy.check(epsilon) * SAFE / spent)


def geometric_variance(rates: np.ndarray) -> np.ndarray:
    """Return 2 alpha/(1 - alpha)^2 = 1/(2 sinh^2(r/2)) for alpha = exp(-r) (k,)."""
    return 0.5 / np.square(np.sinh(rates / 2))


def geometric_noise(rates: np.ndarray, source: Source) -> np.ndarray:
    """Return independent whole numbers z (k,), Pr[z] in proportion to alpha_i^|z| with alpha_i >= exp(-rates_i)."""
    samplers = {rate: _sampler(rate) for rate in np.unique(rates)}
    return np.array([_noise(samplers[rate], source) for rate in rates], dtype=np.int64)


def _checked(queries: ArrayLike, *, whole: bool) -> np.ndarray:
    K = np.asarray(queries)
    if K.ndim != 2 or 0 in K.shape or K.dtype.kind not in "biuf" or not np.isfinite(K).all():
        raise ValueError(f"queries are a finite matrix of queries x user types; this has shape {K.shape}")
    if not whole:
        return K.astype(float)
    if (K % 1 != 0).any() or np.abs(K).max() >= 2**53:
        raise ValueError("geometric noise needs whole-number queries: multiply and round them first")
    return K.astype(np.int64)


def _loss(K: np.ndarray, rates: np.ndarray, neighbours: Neighbours) -> float:
    return sensitivity(K * rates[:, None], neighbours, 1)


def safe_ratio(rate: float) -> Fraction:
    """Return alpha >= exp(-rate), below 1: two steps up make good the rounding of exp.

    Near 1, where these would be a share of 1 - alpha, it is 1 - rate + rate^2/2, which is above exp(-rate).
    """
    if rate < SMALL:
        exact = Fraction(rate)
        return 1 - exact + exact * exact / 2
    return Fraction(math.nextafter(math.nextafter(math.exp(-rate), 1), 1))


def _sampler(rate: float) -> TwoSided:
    return TwoSided(safe_ratio(rate), max(1, math.ceil(math.log2(RARE / rate))), beyond=True)


def _noise(sampler: TwoSided, source: Source) -> int:
    """Return two-sided geometric noise of any size; a draw at its limit is extended by another draw."""
    x, limit = sampler.draw(source), 1 << sampler.bits
    if abs(x) < limit:
        return x
    while (more := _noise(sampler, source)) < 0:
        pass
    return limit + more if x > 0 else -limit - more
