"""Randomisers of one number in [-1, 1]: unbiased reports, bounded, two-valued or continuous."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from stratagem.math.number import real


class NumberLaw(ABC):
    """The law of a report z with mean t, for every number t in [-1, 1]."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The supremum over reports and pairs of numbers of the log ratio of likelihoods."""

    @abstractmethod
    def variance(self, t: np.ndarray) -> np.ndarray:
        """Return the variance of a report for each number."""

    @abstractmethod
    def draw(self, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw one report for each number."""


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
        """Privacy loss log((C + 1)/(C - 1))."""
        return math.log((self.reach + 1) / (self.reach - 1))

    def variance(self, t: np.ndarray) -> np.ndarray:
        """Return C^2 - t^2."""
        return self.reach**2 - np.square(t)

    def draw(self, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw C or -C for each number."""
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
        """Privacy loss 2 log((C + 1)/(C - 1))."""
        return 2 * math.log((self.reach + 1) / (self.reach - 1))

    def variance(self, t: np.ndarray) -> np.ndarray:
        """Return (C - 1) (t^2/2 + (2 C - 1)/6)."""
        return (self.reach - 1) * (np.square(t) / 2 + (2 * self.reach - 1) / 6)

    def draw(self, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw a point for each number, uniform inside its interval or uniform outside it."""
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
            raise ValueError(f"The share of the piecewise law is {self.share!r}; give a number from 0 to 1.")

    @property
    def epsilon(self) -> float:
        """Privacy loss: the larger epsilon of the two laws."""
        return max(self.piecewise.epsilon, self.ends.epsilon)

    def variance(self, t: np.ndarray) -> np.ndarray:
        """Return the mean of the two variances: both laws have the mean t."""
        return self.share * self.piecewise.variance(t) + (1 - self.share) * self.ends.variance(t)

    def draw(self, t: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw from one of the two for each number."""
        chosen = rng.random(t.shape) < self.share
        return np.where(chosen, self.piecewise.draw(t, rng), self.ends.draw(t, rng))


def _check_reach(reach: float) -> None:
    if not 1 < real(reach) < math.inf:
        raise ValueError(f"The largest report is {reach!r}; give a finite number above 1.")
