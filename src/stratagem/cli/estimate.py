"""The commands `estimate` and `rounds`: counts of reports in, answers with intervals or a second round's bundle out."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from stratagem.cli.aggregate import counted_alone
from stratagem.cli.command import options
from stratagem.cli.interruption import keeping, progress
from stratagem.cli.option import (
    BUNDLE,
    COUNTS,
    FORCE,
    JSON,
    PLOT,
    SECONDS,
    QueryOptions,
    check_free,
    check_plot,
    in_words,
    stated_words,
)
from stratagem.cli.output import write, write_files, write_json, write_result
from stratagem.io.numeral import parse_number

if TYPE_CHECKING:
    from stratagem.collection.tally import Tally
    from stratagem.estimation.estimate import Estimate
    from stratagem.estimation.quantile import Quantile
    from stratagem.estimation.released import SyntheticPeople
    from stratagem.mechanism.mechanism import Mechanism
    from stratagem.report.estimated import Estimated
    from stratagem.workloads import Workload

INTERVALS = "The intervals of the cells {} low and high in people, percent_low and percent_high in per cent."
"""Where the intervals of the cells of tables are."""


@options
class EarlierOptions:
    """The first of two rounds."""

    first: Annotated[
        tuple[Path, Path] | None,
        Option(
            metavar="FIRST COUNTS",
            help="Mechanism and counts of the first of two rounds, for queries about its bins or with --pooled (see "
            "`stratagem rounds`).",
        ),
    ] = None
    pooled: Annotated[
        bool,
        Option(
            "--pooled", help="With --first: answer from both rounds, biased where the first chose the bins."
        ),
    ] = False

    def check(self, rounds: int) -> tuple[Path, Path] | None:
        """Return the first round, if there is one; refuse what does not go with it."""
        if self.pooled and self.first is None:
            raise ValueError("--pooled was given without a first round: name it with --first FIRST COUNTS")
        if self.first is not None and rounds != 1:
            raise ValueError(
                "--rounds was given with --first, whose people report once: leave one of the two out"
            )
        return self.first

    def combined(
        self, mechanism: Mechanism, counts: str, tally: Tally, asked: Workload | None, how: MethodOptions
    ) -> Estimate:
        """Return the answers from both rounds; `counts` names those of the second."""
        from stratagem.mechanism.mechanism import load_mechanism
        from stratagem.study.two_rounds import combine

        assert self.first is not None
        file, before = self.first
        if counts == str(before) == "-":
            raise ValueError("both counts are to come from the input: name a file for one of them")
        first = load_mechanism(file)
        rounds = first, read_counts(first, str(before)).counts, mechanism, tally.counts
        return combine(*rounds, asked, pooled=self.pooled, **asdict(how))


@options
class OtherOptions:
    """Other queries than those of the mechanism."""

    workload: Annotated[
        str | None, Option(help="Ask these queries instead: a name of `stratagem list`, or a file.")
    ] = None
    queries: QueryOptions

    def read(self, mechanism: Mechanism) -> Workload | None:
        """Return other queries over a mechanism's domain; numbers are the middles of its bins, and other is none."""
        from stratagem.workloads.given import load

        if self.workload is None:
            return None
        asked = load(self.workload, domain=mechanism.domain, **self.queries.read())
        return self.queries.about_numbers(self.workload, asked, gaps=True)

    def check(self, synthetic: Path | None) -> None:
        """Refuse options of a workload without one; the order is that of the tables of synthetic people as well."""
        unused = [("order", self.queries.order if synthetic is None else None), ("width", self.queries.width)]
        for name in (name for name, value in unused if value is not None and self.workload is None):
            raise ValueError(
                f"--{name} was given without --workload, so that the mechanism answers its own queries: name a "
                f"workload that has it, for example --workload {'marginals' if name == 'order' else 'all-range'}"
            )


@options
class MethodOptions:
    """How answers are estimated."""

    method: Annotated[str, Option(help="A post-processing of `stratagem list`, or recommended.")] = "unbiased"
    confidence: Annotated[float, Option(help="Confidence of the intervals.")] = 0.95
    simultaneous: Annotated[bool, Option("--simultaneous", help="Let all intervals hold together.")] = False


@options
class AnswerOptions:
    """What is said of the answers, and the files that are written."""

    quantile: Annotated[list[str] | None, Option(help="A share, 0.5 for the median; or ATTRIBUTE=SHARE.")] = (
        None
    )
    of_all: Annotated[
        bool, Option("--of-all", help="Quantiles and shares of all people, not of those who answered.")
    ] = False
    rounds: Annotated[
        int,
        Option(help="Reports per person that the counts hold, of a memoised answer; their mean is used."),
    ] = 1
    top: Annotated[int | None, Option(min=1, help="Only the largest answers.")] = None
    marginal: Annotated[str | None, Option(help="a,b: the table of these attributes instead.")] = None
    synthetic: Annotated[
        Path | None,
        Option(
            metavar="RECORDS",
            help="Write as many synthetic records, with nearly the same tables of --order attributes (2), to a .csv or "
            ".parquet file.",
        ),
    ] = None
    queries: Annotated[int, Option(min=1, help="Answers to show, evenly spread.")] = 10
    out: Annotated[
        str | None,
        Option(
            "-o",
            "--out",
            metavar="PATH",
            help="Write all answers, up to 2^21, to a .csv (rounded), .parquet or .json file; or into a folder, DIR/: "
            "one .csv a question, cross tables, and questions.csv with reports, medians and means.",
        ),
    ] = None
    plot: PLOT = None
    summary: Annotated[
        Path | None,
        Option(
            help="Write a page on the results, an .html file: tables, pictures, and whether they can be used."
        ),
    ] = None
    question: Annotated[str, Option(help="The question that people were asked, for --summary.")] = ""
    questions: Annotated[
        Path | None,
        Option(
            help="A workload file, *.toml: headings are in the words of its questions, the page has its title."
        ),
    ] = None

    def check(self, *, force: bool) -> None:
        """Refuse files that could not be written or exist, and people without mbi, before the work."""
        from stratagem.estimation import released
        from stratagem.estimation.answer import SUFFIXES

        check_plot(self.plot, force=force)
        if self.folder is None:
            check_free(self.file, SUFFIXES, force=force)
        elif self.top is not None:
            raise ValueError(
                f"{self.out} is a folder, which holds all answers to every question, but --top was given: leave one out"
            )
        check_free(self.synthetic, released.SUFFIXES, force=force)
        if self.synthetic is not None:
            released.check_mbi()
        if self.summary is not None:
            from stratagem.report.page import check_page

            check_page(self.summary)
            check_free(self.summary, force=force)

    @property
    def folder(self) -> Path | None:
        """The folder for one file a question; None where one file or none is asked for."""
        out = self.out
        return None if out is None or not (out.endswith(("/", os.sep)) or Path(out).is_dir()) else Path(out)

    @property
    def file(self) -> Path | None:
        """The one file for all answers; None where a folder or none is asked for."""
        return None if self.out is None or self.folder is not None else Path(self.out)

    @property
    def _attributes(self) -> list[str]:
        """The attributes whose table is asked for."""
        return [name.strip() for name in (self.marginal or "").split(",")]

    def files(self, workload: Workload, *, force: bool) -> list[Path]:
        """Return the files into which answers are written; refuse those of a folder that exist, before the work."""
        from stratagem.io.target import check_folder
        from stratagem.workloads import along, histogram
        from stratagem.workloads.question import folder_files, sheet_files

        asked = workload if self.marginal is None else along(workload.domain, self._attributes, histogram)
        if self.folder is None:
            paths = [] if self.file is None else sheet_files(self.file, asked)
            for path in paths[1:]:
                check_free(path, force=force)
            return paths
        paths = folder_files(check_folder(self.folder), asked)
        for path in paths if self.folder.exists() else ():
            check_free(path, (".csv",), force=force)
        return paths

    def told(self, found: Estimate, mechanism: Mechanism, name: str, *, single: bool) -> Estimated:
        """Return what is said of an estimate."""
        from stratagem.report.estimated import Estimated

        if self.marginal is not None:
            found = found.marginal(*self._attributes)
        quantiles = {text: _quantile(found, text, of_all=self.of_all) for text in self.quantile or []}
        chosen = None
        if self.top:
            found, chosen = found.together(), found.largest(min(self.top, found.workload.queries))
        return Estimated(
            mechanism=mechanism,
            estimate=found,
            name=name,
            rounds=self.rounds,
            single=single,
            chosen=chosen,
            many=self.queries,
            of_all=self.of_all,
            quantiles=quantiles,
        )

    def write(self, told: Estimated, files: Sequence[Path], title: str, why: str) -> None:
        """Write the picture, the answers and the page that are asked for, the page under a question or the title."""
        if self.plot is not None:
            told.estimate.plot(self.plot)
        if self.folder is not None:
            from stratagem.report.question import write_answers

            write_answers(files, told.by_question())
        elif len(files) > 1:
            from stratagem.report.question import write_sheet

            write_sheet(files, told.by_question(), told.chosen)
        elif self.file is not None:
            told.estimate.save(self.file, told.chosen, overwrite=True)
        if self.summary is not None:
            from stratagem.report.page import write_results
            from stratagem.workloads.question import is_survey

            asked = told.further if is_survey(told.estimate.workload) else told.quantiles
            words = {text: "median" if text == "0.5" else f"quantile {text}" for text in asked}
            quantiles = {words[text]: str(one) for text, one in asked.items()}
            page = {"name": told.name, "question": self.question or title, "rounds": self.rounds}
            page |= {"quantiles": quantiles, "of_all": self.of_all, "why": why}
            write_results(self.summary, told.estimate, told.epsilon, **page)


def estimate(
    file: BUNDLE,
    counts: COUNTS,
    earlier: EarlierOptions,
    others: OtherOptions,
    how: MethodOptions,
    wanted: AnswerOptions,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Estimate the answers of a mechanism's queries, or of others, from counts of its reports."""
    from stratagem.mechanism.mechanism import load_mechanism

    wanted.check(force=force)
    others.check(wanted.synthetic)
    mechanism, *words = in_words(load_mechanism(file), file, wanted.questions, "")
    tally = read_counts(mechanism, counts)
    asked = others.read(mechanism)
    files = wanted.files(asked or mechanism.workload, force=force)
    if earlier.check(wanted.rounds) is None:
        found = mechanism.estimate(tally.counts, asked, rounds=wanted.rounds, **asdict(how))
    else:
        found = earlier.combined(mechanism, counts, tally, asked, how)
    single = wanted.rounds == 1 and earlier.first is None
    told = wanted.told(found, mechanism, others.workload or mechanism.name, single=single)
    wanted.write(told, files, *(words if words[0] else stated_words(others.workload)))
    if wanted.synthetic is not None:
        told = replace(told, people=_synthetic(told.estimate, others.queries.order, wanted.synthetic))
    write_result(told, json=json)
    if not json:
        if any(one.told and one.crossed() for one in told.questions):
            write(INTERVALS.format("stand in these files:" if files else "are what -o answers/ writes:"))
        write_files(drawn=wanted.plot)
        for path in files:
            write_files(written=path)
        write_files(saved=wanted.synthetic, shown=wanted.summary)


def _synthetic(found: Estimate, order: int | None, path: Path) -> SyntheticPeople:
    """Write synthetic people from the tables of some attributes, and return them."""
    from stratagem.estimation.released import release, synthetic_people

    with progress("synthetic records"):
        people = synthetic_people(release(found, order or min(2, len(found.workload.domain.sizes))))
        people.save(path, overwrite=True)
    return people


def read_counts(mechanism: Mechanism, counts: str) -> Tally:
    """Return the tally in a file, of a collection *.duckdb, of a file of reports, or - for the input.

    Those of another mechanism are refused.
    """
    from stratagem.collection.report_file import SUFFIXES
    from stratagem.collection.tally import parse_tally, read_tally

    if counts.lower().endswith(SUFFIXES):
        return counted_alone(mechanism, counts)
    if counts.lower().endswith(".duckdb") and Path(counts).exists():
        with mechanism.collection(counts) as collection:
            return collection.tally()
    if counts == "-":
        return parse_tally(sys.stdin.buffer.read(), mechanism.form, "the input")
    return read_tally(counts, mechanism.form)


def _quantile(found: Estimate, text: str, *, of_all: bool) -> Quantile:
    """Return the quantile that SHARE or ATTRIBUTE=SHARE asks for."""
    attribute, separator, share = text.rpartition("=")
    try:
        number = parse_number(share)
    except ValueError:
        raise ValueError(f"--quantile {text} is no share: write 0.5, or ATTRIBUTE=0.5") from None
    return found.quantile(number, attribute if separator else None, of_all=of_all)


def rounds(
    file: BUNDLE,
    counts: COUNTS,
    out: Annotated[Path, Option("-o", "--out", help="The mechanism file of the second round, *.ldp.json.")],
    users: Annotated[
        int | None, Option(help="People of the second round, by default four for each report of the first.")
    ] = None,
    cells: Annotated[
        int | None,
        Option(help="Merged bins, by default as many as the people leave room for, at most 64."),
    ] = None,
    seconds: SECONDS = None,
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Find the mechanism of a second round: bins merged to equal shares by what a first round of a few people told.

    The first mechanism asks for prefixes or ranges of numbers, dates or times; the other questions of a survey stay.
    Deal people at random: each takes part in one round only. `stratagem estimate SECOND COUNTS` is then unbiased.
    """
    from stratagem.math.number import counted
    from stratagem.mechanism.mechanism import SUFFIX, load_mechanism
    from stratagem.study.two_rounds import second_round

    check_free(out, (SUFFIX,), force=force)
    first = load_mechanism(file)
    tally = read_counts(first, counts)
    with progress("searching") as on_step:
        second = second_round(first, tally.counts, users=users, cells=cells, on_step=on_step)
    with keeping():
        second.save(out, overwrite=True)
        alone, both = len(first.attributes) == 1, zip(first.attributes, second.attributes, strict=True)
        merged = {new.name: (old.size, new) for old, new in both if alone or new.values != old.values}
        edges = {name: new.values.entry()["edges"] for name, (_, new) in merged.items()}
        if json:
            about = {"mechanism": second.identifier, "edges": edges.popitem()[1] if alone else edges}
            write_json({**about, "file": str(out)})
            return
        for name, (size, new) in merged.items():
            write(f"{name}: {size} values merged into {new.size}, edges {','.join(edges[name])}")
        write(
            f"{counted(tally.reports, 'report')} chose them. Whoever sent one of these takes no part in the second "
            f"round, so that epsilon {float(second.epsilon):g} holds for everybody."
        )
        write_files(saved=out)
