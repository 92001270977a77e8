from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

import stratagem as st
from stratagem.domain import Attribute, Bins, Codes, Domain, bins, labels
from stratagem.workloads.naming import Naming
from stratagem.workloads.serial import over, to_data

pytestmark = pytest.mark.smoke

NAMES = some.text(some.characters(codec="utf-8"), min_size=1, max_size=8).filter(
    lambda name: name.isprintable() and name == name.strip() and not set(name) & set("=,")
)


@pytest.mark.parametrize(
    ("value", "attributes", "sizes", "text"),
    [
        (64, ("value",), (64,), "64"),
        (np.int64(5), ("value",), (5,), "5"),
        ("64", ("value",), (64,), "64"),
        ("2^6", ("a1", "a2", "a3", "a4", "a5", "a6"), (2,) * 6, "2^6"),
        ("3^1", ("a1",), (3,), "3^1"),
        ("age=100,sex=2", ("age", "sex"), (100, 2), "age=100,sex=2"),
        (" age = 100 , sex = 2 ", ("age", "sex"), (100, 2), "age=100,sex=2"),
        ("home town=3", ("home town",), (3,), "home town=3"),
        ({"age": 100, "sex": 2}, ("age", "sex"), (100, 2), "age=100,sex=2"),
        ({"a1": 2, "a2": 3}, ("a1", "a2"), (2, 3), "a1=2,a2=3"),
        ([7, 16, 2], ("a1", "a2", "a3"), (7, 16, 2), "a1=7,a2=16,a3=2"),
        ((2, 2), ("a1", "a2"), (2, 2), "2^2"),
    ],
)
def test_every_form_is_read_and_written_back(value, attributes, sizes, text):
    domain = Domain.of(value)
    assert (domain.names, domain.sizes, str(domain)) == (attributes, sizes, text)
    assert Domain.of(text) == domain
    assert Domain.of(domain) is domain


@given(some.dictionaries(NAMES, some.integers(1, 2**53), min_size=1, max_size=5))
def test_text_round_trip(sizes):
    domain = Domain.of(sizes)
    assert Domain.of(str(domain)) == domain


def test_size_has_no_limit():
    assert Domain.of("2^100").size == 2**100
    assert type(Domain.of({"age": np.int32(7)}).size) is int


def test_lists_become_tuples_and_equal_domains_hash_alike():
    domain = Domain.sized(["age", "sex"], [100, 2])
    assert len({domain, Domain.of("age=100,sex=2")}) == 1


@pytest.mark.parametrize(
    ("value", "fragment"),
    [
        (0, "the size of attribute 'value' is 0"),
        (-3, "is -3"),
        (True, "is True"),
        (2.5, "is 2.5"),
        (None, "is None"),
        (10**20, "about 10^20"),
        ("0", "is 0"),
        ("2^0", "the number of attributes is 0"),
        ("2^999999999", "the number of attributes is 999999999"),
        ("", "'' was given as a domain"),
        ("sixty-four", "write a domain as 64, as 2^6"),
        ("2^2^2", "'2^2^2' was given"),
        ("age=", "'age=' was given"),
        ("age=100,", "'age=100,' was given"),
        ("age=100,age=2", "attribute 'age' was named 2 times"),
        ("9" * 10_000, "999...' was given"),
        ({}, "0 attributes, but needs 1"),
        ([], "0 attributes, but needs 1"),
        ([7, "x"], "attribute 'a2' is 'x'"),
        ({"age": 0}, "attribute 'age' is 0"),
        ({"age=": 2}, "'age=' was given as the name"),
        ({" age": 2}, "' age' was given as the name"),
        ({"": 2}, "'' was given as the name"),
        ({3: 2}, "3 was given as the name"),
    ],
)
def test_nonsense_is_refused_in_one_sentence(value, fragment):
    with pytest.raises(ValueError, match=r".") as error:
        Domain.of(value)
    sentence = str(error.value)
    assert fragment in sentence
    assert "\n" not in sentence
    assert len(sentence) < 300


@pytest.mark.parametrize("given", [({"age": 9},), (2, 3), ("age=9",), (Attribute("n", Codes(3)), [4])])
def test_what_is_no_attribute_is_told_what_makes_one(given):
    with pytest.raises(ValueError, match=r"takes attributes: call Domain\.of for"):
        Domain(*given)


def test_a_domain_knows_its_values():
    domain = Domain(
        Attribute("n", Codes(3)), age=bins("18:80:31", unit="years"), region=labels("N", "S", other=True)
    )
    assert (domain.names, domain.sizes) == (("n", "age", "region"), (3, 2, 3))
    assert [one.unit for one in domain.attributes] == ["", "years", ""]
    assert domain != Domain.of(str(domain)), "the text of a domain states sizes alone"
    assert Domain.of({"age": domain.attributes[1], "region": domain.attributes[2].values}) == domain.part(
        [1, 2]
    )
    assert Domain.of(bins("0:2:1")).names == ("value",)


PRODUCT = [st.prefix(2), st.prefix(2)]
QUERIES = {
    "leaf": st.prefix({"age": 2}),
    "kron of two values": st.kron(PRODUCT),
    "stack": st.stack([st.kron(PRODUCT), st.weighted(st.histogram({"value": 2, "value_2": 2}), 2.0)]),
    "on one": st.load("prefix", domain="age=2"),
}


@pytest.mark.parametrize("name", QUERIES)
def test_queries_keep_their_names_over_described_attributes(name):
    workload = QUERIES[name]
    described = [
        replace(st.labels(f"no {k}", f"yes {k}"), name="x") for k in range(len(workload.domain.sizes))
    ]
    found = over(workload, described)
    assert to_data(found) == to_data(workload)
    assert [one.values for one in found.domain.attributes] == [one.values for one in described]
    with pytest.raises(ValueError, match="describe its own"):
        over(workload, [*described, st.labels("a", "b")])


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        (
            st.Domain(age=st.bins("18:80:5", unit="years"), region=st.labels("North", "South")),
            "Domain(age 18:80:5 years, region North|South)",
        ),
        (
            st.Domain(
                day=st.bins("2026-01-01:2027-01-01:1mo", other=True, no_answer=True, zone="Europe/Berlin")
            ),
            "Domain(day 2026-01-01:2027-01-01:1mo[Europe/Berlin]|other|no answer)",
        ),
        (
            st.Domain(trips=Attribute("x", Codes(6, True, True), unit="a week")),
            "Domain(trips 0 to 3 a week|other|no answer)",
        ),
        (st.Domain(age=st.bins([0, 35, 65])), "Domain(age 0,35,65)"),
        (st.Domain(age=st.bins([0, 35, 70, 75])), "Domain(age 0:75:35)"),
        (st.Domain.of("age=100,sex=2"), "Domain(age=100,sex=2)"),
        (st.Domain.of("2^1000"), "Domain(2^1000)"),
    ],
)
def test_a_domain_shows_its_values(domain, words):
    assert repr(domain) == words
    many = st.Domain(**{f"question{k}": st.labels("yes", "no") for k in range(1000)})
    assert len(repr(many)) <= 100
    assert repr(many).endswith("...)")


ATTRIBUTES = """title = "ages by region"
[attributes.age]
bins = "18:80:31"
unit = "years"
question = "How old are you?"
[attributes.region]
labels = ["North", "South"]
other = true
no_answer = true
[attributes.trips]
size = 4
other = true
no_answer = true
unit = "a week"
[attributes.day]
bins = "2026-01-01:2026-01-03:1d"
zone = "Europe/Berlin"
[[query]]
on = { age = "prefix", region = "identity" }
"""


def test_a_file_states_attributes_in_place_of_sizes(tmp_path):
    path = tmp_path / "ages.toml"
    path.write_text(ATTRIBUTES)
    workload = st.load(path)
    age, region, trips, day = workload.domain.attributes
    assert age == Attribute("age", Bins(("18", "49", "80")), "How old are you?", "years")
    assert (region.values.texts, region.values.outside) == (("North", "South", "other"), (2, 3))
    assert trips == Attribute("trips", Codes(6, no_answer=True, others=True), unit="a week")
    assert day == Attribute("day", Bins.parse("2026-01-01:2026-01-03:1d[Europe/Berlin]"))
    assert Naming.of(workload).label(4) == "age below 80 years, region = North"
    assert st.load(path, domain="age=2,region=4,trips=6,day=2").domain == workload.domain


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (('bins = "18:80:31"', 'bins = "18:80:31"\nsize = 2'), "bins, labels and size are bins, size, but"),
        (('bins = "18:80:31"\n', ""), "are not given, but an attribute has one of them"),
        (('bins = "18:80:31"', "bins = 5"), "an attribute has one of them"),
        (('["North", "South"]', '["North", "North"]'), "'North' was given twice"),
        (('["North", "South"]', '"North"'), "an attribute has one of them"),
        (('"years"', '"years"\ncolour = 1'), "unknown key 'colour'"),
        (('title = "ages by region"', "domain = { age = 2 }"), "not both"),
        (("Europe/Berlin", "Berlin"), "knows none of this name"),
        (('bins = "2026-01-01:2026-01-03:1d"', "size = 2"), "is for bins of dates"),
        (("size = 4", "size = 4\nwhole = true"), "is for bins of whole numbers"),
        (('bins = "18:80:31"', 'bins = "18:80:15.5"\nwhole = true'), "not all whole numbers"),
        (('zone = "Europe/Berlin"', "whole = true"), "not all whole numbers"),
        (("size = 4", "size = 0"), "an attribute has one of them"),
        (('["North", "South"]', '["North", ""]'), "already stands for no answer"),
        (('["North", "South"]', '["North", "no answer"]'), "already stands for no answer"),
    ],
)
def test_attributes_of_a_file_that_are_none_are_refused(tmp_path, edit, words):
    path = tmp_path / "ages.toml"
    path.write_text(ATTRIBUTES.replace(*edit))
    with pytest.raises(ValueError, match=words) as error:
        st.load(path)
    assert "\n" not in str(error.value)
    assert "ages.toml" in str(error.value)
