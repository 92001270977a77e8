"""The form of a survey in a real Chromium: it asks what the part is about that was drawn, and nothing else."""

import json
from dataclasses import replace
from itertools import accumulate, pairwise

import pytest
from test_form_memory import DENIED

from forms import DECLINE, GIVE, REFUSE, SEND, assert_led_to, forms, send, start
from mechanisms import mechanism
from memos import survey_of
from reading import low_contrast
from stratagem.workloads.serial import over

FOUND = mechanism("german-survey")
ASKED = [
    {
        "Alter": ["18 to below 40 Jahre", "40 to below 65 Jahre", "65 to below 90 Jahre"],
        "Größe": ["übergroß", "mittel", "nö"],
    },
    {"Tür & Tor": ["auf", "zu"]},
    {"Größe": ["übergroß", "mittel", "nö"]},
]
"""The questions of each part, with their answers."""
TOLD = "Chance chose {} for you. Loading this page again does not change that."
FIRST = [0, *accumulate(one["share"] for one in FOUND.bundle["table"]["parts"])]
"""The first number below 2^32 that draws each part."""


def drawing(part):
    """Return a script with which the form draws this part; all other random numbers are real."""
    return f"""{{
      const real = crypto.getRandomValues.bind(crypto);
      crypto.getRandomValues = (bytes) => {{
        if (bytes.length !== 4) return real(bytes);
        new DataView(bytes.buffer, bytes.byteOffset).setUint32(0, {FIRST[part]});
        return bytes;
      }};
    }}"""


@pytest.fixture
def show(browser, tmp_path):
    with forms(browser, tmp_path / "web") as opened:
        yield lambda part=0, found=FOUND, **options: opened(
            found, "Wie wohnen Sie?", **{"script": drawing(part)} | options
        )


def asked(page):
    """Return the questions that are shown, with their answers."""
    groups = page.locator("#fields fieldset").all()
    return {
        group.locator("legend").inner_text(): [
            one.strip() for one in group.locator("label").all_inner_texts()
        ]
        for group in groups
    }


def drawn(page, *answers):
    """Give these answers, and return the report that is drawn."""
    for answer in answers:
        page.get_by_label(answer, exact=True).check()
    page.get_by_role("button", name=GIVE).click()
    page.get_by_role("heading", name="This will be sent:").wait_for()
    return json.loads(page.locator("#report").text_content())


def kept(page):
    return page.evaluate("JSON.stringify(Object.entries(localStorage))")


COUNTED = """{
  const real = crypto.getRandomValues.bind(crypto);
  globalThis.drawn = 0;
  crypto.getRandomValues = (bytes) => { globalThis.drawn += 1; return real(bytes); };
}"""


@pytest.mark.parametrize("found", [FOUND, survey_of("german")], ids=["once", "memo"])
def test_before_anything_is_drawn_people_are_asked_whether_they_take_part(found, show):
    page = show(found=found, script=COUNTED, started=False, viewport={"width": 360, "height": 640})
    first = " ".join(page.locator("main").inner_text().split())
    order = [
        "Wie wohnen Sie?",
        "You are asked some of these 3 questions, drawn at random: Alter Größe Tür & Tor",
        "So that nobody can be sure what you answered, chance decides part of what leaves this device.",
        "What chance adds evens out over many people, so their totals still come out right.",
        "You do not have to take part.",
        "Only this is sent: what chance made of your answer, which questions they were, the number of this survey,",
        "and a random number so that it counts once.",
        "Start",
        REFUSE,
    ]
    places = [first.find(one) for one in order]
    assert -1 not in places
    assert places == sorted(places)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert low_contrast(page) == []
    page.get_by_role("button", name=REFUSE).click()
    assert_led_to(page, "Nothing was sent.")
    told = page.locator("#done").inner_text().split("\n\n")[1]
    remembers = "This browser keeps that, so that you are not asked again: whoever uses it can see it."
    assert told == f"You do not take part. {remembers} You can close this page."
    assert page.evaluate("drawn") == 0
    assert "part" not in kept(page)
    assert page.evaluate("(name) => localStorage.getItem(name)", f"stratagem {found.identifier}") is None
    page.reload()
    page.get_by_role("heading", name="Nothing was sent.").wait_for()
    assert not page.locator("#start").is_visible()
    page.get_by_role("button", name="Back").click()
    start(page)
    page.locator("#fields fieldset").first.wait_for()
    assert page.evaluate("drawn") > 0
    assert (page.posted, page.complaints) == ([], [])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", range(3))
def test_only_the_questions_of_the_part_are_asked_and_the_report_says_which(part, show):
    page = show(part)
    assert asked(page) == ASKED[part]
    names = list(ASKED[part])
    some = "this question" if len(names) == 1 else f"these {len(names)} questions"
    assert page.locator("#chosen").inner_text() == TOLD.format(some)
    report = drawn(page, *(answers[-1] for answers in ASKED[part].values()))
    first, last = list(pairwise(FOUND.strategy.offsets))[part]
    assert first <= report["output"] < last
    stated = page.locator("#words p").first.inner_text()
    assert stated == f"It says which of the 3 questions it is about: {' and '.join(names)}."
    others = {name for one in ASKED for name in one} - set(names)
    shown = page.locator("main").inner_text()
    assert not [name for name in others if name in shown]
    assert page.posted == []
    send(page)
    assert_led_to(page, "Thank you, sent once.")
    assert page.posted == [report]
    page.reload()
    page.get_by_role("heading", name="Thank you, sent once.").wait_for()
    assert all(word not in kept(page) for word in (report["id"], "output", "part", *names))
    assert page.complaints == []


def test_how_often_a_report_holds_the_own_answer_is_said_of_the_part(show):
    """e/(1 + e) = 0.731 of two answers, and e/(2 + e) = 0.576 of three."""
    for part, people in ((1, "73"), (2, "58")):
        page = show(part)
        drawn(page, ASKED[part][next(iter(ASKED[part]))][0])
        said = f"Of 100 people, about {people} send something that holds their own answer"
        page.get_by_text(said).wait_for()


@pytest.mark.exhaustive
def test_a_reload_and_another_tab_draw_no_other_part(show):
    """Every further draw would be of another part, as the end shows."""
    page = show(1)
    page.add_init_script(drawing(2))
    other = page.context.new_page()
    other.add_init_script(drawing(2))
    other.goto(page.url)
    for one in (page, other):
        one.reload()
        start(one)
        one.locator("#fields fieldset").wait_for()
        assert asked(one) == ASKED[1]
    assert "part" in kept(page)
    report = drawn(page, "auf")
    assert '\\"part\\"' not in kept(page)
    page.reload()
    page.get_by_role("button", name=DECLINE).click()
    assert_led_to(page, "Nothing was sent.")
    page.reload()
    page.get_by_role("button", name="Show it again").click()
    assert json.loads(page.locator("#report").text_content()) == report
    page.evaluate("localStorage.clear()")
    page.reload()
    start(page)
    page.locator("#fields fieldset").wait_for()
    assert asked(page) == ASKED[2]


def test_a_tab_that_asks_another_part_turns_to_the_one_that_is_kept(show):
    """As after two tabs that opened at the same moment."""
    page = show(1)
    page.get_by_label("auf", exact=True).check()
    for name in page.evaluate("Object.keys(localStorage)"):
        page.evaluate(
            "(name) => localStorage.setItem(name, JSON.stringify({step: 'new', times: 0, part: 2}))", name
        )
    page.get_by_role("button", name=GIVE).click()
    page.get_by_label("mittel", exact=True).wait_for()
    assert asked(page) == ASKED[2]
    assert page.posted == []


@pytest.mark.sampled(3)
@pytest.mark.parametrize("part", ['"at"', "7", "-1", "1.5", "null", "[]"])
def test_a_part_that_is_none_is_drawn_anew(part, show):
    page = show(2)
    for name in page.evaluate("Object.keys(localStorage)"):
        text = f'{{"step":"new","times":0,"part":{part}}}'
        page.evaluate("([name, text]) => localStorage.setItem(name, text)", [name, text])
    page.reload()
    start(page)
    page.locator("#fields fieldset").wait_for()
    assert asked(page) == ASKED[2]
    assert page.complaints == []


def test_where_nothing_is_kept_nothing_is_promised(show):
    page = show(1, script=drawing(1) + DENIED)
    assert (
        page.locator("#chosen").inner_text()
        == "Chance chose this question for you. If you load this page again, "
        "another question may be asked."
    )
    report = drawn(page, "zu")
    send(page)
    assert_led_to(page, "Thank you, sent once.")
    assert page.posted == [report]


def test_a_preview_shows_another_part_at_every_look(show):
    page = show(0, submit="")
    page.add_init_script(drawing(1))
    assert page.locator("#chosen").inner_text().endswith("Load this page again to see others.")
    page.reload()
    start(page)
    page.locator("#fields fieldset").wait_for()
    assert asked(page) == ASKED[1]
    assert page.evaluate("localStorage.length") == 0


def test_the_keyboard_is_enough(show):
    page = show(0)
    for key in ("Space", "Tab", "ArrowDown", "Tab", "Enter"):
        page.keyboard.press(key)
    assert_led_to(page, "This will be sent:")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == SEND
    page.keyboard.press("Enter")
    assert_led_to(page, "Thank you, sent once.")
    assert len(page.posted) == 1


def test_what_is_missing_is_said_beside_its_question(show):
    page = show(0)
    page.get_by_label("nö", exact=True).check()
    page.get_by_role("button", name=GIVE).click()
    page.get_by_role("group", name="Alter").get_by_text("Alter: please give one of the answers.").wait_for()
    assert page.locator(".error:not(:empty), #error:not(:empty)").count() == 1
    assert page.evaluate("document.activeElement.closest('fieldset').textContent").startswith("Alter")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("part", [0, 1])
def test_it_can_be_read_by_day_and_night_on_a_narrow_screen(part, scheme, show):
    page = show(part, color_scheme=scheme, viewport={"width": 360, "height": 640})

    def readable():
        assert low_contrast(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= 360

    page.get_by_role("button", name=GIVE).click()
    readable()
    drawn(page, *(answers[0] for answers in ASKED[part].values()))
    page.locator("#experts summary").click()
    page.get_by_text("Alter and Größe (40 % of all devices); Tür & Tor (30 % of all devices)").wait_for()
    readable()


def test_questions_are_asked_in_the_words_of_who_asks(show):
    words = {"Größe": 'Wie "groß" <b>?', "Alter": "Wie alt?"}
    worded = [replace(one, question=words.get(one.name, "")) for one in FOUND.attributes]
    found = replace(FOUND, workload=over(FOUND.workload, worded))
    assert found.text == FOUND.text
    page = show(0, found=found)
    assert list(asked(page)) == ["Wie alt?", 'Wie "groß" <b>?']
    page.get_by_role("button", name=GIVE).click()
    told = page.get_by_role("group", name="Wie alt?").get_by_role("alert")
    assert told.inner_text() == "Please give one of the answers."
    drawn(page, "18 to below 40 Jahre", "nö")
    stated = page.locator("#words p").first.inner_text()
    assert stated.startswith(
        'It says which of the 3 questions it is about: “Wie alt?” and “Wie "groß" <b>?”.'
    )
    chips = page.locator("#words b").all_inner_texts()
    assert chips
    assert all(one.startswith(("“Wie alt?”: ", '“Wie "groß" <b>?”: ')) for one in chips)
    page.locator("#experts summary").click()
    page.get_by_text(
        '“Wie alt?” and “Wie "groß" <b>?” (40 % of all devices); Tür & Tor (30 % of all'
    ).wait_for()
    assert page.complaints == []


@pytest.mark.parametrize("worded", [True, False])
def test_an_answer_stands_alone_below_its_only_question(worded, show):
    """Without a question its name stays beside it."""
    attributes = [
        replace(one, question="Offen?" if worded and one.name == "Tür & Tor" else "")
        for one in FOUND.attributes
    ]
    page = show(1, found=replace(FOUND, workload=over(FOUND.workload, attributes)))
    drawn(page, "auf")
    (chip,) = page.locator("#words b").all_inner_texts()
    assert chip.removeprefix("" if worded else "Tür & Tor: ") in ("auf", "zu")
