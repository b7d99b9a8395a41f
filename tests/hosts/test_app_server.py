"""The pump into an app server: started once, acked by its turn id, and killed in the middle."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

import turnledger
from turnledger import Ledger, QueuedTurn, RetryPolicy
from turnledger.hosts.app_server import AppServer, as_input, pump

SERVER = Path(__file__).with_name("server_program.py")
EXAMPLE = Path(__file__).parents[2] / "examples" / "app_server.py"
SUBMISSION = {
    "clientUserMessageId": "client-A",
    "input": [{"type": "text", "text": "queued A", "text_elements": []}],
}
QUICKLY = RetryPolicy(max_attempts=3, base=timedelta(milliseconds=10))


class Place:
    """A ledger, and what a server got."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "agents.db"
        self.file = folder / "got"

    def command(self, how: str) -> list[str]:
        return [sys.executable, str(SERVER), str(self.file), how]

    def got(self, *methods: str) -> list[Any]:
        lines = self.file.read_text().splitlines() if self.file.exists() else []
        notes = [json.loads(line) for line in lines]
        return [params for method, params in notes if method in methods]

    def append(self, *, thread: str = "thread", **more: Any) -> str:
        with turnledger.open(self.path) as ledger:
            return ledger.queue.append(thread, {**SUBMISSION, **more}).queued_turn_id

    def turn(self, turn_id: str) -> QueuedTurn:
        with turnledger.open(self.path) as ledger:
            turn = ledger.queue.get("thread", turn_id)
        assert turn is not None
        return turn

    def pump(self, how: str) -> None:
        """Do all that there is to do on a server of a kind."""

        async def main() -> None:
            async with (
                turnledger.open_async(self.path) as ledger,
                AppServer(self.command(how)) as server,
            ):
                await asyncio.wait_for(pump(ledger, server, retry=QUICKLY).run(once=True), 60)

        asyncio.run(main())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_turns_are_started_in_order_and_acked_when_the_server_has_completed_them(
    place: Place,
) -> None:
    first, second = place.append(), place.append(clientUserMessageId="client-B")
    place.pump("complete")
    assert [place.turn(one).state for one in (first, second)] == ["acked", "acked"]
    assert place.got("turn/start") == [
        {**SUBMISSION, "threadId": "thread"},
        {**SUBMISSION, "clientUserMessageId": "client-B", "threadId": "thread"},
    ]
    assert place.got("initialize")[0]["clientInfo"]["name"] == "turnledger"


@pytest.mark.parametrize(("how", "status"), [("fail", "failed"), ("interrupt", "interrupted")])
def test_a_turn_that_failed_there_is_failed_here_and_blocks_the_rest(
    place: Place, how: str, status: str
) -> None:
    first, second = place.append(), place.append()
    place.pump(how)
    failed = place.turn(first)
    assert (failed.state, failed.outcome_unknown) == ("failed", False)
    assert failed.failure["status"] == status
    assert place.turn(second).state == "pending"
    assert len(place.got("turn/start")) == 1


def test_a_server_that_refuses_everything_consumes_nothing(place: Place) -> None:
    first, second = place.append(), place.append()
    place.pump("refuse")
    failed = place.turn(first)
    assert (failed.state, failed.outcome_unknown) == ("failed", False)
    assert failed.failure == {"code": -32600, "message": "Invalid request"}
    assert place.turn(second).state == "pending"


def test_an_overloaded_server_is_asked_again(place: Place) -> None:
    only = place.append()
    place.pump("overloaded")
    assert (place.turn(only).state, place.turn(only).attempts) == ("acked", 1)


def test_a_thread_that_the_server_hasnt_loaded_is_loaded(place: Place) -> None:
    only = place.append()
    place.pump("unloaded")
    assert place.turn(only).state == "acked"
    assert place.got("thread/resume") == [{"threadId": "thread"}]


def test_a_server_that_asks_is_told_that_nobody_is_here(place: Place) -> None:
    only = place.append()
    place.pump("ask")
    assert place.turn(only).state == "acked"
    [answer] = place.got("answer")
    assert answer["code"] == -32601


def test_a_server_that_dies_leaves_an_unknown_outcome(place: Place) -> None:
    only = place.append()
    place.pump("die")
    failed = place.turn(only)
    assert (failed.state, failed.outcome_unknown) == ("failed", True)
    assert len(place.got("turn/start")) == 1


def test_a_message_that_is_to_steer_goes_to_the_running_turn(place: Place) -> None:
    only = place.append()
    with turnledger.open(place.path) as ledger:
        ledger.inbox.post("thread", "to the left", source="u", delivery="steer-current-turn")
    place.pump("hang")
    assert place.turn(only).state == "acked"
    assert place.got("turn/steer") == [
        {"threadId": "thread", "expectedTurnId": "turn-1", "input": as_input("to the left")}
    ]


def waited_for(seen: Callable[[], bool], ledger: Ledger) -> None:
    end, position = monotonic() + 60, 0
    while not seen():
        assert monotonic() < end
        position = ledger.wait_for_change(position, 0.1)


def test_a_pump_that_is_killed_lost_nothing_and_starts_nothing_twice(place: Place) -> None:
    """The example, killed while the server has the turn."""
    only = place.append()
    command = [sys.executable, str(EXAMPLE), str(place.path), "--", *place.command("hang")]
    with (
        turnledger.open(place.path) as ledger,
        subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process,
    ):
        waited_for(lambda: bool(place.got("turn/start")), ledger)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        [claimed] = ledger.log.read(types=["thread_queue.claimed"])
        ledger.queue.recover(owner=claimed.data["owner"])
    failed = place.turn(only)
    assert (failed.state, failed.outcome_unknown) == ("failed", True)
    assert failed.submission == SUBMISSION
    place.pump("complete")
    assert len(place.got("turn/start")) == 1
    with turnledger.open(place.path) as ledger:
        ledger.queue.resolve("thread", only, "retry", by="test")
    place.pump("complete")
    assert place.turn(only).state == "acked"
    assert len(place.got("turn/start")) == 2
