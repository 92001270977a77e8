"""What a strategy is held to: a number to make small, its lower bounds, and how it is measured."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from stratagem.accuracy import Accuracy
from stratagem.bounds import Bounds, Duals
from stratagem.prior import uniform
from stratagem.strategies import Randomiser, TranslationStrategy
from stratagem.workloads import Workload

AVERAGE = "average"
"""Kind of the objective that the others are mixtures of."""


@dataclass(frozen=True, eq=False)
class WarmStart:
    """What a search leaves for the bounds to start from; none of it needs to be trusted."""

    objective: float = math.inf
    """The value of the strategy found."""
    patterns: np.ndarray | None = None
    """The sets T (N, n) bool of its rows."""
    mixture: np.ndarray | None = None
    """The mixture (k,) that its largest variance was held against; None if unknown or an average."""


@dataclass(frozen=True, eq=False)
class Objective(ABC):
    """What a strategy for `workload` is held to, and the prior over user types that it is averaged with."""

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
        """Return the same from the accuracy that is already known."""

    @abstractmethod
    def bounds(self, epsilon: float, duals: Duals | None = None) -> Bounds:
        """Return lower bounds on the objective of every unbiased strategy; `duals` if they are known already."""

    @abstractmethod
    def tightened(
        self, bounds: Bounds, epsilon: float, near: WarmStart, gap: float, seconds: float
    ) -> Bounds:
        """Return the bounds with expensive ones added while they leave more than a gap (see `tighten`)."""

    @final
    @property
    def shares(self) -> np.ndarray:
        """The prior as an array (n,), 1/n in the average case."""
        return uniform(self.workload.domain_size) if self.prior is None else self.prior

    @final
    @property
    def plain(self) -> bool:
        """Whether this is the average over user types, all alike."""
        return self.kind == AVERAGE and self.prior is None

    @final
    def duals(self, epsilon: float) -> Duals | None:
        """Return the dual solutions of the average case; None for the others."""
        return Duals(self.workload, epsilon, self.prior) if self.kind == AVERAGE else None
