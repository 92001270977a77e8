"""The pages of the documentation: what they tell readers to run runs, prints what they show, and every number is so."""

import inspect
import re
from math import comb

import pytest

import adult
import stratagem as st
from pages import DRAWN, FENCE, FOLDER, PAGES, blocks, numbers, run, says, sentences
from stratagem.collection.reports import LINE_LIMIT
from stratagem.estimation import question
from stratagem.estimators import overlap
from stratagem.mechanism import usable
from stratagem.mechanism.client import CEILING
from stratagem.study.two_rounds import FIXED

ROOT = FOLDER.parent

NOT_RUN = {
    "index.md": ["it makes an environment and installs packages from a network"],
    "guides/browser.md": [
        "a server does not end by itself",
        "it needs a browser and a server of yours; tests/mechanism runs the same client in Chromium and Node",
        "it needs Node; tests/mechanism runs the same client in Node",
        "it needs Node; tests/cli audits an exported folder",
    ],
    "guides/collect.md": [
        "the server ends when it is told to; tests/serve runs it",
        "the file of reports is that of the server",
        "it needs the other host",
        "it needs the domain and a network",
        "it needs podman or docker, and a network",
    ],
    "guides/questions.md": [
        "the server ends when it is told to; tests/serve runs it",
        "it needs R",
        "it needs a browser and a page of yours; tests/mechanism runs the same client in Chromium and Node",
    ],
    "guides/engines.md": ["it needs Java; tests/collection/test_spark.py holds Spark against DuckDB"],
}
"""Blocks that do not run, page by page, with the reason that stands before them."""
MADE = {"benchmarks.md", "scoreboard.md"}
"""Pages that a programme writes; tests/docs/test_benchmarks.py and test_scoreboard.py are about them."""
WRITTEN = sorted(PAGES.keys() - MADE)
LONG = {
    f"guides/{name}.md"
    for name in (
        "attacker",
        "distances",
        "few-people",
        "questions",
        "repeated",
        "shuffler",
        "synthetic",
        "two-rounds",
    )
}
"""Pages whose commands search for more than ten seconds."""


def largest_body(kind):
    """Return how many bytes a body of this type may have."""
    from stratagem.cli.serve.intake import LARGEST

    return LARGEST[kind]


FACTS = {
    "index.md": {
        "3.11": lambda page: 'requires-python = ">=3.11"' in (ROOT / "pyproject.toml").read_text("utf-8")
    },
    "choose.md": {"10": lambda page: CEILING == 10},
    "guides/distances.md": {
        "7": lambda page: st.Steps.LISTED == 7,
        "10": lambda page: CEILING == 10,
        "64": lambda page: st.Steps.LARGEST == 64,
    },
    "guides/ranges.md": {
        "9,200": lambda page: page["people"][:2].sum() == 9200,
        "11,700": lambda page: page["people"][2:4].sum() == 11700,
        "34,000": lambda page: page["people"].sum() == 34000,
        "65,536": lambda page: (
            "65,536 values" in (ROOT / "notebooks/50-ranges-and-quantiles.ipynb").read_text("utf-8")
        ),
    },
    "guides/repeated.md": {
        "32": lambda page: (
            "SIZE, ONCE, PERMANENT = 32, 0.5, 2.0" in (FOLDER / "repeated.py").read_text("utf-8")
        )
    },
    "guides/synthetic.md": {
        "3,600": lambda page: page["people"].shape == (3600, 3),
        "48,842": lambda page: adult.USERS == 48_842,
        "36": lambda page: comb(len(adult.COLUMNS), 2) == 36,
        "4": lambda page: set(adult.WRONG) == {1.0, 4.0},
        "15,100": lambda page: adult.WRONG[1.0][0] == 15_100,
        "13,400": lambda page: adult.WRONG[1.0][1] == 13_400,
        "4,400": lambda page: adult.WRONG[4.0][0] == 4_400,
        "4,100": lambda page: adult.WRONG[4.0][1] == 4_100,
        "100,000": lambda page: (
            inspect.signature(st.estimation.synthetic_people).parameters["cells"].default == 100_000
        ),
        "1,000": lambda page: (
            inspect.signature(st.estimation.synthetic_people).parameters["steps"].default == 1_000
        ),
    },
    "guides/collect.md": {
        "4,096": lambda page: largest_body("application/json") == 4096,
        "1,048,576": lambda page: largest_body("application/x-ndjson") == 1_048_576,
        "512": lambda page: LINE_LIMIT == 512,
        "4,001": lambda page: LINE_LIMIT < 4_001 < largest_body("application/json"),
    },
    "guides/browser.md": {"10": lambda page: CEILING == 10},
    "guides/consent.md": {
        "16": lambda page: (
            len(st.optimise("histogram", 1.0, domain=3).mechanism().client.randomise(1)["mechanism"]) == 16
        )
    },
    "guides/few-people.md": {
        "1,000": lambda page: (
            "It has the smaller error in 7 of 11 rows." in PAGES["scoreboard.md"].read_text("utf-8")
        )
    },
    "guides/two-rounds.md": {
        "6,000": lambda page: "of 6,000 people by half a standard error" in FIXED,
        "15": lambda page: "rel=0.15" in (ROOT / "tests/study/test_two_rounds.py").read_text("utf-8"),
    },
    "guides/questions.md": {
        "4": lambda page: len(st.load("survey.toml").domain.names) == 4,
        "4,096": lambda page: overlap.CELLS == 4096,
        "100": lambda page: usable.TOLD == 100,
        "10": lambda page: question.WIDEST == 0.1,
        "95": lambda page: "95 % interval" in question.UNTOLD,
    },
    "guides/survey.md": {
        "95": lambda page: inspect.signature(st.estimate).parameters["confidence"].default == 0.95,
        "100": lambda page: 95 / 100 == inspect.signature(st.estimate).parameters["confidence"].default,
    },
}
"""Numbers of sentences that no block of their page holds, each with a check that may use the names of the page."""


@pytest.fixture
def captured(capsys):
    def read() -> str:
        return "".join(capsys.readouterr())

    return read


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.exhaustive) if name in LONG else name for name in WRITTEN]
)
def test_a_page_runs_and_its_numbers_are_so(name, captured, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGES[name].read_text("utf-8")
    known, names = "", {}
    for block, printed in run(text, captured, names):
        if block.language == "text":
            assert says(block.code, printed, block.varying, block.close), (
                f"{block.code}\n--- was not printed, but\n{printed}"
            )
        known += "" if block.varying else block.code
    facts = FACTS.get(name, {})
    assert numbers(sentences(text)) - numbers(known) == facts.keys()
    assert [number for number, holds in facts.items() if not holds(names)] == []


def test_blocks_that_do_not_run_have_a_reason_and_are_few():
    found = {name: [b.reason for b in blocks(PAGES[name].read_text("utf-8")) if b.reason] for name in WRITTEN}
    assert {name: reasons for name, reasons in found.items() if reasons} == NOT_RUN


@pytest.mark.parametrize("name", WRITTEN)
def test_every_block_is_one_that_the_tests_know(name):
    text = PAGES[name].read_text("utf-8")
    languages = {block.language for block in blocks(text) if not block.reason}
    assert languages <= {"python", "sh", "text"}
    assert text.count("```") == 2 * len(blocks(text))


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("33 reports", "34 reports"),
        ("33 reports", "33 reports more"),
        ("33 reports", "some 33 reports"),
        ("... at most 5 users", "at most 6 users"),
        ("first ... last", "last first"),
        ("first ... last", "first last more"),
        ("", "words"),
    ],
)
def test_another_output_than_the_one_shown_is_found(shown, printed):
    assert not says(shown, printed)


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("33 reports", "33\n  reports"),
        ("1,000.5 users", "1,000.6 users"),
        ("first ... last", "first and last but not last"),
        ("... last", "at last"),
        ("first ...", "first"),
    ],
)
def test_an_output_is_recognised(shown, printed):
    assert says(shown, printed)


def test_numbers_that_differ_every_time_are_still_numbers():
    assert says("12 users", "99 users", varying=True)
    assert not says("12 users", "many users", varying=True)
    assert says("0.67 off", "0.78 off", close=DRAWN)
    assert not says("0.67 off", "0.99 off", close=DRAWN)


def test_a_number_in_a_sentence_is_found():
    text = "It takes 12 users,\n<!-- 13 --> `14` and [15](16.md) for +1.5 % of 1,000.\n```text\n17\n```\n"
    assert numbers(sentences(text)) == {"12", "15", "1.5", "1,000"}


def test_a_command_of_another_programme_must_be_marked(captured):
    with pytest.raises(AssertionError, match="a page runs rm"):
        list(run("```sh\nrm -r folder\n```\n", captured, {}))


def test_the_guide_to_browsers_sends_what_the_server_takes():
    """A body of no stated type is one of text for a browser, which the server refuses."""
    from stratagem.cli.serve.intake import LARGEST

    text = PAGES["guides/browser.md"].read_text("utf-8")
    (sent,) = re.findall(r'"Content-Type": "([^"]+)"', text)
    assert sent in LARGEST
    assert text.count("fetch(") == text.count("headers, body") == 1


LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s#]+)")
"""The address of a link to another file."""


def dead(path, text):
    """Return the links of a text in this file that lead to no file of the checkout."""
    return [link for link in LINK.findall(FENCE.sub("", text)) if not (path.parent / link).exists()]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", *(f"docs/{name}" for name in PAGES)])
def test_every_link_leads_somewhere_in_the_checkout_too(name):
    """Pages led to theory.md and to the notebooks where only the site has them."""
    path = FOLDER.parent / name
    assert dead(path, path.read_text("utf-8")) == []


def test_a_link_that_only_the_site_has_is_found():
    assert dead(
        PAGES["guides/collect.md"], "[a](../threat-model.md) [b](survey.md#x) [c](https://a.org)"
    ) == ["../threat-model.md"]


def test_the_guide_says_why_the_package_of_the_client_is_private():
    guide = " ".join(PAGES["guides/browser.md"].read_text("utf-8").split())
    assert "It says `private`, so that npm refuses to publish the folder by mistake" in guide
