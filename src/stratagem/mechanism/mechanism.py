"""A mechanism: an exact strategy with everything that client and server need to run it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from stratagem.collection.reports import REFUSE, ReportFormat
from stratagem.collection.tally import Aggregator
from stratagem.domain.attribute import Attribute, value_of
from stratagem.estimation.estimate import Estimate
from stratagem.estimation.estimation import estimate
from stratagem.estimators import estimator
from stratagem.estimators.best_linear import Rounds
from stratagem.io.literal import refuse_bare
from stratagem.io.screen import brief, show
from stratagem.io.target import check_target, written_atomically
from stratagem.math.number import count_text, integer
from stratagem.math.privacy import check, check_prior
from stratagem.math.shuffling import CentralPrivacy
from stratagem.math.vector import Counts
from stratagem.mechanism.client import (
    CEILING,
    FORMAT,
    REPORT_SCHEMA,
    VERSION,
    Client,
    accepted,
    certificate,
    check_memo,
    check_steps,
    checked,
    exp_below,
    fingerprint,
    parse,
)
from stratagem.mechanism.memo import Memo
from stratagem.mechanism.parts_table import ORDINARY, PartsTable
from stratagem.mechanism.rounding import budget, decimal_text, nearest_table, risen, stated_utility, stepped
from stratagem.mechanism.table import (
    SEARCH,
    Exact,
    Table,
    encode,
    prior_of,
    utility_of,
    workload_of,
)
from stratagem.strategies import MatrixStrategy
from stratagem.workloads import Domain, DomainLike, Workload, given
from stratagem.workloads.question import as_asked
from stratagem.workloads.serial import over, to_data

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from stratagem.collection.collection import Collection

SUFFIX = ".ldp.json"
KINDS: dict[str, type[Table]] = ORDINARY | {PartsTable.kind: PartsTable}


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A table of whole numbers, the budget that it provably holds, and the questions that it is made for.

    Guarantee:
        The table was checked in whole numbers when this object was made: equal column sums, and
        max <= min * x in every row for a fraction x <= exp(epsilon).

    Example:
        >>> import numpy as np, stratagem as st
        >>> mechanism = st.optimise(st.histogram(4), epsilon=1.0).mechanism()
        >>> 0 <= mechanism.client.randomise(3)["output"] < mechanism.outputs
        True
    """

    __repr__ = brief

    table: Table
    epsilon: Fraction
    """The privacy budget that the bundle states, as an exact fraction."""
    workload: Workload
    name: str
    """Name that the maker of the bundle gave the workload."""
    utility: Mapping[str, str]
    """Decimal texts: L(Q) of the table, L(Q) before rounding, and the relative loss, or the largest share that rounding
    added to the variance of an answer where that is above 1e-4; the entry `SEARCH` if the search was interrupted."""
    prior: np.ndarray | None = None
    """Prior of the reconstruction, of shape (n,); None for 1/n."""
    memo: Memo | None = None
    """What reports of one person tell together; None if each person reports once."""
    steps: tuple[str, ...] = ()
    """Budgets between neighbouring values on a line, as decimal texts; empty if all values are protected alike."""
    at_most: float = CEILING
    """Largest epsilon, with a memo of all reports, that its client and its page take; no part of the bundle."""

    def __post_init__(self) -> None:
        table = self.bundle["table"]
        if self.memo is not None:
            check_memo(table, self.memo.data)
        if self.steps:
            check_steps(table, list(self.steps), len(self.domain.sizes))

    @staticmethod
    def of(
        strategy: Exact,
        workload: given.WorkloadLike,
        epsilon: float,
        *,
        domain: DomainLike | None = None,
        name: str = "workload",
        prior: np.ndarray | None = None,
        interrupted: bool = False,
    ) -> Mechanism:
        """Return the mechanism of a strategy, rounded to whole numbers on the private side.

        A matrix gets 32 bits, 52 where 32 would add more than 1e-6 to the variance of an answer, or becomes two-level
        where its rows are and even those would. A small two-level strategy becomes a matrix where 32 bits add 1e-4.
        Of a survey each part is rounded so for its own queries.
        Workload and domain are as in `evaluate`; the bundle states what the values of the attributes are. `prior` (n,)
        chooses the reconstruction; it and `interrupted` are kept in the bundle.

        Raises:
            ValueError: if the strategy breaks epsilon or cannot be rounded.
        """
        workload = given.workload_of(workload, domain, lambda: strategy.domain_size)
        promised = budget(check(epsilon))
        _check_domain(strategy, workload.domain, even=prior is None)
        prior = None if prior is None else check_prior(prior, workload.domain_size)
        table, stated = nearest_table(strategy, promised, workload, partial(estimator, prior=prior))
        return Mechanism(table, promised, workload, name, stated | (SEARCH if interrupted else {}), prior)

    @staticmethod
    def on_line(
        strategy: MatrixStrategy, workload: Workload, steps: Sequence[float], *, name: str = "workload"
    ) -> Mechanism:
        """Return the mechanism of a strategy that protects neighbours on a line by their step, rounded to 2^52 units.

        Its epsilon is the sum of the steps (n - 1,). The other arguments are those of `of`.

        Raises:
            ValueError: if the strategy breaks a step or cannot be rounded.
        """
        _check_domain(strategy, workload.domain, even=True)
        texts = tuple(map(decimal_text, steps))
        table = stepped(strategy.matrix, [exp_below(*Fraction(text).as_integer_ratio()) for text in texts])
        before, after = estimator(strategy), estimator(table.strategy)
        stated = stated_utility(workload, before, after, risen(workload, before, after))
        epsilon = sum(map(Fraction, texts), Fraction(0))
        return Mechanism(table, epsilon, workload, name, stated, steps=texts)

    @property
    def bundled(self) -> Mechanism:
        """The mechanism itself, as it is in whole numbers; a `StoredStrategy` has none."""
        return self

    @property
    def interrupted(self) -> bool:
        """Whether the search that found the strategy was interrupted."""
        return bool(SEARCH.items() <= self.utility.items())

    @cached_property
    def bundle(self) -> dict[str, Any]:
        """The content of the bundle, certificate and hash included."""
        table, epsilon = self.table.data(), [str(part) for part in self.epsilon.as_integer_ratio()]
        bundle = {
            "format": FORMAT,
            "version": VERSION,
            "domain": [attribute.entry() for attribute in self.attributes],
            "workload": {"name": self.name, "specification": json.dumps(to_data(self.workload))},
            "prior": None if self.prior is None else encode(self.prior, "<f8"),
            "epsilon": epsilon,
            "table": table,
            "certificate": certificate(table, epsilon),
            "utility": dict(self.utility),
            "report": REPORT_SCHEMA,
        } | ({} if self.memo is None else {"memo": self.memo.data})
        bundle |= {"steps": list(self.steps)} if self.steps else {}
        return bundle | {"sha256": fingerprint(bundle)}

    @cached_property
    def text(self) -> bytes:
        """The bundle as it is written to a file."""
        return (json.dumps(self.bundle, indent=1, ensure_ascii=False) + "\n").encode("utf-8")

    @property
    def identifier(self) -> str:
        """SHA-256 of the bundle's canonical form, in hexadecimal digits."""
        return self.bundle["sha256"]

    @property
    def domain(self) -> Domain:
        """The domain: the attributes and their sizes."""
        return self.workload.domain

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes of the domain, which know their values."""
        return self.domain.attributes

    def value(self, cell: int) -> Any:
        """Return a value of a user type as a client takes it: the lower edge of a bin, the text of a label."""
        return value_of(self.attributes, cell)

    @property
    def outputs(self) -> int:
        """Number m of outputs."""
        return self.strategy.outputs

    @property
    def strategy(self) -> Exact:
        """The table in double precision; its measured epsilon is at most the budget."""
        return self.table.strategy

    def shuffled(self, users: int, delta: float = 1e-6) -> CentralPrivacy:
        """Return the central privacy of its reports if those of so many users are shuffled together.

        Raises:
            ValueError: unless users is a whole number from 1 to 10^15 and 0 < delta < 1.
        """
        return self.strategy.blanket.shuffled(users, delta)

    def memoised(self, epsilon: float) -> Mechanism:
        """Return the mechanism for people who report again and again, with a permanent epsilon for all their reports.

        A single report has the same probabilities as before, and the same errors.

        Raises:
            ValueError: as `Memo.of`.
        """
        return replace(self, memo=Memo.of(self.table, epsilon))

    def accepting(self, at_most: float) -> Mechanism:
        """Return the mechanism with a client and a page that take so much epsilon at most, instead of 10."""
        return self if at_most == self.at_most else replace(self, at_most=at_most)

    @cached_property
    def client(self) -> Client:
        """A client with secure randomness, the same that runs from the standard library alone.

        It treats every report as that of a new person; `load` of the client makes one that keeps a memo.

        Raises:
            ValueError: for more epsilon than `at_most`.
        """
        return Client(accepted(self.bundle, self.at_most))

    def randomise(self, cells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw outputs for many user types, (k,) or of translates and surveys (k, d), pseudo-randomly: to simulate."""
        return self.table.randomise(cells, rng)

    @property
    def form(self) -> ReportFormat:
        """Format of the reports of this mechanism: its identifier and its number of outputs."""
        return ReportFormat(self.identifier, self.outputs)

    def aggregator(self, *, first: bool = False) -> Aggregator:
        """Return an empty aggregator of reports, for one process; `first` as there."""
        return Aggregator(self.identifier, self.outputs, first=first)

    def collection(self, path: str | Path | None = None, *, anonymous: str = REFUSE) -> Collection:
        """Return the collection of reports in a .duckdb file, which lasts; without a path, until it is closed.

        `anonymous` says what becomes of files of reports without ids: "refuse" or "count".
        """
        from stratagem.collection.collection import (
            Collection,  # with DuckDB and Ibis, which take a second to load
        )

        return Collection(path, self.identifier, self.outputs, anonymous=anonymous)

    def estimate(
        self, counts: Counts, workload: given.WorkloadLike | None = None, *, rounds: int = 1, **options: Any
    ) -> Estimate:
        """Return the answers of its own queries, or of others, from the counts of its outputs, (m,) or sparse.

        Those of a survey are its questions without weights, which say how much their errors count.

        A name or a matrix is over its own domain. `rounds` says how many reports of every user the counts hold, made
        by its memo. The options are those of `estimate`: method, confidence, simultaneous, about.

        Raises:
            ValueError: as `estimate`, and for several rounds without a memo.
        """
        options |= {"prior": self.prior, "rounds": self._rounds(rounds)}
        asked = as_asked(self.workload) if workload is None else workload
        return estimate(self.strategy, counts, asked, base=self.workload, **options)

    def _rounds(self, number: int) -> list[Rounds]:
        k = integer(number, "the number of reports per person", 1, 1 << 53, "give how often each reported")
        if k == 1:
            return []
        if self.memo is None:
            raise ValueError(
                f"{k:,} reports per person were given, but devices memoise no answers: estimate from one of each"
            )
        return [Rounds(k, alpha, float(self.memo.permanent)) for alpha in self.memo.repeats]

    def plot(self, path: str | Path | None = None, width: float | None = None) -> Figure:
        """Draw the strategy and the error of every query, as `Solution.plot`, without the bound.

        Raises:
            ValueError: without matplotlib, or for a path or width that cannot be used.
        """
        return show("plot_strategy", self.workload, self.strategy, path, width, prior=self.prior)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the bundle, *.ldp.json; the file appears complete or not at all.

        Raises:
            ValueError: for another suffix, a folder that does not exist, or a file that exists, unless `overwrite`.
        """
        return self.write_checked(check_target(path, (SUFFIX,), overwrite=overwrite))

    def write_checked(self, path: Path) -> Path:
        """Write the bundle to a path that `check_target` returned."""
        with written_atomically(path) as file:
            file.write(self.text)
        return path

    def report(
        self, path: str | Path, *, objective: str = "average", seconds: float | None = None, **about: Any
    ) -> Path:
        """Write one HTML page on this mechanism that needs no network, as `Solution.report`; return its path.

        `objective` is what it is held against: average, worst-case or worst-query. The others, title, question, users
        and date, are `about` the page, as there.

        Raises:
            ValueError: without matplotlib, for a path that cannot be written, an unknown objective, or users that are
                no whole number from 1 to 10^15.
        """
        return show("report_saved", path, self, objective=objective, seconds=seconds, **about)


def _check_domain(strategy: Exact, domain: Domain, *, even: bool) -> None:
    if strategy.domain_size != domain.size:
        given, wanted = count_text(strategy.domain_size), count_text(domain.size)
        raise ValueError(
            f"the strategy has {given} user types, but its workload has {wanted}: give a strategy made for the workload"
        )
    sized: Any = strategy if strategy.parted else strategy.translated
    if sized is not None and sized.sizes != domain.sizes:
        raise ValueError(
            "the attributes of the strategy have other sizes than those of its workload: give a strategy made for "
            "the workload"
        )
    if strategy.even and not even:
        also = "" if strategy.parted else ", or give strategy.dense()"
        raise ValueError(f"a prior was given for {strategy.even}: leave the prior out{also}")


def load_mechanism(path: str | Path, *, at_most: float = CEILING) -> Mechanism:
    """Read a bundle and check everything in it again, the certificate in whole numbers.

    One of more epsilon than `at_most` is read too, to count and to simulate, but its client and its page are refused.

    Raises:
        BareMatrixError: for a file of numbers, saying how it becomes a bundle.
        ValueError: for a file that is not a bundle or does not hold what it promises.
    """
    refuse_bare(path, f"a mechanism file, *{SUFFIX},")
    bundle = checked(path, parse, "*.ldp.json")
    try:
        return _mechanism(bundle).accepting(at_most)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _mechanism(bundle: Mapping[str, Any]) -> Mechanism:
    workload, name = workload_of(bundle["workload"])
    attributes = tuple(map(Attribute.of, bundle["domain"]))
    stated = Domain(*attributes)
    if (stated.names, stated.sizes) != (workload.domain.names, workload.domain.sizes):
        raise ValueError("the workload has another domain than the table: use the file that stratagem wrote")
    workload = over(workload, attributes)
    table = KINDS[bundle["table"]["kind"]].of(bundle["table"], workload.domain.sizes)
    numerator, denominator = map(int, bundle["epsilon"])
    prior = prior_of(bundle["prior"], workload.domain_size)
    if isinstance(table, PartsTable):
        _check_domain(table.strategy, workload.domain, even=prior is None)
    utility, memo = utility_of(bundle["utility"]), bundle.get("memo")
    memo = None if memo is None else Memo(cast("Any", table), memo["epsilon"]["any"], memo["low"])
    steps = tuple(bundle.get("steps", ()))
    found = Mechanism(table, Fraction(numerator, denominator), workload, name, utility, prior, memo, steps)
    if found.identifier != bundle["sha256"]:
        raise ValueError("the mechanism file is not written as stratagem writes it: use the file unchanged")
    return found
