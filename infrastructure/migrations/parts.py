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
