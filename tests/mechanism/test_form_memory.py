"""The form in a real Chromium: what a device remembers of a survey, and what it says where it remembers nothing."""

import json
import re

import pytest

from browsing import page_of
from forms import ADDRESS, DECLINE, GIVE, SEND, assert_led_to, drawn, forms, send, start
from mechanisms import mechanism
from memos import memoised
from stratagem.mechanism.webpage import write_web_client

FORGETTING = "Storage.prototype.setItem = () => {}"
DENIED = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError') } })"
FULL = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') }"


@pytest.fixture
def show(browser, tmp_path):
    with forms(browser, tmp_path / "web") as opened:
        yield opened


def test_what_was_drawn_is_not_drawn_again_and_the_answer_is_not_kept(show):
    page = show(mechanism("labels"))
    report = drawn(page)
    kept = page.evaluate("JSON.stringify(Object.entries(localStorage))")
    assert page.locator(":checked").count() == 0
    assert "never which answer you gave" in page.locator("#facts").text_content()
    assert report["id"] in kept
    assert "nein" not in kept
    for again in range(2):
        page.reload()
        page.get_by_role("heading", name="This will be sent:").wait_for()
        assert json.loads(page.locator("#report").text_content()) == report
        assert not page.locator("#ask").is_visible()
        if again == 0:
            page.get_by_role("button", name=DECLINE).click()
            assert_led_to(page, "Nothing was sent.")
            stays = "This device keeps what was drawn for you, and draws nothing new."
            assert stays in page.locator("#done").inner_text()
            page.reload()
            page.get_by_role("button", name="Show it again").click()
    assert page.posted == []


def ask_otherwise(page, question):
    """Let the page be served with another question."""

    def answer(route):
        body = re.sub('(?<=dir="auto">)[^<]*(?=</h1>)', question, route.fetch().text())
        route.fulfill(body=body, content_type="text/html")

    page.route(page.url, answer)


def test_another_question_is_another_survey(show):
    """The same file at the same address; what was sent to either stays known."""
    page = show(mechanism("labels"), "Tee?")
    first = drawn(page)
    send(page)
    assert_led_to(page, "Thank you, sent once.")
    ask_otherwise(page, "Milch?")
    page.reload()
    start(page)
    page.get_by_role("group", name="Milch?").wait_for()
    second = drawn(page)
    send(page)
    assert_led_to(page, "Thank you, sent once.")
    assert page.posted == [first, second]
    for _ in range(2):
        page.reload()
        page.get_by_role("heading", name="Thank you, sent once.").wait_for()
        page.unroute(page.url)


def test_under_another_question_a_memo_is_the_same(show):
    found = memoised("pairs")
    page = show(found, "Tee?")
    memos = []
    for question in ("Tee?", "Milch?"):
        ask_otherwise(page, question)
        page.reload()
        drawn(page, "2")
        memos.append(page.evaluate("(name) => localStorage.getItem(name)", f"stratagem {found.identifier}"))
    assert memos[0] == memos[1] is not None


def test_who_shares_a_device_is_told_what_to_do(show):
    page = show(mechanism("labels"))
    hint = page.get_by_text(
        "If somebody else answered here and you have not, open this page in another browser to give your own"
    )
    assert not hint.is_visible()
    drawn(page)
    assert not hint.is_visible(), "the report on the screen is one's own"
    page.reload()
    hint.wait_for()
    send(page)
    assert_led_to(page, "Thank you, sent once.")
    assert hint.is_visible()


def test_who_refuses_is_not_told_how_to_draw_again(show):
    page = show(mechanism("labels"))
    drawn(page)
    page.reload()
    page.get_by_role("button", name=DECLINE).click()
    assert_led_to(page, "Nothing was sent.")
    shown = page.locator("main").inner_text()
    assert "another browser" not in shown
    assert "private window" not in page.locator("main").text_content()


def test_who_refuses_at_the_start_is_not_asked_again_and_may_change_their_mind(show):
    page = show(mechanism("labels"), started=False)
    refused = "This browser keeps that, so that you are not asked again: whoever uses it can see it."
    page.get_by_role("button", name="I do not want to take part").click()
    assert_led_to(page, "Nothing was sent.")
    for _ in range(2):
        assert (
            f"You do not take part. {refused} You can close this page." in page.locator("#done").inner_text()
        )
        assert not page.locator("#start").is_visible()
        assert not page.locator("#shared").is_visible()
        page.reload()
        page.get_by_role("heading", name="Nothing was sent.").wait_for()
    assert "or that you refused" in page.locator("#facts").text_content()
    page.get_by_role("button", name="Back").click()
    report = drawn(page)
    send(page)
    assert_led_to(page, "Thank you, sent once.")
    assert page.posted == [report]


def test_a_refusal_in_a_tab_that_was_not_told_undoes_no_answer(show):
    page = show(mechanism("labels"), script="window.addEventListener = () => {}", started=False)
    other = page.context.new_page()
    other.add_init_script("window.addEventListener = () => {}")
    other.goto(page.url)
    other.get_by_role("button", name="I do not want to take part").wait_for()
    drawn(page)
    send(page)
    assert_led_to(page, "Thank you, sent once.")
    other.get_by_role("button", name="I do not want to take part").click()
    assert_led_to(other, "Thank you, sent once.")


def test_a_browser_that_keeps_nothing_promises_no_memory_of_a_refusal(show):
    page = show(mechanism("labels"), script="Storage.prototype.setItem = () => {}", started=False)
    page.get_by_role("button", name="I do not want to take part").click()
    assert_led_to(page, "Nothing was sent.")
    assert "keeps" not in page.locator("#done").inner_text()
    assert not page.locator("#forgetful").is_visible()


def test_another_tab_shows_the_same(show):
    page = show(mechanism("labels"))
    other = page.context.new_page()
    other.goto(page.url)
    report = drawn(page)
    other.get_by_role("heading", name="This will be sent:").wait_for()
    assert json.loads(other.locator("#report").text_content()) == report
    send(page)
    other.get_by_role("heading", name="Thank you, sent once.").wait_for()


def test_a_tab_that_was_not_told_draws_and_sends_no_second_report(show):
    """Tabs that sleep hear nothing of each other."""
    page = show(mechanism("labels"), script="window.addEventListener = () => {}")
    other = page.context.new_page()
    other.add_init_script("window.addEventListener = () => {}")
    other.goto(page.url)
    start(other)
    other.get_by_label("ja", exact=True).check()
    report = drawn(page)
    other.get_by_role("button", name=GIVE).click()
    other.get_by_role("heading", name="This will be sent:").wait_for()
    assert json.loads(other.locator("#report").text_content()) == report
    send(page)
    assert_led_to(page, "Thank you, sent once.")
    send(other)
    assert_led_to(other, "Thank you, sent once.")
    assert page.posted == [report]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("answer", "words", "tried"),
    [
        ((0, None), "what you sent may have arrived or not", True),
        ((504, {}), "what you sent may have arrived or not", True),
        ((200, {}), "what you sent may have arrived or not", True),
        (
            (429, {"error": "more"}),
            "The survey is busy and has not taken what you sent. Wait a minute.",
            False,
        ),
        (
            (503, {"error": "more"}),
            "The survey is busy and has not taken what you sent. Wait a minute.",
            False,
        ),
        ((400, {"error": "no report"}), "people who run the survey (status 400: no report).", False),
    ],
)
def test_a_report_that_is_not_acknowledged_is_sent_again_with_its_id(answer, words, tried, show):
    page = show(mechanism("labels"), answer=answer)
    report = drawn(page)
    send(page)
    page.get_by_role("alert").get_by_text(words).wait_for()
    page.reload()
    page.get_by_role("button", name=DECLINE).click()
    assert_led_to(page, "Nothing more is sent." if tried else "Nothing was sent.")
    page.get_by_role("button", name="Show it again").click()
    page.answers = (200, {"received": 0, "repeated": 1})
    page.get_by_role("button", name="Send again" if tried else SEND, exact=True).click()
    page.get_by_role("heading", name="Thank you, sent once.").wait_for()
    assert page.posted == [report, report]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("script", [DENIED, FULL, FORGETTING])
def test_a_browser_that_keeps_nothing_is_said_to(script, show):
    page = show(mechanism("labels"), script=script)
    page.get_by_text(
        "A second answer would tell others more about your answer, so please answer only once"
    ).wait_for()
    promises = (
        "drawn once",
        "draws nothing new",
        "remembers",
        "You can close this page",
        "this device before you",
    )

    def promised():
        return [one for one in promises if one in page.locator("main").inner_text()]

    assert promised() == []
    report = drawn(page)
    page.get_by_role("button", name=DECLINE).click()
    page.get_by_text(
        "show it again before you close this page or load it again: afterwards it is lost"
    ).wait_for()
    assert promised() == []
    page.get_by_role("button", name="Show it again").click()
    assert json.loads(page.locator("#report").text_content()) == report
    assert page.locator("dt:text('Kept here') + dd").text_content() == "nothing"
    send(page)
    assert_led_to(page, "Thank you, sent once.")
    assert promised() == []
    page.reload()
    start(page)
    page.get_by_text("please answer only once").wait_for()
    assert page.locator("#ask").is_visible()
    assert page.complaints == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kept", ["", "1", "{", '{"step":"drawn","times":0}', '{"step":"sent","times":"x"}'])
def test_what_is_not_ours_in_the_storage_is_not_taken_for_a_report(kept, show):
    script = "for (const name of Object.keys(localStorage)) if (name.startsWith('stratagem form'))"
    page = show(mechanism("labels"))
    page.evaluate(f"(kept) => {{ {script} localStorage.setItem(name, kept) }}", kept)
    page.reload()
    drawn(page)
    assert page.complaints == []


def test_the_page_of_a_memo_keeps_it_and_states_the_epsilon_of_all_reports(show):
    """Epsilon 2 for all, e^2/(1 + e^2) = 0.88080, of two values 0.98201, of three 0.99753; epsilon 0.5 for one."""
    found = memoised("pairs")
    page = show(found)
    page.get_by_text("This browser keeps what is drawn once for every possible answer").wait_for()
    page.get_by_text(
        "It may be the same as before. You cannot change this answer after this step."
    ).wait_for()
    for times in ("one answer", "2 answers"):
        drawn(page, "2")
        memo = page.evaluate("(name) => localStorage.getItem(name)", f"stratagem {found.identifier}")
        learn = page.locator("#learn").inner_text()
        seen = "everything that you send about this answer, however often,"
        assert f"50 % likely before seeing {seen} can think it at most 88.1 % likely afterwards." in learn
        assert "with two different answers in turn the 88.1 % become 98.3 %, with three 99.76 %." in learn
        send(page)
        page.get_by_text(
            f"This device has sent {times} to this survey. This page does not remind you"
        ).wait_for()
        page.reload()
        page.get_by_text(f"This device has sent {times} to this survey.").wait_for()
        assert page.evaluate("(name) => localStorage.getItem(name)", f"stratagem {found.identifier}") == memo
        page.get_by_role("button", name="Answer again").click()
    page.locator("#experts summary").click()
    page.get_by_text("0.5 for one alone; 4 about two different answers, m times 2 about m").wait_for()
    assert len({report["id"] for report in page.posted}) == 2
    shared = page.locator("#shared").inner_text()
    assert "private window" not in shared  # it would lose the memo
    assert "Always answer in the same browser" in shared
    assert "nswer only once" not in page.locator("body").inner_text()  # it asks to answer again
    assert page.complaints == []


@pytest.mark.parametrize("script", [DENIED, FULL, FORGETTING])
def test_without_storage_the_form_of_a_memo_asks_nothing(script, browser, tmp_path):
    folder = write_web_client(tmp_path, memoised("pairs"), submit=ADDRESS)
    with page_of(browser, folder, script=script) as page:
        page.get_by_text("This form cannot be used here, and nothing was sent.").wait_for()
        page.get_by_text("Let the browser store data for this page, or use another browser.").wait_for()
        assert "memo" not in page.locator("main").inner_text()
        assert not page.locator("#ask").is_visible()
