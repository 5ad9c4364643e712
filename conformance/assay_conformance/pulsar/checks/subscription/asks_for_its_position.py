from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from assay_conformance.checks.consumption import from_client, in_force
from assay_conformance.model.event import Frame
from assay_conformance.pulsar.timeline import Consumer, Exercised, Says, Timeline, breach, check, ms
from assay_conformance.pulsar.timeline.readers import is_reader

BEGINS_ELSEWHERE: Final = "begins-elsewhere"
"""What such a subscription does not get was kept from it by this."""

_POSITIONS: Final = {"earliest": "Earliest", "latest": "Latest"}


class _First(NamedTuple):
    """The first SUBSCRIBE of a consumer on a topic, and the position that its application chose."""

    consumer: Consumer
    request: Frame
    chosen: str


def _firsts(timeline: Timeline) -> Iterator[_First]:
    for consumer in timeline.consumers:
        chosen = _POSITIONS.get(str(in_force(timeline.view, consumer, "initial_position")))
        if chosen is None or in_force(timeline.view, consumer, "durable") is False:
            continue
        seen: set[str] = set()
        for session in consumer.sessions:
            if session.topic not in seen and from_client(session.request) and not is_reader(session):
                yield _First(consumer, session.request, chosen)
            seen.add(session.topic)


@check("subscription.asks-for-its-position", of=_firsts)
def asks_for_its_position(_timeline: Timeline, first: _First) -> Says:
    """subscription.asks-for-its-position: the first SUBSCRIBE of a durable subscription's consumer on a topic names the
    initial position that the application chose; one that names none asks for Latest."""
    consumer, request, chosen = first
    asked = str(request.fields.get("initialPosition", "Latest"))
    if asked == chosen:
        yield Exercised(request)
        return
    yield breach(
        BEGINS_ELSEWHERE,
        f"the SUBSCRIBE of consumer {consumer.handle} at {ms(request.t_ns)} asks for {asked}; expected {chosen}, which "
        "the application chose: a new subscription would begin there",
        *(consumer.invoke, request),
    )
