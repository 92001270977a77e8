"""The command `bound`: lower bounds on unbiased strategies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from stratagem.cli.command import options
from stratagem.cli.interruption import note, note_incomplete, progress
from stratagem.cli.option import (
    DETAILS,
    DOMAIN,
    FORCE,
    JSON,
    PLOT,
    SECONDS,
    GoalOptions,
    QueryOptions,
    check_free,
    check_plot,
)
from stratagem.cli.output import write, write_files, write_json, write_result
from stratagem.cli.request import OVER, first_budget, first_domain, read_over
from stratagem.math.deadline import deadline

if TYPE_CHECKING:
    from stratagem.io.table import Table
    from stratagem.study.bound_table import BoundPoint, BoundSweep

SOON = 1e-3
"""Least seconds for bounds that are to be tightened."""


@options
class ProofOptions:
    """A proof to write or to check."""

    certificate: Annotated[
        Path | None, Option(metavar="FILE.npz", help="Write the proof of the bound, as arrays.")
    ] = None
    check_file: Annotated[
        Path | None, Option("--check", metavar="FILE", help="Compute the bound of a proof again.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Bounded:
    """Lower bounds, once or along an axis."""

    line: BoundSweep
    single: bool
    details: bool
    tight: bool

    def record(self) -> dict[str, Any]:
        """Return the bounds as named values."""
        if self.single:
            return _values(self.line.points[0])
        places = [
            {
                "domain": str(one.problem.workload.domain),
                "epsilon": one.problem.epsilon,
                "bounds": _values(one),
            }
            for one in self.line.points
        ]
        return {"axis": self.line.axis, "complete": self.line.complete, "places": places}

    def sentences(self) -> Iterator[str | Table]:
        """Yield what the best bounds mean, and with `details` or along an axis what each of them is."""
        from stratagem.math.number import number_text
        from stratagem.study.literature import SCOPE
        from stratagem.study.summary import any_estimator_sentences, bound_sentences, bound_table

        if not self.single:
            best = ", ".join(
                f"{number_text(point.bounds.best)} at {self.line.axis} {place:g} ({point.bounds.name})"
                for place, point in zip(self.line.places, self.line.points, strict=True)
            )
            yield from (
                f"No ε-LDP mechanism with {SCOPE} has an objective below {best}.",
                "",
                self.line.table(),
            )
            return
        point = self.line.points[0]
        yield bound_sentences(point.problem, point.bounds)
        if point.bounds.any_estimator is not None:
            yield from ("", any_estimator_sentences(point.problem, point.bounds.any_estimator))
        if self.details:
            yield from ("", bound_table(point.bounds))
        more = [] if self.details else ["--details (every lower bound with its meaning)"]
        if not (self.tight or point.bounds.optimal):
            more.insert(0, "--seconds 30 (may prove that more are needed)")
        if point.bounds.cut:
            more.insert(0, "more --seconds (time ended the search for a larger bound)")
        if more:
            yield from ("", f"more:  {', '.join(more)}")


def bound(
    *,
    workload: Annotated[
        str | None,
        Argument(metavar="WORKLOAD", help="A name of `stratagem list`, or a .toml, .npy or .csv file."),
    ] = None,
    epsilon: Annotated[float | None, Option(help="Privacy budget of one person, in nats.")] = None,
    domain: DOMAIN = None,
    queries: QueryOptions,
    goal: GoalOptions,
    tight: Annotated[
        bool,
        Option(
            "--tight",
            help="Also the expensive bounds, nonnegative and semidefinite, which --seconds implies.",
        ),
    ] = False,
    seconds: SECONDS = None,
    over: OVER = None,
    people: Annotated[
        int | None,
        Option(
            help="Also an error that every estimator has for some population, biased or not, from so many reports."
        ),
    ] = None,
    proof: ProofOptions,
    plot: PLOT = None,
    details: DETAILS = False,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Compute lower bounds on the objective of every unbiased mechanism for a workload, once or along an axis.

    They hold for unbiased estimates from one report per person. Biased estimates may have smaller errors; what no
    estimate can reach is said with --people.
    """
    from stratagem.math.privacy import check
    from stratagem.workloads.given import load

    if proof.check_file is not None:
        if workload is not None or epsilon is not None:
            raise ValueError("--check reads workload and epsilon from the proof: leave out both")
        _check(proof.check_file, json=json)
        return
    epsilon = first_budget(epsilon, over)
    if workload is None or epsilon is None:
        raise ValueError("a bound needs a workload and --epsilon, or a proof to --check: give them")
    certificate = proof.certificate
    if certificate is not None and (over is not None or goal.objective != "average"):
        raise ValueError("--certificate proves one bound on the average: leave out --over and --objective")
    check_plot(plot, force=force)
    check_free(certificate, (".npz",), force=force)
    asked = load(workload, domain=first_domain(domain, over), **queries.read())
    tight = tight or seconds is not None
    if tight:
        note(f"tightening bounds for at most {deadline().left:.0f} s; Ctrl-C ends it")
    where: tuple[Any, Any] = (asked, [check(epsilon)])
    if over is not None:
        where = read_over(over, asked, epsilon, workload, queries)
    line = _computed(*where, goal.read(asked), tight=tight and certificate is None, people=people)
    if plot is not None:
        line.plot(plot)
    proved: dict[str, Any] = {}
    if certificate is not None:
        line, proved = _certified(line.points[0], certificate, tight=tight)
    found = Bounded(line=line, single=over is None, details=details, tight=tight)
    if json:
        write_json(found.record() | proved)
        return
    if not all(point.problem.workload.counted for point in line.points):
        note("the domain is beyond 2^53 cells: bounds are per value, on L/n")
    write_result(found, json=False)
    note_incomplete(over is None or line.complete)
    if proved:
        write(f"proof of the bound {proved['certified']:,.6f} written to {certificate}")
    write_files(drawn=plot)


def _computed(
    workloads: Any, budgets: Any, goal: dict[str, Any], *, tight: bool, people: int | None
) -> BoundSweep:
    """Return the bounds at every place, tightened as long as there is time where that is asked for."""
    from stratagem.study.bound_table import bound_sweep

    with progress("computing bounds"):
        seconds = max(deadline().left, SOON) if tight else None
        return bound_sweep(workloads, budgets, **goal, seconds=seconds, people=people)


def _certified(point: BoundPoint, path: Path, *, tight: bool) -> tuple[BoundSweep, dict[str, Any]]:
    """Write a proof of the nonnegative bound, and return the bounds with it, and its value by name."""
    from stratagem.study.bound_table import BoundSweep

    with progress("proving the bound"):
        point, found = point.proved(math.inf if tight else point.bounds.best, deadline().left)
    found.save(path, overwrite=True)
    return BoundSweep("epsilon", (point,)), {"certified": found.value, "certificate": str(path)}


def _check(path: Path, *, json: bool) -> None:
    """Say what a file proves.

    Raises:
        ValueError: for a file that proves less than it states.
    """
    from stratagem.mechanism.export.certificate_file import load_certificate
    from stratagem.study.summary import proof_sentences

    found = load_certificate(path)
    if json:
        write_json({"certified": found.value, "epsilon": found.proof.epsilon})
        return
    write(f"The bound was computed again from the arrays of {path}.\n{proof_sentences(found)}")


def _values(point: BoundPoint) -> dict[str, Any]:
    return point.bounds.record() | ({} if point.problem.workload.counted else {"per_type": True})
