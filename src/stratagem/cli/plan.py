"""The command `plan`: from a file of answers to bins, a mechanism, the errors to expect, a bundle and a page."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from stratagem.cli.collect import to_ask
from stratagem.cli.command import options
from stratagem.cli.interruption import keeping, progress
from stratagem.cli.layout import ALONE, derive, policy_options
from stratagem.cli.option import (
    AS_IS,
    DECIMAL,
    FORCE,
    JSON,
    MAP,
    MISSING,
    SECONDS,
    ValueOptions,
    check_free,
)
from stratagem.cli.output import apart, facts_lines, translated, write_result
from stratagem.math.deadline import deadline, within

if TYPE_CHECKING:
    from stratagem.domain.policy import Policy
    from stratagem.io.table import Table
    from stratagem.study.plan import Plan

PLANNED = 0.7
"""Share of the time after which the search ends; the rest is for the page."""


@options
class SurveyOptions:
    """How many people take part, and how much is told of each."""

    users: Annotated[
        int | None, Option(help="People who will take part, by default as many as the file has rows.")
    ] = None
    error: Annotated[
        float | None,
        Option(
            help="Standard error to reach, 0.01 for 1 % of the people: asks for the smallest epsilon, or with "
            "--epsilon for the people needed."
        ),
    ] = None
    epsilon: Annotated[float | None, Option(help="Privacy budget of one person, 1 by default.")] = None
    workload: Annotated[
        str | None,
        Option(
            help="The statistics: prefix (shares below every edge, the default for numbers), histogram (share of every "
            "value, the default for texts), all-range or another name of `stratagem list`."
        ),
    ] = None


@options
class ColumnOptions:
    """What the values of the column are, and how they are read."""

    edges: Annotated[str | None, Option(help="State the bins: START:STOP:STEP or e0,e1,...")] = None
    labels: Annotated[str | None, Option(help="State the labels: a,b,...")] = None
    unit: Annotated[str | None, Option(help="What numbers are measured in, such as years.")] = None
    only: Annotated[
        bool,
        Option("--only", help="The stated values are all there are: no value other, none for no answer."),
    ] = False
    missing: MISSING = None
    mapping: MAP = None
    as_is: AS_IS = False
    decimal: DECIMAL = None

    def read(self) -> dict[str, Any]:
        """Return the values as `plan` takes them."""
        named = [None if one is None else [f"{ALONE}={one}"] for one in (self.edges, self.labels)]
        stated = derive(ValueOptions(edges=named[0], labels=named[1]))
        policy = self.policy()
        return {
            "values": None if stated is None else stated.domain.attributes[0],
            "only": self.only,
            "unit": self.unit,
            "missing": policy.missing,
            "mapping": policy.mapping,
            "as_is": self.as_is,
            "decimal": self.decimal,
        }

    def policy(self) -> Policy:
        """Return how the texts of the column are read."""
        from stratagem.domain.policy import Policy
        from stratagem.domain.text import read_map

        mapping = read_map(self.mapping or ())
        return Policy(missing=tuple(self.missing or ()), mapping=mapping, decimal=self.decimal)


def plan(
    data: Annotated[Path, Argument(metavar="DATA", help="A CSV (with a header) or Parquet file of answers.")],
    column: Annotated[str, Option(help="The column of the question.")],
    survey: SurveyOptions,
    values: ColumnOptions,
    seconds: SECONDS = None,
    out: Annotated[
        Path | None, Option("-o", "--out", help="The bundle to write, DATA-COLUMN.ldp.json by default.")
    ] = None,
    page: Annotated[
        Path | None, Option("--report", help="The page to write, DATA-COLUMN.html by default.")
    ] = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Plan a survey of one question from a file of answers: bins, privacy, errors, a bundle and a report page."""
    from stratagem.io.target import check_target
    from stratagem.mechanism.mechanism import SUFFIX
    from stratagem.report.page import check_page
    from stratagem.study.plan import plan as run

    stem = re.sub(r"[^\w.-]+", "-", f"{data.name.split('.')[0]}-{column}")
    out, page = out or Path(f"{stem}{SUFFIX}"), page or Path(f"{stem}.html")
    check_target(out, (SUFFIX,))
    check_page(page)
    for path in (out, page):
        check_free(path, force=force)
    options = {**asdict(survey), **values.read(), "seconds": seconds}
    with progress("planning") as on_step, within(deadline().until(PLANNED)):
        found = run(data, column, on_step=on_step, **options)
    with keeping():
        found.save(out, overwrite=True)
        with progress("writing the report"):
            found.mechanism().report(page, users=found.users)
        write_result(Planned(found=found, data=data, policy=values.policy(), out=out, page=page), json=json)


@dataclass(frozen=True, eq=False, kw_only=True)
class Planned:
    """A plan with the files that were written for it."""

    found: Plan
    data: Path
    policy: Policy
    out: Path
    page: Path

    @property
    def commands(self) -> list[str]:
        """The commands that try the mechanism on the file, as it will run on people."""
        found = self.found
        column, attribute = found.column, found.solution.workload.domain.names[0]
        named = column if column == attribute else f"{attribute}={column}"
        median = " --quantile 0.5" if found.name == "prefix" and found.proposal.ordered else ""
        policy = replace(self.policy, mapping={**self.policy.mapping, **found.spellings})
        texts = "".join(f" {shlex.quote(word)}" for word in policy_options(policy))
        bundle, source = shlex.quote(str(self.out)), shlex.quote(str(self.data))
        other = found.proposal.values.other is not None
        invalid = " --invalid other" if other else " --invalid drop" if found.others else ""
        read = f"--data {source} --column {shlex.quote(named)}{invalid}{texts}"
        return [
            f"stratagem randomise {bundle} {read} -o reports.jsonl",
            f"stratagem aggregate {bundle} reports.jsonl -o counts.json",
            f"stratagem estimate {bundle} counts.json{median} -o answers.csv",
        ]

    def record(self) -> dict[str, Any]:
        """Return the plan as named values."""
        found = self.found
        published, key = found.best_published, "edges" if found.proposal.ordered else "labels"
        return {
            "column": found.column,
            key: found.proposal.option,
            "rule": found.proposal.rule,
            "rows": int(found.x.sum()),
            "others": found.others,
            "spellings": found.spellings,
            "workload": found.name,
            "epsilon": found.epsilon,
            "users": found.users,
            "error": found.error,
            "users_needed": found.users_needed,
            "standard_error": found.errors._asdict(),
            "best_published": {
                "mechanism": published.mechanism,
                "standard_error": found.published_errors._asdict(),
            },
            "least_standard_error": found.least_error,
            "gap": found.solution.gap,
            "belief_after_one_half": found.believed,
            "best_guess": found.best_guess,
            **found.usability.data(),
            "notes": [translated(sentence) for sentence in (*found.about_epsilon(), *found.notes())],
            "file": str(self.out),
            "report": str(self.page),
            "commands": self.commands,
        }

    def sentences(self) -> Iterator[str | Table]:
        """Yield what to expect, what epsilon means, which values there are, and what to type next."""
        found = self.found
        yield from apart(
            [*found.answer(), *map("\n".join, (found.meaning(), (*found.values(), *found.notes())))]
        )
        facts = {
            "saved": f"{self.out} (the bundle: the mechanism for clients and the aggregator)",
            "and": f"{self.page} (the report: open it in a browser)",
            "ask": to_ask(self.out, found.solution.workload.domain),
            "next": "try it on this file, as it will run on people's devices:",
        }
        yield from ("", *facts_lines(facts), *self.commands)
