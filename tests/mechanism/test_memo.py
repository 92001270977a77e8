"""Repeated reports: against all sequences of reports, what a device keeps, and estimates from several rounds."""

import hashlib
import io
import itertools
import json
import math
import os
import secrets
import stat
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import stratagem as st
from mechanisms import mechanism
from memos import PERMANENT, SMALL, Device, memoised
from node import base64_text, run
from stratagem.domain.attribute import value_of
from stratagem.estimators.best_linear import Averaged
from stratagem.mechanism.client import Client, checked, fingerprint, load, parse, repeated, samplers
from stratagem.mechanism.memo import Memo
from stratagem.mechanism.table import ColumnTable
from stratagem.study.repeated import variances_of_means

STATED = ("10", "100", "1000", "any")


def laws(found):
    """Return the permanent strategy P (m x n), the law rho (m,) of what replaces it, and the strategy of one report."""
    P, Q = (
        table.strategy.dense().matrix for table in (replace(found.table, low=found.memo.low), found.table)
    )
    rho = Q.min(axis=1)
    return P, rho / rho.sum(), Q


def all_sequences(P, rho, alpha, reports):
    """Return the largest log ratio of the probabilities of any reports of one person, by listing all of them."""
    keep, worst = alpha * np.eye(len(P)) + (1 - alpha) * rho, 0.0
    for sequence in itertools.product(range(len(P)), repeat=reports):
        law = np.prod(keep[:, sequence], axis=1) @ P
        worst = max(worst, math.log(law.max() / law.min()))
    return worst


@pytest.mark.parametrize("case", SMALL)
def test_one_report_has_the_probabilities_of_the_table(case):
    found = memoised(case)
    P, rho, Q = laws(found)
    alpha = found.memo.kept
    np.testing.assert_allclose(alpha * P + (1 - alpha) * rho[:, None], Q, atol=1e-15)


@pytest.mark.parametrize("reports", [1, 2, 3, 4])
@pytest.mark.parametrize("case", SMALL)
def test_epsilon_is_that_of_all_sequences(case, reports):
    found = memoised(case)
    P, rho, _ = laws(found)
    exact = all_sequences(P, rho, found.memo.kept, reports)
    assert found.memo.epsilon(reports) == pytest.approx(exact, rel=1e-9)
    assert exact <= found.memo.epsilon(reports) + 1e-12


def test_any_table_is_worst_where_all_reports_are_alike(rng):
    """The step of the proof, for tables of many levels and any law of what replaces the permanent report."""
    for _ in range(20):
        P, rho, alpha = rng.dirichlet(np.ones(4), 3).T, rng.dirichlet(np.ones(4)), rng.uniform(0.1, 0.9)
        grown = 1 + alpha / ((1 - alpha) * rho)
        for k in (1, 2, 4):
            alike = 1 + P * (grown**k - 1)[:, None]
            worst = np.log(alike.max(axis=1) / alike.min(axis=1)).max()
            assert all_sequences(P, rho, alpha, k) == pytest.approx(worst, rel=1e-9)


def test_a_memo_that_is_kept_too_often_breaks_what_is_stated():
    """The negative control: a client that repeats the permanent report more often leaks more than is stated."""
    found = memoised("pairs")
    P, rho, _ = laws(found)
    assert all_sequences(P, rho, found.memo.kept * 1.05, 2) > found.memo.epsilon(2) * 1.01


def test_more_reports_tell_more_up_to_the_permanent_epsilon():
    memo = memoised("pairs").memo
    values = [memo.epsilon(reports) for reports in (1, 2, 3, 10, 100, 10_000)]
    assert values == sorted(values)
    assert values[0] == pytest.approx(0.5, abs=1e-9)
    assert values[-1] == pytest.approx(PERMANENT, abs=1e-9)
    assert values[-1] <= PERMANENT + 1e-9


@pytest.mark.parametrize("case", ["cycle", "window", "mixed-juntas", "multiples", "two-level-small-epsilon"])
def test_a_bundle_states_what_holds_and_is_read_back(case, tmp_path):
    plain = mechanism(case)
    found = plain.memoised(2 * float(plain.epsilon))
    path = found.save(tmp_path / "memo.ldp.json")
    again = st.load_mechanism(path)
    assert (again.identifier, again.memo.low) == (found.identifier, found.memo.low)
    assert again.strategy.epsilon == plain.strategy.epsilon
    stated = checked(path, parse, "*.ldp.json")["memo"]["epsilon"]
    for reports in ("10", "100", "1000"):
        high, low = repeated(*samplers(found.table.data(), found.memo.low), int(reports))
        exact = math.log((high << 64) // low) - 64 * math.log(2)
        assert exact <= float(stated[reports]) + 1e-12
        assert float(stated[reports]) <= min(exact + 2e-6, float(stated["any"]) + 1e-12)


@pytest.mark.parametrize(
    "change",
    [
        {"low": 0},
        {"low": "5"},
        {"low": 1 << 52},
        {"low": 1},
        {"epsilon": {"10": "2.0", "100": "2.0", "1000": "2.0"}},
        *({"epsilon": dict.fromkeys(STATED, text)} for text in ("0.1", "0", "nan", "1e1", "400", 2)),
        {"epsilon": {"10": "0.6", "100": "2.0", "1000": "2.0", "any": "2.0"}},
        {"more": 1},
    ],
)
def test_a_wrong_memo_is_refused_by_both_clients(change):
    bundle = dict(memoised("pairs").bundle)
    bundle["memo"] = dict(bundle["memo"]) | change
    text = json.dumps(bundle | {"sha256": fingerprint(bundle)})
    with pytest.raises(ValueError, match="memo") as told:
        parse(text.encode())
    assert "\n" not in str(told.value)
    assert "memo" in run("parse", bundles=[base64_text(text.encode())])[0]


def test_permanent_reports_are_kept_once_and_tell_nothing_of_the_value(tmp_path):
    bundle, texts = memoised("pairs").bundle, []
    for value in (2, 3):
        folder = tmp_path / str(value)
        folder.mkdir()
        Device(folder, bundle).outputs(value, 5)
        (kept,) = folder.iterdir()
        texts.append((kept.name, kept.read_text("ascii")))
        Device(folder, bundle, b"another process").outputs(0, 50)
        assert [(kept.name, kept.read_text("ascii"))] == texts[-1:]
        if os.name == "posix":
            assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert texts[0] == texts[1]


def test_one_value_has_one_permanent_report_however_it_is_written(tmp_path):
    found = mechanism("mixed-juntas").memoised(2 * float(mechanism("mixed-juntas").epsilon))
    memo, places = Device(tmp_path, found.bundle).client._memo, [1] * len(found.domain.sizes)
    memo.kept = [Fraction(1)]  # every report is the permanent one
    reports = {memo.draw(cell, secrets.token_bytes) for cell in (places, tuple(places)) for _ in range(20)}
    assert reports == {memo.reports[int(np.ravel_multi_index(places, found.domain.sizes))]}


def test_reports_repeat_the_permanent_one_as_often_as_stated(tmp_path):
    """False alarms: 1e-9, by Hoeffding's inequality; twice the share would be seen."""
    found = memoised("pairs")
    reports = 4000
    outputs = np.array(Device(tmp_path, found.bundle).outputs(0, reports))
    (kept,) = tmp_path.iterdir()
    y = int(kept.read_text("ascii").split(" ")[0])
    _, rho, _ = laws(found)
    alpha, room = found.memo.kept, math.sqrt(math.log(2e9) / (2 * reports))
    expected = alpha + (1 - alpha) * rho[y]
    assert abs((outputs == y).mean() - expected) < room
    assert abs(2 * alpha + (1 - 2 * alpha) * rho[y] - expected) > room


@pytest.mark.parametrize("case", ["two-level-large-epsilon", "cycle", "mixed-juntas", "multiples"])
def test_the_web_client_makes_the_same_reports_of_the_same_bytes(case, tmp_path):
    found = mechanism(case).memoised(2 * float(mechanism(case).epsilon))
    raw = hashlib.shake_256(case.encode()).digest(1 << 15)
    client = Client(found.bundle, io.BytesIO(raw).read, tmp_path)
    value = value_of(found.attributes, 1)
    reports = [client.randomise(value) for _ in range(30)]
    assert (
        run("reports", bundle=found.text, stream=raw, values=[json.dumps(value)] * 30)["reports"] == reports
    )


def test_load_asks_for_a_folder_where_one_is_needed(tmp_path):
    found = memoised("pairs")
    path = found.save(tmp_path / "memo.ldp.json")
    once = replace(found, memo=None).save(tmp_path / "once.ldp.json")
    with pytest.raises(ValueError, match="repeated reports: give a folder"):
        load(path)
    with pytest.raises(ValueError, match="single reports: leave memo out"):
        load(once, memo=tmp_path)
    assert "leave memo out" in run("accept", bundle=once.read_bytes(), options=[{"memo": "new Map()"}])[0]
    for wrong in ("{}", "''", "false"):
        assert "is no storage" in run("accept", bundle=path.read_bytes(), options=[{"memo": wrong}])[0]
    with pytest.raises(ValueError, match="is no folder"):
        load(path, memo=tmp_path / "missing")
    with pytest.raises(ValueError, match="epsilon 2, but at most 1 is accepted"):
        load(path, memo=tmp_path, at_most=1)
    assert load(path, memo=tmp_path).randomise(1)["output"] < found.outputs
    assert "give one as memo" in run("accept", bundle=path.read_bytes(), options=[{}])[0]


@pytest.mark.parametrize("epsilon", [0.5, 0.1, 0, -1, math.nan, 37, 301])
def test_a_permanent_epsilon_is_above_that_of_one_report(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        memoised("pairs").memoised(epsilon)


@pytest.mark.parametrize("reports", [0, -1, 1.5, 10_001, "3"])
def test_numbers_of_reports_are_whole(reports):
    with pytest.raises(ValueError, match="number of reports"):
        memoised("pairs").memo.epsilon(reports)


def test_rows_of_many_levels_have_no_memo():
    with pytest.raises(ValueError, match="repeated reports need rows of exactly two"):
        Memo.of(ColumnTable(np.full((2, 2), 1 << 31), 32), 2.0)


def mean_law(found, x, k, rng):
    """Draw the counts of k rounds of users of types x with their memos."""
    P, rho, _ = laws(found)
    counts = np.zeros(len(P), dtype=int)
    for u, users in enumerate(x):
        for y, same in enumerate(rng.multinomial(users, P[:, u] / P[:, u].sum())):
            kept = rng.binomial(k * same, found.memo.kept)
            counts[y] += kept
            counts += rng.multinomial(k * same - kept, rho)
    return counts


def second_moments(found, x, k):
    """Return the exact covariance of the mean reconstruction by the law of total variance over permanent reports."""
    P, rho, Q = laws(found)
    R = np.linalg.pinv(Q.T @ np.diag(1 / Q.sum(axis=1)) @ Q) @ Q.T @ np.diag(1 / Q.sum(axis=1))
    alpha, total = found.memo.kept, np.zeros((len(x), len(x)))
    for u, users in enumerate(x):
        given = alpha * np.eye(len(P)) + (1 - alpha) * rho
        mean = given @ R.T
        inner = sum(
            P[y, u] * (R * given[y]) @ R.T - P[y, u] * np.outer(mean[y], mean[y]) for y in range(len(P))
        )
        outer = (mean.T * P[:, u]) @ mean - np.outer(mean.T @ P[:, u], mean.T @ P[:, u])
        total += users * (inner / k + outer)
    return total


@pytest.mark.parametrize("k", [2, 7, 1000])
@pytest.mark.parametrize("case", ["pairs", "sizes"])
def test_variances_of_means_are_those_of_total_variance(case, k):
    """With the expected counts in place of drawn ones, estimated variances are the true ones."""
    found, x = memoised(case), np.array([400, 300, 200, 100]) * 10**9
    _, _, Q = laws(found)
    counts = np.rint(k * (Q @ x)).astype(np.int64)
    counts[0] += k * x.sum() - counts.sum()
    estimated = found.estimate(counts, st.histogram(4), rounds=k)
    np.testing.assert_allclose(estimated.answers, x, rtol=1e-6)
    np.testing.assert_allclose(
        estimated.covariance(), second_moments(found, x, k), rtol=1e-4, atol=1e-4 * x.sum()
    )
    W = st.histogram(4)
    average = variances_of_means(replace(found, workload=W), [k])[0]
    assert average == pytest.approx(np.trace(second_moments(found, np.ones(4) / 4, k)), rel=1e-9)


def test_a_mean_as_of_independent_reports_would_state_too_little():
    """The negative control: without the permanent part the variance would fall as 1/k."""
    found = memoised("pairs")
    one, many = variances_of_means(found, [1, 1000])
    assert many > 50 * one / 1000


@pytest.mark.exhaustive
def test_intervals_of_means_cover_as_often_as_they_say(rng):
    """False alarms: below 1e-6; intervals of independent reports would cover half as often."""
    found, x, k, repeats = memoised("sizes"), np.array([900, 500, 400, 200]), 20, 400
    covered = narrow = 0
    for _ in range(repeats):
        one = found.estimate(mean_law(found, x, k, rng), st.histogram(4), rounds=k)
        covered += int(((one.low <= x) & (x <= one.high)).sum())
        alone = found.estimate(mean_law(found, x, k, rng), st.histogram(4))
        narrow += int(((alone.low / k <= x) & (x <= alone.high / k)).sum())
    assert covered > 0.92 * 4 * repeats
    assert narrow < 0.85 * 4 * repeats


def test_rounds_are_those_of_people_who_took_part_in_all():
    found = memoised("pairs")
    with pytest.raises(ValueError, match="are not 2 reports per person"):
        found.estimate(np.array([3] + [0] * (found.outputs - 1)), rounds=2)
    with pytest.raises(ValueError, match="devices memoise no answers"):
        replace(found, memo=None).estimate(np.ones(found.outputs, dtype=int), rounds=2)
    with pytest.raises(ValueError, match="number of reports per person"):
        found.estimate(np.ones(found.outputs, dtype=int), rounds=0)


def test_translates_are_listed_for_means():
    found = mechanism("cycle").memoised(2 * float(mechanism("cycle").epsilon))
    estimated = found.estimate(np.full(found.outputs, 4), rounds=2)
    assert isinstance(estimated.evidence.estimator, Averaged)
    assert estimated.users == 2 * found.outputs
    assert found.strategy.listed().lowest.sum() < 1
