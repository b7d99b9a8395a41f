"""`turnledger selftest`."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from turnledger.cli.command import LedgerCommand
from turnledger.cli.plain_text import clean
from turnledger.cli.session import current

if TYPE_CHECKING:
    from turnledger.proving import selftest as attacks


@click.command(
    "selftest",
    cls=LedgerCommand,
    example="turnledger selftest --minutes 5\nturnledger --db agents.db selftest --seed 7",
    exits={0: "everything held", 1: "something didn't"},
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    default=5.0,
    show_default=True,
    metavar="NUMBER",
    help="How long, about.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, metavar="NUMBER", help="Where chance begins."
)
def selftest(*, minutes: float, seed: int) -> int:
    """Attack ledgers that are made for it, on the disk or server of this one."""
    from turnledger.proving.selftest import place_of, run  # noqa: PLC0415 - for this one alone

    session = current()
    done: list[attacks.Attack] = []
    for attack in run(place_of(session.location), minutes, seed):
        done.append(attack)
        if not session.as_json:
            click.echo(_told(attack))
    if session.as_json:
        session.document([asdict(attack) for attack in done])
    return int(any(attack.broken is not None for attack in done))


def _told(attack: "attacks.Attack") -> str:
    about = f"{attack.seconds:.0f} s, seed {attack.seed}"
    if attack.broken is None:
        return f"held    {attack.name}: {attack.claim} ({attack.figures}; {about})"
    lines = "\n        ".join(clean(line) for line in attack.broken.splitlines())
    return f"BROKEN  {attack.name}: {lines} ({about})"


COMMANDS = (selftest,)
