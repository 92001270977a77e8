"""The result of an optimisation: a strategy with its certificate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from stratagem.accuracy import (
    ERROR,
    Accuracy,
    Users,
    both_needed,
    comparable,
    goal,
    largest_variance,
    mean_variance,
)
from stratagem.bounds import Bounds
from stratagem.io.screen import WIDTH, brief, show
from stratagem.io.table import Table
from stratagem.math.number import count_text, upper_percent
from stratagem.math.shuffling import Shuffled
from stratagem.problem import Average, Problem, relative_gap
from stratagem.solvers.solver import Status, Step, outlook
from stratagem.strategies import Strategy, TranslationStrategy
from stratagem.study.ranking import Ranking
from stratagem.workloads import Workload

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stratagem.mechanism.export.certificate_file import Certificate
    from stratagem.mechanism.mechanism import Mechanism


LIMITED = (Status.CONVERGED, Status.BASELINE)
"""Statuses of a search that ended by itself, so that either it or the bound limits what is proven."""
NEAR = 1e-3
"""Gap up to which nothing is said of what limits it."""
NOTABLE, NOTABLY = 0.01, 3.0
"""Gap of the variance alone, and its ratio to that of the objective, above which it is stated too."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Solution:
    """A strategy for a workload and epsilon, its exact accuracy and the bounds that certify it."""

    __repr__ = brief

    problem: Problem
    """What was asked for: the workload, the budget, the prior, and the variance that was minimised."""
    strategy: Strategy | TranslationStrategy
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
        """What one user adds to the variance of the answers / `least_variance` - 1, by the objective.

        L = n times that variance + ||W||_F^2 holds a constant besides, so that its gap is smaller.
        """
        added = self.accuracy.average_variance if self.problem.plain else self.problem.added(self.objective)
        return relative_gap(added, self.least_variance)

    @property
    def verdict(self) -> str:
        """How the search ended, how far the strategy is proven to be from the best one, and what limits the proof."""
        if self.status is Status.OPTIMAL:
            no_better = "no unbiased epsilon-LDP strategy is better by more than that."
            return f"Optimal within {upper_percent(self.gap)}: {no_better}{self._beside()}"
        if self.status not in LIMITED:
            late = outlook(self.history) if self.status is Status.TIME_EXHAUSTED else ""
            return f"{self.status}{late}{self._beside()}"
        above = f"at most {upper_percent(self.gap)} above the best possible unbiased strategy"
        proven = f"{self.status} It is proven to be {above}."
        if self.gap <= NEAR:
            return f"{proven}{self._beside()}"
        if self.problem.kind != Average.kind:
            return f"{proven} The bound, which is one for a mixture of variances, may limit this more than the search."
        if self.bounds.name in ("exact", "linear"):
            return f"{proven} The bound is the optimum, so that the search limits: try more outputs or another seed."
        return f"{proven} The bound, not the search, is thought to limit: more time may prove a better one."

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
        return (
            f" The variance, a small part of the objective, is proven to be at most {upper_percent(gap)} above the "
            "least of unbiased strategies."
        )

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
    def mean_variance(self) -> float:
        """The variance that one user of the worst type adds to an answer, in the mean over `comparable` queries."""
        return mean_variance(self.workload, self.strategy, self.prior, self.accuracy)

    @cached_property
    def largest_variance(self) -> float | None:
        """The largest variance that one user of any type adds to any answer, as the function `largest_variance`.

        None for too many queries.
        """
        return largest_variance(self.workload, self.strategy, self.prior)

    @property
    def largest_comparable(self) -> float | None:
        """The largest variance that one user adds to any of the `comparable` answers; None for too many queries."""
        if (chosen := comparable(self.workload)) is self.workload:
            return self.largest_variance
        return largest_variance(chosen, self.strategy, self.prior)

    def users_for(self, error: float = ERROR) -> Users:
        """Return the users needed for a standard error, as a share of the users, if all had the worst type.

        First for the root mean square over the queries, then for every single answer; None in place of the second
        where the queries are too many to be looked at one by one.

        Raises:
            ValueError: if the error is not a positive number.

        Example:
            >>> import stratagem as st
            >>> st.optimise(st.histogram(8), epsilon=1.0).users_for(0.01)
            Users(root_mean_square=27171, least_accurate=37595)
        """
        return both_needed(self.mean_variance, self.largest_comparable, error)

    def users_sentence(self) -> str:
        """Return `users_for` as a sentence on a standard error of 1 % of the users (see `goal`)."""
        return self.users_for().sentence(goal(self.workload))

    def mechanism(
        self,
        *,
        name: str = "workload",
        labels: Mapping[str, Sequence[str]] | Sequence[str] | None = None,
        edges: Mapping[str, Sequence[float | str]] | Sequence[float | str] | None = None,
        units: Mapping[str, str] | str | None = None,
    ) -> Mechanism:
        """Return the strategy in whole numbers, which clients can run and anybody can check.

        `labels`, `edges` and `units` say what the values of an attribute are, as in `Mechanism.of`.

        Raises:
            ValueError: if the strategy does not fit into whole numbers, or labels, edges and units not to the
                domain.
        """
        from stratagem.mechanism.mechanism import Mechanism

        options = {"name": name, "labels": labels, "edges": edges, "units": units, "prior": self.prior}
        return Mechanism.of(
            self.strategy, self.workload, self.epsilon, interrupted=self.interrupted, **options
        )

    def shuffled(self, users: int, delta: float = 1e-6) -> Shuffled:
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

    def save(
        self, path: str | Path, *, name: str = "workload", overwrite: bool = False, **values: Any
    ) -> Path:
        """Write the solution and return the path; the suffix decides what is kept.

        .ldp.json is the bundle of `mechanism`, with its labels, edges and units in `values`; .npz holds the matrix
        in doubles with workload, epsilon and prior; .mat, .csv and .parquet hold the matrix.

        Raises:
            ValueError: for another suffix, a path that cannot be written, a file that exists, unless `overwrite`, a
                matrix that is too large, or what the format cannot hold; and as `mechanism`.
        """
        from stratagem.io.target import check_target
        from stratagem.mechanism.export.saved import write_saved
        from stratagem.mechanism.export.strategy_file import WRITERS, StoredStrategy
        from stratagem.mechanism.mechanism import SUFFIX

        path = check_target(path, (*WRITERS, SUFFIX), overwrite=overwrite)
        if path.name.lower().endswith(SUFFIX):
            return write_saved(path, self.mechanism(name=name, **values))
        if kept := [key for key, value in values.items() if value]:
            raise ValueError(f"{kept[0]} were given, but {path} cannot hold them: name a bundle, *{SUFFIX}")
        asked = (self.epsilon, self.workload, name, self.prior)
        return write_saved(path, StoredStrategy(self.strategy.dense(), *asked, interrupted=self.interrupted))

    @cached_property
    def certificate(self) -> Certificate:
        """The proof of a lower bound on L(Q), in arrays that a file can hold; found now, in at most a minute.

        Its value is near `lower_bound`, or above.

        Raises:
            ValueError: beyond 1024 user types, whose arrays are too large, and for worst cases and queries.
        """
        from stratagem.mechanism.export.certificate_file import certified

        if not isinstance(self.problem, Average):
            raise ValueError(
                f"the objective is {self.objective_kind}, but a certificate proves a bound on the average: optimise "
                "the average, under the solution's prior for its bound"
            )
        return certified(self.workload, self.epsilon, self.prior, self.lower_bound)

    def plot(self, path: str | Path | None = None, width: float | None = None) -> Figure:
        """Draw the strategy and the error of every query; write an .svg, .png or .pdf if a path is given.

        `width` in inches, that of the style by default; below 4.5 the panels stand one above the other.

        Raises:
            ValueError: without matplotlib, or for a path or width that cannot be used.
        """
        bound = math.sqrt(self.least_variance / self.workload.queries)
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
        budgets, as `stratagem.path` returns them; without them the page knows baselines and bounds there.
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
            ("gap", f"{100 * self.gap:.2f} %"),
            ("measured epsilon", f"{self.strategy.epsilon:.6g}"),
            ("reports", count_text(self.strategy.outputs)),
        ]
        return Table(("strategy", "value"), rows).html(f"{self.solver}: {self.verdict}")

    def __str__(self) -> str:
        """Return a few lines with the strategy found and its certificate."""
        return (
            f"{count_text(self.strategy.outputs)} outputs for {count_text(self.workload.domain_size)} user types, "
            f"measured epsilon {self.strategy.epsilon:.6g}\n"
            f"objective    {self.objective:.6g}{' per user type' if self.per_type else ''}\n"
            f"lower bound  {self.lower_bound:.6g} ({self.bounds.name})\n"
            f"gap          {100 * self.gap:.2f} %\n"
            f"solver       {self.solver}: {self.reason}\n"
            + "\n".join(wrap(self.verdict, WIDTH, break_on_hyphens=False))
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Design:
    """A strategy found under a limit besides its local epsilon, with its accuracy and a bound under that limit."""

    __repr__ = brief

    workload: Workload
    strategy: Strategy | TranslationStrategy
    accuracy: Accuracy
    """Exact variances of the strategy on the workload."""
    objective: float
    """L(Q) = tr(M^+ V)."""
    lower_bound: float
    """A lower bound on L(Q) of every unbiased strategy of this local epsilon under the limit (see `limited_bound`)."""

    @property
    def gap(self) -> float:
        """objective / lower bound - 1."""
        return relative_gap(self.objective, self.lower_bound)

    @cached_property
    def mean_variance(self) -> float:
        """The variance that one user of the worst type adds to an answer, in the mean over `comparable` queries."""
        return mean_variance(self.workload, self.strategy, None, self.accuracy)

    @cached_property
    def largest_comparable(self) -> float | None:
        """The largest variance that one user adds to any of the `comparable` answers; None for too many queries."""
        return largest_variance(comparable(self.workload), self.strategy)

    def users_for(self, error: float = ERROR) -> Users:
        """Return the users needed for a standard error as a share of the users, as `Solution.users_for`."""
        return both_needed(self.mean_variance, self.largest_comparable, error)
