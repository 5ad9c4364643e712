from __future__ import annotations

from collections.abc import Iterator

from assay_conformance.ledger.clauses import SHARED_TYPES
from assay_conformance.model.event import Fired, Stepped
from assay_conformance.pulsar.checks.delayed._due import Due, delayed, sent_delayed
from assay_conformance.pulsar.timeline import Exercised, Member, Says, Subscription, Timeline, breach, check, each, ms


@check("delayed.survives-restart")
def survives_restart(timeline: Timeline) -> Says:
    """delayed.survives-restart: an entry that was stored before its topic was loaded again, and is due after it, is
    sent. Judged where no dispatch rate holds it back for longer, and nothing moved the subscription."""
    for due, _, _, delivery, _ in sent_delayed(timeline, waiting=True):
        if _reload(timeline, due, delivery.frame.t_ns) is not None:
            yield Exercised(delivery.frame)
    yield from each(_waiting(timeline), _judge_lost, timeline, delayed(timeline))


def _waiting(timeline: Timeline) -> Iterator[Subscription]:
    moved = {(one.topic, one.name) for one in timeline.subscriptions if one.over is not None}
    for subscription in timeline.steady_subscriptions:
        waits = subscription.kind in SHARED_TYPES and subscription.durable
        is_moved = (subscription.topic, subscription.name) in moved
        if waits and not is_moved and timeline.view.is_dispatched_at_once(subscription.topic):
            yield subscription


def _judge_lost(timeline: Timeline, due_by_place: dict[object, Due], subscription: Subscription) -> Says:
    seen = {delivery.position for delivery in subscription.deliveries}
    for due in due_by_place.values():
        if due.stored.topic != subscription.topic or due.stored.id.position in seen:
            continue
        reload = _reload(timeline, due, due.at_ns)
        taker = next((member for member in subscription.members if _could_take(timeline, member, due)), None)
        if reload is not None and taker is not None:
            yield breach(
                "lost",
                f"{subscription}: entry {due.name} was stored at {ms(due.stored.t_ns)} with a delivery time of "
                f"{ms(due.at_ns)}, and the topic was loaded again at {ms(reload.t_ns)}; expected the entry at {taker}; "
                "it was never sent",
                *(due.stored, taker.joined),
            )
            return


def _reload(timeline: Timeline, due: Due, before_ns: int) -> Stepped | Fired | None:
    """Return the first reload between storing and a time."""
    reloads = timeline.reloads(due.stored.topic)
    return next((one for one in reloads if due.stored.t_ns <= one.t_ns < before_ns), None)


def _could_take(timeline: Timeline, member: Member, due: Due) -> bool:
    """Return whether this consumer was attached, with permits, from the start until long after the due time."""
    request, end = member.session.request, member.session.ended or member.left or timeline.ended
    if request.fields.get("initialPosition") != "Earliest" or end.t_ns <= due.latest_ns:
        return False
    return timeline.broker_account(member.session).at(end).available > 0
