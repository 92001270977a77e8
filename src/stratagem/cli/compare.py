"""The command `compare`: the optimised strategy beside every baseline and bound, once or along an axis."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from stratagem.cli.interruption import keeping, note_incomplete, progress
from stratagem.cli.option import ALL, DETAILS, FORCE, JSON, PLOT, WORKLOAD, check_free, check_plot
from stratagem.cli.output import apart, write_files, write_result
from stratagem.cli.request import (
    OVER,
    AskedOptions,
    Request,
    SampleOptions,
    first_budget,
    first_domain,
    read_over,
    requested,
)

if TYPE_CHECKING:
    from stratagem.io.table import Table
    from stratagem.solvers import Callback
    from stratagem.study.comparison import Comparison
    from stratagem.study.comparison_sweep import Sweep

SHOWN = 5
"""Published mechanisms of a table that does not show all."""


def compare(
    *,
    workload: WORKLOAD,
    epsilon: Annotated[float | None, Option(help="Privacy budget of one person, in nats.")] = None,
    asked: AskedOptions,
    sample: SampleOptions,
    over: OVER = None,
    out: Annotated[
        Path | None,
        Option("-o", "--out", help="Write every number to a .csv or .json file."),
    ] = None,
    plot: PLOT = None,
    show_all: ALL = False,
    details: DETAILS = False,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Set an optimised mechanism beside every published mechanism and every lower bound.

    With --data also the error that each is expected to make on that file: exact, and nothing of it goes into
    the mechanisms. Without --domain the domain follows from --edges, --labels or the values of the column.
    """
    from stratagem.io.table import SUFFIXES
    from stratagem.workloads.given import leaves_domain

    epsilon = first_budget(epsilon, over)
    if epsilon is None:
        raise ValueError("no budget was given: add --epsilon, or --over epsilon=0.5,1,2")
    asked = replace(asked, domain=first_domain(asked.domain, over))
    with requested(workload, epsilon, asked, sample) as request:
        check_plot(plot, force=force)
        if leaves_domain(request.name) and any(one.unit for one in request.workload.domain.attributes):
            raise ValueError("--unit was given, but a comparison shows no values that have one: leave it out")
        check_free(out, SUFFIXES, force=force)
        with progress("comparing") as on_step:
            line = _run(request, on_step) if over is None else _sweep(request, over, on_step)
        with keeping():
            if plot is not None:
                (line if over else line.comparisons[0]).plot(plot)
            if out is not None:
                line.save(out, overwrite=True)
            compared = Compared(
                request=request, line=line, single=over is None, show_all=show_all, details=details
            )
            write_result(compared, json=json)
            note_incomplete(json or line.complete)
            if not json:
                write_files(drawn=plot, written=out)


@dataclass(frozen=True, eq=False, kw_only=True)
class Compared:
    """What was compared for a request, once or along an axis."""

    request: Request
    line: Sweep
    single: bool
    show_all: bool
    details: bool

    def record(self) -> dict[str, Any]:
        """Return what was asked and compared as named values."""
        request, line, users = self.request, self.line, self.request.users
        prior, comparisons = request.asked.goal.prior, [_values(one) for one in line.comparisons]
        head = {
            "workload": request.name,
            "objective_kind": request.goal["objective"],
            "prior": None if prior is None else str(prior),
        }
        if not self.single:
            return head | {"axis": line.axis, "complete": line.complete, "comparisons": comparisons}
        found = head | comparisons[0]
        if users is not None:
            one = line.comparisons[0]
            found |= {"users": one.users, "outside": users.outside, "others": users.others}
            found["least_error"] = one.least_error
        return found | found_data(request)

    def sentences(self) -> Iterator[str | Table]:
        """Yield what was found, and what was asked."""
        request, line, first = self.request, self.line, self.line.comparisons[0]
        shown = {"show_all": self.show_all, "details": self.details}
        yield from comparison_lines(first, SHOWN, **shown) if self.single else self._along()
        budgets, domains = (
            {one.epsilon for one in line.comparisons},
            {one.workload.domain for one in line.comparisons},
        )
        where = f"epsilon {request.epsilon:g}" if len(budgets) == 1 else "several epsilon"
        domain = f"domain {request.workload.domain}" if len(domains) == 1 else "several domains"
        yield from (
            "",
            f"asked: {request.name} over {domain}, {where}, objective {request.goal['objective']}",
        )
        if request.users is not None:
            made = "the prior" if request.asked.goal.prior else "all values alike"
            yield from found_lines(request)
            values = " but the values" if request.layout is not None and request.layout.found else ""
            yield f"mechanisms made for {made}: nothing of the data goes into them{values}"
            yield "error: expected for an answer on these data, root mean square, in people; exact, by formula"
        if self.single and (options := more(first, SHOWN, **shown)):
            yield f"more:  {options}"

    def _along(self) -> Iterator[str | Table]:
        """Yield the users needed, for the root mean square and for the least accurate answer."""
        yield from (self.line.headline(), "")
        for least_accurate in (False, True):
            table = self.line.table(least_accurate=least_accurate)
            left = 0 if self.show_all else max(0, len(table.rows) - SHOWN - 1)
            yield table.best(SHOWN + 1) if left else table
            yield from [f"{left} more: --all shows them", ""] if left else [""]
        yield self.line.notes()


def comparison_lines(
    comparison: Comparison, most: int, *, show_all: bool, details: bool
) -> Iterator[str | Table]:
    """Yield the people to ask, the best mechanisms as a table, and with `details` the objectives and the bounds."""
    shown = comparison.parts(len(comparison.rows) if show_all else most)
    return apart([*shown, *(comparison.details() if details else [])])


def more(comparison: Comparison, most: int, *, show_all: bool, details: bool) -> str:
    """Return the options that show more."""
    left = len(comparison.rows) - 1 - most
    every = f"--all ({left} more mechanisms)" if left > 0 and not show_all else ""
    return ", ".join(filter(None, [every, "" if details else "--details"]))


def found_lines(request: Request) -> Iterator[str]:
    """Yield how the rows of the file were read, and which values were read from them."""
    if request.users is None:
        return
    found = {} if request.layout is None else request.layout.found
    yield from (str(request.users), *request.users.notes, *chain(*found.values()))
    if request.layout is not None and found:
        yield "Where the mechanism is to be run, state the values:"
        yield " ".join(map(shlex.quote, request.layout.options()))


def found_data(request: Request) -> dict[str, object]:
    """Return the values that were read from the data, by attribute, in words that state them."""
    if request.layout is None or not request.layout.found:
        return {}
    values = {one.name: one.values for one in request.layout.domain.attributes}
    return {"values": {name: str(values[name]) for name in request.layout.found}}


def _run(request: Request, on_step: Callback) -> Sweep:
    from stratagem.study.comparison import compare as run
    from stratagem.study.comparison_sweep import Sweep
    from stratagem.study.row import check_data

    x = None if request.users is None else check_data(request.users.x, request.workload)
    comparison = run(request.workload, request.epsilon, request.solver, on_step, **request.goal)
    return Sweep("epsilon", (comparison if x is None else comparison.on(x),))


def _sweep(request: Request, over: str, on_step: Callback) -> Sweep:
    from stratagem.study.comparison_sweep import sweep

    if request.asked.goal.prior is not None:
        raise ValueError("a prior was given with --over, which compares without one: leave one of them out")
    if request.users is not None:
        raise ValueError("--data was given with --over, which compares without data: leave one of them out")
    workloads, budgets = read_over(
        over, request.workload, request.epsilon, request.name, request.asked.queries
    )
    return sweep(workloads, budgets, request.solver, on_step, objective=request.goal["objective"])


def _values(comparison: Comparison) -> dict[str, object]:
    per_type: dict[str, object] = {} if comparison.workload.counted else {"per_type": True}
    return per_type | {
        "domain": str(comparison.workload.domain),
        "epsilon": comparison.epsilon,
        "mechanisms": comparison.records(),
        "bounds": comparison.bounds.record(),
        "interrupted": comparison.interrupted,
        "not_evaluated": list(comparison.late),
        "not_tuned_to_the_end": list(comparison.partial),
    }
