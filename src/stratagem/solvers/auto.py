"""The default: the solver that fits the problem, and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar, NamedTuple

from stratagem.solvers.certified import Certified
from stratagem.solvers.solver import Problem, Solver


class Choice(NamedTuple):
    """A solver and why it fits the problem."""

    solver: Solver
    reason: str


@dataclass(frozen=True)
class Auto:
    """The certified solver within the limits given, and the reason for it.

    Two-level rows hold an optimal strategy, so `Certified` it is. Fewer outputs than user types suffice only
    where the workload has a low rank; there its idle rows are dropped, and the result says how many are left.
    """

    reference: ClassVar[str] = "the certified solver within the limits given"

    outputs: int | None = None
    """Largest number m of rows, if at least n; default by the domain size."""
    seed: int = 0
    max_seconds: float = math.inf
    """When to stop the search; the best strategy so far is returned."""
    gap: float = 0.0
    """Stop as soon as objective / lower bound - 1 is at most this."""

    def __post_init__(self) -> None:
        """Check the parameters."""
        whole = isinstance(self.outputs, Integral) and not isinstance(self.outputs, bool)
        if self.outputs is not None and not (whole and self.outputs >= 1):
            raise ValueError(f"outputs is {self.outputs!r}; give a whole number of at least 1.")
        if not (isinstance(self.gap, Real) and isinstance(self.max_seconds, Real)):
            raise ValueError(f"gap is {self.gap!r} and max_seconds {self.max_seconds!r}; give numbers.")
        if not (self.gap >= 0 and self.max_seconds > 0):
            raise ValueError("gap must be at least 0 and max_seconds above 0.")

    def select(self, problem: Problem) -> Choice:
        """Return the solver that fits the problem and the reason in a few words."""
        n, outputs = problem.workload.domain_size, None if self.outputs is None else int(self.outputs)
        reason = f"two-level rows hold an optimum, and {n} user types leave room to find it"
        if outputs is not None and outputs < n:
            reason = f"{outputs} outputs for {n} user types cannot be promised, but idle rows are dropped"
            outputs = n
        certified = Certified(outputs=outputs, seed=self.seed, max_seconds=self.max_seconds, gap=self.gap)
        return Choice(certified, reason)
