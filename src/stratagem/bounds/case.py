"""What a bound on the average variance is about: queries, a budget, and what kinds of users are expected."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stratagem.bounds.formulas import safe, ulps
from stratagem.bounds.proof import Proof
from stratagem.math.linalg import centred_factor
from stratagem.math.privacy import check, uniform
from stratagem.workloads import Workload
from stratagem.workloads.centring import Centred, centred, total_term


@dataclass(frozen=True, eq=False)
class Case:
    """A workload, a budget and a prior, with the numbers that all bounds start from (theory.md, sections 1 and 7).

    Raises:
        ValueError: if epsilon is out of range.
    """

    workload: Workload
    epsilon: float
    prior: np.ndarray | None = None
    """Probabilities of the user types (n,); None for 1/n."""

    def __post_init__(self) -> None:
        """Check the budget."""
        object.__setattr__(self, "epsilon", check(self.epsilon))

    @property
    def n(self) -> int:
        """Number of user types."""
        return self.workload.domain.size

    @property
    def c(self) -> float:
        """Difference E - 1 of the two levels of a row."""
        return math.expm1(self.epsilon)

    @property
    def kappa(self) -> float:
        """(1 + E)^2/(4 E)."""
        return math.cosh(self.epsilon / 2) ** 2

    @property
    def shares(self) -> np.ndarray:
        """p (n,), 1/n without a prior."""
        return uniform(self.n) if self.prior is None else self.prior

    @property
    def h(self) -> np.ndarray:
        """n p (n,), for which M h = 1."""
        return self.n * self.shares

    @property
    def seen(self) -> Centred:
        """A V A^T with A = I - 1 p^T, and what its rounding error is relative to."""
        return centred(self.workload, self.prior)

    def factor(self, V: np.ndarray | None = None) -> np.ndarray:
        """Return F (n x r) with F F^T = A V A^T, of the queries unless another V (n x n) is given."""
        return centred_factor(self.seen.gram if V is None else V, self.prior)

    @property
    def total(self) -> float:
        """n p^T V p, the part of L(Q) that is the same for every strategy."""
        return total_term(self.workload, self.prior)

    @property
    def ulps(self) -> float:
        """Relative error of V, of its factors and of n x n products."""
        return ulps(self.workload)

    def proof(
        self,
        gamma: np.ndarray,
        avoided: np.ndarray,
        prices: np.ndarray,
        spread: np.ndarray | None = None,
        level: tuple[float, float] = (0.0, 0.0),
    ) -> Proof:
        """Return the proof of a bound on this case from its arrays (see `Proof`), w = 0 by default."""
        return Proof(
            gamma=gamma,
            avoided=avoided,
            spread=np.zeros(self.n) if spread is None else spread,
            level=level,
            prices=prices,
            factor=self.factor(),
            total=self.total,
            epsilon=self.epsilon,
            prior=self.prior,
            ulps=self.ulps,
        )

    def safe(self, value: float) -> float:
        """Return a number that is certainly below the one of which `value` is the rounded one."""
        return safe(value, self.epsilon)
