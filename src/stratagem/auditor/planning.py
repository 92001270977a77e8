"""The choice and the plan of an audit, by the kind of strategy."""

from functools import singledispatch

from stratagem.auditor import table_plan, translation_plan
from stratagem.strategies import TranslationStrategy

choose = singledispatch(table_plan.choose)
"""Returns user types to test: all where there are no more than asked for, otherwise mostly random ones."""
choose.register(TranslationStrategy, translation_plan.choose)

plan = singledispatch(table_plan.plan)
"""Returns the plan of an audit of some user types, events chosen for a number of reports of each."""
plan.register(TranslationStrategy, translation_plan.plan)
