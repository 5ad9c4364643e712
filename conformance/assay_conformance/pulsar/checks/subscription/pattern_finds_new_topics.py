from __future__ import annotations

from assay_conformance.checks.consumption import from_client
from assay_conformance.model.event import Frame, Stored
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.subscription._patterns import Follower, due, followed, followers
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, breach, check, each, ms


@check("subscription.pattern-finds-new-topics")
def pattern_finds_new_topics(timeline: Timeline) -> Says:
    """subscription.pattern-finds-new-topics: a consumer of a pattern subscribes to the topics that match, and to no
    others. A topic exists once something is stored in it. A new one is found within two update intervals: an update may
    have begun just before, and the next begins only when it is done."""
    existing: dict[str, Stored] = {}
    for stored in timeline.events.of(Stored):
        if not stored.late:
            existing.setdefault(base_topic(stored.topic), stored)
    for follower in followers(timeline):
        yield from each(existing.items(), _was_there, follower)
        interval_ms = timeline.setting(follower.consumer, "pattern_update_ms") or 60_000
        yield from each(due(timeline, follower, existing.items(), 2 * interval_ms), followed, timeline)
    yield from each(timeline.events.frames("SUBSCRIBE"), _subscribed, timeline)


def _was_there(follower: Follower, existing: tuple[str, Stored]) -> Says:
    """Judge whether it subscribed to what there was before it was opened."""
    (topic, stored), opened, consumer = existing, follower.opened, follower.consumer
    if topic not in consumer.topics or stored.seq > consumer.invoke.seq:
        return
    if follower.is_there(topic, opened):
        yield Exercised(opened)
    elif not follower.is_ambiguous(topic):
        yield breach(
            "left-out",
            f"topic {topic} matches {follower.pattern} and existed at {ms(stored.t_ns)}; expected consumer "
            f"{consumer.handle} of that pattern to subscribe to it before it is open; it was open at "
            f"{ms(opened.t_ns)} without it",
            *(stored, opened),
        )


def _subscribed(timeline: Timeline, request: Frame) -> Says:
    """Judge a SUBSCRIBE of no known consumer: all that may have written it have patterns that do not match."""
    session = timeline.consumer_sessions.of(request)
    if session is None or session.consumer is not None or not from_client(request):
        return
    opened = (one for one in timeline.consumers if one.invoke.seq < request.seq)
    of_it = [one for one in opened if one.subscription == session.subscription]
    topic = base_topic(session.topic)
    is_known = topic in {one.name for one in timeline.topology.topics}
    if is_known and of_it and all(one.invoke.args.get("pattern") and topic not in one.topics for one in of_it):
        yield breach(
            "matches-not",
            f"consumer {of_it[0].handle} has the pattern {of_it[0].invoke.args['pattern']!r}; expected no SUBSCRIBE to "
            f"topic {topic}, which does not match; one left at {ms(request.t_ns)}",
            *(of_it[0].invoke, request),
        )
