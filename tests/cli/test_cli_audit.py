"""The command `audit`: sentences, one JSON object, and exit status 1 for a mechanism or client that fails."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_cli import run, run_json

import stratagem as st
from commands import assert_refused, plain
from mechanisms import mechanism
from stratagem.auditor import runner
from stratagem.auditor.runner import WEB, python_client
from stratagem.mechanism import client as client_module
from stratagem.mechanism.client import Client, fingerprint
from stratagem.mechanism.mechanism import Mechanism
from tools import need

PYTHON = ["--client", "python", "--samples", "2000", "--types", "3"]
CHECKS = {
    "outputs",
    "event share",
    "new clients",
    "new processes",
    "independence",
    "value before",
    "id bytes",
    "schema",
    "fresh ids",
}
"""Real randomness: a correct client fails here once in a million runs."""


@pytest.fixture
def saved(tmp_path) -> Path:
    return mechanism("randomised").save(tmp_path / "answers.ldp.json")


def seeded(found: Mechanism):
    """The Python client with bytes that repeat from run to run."""
    source = np.random.default_rng(0).bytes
    return python_client(found, lambda: Client(found.bundle, source))


@pytest.mark.exhaustive
def test_json_says_what_was_tested_and_what_could_be_found(capsys, saved):
    found = run_json(capsys, "audit", saved, *PYTHON)
    assert found["passed"] is found["certificate"]["holds"] is True
    assert (found["workload"], found["domain"], found["epsilon"]) == ("workload", "6", 0.1)
    assert found["identifier"] == mechanism("randomised").identifier
    assert found["false_alarm"] == 1e-6
    one = found["clients"].pop("python")
    assert found["clients"] == {}
    assert (one["passed"], one["samples"], len(one["user_types"])) == (True, 2000, 3)
    assert one["epsilon_lower_bound"] <= 0.1
    assert one["confidence"] == 1 - 5e-7
    assert 0.1 < one["noticeable_epsilon"]
    assert 0.1 < one["provable_epsilon"]
    assert one["samples_to_prove_5_percent"] > 1_000_000
    assert len(one["events"]) == 3
    assert {check["name"] for check in one["checks"]} == CHECKS
    assert one["pooled"]["reports"] == [6000, 6000]
    assert one["user_types_in_all"] == 6
    assert 0 <= one["user_types_drawn"] <= 3
    assert set(one["power"]) == {
        "excess_of_5_percent_missed",
        "bad_type_from_raw_share",
        "5_percent_bad_types_missed",
        "bad_types_found_from_share",
        "first_reports",
    }
    assert one["power"]["first_reports"]["new clients"]["asked"] == 500


@pytest.mark.exhaustive
def test_a_seed_is_drawn_printed_and_repeats_the_questions(capsys, saved):
    given = [*PYTHON[:2], "--samples", "100", "--types", "4"]
    first = run_json(capsys, "audit", saved, *given)["clients"]["python"]
    again = run_json(capsys, "audit", saved, *given, "--seed", str(first["seed"]))["clients"]["python"]
    other = run_json(capsys, "audit", saved, *given)["clients"]["python"]
    assert again["seed"] == first["seed"] != other["seed"]
    assert again["user_types"] == first["user_types"]
    _, out, _ = run(capsys, "audit", saved, *given, "--seed", "7")
    assert "--seed 7 asks the same again" in plain(out)


def test_sentences_for_people(capsys, saved):
    status, out, err = run(capsys, "audit", saved, *PYTHON)
    assert (status, err) == (0, "")
    assert "certificate: holds" in out
    assert "python client: passed" in out
    assert "within the 0.1 promised" in out
    assert "2,000 reports of each of 3 of 6 user types" in out
    assert "a client of 5 % more epsilon, 0.105, is missed with probability 1" in out
    assert "a client that treats 5 % of the user types badly " in out
    assert "500 new clients were asked once: found, in 99 of 100, if " in out
    assert "40 new processes were asked once: " in out
    assert "with probability 1e-06 at most" in out


@pytest.mark.exhaustive
def test_a_biased_client_fails_with_status_1(capsys, saved, monkeypatch):
    """The negative control: another table stands behind the client, of twice the budget."""
    other = Mechanism.of(st.published.randomised_response(6, 1.0), st.histogram(6), 1.0)

    def wrong(found: Mechanism):
        swapped = Client(found.bundle, np.random.default_rng(0).bytes)
        swapped.sampler = other.client.sampler
        return python_client(found, lambda: swapped)

    monkeypatch.setattr(runner, "python_client", wrong)
    status, out, err = run(capsys, "audit", saved, *PYTHON)
    assert (status, err) == (1, "")
    assert "python client: FAILED" in out
    assert "ABOVE the 0.1 promised" in out
    status, out, _ = run(capsys, "audit", saved, *PYTHON, "--json")
    found = json.loads(out)
    assert status == 1
    assert found["passed"] is found["clients"]["python"]["passed"] is False
    monkeypatch.setattr(runner, "python_client", seeded)
    assert run(capsys, "audit", saved, *PYTHON)[0] == 0


def test_a_bundle_that_breaks_its_promise_fails_with_status_1(capsys, tmp_path):
    bundle = json.loads(mechanism("randomised").text)
    bundle["epsilon"] = ["9", "100"]
    bundle["sha256"] = fingerprint(bundle)
    path = tmp_path / "broken.ldp.json"
    path.write_text(json.dumps(bundle))
    status, out, err = run(capsys, "audit", path, *PYTHON)
    assert (status, out) == (1, "")
    assert "the table breaks its epsilon" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.ldp.json"], "cannot be read"),
        (["FILE", "--client", "perl"], "none of python, node"),
        (["FILE", "--samples", "10"], "--samples"),
        (["FILE", "--false-alarm", "2"], "between 0 and 0.5"),
        (["FILE", "--types", "1"], "--types"),
    ],
)
def test_mistakes_are_one_sentence_and_status_2(capsys, saved, arguments, words):
    given = [str(saved) if word == "FILE" else word for word in arguments]
    status, out, err = run(capsys, "audit", *given)
    assert (status, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.exhaustive
def test_node_is_left_out_where_it_is_missing(capsys, saved, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    status, out, err = run(capsys, "audit", saved, "--samples", "1000", "--types", "2")
    assert status == 0
    assert "node is not installed" in err
    assert "python client" in out
    assert "node client" not in out
    assert run(capsys, "audit", saved, "--client", "node")[0] == 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("case", ["two-level", "randomised", "labels", "several-attributes", "fine"])
def test_the_web_client_passes(capsys, tmp_path, case):
    need("node")
    path = mechanism(case).save(tmp_path / "x.ldp.json")
    found = run_json(capsys, "audit", path, "--client", "python,node", "--samples", "5000", "--types", "3")
    assert found["passed"]
    assert set(found["clients"]) == {"python", "node"}
    assert found["clients"]["node"]["events"][0]["reports"] == [5000, 5000]


def test_a_web_client_that_is_wrong_is_caught(tmp_path, monkeypatch):
    """The negative control of the web driver: the same driver over a client that tells the truth too often."""
    need("node")
    path = mechanism("randomised").save(tmp_path / "x.ldp.json")
    web = tmp_path / "web"
    shutil.copytree(WEB, web)
    text = (web / "client.js").read_text()
    assert "export class Client" in text
    (web / "honest.js").write_text(text)
    (web / "client.js").write_text(
        'import { load as real } from "./honest.js";\n'
        "export async function load(given) {\n"
        "  const client = await real(given), randomise = client.randomise.bind(client);\n"
        "  client.randomise = (value) => {\n"
        "    const report = randomise(value);\n"
        "    return Math.random() < 0.1 ? { ...report, output: value } : report;\n"
        "  };\n"
        "  return client;\n"
        "}\n"
    )
    monkeypatch.setattr(runner, "WEB", web)
    from stratagem.auditor.audit import audit

    found = mechanism("randomised")
    one = audit(found, runner.web_client(found, path), samples=20_000, types=3, seed=0)
    assert not one.private
    assert "outputs" in {check.name for check in one.failures}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("place", "caught"), [("", {"new processes"}), ("client.", {"new clients", "new processes"})]
)
def test_a_web_client_whose_first_report_is_raw_is_caught(tmp_path, monkeypatch, place, caught):
    """Once in a process, or once in every client; the first report alone is raw."""
    need("node")
    found = Mechanism.of(st.published.randomised_response(16, 1.0), st.histogram(16), 1.0)
    path, web = found.save(tmp_path / "x.ldp.json"), tmp_path / "web"
    shutil.copytree(WEB, web)
    (web / "client.js").rename(web / "honest.js")
    (web / "client.js").write_text(
        'import { load as real } from "./honest.js";\n'
        "let used = false;\n"
        "export async function load(given) {\n"
        "  const client = await real(given), randomise = client.randomise.bind(client);\n"
        "  client.randomise = (value) => {\n"
        f"    const report = randomise(value), first = !{place}used;\n"
        f"    {place}used = true;\n"
        "    return first ? { ...report, output: value } : report;\n"
        "  };\n"
        "  return client;\n"
        "}\n"
    )
    monkeypatch.setattr(runner, "WEB", web)
    from stratagem.auditor.audit import audit

    clients = runner.web_client(found, path), runner.web_processes(found, path)
    assert {check.name for check in audit(found, *clients, samples=100, seed=0).failures} == caught


@pytest.mark.exhaustive
def test_a_python_client_whose_first_report_in_a_process_is_raw_is_caught(tmp_path):
    found = Mechanism.of(st.published.randomised_response(16, 1.0), st.histogram(16), 1.0)
    code = Path(client_module.__file__).read_text()
    drawn = "output = (self._memo or self.sampler).draw(cell, self._source)\n"
    assert drawn in code
    altered = code.replace(drawn, drawn + "        output = cell if FIRST and FIRST.pop() else output\n")
    (tmp_path / "client.py").write_text(altered + "\nFIRST = [True]\n")
    from stratagem.auditor.audit import audit

    options = {"samples": 100, "seed": 0}
    liars = runner.python_processes(found, client=tmp_path / "client.py")
    assert {c.name for c in audit(found, seeded(found), liars, **options).failures} == {"new processes"}
    honest = runner.python_processes(found)
    assert audit(found, seeded(found), honest, **options).passed  # real randomness: fails once in a million


@pytest.mark.exhaustive
def test_the_client_of_an_exported_folder_is_audited(capsys, tmp_path):
    """A folder whose client tells the value fails, though the one that is installed here does not."""
    need("node")
    site = tmp_path / "site"
    file = mechanism("randomised").save(tmp_path / "x.ldp.json")
    assert run(capsys, "export", file, "--web", site)[0] == 0
    asked = ["audit", site / "bundle.ldp.json", "--samples", "2000", "--types", "3", "--json", "--client"]
    found = run_json(capsys, *asked, f"{site / 'client.js'}")
    assert (found["passed"], [*found["clients"]]) == (True, [str(site / "client.js")])
    text = (site / "client.js").read_text(encoding="utf-8")
    assert "draw(cell, this.ahead.fill, part);" in text
    told = text.replace("draw(cell, this.ahead.fill, part);", "draw(cell, this.ahead.fill, part) && cell;")
    (site / "client.js").write_text(told, encoding="utf-8")
    status, out, _ = run(capsys, *asked, f"node,{site / 'client.js'}")
    assert (status, {name: one["passed"] for name, one in json.loads(out)["clients"].items()}) == (
        1,
        {"node": True, str(site / "client.js"): False},
    )
    assert_refused(
        capsys, ["audit", file, "--client", "absent.js"], "and no file \\*.js: name one or several"
    )


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from stratagem.cli import app; app(['audit', '--help'], standalone_mode=False);"
        "assert not {'jax', 'numpy', 'scipy', 'duckdb'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert "certificate" in done.stdout
