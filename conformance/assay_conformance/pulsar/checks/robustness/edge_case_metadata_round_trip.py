from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay_conformance.model.facts import Lack
from assay_conformance.model.topic_names import base_topic
from assay_conformance.pulsar.checks.robustness._round_trip import Taken, changed, taken
from assay_conformance.pulsar.timeline import Exercised, Says, Timeline, check

_ODD_FIELDS: frozenset[str] = frozenset({Lack.KEY, Lack.PROPERTIES, Lack.EVENT_TIME})


@check("robustness.edge-case-metadata-round-trip", of=taken)
def edge_case_metadata_round_trip(timeline: Timeline, one: Taken) -> Says:
    """robustness.edge-case-metadata-round-trip: keys, properties and event times of any size are received as they were
    sent.

    Keys are compared with what is stored, the rest with the send call. An empty key and no key, and an event time of 0
    and none, look the same in most client interfaces, and count as equal. What the client does not show is not judged.
    """
    message, member, hidden = one.message, one.member, timeline.view.facts.lacks
    if Lack.KEY not in hidden and (message.key or None) != (member.key or None):
        yield changed(one, f"key {message.key!r}", repr(member.key))
        return
    args = _args(timeline, one)
    properties = None if Lack.PROPERTIES in hidden else args.get("properties")
    time_ms = None if Lack.EVENT_TIME in hidden else args.get("event_time_ms")
    if properties is not None and message.properties != properties:
        sent = f"{len(properties)} properties, {sum(map(len, properties.values()))} characters"
        yield changed(one, f"{len(message.properties)} properties", sent)
    elif time_ms is not None and (message.event_time_ms or 0) != time_ms:
        yield changed(one, f"event time {message.event_time_ms}", str(time_ms))
    elif (member.key and Lack.KEY not in hidden) or not (_ODD_FIELDS - hidden).isdisjoint(args):
        yield Exercised(message)


def _args(timeline: Timeline, one: Taken) -> Mapping[str, Any]:
    """Return arguments of the send call. A letter is a copy, with properties that name its origin."""
    identity = timeline.own(one.message.identity)
    opening = None if identity is None else timeline.openings.get(identity.handle)
    send = None if identity is None else timeline.send(identity.handle, identity.number)
    if opening is None or send is None or send.invoke.seq > one.message.seq:
        return {}
    is_letter = base_topic(one.entry.topic) != opening.args.get("topic", one.entry.topic)
    return {} if is_letter else send.invoke.args
