"""Reports: one HTML file on one mechanism, complete in itself."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from stratagem.io.presentation import presents
from stratagem.mechanism.export.strategy_file import StoredStrategy
from stratagem.mechanism.mechanism import Mechanism
from stratagem.report.budget_sweep import along
from stratagem.report.content import Provenance, ReportContent, rated
from stratagem.report.page import check_page, write_page
from stratagem.solvers.objective import Average
from stratagem.study.solution import Solution
from stratagem.workloads.serial import to_data


@presents
def report_solution(
    path: str | Path, solution: Solution, *, name: str = "workload", others: Iterable[Solution] = ()
) -> Path:
    """Write the report of a solution; `others` are solutions of the same problem at other budgets.

    Raises:
        ValueError: as `check_page`, or for another solution of another problem.
    """
    target = check_page(path)
    found = {one.epsilon: one for one in others}
    for one in found.values():
        _check_alike(solution, one)
    line = along(solution, list(found), found.__getitem__) if found else along(solution)
    return write_page(target, ReportContent(solution, name, line, Provenance()))


@presents
def report_saved(
    path: str | Path,
    saved: Mechanism | StoredStrategy,
    *,
    objective: str = Average.kind,
    origin: Provenance | None = None,
    budgets: Iterable[float] | None = None,
) -> Path:
    """Write the report of a saved strategy, with the published mechanisms and bounds at its budget and at others.

    Raises:
        ValueError: as `check_page` and `rated`, or for a budget out of range.
    """
    target, solution = check_page(path), rated(saved, objective)
    mechanism = saved if isinstance(saved, Mechanism) else None
    line = along(solution, budgets)
    return write_page(target, ReportContent(solution, saved.name, line, origin or Provenance(), mechanism))


def _check_alike(solution: Solution, other: Solution) -> None:
    same = to_data(solution.workload) == to_data(other.workload)
    if not same or solution.objective_kind != other.objective_kind:
        raise ValueError(
            "another solution was given that answers other queries or another objective: give solutions of the "
            "same problem, as st.path returns them"
        )
