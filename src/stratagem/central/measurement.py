"""Measurements of the central model: linear queries answered with Gaussian noise, or with double exponential noise."""

from __future__ import annotations

import math
import secrets
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, final, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist

from stratagem.counts.sampling import Source, TwoSided
from stratagem.math import privacy
from stratagem.math.linalg import OUTSIDE, PseudoInverse, RegularInverse, inverse
from stratagem.math.privacy import gaussian_epsilon, gaussian_noise
from stratagem.strategies.strategy import check_counts
from stratagem.workloads import Workload

Neighbours = Literal["add-remove", "replace"]
"""Neighbour relation: "add-remove" is one person more or less, "replace" one person with another value."""
EQUAL = 1 - 1e-14
"""Fraction of the sum of the two greatest lengths from which a distance counts as equal to that sum, up to rounding."""


def check(neighbours: str) -> Neighbours:
    """Return the neighbour relation unchanged if it is known."""
    for relation in get_args(Neighbours):
        if neighbours == relation:
            return relation
    raise ValueError(f"neighbours is {neighbours!r}: choose one of {', '.join(get_args(Neighbours))}")


def sensitivity(A: np.ndarray, neighbours: Neighbours, norm: Literal[1, 2]) -> float:
    """Return max ||A x - A x'|| over neighbouring data x, x' for queries A (k x n).

    Adding or removing a person of type u moves A x by the column A_u; replacing u by v moves it by A_u - A_v,
    as far as 2 on the histogram in the L1 norm, so that this relation protects more.
    """
    lengths = np.linalg.norm(A, ord=norm, axis=0)
    if check(neighbours) == "add-remove":
        return float(lengths.max())
    longest = lengths.argmax()
    largest = float(np.linalg.norm(A - A[:, [longest]], ord=norm, axis=0).max())
    if largest >= np.sort(lengths)[-2:].sum() * EQUAL:
        return largest
    metric = "cityblock" if norm == 1 else "euclidean"
    return float(pdist(A.T, metric).max(initial=0.0))


BLOCK = 1 << 24
"""Largest number of entries of a temporary array."""


class Measurement(ABC):
    """Noisy answers y = K x + z, z independent of mean zero; estimates are least squares weighted by precision.

    With N = diag(Var z), x^ = (K^T N^-1 K)^+ K^T N^-1 y. Every W in the row space of K has unbiased answers
    W x^ with covariance W (K^T N^-1 K)^+ W^T, the least of all linear unbiased ones, whatever the data.
    """

    queries: np.ndarray
    """The queries K, of shape (k, n)."""
    neighbours: Neighbours

    @property
    @abstractmethod
    def variances(self) -> np.ndarray:
        """Variances Var z of the noise, of shape (k,)."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """Privacy loss computed from the queries and the noise."""

    @property
    @abstractmethod
    def delta(self) -> float:
        """Probability that the privacy loss exceeds epsilon; 0 for pure differential privacy."""

    @final
    @property
    def domain_size(self) -> int:
        """Number n of user types."""
        return self.queries.shape[1]

    @final
    def covariance(self) -> RegularInverse | PseudoInverse:
        """Return (K^T N^-1 K)^+, the covariance of x^ (n x n), as an operator to apply to arrays (n x k)."""
        scaled = self.queries / np.sqrt(self.variances)[:, None]
        return inverse(scaled.T @ scaled)

    @final
    def total_variance(self, V: np.ndarray) -> float:
        """Return the variances of all answers of a workload added up, V = W^T W (n x n).

        tr((K^T N^-1 K)^+ V); infinite if W asks for something that K does not measure.
        """
        return self.covariance().trace(V)

    @final
    def worst_variance(self, workload: Workload) -> float:
        """Return the largest variance of a query of a workload, W itself never built.

        Infinite if W asks for something that K does not measure.
        """
        covariance = self.covariance()
        if _squares(workload, covariance.null).sum() > OUTSIDE * workload.frobenius_squared:
            return math.inf
        return float(_squares(workload, covariance.root).max())

    @final
    def estimate(self, answers: np.ndarray) -> np.ndarray:
        """Return x^ (n,) from noisy answers (k,), the shortest where K does not determine it.

        Raises:
            ValueError: for another number of answers.
        """
        y = np.asarray(answers, dtype=float)
        if y.shape != (len(self.queries),):
            raise ValueError(
                f"answers have shape {y.shape}: give one for each of {len(self.queries)} queries"
            )
        return self.covariance() @ (self.queries.T @ (y / self.variances))


def _squares(workload: Workload, X: np.ndarray) -> np.ndarray:
    """Return the squared length of every row of W X (p,), some columns of X (n x r) at a time."""
    step = max(1, BLOCK // workload.queries)
    squares = np.zeros(workload.queries)
    for first in range(0, X.shape[1], step):
        squares += np.square(workload.answer(X[:, first : first + step])).sum(axis=1)
    return squares


@dataclass(frozen=True, eq=False)
class GaussianMeasurement(Measurement):
    """Normal noise of one standard deviation on every query: a formula to compare with, without a release.

    Guarantee:
        (epsilon, delta)-differential privacy in real arithmetic, with the exact epsilon for the given delta.

    Reference:
        Balle, Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018, theorem 8.
    """

    queries: np.ndarray
    sigma: float
    delta_given: float
    neighbours: Neighbours

    @property
    def variances(self) -> np.ndarray:
        return np.full(len(self.queries), self.sigma**2)

    @property
    def epsilon(self) -> float:
        noise = self.sigma / sensitivity(self.queries, self.neighbours, 2)
        return gaussian_epsilon(noise, self.delta)

    @property
    def delta(self) -> float:
        return self.delta_given


def measure_gaussian(
    queries: ArrayLike, epsilon: float, delta: float, neighbours: Neighbours
) -> GaussianMeasurement:
    """Answer queries A (k x n) with normal noise that spends (epsilon, delta).

    Raises:
        ValueError: for queries that tell no neighbours apart, and as `gaussian_noise`.
    """
    A = np.asarray(queries, dtype=float)
    distance = sensitivity(A, neighbours, 2)
    if not 0 < distance < math.inf:
        raise ValueError("the queries tell no neighbours apart, or are not finite: add one that does")
    return GaussianMeasurement(A, gaussian_noise(epsilon, delta) * distance, delta, neighbours)


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
