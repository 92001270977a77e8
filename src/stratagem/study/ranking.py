"""Rankings of the published baselines on a workload, each baseline tuned to its lowest objective."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from stratagem.bounds.formulas import FAILURES
from stratagem.estimators import Accuracy, Estimator, UnsupportedWorkloadError, estimator, evaluate
from stratagem.math.computing import on_one_core
from stratagem.math.deadline import deadline, within
from stratagem.published import BASELINES, MEANS, Baseline, Setting
from stratagem.published.marginal import MARGINAL_SELECTION
from stratagem.solvers.junta.junta_pattern import published_juntas, sampled_tables
from stratagem.solvers.junta.signature_choice import searchable
from stratagem.solvers.parts import asks_in_parts
from stratagem.solvers.problem import Average, Problem
from stratagem.strategies import (
    JuntaStrategy,
    LinearProtocol,
    Runnable,
    SplitStrategy,
    SurveyPart,
    SurveyStrategy,
    TableSampling,
)
from stratagem.study.summary import Found
from stratagem.workloads.centring import levelled
from stratagem.workloads.table import by_attributes, means

OPTIMISED = "optimised"
"""Name of the strategy found by the search in a list of mechanisms; no baseline may have it."""

SHARE = 0.25
"""Share of the time that published mechanisms may take."""
RANKED = 512
"""Largest number of user types for which a symmetric strategy is compared with every published mechanism
(half a minute)."""
WHOLE = 128
"""Largest number of user types for which mechanisms for all attributes together are set beside a survey."""
KEPT = 1 << 10
"""Largest number of user types for which a contender keeps its estimator, with an inverse of that size squared."""


@dataclass(frozen=True, eq=False)
class Contender(Found):
    """A published mechanism, tuned for a workload and epsilon."""

    mechanism: str
    parameters: str
    """The tuned parameters in words, empty where there are none."""
    strategy: Runnable | SplitStrategy | TableSampling
    objective: float
    problem: Problem
    """The problem for which it is tuned; its prior is that of the reconstruction."""
    complete: bool = True
    """Whether all its parameters were tried; False where time ran out."""
    known: Accuracy | None = field(default=None, repr=False)
    """The accuracy, where the objective was computed from it."""
    valued: Estimator | None = field(default=None, repr=False)
    """The estimator that the objective was computed with, where it is kept."""

    @cached_property
    def estimator(self) -> Estimator:
        """The estimator of the strategy for the prior of the problem."""
        return self.valued or estimator(self.strategy, self.problem.prior)

    @cached_property
    def accuracy(self) -> Accuracy:
        """Exact variances of the strategy on the workload."""
        return self.known or self.estimator.accuracy(self.problem.workload)

    def __str__(self) -> str:
        """Name the mechanism with its parameters."""
        return f"{self.mechanism} ({self.parameters})" if self.parameters else self.mechanism


def late_sentence(late: Iterable[str], partial: Iterable[str] = ()) -> str:
    """Return the sentence that names mechanisms for which time ran out; empty where there are none.

    >>> late_sentence(["fourier", "rappor"])
    'Not evaluated within the time: fourier, rappor; ask with more seconds.'
    >>> late_sentence([], ["haar"])
    'Not tuned to the end within the time: haar; ask with more seconds.'
    """
    kinds = {"evaluated": ", ".join(late), "tuned to the end": ", ".join(partial)}
    said = [f"not {what} within the time: {names}" for what, names in kinds.items() if names]
    return f"N{'; '.join(said)[1:]}; ask with more seconds." if said else ""


class Ranking(tuple[Contender, ...]):
    """Published mechanisms, each tuned, least objective first."""

    failed: tuple[str, ...]
    """Names of the mechanisms that are left out because double precision does not hold their numbers."""
    late: tuple[str, ...]
    """Names of the mechanisms that are left out because time ran out."""

    def __new__(
        cls, contenders: Iterable[Contender], failed: Iterable[str] = (), late: Iterable[str] = ()
    ) -> Ranking:
        """Return the contenders in the order of their objectives, those that are equal but for rounding as given."""
        ranking = super().__new__(cls, sorted(contenders, key=lambda one: ten_digits(one.objective)))
        ranking.failed, ranking.late = tuple(failed), tuple(late)
        return ranking

    @property
    def named(self) -> dict[str, Contender]:
        """The contenders by name."""
        return {one.mechanism: one for one in self}

    @property
    def late_sentence(self) -> str:
        """The sentence that names the mechanisms for which time ran out; empty where there are none."""
        return late_sentence(self.late, self.partial)

    @property
    def partial(self) -> tuple[str, ...]:
        """Names of the mechanisms of which time ran out before all parameters were tried."""
        return tuple(one.mechanism for one in self if not one.complete)


def rank_baselines(
    problem: Problem,
    baselines: Iterable[Baseline] = BASELINES,
    *,
    share: float = SHARE,
    accurate: bool = False,
) -> Ranking:
    """Return the best candidate of every baseline that supports the workload, least objective first.

    Never empty by default: randomised response has full rank, so it supports every workload. With a limit of time they
    take at most this `share` of it, the slow ones last, each at most half of what is left; once one is known, those
    for which there is no time are named as `late`. `accurate` ones come with their accuracy, as cheap while the
    objective is computed.

    Example:
        >>> import stratagem as st
        >>> from stratagem.solvers.problem import problem_of
        >>> rank_baselines(problem_of(st.prefix(64), 1.0))[0].mechanism
        'hierarchical'
    """
    baselines = tuple(baselines)
    setting, best, failed, late = setting_of(problem), dict[str, Contender](), list[str](), list[str]()
    with on_one_core(problem.workload.domain_size), within(share * deadline().left) as time:
        for baseline in sorted(baselines, key=lambda one: one.slow):
            late.append(baseline.name)  # until it is done: Ctrl-C leaves out those to come
            if best and time.over:
                continue
            try:
                with time.ended_by_hand(), within(time.left / 2):
                    found = tuned(baseline, problem, setting, accurate=accurate)
                    late.pop()
                    best |= {baseline.name: found} if found else {}
            except FAILURES:
                failed.append(late.pop())
    return Ranking((best[one.name] for one in baselines if one.name in best), failed, late)


def ten_digits(objective: float) -> float:
    """Return what mechanisms are sorted by: of equal ones but for rounding the first in the list comes first."""
    return float(f"{objective:.10g}")


def rank_means(problem: Problem) -> Ranking:
    """Return the baselines that one query is held against, least objective first.

    All of them as long as their tables are small; on larger domains those for the mean of a number.
    """
    return rank_all(problem, MEANS if problem.workload.domain_size > RANKED else BASELINES)


def rank_also(ranked: Ranking, baselines: Iterable[Baseline], problem: Problem) -> Ranking:
    """Return the ranking with more mechanisms in it, each at its best; those that do not apply are left out."""
    taken, setting, more = {OPTIMISED, *ranked.named}, setting_of(problem), list[Contender]()
    for baseline in baselines:
        if not isinstance(baseline, Baseline):
            raise ValueError(
                f"{baseline!r} was given as a mechanism to compare, but is none: give a Baseline"
            )
        if baseline.name in taken:
            raise ValueError(
                f"{baseline.name!r} was given to be compared, but there is one: give it another name"
            )
        found = tuned(baseline, problem, setting)
        if found is not None and found.strategy.epsilon > problem.epsilon:
            raise ValueError(
                f"{found} measures epsilon {found.strategy.epsilon:.10g}, but {problem.epsilon:.10g} was asked for: "
                "make its reports more alike"
            )
        taken.add(baseline.name)
        more += [found] if found else []
    return Ranking((*ranked, *more), ranked.failed, ranked.late)


def rank_invariant(problem: Problem) -> Ranking:
    """Return the baselines that a search by symmetry is held against, least objective first.

    All of them as long as their tables are small; on larger domains those whose reports are translates of
    patterns on a few attributes, and table sampling where no query knows an order of values.
    """
    workload, epsilon = problem.workload, problem.epsilon
    if workload.domain_size <= RANKED:
        return rank_baselines(problem)
    asked = searchable(workload) if workload.symmetry is not None or len(workload.domain.sizes) > 1 else None
    published: dict[str, JuntaStrategy | TableSampling] = {}
    if asked is not None:
        sampled = {} if asked.parts else sampled_tables(asked.spectrum, epsilon)
        published = {**published_juntas(asked.spectrum, epsilon)}
        published |= {f"{MARGINAL_SELECTION.name}, {shares}": one for shares, one in sampled.items()}
    best: dict[str, Contender] = {}
    late: list[str] = []
    for title, strategy in published.items():
        name, _, parameters = title.partition(", ")
        if best and deadline().over:
            late.append(name)
            continue
        value = evaluate(workload, strategy, problem.prior).objective
        found = Contender(name, parameters, strategy, value, problem)
        best[name] = min(best.get(name, found), found, key=lambda contender: contender.objective)
    found = [replace(one, complete=name not in late) for name, one in best.items()]
    return Ranking(found, late=[name for name in dict.fromkeys(late) if name not in best])


def rank_questions(problem: Problem) -> Ranking:
    """Return what is published for several questions, the best mechanism for each, least objective first.

    "one question each" draws one of them at random, at the best shares; "split budget" asks all, each at an even share
    of epsilon. Mechanisms that are slow to tune are left out. Beside them all that `rank_invariant` ranks, but for
    domains on which only reports about all attributes together are known, and slow to tune.
    """
    found = _ways(problem)
    if WHOLE < problem.workload.domain_size <= RANKED:
        return Ranking(found)
    with within(SHARE * deadline().left):
        others = rank_invariant(problem)
    return Ranking((*found, *others), others.failed, others.late)


def rank_all(problem: Problem, baselines: Iterable[Baseline] = BASELINES) -> Ranking:
    """Return the ranking of baselines, and for several questions what is published for each of them."""
    found = _ways(problem) if problem.plain and asks_in_parts(problem.workload) else []
    every = rank_baselines(problem, baselines)
    return Ranking((*every, *found), every.failed, every.late)


def _ways(problem: Problem) -> list[Contender]:
    """Return the two ways to ask several questions by published mechanisms, those for which there is time."""
    workload, sizes = problem.workload, problem.workload.domain.sizes
    quick, tables = [one for one in BASELINES if not one.slow], by_attributes(workload)
    found, left = list[Contender](), 2 * len(tables)
    with within(SHARE * deadline().left / 2) as time:
        for name, epsilon, kind in (
            ("one question each", problem.epsilon, SurveyStrategy),
            ("split budget", problem.epsilon / len(tables), SplitStrategy),
        ):
            parts, roots, complete = list[SurveyPart](), list[float](), True
            for table in tables:
                best = rank_baselines(
                    Average(workload=table.workload, epsilon=epsilon), quick, share=1 / left
                )
                left -= 1  # what a table does not need is for those that follow
                complete &= not (best.late or best.partial)
                known = float(np.square(means(table.workload)).sum())
                roots.append(math.sqrt(max(0.0, best[0].objective / table.workload.scale - known)))
                parts.append(SurveyPart(table.attributes, best[0].strategy, 1.0))  # type: ignore[arg-type]
            if kind is SurveyStrategy:
                parts = [
                    replace(one, share=root / sum(roots))
                    for one, root in zip(parts, roots, strict=True)
                    if root
                ]
            strategy = kind(sizes, tuple(parts))
            objective = estimator(strategy).objective(workload)
            found.append(Contender(name, "the best for each", strategy, objective, problem, complete))
            if time.over:
                break
    return found


def rank_affordable(problem: Problem, *, invariant: bool) -> Ranking:
    """Return the baselines that take at most half a minute, to compare with a strategy read from a file.

    `invariant` says whether that is one of translates, which the average over user types alone is known of. Several
    questions are compared as `rank_questions` says.
    """
    if problem.plain and problem.workload.domain_size > WHOLE and asks_in_parts(problem.workload):
        return rank_questions(problem)
    if problem.workload.domain_size <= RANKED:
        return rank_all(problem)
    return rank_invariant(problem) if invariant else Ranking(())


def tuned(
    baseline: Baseline, problem: Problem, setting: Setting, *, accurate: bool = False
) -> Contender | None:
    """Return the candidate with the least objective, None where the baseline does not answer the queries.

    Where time runs out it is the best of those tried, at least one, and not `complete`.

    Raises:
        ArithmeticError: or another of `FAILURES`, if no candidate answers and one leaves double precision.
    """
    best, failure = None, None
    candidates = iter(baseline.candidates(setting, problem.epsilon))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        while True:
            try:
                parameters, strategy = next(candidates)
                if best is not None and deadline().over:
                    return replace(best, complete=False)
                through = estimator(strategy, problem.prior)
                value, known = _valued(problem, through, accurate or isinstance(strategy, LinearProtocol))
                if not math.isfinite(value):
                    raise FloatingPointError(f"the objective of {baseline.name} is not finite")
            except StopIteration:
                break
            except UnsupportedWorkloadError:
                continue
            except FAILURES as error:
                failure = error
                continue
            if best is None or value < best.objective:
                kept = through if problem.workload.domain_size <= KEPT else None
                best = Contender(
                    baseline.name, parameters, strategy, value, problem, known=known, valued=kept
                )
    if best is None and failure is not None:
        raise failure
    return best


def _valued(problem: Problem, through: Estimator, accurate: bool) -> tuple[float, Accuracy | None]:
    """Return the objective of an estimator, and its accuracy where that is what the objective is computed from."""
    if not accurate or problem.kind != Average.kind:
        return problem.value(through), None
    known = through.accuracy(problem.workload)
    return known.objective, known


def setting_of(problem: Problem) -> Setting:
    """Return what published mechanisms are tuned to: the sizes of the attributes and the Gram matrix.

    Queries count less their means, whose squares would take the digits of the rest.
    """
    return Setting(problem.workload.domain.sizes, levelled(problem.workload, problem.prior).gram())
