"""Sixty columns as people have them: every command that reads them, and both clients, find one cell or one reason."""

import gzip
from collections import Counter
from io import StringIO

import pandas as pd
import pytest

import stratagem as st
from commands import run_json
from node import WEB
from node import run as run_node
from stratagem.cli import randomise
from stratagem.cli.option import GoalOptions, QueryOptions, ReadingOptions, SearchOptions, ValueOptions
from stratagem.cli.request import AskedOptions, Request, SampleOptions
from stratagem.domain import Attribute, Bins, Domain, Labels
from stratagem.mechanism.client import reader

LOW, HIGH, GONE = "below 0", "100 or above", "missing"
NUMBER, DAY, CLOCK, LABEL = "not a number", "not a date", "not a time of day", "unknown label"
TENS, MONTHS, HOURS = "0:100:10", "2026-01-01:2026-05-01:1mo", "00:00:24:00:6h"
EARLY, LATE = "below 2026-01-01", "2026-05-01 or above"
NFD = "Zu\u0308rich"
TOWNS, YES = "labels North,South,Zürich", "labels no,yes"
NOTHING = {"NA": GONE, "n/a": GONE, "NaN": GONE, "null": GONE, "None": GONE, "": GONE, "7": 0}
COLUMNS = {
    "ages": (TENS, {"17": 1, "34": 3, "99": 9, "100": HIGH, "-1": LOW, "": GONE}),
    "ages with blanks": (TENS, {" 17": 1, "34 ": 3, "\t40": 4, "  ": GONE}),
    "ages with points": (TENS, {"17.0": 1, "34.": 3, "9.999": 0, "10.0": 1, ".5": 0}),
    "words for nothing": (TENS, NOTHING),
    "other words for nothing": (TENS, {"?": NUMBER, "-": NUMBER, "unknown": NUMBER, "n.a.": NUMBER, "7": 0}),
    "ages in words": (TENS, {"17": 1, "seventeen": NUMBER, "17 years": NUMBER, "~17": NUMBER}),
    "codes for nothing": (TENS, {"17": 1, "999": HIGH, "-9": LOW, "-1": LOW}),
    "signs": (TENS, {"+17": 1, "-0": 0, "--1": NUMBER, "- 1": NUMBER, "\u221217": NUMBER}),
    "exponents": (TENS, {"1e1": 1, "1E1": 1, "1.7e+01": 1, "1e2": HIGH, "1e": NUMBER, "e1": NUMBER}),
    "infinities": (TENS, {"inf": HIGH, "-inf": LOW, "Infinity": HIGH, "7": 0}),
    "digits of other scripts": (TENS, {"\u0661\u0667": NUMBER, "\uff11\uff17": NUMBER, "17": 1}),
    "underscores": (TENS, {"1_0": NUMBER, "18_24": NUMBER, "18": 1}),
    "hexadecimal": (TENS, {"0x11": NUMBER, "17": 1, "0b1": NUMBER, "1f": NUMBER}),
    "money": (TENS, {"$17": NUMBER, "17 \u20ac": NUMBER, "17%": NUMBER, "17": 1}),
    "fractions": (TENS, {"1/2": NUMBER, "1:2": NUMBER, "17": 1}),
    "leading zeros": (TENS, {"007": 0, "017": 1, "0": 0}),
    "tenths": ("0:1:0.1", {"0.3": 3, "0.6": 6, "0.7": 7, "0.1": 1, "0.30000000000000004": 3, "1": "1 or above"}),
    "tenths just below": ("0:1:0.1", {"0.29999999999999999": 2, "0.7000000000000001": 7, "0.69999999999999996": 6}),
    "fifths of cents": ("0:5:0.1", {"0.3": 3, "1.7": 17, "4.9": 49, "5": "5 or above"}),
    "negative degrees": ("-20:20:5", {"-20": 0, "-15": 1, "-0.1": 3, "0": 4, "-20.1": "below -20"}),
    "years": ("1950,1980,2000,2030", {"1949": "below 1950", "1980": 1, "2029": 2, "2030": "2030 or above"}),
    "large numbers": ("0:4000000000:1000000000", {"999999999.9": 0, "1e9": 1, "4e9": "4000000000 or above"}),
    "numbers near 2^53": (
        "9007199254740990:9007199254740996:2",
        {"9007199254740991": 0, "9007199254740993": 1, "9007199254740994": 2},
    ),
    "decimal commas": (TENS, {"17,5": 1, "3,5": 0, "1.234,5": HIGH, "17": 1}, {"decimal": ","}),
    "thousands": (TENS, {"1,234": HIGH, "17.5": 1, "17": 1}, {"decimal": "."}),
    "commas unasked": (TENS, {"17,5": NUMBER, "1,234": NUMBER, "17": 1}),
    "missing named": (TENS, {"?": GONE, "17": 1, "x": NUMBER}, {"missing": ["?"]}),
    "texts mapped": (TENS, {"seventeen": 1, "17": 1, "none given": GONE}, {"mapped": ["seventeen=17", "none given="]}),
    "whole numbers": ("codes 3", {"0": 0, "2": 2, "1.0": 1, "1e0": 1, "2.5": "not a whole number", "3": "above 2"}),
    "codes beyond": ("codes 3", {"0": 0, "-1": LOW, "x": NUMBER, "NA": GONE}),
    "towns": (TOWNS, {"North": 0, "South": 1, "Zürich": 2, "East": LABEL, "": GONE}),
    "towns with blanks": (TOWNS, {" North": 0, "South  ": 1, "  ": GONE, "Nor th": LABEL}),
    "towns in other case": (TOWNS, {"north": LABEL, "SOUTH": LABEL, "North": 0}),
    "towns in another form": (TOWNS, {"Zu\u0308rich": LABEL, "Zurich": LABEL, "North": 0}),
    "towns mapped": (TOWNS, {"north": 0, NFD: 2, "N": 0}, {"mapped": ["north=North", "N=North", f"{NFD}=Zürich"]}),
    "countries": ("labels DE,NA,None,null", {"DE": 0, "NA": 1, "None": 2, "null": 3, "na": LABEL, "": GONE}),
    "countries, NA named": ("labels DE,NA", {"DE": 0, "NA": GONE}, {"missing": ["NA"]}),
    "yes and no": (YES, {"yes": 1, "no": 0, "Yes": LABEL, "1": LABEL, "TRUE": LABEL}),
    "yes and no mapped": (YES, {"Y": 1, "TRUE": 1, "0": 0, "no": 0}, {"mapped": ["Y=yes", "TRUE=yes", "0=no"]}),
    "labels with commas": ('labels "yes, often",no', {"yes, often": 0, "no": 1, "yes": LABEL}),
    "labels with quotes": ('labels "say ""no""",x', {'say "no"': 0, "x": 1}),
    "labels of several lines": (TOWNS, {"North\nSouth": LABEL, "North": 0}),
    "labels that are numbers": ("labels 1,2,10", {"1": 0, "10": 2, "1.0": LABEL, "3": LABEL}),
    "labels of ages": ("labels 18-24,25-34,65+", {"18-24": 0, "65+": 2, "18 - 24": LABEL, "18\u201324": LABEL}),
    "true and false": ("labels false,true", {"true": 1, "false": 0}),
    "letters of the world": ("labels \u5317,\u5357,\U0001f600", {"\u5317": 0, "\U0001f600": 2, "\u897f": LABEL}),
    "formulas": (TOWNS, {"=1+1": LABEL, "#N/A": LABEL, "@x": LABEL, "North": 0}),
    "days": (MONTHS, {"2026-01-01": 0, "2026-02-28": 1, "2025-12-31": EARLY, "2026-05-01": LATE, "": GONE}),
    "days that are none": (MONTHS, {"2026-02-31": DAY, "2026-13-01": DAY, "2026-2-1": DAY, "2026-03-01": 2}),
    "days as people write": (MONTHS, {"01.02.2026": DAY, "1/2/2026": DAY, "2026/01/02": DAY, "2026-01-02": 0}),
    "days in words": (MONTHS, {"today": DAY, "May 2026": DAY, "NA": GONE, "2026-04-30": 3}),
    "times of days": (MONTHS, {"2026-01-31T23:59:59": 0, "2026-02-01 00:00": 1, "2026-01-01T25:00": DAY}),
    "times with fractions": (MONTHS, {"2026-01-31T23:59:59.999": 0, "2026-02-01T00:00:00.000001": 1}),
    "times in UTC": (MONTHS, {"2026-02-01T00:00:00Z": 1, "2026-01-31T23:59:59+00:00": 0}),
    "times with offsets": (MONTHS, {"2026-02-01T00:30+02:00": 0, "2026-01-31T23:30-02": 1, "2026-02-01T00:00+99": DAY}),
    "clocks": (HOURS, {"05:59": 0, "06:00": 1, "23:59:59": 3, "24:00": "24:00 or above", "9:30": CLOCK}),
    "clocks that are none": (HOURS, {"99:99": CLOCK, "12.30": CLOCK, "noon": CLOCK, "12:30 pm": CLOCK, "12:30": 2}),
    "days among numbers": (TENS, {"2026-01-01": NUMBER, "12:30": NUMBER, "17": 1}),
    "numbers among days": (MONTHS, {"17": DAY, "20260101": DAY, "12:30": DAY, "2026-01-01": 0}),
    "other named": ("0:100:50,other", {"17": 0, "other": 2, "Other": NUMBER, "100": HIGH}),
}  # fmt: skip
ENCODED = ["csv", "tsv", "csv.gz", "bom", "parquet"]
"""Forms of files; a column takes one of them, by its place in the table."""


def test_there_are_sixty_columns():
    assert len(COLUMNS) >= 60


def asked_by_options(path, invalid, flags, domain=None, **values) -> Request:
    """Return what optimise and compare ask for with these options."""
    asked = AskedOptions(
        domain=domain,
        queries=QueryOptions(),
        goal=GoalOptions(),
        search=SearchOptions(),
        values=ValueOptions(**values),
    )
    sample = SampleOptions(data=path, column=["x"], reading=ReadingOptions(invalid=invalid, **flags))
    return Request.of("histogram", 1.0, asked, sample)


def read_values(text):
    kind, _, rest = text.partition(" ")
    return {"labels": Labels.parse, "codes": lambda size: Domain.of(int(size)).attributes[0].values}.get(
        kind, lambda _: Bins.parse(text)
    )(rest)


def written(folder, texts, form):
    """Write texts as column x beside another one; the empty text is what a file says of nothing."""
    frame = pd.DataFrame({"n": range(len(texts)), "x": texts})
    if form == "parquet":
        path = folder / "a.parquet"
        frame.to_parquet(path)
        return path
    path = folder / f"a.{'csv' if form == 'bom' else form}"
    content = frame.to_csv(index=False, sep="\t" if form == "tsv" else ",").encode(
        "utf-8-sig" if form == "bom" else "utf-8"
    )
    path.write_bytes(gzip.compress(content) if form.endswith("gz") else content)
    return path


def attempt(call):
    """Return the sentence of a refusal, or else what was made."""
    try:
        return "", call()
    except ValueError as error:
        return str(error), None


def by_client(call, text):
    try:
        return call(text)
    except ValueError as error:
        return str(error).split(" (")[1].split("), but must be")[0]


@pytest.mark.sampled(13, 2)
@pytest.mark.parametrize("name", COLUMNS)
def test_every_door_finds_the_same_cell_or_the_same_reason(name, tmp_path, monkeypatch, capsys):
    spec, found, *more = COLUMNS[name]
    options = more[0] if more else {}
    values = read_values(spec)
    texts = [text for k, text in enumerate(found) for _ in range(k + 1)]
    path = written(tmp_path, texts, ENCODED[list(COLUMNS).index(name) % len(ENCODED)])
    x = [0] * values.size
    reasons: Counter[str] = Counter()
    for text in texts:
        if isinstance(found[text], int):
            x[found[text]] += 1
        else:
            reasons[found[text]] += 1
    outside = {f"x {why}": rows for why, rows in reasons.items()}

    mapped = options.get("mapped")
    flags = {"missing": options.get("missing"), "mapping": mapped, "decimal": options.get("decimal")}
    policy = ReadingOptions(invalid="drop", **flags).policy(path)
    domain = Domain(Attribute("x", values))

    # both clients, value by value
    entry = domain.attributes[0].entry()
    given = {text: policy.read(text) for text in found}
    told = {text: read for text, read in given.items() if read is not None}
    assert {text: by_client(reader(entry), read) for text, read in told.items()} == {
        t: found[t] for t in told
    }
    cells = run_node("cells", module=(WEB / "value.js").as_uri(), attribute=entry, texts=list(told.values()))
    assert dict(zip(told, cells, strict=True)) == {text: found[text] for text in told}

    # plan, of which the search is left out
    monkeypatch.setattr("stratagem.study.plan.optimise", lambda *_: None)
    texts_of = {"missing": policy.missing, "mapping": policy.mapping, "decimal": policy.decimal}
    options_of = {"epsilon": 1, "users": 100, "workload": "histogram"} | texts_of
    if not spec.startswith("codes"):
        planned = st.plan(path, "x", values=Attribute("x", values), **options_of)
        rest = values.size - (values.other is not None)
        assert planned.x.tolist()[:rest] == x[:rest]
        assert {why: rows for why, rows in planned.others.items() if why != GONE} == {
            why: rows for why, rows in reasons.items() if why != GONE
        }

    # optimise and compare, which ask for the same
    listed = {"labels": [spec.removeprefix("labels ")]} if isinstance(values, Labels) else {"edges": [spec]}
    listed = {"domain": f"x={values.size}"} if spec.startswith("codes") else listed
    users = asked_by_options(path, "drop", flags, **listed).users
    assert users is not None
    assert (users.x.tolist(), users.outside) == (x, outside)

    # what nobody states: one proposal or one refusal
    proposed, planned = attempt(lambda: st.plan(path, "x", **options_of))
    found_by, request = attempt(lambda: asked_by_options(path, "fail", flags))
    assert proposed == found_by
    if planned is not None:
        assert planned.proposal.values == request.workload.domain.attributes[0].values
        assert planned.x.tolist() == request.users.x.tolist()

    # simulate and randomise, on a bundle
    made = st.Mechanism.of(st.published.randomised_response(values.size, 1.0), st.histogram(domain), 1.0)
    made.save(tmp_path / "m.ldp.json")
    words = ["--invalid", "drop", *(f"--map={one}" for one in mapped or ())]
    words += [f"--missing={one}" for one in options.get("missing", ())]
    words += ["--decimal", options["decimal"]] if "decimal" in options else []
    asked = ("--data", path, "--column", "x", *words)
    data = run_json(
        capsys, "simulate", tmp_path / "m.ldp.json", *asked, "--repetitions", "2", "--queries", "100"
    )
    assert ([row["true"] for row in data["answers"]], data["outside"]) == (x, outside)
    rows = StringIO()
    monkeypatch.setattr(
        "stratagem.mechanism.bulk.report_lines",
        lambda _, coordinates: [f"{int(one[0])}\n" for one in coordinates],
    )
    randomise._rows(made, path, ["x"], policy, rows)
    assert [int(line) for line in rows.getvalue().split()] == [
        found[text] for text in texts if isinstance(found[text], int)
    ]
