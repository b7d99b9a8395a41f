"""The schema: made and upgraded by numbered steps, the same as the code has it."""

import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Table, create_engine
from sqlalchemy.pool import NullPool
from sqlalchemy.schema import CreateIndex, CreateTable

import turnledger
from turnledger.domain.settings import Settings
from turnledger.infrastructure import migration, schema
from turnledger.infrastructure.migration import HEAD, migrate
from turnledger.infrastructure.sqlite import SqliteStore
from turnledger.infrastructure.statement import DIALECTS, SQLITE

Program = Callable[..., "subprocess.Popen[str]"]

OPEN_AT_ONCE = """
import sys, turnledger
print("ready", flush=True)
sys.stdin.readline()
with turnledger.open(sys.argv[1]) as ledger:
    ledger.queue.append("thread", {"from": sys.argv[2]})
    print(ledger.ledger_id)
"""
OPEN_AGAIN = """
import sys, turnledger
with turnledger.open(sys.argv[1]) as ledger:
    ledger.queue.append("thread", {})
print("alembic" in sys.modules)
"""

TRIGGERS = ("events_no_update", "events_no_delete")
VIEWS = ("visible_queue", "in_flight_turns", "open_operations")
VIEWS += ("v_events", "v_turns", "v_attempts", "v_operations", "v_timer_runs")


@contextmanager
def database(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path)) as connection, connection:
        yield connection


def statements(path: Path) -> dict[str, str]:
    """What made each table, index and trigger, with its blanks evened out."""
    with database(path) as connection:
        query = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        return {name: " ".join(sql.split()) for name, sql in connection.execute(query)}


def declared() -> dict[str, str]:
    """What would make each table and index as the code declares them."""
    made = {
        table.name: str(CreateTable(table).compile(dialect=DIALECTS[SQLITE])) for table in tables()
    }
    for table in tables():
        for index in table.indexes:
            made[str(index.name)] = str(CreateIndex(index).compile(dialect=DIALECTS[SQLITE]))
    return {name: " ".join(sql.split()) for name, sql in made.items()}


def tables() -> list[Table]:
    return list(schema.metadata.tables.values())


def test_alembic_finds_no_difference_between_the_steps_and_the_declared_schema(
    store: SqliteStore,
) -> None:
    engine = create_engine(f"sqlite:///{store.path}", poolclass=NullPool)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, schema.metadata) == []


def test_the_steps_make_the_declared_schema_to_the_letter_but_for_triggers_and_views(
    store: SqliteStore,
) -> None:
    made = statements(store.path)

    others = {name: made.pop(name) for name in set(made) - set(declared())}
    assert made == declared()
    assert set(others) == {"alembic_version", *TRIGGERS, *VIEWS}


def test_the_newest_step_is_the_one_that_a_release_asks_for() -> None:
    assert ScriptDirectory(str(migration._SCRIPTS)).get_current_head() == HEAD


def test_the_steps_are_numbered_without_a_gap() -> None:
    steps = list(ScriptDirectory(str(migration._SCRIPTS)).walk_revisions())

    numbers = [step.revision for step in reversed(steps)]
    assert numbers == [f"{number:04}" for number in range(1, len(steps) + 1)]
    assert [step.down_revision for step in reversed(steps)] == [None, *numbers[:-1]]


def test_migrating_again_changes_nothing(store: SqliteStore) -> None:
    before = statements(store.path)

    migrate(store)

    assert statements(store.path) == before


def test_opening_a_ledger_that_needs_no_step_does_not_load_alembic(
    store: SqliteStore, program: Program
) -> None:
    printed, _ = program(OPEN_AGAIN, store.path).communicate()

    assert printed == "False\n"


def test_an_empty_file_becomes_a_ledger(path: Path) -> None:
    path.touch()

    with turnledger.open(path) as ledger:
        ledger.queue.append("thread", {})

    assert set(declared()) < set(statements(path))


def test_a_database_of_something_else_is_refused_and_left_as_it_was(path: Path) -> None:
    with database(path) as connection:
        connection.execute("CREATE TABLE events (something TEXT)")
    before = statements(path)

    with pytest.raises(turnledger.StoreDamaged, match="something else"):
        turnledger.open(path)

    assert statements(path) == before


def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(path: Path) -> None:
    letter = b"Dear reader, this is no database. " * 100
    path.write_bytes(letter)

    with pytest.raises(turnledger.StoreDamaged):
        turnledger.open(path)

    assert path.read_bytes() == letter


def test_a_ledger_of_a_newer_release_is_refused_and_left_as_it_was(store: SqliteStore) -> None:
    store.close()
    with database(store.path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(turnledger.StoreTooNew, match=f"schema is 9999, this release knows {HEAD}"):
        turnledger.open(store.path)

    with database(store.path) as connection:
        assert connection.execute("SELECT * FROM alembic_version").fetchall() == [("9999",)]


def test_a_ledger_that_was_never_made_cannot_be_opened_read_only(path: Path) -> None:
    path.touch()

    with pytest.raises(turnledger.StoreReadOnly, match="schema is missing"):
        turnledger.open(path, read_only=True)

    assert path.stat().st_size == 0


def test_a_step_that_fails_leaves_the_file_as_it_was(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgrade = migration.upgrade

    def upgraded_halfway(*arguments: object) -> None:
        upgrade(*arguments)  # type: ignore[arg-type]
        raise InterruptedError

    monkeypatch.setattr(migration, "upgrade", upgraded_halfway)
    with closing(SqliteStore(path, Settings())) as store, pytest.raises(InterruptedError):
        migrate(store)

    assert statements(path) == {}


def test_several_processes_may_open_a_new_ledger_at_once(path: Path, program: Program) -> None:
    children = [program(OPEN_AT_ONCE, path, number) for number in range(4)]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"

    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()

    printed = {child.communicate()[0] for child in children}
    assert [child.returncode for child in children] == [0] * 4
    with turnledger.open(path) as ledger:
        assert printed == {f"{ledger.ledger_id}\n"}
        submissions = [turn.submission or {} for turn in ledger.queue.list("thread")]
        assert {submission["from"] for submission in submissions} == set("0123")
