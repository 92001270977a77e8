"""Surveys whose devices report again and again: the part is drawn once and kept, and all reports are about it alone."""

import hashlib
import io
import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from test_client import ALARM, misfit
from test_mechanism import independent_columns
from test_parts_table import places_of

import stratagem as st
from handmade import sealed_text
from mechanisms import mechanism
from memos import PERMANENT, SURVEYS, Device, survey_of
from node import base64_text
from node import run as run_node
from stratagem.mechanism.client import Client, certificate, load, parse
from stratagem.mechanism.mechanism import load_mechanism

FOUND = cache(survey_of)
SMALL = SURVEYS[:3]


def value_of(found, place):
    """Return the answers to all questions, by name, of a user type given by its coordinates."""
    return found.value(int(np.ravel_multi_index(place, found.domain.sizes)))


def device_law(found, sequence, keeps_part=True):
    """Return for each user type the probability of these reports from one device.

    Without `keeps_part` it draws a part for each report and keeps permanent reports of every part.
    """
    lasting, once = found.memo.permanent_table.strategy, found.strategy
    users, total = np.arange(once.domain_size), np.zeros(once.domain_size)
    laws, offsets = [], once.offsets
    for i, (part, keep) in enumerate(zip(once.parts, found.memo.repeats, strict=True)):
        own, rho = (
            [y - offsets[i] for y in sequence if offsets[i] <= y < offsets[i + 1]],
            part.strategy.dense(),
        )
        rho = rho.lowest / rho.lowest.sum()
        given = np.prod([keep * (np.arange(len(rho)) == y) + (1 - keep) * rho[y] for y in own], axis=0)
        P = lasting.parts[i].strategy.dense().matrix[:, once.cells(part.attributes, users)]
        laws.append((part.share, len(own), given * np.ones(len(rho)) @ P))
    if not keeps_part:
        return np.prod([share**k * law for share, k, law in laws], axis=0)
    for share, k, law in laws:
        total += share * law if k == len(sequence) else 0
    return total


def largest(found, reports, **options):
    """Return the largest log ratio of the probabilities of any reports of one device, by listing all of them."""
    worst = 0.0
    for sequence in itertools.combinations_with_replacement(range(found.outputs), reports):
        law = device_law(found, sequence, **options)
        if law.max() > 0:
            worst = max(worst, math.log(law.max() / law.min()))
    return worst


@pytest.mark.parametrize("reports", [1, 2, 3])
@pytest.mark.parametrize("case", ["two tables", "one of one"])
def test_epsilon_is_that_of_all_sequences_of_reports_of_a_device(case, reports):
    found = FOUND(case)
    exact = largest(found, reports)
    assert found.memo.epsilon(reports) == pytest.approx(exact, rel=1e-9)
    assert exact <= found.memo.epsilon(reports) + 1e-12


@pytest.mark.parametrize("reports", [1, 2])
def test_epsilon_is_that_of_the_worst_part_where_parts_differ(reports):
    found = FOUND("three budgets")
    assert found.memo.epsilon(reports) == pytest.approx(largest(found, reports), rel=1e-9)


def test_a_device_that_draws_a_part_for_each_report_tells_more_than_is_stated():
    """The negative control of the proof: permanent reports alone do not do, the part has to be kept."""
    found = FOUND("two tables")
    assert largest(found, 1, keeps_part=False) == pytest.approx(found.memo.epsilon(1), rel=1e-9)
    law = device_law(found, [0] * 20 + [found.strategy.offsets[1]] * 20, keeps_part=False)
    assert math.log(law.max() / law.min()) > 1.9 * PERMANENT
    assert device_law(found, [0, found.strategy.offsets[1]]).max() == 0  # no honest device sends both


@pytest.mark.parametrize("case", SMALL)
def test_a_stranger_can_check_the_promise_in_ten_lines(case):
    """A permanent table of every part within the permanent epsilon, of which one report is a mixture: all exactly."""
    bundle = json.loads(FOUND(case).text)
    sizes, memo = [one["size"] for one in bundle["domain"]], bundle["memo"]
    for part in bundle["table"]["parts"]:
        own = [sizes[i] for i in part["attributes"]]
        once, lasting = (
            independent_columns(part["table"] | {"low": low}, own)
            for low in (part["table"]["low"], memo["low"])
        )
        rho = [min(row) for row in zip(*once, strict=True)]
        for row in zip(*lasting, strict=True):
            assert max(row) <= min(row) * Fraction(Decimal(memo["epsilon"]["any"]).exp())
        entries = [
            (q, p, r / sum(rho))
            for *columns, r in zip(zip(*once, strict=True), zip(*lasting, strict=True), rho, strict=True)
            for q, p in zip(*columns, strict=True)
        ]
        (alpha,) = {(q - r) / (p - r) for q, p, r in entries if p != r}
        assert 0 < alpha < 1
        assert all(q == alpha * p + (1 - alpha) * r for q, p, r in entries)


@pytest.mark.parametrize("case", SURVEYS)
def test_a_bundle_is_read_back_and_states_what_holds(case, tmp_path):
    found = FOUND(case)
    again = load_mechanism(found.save(tmp_path / "survey.ldp.json"))
    assert again.text == found.text
    assert again.memo.repeats == found.memo.repeats
    assert 0 < again.memo.kept < 1
    assert again.memo.permanent_table.strategy.epsilon <= PERMANENT
    assert again.memo.data["epsilon"]["any"] == str(PERMANENT)
    assert run_node("parse", bundles=[base64_text(found.text)]) == [None]
    values = [found.memo.epsilon(k) for k in (1, 2, 10, 1000)]
    assert values == sorted(values)
    assert values[0] == pytest.approx(float(found.epsilon), abs=1e-8)
    assert values[-1] <= PERMANENT + 1e-9


def with_memo(**change):
    bundle = FOUND("three budgets").bundle
    return sealed_text(bundle | {"memo": bundle["memo"] | change})


def with_columns():
    """A part whose table states every probability by itself, under a memo."""
    bundle, other = json.loads(FOUND("two tables").text), mechanism("overlapping-survey").bundle
    bundle["table"]["parts"][0]["table"] = next(
        one["table"] for one in other["table"]["parts"] if one["table"]["kind"] == "columns"
    )
    bundle["table"]["outputs"] = sum(one["table"]["outputs"] for one in bundle["table"]["parts"])
    bundle["epsilon"] = other["epsilon"]
    return bundle


def highest_low():
    """The lower level of single reports of the part with the largest epsilon: no permanent report can have it."""
    return min(one["table"]["low"] for one in FOUND("three budgets").bundle["table"]["parts"])


WRONG = {
    "no level": with_memo(low=0),
    "a level of one part alone": with_memo(low=highest_low()),
    "a level for more epsilon": with_memo(low=FOUND("three budgets").memo.low // 2),
    "too little for any number": with_memo(
        epsilon=FOUND("three budgets").memo.data["epsilon"] | {"any": "1.9"}
    ),
    "too little for ten": with_memo(epsilon=FOUND("three budgets").memo.data["epsilon"] | {"10": "1.01"}),
    "a level for each part": with_memo(low=[1 << 40] * 3),
}


@pytest.mark.parametrize("why", WRONG)
def test_a_wrong_memo_of_a_survey_is_refused_by_both_clients(why):
    with pytest.raises(ValueError, match="memo") as told:
        parse(WRONG[why])
    assert "\n" not in str(told.value)
    (web,) = run_node("parse", bundles=[base64_text(WRONG[why])])
    assert web.startswith("RangeError: ")
    assert "memo" in web


def test_a_part_of_many_levels_has_no_memo():
    with pytest.raises(ValueError, match="repeated reports need rows of exactly two"):
        mechanism("overlapping-survey").memoised(4.0)
    bundle = with_columns()
    raw = sealed_text(bundle | {"certificate": certificate(bundle["table"], bundle["epsilon"])})
    with pytest.raises(ValueError, match="a memo needs a table of two levels"):
        parse(raw)
    assert "a memo needs a table of two levels" in run_node("parse", bundles=[base64_text(raw)])[0]


@pytest.mark.parametrize("epsilon", [1.0, 0.5, 0.9, math.nan, 37])
def test_the_permanent_epsilon_is_above_that_of_every_part(epsilon):
    with pytest.raises(ValueError, match="epsilon"):
        FOUND("three budgets").memoised(epsilon)


@pytest.mark.parametrize("case", SURVEYS)
def test_both_clients_keep_the_same_memo_and_make_the_same_reports_of_the_same_bytes(case, tmp_path):
    found = FOUND(case)
    for seed in range(4):
        raw = hashlib.shake_256(f"{case} {seed}".encode()).digest(1 << 15)
        folder = tmp_path / str(seed)
        folder.mkdir(mode=0o700)
        client = Client(found.bundle, io.BytesIO(raw).read, folder)
        values = [value_of(found, place) for place in places_of(found, 30)]
        reports = [client.randomise(value) for value in values]
        job = {"bundle": found.text, "stream": raw, "values": [json.dumps(value) for value in values]}
        assert run_node("reports", **job)["reports"] == reports
        assert len({part_of(found, report["output"]) for report in reports}) == 1


def part_of(found, output):
    return int(np.searchsorted(found.strategy.offsets, output, side="right")) - 1


def test_a_device_keeps_its_part_whatever_it_answers_and_however_often_it_starts(tmp_path):
    """Parts of 60 devices by their shares; the memo of a device is written once, and tells no answer."""
    found, parts = FOUND("two tables"), []
    for seed in range(60):
        folder, seen, text = tmp_path / str(seed), set(), None
        folder.mkdir(mode=0o700)
        for start, place in enumerate(places_of(found, 4, seed)):
            device = Device(folder, found.bundle, f"{seed} {start}".encode())
            seen |= {part_of(found, y) for y in device.outputs(value_of(found, place), 8)}
            (kept,) = folder.iterdir()
            text = text or kept.read_text("ascii")
            assert kept.read_text("ascii") == text
        assert len(seen) == 1
        parts += seen
        values = math.prod(found.domain.sizes[i] for i in found.table.parts[parts[-1]].attributes)
        assert {part_of(found, int(y)) for y in text.split()} == seen
        assert len(text.split()) == values
    counts = np.bincount(parts, minlength=2)
    assert misfit(counts, np.array([0.4, 0.6])) > ALARM
    assert misfit(counts, np.array([0.9, 0.1])) < ALARM


def test_permanent_reports_come_as_their_tables_say(tmp_path):
    """Pearson's test over the first permanent report of 4,000 devices; the table of one report must fail."""
    found, counts, folder = FOUND("two tables"), np.zeros(FOUND("two tables").outputs), tmp_path
    device = Device(folder, found.bundle, b"permanent")
    memo, source = device.client._memo, np.random.default_rng(5).bytes
    memo._keep = lambda text: memo.path.write_text(text)
    for _ in range(4000):
        memo.path.unlink(missing_ok=True)
        _, reports = memo._read_or_draw(source)
        counts[reports[0]] += 1
    law, once = (one.dense().matrix[:, 0] for one in (found.memo.permanent_table.strategy, found.strategy))
    assert misfit(counts, law) > ALARM
    assert misfit(counts, once) < ALARM


def broken_memos(found):
    """Return contents that are no memo of the survey: three values of the first part, or four of the second."""
    first, end = found.strategy.offsets[1:3]
    return {
        "a part that does not exist": f"{end} {end} {end} {end}\n",
        "a report beyond the last part": f"{first} {first} {first} {end}\n",
        "two parts": f"0 1 {first}\n",
        "two parts, the last one first": f"{first} 0 0 0\n",
        "values of another part": "0 1 2 0\n",
        "too few values": f"{first} {first} {first}\n",
        "cut off": "0 1 2",
        "nothing": "",
        "a part beside its reports": "0 0 1 2\n",
        "a sign": "0 -1 2\n",
    }


BROKEN = broken_memos(FOUND("two tables"))


@pytest.mark.parametrize("why", BROKEN)
def test_a_damaged_memo_is_refused_by_both_clients(why, tmp_path):
    found = FOUND("two tables")
    path, folder = found.save(tmp_path / "survey.ldp.json"), tmp_path / "anna"
    folder.mkdir(mode=0o700)
    kept = folder / f"{found.identifier}.memo"
    kept.write_text(BROKEN[why])
    kept.chmod(0o600)
    with pytest.raises(ValueError, match="damaged: put back a copy"):
        load(path, memo=folder).randomise({"a": 0, "b": "yes", "c": 1})
    assert kept.read_text() == BROKEN[why]
    whole, told = run_node(
        "memos", bundle=found.text, texts=["0 1 2\n", BROKEN[why]], value='{"a": 0, "b": "yes", "c": 1}'
    )
    assert whole["output"] in range(found.strategy.offsets[1])
    assert told.startswith("RangeError: the memo is damaged")


def test_the_web_client_asks_what_its_memo_keeps_and_refuses_another_part():
    """The form asks for the part first: it is the same after every load, and reports are about no other."""
    found = FOUND("two tables")
    told = run_node("keptParts", bundle=found.text, loads=6, values=['{"a": 1}', '{"b": "no", "c": 0}'])
    (part,) = {one["part"] for one in told}
    assert {part_of(found, one["output"]) for one in told} == {part}
    assert {one["other"] for one in told} == {
        f"RangeError: part {1 - part} was given, but the memo keeps part {part}: ask what that is about"
    }


def test_values_of_a_part_are_limited_and_those_of_the_domain_are_not(tmp_path):
    assert FOUND("large").domain.size > 1 << 29
    assert Client(FOUND("large").bundle, memo=tmp_path)._memo.values == [64, 64, 512, 0]


def score(found, part, w):
    """Return the score of every output for the query w of a part's cells, from the definition alone (section 15)."""
    strategy, mean = found.strategy, w.mean()
    one, (first, end) = strategy.parts[part], strategy.offsets[part : part + 2]
    Q = one.strategy.dense().matrix
    D = np.diag(1 / Q.sum(axis=1))
    r = np.linalg.pinv(Q.T @ D @ Q) @ Q.T @ D
    scores = np.full(strategy.outputs, mean)
    scores[first:end] = mean + (w @ r - mean) / one.share
    return scores


def exact_variance(found, part, w, x, k):
    """Return the variance of the mean of k reports for x users of each type: total variance over what is kept."""
    scores, lasting, once = score(found, part, w), found.memo.permanent_table.strategy, found.strategy
    users, total = np.arange(once.domain_size), 0.0
    for u in users:
        first = second = 0.0
        for i, (one, keep) in enumerate(zip(once.parts, found.memo.repeats, strict=True)):
            own, Q = scores[once.offsets[i] : once.offsets[i + 1]], one.strategy.dense()
            rho = Q.lowest / Q.lowest.sum()
            P = lasting.parts[i].strategy.dense().matrix[:, once.cells(one.attributes, users)[u]]
            for y, p in enumerate(P):
                law = keep * (np.arange(len(rho)) == y) + (1 - keep) * rho
                mean = law @ own
                first += one.share * p * mean
                second += one.share * p * (mean**2 + (law @ own**2 - mean**2) / k)
        total += x[u] * (second - first**2)
    return total


@pytest.mark.parametrize("k", [1, 2, 7, 1000])
@pytest.mark.parametrize("case", SMALL)
def test_variances_of_means_are_those_of_total_variance(case, k):
    """With the expected counts in place of drawn ones, estimated answers and variances are the true ones."""
    found, n = FOUND(case), FOUND(case).domain.size
    x = np.random.default_rng(3).integers(50, 150, n) * 10**8
    counts = np.rint(found.strategy.dense().matrix @ x).astype(np.int64)
    counts[0] += x.sum() - counts.sum()
    answers, at = found.estimate(k * counts, rounds=k), 0
    assert answers.users == x.sum()
    for part, one in enumerate(found.strategy.parts):
        cells = found.strategy.cells(one.attributes, np.arange(n))
        for cell in range(one.strategy.domain_size):
            w = (np.arange(one.strategy.domain_size) == cell).astype(float)
            assert answers.answers[at] == pytest.approx(x[cells == cell].sum(), rel=1e-6)
            exact = exact_variance(
                found, answering(found, answers, at, part), w_of(found, answers, at, part, w), x, k
            )
            stated = answers.standard_errors[at] ** 2
            if (
                answers.evidence.estimator.overlaps
            ):  # of one report each all parts that share attributes answer
                assert stated < exact * (1 + 2e-3)
            else:
                assert stated == pytest.approx(exact, rel=2e-3)
            at += 1


def answering(found, answers, at, part):
    """Return the part that answers a query; where two can, it is the one of the lower variance."""
    return next(one.part for one in answers.evidence.estimator.asked(answers.workload) if at in one.places)


def w_of(found, answers, at, part, w):
    """Return the same query over the cells of the part that answers it."""
    asked = next(one for one in answers.evidence.estimator.asked(answers.workload) if at in one.places)
    return asked.workload.matrix()[list(asked.places).index(at)]


def test_a_mean_as_of_independent_reports_would_state_too_little():
    """The negative control: without the permanent part, and with the part drawn anew, the variance falls as 1/k."""
    found, w = FOUND("two tables"), np.array([1.0, 0, 0])
    x = np.full(found.domain.size, 10)
    assert exact_variance(found, 0, w, x, 1000) > 20 * exact_variance(found, 0, w, x, 1) / 1000


def test_rounds_are_those_of_people_who_took_part_in_all():
    found = FOUND("two tables")
    counts = np.full(found.outputs, 4)
    with pytest.raises(ValueError, match="are not 7 reports per person"):
        found.estimate(counts, rounds=7).raw()
    counts[0] += 2
    counts[-1] += 2  # the total fits, and neither part does
    with pytest.raises(ValueError, match="are not 4 reports per person"):
        found.estimate(counts, rounds=4).raw()
    assert found.estimate(counts, rounds=2).users == counts.sum() // 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("k", [1, 20])
def test_what_is_found_for_repeated_reports_is_within_its_bound(k):
    asked = st.Survey("a=4,b=3,c=2").table("a").table("b", "c").workload
    found = st.optimise(asked, 0.5, constraints=[st.Permanent(PERMANENT, k)], seconds=20)
    made = found.mechanism()
    assert len(made.table.parts) == 2
    assert float(made.epsilon) == 0.5
    assert made.memo.permanent == str(PERMANENT)
    assert found.lower_bound <= found.objective
    assert found.variance_gap < (0.05 if k == 1 else 0.6)
    assert "A device always asks the questions that chance gave it" in str(found)
    assert parse(made.text)["memo"] == made.memo.data
