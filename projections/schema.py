"""What the read models' tables share: their metadata, their column types, their statements.

JSON is stored as compact text, since the stores' own JSON types reorder keys and
round large numbers.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Boolean, Column, Integer, MetaData, Text
from sqlalchemy.sql.dml import UpdateBase as Executable

from turnledger.domain.event import Event

metadata = MetaData()

Parameters = dict[str, Any]


class Step(NamedTuple):
    """One statement of what an event does to a read model.

    Its parameters are the event's fields, thread_id, version and recorded_at. `rows` replaces
    them: one set of parameters for each execution, none for no execution.
    """

    statement: Executable
    rows: Callable[[Any, Parameters], list[Parameters]] | None = None


Reactions = dict[type[Event], tuple[Step, ...]]


# Names are compared and ordered by their bytes, as SQLite does anyway.
BYTEWISE = Text().with_variant(Text(collation="C"), "postgresql")


def text(name: str, *, nullable: bool = False, primary_key: bool = False) -> Column[str]:
    """A column of text."""
    return Column(name, BYTEWISE, nullable=nullable, primary_key=primary_key)


def integer(name: str, *, nullable: bool = False) -> Column[int]:
    """A column of whole numbers."""
    return Column(name, BigInteger, nullable=nullable)


def count(name: str) -> Column[int]:
    """A column of small whole numbers."""
    return Column(name, Integer, nullable=False)


def flag(name: str) -> Column[bool]:
    """A column that is true or false."""
    return Column(name, Boolean, nullable=False)
