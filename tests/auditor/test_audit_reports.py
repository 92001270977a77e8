"""Audits of files of reports that foreign clients made of known values; every seed is fixed."""

import csv
import io
import json
import os

import duckdb
import numpy as np
import pytest

import stratagem as st
from audits import failed
from commands import assert_refused, plain, run
from mechanisms import mechanism
from stratagem.auditor import runner
from stratagem.auditor.known import read_known
from stratagem.domain.attribute import value_of
from stratagem.mechanism.client import Client

COUNT = 6000


def rows_of(case, seed=0, lie=None, named=False):
    """Rows of values by attribute, and the reports of a client with a repeatable source."""
    found, rng = mechanism(case), np.random.default_rng(seed)
    client, attributes = Client(found.bundle, rng.bytes), found.attributes
    rows, cells = [], rng.integers(0, found.domain.size, COUNT).tolist()
    for cell in cells:
        value = value_of(attributes, cell)
        report = client.randomise(value)
        if lie is not None:
            report["output"] = lie(cell, report["output"])
        row = value if len(attributes) > 1 else {attributes[0].name: value}
        rows.append(dict(row) | (report if named else {"output": report["output"]}))
    return cells, rows


def written(path, rows):
    match path.suffix:
        case ".csv":
            with path.open("w", newline="", encoding="utf-8") as file:
                table = csv.DictWriter(file, list(rows[0]))
                table.writeheader()
                table.writerows(rows)
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        case _:
            lines = path.with_suffix(".jsonl")
            written(lines, rows)
            duckdb.sql(f"COPY (FROM read_json('{lines}')) TO '{path}' (FORMAT parquet)")
    return path


@pytest.mark.sampled(26, 3)
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("case", ["randomised", "labels", "edges", "several-attributes", "mixed-juntas"])
@pytest.mark.parametrize("named", [False, True])
def test_values_are_read_as_the_client_takes_them(tmp_path, case, suffix, named):
    cells, rows = rows_of(case, named=named)
    known = read_known(written(tmp_path / f"[a]*.{suffix}", rows), mechanism(case))
    assert known.user_types == cells
    assert known.outputs.tolist() == [row["output"] for row in rows]
    assert (known.ids is not None) == named
    one = st.auditor.audit_reports(mechanism(case), known.user_types, known.outputs, ids=known.ids)
    assert one.passed, one.failures
    assert ("id bytes" in {check.name for check in one.checks}) == named
    assert one.seed is None


def test_the_command_passes_an_honest_file_and_fails_a_lying_one(capsys, tmp_path):
    bundle = mechanism("randomised").save(tmp_path / "b.ldp.json")
    honest = written(tmp_path / "honest.csv", rows_of("randomised")[1])
    status, out, err = run(capsys, "audit", bundle, "--reports", honest)
    assert (status, err) == (0, "")
    assert "foreign client: passed" in out
    assert "reports of each of the 6 user types, all that there are\n" in out
    liar = written(tmp_path / "liar.csv", rows_of("randomised", lie=lambda u, y: u if u == 2 else y)[1])
    status, out, err = run(capsys, "audit", bundle, "--reports", liar, "--json")
    assert (status, err) == (1, "")
    one = json.loads(out)["clients"]["foreign"]
    assert not one["passed"]
    assert {check["user_type"] for check in one["checks"] if not check["passed"]} >= {2}
    assert one["seed"] is None


def test_user_types_by_number_and_strange_outputs(tmp_path):
    found = mechanism("randomised")
    cells, rows = rows_of("randomised", named=True)
    numbered = [{"user_type": cell} | row for cell, row in zip(cells, rows, strict=True)]
    for row in numbered:
        del row[found.domain.names[0]]
    edits = [
        {"output": 6},
        {"output": -1},
        {"output": 1.5},
        {"output": None},
        {"id": "00"},
        {"mechanism": "0" * 16},
    ]
    edited = [row | edit for row, edit in zip(numbered, edits, strict=False)] + numbered[len(edits) :]
    known = read_known(written(tmp_path / "x.jsonl", edited), found)
    assert known.user_types == cells
    assert (known.outputs < 0).nonzero()[0].tolist() == [*range(len(edits))]
    assert failed(st.auditor.audit_reports(found, known.user_types, known.outputs, ids=known.ids)) == {
        "schema"
    }


def known_to(path, rows, case="randomised"):
    """What the audit of a file of rows says: the checks by name, whether they passed, and the object of the command."""
    known = read_known(written(path, rows), mechanism(case))
    one = st.auditor.audit_reports(mechanism(case), known.user_types, known.outputs, ids=known.ids)
    return known, {check.name: check.passed for check in one.checks if check.user_type is None}, one


TESTS = {"outputs", "event share", "independence"}
FORMS = {
    "another key": ({"secret": 1}, ("secret",), True),
    "keys": ({"secret": 1, "cell": 2}, ("secret", "cell"), True),
    "another mechanism": ({"mechanism": "0" * 16}, (), True),
    "no output": ({"output": "y"}, (), True),
    "one id": ({"output": "y", "id": "1" * 32}, (), False),
    "one id of reports in form": ({"id": "1" * 32}, (), False),
    "no ids": ({"id": "secret"}, (), None),
}
"""What every row says instead, the keys that no report has, and whether the ids are fresh; None if no id came."""


@pytest.mark.parametrize("case", FORMS)
def test_of_reports_in_another_form_the_ids_alone_are_tested(tmp_path, case):
    """Random bytes of a seeded generator; ids of one value alone fail."""
    edit, unknown, fresh = FORMS[case]
    rows = [row | edit for row in rows_of("randomised", named=True)[1]]
    known, passed, one = known_to(tmp_path / "x.jsonl", rows)
    assert known.unknown == unknown
    in_form = case == "one id of reports in form"
    assert one.tested == passed["schema"] == in_form
    assert one.malformed == (0 if in_form else COUNT)
    assert passed.get("fresh ids") == passed.get("id bytes") == fresh
    assert (TESTS <= passed.keys()) == in_form
    assert not TESTS & passed.keys() or in_form
    assert bool(one.evidence) == in_form


def test_the_command_names_what_no_report_has_and_what_was_not_tested(capsys, tmp_path):
    bundle = mechanism("randomised").save(tmp_path / "b.ldp.json")
    named, bare = (rows_of("randomised", named=named)[1] for named in (True, False))
    status, out, _ = run(capsys, "audit", bundle, "--reports", written(tmp_path / "bare.csv", bare))
    assert status == 0
    assert "the form of id and mechanism is not tested: no row has it" in plain(out)
    secret = written(tmp_path / "secret.jsonl", [row | {"secret\x1b": row["value"]} for row in named])
    status, out, _ = run(capsys, "audit", bundle, "--reports", secret)
    assert status == 1
    assert "no report has the key 'secret\\x1b': a row that does has another form" in plain(out)
    assert "no report has the form that the bundle describes: outputs and epsilon are not tested" in plain(
        out
    )
    assert "prove an epsilon" not in out
    assert "is missed" not in out
    status, out, _ = run(capsys, "audit", bundle, "--reports", secret, "--json")
    found = json.loads(out)
    assert (found["unknown_columns"], found["absent_columns"]) == (["secret\x1b"], [])
    assert found["clients"]["foreign"]["epsilon_lower_bound"] is None
    some = written(tmp_path / "some.jsonl", [row | {"secret": 1} for row in named[:7]] + named[7:])
    _, out, _ = run(capsys, "audit", bundle, "--reports", some)
    assert "7 reports have another form than the bundle describes: of these, ids alone are tested" in plain(
        out
    )
    assert "prove an epsilon" in out


@pytest.mark.parametrize("name", ["id", "mechanism"])
def test_a_column_that_some_rows_lack_is_no_form(tmp_path, name):
    rows = rows_of("randomised", named=True)[1]
    del rows[0][name]
    known, passed, one = known_to(tmp_path / "x.jsonl", rows)
    assert (known.outputs < 0).nonzero()[0].tolist() == [0]
    assert (known.absent, one.malformed) == ((), 1)
    assert failed(one) == {"schema"}
    assert passed["fresh ids"]


def test_two_columns_of_the_value_that_differ_are_refused(capsys, tmp_path):
    bundle = mechanism("labels").save(tmp_path / "b.ldp.json")
    cells, rows = rows_of("labels")
    both = [row | {"user_type": cell} for row, cell in zip(rows, cells, strict=True)]
    assert read_known(written(tmp_path / "same.csv", both), mechanism("labels")).user_types == cells
    both[4]["user_type"] = (cells[4] + 1) % 3
    file = written(tmp_path / "x.csv", both)
    words = f"row 5: user_type is '{both[4]['user_type']}', but the value is number {cells[4]}: keep one"
    assert_refused(capsys, ["audit", bundle, "--reports", file], words)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("x.csv", "", "holds no reports"),
        ("x.csv", "output\n1\n", "row 1: the value is missing: have a column for every attribute"),
        ("x.csv", "value\n1\n", "row 1: there is no column 'output'"),
        (
            "x.csv",
            "user_type,output\n6,1\n",
            "row 1: user_type is '6', but must be a whole number from 0 to 5",
        ),
        ("x.csv", "user_type,output\n0,1\n-1,1\n", "row 2: user_type is '-1'"),
        ("x.csv", "user_type,output\n0\n", "line 2 has 1 values, but the header has 2 names"),
        ("x.csv", "output,output\n0,1\n", "two columns of one name"),
        ("x.csv", 'user_type,output\n0,"1\n', "is not CSV"),
        ("x.csv", "user_type,output\n0,1\n", "1 samples were given"),
        ("x.jsonl", "[]\n", "line 1 is not a JSON object"),
        ("x.jsonl", "{" * 10000, "line 1 is not a JSON object"),
        ("x.parquet", "no", "is not Parquet"),
        ("x.txt", "no", "is not a .csv, .jsonl or .parquet file"),
        ("x.jsonl", "{" * (1 << 21), "a line of 1048576 characters or more"),
        (None, "", "cannot be read"),
    ],
)
def test_bad_files_are_one_sentence(capsys, tmp_path, name, text, words):
    bundle = mechanism("randomised").save(tmp_path / "b.ldp.json")
    file = tmp_path / (name or "missing.csv")
    if name:
        file.write_text(text)
    assert_refused(capsys, ["audit", bundle, "--reports", file], words)


def test_a_pipe_and_a_folder_are_refused(capsys, tmp_path):
    bundle = mechanism("randomised").save(tmp_path / "b.ldp.json")
    os.mkfifo(tmp_path / "x.csv")
    assert_refused(capsys, ["audit", bundle, "--reports", tmp_path / "x.csv"], "a device, a pipe or a socket")
    (tmp_path / "y.csv").mkdir()
    assert_refused(capsys, ["audit", bundle, "--reports", tmp_path / "y.csv"], "cannot be read")


def test_a_value_outside_and_options_that_do_not_fit_are_refused(capsys, tmp_path):
    bundle = mechanism("edges").save(tmp_path / "b.ldp.json")
    file = tmp_path / "x.csv"
    file.write_text("value,output\n1,0\n2e6,1\n")
    assert_refused(
        capsys, ["audit", bundle, "--reports", file], "row 2: value is .*must be a number from -30"
    )
    for option in (["--client", "python"], ["--samples", "1000"], ["--seed", "1"]):
        assert_refused(capsys, ["audit", bundle, "--reports", file, *option], "leave out")


@pytest.mark.parametrize(
    ("cells", "outputs", "words"),
    [
        ([0] * 200, [0] * 199, "give as many"),
        ([0] * 199 + [6], [0] * 200, "the user type 6 was given"),
        ([3] * 200, [0] * 200, "all reports are about user type 3, but at least 2 are compared"),
        ([0] * 50, [0] * 50, "50 samples were given"),
        ([0.5] * 200, [0] * 200, "user types are not all whole numbers"),
        ([0] * 200, ["a"] * 200, "outputs are not all whole numbers"),
    ],
)
def test_wrong_reports_are_refused(cells, outputs, words):
    with pytest.raises(ValueError, match=words):
        st.auditor.audit_reports(mechanism("randomised"), cells, outputs)


ODD = {
    "as clients write it": b"",
    "another mechanism": b'{"mechanism":"0123456789abcdef","id":"%s","output":0}\n' % (b"a" * 32),
    "a key twice": b'{"mechanism":"M","id":"%s","output":0,"output":1}\n' % (b"a" * 32),
    "an output out of range": b'{"mechanism":"M","id":"%s","output":99}\n' % (b"a" * 32),
    "a fraction": b'{"mechanism":"M","id":"%s","output":1.0}\n' % (b"a" * 32),
    "a short id": b'{"mechanism":"M","id":"%s","output":1}\n' % (b"a" * 31),
    "a zero before the output": b'{"mechanism":"M","id":"%s","output":01}\n' % (b"a" * 32),
    "an output of 17 digits": b'{"mechanism":"M","id":"%s","output":10000000000000000}\n' % (b"a" * 32),
    "no output": b'{"mechanism":"M","id":"%s","output":}\n' % (b"a" * 32),
    "a letter beyond f": b'{"mechanism":"M","id":"%s","output":1}\n' % (b"g" * 32),
    "a capital letter": b'{"mechanism":"M","id":"%s","output":1}\n' % (b"A" * 32),
    "no end of the line": b'{"mechanism":"M","id":"%s","output":1}' % (b"a" * 32),
    "a letter at the end": b'{"mechanism":"M","id":"%s","output":1}x' % (b"a" * 32),
    "a zero byte at the end": b'{"mechanism":"M","id":"%s","output":1}\0' % (b"a" * 32),
    "a letter among the digits": b'{"mechanism":"M","id":"%s","output":1x}\n' % (b"a" * 32),
    "a slash for a digit": b'{"mechanism":"M","id":"%s","output":/}\n' % (b"a" * 32),
    "another key": b'{"mechanism":"M","ie":"%s","output":1}\n' % (b"a" * 32),
    "keys in another order": b'{"output":1,"mechanism":"M","id":"%s"}\n' % (b"a" * 32),
    "blanks": b'{ "mechanism" : "M", "id":"%s", "output":1}\n' % (b"a" * 32),
    "no JSON": b"hello\n",
    "an empty line": b"\n",
    "a list": b"[1]\n",
}


def decoded(line):
    """Return the value of a line of JSON, None for what is none."""
    try:
        return json.loads(line)
    except ValueError:
        return None


@pytest.mark.parametrize("name", ODD)
def test_lines_checked_together_are_those_checked_one_by_one(name):
    """One odd line among 50, as text and as the value that it decodes to."""
    found = mechanism("randomised")
    good = [json.dumps(found.client.randomise(k % 6)).encode() + b"\n" for k in range(50)]
    lines = [
        *good[:20],
        *([ODD[name].replace(b'"M"', b'"%s"' % found.form.mechanism.encode())] * (ODD[name] != b"")),
        *good[20:],
    ]
    expected = runner.collected(map(found.form.parse, lines))
    together = runner._of_file(io.BytesIO(b"\n".join(one.removesuffix(b"\n") for one in lines)), found)
    assert (together.outputs == expected.outputs).all()
    assert (together.ids == expected.ids).all()
    values = [value for line in lines if isinstance(value := decoded(line), dict | list)]
    expected = runner.collected(map(found.form.check, values))
    together = runner._of_objects(values, found)
    assert (together.outputs == expected.outputs).all()
    assert (together.ids == expected.ids).all()
