"""The size of the house: no number of `house_numbers` grows beyond what was reached."""

import ast

import house_numbers
import pytest

REACHED = {
    "public names at top level": 60,
    "isinstance": 380,
    "parameters called prior": 101,
    "names of public classes used twice": 8,
    "imports inside functions outside the command line": 98,
    "functions over 45 lines": 35,
    "functions with more than 12 parameters outside the command line": 1,
    "lines": 59_295,
    "files": 354,
    "rooms": 21,
    "arrows between rooms": 110,
}
"""What each number is today: whoever makes one smaller lowers it here. Circles are for `test_imports`."""


@pytest.fixture(scope="module")
def now():
    return house_numbers.numbers()


def test_the_house_does_not_grow(now):
    assert {what: now[what] for what in REACHED if now[what] > REACHED[what]} == {}
    assert now.keys() == {*REACHED, "circles"}


def test_what_is_counted_is_found(now, monkeypatch):
    """Negative control: a module that adds one to each number that a syntax tree can change."""
    parameters = ", ".join(["prior", *(f"a{k}" for k in range(12))])
    body = "\n".join(["    import json", *["    isinstance(json, int)"] * house_numbers.LONG])
    source = f"def f({parameters}):\n{body}\nclass Twice: pass\nclass Twice: pass\n"
    more = house_numbers.trees() | {"stratagem.study.more": ast.parse(source)}
    monkeypatch.setattr(house_numbers, "trees", lambda: more)
    after = house_numbers.numbers()
    grown = {what: after[what] - now[what] for what in now if after[what] != now[what]}
    assert grown == {
        "isinstance": house_numbers.LONG,
        "parameters called prior": 1,
        "names of public classes used twice": 1,
        "imports inside functions outside the command line": 1,
        "functions over 45 lines": 1,
        "functions with more than 12 parameters outside the command line": 1,
        "files": 1,
    }
