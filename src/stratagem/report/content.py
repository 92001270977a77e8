"""The content of a report: a strategy with its certificate, its origin, and results at other budgets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from stratagem.accuracy import evaluate
from stratagem.mechanism.export.strategy_file import StoredStrategy
from stratagem.mechanism.mechanism import Mechanism
from stratagem.report.budget_sweep import BudgetSweep
from stratagem.solvers import Status
from stratagem.solvers.certified.high_sets import high_sets
from stratagem.solvers.objective import Average, WarmStart, WorstCase, named_objective
from stratagem.strategies import Strategy, TranslationStrategy
from stratagem.study.comparison import Comparison
from stratagem.study.optimisation import CERTIFIED, certify
from stratagem.study.ranking import rank_affordable
from stratagem.study.solution import Solution
from stratagem.workloads.attribute import Attribute
from stratagem.workloads.naming import Naming

SECONDS = 20.0
"""Longest search for a tighter bound on a saved strategy, in seconds."""


@dataclass(frozen=True)
class Provenance:
    """Instructions for making a report again, as the caller states them; empty texts where the caller states none."""

    command: str = ""
    """Command line that makes the report."""
    python: str = ""
    """Python code that makes the report."""
    file: str = ""
    """Name of the file that holds the strategy."""


@dataclass(frozen=True, eq=False)
class ReportContent:
    """A solution with everything else that its report shows."""

    solution: Solution
    name: str
    """Name of the workload."""
    line: BudgetSweep
    """Comparisons at this budget and at others."""
    origin: Provenance
    mechanism: Mechanism | None = None
    """The strategy in whole numbers; None if it was not saved as a mechanism."""
    stated: tuple[Attribute, ...] = ()
    """Descriptions of the values of the attributes; they are used only without a mechanism, which has its own."""

    @property
    def comparison(self) -> Comparison:
        """The comparison of the mechanism with the published ones at its own budget."""
        comparisons = self.line.sweep.comparisons
        return next(one for one in comparisons if one.epsilon == self.solution.epsilon)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """Descriptions of the values of every attribute: labels, or edges and a unit."""
        return self.naming.attributes

    @cached_property
    def naming(self) -> Naming:
        """The names of the queries."""
        stated = self.stated if self.mechanism is None else self.mechanism.attributes
        return Naming.of(self.solution.workload, stated)


def rated(saved: Mechanism | StoredStrategy, objective: str = Average.kind) -> Solution:
    """Return a saved strategy with its exact accuracy, the bounds, and the baselines beside it.

    Its prior weighs the user types of the average and of the worst query, and belongs to its estimates.

    Raises:
        ValueError: for an unknown objective, or queries too many for it.
        ArithmeticError: as `optimise`.
    """
    workload, strategy, epsilon = saved.workload, saved.strategy, float(saved.epsilon)
    belief = None if objective == WorstCase.kind else saved.prior
    aim = named_objective(objective, workload, belief)
    accuracy = evaluate(workload, strategy, saved.prior)
    value = aim.measure(accuracy, strategy, saved.prior)
    bounds = aim.bounds(epsilon)
    if isinstance(strategy, Strategy):
        bounds = aim.tightened(bounds, epsilon, WarmStart(value, high_sets(strategy)), CERTIFIED, SECONDS)
    invariant = isinstance(strategy, TranslationStrategy)
    baselines = rank_affordable(workload, epsilon, aim, invariant=invariant)
    solution = Solution(
        aim,
        epsilon,
        strategy,
        accuracy,
        value,
        bounds,
        Status.SAVED_INTERRUPTED if saved.interrupted else Status.SAVED,
        "saved",
        "read from a file",
        0.0,
        (),
        baselines,
        saved.prior,
    )
    certify(solution)
    return solution
