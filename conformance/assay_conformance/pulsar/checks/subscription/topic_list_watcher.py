from __future__ import annotations

from collections.abc import Iterator
from math import inf

from assay_conformance.checks.consumption import from_client, to_client
from assay_conformance.model.event import Event, Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.connection._versions import offers
from assay_conformance.pulsar.checks.subscription._patterns import due, followed, followers
from assay_conformance.pulsar.timeline import Says, Timeline, check, each


@check("subscription.topic-list-watcher")
def topic_list_watcher(timeline: Timeline) -> Says:
    """subscription.topic-list-watcher: a topic that WATCH_TOPIC_UPDATE names is subscribed to at once. Where the broker
    offers to watch and the client does not ask it to, this is expected of every topic with a stored message."""
    named = sorted(_named(timeline), key=lambda one: one[1].seq)
    for follower in followers(timeline):
        yield from each(due(timeline, follower, named, within_ms=0), followed, timeline)


def _named(timeline: Timeline) -> Iterator[tuple[str, Event]]:
    events = timeline.events
    offered = next((one.seq for one in events.frames("CONNECTED") if offers(one, "WATCH_TOPIC_LIST")), inf)
    watched = next((one.seq for one in events.frames("WATCH_TOPIC_LIST") if from_client(one)), inf)
    for stored in events.of(Stored):
        if offered < stored.seq < watched and not stored.late:
            yield base_topic(stored.topic), stored
    for update in events.frames("WATCH_TOPIC_UPDATE"):
        for full in update.fields.get("new_topics", ()) if to_client(update) else ():
            yield base_topic(timeline.local_name(str(full))), update
