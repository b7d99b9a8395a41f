"""A server for the commands that the documents give for one."""

from tests.postgresql.fixtures import postgresql_database, postgresql_server

__all__ = ["postgresql_database", "postgresql_server"]
