"""flow.dropped-message-returns-permit"""

from __future__ import annotations

from assay_conformance.model.event import Completion
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, ms


@check("flow.dropped-message-returns-permit", of=lambda timeline: timeline.starved)
def dropped_message_returns_permit(timeline: Timeline, receive: Completion) -> Says:
    """flow.dropped-message-returns-permit: a receive that ended for want of messages shows an empty queue: whatever
    came was handed over or dropped, and less than half a queue of permits may wait to be granted again."""
    consumer = timeline.consumer(receive.handle)
    session = (
        None if consumer is None or not consumer.topics else timeline.session_at(consumer, consumer.topics[0], receive)
    )
    account = timeline.account(session)
    if consumer is None or account is None or not account.holds(receive):
        return
    balance, came = account.at(receive), account.at(receive).last_message
    if came is None or balance.garbled or not balance.granted:
        return
    since = account.frames[0].seq
    taken = sum(since < message.seq < receive.seq for message in timeline.received(consumer))
    dropped, owed = balance.charged - taken, account.queue - balance.outstanding
    if dropped <= 0 or not timeline.bounds.is_past("answer", came.t_ns, receive.t_ns):
        return
    if owed < account.refill:
        yield Exercised(receive)
    elif timeline.bounds.is_missing("answer", came.t_ns, receive.t_ns, what="permits"):
        yield breach(
            "permits-lost",
            f"of {balance.charged} messages that came for consumer {account.handle} by {ms(came.t_ns)} the "
            f"application got {taken}, and at {ms(receive.t_ns)} there were no others; {balance.outstanding} permits "
            f"were open, its queue holds {account.queue}: those of the {dropped} that were dropped were not granted "
            "again",
            *(account.grants[0].frame, came, receive),
        )
