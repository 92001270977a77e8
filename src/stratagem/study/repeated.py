"""Mechanisms for people who report again and again: the sets of user types chosen for the mean of several reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from stratagem.estimation.averaged import variances
from stratagem.io.screen import brief
from stratagem.math.deadline import granted, within
from stratagem.math.number import integer, upper_percent
from stratagem.math.privacy import check
from stratagem.mechanism.client import MOST_BITS
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.memo import MOST, lower_level_of
from stratagem.mechanism.rounding import rounded
from stratagem.mechanism.table import TwoLevelTable
from stratagem.mechanism.translation_table import TranslationTable
from stratagem.problem import problem_of, relative_gap
from stratagem.solvers import Auto, Callback
from stratagem.solvers.solver import Step
from stratagem.strategies import MatrixStrategy
from stratagem.strategies.two_level import two_levels
from stratagem.study.optimisation import optimise
from stratagem.workloads import DomainLike, Workload
from stratagem.workloads.given import WorkloadLike, workload_of

POINTS = 4
"""Budgets between the two epsilons, ends included, for which sets are looked for first."""
HALVINGS = 2
"""How often the steps between them are halved around the best."""
SECONDS = 10.0
"""Seconds after which the search for one of these budgets ends."""
NEAR = 1e-3
"""Gap at which it ends."""


@dataclass(frozen=True, eq=False)
class RepeatedDesign:
    """A mechanism with a memo, for the mean of k reports of every user, and a bound on that mean's variance.

    With V_1 the total variance of one report and V_p that of the permanent one, the mean of k has V_p + (V_1 - V_p)/k.
    Its part V_p does not fall with k (theory.md, section 12).
    """

    __repr__ = brief

    mechanism: Mechanism
    """The mechanism in whole numbers, with its memo."""
    rounds: int
    """Number k of reports of every user that are averaged."""
    chosen_for: float
    """Epsilon for which the sets of the rows are best; between that of one report and the permanent one."""
    variance: float
    """Total variance that one user adds to unbiased answers from the mean, averaged over the user types."""
    lower_bound: float
    """A lower bound on `variance` for all memos of both epsilons: l_p + (l_1 - l_p)/k, with l the bounds of one
    report."""
    seconds: float

    @property
    def gap(self) -> float:
        """variance / lower bound - 1."""
        return relative_gap(self.variance, self.lower_bound)

    def __str__(self) -> str:
        """Return what was found in sentences."""
        memo = self.mechanism.memo
        assert memo is not None
        error = math.sqrt(self.variance / variances_of_means(self.mechanism, [1])[0])
        what = "one report" if self.rounds == 1 else f"the mean of {self.rounds:,} reports"
        return (
            f"{memo}\nThe standard error of {what} of every person is {100 * error:.3g} % of that of one report of "
            "every person.\n"
            f"Its total variance is at most {upper_percent(self.gap)} above the least of all means of unbiased "
            f"estimates from single reports of epsilon {float(self.mechanism.epsilon):g} that repeat permanent ones of "
            f"epsilon {memo.permanent} or less."
        )


def optimise_repeated(
    workload: WorkloadLike,
    epsilon: float,
    permanent: float,
    rounds: int = 1,
    on_step: Callback | None = None,
    *,
    domain: DomainLike | None = None,
    seconds: float | None = None,
) -> RepeatedDesign:
    """Return the best mechanism found for people who report `rounds` times about a value that stays.

    Each report is `epsilon`-LDP, and any number of them together is `permanent`-LDP. For one report the sets that are
    best for `epsilon` are best with a memo too; for the mean of many, those for `permanent` are. Budgets between the
    two are tried. `on_step` receives a record after each and may return True to stop; Ctrl-C keeps the best so far, as
    does the end of the `seconds`.

    Raises:
        ValueError: unless 0 < epsilon < permanent, or rounds is no whole number from 1 to 10,000; for a domain whose
            rows or user types are too many to list; as `optimise`.

    Example:
        >>> import stratagem as st
        >>> design = st.optimise_repeated(st.histogram(8), 0.5, 2.0, rounds=20)
        >>> design.mechanism.memo.epsilon(20) <= 2.0
        True
    """
    workload = workload_of(workload, domain)
    k = integer(rounds, "the number of rounds", 1, MOST, "give how many reports of each person are averaged")
    epsilon, permanent = check(epsilon), check(permanent)
    if not epsilon < permanent:
        raise ValueError(
            f"the permanent epsilon is {permanent:g}, but must be above {epsilon:g}, that of one report: give a "
            "larger one"
        )
    bounds = [
        problem.least(problem.bounds)
        for problem in (problem_of(workload, one) for one in (epsilon, permanent))
    ]
    bound = bounds[1] + (bounds[0] - bounds[1]) / k
    if not bound > 0:
        raise ValueError(
            "the queries can be answered without an error, so that no report needs repeating: ask for others"
        )
    tried: dict[float, tuple[Mechanism, float]] = {}
    ratio = (permanent / epsilon) ** (1 / (POINTS - 1))
    waiting = [epsilon * ratio**i for i in range(POINTS if k > 1 else 1)]
    halvings = HALVINGS if k > 1 else 0
    with within(granted(seconds)) as time:
        with time.ended_by_hand():
            while waiting and not time.over:
                for budget, share in time.shares(waiting):
                    with within(share / (1 + halvings)):
                        tried[budget] = _made(workload, budget, epsilon, permanent, k)
                    best = min(variance for _, variance in tried.values())
                    step = Step(
                        0, len(tried), tried[budget][1], best, relative_gap(best, bound), time.elapsed
                    )
                    if on_step is not None and on_step(step):
                        raise KeyboardInterrupt
                waiting, halvings = _between(tried) if halvings else [], halvings - 1
        if not tried:
            raise KeyboardInterrupt
    chosen = min(tried, key=lambda budget: tried[budget][1])
    mechanism, variance = tried[chosen]
    design = RepeatedDesign(mechanism, k, chosen, variance, bound, time.elapsed)
    if design.gap < -1e-9:
        raise ArithmeticError("a mechanism with a memo contradicts its bound")
    return design


def _between(tried: dict[float, tuple[Mechanism, float]]) -> Sequence[float]:
    """Return budgets halfway between the best and its neighbours."""
    known = sorted(tried)
    at = known.index(min(tried, key=lambda budget: tried[budget][1]))
    return [math.sqrt(one * known[at]) for one in known[max(0, at - 1) : at + 2] if one != known[at]]


def _made(
    workload: Workload, budget: float, epsilon: float, permanent: float, rounds: int
) -> tuple[Mechanism, float]:
    """Return the mechanism whose sets are best for a budget, with a memo, and the variance of a mean."""
    strategy = optimise(workload, budget, Auto(gap=NEAR, max_seconds=SECONDS)).strategy
    strategy = two_levels(strategy) if isinstance(strategy, MatrixStrategy) else strategy
    table = rounded(strategy, Fraction(budget * (1 + 1e-9)), MOST_BITS)
    if not isinstance(table, TwoLevelTable | TranslationTable):
        raise ValueError(
            "the best strategy has rows of more than two probabilities, but repeated reports need two"
        )
    once = replace(table, low=lower_level_of(epsilon)).strategy
    mechanism = Mechanism.of(once, workload, epsilon).memoised(permanent)
    return mechanism, variances_of_means(mechanism, [rounds])[0]


def variances_of_means(mechanism: Mechanism, numbers: Sequence[int]) -> list[float]:
    """Return the total variances that one user adds to unbiased answers from the means of such numbers of reports.

    V_p + (V_1 - V_p)/k, averaged over the user types, or by the prior where there is one; V_p = V_1 without a memo.

    Raises:
        ValueError: for a table whose rows are too many to list.
    """
    kept = mechanism.memo.kept if mechanism.memo else 1.0
    single, lasting = variances(mechanism.strategy, mechanism.workload, kept, mechanism.prior)
    return [lasting + (single - lasting) / k for k in numbers]
