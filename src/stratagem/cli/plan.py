"""The command `plan`: from a file of answers to bins, a mechanism, the errors to expect, a bundle and a page."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from stratagem.cli.collect import to_ask, to_keep
from stratagem.cli.command import options
from stratagem.cli.interruption import keeping, note, progress
from stratagem.cli.layout import ColumnOptions, policy_options
from stratagem.cli.option import FORCE, JSON, SECONDS, check_free, stated_words
from stratagem.cli.output import apart, facts_lines, options_advised, translated, write_result
from stratagem.math.deadline import deadline, within

if TYPE_CHECKING:
    import numpy as np

    from stratagem.domain.proposal import Proposal
    from stratagem.io.table import Table
    from stratagem.study.plan import Plan
    from stratagem.study.survey_plan import SurveyPlan

ANSWERS = Path("answers.csv")
"""A file of answers that is still to come."""
TOLD = "--method recommended -o answers/ --summary results.html"
"""How the answers to several questions are told."""
MADE = ("answers", "results.html")
"""The files that this makes."""
PLANNED = 0.7
"""Share of the time after which the search ends; the rest is for the page."""


@options
class SurveyOptions:
    """What is asked, how many people take part, and how much is told of each."""

    column: Annotated[
        list[str] | None,
        Option(
            help="A column to ask about. Repeatable; without --column and --table all are asked about that can be."
        ),
    ] = None
    table: Annotated[
        list[str] | None,
        Option(
            help="A,B: a table of two columns or more, the people in each of its cells. Repeatable; ask for others by "
            "--column."
        ),
    ] = None
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
    epsilon: Annotated[
        float | None,
        Option(help="Privacy budget of one person for all questions; 1, or that of a survey file."),
    ] = None
    workload: Annotated[
        str | None,
        Option(
            help="The statistics of one question: prefix (shares below every edge, the default for numbers), histogram "
            "(share of every value, the default for texts), all-range or another name of `stratagem list`."
        ),
    ] = None

    def asked(self, data: Path) -> str | list[str | tuple[str, ...]] | None:
        """Return what `plan` asks about: a column, several questions, or None for all columns."""
        from stratagem.domain.file import check_columns

        columns = self.column or []
        if data.suffix.lower() != ".toml":
            check_columns(data, columns)
        if len(columns) == 1 and not self.table:
            return columns[0]
        tables = [tuple(name.strip() for name in one.split(",")) for one in self.table or []]
        return [*columns, *tables] or None


def plan(
    data: Annotated[
        Path,
        Argument(
            metavar="DATA",
            help="A CSV (with a header) or Parquet file of answers, or a survey file, .toml, that a plan wrote.",
        ),
    ],
    survey: SurveyOptions,
    values: ColumnOptions,
    seconds: SECONDS = None,
    out: Annotated[
        Path | None,
        Option("-o", "--out", help="The mechanism file (bundle), by default DATA[-COLUMN].ldp.json."),
    ] = None,
    page: Annotated[
        Path | None,
        Option("--summary", "--report", help="The page to write, by default beside that file."),
    ] = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Plan a survey from a file of answers: values, privacy, errors, a mechanism, its summary and a survey file."""
    from stratagem.study.plan import Aim, Plan
    from stratagem.study.survey_plan import planned

    asked = survey.asked(data)
    column = asked if isinstance(asked, str) else None
    out, page, stated = _files(data, column, out, page, force=force)
    wanted = {name: getattr(survey, name) for name in ("users", "error", "epsilon")}
    about, reading = values.read(data, column)
    with progress("planning") as on_step, within(deadline().until(PLANNED)):
        aim = Aim(**wanted, on_step=on_step, on_left_out=None if json else _say, seconds=seconds)
        found = planned(data, asked, aim, {"workload": survey.workload, **about}, reading)
    with keeping():
        told = {"data": data, "out": found.save(out, overwrite=True), "page": page, "typed": survey.epsilon}
        with progress("writing the summary"):
            found.mechanism().report(page, **_cover(data, found, out))
        if isinstance(found, Plan):
            write_result(Planned(found=found, **told), json=json)
            return
        if stated != data:
            seen = str(data) if data.is_absolute() else os.path.relpath(data, stated.parent)
            stated.write_text(replace(found, data=seen).survey_file(), encoding="utf-8")
        write_result(PlannedSurvey(found=found, stated=stated, **told), json=json)


def _cover(data: Path, found: Plan | SurveyPlan, out: Path) -> dict[str, Any]:
    """Return what the page says: people, bounds, the file's title, and whether values are from example answers.

    Where nobody knows, it names the file that does not say so.
    """
    from stratagem.domain.proposal import STATED

    words = dict(zip(("title", "about"), stated_words(str(data)), strict=True))
    known = {"users": found.users, "bounds": found.solution.bounds, **words}
    if getattr(found, "perhaps_read", False):
        return {**known, "proposed": None, "file": out.name}
    columns: Any = getattr(found, "columns", (found,))
    return {**known, "proposed": any(one.proposal.rule != STATED for one in columns)}


def _say(left: Iterable[str]) -> None:
    for sentence in left:
        note(translated(sentence))


def _files(
    data: Path, column: str | None, out: Path | None, page: Path | None, *, force: bool
) -> tuple[Path, Path, Path]:
    """Return where the bundle, the page and the survey file go; those that cannot be written are refused."""
    from stratagem.io.target import check_target
    from stratagem.mechanism.mechanism import SUFFIX
    from stratagem.report.page import check_page

    stem = re.sub(r"[^\w.-]+", "-", "-".join(filter(None, (data.name.split(".")[0], column))))
    out = out or Path(f"{stem}{SUFFIX}")
    check_target(out, (SUFFIX,))
    named = out.name[: -len(SUFFIX)]
    page = page or out.with_name(f"{named}.html")
    check_page(page)
    stated = data if data.suffix.lower() == ".toml" else out.with_name(f"{named}.toml")
    for path in (out, page, *([stated] if column is None and stated != data else [])):
        check_free(path, force=force)
    return out, page, stated


@dataclass(frozen=True, eq=False, kw_only=True)
class Told:
    """What is said of a plan, with the files that were written for it."""

    found: Plan | SurveyPlan
    data: Path
    out: Path
    page: Path
    typed: float | None = None
    """The epsilon that was typed, in place of the one that a survey file states."""

    def try_out(self, data: Path, read: list[str], estimate: str, *files: str) -> list[str]:
        """Return the commands that try the mechanism on a file, as it will run on people; `files` are made by them."""
        bundle, source = shlex.quote(str(self.out)), shlex.quote(str(data))
        reports = f"-o reports.jsonl{' --force' * Path('reports.jsonl').exists()}"
        return [
            f"stratagem randomise {bundle} --data {source} {' '.join([*read, reports])}",
            f"stratagem estimate {bundle} reports.jsonl {estimate}{' --force' * any(map(os.path.exists, files))}",
        ]

    def said(self, commands: list[str], stated: Path | None = None) -> Iterator[str | Table]:
        """Yield what to expect, what epsilon means, which values there are, and what to type next."""
        found = self.found
        told = getattr(found, "left_out", ())  # before the search
        yield from apart(found.parts(one for one in self.notes if one not in told))
        facts = {
            "saved": f"{self.out} (mechanism file (bundle) for all commands)",
            "and": f"{self.page} (the summary: open it in a browser)",
        }
        kept = to_keep(self.out, found.mechanism)
        if stated is None:
            facts["ask"] = f"{to_ask(self.out, found.solution.workload.domain)}{kept}"
        else:
            facts["survey"] = f"{stated} (write the questions into it, change it, plan it again)"
            facts["again"] = self._again(stated)
            facts["ask"] = (
                f"stratagem collect {shlex.quote(str(self.out))} --questions {shlex.quote(str(stated))}{kept}"
            )
        file = "this file" if found.values() else f"a file of answers, here {ANSWERS}"
        facts["next"] = f"try it on {file}, as it will run on people's devices:"
        yield from ("", *facts_lines(facts), *commands)
        if told:
            yield from ("", f"left out: {', '.join(map(_way_in, told))}")

    @property
    def notes(self) -> list[str]:
        """What is to be done, each in a sentence; commands name the file that was written."""
        command = f"stratagem rounds {shlex.quote(str(self.out))} COUNTS"
        return [_typed(one, command) for one in self.found.notes()]

    def _again(self, stated: Path) -> str:
        """Return the command that plans the survey file again over the files of this plan."""
        own = str(self.out) == f"{stated.stem}.ldp.json" and self.page == self.out.with_name(
            f"{stated.stem}.html"
        )
        files = "" if own else f" -o {shlex.quote(str(self.out))} --summary {shlex.quote(str(self.page))}"
        typed = "" if self.typed is None or stated != self.data else f" --epsilon {self.typed:g}"
        asked = f" --users {self.found.users}{typed}"
        return f"stratagem plan {shlex.quote(str(stated))}{asked}{files} --force"

    def common(self) -> dict[str, Any]:
        """Return what every plan is recorded with."""
        found = self.found
        sentences = (*found.about_epsilon(), *self.notes)
        return {
            "epsilon": found.epsilon,
            "users": found.users,
            "error": found.error,
            "users_needed": found.users_needed,
            "gap": found.solution.gap,
            "belief_after_one_half": found.believed,
            "notes": [translated(sentence) for sentence in sentences],
            "file": str(self.out),
            "report": str(self.page),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Planned(Told):
    """What is said of a plan of one question."""

    found: Plan

    @property
    def commands(self) -> list[str]:
        """The commands that try the mechanism on the file, as it will run on people."""
        found = self.found
        column, attribute = found.column, found.solution.workload.domain.names[0]
        named = column if column == attribute else f"{attribute}={column}"
        median = "--quantile 0.5 " if found.name == "prefix" and found.proposal.ordered else ""
        policy = replace(found.policy, mapping={**found.policy.mapping, **found.spellings})
        read = [f"--column {shlex.quote(named)}", *_invalid([(found.proposal, found.others)])]
        read += map(shlex.quote, policy_options(policy))
        return self.try_out(
            self.data, read, f"{median}-o answers.csv", "answers.csv", "answers-questions.csv"
        )

    def record(self) -> dict[str, Any]:
        """Return the plan as named values."""
        found, common = self.found, self.common()
        published = found.best_published
        files = {name: common.pop(name) for name in ("notes", "file", "report")}
        return {
            **_of_column(found.column, found.proposal, found.x, found.others, found.spellings),
            "workload": found.name,
            **{name: common.pop(name) for name in ("epsilon", "users", "error", "users_needed")},
            "standard_error": found.errors._asdict(),
            "best_published": {
                "mechanism": published.mechanism,
                "standard_error": found.published_errors._asdict(),
            },
            "least_standard_error": found.least_error,
            **common,
            "best_guess": found.best_guess,
            **found.usability.data(),
            **files,
            "commands": self.commands,
        }

    def sentences(self) -> Iterator[str | Table]:
        """Yield what to expect, what epsilon means, which values there are, and what to type next."""
        return self.said(self.commands)


@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedSurvey(Told):
    """What is said of a plan of several questions."""

    found: SurveyPlan
    stated: Path
    """The survey file."""

    @property
    def commands(self) -> list[str]:
        """The commands that try the mechanism on the file, or on one of answers where the plan came from no data."""
        columns, read = self.found.columns, [f"--questions {shlex.quote(str(self.stated))}"]
        told = f"{TOLD} {read[0]}"
        if not columns:
            gaps = any(one.values.other is not None for one in self.found.domain.attributes)
            return self.try_out(ANSWERS, [*read, *["--invalid other"] * gaps], told, *MADE)
        read += _invalid((one.proposal, one.others) for one in columns)
        data = self.data if self.data != self.stated else self.stated.parent / self.found.data
        return self.try_out(data, read, told, *MADE)

    def record(self) -> dict[str, Any]:
        """Return the plan as named values."""
        from stratagem.mechanism.usable import verdicts_data

        found, ours = self.found, self.found.solution.mean_variance
        return {
            "title": found.title,
            "columns": [
                _of_column(one.name, one.proposal, one.x, one.others, dict(one.proposal.values.spellings))
                for one in found.columns
            ],
            "questions": [
                {
                    "question": one.name,
                    "attributes": list(one.attributes),
                    "asked": dict(one.entry.on),
                    "weight": one.entry.weight,
                    "standard_error": found.errors(one)._asdict(),
                    **{
                        name.replace(" ", "_"): found.errors(one, other.estimator)._asdict()
                        for name, other in found.others.items()
                    },
                    **verdict.data(),
                }
                for one, verdict in zip(found.questions, found.verdicts, strict=True)
            ],
            "people_as_a_share_of": {
                name.replace(" ", "_"): ours / other.mean_variance for name, other in found.others.items()
            },
            **self.common(),
            **verdicts_data(found.verdicts),
            "survey": str(self.stated),
            "commands": self.commands if found.columns else [],
        }

    def sentences(self) -> Iterator[str | Table]:
        """Yield what to expect, what epsilon means, which values there are, and what to type next."""
        return self.said(self.commands, self.stated)


def _of_column(
    column: str, proposal: Proposal, x: np.ndarray, others: Mapping[str, int], spellings: Mapping[str, str]
) -> dict[str, Any]:
    """Return the values of a column, and what its rows become, as named values."""
    return {
        "column": column,
        "edges" if proposal.ordered else "labels": proposal.option,
        "rule": proposal.rule,
        "rows": int(x.sum()),
        "others": dict(others),
        "spellings": dict(spellings),
    }


def _invalid(columns: Iterable[tuple[Proposal, Mapping[str, int]]]) -> list[str]:
    """Return the option for rows in none of the values, where there are any."""
    gaps = [(proposal.values.other is None, rows) for proposal, rows in columns]
    if any(rows and none for none, rows in gaps):
        return ["--invalid drop"]
    return ["--invalid other"] if not all(none for none, _ in gaps) else []


def _way_in(left: str) -> str:
    """Return the name of a column that is left out, with the option that reads it, if the reason advises one."""
    from stratagem.study.question import LEFT_OUT

    name, _, why = left.partition(LEFT_OUT)
    option = options_advised(why)
    return f"{name} (ask about it with {option})" if option else name


def _typed(note: str, command: str) -> str:
    """Return a sentence with the command of two rounds in place of the function."""
    found = r"st\.study\.second_round\(first, counts, users=(\d+)\)"
    return re.sub(found, lambda users: f"{command} --users {users[1]} -o SECOND.ldp.json", note)
