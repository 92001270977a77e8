"""A server that collects, as a process of its own, and people who post reports to it."""

import asyncio
import json
import re
import secrets
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit


class Collector:
    """A running `stratagem collect`."""

    def __init__(self, folder: Path, mechanism, *options: str, errors=subprocess.PIPE):
        """Start it and wait until it says where it listens."""
        file = folder / "m.ldp.json"
        if not file.exists():
            mechanism.save(file)
        self.mechanism, self.state = mechanism, folder / "m.reports.duckdb"
        command = [sys.executable, "-m", "stratagem.cli", "collect", str(file), "--port", "0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        said = ""
        assert self.process.stdout is not None
        while "Ctrl-C" not in said:
            line = self.process.stdout.readline()
            assert line, (said, self.process.stderr and self.process.stderr.read())
            said += line
        self.said = said
        self.place = re.findall(r"form: +(\S+)/\n", said)[0]
        self.port = urlsplit(self.place).port
        self.token = re.findall(r"token: +(\S+) ", said)[0]

    def end(self, number: int) -> tuple[int, str, str]:
        """Send a signal; return the exit status and what it printed since."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err or ""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def megabytes(process):
    """Return the resident memory of a process."""
    with Path(f"/proc/{process}/status").open(encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))


def report(mechanism, output: int = 0, name: str | None = None) -> dict:
    """Return a report with a fresh id."""
    return {"mechanism": mechanism.form.mechanism, "id": name or secrets.token_hex(16), "output": output}


def request(body: bytes, kind: str = "application/json") -> bytes:
    """Return a POST of a body as it goes over the wire."""
    head = f"POST /reports HTTP/1.1\r\nhost: x\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Poster(asyncio.Protocol):
    """A person on one connection, who posts the next report once the last one was acknowledged."""

    def __init__(self, mechanism, acknowledged: dict, refused: list, until: float):
        self.mechanism, self.acknowledged, self.refused, self.until = mechanism, acknowledged, refused, until
        self.ended = asyncio.get_running_loop().create_future()
        self.delays: list[float] = []

    def connection_made(self, transport):
        self.transport = transport
        self.post()

    def post(self):
        if time.perf_counter() >= self.until:
            self.transport.close()
            return
        self.sent = report(self.mechanism, secrets.randbelow(self.mechanism.outputs))
        self.began = time.perf_counter()
        self.transport.write(request(json.dumps(self.sent).encode()))

    def data_received(self, data):
        if data.startswith(b"HTTP/1.1 200"):
            self.acknowledged[self.sent["id"]] = self.sent["output"]
            self.delays.append(time.perf_counter() - self.began)
        elif data.startswith(b"HTTP/1.1"):
            self.refused.append(data)
        if b"\r\n\r\n" in data:  # the answers are small and come whole
            self.post()

    def connection_lost(self, error):
        if not self.ended.done():
            self.ended.set_result(None)


async def post_for(port: int, mechanism, seconds: float, people: int):
    """Post from so many connections for some seconds; return what was acknowledged, refused, and the delays."""
    acknowledged, refused = {}, []
    until = time.perf_counter() + seconds
    loop = asyncio.get_running_loop()
    made = [
        await loop.create_connection(
            lambda: Poster(mechanism, acknowledged, refused, until), "127.0.0.1", port
        )
        for _ in range(people)
    ]
    await asyncio.gather(*(poster.ended for _, poster in made))
    return acknowledged, refused, sorted(delay for _, poster in made for delay in poster.delays)
