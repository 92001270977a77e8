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


HOURS = """
[attributes.hours]
bins = "0:60:20"
[attributes.sex]
size = 2
[[query]]
on = { sex = "identity" }
"""
MEAN = '[[query]]\non = { hours = "mean" }\nweight = 2\n'


def test_a_mean_among_others_is_measured_by_the_range_of_its_values(tmp_path):
    """In any unit; alone it is the sum of the values, whose weight changes nothing."""
    domain = {"hours": st.bins("0:60:20"), "sex": 2}
    path = tmp_path / "hours.toml"
    path.write_text(HOURS + MEAN)
    asked = st.Survey(domain).table("sex").mean("hours", weight=2)
    sums = np.repeat([10.0, 30, 50], 2)
    for workload in (asked.workload, st.load(path)):
        assert np.allclose(workload.matrix()[-1], 2 * sums / 40)
        assert np.allclose(workload.matrix()[:2], st.Survey(domain).table("sex").workload.matrix())
        assert np.allclose(questions(workload)[-1].over(workload.domain).matrix(), sums)
    assert np.allclose(st.Survey(domain).mean("hours").workload.matrix(), sums)
    seconds = st.Survey({"hours": st.bins("0:216000:72000"), "sex": 2}).table("sex").mean("hours", weight=2)
    assert np.allclose(seconds.workload.gram(), asked.workload.gram())


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
