"""Strategies for values on a line, which protect near values more than far ones."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from stratagem.accuracy import evaluate, goal, objective
from stratagem.bounds.metric import metric_bound
from stratagem.catalogue.catalogue import WorkloadLike, workload_of
from stratagem.io.screen import brief
from stratagem.math.number import numbers, upper_percent, users_text
from stratagem.math.privacy import MAXIMUM
from stratagem.solvers import Callback
from stratagem.solvers.metric import geometric, search_metric
from stratagem.solvers.solver import Step, relative_gap
from stratagem.strategies import MatrixStrategy
from stratagem.study.solution import Design
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.explicit import centred

if TYPE_CHECKING:
    from stratagem.mechanism.mechanism import Mechanism

LARGEST = 64
"""Largest number of values that is designed for."""
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


@dataclass(frozen=True, eq=False, kw_only=True)
class MetricDesign(Design):
    """A strategy under which no report tells neighbouring values apart by more than their step."""

    __repr__ = brief

    strategy: MatrixStrategy
    steps: np.ndarray
    """Budgets (n - 1,) between neighbours; values u < v differ by the sum of the steps between them."""
    geometric: float
    """L(Q) of the truncated geometric mechanism with the same steps."""

    @property
    def epsilon(self) -> float:
        """The sum of all steps, which is the plain epsilon of the strategy."""
        return float(self.steps.sum())

    def mechanism(self, **options: Any) -> Mechanism:
        """Return the strategy in whole numbers that keep to every step (see `Mechanism.on_line`).

        Raises:
            ValueError: as there.
        """
        from stratagem.mechanism.mechanism import Mechanism

        return Mechanism.on_line(self.strategy, self.workload, self.steps.tolist(), **options)

    def save(
        self, path: str | Path, *, name: str = "workload", overwrite: bool = False, **options: Any
    ) -> Path:
        """Write a bundle, *.ldp.json, or the strategy in doubles: .npz with its workload, .mat, .csv or .parquet.

        The options are those of `mechanism`, for a bundle alone.

        Raises:
            ValueError: for another suffix, a path that cannot be written, or a file that exists, unless `overwrite`.
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
        low, high = float(self.steps.min()), float(self.steps.max())
        step = f"e^{low:g}" if low == high else f"e^{low:g} to e^{high:g}"
        return (
            f"No report is more than {step} times as likely for one value as for the next; factors multiply along the "
            f"line, to e^{self.epsilon:.4g} from end to end.\n"
            f"{self.users_for().sentence(goal(self.workload))}.\n"
            f"The total variance is {100 * (1 - self.objective / self.geometric):.1f} % below that of the truncated "
            "geometric mechanism with the same steps.\n"
            f"It is at most {upper_percent(self.gap)} above the least of all unbiased strategies with these steps."
        )


def optimise_metric(
    workload: WorkloadLike,
    steps: ArrayLike,
    on_step: Callback | None = None,
    *,
    domain: DomainLike | None = None,
    seed: int = 0,
) -> MetricDesign:
    """Return the best strategy found that is private by distance: Q[y, u] <= exp(d(u, v)) Q[y, v] for all u, v and y.

    d(u, v) is the sum of the steps between two values on a line, of `steps` (n - 1,) or of one number for all. Near
    values are protected as by a small epsilon, far ones less: numbers, times, places along a road. A convex programme
    chooses weights of rows that use up every step (theory.md, section 13). Ctrl-C keeps the best so far.

    Guarantee:
        The steps hold for the probabilities of the result, measured after the search.

    Raises:
        ValueError: unless the workload has one attribute of 2 to 64 values, and there is one step or one for each
            pair of neighbours, at least 10^-4 each, at most 1000 times apart and 300 together.

    Example:
        >>> import stratagem as st
        >>> design = st.optimise_metric(st.prefix(8), 0.1)
        >>> round(design.objective), round(design.geometric), design.gap < 1e-4
        (5582, 39449, True)
    """
    workload = workload_of(workload, domain)
    d = _checked(steps, workload)
    bound, information = metric_bound(workload, d)
    found = geometric(d)
    first = least = objective(workload, found)
    began, V, rng = time.perf_counter(), centred(workload).gram, np.random.default_rng(seed)
    rounds = ROUNDS if V.any() and relative_gap(first, bound) > CLOSE else 0
    try:
        for step, one in enumerate(search_metric(V, d, information, rounds, rng) if rounds else ()):
            value, seconds = objective(workload, one), time.perf_counter() - began
            if value < least:
                found, least = one, value
            gap = relative_gap(least, bound)
            stopped = on_step is not None and on_step(Step(0, step, value, least, gap, seconds))
            if stopped or gap <= CLOSE or seconds > SECONDS:
                break
    except KeyboardInterrupt:
        pass
    design = MetricDesign(
        workload=workload,
        strategy=found,
        accuracy=evaluate(workload, found),
        objective=least,
        lower_bound=bound,
        steps=d,
        geometric=first,
    )
    if (measured(found) > d).any() or design.gap < -1e-9:
        raise ArithmeticError("a strategy on a line contradicts its bound or its steps")
    return design


def _checked(steps: ArrayLike, workload: Workload) -> np.ndarray:
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
    if not 2 <= n <= LARGEST:
        raise ValueError(
            f"steps were given for {users_text(n)} values on a line, but are designed for 2 to {LARGEST}: use coarser "
            "values"
        )
    given = numbers(steps)
    d = np.full(n - 1, float(given)) if given.ndim == 0 else given
    if d.shape != (n - 1,):
        raise ValueError(
            f"{d.size} steps were given, but {n} values have {n - 1} pairs of neighbours: give one number for all of "
            f"them, or {n - 1}"
        )
    if not ((d >= LEAST) & np.isfinite(d)).all() or d.max() > APART * d.min() or d.sum() > MAXIMUM:
        raise ValueError(
            f"the steps must be numbers of at least {LEAST:g}, none more than {APART} times another, and {MAXIMUM:g} "
            "together at most: give for example 0.1"
        )
    return d
