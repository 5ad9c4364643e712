"""Topics that migrate to another cluster, which TOPIC_MIGRATED names (PIP-188)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay_conformance.model.event import Event, Frame
from assay_conformance.pulsar.timeline.consumers import ConsumerSession
from assay_conformance.pulsar.timeline.events import Events
from assay_conformance.pulsar.timeline.producers import ProducerSession

Session = ProducerSession | ConsumerSession


@dataclass(frozen=True, slots=True)
class Migration:
    """A TOPIC_MIGRATED, the producer or consumer that it is addressed to, on its connection, and the addresses of the
    cluster that it names."""

    frame: Frame
    session: Session | None
    urls: frozenset[str]


def migrations(
    events: Events, producers: Sequence[ProducerSession], consumers: Sequence[ConsumerSession]
) -> list[Migration]:
    """All of the attempt, as both sides of a connection saw them, in order."""
    found = []
    for frame in events.frames("TOPIC_MIGRATED"):
        to_producer = frame.fields.get("resource_type") == "Producer"
        session = _addressed(frame, producers if to_producer else consumers)
        urls = (frame.fields.get("brokerServiceUrl"), frame.fields.get("brokerServiceUrlTls"))
        found.append(Migration(frame, session, frozenset(str(url) for url in urls if url)))
    return found


def _addressed(frame: Frame, sessions: Sequence[Session]) -> Session | None:
    ids = (frame.conn, int(frame.fields.get("resource_id", -1)))
    before = (one for one in reversed(sessions) if one.request.seq <= frame.seq)
    return next((one for one in before if (one.conn, _id(one)) == ids), None)


def _id(session: Session) -> int:
    return session.producer_id if isinstance(session, ProducerSession) else session.consumer_id


def clusters(migrations: Iterable[Migration], by: Event) -> set[str]:
    """Addresses of the clusters that topics had migrated to by an event."""
    return {url for one in migrations if one.frame.seq <= by.seq for url in one.urls}
