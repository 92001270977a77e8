"""The demo page in a real Chromium: it asks, shows the report, and sends nothing."""

import contextlib
import json
import re

import jsonschema
import pytest

import stratagem as st
from browsing import page_of, served
from mechanisms import mechanism
from memos import memoised
from reading import low_contrast
from stratagem.mechanism.mechanism import Mechanism
from stratagem.mechanism.webpage import DEMO, MODULES, write_web_client

HTML = "<img src=x onerror=alert(1)>"
REPORT = "Make the report"


@pytest.fixture
def show(browser, tmp_path):
    """Return a function that opens the demo of a mechanism; what it requests and complains of is kept."""
    with contextlib.ExitStack() as stack:

        def opened(found, question="", **options):
            folder = write_web_client(tmp_path / "web", found, question, demo=True)
            return stack.enter_context(page_of(browser, folder, **options))

        yield opened


def regions():
    """A choice too long for buttons, one label of which tries to be a program."""
    labels = [HTML] + [f"Region {k}" for k in range(1, 9)]
    return Mechanism.of(st.published.randomised_response(9, 2.0), st.histogram(st.labels(*labels)), 2.0)


def answer_labels(page):
    page.get_by_label("nein").check()
    return 1


def fine_bins():
    """So many bins that a number is typed."""
    return Mechanism.of(st.published.randomised_response(65, 2.0), st.histogram(st.bins("-30:35:1")), 2.0)


def whole_bins():
    bins = st.bins("-30:35:1", whole=True)
    return Mechanism.of(st.published.randomised_response(65, 2.0), st.histogram(bins), 2.0)


def fine_numbers():
    return Mechanism.of(st.published.randomised_response(65, 2.0), st.histogram(65), 2.0)


def with_other():
    """Bins, the last value of which is whatever lies in none of them."""
    minutes = st.bins([-30, -25, 0], other=True, unit="minutes")
    return Mechanism.of(st.published.randomised_response(3, 2.0), st.histogram(minutes), 2.0)


BEYOND = "less than -30 minutes, or 0 minutes or more"


def answer_edges(page):
    page.get_by_label("0.5 to below 60", exact=True).check()
    return 2


def answer_other(page):
    page.get_by_label(BEYOND, exact=True).check()
    return 2


def answer_fine_bins(page):
    page.get_by_label("value").fill("-27.5")
    return 2


def answer_number(page):
    page.get_by_label("value").select_option("8")
    return 8


def answer_choice(page):
    page.get_by_label("value").select_option(HTML)
    return 0


def answer_both(page):
    page.get_by_label("18 to below 65", exact=True).check()
    page.get_by_label("m", exact=True).check()
    return 3


def answer_four_and_m(page):
    page.get_by_label("3", exact=True).check()
    page.get_by_label("m", exact=True).check()
    return 7


ANSWERS = {
    "labels": (lambda: mechanism("labels"), answer_labels),
    "edges": (lambda: mechanism("edges"), answer_edges),
    "other": (with_other, answer_other),
    "many bins": (fine_bins, answer_fine_bins),
    "numbers": (lambda: mechanism("hadamard"), answer_number),
    "a long choice": (regions, answer_choice),
    "several attributes": (lambda: mechanism("several-attributes"), answer_both),
    "translates": (lambda: mechanism("torus-window"), answer_four_and_m),
}


def made_report(page):
    """Press the button and return the report, once the page shows a new one."""
    from playwright.sync_api import expect

    shown = page.locator("#report")
    before = shown.text_content()
    page.get_by_role("button", name=REPORT).click()
    expect(shown).not_to_have_text(before)
    return json.loads(shown.inner_text())


def assert_refused(page, sentence):
    """Press the button and check that the page says this sentence and shows no report."""
    from playwright.sync_api import expect

    page.get_by_role("button", name=REPORT).click()
    expect(page.get_by_role("alert")).to_have_text(sentence)
    assert page.locator("#result").is_hidden()


def percent(chance):
    return f"{float(f'{100 * chance:.3g}'):g} %"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", ANSWERS)
def test_it_shows_the_report_and_sends_nothing(name, show):
    make, answer = ANSWERS[name]
    found = make()
    page = show(found)
    cell = answer(page)
    report = made_report(page)
    jsonschema.validate(report, found.bundle["report"])
    assert report["mechanism"] == found.identifier[:16]
    assert report["output"] < found.outputs
    Q = found.strategy.dense().matrix
    assert (
        f"with probability {percent(Q[report['output'], cell])}" in page.locator("#likelihood").inner_text()
    )
    assert page.locator("#bars li").count() == found.strategy.domain_size
    page.wait_for_timeout(200)
    modules = {module for module in MODULES if module.endswith(".js")}
    assert set(page.requests) == {"", *DEMO[1:], "bundle.ldp.json"} | modules
    assert len(page.requests) == len(set(page.requests))
    assert page.complaints == []
    assert page.evaluate("[document.cookie, localStorage.length, sessionStorage.length]") == ["", 0, 0]


def test_a_hundred_questions_are_asked_and_two_chances_shown(show):
    found = mechanism("hundred")
    page = show(found)
    page.get_by_role("group", name="a100", exact=True).wait_for()
    page.evaluate(
        "document.querySelectorAll('label:last-child > input').forEach((one) => (one.checked = true))"
    )
    report = made_report(page)
    assert report["output"] < found.outputs
    assert "1.2676506002282294e+30 possible answers" in page.locator("#facts").text_content()
    assert "every other answer with" in page.locator("#likelihood").inner_text()
    assert page.locator("#bars").is_hidden()
    assert page.complaints == []


def test_a_request_would_be_seen_and_none_reaches_another_place(show, tmp_path):
    """The negative control of the test above; the page's own policy stops everything that is not its folder."""
    page = show(mechanism("labels"))
    before = len(page.requests)
    page.evaluate("fetch('client.js?answer=nein')")
    assert page.requests[before:] == ["client.js?answer=nein"]
    with served(tmp_path) as other:
        failed = page.evaluate(f"fetch('{other}').then(() => 'sent', (error) => error.name)")
        assert failed == "TypeError"
    assert any("Content Security Policy" in complaint for complaint in page.complaints)


@pytest.mark.parametrize(
    ("make", "chosen", "own", "others"),
    [
        (
            lambda: mechanism("unit"),
            ["0.5 to below 60 minutes"],
            "0.5 to below 60 minutes",
            ["-30 to below 0 minutes", "60 to below 1000000 minutes"],
        ),
        (lambda: mechanism("labels"), ["nein"], "nein", ["weiß nicht ☂"]),
        (
            lambda: mechanism("several-attributes"),
            ["18 to below 65", "m"],
            "18 to below 65, m",
            ["65 to below 130, f"],
        ),
        (with_other, ["-30 to below -25 minutes"], "-30 to below -25 minutes", [BEYOND]),
    ],
)
def test_answers_are_offered_and_shown_by_their_labels_bins_and_units(make, chosen, own, others, show):
    page = show(make())
    for label in chosen:
        page.get_by_label(label, exact=True).check()
    assert "whole number" not in page.locator("#question").inner_text()
    made_report(page)
    assert page.locator("#likelihood").inner_text().startswith(f"Your answer ({own}) makes")
    rows = [bar.locator("span").all_inner_texts() for bar in page.locator("#bars li").all()]
    assert len(rows) == make().domain.size
    assert {own, *others} <= {row[0] for row in rows}
    assert all(re.fullmatch(r"[0-9.]+ %", row[-1]) for row in rows)
    assert page.locator("[title]").count() == 0
    assert page.complaints == []


@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (fine_bins, "a number from -30 to below 35"),
        (whole_bins, "a whole number from -30 to 34"),
        (fine_numbers, "a whole number from 0 to 64"),
    ],
)
def test_of_many_answers_one_is_typed(make, hint, show):
    page = show(make())
    assert page.locator(".hint").inner_text() == hint


def test_the_question_is_asked_in_the_words_given(show):
    question = f"How late was your flight, in minutes? {HTML}"
    page = show(mechanism("unit"), question)
    page.locator("#question").wait_for()
    assert page.locator("#question-title").inner_text() == question
    assert page.locator("h2 img").count() == 0
    assert page.complaints == []


def test_every_report_is_new(show):
    page = show(mechanism("labels"))
    answer_labels(page)
    assert len({made_report(page)["id"] for _ in range(5)}) == 5


def test_the_keyboard_is_enough(show):
    page = show(mechanism("several-attributes"))
    page.wait_for_selector("#question:not([hidden])")
    order = []
    for _ in range(20):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.type || document.activeElement.localName"))
        if order[-1] == "radio":
            page.keyboard.press("Space")
        if order[-1] == "submit":
            break
    assert order == ["summary", "file", "radio", "radio", "submit"]
    page.keyboard.press("Enter")
    page.locator("#result").wait_for()
    assert json.loads(page.locator("#report").inner_text())["output"] >= 0
    assert page.evaluate("document.activeElement.id") == "result-title"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("make", "typed", "sentence"),
    [
        (fine_bins, "35", 'value is "35" (35 or above), but must be a number from -30 to below 35'),
        (fine_bins, "-30.5", 'value is "-30.5" (below -30), but must be a number from -30 to below 35'),
        (
            whole_bins,
            "1.5",
            'value is "1.5" (not a whole number), but must be a whole number from -30 to 34',
        ),
        (fine_bins, "", "Please answer value."),
        (fine_numbers, "65", 'value is "65" (above 64), but must be a whole number from 0 to 64'),
        (fine_numbers, "1.5", 'value is "1.5" (not a whole number), but must be a whole number from 0 to 64'),
        (fine_numbers, "-1", 'value is "-1" (below 0), but must be a whole number from 0 to 64'),
    ],
)
def test_an_answer_outside_the_domain_makes_no_report(make, typed, sentence, show):
    page = show(make())
    page.get_by_label("value").fill("1")
    made_report(page)
    page.get_by_label("value").fill(typed)
    assert_refused(page, sentence)
    assert page.get_by_label("value").get_attribute("aria-invalid") == "true"
    assert page.evaluate("document.activeElement.id") == "answer-0"


def test_what_is_not_answered_is_asked_for(show):
    page = show(mechanism("several-attributes"))
    page.get_by_label("18 to below 65", exact=True).check()
    assert_refused(page, "Please answer sex.")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("epsilon", "times"), [(0.01, "1.02"), (1.0, "2.72"), (1.5, "4.49"), (5.0, "149")])
def test_epsilon_is_said_in_words(epsilon, times, show):
    """The ratio is rounded up: exp(0.01) = 1.01005, exp(5) = 148.41."""
    page = show(Mechanism.of(st.published.randomised_response(3, epsilon), st.histogram(3), epsilon))
    words = f"Any report is at most {times} times as likely for one answer as for any other (epsilon = {epsilon:g})."
    page.get_by_text(words).wait_for()


def test_the_page_of_a_memo_states_epsilon_of_all_reports_and_of_one(show, tmp_path):
    """exp(2) = 7.389, exp(0.5) = 1.649; a bundle for single reports takes the place of the sentences."""
    page = show(memoised("pairs"))
    words = (
        "All reports about one answer together are at most 7.39 times as likely for that answer as for any other "
        "(epsilon = 2), however many you make; one report alone is at most 1.65 times as likely (epsilon = 0.5)."
    )
    page.get_by_text(words).wait_for()
    page.locator("summary").click()
    assert "is within e to the power 2" in page.locator("#facts").inner_text()
    page.get_by_label("2", exact=True).check()
    output = made_report(page)["output"]
    chance = percent(
        memoised("pairs").strategy.dense().matrix[output, 2]
    )  # now that it is drawn it is another
    words = f"Before permanent reports are drawn, your answer (2) makes this very output with probability {chance}"
    assert page.locator("#likelihood").inner_text().startswith(words)
    assert page.locator("#kept").is_visible()
    assert page.locator("#once").is_hidden()
    page.locator("#file").set_input_files(mechanism("labels").save(tmp_path / "once.ldp.json"))
    page.get_by_text("Any report is at most").wait_for()
    answer_labels(page)
    made_report(page)
    assert page.locator("#likelihood").inner_text().startswith("Your answer (")
    assert page.locator("#once").is_visible()
    assert page.locator("#kept").is_hidden()
    assert page.complaints == []


MANY_REPORTS = """
    Array.from({ length: 400 }, () => {
      document.getElementById("form").requestSubmit();
      return JSON.parse(document.getElementById("report").textContent).output;
    })
"""


def test_the_page_keeps_the_memo_and_repeats_its_permanent_report(show):
    """False alarms: below 1e-9; of 400 reports 174 are output 5 on the average, and 50 would be without the memo."""
    found = memoised("pairs")
    page, name = show(found), f"stratagem {found.identifier}"
    page.get_by_label("2", exact=True).check()
    made_report(page)
    kept = page.evaluate("Object.entries(localStorage)")
    assert [key for key, _ in kept] == [name]
    assert re.fullmatch(r"[0-9]( [0-9]){3}\n", kept[0][1])
    page.reload()
    page.get_by_label("2", exact=True).check()
    page.evaluate(MANY_REPORTS)
    assert page.evaluate("Object.entries(localStorage)") == kept
    page.evaluate("([name, text]) => localStorage.setItem(name, text)", [name, "0 0 5 0\n"])
    page.reload()
    page.get_by_label("2", exact=True).check()
    assert page.evaluate(MANY_REPORTS).count(5) > 110
    page.get_by_label("1", exact=True).check()
    assert page.evaluate(MANY_REPORTS).count(5) < 110
    assert page.complaints == []


DENIED = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError') } })"
FULL = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }"
FORGETTING = "Storage.prototype.setItem = () => {}"
DAMAGED = "Storage.prototype.getItem = () => '1 2 3 4'"


def test_without_storage_the_page_of_a_memo_asks_nothing(show):
    page = show(memoised("pairs"), script=DENIED)
    page.get_by_text("made for repeated reports, but this page has no storage: let it store data").wait_for()
    assert page.locator("#question").is_hidden()


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (FULL, 'the memo cannot be kept ("QuotaExceededError"): let this page store data'),
        (FORGETTING, 'the memo cannot be kept ("nothing was stored"): let this page store data'),
        (DAMAGED, "the memo is damaged: put back a copy, as a new one spends the budget again"),
    ],
)
def test_a_memo_that_is_not_kept_makes_no_report(script, words, show):
    page = show(memoised("pairs"), script=script)
    page.get_by_label("2", exact=True).check()
    page.get_by_role("button", name=REPORT).click()
    page.get_by_text(words).wait_for()
    assert page.locator("#result").is_hidden()
    assert page.complaints == []


def test_a_bundle_that_does_not_hold_asks_nothing_and_another_can_be_chosen(show, tmp_path):
    page = show(mechanism("labels"))
    broken, good = tmp_path / "broken.ldp.json", mechanism("edges").save(tmp_path / "edges.ldp.json")
    broken.write_bytes(mechanism("labels").text.replace(b"nein", b"Nein"))
    page.locator("#file").set_input_files(broken)
    page.get_by_text("the mechanism file was changed after it was written").wait_for()
    assert page.locator("#question").is_hidden()
    page.locator("#file").set_input_files(good)
    page.get_by_text("edges.ldp.json was read and checked.").wait_for()
    answer_edges(page)
    report = made_report(page)
    assert report["mechanism"] == mechanism("edges").identifier[:16]


def test_a_page_without_a_bundle_says_so(show, tmp_path):
    page = show(mechanism("labels"))
    (tmp_path / "web" / "bundle.ldp.json").unlink()
    page.reload()
    page.get_by_text(re.compile(r"bundle\.ldp\.json cannot be read \(404\)")).wait_for()
    assert page.locator("#question").is_hidden()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_it_can_be_read_by_day_and_night_on_narrow_and_wide_screens(scheme, width, show):
    """WCAG 2.2 AA: contrast of at least 4.5, no sideways scrolling at 320 pixels."""
    page = show(
        mechanism("several-attributes"), color_scheme=scheme, viewport={"width": width, "height": 640}
    )
    assert_refused(page, "Please answer age.")
    assert low_contrast(page) == []
    answer_both(page)
    page.locator("summary").click()
    made_report(page)
    assert low_contrast(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_opened_from_a_disk_the_demo_says_what_to_do(browser, tmp_path):
    """A page from a file may not load modules; one from a server is the negative control."""
    folder = write_web_client(tmp_path / "web", mechanism("labels"), demo=True)
    page = browser.new_page()
    page.goto((folder / "index.html").as_uri())
    page.get_by_text("put the whole folder on one with https").wait_for()
    assert not page.locator("#file").is_visible()
    assert "Loading" not in page.locator("body").inner_text()
    page.close()
    with page_of(browser, folder) as started:
        started.get_by_text("bundle.ldp.json was read and checked.").wait_for()
        assert not started.locator("#stuck").is_visible()
        assert started.locator("#file").is_visible()


def test_on_a_phone_every_bar_is_seen_and_everything_to_press_is_as_high_as_a_finger(show):
    bins = Mechanism.of(st.published.randomised_response(20, 2.0), st.histogram(st.bins("0:20:1")), 2.0)
    page = show(bins, viewport={"width": 360, "height": 740})
    page.locator("#fields select").select_option(index=4)
    page.get_by_role("button", name=REPORT).click()
    page.locator("#bars li").first.wait_for()
    assert page.locator("#bars").evaluate("(one) => one.scrollHeight <= one.clientHeight + 1")
    for name in ("#file", "#checked summary", "form button"):
        assert page.locator(name).bounding_box()["height"] >= 44, name
