"""The server's answers: what is taken and what is refused, who sees the results, what every answer carries."""

import asyncio
import json
import logging
import re
from base64 import b64encode
from contextlib import contextmanager

import numpy as np
import pytest

from mechanisms import mechanism
from memos import PERMANENT, memoised
from posting import report
from tools import need_package

need_package("starlette")
need_package("httpx")
import httpx  # noqa: E402

from stratagem.cli.serve import intake  # noqa: E402
from stratagem.cli.serve import results as results_module  # noqa: E402
from stratagem.cli.serve.intake import WAITING, Allowance, Intake  # noqa: E402
from stratagem.cli.serve.results import Results  # noqa: E402
from stratagem.cli.serve.server import application  # noqa: E402
from stratagem.collection.collection import Collection  # noqa: E402
from stratagem.mechanism.webpage import page_files  # noqa: E402

TOKEN = "a-token-of-this-test"
FOUND = mechanism("labels")
LINES = "application/x-ndjson"


class Client:
    """Requests to an application in this process, one after the other on one loop."""

    def __init__(self, app):
        self._runner = asyncio.Runner()
        transport = httpx.ASGITransport(app=app)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://here")

    def request(self, method, path, **options):
        return self._runner.run(self._client.request(method, path, **options))

    def get(self, path, **options):
        return self.request("GET", path, **options)

    def post(self, path, **options):
        return self.request("POST", path, **options)

    def options(self, path, **options):
        return self.request("OPTIONS", path, **options)

    def close(self):
        self._runner.run(self._client.aclose())
        self._runner.close()


@contextmanager
def served(path, *, found=FOUND, rate=1e6, origins=(), users=None, question="<Ja?> ü"):
    """Yield a client of an application on a new collection, and its intake."""
    with found.collection(path / "s.duckdb") as collection:
        intake = Intake(collection, rate)
        results = Results(found, intake, question=question, users=users)
        app = application(page_files(found, "Ja?", "reports"), intake, results, TOKEN, origins)
        client = Client(app)
        yield client, intake
        client.close()
        intake.close()
        results.close()


@pytest.fixture
def client(tmp_path):
    with served(tmp_path) as (found, _):
        yield found


def counts(client):
    answer = client.get("/results.json", headers={"authorization": f"Bearer {TOKEN}"})
    return answer.json()


GOOD = report(FOUND, 1)
SINGLE = {
    "good": (json.dumps(GOOD), "application/json", 200),
    "spelt with blanks": (json.dumps(GOOD, indent=2), "Application/JSON; charset=utf-8", 200),
    "another mechanism": (json.dumps(GOOD | {"mechanism": "0" * 16}), "application/json", 400),
    "an output too large": (json.dumps(GOOD | {"output": 3}), "application/json", 400),
    "an output of text": (json.dumps(GOOD | {"output": "1"}), "application/json", 400),
    "an id in capitals": (json.dumps(GOOD | {"id": "A" * 32}), "application/json", 400),
    "one key more": (json.dumps(GOOD | {"name": "me"}), "application/json", 400),
    "a key twice": ('{"output": 1, ' + json.dumps(GOOD)[1:], "application/json", 400),
    "a list": (json.dumps([GOOD]), "application/json", 400),
    "two lines": (f"{json.dumps(GOOD)}\n{json.dumps(GOOD)}", "application/json", 400),
    "no JSON": ("{", "application/json", 400),
    "nothing": ("", "application/json", 400),
    "no UTF-8": (b"\xff\xfe{}", "application/json", 400),
    "deeply nested": ("[" * 4000, "application/json", 400),
    "too large": (json.dumps(GOOD) + " " * 5000, "application/json", 413),
    "a form": ("a=b", "application/x-www-form-urlencoded", 415),
    "text": (json.dumps(GOOD), "text/plain", 415),
    "no type": (json.dumps(GOOD), "", 415),
}


@pytest.mark.parametrize("case", SINGLE)
def test_one_report_is_taken_or_refused_in_a_sentence(case, client):
    body, kind, status = SINGLE[case]
    answer = client.post("/reports", content=body, headers={"content-type": kind})
    assert answer.status_code == status, answer.text
    data = answer.json()
    assert ("error" in data) == (status != 200)
    assert data.get("received", 0) == (status == 200)
    assert counts(client)["reports"] == (status == 200)


def test_an_id_is_taken_once_and_the_same_report_again_is_acknowledged(client):
    assert client.post("/reports", json=GOOD).json() == {"received": 1, "repeated": 0, "refused": {}}
    again = client.post("/reports", json=GOOD)
    assert (again.status_code, again.json()["repeated"]) == (200, 1)
    other = client.post("/reports", json=GOOD | {"output": 2})
    assert other.status_code == 409
    assert "the first report counts" in other.json()["error"]
    found = counts(client)
    assert (found["reports"], found["refused"]) == (1, {"id taken before": 1})


def test_json_lines_are_counted_line_by_line(client):
    good = [report(FOUND, k % 3) for k in range(50)]
    lines = [
        *map(json.dumps, good),
        "",
        json.dumps(good[0]),
        json.dumps(good[0] | {"output": 2}),
        "x",
        "x" * 999,
    ]
    body = "\ufeff" + "\r\n".join(lines)
    answer = client.post("/reports", content=body.encode(), headers={"content-type": LINES})
    assert answer.status_code == 400
    expected = {"not a JSON object": 1, "line too long": 1, "id taken before": 1}
    found = answer.json()
    assert (found["received"], found["repeated"], found["refused"]) == (50, 1, expected)
    assert counts(client)["reports"] == 50
    empty = client.post("/reports", content=b"", headers={"content-type": LINES})
    assert (empty.status_code, empty.json()["received"]) == (200, 0)
    large = client.post("/reports", content=b"\n" * (1 << 20) + b"\n", headers={"content-type": LINES})
    assert large.status_code == 413


@pytest.mark.parametrize(
    ("kind", "size", "status"),
    [
        ("application/json", 512, 200),
        ("application/json", 513, 400),
        ("application/json", 4_001, 400),
        ("application/json", 4_096, 400),
        ("application/json", 4_097, 413),
        (LINES, 1 << 20, 400),
        (LINES, (1 << 20) + 1, 413),
    ],
)
def test_a_body_and_a_line_have_the_limits_of_the_guide(kind, size, status, client):
    """One report of so many bytes."""
    body = json.dumps(report(FOUND))
    answer = client.post("/reports", content=body.ljust(size), headers={"content-type": kind})
    assert answer.status_code == status
    assert answer.json().get("refused", {}) == ({"line too long": 1} if status == 400 else {})


def test_the_rate_counts_reports_whatever_becomes_of_them(tmp_path):
    """JSON lines that are empty take nothing of it in the end."""
    with served(tmp_path) as (client, intake):
        lines = [
            json.dumps(report(FOUND)),
            "x",
            json.dumps(report(FOUND)),
            json.dumps(GOOD),
            json.dumps(GOOD),
        ]
        for body, expected in (("\n".join(lines), 5), ("", 0)):
            spent = []
            intake.allowance.spend = spent.append
            client.post("/reports", content=body, headers={"content-type": LINES})
            assert (sum(spent), spent[0]) == (expected, 1)


def test_a_large_body_is_refused_whether_or_not_it_says_so(client):
    async def parts():
        for _ in range(100):
            yield b" " * 1000

    answer = client.post("/reports", content=parts(), headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert answer.headers["connection"] == "close"


@pytest.mark.parametrize("stated", ["-1", "1e3", "9" * 40, "٣"])
def test_a_length_that_is_none_is_refused(stated, client):
    headers = [(b"content-type", b"application/json"), (b"content-length", stated.encode())]
    assert client.post("/reports", content=b"{}", headers=headers).status_code in (400, 413)


def basic(name, secret):
    return f"Basic {b64encode(f'{name}:{secret}'.encode()).decode()}"


@pytest.mark.parametrize("path", ["/results", "/results.json"])
@pytest.mark.parametrize(
    ("given", "known"),
    [
        (f"Bearer {TOKEN}", True),
        (f"bearer {TOKEN}", True),
        (basic("me", TOKEN), True),
        (basic("", TOKEN), True),
        ("", False),
        (TOKEN, False),
        ("Bearer", False),
        (f"Bearer {TOKEN}x", False),
        (f"Bearer {TOKEN[:-1]}", False),
        (basic(TOKEN, ""), False),
        ("Basic ???", False),
        ("Basic YQ", False),
        ("Digest x", False),
    ],
)
def test_results_are_for_who_knows_the_token(path, given, known, client):
    answer = client.get(path, headers={"authorization": given})
    assert answer.status_code == (200 if known else 401)
    assert ("answers" in answer.text) == known or path == "/results"
    assert answer.headers["cache-control"] == "no-store"
    assert ("www-authenticate" in answer.headers) == (not known)
    assert client.get(f"{path}?token={TOKEN}").status_code == 401


def test_the_page_shows_how_many_came_and_the_estimates_of_the_mechanism(tmp_path, monkeypatch):
    monkeypatch.setattr(results_module, "EVERY", 0.0)
    with served(tmp_path, users=40) as (client, _):
        headers = {"authorization": f"Bearer {TOKEN}"}
        assert (
            "There are no estimates before the first report." in client.get("/results", headers=headers).text
        )
        body = "\n".join(json.dumps(report(FOUND, k % 3)) for k in range(30))
        client.post("/reports", content=body, headers={"content-type": LINES})
        page, data = client.get("/results", headers=headers).text, counts(client)
    expected = FOUND.estimate(np.array([10, 10, 10]))
    assert [one["answer"] for one in data["answers"]] == expected.answers.tolist()
    assert [one["low"] for one in data["answers"]] == expected.low.tolist()
    assert "of 40 people (75.0 %) have reported, if each sent one report." in page
    words = " ".join(page.split())
    told = "Each report reveals at most epsilon 1.5 about its sender’s answer: whoever thinks a guess of that answer"
    after = "50 % likely before seeing one report can think it at most 81.8 % likely afterwards."
    limits = "At 50 % they would have learnt nothing, at 100 % everything."
    assert f"{told} {after} {limits} Whoever sent several revealed more." in words
    assert "&lt;Ja?&gt; ü" in page
    assert f"{expected.answers[2]:,.1f}" in page
    assert "weiß nicht" in page


@pytest.mark.parametrize("asked", [None, 10, 2_000])
@pytest.mark.parametrize(("people", "usable"), [(1, False), (9, False), (900, True)])
def test_too_few_people_is_said_with_the_ways_out(people, usable, asked, tmp_path, monkeypatch):
    """The last case is the negative control of the others; the verdict is of those who came, whoever was asked."""
    monkeypatch.setattr(results_module, "EVERY", 0.0)
    with served(tmp_path, users=asked) as (client, _):
        body = "\n".join(json.dumps(report(FOUND, k % 3)) for k in range(people))
        client.post("/reports", content=body, headers={"content-type": LINES})
        page, data = client.get("/results", headers={"authorization": f"Bearer {TOKEN}"}).text, counts(client)
    assert data["usable"] == usable
    told = (
        data["ways"] and f"Too few reports yet to say anything: {people} of about {data['ways']['people']}.<"
    )
    assert data["ways"] is None if usable else told in page
    assert ("<td" in page) == ('class="track"' in page) == ("answers shown" in page) == usable
    assert max(map(float, re.findall(r"([\d.]+)\s?%", page))) <= 100
    later = re.findall(r"Once all ([\d,]+) people have reported, the answers (.*?)\.<", page)
    will = "can probably be used" if asked == 2_000 else "will probably not be usable either"
    assert later == ([] if usable or asked is None else [(f"{asked:,}", will)])


@pytest.mark.parametrize(("asked", "said"), [(29, True), (30, False), (31, False)])
def test_more_reports_than_people_are_no_share_of_them(asked, said, tmp_path, monkeypatch):
    monkeypatch.setattr(results_module, "EVERY", 0.0)
    with served(tmp_path, users=asked) as (client, _):
        body = "\n".join(json.dumps(report(FOUND, k % 3)) for k in range(30))
        client.post("/reports", content=body, headers={"content-type": LINES})
        page = client.get("/results", headers={"authorization": f"Bearer {TOKEN}"}).text
    words = " ".join(re.sub("<[^>]*>", "", page).split())
    more = (
        f"30 reports came, more than the {asked} people of --users {asked}: somebody may have answered more"
    )
    assert (more in words) == said
    assert (f"30 of {asked} people" in words) == (not said)


@pytest.mark.parametrize("found", [memoised("pairs"), FOUND])
def test_reports_of_a_memo_are_no_people(found, tmp_path, monkeypatch):
    """The second case is the negative control of the first: of it each person sends one report."""
    monkeypatch.setattr(results_module, "EVERY", 0.0)
    with served(tmp_path, found=found, users=40) as (client, _):
        body = "\n".join(json.dumps(report(found, k % 3)) for k in range(3))
        client.post("/reports", content=body, headers={"content-type": LINES})
        page = client.get("/results", headers={"authorization": f"Bearer {TOKEN}"}).text
    words = " ".join(page.split())
    said = (
        f"All reports of one person about one answer together reveal at most epsilon {PERMANENT:g}." in words
    )
    assert said == ("stratagem estimate --rounds" in words) == (found is not FOUND)
    assert ("of 40 people" in words) == (found is FOUND)


def test_many_looks_count_once(tmp_path, monkeypatch):
    with served(tmp_path) as (client, _):
        counted, tally = [], Collection.tally
        monkeypatch.setattr(Collection, "tally", lambda self: counted.append(1) or tally(self))
        for _ in range(5):
            counts(client)
            client.post("/reports", json=report(FOUND))
        assert len(counted) == 1


def test_the_form_and_its_files_are_served(client):
    page = client.get("/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert 'data-submit="reports"' in page.text
    for name, content in page_files(FOUND, "Ja?", "reports").items():
        answer = client.get(f"/{name}")
        assert answer.content == content
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["content-type"].startswith(("text/", "application/json"))
    assert client.get("/client.js").headers["content-type"].startswith("text/javascript")
    for path in ("/../pyproject.toml", "/s.duckdb", "/reports"):
        assert client.get(path).status_code in (404, 405)


def test_other_origins_may_send_only_where_they_are_named(tmp_path):
    asked = {"origin": "https://a.org", "access-control-request-method": "POST"}
    asked |= {"access-control-request-headers": "content-type"}
    with served(tmp_path) as (client, _):
        assert client.options("/reports", headers=asked).status_code == 405
        assert "access-control-allow-origin" not in client.post("/reports", json=GOOD, headers=asked).headers
    with served(tmp_path, origins=["https://a.org"]) as (client, _):
        assert (
            client.options("/reports", headers=asked).headers["access-control-allow-origin"]
            == asked["origin"]
        )
        assert client.options("/reports", headers=asked | {"origin": "https://b.org"}).status_code == 400
        spying = asked | {"access-control-request-headers": "authorization"}
        assert client.options("/results", headers=spying).status_code == 400


def test_more_reports_than_allowed_are_asked_to_come_again(tmp_path):
    with served(tmp_path, rate=5) as (client, _):
        statuses = [client.post("/reports", json=report(FOUND)).status_code for _ in range(15)]
        assert statuses[:10] == [200] * 10
        assert 429 in statuses
        assert client.post("/reports", json=report(FOUND)).headers["retry-after"] == "1"
        assert counts(client)["reports"] == statuses.count(200)


def test_the_allowance_fills_steadily_and_debts_are_paid_first():
    allowance, passed = Allowance(10.0), [0.0]
    allowance._clock = type("Clock", (), {"elapsed": property(lambda _: passed[0])})()
    assert allowance.left
    allowance.spend(40)
    assert not allowance.left
    passed[0] = 1.9
    assert not allowance.left
    passed[0] = 2.1
    assert allowance.left
    passed[0] = 1e6
    assert allowance.left
    allowance.spend(20)
    assert not allowance.left


def test_what_cannot_be_stored_is_not_acknowledged(tmp_path, monkeypatch, caplog):
    with served(tmp_path) as (client, intake):
        receive = intake.collection.receive
        intake.collection.receive = lambda *_: (_ for _ in ()).throw(ValueError("the disk is full"))
        with caplog.at_level(logging.ERROR):
            answer = client.post("/reports", json=GOOD)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert "the disk is full" in caplog.text
        assert client.get("/health").status_code == 503
        assert "the disk is full" in client.get("/results", headers={"authorization": f"Bearer {TOKEN}"}).text
        intake.collection.receive = receive
        assert client.post("/reports", json=GOOD).json()["received"] == 1
        assert client.get("/health").json() == {"status": "ok"}
        intake._size = WAITING + 1
        assert client.post("/reports", json=GOOD).status_code == 503


def test_a_slow_body_is_given_up(client, monkeypatch):
    async def slow():
        yield b"{"
        await asyncio.sleep(5)
        yield b"}"

    monkeypatch.setattr(intake, "SECONDS", 0.05)
    answer = client.post("/reports", content=slow(), headers={"content-type": "application/json"})
    assert answer.status_code == 408
    assert re.search("did not arrive", answer.json()["error"])
