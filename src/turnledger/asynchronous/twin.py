"""The asynchronous twin of a service: the same methods, awaited."""

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from turnledger.asynchronous.crew import Crew

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Service = TypeVar("Service")


class Twin(Generic[Service]):
    """Stands before a service, whose methods it lets a crew carry out."""

    def __init__(self, service: Service, crew: Crew) -> None:
        """Take the service, and who works for it."""
        self._service = service
        self._crew = crew


def awaited(
    method: Callable[Concatenate[Any, Arguments], Result],
) -> Callable[Concatenate[Any, Arguments], Coroutine[Any, Any, Result]]:
    """Make the twin of a service's method: a coroutine of the same arguments, result and text."""
    return _twin(method, Crew.run)


def commanded(
    method: Callable[Concatenate[Any, Arguments], Result],
) -> Callable[Concatenate[Any, Arguments], Coroutine[Any, Any, Result]]:
    """Make the twin of a method that is one command; see `Crew.command`."""
    return _twin(method, Crew.command)


def _twin(
    method: Callable[Concatenate[Any, Arguments], Result], how: Callable[..., Any]
) -> Callable[Concatenate[Any, Arguments], Coroutine[Any, Any, Result]]:
    @functools.wraps(method)
    async def twin(self: Any, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        result: Result = await how(self._crew, method, self._service, *args, **kwargs)
        return result

    return twin
