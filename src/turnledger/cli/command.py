"""The form of every command: --db and --json at any place, and help that says what is needed."""

from collections.abc import Mapping
from typing import Any

import click

from turnledger.cli.session import DEFAULT, VARIABLE, Session

ALWAYS = {
    2: "wrong usage or bad input",
    3: "the store can't be opened, read or written",
}
_IN_FULL = 1_000  # characters: more than any first sentence has


class LedgerCommand(click.Command):
    """A command with the options that all share, and help in the same order everywhere."""

    def __init__(
        self,
        *args: Any,
        needs: Mapping[str, str] | None = None,
        example: str = "",
        exits: Mapping[int, str] | None = None,
        **kwargs: Any,
    ) -> None:
        """Take what the help says beside the options.

        Args:
            args: As of click.
            needs: What each positional argument is.
            example: Lines that can be typed.
            exits: What the exit statuses 0 and 1 mean.
            kwargs: As of click.
        """
        super().__init__(*args, **kwargs)
        self.needs = needs or {}
        self.example = example
        self.exits = exits or {}
        self.params.extend(shared_options())

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """What it is for, its arguments, an example, its options and its exit statuses."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        if self.needs:
            with formatter.section("Arguments"):
                formatter.write_dl(list(self.needs.items()))
        if self.example:
            with formatter.section("Example"):
                for line in self.example.splitlines():
                    formatter.write(f"  {line.strip()}\n")
        self.format_options(ctx, formatter)
        if self.exits:
            with formatter.section("Exit status"):
                statuses = {**self.exits, **ALWAYS}
                formatter.write_dl([(str(status), text) for status, text in statuses.items()])


class LedgerGroup(LedgerCommand, click.Group):
    """A group of such commands, listed in the order in which they are defined."""

    command_class = LedgerCommand
    group_class = type

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click passes it
        """Their names, in order."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each with what it is for, in full."""
        del ctx
        rows = [(name, one.get_short_help_str(_IN_FULL)) for name, one in self.commands.items()]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def shared_options() -> list[click.Parameter]:
    """The options that every command and group takes; the last one given counts."""
    store = click.Option(
        ["--db"],
        metavar="PATH_OR_URL",
        expose_value=False,
        callback=_set_store,
        help=(
            "The ledger: a file, or postgresql+psycopg://USER@HOST/DATABASE.  "
            f"[env var: {VARIABLE}; default: {DEFAULT}]"
        ),
    )
    as_json = click.Option(
        ["--json"],
        is_flag=True,
        expose_value=False,
        callback=_set_json,
        help="Answer in JSON on standard out, errors too.",
    )
    return [store, as_json]


def _set_store(ctx: click.Context, _parameter: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.ensure_object(Session).store = value


def _set_json(ctx: click.Context, _parameter: click.Parameter, value: object) -> None:
    if value:
        ctx.ensure_object(Session).as_json = True
