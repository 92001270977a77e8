"""The command `estimate`: counts of reports in, answers with intervals out."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.interruption import progress
from stratagem.cli.option import (
    BUNDLE,
    COUNTS,
    FORCE,
    JSON,
    ORDER,
    PLOT,
    WIDTH,
    about_numbers,
    check_free,
    check_plot,
    read_workload,
)
from stratagem.cli.output import write, write_files, write_json, write_table
from stratagem.io.numeral import parse_number
from stratagem.io.screen import visible

if TYPE_CHECKING:
    from stratagem.collection.tally import Tally
    from stratagem.estimation.answer import Answer, Quantile
    from stratagem.estimation.estimate import Estimate
    from stratagem.estimation.share import Share
    from stratagem.estimation.synthetic import SyntheticPeople
    from stratagem.mechanism.mechanism import Mechanism
    from stratagem.workloads import Workload


def estimate(
    file: BUNDLE,
    counts: COUNTS,
    first: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            metavar="FIRST COUNTS",
            help="Mechanism and counts of the first of two rounds, for queries about its bins or with --pooled (see "
            "`stratagem rounds`).",
        ),
    ] = None,
    pooled: Annotated[
        bool,
        typer.Option(
            "--pooled", help="With --first: answer from both rounds, biased where the first chose the bins."
        ),
    ] = False,
    workload: Annotated[
        str | None, typer.Option(help="Ask these queries instead: a name of `stratagem list`, or a file.")
    ] = None,
    order: ORDER = None,
    width: WIDTH = None,
    method: Annotated[
        str, typer.Option(help="A post-processing of `stratagem list`, or recommended.")
    ] = "unbiased",
    confidence: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    simultaneous: Annotated[
        bool, typer.Option("--simultaneous", help="Let all intervals hold together.")
    ] = False,
    quantile: Annotated[
        list[str] | None,
        typer.Option(help="A share, 0.5 for the median; or ATTRIBUTE=SHARE."),
    ] = None,
    of_all: Annotated[
        bool,
        typer.Option("--of-all", help="Quantiles and shares of all people, not of those who answered."),
    ] = False,
    rounds: Annotated[
        int,
        typer.Option(
            help="Reports of every person that the counts hold, made with a memo; their mean is used."
        ),
    ] = 1,
    top: Annotated[int | None, typer.Option(min=1, help="Only the largest answers.")] = None,
    marginal: Annotated[str | None, typer.Option(help="a,b: the table of these attributes instead.")] = None,
    synthetic: Annotated[
        Path | None,
        typer.Option(
            metavar="PEOPLE",
            help="Write as many people who do not exist, with nearly the same tables of --order attributes (2), to a "
            ".csv or .parquet file.",
        ),
    ] = None,
    queries: Annotated[int, typer.Option(min=1, help="Answers to show, evenly spread.")] = 10,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", help="Write all answers, 2^21 at most, to a .csv, .parquet or .json file."
        ),
    ] = None,
    plot: PLOT = None,
    summary: Annotated[
        Path | None,
        typer.Option(
            help="Write a page on the results, an .html file: tables, pictures, and whether they can be used."
        ),
    ] = None,
    question: Annotated[str, typer.Option(help="The question that people were asked, for --summary.")] = "",
    force: FORCE = False,
    json: JSON = False,
) -> None:
    """Estimate the answers of a mechanism's queries, or of others, from counts of its reports."""
    from stratagem.estimation.estimate import LISTED
    from stratagem.math.number import spread
    from stratagem.mechanism.mechanism import load_mechanism
    from stratagem.mechanism.usable import estimate_usability
    from stratagem.report.wording import counted

    _check_files(out, plot, synthetic, summary, force=force)
    _check_queries(workload, order, width, synthetic)
    mechanism = load_mechanism(file)
    tally = read_counts(mechanism, counts)
    asked = None if workload is None else _asked(mechanism, workload, order, width)
    options = {"method": method, "confidence": confidence, "simultaneous": simultaneous}
    if pooled and first is None:
        raise ValueError("--pooled was given without a first round: name it with --first FIRST COUNTS")
    if first is None:
        found = mechanism.estimate(tally.counts, asked, rounds=rounds, **options)
    elif rounds != 1:
        raise ValueError(
            "--rounds was given with --first, whose people report once: leave one of the two out"
        )
    else:
        from stratagem.study.two_rounds import combine

        if counts == str(first[1]) == "-":
            raise ValueError("both counts are to come from the input: name a file for one of them")
        before = load_mechanism(first[0])
        earlier = read_counts(before, str(first[1]))
        found = combine(before, earlier.counts, mechanism, tally.counts, asked, pooled=pooled, **options)
    if marginal is not None:
        found = found.marginal(*(name.strip() for name in marginal.split(",")))
    quantiles = {text: _quantile(found, text, of_all=of_all) for text in quantile or []}
    name, chosen = workload or mechanism.name, None
    if top:
        found, chosen = found.together(), found.largest(min(top, found.workload.queries))
    if plot is not None:
        found.plot(plot)
    if out is not None:
        found.save(out, chosen, overwrite=True)
    if summary is not None:
        from stratagem.report.results import write_results

        named = {
            "median" if text == "0.5" else f"quantile {text}": str(one) for text, one in quantiles.items()
        }
        about = {"name": name, "question": question, "rounds": rounds, "quantiles": named}
        write_results(summary, found, _epsilon(mechanism, rounds), **about)
    single = rounds == 1 and first is None
    verdict = estimate_usability(found, float(mechanism.epsilon) if single else None)
    people = None if synthetic is None else _synthetic(found, order, synthetic)
    shown = chosen or spread(found.workload.queries, queries)
    if json:
        more = {} if people is None else {"synthetic": people.data()}
        about = {"epsilon": _epsilon(mechanism, rounds), "rounds": rounds}
        more |= verdict.data() | {
            "shares": [one.data() for one in _shares(found, chosen, of_all=of_all) or ()]
        }
        some = shown if found.workload.queries > LISTED else chosen
        write_json(_data(mechanism, name, found, found.table(some), quantiles) | about | more)
        return
    who = counted(found.users, "report")
    if rounds > 1:
        who = f"{found.users:,} people with {rounds:,} reports each"
    about = f"epsilon {_epsilon(mechanism, rounds):g}, {who}"
    if not verdict.usable:
        write(str(verdict))
    _describe(mechanism, name, found, shown, about, verdict.error)
    _describe_shares(found, _shares(found, shown, of_all=of_all))
    if rounds > 1:
        write("These are means: they are right for people whose values stayed the same in all rounds.")
    for text, value in quantiles.items():
        write(f"quantile {text}: {value}")
    if people is not None:
        write(f"\n{people}")
    write_files(drawn=plot, written=out, saved=synthetic, shown=summary)


def _check_files(
    out: Path | None, plot: Path | None, synthetic: Path | None, summary: Path | None, *, force: bool
) -> None:
    """Refuse files that could not be written or exist, and people without mbi, before the work."""
    from stratagem.estimation import synthetic as people
    from stratagem.estimation.answer import SUFFIXES

    check_plot(plot, force=force)
    check_free(out, SUFFIXES, force=force)
    check_free(synthetic, people.SUFFIXES, force=force)
    if synthetic is not None:
        people.check_mbi()
    if summary is not None:
        from stratagem.report.page import check_page

        check_page(summary)
        check_free(summary, force=force)


def _check_queries(
    workload: str | None, order: int | None, width: int | None, synthetic: Path | None
) -> None:
    """Refuse options of a workload without one; the order is that of the tables of synthetic people as well."""
    unused = [("order", order if synthetic is None else None), ("width", width)]
    for name in (name for name, value in unused if value is not None and workload is None):
        raise ValueError(
            f"--{name} was given without --workload, so that the mechanism answers its own queries: name a workload "
            f"that has it, for example --workload {'marginals' if name == 'order' else 'all-range'}"
        )


def _asked(mechanism: Mechanism, workload: str, order: int | None, width: int | None) -> Workload:
    """Return other queries over a mechanism's domain; numbers are the middles of its bins, and other is none."""
    return about_numbers(workload, read_workload(workload, mechanism.domain, order, width), order, gaps=True)


def _synthetic(found: Estimate, order: int | None, path: Path) -> SyntheticPeople:
    """Write synthetic people from the tables of some attributes, and return them."""
    from stratagem.estimation.marginal_release import release
    from stratagem.estimation.synthetic import synthetic_people

    with progress("synthetic people"):
        people = synthetic_people(release(found, order or min(2, len(found.workload.domain.sizes))))
        people.save(path, overwrite=True)
    return people


def _epsilon(mechanism: Mechanism, rounds: int) -> float:
    """Return the epsilon of all reports of one person: the permanent one for several."""
    return float(mechanism.epsilon if rounds == 1 or mechanism.memo is None else mechanism.memo.permanent)


def _describe(
    mechanism: Mechanism, name: str, found: Estimate, chosen: Sequence[int], about: str, error: float
) -> None:
    """Write how far answers are typically off, a share of the people, some of them as a table, and what they mean."""
    from stratagem.io.table import Table
    from stratagem.math.number import number_text
    from stratagem.workloads.explicit import counts_users

    answers, counts = found.table(chosen), counts_users(found.workload)
    if counts:
        size = f"{number_text(error * found.users)} people, {100 * error:.3g} % of all"
        write(f"Answers are typically off by {size} (estimated standard error).")
    write(f"{visible(name)} over domain {mechanism.domain}, {about}\n")
    heading = f"{100 * found.confidence:g} % from"
    headings = ("query", "answer", *(["share"] if counts else []), "standard error", heading, "to")
    write_table(Table(headings, [_row(answer, found.users if counts else None) for answer in answers]))
    write(f"\n{len(chosen)} of {found.workload.queries:,} answers shown; {found.intervals};\n{found.bias}")
    if advice := _advice(found):
        write(advice)


def _advice(found: Estimate) -> str:
    """Say what is impossible, and name the post-processing that mends it, or that helps where none was chosen."""
    fact, method = found.impossible.fact, found.impossible.method
    if fact:
        return f"{fact}: `--method {method}` mends them" if method else fact
    if method and found.unbiased:
        return f"`--method {method}` gives answers that fit together, usually with smaller errors"
    return ""


def read_counts(mechanism: Mechanism, counts: str) -> Tally:
    """Return the tally in a file, of a collection *.duckdb, or - for the input; refuse one of another mechanism."""
    from stratagem.collection.tally import parse_tally, read_tally

    if counts.lower().endswith(".duckdb") and Path(counts).exists():
        with mechanism.collection(counts) as collection:
            return collection.tally()
    if counts == "-":
        return parse_tally(sys.stdin.buffer.read(), mechanism.form, "the input")
    return read_tally(counts, mechanism.form)


def _shares(found: Estimate, chosen: Sequence[int] | None, *, of_all: bool) -> list[Share] | None:
    """Return the shares of those who answered, where some did not and their queries can be written out."""
    from stratagem.estimation.share import WRITTEN_OUT, shares

    gaps = any(one.values.outside for one in found.naming.attributes)
    small = found.workload.queries * found.workload.domain_size <= WRITTEN_OUT
    return shares(found, chosen, of_all=of_all) if gaps and small else None


def _describe_shares(found: Estimate, shares: list[Share] | None) -> None:
    """Write the shares of people, those of the same people in one table; None where there are no gaps.

    Queries that count nobody have averages instead.
    """
    from stratagem.io.table import Table
    from stratagem.math.number import number_text
    from stratagem.workloads.explicit import counts_users

    if shares is None:
        return
    if not shares:
        write("\nshares: none, as these queries count no answer or other, or too few gave another answer")
    counts = counts_users(found.workload)
    for who in dict.fromkeys(one.words for one in shares):
        same = [one for one in shares if one.words == who]
        zeros = "" if counts or same[0].answered else ", where no answer and other count 0"
        write(f"\n{'shares' if counts else 'averages'} {who}{zeros}:\n")
        rows = [
            (one.label, *(f"{100 * end:.1f} %" if counts else number_text(end) for end in one[2:5]))
            for one in same
        ]
        write_table(Table(("query", "share" if counts else "average", "from", "to"), rows))


def _quantile(found: Estimate, text: str, *, of_all: bool) -> Quantile:
    """Return the quantile that SHARE or ATTRIBUTE=SHARE asks for."""
    attribute, separator, share = text.rpartition("=")
    try:
        number = parse_number(share)
    except ValueError:
        raise ValueError(f"--quantile {text} is no share: write 0.5, or ATTRIBUTE=0.5") from None
    return found.quantile(number, attribute if separator else None, of_all=of_all)


def _row(answer: Answer, users: int | None) -> tuple[str, ...]:
    """Return an answer as texts; of so many `users` with its share of them."""
    value, *others = (f"{number:,.1f}" for number in answer[2:])
    share = () if users is None else (f"{100 * answer.answer / users:.1f} %",)
    return (answer.label, value, *share, *others)


def _data(
    mechanism: Mechanism, name: str, found: Estimate, answers: list[Answer], quantiles: dict[str, Quantile]
) -> dict:
    from stratagem.estimation.answer import answers_data

    head = {
        "workload": name,
        "domain": str(mechanism.domain),
        "epsilon": float(mechanism.epsilon),
        "mechanism": mechanism.identifier,
    }
    tail = {"quantiles": {text: value.data() for text, value in quantiles.items()}}
    return head | answers_data(answers, found.details, found.naming) | tail
