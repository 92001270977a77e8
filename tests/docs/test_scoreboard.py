"""The scoreboard: written by its programme for all its cases, each loss with its reason, and true where it is quick."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import scoreboard
import stratagem as st
from pages import FOLDER

PAGE = (FOLDER / "scoreboard.md").read_text("utf-8")
TEXT = (FOLDER / "scoreboard.csv").read_text("utf-8")
ROWS = scoreboard.rows_of(TEXT)
TWICE = (FOLDER / "scoreboard-rounds.csv").read_text("utf-8")
ROUNDS = scoreboard.rows_of(TWICE, scoreboard.RoundsRow)
LITTLE = (FOLDER / "scoreboard-few.csv").read_text("utf-8")
SMALL = scoreboard.rows_of(LITTLE, scoreboard.FewRow)
QUICK = "flights: carrier, 16 values, histogram", 2.0
CHANCE = 5.0
"""Standard errors that a repeated measurement may differ by: once in a million."""


def group(name, epsilon, rows=ROWS):
    return [row for row in rows if (row.case, row.epsilon) == (name, epsilon)]


def unexplained(rows):
    """Return the mechanisms that beat ours, as the errors say, without the reason that the rule gives."""
    found = []
    for ours, *published in scoreboard.grouped(rows):
        for row in published:
            ratio, spread = scoreboard.relative(ours, row)
            true = replace(row, ratio=ratio, ratio_error=spread)
            differs = (row.ratio, row.ratio_error) != pytest.approx((ratio, spread), rel=1e-4)
            if differs or (true.behind and row.why != scoreboard.cause(ours, row)):
                found.append(row.mechanism)
    return found


def test_the_page_is_what_the_programme_makes_of_the_table():
    assert scoreboard.page(ROWS, ROUNDS, SMALL) == PAGE
    assert scoreboard.text_of(SMALL) == LITTLE
    assert scoreboard.text_of(ROWS) == TEXT
    assert scoreboard.text_of(ROUNDS) == TWICE


def test_it_has_a_row_for_every_case_and_every_mechanism_of_it():
    expected = [(name, epsilon) for name, case in scoreboard.CASES.items() for epsilon in case.budgets]
    groups = scoreboard.grouped(ROWS)
    assert [(rows[0].case, rows[0].epsilon) for rows in groups] == expected
    for rows in groups:
        assert "| " + " | ".join(scoreboard.board(rows)) + " |" in PAGE
        assert rows[0].mechanism == "optimised"
        assert len({row.mechanism for row in rows}) == len(rows)
    assert sum(len(rows) > 20 for rows in groups) >= len(groups) / 2


def test_every_mechanism_that_beats_ours_is_listed_with_its_reason():
    assert unexplained(ROWS) == []
    assert all(bool(row.again) == row.behind for row in ROWS)
    listed = PAGE.split("## Where published mechanisms are better")[1].split("## All")[0]
    assert listed.count("\n| ") == sum(row.behind for row in ROWS) + 2
    assert all(f"* **{row.why}**: {scoreboard.CAUSES[row.why]}" in listed for row in ROWS if row.behind)


def test_every_numeric_case_is_asked_in_two_rounds_and_a_loss_has_its_reason():
    asked = [(name, epsilon) for name, case in scoreboard.CASES.items() for epsilon in case.budgets]
    numeric = [one for one in asked if "prefixes" in one[0] or "ranges" in one[0]]
    assert [(row.case, row.epsilon) for row in ROUNDS] == numeric
    ours = [row for row in ROWS if row.mechanism == "optimised" and (row.case, row.epsilon) in numeric]
    assert [(row.one, row.one_error, row.plain_one) for row in ROUNDS] == [
        (row.error, row.standard_error, row.exact) for row in ours
    ]
    for row in ROUNDS:
        assert row.why == scoreboard.reason(row)
        assert bool(row.why) == (row.ratio > 1)
        assert not row.why or f"* **{row.why}**: {scoreboard.REASONS[row.why]}" in PAGE
        assert row.plain_two < row.plain_one or not row.advised, "what is advised is more exact"
    assert any(row.advised for row in ROUNDS)


def test_a_thousand_people_gain_by_shrinkage_in_half_of_the_rows_at_least():
    assert [row.case for row in SMALL] == scoreboard.small(scoreboard.CASES)
    assert sum(row.ratio < 1 for row in SMALL) >= len(SMALL) / 2
    quick = next(row for row in SMALL if row.case == QUICK[0])
    again = scoreboard.few(QUICK[0])
    assert (again.shrinkage, again.recommended) == pytest.approx(
        (quick.shrinkage, quick.recommended), rel=1e-3
    )


@pytest.mark.exhaustive
def test_two_rounds_measured_again_give_the_same_errors():
    shown = next(row for row in ROUNDS if row.case == "Adult: final weight, 128 bins, ranges of half width")
    (row,) = (row for row in group(shown.case, shown.epsilon) if row.mechanism == "optimised")
    found = scoreboard.asked_twice(row)
    assert abs(found.two - shown.two) <= CHANCE * (found.two_error + shown.two_error)
    assert found.advised == shown.advised


def test_a_hidden_loss_is_found():
    ours, *published = group(*QUICK)
    better = replace(published[-1], error=ours.error / 2, standard_error=ours.error / 100)
    assert unexplained([ours, better]) == [better.mechanism]
    ratio, spread = scoreboard.relative(ours, better)
    told = replace(better, ratio=ratio, ratio_error=spread, why="noise")
    assert unexplained([ours, replace(told, again=2.0, again_error=0.1)]) == [better.mechanism]
    assert not unexplained([ours, replace(told, again=1.0, again_error=0.1)])


def test_no_exact_error_is_below_the_bound():
    assert all(row.exact >= row.bound * (1 - 1e-4) for row in ROWS)


def measured(case, shown):
    """Return a row of the table measured again, with other random numbers."""
    comparison, bound = scoreboard.compared(case, shown.epsilon)
    exact = scoreboard.exact_error(case, comparison, shown.mechanism)
    row = replace(shown, bound=bound, exact=exact)
    return scoreboard.measured(case, comparison.compared[row.mechanism], row, scoreboard.DRAWN, 3)


def differs(found, shown):
    """Return whether bound, exact error or measured error are not those of the table."""
    return (
        found.bound != pytest.approx(shown.bound, rel=1e-2)
        or found.exact != pytest.approx(shown.exact, rel=1e-3)
        or abs(found.error - shown.error) > CHANCE * (found.standard_error + shown.standard_error)
    )


@pytest.mark.exhaustive
def test_a_case_measured_again_gives_the_same_errors_and_other_data_do_not():
    case, shown = scoreboard.CASES[QUICK[0]], group(*QUICK)[0]
    assert not differs(measured(case, shown), shown)
    wrong = case.data().copy()
    wrong[0] = 10 * wrong.sum()
    assert differs(measured(replace(case, data=lambda: wrong), shown), shown)


class Inline:
    """Stands for the pool of processes: works in this one."""

    imap = staticmethod(map)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


def test_the_programme_writes_all_three_files_or_none(tmp_path, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    small = scoreboard.Case(st.histogram(3), lambda: np.array([500, 300, 200]), repetitions=2)
    targets = [tmp_path / "page.md", tmp_path / "page.csv", tmp_path / "page.png"]
    for target, constant in zip(targets, ("TARGET", "TABLE", "PICTURE"), strict=True):
        monkeypatch.setattr(scoreboard, constant, target)
    monkeypatch.setattr(scoreboard, "CASES", {"three values": small})
    monkeypatch.setattr(scoreboard, "get_context", lambda _: SimpleNamespace(Pool=Inline))
    with monkeypatch.context() as patch:
        patch.setattr(scoreboard, "results", stopped)
        with pytest.raises(KeyboardInterrupt):
            scoreboard.main()
    assert not list(tmp_path.iterdir())
    scoreboard.main()
    rows = scoreboard.rows_of(targets[1].read_text("utf-8"))
    assert len(rows) > 10
    assert unexplained(rows) == []
    few = scoreboard.rows_of((tmp_path / "page-few.csv").read_text("utf-8"), scoreboard.FewRow)
    assert targets[0].read_text("utf-8") == scoreboard.page(rows, [], few)
    assert targets[2].read_bytes().startswith(b"\x89PNG")
    light, dark = ((tmp_path / name).read_text("utf-8") for name in ("page.svg", "page-dark.svg"))
    assert "#000000" in light
    assert "#000000" not in dark


def test_a_row_holds_a_cell_a_column_of_one_kind_of_error():
    """Nine attributes had too few cells once, an exact error before measured ones."""
    for cells in map(scoreboard.board, scoreboard.grouped(ROWS)):
        assert len(cells) == len(scoreboard.COLUMNS)
        exact = ["(exact)" in cell for cell in cells[2:4] if cell != "none"]
        assert all(exact) or not any(exact)
    with pytest.raises(ValueError, match="has 2 cells for 3 columns"):
        scoreboard.table(("a", "b", "c"), [("1", "2")])
