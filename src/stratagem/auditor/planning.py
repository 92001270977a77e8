"""The choice and the plan of an audit, by the kind of table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stratagem.auditor import table_plan, translates_plan
from stratagem.auditor.plan import Chosen, Plan
from stratagem.mechanism.table import Exact
from stratagem.strategies import TranslationStrategy


def choose(strategy: Exact, types: int, samples: int, level: float, rng: np.random.Generator) -> Chosen:
    """Return user types to test: all where there are no more than `types`, otherwise mostly random ones."""
    if isinstance(strategy, TranslationStrategy):
        return translates_plan.choose(strategy, types, samples, level, rng)
    return table_plan.choose(strategy, types, samples, level, rng)


def plan(strategy: Exact, user_types: Sequence[int], samples: int, level: float) -> Plan:
    """Return the plan of an audit of these user types, events chosen for `samples` reports of each."""
    if isinstance(strategy, TranslationStrategy):
        return translates_plan.plan(strategy, user_types, samples, level)
    return table_plan.plan(strategy, user_types, samples, level)
