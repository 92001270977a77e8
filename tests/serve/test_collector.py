"""The server as a process: killed it keeps what it acknowledged, hostile connections harm nobody, it ends when told."""

import asyncio
import contextlib
import json
import random
import resource
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from commands import plain, run
from mechanisms import mechanism
from posting import Collector, Poster, megabytes, post_for, report, request
from tools import need_package, take_away

need_package("uvicorn")
need_package("httpx")
import httpx  # noqa: E402

from stratagem.cli.serve import server as server_module  # noqa: E402

FOUND = mechanism("two-level")


@pytest.fixture(scope="module")
def collector(tmp_path_factory):
    with Collector(tmp_path_factory.mktemp("collector"), FOUND) as found:
        yield found


@pytest.mark.sampled(20, 4)
@pytest.mark.parametrize("seed", range(20))
def test_killed_it_keeps_every_report_that_was_acknowledged(seed, tmp_path):
    """Whatever moment the kill finds, the reports acknowledged are in the file, each once; those in flight may be."""

    async def killed(collector, seconds):
        loop = asyncio.get_running_loop()
        acknowledged, sent = {}, []
        until = time.perf_counter() + 60
        made = [
            await loop.create_connection(
                lambda: Poster(FOUND, acknowledged, sent, until), "127.0.0.1", collector.port
            )
            for _ in range(8)
        ]
        await asyncio.sleep(seconds)
        while not acknowledged:  # a busy machine may take longer for the first
            await asyncio.sleep(0.01)
        collector.process.kill()
        await asyncio.gather(*(poster.ended for _, poster in made))
        flying = [poster.sent for _, poster in made]
        return acknowledged, {one["id"]: one["output"] for one in flying}

    with Collector(tmp_path, FOUND) as collector:
        acknowledged, flying = asyncio.run(killed(collector, random.Random(seed).uniform(0.05, 0.8)))
    assert acknowledged
    with FOUND.collection(collector.state) as collection:
        held = {name.hex: output for name, output in collection._sql("SELECT id, output FROM reports")}
        tally = collection.tally()
    assert tally.reports == len(held)
    assert acknowledged.items() <= held.items() <= (acknowledged | flying).items()
    with Collector(tmp_path, FOUND) as again:
        assert f"so far:  {len(held):,} report" in again.said
        once = [report(FOUND, output, name) for name, output in acknowledged.items()][:50]
        body = "\n".join(map(json.dumps, once))
        answer = httpx.post(
            f"{again.place}/reports", content=body, headers={"content-type": "application/jsonl"}
        )
        assert answer.json() == {"received": 0, "repeated": len(once), "refused": {}}


@pytest.mark.exhaustive
def test_without_a_commit_before_the_answer_a_kill_loses_reports(tmp_path):
    """What the test above must find: a collection that acknowledges before its transaction has ended."""
    code = (
        "import sys, contextlib\nfrom stratagem.collection.collection import Collection\n"
        "Collection.receive = lambda self, ids, outputs: __import__('numpy').zeros(len(ids), int)\n"
        "from stratagem.cli import main\nmain(sys.argv[1:])"
    )
    FOUND.save(tmp_path / "m.ldp.json")
    command = [sys.executable, "-c", code, "collect", str(tmp_path / "m.ldp.json"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        place = next(line.split()[1] for line in process.stdout if line.startswith("form:"))
        answer = httpx.post(f"{place}reports", json=report(FOUND))
        process.kill()
        process.communicate()
    assert answer.json()["received"] == 1
    with FOUND.collection(tmp_path / "m.reports.duckdb") as collection:
        assert collection.tally().reports == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_well(number, tmp_path):
    with FOUND.collection(tmp_path / "m.reports.duckdb") as collection:
        ids = np.random.default_rng(1).integers(0, 256, (1_087, 16), dtype=np.uint8)
        collection.receive(ids, np.zeros(len(ids), dtype=np.int64))
    with Collector(tmp_path, FOUND) as collector:
        httpx.post(f"{collector.place}/reports", json=report(FOUND))
        with socket.create_connection(("127.0.0.1", collector.port)) as idle:
            idle.sendall(b"POST /rep")
            status, out, err = collector.end(number)
    assert (status, err) == (0, "")
    assert plain(out).startswith(
        f"1 report taken now, {collector.state} holds 1,088 reports next: stratagem estimate "
    )
    page = tmp_path / "m.results.html"  # the page of a plan is m.html
    assert f"--method recommended --summary {page}" in plain(out.replace("\\\n", " "))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.ldp.json", "m.reports.duckdb"]


HALF = {
    "nothing": b"",
    "half a request line": b"POST /rep",
    "half a header": b"POST /reports HTTP/1.1\r\nhost: x\r\ncontent-le",
    "half a body": request(b"{}" + b" " * 90)[:-50],
    "a body that never comes": request(b"x" * 4000)[:-4000],
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100),
    "a header without end": b"GET / HTTP/1.1\r\nx: " + b"y" * 200_000,
    "lines without end": b"GET / HTTP/1.1\r\n" + b"x: y\r\n" * 20_000,
    "a huge body": request(b" " * (1 << 24)),
    "chunks without end": b"POST /reports HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
    b"transfer-encoding: chunked\r\n\r\n" + b"400\r\n" + b" " * 1024 + b"\r\n" * 1,
    "two lengths": b"POST /reports HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ncontent-length: 9\r\n\r\n{}",
    "a negative length": b"POST /reports HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n{}",
    "an upgrade": b"GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    "many requests at once": request(b"{}") * 1000,
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", HALF)
def test_a_hostile_connection_harms_nobody(case, collector):
    hostile = []
    for _ in range(5):
        one = socket.create_connection(("127.0.0.1", collector.port), timeout=5)
        with contextlib.suppress(OSError):  # refused while it was sent
            one.sendall(HALF[case])
        hostile.append(one)
    answer = httpx.post(f"{collector.place}/reports", json=report(FOUND), timeout=5)
    for one in hostile:
        one.close()
    assert answer.json()["received"] == 1
    assert httpx.get(f"{collector.place}/health").status_code == 200
    assert collector.process.poll() is None


def results(collector):
    token = {"authorization": f"Bearer {collector.token}"}
    return httpx.get(f"{collector.place}/results.json", headers=token, timeout=30).json()


@pytest.mark.exhaustive
@pytest.mark.parametrize("idle", [300, pytest.param(10_000, marks=pytest.mark.exhaustive)])
def test_many_idle_connections_harm_nobody(idle, tmp_path):
    """People go on posting, their delays stay small, and the memory is given back."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, idle + 1000), hard))
    if hard < idle + 1000:
        pytest.skip("the system allows too few open files")
    with Collector(tmp_path, FOUND) as collector:
        open_ones = []
        for _ in range(idle):
            one = socket.create_connection(("127.0.0.1", collector.port), timeout=10)
            one.setblocking(False)
            open_ones.append(one)
        acknowledged, refused, delays = asyncio.run(post_for(collector.port, FOUND, 10.0, 8))
        memory = megabytes(collector.process.pid)
        for one in open_ones:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert not refused
        assert len(acknowledged) > 20
        assert delays[len(delays) // 2] < 1.0
        assert memory < 700
        assert results(collector)["reports"] == len(acknowledged)


class Connection:
    """What the sweep sees of a connection of uvicorn."""

    def __init__(self):
        self.cycle, self.aborted, self.transport = None, False, self

    def abort(self):
        self.aborted = True

    def get_on(self, complete):
        self.cycle = type("Cycle", (), {"response_complete": complete})()


def test_the_sweep_closes_who_does_not_get_on_and_nobody_else(monkeypatch):
    monkeypatch.setattr(server_module, "SWEEP", 0.01)
    monkeypatch.setattr(server_module, "PATIENCE", 2.0)  # a busy machine may leave it alone for a second
    silent, answered, busy = Connection(), Connection(), Connection()
    answered.get_on(True)
    server = type("Server", (), {})()
    server.server_state = type("State", (), {"connections": {silent, answered, busy}})()

    async def watched():
        sweeping = asyncio.create_task(server_module._sweep(server))
        for _ in range(50):
            busy.get_on(False)
            await asyncio.sleep(0.05)
        sweeping.cancel()

    asyncio.run(watched())
    assert (silent.aborted, answered.aborted, busy.aborted) == (True, True, False)


def test_of_too_many_connections_the_longest_idle_are_closed(monkeypatch):
    monkeypatch.setattr(server_module, "SWEEP", 0.01)
    monkeypatch.setattr(server_module, "MOST", 3)
    old = [Connection() for _ in range(3)]
    server = type("Server", (), {})()
    server.server_state = type("State", (), {"connections": set(old)})()

    async def watched():
        sweeping = asyncio.create_task(server_module._sweep(server))
        await asyncio.sleep(0.05)
        assert not any(one.aborted for one in old)
        server.server_state.connections |= {young}
        await asyncio.sleep(0.1)
        sweeping.cancel()

    young = Connection()
    asyncio.run(watched())
    assert sum(one.aborted for one in old) >= 1


@pytest.mark.exhaustive
def test_it_logs_nobody_unless_asked(tmp_path):
    with Collector(tmp_path, FOUND) as collector:
        results(collector)
        httpx.post(f"{collector.place}/reports", json=report(FOUND))
        httpx.post(f"{collector.place}/reports", content="{", headers={"x-forwarded-for": "192.0.2.1"})
        _, out, err = collector.end(signal.SIGTERM)
    assert "127.0.0.1" not in out + err
    assert collector.token not in out + err
    (tmp_path / "b").mkdir()
    with Collector(tmp_path / "b", FOUND, "--access-log") as collector:
        results(collector)
        _, out, err = collector.end(signal.SIGTERM)
    assert "GET /results.json" in out + err
    assert collector.token not in out + err


def test_a_file_has_one_collector(collector, capsys):
    """Also after its results were asked for: a file opened twice by a process would lose its lock."""
    results(collector)
    command = ("collect", collector.state.with_name("m.ldp.json"), "--port", "0")
    status, out, err = run(capsys, *map(str, command))
    assert (status, out) == (2, "")
    assert "(another command uses it): wait until that has ended, or end it with Ctrl-C" in err
    assert err.count("\n") == 1


def test_wrong_use_is_refused_in_a_sentence(collector, capsys, tmp_path, monkeypatch):
    file = str(FOUND.save(tmp_path / "m.ldp.json"))

    def refused(*words):
        status, out, err = run(capsys, "collect", *words)
        assert (status, out, err.count("\n")) == (2, "", 1)
        return err

    assert f"port {collector.port} of 127.0.0.1 cannot be used" in refused(
        file, "--port", str(collector.port)
    )
    assert "cannot be used" in refused(file, "--port", "0", "--host", "192.0.2.7")
    assert "cannot be used" in refused(file, "--port", "0", "--host", "no host")
    assert "is no origin" in refused(file, "--port", "0", "--cors", "https://a.org/page")
    assert "port" in refused(file, "--port", "70000")
    assert ".duckdb" in refused(file, "--port", "0", "--state", file)
    other = str(mechanism("labels").save(tmp_path / "other.ldp.json"))
    FOUND.collection(tmp_path / "s.duckdb").close()
    said = refused(other, "--port", "0", "--state", str(tmp_path / "s.duckdb"))
    assert f"collects reports of mechanism {FOUND.form.mechanism}" in said
    take_away(monkeypatch, "uvicorn")
    assert "pip install 'stratagem[serve]'" in refused(file, "--port", "0")


@pytest.mark.exhaustive
def test_what_was_collected_is_estimated_and_counted(tmp_path, capsys):
    with Collector(tmp_path, FOUND) as collector:
        for _ in range(3):
            httpx.post(f"{collector.place}/reports", json=report(FOUND))
        command = ("estimate", tmp_path / "m.ldp.json", collector.state)
        status, out, err = run(capsys, *command)
        assert (status, out) == (2, "")
        assert "(another command uses it): wait until that has ended, or end it with Ctrl-C" in err
        collector.end(signal.SIGTERM)
    status, out, err = run(capsys, *command)
    assert (status, err) == (0, "")
    assert "3 reports" in out
    counts = tmp_path / "c.json"
    status, out, _ = run(capsys, "aggregate", *command[1:2], "--state", collector.state, "-o", counts)
    assert status == 0
    assert run(capsys, "estimate", *command[1:2], counts)[1] == run(capsys, *command)[1]
    status, out, err = run(capsys, "aggregate", *command[1:2])
    assert (status, out) == (2, "")
    assert "no reports were given" in err
