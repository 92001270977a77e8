"""What commands ask: of which solver, held to which objective and constraints; or of a saved strategy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from stratagem.cli.command import chosen, options
from stratagem.cli.layout import Layout, derive, named_columns, policy_options, read_sources, read_values
from stratagem.cli.option import (
    AS_IS,
    DOMAIN,
    FileOptions,
    GoalOptions,
    QueryOptions,
    ReadingOptions,
    SearchOptions,
    ValueOptions,
)
from stratagem.io.literal import refuse_bare
from stratagem.io.numeral import parse_number

if TYPE_CHECKING:
    from stratagem.domain.columns import Data
    from stratagem.domain.policy import Policy
    from stratagem.solvers import Solver
    from stratagem.solvers.problem import Constraint, Problem
    from stratagem.workloads import Workload


@options
class AskedOptions:
    """What is asked of which solver, besides the workload and its epsilon."""

    domain: DOMAIN = None
    queries: QueryOptions
    goal: GoalOptions
    search: SearchOptions
    values: ValueOptions


@options
class SampleOptions(FileOptions):
    """A file of people's values, from which the domain may follow."""

    as_is: AS_IS = False


NO_FILE = SampleOptions(reading=ReadingOptions())


@dataclass(frozen=True, eq=False, kw_only=True)
class Request:
    """The options that say what is asked, read."""

    name: str
    """What the command line called the workload."""
    asked: AskedOptions
    workload: Workload
    budget: float | None
    """The epsilon given; None where steps decide it."""
    problem: Problem | None
    """The problem without a constraint; None where steps decide its epsilon."""
    solver: Solver
    goal: dict[str, Any]
    """The objective and the prior."""
    layout: Layout | None
    """The domain as edges, labels and columns describe it; None where it was named."""
    users: Data | None
    """The users of the file that was given."""
    source: tuple[str, ...] = ()
    """The options that read this file, its values stated, with any bundle of the same domain; none without a file."""

    @property
    def epsilon(self) -> float:
        """The epsilon, where the command needs one."""
        assert self.budget is not None, "the option is required"
        return self.budget

    @staticmethod
    def of(
        workload: str, epsilon: float | None, asked: AskedOptions, sample: SampleOptions = NO_FILE
    ) -> Request:
        """Return the request, refusing what is wrong with it before any work."""
        from stratagem.math.privacy import check
        from stratagem.solvers.problem import problem_of

        if epsilon is not None:
            check(epsilon)
        if (sample.data is None) != (not sample.column):
            raise ValueError(
                "--data and --column belong together, but only one was given: name a file and its column"
            )
        policy = sample.reading.policy(sample.data, as_is=sample.as_is)
        described = _described(workload, asked, sample, policy)
        found = read_described(workload, asked.domain, asked.queries, asked.values, described)
        solver, goal = asked.search.read(), asked.goal.read(found)
        problem = None if epsilon is None else problem_of(found, epsilon, **goal)
        users = _users(found, described, sample, policy)
        return Request(
            name=workload,
            asked=asked,
            workload=found,
            budget=epsilon,
            problem=problem,
            solver=solver,
            goal=goal,
            layout=described,
            users=users,
            source=_source(sample, policy, users),
        )


def read_described(
    workload: str,
    domain: str | None,
    queries: QueryOptions,
    values: ValueOptions,
    found: Layout | None = None,
) -> Workload:
    """Return the workload that the command line names, over what its values are; edges or labels may give its domain.

    `found` is a layout that a file of values gave.
    """
    from stratagem.workloads.given import leaves_domain, load
    from stratagem.workloads.serial import over

    if found is None and domain is None and leaves_domain(workload):
        found = derive(values)
    asked = load(workload, domain=found.domain if found else domain, **queries.read())
    if found is None:
        asked = over(asked, read_values(asked.domain, values).attributes)
    return queries.about_numbers(workload, asked)


def _described(workload: str, asked: AskedOptions, sample: SampleOptions, policy: Policy) -> Layout | None:
    """Return the domain that edges, labels and columns describe; None where it has a name."""
    from stratagem.workloads.given import check_order, leaves_domain

    if asked.domain is not None or not leaves_domain(workload):
        return None
    described = derive(asked.values, sample.data, sample.column, policy)
    if described is not None:
        check_order(workload, (one for one in described.domain.attributes if one.name in described.found))
    return described


def _users(asked: Workload, described: Layout | None, sample: SampleOptions, policy: Policy) -> Data | None:
    """Return the users of a file, where one was given."""
    from stratagem.domain.columns import read
    from stratagem.domain.policy import FAIL, OTHER

    if sample.data is None or sample.column is None:
        return None
    columns = named_columns(sample.column) if described else sample.column
    if described and len(described.found) == len(asked.domain.names) and policy.invalid == FAIL:
        policy = replace(policy, invalid=OTHER)  # which the values that were found have where a row needs it
    return read(sample.data, asked.domain, read_sources(asked.domain, columns), policy)


def _source(sample: SampleOptions, policy: Policy, users: Data | None) -> tuple[str, ...]:
    """Return the options that read a file again for a bundle, which states values and none of their spellings."""
    from stratagem.domain.policy import DROP, OTHER

    if users is None:
        return ()
    columns = sample.column or []
    named = columns if len(columns) == 1 else named_columns(columns)
    spelt = {text: label for one in users.domain.attributes for text, label in one.values.spellings}
    again = policy_options(replace(policy, mapping={**policy.mapping, **spelt}))
    invalid = OTHER if users.others else DROP if users.outside else ""
    return (
        *("--data", str(sample.data)),
        *(word for column in named for word in ("--column", column)),
        *(["--invalid", invalid] if invalid else []),
        *(["--clip"] if policy.clip else []),
        *again,
    )


@contextmanager
def requested(
    workload: str, epsilon: float | None, asked: AskedOptions, sample: SampleOptions = NO_FILE
) -> Iterator[Request]:
    """Yield the request of a command: as its searches, what comes after them takes one core on small domains."""
    from stratagem.math.computing import on_one_core

    request = Request.of(workload, epsilon, asked, sample)
    with on_one_core(request.workload.domain_size):
        yield request


SUFFIXES = (".json", ".npz", ".mat", ".parquet")
"""What the names of files end in that hold a strategy, never queries; .csv and .npy files hold queries."""
JUDGED = ("objective", "seconds")
"""The options that a saved strategy does not answer itself."""


def is_saved(workload: str, epsilon: float | None, asked: AskedOptions) -> bool:
    """Return whether a workload is the file of a strategy, which leaves nothing to be asked; else it needs a budget."""
    if workload.lower().endswith(SUFFIXES):
        given = [*chosen(asked), *(["epsilon"] if epsilon is not None else [])]
        for name in (name for name in given if name not in JUDGED):
            raise ValueError(
                f"--{name} was given with {workload}, which holds a mechanism that is already made: leave it out"
            )
        return True
    if epsilon is None:
        refuse_bare(workload, "a saved mechanism (.ldp.json or .npz), or queries with --epsilon,")
        raise no_budget(workload)
    return False


def no_budget(workload: str) -> ValueError:
    """Return what to say of a workload that nobody gave an epsilon."""
    return ValueError(f"{workload} was given without a privacy budget: add one, for example --epsilon 1")


SEVERAL = "several"


@options
class ConstraintOptions:
    """What a strategy must keep to; several caps are as many constraints."""

    guess_cap: Annotated[
        str | None,
        Option(
            help="Most often that the best guess of an answer from one report may be right, such as 0.05. To see what "
            f"caps cost: 0.2,0.1,0.05, or {SEVERAL}."
        ),
    ] = None
    shuffled_by: Annotated[
        int | None,
        Option(help="People whose reports a shuffler mixes: --epsilon is then that of all shuffled reports."),
    ] = None
    central_delta: Annotated[
        float | None,
        Option(
            "--delta",
            help="With --shuffled-by: extra probability that epsilon does not cover, 1e-6 by default.",
        ),
    ] = None
    local: Annotated[
        float | None, Option(help="With --shuffled-by: largest epsilon of one report, 10 by default.")
    ] = None
    permanent: Annotated[
        float | None,
        Option(
            "--memo",
            help="Epsilon of any number of reports of one person about one value, above that of one report: the device "
            "keeps its first draw.",
        ),
    ] = None
    averaged: Annotated[
        int | None,
        Option("--reports", help="With --memo: reports per person that are averaged, 1 by default."),
    ] = None
    step: Annotated[
        str | None,
        Option(
            help="In place of --epsilon: privacy budget between a value and the next, 0.1, or one for each pair of "
            "neighbours, 0.1,0.1,0.5."
        ),
    ] = None

    @property
    def several(self) -> bool:
        """Whether caps are to be compared."""
        return self.guess_cap is not None and (self.guess_cap == SEVERAL or "," in self.guess_cap)

    @property
    def caps(self) -> list[float]:
        """The caps that are named."""
        named = self.guess_cap is not None and self.guess_cap != SEVERAL
        return _numbers("--guess-cap", self.guess_cap or "") if named else []

    def read(self) -> list[Constraint]:
        """Return the constraints that the options ask for."""
        from stratagem.solvers.problem import GuessCap, Permanent, Shuffled, Steps

        for name, given, owner, other in (
            ("--delta", self.central_delta, "--shuffled-by", self.shuffled_by),
            ("--local", self.local, "--shuffled-by", self.shuffled_by),
            ("--reports", self.averaged, "--memo", self.permanent),
        ):
            if given is not None and other is None:
                raise ValueError(f"{name} was given without {owner}, which it belongs to: add that")
        found: list[Constraint] = [GuessCap(cap) for cap in self.caps]
        if self.shuffled_by is not None:
            options = {"delta": self.central_delta, "local": self.local}
            given = {name: x for name, x in options.items() if x is not None}
            found.append(Shuffled(self.shuffled_by, **given))
        if self.permanent is not None:
            found.append(Permanent(self.permanent, 1 if self.averaged is None else self.averaged))
        if self.step is not None:
            steps = _numbers("--step", self.step)
            found.append(Steps(steps[0] if len(steps) == 1 else steps))
        return found


def check_line(workload: Workload) -> None:
    """Refuse steps between values of which one has no place on a line."""
    for one in workload.domain.attributes:
        if one.size - 1 in one.values.outside:
            raise ValueError(
                f"the value {one.value(one.size - 1)} has no place on a line, whose values are private by distance: "
                "leave it out"
            )


def _numbers(option: str, text: str) -> list[float]:
    """Return the numbers between commas."""
    try:
        return [parse_number(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(
            f"{option} is {text!r}: give one number such as 0.1, or several, 0.1,0.1,0.5"
        ) from None


AXES = ("epsilon", "domain")
OVER = Annotated[
    str | None,
    Option(help="epsilon=0.5,1,2 or domain=16,32,64: once for each, in place of the one given."),
]


def read_over(
    over: str, workload: Workload, epsilon: float, name: str, queries: QueryOptions
) -> tuple[Workload | list[Workload], float | list[float]]:
    """Return the workload and budget of a command, one of them replaced by the several that --over names.

    `name` and `queries` are what the workload was read from, so that other domains get the same queries.
    """
    from stratagem.workloads.given import load

    axis, _, places = over.partition("=")
    if axis not in AXES or not places or "=" in places:
        raise ValueError(
            f"--over {over} was given, but it is epsilon=0.5,1,2 or domain=16,32,64 (or 2^4,2^5,2^6, no names): "
            "write one of these"
        )
    if axis == "epsilon":
        return workload, [_number(text) for text in places.split(",")]
    return [load(name, domain=text, **queries.read()) for text in places.split(",")], epsilon


def read_budgets(over: str) -> list[float]:
    """Return the budgets that --over names, for a command that goes along budgets alone."""
    axis, _, places = over.partition("=")
    if axis != "epsilon" or not places:
        raise ValueError(
            f"--over {over} was given, but a summary goes along budgets: write --over epsilon=0.5,1,2"
        )
    return [_number(text) for text in places.split(",")]


def first_budget(epsilon: float | None, over: str | None) -> float | None:
    """Return the budget that was given, or the first of those that --over names."""
    along = epsilon is None and over is not None and over.startswith("epsilon=")
    return read_budgets(over)[0] if along and over is not None else epsilon


def first_domain(domain: str | None, over: str | None) -> str | None:
    """Return the domain that was given, or the first of those that --over names, each of which takes its place."""
    if domain is None and over is not None and over.startswith("domain="):
        return over.removeprefix("domain=").split(",")[0]
    return domain


def _number(text: str) -> float:
    try:
        return parse_number(text)
    except ValueError:
        raise ValueError(f"--over names the epsilon {text!r}, which is no number: write 0.5") from None
