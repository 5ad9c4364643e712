from __future__ import annotations

from assay_conformance.model.event import Completion
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, looked_ns, ms


@check("flow.dropped-message-returns-permit", of=lambda timeline: timeline.starved)
def dropped_message_returns_permit(timeline: Timeline, receive: Completion) -> Says:
    """flow.dropped-message-returns-permit: when a receive ends because the receiver queue is empty, every message that
    arrived was delivered or dropped, and less than half a queue of their permits may still wait to be granted again."""
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
    dropped, owed = balance.charged - taken, account.queue - balance.available
    since_ns = looked_ns(timeline, consumer, came.t_ns)
    if dropped <= 0 or not timeline.bounds.is_past("answer", since_ns, receive.t_ns):
        return
    if owed < account.refill:
        yield Exercised(receive)
    elif timeline.bounds.is_missing("answer", since_ns, receive.t_ns, what="permits"):
        yield breach(
            "permits-lost",
            f"{balance.charged} messages came to consumer {account.handle} by {ms(came.t_ns)}; its application "
            f"received {taken}, and its queue was empty at {ms(receive.t_ns)}: {dropped} were dropped; expected their "
            f"permits to be granted again; only {balance.available} permits were open, with a queue of "
            f"{account.queue}",
            *(account.grants[0].frame, came, receive),
        )
