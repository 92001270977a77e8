"""The questions of a survey: the queries of a workload, grouped by what they ask of which attributes."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, count, groupby, islice
from pathlib import Path

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
    def crosses(self) -> bool:
        """Whether it asks for a table of two attributes."""
        return self.kind == "identity" and len(self.about) == 2

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


UNSAFE = re.compile(r"(?:[^\w-]|_)+")
"""What in a name of an attribute is no part of a file's name on some system, or separates words."""
ASIDE = re.compile(r"\s*\([^()]*\)$")
"""Words in brackets behind a name, such as a unit."""
LONGEST = 48
"""Most letters of a file's name that come from attributes: with four bytes a letter all systems take them."""


def answer_files(folder: Path, workload: Workload) -> list[Path]:
    """Return the files for the answers to every question of a workload, such as region-income.csv for a table.

    Names are in lower case, without what stands in brackets behind a name where that is that of no other attribute.
    Where several questions are about the same attributes, the names of all but tables say what is asked, and where two
    names are equal, the later ones get numbers.
    """
    asked, stems = questions(workload), _stems(workload.domain.names)
    many = Counter(one.about for one in asked)
    found, taken = list[Path](), set[str]()
    for one in asked:
        stem = "-".join([stems[place] for place in one.about] or ["everybody"])[:LONGEST]
        if many[one.about] > 1 and one.kind != "identity":
            stem = f"{stem}-{_readable(one.kind)[:LONGEST]}"
        found.append(folder / f"{_free(stem, taken)}.csv")
    return found


def _free(stem: str, taken: set[str]) -> str:
    """Return a name that is not taken, and take it."""
    names = chain([stem], (f"{stem}-{number}" for number in count(2)))
    name = next(name for name in names if name.casefold() not in taken)
    taken.add(name.casefold())
    return name


def _stems(names: Sequence[str]) -> list[str]:
    """Return what files are called after attributes: the shortest words that are still those of one alone."""
    whole, short = [_readable(name) for name in names], [_readable(ASIDE.sub("", name)) for name in names]
    known = Counter([*short, *(one for one, other in zip(whole, short, strict=True) if one != other)])
    return [one if known[one] == 1 else other for one, other in zip(short, whole, strict=True)]


def _readable(name: str) -> str:
    return UNSAFE.sub("_", name).strip("_-").lower() or "question"


def folder_files(folder: Path, workload: Workload) -> list[Path]:
    """Return the files of a folder: those of `answer_files`, of `cross_files`, and one for a table of all questions."""
    paths = answer_files(folder, workload)
    paths += cross_files(paths, workload)
    return [*paths, folder / f"{_free('questions', {path.stem.casefold() for path in paths})}.csv"]


def sheet_files(path: Path, workload: Workload) -> list[Path]:
    """Return the file for all answers, and beside a .csv file that for a table of all questions."""
    plain = path.suffix.lower() == ".csv" and are_few(workload)
    return [path, path.with_name(f"{path.stem}-questions.csv")] if plain else [path]


def cross_files(paths: Sequence[Path], workload: Workload) -> list[Path]:
    """Return the files for the tables of two attributes as rows and columns, beside those of `answer_files`."""
    taken = {path.stem.casefold() for path in paths}
    both = zip(paths, questions(workload), strict=True)
    return [path.with_name(f"{_free(f'{path.stem}-table', taken)}.csv") for path, one in both if one.crosses]
