"""Devices with memos under audit: honest ones pass, those that draw anew, leak or share their permanent reports fail.

All are seeded, so that they are caught always or never.
"""

import random
import tempfile
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import stratagem as st
from audits import any_order, audit, batch_of, failed, reports_of
from mechanisms import mechanism
from memos import memoised
from stratagem.auditor import device
from stratagem.auditor.device import Seen, _mistaken, device_checks, plan_devices, redrawn
from stratagem.auditor.planning import plan
from stratagem.auditor.runner import Reports, python_devices, web_devices
from stratagem.mechanism import client as shipped
from stratagem.mechanism.client import Client
from tools import need

CASES = {
    "pairs": lambda: memoised("pairs"),
    "cycle": lambda: memoised("cycle"),
    "juntas": lambda: mechanism("mixed-juntas").memoised(2 * float(mechanism("mixed-juntas").epsilon)),
    "many": lambda: st.optimise(st.histogram(32), 0.5).mechanism().memoised(2.0),
}
FOUND = cache(lambda case: CASES[case]())


def devices_of(found, change=lambda client, start: None, again=lambda start: False, seed=0):
    """Devices whose Python client is changed before each start, or loses its memo before it."""
    source = np.random.default_rng(seed).bytes

    def started(rows):
        with tempfile.TemporaryDirectory() as folder:
            made = []
            for start, row in enumerate(rows):
                own = Path(folder, str(start) if again(start) else "memo")
                own.mkdir(exist_ok=True)
                own.chmod(0o700)
                client = Client(found.bundle, source, own)
                change(client, start)
                made.append(reports_of(found, [client.report(cell_of(found, cell)) for cell in row]))
            return made

    return lambda rows: [started(one) for one in rows]


def cell_of(found, number):
    return found.client.user_type([int(place) for place in np.unravel_index(number, found.domain.sizes)])


@pytest.fixture
def few(monkeypatch):
    """So few devices that permanent reports themselves are hardly tested, to save time."""
    monkeypatch.setattr(device, "DEVICES", (16, 16))


def audited(case, devices, seed=0):
    found = FOUND(case)
    return audit(found, any_order(batch_of(found, seed)), seed=seed, samples=500, devices=devices)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", CASES)
@pytest.mark.usefixtures("few")
def test_honest_devices_pass(case, seed):
    one = audited(case, devices_of(FOUND(case), seed=seed), seed)
    assert one.passed, one.failures
    names = [check.name for check in one.checks]
    assert names.count("memo") == one.devices.devices + 1 == 17
    assert {"new devices", "permanent reports", "replaced"} <= set(names)
    assert one.devices.missed < 1e-4
    assert one.devices.error < 1e-9


def test_so_many_devices_are_asked_that_little_is_missed():
    planned = plan_of("pairs")
    assert 100 < planned.devices <= 200
    assert planned.missed < 1e-9
    assert planned.error < 1e-10


def plan_of(case):
    found = FOUND(case)
    return plan_devices(found, plan(found.strategy, range(found.domain.size), 500, 1e-6), 1e-6)


def kept_more(client, _):
    memo = client._memo
    memo.kept = [Fraction(one.numerator * 5 // 4, one.denominator) for one in memo.kept]


def telling(client, _):
    """What replaces the permanent report is drawn for the value."""
    memo = client._memo
    draw, memo.draw = memo.draw, lambda cell, source: aware(memo, draw, cell, source)


def aware(memo, draw, cell, source):
    memo.permanent[0].draw_any = lambda source: memo.permanent[0].draw(cell, source)
    return draw(cell, source)


def favouring(client, _):
    """The permanent report of a value is always one that favours it."""
    sampler = client.sampler
    text = " ".join(str(next(y for y in range(6) if sampler.patterns[y] >> (7 - u) & 1)) for u in range(4))
    client._memo.path.write_text(text + "\n")


def alike(client, _):
    """All devices draw the same permanent reports."""
    client._memo.path.write_text("0 1 2 3\n")


def following(client, _):
    """The permanent report of a value follows from the value, as by a seed that is the same on all devices."""
    memo = client._memo
    drawn = [memo.permanent[0].draw(cell, random.Random(cell).randbytes) for cell in range(memo.values[0])]
    memo.path.write_text(" ".join(map(str, drawn)) + "\n")


WRONG = {
    "a permanent report anew at every start": ({"again": lambda start: True}, {"memo"}),
    "a permanent report repeated too often": ({"change": kept_more}, {"memo"}),
    "a replacement that tells the value": ({"change": telling}, {"replaced"}),
    "a permanent report that always favours": ({"change": favouring}, {"permanent reports"}),
    "one memo for everybody": ({"change": alike}, {"permanent reports", "permanent pairs"}),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("wrong", WRONG)
def test_devices_that_do_not_keep_to_their_memo_fail(wrong):
    changes, names = WRONG[wrong]
    one = audited("pairs", devices_of(FOUND("pairs"), **changes))
    assert not one.passed
    assert names <= failed(one)


@pytest.mark.exhaustive
@pytest.mark.parametrize(("change", "passes"), [(following, False), (lambda client, start: None, True)])
def test_a_permanent_report_that_follows_from_the_value_fails_by_pairs_of_devices_alone(change, passes):
    """Of 32 values the reports fit the table: only that devices agree is wrong. Honest devices are the control."""
    one = audited("many", devices_of(FOUND("many"), change))
    assert failed(one) == (set() if passes else {"permanent pairs"})
    (pairs,) = (check for check in one.checks if check.name == "permanent pairs")
    assert one.devices.shared(pairs.level) < 0.8
    assert one.devices.devices % 2 == 0


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("case", CASES)
def test_devices_without_a_memo_fail(case):
    """Each report is drawn from the table by itself: every other test of the audit passes."""
    found = FOUND(case)
    draw = batch_of(found, 1)
    one = audited(case, lambda rows: [[joined_of(draw, row) for row in one] for one in rows])
    assert "memo" in failed(one)
    assert not failed(one) - {"memo", "permanent reports", "replaced"}


def joined_of(draw, row):
    outputs = np.zeros(len(row), dtype=np.int64)
    for cell in set(row):
        places = np.flatnonzero(np.array(row) == cell)
        outputs[places] = draw(cell, len(places)).outputs
    return Reports(outputs)


@pytest.mark.usefixtures("few")
def test_a_value_in_the_ids_or_a_change_after_many_reports_is_not_seen():
    """What the documents say of every test from outside: the ids are ciphers of the value, or the client waits."""

    def hiding(client, _):
        key, report = np.random.default_rng(5), client.report

        def leaking(cell):
            pad = key.bytes(16)  # whoever has the generator's state reads the value
            return report(cell) | {"id": bytes([pad[0] ^ cell, *pad[1:]]).hex()}

        client.report = leaking

    def waiting(client, _):
        report, asked = client.report, []

        def patient(cell):
            asked.append(cell)
            return report(cell) if len(asked) < 100_000 else {"output": cell}

        client.report = patient

    assert audited("pairs", devices_of(FOUND("pairs"), waiting)).passed
    one = audited("pairs", devices_of(FOUND("pairs"), hiding))
    assert failed(one) <= {"fresh ids"}  # one generator for all devices is the only trace


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("name", ["python", "node"])
def test_the_shipped_clients_pass_on_devices(name, tmp_path):
    """Real randomness: false alarms 1e-6."""
    found = FOUND("pairs")
    if name == "node":
        need("node")
        devices = web_devices(found, found.save(tmp_path / "memo.ldp.json"))
    else:
        devices = python_devices(found)
    one = audited("pairs", devices)
    assert one.passed, one.failures


@pytest.mark.usefixtures("few")
def test_a_copy_of_the_client_that_draws_anew_at_every_start_fails(tmp_path):
    """The control of the test above: the same file with one line changed."""
    text, line = Path(shipped.__file__).read_text("utf-8"), "            if not self.path.exists():\n"
    assert line in text
    anew = text.replace(line, f"            self.path.unlink(missing_ok=True)\n{line}")
    (tmp_path / "client.py").write_text(anew, "utf-8")
    one = audited("pairs", python_devices(FOUND("pairs"), client=tmp_path / "client.py"))
    assert "memo" in failed(one)


def test_devices_are_asked_where_there_is_a_memo_alone():
    with pytest.raises(ValueError, match="has no memo to test"):
        audit(mechanism("labels"), any_order(batch_of(mechanism("labels"), 0)), devices=lambda rows: [])
    one = audited("pairs", None)
    assert one.passed
    assert one.devices is None


@pytest.mark.parametrize("case", CASES)
def test_the_law_of_replacements_is_that_of_the_lower_probabilities(case):
    strategy = FOUND(case).strategy
    low = strategy.dense().lowest
    law = redrawn(FOUND(case).table)
    np.testing.assert_allclose(law.of(np.arange(len(low))), low / low.sum(), rtol=1e-9, atol=1e-15)


def simulated(planned, found, rng, kept):
    """Devices drawn with NumPy, as honest as `kept` is right; without it the second start draws another report."""
    types, law = planned.single.user_types, found.strategy.dense().lowest
    P = found.strategy.dense().matrix - (1 - planned.kept) * (law / law.sum())[:, None]
    places = rng.integers(len(types), size=planned.devices)
    starts = []
    for place in places:
        column = np.maximum(P[:, types[place]], 0)
        y = rng.choice(len(law), 2, p=column / column.sum())
        of = [
            np.where(
                rng.random(planned.reports + 1) < planned.kept,
                y[0 if kept else start],
                rng.choice(len(law), planned.reports + 1, p=law / law.sum()),
            )
            for start in range(2)
        ]
        starts.append([Reports(of[0][1:]), Reports(of[1])])
    return Seen(places, starts)


def test_honest_devices_fail_no_more_often_than_stated(rng):
    """Of the checks of 20 audits at most 5 % fail at a level of 5 %: false alarms of this test 1e-6."""
    found, planned, rounds = FOUND("pairs"), plan_of("pairs"), 20
    values = {
        kept: [device_checks(planned, simulated(planned, found, rng, kept)) for _ in range(rounds)]
        for kept in (True, False)
    }
    own = {kept: np.array([p for _, each in found for _, _, p in each]) for kept, found in values.items()}
    whole = np.array([p for together, _ in values[True] for _, _, p in together])
    assert (own[True] < 0.05).sum() <= binom.isf(5e-7, len(own[True]), 0.05)
    assert (whole < 0.05).sum() <= binom.isf(5e-7, len(whole), 0.05)
    assert (own[False] < 1e-9).mean() > 0.3  # the control: another permanent report in more than half of them


@pytest.mark.parametrize("r", [8, 32, 128])
def test_the_permanent_report_is_mistaken_no_more_often_than_stated(r, rng):
    """False alarms: 1e-6."""
    rho, kept, trials = np.array([0.05] * 4 + [0.2] * 4), 0.3, 2000
    bound = _mistaken(kept, np.array([0.05, 0.2]), np.array([4, 4]), r)
    wrong = 0
    for _ in range(trials):
        y = rng.integers(8)
        counts = rng.multinomial(r - (same := rng.binomial(r, kept)), rho)
        counts[y] += same
        wrong += (counts - r * (1 - kept) * rho).argmax() != y
    assert wrong <= binom.isf(1e-6, trials, bound) if bound < 1 else True
    assert bound < 1 or r < 128
