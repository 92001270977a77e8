"""The command `optimise`: a workload and a budget in, a strategy with its certificate out."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.collect import to_ask
from stratagem.cli.compare import found_data, more, write_comparison, write_found
from stratagem.cli.constraint import (
    DELTA,
    GUESS_CAP,
    LOCAL,
    MEMO,
    REPORTS,
    SEVERAL,
    SHUFFLED_BY,
    STEP,
    check_line,
    read_constraints,
)
from stratagem.cli.inspect import write_promised
from stratagem.cli.interruption import interrupted, keeping, note, progress
from stratagem.cli.layout import check_values_kept
from stratagem.cli.option import ALL, DETAILS, FORCE, JSON, PLOT, check_free, check_plot
from stratagem.cli.output import Command, read_count, write, write_facts, write_files, write_json, write_table
from stratagem.cli.request import Request, requesting

if TYPE_CHECKING:
    from stratagem.problem import Constraint
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


@partial(requesting, data=True, steps=True)
def optimise(
    request: Request,
    guess_cap: GUESS_CAP = None,
    shuffled_by: SHUFFLED_BY = None,
    central_delta: DELTA = None,
    local: LOCAL = None,
    permanent: MEMO = None,
    averaged: REPORTS = None,
    step: STEP = None,
    out: OUT = None,
    plot: PLOT = None,
    show_all: ALL = False,
    details: DETAILS = False,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Find a strategy close to the best possible unbiased one, and say how close. Ctrl-C keeps the best so far.

    With --data the domain follows from the values of a column, as `plan` proposes them; nothing else of it is used.
    It may keep to a constraint besides: a cap on what one report tells, a shuffler, a memo, or steps between values.
    """
    from stratagem.problem import problem_of
    from stratagem.study.optimisation import solved

    asked = read_constraints(guess_cap, shuffled_by, central_delta, local, permanent, averaged, step)
    if request.budget is None and step is None:
        raise ValueError(
            f"{request.name} was given without a privacy budget: add one, for example --epsilon 1"
        )
    if guess_cap is not None and (guess_cap == SEVERAL or "," in guess_cap):
        return frontier(request, asked, out, plot, force=force, json=json)
    if plot is not None:
        raise ValueError(f"--plot draws what several caps cost: add --guess-cap {SEVERAL}, or leave it out")
    plain = request.prior is None and request.objective == "average"
    check_out(out, plain=plain, force=force, bundled=permanent is not None)
    if step is not None:
        check_line(request.workload)
    elif request.layout is None:
        check_values_kept(out, request.workload.domain)
    with progress("optimising") as on_step:
        problem = request.problem
        if problem is None or asked:
            about = request.workload, request.budget, request.objective, request.prior
            problem = problem_of(*about, constraints=asked)
        solution = solved(problem, request.solver, on_step)
    with keeping():
        solution = marked(solution)
        outputs = save(solution, request.name, out)
        if json:
            write_json(data(solution, request.name, request.prior_file, out, outputs) | found_data(request))
        elif solution.promise is None:
            _describe(solution, request, out, outputs, show_all=show_all, details=details)
        else:
            _promise(solution, out, outputs)
    return None


def frontier(
    request: Request,
    caps: Sequence[Constraint],
    out: Path | None,
    plot: Path | None,
    *,
    force: bool,
    json: bool,
) -> None:
    """Say what several caps on the best guess cost."""
    from stratagem.problem import GuessCap
    from stratagem.study.frontier import guess_frontier

    if out is not None:
        raise ValueError("-o was given, but several strategies are found: choose one by --guess-cap")
    guesses = [one.guess for one in caps if isinstance(one, GuessCap)]
    if len(guesses) < len(caps) or request.budget is None:
        raise ValueError("another constraint was given with several caps: give it with one, or alone")
    if request.prior is not None or request.objective != "average":
        raise ValueError(
            "caps are designed for with the average over user types: leave prior and objective out"
        )
    check_plot(plot, force=force)
    seed = getattr(request.solver, "seed", 0)
    with progress("searching") as on_step:
        line = guess_frontier(request.workload, request.epsilon, guesses or None, on_step, seed=seed)
    with keeping():
        if plot is not None:
            line.plot(plot)
        if json:
            write_json(
                {
                    "frontier": [
                        data(one, request.name, None, None, one.strategy.outputs) for one in line.solutions
                    ]
                }
            )
            return
        write("How many people to ask, if the best guess from one report may be right so often at most:\n")
        write_table(line.table())
        write_files(drawn=plot)


def _promise(solution: Solution, out: Path | None, outputs: int) -> None:
    """Say what a strategy under a constraint promises."""
    write(f"{solution}\n")
    record = solution.promise.record(solution) if solution.promise else {}
    if "promised" in record:
        write_promised(record["promised"])
        write()
    local = f", epsilon {solution.strategy.epsilon:.4g} of one report"
    found = {"found": f"{outputs:,} possible reports{local if 'shuffled' in record else ''}"}
    write_facts(found | ({} if out is None else {"saved": out}) | _asking(solution, out))


def _asking(solution: Solution, out: Path | None) -> dict[str, object]:
    """Return the command that asks people with the bundle that was written, by its short name, if one was."""
    from stratagem.mechanism.mechanism import SUFFIX

    if out is None or not out.name.lower().endswith(SUFFIX):
        return {}
    return {"ask": to_ask(out, solution.workload.domain)}


def marked(solution: Solution) -> Solution:
    """Return the solution as it is, as an interrupted one where Ctrl-C ended any part of the work on it."""
    from stratagem.solvers import Status

    return replace(solution, status=Status.INTERRUPTED) if interrupted() else solution


def check_out(out: Path | None, *, plain: bool, force: bool, bundled: bool = False) -> None:
    """Refuse a file that could not be written, exists or would lose something, before the work."""
    from stratagem.mechanism.export.saved import WRITERS, check_prior_kept
    from stratagem.mechanism.mechanism import SUFFIX

    check_free(out, (SUFFIX,) if bundled else (*WRITERS, SUFFIX), force=force)
    if out is not None and not plain:
        check_prior_kept(out)


def save(solution: Solution, name: str, out: Path | None) -> int:
    """Write a solution to the file asked for, checked before, if any, and return the number of possible reports.

    The whole numbers of a bundle leave out reports that are too rare, and may need others to hold epsilon.
    """
    from stratagem.mechanism.export.saved import holds_interruption, write_checked
    from stratagem.mechanism.mechanism import SUFFIX

    if out is None:
        return solution.strategy.outputs
    kept = solution.kept(out, name)
    write_checked(out, kept)
    if solution.interrupted and not holds_interruption(out):
        note(f"the search was interrupted, which {out} cannot say: *{SUFFIX}, .npz and .mat can")
    return kept.strategy.outputs


def data(
    solution: Solution, name: str, prior: Path | None, out: Path | None, reports: int
) -> dict[str, object]:
    """Return the solution as named values."""
    from stratagem.study.row import ALPHA

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
    if solution.per_type:
        found["per_type"] = True
    return found | (solution.promise.record(solution) if solution.promise else {})


def _describe(
    solution: Solution, request: Request, out: Path | None, reports: int, *, show_all: bool, details: bool
) -> None:
    """Say what was found, how good it is and what to type next."""
    from stratagem.solvers import Auto
    from stratagem.study.comparison import Comparison
    from stratagem.study.least_favourable import fewer_users
    from stratagem.study.optimisation import choose

    comparison = Comparison.of(solution)
    write_comparison(comparison, 1, show_all=show_all, details=details)
    write()
    write_found(request)
    facts = described(solution, request.name, out, reports, details=details)
    default = isinstance(request.solver, Auto) and solution.reason == choose(None, solution.problem).reason
    if details and default:
        facts["solver"] = f"{dashed(solution.solver)} (the default for domains of this size)"
    if not solution.interrupted and (fewer := fewer_users(solution)):
        facts["fewer"] = fewer.replace("the objective", "--objective")
    facts |= _asking(solution, out)
    facts["next"] = _next(solution, request.name, out)
    if options := more(comparison, 1, show_all=show_all, details=details):
        facts["more"] = options
    write_facts(facts)


def described(
    solution: Solution, name: str, out: Path | None, reports: int, *, details: bool = True
) -> dict[str, object]:
    """Return where a solution is saved, with `details` also what was asked for and found, each by a short name."""
    from stratagem.math.number import above_minimum, number_text

    workload, facts = solution.workload, dict[str, object]()
    if details:
        facts |= {
            "asked": f"{name} over domain {workload.domain}: {workload.queries:,} queries, "
            f"{read_count(workload.domain_size)} user types, epsilon {solution.epsilon:g}, "
            f"objective {solution.objective_kind}{' per user type' if solution.per_type else ''}",
            "found": f"{read_count(reports)} possible reports, measured epsilon {solution.strategy.epsilon:.10g}, "
            f"in {solution.seconds:.1f} s",
            "gap": f"objective {number_text(solution.objective)}, {above_minimum(solution.gap)}, "
            f"which is {number_text(solution.lower_bound)}",
            "solver": f"{dashed(solution.solver)}: {solution.reason}",
            "status": solution.verdict,
        }
    if out is not None:
        facts["saved"] = (
            f"{out} ({read_count(reports)} possible reports, epsilon {solution.epsilon:g} verified)"
        )
    return facts


def dashed(name: str) -> str:
    """Return the name of a solver as the command line knows it: few-queries for FewQueries."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def _next(solution: Solution, name: str, out: Path | None) -> str:
    """Say how to go on from here."""
    if out is None:
        return (
            f"add -o {shlex.quote(Path(name).stem)}.ldp.json to save it; stratagem simulate runs it on data"
        )
    if out.suffix.lower() not in (".json", ".npz"):
        return "save it as .ldp.json too, and stratagem simulate runs it on data"
    domain = solution.workload.domain
    columns = " ".join(f"--column {attribute}=COLUMN" for attribute in domain.names[:NAMED])
    if len(domain.names) == 1:
        columns = "--column COLUMN" if domain.described else "--column COLUMN --edges START:STOP:STEP"
    if len(domain.names) > NAMED:
        columns += " ..."
    return Command(f"stratagem simulate {shlex.quote(str(out))} --data DATA.csv {columns}")
