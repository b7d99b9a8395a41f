"""The hook that sees all contents before they are stored."""

from typing import Any, Protocol


class Redactor(Protocol):
    """Anything that is called with every payload and text of a caller, before it is hashed.

    It has to give the same for the same, always: a command that is sent again is known by the hash
    of what was given here.
    """

    def __call__(self, where: str, value: Any, /) -> Any:
        """Return what is to be stored.

        Args:
            where: The argument's name: "submission", "message", "content", "reason" and so on.
            value: JSON that was checked. It isn't to be changed.
        """
        ...
