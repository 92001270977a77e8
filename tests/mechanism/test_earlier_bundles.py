"""Bundles that an earlier version wrote, one of each kind of table: they load, verify and answer as they did then."""

import json
from pathlib import Path

import pytest

import stratagem as st
from stratagem.auditor.independent_check import recheck
from stratagem.mechanism.client import exp_below, fingerprint

BUNDLES = {
    "two-level": "6f10aa86a398d62dcd080fa76b015866b9d48f72ab03dd519d38994aac0f97f8",
    "translates": "8815f057e1c1f73fd0c5745a8baf0a9a7bed8e2b52d03ed380d1c68c5850ceeb",
    "juntas": "0ff230bfde862b91ee3cf9c1b8f84b4530f34261d621c09fa3f17384bb35c023",
}
"""The identifiers that the earlier version gave."""


def path(name) -> Path:
    return Path(__file__).parent / "bundles" / f"{name}.ldp.json"


@pytest.mark.parametrize("name", BUNDLES)
def test_an_earlier_bundle_loads_verifies_and_has_the_same_accuracy(name, tmp_path):
    stored = json.loads(path(name).read_text("utf-8"))
    mechanism = st.load_mechanism(path(name))
    assert mechanism.identifier == BUNDLES[name] == stored["sha256"]
    assert recheck(stored).holds
    found = st.evaluate(mechanism.workload, mechanism.strategy, mechanism.prior)
    assert found.objective == pytest.approx(float(stored["utility"]["objective"]), rel=1e-9)
    assert mechanism.save(tmp_path / "again.ldp.json").read_bytes() == path(name).read_bytes()


@pytest.mark.parametrize("name", BUNDLES)
def test_an_earlier_bundle_whose_budget_was_lowered_is_refused(name, tmp_path):
    """Negative control: a smaller epsilon is promised, fingerprint and all; only the table itself can tell."""
    stored = json.loads(path(name).read_text("utf-8"))
    high, low = stored["epsilon"]
    lowered = stored | {"epsilon": [str(99 * int(high)), str(100 * int(low))]}
    allowed = exp_below(99 * int(high), 100 * int(low))
    lowered["certificate"] = stored["certificate"] | {"exp_epsilon": str(allowed)}
    lowered["sha256"] = fingerprint(lowered)
    assert not recheck(lowered).holds
    (tmp_path / "lowered.ldp.json").write_text(json.dumps(lowered), "utf-8")
    with pytest.raises(ValueError, match="the table breaks its epsilon"):
        st.load_mechanism(tmp_path / "lowered.ldp.json")
