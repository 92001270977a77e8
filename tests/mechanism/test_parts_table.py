"""Tables of parts: bundles of surveys, their clients, and what both refuse."""

import base64
import io
import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from test_client import ALARM, misfit, stream
from test_mechanism import SCHEMA, independent_columns

import stratagem as st
from broken_surveys import broken, shared
from handmade import sealed_text
from mechanisms import SURVEYS, mechanism, shifted, survey
from node import base64_text, run
from stratagem.auditor.independent_check import recheck
from stratagem.estimators import estimator
from stratagem.mechanism import bulk
from stratagem.mechanism.client import Client, certificate, parse
from stratagem.mechanism.mechanism import Mechanism, load_mechanism
from stratagem.mechanism.memo import Memo
from stratagem.mechanism.parts_table import whole_shares

SMALL = SURVEYS[:2]


def places_of(found, count=20, seed=0):
    """Return random user types as coordinates."""
    return np.random.default_rng(seed).integers(0, found.domain.sizes, (count, len(found.domain.sizes)))


def stranger(bundle):
    """Return the largest epsilon of all parts as a ratio, from the description of the format alone."""
    table, sizes = bundle["table"], [attribute["size"] for attribute in bundle["domain"]]
    assert sum(part["share"] for part in table["parts"]) == 2**32
    assert all(part["share"] > 0 for part in table["parts"])
    worst = Fraction(1)
    for part in table["parts"]:
        columns = independent_columns(part["table"], [sizes[i] for i in part["attributes"]])
        assert {sum(column) for column in columns} == {1}
        worst = max(
            [worst, *(Fraction(max(row), min(row)) for row in zip(*columns, strict=True) if max(row))]
        )
    return worst


@pytest.mark.parametrize("case", SURVEYS)
def test_a_bundle_is_read_back_as_it_was_written(case, tmp_path):
    found = mechanism(case)
    read = load_mechanism(found.save(tmp_path / "survey.ldp.json"))
    assert read.text == found.text
    assert parse(found.text) == read.bundle
    assert read.strategy.sizes == found.strategy.sizes
    for one, other in zip(read.strategy.parts, found.strategy.parts, strict=True):
        assert (one.attributes, one.share) == (other.attributes, other.share)
        assert one.strategy.outputs == other.strategy.outputs
    assert sum(part["share"] for part in read.bundle["table"]["parts"]) == 1 << 32


@pytest.mark.parametrize("case", SURVEYS)
def test_the_schema_describes_the_bundle(case):
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.Draft202012Validator(SCHEMA).validate(mechanism(case).bundle)
    wrong = json.loads(shared(-1, 1, 1))
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(wrong)


@pytest.mark.parametrize("case", SMALL)
def test_a_stranger_finds_the_certificate_right(case):
    found = mechanism(case)
    stated, worst = found.bundle["certificate"], stranger(found.bundle)
    assert worst == Fraction(int(stated["worst_high"]), int(stated["worst_low"]))
    assert worst <= Decimal(float(found.epsilon)).exp()
    assert stated["column_total"] == str(1 << 32)
    assert set(stated) == {"exp_epsilon", "column_total", "worst_high", "worst_low"}


@pytest.mark.parametrize("case", SURVEYS)
def test_the_independent_check_agrees_with_the_certificate(case):
    bundle = mechanism(case).bundle
    one = recheck(bundle)
    assert one.holds
    stated = bundle["certificate"]
    assert Fraction(one.high, one.low) == Fraction(int(stated["worst_high"]), int(stated["worst_low"]))


BROKEN = list(broken())
UNSOUND = [raw for why, _, raw in BROKEN if "epsilon" in why or "share" in why or "output" in why]


@pytest.mark.parametrize(("why", "sentence", "raw"), BROKEN, ids=[why for why, *_ in BROKEN])
def test_a_broken_survey_is_refused_by_the_python_client_for_what_is_wrong(why, sentence, raw):
    with pytest.raises(ValueError, match=sentence):
        parse(raw)


def test_broken_surveys_are_refused_on_the_web_and_whole_ones_are_not():
    raws = [mechanism(case).text for case in SURVEYS] + [raw for _, _, raw in BROKEN]
    web = run("parse", bundles=[base64_text(raw) for raw in raws])
    assert web[: len(SURVEYS)] == [None] * len(SURVEYS)
    for (why, *_), sentence in zip(BROKEN, web[len(SURVEYS) :], strict=True):
        assert str(sentence).startswith("RangeError: "), why
        assert "is not a function" not in sentence
        assert len(sentence) < 400


def test_the_independent_check_finds_what_breaks_epsilon_and_shares():
    whole = [
        json.loads(raw)
        for why, _, raw in BROKEN
        if why.endswith("epsilon") or why in ("a negative share", "a share of zero", "an output more")
    ]
    assert len(whole) == 7
    assert not any(recheck(bundle).holds for bundle in whole)


@pytest.mark.parametrize("case", SURVEYS)
def test_a_draw_is_that_of_the_part_that_the_first_four_bytes_say(case):
    """Exactly: the limits of all parts, each followed by a draw of the part's own table from the bytes that follow."""
    found = mechanism(case)
    table, sizes, first, begin = found.bundle["table"], found.domain.sizes, 0, 0
    for k, part in enumerate(table["parts"]):
        own = [found.attributes[i].entry() for i in part["attributes"]]
        alone = Client(found.bundle | {"domain": own, "table": part["table"]}, lambda count: b"")
        for place, number in itertools.product(places_of(found, 5), (begin, begin + part["share"] - 1)):
            left = stream(f"{case}{k}")
            rest = b"".join(left(8) for _ in range(64))
            one = Client(found.bundle, io.BytesIO(number.to_bytes(4, "big") + rest).read)
            drawn = one.sampler.draw(one.user_type(place.tolist()), one._source)
            cell = alone.user_type([int(place[i]) for i in part["attributes"]])
            assert drawn == first + alone.sampler.draw(cell, io.BytesIO(rest).read)
        first, begin = first + part["table"]["outputs"], begin + part["share"]
    assert (first, begin, len(sizes)) == (found.outputs, 1 << 32, len(found.domain.names))


@pytest.mark.parametrize("case", SURVEYS)
def test_part_and_bytes_are_the_same_for_every_answer(case):
    found = mechanism(case)
    client = Client(found.bundle)
    offsets = np.array(found.strategy.offsets)
    for seed in range(40):
        seen = set()
        for place in places_of(found, 12):
            taken, source = [], stream(seed)
            output = client.sampler.draw(
                client.user_type(place.tolist()), lambda count, s=source, t=taken: t.append(count) or s(count)
            )
            seen.add((*taken, int(np.searchsorted(offsets, output, side="right"))))
        assert len(seen) == 1


@pytest.mark.parametrize("case", SMALL)
@pytest.mark.parametrize("how", ["client", "simulated", "many at once"])
def test_reports_come_as_often_as_the_table_says(case, how):
    found, count = mechanism(case), 20_000
    Q, source = found.strategy.dense().matrix, stream(case)
    for cell in (0, found.domain.size - 1):
        place = np.array(np.unravel_index(cell, found.domain.sizes))
        rows = np.tile(place, (count, 1))
        if how == "client":
            client = Client(found.bundle, source)
            user = client.user_type(place.tolist())
            outputs = np.array([client.sampler.draw(user, source) for _ in range(count)])
        elif how == "simulated":
            outputs = found.randomise(rows, np.random.default_rng(cell))
        else:
            outputs = bulk.draw(found, rows, source)
        counts = np.bincount(outputs, minlength=found.outputs)
        assert misfit(counts, Q[:, cell]) > ALARM
        assert misfit(counts, Q[:, found.domain.size // 2]) < ALARM


@pytest.mark.parametrize(
    "change",
    [{"town": 7}, {"town": "x"}, {"age": 131}, {"work": -1}, {"sex": ""}],
    ids=["a town out of range", "a town that is none", "an age", "work", "no sex"],
)
def test_every_value_is_checked_before_any_byte_is_drawn(change):
    """Also of the attributes that no part asks for."""
    found, value = mechanism("survey"), {"age": 20, "sex": "f", "town": 3, "region": 4, "work": 0}

    def nothing(count):
        raise AssertionError("a byte was drawn")

    with pytest.raises(ValueError, match="must be"):
        Client(found.bundle, nothing).randomise(value | change)
    said = run("refusals", bundle=found.text, values=[json.dumps(value | change)])
    assert said[0].startswith("RangeError: ")
    assert "must be" in said[0]


def test_a_value_less_is_refused():
    with pytest.raises(ValueError, match="is asked for"):
        mechanism("survey").client.randomise({"age": 20, "sex": "f", "region": 4, "work": 0})


def test_ten_attributes_and_a_thousand_million_cells_need_nothing_as_large(monkeypatch):
    found = mechanism("large-survey")
    assert found.domain.size == 8**10 > 10**9
    places = places_of(found, 200_000)
    outputs = found.randomise(places, np.random.default_rng(1))
    shares = [one.share for one in found.strategy.parts]
    counts = np.bincount(np.searchsorted(found.strategy.offsets, outputs, side="right") - 1)
    assert misfit(counts, np.array(shares)) > ALARM
    answers = found.estimate(np.bincount(outputs, minlength=found.outputs)).answers
    truth = found.workload.queries
    assert len(answers) == truth
    value = found.value(8**10 - 1)
    assert found.client.randomise(value)["output"] < found.outputs
    with pytest.raises(ValueError, match="too large"):
        found.strategy.dense()


@pytest.mark.parametrize("case", SURVEYS)
def test_rounding_costs_next_to_nothing(case):
    found = mechanism(case)
    assert abs(float(found.utility["loss"])) < 1e-4
    after = estimator(found.strategy).objective(found.workload)
    assert float(found.utility["objective"]) == pytest.approx(after, rel=1e-12)
    assert found.strategy.epsilon <= float(found.epsilon) * (1 + 1e-12)


@pytest.mark.parametrize(
    "shares", [[1.0], [1 / 3] * 3, [0.1] * 10, [1 - 1e-12, 1e-12], [1e-11] * 3 + [1 - 3e-11], [1 / 30] * 30]
)
def test_whole_shares_are_next_to_the_shares_and_never_zero(shares):
    found = whole_shares(np.array(shares))
    assert sum(found) == 1 << 32
    assert min(found) >= 1
    assert np.abs(np.array(found) - np.array(shares) * 2**32).max() <= len(shares)


def test_what_a_survey_cannot_have_is_refused_in_a_sentence():
    found = mechanism("overlapping-survey")
    with pytest.raises(ValueError, match="a prior was given for a survey"):
        Mechanism.of(found.strategy, found.workload, 2.0, prior=np.full(12, 1 / 12))
    with pytest.raises(ValueError, match="repeated reports need rows of exactly two"):
        found.memoised(3.0)
    with pytest.raises(ValueError, match="repeated reports need rows of exactly two"):
        Memo.of(found.table, 3.0)
    prior = base64.b64encode(np.full(12, 1 / 12).tobytes()).decode()
    changed = json.loads(sealed_text(found.bundle | {"prior": prior}))
    with pytest.raises(ValueError, match="a prior was given for a survey"):
        module_of(changed)


def module_of(bundle):
    from stratagem.mechanism.mechanism import _mechanism

    return _mechanism(bundle)


def test_a_part_of_more_epsilon_than_promised_is_refused():
    parts = {
        (0,): (st.published.randomised_response(3, 1.0), 0.5),
        (1,): (st.published.randomised_response(2, 1.1), 0.5),
    }
    with pytest.raises(ValueError, match="above the 1 promised"):
        survey({"a": 3, "b": 2}, parts, 1.0)
    assert survey({"a": 3, "b": 2}, parts, 1.1).strategy.epsilon == pytest.approx(1.1, abs=1e-6)


def test_one_part_is_drawn_as_its_table_alone():
    found = survey({"a": 5}, {(0,): (shifted(5, 1.0), 1.0)})
    assert found.strategy.parts[0].share == 1
    assert math.isclose(found.strategy.epsilon, found.strategy.parts[0].strategy.epsilon)
    assert found.client.randomise(3)["output"] < found.outputs
    assert certificate(found.bundle["table"], found.bundle["epsilon"]) == found.bundle["certificate"]
