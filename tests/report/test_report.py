"""The report as a file: its numbers, its safety, and its policy."""

import base64
import hashlib
import json
import math
import re
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import stratagem as st
from commands import assert_refused, run
from mechanisms import mechanism
from memos import memoised
from reading import LOADING, Page
from stratagem.bounds.bound import Bound
from stratagem.bounds.proof import NONNEGATIVE
from stratagem.estimators import ask
from stratagem.math.number import odds, upper_percent
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.usable import MEANS, TOTALS
from stratagem.report.calculator import _cells, _picture
from stratagem.report.content import Cover, ReportContent, along, around, rated
from stratagem.report.drawing import answers as answers_drawn
from stratagem.report.page import page, report_saved
from stratagem.report.reproduction import check, privacy_section, threats
from stratagem.report.verdict import PERHAPS, PROPOSED, verdict
from stratagem.solvers.problem import problem_of
from stratagem.study.comparison import Comparison
from stratagem.study.summary import fewest_users, people_needed, variance_gap
from tools import take_away

ATTACK = "</script><script>alert(1)</script><img src=x onerror=alert(2)> $style ${x} &amp; \u2028"
FEW = st.Certified(max_steps=2)


@pytest.fixture(scope="module")
def solution():
    return st.optimise(st.prefix(6), 1.0, FEW)


SILENT = re.compile(
    r"below 0(\.0*)?(?![.\d])|minimum is (?:0 %|[01] people)|\b1 people|minimum of zero|says nothing|infinitely"
)
"""What a bound of nothing was made to say."""


@pytest.mark.sampled(4)
@pytest.mark.parametrize("users", [None, 5000])
@pytest.mark.parametrize(("workload", "epsilon"), [(st.total(4), 1.0), (st.prefix(6), 12.0)])
def test_a_bound_that_says_nothing_is_called_so(tmp_path, workload, epsilon, users):
    page = read(st.optimise(workload, epsilon, "quick").report(tmp_path / "report.html", users=users))
    assert not SILENT.search(page.text)
    assert all(map(SILENT.search, ("gets below 0 %", "below 0.", "minimum is 1 people", "needs 1 people")))
    assert not any(map(SILENT.search, ("gets below 0.0035 %", "minimum is 12", "needs 11 people")))


def test_the_errors_of_a_weighted_survey_are_of_its_answers_without_their_weights(tmp_path):
    """Weights say how much errors count, and stood before every query and in the error of a typical one."""
    asked = st.Survey("age=5,region=4").prefix("age", weight=0.3).table("region", weight=0.7)
    plain = st.Survey("age=5,region=4").prefix("age").table("region").workload
    found = st.optimise(asked, 1.0, seconds=3.0)
    text = read(found.report(tmp_path / "report.html", others=[found], users=5000)).text
    typical = 100 * math.sqrt(found.estimator.accuracy(plain).average_variance / (plain.queries - 1) / 5000)
    assert f"root mean square of these standard errors is {typical:.3g} % of the people" in " ".join(
        text.split()
    )
    assert "0.3 ×" not in text
    assert "gets below" not in text, "the bound is on the weighted errors"


def test_a_table_has_a_dash_where_the_bound_says_nothing(solution, tmp_path):
    """In place of one person; nothing more is said of it."""
    silent = read(st.optimise(st.total(4), 1.0, "quick").report(tmp_path / "report.html")).text
    assert silent.count("proven minimum – – –") == 2
    assert "proven minimum –" not in read(solution.report(tmp_path / "other.html")).text


UNITS = {
    "counts": (st.prefix(4), 100, "1 % of all people", "people for 1 %"),
    "numbers": (
        st.mean([0.5, 3.0, 7.0]),
        1,
        "0.01 a person, in the units of the queries",
        "people for 0.01 a person",
    ),
    "both": (
        [[0, 0, 1], [1, 1, 0], [1, 2, 4.0]],
        100,
        "1 % of all people in the 2 of 3 queries that count people",
        "people for 1 %",
    ),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", UNITS)
def test_errors_are_in_the_units_of_the_queries(case, tmp_path):
    workload, scale, aim, heading = UNITS[case]
    solution = st.optimise(workload, 1.0, "quick")
    page = read(solution.report(tmp_path / "report.html"))
    assert f"People needed for a standard error of {aim}, root mean square" in page.text
    assert heading in page.text
    assert numbers(page)["scale"] == scale
    assert ("% of the people" in page.text) == (scale == 100)
    assert not re.search(r"\busers\b|over the bound", page.text.split("What is protected")[0])
    unit = "% of all people" if scale == 100 else "a person, in the units of the queries"
    assert f"Standard error of an answer, {unit}" in page.text
    (shown,) = [one for one in page.all("input") if one.get("id") == "error"]
    assert float(shown["min"]) <= float(shown["value"]) == scale * 0.01 <= float(shown["max"])
    users = solution.users_for().least_accurate
    assert re.search(rf"the least accurate, .{{1,99}}, needs {users:,} people", page.text)


def test_the_slider_stops_where_the_mechanism_was_computed(tmp_path):
    """A mechanism that was read from a file has one budget: at the others the answer was that it is not known."""
    saved = read(report_saved(tmp_path / "saved.html", mechanism("labels"), budgets=[1.0, 2.0]))
    found = numbers(saved)
    ours = next(line["mean"] for line in found["lines"] if line["kind"] == "ours")
    assert (
        found["stops"] == [k for k, variance in enumerate(ours) if variance is not None] == [found["asked"]]
    )
    assert len(found["budgets"]) > 1


def read(path):
    return Page(path.read_text(encoding="utf-8"))


def numbers(page):
    return json.loads(page.raw["script"][0])


def test_the_numbers_are_those_of_the_solutions(tmp_path):
    """The last of six prefixes is known exactly, so that means are over five: 1.2 times those over six."""
    solutions = st.study.path(st.prefix(6), [0.5, 1.0, 2.0], FEW)
    page = read(solutions[1].report(tmp_path / "report.html", name="cdf", others=solutions))
    found = numbers(page)
    lines, single = ({line["name"]: line[which] for line in found["lines"]} for which in ("mean", "single"))
    assert found["budgets"] == [0.5, 1.0, 2.0]
    assert found["budgets"][found["asked"]] == 1.0
    assert lines["this mechanism"] == pytest.approx(
        [1.2 * one.samples_for(1) for one in solutions], rel=1e-12
    )
    assert single["this mechanism"] == [one.largest_variance for one in solutions]
    least = [1.2 * 0.01 * st.Comparison.of(one).fewest_users for one in solutions]
    assert lines["proven minimum"] == single["proven minimum"] == pytest.approx(least, rel=1e-12)
    for one in solutions[1].baselines:
        name = f"{one.mechanism} (δ = {one.strategy.delta:g})" if one.strategy.delta else one.mechanism
        assert lines[name][1] == pytest.approx(1.2 * one.accuracy.samples_for(1), rel=1e-12)
        assert single[name][1] == one.largest_comparable
    users = solutions[1].users_for()
    assert f"Ask {users.root_mean_square:,} people: answers are typically off by 1 % of them" in page.text
    assert f"Ask {users.least_accurate:,} and every one of the 6 answers is that exact." in page.text
    assert users.least_accurate > users.root_mean_square == math.ceil(1.2 * solutions[1].samples_for(1e-4))
    assert f"{solutions[1].objective:.4g}" in page.text
    assert f"cdf at ε = 1: ask {users.root_mean_square:,} people" in page.text


def test_without_other_solutions_there_are_bounds_and_published_mechanisms(solution, tmp_path):
    found = numbers(read(solution.report(tmp_path / "report.html")))
    lines = {line["name"]: line["mean"] for line in found["lines"]}
    assert found["budgets"] == sorted([*around(1.0), 1.0])
    assert [users is None for users in lines["this mechanism"]] == [
        budget != 1.0 for budget in found["budgets"]
    ]
    at_four = st.optimise(st.prefix(6), 4.0, FEW)
    assert lines["proven minimum"][-1] == pytest.approx(
        1.2 * 0.01 * st.Comparison.of(at_four).fewest_users, rel=1e-3
    )
    theirs = next(one.accuracy for one in at_four.baselines if one.mechanism == "hierarchical")
    assert lines["hierarchical"][-1] == pytest.approx(1.2 * theirs.samples_for(1), rel=1e-12)


MADE = {
    "bundle": lambda path: mechanism("several-attributes").report(path),
    "columns": lambda path: mechanism("hadamard").report(path),
    "translates": lambda path: mechanism("mixed-juntas").report(path),
    "prior": lambda path: mechanism("prior").report(path),
    "one output": lambda path: mechanism("one-output").report(path),
    "worst case": lambda path: mechanism("labels").report(path, objective="worst-case"),
    "worst query": lambda path: st.optimise(st.prefix(5), 1.0, FEW, objective="worst-query").report(path),
    "hostile": lambda path: hostile().report(path),
}


def hostile():
    labels = st.labels("a", ATTACK, "</textarea><svg onload=alert(3)>")
    W = st.histogram({"<b>v</b>": labels})
    return Mechanism.of(st.published.randomised_response(3, 1.0), W, 1.0, name=ATTACK)


@pytest.mark.exhaustive
def test_queries_and_attributes_are_in_the_users_words(capsys, tmp_path, monkeypatch):
    words = read(mechanism("unit").report(tmp_path / "report.html")).text
    assert "delay below 0.5 minutes" in words
    assert "-30 to below 0, 0 to below 0.5, 0.5 to below 60, 60 to below 1000000 minutes" in words
    assert "delay below (minutes)" in words, "the axis of the figure"
    assert "the least accurate is number" not in words
    assert not re.search(r"query [0-9]|[0-9] ?[-–] ?-[0-9]", words), "neither query 17 nor -30--25"
    monkeypatch.chdir(tmp_path)
    asked = ["prefix", "--epsilon", "1", "--edges", "age=0,18,65,130", "--unit", "years", "--quick"]
    assert run(capsys, "summary", *asked, "-o", "age.html")[0] == 0
    assert "age below 65 years" in read(tmp_path / "age.html").text


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", MADE)
def test_a_page_loads_nothing_and_runs_nothing_but_its_own(name, tmp_path):
    """Two scripts, one of them data; no handlers, no style attributes, and a policy that names both by hash."""
    page = read(MADE[name](tmp_path / "report.html"))
    assert len(page.all("script")) == 2
    assert [one.get("type") for one in page.all("script")] == ["application/json", None]
    for tag, attributes in page.elements:
        for key, value in attributes.items():
            assert not key.startswith("on"), (tag, key)
            assert key != "style", (tag, value)
            assert key not in LOADING or value.startswith(("#", "data:")), (tag, key, value)
            assert value is None or "://" not in value, (tag, key, value)
    assert not {"img", "iframe", "object", "embed", "base"} & {tag for tag, _ in page.elements}
    policy = next(
        one["content"] for one in page.all("meta") if "content" in one and "default-src" in one["content"]
    )
    assert policy.startswith("default-src 'none';")
    for content in (page.raw["script"][1], page.raw["style"][0]):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"url\((?!#)|@import", page.raw["style"][0])
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_what_makers_write_is_shown_as_they_wrote_it(tmp_path):
    page = read(MADE["hostile"](tmp_path / "report.html"))
    assert "</textarea><svg onload=alert(3)>" in page.text
    assert "<b>v</b>" in page.text
    assert "$style ${x} &amp;" in page.text


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["bundle", "worst query", "translates"])
def test_the_same_again_is_the_same_file(name, tmp_path):
    first, second = MADE[name](tmp_path / "a.html"), MADE[name](tmp_path / "b.html")
    assert first.read_bytes() == second.read_bytes()


def test_a_file_is_reported_with_its_own_budget(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = mechanism("two-level")
    found.save("prefixes.ldp.json")
    assert run(capsys, "export", "prefixes.ldp.json", "-o", "prefixes.npz")[0] == 0
    for file in ("prefixes.ldp.json", "prefixes.npz"):
        assert run(capsys, "summary", file, "--over", "epsilon=2", "-o", "page.html", "--force")[0] == 0
        page = read(tmp_path / "page.html")
        line = next(one for one in numbers(page)["lines"] if one["name"] == "this mechanism")
        needed = st.evaluate(found.workload, found.strategy).worst_case_variance / (
            found.workload.queries - 1
        )
        assert line["mean"][numbers(page)["asked"]] == pytest.approx(needed, rel=1e-12)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", ["two-level", "hadamard", "fine", "mixed-juntas"])
def test_the_check_on_the_page_holds_and_sees_a_broken_table(case, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    found = mechanism(case)
    page = read(found.report("report.html", budgets=[]))
    found.save("mechanism.ldp.json")
    program = next(text for text in page.texts if "mechanism.ldp.json" in text and "assert" in text)
    exec(program, {})
    said = f"epsilon {float(found.epsilon):g} holds for the file with the hash {found.identifier}"
    assert capsys.readouterr().out.strip() == said
    (tmp_path / "mechanism.ldp.json").write_text(json.dumps(json.loads(found.text) | {"note": "added"}))
    with pytest.raises(AssertionError):  # the hash is computed, not read
        exec(program, {})
    for change in (_smaller_epsilon, _low_above_high):
        broken = json.loads(found.text)
        change(broken)
        del broken["sha256"]
        text = json.dumps(broken, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        broken["sha256"] = hashlib.sha256(text.encode()).hexdigest()
        (tmp_path / "mechanism.ldp.json").write_text(json.dumps(broken))
        with pytest.raises((AssertionError, ValueError)):
            exec(program, {})


def _smaller_epsilon(bundle):
    numerator, denominator = map(int, bundle["epsilon"])
    bundle["epsilon"] = [str(999 * numerator), str(1000 * denominator)]


def _low_above_high(bundle):
    """The lower level far above the higher one, which a check of one direction alone lets pass."""
    if "low" in bundle["table"]:
        bundle["table"]["low"] = 2**60
    else:
        _smaller_epsilon(bundle)


def test_the_check_of_doubles_holds_and_sees_a_broken_matrix(solution):
    program = check(ReportContent(solution, "cdf", along(solution, [])))
    exec(program, {"solution": solution, "workload": solution.workload})
    loud = st.optimise(st.prefix(6), 1.1, FEW)
    with pytest.raises(AssertionError):
        exec(program, {"solution": loud, "workload": solution.workload})


@pytest.mark.parametrize("epsilon", [0.01, 1.0, math.log(9)])
def test_the_promise_is_in_plain_words(epsilon):
    """From a prior of 1/2 the posterior is at most e^epsilon/(1 + e^epsilon)."""
    found = st.tune(st.histogram(3), epsilon, "randomised-response")
    content = ReportContent(found, "votes", along(found, []))
    words = privacy_section(content)["words"]
    for sentence in (words, verdict(content)["sentences"]["Privacy"]):
        said = re.search(r"at most ([0-9.]+)\u00a0% likely", sentence)
        assert said is not None
        assert 0 <= float(said[1]) / 100 - 1 / (1 + math.exp(-epsilon)) < 1e-3
    assert f"at most e^ε = {odds(epsilon)}." in words


def test_the_verdict_of_a_memo_states_epsilon_of_all_reports_too():
    """e^2/(1 + e^2) = 0.8808; the same mechanism without its memo is the control."""
    for found, times in ((memoised("pairs"), 1), (replace(memoised("pairs"), memo=None), 0)):
        solution = rated(found)
        content = ReportContent(solution, "votes", along(solution, []), found)
        sentence = verdict(content)["sentences"]["Privacy"].replace("\u00a0", " ")
        words = " All reports about one value together, however many, have ε = 2: at most 88.1 %."
        assert sentence.count(words) == times
        assert sentence.startswith("ε = 0.5 means: ")


def said(solution, **about):
    """Return the verdict of a solution at its own budget alone, with ordinary spaces."""
    content = ReportContent(solution, "cdf", along(solution, []), cover=Cover(**about))
    return {
        term: text.replace("\u00a0", " ") for term, text in verdict(content)["sentences"].items()
    }, content


def three(value):
    return float(f"{value:.3g}")


def test_the_verdict_with_users_states_the_errors_of_the_solution(solution):
    """(variance/N)^(1/2) of this mechanism and of the proven minimum, and people by the best published one."""
    sentences, _ = said(solution, users=5000)
    mean = solution.accuracy.worst_case_variance / 5
    errors = re.findall(r"([0-9.]+) %", sentences["Accuracy"])
    single = solution.largest_variance
    assert [float(one) for one in errors] == [three(100 * math.sqrt(v / 5000)) for v in (mean, single)]
    best = min(solution.baselines, key=lambda one: one.accuracy.worst_case_variance)
    theirs = best.accuracy.worst_case_variance / 5
    fewer, people, gap, least = (
        float(one) for one in re.findall(r"([0-9.]+) %", sentences["Distance from the best"])
    )
    assert f"the best published mechanism, {best}" in sentences["Distance from the best"]
    assert fewer == pytest.approx(100 * (1 - mean / theirs), abs=0.06)
    assert people == pytest.approx(100 * (5 * mean / solution.least_variance - 1), abs=0.03)
    assert 0 <= gap / 100 - solution.variance_gap < 1.01e-4
    assert least == three(100 * math.sqrt(solution.least_variance / 5 / 5000))
    assert least <= three(100 * math.sqrt(mean / 5000))


def test_the_verdict_without_users_states_the_people_to_ask(solution):
    sentences, _ = said(solution)
    asked = " ".join(ask(solution.users_for(), solution.workload))
    assert sentences["Accuracy"].split() == asked.split()
    fewest = math.ceil(1.2 * 100 * st.Comparison.of(solution).fewest_users)
    assert f"The proven minimum is {fewest:,} people." in sentences["Distance from the best"]


def test_the_verdict_is_fair_to_a_better_published_mechanism():
    worse = rated(st.tune(st.prefix(6), 1.0, "randomised-response").mechanism())
    sentences, _ = said(worse)
    assert re.match(
        r"For a typical answer [0-9.]+\s% more people than the best", sentences["Distance from the best"]
    )
    sentences, _ = said(st.tune(st.histogram(6), 1.0, "subset-selection"))
    assert sentences["Distance from the best"].startswith(
        "For a typical answer as many people as the best published mechanism, "
    )


@pytest.mark.parametrize(
    ("names", "called", "title"),
    [
        (["hours", "drinks", "site"], "survey", "Survey of hours, drinks and site"),
        (["hours", "drinks"], "staff", "staff"),
        (["hours"], "survey", "survey"),
        (
            [f"a{k}" for k in range(12)],
            "survey",
            f"Survey of {', '.join(f'a{k}' for k in range(11))} and a11",
        ),
        (
            [f"a{k}" for k in range(13)],
            "survey",
            f"Survey of {', '.join(f'a{k}' for k in range(11))} and 2 more",
        ),
    ],
)
def test_a_survey_without_a_title_is_called_by_what_it_asks(names, called, title):
    solution = st.optimise(st.marginals(",".join(f"{one}=2" for one in names), 1), 1.0, "quick", seconds=2.0)
    found = verdict(ReportContent(solution, called, along(solution, []), cover=Cover(users=100)))
    assert found["title"].startswith(f"{title} at ε = 1: ")


@pytest.mark.parametrize(("users", "usable"), [(200, False), (50_000, True)])
def test_the_verdict_says_first_how_many_to_ask_what_is_revealed_and_what_is_not_protected(
    users, usable, solution, browser
):
    """The colour of an error beside a verdict that answers cannot be used, and there alone."""
    content = said(solution, users=users)[1]
    sentences = verdict(content)["sentences"]
    assert [*sentences][1:3] == ["Privacy", "Not protected"]
    first = next(iter(sentences.values())).replace("\u00a0", " ")
    people = _usable_people(content)
    cannot = f"With {users:,} people the answers cannot be used. About {people} people are enough."
    assert (
        first == cannot if not usable else first.startswith("With 50,000 people and epsilon 1, answers are")
    )
    assert "somebody took part" in sentences["Not protected"]
    shown = browser.new_page()
    shown.set_content(page(content))
    colours = shown.evaluate(
        "[...document.querySelectorAll('.verdict dd, section:has(.verdict)')].map((one) => "
        "[one.localName, getComputedStyle(one).borderLeftColor])"
    )
    shown.close()
    section, *sides = (colour for _, colour in colours)
    wrong = [name for name, colour in zip(sentences, sides, strict=True) if colour == section]
    assert wrong == ([*sentences] if usable else ["People", "Accuracy"])


@cache
def _two_questions():
    """Return a survey whose second question needs more people."""
    asked = st.Survey({"few": st.labels("a", "b", question="Which?"), "many": 40})
    return st.optimise(asked.table("few").table("many"), 1.0, seconds=3.0)


def _survey_page(browser, users):
    """Return the verdict of a survey of two questions, and these as shown."""
    content = said(_two_questions(), users=users)[1]
    shown = browser.new_page()
    shown.set_content(page(content))
    lines = shown.evaluate(
        "[...document.querySelectorAll('.verdict li')].map((one) => [one.innerText, getComputedStyle(one).color])"
    )
    wrong = shown.evaluate("document.querySelectorAll('.verdict > .wrong').length")
    shown.close()
    return verdict(content), [(words.replace("\u00a0", " "), colour) for words, colour in lines], wrong


def test_a_survey_has_a_line_a_question_red_where_its_answers_cannot_be_used(browser):
    """The people that a line names are enough, and a tenth fewer are not; all of them make every line usable."""
    found, lines, wrong = _survey_page(browser, 5000)
    assert wrong == 0
    (few, plain), (many, red) = lines
    told = (
        r"usable with 5,000 people: typical error ([\d.]+) % of all people; usable is up to ([\d.]+) %, half of the "
        r"mean answer of ([\d.]+) %, for which about ([\d,]+) people are enough"
    )
    for line, word, cells in ((few, r"few \(Which\?\): ", 2), (many, "many: not ", 40)):
        found_in = re.fullmatch(f"{word}{told}", line).groups()
        error, limit, mean, enough = (float(one.replace(",", "")) for one in found_in)
        assert (mean, limit) == (100 / cells, 50 / cells)
        assert (error <= limit) == (word != "many: not ")
        assert 5000 * (error / limit) ** 2 <= 1.02 * enough <= 1.2 * 5000 * (error / limit) ** 2
    assert found["means"] == MEANS
    assert TOTALS[1:] in found["sentences"]["People"]
    assert found["title"].endswith(": 5,000 people")
    assert not any("%" in found["sentences"][name] for name in ("People", "Accuracy"))
    assert plain != red
    assert [*found["sentences"]][:3] == ["People", "Privacy", "Not protected"]
    assert "the answers to 1 of 2 questions" in found["sentences"]["People"].replace("\u00a0", " ")
    assert "usable" not in found["sentences"]["Accuracy"]
    (reason,) = found["reasons"]
    assert "About enough: ask" in reason
    needed = int(re.search(r"([\d,]+) people are enough", many)[1].replace(",", ""))
    for users, colours in ((needed, {plain}), (int(0.9 * needed), {plain, red})):
        assert {colour for _, colour in _survey_page(browser, users)[1]} == colours
    assert found["about"]["What is estimated"].startswith("42 answers to 2 questions")


def test_without_a_number_of_people_a_survey_says_how_many_each_question_needs(browser):
    found, lines, wrong = _survey_page(browser, None)
    assert all(
        re.fullmatch(r"(few \(Which\?\)|many): about [\d,]+ people are enough for usable answers", words)
        for words, _ in lines
    )
    assert (len(lines), len({colour for _, colour in lines}), wrong) == (2, 1, 0)
    assert "are enough for all 2 questions. Each" in found["sentences"]["People"].replace("\u00a0", " ")


def test_a_survey_with_weights_states_the_proven_minimum_of_its_answers_without_them():
    """It said that no minimum of people is proven."""
    solution = st.optimise(st.Survey({"a": 3, "b": 4}).table("a", weight=2.0).table("b"), 1.0, seconds=2.0)
    found = Page(page(said(solution, users=500)[1])).text
    assert "proven minimum – –" not in found
    plain = problem_of(st.Survey({"a": 3, "b": 4}).table("a").table("b").workload, 1.0)
    least = fewest_users(plain, plain.bounds)
    assert least > 1
    assert f"{least:,}" in re.search(r"proven minimum ([\d,. –]+)", found)[1].split()
    assert "No minimum of people is proven" not in found
    assert "Variance of all answers at the same ε" in found
    assert "objective (total variance)" not in found


def test_ways_out_are_printed(browser):
    """Folded on a screen, open on paper."""
    shown = browser.new_page()
    shown.set_content(page(said(_two_questions(), users=500)[1]))
    ways = shown.locator("text=About enough: ask").first
    folded = ways.is_visible()
    shown.emulate_media(media="print")
    printed = ways.is_visible()
    shown.close()
    assert (folded, printed) == (False, True)


def test_a_file_that_does_not_say_where_values_are_from_has_a_page_that_says_so():
    labelled = st.optimise(st.histogram(st.labels("a", "b", "c")), 1.0, "quick")
    for file, proposed, words in (
        ("drinks.ldp.json", None, PERHAPS),
        ("drinks.ldp.json", True, PROPOSED),
        ("drinks.ldp.json", False, ""),
        ("", None, ""),
    ):
        content = replace(said(labelled)[1], file=file, cover=Cover(proposed=proposed))
        assert verdict(content)["sentences"]["Not protected"].endswith(words or "ask in the open instead.")


def test_a_histogram_has_a_verdict_and_the_price_of_privacy():
    """Of an ordinary survey the sampling error is at most 1/(2 N^(1/2))."""
    asked = st.optimise(st.histogram(8), 1.0, "quick")
    found = verdict(said(asked, users=5000)[1])["sentences"]
    words = {name: one.replace("\u00a0", " ") for name, one in found.items()}
    assert words["Usable answers"].startswith("The answers can be used. About ")
    assert "usable is up to 6.25 %, half of the mean answer of 12.5 %." in words["Usable answers"]
    people = math.ceil(5000 / (4 * asked.mean_variance))
    assert f"a random sample of {people:,} people has" in words["Price of privacy"]
    alone = verdict(said(asked)[1])["sentences"]
    assert "people are enough for usable answers" in alone["Usable answers"].replace("\u00a0", " ")
    assert "2,500 people" in alone["Price of privacy"]


def _usable_people(content):
    """Return how many people the page says are enough, in its words on the accuracy."""
    found = re.search(
        r"About enough: ask ([\d,]+) people", verdict(content)["sentences"]["Accuracy"].replace("\u00a0", " ")
    )
    return found and found[1]


def test_title_question_users_and_date_are_on_the_page(solution):
    about = {"title": ATTACK, "question": f"How late? {ATTACK}", "users": 5000, "date": "25 November 2026"}
    content = said(solution, **about)[1]
    found = Page(page(content))
    assert len(found.all("script")) == 2
    assert not {"img", "alert"} & {tag for tag, _ in found.elements}
    for words in (
        "How late? </script>",
        "5,000, one randomised report each",
        "25 November 2026",
        "value at most 0",
    ):
        assert words in found.text
    assert found.text.count(" ".join(ATTACK.split())) == 3, "title of the window, heading and question"
    checked = [one["value"] for one in found.all("input") if "checked" in one]
    assert checked == ["error"]
    assert next(one["value"] for one in found.all("input") if one.get("id") == "users") == "5000"
    assert page(content) == page(content)
    plain = Page(page(said(solution)[1])).text
    assert f"found by {solution.solver} the search that was used: {solution.reason}" in plain
    assert f"1 asked for, {solution.strategy.epsilon:.10g} verified" in plain
    assert "Question" not in plain
    assert "Date" not in plain


@pytest.mark.exhaustive
def test_the_page_knows_one_gap(tmp_path):
    solution = st.optimise(st.prefix(30), 1.0, "quick")
    page = read(solution.report(tmp_path / "report.html"))
    gaps = [f"{100 * gap:.3f}" for gap in (solution.variance_gap, solution.gap)]
    assert gaps[0] != gaps[1]
    said = re.findall(r"Variance ([\d.]+)\s% above the proven minimum", page.text)
    (of_facts,) = re.findall(r"variance above the proven minimum at most ([\d.]+)\s%", page.text)
    assert said
    assert {*said, of_facts} == {f"{math.ceil(1e4 * solution.variance_gap) / 100:.2f}"}


def test_the_page_says_of_what_its_fingerprint_is(solution, tmp_path):
    made = solution.mechanism()
    words = " ".join(read(made.report(tmp_path / "p.html", budgets=[])).text.split())
    assert f"states of its own content: {made.identifier}. It is the SHA-256" in words.replace(" .", ".")
    saved = made.save(tmp_path / "m.ldp.json").read_bytes()
    assert hashlib.sha256(saved).hexdigest() != made.identifier
    assert "SHA-256 of the mechanism file" not in words


def test_the_table_of_mechanisms_rounds_every_gap_up(solution):
    found = Comparison.of(solution)
    for row in found.rows:
        one = found.compared[row.mechanism]
        gap = variance_gap(found.problem, found.bounds, one.objective, one.accuracy)
        assert _cells(row, found)[4].replace("\u00a0", " ") == upper_percent(gap)


def test_the_best_are_drawn_by_what_is_drawn():
    """Of 30 prefixes at epsilon 1 the ranks by people needed and by the objective differ."""
    found = Comparison.of(st.optimise(st.prefix(30), 1.0, "quick"))
    by_people = sorted(found.rows, key=lambda row: people_needed(found.compared[row.mechanism]))
    assert [row.mechanism for row in by_people[:8]] != [row.mechanism for row in found.rows[:8]]
    label = _picture(found).label.removeprefix("People needed: ")
    assert [name.rpartition(" ")[0] for name in label.split("; ")][:8] == [
        row.mechanism for row in by_people[:8]
    ]


def test_no_number_of_users_is_refused(solution, tmp_path):
    for wrong in (0, -5, 1.5, 10**16, True):
        with pytest.raises(ValueError, match=r"the number of users is .* give how many people"):
            solution.report(tmp_path / "report.html", users=wrong)
    with pytest.raises(TypeError):
        solution.report(tmp_path / "report.html", user=5000)


def test_references_are_names_and_years(tmp_path):
    page = read(MADE["columns"](tmp_path / "report.html"))
    assert "Warner 1965; Kairouz, Bonawitz, Ramage 2016" in page.text
    assert not re.search(r"@[a-z]+[0-9]{4}", page.text)


def test_the_threat_model_is_there_in_full():
    """Word for word, whatever the marks of Markdown."""
    source = files("stratagem.mechanism").joinpath("threat-model.md").read_text(encoding="utf-8")
    _, body = source.split("\n", 1)
    words = re.findall(r"\w+", body)
    assert len(words) > 500
    assert re.findall(r"\w+", " ".join(Page(threats()).texts)) == words


def test_ctrl_c_keeps_what_is_there(solution):
    asked = []

    def solve(epsilon):
        asked.append(epsilon)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return st.optimise(st.prefix(6), epsilon, FEW)

    line = along(solution, solve=solve)
    assert not line.sweep.complete
    assert line.sweep.places == tuple(sorted([1.0, *asked[:2]]))
    assert len(asked) == 3


def test_a_budget_that_cannot_be_computed_is_said(solution):
    def solve(epsilon):
        raise ValueError("these queries ask too much")

    line = along(solution, [2.0], solve)
    assert line.sweep.places == (1.0,)
    assert line.left_out == {2.0: "these queries ask too much"}


def test_solutions_of_another_problem_are_refused(solution, tmp_path):
    other = st.tune(st.histogram(6), 2.0, "randomised-response")
    with pytest.raises(ValueError, match="other queries"):
        solution.report(tmp_path / "report.html", others=[other])


def test_without_matplotlib_it_says_so(monkeypatch, solution, tmp_path, capsys):
    take_away(monkeypatch, "matplotlib")
    with pytest.raises(ValueError, match="matplotlib is not installed"):
        solution.report(tmp_path / "report.html")
    assert_refused(
        capsys, ["summary", "prefix", "--domain", "5", "--epsilon", "1"], "matplotlib is not installed"
    )


GOOD = ["prefix", "--domain", "4", "--epsilon", "1"]
BAD = {
    "no budget": (["prefix", "--domain", "4"], "without a privacy budget"),
    "budget": (["prefix", "--domain", "4", "--epsilon", "-1"], "epsilon is -1"),
    "workload": (["prefixx", "--domain", "4", "--epsilon", "1"], "did you mean prefix"),
    "suffix": ([*GOOD, "-o", "report.pdf"], "must be one of .html"),
    "folder": ([*GOOD, "-o", "nowhere/report.html"], "does not exist"),
    "axis": ([*GOOD, "--over", "domain=2,4"], "goes along budgets"),
    "no number": ([*GOOD, "--over", "epsilon=1,x"], "no number"),
    "bad place": ([*GOOD, "--over", "epsilon=-1"], "epsilon is -1"),
    "objective": ([*GOOD, "--objective", "best"], "must be one of"),
    "file with a domain": (["x.ldp.json", "--domain", "4"], "--domain was given with x.ldp.json"),
    "file with a budget": (["x.npz", "--epsilon", "1"], "--epsilon was given with x.npz"),
    "no file": (["x.ldp.json"], "x.ldp.json"),
    "no users": ([*GOOD, "--users", "0"], "the number of users is 0"),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_usage_is_refused_in_one_sentence(case, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments, words = BAD[case]
    assert_refused(capsys, ["summary", *arguments], words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.exhaustive
def test_an_explicit_workload_from_a_file(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("queries.npy", np.array([[1.0, 1, 0], [0, 1, 1], [1, 0, 0]]))
    assert run(capsys, "summary", "queries.npy", "--epsilon", "1", "--quick")[0] == 0
    page = read(tmp_path / "summary.html")
    assert "3 queries over 3 values" in page.text


def test_a_saved_strategy_of_any_format_can_be_reported_from_python(tmp_path):
    stored = st.mechanism.import_matrix(
        st.published.randomised_response(4, 1.0).matrix, st.histogram(4), 1.0
    ).mechanism
    path = report_saved(tmp_path / "report.html", stored, budgets=[2.0])
    assert numbers(read(path))["budgets"] == [1.0, 2.0]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("name", "way"), [("randomised-response", "more people than"), ("hierarchical", "as many people as")]
)
def test_a_mechanism_is_not_said_to_be_better_than_it_is(name, way, tmp_path):
    found = st.tune(st.prefix(16), 1.0, name).mechanism()
    words = read(report_saved(tmp_path / "report.html", found, budgets=[])).text
    assert f"{way} the best published mechanism, hierarchical" in words


def test_a_saved_mechanism_is_only_judged_by_another_objective(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mechanism("labels").save("labels.ldp.json")
    said = {}
    for kind in ("average", "worst-case"):
        _, out, err = run(
            capsys, "summary", "labels.ldp.json", "--objective", kind, "--over", "epsilon=1", "--force"
        )
        said[kind] = (
            "stays as it was made" in out + err,
            "the objective only judges it" in read(Path("summary.html")).text,
        )
    assert said == {"average": (False, False), "worst-case": (True, True)}


def test_errors_of_means_are_shares_of_their_range_beside_those_of_counts():
    survey = st.Survey("age=4,score=11,smokes=2").prefix("age").mean("score").table("smokes").workload
    solution = st.optimise(survey, 1.0, "quick", seconds=1.0)
    found = answers_drawn(ReportContent(solution, "survey", along(solution, []), cover=Cover(users=5000)))
    said = found["figure"].caption.replace("\u00a0", " ")
    assert "of the people, of sums and means % of their range" in said
    assert float(re.search(r"standard errors is ([\d.]+)", said)[1]) < 10, "not a mean over units"
    row = next(row for row in found["table"].rows if "of its range" in row[1])
    share = float(re.search(r"a person, ([\d.]+)", row[1])[1])
    assert int(row[2].replace(",", "")) == pytest.approx(5000 * share**2, rel=0.02), (
        "people for 1 % of the range"
    )


def test_a_page_states_the_bound_that_is_known(tmp_path):
    solution = st.optimise(st.prefix(16), 1.0, "quick")
    best = solution.bounds.best + 0.9 * (solution.objective - solution.bounds.best)
    larger = st.Bounds((*solution.bounds.found, Bound(NONNEGATIVE, best)))
    gaps = [
        re.search(
            r"Variance\s([\d.]+)\s%",
            read(solution.mechanism().report(tmp_path / "p.html", bounds=known, budgets=[])).text,
        )
        for known in (None, larger)
    ]
    assert float(gaps[1][1]) < float(gaps[0][1])


def test_what_a_survey_is_about_is_the_first_line_of_its_summary(tmp_path):
    path = mechanism("labels").report(tmp_path / "s.html", about="The library asks.", seconds=5)
    assert re.search(r"</h1>\s*<p dir=.auto.>The library asks.</p>", path.read_text("utf-8"))


def test_summaries_of_several_bundles_stand_in_one_folder(capsys, tmp_path, monkeypatch):
    """The second takes the name of its file; a third time it is refused, as every file that exists."""
    monkeypatch.chdir(tmp_path)
    mechanism("labels").save("a.ldp.json")
    for name in ("summary.html", "a.summary.html"):
        assert run(capsys, "summary", "a.ldp.json", "--over", "epsilon=1", "--quick")[1].startswith(name)
    assert_refused(capsys, ["summary", "a.ldp.json"], "a.summary.html exists")
