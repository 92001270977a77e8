"""The questions of a workload: each query in one of them, without its weight, by the words of a query file."""

import numpy as np
import pytest

import stratagem as st
from asked import SURVEY
from stratagem.workloads import Domain, along, stack, weighted
from stratagem.workloads.question import MOST, is_survey, questions
from stratagem.workloads.recipe import PRIMITIVES

DOMAIN = Domain.of("age=9,region=4,income=5,smokes=2")
ASKED = {
    "prefix": along(DOMAIN, ["age"], PRIMITIVES["prefix"]),
    "identity": along(DOMAIN, ["region", "smokes"], PRIMITIVES["identity"]),
    "all-range": along(DOMAIN, ["age"], PRIMITIVES["all-range"]),
    "mean": along(DOMAIN, ["income"], PRIMITIVES["mean"]),
    "moments": along(DOMAIN, ["income"], PRIMITIVES["moments"]),
    "total": along(DOMAIN, ["income"], PRIMITIVES["total"]),
    "prefix x identity": st.kron(
        [st.prefix({"age": 9}), st.total({"region": 4}), st.total({"income": 5}), st.histogram({"smokes": 2})]
    ),
}


@pytest.mark.parametrize("kind", ASKED)
@pytest.mark.parametrize("weight", [1.0, 0.25])
def test_a_question_holds_its_queries_without_their_weight(kind, weight):
    both = stack([weighted(ASKED[kind], weight) if weight != 1 else ASKED[kind], ASKED["prefix"]])
    first, last = questions(both)
    assert (first.kind, last.kind) == (kind, "prefix")
    assert first.weighted == (weight != 1)
    assert np.concatenate([first.places, last.places]).tolist() == list(range(both.queries))
    x = np.random.default_rng(1).uniform(size=DOMAIN.size)
    assert np.allclose(first.over(DOMAIN).answer(x), both.answer(x)[first.places] / weight)
    assert is_survey(both)


def test_parities_are_told_apart_from_the_number_of_people():
    found = questions(stack([along(DOMAIN, ["age"], PRIMITIVES["parity"]), ASKED["prefix"]]))
    assert [one.kind for one in found] == ["total", "parity", "prefix"]


def test_a_sum_and_the_people_with_a_value_are_one_question():
    found = questions(SURVEY.workload)
    assert [one.kind for one in found] == ["prefix", "identity", "identity", "mean", "identity"]
    assert [one.attributes for one in found] == [(0,), (1, 2), (1,), (2,), (3,)]
    assert len(found[3].places) == 2


@pytest.mark.parametrize(
    ("workload", "survey"),
    [
        (SURVEY.workload, True),
        (stack([st.marginals("2^4", 2), st.total("2^4")]), True),
        (st.prefix(8), False),
        (stack([st.prefix(8), st.total(8)]), False),
        (st.marginals("2^4", 2), False),
        (stack([st.marginals("2^60", 2), st.total("2^60")]), False),
    ],
)
def test_several_questions_about_several_attributes_are_a_survey(workload, survey):
    assert is_survey(workload) == survey


def test_nothing_is_listed_where_there_are_too_many_questions():
    workload = stack([st.marginals("2^1000", 3), st.total("2^1000")])
    assert not is_survey(workload)
    assert workload.queries > MOST**3
