"""The twins of the ledger's services; what each does is said there."""

from turnledger.asynchronous.twin import Twin, awaited, commanded
from turnledger.attachments import AttachmentStore
from turnledger.coordinator import Coordinator
from turnledger.inbox import Inbox
from turnledger.queue import Queue
from turnledger.runs import Runs
from turnledger.threads import Threads
from turnledger.timers import Timers


class AsyncQueue(Twin[Queue]):
    """The commands and queries of `ledger.queue`, awaited; see `Queue`."""

    append = commanded(Queue.append)
    append_many = commanded(Queue.append_many)
    list = awaited(Queue.list)
    get = awaited(Queue.get)
    edit = commanded(Queue.edit)
    delete = commanded(Queue.delete)
    clear = commanded(Queue.clear)
    reorder = commanded(Queue.reorder)

    claim_head = commanded(Queue.claim_head)
    claim_next = commanded(Queue.claim_next)
    renew = commanded(Queue.renew)
    release = commanded(Queue.release)
    start_dispatch = commanded(Queue.start_dispatch)
    ack = commanded(Queue.ack)
    ack_many = commanded(Queue.ack_many)
    ack_dispatch = commanded(Queue.ack_dispatch)
    fail = commanded(Queue.fail)

    retry = commanded(Queue.retry)
    resolve = commanded(Queue.resolve)
    pause = commanded(Queue.pause)
    resume = commanded(Queue.resume)
    why_blocked = awaited(Queue.why_blocked)
    recover = awaited(Queue.recover)
    fail_in_flight = commanded(Queue.fail_in_flight)


class AsyncInbox(Twin[Inbox]):
    """The commands and queries of `ledger.inbox`, awaited; see `Inbox`."""

    post = commanded(Inbox.post)
    list = awaited(Inbox.list)
    get = awaited(Inbox.get)
    delete = commanded(Inbox.delete)

    claim_next = commanded(Inbox.claim_next)
    confirm = commanded(Inbox.confirm)
    release = commanded(Inbox.release)

    recover = awaited(Inbox.recover)
    undelivered = awaited(Inbox.undelivered)
    requeue = commanded(Inbox.requeue)


class AsyncTimers(Twin[Timers]):
    """The commands and queries of `ledger.timers`, awaited; see `Timers`."""

    create = commanded(Timers.create)
    list = awaited(Timers.list)
    get = awaited(Timers.get)
    update = commanded(Timers.update)
    pause = commanded(Timers.pause)
    resume = commanded(Timers.resume)
    delete = commanded(Timers.delete)

    mark_due = commanded(Timers.mark_due)
    claim = commanded(Timers.claim)
    claim_due = commanded(Timers.claim_due)
    fire_due = commanded(Timers.fire_due)
    history = awaited(Timers.history)


class AsyncCoordinatorCommands(Twin[Coordinator]):
    """The commands and queries of `ledger.coordinator`, awaited; see `Coordinator`."""

    begin = awaited(Coordinator.begin)  # it may write files, which takes its time
    claim = commanded(Coordinator.claim)
    claim_next = commanded(Coordinator.claim_next)
    renew = commanded(Coordinator.renew)
    release = commanded(Coordinator.release)
    resume = commanded(Coordinator.resume)
    recover = awaited(Coordinator.recover)
    recoverable = awaited(Coordinator.recoverable)

    prepare = commanded(Coordinator.prepare)
    start_dispatch = commanded(Coordinator.start_dispatch)
    respond = commanded(Coordinator.respond)
    refuse = commanded(Coordinator.refuse)
    reject = commanded(Coordinator.reject)
    late_response = commanded(Coordinator.late_response)
    resolve = commanded(Coordinator.resolve)

    complete = commanded(Coordinator.complete)
    fail = commanded(Coordinator.fail)
    ack = commanded(Coordinator.ack)
    cancel = commanded(Coordinator.cancel)
    touch = commanded(Coordinator.touch)

    get = awaited(Coordinator.get)
    list = awaited(Coordinator.list)
    work_item = awaited(Coordinator.work_item)
    receipt = awaited(Coordinator.receipt)


class AsyncAttachments(Twin[AttachmentStore]):
    """The commands and queries of `ledger.attachments`, awaited; see `AttachmentStore`."""

    path = awaited(AttachmentStore.path)
    read = awaited(AttachmentStore.read)
    sweep = awaited(AttachmentStore.sweep)


class AsyncRuns(Twin[Runs]):
    """The commands and queries of `ledger.runs`, awaited; see `Runs`."""

    start = commanded(Runs.start)
    renew = commanded(Runs.renew)
    finish = commanded(Runs.finish)
    interrupt = commanded(Runs.interrupt)
    get = awaited(Runs.get)


class AsyncThreads(Twin[Threads]):
    """The commands and queries of `ledger.threads`, awaited; see `Threads`."""

    archive = commanded(Threads.archive)
    unarchive = commanded(Threads.unarchive)
    delete = commanded(Threads.delete)
    fork = commanded(Threads.fork)
    get = awaited(Threads.get)
    list = awaited(Threads.list)
