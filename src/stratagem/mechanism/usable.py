"""Whether answers are exact enough to use, and what would make them so: more people, more epsilon or fewer values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from stratagem.estimation.answer import standard_errors_each_side
from stratagem.estimation.estimate import Estimate
from stratagem.estimation.impossibility import extremes
from stratagem.estimators import Estimator, comparable, errors, mean_variance, users_needed
from stratagem.math.deadline import within
from stratagem.math.number import last_holding, spread, upwards, users_text
from stratagem.solvers.problem import problem_of
from stratagem.workloads import Workload
from stratagem.workloads.centring import estimated
from stratagem.workloads.explicit import counts_users
from stratagem.workloads.marginals import Marginals
from stratagem.workloads.merged import coarser
from stratagem.workloads.naming import Naming
from stratagem.workloads.query import Query
from stratagem.workloads.selection import SomeQueries

CONFIDENCE = 0.95
"""Confidence of the typical interval, whatever that of the intervals shown."""
LOOKED_AT = 512
"""Answers that are looked at; of more, evenly spread ones."""
MOST = 10.0
"""Largest epsilon that is named; above it little is protected."""
GROUPS = 10
"""Groups of people that prefixes and ranges of more values are to tell apart: tenths, to find the median's place."""
FEW = 25
"""People below whom only more people are named: answers so near the truth would be about these few persons."""
LARGE, CELLS, ATTRIBUTES = (128, 64, 16, 4), 4096, 32
"""Values of an attribute that are tried, and most cells and attributes for which lower bounds take some hundredths of
a second."""
TOLD, HALF = 100, 0.5
"""Reports below which, and error above which, answers that cannot be used are not told to people at all."""
LEAST = "Usable does not mean exact: an answer below the half-width of its interval may be chance."
"""What the verdict does not say."""
MEANS = (
    "Usable means that the standard error is at most the limit that stands beside it: large differences show, small "
    "ones do not."
)
"""What the verdict says, where it is a word beside a number."""
TOTALS = (
    "each person is asked a part of the questions, drawn at random, and the numbers below count all people, so do not "
    "add them up."
)
"""What is said of the numbers of people of several questions."""
WAYS_OUT = "people", "epsilon", "values"
"""Headings of what is about enough."""
ERRORS = (
    "Errors are standard errors, as shares of all people, or of a mean in its unit. Answers that are known exactly, "
    "such as the number of all people, do not count."
)
"""What the errors of several questions are."""
OUT = (
    "Where it is no, each is about enough by itself: so many people in all, such an epsilon, or at most so many "
    "coarser values. A 95 % interval reaches twice the error to either side."
)
"""What is said of the ways out of several questions."""
WRITTEN = 1 << 20
"""User types up to which what each adds to a variance is written out."""
FARTHER = 1.03
"""Factor of the error at a larger epsilon, where mechanisms are farther above the quick bounds: of prefixes over 33
values the variance is 4 % above them at epsilon 1, and 35 % at 2.4."""
FAR = 2.0
"""Ratio of the largest error to the typical one above which the answer is named that has it."""
CLOSE = 1.05
"""Ratio of an epsilon that is enough to one that is not at which the search ends."""


@dataclass(frozen=True, kw_only=True)
class Ways:
    """What would be enough, each by itself and rounded to the safe side; None where nothing of the kind is known."""

    people: int | None
    epsilon: float | None
    values: int | None
    """Values of the one attribute, without "other"; of a table of several nothing is known to be enough for each."""

    def __str__(self) -> str:
        """Return the ways in words."""
        known = {
            f"ask {users_text(self.people)} people in all": self.people,
            f"epsilon {self.epsilon} with as many people": self.epsilon,
            f"at most {self.values} coarser values": self.values,
        }
        return ", or ".join(words for words, value in known.items() if value is not None)


@dataclass(frozen=True)
class Usability:
    """Whether the answers of so many people can be used, why not, and the ways out."""

    people: int
    usable: bool
    error: float
    """Root mean square of the standard errors, as a share of what the answers could be; of the people for counts."""
    reason: str
    """How far answers are typically off, in words."""
    limit: str = ""
    """The largest error with which answers are usable, and why, in words."""
    needed: int | None = None
    """People with whom they can be used."""
    ways: Ways | None = None
    counts: bool = True
    """Whether the answers are numbers of people."""
    widest: str = ""
    """How wide the widest interval is, and of which answer, in words; empty where others are not much narrower."""

    @property
    def off(self) -> str:
        """How far answers are typically off, in words."""
        return _off(self.error, self.counts)

    def __str__(self) -> str:
        """Return the verdict in one or two sentences."""
        people = "1 person" if self.people == 1 else f"{users_text(self.people)} people"
        limit = f"usable is {self.limit}" if self.limit else ""
        why = "; ".join(filter(None, (self.reason, self.widest, limit)))
        if self.usable:
            return f"Usable with {people}: {why}. {LEAST}"
        out = f" About enough: {self.ways}." if self.ways is not None and str(self.ways) else ""
        return f"Not usable with {people}: {why}.{out}"

    @property
    def too_few(self) -> str:
        """What stands in place of answers that say nothing: very few reports, or an error above half; else empty."""
        if self.usable or self.ways is None or (self.people >= TOLD and self.error <= HALF):
            return ""
        about = "" if self.ways.people is None else f" of about {users_text(self.ways.people)}"
        return f"Too few reports yet to say anything: {users_text(self.people)}{about}."

    def data(self) -> dict[str, Any]:
        """Return the verdict as JSON values: `usable`, and `ways`, which is None where it is."""
        return {"usable": self.usable, "ways": None if self.ways is None else asdict(self.ways)}


def verdicts_data(found: Sequence[Usability]) -> dict[str, Any]:
    """Return the verdict on all questions as JSON values: usable if each of them is, else what is enough for each."""
    useless = [one.data()["ways"] for one in found if not one.usable]
    if not useless or None in useless:
        return {"usable": not useless, "ways": None}
    each = {name: [ways[name] for ways in useless] for name in useless[0]}
    most = {"people": max, "epsilon": max, "values": min}
    return {
        "usable": False,
        "ways": {name: None if None in every else most[name](every) for name, every in each.items()},
    }


def largest_error(mean: float | None) -> float:
    """Return the largest standard error with which answers are usable, as a share of what they could be.

    What an answer could be without asking anybody has the length R = N (max w - min w) for the query w, N for a count
    of N people. Answers are usable where the root mean square s of their standard errors and that of R have
    2 c s <= R, c = 1.96, so that a typical 95 % interval is no wider than R; and, where they count people, s is at
    most half of the mean answer. `mean` is that of the answers if all values are equally frequent, as a share of N,
    which is 1/n for the n cells of a table whatever their frequencies; of prefixes and ranges of n values it is the
    group that they are to tell apart, max(1/n, 1/10). It is None for queries that do not count people.

    >>> round(largest_error(None), 3), largest_error(1 / 64)
    (0.255, 0.0078125)
    """
    widest = 1 / (2 * standard_errors_each_side(CONFIDENCE))
    return widest if mean is None else min(widest, mean / 2)


def usability(
    workload: Workload,
    epsilon: float | None,
    users: int,
    variance: float,
    *,
    other: int = 0,
    expected: Callable[[], float] | None = None,
    single: Callable[[], np.ndarray] | None = None,
) -> Usability:
    """Return whether answers are usable to which each of N users adds so much variance, in the mean over the queries.

    The rule is that of `largest_error`. The people follow from the variance. How it changes with epsilon and with the
    number of values follows the lower bounds on the variance of every unbiased mechanism, which the best mechanisms
    come near; so these ways are about right. `other` is how many last values of an attribute are none of its own;
    without an epsilon only people are named. `expected` returns the variance before any report came, from which the
    ways follow if it is too large by itself: that of few reports is noisy. `single` returns the variance that a user
    adds to each of the `comparable` answers: one that is far less accurate than most is named.
    """
    asked = _some(comparable(workload))
    allowed, size = _limit(asked), _size(asked)
    share = errors(variance, None, users).root_mean_square / size
    usable, counts = share <= allowed, counts_users(asked)
    reason, limit = _reason(share, counts), _stated(asked, allowed) if share else ""
    widest = "" if single is None or not counts else _widest(asked, single, users, share)
    found = Usability(users, usable, share, reason, limit, counts=counts, widest=widest)
    before = variance if usable or expected is None else expected()
    if (planned := errors(before, None, users).root_mean_square / size) > allowed:
        variance, share = before, planned
    people = upwards(users_needed(variance / size**2 / allowed**2, 1.0))
    if usable:
        return replace(found, needed=people)
    ways = Ways(people=people, epsilon=None, values=None)
    if epsilon is not None and users >= FEW:
        budget, values = _others(comparable(workload), epsilon, share, other)
        values = values if len(workload.domain.sizes) == 1 else None
        ways = replace(ways, epsilon=budget, values=values)
    return replace(found, needed=people, ways=ways)


def estimate_usability(
    found: Estimate, epsilon: float | None, asked: Workload | None = None, users: int | None = None
) -> Usability:
    """Return whether the answers of an estimate are usable, by the standard errors of the unbiased ones.

    `epsilon` is that of a report; None for people who sent several, of whom only the number is stated. `asked` are
    the same queries over a domain of their own, where they are some of a larger workload. `users` is the number of
    people who will have reported in the end, by default those who did. The ways out, and what to expect in the end, are
    those that a plan names. What no report is about is not usable.
    """
    if not found.reports:
        return Usability(people=found.users, usable=False, error=math.inf, reason="no report is about it yet")
    chosen, shown = comparable(found.workload), found.raw()
    shown = shown if chosen is found.workload else shown.ask(chosen)
    shown = shown.some(spread(chosen.queries, LOOKED_AT)) if chosen.queries > LOOKED_AT else shown
    own = [one for one in found.naming.attributes if asked is None or one.name in asked.domain.names]
    gaps = max(len(one.values.outside) for one in own or found.naming.attributes)
    each = np.square(shown.standard_errors) / found.users
    seen = float(each.sum()) / estimated(shown.workload)

    def expected() -> float:
        with suppress(ValueError):  # the exact variance of some queries alone need not be known
            return seen if found.through is None else _expected(chosen, found.through)
        return seen

    people, variance = (users, expected()) if users else (found.users, seen)
    about = {"other": gaps, "expected": expected, "single": lambda: each * variance / (seen or 1.0)}
    return usability(asked or chosen, epsilon, people, variance, **about)


def reported(found: Estimate, what: str = "this question") -> str:
    """Return how many reports there are, or how many of them are about the queries of an estimate, in words."""
    about, users = found.reports, f"{found.users:,} reports"
    if about == found.users:
        return users
    return f"{about:,} of {users} {'is' if about == 1 else 'are'} about {what}"


def _some(workload: Workload) -> Workload:
    """Return some queries, evenly spread, where there are many."""
    many = workload.queries
    return workload if many <= LOOKED_AT else SomeQueries(workload, np.array(spread(many, LOOKED_AT)))


def _expected(workload: Workload, through: Estimator) -> float:
    """Return what a person adds to the variance of an answer at most; of some of very many values typically."""
    match workload:
        case SomeQueries() if workload.domain_size > WRITTEN:
            some = _some(workload)
            return float(through.variances(some).sum()) / estimated(some)
    return mean_variance(workload, through, through.accuracy(workload))


def _size(workload: Workload) -> float:
    """Return the root mean square of max w - min w over the `estimated` queries w."""
    if counts_users(workload):
        return 1.0
    least, most = extremes(workload)
    return math.sqrt(float(np.square(most - least).sum()) / estimated(workload))


def _limit(workload: Workload) -> float:
    """Return the largest usable standard error for these queries."""
    return largest_error(_mean(workload) if counts_users(workload) else None)


def _mean(workload: Workload) -> float:
    """Return the `mean` of `largest_error` for counts of people."""
    if not workload.tells_entries:
        return float(np.mean(workload.answer(np.full(workload.domain_size, 1 / workload.domain_size))))
    return float(np.mean([_told_apart(query, workload.domain.sizes) for query in _queries(workload)]))


def _told_apart(query: Query, sizes: Sequence[int]) -> float:
    """Return the mean of a query as a share of the people, in which a range of values is one group."""
    ranges = [part for part in query.parts if part.several]
    others = tuple(part for part in query.parts if part not in ranges)
    groups = (min(sizes[part.touched[0]], GROUPS) for part in ranges)
    return replace(query, parts=others).mean(sizes) / math.prod(groups)


def _queries(workload: Workload) -> Iterator[Query]:
    return map(workload.describe, range(workload.queries))


def _off(share: float, counts: bool) -> str:
    """Return how large an error is, and of what, in words."""
    whole = "all people" if counts else "what they could be"
    return f"more than half of {whole}" if share > HALF else f"{100 * share:.3g} % of {whole}"


def _reason(share: float, counts: bool) -> str:
    """Return how far answers are typically off, and how wide their intervals are, in words."""
    if share == 0:
        return "the answers are exact, because the number of reports gives them"
    off = f"answers are typically off by {_off(share, counts)}"
    wide = 100 * standard_errors_each_side(CONFIDENCE) * share
    return off if share > HALF else f"{off} ({100 * CONFIDENCE:g} % intervals about ± {wide:.3g} %)"


def _widest(workload: Workload, single: Callable[[], np.ndarray], users: int, share: float) -> str:
    """Return how wide the interval of the least accurate answer is, in words, where it is far wider than most."""
    if not (1 < workload.queries < LOOKED_AT and 0 < share <= HALF):
        return ""
    worst = int(np.argmax(each := single()))
    if (error := math.sqrt(each[worst] / users)) <= FAR * share:
        return ""
    wide = 100 * standard_errors_each_side(CONFIDENCE) * error
    return f"the widest interval, ± {wide:.3g} %, is that of {Naming.of(workload).label(worst)}"


def _stated(workload: Workload, allowed: float) -> str:
    """Return the largest usable error, and what it follows from, in words."""
    most, mean = f"up to {100 * allowed:.3g} %", _mean(workload) if counts_users(workload) else None
    if mean is None or allowed < mean / 2:
        return f"{most}, a quarter of all that answers could be"
    if any(part.several for query in _queries(workload) for part in query.parts):
        return f"{most}, half of the groups of {100 * mean:.3g} % that are to be told apart"
    return f"{most}, half of the mean answer of {100 * mean:.3g} %"


def _others(workload: Workload, epsilon: float, share: float, other: int) -> tuple[float | None, int | None]:
    """Return the epsilon and the number of values that are about enough, from the variance of the same family."""
    family = _family(workload)
    if family is None or not (now := _least(family, epsilon)) > 0:
        return None, None
    allowed = _limit(_some(workload))

    def affordable(budget: float) -> bool:
        return FARTHER * share * math.sqrt(_least(family, budget) / now) <= allowed

    def coarse(values: int) -> bool:
        asked = coarser(workload, values)
        return asked is not None and share * math.sqrt(_least(asked, epsilon) / now) <= _limit(_some(asked))

    fewest, most = 2 + other, min(max(workload.domain.sizes) - 1, max(family.domain.sizes))
    values = last_holding(coarse, fewest, most)
    return _budget(affordable, epsilon), None if values is None else values - other


def _family(workload: Workload) -> Workload | None:
    """Return the same queries over a domain whose lower bounds are quick; None where there is none."""
    if len(workload.domain.sizes) > ATTRIBUTES:
        return None
    for values in LARGE:
        found = coarser(workload, values) or workload
        if isinstance(found, Marginals) or found.domain_size <= CELLS:
            return found
    return None


def _least(workload: Workload, epsilon: float) -> float:
    """Return what one user adds to the variance of an answer at least, whatever the unbiased mechanism.

    These are the bounds that take no search: with it the ways would depend on the time that the caller has left.
    """
    problem = problem_of(workload, epsilon)
    with within(0.0):
        return problem.least(problem.bounds) / estimated(workload)


def _budget(affordable: Callable[[float], bool], epsilon: float) -> float | None:
    """Return about the smallest epsilon up to `MOST` that is enough, with two digits, rounded up."""
    if epsilon >= MOST or not affordable(MOST):
        return None
    low, high = epsilon, MOST
    while high > CLOSE * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if affordable(middle) else (middle, high)
    digits = 10.0 ** (1 - math.floor(math.log10(high)))
    return math.ceil(high * digits * (1 - 1e-9)) / digits
