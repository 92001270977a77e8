"""Counts of reports, drawn again and again, and what they say through estimators that are not chosen by themselves."""

import numpy as np

from stratagem.estimators import estimator
from stratagem.estimators.dense import DenseEvidence
from stratagem.estimators.translation.score import PlacedReports
from stratagem.estimators.translation.tables import Tables
from stratagem.estimators.translation.translates import TranslationEvidence


def draw(strategy, x, repetitions, seed):
    """Return independent counts of reports (m x repetitions); repetition r depends on (seed, r) alone."""
    columns = [strategy.histogram(x, np.random.default_rng([seed, r])) for r in range(repetitions)]
    return np.stack(columns, axis=1)


def expected_evidence(strategy, x):
    """Return what the expected counts of x[u] users of each type u say."""
    return DenseEvidence(estimator(strategy), strategy.forward(x))


def by_tables(strategy, counts):
    """Return what counts of translates say table by table, whatever the size of the domain."""
    cycles = strategy.on_cycles()
    return TranslationEvidence(Tables(cycles, strategy.sizes), PlacedReports.of(cycles, counts))
