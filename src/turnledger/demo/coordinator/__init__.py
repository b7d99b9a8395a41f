"""The second demonstration: coordinators and a provider, which die in the middle of a turn.

`turnledger demo --coordinator` shows it on a ledger of its own, as the first one does: what it
shows is looked up in the ledger and in the provider's own records.
"""

from turnledger.demo.coordinator import closing, deciding, failing, recovering, working

STEPS = (
    working.begin,
    working.answer_one,
    working.kill_at_each_step,
    failing.let_the_provider_fail,
    failing.let_a_machine_sleep,
    recovering.recover,
    recovering.go_on,
    recovering.wake_the_machine,
    deciding.decide,
    deciding.finish,
    closing.tell_a_history,
    closing.draw_the_balance,
)
