"""A small app server: it speaks the recorded protocol, and notes what it got in a file.

server_program.py FILE HOW: complete, fail, interrupt, refuse, overloaded, unloaded, ask, hang, die.
"""

import itertools
import json
import sys
from pathlib import Path
from typing import Any

ids = itertools.count(1)
FILE, HOW = Path(sys.argv[1]), sys.argv[2]
refusals = {"refuse": 99, "overloaded": 1, "unloaded": 1}
ERRORS = {
    "refuse": (-32600, "Invalid request"),
    "overloaded": (-32001, "Server overloaded; retry later."),
    "unloaded": (-32600, "thread not found"),
}


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def note(method: str, params: Any) -> None:
    with FILE.open("a") as file:
        file.write(json.dumps([method, params]) + "\n")


def completed(thread_id: str, turn_id: str, status: str) -> None:
    error = {"message": "the model said no"} if status == "failed" else None
    turn = {"id": turn_id, "items": [], "status": status, "error": error}
    say({"method": "turn/completed", "params": {"threadId": thread_id, "turn": turn}})


def start(number: int, params: dict[str, Any]) -> None:
    """Take a turn, and do with it what this server is for."""
    if refusals.get(HOW, 0):
        refusals[HOW] -= 1
        code, message = ERRORS[HOW]
        say({"id": number, "error": {"code": code, "message": message}})
        return
    note("turn/start", params)
    turn_id = f"turn-{next(ids)}"
    if HOW == "die":
        sys.exit(1)
    if HOW == "ask":
        say({"id": 900, "method": "item/commandExecution/requestApproval", "params": {}})
    turn = {"id": turn_id, "items": [], "status": "inProgress", "error": None}
    say({"id": number, "result": {"turn": turn}})
    say({"method": "turn/started", "params": {"threadId": params["threadId"], "turn": turn}})
    if HOW not in ("hang", "ask"):
        status = {"fail": "failed", "interrupt": "interrupted"}.get(HOW, "completed")
        completed(params["threadId"], turn_id, status)


for line in sys.stdin:
    message = json.loads(line)
    method, given = message.get("method"), message.get("params") or {}
    if method == "turn/start":
        start(message["id"], given)
    elif method == "turn/steer":
        note(method, given)
        say({"id": message["id"], "result": {"turnId": given["expectedTurnId"]}})
        completed(given["threadId"], given["expectedTurnId"], "completed")
    elif method is None:
        note("answer", message.get("error", message.get("result")))
        completed("thread", "turn-1", "completed")
    elif "id" in message:
        note(method, given)
        say({"id": message["id"], "result": {}})
