"""Numbers in a report: a limit is rounded so that it stays true."""

import math
import re

import pytest

from stratagem.bounds import RULES
from stratagem.math.number import (
    above,
    above_minimum,
    at_most,
    below,
    counted,
    odds,
    percent,
    percent_apart,
    upper_percent,
)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.1, 0.6931, 1.0, 1.1, 7.0, 30.0, 300.0])
def test_the_largest_odds_are_never_understated(epsilon):
    """At least e^epsilon, and within 1 % of what it exceeds one by, or of itself."""
    said = float(odds(epsilon).replace(",", ""))
    assert math.exp(epsilon) <= said
    assert said - 1 <= 1.02 * math.expm1(epsilon)


@pytest.mark.parametrize("gap", [1e-12, 1e-6, 0.00052, 0.01904, 0.123456, 1.5])
def test_one_distance_is_one_number(gap):
    assert at_most(gap).removeprefix("at most ").replace("\u00a0", " ") == upper_percent(gap)
    assert above_minimum(gap).startswith(f"{upper_percent(gap)} above")


@pytest.mark.parametrize("name", RULES)
def test_the_description_of_a_bound_leans_on_no_other(name):
    """They stand in a table by name, where "the same" would be that of the row above."""
    assert not re.match("the same|closed,", RULES[name].meaning)


def test_limits_in_per_cent_are_rounded_outwards():
    shown = [percent(0.000549), at_most(0.000549), above(0.7311), below(0.7319), above(0.1), below(0.1)]
    expected = ["0.05 %", "at most 0.06 %", "73.2 %", "73.1 %", "10.0 %", "10.0 %"]
    assert [one.replace("\u00a0", " ") for one in shown] == expected
    assert at_most(1e-6) == percent(1e-6) == "<\u00a00.01\u00a0%"


@pytest.mark.parametrize(
    ("share", "expected"), [(-1e-17, "0.00"), (0.0, "0.00"), (12.345, "1,234"), (1e40, "1e+42")]
)
def test_any_share_can_be_written(share, expected):
    assert percent(share) == f"{expected}\u00a0%"


def test_one_thing_is_not_plural():
    assert [counted(k, "query") for k in (1, 2)] == ["1 query", "2 queries"]
    assert [counted(k, "user type") for k in (1, 3000)] == ["1 user type", "3,000 user types"]


@pytest.mark.parametrize("ratio", [1e-300, 1e-6, 4e-5, 4e-4, 0.001, 0.5, 0.9996, 1.0004, 2.0, 15.0, 1e30])
def test_no_number_is_a_hundred_per_cent_fewer_than_another(ratio):
    said = percent_apart(ratio)
    share = float(said.removeprefix("more than ").removesuffix(" %").replace(",", ""))
    assert share > 0
    assert (share < 100) == (abs(ratio - 1) < 0.9999 or ratio < 1)
    assert share == pytest.approx(100 * abs(ratio - 1), rel=1e-4, abs=0.05)
