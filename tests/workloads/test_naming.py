"""Names of queries: every kind of workload over labels, edges with units, and bare numbers."""

import json

import numpy as np
import pytest

import stratagem as st
from mechanisms import mechanism
from stratagem.domain import Attribute, Bin, Bins, Codes, Domain, Labels
from stratagem.mechanism.mechanism import Mechanism, load_mechanism
from stratagem.workloads.explicit import Explicit
from stratagem.workloads.naming import Naming
from stratagem.workloads.serial import from_data, to_data

DELAY = Attribute("dep_delay", Bins(("-30", "0", "15", "60.5", "290")), unit="minutes")
AGE = Attribute("age", Bins(("0", "30", "35", "130")))
SEX = Attribute("sex", Labels(("F", "M")))
SCHOOL = Attribute("school", Labels(("primary", "secondary", "higher"), ordered=True))
TRIPS = Attribute("trips", Codes(4), unit="a week")
DOMAIN = {"age": 3, "sex": 2}
NAMES = {
    "prefix": (st.prefix(4), [DELAY], {1: "dep_delay below 15 minutes", 3: "dep_delay below 290 minutes"}),
    "prefix of labels": (st.prefix(3), [SCHOOL], {0: "school up to primary", 2: "school up to higher"}),
    "prefix of numbers": (st.prefix(4), [TRIPS], {2: "trips at most 2 a week"}),
    "ranges": (
        st.all_range(4),
        [DELAY],
        {0: "dep_delay = -30 to below 0 minutes", 4: "dep_delay from -30 to below 15 minutes"},
    ),
    "ranges of labels": (st.all_range(3), [SCHOOL], {3: "school from primary to secondary"}),
    "ranges of numbers": (
        st.all_range(4, 2),
        [TRIPS],
        {3: "trips = 3 a week", 6: "trips from 2 to 3 a week"},
    ),
    "histogram": (st.histogram(2), [SEX], {1: "sex = M"}),
    "marginals": (
        st.stack([st.marginals(DOMAIN, 2), st.marginals(DOMAIN, 1), st.total(DOMAIN)]),
        [AGE, SEX],
        {2: "age = 30 to below 35, sex = F", 8: "age = 35 to below 130", 10: "sex = M", 11: "everybody"},
    ),
    "kron": (
        st.kron([st.prefix({"age": 3}), st.histogram({"sex": 2})]),
        [AGE, SEX],
        {3: "age below 35, sex = M"},
    ),
    "weighted": (st.weighted(st.total(2), 2.5), [SEX], {0: "2.5 × everybody"}),
    "parity": (st.parity(DOMAIN), [AGE, SEX], {0: "everybody", 3: "parity of age (wave 1) and sex"}),
    "explicit": (st.explicit(np.eye(4)), [DELAY], {3: "query 3"}),
    "kron of an explicit one": (
        st.kron([st.explicit(np.eye(3), {"age": 3}), st.histogram({"sex": 2})]),
        [AGE, SEX],
        {5: "query 2 of age, sex = M"},
    ),
    "nobody said": (st.prefix(4), [], {1: "value at most 1"}),
    "other sizes": (st.histogram("2^2"), [DELAY], {3: "a1 = 1, a2 = 1"}),
}


@pytest.mark.parametrize(("workload", "attributes", "names"), NAMES.values(), ids=NAMES)
def test_queries_are_named_by_what_they_ask(workload, attributes, names):
    naming = Naming.of(workload, attributes)
    assert {query: naming.label(query) for query in names} == names
    every = [naming.label(query) for query in range(workload.queries)]
    assert len(set(every)) == len(every), "no two queries share a name"


def test_bounds_are_numbers_in_the_users_unit():
    below = {"attribute": "dep_delay", "from": None, "below": 15.0, "unit": "minutes"}
    assert Naming.of(st.prefix(4), [DELAY]).where(1) == [below]
    cell = [{"attribute": "age", "from": 30.0, "below": 35.0}, {"attribute": "sex", "value": "F"}]
    assert Naming.of(st.marginals(DOMAIN, 2), [AGE, SEX]).where(2) == cell
    up_to = {"attribute": "school", "from": None, "to": "secondary"}
    assert Naming.of(st.prefix(3), [SCHOOL]).where(1) == [up_to]
    for workload in (st.total(4), st.parity(4), st.explicit(np.eye(4))):
        assert Naming.of(workload, [DELAY]).where(0) == [], "no condition on an attribute"


def test_values_are_the_users_own():
    assert [DELAY.value(0), SEX.value(1), TRIPS.value(3)] == [Bin(-30.0, 0.0), "M", 3]


def test_a_unit_travels_through_the_bundle(tmp_path):
    found = Mechanism.of(
        st.published.randomised_response(4, 1.0), st.prefix({"delay": st.bins("0:4:1", unit="minutes")}), 1.0
    )
    again = load_mechanism(found.save(tmp_path / "delay.ldp.json"))
    assert again.identifier == found.identifier
    assert again.attributes[0].unit == "minutes"
    plain = Mechanism.of(
        st.published.randomised_response(4, 1.0), st.prefix({"delay": st.bins("0:4:1")}), 1.0
    )
    assert "unit" not in plain.bundle["domain"][0], "the identifier of a bundle without units stays"
    assert plain.identifier != found.identifier


def test_bundles_without_units_are_those_of_always():
    """The identifier that the code had before it knew units."""
    assert mechanism("edges").identifier.startswith(IDENTIFIER)


IDENTIFIER = "5d56cd1f9737bcab"


@pytest.mark.parametrize(
    ("values", "unit", "words"),
    [
        (Codes(3), " ", "must be a word"),
        (Codes(3), "a" * 41, "must be a word of at most 40"),
        (Codes(3), "min\nutes", "must be a word"),
        (Codes(3), 5, "must be a word"),
        (Labels(("a", "b", "c")), "years", "numbers instead of labels"),
    ],
)
def test_units_that_measure_nothing_are_refused(values, unit, words):
    with pytest.raises(ValueError, match=words):
        Attribute("age", values, unit=unit)


def test_means_and_moments_have_names_that_survive_a_file():
    values = [0.0, 2.0, 4.0]
    workload = from_data(json.loads(json.dumps(to_data(st.moments(values, 2)))))
    assert [Naming.of(workload).label(i) for i in range(2)] == ["sum of value", "sum of value^2 / 4"]
    plain = st.explicit([values])
    assert Naming.of(plain).label(0) == "query 0"
    assert "names" not in to_data(plain)


@pytest.mark.parametrize("names", [("one",), ("one", 2), ("a", "b", "c")])
def test_names_that_do_not_fit_the_rows_are_refused(names):
    with pytest.raises(ValueError, match="give each row a text"):
        Explicit(np.eye(2), Domain.of(2), names)
    data = to_data(st.explicit(np.eye(2))) | {"names": list(names)}
    with pytest.raises(ValueError, match="give each row a text"):
        from_data(data)
