from __future__ import annotations

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
    entries = fewest = 0
    account, granted = timeline.broker_account(session), None
    for frame in account.frames:
        if frame.command == "FLOW":
            granted = frame
        else:
            # How many a read begun by now may still bring.
            permits = account.available_before[frame.seq].available
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
            entries, fewest = entries - 1, min(fewest or cost, cost)
