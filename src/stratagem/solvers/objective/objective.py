"""The abstract objective: a variance of a strategy to minimise, with its lower bounds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from stratagem.accuracy import Accuracy
from stratagem.bounds import Bounds, Duals
from stratagem.math.privacy import uniform
from stratagem.strategies import Randomiser, TranslationStrategy
from stratagem.workloads import Workload

AVERAGE = "average"
"""Name of the average objective; the other objectives are solved through averages of this kind."""


@dataclass(frozen=True, eq=False)
class WarmStart:
    """Results of a search from which tighter bounds start; the bounds are valid whatever these values are."""

    objective: float = math.inf
    """The objective of the strategy found."""
    patterns: np.ndarray | None = None
    """Patterns of the strategy's rows, a boolean array of shape (N, n)."""
    mixture: np.ndarray | None = None
    """The mixture (k,) of variances at the end of the search; None if unknown or for an average objective."""


@dataclass(frozen=True, eq=False)
class Objective(ABC):
    """A variance of strategies for `workload`, to be minimised, averaged over user types with a prior."""

    kind: ClassVar[str]

    workload: Workload
    prior: np.ndarray | None = None
    """Probabilities of the user types (n,); None for 1/n."""

    @abstractmethod
    def value(self, strategy: Randomiser | TranslationStrategy, prior: np.ndarray | None) -> float:
        """Return the objective of `strategy` with the reconstruction of `prior`.

        Raises:
            UnsupportedWorkloadError: if the strategy cannot answer the workload.
        """

    @abstractmethod
    def measure(
        self, accuracy: Accuracy, strategy: Randomiser | TranslationStrategy, prior: np.ndarray | None
    ) -> float:
        """Return the objective of `strategy` as `value` does, making use of its known `accuracy`."""

    @abstractmethod
    def bounds(self, epsilon: float, duals: Duals | None = None) -> Bounds:
        """Return lower bounds on the objective of every unbiased strategy.

        `duals` holds dual solutions that were computed before; None computes them anew.
        """

    @abstractmethod
    def tightened(
        self, bounds: Bounds, epsilon: float, near: WarmStart, gap: float, seconds: float
    ) -> Bounds:
        """Return `bounds` with more expensive ones added, as long as the gap is above `gap` (see `tighten`).

        `seconds` limits the time.
        """

    @final
    @property
    def shares(self) -> np.ndarray:
        """Prior probabilities of the user types (n,); 1/n if no prior is given."""
        return uniform(self.workload.domain_size) if self.prior is None else self.prior

    @final
    @property
    def plain(self) -> bool:
        """Whether this is the average objective without a prior, in which every user type has the weight 1/n."""
        return self.kind == AVERAGE and self.prior is None

    @final
    def duals(self, epsilon: float) -> Duals | None:
        """Return the dual solutions of the lower bounds on the average objective; None for other objectives."""
        return Duals(self.workload, epsilon, self.prior) if self.kind == AVERAGE else None
