"""Steps between neighbouring values in bundles: kept in whole numbers, refused by both clients where they are not."""

import json
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

import stratagem as st
from node import base64_text, run
from stratagem.mechanism.client import fingerprint, parse
from stratagem.mechanism.mechanism import Mechanism
from stratagem.solvers.metric import geometric

CASES = {
    "small": np.full(11, 1e-4),
    "even": np.full(15, 0.1),
    "uneven": np.array([0.01, 2.0, 0.3, 1e-4]),
    "two": np.array([3.0]),
    "long": np.full(63, 0.15),
    "large": np.full(7, 4.0),
}


def made(case):
    steps = CASES[case]
    return Mechanism.on_line(geometric(steps), st.prefix(len(steps) + 1), steps.tolist())


def worst(entries, step):
    """Return by how much the logarithms of two columns differ at most, less the step, with forty digits."""
    with localcontext() as context:
        context.prec = 40
        ratios = [max(a, b) / Decimal(min(a, b)) for a, b in zip(*entries, strict=True)]
        return max(ratios).ln() - Decimal(step)


@pytest.mark.parametrize("case", CASES)
def test_whole_numbers_keep_to_every_step_and_cost_nothing(case):
    found, steps = made(case), CASES[case]
    columns = found.table.entries.T.tolist()
    assert {sum(column) for column in columns} == {1 << 52}
    for pair, step in zip(pairwise(columns), found.steps, strict=True):
        assert worst(pair, step) <= 0
    assert list(map(float, found.steps)) == steps.tolist()
    assert found.epsilon == sum(map(Fraction, found.steps))
    assert abs(float(found.utility["loss"])) < 1e-6


@pytest.mark.parametrize("case", ["even", "uneven", "two"])
def test_a_bundle_is_read_back_and_both_clients_take_it(case, tmp_path):
    found = made(case)
    again = st.load_mechanism(found.save(tmp_path / "near.ldp.json"))
    assert (again.identifier, again.steps) == (found.identifier, found.steps)
    assert run("parse", bundles=[base64_text(found.text)]) == [None]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (["0.1"] * 14, "one for each pair"),
        (["0.1"] * 16, "one for each pair"),
        ([], "no list|one for each pair"),
        ("0.1", "no list|one for each pair"),
        (["0.1"] * 14 + ["0.0999999"], "breaks its steps"),
        (["0.0999999"] + ["0.1"] * 14, "breaks its steps"),
        *(
            (["0.1"] * 14 + [step], "no number up to 300")
            for step in ("0", "nan", "-0.1", "1e-1", "301", 0.5)
        ),
    ],
)
def test_wrong_steps_are_refused_by_both_clients(steps, words):
    bundle = dict(made("even").bundle) | {"steps": [step if isinstance(step, str) else 1 for step in steps]}
    if isinstance(steps, str):
        bundle["steps"] = steps
    raw = json.dumps(bundle | {"sha256": fingerprint(bundle)}).encode()
    with pytest.raises(ValueError, match=words) as told:
        parse(raw)
    assert "\n" not in str(told.value)
    (web,) = run("parse", bundles=[base64_text(raw)])
    assert web.startswith("RangeError: ")


def test_two_attributes_are_no_line():
    bundle = dict(made("even").bundle) | {"domain": [{"name": "a", "size": 4}, {"name": "b", "size": 4}]}
    raw = json.dumps(bundle | {"sha256": fingerprint(bundle)}).encode()
    with pytest.raises(ValueError, match="a domain of one attribute"):
        parse(raw)
    assert "a domain of one attribute" in run("parse", bundles=[base64_text(raw)])[0]


def test_a_table_of_two_levels_has_no_steps():
    found = st.optimise(st.prefix(4), 1.0).mechanism()
    bundle = dict(found.bundle) | {"steps": ["1", "1", "1"]}
    with pytest.raises(ValueError, match="one for each pair of neighbouring columns"):
        parse(json.dumps(bundle | {"sha256": fingerprint(bundle)}).encode())


def test_a_strategy_that_breaks_a_step_is_refused():
    """The negative control: columns in another order keep the plain epsilon and break the steps."""
    steps = CASES["even"]
    shuffled = st.strategies.MatrixStrategy(
        geometric(steps).matrix[:, np.random.default_rng(1).permutation(16)]
    )
    with pytest.raises(ValueError, match="does not fit into whole numbers"):
        Mechanism.on_line(shuffled, st.prefix(16), steps.tolist())
    with pytest.raises(ValueError, match="user types"):
        Mechanism.on_line(geometric(steps), st.prefix(9), steps.tolist())
    with pytest.raises(ValueError, match="a domain of one attribute"):
        Mechanism.on_line(geometric(steps), st.total({"a": 4, "b": 4}), steps.tolist())
