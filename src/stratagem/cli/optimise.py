"""The commands `optimise` and `tune`: a workload and a budget in, the best strategy or published mechanism out."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument

from stratagem.cli.collect import not_protected, to_ask
from stratagem.cli.compare import comparison_lines, found_data, found_lines, more
from stratagem.cli.interruption import interrupted, keeping, note, progress
from stratagem.cli.layout import check_values_kept
from stratagem.cli.option import (
    ALL,
    DETAILS,
    DOMAIN,
    EPSILON,
    FORCE,
    JSON,
    OUT,
    PLOT,
    SECONDS,
    WORKLOAD,
    WORKLOAD_EPSILON,
    GoalOptions,
    QueryOptions,
    ValueOptions,
    check_free,
    check_plot,
)
from stratagem.cli.output import (
    apart,
    facts_lines,
    write,
    write_files,
    write_json,
    write_lines,
    write_table,
)
from stratagem.cli.request import (
    SEVERAL,
    AskedOptions,
    ConstraintOptions,
    Request,
    SampleOptions,
    check_line,
    no_budget,
    read_described,
    requested,
)

if TYPE_CHECKING:
    from stratagem.io.table import Table
    from stratagem.solvers.problem import Constraint
    from stratagem.study.solution import Solution

NAMED = 8
"""Attributes that an example names."""


def optimise(
    *,
    workload: WORKLOAD,
    epsilon: WORKLOAD_EPSILON = None,
    asked: AskedOptions,
    sample: SampleOptions,
    constraints: ConstraintOptions,
    out: OUT = None,
    plot: PLOT = None,
    show_all: ALL = False,
    details: DETAILS = False,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Find a mechanism close to the best possible unbiased one, and say how close. Ctrl-C keeps the best so far.

    With --data the domain follows from the values of a column, as `plan` proposes them; nothing else of it is used.
    It may keep to a constraint besides: a cap on what one report tells, a shuffler, memoised
    answers, or steps between values.
    """
    from stratagem.workloads.given import stated_epsilon

    if epsilon is None and constraints.step is None:
        epsilon = stated_epsilon(workload)
    with requested(workload, epsilon, asked, sample) as request:
        limits = constraints.read()
        if epsilon is None and constraints.step is None:
            raise no_budget(workload)
        if constraints.several:
            _check_several(asked, out, plot, alone=len(limits) == len(constraints.caps), force=force)
            _frontier(request, constraints.caps, plot, json=json)
            return
        if plot is not None:
            raise ValueError(
                f"--plot draws what several caps cost: add --guess-cap {SEVERAL}, or leave it out"
            )
        check_out(out, plain=asked.goal.plain, force=force, bundled=constraints.permanent is not None)
        if constraints.step is not None:
            check_line(request.workload)
        elif request.layout is None:
            check_values_kept(out, asked.values)
        solution = _searched(request, limits)
        with keeping():
            found = SavedSolution.saved(marked(solution), workload, out, asked.goal)
            if json:
                write_json(found.record() | found_data(request))
            elif solution.promise is None:
                write_lines(_described(found, request, show_all=show_all, details=details))
            else:
                write_lines(_promised(found))


def _searched(request: Request, limits: list[Constraint]) -> Solution:
    from stratagem.solvers.problem import problem_of
    from stratagem.study.optimisation import solved

    with progress("optimising") as on_step:
        problem = request.problem
        if problem is None or limits:
            problem = problem_of(request.workload, request.budget, **request.goal, constraints=limits)
        return solved(problem, request.solver, on_step)


def _check_several(
    asked: AskedOptions, out: Path | None, plot: Path | None, *, alone: bool, force: bool
) -> None:
    """Refuse what several caps on the best guess cannot be given with."""
    if out is not None:
        raise ValueError("-o was given, but several mechanisms are found: choose one by --guess-cap")
    if not alone:  # steps, which take the place of epsilon, are one
        raise ValueError("another constraint was given with several caps: give it with one, or alone")
    if not asked.goal.plain:
        raise ValueError("caps are designed for with the average over values: leave prior and objective out")
    check_plot(plot, force=force)


def _frontier(request: Request, caps: list[float], plot: Path | None, *, json: bool) -> None:
    """Say what several caps on the best guess cost."""
    from stratagem.study.frontier import guess_frontier

    seed = getattr(request.solver, "seed", 0)
    with progress("searching") as on_step:
        line = guess_frontier(request.workload, request.epsilon, caps or None, on_step, seed=seed)
    with keeping():
        if plot is not None:
            line.plot(plot)
        if json:
            found = [
                SavedSolution(solution=one, name=request.name, outputs=one.strategy.outputs)
                for one in line.solutions
            ]
            write_json({"frontier": [one.record() for one in found]})
            return
        write("How many people to ask, if the best guess from one report may be right so often at most:\n")
        write_table(line.table())
        write_files(drawn=plot)


def _promised(found: SavedSolution) -> Iterator[str | Table]:
    """Yield what a strategy under a constraint promises."""
    from stratagem.study.attacks import promised_parts

    solution = found.solution
    yield from (str(solution), "")
    record = solution.promise.record(solution) if solution.promise else {}
    if "promised" in record:
        yield from (*promised_parts(record["promised"]), "")
    local = f", epsilon {solution.strategy.epsilon:.4g} of one report"
    yield f"possible reports: {found.outputs:,}{local if 'shuffled' in record else ''}"
    if facts := ({} if found.out is None else {"saved": found.out}) | found.asking():
        yield from facts_lines(facts)


def marked(solution: Solution) -> Solution:
    """Return the solution as it is, as an interrupted one where Ctrl-C ended any part of the work on it."""
    from stratagem.solvers import Status

    return replace(solution, status=Status.INTERRUPTED) if interrupted() else solution


def check_out(out: Path | None, *, plain: bool, force: bool, bundled: bool = False) -> None:
    """Refuse a file that could not be written, exists or would lose something, before the work."""
    from stratagem.io.target import check_target
    from stratagem.mechanism.export.saved import WRITERS, check_prior_kept
    from stratagem.mechanism.mechanism import SUFFIX

    if out is None:
        return
    check_target(out, (SUFFIX,) if bundled else (*WRITERS, SUFFIX))
    check_free(out, force=force)
    if not plain:
        check_prior_kept(out)


@dataclass(frozen=True, kw_only=True)
class SavedSolution:
    """A solution, and the file that it was saved in."""

    solution: Solution
    name: str
    outputs: int
    """Possible reports: the whole numbers of a bundle leave out some that are too rare, and may need others."""
    out: Path | None = None
    prior: Path | None = None

    @staticmethod
    def saved(solution: Solution, name: str, out: Path | None, goal: GoalOptions) -> SavedSolution:
        """Write a solution to the file asked for, checked before, if any."""
        from stratagem.mechanism.export.saved import holds_interruption
        from stratagem.mechanism.mechanism import SUFFIX

        outputs = solution.strategy.outputs
        if out is not None:
            kept = solution.kept(out, name)
            kept.write_checked(out)
            outputs = kept.strategy.outputs
            if solution.interrupted and not holds_interruption(out):
                note(f"the search was interrupted, which {out} cannot say: *{SUFFIX}, .npz and .mat can")
        return SavedSolution(solution=solution, name=name, outputs=outputs, out=out, prior=goal.prior)

    def record(self) -> dict[str, Any]:
        """Return the solution as named values."""
        from stratagem.study.row import ALPHA

        solution = self.solution
        found = {
            "workload": self.name,
            "domain": str(solution.workload.domain),
            "epsilon": solution.epsilon,
            "epsilon_realised": solution.strategy.epsilon,
            "outputs": self.outputs,
            "objective_kind": solution.objective_kind,
            "prior": None if self.prior is None else str(self.prior),
            "objective": solution.objective,
            "lower_bound": solution.lower_bound,
            "bound": solution.bounds.name,
            "gap": solution.gap if math.isfinite(solution.gap) else None,
            "average_variance": solution.accuracy.average_variance,
            "worst_case_variance": solution.accuracy.worst_case_variance,
            "sample_complexity": solution.samples_for(ALPHA),
            "users_for_one_percent": solution.users_for()._asdict(),
            "status": solution.outcome,
            "solver": solution.solver,
            "reason": solution.reason,
            "seconds": solution.seconds,
            "file": None if self.out is None else str(self.out),
        }
        if solution.per_type:
            found["per_type"] = True
        return found | (solution.promise.record(solution) if solution.promise else {})

    def facts(self, *, details: bool = True) -> dict[str, object]:
        """Return where it is saved, with `details` also what was asked for and found, each by a short name."""
        from stratagem.math.number import above_minimum, count, number_text

        solution, facts = self.solution, dict[str, object]()
        workload, reports = solution.workload, f"{count(self.outputs)} possible reports"
        if details:
            facts |= {
                "asked": f"{self.name} over domain {workload.domain}: {workload.queries:,} queries, "
                f"{count(workload.domain_size)} values, epsilon {solution.epsilon:g}, "
                f"objective {solution.objective_kind}{' per value' if solution.per_type else ''}",
                "found": f"{reports}, epsilon {solution.strategy.epsilon:.10g} in floating point, "
                f"in {solution.seconds:.1f} s",
                "gap": f"objective {number_text(solution.objective)}, {above_minimum(solution.gap)}, "
                f"which is {number_text(solution.lower_bound)}",
                "solver": f"{dashed(solution.solver)}: {solution.reason}",
                "status": solution.verdict,
            }
        return facts | (
            {}
            if self.out is None
            else {"saved": f"{self.out} ({reports}, epsilon {solution.epsilon:g} verified)"}
        )

    def asking(self) -> dict[str, object]:
        """Return what the bundle that was written does not protect, and the command that asks people, if one was."""
        from stratagem.mechanism.mechanism import SUFFIX

        if self.out is None or not self.out.name.lower().endswith(SUFFIX):
            return {}
        asked = to_ask(self.out, self.solution.workload.domain, self.name)
        return {"risks": not_protected(self.out), "ask": asked}

    def next(self, source: Sequence[str] = ()) -> str:
        """Say how to go on from here, with the file that the options `source` read, if any."""
        if self.out is None:
            return f"add -o {shlex.quote(Path(self.name).stem)}.ldp.json to save it; stratagem simulate runs it on data"
        if self.out.suffix.lower() not in (".json", ".npz"):
            return "save it as .ldp.json too, and stratagem simulate runs it on data"
        command = f"stratagem simulate {shlex.quote(str(self.out))}"
        if source:
            return f"{command} {shlex.join(source)}"
        domain = self.solution.workload.domain
        columns = " ".join(f"--column {attribute}=COLUMN" for attribute in domain.names[:NAMED])
        if len(domain.names) == 1:
            columns = "--column COLUMN" if domain.described else "--column COLUMN --edges START:STOP:STEP"
        if len(domain.names) > NAMED:
            columns += " ..."
        return f"{command} --data DATA.csv {columns}"


def _described(
    found: SavedSolution, request: Request, *, show_all: bool, details: bool
) -> Iterator[str | Table]:
    """Yield what was found, how good it is and what to type next."""
    from stratagem.math.privacy import little
    from stratagem.study.comparison import Comparison
    from stratagem.study.needed import fewer_users
    from stratagem.study.optimisation import choose

    solution = found.solution
    comparison = Comparison.of(solution)
    yield from comparison_lines(comparison, 1, show_all=show_all, details=details)
    yield from ("", *found_lines(request))
    yield from (line for said in little(solution.epsilon) for line in (said, ""))
    facts = found.facts(details=details)
    default = request.solver.chooses and solution.reason == choose(None, solution.problem).reason
    if details and default:
        facts["solver"] = f"{dashed(solution.solver)} (the default for domains of this size)"
    if not solution.interrupted and (fewer := fewer_users(solution)):
        facts["fewer"] = fewer.replace("the objective", "--objective")
    facts |= found.asking()
    facts["next"] = found.next(request.source)
    if options := more(comparison, 1, show_all=show_all, details=details):
        facts["more"] = options
    yield from facts_lines(facts)


def dashed(name: str) -> str:
    """Return the name of a solver as the command line knows it: few-queries for FewQueries."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


def tune(
    *,
    workload: WORKLOAD,
    mechanism: Annotated[str, Argument(metavar="MECHANISM", help="A name of `stratagem list`.")],
    epsilon: EPSILON,
    domain: DOMAIN = None,
    queries: QueryOptions,
    goal: GoalOptions,
    values: ValueOptions,
    seconds: SECONDS = None,
    out: OUT = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Tune a published mechanism for a workload, say how far it is from the best possible unbiased one, and save it."""
    from stratagem.study.summary import summary
    from stratagem.study.tuning import tune as run

    asked = read_described(workload, domain, queries, values)
    options = goal.read(asked)
    check_out(out, plain=goal.plain, force=force)
    check_values_kept(out, values)
    with progress("tuning"):
        solution = run(asked, epsilon, mechanism, **options)
    found = SavedSolution.saved(solution, workload, out, goal)
    if json:
        write_json(found.record())
        return
    said = summary(solution.problem, solution.bounds, solution, None, mechanism)
    write_lines([*apart(said), "", *facts_lines(found.facts())])
