"""Tables fit a screen: words keep whole, numbers right, what is too wide in several lines or below."""

import csv
import json

import pytest

from stratagem.io.table import NAME, Table, save_records

NUMBERS = Table(
    ("mechanism", "parameters", "users needed", "least accurate"),
    [("ours", "", "1,234", "5,678"), ("thresholded-histogram-encoding", "threshold 0.6 and more", "9", "10")],
    words=2,
    bold=0,
)
MANY = Table(("users, epsilon =", *map(str, range(40))), [("ours", *("1,000,000" for _ in range(40)))])


def test_words_stand_left_and_numbers_right():
    assert str(Table(("name", "value"), [("a", "1"), ("bcdefg", "10,000")])).splitlines() == [
        "name     value",
        "--------------",
        "a            1",
        "bcdefg  10,000",
    ]


@pytest.mark.parametrize("width", [100, 80, 72])
@pytest.mark.parametrize("table", [NUMBERS, MANY])
def test_no_line_is_longer_than_the_screen_and_nothing_is_lost(table, width):
    lines = table.lines(width)
    assert max(map(len, lines)) <= width
    for cells in (table.headings, *table.rows):
        for word in " ".join(cells).split():
            assert any(word in line.split() for line in lines), word


def test_headings_are_broken_before_words_are():
    wide = NUMBERS.lines(80)
    assert len(wide) == 5, "two lines of headings, a rule and two rows"
    assert "threshold 0.6 and more" in wide[-1]
    assert len(NUMBERS.lines(100)) == 4
    assert len(NUMBERS.lines(70)) == 6


def test_columns_of_numbers_that_do_not_fit_follow_below():
    parts = "\n".join(MANY.lines(80)).split("\n\n")
    assert len(parts) > 1
    assert all(part.splitlines()[-1].startswith("ours") for part in parts)
    assert sum(part.count("1,000,000") for part in parts) == 40


def test_no_name_of_a_mechanism_is_broken():
    from stratagem.published import BASELINES, MEANS

    assert max(len(one.name) for one in (*BASELINES, *MEANS)) <= NAME


def test_columns_can_be_left_out():
    assert NUMBERS.without("parameters").words == 1
    assert NUMBERS.without("parameters").headings == ("mechanism", "users needed", "least accurate")
    assert NUMBERS.without("mechanism", "parameters").words == 0
    assert NUMBERS.without("absent") == NUMBERS.without()


@pytest.mark.parametrize(
    ("bold", "names", "place"), [(0, ["a", "b"], 0), (3, ["a", "d"], 1), (None, ["a", "b"], None)]
)
def test_the_bold_row_is_among_the_best(bold, names, place):
    found = Table(("name",), [(name,) for name in "abcde"], bold=bold).best(2)
    assert ([name for (name,) in found.rows], found.bold) == (names, place)


def test_a_text_says_how_many_rows_it_leaves_out():
    table = Table(("name",), [(str(k),) for k in range(20)])
    assert str(table).splitlines()[-1] == "... 4 more rows"
    assert "more" not in table.text(20)


def test_the_bold_row_is_stressed_and_no_other():
    assert [line for line in NUMBERS.lines(stress=str.upper) if line.isupper()] == [
        NUMBERS.lines()[3].upper()
    ]


def test_nothing_in_a_cell_commands_a_terminal_and_wide_characters_take_two_columns():
    lines = Table(("name", "value"), [("a\x1b[2J", "1"), ("年齢", "22")]).lines()
    assert lines[2] == "a\\x1b[2J      1"
    assert lines[3] == "年齢" + " " * 9 + "22"


def test_cells_of_wide_characters_are_broken_too():
    lines = Table(("a", "b"), [("x", "年" * 60)], words=2).lines(60)
    assert sum(line.count("年") for line in lines) == 60
    assert max(2 * line.count("年") for line in lines) <= 57


RECORDS = [{"name": "a", "users": {"one": 1, "two": 2}}, {"name": "b"}]


def test_records_are_saved_flat_or_whole(tmp_path):
    with save_records(tmp_path / "r.csv", RECORDS, axis="n").open(newline="") as file:
        assert list(csv.reader(file)) == [["name", "users_one", "users_two"], ["a", "1", "2"], ["b", "", ""]]
    assert json.loads(save_records(tmp_path / "r.json", RECORDS, axis="n").read_text()) == {
        "axis": "n",
        "records": RECORDS,
    }


@pytest.mark.parametrize(("name", "words"), [("r.txt", "suffix"), ("absent/r.csv", "does not exist")])
def test_what_cannot_be_written_is_refused(tmp_path, name, words):
    with pytest.raises(ValueError, match=words):
        save_records(tmp_path / name, RECORDS)
    save_records(tmp_path / "r.csv", RECORDS)
    with pytest.raises(ValueError, match="exists"):
        save_records(tmp_path / "r.csv", RECORDS)
    with pytest.raises(ValueError, match="JSON compliant"):
        save_records(tmp_path / "r.json", [{"a": float("nan")}])
    assert not (tmp_path / "r.json").exists()
