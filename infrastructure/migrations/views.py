"""The views for whoever reads a ledger without turnledger: a part of the first schema.

Their names and columns are documented in docs/analytics.md, and stay. What they say of times comes
from the events; the rest from the read models.
"""

from alembic import op

from turnledger.infrastructure.migrations.parts import Words, words


def create_views() -> None:
    """Make them, on the store of this migration."""
    said = words(op.get_bind().dialect.name)
    for name, make in _VIEWS.items():
        op.execute(f"CREATE VIEW {name} AS\n{make(said)}")


def _events(say: Words) -> str:
    def command(path: str) -> str:
        return say.field("metadata", path)

    return f"""
SELECT position, stream_id, {say.before_colon("stream_id")} AS category,
       {say.behind_colon("stream_id")} AS subject, version, type, schema_version,
       {say.time("recorded_at")} AS recorded_at, recorded_at AS recorded_us,
       {command("command.name")} AS command, {command("command.id")} AS command_id,
       {command("actor")} AS actor, {command("correlation_id")} AS correlation_id,
       {command("causation_id")} AS causation_id, data, metadata
FROM events
"""


def _of_queue(say: Words, *words: str) -> str:
    """The events of queues that are about one turn, each with the turn's id."""
    types = ", ".join(f"'thread_queue.{word}'" for word in (*words, "cleared"))
    name, flew = say.field("data", "queued_turn_id"), say.field("data", "in_flight_id")
    return f"""
    SELECT stream_id, version, type, recorded_at, data,
           CASE type WHEN 'thread_queue.cleared' THEN {flew} ELSE {name} END AS turn_id
    FROM events WHERE type IN ({types})"""


def _spans(source: str, key: str, claimed: str) -> str:
    """Of each claim: how long it was held; and the sums of that for each thing."""
    return f"""
    SELECT {key}, count(*) AS claims, min(recorded_at) AS first_claimed,
           sum(until - recorded_at) AS ran
    FROM (SELECT {key}, type, recorded_at,
                 lead(recorded_at) OVER (PARTITION BY {key} ORDER BY version) AS until
          FROM ({source}) AS step) AS span
    WHERE type = '{claimed}' GROUP BY {key}"""


def _turns(say: Words) -> str:
    queue = _of_queue(
        say, "claimed", "released", "recovered", "acked", "failed", "retried", "resolved", "deleted"
    )
    coordinator = _of_streams(
        "coordinator_turn", "claimed", "released", "recovered", "acked", "failed", "cancelled"
    )
    queued = _spans(queue, "stream_id, turn_id", "thread_queue.claimed")
    begun = _spans(coordinator, "stream_id", "coordinator_turn.claimed")
    sent = _of_streams("coordinator_turn", "dispatch_started")
    return f"""
SELECT 'queued' AS kind, turn.queued_turn_id AS turn_id, turn.thread_id, NULL AS work_item_id,
       CASE WHEN turn.queued_turn_id = stream.in_flight_id THEN 'in_flight'
            ELSE turn.state END AS state,
       turn.outcome_unknown,
       CASE WHEN turn.queued_turn_id = stream.in_flight_id THEN stream.owner END AS owner,
       coalesce(span.claims, 0) AS claims, coalesce(sent.attempts, 0) AS attempts,
       {say.time("turn.created_at")} AS created_at,
       {say.time("span.first_claimed")} AS first_claimed_at,
       CASE WHEN turn.state IN ('acked', 'deleted') THEN {say.time("turn.updated_at")} END
           AS ended_at,
       {_waited(say, "turn.created_at", "coalesce(turn.not_before, 0)")} AS waited_seconds,
       {say.seconds("span.ran")} AS ran_seconds
FROM queued_turns AS turn
LEFT JOIN streams AS stream ON stream.stream_id = 'thread_queue:' || turn.thread_id
LEFT JOIN ({queued}) AS span
    ON span.stream_id = 'thread_queue:' || turn.thread_id AND span.turn_id = turn.queued_turn_id
LEFT JOIN (SELECT thread_id, queued_turn_id, count(*) AS attempts
           FROM dispatches GROUP BY thread_id, queued_turn_id) AS sent
    ON sent.thread_id = turn.thread_id AND sent.queued_turn_id = turn.queued_turn_id
UNION ALL
SELECT 'coordinator', turn.turn_id, NULL, turn.work_item_id,
       CASE WHEN turn.outcome = 'failed' OR turn.outcome = 'completed' THEN turn.outcome
            WHEN turn.status = 'claimed' THEN 'in_flight' ELSE turn.status END,
       coalesce(turn.attempt_status = 'unknown', false), turn.owner,
       coalesce(span.claims, 0), coalesce(sent.attempts, 0),
       {say.time("turn.created_at")}, {say.time("span.first_claimed")},
       CASE WHEN turn.status IN ('acked', 'cancelled') THEN {say.time("turn.updated_at")} END,
       {_waited(say, "turn.created_at", "0")}, {say.seconds("span.ran")}
FROM coordinator_mailbox AS turn
LEFT JOIN ({begun}) AS span ON span.stream_id = 'coordinator_turn:' || turn.turn_id
LEFT JOIN (SELECT stream_id, count(*) AS attempts FROM ({sent}) AS one GROUP BY stream_id) AS sent
    ON sent.stream_id = 'coordinator_turn:' || turn.turn_id
"""


def _waited(say: Words, created: str, not_before: str) -> str:
    """How long it waited for its first claim."""
    ready = say.greatest(created, not_before)
    return say.seconds(say.greatest(f"span.first_claimed - {ready}", "0"))


def _of_streams(category: str, *words: str) -> str:
    """Events of streams that are about one thing each."""
    types = ", ".join(f"'{category}.{word}'" for word in words)
    return f"""
    SELECT stream_id, version, type, recorded_at, data
    FROM events WHERE type IN ({types})"""


def _attempts(say: Words) -> str:
    queue = _of_queue(say, "dispatch_started", "acked", "failed")
    coordinator = _of_streams(
        "coordinator_turn",
        *("dispatch_started", "responded", "refused", "rejected", "outcome_unknown"),
        *("acked", "failed", "cancelled"),
    )
    return f"""
SELECT 'dispatch' AS kind, {say.field("data", "dispatch_id")} AS attempt_id,
       turn_id, {say.behind_colon("stream_id")} AS thread_id, NULL AS work_item_id,
       row_number() OVER (PARTITION BY stream_id, turn_id ORDER BY version) AS attempt,
       {say.field("data", "owner")} AS owner, {say.number("data", "epoch")} AS epoch,
       {say.time("recorded_at")} AS started_at, {say.time("until")} AS ended_at,
       {say.seconds("until - recorded_at")} AS seconds,
       CASE WHEN {say.true("ending", "outcome_unknown")} THEN 'outcome_unknown'
            ELSE substr(ended_by, length('thread_queue.') + 1) END AS outcome
FROM (SELECT stream_id, version, turn_id, type, recorded_at, data,
             {_next("stream_id, turn_id", recorded_at="until", type="ended_by", data="ending")}
      FROM ({queue}) AS step) AS span
WHERE type = 'thread_queue.dispatch_started'
UNION ALL
SELECT 'provider_turn', span.turn_id || ':' || {say.field("data", "attempt")}, span.turn_id,
       NULL, turn.work_item_id, {say.number("data", "attempt")}, {say.field("data", "owner")},
       {say.number("data", "epoch")}, {say.time("recorded_at")}, {say.time("until")},
       {say.seconds("until - recorded_at")},
       CASE ended_by WHEN 'coordinator_turn.cancelled' THEN 'outcome_unknown'
            ELSE substr(ended_by, length('coordinator_turn.') + 1) END
FROM (SELECT {say.behind_colon("stream_id")} AS turn_id, type, recorded_at, data,
             {_next("stream_id", recorded_at="until", type="ended_by")}
      FROM ({coordinator}) AS step) AS span
LEFT JOIN coordinator_mailbox AS turn ON turn.turn_id = span.turn_id
WHERE type = 'coordinator_turn.dispatch_started'
"""


def _next(key: str, **columns: str) -> str:
    """Columns of the next event about the same."""
    return ", ".join(
        f"lead({column}) OVER (PARTITION BY {key} ORDER BY version) AS {name}"
        for column, name in columns.items()
    )


def _operations(say: Words) -> str:
    steps = _of_streams(
        "operation", "claimed", "completed", "orphaned", "never_claimed", "resolved"
    )
    return f"""
SELECT operation.key AS operation_key, operation.work_item_id, operation.run_id,
       operation.action_id, operation.operation_type, operation.replay_policy,
       operation.execution, operation.effect, operation.owner,
       coalesce(span.claims, 0) AS claims,
       {say.time("operation.created_at")} AS created_at,
       {say.time("span.first_claimed")} AS first_claimed_at,
       CASE WHEN operation.execution = 'quiescent' THEN {say.time("operation.updated_at")} END
           AS ended_at,
       {_waited(say, "operation.created_at", "0")} AS waited_seconds,
       {say.seconds("span.ran")} AS ran_seconds
FROM operations AS operation
LEFT JOIN ({_spans(steps, "stream_id", "operation.claimed")}) AS span
    ON span.stream_id = 'operation:' || operation.key
"""


def _timer_runs(say: Words) -> str:
    planned, fired = say.field("event.data", "planned_at"), say.field("event.data", "fired_at")
    return f"""
SELECT timer.timer_id, timer.thread_id, {say.number("event.data", "epoch")} AS run,
       {say.field("event.data", "owner")} AS owner,
       {say.time(say.microseconds(planned))} AS planned_at,
       {say.time(say.microseconds(fired))} AS fired_at,
       {say.seconds(f"{say.microseconds(fired)} - {say.microseconds(planned)}")} AS late_seconds,
       {say.number("event.data", "missed")} AS missed,
       {say.field("event.data", "message_id")} AS message_id,
       {say.field("event.data", "error")} AS error
FROM events AS event
JOIN due_timers AS timer ON timer.timer_id = {say.behind_colon("event.stream_id")}
WHERE event.type = 'timer.fired'
"""


_VIEWS = {
    "v_events": _events,
    "v_turns": _turns,
    "v_attempts": _attempts,
    "v_operations": _operations,
    "v_timer_runs": _timer_runs,
}
