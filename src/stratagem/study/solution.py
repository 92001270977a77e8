"""The result of an optimisation: a strategy with its certificate."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from stratagem.bounds import Bounds
from stratagem.estimators import Accuracy, Estimator, estimator
from stratagem.io.screen import brief, show
from stratagem.io.table import Table
from stratagem.io.target import check_target
from stratagem.math.number import BEST, above_minimum, count_text, upper_percent
from stratagem.math.shuffling import CentralPrivacy
from stratagem.mechanism.client import CEILING
from stratagem.mechanism.export.certificate_file import Certificate, certified
from stratagem.mechanism.export.saved import WRITERS, StoredStrategy
from stratagem.mechanism.mechanism import SUFFIX, Mechanism
from stratagem.solvers.problem import Average, Problem
from stratagem.solvers.solver import Status, Step, last_gain, outlook
from stratagem.strategies import Strategy, SurveyStrategy, TranslationStrategy
from stratagem.study.ranking import Ranking
from stratagem.study.summary import Found, summary, text, variance_gap
from stratagem.workloads import Workload
from stratagem.workloads.centring import estimated

ROUNDING = 1e-9
"""Largest amount by which rounding may put an objective below a bound, relative to the bound or to tr V/n."""

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDED = (Status.OPTIMAL, Status.CONVERGED, Status.BASELINE)
"""Statuses of a search that ended by itself, whose gap alone says how close to the best the strategy is."""
PLAIN = (Status.OPTIMAL, Status.CONVERGED, Status.TUNED, Status.SAVED)
"""Statuses of which nothing is said beside the people needed."""
PROVEN = f"Optimal: no unbiased epsilon-LDP strategy has an objective that is {100 * BEST:g} % smaller."
"""What is said of a search that `ENDED` with a gap too small to be stated, whether one was asked for or not."""
NEAR = 1e-3
"""Gap up to which nothing is said of what limits it."""
NOTABLE, NOTABLY = 0.01, 3.0
"""Gap of the variance alone, and its ratio to that of the objective, above which it is stated too."""


class Promise(ABC):
    """What a solution under a constraint promises beside its epsilon, and what is said of it."""

    bundled: ClassVar[bool] = False
    """Whether a bundle alone can state it, and no file of a matrix."""

    @abstractmethod
    def mechanism(self, solution: Solution, name: str) -> Mechanism:
        """Return the strategy in whole numbers that keep to the constraint.

        Raises:
            ValueError: as `Mechanism.of`, or for what a bundle cannot state.
            ArithmeticError: if whole numbers break the constraint.
        """

    @abstractmethod
    def text(self, solution: Solution) -> str:
        """Return what the solution promises, what it costs and how good it is, a line each."""

    @abstractmethod
    def record(self, solution: Solution) -> dict[str, Any]:
        """Return what holds beside the values of every solution, by name."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution(Found):
    """A strategy for a workload and epsilon, its exact accuracy and the bounds that certify it."""

    __repr__ = brief

    problem: Problem
    """What was asked for: the workload, the budget, the prior, and the variance that was minimised."""
    strategy: Strategy | TranslationStrategy | SurveyStrategy
    accuracy: Accuracy
    """Exact variances of the strategy on the workload."""
    objective: float
    """L(Q) = tr(M^+ V), or the largest variance per user where a worst case was asked for."""
    bounds: Bounds
    status: Status
    """How the search ended and what to do about it."""
    solver: str
    """Name of the solver, or of the published mechanism where the search found nothing better."""
    reason: str
    """Why this solver was run."""
    seconds: float
    history: tuple[Step, ...] = ()
    baselines: Ranking = field(default_factory=lambda: Ranking(()))
    """Every published mechanism at its best on this problem, least objective first."""
    prior: np.ndarray | None = None
    """The prior (n,) whose reconstruction belongs to the strategy: the one asked for, or the least
    favourable one of a worst case; None for 1/n. Pass it to `evaluate` and `Strategy.reconstruct`."""
    others: Mapping[str, Solution] = field(default_factory=dict)
    """Strategies that one found under a constraint is compared with, by name."""
    promise: Promise | None = None
    """What it promises beside its epsilon, where a constraint was given."""

    @cached_property
    def estimator(self) -> Estimator:
        """The estimator of the strategy for the prior: exact variances, and answers from counts."""
        return estimator(self.strategy, self.prior)

    @property
    def workload(self) -> Workload:
        """The queries."""
        return self.problem.workload

    @property
    def epsilon(self) -> float:
        """The budget asked for; `strategy.epsilon` is the epsilon measured from the probabilities."""
        return self.problem.epsilon

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the search, so that a better strategy may be found by searching longer."""
        return self.status in (Status.INTERRUPTED, Status.SAVED_INTERRUPTED)

    @property
    def per_type(self) -> bool:
        """Whether objective and bounds are stated per user type (L/n), as on domains of more than 2^53 types."""
        return not self.workload.counted

    @property
    def objective_kind(self) -> str:
        """Name of the objective: average, worst-case or worst-query."""
        return self.problem.kind

    @property
    def lower_bound(self) -> float:
        """The largest known lower bound on the objective of every unbiased epsilon-LDP strategy (see `Bounds`)."""
        return self.bounds.best

    @property
    def gap(self) -> float:
        """objective / lower bound - 1: the strategy is at most this far from the best possible unbiased one.

        Means of queries that are far above all else count in neither (see `Problem.gap`).
        """
        return self.problem.gap(self.bounds, self.objective, self.accuracy)

    @property
    def variance_gap(self) -> float:
        """What one user adds to the variance of the answers / `least_variance` - 1 (see `summary.variance_gap`)."""
        return variance_gap(self.problem, self.bounds, self.objective, self.accuracy)

    @property
    def outcome(self) -> str:
        """How the search ended; of one that ended by itself at the proven minimum, that it is optimal."""
        return PROVEN if self.status in ENDED and self.gap < BEST else str(self.status)

    @property
    def verdict(self) -> str:
        """How the search ended, how far the strategy is proven to be from the best one, and what limits the proof."""
        if self.status not in ENDED:
            late = outlook(self.history) if self.status is Status.TIME_EXHAUSTED else ""
            return f"{self.status}{late}{self._beside()}"
        if self.gap < BEST:
            return f"{self.outcome}{self._beside()}"
        last = last_gain(self.history) if self.status is Status.CONVERGED else ""
        proven = f"{self.status}{last} The objective is {above_minimum(self.gap)}."
        if self.gap <= NEAR or self.status is Status.OPTIMAL:
            return f"{proven}{self._beside()}"
        if self.problem.kind != Average.kind:
            return f"{proven} The bound, which is one for a mixture of variances, may limit this more than the search."
        if self.bounds.optimal:
            return f"{proven} The bound is the optimum, so that the search limits: try more outputs or another seed."
        return f"{proven} The bound, not the search, is thought to limit: more time may prove a better one."

    @property
    def ending(self) -> str:
        """What limits the result or remains to be done; empty after a full search."""
        return "" if self.status in PLAIN else self.verdict

    def _beside(self) -> str:
        """Return what is proven of the variance, where it is a small part of the objective, as at large epsilon."""
        if (
            self.problem.kind != Average.kind
            or self.prior is not None
            or self.status in (Status.TUNED, Status.TUNED_IN_TIME, Status.SAVED)
        ):
            return ""
        gap = self.variance_gap
        if gap <= max(NOTABLE, NOTABLY * self.gap):
            return ""
        if not math.isfinite(gap):
            return " The objective is nearly all known; nothing is proven of the least variance."
        return f" The variance, a small part of the objective, is {above_minimum(gap)}."

    @property
    def least_variance(self) -> float:
        """A lower bound on the total variance that one user adds to unbiased answers under any epsilon-LDP strategy."""
        return self.problem.least(self.bounds)

    def samples_for(self, alpha: float) -> float:
        """Return the users needed for worst-case normalised variance alpha, the measure of the literature.

        alpha is a squared standard error, averaged over the queries (see `Accuracy.samples_for`): samples_for(e**2)
        rounded up is users_for(e).root_mean_square.
        """
        return self.accuracy.samples_for(alpha)

    @cached_property
    def largest_variance(self) -> float | None:
        """The largest variance that one user of any type adds to any answer, as the function `largest_variance`.

        None for too many queries.
        """
        return self.estimator.worst(self.workload)

    def mechanism(self, *, name: str = "workload", at_most: float = CEILING) -> Mechanism:
        """Return the strategy in whole numbers, which clients can run and anybody can check.

        Its client refuses more epsilon than `at_most`.

        Raises:
            ValueError: if the strategy does not fit into whole numbers.
            ArithmeticError: if whole numbers break a constraint.
        """
        if self.promise is not None:
            return self.promise.mechanism(self, name).accepting(at_most)
        options = {"name": name, "prior": self.prior, "interrupted": self.interrupted}
        return Mechanism.of(self.strategy, self.workload, self.epsilon, **options).accepting(at_most)

    def shuffled(self, users: int, delta: float = 1e-6) -> CentralPrivacy:
        """Return the central privacy of the strategy if the reports of so many users are shuffled together.

        Computed from the strategy's own probabilities; an upper limit with all rounding (see `PrivacyBlanket`).

        Raises:
            ValueError: unless users is a whole number from 1 to 10^15 and 0 < delta < 1.

        Example:
            >>> import stratagem as st
            >>> f"{st.optimise(st.histogram(64), epsilon=1.0).shuffled(10_000).epsilon:.4f}"
            '0.0299'
        """
        return self.strategy.blanket.shuffled(users, delta)

    @property
    def matrix(self) -> np.ndarray:
        """Q (m x n), Q[y, u] = Pr(report y | user type u).

        Raises:
            ValueError: if it is too large to be written out; `mechanism` needs no matrix.
        """
        return self.strategy.dense().matrix

    def save(self, path: str | Path, *, name: str = "workload", overwrite: bool = False) -> Path:
        """Write the solution and return the path; the suffix decides what is kept.

        .ldp.json is the bundle of `mechanism`; .npz holds the matrix
        in doubles with workload, epsilon and prior; .mat, .csv and .parquet hold the matrix.

        Raises:
            ValueError: for another suffix, a path that cannot be written, a file that exists, unless `overwrite`, a
                matrix that is too large, or what the format cannot hold; and as `mechanism`.
        """
        path = check_target(path, self.suffixes, overwrite=overwrite)
        return self.kept(path, name).write_checked(path)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes of the files that can hold the solution."""
        return (*(() if self.promise is not None and self.promise.bundled else WRITERS), SUFFIX)

    def kept(self, path: Path, name: str) -> Mechanism | StoredStrategy:
        """Return what a file of this name keeps of the solution: the bundle, or the matrix with what it is for."""
        if path.name.lower().endswith(SUFFIX):
            return self.mechanism(name=name)
        asked = (max(self.epsilon, self.strategy.epsilon), self.workload, name, self.prior)
        return StoredStrategy(self.strategy.dense(), *asked, interrupted=self.interrupted)

    @cached_property
    def certificate(self) -> Certificate:
        """The proof of a lower bound on L(Q), in arrays that a file can hold: of `lower_bound`, where that has one.

        Else it is found now, in at most a minute, and its value is near `lower_bound`, or above.

        Raises:
            ValueError: beyond 1024 user types, whose arrays are too large, and for worst cases and queries.
        """
        if self.problem.kind != Average.kind:
            raise ValueError(
                f"the objective is {self.objective_kind}, but a proof is of a bound on the average: optimise "
                "the average, under the solution's prior for its bound"
            )
        proof = self.bounds[self.bounds.name].proof
        if proof is not None:
            return Certificate(self.workload, proof)
        return certified(self.problem, self.lower_bound)

    def plot(self, path: str | Path | None = None, width: float | None = None) -> Figure:
        """Draw the strategy and the error of every query; write an .svg, .png or .pdf if a path is given.

        `width` in inches, that of the style by default; below 4.5 the panels stand one above the other.

        Raises:
            ValueError: without matplotlib, or for a path or width that cannot be used.
        """
        bound = math.sqrt(self.least_variance / estimated(self.workload))
        return show("plot_strategy", self.workload, self.strategy, path, width, prior=self.prior, bound=bound)

    def report(
        self,
        path: str | Path,
        *,
        name: str = "workload",
        others: Iterable[Solution] = (),
        title: str = "",
        question: str = "",
        users: int | None = None,
        date: str = "",
        seconds: float | None = None,
    ) -> Path:
        """Write one HTML page on this solution that needs no network, and return its path.

        It shows the strategy, the error of every query, baselines and bounds, the users needed over epsilon, what
        is protected and what is not, and how to check it. `others` are solutions of the same problem at other
        budgets, as `stratagem.study.path` returns them; without them the page knows baselines and bounds there.
        `title`, the `question` that people are asked, the number of `users` and `date` appear on it where given; the
        verdict then states the errors to expect with so many users, otherwise the users needed for an error of 1 %. The
        page names published mechanisms that did not fit into the `seconds`.

        Raises:
            ValueError: without matplotlib, for a path that cannot be written, another problem, or users out of range.
        """
        about = {"title": title, "question": question, "users": users, "date": date, "seconds": seconds}
        return show("report_solution", path, self, name=name, others=others, **about)

    def _repr_html_(self) -> str:
        """Return the certificate as a table for a notebook."""
        rows = [
            ("objective", f"{self.objective:.6g}"),
            (f"lower bound ({self.bounds.name})", f"{self.lower_bound:.6g}"),
            ("gap", upper_percent(self.gap)),
            ("epsilon", f"{self.strategy.epsilon:.6g}"),
            ("reports", count_text(self.strategy.outputs)),
        ]
        return Table(("strategy", "value"), rows).html(f"{self.solver}: {self.verdict}")

    def __str__(self) -> str:
        """Return the people to ask, beside the best published mechanism and the proven minimum, as printed."""
        if self.promise is not None:
            return self.promise.text(self)
        late = self.baselines.late_sentence
        ended = "\n".join(filter(None, (self.ending, late)))
        return text([*summary(self.problem, self.bounds, self, self.baselines.named, cut=bool(late)), ended])


def certify(solution: Solution) -> Solution:
    """Return a solution, unless it breaks its privacy budget or its objective is below a lower bound."""
    measured, bounds = solution.strategy.epsilon, solution.bounds
    if not all(one.holds(solution.strategy, solution.epsilon) for one in solution.problem.constraints):
        raise ArithmeticError("the strategy does not keep to its constraint")
    if measured > solution.epsilon and not solution.problem.constraints:
        raise ArithmeticError(f"the strategy measures epsilon {measured!r}, above {solution.epsilon!r}")
    room = ROUNDING * max(bounds.best, solution.workload.mean_square)
    if solution.objective < bounds.best - room:
        raise ArithmeticError(
            f"the objective {solution.objective!r} is below the {bounds.name} bound {bounds.best!r}"
        )
    return solution
