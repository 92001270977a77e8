"""The command `estimate`: counts of reports in, answers with intervals out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from stratagem.cli.option import BUNDLE, JSON, ORDER, WIDTH, read_workload
from stratagem.cli.output import write, write_json, write_table

if TYPE_CHECKING:
    from stratagem.collection.tally import Tally
    from stratagem.estimation.estimation import Answer, Estimate
    from stratagem.estimation.interval import Quantile
    from stratagem.mechanism.mechanism import Mechanism


def estimate(
    file: BUNDLE,
    counts: Annotated[
        str, typer.Argument(metavar="COUNTS", help="What `stratagem aggregate` wrote, or - for the input.")
    ],
    workload: Annotated[
        str | None,
        typer.Option(
            help="Ask these queries instead: a name of `stratagem list`, or a file.", show_default=False
        ),
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
        typer.Option(help="A share, 0.5 for the median; or ATTRIBUTE=SHARE.", show_default=False),
    ] = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="Only the largest answers.", show_default=False)
    ] = None,
    marginal: Annotated[
        str | None, typer.Option(help="a,b: the table of these attributes instead.", show_default=False)
    ] = None,
    queries: Annotated[int, typer.Option(min=1, help="Answers to show, evenly spread.")] = 10,
    json: JSON = False,
) -> None:
    """Estimate the answers of a mechanism's queries, or of others, from counts of its reports."""
    from stratagem.mechanism.attribute import name_of
    from stratagem.mechanism.mechanism import load_mechanism
    from stratagem.number import spread

    mechanism = load_mechanism(file)
    tally = _read(mechanism, counts)
    asked = None
    if workload is not None:
        asked = read_workload(workload, str(mechanism.domain), order, width)
    options = {"method": method, "confidence": confidence, "simultaneous": simultaneous}
    found = mechanism.estimate(tally.counts, asked, **options)
    if marginal is not None:
        found = found.marginal(*(name.strip() for name in marginal.split(",")))
    quantiles = {text: _quantile(found, text) for text in quantile or []}
    answers = found.top(min(top, found.workload.queries)) if top else _answers(found)
    if json:
        write_json(_data(mechanism, workload or mechanism.name, found, answers, quantiles))
        return
    shown = answers if top else [answers[i] for i in spread(len(answers), queries)]
    write(
        f"{workload or mechanism.name} over domain {mechanism.domain}, epsilon {float(mechanism.epsilon):g}, "
        f"{found.users:,} reports\n"
    )
    heading = f"{100 * confidence:g} % from"
    write_table(("query", "answer", "standard error", heading, "to"), map(_row, shown), words=0)
    write(f"\n{len(shown)} of {found.workload.queries:,} queries shown; {found.bias}{_advice(found)}")
    for text, value in quantiles.items():
        attribute = mechanism.attribute(text.rpartition("=")[0])
        middle, low, high = (name_of(attribute, place) for place in value)
        write(f"quantile {text}: {middle}; {100 * confidence:g} % sure: from {low} to {high}")


def _advice(found: Estimate) -> str:
    """Name the post-processing that helps, where none was chosen."""
    from stratagem.estimation.postprocessing import recommended

    if not found.unbiased or recommended(found.reconstruction).unbiased:
        return ""
    return ";\n`--method recommended` gives answers that fit together, usually with smaller errors"


def _read(mechanism: Mechanism, counts: str) -> Tally:
    from stratagem.collection.tally_file import parse_tally, read_tally

    if counts == "-":
        return parse_tally(sys.stdin.buffer.read(), mechanism.form, "the input")
    return read_tally(counts, mechanism.form)


def _quantile(found: Estimate, text: str) -> Quantile:
    """Return the quantile that SHARE or ATTRIBUTE=SHARE asks for."""
    attribute, separator, share = text.rpartition("=")
    try:
        number = float(share)
    except ValueError:
        raise ValueError(f"--quantile {text} is no share: write 0.5, or ATTRIBUTE=0.5") from None
    return found.quantile(number, attribute if separator else None)


def _answers(found: Estimate) -> list[Answer]:
    from stratagem.estimation.estimation import Answer

    columns = (found.answers, found.standard_errors, found.low, found.high)
    return [Answer(i, *map(float, row)) for i, row in enumerate(zip(*columns, strict=True))]


def _row(answer: Answer) -> tuple[str, ...]:
    return (str(answer.query), *(f"{number:,.1f}" for number in answer[1:]))


def _data(
    mechanism: Mechanism, name: str, found: Estimate, answers: list[Answer], quantiles: dict[str, Quantile]
) -> dict:
    return {
        "workload": name,
        "domain": str(mechanism.domain),
        "epsilon": float(mechanism.epsilon),
        "mechanism": mechanism.identifier,
        "users": found.users,
        "queries": found.workload.queries,
        "method": found.method.name,
        "unbiased": found.unbiased,
        "bias": found.bias,
        "confidence": found.confidence,
        "simultaneous": found.simultaneous,
        "answers": [answer._asdict() for answer in answers],
        "quantiles": {text: value._asdict() for text, value in quantiles.items()},
    }
