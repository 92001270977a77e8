"""The choice and the plan of an audit, by the kind of strategy."""

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from stratagem.auditor import survey_plan, table_plan, translation_plan
from stratagem.auditor.plan import AuditPlan, Chosen, Classes
from stratagem.strategies import Randomiser, SurveyStrategy, TranslationStrategy


class Planner(NamedTuple):
    """How audits of a kind of strategy are planned."""

    choose: Callable[..., Chosen]
    """Returns user types to test: all where there are no more than asked for, otherwise mostly random ones."""
    plan: Callable[..., AuditPlan]
    """Returns the plan of an audit of some user types, events chosen for a number of reports of each."""
    by_part: Callable[..., list[Classes]] | None = None
    """Returns the classes of outputs of every part of a survey; None where there are no parts."""


@singledispatch
def planner(strategy: Any) -> Planner:
    """Return how audits of a kind of strategy are planned."""
    return Planner(table_plan.choose, table_plan.plan)


def choose(strategy: Randomiser, types: int, samples: int, level: float, rng: np.random.Generator) -> Chosen:
    """Return user types to test: all where there are no more than `types`, otherwise mostly random ones."""
    return planner(strategy).choose(strategy, types, samples, level, rng)


def plan(strategy: Randomiser, user_types: Sequence[int], samples: int, level: float) -> AuditPlan:
    """Return the plan of an audit of these user types, events chosen for `samples` reports of each."""
    return planner(strategy).plan(strategy, user_types, samples, level)


def by_part(strategy: Randomiser, planned: AuditPlan) -> list[Classes]:
    """Return the classes of outputs of every part, or of all, for each user type of a plan, and what favours it."""
    parts = planner(strategy).by_part
    return parts(strategy, planned.user_types) if parts else [(planned.partitions, planned.favoured)]


@planner.register
def _(strategy: TranslationStrategy) -> Planner:
    return Planner(translation_plan.choose, translation_plan.plan)


@planner.register
def _(strategy: SurveyStrategy) -> Planner:
    return Planner(survey_plan.choose, survey_plan.plan, survey_plan.by_part)
