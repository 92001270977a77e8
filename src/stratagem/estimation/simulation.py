"""Simulated collections of reports on real data: true answers, estimates, observed and predicted errors."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from stratagem.estimators import Estimator, estimator, evaluate
from stratagem.estimators.accuracy import ENTRIES, check_sizes
from stratagem.estimators.survey import Surveyed
from stratagem.io.screen import brief, show
from stratagem.math.number import entries, integer, user_counts
from stratagem.math.vector import WHOLE, Counts, counted
from stratagem.strategies import Runnable, SurveyStrategy, TranslationStrategy
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.centring import estimated
from stratagem.workloads.given import WorkloadLike, workload_of
from stratagem.workloads.naming import Naming

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROUNDING = 1e-12
"""Share of sum_u x_u V_uu below which a predicted variance is rounding."""
USERS = float(1 << 53)
"""Largest number of users: whole numbers up to here are exact in double precision."""
ONE_BY_ONE = 1 << 28
"""Largest number of users times attributes of which reports are drawn one by one."""
PER_QUERY_LIMIT = 1 << 30
"""Queries x user types up to which every query's own standard error is computed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Simulation:
    """Errors of repeated collections of reports from the same users, beside the exact prediction."""

    __repr__ = brief

    naming: Naming
    """The workload, and the names of its queries, each made when it is asked for: `naming.label(0)`."""
    users: int
    """Number N of users."""
    truth: np.ndarray
    """True answers W x (p,)."""
    estimates: np.ndarray
    """Estimated answers (p,) of the first repetition."""
    standard_errors: np.ndarray | None
    """Exact standard deviation of every estimate (p,); None with very many queries."""
    predicted: float
    """Exact total variance sum_u x_u t_u of the p answers, in squared counts."""
    observed: np.ndarray
    """Total squared error ||W (x_hat - x)||^2 of each repetition."""
    errors: np.ndarray
    """Root mean square error of every answer over the repetitions (p,)."""

    @property
    def exact(self) -> bool:
        """Whether the predicted error is zero to double precision, as for the total."""
        return self.predicted == 0

    @property
    def ratio(self) -> float:
        """Mean observed over predicted total squared error; 1 in expectation, NaN where both are zero."""
        return math.nan if self.exact else float(self.observed.mean()) / self.predicted

    @property
    def ratio_error(self) -> float:
        """Standard error of `ratio`, from the spread of the repetitions."""
        if self.exact:
            return math.nan
        return float(self.observed.std(ddof=1)) / math.sqrt(len(self.observed)) / self.predicted

    @property
    def normalised(self) -> float:
        """Predicted variance of an answer as a fraction of the users, averaged over queries."""
        return self.predicted / (len(self.truth) * self.users**2)

    def __str__(self) -> str:
        """Return text on the observed errors and their ratio to the prediction."""
        root = math.sqrt(self.predicted / estimated(self.naming.workload))
        ratio = "none was predicted" if self.exact else f"{self.ratio:.3f} ± {self.ratio_error:.3f} of it"
        return (
            f"{len(self.truth):,} queries, {self.users:,} people, {len(self.observed):,} repetitions\n"
            f"predicted error  {root:,.1f} people, root mean square over the queries\n"
            f"observed square  {ratio}"
        )

    def plot(self, path: str | Path | None = None, width: float | None = None) -> Figure:
        """Draw observed over predicted errors of every query; write an .svg, .png or .pdf if a path is given.

        `width` in inches, that of the style by default.

        Raises:
            ValueError: without matplotlib, for a path or width that cannot be used, or too many queries.
        """
        return show("plot_simulation", self, path, width)


def simulate(
    workload: WorkloadLike,
    strategy: Runnable,
    x: np.ndarray,
    *,
    domain: DomainLike | None = None,
    repetitions: int = 100,
    seed: int = 0,
    prior: np.ndarray | None = None,
) -> Simulation:
    """Return the errors of the estimates from repeated reports of x[u] users of each type u.

    All users report `repetitions` times. `workload`, `domain` and `prior` (n,), which chooses the evidence, are
    those of `evaluate`. Reports are drawn as counts, which
    have the same distribution as those of one report a user; those of translates and surveys are drawn one by one.

    Raises:
        ValueError: for fewer than 2 repetitions, no users, or a strategy that cannot answer the workload.

    Example:
        >>> import numpy as np, stratagem as st
        >>> run = simulate(st.prefix(4), st.published.randomised_response(4, 1.0), np.array([500, 300, 150, 50]))
        >>> abs(run.ratio - 1) < 4 * run.ratio_error
        True
    """
    workload = workload_of(workload, domain, lambda: strategy.domain_size)
    check_runs(repetitions, seed)
    x = user_counts(x, workload.domain_size)
    cells = np.flatnonzero(x)
    values = np.stack(np.unravel_index(cells, workload.domain.sizes), axis=1)
    runs = {"repetitions": repetitions, "seed": seed, "prior": prior}
    return simulate_users(workload, strategy, values, x[cells], **runs)


def _repeated(scores: Estimator, drawn: Iterator[Counts], **known: Any) -> Simulation:
    """Return the errors of estimates from the counts of each repetition."""
    workload, truth = known["naming"].workload, known["truth"]
    first, observed, squares = np.empty(0), [], np.zeros(len(truth))
    scores.check(workload)
    for counts in drawn:
        found = scores.evidence(counts).answers(workload)
        first = first if observed else found
        errors = np.square(found - truth)
        observed.append(errors.sum())
        squares += errors
    errors = np.sqrt(squares / len(observed))
    return Simulation(estimates=first, observed=np.array(observed), errors=errors, **known)


def check_runs(repetitions: int, seed: int) -> None:
    """Refuse repetitions and seeds that are no whole numbers or too small."""
    integer(
        repetitions, "the number of repetitions", 2, WHOLE, "their spread needs at least 2, for example 100"
    )
    integer(seed, "the seed", 0, 1 << 64, "it is not negative: give 0, 1, 2, ...")


def simulate_users(
    workload: Workload,
    strategy: Runnable,
    coordinates: np.ndarray,
    users: np.ndarray,
    *,
    repetitions: int = 100,
    seed: int = 0,
    prior: np.ndarray | None = None,
) -> Simulation:
    """Return the errors of estimates from `repetitions` simulated collections of reports, as `simulate`.

    `coordinates` (k, d) are the user types, one value an attribute, `users` (k,) how many users have each of them.
    Repetition r depends on (seed, r) alone.
    """
    check_runs(repetitions, seed)
    if not len(users) or users.sum() <= 0:
        raise ValueError("no people were given to report, but at least one is needed: give data")
    rngs = (np.random.default_rng([seed, r]) for r in range(repetitions))
    if prior is not None and strategy.translated is not None:
        raise ValueError(
            f"a prior was given for {strategy.even}: leave the prior out, or simulate strategy.dense()"
        )
    if prior is None and (strategy.parted or strategy.translated is not None):
        return _one_by_one(workload, cast("Any", strategy), coordinates, users, rngs)
    x = np.zeros(workload.domain_size, dtype=users.dtype)
    np.add.at(x, np.ravel_multi_index(tuple(coordinates.T), workload.domain.sizes), users)
    if (total := x.sum(dtype=float)) > USERS:
        raise ValueError(
            f"the data vector counts {total:.3g} people, but at most {USERS:.3g} can be drawn: divide the counts"
        )
    scores = estimator(strategy, prior)
    predicted = scores.accuracy(workload).total_variance(x)
    feasible = workload.queries * workload.domain_size <= PER_QUERY_LIMIT
    return _repeated(
        scores,
        (strategy.histogram(x, rng) for rng in rngs),
        naming=Naming.of(workload),
        users=int(x.sum()),
        truth=workload.answer(x),
        standard_errors=np.sqrt(scores.variances(workload, x)) if feasible else None,
        predicted=predicted if predicted > ROUNDING * float(np.diag(workload.gram()) @ x) else 0.0,
    )


def _one_by_one(
    workload: Workload,
    strategy: TranslationStrategy | SurveyStrategy,
    coordinates: np.ndarray,
    users: np.ndarray,
    rngs: Iterator[np.random.Generator],
) -> Simulation:
    """Return the errors of estimates from reports that are drawn user by user."""
    check_sizes(workload, strategy.sizes)
    advice = "simulate fewer queries, for example the prefixes in place of all ranges"
    entries(workload.queries, WHOLE, "the errors of all answers", advice)
    if (numbers := float(users.sum()) * len(strategy.sizes)) > ONE_BY_ONE:
        raise ValueError(
            f"the reports of {numbers / len(strategy.sizes):.3g} people were asked for, which are drawn one by one: "
            f"give at most {ONE_BY_ONE // len(strategy.sizes):,} people, for example a share of them"
        )
    values = np.repeat(strategy.coordinates(coordinates), users.astype(np.int64), axis=0)
    scores = estimator(strategy)
    if strategy.parted:
        predicted, errors = _by_table(workload, cast("SurveyStrategy", strategy), values)
    else:
        predicted, errors = _predicted(workload, cast("TranslationStrategy", strategy), values), None
    return _repeated(
        scores,
        (counted(strategy.randomise(values, rng), strategy.outputs) for rng in rngs),
        naming=Naming.of(workload),
        users=len(values),
        truth=workload.answer_users(values),
        standard_errors=errors,
        predicted=predicted if predicted > ROUNDING * len(values) * workload.mean_square else 0.0,
    )


def _by_table(
    workload: Workload, strategy: SurveyStrategy, values: np.ndarray
) -> tuple[float, np.ndarray | None]:
    """Return the exact total variance and every standard error (p,) of a survey, from the tables of its parts alone.

    There are no standard errors where the queries about a table are very many.
    """
    scores, sizes = Surveyed(strategy), strategy.sizes

    def onto(attributes: tuple[int, ...]) -> np.ndarray:
        cells = math.prod(sizes[i] for i in attributes)
        return np.bincount(strategy.cells(attributes, values), minlength=cells).astype(float)

    total = math.fsum(float(onto(attributes) @ one) for attributes, one in scores.by_cell(workload))
    few = all(one.workload.queries * one.workload.domain_size <= ENTRIES for one in scores.asked(workload))
    return total, np.sqrt(scores.variances_of(workload, onto)) if few else None


def _predicted(workload: Workload, strategy: TranslationStrategy, values: np.ndarray) -> float:
    """Return the exact total variance of the answers, sum_u x_u t_u."""
    accuracy = evaluate(workload, strategy)
    per_type, chosen = accuracy.per_type, list(accuracy.attributes or range(len(strategy.sizes)))
    if len(per_type) == 1:
        return len(values) * float(per_type[0])
    cells = np.ravel_multi_index(tuple(values.T[chosen]), [strategy.sizes[i] for i in chosen])
    return float(per_type[cells].sum())
