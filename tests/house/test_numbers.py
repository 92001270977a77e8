"""The size of the house: no number of `house_numbers` grows beyond what was reached."""

import ast

import house_numbers
import pytest
from house_numbers import PACKAGE, Function, parameters

REACHED = {
    "public names at top level": 60,
    "dispatch tables on kinds of strategy": 1,
    "isinstance": 167,
    "parameters called prior": 50,
    "names of public classes used twice": 4,
    "imports inside functions outside the command line": 40,
    "functions over 45 lines": 10,
    "functions with more than 12 parameters outside the command line": 0,
    "lines": 67_014,
    "files": 285,
    "rooms": 19,
    "arrows between rooms": 94,
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


HOME = ("domain/", "cli/", "mechanism/client.py")
"""Where what values are may come as labels, edges or units: their room, the options of commands, and the client, which
is copied out alone and reads bundles by itself."""
LABELLED = "estimators/translation/"
"""A folder in which labels are those of the classes of a pattern's axes, and not of answers."""


def test_labels_edges_and_units_are_arguments_of_the_room_of_values_alone():
    """Elsewhere an attribute of a domain is its values."""
    found = {
        f"{path.relative_to(PACKAGE).as_posix()}: {node.name}({', '.join(sorted(taken))})"
        for path in PACKAGE.rglob("*.py")
        if not path.relative_to(PACKAGE).as_posix().startswith(HOME)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, Function) and (taken := {"labels", "edges", "units"} & set(parameters(node)))
    }
    assert {one for one in found if not one.startswith(LABELLED)} == set()
    assert found, "the axes of patterns are seen"
