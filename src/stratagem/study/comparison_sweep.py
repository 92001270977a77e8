"""Comparisons along a line of budgets or of domains."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stratagem.file.target import check_target, written_atomically
from stratagem.number import number_text, ratio
from stratagem.objective import Average
from stratagem.solvers import Auto, Callback, Solver
from stratagem.study.alignment import aligned
from stratagem.study.axis import along, place
from stratagem.study.comparison import OPTIMISED, Comparison, Row
from stratagem.study.optimisation import ENDED_BY_HAND, optimise
from stratagem.workloads import Workload

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SUFFIXES = (".csv", ".json")
BOUND = "lower bound"
"""Name of the bound among the mechanisms of a sweep."""


@dataclass(frozen=True)
class Sweep:
    """Comparisons of the same queries, one for each budget or each domain."""

    axis: str
    """What changes from one comparison to the next: epsilon or domain size."""
    comparisons: tuple[Comparison, ...]
    complete: bool = True
    """Whether all that was asked for is here; a search ended by hand ends the sweep."""

    @property
    def places(self) -> tuple[float, ...]:
        """The value on the axis of every comparison."""
        return tuple(place(self.axis, one.workload, one.epsilon) for one in self.comparisons)

    def users_needed(self) -> dict[str, list[float | None]]:
        """Return the users that every mechanism needs along the axis, None where it does not apply.

        For worst-case normalised variance 0.01 (McKenna et al., VLDB 2020, Corollary 5.3). The strategy found
        comes first, the others by their objective at the last place where they apply, the bound last.
        """
        return self._lines(lambda row, bound: row.sample_complexity, lambda one: one.fewest_users)

    def over_bound(self) -> dict[str, list[float | None]]:
        """Return every mechanism's objective over the best lower bound, in the order of `users_needed`."""
        return self._lines(lambda row, bound: ratio(row.objective, bound), lambda one: 1.0)

    def _lines(
        self, of_row: Callable[[Row, float], float | None], of_bound: Callable[[Comparison], float]
    ) -> dict[str, list[float | None]]:
        by_place = [
            {row.mechanism: of_row(row, one.bounds.best) for row in one.rows} for one in self.comparisons
        ]
        names = {name: None for place in reversed(by_place) for name in place if name != OPTIMISED}
        lines: dict[str, list[float | None]] = {
            name: [place.get(name) for place in by_place] for name in (OPTIMISED, *names)
        }
        lines[BOUND] = [of_bound(one) for one in self.comparisons]
        return lines

    def records(self) -> list[dict[str, object]]:
        """Return a line for every mechanism and bound at every place, as named values."""
        lines = []
        for one in self.comparisons:
            where = {
                "domain": str(one.workload.domain),
                "domain_size": one.workload.domain_size,
                "budget": one.epsilon,
            }
            lines.extend(where | row for row in one.records())
            lines.append(
                where
                | {
                    "mechanism": BOUND,
                    "parameters": one.bounds.name,
                    "objective": one.bounds.best,
                    "sample_complexity": one.fewest_users,
                }
            )
        return lines

    def save(self, path: str | Path) -> Path:
        """Write the records to a .csv or .json file.

        Raises:
            ValueError: for another suffix or a path that cannot be written.
        """
        target, records = check_target(path, SUFFIXES), self.records()
        if target.suffix.lower() == ".json":
            text = json.dumps({"axis": self.axis, "records": records}, indent=1, allow_nan=False) + "\n"
        else:
            page = io.StringIO()
            writer = csv.DictWriter(page, list(records[0]), restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(records)
            text = page.getvalue()
        with written_atomically(target) as file:
            file.write(text.encode("utf-8"))
        return target

    def headings(self) -> tuple[str, ...]:
        """Return the headings of the table."""
        return (f"users needed, {self.axis} =", *(f"{place:g}" for place in self.places))

    def cells(self) -> list[tuple[str, ...]]:
        """Return the table's cells as text, one tuple a mechanism, in the order of `headings`."""
        return [
            (name, *("" if value is None else number_text(value) for value in line))
            for name, line in self.users_needed().items()
        ]

    def __str__(self) -> str:
        """Lay the users needed out as an aligned table."""
        return "\n".join(aligned([self.headings(), *self.cells()]))

    def plot(
        self, path: str | Path | None = None, width: float | None = None, *, measure: str = "users needed"
    ) -> Figure:
        """Draw "users needed" or "over bound" along the axis; write an .svg, .png or .pdf if a path is given.

        `width` in inches, that of the style by default.

        Raises:
            ValueError: without matplotlib, for a path or width that cannot be used, or an unknown measure.
        """
        from stratagem.plots import plot_sweep

        return plot_sweep(self, path, width, measure=measure)


def sweep(
    workload: Workload | Sequence[Workload],
    epsilon: float | Sequence[float],
    solver: Solver | Auto | None = None,
    on_step: Callback | None = None,
    *,
    objective: str = Average.kind,
) -> Sweep:
    """Compare the optimised strategy with every baseline and bound along several budgets or several domains.

    One of `workload` and `epsilon` is a sequence. Figures 1 and 2 of McKenna et al. (VLDB 2020) are the plots
    of such sweeps. Ctrl-C ends the sweep after the comparison that it interrupts, which counts.

    Raises:
        ValueError: if none or both of them are sequences, or one is empty; and as `compare`.

    Example:
        >>> import stratagem as st
        >>> line = sweep(st.prefix(8), [0.5, 1.0])
        >>> line.axis, [round(users) for users in line.users_needed()["lower bound"]]
        ('epsilon', [1274, 288])
    """
    axis, places = along(workload, epsilon)
    done = []
    for W, budget in places:
        solution = optimise(W, budget, solver, on_step, objective=objective)
        done.append(Comparison.of(solution))
        if solution.status in ENDED_BY_HAND:
            break
    return Sweep(axis, tuple(done), len(done) == len(places))
