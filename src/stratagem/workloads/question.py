"""The questions of a survey: the queries of a workload, grouped by what they ask of which attributes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice

import numpy as np

from stratagem.domain.domain import Domain
from stratagem.workloads.combined import Stack, Weighted, without_weights
from stratagem.workloads.explicit import counting, counts_users
from stratagem.workloads.table import asks, on_table
from stratagem.workloads.workload import Margin, Workload

MOST = 1000
"""Questions of a survey; more of them are told as one workload."""


@dataclass(frozen=True, eq=False)
class SurveyQuestion:
    """What a survey asks of some attributes, without the weight that says how much its errors count."""

    attributes: tuple[int, ...]
    """Places of its attributes in the domain, rising."""
    kind: str
    """What is asked in the words of a query file, such as prefix or mean; identity for the cells of a table."""
    workload: Workload
    """Its queries, over the domain of its attributes alone."""
    places: np.ndarray
    """Their numbers among all queries (p',)."""
    weighted: bool
    """Whether the queries are weighted in the survey."""

    @staticmethod
    def of(margins: Sequence[Margin], part: Workload, first: int) -> SurveyQuestion:
        """Return the question that margins of a part ask, whose queries have the numbers from `first` on."""
        numbers = np.concatenate([np.r_[one.places] for one in margins])  # slices and arrays
        signed = any(one.signed for one in part.describe(int(numbers[-1])).parts)
        plain = [one.workload.unweighted for one in margins]
        own = plain[0][1] if len(plain) == 1 else Stack(tuple(one for _, one in plain))
        return SurveyQuestion(
            margins[0].attributes,
            "parity" if signed else kind_of(own),
            own,
            first + numbers,
            any(weight != 1 for weight, _ in plain),
        )

    @property
    def about(self) -> tuple[int, ...]:
        """Places of the attributes that it depends on: none where it counts everybody."""
        return self.attributes if asks(self.workload) else ()

    def over(self, domain: Domain) -> Workload:
        """Return its queries over the domain of the survey, all other attributes summed out."""
        return on_table(self.workload, self.attributes, range(len(domain.sizes)), domain)


def asked_together(asked: Sequence[Workload]) -> Workload:
    """Return the queries of several questions, one question after the other, in numbers that can be compared.

    The sums of a mean are measured by the range of their values: an error of 1 % of the people counts as much as one
    of 1 % of that range. In miles or euros the mean would count so much that nearly all reports would be about it.
    """
    return asked[0] if len(asked) == 1 else Stack(tuple(map(_by_range, asked)))


def _by_range(asked: Workload) -> Workload:
    """Return queries over the range of the values that they sum; what counts people stays as it is."""
    if counts_users(asked):
        return asked
    weight, inner = asked.unweighted
    sums = [one.matrix() for one in inner.factored() if not counts_users(one)]
    spread = math.prod(float(np.ptp(one, axis=1).max()) for one in sums)
    return Weighted(inner, weight / spread) if spread else asked


def questions(workload: Workload) -> list[SurveyQuestion]:
    """Return the questions of a workload in their order: the parts of a stack, each table of attributes by itself."""
    return list(_questions(workload))


SURVEY = "survey"
"""What a mechanism for several questions is called that nobody has named."""
LISTED = 12
"""Largest number of attributes that are written out."""


def called(name: str, attributes: Sequence[str]) -> str:
    """Return what a mechanism is called; a survey that is called nothing else by its attributes.

    >>> called("survey", ("age", "region", "income")), called("prefix", ("age",))
    ('Survey of age, region and income', 'prefix')
    """
    *names, last = attributes
    if name != SURVEY or not names:
        return name
    some = [*names[: LISTED - 1], last if len(names) < LISTED else f"{len(names) - LISTED + 2} more"]
    return f"Survey of {', '.join(some[:-1])} and {some[-1]}"


def is_survey(workload: Workload) -> bool:
    """Return whether a workload asks one question after the other about several attributes, and not too many."""
    return len(workload.domain.sizes) > 1 and len(workload.split()) > 1 and are_few(workload)


def as_asked(workload: Workload) -> Workload:
    """Return the queries as people are asked: those of a survey without weights, which say how much errors count."""
    return without_weights(workload) if is_survey(workload) else workload


def are_few(workload: Workload) -> bool:
    """Return whether a workload has no more questions than a survey may have."""
    return len(list(islice(_questions(workload), MOST + 1))) <= MOST


def _questions(workload: Workload) -> Iterator[SurveyQuestion]:
    """Yield the questions; a sum of numbers and the people who have one, where some gave no answer, are one."""
    first = 0
    for part in _parts(workload):
        for _, margins in groupby(part.margins(), lambda one: (one.attributes, asks(one.workload))):
            yield SurveyQuestion.of(list(margins), part, first)
        first += part.queries


def _parts(workload: Workload) -> Iterator[Workload]:
    """Yield what a stack asks one after the other, that of a stack inside it as well."""
    parts = workload.split()
    for part in parts:
        yield from _parts(part)
    if not parts:
        yield workload


def kind_of(workload: Workload) -> str:
    """Return what queries ask of their attributes, in the words of a query file; those of several attributes joined.

    >>> from stratagem.workloads import histogram, kron, prefix, total
    >>> kind_of(histogram("region=4,income=6")), kind_of(kron([prefix(9), histogram(2)]))
    ('identity', 'prefix x identity')
    """
    kinds = [_kind(one.unweighted[1]) for one in workload.factored()]
    return kinds[0] if len({*kinds}) == 1 else " x ".join(kinds)


def _kind(workload: Workload) -> str:
    """Return what one factor asks."""
    if not asks(workload):
        return "total"
    if workload.by_cell:
        return "identity"
    if workload.unpadded.cumulative:
        return "prefix"
    if workload.unpadded.range_lengths is not None:
        return "all-range"
    if not workload.by_rows or counts_users(workload):
        return "queries"
    return "mean" if np.count_nonzero(~counting(workload.matrix())) == 1 else "moments"
