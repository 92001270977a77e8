"""Texts as people write them: spellings of one answer, yes and no in several ways, labels that have an order."""

import json
from collections import Counter

import pandas as pd
import pytest

import stratagem as st
from commands import assert_refused, run, run_json
from found import found_values
from stratagem.domain.bins import Bins
from stratagem.domain.columns import InvalidValuesError, read
from stratagem.domain.domain import Domain
from stratagem.domain.file import read_map
from stratagem.domain.policy import (
    Policy,
    alike,
    folded,
    said,
    spellings,
)
from stratagem.domain.values import Labels
from stratagem.io.numeral import leading

NFC, NFD = "Z\xfcrich", "Zu\u0308rich"

MERGED = {
    "case": ({"North": 5, "north": 3, "NORTH": 2, "South": 4}, {"north": "North", "NORTH": "North"}),
    "the most frequent spelling": ({"North": 2, "north": 3}, {"North": "north"}),
    "a tie": ({"north": 2, "North": 2}, {"north": "North"}),
    "Unicode forms": ({NFC: 1, NFD: 1}, {NFD: NFC}),
    "the other form alone": ({NFD: 4, "Bern": 1}, {NFD: NFC}),
    "sharp s": ({"STRASSE": 1, "Stra\xdfe": 2}, {"STRASSE": "Stra\xdfe"}),
    "other": ({"Other": 5, "a": 5}, {"Other": "other"}),
    "blanks inside": ({"New York": 2, "NewYork": 2}, {}),
    "accents": ({"Zurich": 2, NFC: 2}, {}),
    "words for nothing": ({"NA": 3, "na": 1, "Na": 1, "DE": 5}, {"na": "NA", "Na": "NA"}),
    "yes and no together": (
        dict.fromkeys(["TRUE", "FALSE", "Y", "N", "yes", "no", "1", "0"], 2),
        {"TRUE": "yes", "FALSE": "no", "Y": "yes", "N": "no", "1": "yes", "0": "no"},
    ),
    "numbers and yes": ({"1": 5, "0": 5, "Yes": 1}, {"1": "yes", "0": "no", "Yes": "yes"}),
    "with a word for nothing": ({"y": 5, "no": 5, "NA": 1}, {"y": "yes"}),
    "one pair": ({"Y": 5, "N": 5}, {}),
    "one pair of numbers": ({"1": 5, "0": 5}, {}),
    "one side": ({"yes": 5, "Y": 5}, {}),
    "more than yes and no": ({"yes": 5, "Y": 5, "no": 2, "perhaps": 2}, {}),
    "a tenth in another language": (
        {"yes": 18, "Y": 3, "TRUE": 2, "no": 2, "N": 2, "nein": 2, "Nein": 1, "-": 9},
        {"Y": "yes", "TRUE": "yes", "N": "no", "Nein": "nein"},
    ),
    "sexes": ({"M": 5, "F": 5}, {}),
}


@pytest.mark.parametrize("name", MERGED)
def test_spellings_of_one_answer_are_one_label_unless_as_is(name, tmp_path):
    """In plan and in compare alike, and nobody is lost."""
    counts, spelt = MERGED[name]
    assert spellings(counts) == spelt
    path = tmp_path / "a.csv"
    pd.DataFrame({"x": list(Counter(counts).elements()), "n": 1}).to_csv(path, index=False)
    if len({spelt.get(text, text) for text in counts}) == 1:
        with pytest.raises(ValueError, match="alone, so that there is nothing to ask"):
            found_values(path, "x")
        return
    found = found_values(path, "x")
    if name == "one pair of numbers":
        assert str(found) == "0:2:1,whole"
        return
    answers = Counter()
    for text, rows in counts.items():
        answers[spelt.get(text, text)] += rows
    labels = {text for text, rows in answers.items() if rows > 1} - {"other"}
    assert set(found.texts) - {"other"} == labels
    data = read(path, Domain(x=found), {"x": "x"}, Policy(invalid="other"))
    assert data.users == sum(counts.values())
    x = dict(zip(found.texts, data.x.tolist(), strict=True))
    assert {label: x[label] for label in labels} == {label: answers[label] for label in labels}
    assert bool(spelt) == any("as_is=True" in note for note in data.notes)
    if name not in ("numbers and yes", "yes and no together"):
        apart = found_values(path, "x", Policy(as_is=True))
        assert set(apart.texts) - {"other"} == {text for text, rows in counts.items() if rows > 1}


def test_a_number_beside_words_for_yes_and_no_keeps_0_and_1_numbers():
    assert spellings({"0": 50, "1": 42, "no": 2, "2": 6}) == {}
    assert spellings({"0": 50, "1": 42, "no": 2, "two": 6}) == {"0": "no", "1": "yes"}


def test_words_that_are_none_for_yes_or_no_are_named_with_an_option_to_fill_in(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = ["yes", "Y", "TRUE", "no", "N"] * 20 + ["nein"] * 4 + ["Nein", "ja"]
    (tmp_path / "a.csv").write_text("\n".join(["Smokes now", *texts]))
    command = ["plan", "a.csv", "--seconds", "1", "--column", "Smokes now", "--force"]
    said = (
        "No word for yes or no, with the rows of each: 'nein' 5, 'ja' 1; if they are, say which, as in "
        "--map 'Smokes now=nein=no'."
    )
    found = run_json(capsys, *command)
    assert (found["labels"], said in found["notes"]) == ("nein,no,yes,other", True)
    found = run_json(capsys, *command, "--map", "Smokes now=nein=no", "--map", "Nein=no", "--map", "ja=yes")
    assert found["labels"] == "no,yes"
    assert not any("No word" in note for note in found["notes"])


def test_texts_that_look_alike_are_said_to_differ_in_their_unicode_form():
    spelt = {NFC: NFC.lower(), NFD: NFC.lower()}
    assert said(spelt).startswith(f"{NFC!r}, {NFD!r} in another Unicode form count as {NFC.lower()!r}, ")


def test_folding_is_idempotent_and_labels_are_hinted_at():
    for text in ("North ", NFD, "\u0130stanbul", "STRASSE", "\u1e9e", ""):
        assert folded(folded(text)) == folded(text)
    assert alike(["north", "North", "NORD", NFD], ["North", NFC]) == {"north": "North", NFD: NFC}


def test_stated_labels_are_not_guessed_at_but_the_mend_is_said(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x\nNorth\nnorth\nSouth\n")
    domain, columns = Domain(x=Labels(("North", "South"))), {"x": "x"}
    with pytest.raises(
        InvalidValuesError, match=r"other spellings of labels, which mapping=\{'north': 'North'\} reads"
    ):
        read(path, domain, columns)
    assert read(path, domain, columns, Policy(mapping={"north": "North"})).x.tolist() == [2, 1]
    bins = Domain(x=Bins.parse("0:30:10"))
    path.write_text("x\n17\neighteen\n?\n")
    policy = Policy(mapping={"eighteen": "18", "?": "none"}, invalid="drop")
    assert read(path, bins, columns, policy).x.tolist() == [0, 2, 0]


def test_a_text_of_one_column_keeps_its_meaning_in_another(tmp_path):
    """What plan prints for yes and no written as 1 and 0 must not take the numbers of the column beside it."""
    path = tmp_path / "a.csv"
    path.write_text("smokes,kids,many\n0,0,0\nno,1,1\n1,1,12\nyes,2,0\n")
    domain = Domain(smokes=Labels(("no", "yes")), kids=Bins.parse("0:4:1"), many=Bins.parse("0:10:1,other"))
    policy = Policy(mapping={"0": "no", "1": "yes", "12": "11"}, invalid="other")
    found = read(path, domain, {name: name for name in domain.names}, policy)
    assert sorted(map(tuple, found.coordinates.tolist())) == [(0, 0, 0), (0, 1, 1), (1, 1, 10), (1, 2, 0)]
    assert found.others == {"many 10 or above": 1}
    moved = Policy(mapping={"0": "3"})  # both are values: it is what somebody asked for
    assert read(path, Domain(kids=Bins.parse("0:4:1")), {"kids": "kids"}, moved).x.tolist() == [0, 2, 1, 1]


def test_the_other_mark_separates_thousands(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('x\n"1.234,50"\n2.500\n2000\n"7.800,00"\n"0,5"\n')
    domain = Domain(x=Bins.parse("0:10000:1000"))
    assert read(path, domain, {"x": "x"}, Policy(decimal=",")).x.tolist() == [1, 1, 2, 0, 0, 0, 0, 1, 0, 0]
    with pytest.raises(InvalidValuesError, match="not a number 3"):
        read(path, domain, {"x": "x"}, Policy(decimal="."))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["north=North", "n = North"], {"north": "North", "n": "North"}),
        (["a=b=c"], {"a": "b=c"}),
        (["=none"], {"": "none"}),
        (["pairs.csv", "x=y"], {"a, b": "B", "c=d": "C", "x": "y"}),
    ],
)
def test_a_map_is_pairs_or_a_file_of_two_columns(given, found, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text('\ufefffrom,to\n"a, b",B\nc=d,C\n\n', encoding="utf-8")
    assert read_map(given) == found


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["north"], "'north' maps no text to another: write for example north=North"),
        (["a=b", "a=c"], "'a' is mapped to 'b' and to 'c': keep one"),
        (["absent.csv"], "absent.csv cannot be read .* two columns in UTF-8"),
        (["wide.csv"], "wide.csv is no table of two columns with a header"),
        (["empty.csv"], "no table of two columns"),
        (["latin.csv"], "latin.csv cannot be read"),
    ],
)
def test_what_maps_nothing_is_refused(given, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wide.csv").write_text("from,to\na,b,c\n")
    (tmp_path / "empty.csv").write_text("from,to\n")
    (tmp_path / "latin.csv").write_bytes("from,to\n\xe9,e\n".encode("latin-1"))
    with pytest.raises(ValueError, match=words) as error:
        read_map(given)
    assert "\n" not in str(error.value)


ORDERS = {
    "incomes": ["under 10k", "10k to 30k", "30k to 100k", "100k or more"],
    "ages": ["<18", "18-24", "25-34", "35-64", "65+"],
    "with signs": ["< $1,000", "$1,000 to $2,000", "$2,000 to $10,000", "> $10,000"],
    "ordinals": ["1st", "2nd", "3rd", "10th"],
    "mixed scales": ["500 to 999", "1k to 2k", "1m"],
}


@pytest.mark.parametrize("name", ORDERS)
def test_leading_numbers_are_an_order(name, tmp_path):
    texts = ORDERS[name]
    path = tmp_path / "a.csv"
    pd.DataFrame({"x": sorted(texts * 5), "n": 1}).to_csv(path, index=False)
    found = found_values(path, "x")
    assert (found.texts, found.ordered) == (tuple(texts), True)


@pytest.mark.parametrize("text", ["", "low", "B12", "-", "k10"])
def test_what_begins_with_no_number_has_none(text):
    assert leading(text) is None


SIZES = ["small", "medium", "large"]


def frame(ordered):
    kind = pd.CategoricalDtype([*SIZES, "huge"], ordered=ordered)
    return pd.DataFrame({"size": pd.Series((SIZES * 40)[::-1], dtype=kind)})


def test_an_ordered_categorical_states_its_order(tmp_path):
    """In memory and in Parquet; without the order the alphabet is no substitute."""
    for ordered in (True, False):
        path = tmp_path / f"{ordered}.parquet"
        frame(ordered).to_parquet(path)
        for data, column in ((frame(ordered)["size"], None), (path, "size")):
            if ordered:
                found = st.plan(data, column, workload="prefix", seconds=5)
                assert found.proposal.option.removesuffix(",other") == "small,medium,large"
                assert found.name == "prefix"
            else:
                with pytest.raises(
                    ValueError, match=r"none is known for the labels .*'large', 'medium', 'small'"
                ):
                    st.plan(data, column, workload="prefix", seconds=5)
        assert found_values(path, "size").texts == (tuple(SIZES) if ordered else tuple(sorted(SIZES)))


def test_every_command_asks_for_the_order_of_labels(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("size\n" + "\n".join(SIZES * 20) + "\n")
    fast = ("--epsilon", "1", "--seconds", "5")
    data = ("--data", "a.csv", "--column", "size", *fast)
    words = "in their order, but none is known for the labels of size .*: state them from first to last with --labels"
    for workload in ("prefix", "all-range"):
        assert_refused(capsys, ["plan", "a.csv", "--column", "size", "--workload", workload, *fast], words)
        assert_refused(capsys, ["compare", workload, *data], words)
    stated = ("--labels", "small,medium,large")
    found = run_json(capsys, "plan", "a.csv", "--column", "size", "--workload", "prefix", *fast, *stated)
    assert found["labels"].removesuffix(",other") == "small,medium,large"
    assert run_json(capsys, "compare", "prefix", *data, *stated)["users"] == 60


@pytest.mark.exhaustive
def test_the_commands_that_plan_prints_count_spellings_as_it_does(capsys, tmp_path, monkeypatch):
    import shlex

    monkeypatch.chdir(tmp_path)
    rows = ["North"] * 40 + ["north"] * 20 + ["South "] * 30 + ["SOUTH"] * 10
    (tmp_path / "a.csv").write_text("town,n\n" + "".join(f"{row},1\n" for row in rows))
    asked = ("plan", "a.csv", "--column", "town", "--seconds", "5")
    found = run_json(capsys, *asked)
    assert (found["labels"].removesuffix(",other"), found["others"]) == ("North,South", {})
    assert found["spellings"] == {"north": "North", "SOUTH": "South"}
    assert any(
        note == "'SOUTH' counts as 'South'; 'north' counts as 'North', unless --as-is tells them apart."
        for note in found["notes"]
    ), found["notes"]
    status, out, err = run(capsys, *shlex.split(found["commands"][0])[1:])
    assert (status, out) == (0, "")
    assert "100 reports of 100 rows" in err
    assert "other" not in err
    simulated = ("simulate", found["file"], "--data", "a.csv", "--column", "town", "--repetitions", "5")
    assert_refused(capsys, list(simulated), "which --map SOUTH=South --map north=North reads")
    maps = ("--map", "SOUTH=South", "--map", "north=North")
    assert run_json(capsys, *simulated, *maps)["users"] == 100
    apart = run_json(capsys, *asked, "--as-is", "--force")["labels"]
    assert apart.removesuffix(",other") == "North,SOUTH,South,north"
    compared = (
        "compare",
        "histogram",
        "--data",
        "a.csv",
        "--column",
        "town",
        "--epsilon",
        "1",
        "--seconds",
        "5",
    )
    assert run_json(capsys, *compared)["domain"] == "town=2"
    assert run_json(capsys, *compared, "--as-is")["domain"] == "town=4"
    stated = run_json(capsys, *asked, "--labels", "North,South", "--force")
    assert stated["others"] == {"unknown label": 30}
    assert any("--map SOUTH=South --map north=North reads them" in note for note in stated["notes"])
    assert json.dumps(stated)
