"""A coordinator's worker, as a process of its own: the loop that a real one runs.

    python -m turnledger.demo.coordinator.worker LEDGER FOLDER OWNER LEASE_SECONDS

It takes a turn by its id; or, told nothing, the oldest one that it can take up. It says a word and
the turn's id on its standard output about everything that it has done, and goes on when a line
comes back. So it can be killed at a known place; and when nobody is there any more (the end of its
standard input), it ends.
"""

import json
import signal
import sys
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import turnledger
from turnledger import ClaimLost, Ledger, Resumption, TurnClaim
from turnledger.demo.coordinator.records import REQUEST_HEADER, Records

_GIVE_UP_SECONDS = 120  # a demonstration whose worker hangs must come to an end


def main(path: str, folder: str, owner: str, lease_seconds: str) -> None:
    """Open the ledger and work."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started it
    signal.alarm(_GIVE_UP_SECONDS)
    order = _next_order()
    with turnledger.open(path) as ledger:
        worker = Worker(ledger, Records(Path(folder)), owner, float(lease_seconds))
        while True:
            order = worker.take(order)


class Worker:
    """Takes turns up, and says what it does."""

    def __init__(self, ledger: Ledger, records: Records, owner: str, lease_seconds: float) -> None:
        """Take where turns are, where the provider is, and how it claims."""
        self._coordinator = ledger.coordinator
        self._records = records
        self._owner = owner
        self._lease = lease_seconds
        self._left: set[str] = set()  # what somebody must decide on first

    def take(self, order: str) -> str:
        """Take one turn up; returns what was ordered then."""
        turn_id = order or self._oldest()
        if turn_id is None:
            self._left.clear()
            return _say("idle")
        resumption = self._coordinator.resume(turn_id, self._owner, self._lease)
        if resumption is None:
            return _say("taken", turn_id)
        try:
            return self._answer(resumption)
        except ClaimLost:
            return _say("too late", turn_id)

    def _oldest(self) -> str | None:
        turns = (turn.turn_id for turn in self._coordinator.recoverable())
        return next((turn_id for turn_id in turns if turn_id not in self._left), None)

    def _answer(self, resumption: Resumption) -> str:
        """Do what is to be done first, and what comes after it."""
        claim, attempt = resumption.claim, resumption.attempt
        _say("claimed", claim.turn_id)
        if resumption.step == "resolve_unknown":
            self._left.add(claim.turn_id)
            self._coordinator.release(claim)
            return _say("left", claim.turn_id)
        if resumption.step == "prepare":
            self._coordinator.prepare(claim, _request(claim))
            _say("prepared", claim.turn_id)
        response = resumption.response
        if resumption.step != "use_response":
            response = self._asked(claim, attempt)
        if response is None:
            self._coordinator.release(claim)
            return _say("released", claim.turn_id)
        self._coordinator.complete(claim, response)
        return _say("acked", claim.turn_id)

    def _asked(self, claim: TurnClaim, attempt: int) -> Any:
        """The provider's answer to the request that is prepared; None if there is none."""
        sent = self._coordinator.start_dispatch(claim, attempt)
        _say("dispatching", claim.turn_id)
        connection = HTTPConnection("127.0.0.1", self._records.port(), timeout=_GIVE_UP_SECONDS)
        try:
            headers = {REQUEST_HEADER: sent.provider_turn_id}
            connection.request("POST", "/", json.dumps(sent.request), headers)
            _say("sent", claim.turn_id)
            answer = connection.getresponse()
            said = json.loads(answer.read())
        except (HTTPException, ConnectionError):
            _say("cut off", claim.turn_id)
            return None  # nobody can know; the next recovery will say so
        finally:
            connection.close()
        if answer.status != HTTPStatus.OK:
            self._coordinator.refuse(claim, attempt, said, retryable=True)
            _say("refused", claim.turn_id)
            return None
        _say("answered", claim.turn_id)
        self._coordinator.respond(claim, attempt, sent.request_hash, said)
        _say("responded", claim.turn_id)
        return said


def _request(claim: TurnClaim) -> dict[str, Any]:
    """What the provider is asked."""
    parts: list[dict[str, Any]] = claim.message["input"]
    return {"model": "demo", "prompt": " ".join(part.get("text", "[image]") for part in parts)}


def _say(word: str, turn_id: str = "") -> str:
    """Say it, and wait to be let go; returns what is ordered."""
    sys.stdout.write(f"{word.replace(' ', '-')} {turn_id}\n")
    sys.stdout.flush()
    return _next_order()


def _next_order() -> str:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return line.strip()


if __name__ == "__main__":
    main(*sys.argv[1:])
