"""The folder of the web client: complete, written again where it is ours, nothing of others overwritten."""

import json

import pytest

from mechanisms import mechanism
from node import WEB, run
from stratagem.mechanism.mechanism import load_mechanism
from stratagem.mechanism.webpage import BUNDLE, DEMO, FORM, FRONT, MODULES, page_files, write_web_client

pytestmark = pytest.mark.smoke


def test_the_folder_holds_all_that_is_shipped_and_works_under_node(tmp_path):
    folder = write_web_client(tmp_path / "new" / "web", mechanism("labels"))
    assert {path.name for path in folder.iterdir()} == {BUNDLE, FRONT, *MODULES, *FORM[1:]}
    demo = write_web_client(tmp_path / "demo", mechanism("labels"), demo=True)
    assert {path.name for path in demo.iterdir()} == {BUNDLE, FRONT, *MODULES, *DEMO[1:]}
    assert {path.name for path in WEB.iterdir()} == {*MODULES, *FORM, *DEMO, "audit.mjs"}
    assert load_mechanism(folder / BUNDLE).identifier == mechanism("labels").identifier
    job = {"bundle": mechanism("labels").text, "stream": bytes(24), "values": ['"ja"']}
    expected = {"mechanism": mechanism("labels").identifier[:16], "id": "0" * 32, "output": 0}
    assert run("reports", module=(folder / "client.js").as_uri(), **job)["reports"] == [expected]


def test_the_package_of_the_client_is_private(tmp_path):
    package = json.loads((write_web_client(tmp_path, mechanism("labels")) / "package.json").read_text())
    assert (package["private"], package["type"], package["exports"]) == (True, "module", "./client.js")


def test_the_page_names_the_policy_and_only_files_beside_it(tmp_path):
    page = (write_web_client(tmp_path, mechanism("labels")) / "index.html").read_text(encoding="utf-8")
    assert "default-src 'none'" in page
    assert "unsafe" not in page
    assert "http:" not in page
    assert "https:" not in page


def test_it_is_written_again_with_another_bundle(tmp_path):
    write_web_client(tmp_path, mechanism("labels"))
    (tmp_path / "of-others.txt").write_text("kept")
    write_web_client(tmp_path, mechanism("edges"))
    assert json.loads((tmp_path / BUNDLE).read_text())["sha256"] == mechanism("edges").identifier
    assert (tmp_path / "of-others.txt").read_text() == "kept"


def test_another_question_replaces_the_page_unless_it_was_changed_by_hand(tmp_path):
    """The question is escaped on the page, and no other file knows it."""
    page, found = tmp_path / "index.html", mechanism("labels")
    write_web_client(tmp_path, found)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    write_web_client(tmp_path, found, "<b>How late</b> & why?" * 50, about="<b>Who</b> asks")
    asked = page.read_text(encoding="utf-8")
    assert "&lt;b&gt;Who&lt;/b&gt; asks" in asked
    assert "&lt;b&gt;How late&lt;/b&gt; &amp; why?" in asked
    assert "<b>" not in asked
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert {name for name in after if after[name] != before[name]} == {"index.html"}
    write_web_client(tmp_path, found)
    assert page.read_bytes() == before["index.html"]
    write_web_client(tmp_path, found, demo=True)
    assert b"demo.js" in page.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {BUNDLE, FRONT, *MODULES, *DEMO[1:]}
    (tmp_path / "form.js").write_text("mine")
    (tmp_path / "demo.css").write_bytes((WEB / "demo.css").read_bytes())
    write_web_client(tmp_path, found, demo=True)
    assert (tmp_path / "form.js").read_text() == "mine"
    (tmp_path / "form.js").unlink()
    write_web_client(tmp_path, found)
    assert {path.name for path in tmp_path.iterdir()} == {BUNDLE, FRONT, *MODULES, *FORM[1:]}
    assert page.read_bytes() == before["index.html"]
    page.write_text(asked.replace("What others", "What we"), encoding="utf-8")
    with pytest.raises(ValueError, match="holds something else and is not overwritten"):
        write_web_client(tmp_path, found)


@pytest.mark.parametrize("name", [BUNDLE, "index.html", "client.js", "form.css"])
def test_the_files_of_others_are_not_overwritten(name, tmp_path):
    (tmp_path / name).write_text("mine")
    with pytest.raises(ValueError, match=f"{name} holds something else and is not overwritten"):
        write_web_client(tmp_path, mechanism("labels"))
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "mine"


def test_a_folder_that_cannot_be_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match="cannot be written"):
        write_web_client(tmp_path / "file", mechanism("labels"))
    (tmp_path / "index.html").mkdir()
    with pytest.raises(ValueError, match="cannot be written"):
        write_web_client(tmp_path, mechanism("labels"))


def test_the_page_sends_to_the_address_that_is_given_and_nowhere_else(tmp_path):
    page, found = tmp_path / "index.html", mechanism("labels")
    write_web_client(tmp_path, found)
    silent = page.read_bytes()
    write_web_client(tmp_path, found, submit="https://reports.example.org:8443/a/reports")
    sending = page.read_text(encoding="utf-8")
    assert "connect-src 'self' https://reports.example.org:8443;" in sending
    assert 'data-submit="https://reports.example.org:8443/a/reports"' in sending
    write_web_client(tmp_path, found)
    assert page.read_bytes() == silent
    assert b'data-submit=""' in silent
    assert "connect-src 'self';" in silent.decode()
    assert "connect-src 'self';" in page_files(found, submit="reports")["index.html"].decode()


@pytest.mark.parametrize(
    "submit",
    [
        "http://reports.example.org/reports",
        "reports",
        "https://a.org",
        "https://a.org/x y",
        "https://a.org/;script-src 'unsafe-inline'",
        "https://me@a.org/reports",
        "javascript:alert(1)",
        "https://a.org/reports\n",
    ],
)
def test_reports_are_sent_encrypted_or_to_this_machine(submit, tmp_path):
    with pytest.raises(ValueError, match="is no address to send reports to"):
        write_web_client(tmp_path / "web", mechanism("labels"), submit=submit)
    assert not (tmp_path / "web").exists()
    write_web_client(tmp_path / "web", mechanism("labels"), submit="http://localhost:8000/reports")


@pytest.mark.parametrize("demo", [False, True])
def test_a_page_says_how_much_epsilon_its_client_takes(demo):
    """What every browser would refuse is no page."""
    huge = mechanism("two-level-huge-epsilon").accepting(10)
    with pytest.raises(ValueError, match="has epsilon 300, but at most 10 is accepted"):
        page_files(huge, demo=demo)
    assert 'data-at-most="300"' in page_files(huge.accepting(300), demo=demo)[FRONT].decode()
    assert 'data-at-most="10"' in page_files(mechanism("labels"), demo=demo)[FRONT].decode()


def test_a_demo_sends_nothing(tmp_path):
    with pytest.raises(ValueError, match="a demo sends nothing"):
        write_web_client(tmp_path / "web", mechanism("labels"), submit="https://a.org/reports", demo=True)
    assert not (tmp_path / "web").exists()
    assert b"data-submit" not in page_files(mechanism("labels"), demo=True)["index.html"]


@pytest.mark.parametrize(
    ("case", "question", "shown"),
    [
        ("labels", "", "Your answer"),
        ("unit", "", "delay"),
        ("unit", "How late?", "How late?"),
        ("several-attributes", "", "Your answer"),
    ],
)
def test_without_a_question_the_form_asks_for_the_attribute(case, question, shown):
    page = page_files(mechanism(case), question)["index.html"].decode()
    assert f'dir="auto">{shown}</h1>' in page
