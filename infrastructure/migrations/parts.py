"""What the migrations make tables of."""

import sqlalchemy as sa
from alembic import op

TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")  # ordered by its bytes


def partial_index(
    name: str, table: str, columns: list[str], where: str, *, unique: bool = False
) -> None:
    """Make an index of the rows for which a condition holds."""
    condition = sa.text(where)
    op.create_index(
        name, table, columns, unique=unique, sqlite_where=condition, postgresql_where=condition
    )


class Words:
    """How a view says something, in SQLite's SQL. Arguments are SQL, too."""

    def field(self, json: str, path: str) -> str:
        """A field of JSON text, as text; of what can't be read, null."""
        return f"CASE WHEN json_valid({json}) THEN json_extract({json}, '$.{path}') END"

    def number(self, json: str, path: str) -> str:
        """A field that is a whole number."""
        return self.field(json, path)

    def true(self, json: str, path: str) -> str:
        """Whether a field is true."""
        return f"({self.field(json, path)}) = 1"

    def before_colon(self, text: str) -> str:
        """What stands before the first colon."""
        return f"substr({text}, 1, instr({text}, ':') - 1)"

    def behind_colon(self, text: str) -> str:
        """What stands behind the first colon."""
        return f"substr({text}, instr({text}, ':') + 1)"

    def time(self, stored: str) -> str:
        """A stored time: ISO 8601 text in UTC, always as long."""
        whole = f"strftime('%Y-%m-%dT%H:%M:%S', ({stored}) / 1000000, 'unixepoch')"
        return f"{whole} || printf('.%06dZ', ({stored}) % 1000000)"

    def microseconds(self, text: str) -> str:
        """A time that is ISO 8601 text in UTC, as it is stored."""
        fraction = f"substr(rtrim(substr({text}, 21), 'Z') || '000000', 1, 6)"
        more = f"CASE substr({text}, 20, 1) WHEN '.' THEN CAST({fraction} AS INTEGER) ELSE 0 END"
        return f"(strftime('%s', {text}) * 1000000 + {more})"

    def seconds(self, microseconds: str) -> str:
        """A duration in seconds."""
        return f"({microseconds}) / 1e6"

    def greatest(self, first: str, second: str) -> str:
        """The greater one; null if one is null."""
        return f"max({first}, {second})"


class PostgresqlWords(Words):
    """Likewise, in PostgreSQL's."""

    def field(self, json: str, path: str) -> str:
        """A field of JSON text, as text."""
        return f"({json}::json #>> '{{{path.replace('.', ',')}}}')"

    def number(self, json: str, path: str) -> str:
        """A field that is a whole number."""
        return f"{self.field(json, path)}::bigint"

    def true(self, json: str, path: str) -> str:
        """Whether a field is true."""
        return f"{self.field(json, path)} = 'true'"

    def before_colon(self, text: str) -> str:
        """What stands before the first colon."""
        return f"split_part({text}, ':', 1)"

    def behind_colon(self, text: str) -> str:
        """What stands behind the first colon."""
        return f"substr({text}, strpos({text}, ':') + 1)"

    def time(self, stored: str) -> str:
        """A stored time, as a timestamp with time zone."""
        return f"(timestamptz 'epoch' + ({stored}) * interval '1 microsecond')"

    def microseconds(self, text: str) -> str:
        """A time that is ISO 8601 text, as it is stored."""
        return f"(extract(epoch FROM {text}::timestamptz) * 1000000)::bigint"

    def seconds(self, microseconds: str) -> str:
        """A duration in seconds."""
        return f"(({microseconds}) / 1e6)::double precision"

    def greatest(self, first: str, second: str) -> str:
        """The greater one; null if the first is null."""
        return f"(CASE WHEN {first} < {second} THEN {second} ELSE {first} END)"


def words(dialect: str) -> Words:
    """How views are written for a store."""
    return PostgresqlWords() if dialect == "postgresql" else Words()
