"""Mechanisms: exact privacy, little lost by rounding, bundles that hold what they promise."""

import base64
import copy
import itertools
import json
import math
import struct
import subprocess
import sys
from fractions import Fraction

import jsonschema
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as draw

import stratagem as st
from handmade import placements
from mechanisms import CASES, mechanism
from stratagem.mechanism import client
from stratagem.mechanism import mechanism as module
from stratagem.mechanism.mechanism import Mechanism, load_mechanism

SCHEMA = json.loads(
    (module.Path(module.__file__).with_name("bundle.schema.json")).read_text(encoding="utf-8")
)


def independent_columns(table, sizes):
    """Return the columns of a table as exact fractions, from the format's description alone."""
    m, n = table["outputs"], math.prod(sizes)
    if table["kind"] == "columns":
        code = "I" if table["bits"] == 32 else "Q"
        flat = struct.unpack(f"<{m * n}{code}", base64.b64decode(table["entries"]))
        return [[Fraction(flat[y * n + u], 2 ** table["bits"]) for y in range(m)] for u in range(n)]
    if table["kind"] == "translates":
        return normalised(independent_translates(table, sizes))
    weights = struct.unpack(f"<{m}I", base64.b64decode(table["weights"]))
    rows, low = base64.b64decode(table["patterns"]), Fraction(table["low"], 2**52)
    width = (n + 7) // 8
    columns = [
        [w * (1 if rows[y * width + u // 8] >> (7 - u % 8) & 1 else low) for y, w in enumerate(weights)]
        for u in range(n)
    ]
    return normalised(columns)


def independent_translates(table, sizes):
    """Return for every user type how often each output is drawn and kept, in units of 2^-32."""
    groups = [[i for i, g in enumerate(table["groups"]) if g == k] for k in range(len(table["groups"]))]
    columns = [[] for _ in itertools.product(*map(range, sizes))]
    for pattern in table["patterns"]:
        cycles = [table["cycles"][groups[g][0]] for g in pattern["axes"]]
        bits = "".join(f"{byte:08b}" for byte in base64.b64decode(pattern["bits"]))
        places = list(placements(pattern["axes"], groups))
        multiples, cells = pattern.get("multiples", 1), math.prod(cycles)
        each = Fraction(pattern["weight"], multiples * len(places) * cells)
        for i, place in itertools.product(range(multiples), places):
            back = pow(pattern.get("root", 1), -i, cells)
            for shift in itertools.product(*map(range, cycles)):
                users = itertools.product(*map(range, sizes))
                if len(table["cycles"]) < len(sizes):  # the cells lie on one cycle
                    users = ([u] for u in range(math.prod(sizes)))
                for column, value in zip(columns, users, strict=True):
                    cell = 0
                    for attribute, step, cycle in zip(place, shift, cycles, strict=True):
                        cell = cell * cycle + (value[attribute] - step) % cycle
                    column.append(
                        each * (1 if bits[cell * back % cells] == "1" else Fraction(table["low"], 2**52))
                    )
    return columns


def normalised(columns):
    assert len({sum(column) for column in columns}) == 1  # kept equally often, whoever draws
    total = sum(columns[0])
    return [[entry / total for entry in column] for column in columns]


@pytest.mark.parametrize("case", CASES)
def test_anybody_can_check_the_privacy_in_ten_lines(case):
    bundle = json.loads(mechanism(case).text)
    columns = independent_columns(bundle["table"], [attribute["size"] for attribute in bundle["domain"]])
    np.testing.assert_allclose(np.array(columns, dtype=float).T, mechanism(case).strategy.dense().matrix)
    epsilon = Fraction(int(bundle["epsilon"][0]), int(bundle["epsilon"][1]))
    exp_epsilon = sum(epsilon**k / math.factorial(k) for k in range(60))  # below exp(epsilon)
    for row in zip(*columns, strict=True):
        assert max(row) <= min(row) * exp_epsilon
    assert all(sum(column) == 1 for column in columns)


@pytest.mark.parametrize("case", CASES)
def test_rounding_costs_next_to_nothing_and_says_so(case):
    found = mechanism(case)
    loss = st.evaluate(found.workload, found.strategy.dense(), found.prior).objective / float(
        found.utility["unrounded"]
    )
    assert loss - 1 <= 1e-5
    assert float(found.utility["loss"]) == pytest.approx(loss - 1, abs=1e-9)
    assert found.strategy.epsilon <= float(found.epsilon) * (1 + 1e-12)


@pytest.mark.parametrize("case", CASES)
def test_a_bundle_follows_its_schema_and_comes_back_the_same(case, tmp_path):
    found = mechanism(case)
    jsonschema.validate(json.loads(found.text), SCHEMA)
    path = found.save(tmp_path / "x.ldp.json")
    again = load_mechanism(path)
    assert again.text == found.text == path.read_bytes()
    assert np.array_equal(again.strategy.dense().matrix, found.strategy.dense().matrix)
    assert np.array_equal(again.workload.gram(), found.workload.gram())
    assert (again.prior is None and found.prior is None) or np.array_equal(again.prior, found.prior)


@pytest.mark.parametrize("baseline", ["randomised_response", "hadamard_response", "hierarchical"])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1, 5, 30, 300])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 37])
def test_every_baseline_becomes_a_mechanism(baseline, n, epsilon):
    W = st.histogram(n)
    found = Mechanism.of(getattr(st.published, baseline)(n, epsilon), W, epsilon)
    assert float(found.utility["loss"]) <= 1e-5
    client.parse(found.text)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1, 5, 30, 300])
@pytest.mark.parametrize("solver", [st.Certified(max_steps=1), st.ProjectedGradient(max_steps=5)], ids=str)
def test_every_solver_makes_mechanisms(solver, epsilon):
    W = st.prefix(7)
    found = Mechanism.of(st.optimise(W, epsilon, solver).strategy, W, epsilon)
    assert float(found.utility["loss"]) <= 1e-5
    client.parse(found.text)


def test_the_bound_on_the_exponential_is_below_it_and_tight():
    for numerator, denominator in [(1, 10**6), (1, 10), (1, 1), (7, 3), (12, 1), (300, 1)]:
        epsilon = Fraction(numerator, denominator)
        exact = sum(epsilon**k / math.factorial(k) for k in range(1200)) * 2**64
        bound = client.exp_below(numerator, denominator)
        assert exact * (1 - Fraction(1, 2**50)) <= bound <= exact


def test_a_strategy_that_breaks_the_promise_is_refused():
    with pytest.raises(ValueError, match=r"measures epsilon 1, above the 0\.9 promised"):
        Mechanism.of(st.published.randomised_response(4, 1.0), st.histogram(4), 0.9)
    with pytest.raises(ValueError, match="measures epsilon inf"):
        Mechanism.of(st.strategies.MatrixStrategy(np.eye(3)), st.histogram(3), 1.0)
    with pytest.raises(ValueError, match="4 user types, but its workload has 5"):
        Mechanism.of(st.published.randomised_response(4, 1.0), st.histogram(5), 1.0)


def test_a_table_that_breaks_the_promise_is_refused_even_without_assertions():
    code = """
import numpy as np, stratagem as st
from fractions import Fraction
from stratagem.mechanism.table import ColumnTable
from stratagem.mechanism.mechanism import Mechanism
table = ColumnTable(np.array([[3, 1], [1, 3]]) << 30, 32)
utility = {"objective": "1", "unrounded": "1", "loss": "0"}
for epsilon in (2, 1):
    try:
        Mechanism(table, Fraction(epsilon), st.histogram(2), "x", utility)
    except ValueError as error:
        print(epsilon, error)
"""
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1 the table breaks its epsilon: do not use it\n"  # 3 <= exp(2), but 3 > exp(1)


def test_what_32_bits_cannot_hold_gets_more():
    """Six thousand outputs at epsilon 10^-6: in units of 2^-32 a row has no room between its two levels."""
    signs = np.where(np.arange(6000) % 2 == 0, 1.0, -1.0)[:, None] * [1.0, -1.0]
    found = Mechanism.of(st.strategies.MatrixStrategy((1 + 4e-7 * signs) / 6000), st.histogram(2), 1e-6)
    assert found.table.bits == 52
    assert float(found.utility["loss"]) <= 1e-5


def test_what_52_bits_cannot_hold_is_kept_as_patterns():
    found = Mechanism.of(st.published.randomised_response(1000, 1e-6), st.histogram(1000), 1e-6)
    assert found.table.kind == "two-level"
    assert float(found.utility["loss"]) <= 1e-5


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (lambda: st.labels("a", "b"), "has 3 user types, but its workload has 2"),
        (lambda: st.labels("a", "b", "b"), "label 'b' was given twice"),
        (lambda: st.bins([0, 1, 1, 2]), "finite numbers, dates or times of day that increase"),
        (lambda: st.bins([0, 1, math.nan, 2]), "the edge nan is not a finite number, date or time"),
        (lambda: st.bins([0, math.inf, 1, 2]), "the edge inf is not a finite number"),
        (
            lambda: st.bins([0, "x", 1, 2]),
            "the edge 'x' is not a finite number, date or time: give such edges",
        ),
        (lambda: st.bins([0, None, 1, 2]), "the edge None is not"),
        (lambda: st.bins([True, 2, 3, 4]), "the edge True is not"),
        (lambda: st.bins([0, 10**500, 1, 2]), "is not a finite number"),
        (
            lambda: st.bins([1, "other"]),
            "the edges 1,other were given, but a bin lies between two: give one more",
        ),
        (lambda: st.bins([0, 1, "other"]), "has 3 user types, but its workload has 2"),
        (lambda: st.bins(["other", 0, 1, 2]), "edges must be finite numbers"),
        (lambda: st.bins([0, "other", 1, 2]), "edges must be finite numbers"),
        (lambda: st.bins([]), "give one more"),
        (lambda: st.bins("0:3"), "neither START:STOP:STEP"),
        (lambda: st.bins(3), "the edges are 3, but must be several"),
        (lambda: st.labels(), "give one or more"),
        (lambda: st.labels("a", 3, "c"), "labels are texts"),
    ],
)
def test_values_that_do_not_fit_are_refused(values, sentence):
    with pytest.raises(ValueError, match=sentence):
        Mechanism.of(st.published.randomised_response(3, 1.0), st.histogram(values()), 1.0)


def edited(bundle, path, value):
    """Return a copy with one entry changed and the hash made right again."""
    changed = copy.deepcopy(bundle)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    changed["sha256"] = client.fingerprint(changed)
    return json.dumps(changed).encode()


@settings(max_examples=300, deadline=None, derandomize=True)
@given(data=draw.data())
def test_an_entry_edited_by_one_unit_is_refused(data):
    bundle = json.loads(mechanism(data.draw(draw.sampled_from(CASES))).text)
    leaves = [leaf for key in ("certificate", "table") for leaf in leaves_of(bundle[key], (key,))]
    path, value = data.draw(draw.sampled_from([leaf for leaf in leaves if leaf[0][-1] != "kind"]))
    step = data.draw(draw.sampled_from([-1, 1]))
    if isinstance(value, int):
        new = value + step
    elif path[-1] in ("weights", "entries", "largest", "smallest", "patterns", "bits"):
        raw = bytearray(base64.b64decode(value))
        place = data.draw(draw.integers(0, len(raw) - 1))
        sets = path[-1] in ("patterns", "bits")
        raw[place] = raw[place] ^ (1 << abs(step) * 3) if sets else (raw[place] + step) % 256
        new = base64.b64encode(bytes(raw)).decode()
    else:
        new = str(int(value) + step)
    with pytest.raises(ValueError, match=r"\w"):
        client.parse(edited(bundle, path, new))


def leaves_of(data, path):
    """Yield every text and number of nested data with its path."""
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from leaves_of(value, (*path, key))
    else:
        yield path, data


def test_a_flipped_bit_of_any_pattern_is_refused():
    bundle = json.loads(mechanism("two-level").text)
    raw = base64.b64decode(bundle["table"]["patterns"])
    weights = struct.unpack(f"<{bundle['table']['outputs']}I", base64.b64decode(bundle["table"]["weights"]))
    for bit in np.random.default_rng(0).choice(8 * len(raw), 200, replace=False):
        flipped = bytearray(raw)
        flipped[bit // 8] ^= 128 >> bit % 8
        if weights[bit // 16] == 0 and bit % 16 < 12:
            continue  # a row that never occurs says nothing
        with pytest.raises(ValueError, match=r"covered|beyond"):
            client.parse(edited(bundle, ("table", "patterns"), base64.b64encode(bytes(flipped)).decode()))


GOOD = mechanism("labels").text
HOSTILE = {
    "empty": (b"", "not plain JSON"),
    "binary": (b"\x80\x81", "not plain JSON"),
    "truncated": (GOOD[:-40], "not plain JSON"),
    "a list": (b"[]", "does not name the format"),
    "deep": (b"[" * 100_000, "nested|not plain|too deep"),
    "a key twice": (GOOD.replace(b'"version": 1', b'"version": 1, "version": 1'), "twice"),
    "another version": (GOOD.replace(b'"version": 1', b'"version": 2'), "has version 2"),
    "a fraction": (GOOD.replace(b'"version": 1', b'"version": 1.0'), "not a whole number"),
    "NaN": (GOOD.replace(b'"version": 1', b'"version": NaN'), "not a whole number"),
    "a truth value": (GOOD.replace(b'"version": 1', b'"version": true'), "has version True"),
    "a huge number": (GOOD.replace(b'"version": 1', b'"version": ' + b"9" * 5000), "not plain JSON"),
    "another hash": (GOOD.replace(b"nein", b"Nein"), "was changed"),
    "too many parts": (b"[" + b"0," * (client.PARTS + 1), "too large"),
    "half a letter": (GOOD.replace(b"nein", b"\\ud800"), "Unicode"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_get_one_sentence(case, tmp_path):
    raw, sentence = HOSTILE[case]
    path = tmp_path / "x.ldp.json"
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=sentence) as error:
        load_mechanism(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("table", "outputs"), 10**9),
        (("table", "outputs"), -1),
        (("table", "outputs"), 3.5),
        (("table", "user_types"), 2**53),
        (("table", "kind"), "pickle"),
        (("table", "kind"), ["columns"]),
        (("table", "bits"), 10**6),
        (("table", "entries"), "A" * 64),
        (("table", "entries"), ""),
        (("table", "entries"), None),
        (("epsilon",), ["1", "0"]),
        (("epsilon",), ["0", "1"]),
        (("epsilon",), ["1e3", "1"]),
        (("epsilon",), ["9" * 401, "1"]),
        (("epsilon",), 1),
        (("epsilon", 0), "1"),
        (("domain",), []),
        (("domain",), [{"name": "a", "size": 3}, {"name": "a", "size": 1}]),
        (("domain", 0, "size"), 4),
        (("domain", 0, "labels"), ["a", "b"]),
        (("domain", 0, "labels"), ["a", "b", 3]),
        (("report",), {}),
        (("certificate",), {}),
        (("prior",), "AAAA"),
        (("prior",), 3),
        (("workload",), None),
        (("workload", "specification"), "{}"),
        (("workload", "specification"), "[" * 50_000),
        (("workload", "name"), 7),
        (("utility", "loss"), "nan"),
        (("utility",), "x"),
        (("utility",), {}),
    ],
    ids=str,
)
def test_a_bundle_with_a_wrong_part_is_refused_even_with_the_right_hash(path, value, tmp_path):
    file = tmp_path / "x.ldp.json"
    file.write_bytes(edited(json.loads(GOOD), path, value))
    with pytest.raises(ValueError, match=r"\w") as error:
        load_mechanism(file)
    assert "\n" not in str(error.value)


def test_a_missing_file_and_a_wrong_suffix_are_said(tmp_path):
    with pytest.raises(ValueError, match="cannot be read"):
        load_mechanism(tmp_path / "none.ldp.json")
    with pytest.raises(ValueError, match=r"suffix must be one of \.ldp\.json"):
        mechanism("labels").save(tmp_path / "x.json")


def test_the_client_needs_the_standard_library_alone(tmp_path):
    """Copied out, without site-packages, in another process, it makes reports that the mechanism knows."""
    copied = tmp_path / "client.py"
    copied.write_bytes(module.Path(client.__file__).read_bytes())
    path = mechanism("edges").save(tmp_path / "x.ldp.json")
    code = f"import client, json; print(json.dumps(client.load({str(path)!r}).randomise(12.5)))"
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    jsonschema.validate(report, mechanism("edges").bundle["report"])
    assert report["mechanism"] == mechanism("edges").identifier[:16]
    assert report["output"] < mechanism("edges").outputs
