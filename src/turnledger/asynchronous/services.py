"""The twins of `ledger.queue` and `ledger.threads`; what each does is said there."""

from turnledger.asynchronous.twin import Twin, awaited
from turnledger.queue import Queue
from turnledger.threads import Threads


class AsyncQueue(Twin[Queue]):
    """The commands and queries of `ledger.queue`, awaited; see `Queue`."""

    append = awaited(Queue.append)
    append_many = awaited(Queue.append_many)
    list = awaited(Queue.list)
    get = awaited(Queue.get)
    edit = awaited(Queue.edit)
    delete = awaited(Queue.delete)
    clear = awaited(Queue.clear)
    reorder = awaited(Queue.reorder)

    claim_head = awaited(Queue.claim_head)
    claim_next = awaited(Queue.claim_next)
    renew = awaited(Queue.renew)
    release = awaited(Queue.release)
    start_dispatch = awaited(Queue.start_dispatch)
    ack = awaited(Queue.ack)
    ack_dispatch = awaited(Queue.ack_dispatch)
    fail = awaited(Queue.fail)

    retry = awaited(Queue.retry)
    resolve = awaited(Queue.resolve)
    pause = awaited(Queue.pause)
    resume = awaited(Queue.resume)
    why_blocked = awaited(Queue.why_blocked)
    recover = awaited(Queue.recover)
    fail_in_flight = awaited(Queue.fail_in_flight)


class AsyncThreads(Twin[Threads]):
    """The commands and queries of `ledger.threads`, awaited; see `Threads`."""

    archive = awaited(Threads.archive)
    unarchive = awaited(Threads.unarchive)
    delete = awaited(Threads.delete)
    get = awaited(Threads.get)
    list = awaited(Threads.list)
