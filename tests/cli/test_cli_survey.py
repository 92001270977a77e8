"""The results of a survey on the command line: question by question, in a folder, as JSON, and as a page."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import stratagem as st
from asked import PEOPLE, counts, estimate, mechanism, people
from commands import assert_refused, plain, run, run_json
from reading import Page
from stratagem.collection.tally import Tally, tally_data
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.usable import LEAST, MEANS
from stratagem.report.question import by_question
from stratagem.strategies import SurveyPart, SurveyStrategy
from stratagem.workloads.question import answer_files, cross_files

FILES = ["age", "région-income", "région", "income", "a_b", "région-income-table", "questions"]
NUMBERS = ["standard_error", "low", "high"]
PERCENT = ["percent", "percent_low", "percent_high"]
PROMISE = ["confidence", "simultaneous"]


def save(made, found, path):
    """Write counts of reports as `aggregate` does."""
    Path(path).write_text(json.dumps(tally_data(Tally(found, {}, 0, 0, int(found.sum())), made.identifier)))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a survey and the counts of its reports."""
    monkeypatch.chdir(tmp_path)
    mechanism().save("s.ldp.json")
    save(mechanism(), counts(), "c.json")
    return tmp_path


def test_the_answers_are_told_question_by_question(capsys, folder):
    asked = ["s.ldp.json", "c.json", "--method", "recommended", "--quantile", "age=0.25"]
    status, out, err = run(capsys, "estimate", *asked)
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    lines = out.splitlines()
    assert lines[0] == "5 questions, 40,000 reports: the answers can be used."
    assert " ".join(lines[1:3]) == LEAST
    places = [lines.index(title) for title in ("age", "région x income", "région", "income, mean", "../a b")]
    assert places == sorted(places)
    age, cross, region, mean, last = (
        lines[start:stop] for start, stop in zip(places, [*places[1:], None], strict=True)
    )
    assert any(line.startswith("median: 34 to below 42 years; 95 % sure: ") for line in age)
    assert any(line.startswith("quantile age=0.25: 26 to below 34 years") for line in age)
    assert not any("×" in line for line in age)
    told = [" ".join(line.split()[:4]) for line in cross if line.startswith(("Per cent", "Standard"))]
    assert told == ["Per cent of all", "Per cent of the", "Per cent of each", "Standard errors, per cent"]
    assert [
        line.split()[0] for line in cross if line.startswith(("Nord", "Süd", "other", "no", "total"))
    ] == [
        *("Nord", "Süd", "other", "no", "total"),
        *("Nord", "Süd", "other", "total"),
        *("Nord", "Süd", "other", "total"),
        *("Nord", "Süd", "other", "no"),
    ]
    assert any(line.startswith("shares of the ") for line in region)
    (told,) = (line for line in mean if line.startswith("mean: "))
    assert told.split()[2] == "euros;"
    assert "shares of the" not in "\n".join(last), "nobody can leave this question out"


def test_a_median_that_is_told_anyway_is_told_once(capsys, folder):
    _, out, _ = run(capsys, "estimate", "s.ldp.json", "c.json", "--quantile", "age=0.5")
    assert plain(out).count("34 to below 42 years; 95 % sure") == 1
    found = run_json(capsys, "estimate", "s.ldp.json", "c.json", "--quantile", "age=0.5")
    assert found["quantiles"]["age=0.5"]["label"] == "34 to below 42 years"


def test_the_largest_answers_alone_are_one_list(capsys, folder):
    status, out, _ = run(capsys, "estimate", "s.ldp.json", "c.json", "--top", "3")
    assert status == 0
    assert "3 of 28 answers shown" in out


def test_headings_are_in_the_words_of_a_workload_file(capsys, folder):
    asked = '[attributes.age]\nbins = "18:50:8"\nquestion = "<Old>?"\n[[query]]\non = { age = "identity" }\n'
    Path("words.toml").write_text(f'title = "Life here"\n{asked}')
    more = ["--summary", "r.html", "--questions", "words.toml"]
    _, out, _ = run(capsys, "estimate", "s.ldp.json", "c.json", *more)
    page = Page(Path("r.html").read_text("utf-8"))
    said = " ".join(page.text.split())
    for text in (out, said):
        assert "5 questions, 40,000 reports: the answers can be used." in text
        assert "age: <Old>?" in text
    assert "Life here" in said
    assert said.count(MEANS) == 1


def test_a_table_by_name_is_rows_and_columns(capsys, folder):
    _, out, _ = run(capsys, "estimate", "s.ldp.json", "c.json", "--marginal", "région,income")
    assert "1 question, 40,000 reports: the answers can be used." in out
    assert "Per cent of all 40,000 people, région in rows, income (euros) in columns:" in plain(out)


@pytest.mark.parametrize("people", [40, 140])
def test_a_question_that_is_not_usable_says_so(capsys, folder, people):
    """Of very few reports nothing else is said, and no share, on the screen and on the page."""
    reports = mechanism().strategy.randomise(np.zeros((people, 4), dtype=int), np.random.default_rng(1))
    few = np.bincount(reports, minlength=mechanism().outputs)
    save(mechanism(), few, "few.json")
    _, out, _ = run(capsys, "estimate", "s.ldp.json", "few.json", "--summary", "few.html")
    drawn = re.compile("<svg.*?</svg>", re.DOTALL)
    page = Page(drawn.sub("", Path("few.html").read_text("utf-8"))).text.replace("\u00a0", " ")
    assert out.startswith(f"5 questions, {people} reports: not usable: ")
    useless = plain(out).split("not usable: ")[1].split(". ")[0].split("; ")
    for said in (out, page):
        few = len(useless) if people < 100 else 0
        assert said.count(f"Too few reports yet to say anything: {people} of about ") == few
        assert (f"Not usable with {people} people: " in said) == (people >= 100)
        assert max(map(float, re.findall(r"([\d.]+) %", said)), default=0) <= 100
    told = 5 - (len(useless) if people < 100 else 0)
    assert page.count("Shares of all people") + page.count("Sums over all") + page.count("Averages") <= told
    assert 0 < told < 5 or people >= 100


def test_json_nests_by_question_and_keeps_its_keys(capsys, folder):
    found = run_json(capsys, "estimate", "s.ldp.json", "c.json", "--method", "recommended")
    assert {"answers", "queries", "users", "usable", "ways", "shares", "quantiles"} <= found.keys()
    asked = found["questions"]
    assert [one["kind"] for one in asked] == ["prefix", "identity", "identity", "mean", "identity"]
    assert [one["attributes"] for one in asked][1] == ["région", "income"]
    numbers = [answer["query"] for one in asked for answer in one["answers"]]
    assert numbers == [one["query"] for one in found["answers"]]
    assert asked[0]["answers"][0]["answer"] == pytest.approx(found["answers"][0]["answer"])
    assert asked[0]["median"]["label"] == "34 to below 42 years"
    assert asked[3]["mean"]["low"] <= asked[3]["mean"]["share"] <= asked[3]["mean"]["high"]
    (value,) = asked[2]["answers"][0]["where"]
    assert value == {"attribute": "région", "value": "Nord"}


def test_what_is_no_survey_has_no_questions(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = st.optimise(st.histogram(4), 1.0).mechanism()
    made.save("h.ldp.json")
    save(made, np.full(made.outputs, 50), "c.json")
    assert "questions" not in run_json(capsys, "estimate", "h.ldp.json", "c.json")
    assert run(capsys, "estimate", "h.ldp.json", "c.json", "-o", "answers/")[0] == 0
    assert sorted(path.name for path in Path("answers").iterdir()) == ["questions.csv", "value.csv"]


@pytest.mark.parametrize("out", ["answers/", "there"])
def test_a_folder_gets_one_tidy_file_a_question(capsys, folder, out):
    Path("there").mkdir()
    asked = ["estimate", "s.ldp.json", "c.json", "--method", "recommended", "-o", out]
    status, said, err = run(capsys, *asked)
    assert (status, err) == (0, "")
    paths = [Path(out) / f"{name}.csv" for name in FILES]
    assert sorted(Path(out).iterdir()) == sorted(paths)
    assert [line for line in said.splitlines() if line.startswith("written in ")] == [
        f"written in {path}" for path in paths
    ]
    heads, lines = {}, {}
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            heads[path.stem], *lines[path.stem] = csv.reader(file)
    answered = [f"answered_{name}" for name in PERCENT]
    average = ["average", "average_low", "average_high"]
    each = ["question", "answer", "value_1", "value_2", "people", "sum"]
    for name in ("région-income", "age", "a_b", "income", "région"):
        assert heads[name] == [*each, *NUMBERS, *PERCENT, *answered, *average, *PROMISE], (
            "the same in every file"
        )
    assert lines["région-income"][5][:4] == [
        "région x income",
        "Süd, 1000 to below 2000",
        "Süd",
        "1000 to below 2000",
    ]
    assert lines["age"][-1][:3] == ["age", "below 50 years", "below 50 years"]
    assert float(lines["age"][-1][4]) == pytest.approx(PEOPLE)
    (mean,) = (line for line in lines["income"] if line[heads["income"].index("average")])
    assert (mean[4], bool(mean[5])) == ("", True)
    told = {one.label: one for one in by_question(estimate(), None)[2].shares()}
    for line in lines["région"]:
        numbers = [float(one) if one else None for one in line[12:15]]
        one = told.get(f"région = {line[1]}")
        assert (one is None) == (numbers[0] is None), "no answer is no share of those who answered"
        assert one is None or np.allclose(numbers, [100 * number for number in one[2:5]], atol=0.051)
    facts = [dict(zip(heads["questions"], line, strict=True)) for line in lines["questions"]]
    assert [one["question"] for one in facts] == [
        "age",
        "région x income",
        "région",
        "income, mean",
        "../a b",
    ]
    assert {one["reports"] for one in facts} == {str(PEOPLE)}
    assert (facts[0]["median"], facts[0]["mean"]) == ("34 to below 42", "")
    assert float(facts[3]["mean_low"]) < float(facts[3]["mean"]) < float(facts[3]["mean_high"])
    cells = [float(line[4]) for line in lines["région-income"]]
    assert cells == [round(one.answer, 1) + 0.0 for one in estimate().table("région", "income").answers]
    shares = [float(line[9]) for line in lines["région-income"]]
    assert np.allclose(shares, 100 * np.array(cells) / PEOPLE, atol=0.051)
    table = lines["région-income-table"]
    income = ["0 to below 1000", "1000 to below 2000", "2000 to below 3000", "no answer"]
    assert heads["région-income-table"] == ["région", *income, "total"]
    assert [line[0] for line in table] == ["Nord", "Süd", "other", "no answer", "total"]
    assert [float(cell) for line in table[:-1] for cell in line[1:-1]] == cells
    assert float(table[-1][-1]) == pytest.approx(PEOPLE)
    assert_refused(
        capsys, asked, f"^stratagem: {out.rstrip('/')}/age.csv exists: name another file, or give --force$"
    )
    before = (Path(out) / "age.csv").read_bytes()
    (Path(out) / "age.csv").write_text("mine")
    assert run(capsys, *asked, "--force")[0] == 0
    assert (Path(out) / "age.csv").read_bytes() == before


@pytest.mark.parametrize("more", [(), ("--top", "3")])
def test_one_file_holds_all_questions_in_people_and_per_cent(capsys, folder, more):
    """Weights say how much errors count: no answer is multiplied by them. In JSON the same answers are not rounded."""
    asked = ["estimate", "s.ldp.json", "c.json", "--method", "recommended", *more]
    assert run(capsys, *asked, "-o", "r.csv")[0] == 0
    exact = run_json(capsys, *asked)
    with Path("r.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [*rows[0]][:6] == ["question", "answer", "value_1", "value_2", "people", "sum"]
    with Path("r-questions.csv").open(encoding="utf-8", newline="") as file:
        assert next(one["median"] for one in csv.DictReader(file)) == "34 to below 42"
    assert len(rows) == len(exact["answers"])
    assert all(
        len(row[name].partition(".")[2]) == 1 for row in rows for name in ("low", "high", "standard_error")
    )
    assert not any("×" in text for row in rows for text in row.values())
    known = {
        answer["query"]: answer for question in exact.get("questions", ()) for answer in question["answers"]
    }
    for row, one in zip(rows, exact["answers"], strict=True):
        if one["query"] in known and row.get("people"):
            answer = known[one["query"]]
            assert float(row["people"]) == round(answer["answer"], 1) + 0.0
            assert float(row["percent_high"]) == pytest.approx(100 * answer["high"] / PEOPLE, abs=0.051)
            assert row["confidence"] == "0.95"
    assert {row["simultaneous"] for row in rows} == {str(bool(more))}
    kept = {(row["question"], row["answer"]) for row in rows}
    assert (
        more
        or {("age", "below 26 years"), ("région", "Nord"), ("région x income", "Nord, no answer")} <= kept
    )
    assert more or all(row["sum"] and not row["percent"] for row in rows if row["question"] == "income, mean")


def test_a_file_has_the_digits_that_errors_leave(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = Mechanism.of(
        st.published.randomised_response(2, 9.0), st.histogram({"x": st.labels("no", "yes")}), 9.0
    )
    made.save("h.ldp.json")
    save(made, np.array([5_000_000, 7_000_000]), "c.json")
    assert run(capsys, "estimate", "h.ldp.json", "c.json", "-o", "r.csv")[0] == 0
    _, row = csv.DictReader(Path("r.csv").read_text("utf-8").splitlines())
    assert re.fullmatch(r"\d+\.\d", row["people"])
    assert re.fullmatch(r"58\.\d{5}", row["percent"]), "the standard error is 0.00011 per cent"


def test_no_table_takes_the_file_of_another_question():
    survey = st.Survey("a=2,b=3,b-table=2").table("a", "b").table("a", "b-table").table("a")
    paths = answer_files(Path("f"), survey.workload)
    crosses = [path.stem for path in cross_files(paths, survey.workload)]
    assert [path.stem for path in paths] == ["a-b", "a-b-table", "a"]
    assert crosses == ["a-b-table-2", "a-b-table-table"]


def test_all_files_are_looked_at_before_one_is_written(capsys, folder):
    Path("there").mkdir()
    (Path("there") / "a_b.csv").write_text("mine")
    assert_refused(capsys, ["estimate", "s.ldp.json", "c.json", "-o", "there"], "a_b.csv exists")
    assert len(list(Path("there").iterdir())) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-o", "c.json/"), "c.json was given as a folder to write into, but is a file: name another folder"),
        (("-o", "absent/more/"), "the folder absent does not exist: create it first"),
        (("-o", "more/", "--top", "3"), "--top was given: leave one out"),
        (("-o", "more/", "--marginal", "age,income"), "no part of the survey asks age, income together"),
        (("-o", "more/", "--marginal", "age,height"), "'height' was given as an attribute"),
        (("-o", "answers"), "its suffix must be one of"),
    ],
)
def test_a_folder_that_cannot_be_written_is_refused(capsys, folder, arguments, words):
    assert_refused(capsys, ["estimate", "s.ldp.json", "c.json", *arguments], words)
    assert not Path("more").exists()


COLLISIONS = {
    "joined": (["a-b", "a", "b"], [("a-b",), ("a", "b")], ["a-b", "a-b-2"]),
    "case": (["Age", "age"], [("Age",), ("age",)], ["age", "age-2"]),
    "unsafe": (["a/b", "a:b"], [("a/b",), ("a:b",)], ["a_b", "a_b-2"]),
    "dots": (["..", "ü.ß"], [("..",), ("ü.ß",)], ["question", "ü_ß"]),
    "long": (["x" * 300, "y"], [("x" * 300, "y"), ("x" * 300,)], ["x" * 48, f"{'x' * 48}-2"]),
    "brackets": (["Age (years)", "x (a)", "x (b)"], [("Age (years)",), ("x (b)",)], ["age", "x_b"]),
    "separators": (["a :: b_ c?", "d"], [("a :: b_ c?",)], ["a_b_c"]),
    "twice": (["a", "b"], [("a",), ("a",), ("b",)], ["a", "a-2", "b"]),
}


@pytest.mark.parametrize("name", COLLISIONS)
def test_no_two_questions_have_one_file(name):
    names, asked, stems = COLLISIONS[name]
    survey = st.Survey(dict.fromkeys(names, 3))
    for one in asked:
        survey = survey.table(*one)
    assert answer_files(Path("f"), survey.workload) == [Path("f") / f"{stem}.csv" for stem in stems]


def test_questions_of_several_kinds_about_one_attribute_say_their_kind():
    survey = st.Survey("a=4,b=3").mean("a").prefix("a").table("a").all_range("a").table("b")
    stems = [path.stem for path in answer_files(Path("f"), survey.workload)]
    assert stems == ["a-mean", "a-prefix", "a", "a-all-range", "b"]


def test_the_page_has_a_section_a_question(capsys, folder):
    asked = ["--method", "recommended", "--summary", "r.html"]
    assert run(capsys, "estimate", "s.ldp.json", "c.json", *asked)[0] == 0
    page = Page(Path("r.html").read_text("utf-8"))
    text = page.text.replace("\u00a0", " ")
    for title in ("age", "région x income", "région", "income, mean", "../a b"):
        assert title in text
    assert text.count("sable with 40,000 people") == 5
    assert "median : 34 to below 42 years" in text or "median: 34 to below 42 years" in text
    assert "Per cent of all 40,000 people, région in rows, income (euros) in columns" in text
    assert "0.5 ×" not in text
    shares = [one.answer / PEOPLE for one in estimate().table("région").answers]
    assert f"Nord {100 * shares[0]:.1f} %" in text


def test_the_page_says_the_median_of_all_people_where_that_is_asked_for(capsys, tmp_path, monkeypatch):
    """Four in ten gave no income: of all people the median is higher. It is said once, though asked for as well."""
    monkeypatch.chdir(tmp_path)
    income = st.bins("0:3000:1000", unit="euros", no_answer=True)
    asked = st.Survey({"income": income, "owner": st.labels("no", "yes")}).prefix("income").table("owner")
    parts = [SurveyPart((k,), st.published.randomised_response(n, 6.0), 0.5) for k, n in ((0, 4), (1, 2))]
    made = Mechanism.of(SurveyStrategy((4, 2), tuple(parts)), asked.workload, 6.0)
    made.save("m.ldp.json")
    users = np.repeat([[0, 0], [1, 1], [2, 0], [3, 1]], [9000, 6000, 9000, 16000], axis=0)
    reports = made.strategy.randomise(users, np.random.default_rng(1))
    save(made, np.bincount(reports, minlength=made.strategy.outputs), "n.json")
    for more, median in (((), "1000 to below 2000"), (("--of-all", "--force"), "2000 to below 3000")):
        told = ["m.ldp.json", "n.json", "--quantile", "income=0.5", "--summary", "m.html", *more]
        assert run(capsys, "estimate", *told)[0] == 0
        text = Page(Path("m.html").read_text("utf-8")).text.replace("\u00a0", " ")
        medians = re.findall(r"(?:median|income=0.5) ?: (\d+ to below \d+)", text)
        assert medians == [median]


def test_the_page_has_the_title_of_the_file_of_queries(capsys, folder):
    Path("q.toml").write_text(
        'title = "How we live"\ndomain = { age = 5 }\n[[query]]\non = { age = "prefix" }\n'
    )
    assert run(capsys, "optimise", "q.toml", "--epsilon", "1", "--seconds", "1", "-o", "q.ldp.json")[0] == 0
    Path("p.csv").write_text("age\n" + "0\n3\n" * 100)
    assert (
        run(capsys, "randomise", "q.ldp.json", "--data", "p.csv", "--column", "age", "-o", "q.jsonl")[0] == 0
    )
    asked = ("estimate", "q.ldp.json", "q.jsonl", "--workload", "q.toml", "--summary", "q.html")
    for more, title in (((), "How we live"), (("--question", "How old?", "--force"), "How old?")):
        assert run(capsys, *asked, *more)[0] == 0
        assert Page(Path("q.html").read_text("utf-8")).text.split("\n")[0].startswith(title)


def test_a_simulation_is_about_people_and_as_exact_as_planned(capsys, folder):
    """Weights, of the ages and of the mean, say how much errors count: nothing of people is multiplied by them."""
    users, found = people()[:4000], mechanism()
    ages, incomes = (20, 30, 40, 45), (500, 1500, 2500, "")
    texts = (ages, ("Nord", "Süd", "Elbe", ""), incomes, ("no", "yes"))
    rows = [[one[cell] for one, cell in zip(texts, row, strict=True)] for row in users]
    with Path("people.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[one.name for one in found.attributes], *rows])
    columns = [part for one in found.attributes for part in ("--column", f"{one.name}={one.name}")]
    asked = ["simulate", "s.ldp.json", "--data", "people.csv", *columns, "--invalid", "other"]
    asked += ["--repetitions", "40"]
    data = run_json(capsys, *asked, "--queries", "100")
    labels = {one["label"]: one["true"] for one in data["answers"]}
    assert not any(label.startswith("0.5 ×") for label in labels)
    assert labels["age below 34 years"] == (users[:, 0] < 2).sum()
    told = {(one["question"], one["kind"]): one for one in data["questions"]}
    assert [one for one, _ in told] == ["age", "région x income", "région", "income", "../a b"]
    expected = found.estimate(counts()).by_question()
    for one, (question, own) in zip(data["questions"], expected, strict=True):
        assert one["people"] == (question.kind != "mean")
        if one["people"]:
            estimated = own.standard_errors[own.standard_errors > 0]  # the last prefix is known exactly
            share = np.sqrt(np.square(estimated).mean()) / PEOPLE * np.sqrt(PEOPLE / len(users))
            assert one["predicted"] == pytest.approx(share, rel=0.05)
        assert one["observed"] == pytest.approx(one["predicted"], rel=0.5)
    assert 400 > told["income", "mean"]["predicted"] > 10, "euros"
    status, out, _ = run(capsys, *asked)
    assert status == 0
    line = next(line for line in out.splitlines() if line.startswith("age  ") and line.endswith("%"))
    assert float(line.split()[1]) == pytest.approx(100 * told["age", "prefix"]["predicted"], rel=0.01)


def test_a_survey_is_usable_where_every_question_is_and_has_the_shares_of_its_questions(capsys, folder):
    """At 250 people the mean of all errors would do, while one table has too many cells."""
    for people_asked, usable in ((250, False), (PEOPLE, True)):
        rng = np.random.default_rng(1)
        reports = mechanism().strategy.randomise(people()[:people_asked], rng)
        save(mechanism(), np.bincount(reports, minlength=mechanism().outputs), "few.json")
        found = run_json(capsys, "estimate", "s.ldp.json", "few.json", "--method", "recommended")
        assert found["usable"] == usable == all(one["usable"] for one in found["questions"])
        useless = [one["ways"] for one in found["questions"] if not one["usable"]]
        assert found["ways"] == useless[0] if len(useless) == 1 else (found["ways"] is None) == usable
        if useless:
            assert any(one["usable"] for one in found["questions"]), "a control"
            assert found["ways"]["people"] == max(one["people"] for one in useless)
        told = [one for question in found["questions"] for one in question.get("shares", ())]
        assert found["shares"] == told
        assert told
        top = run_json(capsys, "estimate", "s.ldp.json", "few.json", "--top", "3")
        assert top["usable"] == usable
