"""Surveys with parts that share attributes: chains, sets inside others, and strategies of every kind."""

import numpy as np

import stratagem as st
from stratagem.strategies import MatrixStrategy, SurveyPart, SurveyStrategy
from surveys import CELLS

SIZES = {"income": 4, "region": 3, "education": 2, "age": 3}


def columns(table, epsilon):
    """Return a strategy of random probabilities, which treats no two cells alike."""
    cells = table.domain.size
    rng = np.random.default_rng(cells)
    Q = rng.uniform(1, np.exp(epsilon / 2), (2 * cells + 1, cells)) * rng.uniform(0.2, 1, (2 * cells + 1, 1))
    return MatrixStrategy(Q / Q.sum(axis=0))


def translates(table, epsilon):
    return st.optimise(table, epsilon, solver=st.solvers.Orbit()).strategy


def responses(table, epsilon):
    return st.published.randomised_response(table.domain.size, epsilon)


def patterns(table, epsilon):
    return st.optimise(table, epsilon, seconds=1).strategy


KINDS = {one.__name__: one for one in (columns, translates, responses, patterns)}
ATTRIBUTES = ((0, 1), (1, 2), (1,), (3,))
SHARES = (0.4, 0.3, 0.1, 0.2)


def overlapping(kind="responses", epsilon=1.0, sizes=SIZES, attributes=ATTRIBUTES, shares=SHARES):
    """Return the tables income x region and region x education, region alone, and age, which shares nothing."""
    each = list(sizes.items())
    tables = [CELLS(dict(each[a] for a in own)) for own in attributes]
    parts = (
        SurveyPart(own, KINDS[kind](table, epsilon), share)
        for own, table, share in zip(attributes, tables, shares, strict=True)
    )
    return SurveyStrategy(tuple(sizes.values()), tuple(parts))
