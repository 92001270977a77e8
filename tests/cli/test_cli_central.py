"""The command `central`: the same numbers as the library, for people and for programs."""

import pytest

import stratagem as st
from commands import assert_refused, plain, run, run_json
from stratagem import central

SMALL = ("central", "all-range", "--domain", "12", "--epsilon", "0.5", "--neighbours")


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_programs_get_the_comparison(capsys, neighbours, delta):
    data = run_json(capsys, *SMALL, neighbours, *([] if delta is None else ["--delta", delta]))
    rows = data.pop("mechanisms")
    assert data == {
        "workload": "all-range",
        "domain": "12",
        "epsilon": 0.5,
        "delta": delta,
        "neighbours": neighbours,
    }
    found = central.compare(st.all_range(12), 0.5, neighbours, delta)
    assert rows == [row.record() for row in found.rows]
    assert {"gaussian"} & {row["mechanism"] for row in rows} == ({"gaussian"} if delta else set())
    for row in rows:
        assert 0.5 * (1 - 1e-6) <= row["epsilon"] <= 0.5
        assert row["delta"] in (0, delta)
        assert 0 < row["average_variance"] <= row["worst_variance"]


def test_people_get_a_table(capsys):
    status, out, err = run(capsys, *SMALL, "replace", "--delta", "1e-6")
    assert (status, err) == (0, "")
    *lines, last = out.splitlines()
    assert last == "asked: all-range over domain 12, epsilon 0.5, delta 1e-06, neighbours replace"
    found = central.compare(st.all_range(12), 0.5, "replace", 1e-6)
    for row in found.rows:
        assert any(
            line.startswith(row.mechanism) and f" {row.average_variance:.5g} " in line for line in lines
        )
    best = found.rows[0]
    error, worst = (f"{variance**0.5:.4g}" for variance in (best.average_variance, best.worst_variance))
    assert plain(out).startswith(
        f"With a trusted curator the best mechanism, {best.mechanism} ({best.parameters}), "
    )
    assert f"error of {error} users, root mean square over the queries, and of {worst} for the" in plain(out)


def test_order_and_width_reach_the_workload(capsys):
    asked = ("--epsilon", "1", "--neighbours", "replace")
    data = run_json(capsys, "central", "marginals", "--order", "1", "--domain", "2^3", *asked)
    found = central.compare(st.marginals("2^3", 1), 1.0, "replace")
    assert data["mechanisms"] == [row.record() for row in found.rows]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((*SMALL, "bounded"), "choose one of add-remove, replace"),
        (SMALL[:-1], "neighbours"),
        ((*SMALL, "replace", "--delta", "2"), "delta"),
        ((*SMALL, "replace", "--epsilon", "-1"), "epsilon"),
        (("central", "nothing", *SMALL[2:], "replace"), "nothing"),
        (("central", "total", *SMALL[2:], "replace"), "total alone"),
        (("central", "prefix", "--domain", "2000", *SMALL[4:], "replace"), "comparisons go to 1024"),
    ],
)
def test_mistakes_end_in_one_sentence(capsys, arguments, words):
    assert_refused(capsys, arguments, words)
