"""The form in a real Chromium: what it asks and shows, for every kind of answer, reader and screen."""

import json

import jsonschema
import numpy as np
import pytest

import stratagem as st
from browsing import page_of
from forms import ADDRESS, DECLINE, GIVE, REFUSE, SEND, START, assert_led_to, drawn, forms, send, start
from mechanisms import mechanism
from reading import low_contrast
from stratagem.math.privacy import told
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.webpage import FORM, MODULES, write_web_client

HTML = "<img src=x onerror=alert(1)>"
ARABIC = ["شاي", "قهوة", "ماء", "شيء آخر"]


@pytest.fixture
def show(browser, tmp_path):
    with forms(browser, tmp_path / "web") as opened:
        yield opened


def many(kind):
    """A mechanism with so many answers that they are not all shown."""
    strategy = st.published.hadamard_response(65, 2.0)
    given = {
        "numbers": 65,
        "bins": st.bins("-30:35:1", whole=True),
        "labels": st.labels(HTML, *(f"Größe {k}" for k in range(1, 65))),
    }
    return Mechanism.of(strategy, st.histogram(given[kind]), 2.0)


def test_the_report_that_is_shown_is_sent_once_and_nothing_else(show):
    found = mechanism("labels")
    page = show(found)
    assert page.title() == page.get_by_role("heading", level=1).inner_text() == "Ja?"
    report = drawn(page)
    jsonschema.validate(report, found.bundle["report"])
    assert page.locator("#words b").all_inner_texts() == [["ja", "nein", "weiß nicht ☂"][report["output"]]]
    said = "One answer, drawn at random. It may or may not be your own:"
    assert page.locator("#words p").first.inner_text() == said
    assert page.posted == []
    send(page)
    assert_led_to(page, "Thank you, sent once.")
    assert page.posted == [report]
    modules = {name for name in MODULES if name.endswith(".js")}
    posts = [request for request in page.requests if request == ADDRESS]
    assert {*page.requests} - {ADDRESS} == {"", *FORM[1:], "bundle.ldp.json"} | modules
    assert len(posts) == 1
    kept = page.evaluate("JSON.stringify(Object.entries(localStorage))")
    assert all(word not in kept for word in (report["id"], "output", "nein"))
    page.reload()
    page.get_by_role("heading", name="Thank you, sent once.").wait_for()
    assert page.get_by_role("button").count() == 0
    assert page.complaints == []


OWN = "It may be your own answer or another one, and nobody can be sure which."


def test_what_is_sent_may_be_the_own_answer_and_no_text_says_that_it_is_not(show):
    """Where every random byte is 127 the report is the answer."""
    page = show(Mechanism.of(st.published.randomised_response(3, 1.0), st.histogram(3), 1.0))
    page.evaluate("() => { crypto.getRandomValues = (bytes) => bytes.fill(127); }")
    first = " ".join(page.locator("#ask").text_content().split())
    assert f"What is sent is drawn at random. {OWN}" in first
    assert drawn(page, "2")["output"] == 2
    texts = [first, page.locator("main").text_content()]
    assert not [text for text in texts if "your answer is neither" in text.lower() or "instead" in text]
    assert (
        page.locator("dt:text('Not sent') + dd")
        .text_content()
        .startswith("whether what is sent holds your own answer, cookies;")
    )


CODES = st.strategies.MatrixStrategy(np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]))
KINDS = {
    "an answer": (lambda: mechanism("labels"), f". {OWN}", "choose the nearest answer, or do not take part"),
    "a group": (
        lambda: many("labels"),
        ": a group of answers that may or may not hold yours.",
        "choose the nearest answer, or do not take part",
    ),
    "typed": (
        lambda: many("numbers"),
        ": a group of answers that may or may not hold yours.",
        "choose the nearest answer",
    ),
    "a code": (
        lambda: Mechanism.of(CODES, st.histogram(3), 1.0),
        ": a code that every answer can lead to.",
        "choose the nearest answer",
    ),
    "no answer": (
        lambda: Mechanism.of(
            st.published.randomised_response(3, 1.0),
            st.histogram(st.labels("ja", "nein", no_answer=True)),
            1.0,
        ),
        f". {OWN}",
        "choose “No answer”",
    ),
    "other": (lambda: mechanism("no-answer"), f". {OWN}", ""),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_step_says_who_asks_what_is_drawn_and_what_to_do_where_no_answer_fits(kind, show):
    found, words, instead = KINDS[kind]
    page = show(found(), about=f"The town asks.\n{HTML}", started=False)
    first = " ".join(page.locator("main").inner_text().split())
    assert first.startswith(f"Ja? The town asks. {HTML} You are asked this one question.")
    start(page)
    about = page.get_by_text("The town asks.")
    assert not about.is_visible()
    page.get_by_text("About this survey").click()
    assert about.is_visible()
    page.locator("#fields input, #fields select").first.wait_for()
    first = " ".join(page.locator("main").inner_text().split())
    assert f"What is sent is drawn at random{words}" in first
    assert first.count("If none fits") == bool(instead)
    assert f"If none fits, {instead}." in first or not instead
    assert page.complaints == []


def test_the_first_step_says_how_to_refuse_and_how_often_it_sends(show):
    """People asked what happens when they open the page again, and how to say no; only before the draw is that free."""
    page = show(mechanism("labels"), viewport={"width": 360, "height": 640}, started=False)
    asked = " ".join(page.locator("#start").inner_text().split())
    free = "You do not have to take part. Decide now, or before you press “Show what will be sent”."
    assert free in asked
    assert "still say no" not in asked
    sent = "what chance made of your answer, the number of this survey, and a random number so that it counts once."
    assert f"Only this is sent: {sent}" in asked
    start(page)
    first = " ".join(page.locator("#ask").inner_text().split())
    for words in (
        "If you do not want to answer, close this page before you press the button.",
        "It is sent once: if you open this page again, nothing more is sent.",
    ):
        assert words in first
    warning = "Please do not refuse because of what was drawn: that would tell something about your answer."
    assert not page.get_by_text(warning).is_visible()
    drawn(page)
    assert page.get_by_text(warning).is_visible()
    assert page.locator("main").text_content().count("because of what was drawn") == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_form_takes_no_other_bundle_than_its_own(show, tmp_path):
    page = show(mechanism("labels"))
    other = Mechanism.of(st.published.randomised_response(3, 8.0), st.histogram(3), 8.0)
    (tmp_path / "web" / "bundle.ldp.json").write_bytes(other.text)
    page.reload()
    page.get_by_text("This form cannot be used here, and nothing was sent.").wait_for()
    said = page.locator("#outcome").inner_text()
    assert f"the mechanism file has the sha256 {other.identifier}, but" in said
    assert page.locator("#ask").is_hidden()


def test_from_disk_and_without_scripts_it_says_what_to_do(browser, tmp_path):
    folder = write_web_client(tmp_path, mechanism("labels"), "Ja?", ADDRESS)
    words = "This form has not started, and nothing was sent. Open it by the address that you were given"
    with browser.new_context() as context:
        page = context.new_page()
        page.goto((folder / "index.html").as_uri())
        page.get_by_text(words).wait_for()
        page.wait_for_timeout(300)
        assert page.get_by_text(words).is_visible()
    with page_of(browser, folder, java_script_enabled=False) as page:
        page.get_by_text(words).wait_for()


def test_without_an_address_it_is_a_preview(show):
    page = show(mechanism("labels"), submit="", started=False)
    page.get_by_text("This is a preview: it sends nothing.").wait_for()
    first = page.locator("#start").inner_text()
    assert not [words for words in ("You see", "is sent", "will be sent") if words in first]
    start(page)
    page.get_by_label("nein").check()
    page.get_by_role("button", name="Show what would be sent").click()
    assert_led_to(page, "This would be sent:")
    assert page.get_by_role("button").count() == 0
    assert "refuse" not in page.locator("main").inner_text()
    assert page.evaluate("localStorage.length") == 0


def test_the_keyboard_is_enough(show):
    page = show(mechanism("labels"), started=False)
    order = []

    def press(key):
        page.keyboard.press(key)
        order.append(
            page.evaluate("document.activeElement.textContent.trim() || document.activeElement.type")
        )

    for key in ("Tab", "Tab", "Enter", "Tab", "Enter"):
        press(key)
    assert order == [START, REFUSE, "Nothing was sent.", "Back", START]
    order.clear()
    press("Enter")
    for key in ("Space", "ArrowDown", "Tab", "Enter"):
        press(key)
    assert order[-2:] == [GIVE, "This will be sent:"]
    press("Tab")
    press("Tab")
    press("Shift+Tab")
    assert order[-3:] == [SEND, DECLINE, SEND]
    page.keyboard.press("Enter")
    assert_led_to(page, "Thank you, sent once.")
    assert len(page.posted) == 1


def test_a_screen_reader_hears_the_question_the_answers_and_what_is_wrong(show):
    page = show(mechanism("labels"), "Möchten Sie?")
    group = page.get_by_role("group", name="Möchten Sie?")
    assert [radio.get_attribute("type") for radio in group.get_by_role("radio").all()] == ["radio"] * 3
    page.get_by_role("button", name=GIVE).click()
    page.get_by_role("alert").get_by_text("Please give one of the answers.").wait_for()
    assert page.evaluate("document.activeElement.type") == "radio"
    assert page.locator("[title]").count() == 0
    page.get_by_label("ja", exact=True).check()
    assert page.locator(".error:not(:empty), [aria-invalid=true]").count() == 0, "it is answered"
    report = drawn(page, "ja")
    assert_led_to(page, "This will be sent:")
    page.locator("#experts summary").click()
    assert report["id"] in page.get_by_role("region", name="The report as it is sent").inner_text()


@pytest.mark.parametrize(
    ("kind", "typed", "wrong", "sentence"),
    [
        ("numbers", "64", "65", "Please give a whole number from 0 to 64."),
        ("bins", "-27.0", "-27.5", "Please give a whole number from -30 to 34."),
        (
            "labels",
            "Größe 7",
            "Größe",
            "Please give one of the answers in the list: type some letters to find it.",
        ),
        ("labels", HTML, "", "Please give one of the answers in the list: type some letters to find it."),
    ],
)
def test_of_many_answers_one_is_typed(kind, typed, wrong, sentence, show):
    page = show(many(kind))
    field = page.get_by_label("Ja?")
    for text in (wrong, typed):
        field.fill(text)
        field.press("Tab")  # a list of suggestions that is open swallows a click
        page.get_by_role("button", name=GIVE).click()
        if text == wrong:
            page.get_by_role("alert").get_by_text(sentence).wait_for()
            assert field.get_attribute("aria-invalid") == "true"
    page.get_by_role("heading", name="This will be sent:").wait_for()
    first = page.locator("#words p").first.inner_text()
    if json.loads(page.locator("#report").text_content())["output"] == 0:  # as likely for every answer
        assert first == "A code number that was drawn at random: 0."
        return
    assert first == "A group of answers, drawn at random. It may or may not hold your own answer."
    assert page.locator("#words img").count() == 0
    if kind == "labels":
        page.locator("#words summary").click()
        assert page.locator("#words b").count() > 12
    assert page.complaints == []


def test_a_group_of_answers_is_one_sentence_of_alternatives(show):
    """In boxes of their own two ranges of age looked like two ages that somebody had given."""
    page = show(mechanism("hadamard"), viewport={"width": 360, "height": 640})
    report = drawn(page, "0")
    change = "([name, text]) => localStorage.setItem(name, text)"
    (name,) = [one for one in page.evaluate("Object.keys(localStorage)") if one.startswith("stratagem form")]
    page.evaluate(change, [name, json.dumps({"step": "drawn", "times": 0, "report": report | {"output": 2}})])
    page.reload()
    page.get_by_text("One of these: 0, 3 to 4, or 7 to 8", exact=True).wait_for()
    assert page.locator("#words .answers").count() == 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_several_answers_are_asked_for_by_name(show):
    page = show(mechanism("several-attributes"))
    page.get_by_role("group", name="age").get_by_label("18 to below 65").check()
    page.get_by_role("button", name=GIVE).click()
    sentence = "sex: please give one of the answers."
    page.get_by_role("group", name="sex").get_by_role("alert").get_by_text(sentence).wait_for()
    described = page.get_by_label("m", exact=True).get_attribute("aria-describedby")
    assert page.locator(f"#{described}").inner_text() == sentence
    assert page.locator(".error:not(:empty), #error:not(:empty)").count() == 1
    drawn(page, "m")
    assert all("age: " in text for text in page.locator("#words b").all_inner_texts())


def test_all_questions_without_an_answer_are_marked(show):
    page = show(mechanism("several-attributes"))
    page.get_by_role("button", name=GIVE).click()
    for name in ("age", "sex"):
        group = page.get_by_role("group", name=name)
        group.get_by_text(f"{name}: please give one of the answers.").wait_for()
    focus = "document.activeElement === document.querySelector('#fields input')"
    assert page.evaluate(focus)


WHERE = """(text) => {
  const walker = document.createTreeWalker(document.querySelector("#words b"), NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const start = node.data.indexOf(text);
    if (start < 0) continue;
    const range = document.createRange();
    range.setStart(node, start);
    range.setEnd(node, start + text.length);
    const { left, right } = range.getBoundingClientRect();
    return [left, right];
  }
}"""
"""Where a text of the first answer stands from left to right, in pixels."""


def test_names_stay_beside_their_values_when_one_is_read_from_the_right(show):
    """Without isolation the value of the first pair and the name of the second change places."""
    W = st.histogram({"Farbe": st.labels("أزرق", "أحمر"), "مدينة": st.labels("Kairo", "Bonn")})
    page = show(Mechanism.of(st.published.randomised_response(4, 1.0), W, 1.0))
    page.get_by_label("أزرق").check()
    drawn(page, "Bonn")
    shown = page.locator("#words b").first.inner_text().replace(": ", ", ").split(", ")
    first, second = [[page.evaluate(WHERE, one) for one in pair] for pair in (shown[:2], shown[2:])]
    assert max(right for _, right in first) <= min(left for left, _ in second)
    assert page.locator("#words bdi bdi").all_inner_texts() == [shown[1], shown[3]]


def test_nothing_technical_stands_above_the_details(show):
    """An answer in words; no epsilon, hash, JSON or name of a mechanism, no picture, no choice of a file."""
    page = show(mechanism("labels"))
    drawn(page)
    shown = page.locator("main").inner_text()
    for word in ("epsilon", "ε", "SHA", "bundle", "{", "mechanism", "probability", "output"):
        assert word not in shown
    assert page.locator("input[type=file], canvas, svg, img").count() == 0
    assert (
        "Of 100 people, about 69 send something that holds their own answer, and 31 something that does not."
        in shown
    )
    sure = told(1.5, "your answer", "what you send")  # e^1.5/(1 + e^1.5) = 0.81757
    assert "at most 81.8 % likely afterwards" in sure
    assert f"{sure[0].upper()}{sure[1:]}" in shown


@pytest.mark.sampled(3)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 360, 1200])
@pytest.mark.parametrize("language", ["german", "arabic"])
def test_it_can_be_read_by_day_and_night_on_narrow_and_wide_screens(language, width, scheme, show):
    """WCAG 2.2 AA: contrast of at least 4.5, targets of 44 pixels, no sideways scrolling; texts run their way."""
    question, labels, way = {
        "german": (
            "Donaudampfschifffahrtsgesellschaftskapitänsmütze: schön?" * 2,
            ["Übergroß" * 9, "ja", "nö"],
            "ltr",
        ),
        "arabic": ("ماذا تشرب في الصباح؟", ARABIC, "rtl"),
    }[language]
    n = len(labels)
    found = Mechanism.of(st.published.randomised_response(n, 1.0), st.histogram(st.labels(*labels)), 1.0)
    page = show(found, question, color_scheme=scheme, viewport={"width": width, "height": 640})
    texts = [page.locator("h1"), *page.locator(".options label").all()]

    def readable():
        assert low_contrast(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width

    assert {text.evaluate("(one) => getComputedStyle(one).direction") for text in texts} == {way}
    assert all(box["height"] >= 44 for box in (text.bounding_box() for text in texts[1:]))
    page.get_by_role("button", name=GIVE).click()
    readable()
    drawn(page, labels[0])
    assert page.locator("#words b").first.evaluate("(one) => getComputedStyle(one).direction") == way
    assert page.locator("#experts summary").bounding_box()["height"] >= 44
    page.locator("#experts summary").click()
    readable()
    page.answers = (429, {})
    send(page)
    page.get_by_text("The survey is busy").wait_for()
    readable()


LEFT_OUT = {
    "radios": (st.bins([15, 18, 65], other=True, no_answer=True), "less than 15, or 65 or more"),
    "labels": (st.labels("ja", "nein", "other", no_answer=True), "something else"),
    "a list": (st.bins("0:60:3", other=True, no_answer=True), "60 or more, or something else"),
    "typed": (st.bins("0:80:1", no_answer=True), "typed"),
    "typed labels": (st.labels(*(f"Größe {k}" for k in range(70)), no_answer=True), "typed"),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", LEFT_OUT)
def test_no_answer_and_other_are_two_choices(name, show):
    """Where every random byte is 127 the report is the answer; a question that nobody touched is asked again."""
    one, kind = LEFT_OUT[name]
    page = show(Mechanism.of(st.published.randomised_response(one.size, 10.0), st.histogram(one), 10.0))
    page.evaluate("() => { crypto.getRandomValues = (bytes) => bytes.fill(127); }")
    page.get_by_role("button", name=GIVE).click()
    page.get_by_role("alert").get_by_text("Please give").wait_for()
    if name == "a list":
        options = page.get_by_role("combobox").locator("option").all_inner_texts()
        assert options[-2:] == [kind, "No answer"]
        page.get_by_role("combobox").select_option("No answer")
    elif kind != "typed":
        names = page.get_by_role("group", name="Ja?").locator("label").all_inner_texts()
        assert [text.strip() for text in names[-2:]] == [kind, "No answer"]
        page.get_by_label("No answer", exact=True).check()
    else:
        page.get_by_text("or tick “No answer”").first.wait_for()
        page.get_by_label("No answer", exact=True).check()
    page.get_by_role("button", name=GIVE).click()
    page.get_by_role("heading", name="This will be sent:").wait_for()
    report = json.loads(page.locator("#report").text_content())
    assert (report["output"], report["id"]) == (one.size - 1, "7f" * 16)
    assert page.locator("#words b").all_inner_texts() == ["no answer"]
    assert page.complaints == []


def test_a_page_that_was_told_to_takes_a_large_epsilon(browser, tmp_path):
    """The ceiling of the client is that of the page, of the form and of the demo."""
    found = Mechanism.of(
        st.published.randomised_response(2, 12.0), st.histogram(st.labels("ja", "nein")), 12.0
    )
    with forms(browser, tmp_path / "form") as opened:
        assert drawn(opened(found.accepting(12)))["mechanism"] == found.identifier[:16]
    folder = write_web_client(tmp_path / "demo", found.accepting(12.0), demo=True)
    with page_of(browser, folder) as page:
        page.get_by_text("was read and checked").wait_for()
