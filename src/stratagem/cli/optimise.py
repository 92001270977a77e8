"""The command `optimise`: a workload and a budget in, a strategy with its certificate out."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.compare import write_comparison
from stratagem.cli.interruption import interrupted, keeping, note, progress
from stratagem.cli.option import ALL, FORCE, JSON, check_free
from stratagem.cli.output import Command, read_count, write, write_facts, write_json
from stratagem.cli.request import Request, requesting
from stratagem.cli.source import check_values_kept

if TYPE_CHECKING:
    from stratagem.cli.source import Values
    from stratagem.study.solution import Solution


NAMED = 8
"""Attributes that an example names."""

OUT = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        help="Save as .ldp.json (whole numbers, for clients), .npz (doubles) or .csv, .mat, .parquet (the matrix).",
    ),
]


@requesting
def optimise(
    request: Request,
    out: OUT = None,
    show_all: ALL = False,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Find a strategy close to the best possible unbiased one, and say how close. Ctrl-C keeps the best so far."""
    from stratagem.study.optimisation import optimise as run

    plain = request.prior is None and request.objective == "average"
    check_out(out, plain=plain, force=force)
    if request.layout is None:
        check_values_kept(out, request.values)
    with progress("optimising") as on_step:
        options = {"objective": request.objective, "prior": request.prior}
        solution = run(request.workload, request.epsilon, request.solver, on_step, **options)
    with keeping():
        solution = marked(solution)
        reports = save(solution, request.name, out, request.values)
        if json:
            write_json(data(solution, request.name, request.prior_file, out, reports))
        else:
            _describe(solution, request, out, reports, show_all=show_all)


def marked(solution: Solution) -> Solution:
    """Return the solution as it is, as an interrupted one where Ctrl-C ended any part of the work on it."""
    from stratagem.solvers import Status

    return replace(solution, status=Status.INTERRUPTED) if interrupted() else solution


def check_out(out: Path | None, *, plain: bool, force: bool) -> None:
    """Refuse a file that could not be written, exists or would lose something, before the work."""
    from stratagem.io.target import check_target
    from stratagem.mechanism.export.strategy_file import WRITERS, check_prior_kept
    from stratagem.mechanism.mechanism import SUFFIX

    if out is not None:
        check_target(out, (*WRITERS, SUFFIX))
        check_free(out, force=force)
        if not plain:
            check_prior_kept(out)


def save(solution: Solution, name: str, out: Path | None, values: Values) -> int:
    """Write a solution to the file asked for, if any, and return the number of possible reports.

    The whole numbers of a bundle leave out reports that are too rare, and may need others to hold epsilon.
    """
    from stratagem.mechanism.export.strategy_file import holds_interruption
    from stratagem.mechanism.mechanism import SUFFIX

    if out is not None and out.name.lower().endswith(SUFFIX):
        made = solution.mechanism(name=name, **values)
        made.save(out, overwrite=True)
        return made.outputs
    if out is not None:
        solution.save(out, name=name, overwrite=True)
    if out is not None and solution.interrupted and not holds_interruption(out):
        note(f"the search was interrupted, which {out} cannot say: *{SUFFIX}, .npz and .mat can")
    return solution.strategy.outputs


def data(
    solution: Solution, name: str, prior: Path | None, out: Path | None, reports: int
) -> dict[str, object]:
    """Return the solution as named values."""
    from stratagem.study.comparison import ALPHA

    found: dict[str, object] = {
        "workload": name,
        "domain": str(solution.workload.domain),
        "epsilon": solution.epsilon,
        "epsilon_realised": solution.strategy.epsilon,
        "outputs": reports,
        "objective_kind": solution.objective_kind,
        "prior": None if prior is None else str(prior),
        "objective": solution.objective,
        "lower_bound": solution.lower_bound,
        "bound": solution.bounds.name,
        "gap": solution.gap if math.isfinite(solution.gap) else None,
        "average_variance": solution.accuracy.average_variance,
        "worst_case_variance": solution.accuracy.worst_case_variance,
        "sample_complexity": solution.samples_for(ALPHA),
        "users_for_one_percent": solution.users_for()._asdict(),
        "status": str(solution.status),
        "solver": solution.solver,
        "reason": solution.reason,
        "seconds": solution.seconds,
        "file": None if out is None else str(out),
    }
    return found | {"per_type": True} if solution.per_type else found


def _describe(
    solution: Solution, request: Request, out: Path | None, reports: int, *, show_all: bool
) -> None:
    """Say what was found, how good it is and what to type next."""
    from stratagem.solvers import Auto
    from stratagem.study.comparison import Comparison
    from stratagem.study.least_favourable import fewer_users
    from stratagem.study.optimisation import choose

    write_comparison(Comparison.of(solution), show_all=show_all)
    write()
    facts = described(solution, request.name, out, reports)
    if isinstance(request.solver, Auto) and solution.reason == choose(None, solution.problem).reason:
        facts["solver"] = f"{dashed(solution.solver)} (the default for domains of this size)"
    if not solution.interrupted and (fewer := fewer_users(solution)):
        facts["fewer"] = fewer.replace("the objective", "--objective")
    write_facts(facts | {"next": _next(solution, request.name, out, request.values)})


def described(solution: Solution, name: str, out: Path | None, reports: int) -> dict[str, object]:
    """Return what was asked for, what was found, how and where it is saved, each by a short name."""
    from stratagem.math.number import number_text, upper_percent

    workload = solution.workload
    return {
        "asked": f"{name} over domain {workload.domain}: {workload.queries:,} queries, "
        f"{read_count(workload.domain_size)} user types, epsilon {solution.epsilon:g}, "
        f"objective {solution.objective_kind}{' per user type' if solution.per_type else ''}",
        "found": f"{read_count(reports)} possible reports, measured epsilon {solution.strategy.epsilon:.10g}, "
        f"in {solution.seconds:.1f} s",
        "gap": f"objective {number_text(solution.objective)}, at most {upper_percent(solution.gap)} above the best "
        f"possible unbiased strategy (lower bound {number_text(solution.lower_bound)})",
        "solver": f"{dashed(solution.solver)}: {solution.reason}",
        "status": solution.verdict,
        "saved": out or "no",
    }


def dashed(name: str) -> str:
    """Return the name of a solver as the command line knows it: few-queries for FewQueries."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def _next(solution: Solution, name: str, out: Path | None, values: Values) -> str:
    """Say how to go on from here."""
    if out is None:
        return (
            f"add -o {shlex.quote(Path(name).stem)}.ldp.json to save it; stratagem simulate runs it on data"
        )
    if out.suffix.lower() not in (".json", ".npz"):
        return "save it as .ldp.json too, and stratagem simulate runs it on data"
    attributes = solution.workload.domain.attributes
    columns = " ".join(f"--column {attribute}=COLUMN" for attribute in attributes[:NAMED])
    if len(attributes) == 1:
        stated = values["edges"] or values["labels"]
        columns = "--column COLUMN" if stated else "--column COLUMN --edges START:STOP:STEP"
    if len(attributes) > NAMED:
        columns += " ..."
    return Command(f"stratagem simulate {shlex.quote(str(out))} --data DATA.csv {columns}")
