"""The fixtures that are tested here."""

from tests.postgresql.fixtures import (
    postgresql_database,
    postgresql_server,
    postgresql_standby_pair,
)

__all__ = ["postgresql_database", "postgresql_server", "postgresql_standby_pair"]
