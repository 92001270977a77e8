"""Synthetic people: the model against brute force, people against the model, files read back, refusals."""

import csv
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

import stratagem as st
from stratagem.domain import Attribute, Bins, Codes, Labels
from tools import take_away

USERS = 10_000
CELLS = 8
EDGES = Attribute("c", Bins(("-5", "0", "12.5")), unit="minutes")


def released(p, users=USERS, attributes=(), order=2, left=()):
    """Return a release of the exact tables of users with frequencies p, one axis an attribute, some left out."""
    domain = dict(zip("abcdefgh", p.shape, strict=False))
    strategy = st.published.hadamard_response(p.size, 1.0)
    counts = strategy.histogram(np.full(p.size, -(-users // p.size))[: p.size], np.random.default_rng(0))
    found = st.estimation.release(st.estimate(strategy, counts, st.marginals(domain, order)), order)
    names = [*domain]
    exact = [
        replace(
            one,
            counts=users * p.sum(axis=tuple(k for k, name in enumerate(names) if name not in one.attributes)),
        )
        for one in found.tables
        if one.attributes not in left
    ]
    return replace(found, estimate=replace(found.estimate, attributes=tuple(attributes)), tables=tuple(exact))


@pytest.fixture(scope="module")
def p():
    return np.random.default_rng(4).dirichlet(np.ones(CELLS)).reshape(2, 2, 2)


def most_entropy(release, sizes):
    """Return the distribution of most entropy with the released tables: the dual, by brute force over all cells."""
    names = [*"abc"][: len(sizes)]
    cells = np.indices(sizes).reshape(len(sizes), -1)
    rows, wanted = [], []
    for table in release.tables:
        places = [names.index(name) for name in table.attributes]
        for where in np.ndindex(table.counts.shape):
            rows.append(np.all(cells[places] == np.array(where)[:, None], axis=0))
            wanted.append(table.counts[where] / table.counts.sum())
    A, b = np.array(rows, float), np.array(wanted)

    def dual(y):
        z = A.T @ y
        top = z.max()
        q = np.exp(z - top)
        return np.log(q.sum()) + top - b @ y, A @ (q / q.sum()) - b

    y = minimize(dual, np.zeros(len(b)), jac=True, method="BFGS", options={"gtol": 1e-10}).x
    q = np.exp(A.T @ y)
    return (q / q.sum()).reshape(sizes)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("left", "most"), [((), 2e-5), ((("a", "c"),), 1.25e-3)], ids=["a circle", "a chain"]
)
def test_the_model_is_the_distribution_of_most_entropy(p, left, most):
    """Of the circle, one table of three, people are rounded: by fewer than 2 a cell, the rest is convergence.

    On the chain a and c are drawn apart given b: a cell of a million people has a standard deviation of at most 250,
    5 of which one of 8 cells exceeds for one seed in 200,000.
    """
    release = released(p, left=left)
    q = most_entropy(release, p.shape)
    for table in release.tables:
        gone = tuple(k for k, name in enumerate("abc") if name not in table.attributes)
        np.testing.assert_allclose(q.sum(axis=gone), table.counts / USERS, atol=1e-7)
    found = st.estimation.synthetic_people(release, 1_000_000, steps=3000)
    np.testing.assert_allclose(found.counts("a", "b", "c") / 1e6, q, atol=most)
    assert np.abs(p - q).max() > 2 * most, "the control: most entropy is not the truth"


def apart(release, people):
    return np.mean([one.users for one in replace(people, release=release).distances])


def test_people_are_near_to_the_tables_and_people_drawn_uniformly_are_not(p):
    """Rounding moves fewer than 2 people a cell of the junction tree, whatever the seed: no false alarms."""
    release = released(p)
    found = st.estimation.synthetic_people(release, seed=3, steps=3000)
    assert found.people.shape == (USERS, 3)
    assert all(one.fitted and one.users < 2 * CELLS and one.standard_errors < 0.1 for one in found.distances)
    uniform = np.random.default_rng(0).integers(0, 2, (USERS, 3))
    assert apart(release, replace(found, people=uniform)) > 20 * apart(release, found)
    by_hand = np.zeros((2, 2))
    np.add.at(by_hand, tuple(found.people[:, [2, 0]].T), 1)
    np.testing.assert_array_equal(found.counts("c", "a"), by_hand)
    table = release.table("a", "c")
    one = next(one for one in found.distances if one.attributes == ("a", "c"))
    assert one.users == pytest.approx(np.abs(by_hand.T - table.counts).sum() / 2)
    assert one.standard_errors == pytest.approx(
        np.sqrt(np.mean((by_hand.T - table.counts) ** 2) / table.variance)
    )


def test_a_seed_repeats_them_and_the_generator_of_numpy_stays(p):
    release = released(p)
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    one, same, other = (
        st.estimation.synthetic_people(release, 500, seed=seed, steps=50).people for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.exhaustive
def test_tables_that_do_not_fit_are_left_out_and_the_most_dependent_are_kept():
    """Of a chain a - b - c with an independent d, a model of two tables holds a, b and b, c."""
    a, b = np.array([0.3, 0.5, 0.2]), np.array([[0.8, 0.2], [0.1, 0.9], [0.4, 0.6]])
    d = np.array([0.6, 0.4])
    release = released(np.einsum("i,ij,jk,l->ijkl", a, b, b[:2], d))
    found = st.estimation.synthetic_people(release, cells=12, steps=500)
    assert {frozenset(one) for one in found.fitted} == {frozenset("ab"), frozenset("bc")}
    assert "2 of 6 released tables, 4 left out" in found.summary()
    assert [one.attributes for one in found.distances if one.fitted] == [("a", "b"), ("b", "c")]
    np.testing.assert_allclose(found.counts("d") / USERS, d, atol=1e-3)
    everything = st.estimation.synthetic_people(release, steps=500)
    assert len(everything.fitted) == 6
    alone = st.estimation.synthetic_people(replace(release, tables=(release.table("b", "c"),)), 100)
    assert [one.name for one in alone.attributes] == ["b", "c"]


def test_a_file_holds_labels_numbers_and_where_bins_start(p, tmp_path):
    import pyarrow.parquet

    described = [Attribute("a", Labels(("no", "yes"))), Attribute("b", Codes(2)), EDGES]
    found = st.estimation.synthetic_people(released(p, attributes=described), 200, steps=50)
    with found.save(tmp_path / "people.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 200
    read = [[["no", "yes"].index(r["a"]), int(r["b"]), [-5.0, 0.0].index(float(r["c"]))] for r in rows]
    np.testing.assert_array_equal(read, found.people)
    table = pyarrow.parquet.read_table(found.save(tmp_path / "people.parquet")).to_pydict()
    assert [{name: str(table[name][k]) for name in table} for k in range(200)] == rows
    other = Attribute("c", Bins(("2026-01-01", "2026-02-01", "other")))
    dated = replace(found, attributes=(*described[:2], other)).save(tmp_path / "dated.csv")
    with dated.open(newline="") as file:
        assert {row["c"] for row in csv.DictReader(file)} == {"2026-01-01", "other"}
    with pytest.raises(ValueError, match="exists: name another"):
        found.save(tmp_path / "people.csv")
    with pytest.raises(ValueError, match=r"suffix must be one of \.csv, \.parquet"):
        found.save(tmp_path / "people.xlsx")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"people": 0}, "number of people is 0"),
        ({"people": 2.5}, "number of people is 2.5"),
        ({"people": 10**8}, "number of people"),
        ({"seed": -1}, "the seed is -1"),
        ({"steps": 0}, "number of steps is 0"),
        ({"cells": 3}, "the smallest table has 4 cells, but a model at most 3"),
    ],
)
def test_what_cannot_be_made_is_said_in_a_sentence(p, given, words):
    with pytest.raises(ValueError, match=words):
        st.estimation.synthetic_people(released(p), **given)


def test_releases_that_cannot_be_used_are_refused_in_a_sentence(p, monkeypatch):
    release = released(p)
    with pytest.raises(ValueError, match="no tables were given"):
        st.estimation.synthetic_people(replace(release, tables=()))
    with pytest.raises(ValueError, match=r"made of what st\.estimation\.release returned"):
        st.estimation.synthetic_people(release.tables)
    with pytest.raises(ValueError, match="the columns are a, b, c"):
        st.estimation.synthetic_people(release, 10, steps=1).counts("a", "x")
    names = [f"a{k}" for k in range(33)]
    many = [st.estimation.MarginalTable(pair, np.ones((2, 2))) for pair in combinations(names, 2)]
    domain = st.Domain.of(dict.fromkeys(names, 2))
    wide = replace(release.estimate, workload=st.marginals(domain, 2), attributes=())
    with pytest.raises(ValueError, match="33 attributes were asked for, but 32 are the most"):
        st.estimation.synthetic_people(replace(release, estimate=wide, tables=tuple(many)))
    take_away(monkeypatch, "mbi")
    with pytest.raises(
        ValueError, match=r"need the package mbi: install it with pip install 'stratagem\[synthetic\]'"
    ):
        st.estimation.synthetic_people(release)
