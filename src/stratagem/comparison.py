"""A strategy beside every published baseline and every bound."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from stratagem.bounds import Bounds
from stratagem.number import number_text
from stratagem.objective import Average, Objective
from stratagem.optimisation import optimise
from stratagem.ranking import RANKED, Contender, rank_baselines, rank_invariant
from stratagem.solution import Solution, least_variance
from stratagem.solvers import Auto, Callback, Solver
from stratagem.solvers.solver import excess
from stratagem.strategies import InvariantStrategy
from stratagem.workloads import Workload

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OPTIMISED = "optimised"
"""Name of the strategy that was found, among those of the baselines."""
ALPHA = 0.01
"""Normalised variance at which sample complexities are stated."""
COMPARED = 2048
"""User types up to which a comparison sets up every published mechanism: minutes."""
HEADINGS = ("mechanism", "parameters", "objective", "over bound", "worst case", "users needed", "report")


@dataclass(frozen=True)
class Row:
    """One mechanism of a comparison."""

    mechanism: str
    """Name of the baseline, or of the strategy that was found."""
    parameters: str
    """Tuned parameters in words; for the optimised strategy, the solver that found it."""
    objective: float
    """L(Q) = tr(M^+ V), or the objective that was asked for."""
    worst_case_variance: float
    """Total variance added by one user of the least favourable type."""
    sample_complexity: float
    """Users needed for worst-case normalised variance 0.01."""
    epsilon: float
    """Measured from the probabilities."""
    outputs: int | None
    """Number of possible reports; None for a protocol, whose reports are sets, hashes or real vectors."""
    report: str
    """What one user sends, in a few words."""
    delta: float = 0.0
    """Probability outside of epsilon; 0 for pure epsilon-LDP."""

    @property
    def optimised(self) -> bool:
        """Whether this is the strategy that was found."""
        return self.mechanism == OPTIMISED


@dataclass(frozen=True)
class Comparison:
    """Mechanisms on one workload and epsilon, least objective first, with the bounds nobody can beat."""

    workload: Workload
    epsilon: float
    rows: tuple[Row, ...]
    bounds: Bounds
    fewest_users: float
    """No epsilon-LDP strategy (delta = 0) needs fewer users for worst-case normalised variance 0.01."""

    @staticmethod
    def of(solution: Solution) -> Comparison:
        """Set a solution beside the baselines that it was measured against."""
        ours = _row(OPTIMISED, solution.solver, solution)
        return Comparison._of(solution.aim, solution.epsilon, solution.bounds, solution.baselines, ours)

    @staticmethod
    def published(aim: Objective, epsilon: float) -> Comparison:
        """Set the baselines beside the bounds, without a search.

        Beyond 512 user types without the baselines whose tables grow with the domain.
        """
        ranked = rank_invariant if aim.plain else rank_baselines
        small = aim.plain or aim.workload.domain_size <= RANKED
        contenders = ranked(aim.workload, epsilon, aim) if small else ()
        return Comparison._of(aim, epsilon, aim.bounds(epsilon), contenders)

    @staticmethod
    def _of(
        aim: Objective, epsilon: float, bounds: Bounds, contenders: tuple[Contender, ...], *ours: Row
    ) -> Comparison:
        rows = [*ours, *(_row(one.mechanism, one.parameters, one) for one in contenders)]
        ranked = tuple(sorted(rows, key=lambda row: row.objective))
        fewest = least_variance(aim, bounds.best) / (aim.workload.queries * ALPHA)
        return Comparison(aim.workload, epsilon, ranked, bounds, fewest)

    def records(self) -> list[dict[str, object]]:
        """Return every mechanism as named values, the fields of `Row`."""
        return [asdict(row) for row in self.rows]

    def cells(self) -> list[tuple[str, ...]]:
        """Return the table's cells as text, one tuple a mechanism, in the order of HEADINGS."""
        return [
            (
                row.mechanism,
                row.parameters,
                number_text(row.objective),
                f"{100 * excess(row.objective, self.bounds.best):+.1f} %",
                number_text(row.worst_case_variance),
                number_text(row.sample_complexity),
                row.report,
            )
            for row in self.rows
        ]

    def footer(self) -> str:
        """Return the bounds in one line, the best of them marked."""
        known = self.bounds.known().items()
        bounds = ", ".join(
            f"{name} {number_text(value)}{' (best)' if name == self.bounds.name else ''}"
            for name, value in known
        )
        return f"lower bounds: {bounds}"

    def __str__(self) -> str:
        """Lay the mechanisms out as an aligned table, the bounds below."""
        table = [HEADINGS, *self.cells()]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        return "\n".join([*(_line(cells, widths) for cells in table), self.footer()])

    def plot(self, path: str | Path | None = None, width: float | None = None) -> Figure:
        """Draw the objectives over the best bound; write an .svg, .png or .pdf if a path is given.

        `width` in inches, that of the style by default.

        Raises:
            ValueError: without matplotlib, or for a path or width that cannot be used.
        """
        from stratagem.plots import plot_comparison

        return plot_comparison(self, path, width)


def compare(
    workload: Workload,
    epsilon: float,
    solver: Solver | Auto | None = None,
    on_step: Callback | None = None,
    *,
    objective: str = Average.kind,
    prior: ArrayLike | None = None,
) -> Comparison:
    """Optimise a strategy and set it beside every baseline, each tuned to its best, and every bound.

    `objective` and `prior` as in `optimise`: the baselines are tuned and the bounds computed for them too.
    A baseline that cannot answer the workload is left out; beyond 2048 user types all are whose tables grow
    with the domain.

    Raises:
        ValueError: as `optimise`.

    Example:
        >>> import stratagem as st
        >>> comparison = compare(st.prefix(8), epsilon=1.0)
        >>> comparison.rows[0].mechanism
        'optimised'
    """
    solution = optimise(workload, epsilon, solver, on_step, objective=objective, prior=prior)
    if RANKED < workload.domain_size <= COMPARED and isinstance(solution.strategy, InvariantStrategy):
        solution = replace(solution, baselines=rank_baselines(workload, solution.epsilon, solution.aim))
    return Comparison.of(solution)


def _row(mechanism: str, parameters: str, found: Solution | Contender) -> Row:
    strategy = found.strategy
    return Row(
        mechanism,
        parameters,
        found.objective,
        found.accuracy.worst_case_variance,
        found.accuracy.samples_for(ALPHA),
        strategy.epsilon,
        strategy.outputs,
        strategy.report,
        strategy.delta,
    )


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    """Align words to the left and numbers to the right."""
    words = [cell.ljust(width) for cell, width in zip(cells[:2], widths[:2], strict=True)]
    numbers = [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:], strict=True)]
    return "  ".join(words + numbers).rstrip()
