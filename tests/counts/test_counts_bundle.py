"""Bundles of count mechanisms: what they hold is proved again on reading, and nothing else is read."""

import base64
import json
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from count_mechanisms import CASES, case
from stratagem import counts
from stratagem.counts.bundle import content, parse
from stratagem.counts.exact import Whole
from stratagem.mechanism.client import fingerprint

TABLES = ["programmed", "programmed, rows of zeros", "table"]


def sealed(bundle):
    """Return the bytes of a bundle, its hash made good."""
    return json.dumps(bundle | {"sha256": fingerprint(bundle)}).encode()


def edited(name, *path, to):
    """Return the bytes of a bundle with one value replaced, or computed by `to`, and its hash made good."""
    bundle = json.loads(json.dumps(content(case(name))))
    place = bundle
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to(place[path[-1]]) if callable(to) else to
    return sealed(bundle)


def numbers_edited(name, change):
    """Return the bytes of a table's bundle whose numbers (an object matrix) `change` has edited."""
    cells, total = case(name).whole()
    cells, width = cells.copy(), (total.bit_length() + 7) // 8
    change(cells)
    raw = b"".join(number.to_bytes(width, "big") for number in cells.T.ravel().tolist())
    return edited(name, "mechanism", "columns", to=base64.b64encode(raw).decode())


@pytest.mark.parametrize("name", CASES)
def test_a_saved_mechanism_comes_back_as_it_was(name, tmp_path):
    mechanism = case(name)
    found = counts.load(counts.save(mechanism, tmp_path / "groups.count.json"))
    assert type(found) is type(mechanism)
    assert (found.name, found.size, found.alpha) == (mechanism.name, mechanism.size, mechanism.alpha)
    assert (found.whole().cells == mechanism.whole().cells).all()
    assert found.whole().total == mechanism.whole().total
    assert found.properties == mechanism.properties
    assert content(found) == content(mechanism)


def test_a_closed_form_takes_no_table_whatever_its_size(tmp_path):
    path = counts.save(counts.explicit_fair(1_000_000, epsilon=0.5), tmp_path / "large.count.json")
    assert path.stat().st_size < 1000
    assert counts.load(path).size == 1_000_000


@pytest.mark.parametrize("name", TABLES)
def test_a_independent_check_of_a_table_in_ten_lines(name):
    bundle = json.loads(json.dumps(content(case(name))))
    m, total = bundle["size"] + 1, int(bundle["mechanism"]["total"])
    raw, width = base64.b64decode(bundle["mechanism"]["columns"]), (total.bit_length() + 7) // 8
    flat = [int.from_bytes(raw[at : at + width], "big") for at in range(0, len(raw), width)]
    columns = [flat[m * j : m * j + m] for j in range(m)]
    pairs = [sorted(pair) for a, b in pairwise(columns) for pair in zip(a, b, strict=True)]
    assert all(sum(column) == total for column in columns)
    assert max(Fraction(more, less) for less, more in pairs if more) == Fraction(
        *map(int, bundle["certificate"]["worst_ratio"])
    )
    assert all(more * int(bundle["alpha"][0]) <= less * int(bundle["alpha"][1]) for less, more in pairs)


def moved(cells):
    """Move one unit within a column: the sums stay, the properties or the certificate do not."""
    row = cells[:, 0].argmax()
    cells[row - 1, 0] += 1
    cells[row, 0] -= 1


def raised(cells):
    cells[0, 0] += 1


def lowered(cells):
    cells[cells[:, 1].argmax(), 1] -= 1


def emptied(cells):
    """Leave one cell empty beside a positive one, its weight elsewhere in the column."""
    row = cells[:, 1].argmax()
    cells[row - 1, 1] += cells[row, 1]
    cells[row, 1] = 0


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (raised, "column 0 does not sum"),
        (lowered, "column 1 does not sum"),
        (moved, "breaks its alpha|certificate|other properties|zero faces"),
        (emptied, "zero faces a positive"),
    ],
)
def test_numbers_changed_by_a_unit_are_refused(name, change, words):
    parse(numbers_edited(name, lambda cells: None))
    with pytest.raises(ValueError, match=words) as error:
        parse(numbers_edited(name, change))
    assert "\n" not in str(error.value)


def test_a_factor_one_unit_above_the_bound_is_refused():
    """The last number that alpha allows is accepted; one more and the certificate cannot be written."""
    alpha = Fraction(2, 3)

    def table(high):
        return counts.CountTable(
            1, alpha, Whole(np.array([[high, 500 - high], [500 - high, high]], object), 500)
        )

    assert content(table(300))["certificate"]["worst_ratio"] == ["3", "2"]
    with pytest.raises(ValueError, match="breaks its alpha"):
        content(table(301))


WORDS = ["", "x", "-1", "9" * 4500, "\x00"]
JUNK = [None, True, -1, 0, 10**40, *WORDS, [], [[]], ["1"], ["1", "0"], {}, {"kind": "table"}]


def places(data, path=()):
    """Return the paths of all values of a bundle, containers and their entries."""
    entries = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path] * bool(path) + [place for key, value in entries for place in places(value, (*path, key))]


@pytest.mark.parametrize("name", ["geometric", "table"])
def test_no_value_may_be_replaced(name):
    """Every value but the name by every piece of junk, the hash made good: one sentence each, no other error."""
    for path in set(places(content(case(name)))) - {("sha256",), ("mechanism", "name")}:
        for junk in JUNK:
            with pytest.raises(ValueError, match=r"\w") as error:
                parse(edited(name, *path, to=junk))
            assert "\n" not in str(error.value)


def test_numbers_that_floating_point_cannot_hold_are_refused_too():
    high = 10**1000
    huge = counts.CountTable(1, Fraction(1, 2), Whole(np.array([[high, 1], [1, high]], object), high + 1))
    with pytest.raises(ValueError, match=r"factor of exp\(2302.58"):
        content(huge)


HOSTILE = {
    "nothing": (lambda: b"", "not plain JSON"),
    "not JSON": (lambda: b"import os", "not plain JSON"),
    "not UTF-8": (lambda: b"\xff{}", "not plain JSON"),
    "a list": (lambda: b"[]", "does not name the format"),
    "another format": (
        lambda: edited("table", "format", to="stratagem-mechanism"),
        "does not name the format",
    ),
    "a later version": (lambda: edited("table", "version", to=2), "version 2"),
    "version true": (lambda: edited("table", "version", to=True), "version True"),
    "nested deeply": (lambda: b'{"a":' * 100_000, "nested too deeply|not plain JSON"),
    "a key twice": (
        lambda: edited("geometric", "size", to=8).replace(b'"size"', b'"size": 9, "size"'),
        "a key is written twice",
    ),
    "a fraction": (
        lambda: edited("geometric", "size", to=8).replace(b": 8,", b": 8.0,"),
        "not a whole number",
    ),
    "not a number": (
        lambda: edited("geometric", "size", to=8).replace(b": 8,", b": NaN,"),
        "not a whole number",
    ),
    "a key missing": (
        lambda: sealed({k: v for k, v in content(case("table")).items() if k != "alpha"}),
        "exactly the keys",
    ),
    "a key more": (lambda: sealed(content(case("table")) | {"note": "x"}), "exactly the keys"),
    "another hash": (
        lambda: json.dumps(content(case("table")) | {"sha256": "0" * 64}).encode(),
        "sha256 differs",
    ),
    "a changed size, old hash": (
        lambda: json.dumps(content(case("geometric")) | {"size": 9}).encode(),
        "sha256",
    ),
    "size 0": (lambda: edited("geometric", "size", to=0), "size is 0"),
    "a negative size": (lambda: edited("geometric", "size", to=-8), "size is -8"),
    "a huge size": (lambda: edited("geometric", "size", to=10**30), "size is 1000"),
    "a huge table": (lambda: edited("table", "size", to=1_000_000), "size of a table"),
    "a size as text": (lambda: edited("geometric", "size", to="8"), "size is '8'"),
    "alpha as number": (lambda: edited("geometric", "alpha", to=1), "numerator and a denominator"),
    "alpha above 1": (lambda: edited("geometric", "alpha", to=["10", "9"]), "between 0 and 1"),
    "alpha 0": (lambda: edited("geometric", "alpha", to=["0", "9"]), "between 0 and 1"),
    "negative alpha": (lambda: edited("geometric", "alpha", to=["-9", "10"]), "digits"),
    "alpha of many digits": (
        lambda: edited("geometric", "alpha", to=["1", "9" * 5000]),
        "at most 4000 digits",
    ),
    "alpha not reduced": (lambda: edited("geometric", "alpha", to=["18", "20"]), "as stratagem writes it"),
    "alpha with a zero before": (lambda: edited("geometric", "alpha", 0, to="09"), "as stratagem writes it"),
    "smaller alpha": (lambda: edited("geometric", "alpha", to=["1", "2"]), "certificate"),
    "alpha too large for the table": (lambda: edited("table", "alpha", to=["3", "4"]), "breaks its alpha"),
    "no mechanism": (lambda: edited("geometric", "mechanism", to=None), "exactly the keys"),
    "an unknown kind": (lambda: edited("geometric", "mechanism", "kind", to="laplace"), "none of geometric"),
    "a kind that is no text": (lambda: edited("geometric", "mechanism", "kind", to=["table"]), "none of"),
    "another kind": (lambda: edited("geometric", "mechanism", "kind", to="explicit fair"), "properties"),
    "a name that is no text": (lambda: edited("table", "mechanism", "name", to=3), "printable"),
    "a name with a control letter": (lambda: edited("table", "mechanism", "name", to="\x1b[2J"), "printable"),
    "a name of half a letter": (
        lambda: json.dumps(content(case("table"))).replace('"name": "table"', '"name": "\\ud83d"').encode(),
        "not Unicode",
    ),
    "total 0": (lambda: edited("table", "mechanism", "total", to="0"), "total is 0"),
    "a negative total": (lambda: edited("table", "mechanism", "total", to="-5"), "digits"),
    "another total": (
        lambda: edited("table", "mechanism", "total", to=lambda t: str(int(t) + 1)),
        "does not sum",
    ),
    "a huge total": (lambda: edited("table", "mechanism", "total", to="9" * 4000), "base64 text"),
    "too few numbers": (lambda: edited("table", "mechanism", "columns", to=lambda c: c[:-4]), "base64 text"),
    "no base64": (lambda: edited("table", "mechanism", "columns", to=lambda c: "?" + c[1:]), "base64 text"),
    "numbers as list": (lambda: edited("table", "mechanism", "columns", to=[1, 2]), "base64 text"),
    "a property too many": (
        lambda: edited("geometric", "properties", to=lambda p: [*p, "F"]),
        "other properties",
    ),
    "a property too few": (
        lambda: edited("geometric", "properties", to=lambda p: p[:-1]),
        "other properties",
    ),
    "properties as text": (lambda: edited("geometric", "properties", to="all"), "other properties"),
    "a better worst ratio": (
        lambda: edited("table", "certificate", "worst_ratio", 0, to=lambda t: str(int(t) - 1)),
        "certificate",
    ),
    "a larger bound": (
        lambda: edited("table", "certificate", "allowed_ratio", 0, to=lambda t: str(int(t) + 1)),
        "certificate",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_files_are_refused_in_one_sentence(kind, tmp_path):
    raw, words = HOSTILE[kind]
    path = tmp_path / "hostile.count.json"
    path.write_bytes(raw())
    with pytest.raises(ValueError, match=words) as error:
        counts.load(path)
    assert "\n" not in str(error.value)
    assert str(error.value).startswith(str(path))


@pytest.mark.parametrize(
    "name", ["groups.json", "groups.ldp.json", ".count.json", "nowhere/groups.count.json"]
)
def test_a_wrong_target_is_refused_and_nothing_is_written(name, tmp_path):
    with pytest.raises(ValueError, match="was given to write"):
        counts.save(case("geometric"), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_what_no_bundle_can_hold_is_refused(tmp_path):
    path = tmp_path / "groups.count.json"
    with pytest.raises(ValueError, match="simpler alpha"):
        counts.save(counts.geometric(3, Fraction(10**4100, 10**4100 + 1)), path)
    large = counts.CountTable(600, Fraction(1, 2), Whole(np.ones((601, 601), object), 601))
    with pytest.raises(ValueError, match="at most 512"):
        counts.save(large, path)
    with pytest.raises(ValueError, match="cannot be read"):
        counts.load(path)


def test_a_loaded_mechanism_draws_from_the_same_numbers(tmp_path):
    mechanism = case("programmed")
    found = counts.load(counts.save(mechanism, tmp_path / "groups.count.json"))
    groups = np.arange(700) % 7
    one, two = (m.simulate(groups, np.random.default_rng(1)) for m in (mechanism, found))
    assert (one == two).all()


def test_an_alpha_that_floating_point_cannot_hold_is_refused():
    extreme = json.dumps(content(counts.ExplicitFair(4, Fraction(1, 10**400)))).encode()
    with pytest.raises(ValueError, match="1e-131"):
        parse(extreme)
