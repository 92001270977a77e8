"""A protocol in which every user reports one number without bias."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NoReturn, final

import numpy as np

from stratagem.io.screen import brief
from stratagem.math.number import numbers, real
from stratagem.strategies.linear_protocol import LinearProtocol, check_real
from stratagem.strategies.strategy import check_counts, check_values


class NumberLaw(ABC):
    """The law of a report z with mean t, for every number t in [-1, 1]."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The supremum over reports and pairs of numbers of the log ratio of likelihoods."""

    @abstractmethod
    def variance(self, t: np.ndarray) -> np.ndarray:
        """Return the variance of a report for each number, of the same shape."""

    @abstractmethod
    def draw(self, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw one report for each number, an array of the same shape."""


@final
@dataclass(frozen=True)
class TwoEnds(NumberLaw):
    """Report C or -C, C with probability 1/2 + t/(2 C): the variance is C^2 - t^2.

    It is t rounded to an end of [-1, 1] at random, then randomised response: with C = (E + 1)/(E - 1) an end
    is kept with probability E/(E + 1).

    Guarantee:
        epsilon = log((C + 1)/(C - 1)), at t = 1 and -1.

    Raises:
        ValueError: unless C is above 1.

    Reference:
        Duchi, Jordan, Wainwright, JASA 2018, section 4 (one dimension).
    """

    reach: float
    """Largest report C, above 1."""

    def __post_init__(self) -> None:
        """Check the reach."""
        _check_reach(self.reach)

    @property
    def epsilon(self) -> float:
        return math.log((self.reach + 1) / (self.reach - 1))

    def variance(self, t: np.ndarray) -> np.ndarray:
        return self.reach**2 - np.square(t)

    def draw(self, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(t.shape) < (1 + t / self.reach) / 2, self.reach, -self.reach)


@final
@dataclass(frozen=True)
class Piecewise(NumberLaw):
    """Report a point of [-C, C], most often near t: with probability (C + 1)/(2 C) in an interval of width C - 1.

    The interval is centred at (C + 1) t/2; reports are uniform inside it, and uniform outside. The variance is
    (C - 1) (t^2/2 + (2 C - 1)/6).

    Guarantee:
        epsilon = 2 log((C + 1)/(C - 1)), the ratio of the two densities.

    Raises:
        ValueError: unless C is above 1.

    Reference:
        Wang, Xiao, Yang, Zhao, Hui, Shin, Shin, Yu, ICDE 2019, Algorithm 2 and Lemma 1.
    """

    reach: float
    """Largest report C, above 1."""

    def __post_init__(self) -> None:
        """Check the reach."""
        _check_reach(self.reach)

    @property
    def epsilon(self) -> float:
        return 2 * math.log((self.reach + 1) / (self.reach - 1))

    def variance(self, t: np.ndarray) -> np.ndarray:
        return (self.reach - 1) * (np.square(t) / 2 + (2 * self.reach - 1) / 6)

    def draw(self, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a point for each number, of the same shape, uniform inside its interval or uniform outside it."""
        C = self.reach
        left = (C + 1) / 2 * t - (C - 1) / 2
        place = rng.random(t.shape)
        outside = -C + (C + 1) * place
        outside = np.where(outside < left, outside, outside + C - 1)
        return np.where(rng.random(t.shape) < (C + 1) / (2 * C), left + (C - 1) * place, outside)


@final
@dataclass(frozen=True)
class Hybrid(NumberLaw):
    """Report by the piecewise law with probability `share`, else by `TwoEnds`; variances are averaged.

    Guarantee:
        The law is drawn without a look at the number, so epsilon is the larger epsilon of the two laws.

    Raises:
        ValueError: unless the share is a number from 0 to 1.

    Reference:
        Wang et al., ICDE 2019, section III-C.
    """

    piecewise: Piecewise
    ends: TwoEnds
    share: float
    """Probability of the piecewise law."""

    def __post_init__(self) -> None:
        """Check the share."""
        if not 0 <= real(self.share) <= 1:
            raise ValueError(f"the share of the piecewise law is {self.share!r}: give a number from 0 to 1")

    @property
    def epsilon(self) -> float:
        return max(self.piecewise.epsilon, self.ends.epsilon)

    def variance(self, t: np.ndarray) -> np.ndarray:
        return self.share * self.piecewise.variance(t) + (1 - self.share) * self.ends.variance(t)

    def draw(self, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        chosen = rng.random(t.shape) < self.share
        return np.where(chosen, self.piecewise.draw(t, rng), self.ends.draw(t, rng))


def _check_reach(reach: float) -> None:
    if not 1 < real(reach) < math.inf:
        raise ValueError(f"the largest report is {reach!r}: give a finite number above 1")


BLOCK = 1 << 22
"""Reports that are drawn at once."""


@final
@dataclass(frozen=True, eq=False)
class NumberReport(LinearProtocol):
    """Every user sends an unbiased report z of the own number t_u in [-1, 1], drawn from a `NumberLaw`.

    The score is s = 1/n + (z - mean t) g with g = f/||f||^2, f = t - mean t: the data vector is seen along f, and
    its sum is known. Totals are the number of reports and their sum, (2,).

    Guarantee:
        epsilon is the law's, an upper bound where -1 and 1 are no numbers of users. It is stated for real
        reports: in floating point the low digits of z may tell more (Mironov, CCS 2012), so this client is for
        simulation.

    Raises:
        ValueError: unless the numbers lie in [-1, 1] and are not all equal.
    """

    __repr__ = brief

    numbers: np.ndarray
    """Numbers t_u of the user types, in [-1, 1], shape (n,)."""
    law: NumberLaw

    def __post_init__(self) -> None:
        """Check and freeze the numbers."""
        t = numbers(self.numbers)
        if t.ndim != 1 or not (np.abs(t) <= 1).all() or not np.ptp(t) > 0:
            raise ValueError(
                f"the numbers of user types have shape {t.shape}: give a list of numbers from -1 to 1 that differ"
            )
        t.flags.writeable = False
        object.__setattr__(self, "numbers", t)

    @property
    def domain_size(self) -> int:
        return len(self.numbers)

    @property
    def epsilon(self) -> float:
        return self.law.epsilon

    @property
    def report(self) -> str:
        return "1 real number"

    @property
    def direction(self) -> np.ndarray:
        """Vector g = f/||f||^2 of the scores, shape (n,)."""
        f = self.numbers - self.numbers.mean()
        return f / (f @ f)

    @property
    def null_space(self) -> np.ndarray:
        seen = np.column_stack([np.ones(self.domain_size), self.numbers])
        return np.linalg.qr(seen, mode="complete")[0][:, 2:]

    @property
    def _means(self) -> np.ndarray:
        """Mean scores, shape (n, n): column u is E[s | u]."""
        return 1 / self.domain_size + np.outer(self.direction, self.numbers - self.numbers.mean())

    def second_moments(self, B: np.ndarray) -> np.ndarray:
        """Return E[s | u]^T B E[s | u] + v_u g^T B g, (n,)."""
        g, mean = self.direction, self._means
        return np.einsum("ju,ju->u", mean, B @ mean) + self.law.variance(self.numbers) * (g @ B @ g)

    def spread(self, x: np.ndarray) -> np.ndarray:
        """Return sum_u x_u E[s | u] E[s | u]^T + sum_u x_u v_u g g^T, (n x n)."""
        g, mean = self.direction, self._means
        return (mean * x) @ mean.T + float(self.law.variance(self.numbers) @ x) * np.outer(g, g)

    def randomise(self, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        t = self.numbers[check_values(values, self.domain_size)]
        return self.law.draw(t, rng)[:, None]

    def collect(self, reports: np.ndarray) -> np.ndarray:
        reports = check_real(reports, 1)
        return np.array([float(len(reports)), float(reports.sum())])

    def histogram(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        x = check_counts(x, self.domain_size)
        values, total = np.repeat(np.arange(self.domain_size), x), 0.0
        for first in range(0, len(values), BLOCK):
            total += float(self.randomise(values[first : first + BLOCK], rng).sum())
        return np.array([float(x.sum()), total])

    def reconstruct(self, totals: np.ndarray) -> np.ndarray:
        return totals[0] / self.domain_size + (totals[1] - totals[0] * self.numbers.mean()) * self.direction

    def dense(self) -> NoReturn:
        raise ValueError("reports of a number are real numbers, too many for a matrix")
