"""`turnledger.migrate`: a ledger's schema is brought up to this release's, by who may do it."""

import os
from contextlib import closing
from dataclasses import dataclass

from turnledger.domain.settings import Settings
from turnledger.infrastructure.backend import Backend
from turnledger.infrastructure.clock import host_clock
from turnledger.infrastructure.contents import contents_of
from turnledger.infrastructure.migration import HEAD
from turnledger.infrastructure.opening import open_store, schema_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Migration:
    """What was done.

    Attributes:
        before: Which schema there was; None if there was none.
        after: Which one there is.
        ledger_id: Which ledger it is; likewise its generation.
    """

    before: str | None
    after: str
    ledger_id: str
    generation: str


def migrate(url_or_path: str | os.PathLike[str], *, encrypt: bool = False) -> Migration:
    """Make a ledger's schema, or bring it up to this release's.

    `turnledger.open` does the same, but on a server the role that works with the ledger may not be
    allowed to. Safe beside processes that work, and beside others that do the same.

    Args:
        url_or_path: Where it is; see `turnledger.open`.
        encrypt: Make an encrypted one.

    Raises:
        NotEncrypted: It was made without encryption.
        StoreError: It can't be opened or changed; the subclass says why.
    """
    settings = Settings()
    before = schema_of(url_or_path, settings)
    with closing(open_store(url_or_path, settings, read_only=False)) as store:
        contents = contents_of(store, settings, encrypt=encrypt)
        with closing(Backend(store, host_clock, settings, contents)) as backend:
            ledger_id, generation = backend.ledger_id, backend.generation
    return Migration(
        before=before,
        after=HEAD,
        ledger_id=ledger_id,
        generation=generation,
    )
