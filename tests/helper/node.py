"""The web client under node."""

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import stratagem
from tools import need

WEB = Path(stratagem.__file__).parent / "mechanism" / "web"
DRIVER = Path(__file__).with_name("web_client.mjs")


def base64_text(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def run(name: str, **job: Any) -> Any:
    """Return the result of a job of web_client.mjs; bytes travel as base64."""
    job = {key: base64_text(value) if isinstance(value, bytes) else value for key, value in job.items()}
    text = json.dumps({"name": name, "module": (WEB / "client.js").as_uri()} | job)
    done = subprocess.run([need("node"), str(DRIVER)], input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
