"""Whether a server keeps what it acknowledges, for `doctor`."""

from collections.abc import Iterator
from typing import Literal

from turnledger.infrastructure.statement import Cursor

Examined = tuple[str, Literal["ok", "note", "problem"], str]

_SETTINGS = """
SELECT current_setting('server_version'), current_setting('fsync'),
       current_setting('full_page_writes'), current_setting('synchronous_commit'),
       current_setting('synchronous_standby_names')
"""
_BACKLOG = "SELECT count(*) FROM unnumbered"
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8"
_MOST_SECONDS_APART = 60.0


def examined(cursor: Cursor, host_seconds: float) -> Iterator[Examined]:
    """Look at a server's version, its durability, its standbys, its clock and the log.

    Args:
        cursor: In autocommit.
        host_seconds: This machine's clock, in seconds since 1970.
    """
    version, fsync, pages, commit, standbys = cursor.execute(_SETTINGS).fetchone()
    yield "server", "ok", f"PostgreSQL {version}"
    yield _durability(fsync, pages, commit)
    if standbys:
        yield "standby", "ok", f"commits wait for {standbys}"
    else:
        yield "standby", "note", "no synchronous standby: what the server's disk loses is lost"
    apart = abs(cursor.execute(_CLOCK).fetchone()[0] - host_seconds)
    if apart > _MOST_SECONDS_APART:
        message = f"this machine's clock is {apart:,.0f} s off the server's; the server's counts"
        yield "clocks", "note", message
    (waiting,) = cursor.execute(_BACKLOG).fetchone()
    yield "log", "ok", f"{waiting:,} events have no position yet; whoever reads the log gives it"


def _durability(fsync: str, pages: str, commit: str) -> Examined:
    said = f"fsync={fsync}, full_page_writes={pages}, synchronous_commit={commit}"
    if fsync != "on" or pages != "on":
        return "durability", "problem", f"{said}: a crash may corrupt the ledger"
    if commit == "off":
        return "durability", "note", f"{said}: a crash may lose the last commits"
    return "durability", "ok", said
