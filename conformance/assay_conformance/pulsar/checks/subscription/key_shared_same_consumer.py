from __future__ import annotations

from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import Exercised, Member, Says, Subscription, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.subscriptions import sticky_key


@check("subscription.key-shared-same-consumer", of=lambda timeline: timeline.steady_subscriptions)
def key_shared_same_consumer(_timeline: Timeline, subscription: Subscription) -> Says:
    """subscription.key-shared-same-consumer: all entries of a key go to one consumer between two changes of the
    members. While a consumer is being admitted, keys may move already, and an entry may cross the close of its
    consumer. Entries without a key are not judged."""
    owners: dict[str | bytes, tuple[Member, Frame]] = {}
    members: list[Member] = []
    living, changes = members, -1
    for member, delivery in subscription.served if "Key_Shared" in dict(subscription.kinds).values() else ():
        frame = delivery.frame
        if subscription.kind_at(frame) != "Key_Shared" or frame.meta is None or not member.lives(frame):
            continue
        if changes != subscription.changes_before(frame):
            changes, living = subscription.changes_before(frame), subscription.living(frame)
        if living != members or subscription.is_asked(frame) or not subscription.is_settled(frame):
            owners, members = {}, living
        key = sticky_key(frame.meta)
        if key is None:
            continue
        owner, earlier = owners.setdefault(key, (member, frame))
        if owner is not member:
            yield breach(
                "key-at-two-consumers",
                f"{subscription}: key {key!r} went to {owner} at {ms(earlier.t_ns)} and to {member} at "
                f"{ms(frame.t_ns)}; expected the same consumer, since no consumer was added or removed in between",
                *(earlier, frame),
            )
        elif earlier is not frame and len(living) > 1:
            yield Exercised(frame)
