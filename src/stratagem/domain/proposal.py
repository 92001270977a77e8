"""Values proposed for a column: round numbers, calendar steps or frequent texts, "other" and "no answer"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar, cast

import numpy as np

from stratagem.domain.bins import WHOLE, Bins, as_whole, coarser
from stratagem.domain.moment import calendar_bins, instant, stating, zones_said
from stratagem.domain.policy import (
    ALIKE,
    DROP,
    STRICT,
    Policy,
    alike,
    as_missing,
    beside_yes_and_no,
    examples,
    labelled,
    like_missing,
    listing,
    read_as_missing,
    refuse_commas,
    respelt,
    spellings,
    strange,
)
from stratagem.domain.rounding import (
    finite_numbers,
    floor,
    grid,
    looking_missing,
    placeholders,
    round_steps,
    roundest,
    spaced_text,
    whole,
)
from stratagem.domain.values import ABSENT, OTHER, Labels, Values, is_missing
from stratagem.io.numeral import decimal_text, parse_decimal

T = TypeVar("T")
STATED = "stated"
"""The rule of values that nobody chose from data."""
MOST = 32
"""Largest number of bins that are proposed; values that are told apart and labels may be twice as many."""
CROWDED = 0.2
"""Share of the numbers in one of equal bins above which bins get about equal shares instead."""
SKEWED = 20
"""Number of these bins, where no number is frequent."""
TAIL = 0.005
"""Share of the numbers at either end that bins need not cover."""
RARE = 0.005
"""Share of the rows below which a text has no label of its own."""
REFUSED = "Whoever answers anything else of {} later is refused; ,other at the end of the values counts such people."
MOSTLY = (
    "Most rows of {} are in none of the values, which tells little: state values, or ask about other columns."
)
FIRST, LAST = 1000, 9000
"""Years of the dates that bins are made for: files use years before and after for what they do not know."""
LONG = 60
"""Letters of edges or labels that stand on one line; longer ones are broken between values."""
AMOUNT = re.compile(r"([€$£¥]\s*)?\d[\d.,' ]*([€$£¥%])?")
"""A number with the marks of a currency, of per cent or of thousands."""
NAN = Decimal("nan")
NONE = "{!r} looks like a placeholder for no answer and is in none"
DOTTED = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}")
"""A date as many countries write it, whose day and month nobody can tell apart."""
SCALES = ((1, 5, 5), (1, 7, 7), (0, 10, 8))
"""Usual scales of answers: the least, the largest, and the number that answers reach at least."""


class DifferentTextsError(ValueError):
    """Nearly every row of a column holds a text of its own."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Values proposed for a column, and what the column's rows become under them."""

    values: Bins | Labels
    """The bins or labels, after them "other" for whatever is in none of them, and "no answer"."""
    rule: str
    """A sentence that says how they were chosen."""

    @property
    def option(self) -> str:
        """The text that `Bins.parse` or `Labels.parse` reads as these values."""
        return str(self.values)

    @property
    def ordered(self) -> bool:
        """Whether the values have an order, so that shares below a limit make sense."""
        return bool(self.values.edges)

    def coarser(self, enough: int | None) -> str:
        """Return coarser bins for proposed ones, where so many are about enough; empty where there are none."""
        values = self.values
        found = "" if self.rule == STATED else coarser(values.edges[: values.bins + 1], enough)
        return ",".join([found, *[WHOLE] * values.whole, *[OTHER] * values.cut]) if found else ""

    def remarks(self, counts: Mapping[str | None, int], column: str = "") -> tuple[str, ...]:
        """Return sentences on texts that could be meant otherwise: dates of several zones, commas, gaps, spellings.

        What they advise is for the column alone, if that has a name.
        """
        values: Any = self.values
        if values.edges:
            reasons = {
                text: values.place(text).reason for text in counts if text and values.other is not None
            }
            odd = {text: counts[text] for text, reason in reasons.items() if reason == f"not {values.kind}"}
            zones = (zones_said(counts, values.zone),) if values.moments else ()
            silent = read_as_missing(counts if values.no_answer else {}, column, numbers=not values.moments)
            found = *zones, silent, *strange(odd, *{reasons[text] for text in odd}, column=column)
            return tuple(filter(None, found))
        spelt = alike(filter(None, counts), values.texts)
        missed = {text: label for text, label in spelt.items() if values.place(text).cell < 0}
        found = (
            like_missing(
                {text: n for text, n in counts.items() if values.place(text).cell >= 0}, column=column
            ),
            f"Some rows hold other spellings of labels and count as {OTHER!r}; mapping={missed} reads them.",
        )
        beside = beside_yes_and_no(counts, dict(values.spellings), column)
        return tuple(filter(None, (*found[: 1 + bool(missed)], beside, *self._numbers(counts, column))))

    def _numbers(self, counts: Mapping[str | None, int], column: str) -> Iterator[str]:
        """Yield sentences on the texts beside numbers that are labels, as too few of the rows hold numbers."""
        known = {text: n for text, n in counts.items() if text and not is_missing(text)}
        odd = {text: n for text, n in known.items() if parse_decimal(text) is None}
        rows, all_rows = sum(odd.values()), sum(known.values())
        if self.rule != STATED and odd and len(known) - len(odd) > 1 and 2 * rows < all_rows:
            yield (
                f"{all_rows - rows:,} rows hold numbers, and {rows:,} texts, with the rows of each: {examples(odd)}; "
                "so all count as labels."
            )
            yield as_missing(odd, column)

    def count(self, counts: Mapping[str | None, int]) -> tuple[np.ndarray, dict[str, int]]:
        """Return the rows of each value (n,), and the number of rows in none of them, by reason.

        These count as other where there is such a value, and nowhere else.
        """
        texts = list(counts)
        cells, rows = self.values.cells(texts), np.array([counts[text] for text in texts], dtype=np.int64)
        x, others, other = np.zeros(self.values.size, dtype=np.int64), Counter(), self.values.other
        chosen = cells.cell if other is None else np.where(cells.cell < 0, other, cells.cell)
        np.add.at(x, chosen[chosen >= 0], rows[chosen >= 0])
        for reason, number in zip(cells.reason, rows, strict=True):
            if reason:
                others[reason] += int(number)
        return x, dict(others.most_common())


def stated(values: Values) -> Proposal:
    """Return values that were stated."""
    if values.numbers:
        raise ValueError(
            f"the values {values} were given, but a plan is for bins or labels: give st.bins(...)"
        )
    if OTHER in values.texts[:-1]:
        raise ValueError(
            f"the values {values} were given, but {OTHER!r} must be the last of them: write it there, or leave it out"
        )
    return Proposal(values=cast("Bins | Labels", values), rule=STATED)


def propose(
    counts: Mapping[str | None, int], column: str, *, as_is: bool = False, order: Sequence[str] = ()
) -> Proposal:
    """Return bins or labels for a column, from how often each of its texts occurs (None where missing).

    Texts that differ in case, outer blanks or Unicode form alone are one label, unless `as_is`; labels stand in the
    `order` that is known.

    Numbers get round steps, the smallest of 1, 2 or 5 times a power of ten that makes at most 32 bins of all but the
    .5 % at either end; whole numbers that span at most 64 are told apart, and decimals on as many round steps. Dates
    get days, weeks, months, quarters, years or decades, times of day get hours. Texts that at least .5 % of the rows
    hold get labels.
    """
    labels: Counter[str] = Counter()
    for text, count in counts.items():
        if text is not None and text.strip():
            labels[text.strip()] += count
    spelt = {} if as_is else spellings(labels)
    labels = respelt(labels, spelt)
    texts = Counter({text: count for text, count in labels.items() if not is_missing(text)})
    if not texts or len(labels) < 2:
        held = f"holds {next(iter(texts))!r} alone" if texts else "holds no values"
        raise ValueError(f"column {column!r} {held}, so that there is nothing to ask: name another column")
    numbers = finite_numbers(texts, column)
    if len(numbers) > 1 and _most(texts, numbers):
        known = {*numbers.values()}  # -1 next to 0 takes no bin but its own
        coded = [one for one in placeholders(texts) if numbers.get(one, NAN) + 1 not in known]
        found = _of_numbers(_summed(texts, {text: one for text, one in numbers.items() if text not in coded}))
        return replace(found, rule="; ".join([found.rule, *map(NONE.format, coded)]))
    moments = {text: moment for text in texts if (moment := instant(text)) is not None}
    days = {text: datetime.fromisoformat(moment) for text, moment in moments.items() if "-" in moment}
    if len(days) > 1 and _most(texts, days):
        return _of_dates(_summed(texts, days))
    if len(moments) - len(days) > 1 and _most(texts, moments.keys() - days.keys()):
        return _bins("00:00:24:00:1h", "every hour of the day has a bin")
    odd = {text: count for text, count in texts.items() if text not in numbers}
    refuse_commas(odd, column)
    return _of_texts(labels, column, spelt, order, next(iter(odd), None) if numbers else None)


def _summed(texts: Mapping[str, int], values: Mapping[str, T]) -> dict[T, int]:
    """Return how often each value occurs, by how often its texts do."""
    found: dict[T, int] = {}
    for text, value in values.items():
        found[value] = found.get(value, 0) + texts[text]
    return found


def _most(texts: Mapping[str, int], chosen: Iterable[str]) -> bool:
    return sum(texts[text] for text in chosen) >= ALIKE * sum(texts.values())


def _inner(counts: Mapping[T, int]) -> tuple[T, T]:
    """Return the least and the largest value that remain when .5 % at either end are left out."""
    ordered = sorted(counts)  # type: ignore[type-var]
    share = np.cumsum([counts[value] for value in ordered]) / sum(counts.values())
    left, right = (ordered[int(np.searchsorted(share, part))] for part in (TAIL, 1 - TAIL))
    return left, right


def _of_numbers(counts: Mapping[Decimal, int]) -> Proposal:
    low, high, integers = min(counts), max(counts), all(map(whole, counts))
    if integers and high - low < 2 * MOST:
        on = ((a, b) for a, b, near in SCALES if a <= low <= b / 2 and near <= high <= b)
        first, last = next(on, (low, high))
        scale = f" of a scale from {first} to {last}" if (first, last) != (low, high) else ""
        rule = f"every whole number{scale} has a value of its own"
        return _bins(spaced_text(Decimal(first), Decimal(last) + 1, Decimal(1)), rule)
    if not integers and (step := grid(counts, 2 * MOST)):
        return _bins(
            spaced_text(low, high + step, step),
            f"every multiple of {decimal_text(step)} has a bin of its own",
        )
    first, last, step = round_steps(*_inner(counts), MOST, least=Decimal(integers))
    start, stop = floor(low, step), floor(high, step) + 1
    if stop - start <= last - first + MOST // 8:
        first, last = start, stop
    covered = "all" if (first, last) == (start, stop) else "99 %"
    places = Counter({floor(number, step): 0 for number in counts})
    for number, rows in counts.items():
        places[floor(number, step)] += rows
    if len(counts) > MOST and max(places.values()) > CROWDED * sum(counts.values()):
        return _of_skewed(counts, integers=integers)
    return _bins(
        spaced_text(first * step, last * step, step), f"round steps that cover {covered} of the numbers"
    )


def _bins(option: str, rule: str) -> Proposal:
    return Proposal(values=Bins.parse(f"{option},{OTHER}"), rule=rule)


def _of_skewed(counts: Mapping[Decimal, int], *, integers: bool) -> Proposal:
    """Return bins of about as many numbers each, between the roundest numbers near the quantiles."""
    ordered, (low, high) = sorted(counts), _inner(counts)
    share = np.cumsum([counts[number] for number in ordered]) / sum(counts.values())
    near = [
        [ordered[int(np.searchsorted(share, (k + off) / SKEWED))] for off in (-0.25, 0.25)]
        for k in range(1, SKEWED)
    ]
    inner = sorted({roundest(a, b) for a, b in near if a > low and b < high} - {low})
    if not inner:
        inner = [roundest(low, high)]
    least = Decimal(1) if integers else (high - low) / SKEWED / 100
    first = roundest(low - max(inner[0] - low, least), low)
    last = roundest(high, high + max(high - inner[-1], least))
    edges = [first, *(edge for edge in inner if first < edge < last), last]
    covered = "all" if first <= ordered[0] and ordered[-1] < last else "99 %"
    return _bins(
        ",".join(map(decimal_text, edges)),
        f"round edges, between most of which about {100 / SKEWED:g} % of the numbers lie; they cover {covered}",
    )


def _of_dates(counts: Mapping[datetime, int]) -> Proposal:
    first, last = _inner({day: count for day, count in counts.items() if FIRST <= day.year < LAST} or counts)
    return _bins(*calendar_bins(first, last, counts, MOST))


def _of_texts(
    counts: Counter[str], column: str, spelt: Mapping[str, str], order: Sequence[str], odd: str | None
) -> Proposal:
    """Return labels for the most frequent texts; `odd` is one among numbers that is none."""
    least = max(2, RARE * sum(counts.values()))
    labels = [text for text, count in counts.most_common(2 * MOST) if count >= least and text != OTHER]
    if all(map(is_missing, labels)):
        gap = stating(column, "missing", [odd] if odd else [])
        advice = f"if {odd!r} stands for no value, say so with {gap}, otherwise " if odd else ""
        if dotted := next(filter(DOTTED.fullmatch, filter(None, counts)), None):
            order = stating(column, "date_format", "day-first")
            advice = (
                f"dates are read as YYYY-MM-DD, so write {dotted!r} in that way or say {order}, otherwise "
            )
        apart = not advice and len(counts) >= ALIKE * sum(counts.values())
        raise (DifferentTextsError if apart else ValueError)(
            f"column {column!r} holds {len(counts):,} different texts, none of them in {100 * RARE:g} % of the rows "
            f"and more than once: {advice}name a column of answers to choose from, or state "
            "values=st.labels('a', 'b', ...)"
        )
    values = labelled(labels, spelt, order, (OTHER,))
    rest = len(set(counts) - {OTHER}) - len(labels)
    most = "text of {:,} has a label" if len(labels) == 1 else "texts of {:,} have labels"
    some = f"the {f'{len(labels)} ' * (len(labels) > 1)}most frequent {most.format(len(labels) + rest)}"
    return Proposal(values=values, rule=some if rest > 0 else "every text has a label")


def found_values(
    counts: Mapping[str | None, int], column: str, policy: Policy = STRICT, order: Sequence[str] = ()
) -> Proposal:
    """Return the values that nobody stated for a column: those of `propose` with those that its rows need.

    Where the policy drops rows they are the bins or labels alone. A domain is public: where a mechanism is to be run,
    it must not be read from the data of those who are to be protected, so state bins or labels there.
    """
    found = propose(counts, column, as_is=policy.as_is, order=order)
    if policy.invalid != DROP:
        return completed(found, counts)
    return replace(found, values=as_whole(found.values.having_other(False), counts))


def completed(proposal: Proposal, counts: Mapping[str | None, int]) -> Proposal:
    """Return the values with those that the rows of a column need, from how often each of its texts occurs.

    "No answer" is added where answers are missing, "other" where some are in none of the values; an "other" that no
    row needs is left out, unless it was stated.
    """
    values, (x, rest) = proposal.values, proposal.count(counts)
    silent, unlisted = ABSENT in rest, bool(set(rest) - {ABSENT})
    rows = 0 if values.other is None else x[values.other] - rest.get(ABSENT, 0)
    needed = unlisted if values.other is None else proposal.rule == STATED or rows > 0
    if needed != (values.other is not None):
        values = values.having_other(needed)
    return replace(proposal, values=as_whole(replace(values, no_answer=values.no_answer or silent), counts))


def cautions(column: str, proposal: Proposal, coded: Mapping[str, int]) -> tuple[str, ...]:
    """Return what is to be done about values that were read from the data, and about placeholders among them."""
    read = (
        "These values were read from the data and tell something about them: if these are the people to protect, "
        "state values that you know without the data."
    )
    texts = () if proposal.ordered else filter(AMOUNT.fullmatch, proposal.values.texts)
    marked = [text for text in texts if not text.replace(".", "").isdigit()]
    amounts = (
        f"{column} holds labels that look like numbers, such as {marked[0]!r}: if so, write digits and a point alone."
        if marked
        else ""
    )
    found = (
        looking_missing(column, coded),
        read if proposal.rule != STATED else "",
        amounts,
        listing(column, [text for text in proposal.values.texts if text != OTHER]),
    )
    return tuple(filter(None, found))


def sentences(column: str, proposal: Proposal, x: np.ndarray, rest: Mapping[str, int]) -> tuple[str, ...]:
    """Return what the values are, and the rows x (n,) of those beside the bins or labels; `rest` is in none of them."""
    values, kind = proposal.values, "bins" if proposal.ordered else "labels"
    why = f" ({', '.join(f'{reason} {count:,}' for reason, count in rest.items())})" if rest else ""
    left = sum(rest.values()) if values.other is None else 0
    rows = f"of {int(x.sum()) + left:,} rows"
    number = values.size - len(values.outside)
    names = "".join(f" and {values.value(cell)!r}" for cell in values.outside)
    option = proposal.option
    option = option.replace(",", ", ") if len(option) > LONG and '"' not in option else option
    counted = [
        f"{int(x[cell]):,} {rows} count as {values.value(cell)!r}{why if cell == values.other else ''}."
        for cell in values.outside
    ]
    return (
        f"{column}: {number} {kind if number > 1 else kind[:-1]}{names} ({proposal.rule}): {option}",
        *filter(None, [values.shorter(column)]),
        *counted,
        *([f"{left:,} {rows} are left out{why}."] if left else []),
        *([MOSTLY.format(column)] if values.other is not None and 2 * x[values.other] > x.sum() else []),
    )


def refusing(columns: Mapping[str, Proposal]) -> list[str]:
    """Return the sentence on the columns whose found values are all that is taken; nothing where there are none."""
    strict = [name for name, one in columns.items() if one.rule != STATED and one.values.other is None]
    return [REFUSED.format(", ".join(strict))] if strict else []
