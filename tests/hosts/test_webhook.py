"""A webhook that takes CloudEvents into the inbox: each once, in all three modes."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

import turnledger
from turnledger import InboxMessage

ROOT = Path(__file__).parents[2]
EVENT = {"specversion": "1.0", "id": "1", "source": "/ci", "type": "build.done", "data": {"n": 1}}
STRUCTURED = {"content-type": "application/cloudevents+json; charset=utf-8"}
URL = "/threads/thread-1/events"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TURNLEDGER_DB", str(tmp_path / "agents.db"))
    monkeypatch.syspath_prepend(str(ROOT))
    return tmp_path / "agents.db"


@pytest.fixture
def client(path: Path) -> Iterator[TestClient]:
    from examples.webhook import app  # noqa: PLC0415 - it is found by the fixture above

    assert not path.exists()
    with TestClient(app()) as client:
        yield client


def messages(path: Path) -> list[InboxMessage]:
    with turnledger.open(path) as ledger:
        return ledger.inbox.list("thread-1")


def sent(client: TestClient, event: Any, **headers: str) -> httpx2.Response:
    return client.post(URL, content=json.dumps(event), headers={**STRUCTURED, **headers})


def test_a_structured_event_is_a_message_with_all_that_it_says(
    client: TestClient, path: Path
) -> None:
    answer = sent(client, EVENT)
    assert (answer.status_code, answer.json()["duplicate"]) == (202, False)
    [message] = messages(path)
    assert (message.content, message.source) == (EVENT, "/ci")
    assert answer.json()["message_ids"] == [message.message_id]


def test_the_same_event_again_is_one_message(client: TestClient, path: Path) -> None:
    first, second = sent(client, EVENT), sent(client, EVENT)
    assert (second.status_code, second.json()["duplicate"]) == (200, True)
    assert first.json()["message_ids"] == second.json()["message_ids"]
    assert sent(client, {**EVENT, "source": "/other"}).status_code == 202
    assert len(messages(path)) == 2


def test_the_same_id_for_another_event_is_a_conflict(client: TestClient, path: Path) -> None:
    sent(client, EVENT)
    answer = sent(client, {**EVENT, "data": {"n": 2}})
    assert (answer.status_code, answer.json()["code"]) == (409, "idempotency_conflict")
    assert len(messages(path)) == 1


@pytest.mark.parametrize(
    ("kind", "body", "data"),
    [
        ("application/json", b'{"n": 1}', {"data": {"n": 1}}),
        ("text/plain", b"hi", {"data": "hi"}),
        ("application/octet-stream", b"\x00\x01", {"data_base64": "AAE="}),
    ],
)
def test_a_binary_event_is_as_a_structured_one(
    client: TestClient, path: Path, kind: str, body: bytes, data: dict[str, Any]
) -> None:
    attributes = {"specversion": "1.0", "id": "1", "source": "/ci", "type": "build.done"}
    headers = {f"ce-{name}": value for name, value in attributes.items()}
    answer = client.post(URL, content=body, headers={**headers, "content-type": kind})
    assert answer.status_code == 202
    [message] = messages(path)
    assert message.content == {**attributes, "datacontenttype": kind, **data}


def test_a_batch_is_taken_whole_or_not_at_all(client: TestClient, path: Path) -> None:
    batch = {"content-type": "application/cloudevents-batch+json"}
    other = {**EVENT, "id": "2"}
    bad = json.dumps([EVENT, {**other, "source": "x" * 300}])
    assert client.post(URL, content=bad, headers=batch).status_code == 400
    assert messages(path) == []
    assert client.post(URL, content=json.dumps([EVENT, other]), headers=batch).status_code == 202
    assert [message.content["id"] for message in messages(path)] == ["1", "2"]


@pytest.mark.parametrize(
    "event",
    [[], "hi", {}, {**EVENT, "id": ""}, {**EVENT, "specversion": "0.3"}, {**EVENT, "id": 1}],
)
def test_what_is_no_cloud_event_is_refused(client: TestClient, path: Path, event: Any) -> None:
    assert sent(client, event).status_code == 400
    assert client.post(URL, content=b"{", headers=STRUCTURED).status_code == 400
    assert messages(path) == []


def test_a_thread_that_takes_nothing_any_more_says_so(client: TestClient, path: Path) -> None:
    sent(client, EVENT)
    with turnledger.open(path) as ledger:
        ledger.threads.archive("thread-1")
    assert sent(client, {**EVENT, "id": "2"}).status_code == 410


def test_what_was_answered_survives_a_kill(path: Path) -> None:
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "--factory", "examples.webhook:app"]
    command += ["--port", str(port), "--log-level", "error"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    with subprocess.Popen(command, cwd=ROOT, env=environment) as server:
        url = f"http://127.0.0.1:{port}{URL}"
        assert posted(url).status_code == 202
        server.send_signal(signal.SIGKILL)
    [message] = messages(path)
    assert message.content == EVENT


def posted(url: str) -> httpx2.Response:
    """Post once the server is there."""
    transport = httpx2.HTTPTransport(retries=0)
    with httpx2.Client(transport=transport) as client:
        end = monotonic() + 60
        while True:
            try:
                return client.post(url, content=json.dumps(EVENT), headers=STRUCTURED)
            except httpx2.ConnectError:
                assert monotonic() < end
