"""The table of benchmarks: written by its programme for all its cases, and true where it is quick to solve again."""

import importlib.util
import re

import pytest

import stratagem as st
from pages import FOLDER

SPEC = importlib.util.spec_from_file_location("benchmarks", FOLDER / "benchmarks.py")
PROGRAMME = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(PROGRAMME)
PAGE = (FOLDER / "benchmarks.md").read_text("utf-8")
ROWS = {
    (cells[0], float(cells[1])): cells[2:]
    for line in PAGE.splitlines()
    if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == len(PROGRAMME.COLUMNS)
    and re.fullmatch(r"[\d.]+", cells[1])
}


def per_cent(cell: str) -> float:
    return float(cell.strip("+% "))


def test_it_has_a_row_for_every_case_and_names_the_machine():
    expected = [(name, epsilon) for name, (_, budgets) in PROGRAMME.CASES.items() for epsilon in budgets]
    assert list(ROWS) == expected
    assert PAGE.startswith(PROGRAMME.HEAD)
    assert re.search(
        r"^Measured on .+ with \d+ cores, .+ Python 3\.\d+\.\d+, stratagem .+ numpy .+\.$", PAGE, re.M
    )


def test_no_row_claims_more_than_the_bounds_allow():
    for ours, published, *_ in ROWS.values():
        assert 0 <= per_cent(ours) <= per_cent(published)
    assert sum(per_cent(row[1]) > 10 for row in ROWS.values()) >= 5, "published ones are far from prefixes"


@pytest.mark.parametrize("case", [("histogram, 16 values", 1.0), ("prefix, 16 values", 1.0)])
def test_a_row_is_what_the_programme_finds(case):
    name, epsilon = case
    found = PROGRAMME.row(name, PROGRAMME.CASES[name][0], epsilon)
    shown = ROWS[case]
    assert [per_cent(cell) for cell in found[2:4]] == pytest.approx(
        [per_cent(cell) for cell in shown[:2]], abs=0.2
    )
    assert found[4] == shown[2]
    assert float(found[5].replace(",", "")) == pytest.approx(float(shown[3].replace(",", "")), rel=1e-3)


def test_the_programme_writes_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(PROGRAMME, "TARGET", tmp_path / "page.md")
    monkeypatch.setattr(PROGRAMME, "CASES", {"two values": (st.histogram(2), (1.0,))})
    PROGRAMME.main()
    written = (tmp_path / "page.md").read_text("utf-8")
    assert "| two values | 1 | +0.0 % | +0.0 % |" in written
    assert PROGRAMME.machine() in written
