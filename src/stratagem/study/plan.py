"""Plans: from a column of data to bins, a mechanism, the errors to expect and what epsilon means for one person."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Unpack, final

import numpy as np

from stratagem.domain.attribute import Attribute
from stratagem.domain.bins import Bins, such_as
from stratagem.domain.columns import ColumnTexts, column_texts
from stratagem.domain.domain import ALONE
from stratagem.domain.policy import Policy, Reading, said
from stratagem.domain.proposal import Proposal, cautions, completed, found_values, refusing, sentences, stated
from stratagem.domain.rounding import placeholders
from stratagem.domain.values import Labels
from stratagem.estimators import Errors, comparable, errors
from stratagem.io.screen import brief
from stratagem.io.table import Table
from stratagem.math.deadline import granted, within
from stratagem.math.number import above_minimum, integer, real, users_text
from stratagem.math.privacy import check, little, posterior, told
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.usable import Usability, usability
from stratagem.solvers import Auto, Callback, Status
from stratagem.study.attacks import Attack, attack, percent
from stratagem.study.needed import least_budget
from stratagem.study.optimisation import optimise
from stratagem.study.ranking import Contender
from stratagem.study.solution import Solution
from stratagem.study.summary import least_error, openly_asked, summary, text
from stratagem.study.two_rounds import advice
from stratagem.workloads import Workload
from stratagem.workloads.given import check_order, load, takes_numbers
from stratagem.workloads.question import SURVEY

EPSILON = 1.0
"""The budget of a plan that neither states one nor an error to reach."""
CLOSE = 0.01
"""Gap at which the search for a strategy ends."""
SECONDS = 10.0
"""Seconds after which it ends, where none are given."""
SEARCHED = 0.7
"""Share of the time for the smallest epsilon; the rest is for the bound there."""
MOST = 1 << 53
"""Most people of a plan."""
ADDS_UP = "The epsilons of several surveys of the same people add up: plan all their questions together."
"""What is to be known of several questions, one planned after the other."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedMechanism(ABC):
    """A mechanism for the questions of a survey, with what to expect of its answers in sentences."""

    name: str = SURVEY
    """Name of the workload."""
    solution: Solution
    """The strategy for all questions together, with its accuracy and its bounds."""
    users: int
    """People who will take part."""
    error: float | None = None
    """The standard error asked for, as a share of the users; None where none was."""
    complete: bool = True
    """Whether epsilon is the smallest, up to 1 %, that reaches the error; False where time ran out before."""

    @property
    def epsilon(self) -> float:
        """The privacy budget of one person, for the whole survey."""
        return self.solution.epsilon

    @property
    @abstractmethod
    def users_needed(self) -> int | None:
        """The people needed for the error asked for; None without one."""

    @property
    def believed(self) -> float:
        """The most that a fact of probability 1/2 before the report can have after it."""
        return posterior(0.5, self.epsilon)

    @abstractmethod
    def answer(self) -> list[str | Table]:
        """Return what errors to expect and what other ways cost; where they are too large, what helps comes first."""

    @abstractmethod
    def meaning(self) -> tuple[str, ...]:
        """Return what the budget means for one person, in sentences."""

    @abstractmethod
    def values(self) -> tuple[str, ...]:
        """Return which values people choose from, and which rows of the data are in none of the others."""

    @abstractmethod
    def notes(self) -> tuple[str, ...]:
        """Return what is to be done about values, and what did not fit into the time, each in a sentence."""

    def proofs(self) -> tuple[str, ...]:
        """Return what other ways cost, where the answer does not say so, in sentences."""
        return ()

    def parts(self, notes: Iterable[str]) -> list[str | Table]:
        """Return the whole plan in sentences and tables; `notes` stand below the values, before what is proven."""
        found = self.meaning(), (*self.values(), *notes), self.proofs()
        return [*self.answer(), *map("\n".join, filter(None, found))]

    def first(self) -> list[str]:
        """Return whether the people are enough for the error asked for, and what is to be known of epsilon."""
        said, needed = self.about_epsilon(), self.users_needed
        if self.error is None or needed is None:
            return said
        asked = f"Answers that are typically off by {percent(self.error)} take {users_text(needed)} people"
        enough = "are enough" if needed <= self.users else "are not enough"
        return [f"{asked} at epsilon {self.epsilon:g}; {users_text(self.users)} {enough}.", *said]

    def about_epsilon(self) -> list[str]:
        """Return what is to be known before epsilon is used: that a smaller one may do, and that it protects little."""
        late = "Time ran out before the smallest epsilon was found; ask with more seconds."
        apart = above_minimum(self.solution.variance_gap)
        stop = f"The search ended before what it aims at: the variance is {apart}. More seconds may help."
        stopped = self.solution.status is Status.GAP_MISSED
        return [late] * (not self.complete) + [stop] * stopped + little(self.epsilon)

    def __str__(self) -> str:
        """Return the whole plan in sentences."""
        return text(self.parts(self.notes()))

    def mechanism(self) -> Mechanism:
        """Return the mechanism in whole numbers, with its values; refused unless epsilon holds exactly.

        Raises:
            ValueError: if the strategy does not fit into whole numbers.
        """
        return self.solution.mechanism(name=self.name)

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the mechanism as a bundle, *.ldp.json, and return its path.

        Raises:
            ValueError: for another suffix, a file that exists, unless `overwrite`, or as `mechanism`.
        """
        return self.mechanism().save(path, overwrite=overwrite)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(PlannedMechanism):
    """A mechanism for one column: the values to ask for, the strategy, and the errors to expect of its estimates."""

    __repr__ = brief

    column: str
    """Name of the column."""
    proposal: Proposal
    """The bins or labels, after them "other" and "no answer" where the data or the caller have them."""
    x: np.ndarray
    """Rows of each value (n,), integers."""
    others: dict[str, int]
    """Rows in none of the values, by reason: they count as other, or as none where there is no such value."""
    unit: str | None
    placeholders: dict[str, int]
    """Rows of each text that looks like a placeholder for no answer, such as 999 among ages."""
    remarks: tuple[str, ...]
    """Sentences on how texts were read that could be meant otherwise."""
    policy: Policy
    """How the texts of the column are read."""

    @property
    def spellings(self) -> dict[str, str]:
        """Other spellings of labels, each with the label that it counts as."""
        return dict(self.proposal.values.spellings)

    @property
    def best_published(self) -> Contender:
        """The published mechanism with the least objective on this workload and budget."""
        return self.solution.baselines[0]

    @property
    def errors(self) -> Errors:
        """The standard errors of the plan's mechanism, as shares of its users."""
        return self._errors(self.solution)

    @property
    def published_errors(self) -> Errors:
        """The standard errors of the best published mechanism."""
        return self._errors(self.best_published)

    def _errors(self, found: Solution | Contender) -> Errors:
        return errors(found.mean_variance, found.largest_comparable, self.users)

    @property
    def least_error(self) -> float:
        """A lower bound on the root mean square of unbiased estimates from one epsilon-LDP report per user."""
        return least_error(self.solution.problem, self.solution.bounds, self.users)

    @cached_property
    def usability(self) -> Usability:
        """Whether the answers of so many people can be used, and what would make them so."""
        one, other = self.solution, len(self.proposal.values.outside)
        single = partial(one.estimator.largest, comparable(one.workload))
        return usability(one.workload, one.epsilon, self.users, one.mean_variance, other=other, single=single)

    @property
    def users_needed(self) -> int | None:
        """The people needed for the error asked for, root mean square over the queries; None without one."""
        return None if self.error is None else self.solution.users_for(self.error).root_mean_square

    @cached_property
    def attack(self) -> Attack:
        """What the best attacks on one report reach."""
        return attack(self.solution.strategy)

    @property
    def best_guess(self) -> float:
        """Probability that the best guess from one report is the person's value, all values equally likely before."""
        return self.attack.guess

    def answer(self) -> list[str | Table]:
        one = self.solution
        known, cut = one.baselines, bool(one.baselines.late_sentence)
        said = summary(one.problem, one.bounds, one, known.named, users=self.users, cut=cut)
        if self.proposal.values.no_answer and self.x[-1]:
            said.append("Shares are those of all people; shares of those who answered are less exact.")
        ways, off = self.usability.ways, self.errors.root_mean_square
        bins = self.proposal.coarser(ways.values) if ways else ""
        coarser = such_as({"": bins} if bins else {})
        said += [openly_asked(off)] * (self.usability.counts and off > 0)
        verdict, first = f"{self.usability}{coarser}", "\n".join(self.first())
        return [verdict, first, *said] if ways else [first, *said, verdict]

    def meaning(self) -> tuple[str, ...]:
        believed = f"Epsilon {self.epsilon:g} means: {told(self.epsilon)}"
        return believed, self.attack.guesses, ADDS_UP

    def values(self) -> tuple[str, ...]:
        found = sentences(self.column, self.proposal, self.x, self.others)
        return (*found, *refusing({self.column: self.proposal}))

    def notes(self) -> tuple[str, ...]:
        read = *cautions(self.column, self.proposal, self.placeholders), said(self.spellings), *self.remarks
        rounds = advice(self.solution, self.users, [self.x])
        return tuple(filter(None, (*read, rounds, self.solution.baselines.late_sentence)))


@dataclass(frozen=True, kw_only=True)
class Aim:
    """What a plan is to reach: at most two of epsilon, users and error, and the time for it."""

    epsilon: float | None = None
    users: int | None = None
    error: float | None = None
    on_step: Callback | None = None
    on_left_out: Callable[[Sequence[str]], object] | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if None not in (self.epsilon, self.users, self.error):
            raise ValueError(
                "epsilon, users and error were all given, but each follows from the other two: leave one out"
            )

    def people(self, rows: int) -> int:
        """Return the people who take part, as many as the rows of the data where none were given."""
        advice = "give the people who will take part, for example 5000"
        return integer(rows if self.users is None else self.users, "users", 1, MOST, advice)

    @property
    def fixed(self) -> float | None:
        """The epsilon of the plan; None where the smallest that reaches the error is sought."""
        sought = self.error is not None and self.epsilon is None
        return None if sought else check(EPSILON if self.epsilon is None else self.epsilon)

    @property
    def share(self) -> float | None:
        """The error as a share of the users, None where none was asked for."""
        if self.error is None:
            return None
        if not 0 < (share := real(self.error)) < 1:
            raise ValueError(
                f"error is {self.error!r}: give a standard error as a share of the people, for example 0.01 for 1 %"
            )
        return share


def plan_question(
    data: str | Path | Iterable[object],
    column: str | None,
    aim: Aim,
    *,
    workload: str | None = None,
    values: Attribute | None = None,
    only: bool = False,
    unit: str | None = None,
    **reading: Unpack[Reading],
) -> Plan:
    """Plan a survey of one question, as `plan` says."""
    texts = column_texts(data, column, reading, values)
    named, column, counts = column or "", column or ALONE, texts.counts
    proposal = proposed(texts, column, values, only=only)
    x, others = proposal.count(counts)
    people = aim.people(int(x.sum()))
    unit = unit or (None if values is None else values.unit)
    if unit and not proposal.ordered:
        raise ValueError(f"the unit {unit!r} was given, but {column!r} has labels: leave it out")
    name = workload or ("prefix" if proposal.ordered else "histogram")
    attribute = described(column, proposal.values, "" if values is None else values.question, unit or "")
    asked = _queries(name, attribute, found=values is None)
    wanted = aim.share
    solution, complete = _solved(asked, aim, people, wanted)
    return Plan(
        column=column,
        proposal=proposal,
        x=x,
        others=others,
        name=name,
        solution=solution,
        users=people,
        error=wanted,
        unit=unit,
        placeholders=placeholders(counts) if proposal.ordered else {},
        remarks=proposal.remarks(counts, named),
        policy=texts.policy,
        complete=complete,
    )


def proposed(texts: ColumnTexts, column: str, values: Attribute | None, *, only: bool) -> Proposal:
    """Return the values that were stated, with those that rows need unless they are the only ones, or found ones."""
    if values is not None:
        return stated(values.values) if only else completed(stated(values.values), texts.counts)
    if only:
        raise ValueError("only was given, but says that stated values are all there are: give values")
    return found_values(texts.counts, column, texts.policy, texts.order)


def described(column: str, values: Bins | Labels, question: str, unit: str) -> Attribute:
    """Return the attribute of a column, whose name is replaced where it can be none."""
    try:
        return Attribute(column, values, question, unit)
    except ValueError:
        return Attribute(ALONE, values, question, unit)


def _queries(name: str, attribute: Attribute, *, found: bool) -> Workload:
    """Return the queries of a name in the catalogue about an attribute whose values were stated, or `found`."""
    if takes_numbers(name):
        raise ValueError(
            f"{name} asks about numbers, but a plan is about shares of people: plan prefix, histogram or all-range"
        )
    if found:
        check_order(name, (attribute,))
    return load(name, domain=attribute)


def _solved(asked: Workload, aim: Aim, people: int, error: float | None) -> tuple[Solution, bool]:
    """Return the strategy for epsilon, or for the smallest that reaches an error, and whether it is the smallest."""
    solver = Auto(gap=CLOSE, max_seconds=granted(aim.seconds, SECONDS))

    def solve(epsilon: float) -> Solution:
        return optimise(asked, epsilon, solver, aim.on_step)

    with within(granted(aim.seconds)) as time:
        if (epsilon := aim.fixed) is not None:
            return solve(epsilon), True
        assert error is not None, "an epsilon is sought for it"

        def needed(solution: Solution) -> int:
            return solution.users_for(error).root_mean_square

        with within(time.until(SEARCHED)):
            solution, complete = least_budget(asked, people, error, solve, needed)
        if solution.gap > CLOSE and (again := solve(solution.epsilon)).gap < solution.gap:
            solution = again if needed(again) <= people else solution
        return solution, complete
