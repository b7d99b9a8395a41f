"""Evidence beside what it is about: a JSON array in the column `evidence` of its row."""

from typing import Any

from sqlalchemy import Table, Text, bindparam, case, func, update
from sqlalchemy import literal_column as sql

from turnledger.domain.evidence import Piece
from turnledger.domain.payload import encode
from turnledger.projections.schema import Parameters, Step

NONE: Any = sql("'[]'")


def keeping(table: Table, *this: Any) -> Step:
    """The step that adds a piece of evidence to a row.

    It adds to the JSON array as text, since its bytes must be the same on every store.

    Args:
        table: Has the column `evidence`.
        this: Which row.
    """
    kept, item = table.c.evidence, bindparam("item", type_=Text())
    one: Any = sql("1")
    rest = func.substr(kept, one, func.length(kept) - one)
    longer: Any = case(
        (kept == NONE, sql("'['").concat(item).concat(sql("']'"))),
        else_=rest.concat(sql("','")).concat(item).concat(sql("']'")),
    )
    return Step(update(table).where(*this).values(evidence=longer), _item)


def _item(event: Piece, given: Parameters) -> list[Parameters]:
    item = event.model_dump(include={"owner", "epoch", "kind", "value", "altered"})
    return [{**given, "item": encode({**item, "recorded_at": given["recorded_at"]})}]
