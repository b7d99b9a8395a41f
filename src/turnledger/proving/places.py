"""New ledgers for an attack, where the user's own would be: in a folder, or on a server."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

from sqlalchemy import create_engine, make_url, text

from turnledger.infrastructure.opening import is_on_server


@contextmanager
def new_ledger(place: str) -> Generator[str]:
    """Where a new ledger can be made, of which nothing is left in the end.

    Args:
        place: A folder; or a server's URL, in whose database a schema of its own is made.
    """
    name = f"turnledger_attack_{token_hex(4)}"
    if not is_on_server(place):
        with TemporaryDirectory(prefix=name, dir=place) as folder:
            yield str(Path(folder) / "ledger.db")
        return
    url = make_url(place).set(drivername="postgresql+psycopg")
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(text(f"CREATE SCHEMA {name}"))
        inside = url.update_query_dict({"options": f"-c search_path={name}"})
        yield inside.render_as_string(hide_password=False)
        with engine.connect() as connection:
            connection.execute(text(f"DROP SCHEMA {name} CASCADE"))
    finally:
        engine.dispose()
