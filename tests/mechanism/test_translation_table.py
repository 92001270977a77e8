"""Invariant strategies in whole numbers: the strategy that clients follow, and what does not become a bundle."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import stratagem as st
from mechanisms import TRANSLATES, juntas, mechanism, orbit, some
from stratagem.mechanism import rounding
from stratagem.mechanism.client import HIGH, fingerprint, parse
from stratagem.mechanism.mechanism import Mechanism, load_mechanism
from stratagem.mechanism.rounding import rounded
from stratagem.mechanism.table import TranslationTable

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("case", [*TRANSLATES, "hundred"])
def test_the_certificate_states_what_every_column_sums_to(case):
    """sum_b weight_b (|T_b| 2^52 + (cells_b - |T_b|) low)/cells_b, a fraction in lowest terms."""
    found = mechanism(case)
    table, stated = found.table, found.bundle["certificate"]
    assert sum(table.weights) == 1 << 32
    total = sum(
        Fraction(weight * (one.size * HIGH + (one.cells - one.size) * table.low), one.cells)
        for weight, one in zip(table.weights, table.patterns, strict=True)
    )
    assert (int(stated["column_total"]), int(stated["column_unit"])) == total.as_integer_ratio()
    assert (stated["worst_high"], stated["worst_low"]) == (str(HIGH), str(table.low))


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1, 5, 30])
def test_the_weights_of_reports_survive_rounding(epsilon):
    """Patterns of many sizes: drawn with other chances than reported, rounded to 2^-32."""
    inside = [np.arange(40) < size for size in (1, 5, 20, 39)]
    patterns = tuple(st.strategies.Pattern.of((0,), one) for one in inside)
    weights = np.array([0.5, 0.3, 0.15, 0.05])
    strategy = st.strategies.OrbitStrategy((40,), (40,), patterns, weights, math.exp(epsilon) * (1 - 1e-14))
    table = rounded(strategy, Fraction(repr(epsilon)))
    assert isinstance(table, TranslationTable)
    followed = table.strategy
    assert isinstance(followed, st.strategies.OrbitStrategy)
    assert followed.epsilon <= epsilon * (1 + 1e-12)
    assert followed.ratio == pytest.approx(strategy.ratio, rel=1e-2 if epsilon == 30 else 1e-8)
    # a pattern that holds 39 of 40 is drawn with 1/40 of its chance or more: 2^-32 of that is no more than 1e-7
    np.testing.assert_allclose(followed.weights, weights, rtol=1e-7)


def test_patterns_too_rare_for_32_bits_are_left_out():
    strategy = orbit((7,), (7,), 1.0, patterns=3)
    found = rounded(replace(strategy, weights=np.array([0.7, 0.3 - 1e-12, 1e-12])), Fraction(1))
    assert len(found.patterns) == 2
    assert sum(found.weights) == 1 << 32
    assert found.strategy.outputs == 14


def test_a_junta_over_all_attributes_in_order_is_an_orbit():
    patterns = (st.strategies.Pattern.of((0, 1), some((2, 3), RNG)),)
    strategy = st.strategies.JuntaStrategy((2, 3), ((0,), (1,)), patterns, np.ones(1), 2.0)
    found = Mechanism.of(strategy, st.histogram({"a": 2, "b": 3}), 0.7)
    assert isinstance(found.strategy, st.strategies.OrbitStrategy)
    assert isinstance(mechanism("binary-juntas").strategy, st.strategies.JuntaStrategy)


def refused_strategies():
    hundred = mechanism("hundred").strategy
    yield hundred, st.histogram(4), {}, "about 10\\^30 user types, but its workload has 4"
    yield orbit((6,), (6,), 1.0), st.histogram({"a": 2, "b": 3}), {}, "have other sizes"
    yield orbit((6,), (6,), 1.1), st.histogram(6), {}, "measures epsilon 1.1"
    yield orbit((6,), (6,), 1.0), st.histogram(6), {"prior": np.arange(6)}, "prior was given"
    yield (
        juntas((2,) * 60, (tuple(range(60)),), [(0,)], 1.0),
        st.marginals("2^60", 1),
        {"prior": [1]},
        "prior",
    )


@pytest.mark.parametrize("number", range(5))
def test_what_does_not_become_a_bundle_is_refused(number):
    strategy, workload, options, words = list(refused_strategies())[number]
    with pytest.raises(ValueError, match=words) as error:
        Mechanism.of(strategy, workload, 1.0, **options)
    assert "\n" not in str(error.value)


def test_a_cycle_longer_than_clients_read_is_refused():
    pattern = st.strategies.Pattern((0,), (1 << 23,), np.eye(1, 1 << 20, dtype=np.uint8)[0])
    with pytest.raises(ValueError, match="a cycle of 8388608 points"):
        rounded(st.strategies.OrbitStrategy((5,), (1 << 23,), (pattern,), np.ones(1), 2.0), Fraction(1))


def test_too_many_bytes_of_patterns_are_refused(monkeypatch):
    monkeypatch.setattr(rounding, "LIMIT", 8)
    with pytest.raises(ValueError, match="the patterns take 6 bytes, but a mechanism file holds 4"):
        rounded(orbit((16,), (16,), 1.0, patterns=3), Fraction(1))


def test_a_window_of_several_attributes_alike_has_no_strategy(tmp_path):
    """Clients draw from it, and privately; but nobody could estimate from its reports."""
    bundle = json.loads(mechanism("binary-juntas").text)
    domain = [{"name": entry["name"], "size": 1} for entry in bundle["domain"]]
    bundle |= {"domain": domain, "workload": bundle["workload"] | {"specification": _histogram(domain)}}
    bundle["sha256"] = fingerprint(bundle)
    path = tmp_path / "x.ldp.json"
    path.write_text(json.dumps(bundle))
    parse(path.read_bytes())
    with pytest.raises(ValueError, match="fewer values than their cycles have points"):
        load_mechanism(path)


def _histogram(domain):
    from stratagem.workloads.serial import to_data

    return json.dumps(to_data(st.histogram({entry["name"]: entry["size"] for entry in domain})))
