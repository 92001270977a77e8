import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from stratagem.workloads import Domain

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
    assert (domain.attributes, domain.sizes, str(domain)) == (attributes, sizes, text)
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
    domain = Domain(["age", "sex"], [100, 2])  # type: ignore[arg-type]
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
        ({}, "0 attributes and 0 sizes"),
        ([], "0 attributes and 0 sizes"),
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


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="2 attributes and 1 sizes"):
        Domain(("age", "sex"), (100,))
