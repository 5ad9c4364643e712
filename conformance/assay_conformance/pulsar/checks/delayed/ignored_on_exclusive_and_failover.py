from __future__ import annotations

from assay_conformance.pulsar.checks.delayed._due import SentDelayed, sent_delayed
from assay_conformance.pulsar.timeline import (
    Delivery,
    Entry,
    Exercised,
    Says,
    Timeline,
    TooBusyError,
    breach,
    check,
    each,
    ms,
)


@check("delayed.ignored-on-exclusive-and-failover")
def ignored_on_exclusive_and_failover(timeline: Timeline) -> Says:
    """delayed.ignored-on-exclusive-and-failover: an entry is sent at once, whatever its delivery time.

    Judged where an Exclusive consumer has had permits ever since the entry was stored. A Failover consumer may have to
    wait until it is active; a broker that stops reading because of a publish rate has not read the permits; and a
    dispatch rate holds entries back, whenever they are due.
    """
    sent = [one for one in sent_delayed(timeline, waiting=False) if not one.delivery.frame.redelivery_count]
    said = [*each(sent, _judge, timeline)]
    yield from said
    if not any(isinstance(judged, Exercised) for judged in said):
        for one in sent:
            if one.delivery.frame.t_ns >= one.due.earliest_ns and one.due.stored.t_ns >= one.due.earliest_ns:
                raise TooBusyError(f"entry {one.due.name} was stored after its delivery time")


def _first_sent(timeline: Timeline) -> dict[tuple[str, Entry], Delivery]:
    """Return by subscription and entry the first time that it was sent there: later ones follow requests for it."""
    found: dict[tuple[str, Entry], Delivery] = {}
    for delivery in timeline.deliveries:
        found.setdefault((delivery.session.subscription, delivery.entry), delivery)
    return found


def _judge(timeline: Timeline, sent: SentDelayed) -> Says:
    due, subscription, member, delivery, supply = sent
    stored, frame = due.stored, delivery.frame
    if frame.t_ns < due.earliest_ns:
        yield Exercised(frame)
        return
    is_first = timeline.once(_first_sent)[delivery.session.subscription, delivery.entry] is delivery
    could_take = supply.since is not None and supply.since.t_ns <= stored.t_ns and is_first
    at_once = timeline.view.is_read_at_once() and timeline.view.is_dispatched_at_once(subscription.topic)
    if subscription.kind_at(frame) != "Exclusive" or not could_take or not at_once:
        return
    if timeline.bounds.is_overdue("answer", stored.t_ns, frame.t_ns, what="a delayed message"):
        yield breach(
            "waited",
            f"{subscription}: entry {due.name} was stored at {ms(stored.t_ns)} with a delivery time of "
            f"{ms(due.at_ns)}; expected it to be sent at once on this type of subscription; it was sent to {member} at "
            f"{ms(frame.t_ns)}",
            *(stored, frame),
        )
