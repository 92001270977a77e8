"""The literature: what is cited has an entry, what has an entry is cited, and every entry is sound."""

import re

import pytest

import stratagem as st
from commands import assert_refused, run, run_json
from stratagem.bounds import RULES
from stratagem.solvers.solver import Algorithm, Series, Solver
from stratagem.study.literature import FILE, cited, contents, publications, readable

pytestmark = pytest.mark.smoke

NEEDED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "misc": {"author", "title", "howpublished", "year"},
}
"""What BibTeX's standard styles warn about when it is missing."""
ITEMS = [item for items in contents().values() for item in items]


@pytest.mark.parametrize("key", publications())
def test_every_entry_is_one_that_bibtex_reads(key):
    one = publications()[key]
    head, *lines, end = one.bibtex.splitlines()
    kind = re.fullmatch(r"@(\w+)\{\w+,", head)[1]
    assert len(lines) == len(one.fields)
    assert set(one.fields) >= NEEDED[kind]
    assert end == "}"
    assert one.bibtex.isascii()
    assert one.bibtex.count("{") == one.bibtex.count("}")
    assert key == "stratagem" or one.fields["year"] in key
    assert re.fullmatch(r"(\d+--\d+)?", one.fields.get("pages", ""))


def test_keys_are_unique_and_in_order():
    keys = re.findall(r"^@\w+\{(\w+),$", FILE.read_text(), flags=re.MULTILINE)
    assert keys == sorted(set(keys)) == list(publications())


def test_every_entry_is_cited_and_nothing_else_is():
    assert {key for item in ITEMS for key in item.keys} == set(publications())


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.name)
def test_printed_references_name_no_work_without_an_entry(item):
    """A year in print comes from an entry."""
    assert item.title
    assert item.reference
    assert "@" not in item.reference
    years = re.findall(r"\b(?:19|20)\d\d\b", item.reference)
    assert years == [publications()[key].fields["year"] for key in item.keys]


def test_solvers_cite_what_has_an_entry():
    for name in st.solvers.__all__:
        getattr(st.solvers, name)  # imports its file, so that the class is known
    kinds = (*Solver.__subclasses__(), *Algorithm.__subclasses__(), *Series.__subclasses__())
    leaves = [leaf for leaf in kinds if isinstance(leaf.__dict__.get("reference"), str)]
    assert len(leaves) >= 4
    assert all(cited(leaf.reference) for leaf in leaves)


def test_every_bound_has_its_meaning_and_place():
    assert [rule.place for rule in RULES.values()] == list(range(1, len(RULES) + 1))
    assert all(
        name == rule.name and rule.meaning and readable(rule.reference) for name, rule in RULES.items()
    )


def test_a_key_without_an_entry_is_refused():
    with pytest.raises(ValueError, match="@nobody1999nothing, which has no entry"):
        readable("@warner1965randomized; @nobody1999nothing")


def test_the_command_writes_entries(capsys):
    status, out, err = run(capsys, "list", "--bibtex")
    assert (status, err) == (0, "")
    assert out == st.study.bibtex()
    assert out.count("\n@") + 1 == len(publications())


def test_entries_of_some_names():
    text = st.study.bibtex("subset-selection", "svd")
    assert re.findall(r"^@\w+\{(\w+),$", text, flags=re.MULTILINE) == [
        "mckenna2020workload",
        "wang2016mutual",
        "ye2018optimal",
    ]
    with pytest.raises(ValueError, match="did you mean subset-selection"):
        st.study.bibtex("subset-selektion")


def test_the_list_shows_bounds_and_keys(capsys):
    data = run_json(capsys, "list")
    assert list(data) == ["workloads", "solvers", "mechanisms", "post-processings", "bounds"]
    assert data["bounds"][0]["keys"] == ["mckenna2020workload"]
    out = run(capsys, "list")[1]
    assert all(item.name in out for item in ITEMS)


def test_two_formats_at_once_are_refused(capsys):
    assert_refused(capsys, ["list", "--bibtex", "--json"], "choose one")
