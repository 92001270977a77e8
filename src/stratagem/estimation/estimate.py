"""An estimate: answers with labels and intervals, and answers to further queries from the same reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import ArrayLike

from stratagem.estimation.answer import (
    Answer,
    Interval,
    about_population,
    around,
    check_arranged,
    save,
    standard_errors_each_side,
)
from stratagem.estimation.impossibility import Impossible, cells, extremes, impossible, limits, nested
from stratagem.estimation.postprocessing import METHODS, Method, answered_by
from stratagem.estimation.quantile import Quantile, quantile
from stratagem.estimation.question import QuestionAnswers, SurveyAnswers
from stratagem.estimation.working_set import EVERY
from stratagem.estimators.estimator import About, Estimator, Evidence
from stratagem.io.screen import ROWS, brief, show
from stratagem.io.table import Table
from stratagem.math.number import entries, integer, spread
from stratagem.math.vector import WHOLE, written_or_asked
from stratagem.workloads import Attribute, Workload, along, histogram
from stratagem.workloads.given import WorkloadLike, workload_of
from stratagem.workloads.naming import Naming
from stratagem.workloads.question import SurveyQuestion, questions
from stratagem.workloads.selection import SomeQueries

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

LOOKED_AT = 4096
"""Answers that are looked at for impossible ones where there are more than 2^24."""
MANY, FEW = 1 << 14, 64
"""Answers from which on some are computed alone, where all together are so many times as many."""
LISTED = 1 << 21
"""Largest number of answers in one table or file, some 300 bytes each."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Answers to a workload, estimated from counts of reports.

    Numbers of more than 2^24 queries are computed where they are asked for (`OnDemand`): `answers[7]`, `low[:10]`,
    `table([3, 5])`, or one by one with label and interval, `estimate[7]`, `estimate[:10]`, `estimate["value = 7"]`.

    Standard errors and covariance are those of the unbiased answers, whatever the post-processing. So are intervals,
    but those of post-processed answers are cut to what N users can answer, reach to the answer, and grow until none
    ends above that of a query which counts more (`nested`): they hold the truth as often as before.
    """

    __repr__ = brief

    workload: Workload
    evidence: Evidence
    """The unbiased estimate of the data vector and its covariance."""
    method: Method
    """The post-processing method."""
    processed: np.ndarray | None
    """The post-processed data vector (n,); None where answers come straight from the reports."""
    confidence: float
    """Confidence of the intervals."""
    simultaneous: bool
    """Whether all intervals together hold with that confidence, or each alone."""
    about: About
    """Whose true answers the intervals are about: the users who reported, or the population they came from."""
    attributes: tuple[Attribute, ...] = ()
    """The attributes of the mechanism, which name the values of queries about as many; else those of `workload`."""
    base: Workload | None = None
    """The queries that the post-processed data vector was made for; None for those of `workload`."""
    among: int | None = None
    """Number of queries whose intervals hold together where these are some of them; None for those of `workload`."""
    through: Estimator | None = None
    """The estimator of one report a person, which tells the errors to expect; None for several reports of a person."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: numbers are computed again."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def users(self) -> int:
        """Number N of reports, one a user."""
        return self.evidence.users

    @property
    def reports(self) -> int:
        """Number of users whose reports tell about these queries: of a survey those of the parts that ask them."""
        return self.evidence.reports_about(self.workload)

    def raw(self) -> Estimate:
        """Return the same estimate without post-processing."""
        return replace(self, method=METHODS["unbiased"], processed=None)

    @property
    def unbiased(self) -> bool:
        """Whether the expectation of every answer is the true one."""
        return self.method.unbiased

    @property
    def bias(self) -> str:
        """One sentence on whether and how the answers are biased."""
        return self.method.bias

    @property
    def data(self) -> np.ndarray:
        """Post-processed data vector (n,); only its answers count where reports do not determine every cell.

        Raises ValueError for a domain with too many cells to be written out.
        """
        return self.evidence.data if self.processed is None else self.processed

    def by_table(self) -> list[tuple[Estimate, np.ndarray]]:
        """Return the estimates that answer the queries, and the numbers of the queries (k,) that each answers."""
        return [(self, np.arange(self.workload.queries))]

    def some(self, queries: Iterable[int] | np.ndarray) -> Estimate:
        """Return the answers to some queries alone, by their numbers (k,); nothing is as large as the workload.

        Intervals that hold together hold together with those of the others.
        """
        chosen = SomeQueries(self.workload, np.array(queries, dtype=np.int64))
        among = self.among or self.workload.queries
        return replace(self, workload=chosen, base=self.base or self.workload, among=among)

    def by_question(self) -> list[tuple[SurveyQuestion, Estimate]]:
        """Return the questions of the workload, each with the estimate of its queries without their weights."""
        return [(one, self._unweighted(one)) for one in questions(self.workload)]

    def _unweighted(self, question: SurveyQuestion) -> Estimate:
        if not question.weighted:
            whole = len(question.places) == self.workload.queries
            return self if whole else self.some(question.places)
        asked = self.ask(question.over(self.workload.domain))
        return replace(asked, among=self.among or self.workload.queries)

    def frame(self) -> DataFrame:
        """Return all answers as a tidy pandas data frame, a row a query: question, kind, label, answer and interval.

        Raises:
            ValueError: as `table`, or without pandas.
        """
        return SurveyAnswers([QuestionAnswers.of(*one) for one in self.by_question()]).to_frame()

    def _each(self, numbers: Callable[[Estimate], np.ndarray], what: str) -> np.ndarray:
        """Return one number for every query (p,), on demand where they are many, from a function of an estimate."""
        return written_or_asked(
            self.workload.queries, lambda: numbers(self), lambda places: numbers(self.some(places)), what
        )

    @cached_property
    def answers(self) -> np.ndarray:
        """Answers W x (p,) in users, x the post-processed data vector."""
        return self._each(lambda one: one._answers(), "the answers")

    def _answers(self) -> np.ndarray:
        return self.unbiased_answers if self.processed is None else self.workload.answer(self.processed)

    @cached_property
    def unbiased_answers(self) -> np.ndarray:
        """Unbiased answers W x_hat (p,), the centres of the intervals."""
        return self._each(lambda one: one.evidence.answers(one.workload), "the unbiased answers")

    @cached_property
    def standard_errors(self) -> np.ndarray:
        """Standard error of every unbiased answer (p,), from the counts."""
        what = "the standard errors"
        return self._each(lambda one: one.evidence.variances(one.workload, one.about) ** 0.5, what)

    @property
    def low(self) -> np.ndarray:
        """Lower ends of the intervals (p,)."""
        return self._each(lambda one: one._interval.low, "the lower ends")

    @property
    def high(self) -> np.ndarray:
        """Upper ends of the intervals (p,)."""
        return self._each(lambda one: one._interval.high, "the upper ends")

    @cached_property
    def _interval(self) -> Interval:
        """Both ends (p,); answers without error take no share of the confidence of simultaneous intervals."""
        uncertain = self.among or int(np.count_nonzero(self.standard_errors)) if self.simultaneous else 1
        each_side = standard_errors_each_side(self.confidence, uncertain)
        centre, variances = self.unbiased_answers, np.square(self.standard_errors)
        if self.about == "population":
            rare = self.evidence.prior_variances(self.workload), cells(self.workload), extremes(self.workload)
            found = about_population(centre, variances, *rare, self.users, each_side)
        else:
            least, most = limits(self.workload)
            found = around(centre, variances, each_side, steps=most - least)
        if self.processed is None:
            return found
        low, high = found.cut(centre, *(self.users * end for end in limits(self.workload)))
        return nested(self.workload, Interval(np.minimum(low, self.answers), np.maximum(high, self.answers)))

    @property
    def intervals(self) -> str:
        """The confidence of the intervals, and whether it holds for all together or for each, in words."""
        held = "all together" if self.simultaneous else "each on its own"
        return f"{100 * self.confidence:.10g} % intervals, {held}"

    @cached_property
    def naming(self) -> Naming:
        """The names of the queries, each made when it is asked for: `naming.label(0)`."""
        return Naming.of(self.workload, self.attributes)

    @property
    def details(self) -> dict[str, Any]:
        """Users, method, bias and confidence behind the answers and their intervals, as JSON values."""
        return {
            "users": self.users,
            "queries": self.workload.queries,
            "method": self.method.name,
            "unbiased": self.unbiased,
            "bias": self.bias,
            "confidence": self.confidence,
            "simultaneous": self.simultaneous,
            "intervals": self.intervals,
            "impossible": asdict(self.impossible),
        }

    @cached_property
    def impossible(self) -> Impossible:
        """Number of answers that no data vector of N users has, and the method that mends them.

        Of more than 2^24 answers some are looked at, evenly spread.
        """
        if self.workload.queries > WHOLE:
            return self.some(spread(self.workload.queries, LOOKED_AT)).impossible
        return impossible(self.workload, self.evidence, self.answers, self.processed, self.among)

    def _repr_html_(self) -> str:
        """Return the first answers as a table for a notebook."""
        shown, many = self.table(range(min(ROWS, self.workload.queries))), self.workload.queries
        rows = [
            (one.label, *(f"{number:,.1f}" for number in (one.answer, one.standard_error, one.low, one.high)))
            for one in shown
        ]
        caption = f"{self.users:,} people, {len(shown):,} of {many:,} answers, {self.intervals}"
        return Table(("query", "answer", "standard error", "low", "high"), rows).html(caption)

    def __str__(self) -> str:
        """Return the number of users and answers, the method and the first answers as text."""
        lines = [f"{self.users:,} people, {self.workload.queries:,} answers, {self.method.name}"]
        for one in self.table(range(min(ROWS, self.workload.queries))):
            lines.append(f"{one.label[:60]:<20} {one.answer:>14,.1f} ± {one.standard_error:,.1f}")
        return "\n".join(lines)

    @overload
    def table(self, queries: Iterable[int] | None = None, /) -> list[Answer]: ...
    @overload
    def table(self, queries: str, /, *others: str) -> QuestionAnswers: ...
    def table(
        self, queries: Iterable[int] | str | None = None, /, *others: str
    ) -> list[Answer] | QuestionAnswers:
        """Return the answers of some queries, by default of all, each with its label and its interval.

        Names of attributes, `table("region", "income")`, ask for the table of these (see `marginal`), in their order.

        Raises:
            ValueError: for a number that is no query's, or more than 2^21 answers; as `marginal`.
        """
        if isinstance(queries, str):
            ((question, found),) = self.marginal(queries, *others).by_question()
            return QuestionAnswers.of(question, found).ordered((queries, *others))
        p = self.workload.queries
        entries(p if queries is None else 0, LISTED, "the table of all answers", "name some queries")
        chosen = range(p) if queries is None else [int(query) for query in queries]
        entries(len(chosen), LISTED, "the table of answers", "name fewer queries")
        labels, places = [self.naming.label(query) for query in chosen], np.array(chosen, dtype=np.int64)
        source, at = (self.some(places), slice(None)) if self._few(len(chosen)) else (self, places)
        columns = (source.answers, source.standard_errors, source.low, source.high)
        numbers = np.stack([column[at] for column in columns], axis=1).tolist()
        return [Answer(*found) for found in zip(chosen, labels, *zip(*numbers, strict=True), strict=True)]

    def _few(self, many: int) -> bool:
        """Return whether so many answers are computed alone: of simultaneous ones all errors say how many have none."""
        p, known = self.workload.queries, self.simultaneous or "standard_errors" in vars(self)
        return p > WHOLE or (p > MANY and FEW * many < p and not known)

    def __getitem__(self, which: int | str | slice) -> Answer | list[Answer]:
        """Return the answer to one query, by its number or label, or those of a slice.

        Raises:
            IndexError: for a number that is no query's.
            ValueError: for a label that is no query's (see `Naming.number`), or as `table`.
        """
        every = range(self.workload.queries)
        if isinstance(which, slice):
            return self.table(every[which])
        (found,) = self.table([self.naming.number(which) if isinstance(which, str) else every[which]])
        return found

    def covariance(self) -> np.ndarray:
        """Return the estimated covariance (p x p) of the unbiased answers.

        Raises:
            ValueError: for more than 2^27 entries, or if the counts do not determine it.
        """
        return self.evidence.covariance(self.workload, self.about)

    def ask(self, workload: WorkloadLike) -> Estimate:
        """Return the answers to other queries from the same reports; a name or a matrix (p x n) is over their domain.

        Post-processed answers come from the same data vector where the queries that it was made for determine these,
        so that one cell has one answer, whatever it is asked with; others are post-processed anew (`answered_by`).

        Raises:
            UnsupportedWorkloadError: if a query is not a combination of rows of the strategy.
            ValueError: if the post-processing does not fit them.
        """
        workload = workload_of(workload, default=lambda: self.workload.domain)
        base = self.base or self.workload
        self.evidence.check(workload)
        check_arranged(self.naming.attributes, workload, base)
        if self.processed is not None and self.method.fits == EVERY and answered_by(base, workload):
            return replace(self, workload=workload, base=base)
        processed = self.method.processed(self.evidence, workload)
        return replace(self, workload=workload, base=workload, processed=processed)

    def marginal(self, *attributes: str) -> Estimate:
        """Return the table of some attributes, the others summed out, in row-major order as the domain names them.

        Raises:
            ValueError: for an attribute that is unknown or named twice.
            UnsupportedWorkloadError: if the strategy does not determine the table.
        """
        return self.ask(along(self.workload.domain, attributes, histogram))

    def quantile(self, share: float, attribute: str | None = None, *, of_all: bool = False) -> Quantile:
        """Return the smallest value of an attribute that at least a share of those who answered is at or below.

        Those whose value is "other" or "no answer" count with `of_all` alone, as the last values. `value` is the
        label, the bin or the whole number that its owner knows, `bin` its place in the domain. Its interval has the
        confidence of the others.

        Raises:
            ValueError: for a share outside (0, 1), an unknown attribute, or none named among several.
            UnsupportedWorkloadError: if the strategy does not determine the attribute's prefixes.
        """
        return quantile(self, share, attribute, of_all=of_all)

    def top(self, k: int) -> list[Answer]:
        """Return the k largest answers, largest first, with intervals that hold together over all queries.

        Simultaneous intervals are valid for answers that were chosen for being large.

        Raises:
            ValueError: unless k is a whole number from 1 to p.
        """
        return self.together().table(self.largest(k))

    def largest(self, k: int) -> list[int]:
        """Return the numbers of the k largest answers, largest first.

        Raises:
            ValueError: unless k is a whole number from 1 to p, or for more than 2^24 answers to compare.
        """
        integer(k, "the number of largest answers", 1, self.workload.queries, "ask for fewer")
        entries(self.workload.queries, WHOLE, "the answers to compare", "ask fewer queries")
        return np.argsort(-self.answers, kind="stable")[:k].tolist()

    def together(self) -> Estimate:
        """Return the same answers with intervals that hold all together."""
        return replace(self, simultaneous=True)

    def save(
        self, path: str | Path, queries: Iterable[int] | None = None, *, overwrite: bool = False
    ) -> Path:
        """Write the answers of some queries, by default of all, as a .csv, .parquet or .json file.

        Raises:
            ValueError: for another suffix, a path that cannot be written, a file that exists, unless `overwrite`, or
                a number that is no query's.
        """
        return save(path, self.table(queries), self.details, self.naming, overwrite=overwrite)

    def plot(
        self, path: str | Path | None = None, width: float | None = None, *, truth: ArrayLike | None = None
    ) -> Figure:
        """Draw the answers with their intervals; write an .svg, .png or .pdf if a path is given.

        `truth` (p,), the true answers where they are known, is drawn in black; `width` in inches, that of the
        style by default.

        Raises:
            ValueError: without matplotlib, for a path or width that cannot be used, or a truth of another shape.
        """
        return show("plot_estimate", self, path, width, truth=truth)
