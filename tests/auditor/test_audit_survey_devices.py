"""Devices with memos of surveys under audit: honest ones keep their part, and those that do not are caught.

All are seeded, so that they are caught always or never.
"""

from functools import cache, partial

import numpy as np
import pytest
from test_audit_devices import devices_of

from audits import any_order, audit, batch_of, failed
from memos import survey_of
from stratagem.auditor import device
from stratagem.auditor.device import plan_devices, redrawn
from stratagem.auditor.planning import plan
from stratagem.auditor.runner import python_devices, web_devices
from tools import need

FOUND = cache(survey_of)


@pytest.fixture
def few(monkeypatch):
    """So few devices that permanent reports themselves are hardly tested, to save time."""
    monkeypatch.setattr(device, "DEVICES", (16, 16))


def audited(case, devices, seed=0):
    found = FOUND(case)
    return audit(found, any_order(batch_of(found, seed)), seed=seed, samples=500, devices=devices)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", ["two tables", "three budgets", "one of one"])
@pytest.mark.usefixtures("few")
def test_honest_devices_pass(case, seed):
    one = audited(case, devices_of(FOUND(case), seed=seed), seed)
    assert one.passed, one.failures
    assert {"new devices", "permanent reports", "memo", "replaced"} <= {check.name for check in one.checks}
    assert one.devices.missed < 1e-3
    assert one.devices.error < 1e-9


def another_part(client, _):
    """A part is drawn for each report, with permanent reports of every part that are kept."""
    memo, memos = client._memo, {}

    def draw(cell, source):
        memo.reports = memo.reports[:0]
        memo.path.unlink(missing_ok=True)
        number, reports = memo._read_or_draw(source)
        memo.number, memo.reports = number, memos.setdefault(number, reports)
        return type(memo).draw(memo, cell, source)

    memo.draw = draw


def part_by_start(client, start):
    """Every start has a part of its own, and permanent reports that last as long as the part does."""
    client._memo.any = [0] if start else [1 << 32]
    client._memo.path.unlink(missing_ok=True)


def kept_more(client, _):
    """A permanent report is repeated as often as the part with the larger probability allows, in all of them."""
    client._memo.kept = [max(client._memo.kept)] * len(client._memo.kept)


def telling(client, _):
    """What replaces the permanent report is drawn for the value."""
    memo = client._memo
    draw = memo.draw

    def aware(cell, source):
        for one, own in zip(memo.permanent, cell, strict=True):
            one.draw_any = partial(one.draw, own)
        return draw(cell, source)

    memo.draw = aware


WRONG = {
    "permanent reports anew at every start": ("two tables", {"again": lambda start: True}, {"memo"}),
    "a part for each report": ("two tables", {"change": another_part}, {"memo"}),
    "a part for each start": ("two tables", {"change": part_by_start}, {"memo"}),
    "reports of one part repeated too often": ("three budgets", {"change": kept_more}, {"memo"}),
    "a replacement that tells the value": ("three budgets", {"change": telling}, {"replaced"}),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.usefixtures("few")
def test_devices_that_do_not_keep_to_their_memo_fail(wrong):
    case, changes, names = WRONG[wrong]
    one = audited(case, devices_of(FOUND(case), **changes))
    assert not one.passed
    assert names <= failed(one)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("name", ["python", "node"])
def test_the_shipped_clients_pass_on_devices(name, tmp_path):
    """Real randomness: false alarms 1e-6."""
    found = FOUND("two tables")
    if name == "node":
        need("node")
        devices = web_devices(found, found.save(tmp_path / "memo.ldp.json"))
    else:
        devices = python_devices(found)
    one = audited("two tables", devices)
    assert one.passed, one.failures


def test_the_law_of_replacements_is_that_of_the_lower_probabilities_of_each_part():
    found = FOUND("three budgets")
    law, offsets = redrawn(found.table), found.strategy.offsets
    for i, part in enumerate(found.strategy.parts):
        outputs, low = np.arange(*offsets[i : i + 2]), part.strategy.dense().lowest
        np.testing.assert_allclose(law.of(outputs), low / low.sum(), rtol=1e-9, atol=1e-15)
        assert set(law.part(outputs)) == {i}


def test_what_a_replacement_favours_is_known_for_each_part():
    """By the tables themselves: rho of the favoured outputs of a part."""
    found = FOUND("two tables")
    planned = plan_devices(found, plan(found.strategy, range(found.domain.size), 500, 1e-6), 1e-6)
    law = planned.redrawn
    for i in range(len(found.strategy.parts)):
        outputs = np.arange(*found.strategy.offsets[i : i + 2])
        for place, favoured in enumerate(planned.single.favoured):
            expected = law.of(outputs)[favoured.holds(outputs)].sum()
            assert planned.favoured[i, place] == pytest.approx(expected, abs=1e-6)
