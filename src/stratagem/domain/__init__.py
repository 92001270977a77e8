"""Domains: attributes and what their values are, and one reader of the columns that hold such values."""

from collections.abc import Iterable

from stratagem.domain.attribute import Attribute
from stratagem.domain.bins import Bins
from stratagem.domain.domain import ALONE, Domain
from stratagem.domain.values import OTHER, Bin, Codes, Labels

__all__ = ["Attribute", "Bin", "Bins", "Codes", "Domain", "Labels", "bins", "labels"]


def bins(
    edges: str | Iterable[object],
    *,
    other: bool = False,
    no_answer: bool = False,
    zone: str = "",
    whole: bool = False,
    unit: str = "",
    question: str = "",
) -> Attribute:
    """Return an attribute of numbers, dates or times in bins, for `Domain`, which names it.

    `edges` are START:STOP:STEP, a comma list or several; bin k is from edge k to below edge k + 1. With `other` a
    value after them stands for an answer in no bin, with `no_answer` a last one for an empty or missing answer. Dates
    that name a zone are moved to local time in `zone`, by default UTC. With `whole` the numbers are whole ones: a bin
    is named by those in it, and a mean counts their middle.

    >>> age = bins([18, 30, 65, 120], unit="years")
    >>> age.size, age.values_text(0, 0)
    (3, '18 to below 30 years')
    >>> bins("0:70:10", whole=True).values_text(2, 2)
    '20 to 29'

    Raises:
        ValueError: for edges that are none or do not increase, a zone of none, a unit that is no short text, or `whole`
            beside edges that are no whole numbers.
    """
    values = Bins.parse(edges, zone) if isinstance(edges, str) else Bins.of(edges, zone)
    more = (OTHER,) if other and values.other is None else ()
    silent, known = values.no_answer or no_answer, values.whole or whole
    values = Bins((*values.edges, *more), silent, values.zone, known)
    return Attribute(ALONE, values, question, unit)


def labels(
    *texts: str, ordered: bool = False, other: bool = False, no_answer: bool = False, question: str = ""
) -> Attribute:
    """Return an attribute of texts, for `Domain`, which names it.

    With `other` a value after them stands for all other answers, with `no_answer` a last one for an empty or missing
    answer.

    >>> Domain(region=labels("North", "South", other=True, no_answer=True)).sizes
    (4,)

    Raises:
        ValueError: for no label or a repeated one.
    """
    return Attribute(
        ALONE, Labels((*texts, *([OTHER] if other else [])), ordered, no_answer=no_answer), question
    )
