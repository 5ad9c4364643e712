from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.pulsar.timeline import (
    REDELIVER,
    Balance,
    ConsumerSession,
    Exercised,
    Says,
    Timeline,
    breach,
    charged,
    check,
    ms,
)


def _new_at_its_broker(timeline: Timeline) -> Iterator[ConsumerSession]:
    """Yield sessions, but for those whose SUBSCRIBE names a consumer that is still there: their broker says SUCCESS and
    keeps the one it has, with its permits (ServerCnx: handleSubscribe), unless it had not admitted that yet."""
    last: dict[tuple[int, int], ConsumerSession] = {}
    for session in timeline.consumer_sessions.all:
        before = last.get((session.conn, session.consumer_id))
        last[session.conn, session.consumer_id] = session
        if before is None or before.had_ended(session.request):
            yield session


@check("flow.permits-count-messages", of=_new_at_its_broker)
def permits_count_messages(timeline: Timeline, session: ConsumerSession) -> Says:
    """flow.permits-count-messages: a broker dispatches nothing without permits; what an entry costs beyond the permits
    that are left is deducted from later grants first.

    A read takes at most as many entries as permits are left, and all of those are sent. A consumer that requests
    redelivery has the dispatcher of one active consumer read once more, beside a read that is under way and not charged
    yet.
    """
    balance, flow = Balance(), None
    credit = beside = 0  # Entries that a read begun with permits may bring; those of one that was under way then.
    for frame in timeline.consumer_sessions.frames(session, "FLOW", "MESSAGE", REDELIVER):
        left = balance.available
        if not frame.at_broker:
            continue
        if frame.command == REDELIVER:
            beside = max(left, 0) if session.is_ordered else 0
            continue
        balance = balance.after(frame)
        if frame.command == "FLOW":
            flow, credit = frame, max(balance.available, 0)
            if left < 0:
                yield Exercised(frame)
            continue
        if credit <= 0 and beside > 0:
            beside -= 1
        elif credit <= 0:
            yield breach(
                "beyond-permits",
                f"the broker sent {frame.ids[0].name} to consumer id {frame.consumer_id} on connection {frame.conn} "
                f"at {ms(frame.t_ns)}, with {left} permits left; expected at least 1",
                *(flow, frame),
            )
        credit -= 1
        if charged(frame) > 1:
            yield Exercised(frame)
