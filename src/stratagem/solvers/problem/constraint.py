"""What a strategy must keep to besides its epsilon: one class a constraint."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Self, final

import numpy as np
from numpy.typing import ArrayLike

from stratagem.math.number import integer, numbers, real, users_text
from stratagem.math.privacy import MAXIMUM, MINIMUM, check, check_delta, check_several
from stratagem.math.shuffling import USERS, Target
from stratagem.strategies import Randomiser
from stratagem.workloads import Workload


@dataclass(frozen=True)
class Constraint(ABC):
    """A limit on strategies. It belongs to a `Problem`, and a solver says which ones it handles."""

    @abstractmethod
    def settled(self, workload: Workload, epsilon: float | None) -> tuple[Self, float]:
        """Return the constraint in checked numbers, and the budget of a problem that has it.

        Raises:
            ValueError: for numbers that no strategy for the workload can keep to, or an epsilon out of range.
        """

    @abstractmethod
    def holds(self, strategy: Randomiser, epsilon: float) -> bool:
        """Return whether a strategy keeps to it and to the epsilon of the problem, by its own probabilities."""


@final
@dataclass(frozen=True)
class GuessCap(Constraint):
    """A cap on the best guess of a user's type from one report, all n types equally likely before.

    The best guess is right with probability (1/n) sum_y max_u Q[y, u] (theory.md, section 11), which is to be at most
    `guess`; 1/n is reached without any report. Designed for 3 to 256 types where the cap matters.

    Example:
        >>> import stratagem as st
        >>> solution = st.optimise(st.prefix(8), 1.0, constraints=[st.GuessCap(0.2)])
        >>> solution.strategy.guess <= 0.2 < solution.others["without the cap"].strategy.guess
        True
    """

    guess: float

    LEAST = 1e-9
    """Smallest relative distance of a cap from a guess without a report."""
    ROUNDING = 1e-9
    """Share of the cap that the rounding of a sum may exceed it by."""

    def settled(self, workload: Workload, epsilon: float | None) -> tuple[GuessCap, float]:
        cap, n = real(self.guess), check_several(workload.domain_size)
        if not n * cap - 1 > self.LEAST or cap > 1:
            raise ValueError(
                f"the cap on the best guess is {self.guess!r}, but must be above 1/{users_text(n)}, what a guess "
                f"without any report reaches, and at most 1: give for example {min(1.0, 1.5 / n):.3g}"
            )
        return GuessCap(cap), check(epsilon)

    def holds(self, strategy: Randomiser, epsilon: float) -> bool:
        return strategy.epsilon <= epsilon and strategy.guess <= self.guess * (1 + self.ROUNDING)


@final
@dataclass(frozen=True)
class Shuffled(Constraint):
    """Reports that are shuffled: the epsilon of the problem is that of all of them together, with `delta`.

    The local epsilon of one report is chosen with the strategy, up to `local`. Without a shuffler large sets are best;
    with one, the distance of the worst pair of user types counts (theory.md, section 10), and smaller sets at a
    larger local epsilon are better. Above 256 user types only the local budget is chosen.

    Guarantee:
        The central epsilon of a result is computed from its own probabilities.
    """

    users: int
    """Number of users whose reports are shuffled together."""
    delta: float = 1e-6
    """Extra probability that the central epsilon does not cover."""
    local: float = 10.0
    """Largest local budget; clients refuse to run above 10."""

    def settled(self, workload: Workload, epsilon: float | None) -> tuple[Shuffled, float]:
        users = integer(
            self.users, "the number of users", 1, USERS, "give the number of reports that are shuffled"
        )
        check_delta(self.delta)
        check_several(workload.domain_size)
        central, local = real(epsilon), check(self.local)
        if not MINIMUM <= central <= local:
            raise ValueError(
                f"the central epsilon is {epsilon!r}, but must be at least {MINIMUM:g} and at most the local one, "
                f"{local:g}: give for example 0.1"
            )
        return Shuffled(users, self.delta, local), central

    def holds(self, strategy: Randomiser, epsilon: float) -> bool:
        return self.target(epsilon).reached(strategy.blanket)

    def target(self, epsilon: float) -> Target:
        """Return the central privacy that is to be reached."""
        return Target(epsilon, self.delta, self.users)


@final
@dataclass(frozen=True)
class Permanent(Constraint):
    """A memoised answer (permanent randomised response): all reports of one person together have `epsilon` at most.

    Each report has the epsilon of the problem. The objective is that of the mean of so many `reports` of every user
    about a value that stays; its part V_p does not fall with their number (theory.md, section 12). Of a survey a value
    is all answers to the part of the questions that a device draws once and keeps.
    """

    epsilon: float
    """Epsilon of any number of reports about one value."""
    reports: int = 1
    """Number k of reports of every user that are averaged."""

    MOST = 10_000
    """Largest number of reports."""

    def settled(self, workload: Workload, epsilon: float | None) -> tuple[Permanent, float]:
        k = integer(
            self.reports,
            "the number of reports of each person",
            1,
            self.MOST,
            "give how many of them are averaged",
        )
        once, permanent = check(epsilon), check(self.epsilon)
        if not once < permanent:
            raise ValueError(
                f"the permanent epsilon is {permanent:g}, but must be above {once:g}, that of one report: give a "
                "larger one"
            )
        return Permanent(permanent, k), once

    def holds(self, strategy: Randomiser, epsilon: float) -> bool:
        """Return whether one report has the epsilon of the problem; a permanent report is made from any such."""
        return strategy.epsilon <= epsilon


@final
@dataclass(frozen=True, eq=False)
class Steps(Constraint):
    """Privacy by distance: Q[y, u] <= exp(d(u, v)) Q[y, v] for all user types u, v and reports y.

    d(u, v) is the sum of the steps between two values on a line: `steps` (n - 1,), or one number for all. Near values
    are protected as by a small epsilon, far ones less: numbers, times, places along a road (theory.md, section 13).
    The epsilon of the problem is the sum of all steps, so that none is given beside them.

    For 2 to 7 values, of any attributes in the order of the domain, `steps` may be a symmetric matrix of distances
    (n x n) in nats, zero on the diagonal: they need no line. Where a path of several pairs is shorter than a distance,
    its length takes the place of the distance, as factors multiply along the path. All extreme rows are listed, so
    that the lower bound is the optimum but for rounding.

    Example:
        >>> import stratagem as st
        >>> solution = st.optimise(st.prefix(8), constraints=[st.Steps(0.1)])
        >>> round(solution.objective), round(solution.others["published"].objective), solution.gap < 1e-4
        (5582, 39449, True)
    """

    steps: ArrayLike

    LARGEST = 64
    """Largest number of values on a line."""
    LISTED = 7
    """Largest number of values for any distances: 7 values have 924 rays at most."""
    LEAST = 1e-4
    """Smallest step: what reports tell of one falls with its square, and must keep digits."""
    APART = 1000
    """Largest ratio of two steps."""

    @property
    def distances(self) -> np.ndarray:
        """The steps (n - 1,) of a line, or a matrix of distances (n x n), as arrays."""
        return numbers(self.steps)

    @property
    def on_line(self) -> bool:
        """Whether the distances are those of steps on a line."""
        return self.distances.ndim == 1

    def settled(self, workload: Workload, epsilon: float | None) -> tuple[Steps, float]:
        """Return one step for each pair of neighbours, or the matrix of shortest paths; and the largest distance.

        Raises:
            ValueError: unless the workload has one attribute of 2 to 64 values, and there is one step or one for each
                pair of neighbours, at least 10^-4 each, at most 1000 times apart and 300 together; or there are 2 to 7
                values and a symmetric matrix of distances within the same limits, 300 for the longest; and for
                another epsilon beside them.
        """
        d = self._paths(workload.domain_size) if self.distances.ndim > 1 else self._line(workload)
        total = float(d.max() if d.ndim > 1 else d.sum())
        if epsilon is not None and real(epsilon) != total:
            raise ValueError(
                f"epsilon {epsilon!r} was given beside steps, which add up to {total:g}: leave it out"
            )
        return Steps(d), total

    def holds(self, strategy: Randomiser, epsilon: float) -> bool:
        """Return whether no report tells two values apart by more than their distance."""
        apart = told_apart(strategy.dense().matrix)
        if self.on_line:
            apart = np.maximum(np.diag(apart, 1), np.diag(apart, -1))
        return bool((apart <= self.distances).all())

    def _paths(self, n: int) -> np.ndarray:
        """Return the shortest paths (n x n) of a matrix of distances."""
        given = self.distances
        if not 2 <= n <= self.LISTED:
            raise ValueError(
                f"distances were given as a matrix for {users_text(n)} values, but all rows are listed for 2 to "
                f"{self.LISTED}: merge values, or put them on a line and give one step for each pair of neighbours"
            )
        if given.shape != (n, n):
            shape = " x ".join(map(str, given.shape))
            raise ValueError(
                f"the distances are {shape} numbers, but {n} values need {n} x {n}, or steps on a line"
            )
        apart = given[~np.eye(n, dtype=bool)]
        if np.diag(given).any() or not ((apart >= self.LEAST) & np.isfinite(apart)).all():
            raise ValueError(
                f"the distances must be numbers of at least {self.LEAST:g} between two values, and 0 on the diagonal"
            )
        if not (given == given.T).all():
            raise ValueError("the distances are not symmetric: give the same number for u, v and for v, u")
        d = given.copy()
        for w in range(n):
            d = np.minimum(d, d[:, w, None] + d[w])
        if d.max() > self.APART * d[d > 0].min() or d.max() > MAXIMUM:
            raise ValueError(
                f"the distances, of shortest paths, must be at most {MAXIMUM:g}, and none more than {self.APART} times "
                "another"
            )
        return d

    def _line(self, workload: Workload) -> np.ndarray:
        """Return one step for each pair of neighbours (n - 1,)."""
        given, n, attributes = self.distances, workload.domain_size, len(workload.domain.sizes)
        if attributes > 1:
            raise ValueError(
                f"the workload has {attributes} attributes, but distances are those on one line: give queries about "
                "one attribute with its values in order"
            )
        if check_several(n) > self.LARGEST:
            raise ValueError(
                f"steps were given for {users_text(n)} values on a line, but are designed for 2 to {self.LARGEST}: use "
                "coarser values"
            )
        d = np.full(n - 1, float(given)) if given.ndim == 0 else given
        if d.shape != (n - 1,):
            raise ValueError(
                f"{d.size} steps were given, but {n} values have {n - 1} pairs of neighbours: give one number for all "
                f"of them, or {n - 1}"
            )
        # else products and sums may be beyond float64
        within = bool(((d >= self.LEAST) & (d <= MAXIMUM)).all())
        if not within or d.max() > self.APART * d.min() or d.sum() > MAXIMUM:
            raise ValueError(
                f"the steps must be numbers of at least {self.LEAST:g}, none more than {self.APART} times another, and "
                f"{MAXIMUM:g} together at most: give for example 0.1"
            )
        return d


def told_apart(Q: np.ndarray) -> np.ndarray:
    """Return the largest log Q[y, u]/Q[y, v] of all reports y, for every pair of values u, v (n x n)."""
    with np.errstate(divide="ignore"):
        logs = np.log(Q)
    return (logs[:, :, None] - logs[:, None, :]).max(axis=0)
