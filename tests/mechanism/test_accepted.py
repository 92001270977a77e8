"""Clients refuse a bundle of more epsilon than they were told to accept, and one of another hash."""

import os
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import stratagem as st
from commands import run as command
from handmade import bundle_of, text_of, two_level
from mechanisms import mechanism
from node import WEB, run
from stratagem.mechanism.client import CEILING, Client, accepted, load

OURS, OTHERS = mechanism("labels").identifier, mechanism("edges").identifier


def fair(numerator, denominator):
    """Return the bundle of a table of two rows of equal entries that promises an epsilon."""
    return bundle_of(two_level(np.zeros((2, 3)), [1 << 31] * 2, 1 << 52), (numerator, denominator))


CASES = {
    "the default": ((10, 1), {}, None),
    "above the default": ((101, 10), {}, "has epsilon 10.1, but at most 10 is accepted: use another, or say"),
    "just above the default": ((10**16 + 1, 10**15), {}, "has epsilon 10, but at most 10 is accepted"),
    "the highest": ((300, 1), {"at_most": 300}, None),
    "equal in decimals": ((3, 10), {"at_most": 0.3}, None),
    "above in decimals": ((3 * 10**20 + 1, 10**21), {"at_most": 0.3}, "at most 0.3 is accepted"),
    "a third": ((1, 3), {"at_most": 0.3333333333333333}, "but at most 0.333333333333333 is accepted"),
    "small": ((1, 10**8), {"at_most": 1e-8}, None),
    "smaller": ((1, 10**8), {"at_most": 9.9e-9}, "has epsilon 1e-08, but at most 9.9e-09 is accepted"),
    "large": ((1, 1), {"at_most": 1e300}, None),
    "long digits": ((10**399, 10**399), {"at_most": 1}, None),
    "nothing": ((1, 1), {"at_most": 0}, "has epsilon 1, but at most 0 is accepted"),
    "not a number": ((1, 1), {"at_most": float("nan")}, "must be a number"),
    "infinite": ((1, 1), {"at_most": float("inf")}, "must be a number"),
    "text": ((1, 1), {"at_most": "much"}, "must be a number"),
    "a fraction of nothing": ((1, 1), {"at_most": "1/0"}, "must be a number"),
    "digits as of code": ((1, 1), {"at_most": "1_0"}, "must be a number"),
    "an exponent without end": ((1, 1), {"at_most": "1e999999999"}, "must be a number"),
    "another hash": ((1, 1), {"sha256": OTHERS}, f"but '{OTHERS}' is asked for"),
    "half a hash": ((1, 1), {"sha256": OTHERS[:32]}, "is asked for"),
    "an empty hash": ((1, 1), {"sha256": ""}, "is asked for"),
}
IN_JAVASCRIPT = {"nan": "NaN", "inf": "Infinity"}


@pytest.mark.parametrize("name", CASES)
def test_both_clients_accept_the_same(name, tmp_path):
    epsilon, options, refusal = CASES[name]
    bundle = fair(*epsilon)
    path = tmp_path / "b.ldp.json"
    path.write_bytes(text_of(bundle))
    texts = {key: IN_JAVASCRIPT.get(repr(value), repr(value)) for key, value in options.items()}
    asked = {{"at_most": "atMost"}.get(key, key): text for key, text in texts.items()}
    (web,) = run("accept", bundle=text_of(bundle), options=[asked])
    if refusal is None:
        assert load(path, **options).epsilon == Fraction(*epsilon)
        assert web == pytest.approx(float(Fraction(*epsilon)), rel=1e-15)
        return
    with pytest.raises(ValueError, match=re.escape(refusal)) as refused:
        load(path, **options)
    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)
    said = str(refused.value).removeprefix(f"{path}: ").replace("at_most", "atMost").replace("'", '"')
    if "must be a number" in refusal:
        assert web.startswith("RangeError: atMost is ")
    else:
        assert re.sub(r"e-0", "e-", said) == web.removeprefix("RangeError: ")


def test_a_pipe_is_no_bundle(tmp_path):
    os.mkfifo(tmp_path / "x.ldp.json")
    with pytest.raises(ValueError, match="is a device, a pipe or a socket: name a mechanism file"):
        load(tmp_path / "x.ldp.json")


def test_the_hash_that_is_asked_for_is_accepted(tmp_path):
    path = mechanism("labels").save(tmp_path / "x.ldp.json")
    assert load(path, sha256=OURS).identifier == OURS
    assert run("accept", bundle=mechanism("labels").text, options=[{"sha256": repr(OURS)}]) == [1.5]


def test_the_ceiling_is_one_number_in_both_languages():
    text = Path(WEB / "bundle.js").read_text("utf-8")
    assert re.findall(r"export const CEILING = (\d+);", text) == [str(CEILING)]


def test_a_client_knows_its_epsilon_and_servers_have_no_ceiling(tmp_path):
    bundle = mechanism("two-level-huge-epsilon")
    path = bundle.save(tmp_path / "x.ldp.json")
    again = st.load_mechanism(path)
    assert st.load_mechanism(path, at_most=300).client.epsilon == 300
    assert Client(again.bundle).epsilon == 300
    with pytest.raises(ValueError, match="at most 10 is accepted"):
        accepted(again.bundle)


REFUSED = "the mechanism file has epsilon 12, but at most 10 is accepted: use another, or say at_most=12"


def test_the_client_of_a_mechanism_has_the_ceiling_of_every_client(tmp_path):
    """What is read to count and to simulate goes on; a ceiling is no part of the file."""
    solution = st.optimise(st.histogram(4), 12.0)
    path = solution.mechanism().save(tmp_path / "big.ldp.json")
    made, read = solution.mechanism(), st.load_mechanism(path)
    for refused in (made, read, solution.mechanism(at_most=11.9), st.load_mechanism(path, at_most=11.9)):
        stated = REFUSED.replace("at most 10 ", f"at most {refused.at_most:g} ")
        with pytest.raises(ValueError, match=f"^{re.escape(stated)}$"):
            refused.client.randomise(3)
    said = [solution.mechanism(at_most=12), st.load_mechanism(path, at_most=12.0), made.accepting(12)]
    assert all(0 <= one.client.randomise(3)["output"] < one.outputs for one in said)
    assert {one.identifier for one in said} == {made.identifier}
    outputs = read.randomise(np.arange(4), np.random.default_rng(0))
    assert read.estimate(np.bincount(outputs, minlength=read.outputs)).users == 4
    with pytest.raises(ValueError, match="must be a number"):
        _ = st.load_mechanism(path, at_most=float("nan")).client


def test_all_reports_of_a_memo_are_held_against_the_ceiling():
    found = st.optimise(st.histogram(4), 0.5).mechanism().memoised(10.5)
    with pytest.raises(ValueError, match=re.escape("has epsilon 10.5, but at most 10 is accepted")):
        _ = found.client
    assert found.accepting(10.5).client.permanent == Fraction(21, 2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"atmost": "0.5"}, 'load has no option "atmost": give atMost, sha256 or memo'),
        ({"sha": repr(OURS)}, 'load has no option "sha": give atMost, sha256 or memo'),
        ({"atMost": "300", "at_most": "1"}, 'load has no option "at_most": give atMost, sha256 or memo'),
    ],
)
def test_the_web_client_refuses_options_that_it_does_not_know(options, said):
    assert run("accept", bundle=mechanism("labels").text, options=[options]) == [f"RangeError: {said}"]


@pytest.mark.parametrize("text", ["undefined", "null", "1"])
def test_the_web_client_refuses_a_sha256_that_is_no_text(text):
    """A page that lost the digits of its file would take any other."""
    (web,) = run("accept", bundle=mechanism("labels").text, options=[{"sha256": text}])
    assert web == f"RangeError: the sha256 asked for is {text}: give its 64 digits, or leave sha256 out"


@pytest.mark.parametrize("text", ["0.5", "null", '"atMost"', "[1]"])
def test_the_web_client_refuses_options_that_are_no_object(text):
    (said,) = run("options", bundle=mechanism("labels").text, texts=[text])
    assert said == f"RangeError: {text} was given as options: give an object such as {{ atMost: 1 }}"


COMMANDS = {
    "as it is": ("edges", [], ""),
    "less": (
        "edges",
        ["--at-most", "0.5"],
        "has epsilon 1, but at most 0.5 is accepted: use another, or say --at-most 1",
    ),
    "more": ("edges", ["--at-most", "1"], ""),
    "huge": ("two-level-huge-epsilon", [], "has epsilon 300, but at most 10 is accepted"),
    "huge on purpose": ("two-level-huge-epsilon", ["--at-most", "300"], ""),
    "no number": ("edges", ["--at-most", "nan"], "must be a number"),
    "its hash": ("edges", ["--sha256", OTHERS], ""),
    "another hash": ("edges", ["--sha256", OURS], "is asked for"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_accepts_the_same(name, capsys, tmp_path):
    case, options, refusal = COMMANDS[name]
    path = mechanism(case).save(tmp_path / "x.ldp.json")
    status, out, err = command(capsys, "randomise", path, "--value", "3", *options)
    assert (status, out == "") == ((2, True) if refusal else (0, False))
    assert refusal in err
    assert err.count("\n") == bool(refusal)
