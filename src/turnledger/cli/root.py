"""The commands of the first level, put together."""

import click

from turnledger.cli import (
    append_command,
    attempt_command,
    audit_command,
    backup_command,
    claim_command,
    copy_command,
    demo_command,
    dispatch_command,
    evidence_command,
    export_command,
    flow_command,
    history_command,
    inbox_claim_command,
    inbox_command,
    log_command,
    metrics_command,
    migrate_command,
    operation_claim_command,
    operation_command,
    plot_command,
    purge_command,
    replay_command,
    run_command,
    selftest_command,
    settling_command,
    state_command,
    stats_command,
    thread_command,
    timer_command,
    timer_firing_command,
    turn_claim_command,
    turn_command,
    waiting_command,
    work_command,
)
from turnledger.cli.command import LedgerGroup
from turnledger.cli.program import NAME, Program

main = Program(
    name=NAME,
    help="A durable queue of work for AI agents, in one file or on PostgreSQL.",
    example='turnledger queue append chat-1 \'{"text": "hi"}\'\nturnledger queue list chat-1',
    exits={0: "fine", 1: "a finding or a refusal"},
)
queue = LedgerGroup(name="queue", help="The queue of each thread: put work in, and do it.")
timer = LedgerGroup(name="timer", help="Messages for threads at a later time.")
inbox = LedgerGroup(name="inbox", help="The messages from outside for each thread.")
turn = LedgerGroup(name="turn", help="The turns of coordinators on work items.")
attempt = LedgerGroup(name="attempt", help="The requests to providers for those turns.")

run = LedgerGroup(name="run", help="The leases under which operations are executed.")
operation = LedgerGroup(name="operation", help="External effects that must not happen twice.")


def _version(ctx: click.Context, _parameter: click.Parameter, value: object) -> None:
    if value and not ctx.resilient_parsing:
        from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - slow

        try:
            number = version(NAME)
        except PackageNotFoundError:
            number = "(not installed)"
        click.echo(f"{NAME} {number}")
        ctx.exit()


main.params.append(
    click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_version,
        help="Show the version and exit.",
    )
)

for module in (
    append_command,
    waiting_command,
    claim_command,
    dispatch_command,
    settling_command,
):
    for command in module.COMMANDS:
        queue.add_command(command)

for module in (inbox_command, inbox_claim_command):
    for command in module.COMMANDS:
        inbox.add_command(command)

for module in (timer_command, timer_firing_command):
    for command in module.COMMANDS:
        timer.add_command(command)

main.add_command(queue)
main.add_command(inbox)
main.add_command(timer)
main.add_command(timer_firing_command.run_timers)
main.add_command(work_command.work)
for module in (turn_command, turn_claim_command):
    for command in module.COMMANDS:
        turn.add_command(command)

for command in attempt_command.COMMANDS:
    attempt.add_command(command)

for command in run_command.COMMANDS:
    run.add_command(command)

for module in (operation_command, operation_claim_command):
    for command in module.COMMANDS:
        operation.add_command(command)

main.add_command(queue)
main.add_command(inbox)
main.add_command(turn)
main.add_command(attempt)
main.add_command(run)
main.add_command(operation)
main.add_command(thread_command.thread)
for module in (
    audit_command,
    replay_command,
    log_command,
    history_command,
    state_command,
    stats_command,
    flow_command,
    plot_command,
    evidence_command,
    export_command,
    backup_command,
    copy_command,
    metrics_command,
    migrate_command,
    purge_command,
    demo_command,
    selftest_command,
):
    for command in module.COMMANDS:
        main.add_command(command)
