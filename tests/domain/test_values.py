"""One table of values, texts, and their cells or the reasons why they have none: the package and both clients agree."""

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stratagem as st
from found import found_values
from node import WEB
from node import run as run_node
from stratagem.domain import Attribute, Bins, Codes, Domain, Labels
from stratagem.domain.attribute import values_of
from stratagem.domain.columns import read
from stratagem.domain.moment import instant, shortest
from stratagem.domain.policy import Policy
from stratagem.domain.rounding import round_steps
from stratagem.io.numeral import decimal_text, parse_decimal
from stratagem.mechanism.client import reader
from write_vectors import FOLDER

TABLES = json.loads((FOLDER / "values.json").read_text("utf-8"))
TABLE = pytest.mark.parametrize("table", TABLES, ids=lambda table: json.dumps(table["values"])[:60])
ROWS = 400
"""Least number of rows of all tables together."""


def said(call, text):
    """Return the cell of a text, or the reason in parentheses."""
    try:
        return call(text)
    except ValueError as error:
        return str(error).split(" (")[1].split("), but must be")[0]


def test_the_tables_have_rows_enough_and_none_twice():
    assert sum(len(table["rows"]) for table in TABLES) >= ROWS
    for table in TABLES:
        texts = [text for text, _ in table["rows"]]
        assert len(texts) == len(set(texts))


@TABLE
def test_the_package_reads_the_table(table):
    values = values_of(table["values"])
    texts = [text for text, _ in table["rows"]]
    found = [place.reason or place.cell for place in map(values.place, texts)]
    assert dict(zip(texts, found, strict=True)) == dict(table["rows"])
    cells = values.cells(texts)
    assert [reason or int(cell) for cell, reason in zip(cells.cell, cells.reason, strict=True)] == found
    assert values.place(None).reason in ("missing", "")


@TABLE
def test_the_python_client_reads_the_table(table):
    call = reader({"name": "x"} | table["values"])
    assert {text: said(call, text) for text, _ in table["rows"]} == dict(table["rows"])


@TABLE
def test_the_web_client_reads_the_table(table):
    texts = [text for text, _ in table["rows"]]
    found = run_node("cells", module=(WEB / "value.js").as_uri(), attribute=table["values"], texts=texts)
    assert dict(zip(texts, found, strict=True)) == dict(table["rows"])


@TABLE
def test_a_file_is_read_as_the_table_says(table, tmp_path):
    """Quoted in CSV; the empty text alone is what no file can tell from none."""
    values, path = values_of(table["values"]), tmp_path / "a.csv"
    rows = {text: found for text, found in table["rows"] if text}
    pd.DataFrame({"x": list(rows), "n": 1}).to_csv(path, index=False)
    data = read(path, Domain(x=values), {"x": "x"}, Policy(invalid="drop"))
    x = np.bincount([found for found in rows.values() if isinstance(found, int)], minlength=values.size)
    assert data.x.tolist() == x.tolist()
    reasons = [found for found in rows.values() if isinstance(found, str)]
    assert data.outside == {
        f"x {reason}": reasons.count(reason) for reason in data.outside for reason in [reason[2:]]
    }
    assert sum(data.outside.values()) == len(reasons)


def test_floats_of_parquet_are_the_decimals_that_they_are_written_as(tmp_path):
    """0.7 as float32 is below 0.7 as float64; dates with a zone are in UTC, whatever TZ says."""
    path = tmp_path / "a.parquet"
    zone = timezone(timedelta(hours=2))
    frame = pd.DataFrame(
        {
            "half": np.array([0.1, 0.3, 0.7, 0.6], dtype=np.float32),
            "whole": [0.1, 0.3, 0.7, 0.6],
            "when": [datetime(2026, 2, 1, hour, tzinfo=zone) for hour in (0, 1, 2, 3)],
        }
    )
    frame.to_parquet(path)
    tenths = Bins.parse("0:1:0.1")
    for column in ("half", "whole"):
        assert np.flatnonzero(read(path, Domain(x=tenths), {"x": column}).x).tolist() == [1, 3, 6, 7]
    months = Bins.parse("2026-01-01:2026-03-01:1mo")
    assert read(path, Domain(x=months), {"x": "when"}).x.tolist() == [2, 2]


@pytest.mark.parametrize("name", ["UTC", "Pacific/Auckland", "America/Los_Angeles"])
def test_the_zone_of_the_machine_means_nothing(name, tmp_path, monkeypatch):
    import time

    monkeypatch.setenv("TZ", name)
    time.tzset()
    try:
        test_floats_of_parquet_are_the_decimals_that_they_are_written_as(tmp_path)
        call = reader({"name": "d", "size": 2, "edges": ["2026-01-01", "2026-02-01", "2026-03-01"]})
        assert call(datetime(2026, 2, 1, tzinfo=UTC)) == call(date(2026, 2, 1)) == 1
        assert call(datetime(2026, 2, 1, tzinfo=timezone(timedelta(hours=1)))) == 0
    finally:
        monkeypatch.undo()
        time.tzset()


ZONES = {
    "UTC alone": (
        ["2026-01-01T10:00Z", "2026-01-02T10:00Z"],
        "zones (Z 6): each is read in UTC, as the bins name no",
    ),
    "none": (["2026-01-01", "2026-01-02 10:00"], None),
    "one offset": (
        ["2026-01-01T01:00+02:00", "2026-01-03T01:00+02:00"],
        "Dates name zones (+02:00 6): each is read in UTC, as",
    ),
    "several": (
        ["2026-01-01T01:00+01:00", "2026-07-01T01:00+02:00"],
        (
            "Dates name zones (+01:00 3, +02:00 3): each is read in UTC, as the bins name no zone. "
            "Edges that end in [Europe/Berlin], for example, are in the local time of that zone."
        ),
    ),
    "some without": (
        ["2026-01-01T10:00Z", "2026-01-02"],
        "(Z 3, none 3): each is read in UTC, as the bins name no zone; one without a zone stays as it is.",
    ),
}


@pytest.mark.parametrize("name", ZONES)
def test_zones_that_dates_name_are_said(name, tmp_path):
    texts, words = ZONES[name]
    path = tmp_path / "a.csv"
    path.write_text("x\n" + "\n".join(texts * 3) + "\n")
    data = read(path, Domain(x=Bins.parse("2025-12-01:2026-08-01:1mo")), {"x": "x"})
    notes = st.plan(path, "x", seconds=3).notes()
    for found in (data.notes, notes):
        zoned = [note for note in found if "zone" in note]
        assert len(zoned) == (words is not None)
        assert words is None or words in zoned[0]


BERLIN = "2026-03-28:2026-03-31:1d[Europe/Berlin]"
"""Days about one that has 23 hours."""


@pytest.mark.parametrize("form", ["pandas", "polars", "csv", "client", "of"])
def test_instants_become_local_time_of_the_zone_of_the_bins(form, tmp_path):
    """Midnight in Berlin is 23:00 in UTC before the clocks go forward and 22:00 after it; the control is in UTC."""
    hours = [
        datetime(2026, 3, 28, 23, tzinfo=UTC),
        datetime(2026, 3, 29, 21, tzinfo=UTC),
        datetime(2026, 3, 29, 22),
    ]
    hours[2] = hours[2].replace(tzinfo=UTC)
    frame, path = pd.DataFrame({"x": hours}), tmp_path / ("a.csv" if form == "csv" else "a.parquet")
    for spec, x in ((BERLIN, [0, 2, 1]), (BERLIN.partition("[")[0], [1, 2, 0])):
        values = Bins.parse(spec)
        if form == "client":
            call = reader({"name": "x", "size": 3} | values.entry())
            assert np.bincount([call(hour) for hour in hours], minlength=3).tolist() == x
            continue
        if form == "of":
            values = Bins.of(pd.date_range("2026-03-28", "2026-03-31", tz=values.zone or "UTC"), values.zone)
            assert values == Bins.parse(spec)
        if form == "polars":  # as it writes what it holds in another zone
            pq.write_table(pa.table({"x": pa.array(hours, pa.timestamp("us", "Asia/Tokyo"))}), path)
        else:
            frame.to_csv(path) if form == "csv" else frame.to_parquet(path)
        data = read(path, Domain(x=values), {"x": "x"})
        assert data.x.tolist() == x
        assert f"is read in {values.zone or 'UTC'}" in data.notes[0]
    assert str(Bins.parse(BERLIN)) == BERLIN
    assert st.bins(BERLIN.partition("[")[0], zone="Europe/Berlin").values == Bins.parse(BERLIN)


@pytest.mark.parametrize(
    ("spec", "zone", "words"),
    [
        ("2026-01-01:2026-02-01:1d", "Berlin", "knows none of this name"),
        ("2026-01-01:2026-02-01:1d", "../../etc/passwd", "knows none of this name"),
        ("2026-01-01:2026-02-01:1d", "Europe", "knows none of this name"),
        ("2026-01-01:2026-02-01:1d", "localtime", "knows none of this name"),
        ("0:10:1", "Europe/Berlin", "the edges 0,1,2,3,4,5,6,7 are no dates: leave it out"),
        ("00:00:24:00:1h", "Europe/Berlin", "are no dates"),
    ],
)
def test_a_zone_of_none_or_of_no_dates_is_refused_by_all(spec, zone, words):
    with pytest.raises(ValueError, match=words):
        Bins.parse(spec, zone)
    entry = {"name": "x", "size": Bins.parse(spec).size} | Bins.parse(spec).entry() | {"zone": zone}
    with pytest.raises(ValueError, match=r"^x (has the zone|needs dates)"):
        reader(entry)
    with pytest.raises(AssertionError, match="zone"):
        run_node("cells", module=(WEB / "value.js").as_uri(), attribute=entry, texts=[])


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [("0", "1", "0.1"), ("0", "5", "0.1"), ("-1", "1", "0.05"), ("0", "0.003", "1e-5")],
)
def test_spaced_edges_are_the_decimals_that_were_typed(start, stop, step):
    """Rounded to doubles, 18 of the 51 edges of 0:5:0.1 are other decimals: the control."""
    found = Bins.parse(f"{start}:{stop}:{step}")
    assert str(found) == ":".join(decimal_text(Decimal(text)) for text in (start, stop, step))
    exact = [Fraction(start) + k * Fraction(step) for k in range(found.size + 1)]
    assert [Fraction(edge) for edge in found.edges] == exact
    assert all(found.cell(edge) == k for k, edge in enumerate(found.edges[:-1]))
    drifting = [float(start) + k * float(step) for k in range(found.size + 1)]
    assert [Fraction(repr(edge)) for edge in drifting] != exact


def test_the_largest_value_stays_inside():
    assert round_steps(Decimal(0), Decimal("3.3"), 33) == (0, 34, Decimal("0.1"))


@pytest.mark.parametrize("number", [0.1, -2.5, 1e22, 1e-7, 1e15, 123456.789, 5e-324, 1.7976931348623157e308])
def test_the_text_of_a_double_is_the_double(number):
    text = decimal_text(Decimal(repr(number)))
    assert float(text) == number
    assert parse_decimal(text) == Decimal(repr(number))
    if abs(number) < 1e15:
        assert text in (repr(number), repr(number).removesuffix(".0"))


def test_a_cell_that_is_asked_for_alone_is_refused_in_a_sentence():
    assert Codes(3).cell("2") == 2
    for values, text in ((Codes(3), "3"), (Bins.parse("0:2:1"), "x"), (Bins.parse("0:2:1"), None)):
        with pytest.raises(ValueError, match=r"was given, but is .*: give one of the values") as error:
            values.cell(text)
        assert "\n" not in str(error.value)


def test_words_and_middles_of_values():
    minutes = Attribute("delay", Bins.parse("0:60:30,other"), unit="minutes")
    assert minutes.values.text(0, 1, "minutes") == "0 to below 60 minutes"
    assert [minutes.values.middle(k) for k in range(3)] == [15.0, 45.0, None]
    assert [Codes(3).middle(k) for k in range(3)] == [0, 1, 2]
    assert [Bins.parse("2026-01-01:2026-01-03:1d").middle(0)] == [None]
    assert shortest(instant("2026-01-01 00:00:00")) == "2026-01-01"


def test_words_for_nothing_are_answers_among_texts_unless_somebody_says_so(tmp_path):
    """NA is a country; plan, compare and their readers agree, and say how many rows hold it."""
    path = tmp_path / "countries.csv"
    path.write_text("c,n\n" + "NA,1\n" * 8 + "DE,2\n" * 9 + "None,3\n" * 7 + ",NA\n")
    found = found_values(path, "c")
    assert found == Labels(("DE", "NA", "None"), no_answer=True)
    assert found_values(path, "c", Policy(invalid="drop")) == replace(found, no_answer=False)
    data = read(path, Domain(c=found), {"c": "c"})
    assert (data.x.tolist(), data.outside) == ([9, 8, 7, 1], {})
    assert data.like_missing == (
        "'NA' (8 rows), 'None' (7 rows) count as an answer; missing=['NA', 'None'] makes that no answer."
    )
    policy = Policy(missing=("NA", "None"), invalid="other")
    with pytest.raises(ValueError, match="'DE' alone, so that there is nothing to ask"):
        found_values(path, "c", policy)
    assert found_values(path, "n", Policy(invalid="drop")) == Bins.parse("1:4:1,whole")
    assert not read(path, Domain(c=Labels(("DE", "other"))), {"c": "c"}, policy).like_missing


COMMAS = {
    "decimals": (
        "3,5 4,25 3,5 1.234,5",
        ",",
        [3.5, 4.25, 3.5, 1234.5],
        r"12 of these are numbers with commas, such as .*, which decimal=',' reads as",
    ),
    "thousands": (
        "1,234,567 1,234 999 1,234.5",
        ".",
        [1234567, 1234, 999, 1234.5],
        r"9 of these are numbers with commas, such as .*, which decimal='.' reads as",
    ),
    "either": (
        "1,234 2,000",
        ".",
        [1234, 2000],
        "such as 1,234, which decimal=',' reads as 1.234 and decimal='.' reads as 1234",
    ),
    "a few": ("1 2 3 4,5 4,5", ",", [1, 2, 3, 4.5, 4.5], r"6 of these are .* decimal=','"),
}


def test_a_column_of_numbers_with_commas_is_refused_in_one_sentence(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('x\n"3,5"\n"3,5"\n"4,25"\n')
    words = (
        r"^column 'x' holds 2 different texts in 3 rows, most often '3,5' 2, '4,25' 1; 3 of these are numbers with "
        r"commas, such as 3,5, which decimal=',' reads as 3.5: say so, or state .*[.]{3}\) if they are no numbers$"
    )
    with pytest.raises(ValueError, match=words):
        found_values(path, "x")


@pytest.mark.parametrize("case", COMMAS)
def test_numbers_with_commas_are_never_labels_and_a_hint_says_what_reads_them(case, tmp_path):
    texts, mark, numbers, words = COMMAS[case]
    path, bins = tmp_path / "a.csv", Bins.parse("0:2000000:500000")
    path.write_text("x\n" + "".join(f'"{text}"\n' for text in texts.split() * 3))
    for call in (
        lambda: read(path, Domain(x=bins), {"x": "x"}),
        *([lambda: found_values(path, "x")] if case == "decimals" else []),
    ):
        with pytest.raises(ValueError, match=words) as error:
            call()
        assert "\n" not in str(error.value)
    policy = Policy(decimal=mark)
    assert read(path, Domain(x=bins), {"x": "x"}, policy).x.sum() == 3 * len(numbers)
    assert [float(parse_decimal(policy.read(text))) for text in texts.split()] == numbers
    with pytest.raises(ValueError, match="a comma or a point"):
        Policy(decimal=";")


@pytest.mark.parametrize("text", ["18_24", "1_0"])
def test_what_python_alone_takes_for_a_number_is_a_text(text, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\n" + f"{text}\nother_1\n" * 5)
    assert found_values(path, "x") == Labels((text, "other_1"))
