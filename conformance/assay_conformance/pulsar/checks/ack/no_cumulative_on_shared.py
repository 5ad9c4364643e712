from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.ledger.clauses import SHARED_TYPES
from assay_conformance.model.event import Outcome
from assay_conformance.pulsar.timeline import (
    CUMULATIVE,
    Call,
    ConsumerSession,
    Exercised,
    Says,
    Timeline,
    breach,
    check,
    ms,
)


def _asked(timeline: Timeline) -> Iterator[tuple[Call, ConsumerSession]]:
    """Yield cumulative acks on shared subscriptions: the last of several that one call names on a session."""
    found: dict[tuple[int, int], tuple[Call, ConsumerSession]] = {}
    for consumer in timeline.consumers:
        for call in timeline.calls(consumer):
            if call.cumulative and call.invoke.verb == "ack":
                session = timeline.session_at(consumer, call.entry.topic, call.invoke)
                if session is not None and session.request.fields.get("subType") in SHARED_TYPES:
                    found[call.invoke.op, id(session)] = call, session
    return iter(found.values())


@check("ack.no-cumulative-on-shared", of=_asked)
def no_cumulative_on_shared(timeline: Timeline, asked: tuple[Call, ConsumerSession]) -> Says:
    """ack.no-cumulative-on-shared: a client rejects a cumulative acknowledgment on a shared subscription, and sends
    none. Judged by how the call ended, and by what was sent."""
    call, session = asked
    end, handle = call.operation.completion, call.consumer.handle
    if end is not None and end.outcome is Outcome.FAIL:
        yield Exercised(end)
    elif end is not None and end.outcome is Outcome.OK:
        yield breach(
            "accepted",
            f"consumer {handle} has a shared subscription and accepted a cumulative acknowledgment of {call.entry} at "
            f"{ms(end.t_ns)}, expected an error: the broker ignores it",
            *(call.invoke, end),
        )
    later = (one.invoke.seq for one, where in _asked(timeline) if where is session)
    until = min((seq for seq in later if seq > call.invoke.seq), default=None)
    for ack in timeline.consumer_sessions.frames(session, "ACK"):
        is_next = ack.seq > call.invoke.seq and (until is None or ack.seq < until)
        if is_next and ack.ack_type == CUMULATIVE and ack.at_client:
            yield breach(
                "sent",
                f"consumer {handle} has a shared subscription and sent a cumulative ACK at {ms(ack.t_ns)}, expected "
                "none: the broker ignores it",
                *(call.invoke, ack),
            )
