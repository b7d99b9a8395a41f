"""Questions to a ledger's history, asked with DuckDB over an export in Parquet.

turnledger isn't needed for it, only the file: each step can be pasted into a notebook.

    turnledger export parquet -o events.parquet
    python examples/analytics.py events.parquet
"""

import sys

import duckdb

path = sys.argv[1] if len(sys.argv) > 1 else "events.parquet"
database = duckdb.connect()
database.read_parquet(path).create_view("events")


def show(title: str, query: str) -> None:
    """Print what a query gives."""
    print(f"\n{title}")
    print(database.sql(query))


# %% What there is
show(
    "events by type",
    """
    SELECT type, count(*) AS events, min(recorded_at) AS first, max(recorded_at) AS last
    FROM events GROUP BY type ORDER BY events DESC, type
    """,
)

# %% Each queued turn, from its appending to its end
database.execute(
    """
    CREATE VIEW turns AS
    SELECT
        id AS thread_id,
        data->>'queued_turn_id' AS queued_turn_id,
        min(recorded_at) FILTER (type = 'thread_queue.appended') AS appended_at,
        min(recorded_at) FILTER (type = 'thread_queue.claimed') AS claimed_at,
        max(recorded_at) FILTER (type IN ('thread_queue.acked', 'thread_queue.failed')) AS ended_at,
        count(*) FILTER (type = 'thread_queue.claimed') AS claims,
        bool_or(type = 'thread_queue.acked') AS acked,
        bool_or(type = 'thread_queue.failed') AS ever_failed
    FROM events
    WHERE category = 'thread_queue' AND data->>'queued_turn_id' IS NOT NULL
    GROUP BY ALL
    """
)

# %% How long they waited, and how long they ran
show(
    "seconds that turns waited and ran",
    """
    SELECT
        count(*) AS turns,
        count(*) FILTER (acked) AS acked,
        count(*) FILTER (ever_failed) AS ever_failed,
        round(quantile_cont(epoch(claimed_at - appended_at), 0.5), 3) AS waited_p50,
        round(quantile_cont(epoch(claimed_at - appended_at), 0.95), 3) AS waited_p95,
        round(quantile_cont(epoch(ended_at - claimed_at), 0.5), 3) AS ran_p50,
        round(quantile_cont(epoch(ended_at - claimed_at), 0.95), 3) AS ran_p95
    FROM turns
    """,
)

# %% The threads with the most turns
show(
    "threads",
    """
    SELECT thread_id, count(*) AS turns, sum(claims) AS claims, count(*) FILTER (acked) AS acked
    FROM turns GROUP BY thread_id ORDER BY turns DESC, thread_id LIMIT 10
    """,
)

# %% What follows what, as in a directly-follows graph
show(
    "steps of queued turns, with the seconds between them",
    """
    WITH steps AS (
        SELECT
            type,
            lead(type) OVER story AS next,
            epoch(lead(recorded_at) OVER story - recorded_at) AS seconds
        FROM events
        WHERE category = 'thread_queue' AND data->>'queued_turn_id' IS NOT NULL
        WINDOW story AS (PARTITION BY id, data->>'queued_turn_id' ORDER BY position)
    )
    SELECT type, next, count(*) AS times, round(quantile_cont(seconds, 0.5), 3) AS median
    FROM steps WHERE next IS NOT NULL GROUP BY ALL ORDER BY times DESC, type, next
    """,
)
