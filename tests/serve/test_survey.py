"""The server of a survey: reports of both clients, the results of every question, and the form in Chromium."""

import html
import json
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from test_application import LINES, TOKEN, counts, served
from test_form_in_browser import held, send, serve, thanked  # noqa: F401 - serve is a fixture

import stratagem as st
from forms import start
from mechanisms import mechanism, shifted
from node import run
from posting import Collector, report
from reading import low_contrast
from stratagem.cli.serve import results as results_module
from stratagem.estimation.question import QuestionAnswers
from stratagem.mechanism.mechanism import Mechanism
from stratagem.report.page import write_results

FOUND = mechanism("german-survey")
PERSON = {"Alter": 30, "Größe": "mittel", "Ort": 3, "Tür & Tor": "auf"}
ASKED = """
title = "Wie wohnen Sie?"
[attributes."Größe"]
labels = ["übergroß", "mittel", "nö"]
question = "Wie groß?"
[[query]]
on = { "Größe" = "identity" }
"""
QUESTIONS = ["Alter x Größe", "Tür & Tor", "Größe"]
"""In the order of the queries."""
OWN = {"authorization": f"Bearer {TOKEN}"}


@pytest.fixture
def client(tmp_path, monkeypatch):
    monkeypatch.setattr(results_module, "EVERY", 0.0)
    with served(tmp_path, found=FOUND) as (found, _):
        yield found


def post(client, reports):
    body = "\n".join(map(json.dumps, reports))
    return client.post("/reports", content=body, headers={"content-type": LINES}).json()


def test_reports_of_both_clients_are_counted_and_estimated_by_question(client):
    people = 400
    python = [FOUND.client.randomise(PERSON) for _ in range(people)]
    web = run("fetches", bundle=FOUND.text, text=json.dumps(PERSON), draws=people)["reports"]
    for reports in (python, web):
        assert post(client, reports) == {"received": people, "repeated": 0, "refused": {}}
    page, data = client.get("/results", headers=OWN).text, counts(client)
    outputs = np.bincount([one["output"] for one in (*python, *web)], minlength=FOUND.outputs)
    expected = FOUND.estimate(outputs)
    assert data["reports"] == 2 * people
    assert [one["answer"] for one in data["answers"]] == pytest.approx(expected.answers.tolist())
    titles = re.findall("<h2[^>]*>(.*?)</h2>", page)
    assert titles == [name.replace("&", "&amp;") for name in QUESTIONS]
    for one in expected.table():
        assert f"{one.answer:,.1f}" in page
        assert f"{one.low:,.1f}" in page


@pytest.mark.exhaustive
def test_every_question_has_its_own_verdict(client):
    """More people are needed for the nine cells of a table than for two or three values."""
    for people, usable in ((6, set()), (2_000, {"Tür & Tor", "Größe"}), (60_000, set(QUESTIONS))):
        rng = np.random.default_rng(people)
        cells = rng.integers(0, FOUND.domain.size, people)
        places = np.stack(np.unravel_index(cells, FOUND.domain.sizes), axis=1)
        before = counts(client)["reports"]
        for some in np.array_split(FOUND.randomise(places, rng), max(1, people // 500)):
            post(client, [report(FOUND, int(y)) for y in some])
        page, data = client.get("/results", headers=OWN).text, counts(client)
        assert data["reports"] == before + people
        assert {one["question"] for one in data["questions"] if one["usable"]} == usable
        assert data["usable"] == (len(usable) == 3)
        assert "ways" not in data
        assert page.count("<p>Usable with ") == len(usable)
        few = "Too few reports yet to say anything: " if people < 100 else "Not usable with "
        assert page.count(f"<strong>{few}") == 3 - len(usable)


ABOUT = {
    "one part": ([1], {"Tür & Tor": 3, "Alter x Größe": 0, "Größe": 0}),
    "a part that two questions share": ([0], {"Tür & Tor": 0, "Alter x Größe": 3, "Größe": 3}),
    "two parts that tell the same": ([0, 2], {"Tür & Tor": 0, "Alter x Größe": 3, "Größe": 6}),
    "all parts": ([0, 1, 2], {"Tür & Tor": 3, "Alter x Größe": 3, "Größe": 6}),
}
"""Parts of which three reports each come, and how many of all are then about each question."""


def test_the_results_of_a_survey_without_a_title_are_called_by_what_it_asks(tmp_path):
    """On the page about them as well."""
    found = replace(FOUND, name="survey")
    with served(tmp_path, found=found, question="") as (client, _):
        live = html.unescape(client.get("/results", headers=OWN).text)
    estimated = found.estimate(np.ones(found.outputs, dtype=int))
    written = write_results(tmp_path / "r.html", estimated, 1.0, name=found.name).read_text("utf-8")
    for page in (live, html.unescape(written)):
        assert f"Survey of {', '.join(found.domain.names[:-1])} and {found.domain.names[-1]}</h1>" in page


@pytest.mark.parametrize("times", [1, 60])
@pytest.mark.parametrize("case", ABOUT)
def test_every_question_says_how_many_reports_are_about_it(case, times, client, tmp_path):
    """Of few reports no answer is told, and why not is said."""
    parts, about = ABOUT[case]
    about = {name: times * many for name, many in about.items()}
    outputs = [FOUND.strategy.offsets[part] + k for part in parts for k in range(2)] + [
        FOUND.strategy.offsets[part] for part in parts
    ]
    outputs *= times
    post(client, [report(FOUND, y) for y in outputs])
    live, data = client.get("/results", headers=OWN).text, counts(client)
    found = FOUND.estimate(np.bincount(outputs, minlength=FOUND.outputs))
    written = write_results(tmp_path / "r.html", found, 1.0, name="r").read_text("utf-8")
    for page in (live, written):
        for section in re.split("<h2", page)[1 : 1 + len(QUESTIONS)]:
            title = html.unescape(re.search(">(.*?)</h2>", section)[1])
            many = about[title]
            said = f"{many} of {len(outputs)} reports are about this question."
            assert (said in section) == (0 < many < len(outputs))
            few = f"Too few reports yet to say anything: {len(outputs)} of about " in section
            assert ("no report is about it yet" in section) == (many == 0)
            assert few == (many > 0 and times == 1)
            assert ("<table" not in section) == (many == 0 or few)
            assert ("<svg" in section or "<figure" in section) == (many > 0 and not few)
    verdicts = {one["question"]: one["usable"] for one in data["questions"]}
    assert times > 1 or not any(verdicts.values())
    assert len(data["answers"]) == FOUND.workload.queries
    assert {QuestionAnswers.of(*each).name: each[1].reports for each in found.by_question()} == about


def test_answers_of_weighted_questions_are_people(tmp_path, monkeypatch):
    monkeypatch.setattr(results_module, "EVERY", 0.0)
    asked = st.Survey("a=3,b=2").table("a", weight=0.25).table("b").workload
    parts = [st.strategies.SurveyPart((k,), shifted(n, 1.0), 0.5) for k, n in ((0, 3), (1, 2))]
    found = Mechanism.of(st.strategies.SurveyStrategy((3, 2), tuple(parts)), asked, 1.0)
    with served(tmp_path, found=found) as (client, _):
        post(client, [found.client.randomise({"a": 1, "b": 0}) for _ in range(300)])
        answers = {one["label"]: one["answer"] for one in counts(client)["answers"]}
    assert len(answers) == 5
    for name in "ab":
        total = sum(value for label, value in answers.items() if label.startswith(f"{name} ="))
        assert total == pytest.approx(300)


REFUSED = {
    "beyond all parts": FOUND.outputs,
    "below zero": -1,
    "far beyond": 1 << 53,
    "a text": "1",
    "a fraction": 1.5,
    "a part and its output": [1, 0],
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_output_of_no_part_is_refused(case, client):
    answer = client.post("/reports", json=report(FOUND) | {"output": REFUSED[case]})
    assert answer.status_code == 400
    assert "refused as no report of this survey" in answer.json()["error"]
    assert counts(client)["reports"] == 0


def test_a_part_beside_the_output_is_refused_and_every_end_of_a_part_is_taken(client):
    """The output alone says which part it is of, so none can be of another one's range."""
    assert client.post("/reports", json=report(FOUND) | {"part": 1}).status_code == 400
    ends = [y for first, last in pairwise(FOUND.strategy.offsets) for y in (first, last - 1)]
    assert post(client, [report(FOUND, y) for y in ends])["received"] == len(ends)


def test_a_report_of_the_form_is_counted(serve):  # noqa: F811
    collector, page = serve(FOUND)
    start(page)
    page.locator("#fields fieldset").first.wait_for()
    for group in page.locator("#fields fieldset").all():
        group.locator("input").first.check()
    page.get_by_role("button", name="Show what will be sent").click()
    page.get_by_role("heading", name="This will be sent:").wait_for()
    shown = json.loads(page.locator("#report").text_content())
    send(page)
    thanked(page)
    page.reload()
    thanked(page)
    assert held(collector) == [(shown["id"], shown["output"])]


@pytest.mark.exhaustive
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_results_can_be_read_on_a_narrow_screen(scheme, browser, tmp_path):
    with Collector(tmp_path, FOUND, "--question", "Wie wohnen Sie?") as collector:
        login = {"username": "any", "password": collector.token}
        options = {"color_scheme": scheme, "viewport": {"width": 360, "height": 640}}
        with browser.new_context(http_credentials=login, **options) as context:
            page = context.new_page()
            lines = "\n".join(json.dumps(FOUND.client.randomise(PERSON)) for _ in range(200))
            kind = {"content-type": LINES}
            assert page.request.post(f"{collector.place}/reports", headers=kind, data=lines).ok
            page.goto(f"{collector.place}/results")
            assert page.get_by_role("heading", level=2).all_inner_texts() == QUESTIONS
            assert low_contrast(page) == []
            assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.exhaustive
def test_the_questions_of_a_workload_file_are_asked_under_its_title(browser, tmp_path):
    asked = tmp_path / "survey.toml"
    asked.write_text(f"about = 'The town asks.'\n{ASKED}", encoding="utf-8")
    with Collector(tmp_path, FOUND, "--questions", str(asked)) as collector, browser.new_context() as context:
        page = context.new_page()
        page.goto(f"{collector.place}/")
        page.locator("#experts").wait_for()
        assert page.get_by_role("heading", level=1).inner_text() == "Wie wohnen Sie?"
        assert page.locator("#about").inner_text() == "The town asks."
        start(page)
        page.locator("#fields fieldset").first.wait_for()
        shown = page.locator("#fields legend").all_inner_texts()
        assert shown in (["Alter", "Wie groß?"], ["Tür & Tor"], ["Wie groß?"])
