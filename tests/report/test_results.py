"""The page on results: the numbers of the estimate, the verdict, and what everybody can read on screens and paper."""

import contextlib
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import stratagem as st
from browsing import context_of
from commands import assert_refused, run, run_json
from mechanisms import mechanism
from reading import LOADING, Page, low_contrast, sheets
from stratagem.estimation.share import shares
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.usable import LEAST
from stratagem.report.page import write_results
from stratagem.workloads.identity import Total

PEOPLE = {"few": 9, "many": 10**7}


@cache
def estimated(name, people):
    """Return the estimate from counts as a mechanism makes them of values that are all alike."""
    found = mechanism(name)
    likely = np.full(found.strategy.outputs, 1.0) if name == "labels" else found.strategy.row_sums
    return found.estimate(np.random.default_rng(1).multinomial(people, likely / likely.sum()))


def written(folder, name, people, **about):
    found = estimated(name, people)
    return write_results(folder / "results.html", found, float(mechanism(name).epsilon), name=name, **about)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("many", PEOPLE)
@pytest.mark.parametrize("name", ["labels", "several-attributes"])
def test_every_answer_is_there_with_its_interval_and_a_verdict(name, many, tmp_path):
    found = estimated(name, PEOPLE[many])
    page = Page(written(tmp_path, name, PEOPLE[many], question="<Ja?> ü").read_text("utf-8"))
    for one in found.table() if many == "many" else ():
        numbers = (f"{100 * value / found.users:.1f}\u00a0%" for value in (one.answer, one.low, one.high))
        assert " ".join([one.label, *numbers, f"{one.answer:,.0f}"]).replace(
            "\u00a0", " "
        ) in page.text.replace("\u00a0", " ")
    tables = [one.workload for one in found.workload.margins()]
    known = sum(isinstance(one, Total) for one in tables)
    assert page.text.count("sable with") == (len(tables) if many == "many" else known)
    assert page.text.count("Too few reports yet to say anything: 9 of about ") == (
        len(tables) - known if many == "few" else 0
    )
    assert page.text.count("the answers are exact, because the number of reports gives them") == known
    assert bool(page.all("table")) == (many == "many" or known > 0)
    assert "<Ja?> ü" in page.text
    assert f"Each report reveals at most epsilon {found_epsilon(name)} about its sender's answer" in page.text
    assert page.text.count(LEAST) == page.text.count("Usable with")
    assert many == "few" or page.text.count(LEAST) == len(tables)
    assert f"{found.users:,} reports; they are unbiased" in page.text


@pytest.mark.parametrize(
    ("simultaneous", "words"),
    [
        (
            False,
            "each on its own. In 95 of 100 such surveys an interval holds the true answer of these people.",
        ),
        (True, "all together. In 95 of 100 such surveys all of them hold the true answers of these people."),
    ],
)
def test_the_page_says_how_often_intervals_hold(simultaneous, words, tmp_path):
    found = replace(estimated("labels", 10**7), simultaneous=simultaneous)
    page = write_results(tmp_path / "results.html", found, 1.0, name="labels")
    text = " ".join(Page(page.read_text("utf-8")).text.replace("\u00a0", " ").split())
    assert f"They come with 95 % intervals, {words}" in text


def found_epsilon(name):
    return f"{float(mechanism(name).epsilon):g}"


@pytest.mark.parametrize("rounds", [1, 3])
def test_nothing_is_said_that_whoever_collects_reports_cannot_know(rounds, tmp_path):
    """One person may have sent several reports, which then reveal more: e^1.5/(1 + e^1.5) = 0.81757."""
    page = " ".join(Page(written(tmp_path, "labels", 9, rounds=rounds).read_text("utf-8")).text.split())
    assert ("9; if each person sent one, of 9 people" in page) == (rounds == 1)
    assert ("9, if each sent 3 reports" in page) == (rounds == 3)
    assert ("Whoever sent several revealed more." in page) == (rounds == 1)
    assert re.search(
        r"whoever thinks a guess of that answer 50 % likely before seeing (one report|them) can think it at most "
        r"81\.8 % likely afterwards. At 50 % they would have learnt nothing, at 100 % everything.",
        page,
    )
    assert "Every person" not in page


def test_a_page_loads_nothing_and_the_same_again_is_the_same_file(tmp_path):
    path = written(tmp_path, "labels", 30)
    first = path.read_bytes()
    page = Page(first.decode())
    loaded = [one[key] for _, one in page.elements for key in LOADING if key in one]
    assert all(place.startswith(("#", "data:")) for place in loaded)
    assert page.raw["script"] == []
    assert written(tmp_path, "labels", 30).read_bytes() == first


@pytest.mark.exhaustive
def test_the_command_writes_the_page_and_says_that_so_few_are_not_enough(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{k % 60 if k % 7 else ''}\n" for k in range(300))
    Path("a.csv").write_text(f"age\n{rows}")
    asked = ["--edges", "0:60:2", "--workload", "histogram", "--seconds", "5", "-o", "a.ldp.json"]
    planned = run_json(capsys, "plan", "a.csv", "--column", "age", *asked)
    assert planned["usable"] is False
    assert planned["ways"]["people"] > 300
    for command in (
        [
            "randomise",
            "a.ldp.json",
            "--data",
            "a.csv",
            "--column",
            "age",
            "--invalid",
            "other",
            "-o",
            "r.jsonl",
        ],
        ["aggregate", "a.ldp.json", "r.jsonl", "-o", "c.json"],
    ):
        assert run(capsys, *command)[0] == 0
    status, out, err = run(
        capsys, "estimate", "a.ldp.json", "c.json", "--summary", "r.html", "--question", "How old?"
    )
    assert (status, err) == (0, "")
    assert out.startswith("Not usable with 300 people: ")
    assert max(map(len, out.splitlines())) <= 80
    ways = run_json(capsys, "estimate", "a.ldp.json", "c.json")["ways"]
    budget = f"epsilon {ways['epsilon']} with as many people"
    sentence = f"About enough: ask {ways['people']:,} people in all, or {budget}, or at most {ways['values']}"
    page = Page(Path("r.html").read_text("utf-8")).text
    assert sentence in " ".join(out.split())
    assert sentence in page
    assert "How old?" in page
    assert re.search(r"of the [\d,]+ \(interval [\d,]+ to [\d,]+\) who answered", page)
    assert "negative" in page
    assert_refused(capsys, ["estimate", "a.ldp.json", "c.json", "--summary", "r.html"], "r.html")
    assert_refused(capsys, ["estimate", "a.ldp.json", "c.json", "--summary", "r.pdf"], ".html")


def test_without_no_answer_nobody_is_said_to_have_answered(tmp_path):
    one = st.bins("0:3:1", other=True)
    made = Mechanism.of(st.published.randomised_response(4, 3.0), st.histogram(one), 3.0)
    found = made.estimate([90, 80, 70, 60])
    page = Page(write_results(tmp_path / "r.html", found, 3.0, name="a").read_text("utf-8")).text
    assert re.search(r"\(interval [\d,]+ to [\d,]+\) who gave another answer than 'other'", page)
    assert "who answered" not in page
    assert "who answered" not in str(found.quantile(0.5))


def test_shares_of_those_who_answered_are_those_of_the_estimate(tmp_path):
    """A mechanism without a value for gaps has one table alone."""
    page = Page(written(tmp_path, "labels", 30).read_text("utf-8")).text
    assert "who answered" not in page
    assert shares(estimated("labels", 30))


@pytest.fixture
def show(browser, tmp_path):
    """Return a function that opens a page of results offline."""
    with contextlib.ExitStack() as stack:

        def opened(name, people=300, **options):
            page = stack.enter_context(context_of(browser, offline=True, **options)).new_page()
            page.complaints = []
            page.on("console", lambda message: page.complaints.append(message.text))
            page.goto(written(tmp_path, name, people).as_uri())
            return page

        yield opened


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ["labels", "several-attributes"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_can_be_read_on_every_screen_and_printed(name, scheme, width, show):
    page = show(name, color_scheme=scheme, viewport={"width": width, "height": 800})
    assert page.complaints == []
    assert low_contrast(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = page.evaluate(
        "[...document.querySelectorAll('svg text')].filter((one) => one.checkVisibility())"
        ".map((one) => [one.getScreenCTM(), getComputedStyle(one)])"
        ".map(([matrix, style]) => Math.hypot(matrix.a, matrix.b) * parseFloat(style.fontSize))"
    )
    assert min(sizes) >= 12
    assert all(one.get_attribute("aria-label") for one in page.locator("[role=img]").all())
    assert page.get_by_text("query", exact=True).count() == 0
    assert sheets(page, "A4") <= 6
    for medium in ("screen", "print"):
        page.emulate_media(media=medium)
        (picture,) = page.locator(".picture:visible").first.all()
        room = picture.locator("xpath=ancestor::section/h2").bounding_box()["width"]
        assert picture.bounding_box()["width"] >= 0.95 * room


@pytest.mark.parametrize("people", [300, 20_000, 10**7])
def test_no_number_is_cut_on_a_narrow_screen(people, show):
    """Negative control: a table is cut as soon as its numbers may not come near each other."""
    page = show("labels", people, viewport={"width": 360, "height": 800})
    cut = (
        "[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).length"
    )
    assert page.evaluate(cut) == 0
    page.evaluate("document.querySelectorAll('td').forEach((one) => { one.style.paddingLeft = '3rem' })")
    assert page.evaluate(cut) == 1


def test_nothing_is_printed_at_the_edge_of_the_paper(show):
    page = show("labels")
    rules = "[...document.styleSheets].flatMap((one) => [...one.cssRules]).filter((one) => one instanceof CSSPageRule)"
    assert page.evaluate(f"{rules}.map((one) => one.style.margin)") == ["15mm"]


def test_long_tables_are_folded_and_the_reason_to_ask_is_the_first_line(tmp_path):
    """On paper tables of up to 20 rows are open; of longer ones a line says how many rows there are."""
    for size, kind in ((8, None), (20, "ways"), (21, "folded")):
        asked = st.histogram(size)
        made = st.optimise(asked, 1.0, "quick").mechanism()
        counts = made.strategy.histogram(np.full(size, 10**5), np.random.default_rng(1))
        found = made.estimate(counts)
        path = write_results(
            tmp_path / "r.html", found, 1.0, name="h", question="Why?", why="To <plan> hours."
        )
        page = path.read_text("utf-8")
        folded = re.findall(r'<details class="(\w+)"><summary>(.*)</summary>\n<div class="scroll"', page)
        assert folded == [(kind, f"Shares of all people: {size} rows")] * bool(kind)
        assert re.search(r"</h1>\s*<p dir=.auto.>To &lt;plan&gt; hours.</p>", page)
    paper = page[page.rindex("@media print {") :]
    assert "font-size: 10pt" in paper
    assert "details.folded > .scroll { display: none; }" in paper
