"""`turnledger metrics`: the numbers that somebody should be woken for, for Prometheus."""

import signal

import click

from turnledger import InvalidPayload, Ledger
from turnledger.cli.command import LedgerCommand
from turnledger.cli.log_command import ended_quietly
from turnledger.cli.session import current

_PORTS = click.IntRange(0, 65_535)


@click.command(
    "metrics",
    cls=LedgerCommand,
    example="""turnledger metrics
    turnledger metrics --listen 9464""",
    exits={0: "written"},
)
@click.option(
    "--listen",
    "port",
    type=_PORTS,
    metavar="PORT",
    help="Answer scrapes, for ever; 0 is a free port.",
)
@click.option(
    "--address",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="With --listen: where it can be reached.",
)
def metrics(*, port: int | None, address: str) -> None:
    """Waiting, blocked, unknown, behind: gauges in the text format of Prometheus."""
    session = current()
    with session.reading() as ledger:
        if port is not None:
            with ended_quietly():
                _listen(ledger, address, port)
        elif session.as_json:
            session.document(ledger.gauges())
        else:
            _write(ledger)


def _write(ledger: Ledger) -> None:
    try:
        from turnledger.metrics import as_text  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise _missing() from error
    click.echo(as_text(ledger.gauges), nl=False)


def _listen(ledger: Ledger, address: str, port: int) -> None:
    try:
        from turnledger.metrics import listen  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise _missing() from error
    server, thread = listen(ledger.gauges, address, port)
    click.echo(f"http://{address}:{server.server_port}/metrics", err=True)
    try:
        signal.pause()
    finally:
        server.shutdown()
        thread.join()


def _missing() -> InvalidPayload:
    needed = "needs prometheus-client: pip install 'turnledger[prometheus]'"
    return InvalidPayload("metrics", f"{needed}; --json gives the same without it")


COMMANDS = (metrics,)
