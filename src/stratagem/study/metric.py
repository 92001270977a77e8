"""Strategies which protect near values more than far ones: on a line, or for any distances of few values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from stratagem.accuracy import evaluate, goal, objective
from stratagem.bounds.metric import all_rays, listed_bound, metric_bound
from stratagem.io.screen import brief
from stratagem.math.deadline import Deadline, granted, within
from stratagem.math.number import numbers, upper_percent, users_text
from stratagem.math.privacy import MAXIMUM, check_several
from stratagem.problem import relative_gap
from stratagem.solvers import Callback
from stratagem.solvers.metric import from_rays, geometric, published_at, search_metric
from stratagem.solvers.solver import Step
from stratagem.strategies import MatrixStrategy
from stratagem.study.solution import Design
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.centring import centred
from stratagem.workloads.given import WorkloadLike, workload_of

if TYPE_CHECKING:
    from stratagem.mechanism.mechanism import Mechanism

LARGEST, LISTED = 64, 7
"""Largest number of values that is designed for, on a line and for any distances: 7 values have 924 rays at most."""
LEAST, APART = 1e-4, 1000
"""Smallest step, and largest ratio of two: what reports tell of a step falls with its square, and must keep digits."""
ROUNDS, SECONDS = 20, 60.0
"""Rounds of new rows at most, and seconds after which no more begins."""
CLOSE = 1e-5
"""Gap at which the search ends."""


def measured(strategy: MatrixStrategy) -> np.ndarray:
    """Return the largest |log Q[y, u]/Q[y, u + 1]| of all reports y, for every pair of neighbours u, u + 1 (n - 1,)."""
    with np.errstate(divide="ignore"):
        return np.abs(np.diff(np.log(strategy.matrix), axis=1)).max(axis=0)


def told_apart(strategy: MatrixStrategy) -> np.ndarray:
    """Return the largest log Q[y, u]/Q[y, v] of all reports y, for every pair of values u, v (n x n)."""
    with np.errstate(divide="ignore"):
        logs = np.log(strategy.matrix)
    return (logs[:, :, None] - logs[:, None, :]).max(axis=0)


@dataclass(frozen=True, eq=False, kw_only=True)
class MetricDesign(Design):
    """A strategy under which no report tells two values apart by more than their distance."""

    __repr__ = brief

    strategy: MatrixStrategy
    steps: np.ndarray
    """On a line, budgets (n - 1,) between neighbours: values u < v differ by the sum of the steps between them.

    For any other distances, their matrix (n x n) of shortest paths.
    """
    published: float
    """L(Q) of a published mechanism for the same distances: on a line the truncated geometric mechanism."""

    @property
    def on_line(self) -> bool:
        """Whether the distances are those of steps on a line."""
        return self.steps.ndim == 1

    @property
    def epsilon(self) -> float:
        """The largest distance, on a line the sum of all steps: the plain epsilon of the strategy."""
        return float(self.steps.sum() if self.on_line else self.steps.max())

    def mechanism(self, **options: Any) -> Mechanism:
        """Return the strategy in whole numbers that keep to every step (see `Mechanism.on_line`).

        Raises:
            ValueError: for distances given as a matrix, which a bundle cannot state, or as there.
        """
        from stratagem.mechanism.mechanism import Mechanism

        if not self.on_line:
            raise ValueError(
                "a bundle states the steps of a line, but these distances are a matrix: save the strategy as .npz, "
                ".csv, .mat or .parquet"
            )
        return Mechanism.on_line(self.strategy, self.workload, self.steps.tolist(), **options)

    def save(
        self, path: str | Path, *, name: str = "workload", overwrite: bool = False, **options: Any
    ) -> Path:
        """Write a bundle, *.ldp.json, or the strategy in doubles: .npz with its workload, .mat, .csv or .parquet.

        The options are those of `mechanism`, for a bundle alone.

        Raises:
            ValueError: for another suffix, a path that cannot be written, or a file that exists, unless `overwrite`,
                and for a bundle of distances given as a matrix.
        """
        from stratagem.io.target import check_target
        from stratagem.mechanism.export.saved import write_saved
        from stratagem.mechanism.export.strategy_file import WRITERS, StoredStrategy
        from stratagem.mechanism.mechanism import SUFFIX

        path = check_target(path, (SUFFIX, *WRITERS), overwrite=overwrite)
        if str(path).endswith(SUFFIX):
            return self.mechanism(name=name, **options).save(path, overwrite=overwrite)
        return write_saved(path, StoredStrategy(self.strategy, self.epsilon, self.workload, name))

    def __str__(self) -> str:
        """Return what was found in four sentences."""
        low, high = float(self.steps[self.steps > 0].min()), float(self.steps.max())
        step = f"e^{low:.4g}" if low == high else f"e^{low:.4g} to e^{high:.4g}"
        if self.on_line:
            told = f"for the next; factors multiply along the line, to e^{self.epsilon:.4g} from end to end"
            other, same = "the truncated geometric mechanism", "steps"
        else:
            told, other, same = "for another, by their distance", "a published mechanism", "distances"
        return (
            f"No report is more than {step} times as likely for one value as {told}.\n"
            f"{self.users_for().sentence(goal(self.workload))}.\n"
            f"The total variance is {100 * (1 - self.objective / self.published):.1f} % below that of {other} with the "
            f"same {same}.\n"
            f"It is at most {upper_percent(self.gap)} above the least of all unbiased strategies with these {same}."
        )


def optimise_metric(
    workload: WorkloadLike,
    steps: ArrayLike,
    on_step: Callback | None = None,
    *,
    domain: DomainLike | None = None,
    seed: int = 0,
    seconds: float | None = None,
) -> MetricDesign:
    """Return the best strategy found that is private by distance: Q[y, u] <= exp(d(u, v)) Q[y, v] for all u, v and y.

    d(u, v) is the sum of the steps between two values on a line, of `steps` (n - 1,) or of one number for all. Near
    values are protected as by a small epsilon, far ones less: numbers, times, places along a road. A convex programme
    chooses weights of rows that use up every step (theory.md, section 13). Ctrl-C keeps the best so far, as does the
    end of the `seconds`, a minute by default.

    For 2 to 7 values, of any attributes in the order of the domain, `steps` may be a symmetric matrix of distances
    (n x n) in nats, zero on the diagonal: they need no line. Where a path of several pairs is shorter than a distance,
    its length takes the place of the distance, as factors multiply along the path. All extreme rows are listed, so
    that `lower_bound` is the optimum but for rounding, and the gap what the solver lacks: 10^-4 and less in the tests.

    Guarantee:
        The distances hold for the probabilities of the result, measured after the search.

    Raises:
        ValueError: unless the workload has one attribute of 2 to 64 values, and there is one step or one for each
            pair of neighbours, at least 10^-4 each, at most 1000 times apart and 300 together; or there are 2 to 7
            values and a symmetric matrix of distances within the same limits, 300 for the longest.

    Example:
        >>> import stratagem as st
        >>> design = st.optimise_metric(st.prefix(8), 0.1)
        >>> round(design.objective), round(design.published), design.gap < 1e-4
        (5582, 39449, True)
    """
    workload = workload_of(workload, domain)
    given = numbers(steps)
    with within(granted(seconds, SECONDS)) as time:
        if given.ndim > 1:
            return _by_matrix(workload, given, on_step)
        return _by_steps(workload, given, on_step, seed, time)


def _by_steps(
    workload: Workload, given: np.ndarray, on_step: Callback | None, seed: int, time: Deadline
) -> MetricDesign:
    """Return the best strategy for steps on a line, one number or (n - 1,)."""
    d = _checked(given, workload)
    bound, information = metric_bound(workload, d)
    found = geometric(d)
    first = least = objective(workload, found)
    V, rng = centred(workload).gram, np.random.default_rng(seed)
    rounds = ROUNDS if V.any() and relative_gap(first, bound) > CLOSE else 0
    with time.ended_by_hand():
        for step, one in enumerate(search_metric(V, d, information, rounds, rng) if rounds else ()):
            value = objective(workload, one)
            if value < least:
                found, least = one, value
            gap = relative_gap(least, bound)
            stopped = on_step is not None and on_step(Step(0, step, value, least, gap, time.elapsed))
            if stopped or gap <= CLOSE or time.over:
                break
    return _design(workload, found, least, bound, d, first)


def _by_matrix(workload: Workload, given: np.ndarray, on_step: Callback | None) -> MetricDesign:
    """Return the best strategy for distances that are a matrix (n x n)."""
    d, time = _distances(given, workload.domain_size), Deadline()
    S = all_rays(d)
    bound, weights = listed_bound(workload, d, S)
    found = published_at(d)
    first = least = objective(workload, found)
    if len(weights):
        one = from_rays(S, weights)
        value = objective(workload, one)
        if value < least:
            found, least = one, value
    if on_step is not None:
        on_step(Step(0, 0, least, least, relative_gap(least, bound), time.elapsed))
    return _design(workload, found, least, bound, d, first)


def _design(
    workload: Workload, found: MatrixStrategy, least: float, bound: float, d: np.ndarray, first: float
) -> MetricDesign:
    """Return the result.

    Raises:
        ArithmeticError: if the strategy breaks a distance or is better than its bound.
    """
    design = MetricDesign(
        workload=workload,
        strategy=found,
        accuracy=evaluate(workload, found),
        objective=least,
        lower_bound=bound,
        steps=d,
        published=first,
    )
    apart = measured(found) if design.on_line else told_apart(found)
    if (apart > d).any() or design.gap < -1e-9:
        raise ArithmeticError("a strategy private by distance contradicts its bound or its steps")
    return design


def _distances(given: np.ndarray, n: int) -> np.ndarray:
    """Return the shortest paths (n x n) of a matrix of distances.

    Raises:
        ValueError: as `optimise_metric`.
    """
    if not 2 <= n <= LISTED:
        raise ValueError(
            f"distances were given as a matrix for {users_text(n)} values, but all rows are listed for 2 to {LISTED}: "
            "merge values, or put them on a line and give one step for each pair of neighbours"
        )
    if given.shape != (n, n):
        shape = " x ".join(map(str, given.shape))
        raise ValueError(
            f"the distances are {shape} numbers, but {n} values need {n} x {n}, or steps on a line"
        )
    apart = given[~np.eye(n, dtype=bool)]
    if np.diag(given).any() or not ((apart >= LEAST) & np.isfinite(apart)).all():
        raise ValueError(
            f"the distances must be numbers of at least {LEAST:g} between two values, and 0 on the diagonal"
        )
    if not (given == given.T).all():
        raise ValueError("the distances are not symmetric: give the same number for u, v and for v, u")
    d = given.copy()
    for w in range(n):
        d = np.minimum(d, d[:, w, None] + d[w])
    if d.max() > APART * d[d > 0].min() or d.max() > MAXIMUM:
        raise ValueError(
            f"the distances, of shortest paths, must be at most {MAXIMUM:g}, and none more than {APART} times another"
        )
    return d


def _checked(given: np.ndarray, workload: Workload) -> np.ndarray:
    """Return one step for each pair of neighbours (n - 1,).

    Raises:
        ValueError: as `optimise_metric`.
    """
    n, attributes = workload.domain_size, len(workload.domain.sizes)
    if attributes > 1:
        raise ValueError(
            f"the workload has {attributes} attributes, but distances are those on one line: give queries about one "
            "attribute with its values in order"
        )
    if check_several(n) > LARGEST:
        raise ValueError(
            f"steps were given for {users_text(n)} values on a line, but are designed for 2 to {LARGEST}: use coarser "
            "values"
        )
    d = np.full(n - 1, float(given)) if given.ndim == 0 else given
    if d.shape != (n - 1,):
        raise ValueError(
            f"{d.size} steps were given, but {n} values have {n - 1} pairs of neighbours: give one number for all of "
            f"them, or {n - 1}"
        )
    within = bool(((d >= LEAST) & (d <= MAXIMUM)).all())  # else products and sums may be beyond float64
    if not within or d.max() > APART * d.min() or d.sum() > MAXIMUM:
        raise ValueError(
            f"the steps must be numbers of at least {LEAST:g}, none more than {APART} times another, and {MAXIMUM:g} "
            "together at most: give for example 0.1"
        )
    return d
