from __future__ import annotations

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import ConsumerSession, Exercised, Says, Timeline, breach, charged, check, ms


@check(
    "throttling.precise-dispatcher-flow-control",
    of=lambda timeline: timeline.consumer_sessions.all,
    where=lambda view: view.case.topology.settings.precise_flow_control,
)
def precise_dispatcher_flow_control(timeline: Timeline, session: ConsumerSession) -> Says:
    """throttling.precise-dispatcher-flow-control: with precise flow control a read takes no more entries than its
    permits allow, by what the broker has seen of the consumer's entries. Here the smallest entry that the consumer was
    sent is used."""
    permits = entries = fewest = 0
    granted: Frame | None = None
    for frame in timeline.consumer_sessions.frames(session, "FLOW", "MESSAGE"):
        if frame.command == "FLOW":
            if frame.at_broker:
                permits, granted = permits + (frame.permits or 0), frame
        elif frame.from_sender:
            # How many a read begun by now may still bring.
            entries = max(entries, -(-max(permits, 0) // max(1, fewest)))
            if entries <= 0:
                yield breach(
                    "read-too-large",
                    f"consumer id {frame.consumer_id} on connection {frame.conn} had {permits} permits left, and its "
                    f"entries hold {fewest} messages or more; expected no read to take {frame.ids[0].name} as well; it "
                    f"was sent at {ms(frame.t_ns)}",
                    *(granted, frame),
                )
            elif fewest > 1:
                yield Exercised(frame)
            cost = charged(frame)
            entries, permits, fewest = entries - 1, permits - cost, min(fewest or cost, cost)
