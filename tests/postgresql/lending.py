"""Databases that tests use one after the other: emptying one is much faster than making one.

Only those come back whose schema is as it was: tests may change anything in a database.
"""

import psycopg
from psycopg import sql

_SCHEMA = """
    SELECT md5(string_agg(part, E'\\n' ORDER BY part)) FROM (
        SELECT nspname::text FROM pg_namespace WHERE nspname !~ '^pg_'
        UNION ALL
        SELECT concat_ws(' ', oid::regclass, relkind, relowner::regrole, relacl, reloptions)
        FROM pg_class WHERE relnamespace = 'public'::regnamespace
        UNION ALL
        SELECT concat_ws(' ', attrelid::regclass, attname, format_type(atttypid, atttypmod),
            attnotnull, attidentity, attacl)
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = 'public'::regnamespace AND attnum > 0
        UNION ALL
        SELECT concat_ws(' ', tgrelid::regclass, tgname, tgenabled, pg_get_triggerdef(oid))
        FROM pg_trigger
        UNION ALL
        SELECT concat_ws(' ', conrelid::regclass, pg_get_constraintdef(oid)) FROM pg_constraint
        WHERE connamespace = 'public'::regnamespace
        UNION ALL
        SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
        WHERE relnamespace = 'public'::regnamespace
        UNION ALL
        SELECT pg_get_viewdef(oid) FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind = 'v'
        UNION ALL
        SELECT concat_ws(' ', proname, prosrc, proacl) FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace
        UNION ALL
        SELECT concat_ws(' ', setrole, setconfig) FROM pg_db_role_setting
        WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
    ) AS parts (part)
"""
_TABLES = """
    SELECT relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'alembic_version'
"""
_OTHERS = """
    SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


def schema(conninfo: str) -> str:
    """What tells the schema of a database from another one."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        return str(one(connection, _SCHEMA)[0])


def emptied(conninfo: str, wanted: str) -> bool:
    """Empty a database, whoever is still connected to it; False if its schema isn't as wanted."""
    with psycopg.connect(conninfo, autocommit=True) as connection:
        connection.execute(_OTHERS)
        if one(connection, _SCHEMA)[0] != wanted:
            return False
        connection.execute("SET session_replication_role = replica")  # no trigger keeps us off
        connection.execute("SET synchronous_commit = off")
        tables = [sql.Identifier("public", *row) for row in connection.execute(_TABLES)]
        truncate = sql.SQL("TRUNCATE {} RESTART IDENTITY").format(sql.SQL(", ").join(tables))
        connection.execute(truncate)  # which forgets how long they were, too: plans depend on it
    return True


def one(connection: psycopg.Connection[tuple[object, ...]], query: str) -> tuple[object, ...]:
    """The one row of a query."""
    found = connection.execute(query.encode()).fetchone()
    assert found is not None
    return found
