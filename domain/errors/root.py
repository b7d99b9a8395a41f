"""What all errors share, and those that stand directly under the root."""

import re
from datetime import datetime
from typing import Any, ClassVar

_WORD_START = re.compile(r"(?<!^)(?=[A-Z])")


class LedgerError(Exception):
    """The root of all that turnledger raises.

    Attributes:
        code: The class name in snake case; stable, for programs.
        retryable: Whether the same call may succeed later without anybody's help.
    """

    code: ClassVar[str] = "ledger_error"
    retryable: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Derive the stable code from the class name."""
        super().__init_subclass__(**kwargs)
        cls.code = _WORD_START.sub("_", cls.__name__).lower()

    def __init__(self, message: str, **facts: Any) -> None:
        super().__init__(message)
        self.message = message
        self.facts = facts
        self.__dict__.update(facts)

    def __reduce__(self) -> Any:
        """Pickle by message and facts, whatever the subclass's constructor takes."""
        return (_rebuild, (type(self), self.message, self.facts))


def _rebuild(kind: type[LedgerError], message: str, facts: dict[str, Any]) -> LedgerError:
    error = kind.__new__(kind)
    LedgerError.__init__(error, message, **facts)
    return error


class NoEffect(LedgerError):
    """Raised by the body of an operation: it ended, and is known to have had no effect."""

    result: Any

    def __init__(self, result: Any = None) -> None:
        said = "" if result is None else f": {result}"
        super().__init__(f"the operation had no effect{said}", result=result)


class Refused(LedgerError):
    """Raised by a call to a provider: it said no, and is known to have done nothing.

    Attributes:
        error: What it said, as JSON.
        retry: Another attempt may help.
        retry_at: From when on; default by the retry policy.
    """

    error: Any
    retry: bool
    retry_at: datetime | None

    def __init__(
        self, error: Any, *, retry: bool = False, retry_at: datetime | None = None
    ) -> None:
        super().__init__(f"it was refused: {error}", error=error, retry=retry, retry_at=retry_at)


class OtherGeneration(LedgerError):
    """A cursor comes from before the ledger was restored: events it saw may not exist now."""

    def __init__(self, given: str, current: str) -> None:
        super().__init__(
            f"the cursor is of generation {given}, the ledger is of generation {current} (it "
            "was restored from a backup); read again from the start",
            given=given,
            current=current,
        )


class Unreadable(LedgerError):
    """A stored record is damaged or of a newer release. It is kept, and nothing is done with it."""

    def __init__(
        self,
        what: str,
        reason: str,
        advice: str = "it is kept as it is (see `turnledger verify`)",
    ) -> None:
        super().__init__(
            f"{what} can't be read: {reason}; {advice}",
            what=what,
            reason=reason,
        )
