"""A survey of four attributes with units, gaps, weights, and names that are no names of files; its reports."""

from functools import cache

import numpy as np

import stratagem as st
from stratagem.mechanism.mechanism import Mechanism
from stratagem.strategies import SurveyPart, SurveyStrategy

DOMAIN = {
    "age": st.bins("18:50:8", unit="years", question="How old are you?"),
    "région": st.labels("Nord", "Süd", other=True, no_answer=True),
    "income": st.bins("0:3000:1000", unit="euros", no_answer=True),
    "../a b": st.labels("no", "yes"),
}
SURVEY = (
    st.Survey(DOMAIN)
    .prefix("age", weight=0.5)
    .table("région", "income")
    .table("région")
    .mean("income", weight=0.25)
    .table("../a b")
)
PEOPLE = 40_000


def people(seed=5):
    """Return the values of people (N, 4), of whom a part gave no answer or another one."""
    rng = np.random.default_rng(seed)
    chances = [(0.1, 0.2, 0.4, 0.3), (0.4, 0.3, 0.1, 0.2), (0.2, 0.3, 0.3, 0.2), (0.7, 0.3)]
    return np.stack([rng.choice(len(one), PEOPLE, p=one) for one in chances], axis=1)


@cache
def mechanism(epsilon=3.0):
    """Return a mechanism of three parts, made without a search."""
    made = (((0,), 4, 0.3), ((1, 2), 16, 0.5), ((3,), 2, 0.2))
    parts = [SurveyPart(a, st.published.randomised_response(n, epsilon), s) for a, n, s in made]
    strategy = SurveyStrategy(tuple(one.size for one in SURVEY.domain.attributes), tuple(parts))
    return Mechanism.of(strategy, SURVEY.workload, epsilon, name="survey")


@cache
def counts(epsilon=3.0):
    """Return the counts of everybody's reports."""
    strategy = mechanism(epsilon).strategy
    reports = strategy.randomise(people(), np.random.default_rng(6))
    return np.bincount(reports, minlength=strategy.outputs)


@cache
def estimate(method="recommended", epsilon=3.0):
    """Return the answers to the survey."""
    return mechanism(epsilon).estimate(counts(epsilon), method=method)
