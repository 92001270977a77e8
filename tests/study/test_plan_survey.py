"""Plans of several questions: numbers are those of the solution, files ask the same, bad input is refused."""

import math
from dataclasses import replace

import numpy as np
import pandas
import pyarrow
import pytest

import stratagem as st
from stratagem.domain.columns import MANY
from stratagem.estimators import mean_variance
from stratagem.mechanism.usable import LEAST, usability
from stratagem.report.content import Cover, ReportContent, along
from stratagem.report.verdict import verdict
from stratagem.workloads.given import read_entry, read_survey, stated_epsilon
from stratagem.workloads.survey import written

ROWS = 4 * MANY
PEOPLE = {
    "age": [18 + 7 * k % 60 for k in range(ROWS)],
    "region": [("North", "South", "East", None)[k % 4] for k in range(ROWS)],
    "smokes": [("no", "no", "yes")[k % 3] for k in range(ROWS)],
    "row": list(range(ROWS)),
    "alone": ["here"] * ROWS,
}
ASKED = ["age", "smokes", ("region", "smokes")]
QUICK = {"seconds": 30.0, "values": {"age": st.bins("18:78:10", unit="years")}}


@pytest.fixture(scope="module")
def found():
    return st.plan(PEOPLE, ASKED, users=3000, **QUICK)


@pytest.mark.exhaustive
def test_its_questions_are_those_that_were_asked(found):
    assert [one.name for one in found.questions] == ["age", "smokes", "region x smokes"]
    assert [dict(one.entry.on) for one in found.questions][1:] == [
        {"smokes": "identity"},
        {"region": "identity", "smokes": "identity"},
    ]
    assert str(found.domain) == "age=6,smokes=2,region=4"
    assert found.domain.attributes[0].unit == "years"
    assert (found.epsilon, found.users) == (1.0, 3000)


def test_the_errors_of_a_question_are_those_of_its_queries_in_the_solution(found):
    through, total = found.solution.estimator, 0.0
    for one in found.questions:
        W, n = one.workload, found.domain.size
        per_type = [st.per_query_variance(W, found.solution.strategy, np.eye(n)[u]).mean() for u in range(n)]
        hardest = max(per_type)
        if "prefix" in one.entry.on.values():  # everybody is known, and is no error of the mean
            hardest *= W.queries / (W.queries - 1)
        error = found.errors(one).root_mean_square
        assert mean_variance(W, through, through.accuracy(W)) == pytest.approx(hardest, rel=1e-6)
        assert error == pytest.approx(math.sqrt(hardest / 3000), rel=1e-6)
        total += one.entry.weight**2 * W.queries
    assert total == pytest.approx(len(found.questions), rel=0.05)  # all count alike


def test_other_ways_are_never_better_and_are_said(found):
    small = st.plan(PEOPLE, ["smokes", "age"], seconds=30.0, values=QUICK["values"])
    for plan in (found, small):
        assert set(plan.others) == {"one question each", "split budget"}
        for other in plan.others.values():
            assert plan.solution.mean_variance <= other.mean_variance * (1 + 1e-9)
    said = " ".join(str(found).split())
    assert "epsilon 1 for the whole survey" in said
    assert "fewer people than all questions with a part of epsilon each" in said
    assert "a guess of a person's answers to all questions 50 % likely before seeing the report" in said
    assert "can think it at most 73.2 % likely afterwards" in said


def test_its_file_asks_the_same(found, tmp_path):
    path = tmp_path / "survey.toml"
    path.write_text(found.survey_file(), encoding="utf-8")
    assert "# other = true takes answers in none of the values" in found.survey_file()
    path.write_text(found.survey_file().replace("# about =", "about ="), encoding="utf-8")
    assert read_entry(path, "it").about.startswith("The library asks")
    path.write_text(found.survey_file(), encoding="utf-8")
    file, again = read_survey(path), st.plan(path, users=3000, seconds=5.0)
    assert file.queries == tuple(one.entry for one in found.questions)
    assert file.domain == found.domain == again.domain
    assert file.epsilon == stated_epsilon(path) == again.epsilon == found.epsilon
    assert st.plan(path, users=3000, epsilon=0.5, seconds=5.0).epsilon == 0.5
    assert again.solution.workload.gram() == pytest.approx(found.solution.workload.gram())
    assert again.survey_file() == found.survey_file()
    assert (again.columns, again.values()) == ((), ())


NAMES = ("age", "größe", "a b", 'say "no"', "x.y", "\\")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_any_name_comes_back_from_its_file(name, tmp_path):
    data = {name: ["ä", 'b "c"', "d\\e"] * MANY, "other one": [1, 2, 3] * MANY}
    plan = st.plan(
        data, seconds=2.0, only=True, values={name: st.labels("ä", 'b "c"', "d\\e", no_answer=True)}
    )
    path = tmp_path / "survey.toml"
    path.write_text(plan.survey_file(), encoding="utf-8")
    assert read_survey(path).domain == plan.domain
    assert plan.domain.names == (name, "other one")


def test_without_names_all_columns_are_asked_about_that_can_be():
    plan = st.plan(PEOPLE, seconds=1.0, values=QUICK["values"])
    assert plan.domain.names == ("age", "region", "smokes")
    assert plan.users == ROWS
    notes = " ".join(plan.notes())
    assert "row is left out: every row has a number of its own" in notes
    assert "alone is left out: column 'alone' holds 'here' alone" in notes
    assert (
        st.plan({"row": PEOPLE["row"], "age": PEOPLE["age"]}, ["row", "age"], seconds=2.0).domain.names[0]
        == "row"
    )


def test_one_question_is_a_plan_of_one_question():
    alone = st.plan({"smokes": PEOPLE["smokes"], "row": PEOPLE["row"]}, users=500)
    same = st.plan(PEOPLE["smokes"], "smokes", users=500)
    assert str(alone) == str(same)
    assert alone.solution.objective == same.solution.objective


def test_frames_and_files_are_read_alike(tmp_path):
    columns = {name: PEOPLE[name] for name in ("age", "region", "smokes")}
    frame = pandas.DataFrame(columns)
    frame.to_csv(tmp_path / "people.csv", index=False)
    kinds = (frame, pyarrow.table(columns), tmp_path / "people.csv")
    expected = st.plan(columns, seconds=1.0)
    for data in kinds:
        plan = st.plan(data, seconds=1.0)
        assert plan.domain == expected.domain
        assert [one.x.tolist() for one in plan.columns] == [one.x.tolist() for one in expected.columns]


@pytest.mark.exhaustive
@pytest.mark.parametrize("data", [PEOPLE, pandas.DataFrame(PEOPLE), pyarrow.table(PEOPLE)])
def test_a_name_alone_asks_about_that_column(data):
    """The names of the columns themselves were taken for its values."""
    alone, listed = (st.plan(data, column, seconds=1.0) for column in ("region", ["region"]))
    assert alone.column == listed.column == "region"
    assert alone.solution.workload == listed.solution.workload
    assert alone.x.tolist() == listed.x.tolist()
    stated = st.plan(data, "age", values=st.bins("18:78:10", unit="years"), seconds=1.0)
    assert (stated.column, stated.unit, stated.users) == ("age", "years", ROWS)


def test_an_error_asks_for_the_smallest_budget_for_every_question():
    plan = st.plan(PEOPLE, ["smokes", "region"], users=3000, error=0.03, seconds=120.0)
    assert plan.complete
    assert plan.users_needed <= 3000
    less = st.plan(PEOPLE, ["smokes", "region"], users=3000, epsilon=plan.epsilon / 1.03, seconds=10.0)
    assert max(less.errors(one).root_mean_square for one in less.questions) > 0.03


@pytest.mark.sampled(2)
@pytest.mark.parametrize("asked", [{"users": 3000}, {"epsilon": 1.0}])
def test_an_error_is_reached_in_every_question_or_more_people_are_asked_for(asked):
    plan = st.plan(PEOPLE, ["smokes", "region"], error=0.03, seconds=5.0, **asked)
    worst = max(plan.errors(one).root_mean_square for one in plan.questions)
    enough = plan.users_needed <= plan.users
    assert enough == (worst <= 0.03) == ("users" in asked)
    assert f"{plan.users:,} are {'enough' if enough else 'not enough'}" in " ".join(str(plan).split())
    many = st.plan(PEOPLE, ["smokes", "region"], users=plan.users_needed, epsilon=plan.epsilon, seconds=5.0)
    assert max(many.errors(one).root_mean_square for one in many.questions) <= 0.03 * 1.01


def test_a_mean_has_its_error_in_its_unit(tmp_path):
    path = tmp_path / "hours.toml"
    text = '[attributes.hours]\nbins = "0:60:20"\nunit = "hours"\n[attributes.sex]\nsize = 2\n'
    path.write_text(text + '[[query]]\non = { hours = "mean" }\n[[query]]\non = { sex = "identity" }\n')
    plan = st.plan(path, users=10_000, seconds=2.0)
    row = next(row for row in plan.table().rows if row[0] == "mean hours")
    assert row[1].endswith(" hours")
    error = float(row[1].split()[0])
    assert error == pytest.approx(plan.errors(plan.questions[0]).root_mean_square, rel=1e-3)
    path.write_text(text + '[[query]]\non = { hours = "mean" }\n[[query]]\non = { hours = "moments" }\n')
    with pytest.raises(ValueError, match="no question counts people"):
        st.plan(path, users=100, error=0.1)


def test_many_columns_of_numbers_are_planned_together():
    """Of 11^6 combinations of answers no matrix is made."""
    rng = np.random.default_rng(1)
    columns = {f"c{k}": rng.integers(0, 11, 500).tolist() for k in range(6)}
    plan = st.plan(columns, users=100_000, seconds=10.0)
    assert [one.name for one in plan.questions] == [*columns]
    assert plan.domain.sizes == (11,) * 6
    assert plan.solution.gap < 0.1
    assert all(one.usable for one in plan.verdicts)


def test_too_few_people_are_said_question_by_question(found):
    plan = replace(found, users=30)
    assert [one.usable for one in plan.verdicts] == [False] * 3
    assert found.verdicts[1].usable
    assert [row[0] for row in plan.table().rows if "no" in row] == ["age", "smokes", "region x smokes"]
    assert [LEAST in " ".join(str(one).split()) for one in (plan, found)] == [False, True]


def test_the_first_lines_say_how_many_people_in_all_are_enough_for_every_question(found):
    """Readers added up the people that were named question by question."""
    plan = replace(found, users=300)
    most = max(one.ways.people for one in plan.verdicts if one.ways)
    first = str(plan).split("\n\n")[0]
    assert f"Ask {most:,} people in all and every question is usable:" in first
    enough = replace(found, users=most)
    assert all(one.usable for one in enough.verdicts)
    assert "So many people in all are enough: every question is usable." in str(enough).split("\n\n")[0]


@pytest.mark.parametrize("users", [30, 300, 3000])
def test_the_page_says_of_every_question_what_the_plan_says(found, users):
    plan = replace(found, users=users)
    content = ReportContent(plan.solution, "survey", along(plan.solution, []), cover=Cover(users=users))
    told = verdict(content)
    names = plan.domain.names  # the page names attributes in the order of the domain
    called = [" x ".join(sorted(one.attributes, key=names.index)) for one in plan.questions]
    named = dict(zip(called, plan.verdicts, strict=True))
    assert told["reasons"] == [f"{name}: {judged}" for name, judged in named.items() if not judged.usable]
    assert [(one["name"], one["wrong"]) for one in told["questions"]] == [
        (name, not judged.usable) for name, judged in named.items()
    ]
    assert all(
        one["words"].startswith("not usable" if one["wrong"] else "usable") for one in told["questions"]
    )


def test_its_mechanism_answers_its_questions(found, tmp_path):
    loaded = st.load_mechanism(found.save(tmp_path / "survey.ldp.json"))
    assert loaded.name == "survey"
    assert float(loaded.epsilon) <= 1.0
    rng = np.random.default_rng(20260101)
    cells = rng.integers(found.domain.size, size=4000)
    counts = np.bincount(loaded.strategy.randomise(cells, rng), minlength=loaded.strategy.outputs)
    estimate = loaded.estimate(counts)
    asked = st.stack([one.workload for one in found.questions])
    truth = asked.matrix() @ np.bincount(cells, minlength=found.domain.size)
    # 21 answers, five standard errors each: a false alarm once in 80,000 runs
    assert (np.abs(estimate.answers - truth) <= 5 * estimate.standard_errors + 1e-6).all()
    wrong = asked.matrix() @ np.bincount(cells // 2, minlength=found.domain.size)
    assert (np.abs(estimate.answers - wrong) > 5 * estimate.standard_errors + 1e-6).any()


TOML = '[attributes.age]\nsize = 4\n[[query]]\non = { age = "prefix" }\n'


@pytest.mark.parametrize(
    ("data", "asked", "options", "words"),
    [
        (PEOPLE, ["age", "incme"], {}, "no column 'incme'"),
        (PEOPLE, "incme", {}, "no column 'incme'"),
        (PEOPLE, ["age", ("age",)], {}, "a table of age was asked for"),
        (PEOPLE, [("age", "row")], {"values": {"row": st.bins("0:400:1")}}, "at most 4,096 are planned"),
        (PEOPLE, ["age", "alone"], {}, "holds 'here' alone"),
        (PEOPLE, None, {"workload": "prefix"}, "belong to one"),
        (PEOPLE, None, {"unit": "years"}, "belong to one"),
        (PEOPLE, None, {"values": st.bins("18:78:10")}, "belong to one"),
        (PEOPLE, ["age", "smokes"], {"values": {"region": st.labels("a", "b")}}, "stated for 'region'"),
        (PEOPLE, ["age", "smokes"], {"unit": {"smokes": "cigarettes"}}, "has labels"),
        (PEOPLE, ["age", "smokes"], {"users": 0}, "users is 0"),
        (PEOPLE, ["age", "smokes"], {"error": 2.0}, "error is 2.0"),
        (PEOPLE, ["age", "smokes"], {"epsilon": -1.0}, "epsilon is -1.0"),
        (PEOPLE, ["age", "smokes"], {"epsilon": 1.0, "users": 5, "error": 0.1}, "leave one out"),
        ({"alone": PEOPLE["alone"]}, None, {}, "no column holds anything to ask"),
        (PEOPLE["smokes"], "smokes", {"unit": {"smokes": "years"}}, "for one question"),
        ("file.toml", None, {}, "how many people"),
        ("file.toml", ["age"], {"users": 10}, "states attributes and queries"),
        ("file.toml", None, {"users": 10, "missing": ["?"]}, "states attributes and queries"),
        ("late.csv", None, {}, "^late.csv cannot be read as CSV .line 50,002 has 3 fields, [^.]*$"),
        (
            "twice.csv",
            None,
            {},
            "^no column holds anything to ask: [^.]*left out: twice.csv has 2 col[^.]*[.]$",
        ),
        ("nowhere.toml", None, {"users": 10}, "nowhere.toml cannot be read"),
        ("family.toml", None, {"users": 10}, "names a family"),
        ("epsilon.toml", None, {"users": 10}, "epsilon.toml: epsilon is 0"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_a_sentence(data, asked, options, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.toml").write_text(TOML)
    (tmp_path / "epsilon.toml").write_text(f"epsilon = 0\n{TOML}")
    (tmp_path / "late.csv").write_text("age,sex\n" + "1,F\n" * 50_000 + "1,F,9\n")
    (tmp_path / "twice.csv").write_text("age,age\n" + "1,2\n" * 5)
    (tmp_path / "family.toml").write_text('family = "prefix"\n')
    with pytest.raises(ValueError, match=words):
        st.plan(data, asked, **options)


ALIKE = """
[attributes.age]
bins = "20:60:20"
[attributes.smokes]
labels = ["no", "yes"]
[[query]]
on = { age = "AGE" }
weight = "alike"
[[query]]
on = { smokes = "identity" }
"""


@pytest.mark.parametrize("kind", ["prefix", "mean", "identity"])
def test_questions_of_the_weight_alike_count_alike_whatever_they_ask(kind, tmp_path):
    path, asked = tmp_path / "alike.toml", ALIKE.replace("AGE", kind)
    path.write_text(asked + 'weight = "alike"\n')
    for one in (plan := st.plan(path, users=3000, seconds=2.0)).questions:
        assert one.entry.weight == pytest.approx(one.workload.queries**-0.5, rel=0.02)
    assert plan.survey_file().count('\nweight = "alike"\n') == 2
    assert "count alike" not in str(plan)
    for stated, weight in (("weight = 2\n", 2), ("", 1)):
        path.write_text(asked + stated)
        plan = st.plan(path, users=3000, seconds=2.0)
        assert plan.questions[1].entry.weight == weight
        said = f'unless they state weight = "alike": smokes {weight} (0.71 counts like any other).'
        assert said in " ".join(str(plan).split())
        assert plan.survey_file().count("weight = 2.0") == (weight == 2)


def test_a_question_alone_has_no_weight_in_the_names_of_its_answers():
    people = {"a": ["x", "y"] * 50, "b": ["u", "v", "v", "u"] * 25}
    plan = st.plan(people, [("a", "b")], seconds=2.0)
    assert plan.questions[0].entry.weight == 1
    assert str(plan).startswith("100 people, 1 question, ")


def test_coarser_bins_are_offered_where_proposed_ones_are_too_many(tmp_path):
    ages = [str(15 + k % 75) for k in range(800)]
    people = {"age": ages, "smokes": ["yes", "no"] * 400, "score": [k % 11 for k in range(800)]}
    plan = st.plan(people, seconds=4.0)
    assert not plan.verdicts[0].usable
    bins = plan.coarser["age"]
    assert f"For example values={{'age': st.bins({bins!r})" in " ".join(str(plan).split())
    assert f'# coarser, for so few people: bins = "{bins.removesuffix(",whole")}"\n' in plan.survey_file()
    path = tmp_path / "survey.toml"
    path.write_text(plan.survey_file())
    assert read_survey(path).domain == plan.domain
    coarse = {name: st.bins(one) for name, one in plan.coarser.items()}
    again = st.plan(people, seconds=4.0, values=coarse)
    assert all(one.usable for one in again.verdicts)
    assert again.coarser == {}, "stated bins stay"


def test_coarser_values_are_no_way_for_a_table_of_several_attributes():
    people = {"a": ["x", "y", "z", "w"] * 25, "b": [k % 6 for k in range(100)]}
    (verdict,) = st.plan(people, [("a", "b")], seconds=2.0).verdicts
    assert not verdict.usable
    assert "coarser" not in str(verdict)


def test_a_survey_file_is_told_what_to_write_into_it(tmp_path):
    """The options of columns, which a survey file refuses, are lines of it there."""
    rows = [f"{18 + k % 60},{'yes' if k % 2 else 'no'}" for k in range(200)] + ["-99,yes"] * 20
    (tmp_path / "people.csv").write_text("\n".join(["how old,smokes", *rows]))
    asked = '[attributes.age]\ncolumn = "how old"\nbins = "-100:100:50"\n[attributes.smokes]\nlabels = ["no", "yes"]\n'
    query = '[[query]]\non = { age = "prefix" }\n[[query]]\non = { smokes = "identity" }\n'
    path = tmp_path / "people.toml"
    path.write_text(f'title = "people"\ndata = "people.csv"\n{asked}{query}')
    (said,) = (note for note in st.plan(path, seconds=5).notes() if "placeholder" in note)
    assert said.endswith('say so with missing = ["-99"] below [attributes.age].')
    path.write_text(path.read_text().replace("bins =", 'missing = ["-99"]\nbins ='))
    assert not any("placeholder" in note for note in st.plan(path, seconds=5).notes())


def test_what_is_advised_of_columns_is_written_as_lines_of_a_survey_file():
    for given, line in {
        "by_column={'a': {'missing': ['?', \"don't\"]}}": 'missing = ["?", "don\'t"]',
        "mapping={'five': '5'}": 'map = { five = "5" }',
        "by_column={'a b': {'date_format': 'day-first'}}": 'date_format = "day-first"',
    }.items():
        assert written(f"If so, {given} says so.", "a") == f"If so, {line} below [attributes.a] says so."
    assert written("labels {'a'} and missing={'a", "a") == "labels {'a'} and missing={'a"


def test_a_plan_of_six_questions_says_once_what_it_says_of_several():
    """Ways out stand in the table: a paragraph a question made 85 lines of it."""
    columns = {f"c{k}": [f"{j % 3}th" for j in range(300)] for k in range(6)}
    plan = st.plan(columns, users=100, seconds=20.0)
    assert not any(one.usable for one in plan.verdicts)
    assert len(str(plan).splitlines()) <= 45
    said = " ".join(str(plan).split())
    assert said.count("Usable is up to 16.7 %, half of the mean answer of 33.3 %.") == 1
    assert said.count("were read from the data") == 1
    lines = {row[0]: row[-3:] for row in plan.table().rows}
    for one, judged in zip(plan.questions, plan.verdicts, strict=True):
        assert lines[one.name][0] == f"{judged.ways.people:,}"
        assert lines[one.name][1] == str(judged.ways.epsilon)


def test_the_answer_that_is_far_less_accurate_than_most_is_named(found):
    """Beside the typical error, in the verdict of plans and pages; of usable questions as well."""
    workload = st.histogram("region=4")

    def judged(worst):
        return usability(workload, 1.0, 100, 0.1, single=lambda: np.array([0.1, 0.1, worst, 0.1]))

    assert judged(0.39).widest == ""
    far = judged(5.3)
    assert far.widest == "the widest interval, ± 45.1 %, is that of region = 2"
    assert f"; {far.widest}; usable is" in str(far)
    plan = replace(found)
    plan.__dict__["verdicts"] = (far, *found.verdicts[1:])
    assert f"age: {far.widest}." in str(plan)
